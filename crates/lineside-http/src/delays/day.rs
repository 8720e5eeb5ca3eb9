//! The delay statistics of the last 24 hours, in quarters of an hour, for each feed with trips and for each of its
//! lines. Stale data are not sampled: the history then has a gap, as it should.
//!
//! A line, like a feed, takes 16 bytes for a quarter and 2 kB for a day. Stops have their own history, in
//! [`super::stops`].

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lineside_ingest::Network;
use lineside_model::{DelayCounts, FeedId, TripDelay};
use lineside_store::DelayCountRow;
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use super::question::DelayReportRequest;

/// The length of a quarter of an hour.
const QUARTER_MS: i64 = 15 * 60 * 1_000;
/// Quarters of an hour in a day.
pub const QUARTERS_MAX: usize = 96;
/// The most feeds with a history: 20 MB.
const FEEDS_MAX: usize = 10_000;
/// The most lines of a feed with a history.
pub const FEED_LINES_MAX: usize = 2_000;
/// The most lines of all feeds with a history: 20 MB.
const LINES_MAX: usize = 10_000;
/// The most bytes of a line's id; a line with a longer id has no history.
const LINE_BYTES_MAX: usize = 200;

/// The trips seen in a quarter of an hour, summed over its samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuarterHour {
    /// The beginning of the quarter.
    pub start: UnixMillis,
    /// Trips with known times, and trips that did not run.
    pub trips: u64,
    pub late: u64,
    pub cancelled: u64,
}

impl QuarterHour {
    /// Returns the share of late trips.
    pub fn late_share(&self) -> f64 {
        share_of_whole(self.late, self.trips)
    }

    /// Returns the share of trips that did not run.
    pub fn cancelled_share(&self) -> f64 {
        share_of_whole(self.cancelled, self.trips)
    }
}

fn share_of_whole(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The history of a question's trips.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DelayHistory {
    /// The sampled quarters, in order; nothing is known about the others.
    pub quarters: Vec<QuarterHour>,
    /// True if the line or stop has no history because the server records too many others.
    pub is_omitted: bool,
}

/// The data time of a sample.
#[derive(Debug, Clone, Copy)]
pub struct SampleTime {
    pub at: UnixMillis,
    /// True if a recording is played: its clock is not the server's, and goes back when it restarts.
    pub is_recording: bool,
}

impl SampleTime {
    /// Returns the current time of a network's data.
    pub fn for_network(network: &Network) -> Self {
        Self { at: network.data_time_now(), is_recording: network.replayed_time_now().is_some() }
    }
}

/// A quarter as stored in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuarterHourCounts {
    /// The number of the quarter since 1970.
    quarter: u32,
    trips: u32,
    late: u32,
    cancelled: u32,
}

impl QuarterHourCounts {
    pub fn from_counts(counts: &DelayCounts, now: UnixMillis) -> Self {
        let to_u32 = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            quarter: quarter_hour_number(now),
            trips: to_u32(counts.trips - counts.unknown),
            late: to_u32(counts.late),
            cancelled: to_u32(counts.cancelled),
        }
    }

    fn add_counts(&mut self, other: &Self) {
        self.trips = self.trips.saturating_add(other.trips);
        self.late = self.late.saturating_add(other.late);
        self.cancelled = self.cancelled.saturating_add(other.cancelled);
    }

    fn start_time(&self) -> UnixMillis {
        UnixMillis(i64::from(self.quarter) * QUARTER_MS)
    }

    pub fn to_quarter_hour(&self) -> QuarterHour {
        let [trips, late, cancelled] = [self.trips, self.late, self.cancelled].map(u64::from);
        QuarterHour { start: self.start_time(), trips, late, cancelled }
    }

    fn delay_count_row(&self, feed: &FeedId, line: Option<&SmolStr>) -> DelayCountRow {
        let Self { trips, late, cancelled, .. } = *self;
        let line = line.map(ToString::to_string);
        DelayCountRow { feed: feed.clone(), line, start: self.start_time(), trips, late, cancelled }
    }
}

