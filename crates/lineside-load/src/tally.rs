//! Counts deliveries by session and channel: latencies, missing and duplicate ones.
//!
//! Offsets increase strictly, but only some channels have no gaps. A session should therefore have received every
//! publication that any session has received, between its own start and the end of the measurement.

use std::collections::HashMap;

use lineside_sync::histogram::{Histogram, LocalHistogram};
use serde::{Deserialize, Serialize};

use crate::clock::{MonotonicNanos, WallToMonotonicClock};
use crate::distribution::{ValueDistribution, histogram_bucket_upper_bounds};
use crate::limits::DISTINCT_PUBLICATIONS_MAX;
use crate::message::{MessageCodec, PublicationData};
use crate::plan::LoadTestPlan;

/// A publication that at least one session has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PublicationArrival {
    pub(crate) offset: u64,
    /// Time at which it was sent; `None` if unknown.
    pub(crate) sent: Option<MonotonicNanos>,
    /// Time at which the first session received it, and the last one.
    pub(crate) first: MonotonicNanos,
    pub(crate) last: MonotonicNanos,
    pub(crate) sessions: u64,
}

/// The results of one channel in one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChannelReport {
    /// Number of sessions that were subscribed until the end.
    pub(crate) sessions: u64,
    /// The publications, ordered by offset.
    pub(crate) publications: Vec<PublicationArrival>,
    pub(crate) missing: u64,
    pub(crate) duplicates: u64,
    /// Number of states that replaced changes that were not sent.
    pub(crate) gaps: u64,
    /// The offset at which all of its sessions had started, and the last offset that they should have.
    pub(crate) from: u64,
    pub(crate) cut: u64,
}

/// The deliveries of a period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeliverySlice {
    pub(crate) latency: ValueDistribution,
    pub(crate) deliveries: u64,
}

/// The position of a session in a channel.
#[derive(Clone, Copy, Debug)]
struct SessionChannelCursor {
    /// The offset after which the session should have every publication.
    start: u64,
    last: u64,
    received: u64,
}

/// The offset of a session whose state has not arrived.
const NOT_STARTED: u64 = u64::MAX;

#[derive(Debug)]
struct ChannelDeliveryTally {
    wire_name: Vec<u8>,
    has_state: bool,
    publications: Vec<PublicationArrival>,
    /// The index of the most recent publication, which the next session most likely receives, too.
    recent: usize,
    missing: u64,
    duplicates: u64,
    gaps: u64,
    from: u64,
    cut: Option<u64>,
    /// The last number of an own publication that a session has received.
    own_last: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedDeliveryEffect {
    /// The channel is unknown.
    Unknown,
    /// A part of a state arrived, but not the last.
    StatePart,
    /// The session received the channel's complete state for the first time.
    Ready,
    /// A publication, or a repeated state, arrived.
    Delivered,
}

pub(crate) struct DeliveryTally {
    channels: Vec<ChannelDeliveryTally>,
    by_name: HashMap<Vec<u8>, usize>,
    recent: usize,
    /// The positions, ordered by session, then by channel.
    cursors: Vec<SessionChannelCursor>,
    wall: WallToMonotonicClock,
    bounds: Vec<u64>,
    latency: LocalHistogram,
    deliveries: u64,
    measuring: bool,
}

impl DeliveryTally {
    pub(crate) fn new(plan: &LoadTestPlan, sessions: usize) -> Self {
        let language = MessageCodec::codec_for_transport(plan.transport, plan.format);
        let wire_names: Vec<Vec<u8>> =
            plan.channels.iter().map(|name| language.encode_channel_name(name)).collect();
        let by_name =
            wire_names.iter().cloned().enumerate().map(|(index, name)| (name, index)).collect();
        let channels = wire_names.into_iter().zip(&plan.channels).map(|(wire_name, name)| {
            ChannelDeliveryTally {
                wire_name,
                has_state: !LoadTestPlan::is_app_channel(name),
                publications: Vec::new(),
                recent: 0,
                missing: 0,
                duplicates: 0,
                gaps: 0,
                from: 0,
                cut: None,
                own_last: 0,
            }
        });
        let nowhere = SessionChannelCursor { start: NOT_STARTED, last: 0, received: 0 };
        Self {
            cursors: vec![nowhere; sessions * plan.channels.len()],
            channels: channels.collect(),
            by_name,
            recent: 0,
            wall: WallToMonotonicClock::sample_clock_offset(),
            bounds: histogram_bucket_upper_bounds(),
            latency: Histogram::new().handle_for_this_thread(),
            deliveries: 0,
            measuring: false,
        }
    }

