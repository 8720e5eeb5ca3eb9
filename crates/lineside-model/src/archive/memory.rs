//! The in-memory poll archive.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lineside_sync::{Clock, UnixMillis};

use super::{
    ArchiveError, ArchiveSpan, FeedStatePeriod, PollArchive, PollBin, PollQuery, PollRecord,
    ServedContentFreshness, ServerRun,
};
use crate::{
    feed_id::FeedId,
    limits::{MEMORY_BINS_MAX, MEMORY_INCIDENTS_MAX, MEMORY_POLLS_MAX},
    status::FeedState,
};

/// A bounded [`PollArchive`] without a disk. Its content is lost with the process.
///
/// Holds for each feed the bins of both spans and the most recent polls, failed polls and states.
#[derive(Debug)]
pub struct MemoryArchive {
    clock: Arc<dyn Clock>,
    began: UnixMillis,
    feeds: Mutex<HashMap<FeedId, FeedHistory>>,
}

#[derive(Debug, Default)]
struct FeedHistory {
    /// Ordered as [`ArchiveSpan::ALL`]; each in time order.
    bins: [VecDeque<PollBin>; ArchiveSpan::ALL.len()],
    polls: VecDeque<PollRecord>,
    failed: VecDeque<PollRecord>,
    incidents: VecDeque<FeedStatePeriod>,
}

impl MemoryArchive {
    /// Returns an empty archive.
    pub fn new(clock: Arc<dyn Clock>) -> MemoryArchive {
        let began = clock.wall_time();
        MemoryArchive { clock, began, feeds: Mutex::default() }
    }

    fn lock_feeds(&self) -> MutexGuard<'_, HashMap<FeedId, FeedHistory>> {
        // A writer that panicked leaves the data at most one poll short.
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_feed_history<T>(
        &self,
        feed: &FeedId,
        read: impl FnOnce(&FeedHistory) -> T,
    ) -> Option<T> {
        self.lock_feeds().get(feed).map(read)
    }
}

/// Appends an item and drops the oldest beyond `length_max`.
fn push_bounded<T>(list: &mut VecDeque<T>, new: T, length_max: usize) {
    if list.len() >= length_max {
        list.pop_front();
    }
    list.push_back(new);
}

fn add_to_poll_bins<'a>(
    feeds: &'a mut HashMap<FeedId, FeedHistory>,
    feed: &FeedId,
    new: impl Fn(ArchiveSpan) -> PollBin,
) -> &'a mut FeedHistory {
    // The bound is shared, so with very many feeds each keeps fewer bins.
    let fair = MEMORY_BINS_MAX / (feeds.len() + 1);
    let history = feeds.entry(feed.clone()).or_default();
    for (span, bins) in ArchiveSpan::ALL.into_iter().zip(&mut history.bins) {
        let new = new(span);
        match bins.back_mut() {
            // After the wall clock stepped back, polls add to the last bin, so that bins stay in order.
            Some(last) if last.start >= new.start => last.merge_later_bin(&new),
            _ => push_bounded(bins, new, span.bin_count().min(fair).max(1)),
        }
    }
    history
}

impl PollArchive for MemoryArchive {
    fn record_poll(&self, feed: &FeedId, poll: PollRecord) {
        let mut feeds = self.lock_feeds();
        let history = add_to_poll_bins(&mut feeds, feed, |span| PollBin::from_poll(&poll, span));
        if poll.has_failed() {
            push_bounded(&mut history.failed, poll.clone(), MEMORY_POLLS_MAX);
        }
        push_bounded(&mut history.polls, poll, MEMORY_POLLS_MAX);
    }

    fn record_polling_pause(&self, feed: &FeedId, at: UnixMillis, serving: ServedContentFreshness) {
        add_to_poll_bins(&mut self.lock_feeds(), feed, |span| {
            PollBin::from_pause(at, serving, span)
        });
    }

    fn record_feed_state_change(
        &self,
        feed: &FeedId,
        state: FeedState,
        reason: &str,
        since: UnixMillis,
    ) {
        let mut feeds = self.lock_feeds();
        let incidents = &mut feeds.entry(feed.clone()).or_default().incidents;
        if let Some(last) = incidents.back_mut() {
            last.ended = Some(since.max(last.began));
        }
        let new = FeedStatePeriod { state, reason: reason.to_owned(), began: since, ended: None };
        push_bounded(incidents, new, MEMORY_INCIDENTS_MAX);
    }

    fn list_poll_bins(
        &self,
        feed: &FeedId,
        span: ArchiveSpan,
        from: UnixMillis,
    ) -> Result<Vec<PollBin>, ArchiveError> {
        let read = |history: &FeedHistory| {
            let bins = &history.bins[span as usize];
            let first = bins.partition_point(|bin| bin.start < from);
            bins.iter().skip(first.saturating_sub(1)).copied().collect()
        };
        Ok(self.read_feed_history(feed, read).unwrap_or_default())
    }