fn quarter_hour_number(at: UnixMillis) -> u32 {
    u32::try_from(at.0.div_euclid(QUARTER_MS)).unwrap_or(0)
}

/// The quarters of a feed or a line, the latest last.
#[derive(Debug, Default)]
pub struct QuarterHourSeries(VecDeque<QuarterHourCounts>);

impl QuarterHourSeries {
    fn add_quarter(&mut self, seen: QuarterHourCounts) {
        match self.0.back_mut() {
            // If the wall clock stepped back, the sample is added to the last quarter, so that quarters stay in order.
            Some(last) if last.quarter >= seen.quarter => last.add_counts(&seen),
            _ => {
                if self.0.len() >= QUARTERS_MAX {
                    self.0.pop_front();
                }
                self.0.push_back(seen);
            }
        }
    }

    /// Adds a quarter of a recording, whose clock goes back when it restarts: the quarters of its previous run are
    /// retained and added to.
    fn add_recorded_quarter(&mut self, seen: QuarterHourCounts) {
        let of_day = |it: &QuarterHourCounts| {
            usize::try_from(it.quarter.abs_diff(seen.quarter)).unwrap_or(usize::MAX) < QUARTERS_MAX
        };
        self.0.retain(of_day);
        match self.0.binary_search_by_key(&seen.quarter, |it| it.quarter) {
            Ok(at) => {
                if let Some(known) = self.0.get_mut(at) {
                    known.add_counts(&seen);
                }
            }
            Err(at) => {
                self.0.insert(at, seen);
                if self.0.len() > QUARTERS_MAX && at + 1 == self.0.len() {
                    self.0.pop_front();
                } else if self.0.len() > QUARTERS_MAX {
                    self.0.pop_back();
                }
            }
        }
    }

    pub fn add_sample(&mut self, seen: QuarterHourCounts, time: SampleTime) {
        if time.is_recording {
            self.add_recorded_quarter(seen);
        } else {
            self.add_quarter(seen);
        }
    }

    fn find_quarter(&self, quarter: u32) -> Option<&QuarterHourCounts> {
        let at = self.0.binary_search_by_key(&quarter, |seen| seen.quarter).ok()?;
        self.0.get(at)
    }

    /// Returns the quarters of the day that ends at `now`.
    pub fn iter_last_day(&self, now: UnixMillis) -> impl Iterator<Item = &QuarterHourCounts> {
        let day = quarter_hour_number(UnixMillis(last_day_start(now)))..=quarter_hour_number(now);
        self.0.iter().filter(move |seen| day.contains(&seen.quarter))
    }

    fn iter_since(&self, quarter: u32) -> impl Iterator<Item = &QuarterHourCounts> {
        self.0.iter().filter(move |seen| seen.quarter >= quarter)
    }
}

#[derive(Debug, Default)]
struct FeedDelayDay {
    all: QuarterHourSeries,
    lines: HashMap<SmolStr, QuarterHourSeries>,
    /// True if a recording is played: the quarters are those of the recording.
    is_recording: bool,
    /// The last quarter in which a line was left out because the history was full.
    full_quarter: Option<u32>,
}

#[derive(Debug, Default)]
struct AllFeedsDelayDays {
    feeds: HashMap<FeedId, FeedDelayDay>,
    /// The number of lines of all feeds.
    n_lines: usize,
    /// The quarter of the last sample.
    sampled_quarter: Option<u32>,
}

impl AllFeedsDelayDays {
    /// Returns the day of a feed, or `None` if the history is full.
    fn find_or_add_feed_day(&mut self, feed: &FeedId) -> Option<&mut FeedDelayDay> {
        if self.feeds.len() >= FEEDS_MAX && !self.feeds.contains_key(feed) {
            return None;
        }
        Some(self.feeds.entry(feed.clone()).or_default())
    }

