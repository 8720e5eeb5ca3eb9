//! What arrived, by session and channel: how late, what is missing, what came twice.
//!
//! Offsets rise strictly, but only on some channels without holes. So what a session should have had is told by what
//! any session has seen: the publications between where it began and where the measurement ends.

use std::collections::HashMap;

use lineside_sync::histogram::{Histogram, LocalHistogram};
use serde::{Deserialize, Serialize};

use crate::clock::{Nanos, WallTime};
use crate::distribution::{Distribution, bucket_bounds};
use crate::limits::PUBLICATIONS_TOLD_APART_MAX;
use crate::message::{MessageCodec, PublicationData};
use crate::plan::LoadPlan;

/// A publication that some session has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PublicationArrival {
    pub(crate) offset: u64,
    /// When it was sent; `None` where it does not say.
    pub(crate) sent: Option<Nanos>,
    /// When the first session had it, and the last.
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    pub(crate) sessions: u64,
}

/// What a process saw of one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChannelReport {
    /// Sessions that were subscribed until the end.
    pub(crate) sessions: u64,
    /// By offset, rising.
    pub(crate) publications: Vec<PublicationArrival>,
    pub(crate) missing: u64,
    pub(crate) duplicates: u64,
    /// States that replaced what was not sent.
    pub(crate) gaps: u64,
    /// Where all of its sessions had begun, and the last offset that they were to have.
    pub(crate) from: u64,
    pub(crate) cut: u64,
}

/// Deliveries of a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliverySlice {
    pub(crate) latency: Distribution,
    pub(crate) deliveries: u64,
}

/// A session's way through a channel.
#[derive(Clone, Copy, Debug)]
struct SessionCursor {
    /// The offset after which it is to have everything.
    start: u64,
    last: u64,
    received: u64,
}

/// The offset of nobody: the state has not come yet.
const NOWHERE: u64 = u64::MAX;

#[derive(Debug)]
struct ChannelTally {
    wire_name: Vec<u8>,
    has_state: bool,
    publications: Vec<PublicationArrival>,
    /// The one that was last seen: the next session most likely has the same.
    recent: usize,
    missing: u64,
    duplicates: u64,
    gaps: u64,
    from: u64,
    cut: Option<u64>,
    /// The last number of ours, once it has been seen.
    own_last: u64,
}

/// What a delivery was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryEffect {
    /// A channel that nobody subscribed to.
    Unknown,
    /// A part of a state, not its last.
    StatePart,
    /// The session now holds the channel's state for the first time.
    Ready,
    /// A publication, or a state once more.
    Delivered,
}

pub(crate) struct DeliveryTally {
    channels: Vec<ChannelTally>,
    by_name: HashMap<Vec<u8>, usize>,
    recent: usize,
    /// By session, then by channel.
    places: Vec<SessionCursor>,
    wall: WallTime,
    bounds: Vec<u64>,
    latency: LocalHistogram,
    deliveries: u64,
    measuring: bool,
}

impl DeliveryTally {
    pub(crate) fn new(plan: &LoadPlan, sessions: usize) -> Self {
        let language = MessageCodec::for_transport(plan.transport, plan.format);
        let wire_names: Vec<Vec<u8>> =
            plan.channels.iter().map(|name| language.encode_channel(name)).collect();
        let by_name =
            wire_names.iter().cloned().enumerate().map(|(index, name)| (name, index)).collect();
        let channels =
            wire_names.into_iter().zip(&plan.channels).map(|(wire_name, name)| ChannelTally {
                wire_name,
                has_state: !LoadPlan::is_own_channel(name),
                publications: Vec::new(),
                recent: 0,
                missing: 0,
                duplicates: 0,
                gaps: 0,
                from: 0,
                cut: None,
                own_last: 0,
            });
        let nowhere = SessionCursor { start: NOWHERE, last: 0, received: 0 };
        Self {
            places: vec![nowhere; sessions * plan.channels.len()],
            channels: channels.collect(),
            by_name,
            recent: 0,
            wall: WallTime::sample_clocks(),
            bounds: bucket_bounds(),
            latency: Histogram::new().local_handle(),
            deliveries: 0,
            measuring: false,
        }
    }