    /// Notes a subscription. Returns true if the session does not wait for the channel any more.
    pub(crate) fn record_subscription(
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
        self.start_channel_in_session(session, index, offset.unwrap_or(seen))
    }

    fn start_channel_in_session(&mut self, session: usize, index: usize, offset: u64) -> bool {
        let channel = &mut self.channels[index];
        let cursor = &mut self.cursors[session * self.by_name.len() + index];
        let first = cursor.start == NOT_STARTED;
        if !first {
            // Publications that the state replaced will not arrive.
            let expected =
                count_publications_between(&channel.publications, cursor.start, cursor.last);
            channel.missing += expected.saturating_sub(cursor.received);
        }
        channel.from = channel.from.max(offset);
        *cursor = SessionChannelCursor { start: offset, last: offset, received: 0 };
        first
    }

    /// Counts a publication of a session, read at `now`.
    pub(crate) fn count_delivery(
        &mut self,
        session: usize,
        name: &[u8],
        offset: Option<u64>,
        data: PublicationData,
        now: MonotonicNanos,
    ) -> CountedDeliveryEffect {
        let Some(index) = self.find_channel_by_wire_name(name) else {
            return CountedDeliveryEffect::Unknown;
        };
        if let Some((part, parts)) = data.state {
            // A message omits an offset of 0, which means that the server has no data of the feed.
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
        // A channel without a log has no offsets, so the numbers of own publications replace them.
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
        CountedDeliveryEffect::Delivered
    }

    fn find_channel_by_wire_name(&mut self, name: &[u8]) -> Option<usize> {
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
    ) -> CountedDeliveryEffect {
        let Some(offset) = complete_at else { return CountedDeliveryEffect::StatePart };
        self.channels[index].gaps += u64::from(gap);
        if self.start_channel_in_session(session, index, offset) {
            CountedDeliveryEffect::Ready
        } else {
            CountedDeliveryEffect::Delivered
        }
    }

    fn count_publication(
        &mut self,
        session: usize,
        index: usize,
        offset: u64,
        sent: Option<MonotonicNanos>,
        now: MonotonicNanos,
    ) {
        let channel = &mut self.channels[index];
        let cursor = &mut self.cursors[session * self.by_name.len() + index];
        if cursor.start == NOT_STARTED {
            return;
        }
        if offset <= cursor.last {
            channel.duplicates += 1;
            return;
        }
        cursor.last = offset;
        if channel.cut.is_none_or(|cut| offset <= cut) && channel.record_arrival(offset, sent, now)
        {
            cursor.received += 1;
        }
    }

    /// Starts the measurement of latencies.
    pub(crate) fn begin_measuring(&mut self) {
        self.measuring = true;
        for channel in &mut self.channels {
            channel.own_last = 0;
        }
    }

    /// Ends the measurement: sessions should have every publication that any session has received so far, and later
    /// ones are ignored.
    pub(crate) fn end_measurement(&mut self) {
        for channel in &mut self.channels {
            channel.cut = Some(channel.publications.last().map_or(0, |seen| seen.offset));
        }
    }

    /// Returns the deliveries since the last slice.
    pub(crate) fn take_slice(&mut self) -> DeliverySlice {
        let latency =
            ValueDistribution::from_snapshot(&self.latency.histogram().snapshot(), &self.bounds);
        self.latency = Histogram::new().handle_for_this_thread();
        DeliverySlice { latency, deliveries: std::mem::take(&mut self.deliveries) }
    }

    /// Returns true if the own publication with that number has reached a session.
    pub(crate) fn has_seen_own_publication(&self, index: usize, number: u64) -> bool {
        self.channels[index].own_last >= number
    }

    /// Returns true if a session has received all that it should have.
    pub(crate) fn is_session_complete(&self, session: usize) -> bool {
        let cursors = &self.cursors[session * self.channels.len()..][..self.channels.len()];
        cursors.iter().zip(&self.channels).all(|(cursor, channel)| {
            cursor.start == NOT_STARTED || channel.cut.is_none_or(|cut| cursor.last >= cut)
        })
    }

    /// Returns the results by channel. Closed sessions do not count as missing publications.
    pub(crate) fn into_channel_reports(
        self,
        is_open: impl Fn(usize) -> bool,
    ) -> Vec<ChannelReport> {
        let width = self.channels.len();
        let cursors = self.cursors;
        let report = |(index, channel): (usize, ChannelDeliveryTally)| {
            let cut = channel.cut.unwrap_or_default();
            let (mut sessions, mut missing) = (0, channel.missing);
            for (session, cursors) in cursors.chunks_exact(width).enumerate() {
                let cursor = cursors[index];
                if cursor.start == NOT_STARTED || !is_open(session) {
                    continue;
                }
                sessions += 1;
                missing += count_publications_between(&channel.publications, cursor.start, cut)
                    .saturating_sub(cursor.received);
            }
            let ChannelDeliveryTally { publications, duplicates, gaps, from, .. } = channel;
            ChannelReport { sessions, publications, missing, duplicates, gaps, from, cut }
        };
        self.channels.into_iter().enumerate().map(report).collect()
    }
}

/// Counts the publications with an offset after `start`, up to `end`.
fn count_publications_between(publications: &[PublicationArrival], start: u64, end: u64) -> u64 {
    let up_to = |offset| publications.partition_point(|seen| seen.offset <= offset);
    up_to(end).saturating_sub(up_to(start)) as u64
}

impl ChannelDeliveryTally {
    /// Notes an arrival; returns false if the limit of distinguished publications is exceeded.
    fn record_arrival(
        &mut self,
        offset: u64,
        sent: Option<MonotonicNanos>,
        now: MonotonicNanos,
    ) -> bool {
        if self.publications.get(self.recent).is_none_or(|seen| seen.offset != offset) {
            let found = self.publications.binary_search_by_key(&offset, |seen| seen.offset);
            self.recent = match found {
                Ok(index) => index,
                Err(_) if self.publications.len() >= DISTINCT_PUBLICATIONS_MAX => return false,
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
    use crate::plan::tests::new_test_plan;

    const STATE: PublicationData =
        PublicationData { ours: None, at_millis: None, state: Some((1, 1)), gap: false };

    fn tally(channels: &[&str], sessions: usize) -> DeliveryTally {
        let mut plan = new_test_plan("http://127.0.0.1:1");
        plan.channels = channels.iter().map(|channel| (*channel).to_owned()).collect();
        DeliveryTally::new(&plan, sessions)
    }

    fn own(number: u64) -> PublicationData {
        PublicationData { ours: Some((number, 1_000)), ..PublicationData::default() }
    }

    /// Returns a tally of two sessions on a channel whose state is at 10.
    fn two() -> DeliveryTally {
        let mut tally = tally(&["feed/city"], 2);
        for session in 0..2 {
            assert_eq!(
                tally.count_delivery(session, b"feed/city", Some(10), STATE, 1),
                CountedDeliveryEffect::Ready
            );
        }
        tally.begin_measuring();
        tally
    }

    #[test]
    fn a_delivery_that_only_one_of_two_sessions_received_is_missing() {
        let mut tally = two();
        // Offsets may have gaps.
        for offset in [12, 15, 30] {
            tally.count_delivery(0, b"feed/city", Some(offset), own(1), 2_000);
        }
        for offset in [12, 30, 30] {
            tally.count_delivery(1, b"feed/city", Some(offset), own(1), 5_000);
        }
        tally.end_measurement();
        assert!(tally.is_session_complete(0) && tally.is_session_complete(1));
        // Publications after the end are ignored.
        tally.count_delivery(0, b"feed/city", Some(31), own(1), 9_000);
        let slice = tally.take_slice();
        assert_eq!(
            (slice.deliveries, slice.latency.min(), slice.latency.max()),
            (6, Some(1_000), Some(4_000))
        );
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.sessions, report.missing, report.duplicates), (2, 1, 1));
        let last = report.publications.last().expect("a received publication");
        assert_eq!((last.offset, last.sessions, last.first, last.last), (30, 2, 2_000, 5_000));
    }

    #[test]
    fn an_empty_state_without_an_offset_is_complete() {
        let mut tally = tally(&["feed/city"], 1);
        let first = PublicationData { state: Some((1, 2)), ..STATE };
        assert_eq!(
            tally.count_delivery(0, b"feed/city", None, first, 1),
            CountedDeliveryEffect::StatePart
        );
        let last = PublicationData { state: Some((2, 2)), ..STATE };
        assert_eq!(
            tally.count_delivery(0, b"feed/city", None, last, 1),
            CountedDeliveryEffect::Ready
        );
        tally.begin_measuring();
        tally.count_delivery(0, b"feed/city", Some(1), own(1), 2);
        tally.end_measurement();
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.from, report.cut, report.missing), (0, 1, 0));
    }