    fn add_line_sample(
        &mut self,
        feed: &FeedId,
        line: &SmolStr,
        seen: QuarterHourCounts,
        time: SampleTime,
    ) {
        let n_lines = self.n_lines;
        let Some(day) = self.find_or_add_feed_day(feed) else { return };
        if let Some(series) = day.lines.get_mut(line) {
            series.add_sample(seen, time);
        } else if n_lines >= LINES_MAX
            || day.lines.len() >= FEED_LINES_MAX
            || line.len() > LINE_BYTES_MAX
        {
            day.full_quarter = Some(seen.quarter);
        } else {
            day.lines.entry(line.clone()).or_default().add_sample(seen, time);
            self.n_lines += 1;
        }
    }

    /// Returns the rows to store: everything since the beginning of the last sampled quarter.
    fn unsaved_rows(&self) -> Vec<DelayCountRow> {
        let Some(since) = self.sampled_quarter else { return Vec::new() };
        let rows_of_feed = |(feed, day): (&FeedId, &FeedDelayDay)| {
            let all = day.all.iter_since(since).map(|seen| seen.delay_count_row(feed, None));
            let lines = day.lines.iter().flat_map(|(line, series)| {
                series.iter_since(since).map(move |seen| seen.delay_count_row(feed, Some(line)))
            });
            all.chain(lines).collect::<Vec<_>>()
        };
        // A recording plays again after a restart.
        self.feeds.iter().filter(|(_, day)| !day.is_recording).flat_map(rows_of_feed).collect()
    }
}

/// The last 24 hours of each feed with trips, and under a schedule's id those of all real-time feeds of its network,
/// each trip counted once.
#[derive(Debug, Default)]
pub struct DelayHistoryStore {
    days: Mutex<AllFeedsDelayDays>,
    generation: AtomicI64,
}

impl DelayHistoryStore {
    /// Returns a number that increases with each sampling round.
    pub fn sampling_generation(&self) -> i64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns the history of a question's sources, as a whole or for one line. `now` is the present of the data.
    pub fn find_delay_history(
        &self,
        question: &DelayReportRequest,
        now: UnixMillis,
    ) -> DelayHistory {
        let feed = match &question.sources[..] {
            [] => return DelayHistory::default(),
            [source] if source.trip_late_after == question.late_after => &source.id,
            // Trips of several feeds are counted once, under the network's name and with the threshold of its schedule.
            _ => question.network.id(),
        };
        self.find_feed_history(feed, question.route.as_ref(), now)
    }

    fn find_feed_history(
        &self,
        feed: &FeedId,
        line: Option<&SmolStr>,
        now: UnixMillis,
    ) -> DelayHistory {
        let days = self.lock_days();
        let Some(day) = days.feeds.get(feed) else { return DelayHistory::default() };
        let day_series = day.all.iter_last_day(now);
        let Some(line) = line else {
            return DelayHistory {
                quarters: day_series.map(QuarterHourCounts::to_quarter_hour).collect(),
                is_omitted: false,
            };
        };
        let Some(series) = day.lines.get(line) else {
            let is_left_out = day.full_quarter.is_some();
            let none = |seen: &QuarterHourCounts| {
                QuarterHourCounts { quarter: seen.quarter, ..QuarterHourCounts::default() }
                    .to_quarter_hour()
            };
            let quarters = if is_left_out { Vec::new() } else { day_series.map(none).collect() };
            return DelayHistory { quarters, is_omitted: is_left_out };
        };
        // If a quarter was sampled and does not contain the line, the line had no trips.
        let counts_of_line = |seen: &QuarterHourCounts| {
            let none = QuarterHourCounts { quarter: seen.quarter, ..QuarterHourCounts::default() };
            series.find_quarter(seen.quarter).unwrap_or(&none).to_quarter_hour()
        };
        DelayHistory { quarters: day_series.map(counts_of_line).collect(), is_omitted: false }
    }