    /// The session is subscribed. True if it has nothing more to wait for there.
    pub(crate) fn note_subscribed(
        &mut self,
        session: usize,
        index: usize,
        offset: Option<u64>,
    ) -> bool {
        let Some(channel) = self.channels.get(index) else { return false };
        if channel.has_state {
            return false;
        }
        let seen = channel.publications.last().map_or(0, |seen| seen.offset);
        self.begin_session(session, index, offset.unwrap_or(seen))
    }

    fn begin_session(&mut self, session: usize, index: usize, offset: u64) -> bool {
        let channel = &mut self.channels[index];
        let place = &mut self.places[session * self.by_name.len() + index];
        let first = place.start == NOWHERE;
        if !first {
            // What the state took the place of is no more to come.
            let expected = count_between(&channel.publications, place.start, place.last);
            channel.missing += expected.saturating_sub(place.received);
        }
        channel.from = channel.from.max(offset);
        *place = SessionCursor { start: offset, last: offset, received: 0 };
        first
    }

    /// A publication for a session, read at `now`.
    pub(crate) fn count_delivery(
        &mut self,
        session: usize,
        name: &[u8],
        offset: Option<u64>,
        data: PublicationData,
        now: Nanos,
    ) -> DeliveryEffect {
        let Some(index) = self.find_channel(name) else { return DeliveryEffect::Unknown };
        if let Some((part, parts)) = data.state {
            // A message leaves out an offset of 0: the server has never had anything of the feed.
            let complete_at = (part == parts).then_some(offset.unwrap_or(0));
            return self.count_state_part(session, index, complete_at, data.gap);
        }
        let sent = match data.ours {
            Some((_, sent)) => Some(sent),
            None => data.at_millis.and_then(|at| self.wall.to_monotonic(at)),
        };
        let channel = &mut self.channels[index];
        if let Some((number, _)) = data.ours {
            channel.own_last = channel.own_last.max(number);
        }
        // Where a channel keeps no log there are no offsets: then our own numbers serve.
        let offset = offset.or(data.ours.map(|(number, _)| number));
        let is_late = channel.cut.is_some_and(|cut| offset.is_none_or(|offset| offset > cut));
        if self.measuring && !is_late {
            self.deliveries += 1;
            if let Some(sent) = sent {
                self.latency.record(now.saturating_sub(sent));
            }
        }
        if let Some(offset) = offset {
            self.count_publication(session, index, offset, sent, now);
        }
        DeliveryEffect::Delivered
    }

    fn find_channel(&mut self, name: &[u8]) -> Option<usize> {
        if self.channels.get(self.recent).is_none_or(|channel| channel.wire_name != name) {
            self.recent = *self.by_name.get(name)?;
        }
        Some(self.recent)
    }

    fn count_state_part(
        &mut self,
        session: usize,
        index: usize,
        complete_at: Option<u64>,
        gap: bool,
    ) -> DeliveryEffect {
        let Some(offset) = complete_at else { return DeliveryEffect::StatePart };
        self.channels[index].gaps += u64::from(gap);
        if self.begin_session(session, index, offset) {
            DeliveryEffect::Ready
        } else {
            DeliveryEffect::Delivered
        }
    }

    fn count_publication(
        &mut self,
        session: usize,
        index: usize,
        offset: u64,
        sent: Option<Nanos>,
        now: Nanos,
    ) {
        let channel = &mut self.channels[index];
        let place = &mut self.places[session * self.by_name.len() + index];
        if place.start == NOWHERE {
            return;
        }
        if offset <= place.last {
            channel.duplicates += 1;
            return;
        }
        place.last = offset;
        if channel.cut.is_none_or(|cut| offset <= cut) && channel.note_arrival(offset, sent, now) {
            place.received += 1;
        }
    }

    /// From here on latencies are recorded.
    pub(crate) fn begin_measuring(&mut self) {
        self.measuring = true;
        for channel in &mut self.channels {
            channel.own_last = 0;
        }
    }

    /// What some session has seen by now is what everybody is to have, and all that is still measured.
    pub(crate) fn cut_measurement(&mut self) {
        for channel in &mut self.channels {
            channel.cut = Some(channel.publications.last().map_or(0, |seen| seen.offset));
        }
    }