    #[test]
    fn a_lagging_session_is_awaited_and_a_closed_one_is_excluded() {
        let mut tally = two();
        tally.count_delivery(0, b"feed/city", Some(11), own(1), 2);
        tally.end_measurement();
        assert!(tally.is_session_complete(0) && !tally.is_session_complete(1));
        assert_eq!(tally.into_channel_reports(|session| session == 0)[0].missing, 0);
    }

    #[test]
    fn a_state_after_a_gap_replaces_skipped_deliveries() {
        let mut tally = two();
        for offset in 11..=20 {
            tally.count_delivery(0, b"feed/city", Some(offset), own(1), 2);
        }
        tally.count_delivery(1, b"feed/city", Some(11), own(1), 2);
        let gap = PublicationData { gap: true, ..STATE };
        assert_eq!(
            tally.count_delivery(1, b"feed/city", Some(19), gap, 3),
            CountedDeliveryEffect::Delivered
        );
        tally.count_delivery(1, b"feed/city", Some(20), own(1), 4);
        tally.end_measurement();
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.missing, report.gaps), (0, 1));
    }

    #[test]
    fn without_a_state_a_session_starts_at_the_reply_offset_or_with_others() {
        let mut tally = tally(&["app/a"], 3);
        assert!(tally.record_subscription(0, 0, Some(7)));
        tally.count_delivery(0, b"app/a", Some(8), own(1), 2);
        assert!(tally.record_subscription(1, 0, None));
        tally.begin_measuring();
        for session in 0..2 {
            tally.count_delivery(session, b"app/a", Some(9), own(2), 2);
        }
        assert!(tally.has_seen_own_publication(0, 2) && !tally.has_seen_own_publication(0, 3));
        tally.end_measurement();
        let report = &tally.into_channel_reports(|_| true)[0];
        assert_eq!((report.sessions, report.missing, report.duplicates), (2, 0, 0));
    }

    #[test]
    fn without_offsets_publication_numbers_are_used() {
        let mut tally = tally(&["app/a", "app/b"], 1);
        assert!(tally.record_subscription(0, 0, None) && tally.record_subscription(0, 1, None));
        for number in [1, 2, 4] {
            tally.count_delivery(0, b"app/b", None, own(number), 2);
        }
        assert_eq!(
            tally.count_delivery(0, b"app/c", None, own(1), 2),
            CountedDeliveryEffect::Unknown
        );
        tally.end_measurement();
        let reports = tally.into_channel_reports(|_| true);
        assert_eq!((reports[0].publications.len(), reports[1].publications.len()), (0, 3));
    }
}