    /// Returns true if trips of a feed were seen since the start, or in the stored day before it.
    pub fn has_seen_feed(&self, feed: &FeedId) -> bool {
        self.lock_days().feeds.contains_key(feed)
    }

    /// Begins a sampling round at `now`. Returns the rows to store of the previous quarter, if it has ended.
    pub fn begin_sampling_round(&self, now: UnixMillis) -> Vec<DelayCountRow> {
        let (mut days, quarter) = (self.lock_days(), quarter_hour_number(now));
        let ended = match days.sampled_quarter.is_some_and(|last_quarter| last_quarter != quarter) {
            true => days.unsaved_rows(),
            false => Vec::new(),
        };
        days.sampled_quarter = Some(quarter);
        ended
    }

    /// Adds a sample of a feed's trips, as a whole and by lines.
    pub fn add_trip_sample(
        &self,
        feed: &FeedId,
        trips: &[&TripDelay],
        late_after: std::time::Duration,
        time: SampleTime,
    ) {
        let now = time.at;
        let counts =
            |trips: &[&TripDelay]| DelayCounts::from_trips(trips.iter().copied(), late_after);
        let mut by_line: HashMap<&SmolStr, Vec<&TripDelay>> = HashMap::new();
        for trip in trips {
            if let Some(line) = &trip.route_id {
                by_line.entry(line).or_default().push(trip);
            }
        }
        let all = QuarterHourCounts::from_counts(&counts(trips), now);
        let lines = by_line
            .iter()
            .map(|(line, trips)| (*line, QuarterHourCounts::from_counts(&counts(trips), now)));
        let mut lines: Vec<_> = lines.filter(|(_, seen)| seen.trips > 0).collect();
        // Sorting makes it deterministic which lines are recorded when the limit is reached.
        lines.sort_unstable_by_key(|(line, _)| *line);
        let mut days = self.lock_days();
        if let Some(day) = days.find_or_add_feed_day(feed) {
            day.is_recording = time.is_recording;
            day.all.add_sample(all, time);
        }
        for (line, seen) in lines {
            days.add_line_sample(feed, line, seen, time);
        }
    }