    /// What was recorded since the last slice.
    pub(crate) fn cut_slice(&mut self) -> DeliverySlice {
        let latency =
            Distribution::from_snapshot(&self.latency.histogram().snapshot(), &self.bounds);
        self.latency = Histogram::new().local_handle();
        DeliverySlice { latency, deliveries: std::mem::take(&mut self.deliveries) }
    }

    /// Whether our own publication of this number has reached some session.
    pub(crate) fn has_seen_own_publication(&self, index: usize, number: u64) -> bool {
        self.channels[index].own_last >= number
    }

    /// Whether a session has all that it is to have.
    pub(crate) fn is_session_complete(&self, session: usize) -> bool {
        let places = &self.places[session * self.channels.len()..][..self.channels.len()];
        places.iter().zip(&self.channels).all(|(place, channel)| {
            place.start == NOWHERE || channel.cut.is_none_or(|cut| place.last >= cut)
        })
    }

    /// What all this comes to. Sessions that were cut off are not asked what they miss.
    pub(crate) fn into_channel_reports(
        self,
        is_open: impl Fn(usize) -> bool,
    ) -> Vec<ChannelReport> {
        let width = self.channels.len();
        let places = self.places;
        let report = |(index, channel): (usize, ChannelTally)| {
            let cut = channel.cut.unwrap_or_default();
            let (mut sessions, mut missing) = (0, channel.missing);
            for (session, places) in places.chunks_exact(width).enumerate() {
                let place = places[index];
                if place.start == NOWHERE || !is_open(session) {
                    continue;
                }
                sessions += 1;
                missing += count_between(&channel.publications, place.start, cut)
                    .saturating_sub(place.received);
            }
            let ChannelTally { publications, duplicates, gaps, from, .. } = channel;
            ChannelReport { sessions, publications, missing, duplicates, gaps, from, cut }
        };
        self.channels.into_iter().enumerate().map(report).collect()
    }
}

/// How many publications have an offset after `start`, up to `end`.
fn count_between(publications: &[PublicationArrival], start: u64, end: u64) -> u64 {
    let up_to = |offset| publications.partition_point(|seen| seen.offset <= offset);
    up_to(end).saturating_sub(up_to(start)) as u64
}