    fn list_polls(&self, feed: &FeedId, query: PollQuery) -> Result<Vec<PollRecord>, ArchiveError> {
        let read = |history: &FeedHistory| {
            let polls = if query.only_failed { &history.failed } else { &history.polls };
            let selected = polls.iter().rev().filter(|poll| poll.at >= query.from);
            selected.skip(query.offset).take(query.limit).cloned().collect()
        };
        Ok(self.read_feed_history(feed, read).unwrap_or_default())
    }

    fn list_feed_state_periods(
        &self,
        feed: &FeedId,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<FeedStatePeriod>, ArchiveError> {
        let read = |history: &FeedHistory| {
            let incidents = history.incidents.iter().rev();
            let selected =
                incidents.filter(|incident| incident.ended.is_none_or(|end| end >= from));
            selected.take(limit).cloned().collect()
        };
        Ok(self.read_feed_history(feed, read).unwrap_or_default())
    }

    fn list_failure_periods(
        &self,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<(FeedId, FeedStatePeriod)>, ArchiveError> {
        let mut found: Vec<(FeedId, FeedStatePeriod)> = Vec::new();
        for (feed, history) in &*self.lock_feeds() {
            let selected = history.incidents.iter().filter(|incident| {
                incident.state.is_problem_state() && incident.ended.is_none_or(|end| end >= from)
            });
            found.extend(selected.map(|incident| (feed.clone(), incident.clone())));
        }
        found.sort_by_key(|(_, incident)| std::cmp::Reverse(incident.began));
        found.truncate(limit);
        Ok(found)
    }

    fn list_server_runs(&self, _from: UnixMillis) -> Result<Vec<ServerRun>, ArchiveError> {
        Ok(vec![ServerRun { began: self.began, seen: self.clock.wall_time() }])
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_sync::SimulatedClock;

    use super::*;
    use crate::archive::{PollFailure, ServedContentFreshness};
    use crate::fetch_failure::FetchPhase;

    fn archive() -> MemoryArchive {
        MemoryArchive::new(Arc::new(SimulatedClock::new(UnixMillis(0))))
    }

    fn feed() -> FeedId {
        FeedId::new("city").unwrap()
    }

    fn poll(at_s: i64, failed: bool) -> PollRecord {
        PollRecord {
            at: UnixMillis::from_seconds(at_s),
            took: Duration::from_millis(5),
            bytes: 10,
            outcome: if failed { "http_503".into() } else { "new".into() },
            failure: failed.then(|| PollFailure {
                message: "the server returned 503".to_owned(),
                phase: Some(FetchPhase::Wait),
                status: Some(503),
                head: None,
            }),
            serving: ServedContentFreshness::Fresh,
        }
    }

    #[test]
    fn the_memory_archive_is_bounded_and_keeps_the_newest() {
        let archive = archive();
        for n in 0..3_000 {
            archive.record_poll(&feed(), poll(n * 60, n % 2 == 0));
        }
        let all = PollQuery { from: UnixMillis(0), only_failed: false, offset: 0, limit: 9_999 };
        let polls = archive.list_polls(&feed(), all).unwrap();
        assert_eq!(polls.len(), MEMORY_POLLS_MAX);
        assert_eq!(polls[0].at, UnixMillis::from_seconds(2_999 * 60));
        let failed = PollQuery { only_failed: true, offset: 1, limit: 1, ..all };
        let failed = archive.list_polls(&feed(), failed).unwrap();
        assert_eq!((failed.len(), failed[0].outcome.as_str()), (1, "http_503"));
        assert_eq!(failed[0].at, UnixMillis::from_seconds(2_996 * 60));
        let bins = archive.list_poll_bins(&feed(), ArchiveSpan::Day, UnixMillis(0)).unwrap();
        assert_eq!(bins.len(), ArchiveSpan::Day.bin_count());
        let hours = archive.list_poll_bins(&feed(), ArchiveSpan::Month, UnixMillis(0)).unwrap();
        assert_eq!((hours.len(), hours[0].polls, hours[0].failed), (50, 60, 30));
    }

    #[test]
    fn listed_bins_include_the_one_before_the_start() {
        let archive = archive();
        for at in [0, 600, 1_200] {
            archive.record_poll(&feed(), poll(at, false));
        }
        let from = UnixMillis::from_seconds(700);
        let starts: Vec<_> = archive.list_poll_bins(&feed(), ArchiveSpan::Day, from).unwrap();
        let starts: Vec<_> = starts.iter().map(|bin| bin.start.unix_seconds()).collect();
        assert_eq!(starts, [600, 1_200]);
    }

    #[test]
    fn a_state_ends_when_another_begins() {
        let archive = archive();
        let at = UnixMillis::from_seconds;
        archive.record_feed_state_change(&feed(), FeedState::Ok, "answers", at(10));
        archive.record_feed_state_change(&feed(), FeedState::Stale, "http_500", at(20));
        let incidents = archive.list_feed_state_periods(&feed(), at(0), 10).unwrap();
        assert_eq!(incidents[0].state, FeedState::Stale);
        assert_eq!(incidents[0].ended, None);
        assert_eq!((incidents[1].began, incidents[1].ended), (at(10), Some(at(20))));
        assert_eq!(archive.list_feed_state_periods(&feed(), at(21), 10).unwrap().len(), 1);
    }
}