    /// Drops removed feeds and lines that were not seen for a day, and increases the generation.
    pub fn finish_sampling_round(&self, is_member: impl Fn(&FeedId) -> bool, now: UnixMillis) {
        let first = quarter_hour_number(UnixMillis(last_day_start(now)));
        let mut days = self.lock_days();
        days.feeds.retain(|id, day| {
            // Each run of a recording has the same lines.
            let is_recent = |quarter: u32| day.is_recording || quarter >= first;
            day.lines.retain(|_, series| series.0.back().is_some_and(|it| is_recent(it.quarter)));
            day.full_quarter = day.full_quarter.filter(|full| is_recent(*full));
            is_member(id)
        });
        days.n_lines = days.feeds.values().map(|day| day.lines.len()).sum();
        drop(days);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the rows to store: everything since the beginning of the last sampled quarter.
    pub fn unsaved_rows(&self) -> Vec<DelayCountRow> {
        self.lock_days().unsaved_rows()
    }

    /// Restores the rows stored before a restart, in chronological order, up to the limits.
    pub fn restore_rows(&self, rows: &[DelayCountRow], now: UnixMillis) {
        let mut days = self.lock_days();
        let time = SampleTime { at: now, is_recording: false };
        for row in rows.iter().filter(|row| (last_day_start(now)..=now.0).contains(&row.start.0)) {
            let quarter = quarter_hour_number(row.start);
            let DelayCountRow { trips, late, cancelled, .. } = *row;
            let seen = QuarterHourCounts { quarter, trips, late, cancelled };
            match &row.line {
                Some(line) => days.add_line_sample(&row.feed, &SmolStr::new(line), seen, time),
                None => {
                    if let Some(day) = days.find_or_add_feed_day(&row.feed) {
                        day.all.add_quarter(seen);
                    }
                }
            }
        }
        drop(days);
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    fn lock_days(&self) -> MutexGuard<'_, AllFeedsDelayDays> {
        // A panic during a sample loses at most that sample.
        self.days.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the beginning of the day that ends at `now`, in whole quarters.
pub fn last_day_start(now: UnixMillis) -> i64 {
    let quarters = i64::try_from(QUARTERS_MAX).unwrap_or(i64::MAX);
    (now.0.div_euclid(QUARTER_MS) - (quarters - 1)) * QUARTER_MS
}

/// Returns the index of a quarter within the day that ends at `now`.
pub fn quarter_hour_index(start: UnixMillis, now: UnixMillis) -> i64 {
    (start.0 - last_day_start(now)).div_euclid(QUARTER_MS)
}

/// A run of quarters without samples: nothing is known about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleGap {
    /// The beginning of its first quarter.
    pub start: UnixMillis,
    pub quarters: i64,
}

/// Returns the gaps of the day that ends at `now`. A current quarter that has just begun is not a gap.
pub fn find_sample_gaps(quarters: &[QuarterHour], now: UnixMillis) -> Vec<SampleGap> {
    let first = last_day_start(now);
    let running = quarter_hour_index(now, now);
    let mut gaps = Vec::new();
    let mut next = 0;
    let recorded = quarters.iter().map(|quarter| quarter_hour_index(quarter.start, now));
    for at in recorded.chain([running + 1]) {
        let has_just_begun = at > running && next == running;
        if at > next && !has_just_begun {
            let start = UnixMillis(first + next * QUARTER_MS);
            gaps.push(SampleGap { start, quarters: at - next });
        }
        next = next.max(at + 1);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lineside_model::TripDelayStatus;

    use super::*;

    const FIVE: Duration = Duration::from_secs(300);

    fn id(text: &str) -> FeedId {
        FeedId::new(text).unwrap()
    }

    fn trip(line: &str, status: TripDelayStatus) -> TripDelay {
        TripDelay {
            feed: id("a"),
            trip_id: SmolStr::default(),
            start_time: SmolStr::default(),
            start_date: SmolStr::default(),
            route_id: Some(SmolStr::new(line)),
            route_short_name: None,
            route_color: None,
            route_type: None,
            headsign: None,
            stop_id: None,
            stop_name: None,
            scheduled: None,
            begins_at: None,
            first_stop_name: None,
            status,
            is_delay_only: false,
        }
    }

    /// Adds a sample of a line with the given numbers of late and punctual trips, one cancelled trip and one unknown
    /// trip.
    fn sample_day(
        day: &DelayHistoryStore,
        feed: &str,
        line: &str,
        (late, on_time): (usize, usize),
        now: UnixMillis,
    ) {
        let late = std::iter::repeat_n(TripDelayStatus::Delayed(600), late);
        let all = late.chain(std::iter::repeat_n(TripDelayStatus::Delayed(0), on_time));
        let all = all.chain([TripDelayStatus::Cancelled, TripDelayStatus::Unknown]);
        let trips: Vec<TripDelay> = all.map(|status| trip(line, status)).collect();
        day.add_trip_sample(&id(feed), &trips.iter().collect::<Vec<_>>(), FIVE, live(now));
    }

    fn live(at: UnixMillis) -> SampleTime {
        SampleTime { at, is_recording: false }
    }

    fn at(quarter: i64) -> UnixMillis {
        UnixMillis(1_800_000_000_000 + quarter * QUARTER_MS)
    }

    fn seen(
        day: &DelayHistoryStore,
        feed: &str,
        line: Option<&str>,
        now: UnixMillis,
    ) -> Vec<[u64; 3]> {
        let past = day.find_feed_history(&id(feed), line.map(SmolStr::new).as_ref(), now);
        past.quarters.iter().map(|it| [it.trips, it.late, it.cancelled]).collect()
    }

    #[test]
    fn samples_are_summed_by_quarter_hour_and_line() {
        let day = DelayHistoryStore::default();
        sample_day(&day, "a", "1", (2, 7), at(0));
        sample_day(&day, "a", "1", (4, 5), at(0) + Duration::from_secs(60));
        sample_day(&day, "b", "1", (10, 10), at(0));
        sample_day(&day, "a", "2", (0, 9), at(1));
        assert_eq!(seen(&day, "a", None, at(1)), [[20, 6, 2], [10, 0, 1]], "without times: none");
        assert_eq!(seen(&day, "a", Some("1"), at(1)), [[20, 6, 2], [0, 0, 0]]);
        assert_eq!(seen(&day, "a", Some("2"), at(1)), [[0, 0, 0], [10, 0, 1]]);
        assert_eq!(seen(&day, "a", Some("never"), at(1)), [[0, 0, 0], [0, 0, 0]]);
        assert_eq!(seen(&day, "b", None, at(1)).len(), 1);
        assert!(seen(&day, "never", None, at(1)).is_empty());
        let first = day.find_feed_history(&id("a"), None, at(1)).quarters[0];
        assert_eq!(quarter_hour_index(first.start, at(1)), 94);
        assert!((first.late_share() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_day_is_bounded_and_old_quarters_expire() {
        let day = DelayHistoryStore::default();
        for quarter in 0..300 {
            sample_day(&day, "a", "1", (0, 2), at(quarter));
        }
        assert_eq!(day.lock_days().feeds[&id("a")].all.0.len(), QUARTERS_MAX);
        assert_eq!(seen(&day, "a", Some("1"), at(299)).len(), QUARTERS_MAX);
        assert!(seen(&day, "a", None, at(399)).is_empty());
        sample_day(&day, "a", "1", (1, 1), at(100));
        let days = day.lock_days();
        assert_eq!(days.feeds[&id("a")].all.0.back().unwrap().late, 1, "a clock that stepped back");
        drop(days);
        day.finish_sampling_round(|_| true, at(394));
        assert_eq!(day.lock_days().n_lines, 1);
        day.finish_sampling_round(|_| true, at(395));
        assert_eq!(day.lock_days().n_lines, 0, "a line that was not seen for a day");
        day.finish_sampling_round(|_| false, at(395));
        assert!(day.lock_days().feeds.is_empty() && day.sampling_generation() == 3);
    }

    #[test]
    fn a_recording_has_quarters_of_its_own_time_and_can_restart() {
        let day = DelayHistoryStore::default();
        let trips = [trip("1", TripDelayStatus::Delayed(600))];
        let add_sample = |quarter: i64| {
            let time = SampleTime { at: at(quarter), is_recording: true };
            day.add_trip_sample(&id("a"), &trips.iter().collect::<Vec<_>>(), FIVE, time);
            day.finish_sampling_round(|_| true, at(50_000));
        };
        let counts = |now: i64| seen(&day, "a", Some("1"), at(now));
        for quarter in [0, 1, 2, 0, 1] {
            add_sample(quarter);
        }
        assert_eq!(counts(1), [[2, 2, 0], [2, 2, 0]], "what comes after its present is not shown");
        assert_eq!(counts(2), [[2, 2, 0], [2, 2, 0], [1, 1, 0]]);
        day.begin_sampling_round(at(50_000));
        assert!(day.unsaved_rows().is_empty(), "it plays again after a restart");
        for quarter in (-95..=95).rev() {
            add_sample(quarter);
        }
        assert!(day.lock_days().feeds[&id("a")].all.0.len() <= QUARTERS_MAX);
        add_sample(-5_000);
        assert_eq!(counts(-5_000), [[1, 1, 0]], "another recording");
        assert_eq!(counts(2), [[0; 3]; 0]);
    }

    #[test]
    fn lines_beyond_the_limit_are_reported_as_left_out() {
        let day = DelayHistoryStore::default();
        let ids: Vec<String> = (0..=FEED_LINES_MAX).map(|n| format!("{n:05}")).collect();
        let trips: Vec<_> =
            ids.iter().map(|line| trip(line, TripDelayStatus::Delayed(0))).collect();
        day.add_trip_sample(&id("a"), &trips.iter().collect::<Vec<_>>(), FIVE, live(at(0)));
        let past = |line: &str| day.find_feed_history(&id("a"), Some(&SmolStr::new(line)), at(0));
        assert_eq!(past("00000").quarters.len(), 1);
        let last = ids.last().unwrap();
        assert_eq!(past(last), DelayHistory { quarters: Vec::new(), is_omitted: true });
        assert_eq!(seen(&day, "a", None, at(0)), [[ids.len() as u64, 0, 0]], "all of them count");
        assert_eq!(day.lock_days().n_lines, FEED_LINES_MAX);
        sample_day(&day, "b", &"x".repeat(LINE_BYTES_MAX + 1), (0, 1), at(0));
        assert_eq!(day.lock_days().n_lines, FEED_LINES_MAX);
    }

    #[test]
    fn saved_quarters_are_restored_and_extended_after_a_restart() {
        let day = DelayHistoryStore::default();
        assert!(day.unsaved_rows().is_empty() && day.begin_sampling_round(at(0)).is_empty());
        sample_day(&day, "a", "1", (1, 1), at(0));
        assert!(
            day.begin_sampling_round(at(0) + Duration::from_secs(60)).is_empty(),
            "the quarter has not ended"
        );
        sample_day(&day, "a", "1", (1, 1), at(0) + Duration::from_secs(60));
        let ended = day.begin_sampling_round(at(1));
        sample_day(&day, "a", "1", (0, 1), at(1));
        let mut stored_rows = ended.clone();
        stored_rows.extend(day.unsaved_rows());
        stored_rows.sort_by_key(|row| row.start);
        let list_rows = |rows: &[DelayCountRow]| -> Vec<_> {
            rows.iter().map(|row| (row.line.clone(), row.trips, row.late)).collect()
        };
        let line = Some("1".to_owned());
        let mut first = list_rows(&ended);
        first.sort();
        assert_eq!(first, [(None, 6, 2), (line, 6, 2)]);
        assert_eq!(stored_rows.len(), 4);
        let next = DelayHistoryStore::default();
        next.restore_rows(&stored_rows, at(1));
        assert!(
            next.has_seen_feed(&id("a")) && !next.has_seen_feed(&id("b")),
            "before anything is heard again"
        );
        sample_day(&next, "a", "1", (1, 0), at(1));
        assert_eq!(seen(&next, "a", Some("1"), at(1)), [[6, 2, 2], [4, 1, 2]]);
        let late = DelayHistoryStore::default();
        late.restore_rows(&stored_rows, at(200));
        assert!(late.lock_days().feeds.is_empty(), "of another day");
    }

    #[test]
    fn quarters_without_samples_are_gaps() {
        let recorded_quarters = |quarters: &[i64]| -> Vec<QuarterHour> {
            quarters
                .iter()
                .map(|&it| QuarterHour { start: at(it), ..QuarterHour::default() })
                .collect()
        };
        // The current quarter is the last of the 96.
        let check = |quarters: &[i64], expect: &[(i64, i64)]| {
            let found =
                find_sample_gaps(&recorded_quarters(quarters), at(0) + Duration::from_secs(60));
            let found: Vec<_> = found.iter().map(|gap| (gap.start, gap.quarters)).collect();
            let expect: Vec<_> = expect.iter().map(|&(from, many)| (at(from), many)).collect();
            assert_eq!(found, expect, "{quarters:?}");
        };
        check(&[], &[(-95, 96)]);
        check(&[-95, 0], &[(-94, 94)]);
        check(&[-95, -94, -90, -89], &[(-93, 3), (-88, 89)]);
        check(&(-95..0).collect::<Vec<_>>(), &[]);
        check(&(-95..=0).collect::<Vec<_>>(), &[]);
    }
}