impl ChannelTally {
    /// False if it can no longer be told apart.
    fn note_arrival(&mut self, offset: u64, sent: Option<Nanos>, now: Nanos) -> bool {
        if self.publications.get(self.recent).is_none_or(|seen| seen.offset != offset) {
            let place = self.publications.binary_search_by_key(&offset, |seen| seen.offset);
            self.recent = match place {
                Ok(index) => index,
                Err(_) if self.publications.len() >= PUBLICATIONS_TOLD_APART_MAX => return false,
                Err(index) => {
                    let seen =
                        PublicationArrival { offset, sent, first: now, last: now, sessions: 0 };
                    self.publications.insert(index, seen);
                    index
                }
            };
        }
        let seen = &mut self.publications[self.recent];
        seen.last = now;
        seen.sessions += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::test_plan;

    const STATE: PublicationData =
        PublicationData { ours: None, at_millis: None, state: Some((1, 1)), gap: false };

    fn tally(channels: &[&str], sessions: usize) -> DeliveryTally {
        let mut plan = test_plan("http://127.0.0.1:1");
        plan.channels = channels.iter().map(|channel| (*channel).to_owned()).collect();
        DeliveryTally::new(&plan, sessions)
    }

    fn own(number: u64) -> PublicationData {
        PublicationData { ours: Some((number, 1_000)), ..PublicationData::default() }
    }

    /// Two sessions on a channel whose state is at 10.
    fn two() -> DeliveryTally {
        let mut tally = tally(&["feed/city"], 2);
        for session in 0..2 {
            assert_eq!(
                tally.count_delivery(session, b"feed/city", Some(10), STATE, 1),
                DeliveryEffect::Ready
            );
        }
        tally.begin_measuring();
        tally
    }

    #[test]
    fn what_one_session_had_and_another_did_not_is_missing() {
        let mut tally = two();
        // Offsets need not follow one another.
        for offset in [12, 15, 30] {
            tally.count_delivery(0, b"feed/city", Some(offset), own(1), 2_000);
        }
        for offset in [12, 30, 30] {
            tally.count_delivery(1, b"feed/city", Some(offset), own(1), 5_000);
        }
        tally.cut_measurement();
        assert!(tally.is_session_complete(0) && tally.is_session_complete(1));
        // After the end only the next run would ask for it.
        tally.count_delivery(0, b"feed/city", Some(31), own(1), 9_000);
        let slice = tally.cut_slice();
        assert_eq!(
            (slice.deliveries, slice.latency.min(), slice.latency.max()),
            (6, Some(1_000), Some(4_000))
        );
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.sessions, report.missing, report.duplicates), (2, 1, 1));
        let last = report.publications.last().expect("three were seen");
        assert_eq!((last.offset, last.sessions, last.first, last.last), (30, 2, 2_000, 5_000));
    }

    #[test]
    fn a_state_of_nothing_yet_has_no_offset_and_is_whole_all_the_same() {
        let mut tally = tally(&["feed/city"], 1);
        let first = PublicationData { state: Some((1, 2)), ..STATE };
        assert_eq!(
            tally.count_delivery(0, b"feed/city", None, first, 1),
            DeliveryEffect::StatePart
        );
        let last = PublicationData { state: Some((2, 2)), ..STATE };
        assert_eq!(tally.count_delivery(0, b"feed/city", None, last, 1), DeliveryEffect::Ready);
        tally.begin_measuring();
        tally.count_delivery(0, b"feed/city", Some(1), own(1), 2);
        tally.cut_measurement();
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.from, report.cut, report.missing), (0, 1, 0));
    }

    #[test]
    fn who_lags_is_waited_for_and_who_is_gone_is_not_asked() {
        let mut tally = two();
        tally.count_delivery(0, b"feed/city", Some(11), own(1), 2);
        tally.cut_measurement();
        assert!(tally.is_session_complete(0) && !tally.is_session_complete(1));
        assert_eq!(tally.into_channel_reports(|session| session == 0)[0].missing, 0);
    }

    #[test]
    fn a_state_replaces_what_was_not_sent() {
        let mut tally = two();
        for offset in 11..=20 {
            tally.count_delivery(0, b"feed/city", Some(offset), own(1), 2);
        }
        tally.count_delivery(1, b"feed/city", Some(11), own(1), 2);
        let gap = PublicationData { gap: true, ..STATE };
        assert_eq!(
            tally.count_delivery(1, b"feed/city", Some(19), gap, 3),
            DeliveryEffect::Delivered
        );
        tally.count_delivery(1, b"feed/city", Some(20), own(1), 4);
        tally.cut_measurement();
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.missing, report.gaps), (0, 1));
    }

    #[test]
    fn without_a_state_a_session_begins_where_it_is_told_or_where_others_are() {
        let mut tally = tally(&["app/a"], 3);
        assert!(tally.note_subscribed(0, 0, Some(7)));
        tally.count_delivery(0, b"app/a", Some(8), own(1), 2);
        assert!(tally.note_subscribed(1, 0, None));
        tally.begin_measuring();
        for session in 0..2 {
            tally.count_delivery(session, b"app/a", Some(9), own(2), 2);
        }
        assert!(tally.has_seen_own_publication(0, 2) && !tally.has_seen_own_publication(0, 3));
        tally.cut_measurement();
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.sessions, report.missing, report.duplicates), (2, 0, 0));
    }

    #[test]
    fn where_there_are_no_offsets_our_numbers_serve() {
        let mut tally = tally(&["app/a", "app/b"], 1);
        assert!(tally.note_subscribed(0, 0, None) && tally.note_subscribed(0, 1, None));
        for number in [1, 2, 4] {
            tally.count_delivery(0, b"app/b", None, own(number), 2);
        }
        assert_eq!(tally.count_delivery(0, b"app/c", None, own(1), 2), DeliveryEffect::Unknown);
        tally.cut_measurement();
        let reports = tally.into_channel_reports(|_| true);
        assert_eq!((reports[0].publications.len(), reports[1].publications.len()), (0, 3));
    }
}
