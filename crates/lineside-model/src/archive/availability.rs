//! Timelines of a feed: the source's replies and the content served. Together they show who caused an outage.

use lineside_sync::UnixMillis;

use super::{
    ArchiveError, ArchiveSpan, LastPollOutcome, PollArchive, PollBin, ServedContentFreshness,
    ServerRun,
};
use crate::feed_id::FeedId;

/// The state of a source during a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceAvailability {
    /// Every poll brought a usable reply.
    Answered,
    /// Some polls succeeded and some failed.
    Mixed,
    /// Every poll failed.
    Failed,
    /// No polls: the feed was paused.
    Paused,
    /// No polls: this server did not run.
    Off,
    /// No poll has ended yet.
    Unknown,
}

impl SourceAvailability {
    /// Returns the name of the state in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            SourceAvailability::Answered => "answered",
            SourceAvailability::Mixed => "mixed",
            SourceAvailability::Failed => "failed",
            SourceAvailability::Paused => "paused",
            SourceAvailability::Off => "off",
            SourceAvailability::Unknown => "unknown",
        }
    }
}

/// The content served to clients during a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServedContentState {
    /// The latest content of the source.
    Fresh,
    /// The last good bytes, for part or all of the period.
    Stale,
    /// Nothing for part of the period, something for the rest.
    Mixed,
    /// Nothing during the whole period.
    Nothing,
    /// This server did not run.
    Off,
    /// No poll has ended yet.
    Unknown,
}

impl ServedContentState {
    /// Returns the name of the state in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            ServedContentState::Fresh => "fresh",
            ServedContentState::Stale => "stale",
            ServedContentState::Mixed => "mixed",
            ServedContentState::Nothing => "nothing",
            ServedContentState::Off => "off",
            ServedContentState::Unknown => "unknown",
        }
    }
}

/// A period during which the state did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatePeriod<S> {
    /// The start of the period, inclusive.
    pub from: UnixMillis,
    /// The end of the period, exclusive.
    pub until: UnixMillis,
    pub state: S,
    /// Polls that began in the period.
    pub polls: u64,
    /// Polls of the period that failed.
    pub failed: u64,
}

/// The availability timelines of a feed over a span.
#[derive(Clone, Debug)]
pub struct FeedAvailabilityTimelines {
    /// The length and resolution of the timelines.
    pub span: ArchiveSpan,
    /// The start of the timelines.
    pub from: UnixMillis,
    /// The end of the timelines: the present.
    pub until: UnixMillis,
    /// States of the source, without gaps, in order.
    pub source: Vec<StatePeriod<SourceAvailability>>,
    /// States of the served content, without gaps, in order.
    pub serving: Vec<StatePeriod<ServedContentState>>,
    /// The bins that contain polls, in order.
    pub bins: Vec<PollBin>,
}

impl FeedAvailabilityTimelines {
    /// Reads a feed's timelines up to `now`. May block on the archive.
    ///
    /// # Errors
    /// Returns an error if the archive cannot be read.
    pub fn read_from_archive(
        archive: &dyn PollArchive,
        feed: &FeedId,
        span: ArchiveSpan,
        now: UnixMillis,
    ) -> Result<FeedAvailabilityTimelines, ArchiveError> {
        let from = span.first_bin_start(now);
        let bins = archive.list_poll_bins(feed, span, from)?;
        let minutes = match span {
            ArchiveSpan::Day => Vec::new(),
            ArchiveSpan::Month => archive.list_poll_bins(
                feed,
                ArchiveSpan::Day,
                ArchiveSpan::Day.first_bin_start(now),
            )?,
        };
        let runs = archive.list_server_runs(from)?;
        Ok(FeedAvailabilityTimelines::from_poll_bins(bins, &minutes, &runs, span, now))
    }

    /// Builds the timelines from bins in order; the first bin may lie before the span. Every span uses the minute bins
    /// for the last day, so that two spans agree about it.
    fn from_poll_bins(
        bins: Vec<PollBin>,
        minutes: &[PollBin],
        runs: &[ServerRun],
        span: ArchiveSpan,
        now: UnixMillis,
    ) -> FeedAvailabilityTimelines {
        let from = span.first_bin_start(now);
        let before = bins.iter().rfind(|bin| bin.start < from);
        let mut strips = AvailabilityTimelineBuilder {
            known: before.map(|bin| (source_state_after_bin(bin), serving_state_after_bin(bin))),
            source: Vec::new(),
            serving: Vec::new(),
        };
        // A month uses minute bins from the first hour of the last day.
        let last_day =
            ArchiveSpan::Day.first_bin_start(now).0.saturating_add(span.bin_millis() - 1);
        let closely = span.bin_start(UnixMillis(last_day));
        let mut start = from;
        while start <= now {
            let (bin_span, known) = match span == ArchiveSpan::Day || start < closely {
                true => (span, &bins[..]),
                false => (ArchiveSpan::Day, minutes),
            };
            let end = UnixMillis(start.0 + bin_span.bin_millis());
            let bin = known.binary_search_by_key(&start, |bin| bin.start).ok();
            strips.append_period(start, end.min(now), bin.and_then(|at| known.get(at)), runs);
            start = end;
        }
        let bins = bins.into_iter().filter(|bin| bin.start >= from && bin.polls > 0).collect();
        FeedAvailabilityTimelines {
            span,
            from,
            until: now,
            source: strips.source,
            serving: strips.serving,
            bins,
        }
    }
}

/// Timelines under construction.
struct AvailabilityTimelineBuilder {
    /// The states that hold until the next poll.
    known: Option<(SourceAvailability, ServedContentState)>,
    source: Vec<StatePeriod<SourceAvailability>>,
    serving: Vec<StatePeriod<ServedContentState>>,
}

impl AvailabilityTimelineBuilder {
    /// Appends a period, with its bin if the source was polled in it. The bin does not apply to the parts during which
    /// the server did not run.
    fn append_period(
        &mut self,
        start: UnixMillis,
        end: UnixMillis,
        bin: Option<&PollBin>,
        runs: &[ServerRun],
    ) {
        let mut watched = server_running_periods(runs, start, end);
        if watched.is_empty() && bin.is_some() {
            watched.push((start, end));
        }
        let (mut counted, mut at) = (bin, start);
        for (from, until) in watched {
            self.append_server_off_period(at, from);
            self.append_running_period((from, until), bin, counted.take());
            at = until;
        }
        self.append_server_off_period(at, end);
    }

    /// Appends a period during which the server ran. `counted` is set in one part of a divided period only, so that its
    /// polls count once.
    fn append_running_period(
        &mut self,
        (from, until): (UnixMillis, UnixMillis),
        bin: Option<&PollBin>,
        counted: Option<&PollBin>,
    ) {
        if let Some(bin) = bin {
            self.known = Some((source_state_after_bin(bin), serving_state_after_bin(bin)));
        }
        let usual =
            self.known.unwrap_or((SourceAvailability::Unknown, ServedContentState::Unknown));
        let (source_state, serving_state) =
            bin.map_or(usual, |bin| (bin.source_state_in_bin(), bin.serving_state_in_bin()));
        append_or_extend_period(&mut self.source, from, until, source_state, counted);
        append_or_extend_period(&mut self.serving, from, until, serving_state, counted);
    }

    /// Appends a period during which the server did not run. Known states do not hold for the next run.
    fn append_server_off_period(&mut self, from: UnixMillis, until: UnixMillis) {
        if from < until {
            self.known = None;
            append_or_extend_period(&mut self.source, from, until, SourceAvailability::Off, None);
            append_or_extend_period(&mut self.serving, from, until, ServedContentState::Off, None);
        }
    }
}

/// Returns the parts of a period during which the server ran, in order; a minute with any run counts as a whole.
fn server_running_periods(
    runs: &[ServerRun],
    start: UnixMillis,
    end: UnixMillis,
) -> Vec<(UnixMillis, UnixMillis)> {
    let within = |life: &ServerRun| {
        let last = ArchiveSpan::Day.bin_start(life.seen);
        let until = UnixMillis(last.0.saturating_add(ArchiveSpan::Day.bin_millis())).min(end);
        (ArchiveSpan::Day.bin_start(life.began).max(start), until)
    };
    let mut parts: Vec<_> = runs.iter().map(within).filter(|(from, to)| from < to).collect();
    parts.sort_unstable();
    parts.dedup_by(|next, last| {
        let is_contiguous = next.0 <= last.1;
        if is_contiguous {
            last.1 = last.1.max(next.1);
        }
        is_contiguous
    });
    parts
}

/// Appends a period, or extends the last stretch if the state is unchanged.
fn append_or_extend_period<S: PartialEq>(
    strip: &mut Vec<StatePeriod<S>>,
    from: UnixMillis,
    until: UnixMillis,
    state: S,
    bin: Option<&PollBin>,
) {
    let polls = bin.map_or(0, |bin| u64::from(bin.polls));
    let failed = bin.map_or(0, |bin| u64::from(bin.failed));
    match strip.last_mut() {
        Some(last) if last.state == state => {
            last.until = until;
            last.polls += polls;
            last.failed += failed;
        }
        _ => strip.push(StatePeriod { from, until, state, polls, failed }),
    }
}

/// Returns the source's state after a bin, until the next poll.
fn source_state_after_bin(bin: &PollBin) -> SourceAvailability {
    match bin.last {
        LastPollOutcome::Answered => SourceAvailability::Answered,
        LastPollOutcome::Failed => SourceAvailability::Failed,
        LastPollOutcome::Paused => SourceAvailability::Paused,
    }
}

fn serving_state_after_bin(bin: &PollBin) -> ServedContentState {
    match bin.last_serving {
        ServedContentFreshness::Fresh => ServedContentState::Fresh,
        ServedContentFreshness::Stale => ServedContentState::Stale,
        ServedContentFreshness::Nothing => ServedContentState::Nothing,
    }
}

impl PollBin {
    /// Returns the source's state within the bin.
    pub fn source_state_in_bin(&self) -> SourceAvailability {
        match self.failed {
            _ if self.polls == 0 => source_state_after_bin(self),
            0 => SourceAvailability::Answered,
            failed if failed == self.polls => SourceAvailability::Failed,
            _ => SourceAvailability::Mixed,
        }
    }

    /// Returns the state of the served content within the bin.
    pub fn serving_state_in_bin(&self) -> ServedContentState {
        match (self.nothing, self.stale) {
            _ if self.polls == 0 => serving_state_after_bin(self),
            (0, 0) => ServedContentState::Fresh,
            (0, _) => ServedContentState::Stale,
            (nothing, _) if nothing == self.polls => ServedContentState::Nothing,
            _ => ServedContentState::Mixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::archive::{PollFailure, PollRecord};
    use crate::fetch_failure::FetchPhase;

    const NOW: UnixMillis = UnixMillis(1_772_607_600_000 + 90_000);

    fn minute(n: i64) -> UnixMillis {
        UnixMillis(ArchiveSpan::Day.first_bin_start(NOW).0 + n * 60_000)
    }

    fn bin(at: UnixMillis, failures: &[bool]) -> PollBin {
        let polls = failures.iter().map(|failed| {
            let poll = PollRecord {
                at,
                took: Duration::from_millis(10),
                bytes: 3,
                outcome: if *failed { "http_500".into() } else { "new".into() },
                failure: failed.then(|| PollFailure {
                    message: "the server returned 500".to_owned(),
                    phase: Some(FetchPhase::Wait),
                    status: Some(500),
                    head: None,
                }),
                serving: if *failed {
                    ServedContentFreshness::Stale
                } else {
                    ServedContentFreshness::Fresh
                },
            };
            PollBin::from_poll(&poll, ArchiveSpan::Day)
        });
        let sum = polls.reduce(|mut sum, later| {
            sum.merge_later_bin(&later);
            sum
        });
        sum.unwrap()
    }

    fn check(
        bins: &[PollBin],
        runs: &[ServerRun],
        source: &[(i64, &str)],
        serving: &[(i64, &str)],
    ) {
        let strips = FeedAvailabilityTimelines::from_poll_bins(
            bins.to_vec(),
            &[],
            runs,
            ArchiveSpan::Day,
            NOW,
        );
        let words: Vec<_> =
            strips.source.iter().map(|stretch| (stretch.from, stretch.state.as_str())).collect();
        let expect: Vec<_> = source.iter().map(|(n, word)| (minute(*n), *word)).collect();
        assert_eq!(words, expect);
        let words: Vec<_> =
            strips.serving.iter().map(|stretch| (stretch.from, stretch.state.as_str())).collect();
        let expect: Vec<_> = serving.iter().map(|(n, word)| (minute(*n), *word)).collect();
        assert_eq!(words, expect);
        // The timelines have no gaps from the start to the present.
        assert_eq!(strips.source[0].from, ArchiveSpan::Day.first_bin_start(NOW));
        assert_eq!(strips.source.last().unwrap().until, NOW);
        for pair in strips.source.windows(2) {
            assert_eq!(pair[0].until, pair[1].from);
        }
    }

    #[test]
    fn a_poll_outcome_lasts_until_the_next_poll() {
        let runs = [ServerRun { began: minute(0), seen: NOW }];
        let bins =
            [bin(minute(10), &[false]), bin(minute(70), &[true]), bin(minute(130), &[false])];
        check(
            &bins,
            &runs,
            &[(0, "unknown"), (10, "answered"), (70, "failed"), (130, "answered")],
            &[(0, "unknown"), (10, "fresh"), (70, "stale"), (130, "fresh")],
        );
    }

    #[test]
    fn a_single_failed_poll_is_shown() {
        let runs = [ServerRun { began: minute(0), seen: NOW }];
        let bins = [bin(minute(-3), &[false]), bin(minute(5), &[false, true, false])];
        check(
            &bins,
            &runs,
            &[(0, "answered"), (5, "mixed"), (6, "answered")],
            &[(0, "fresh"), (5, "stale"), (6, "fresh")],
        );
    }

    #[test]
    fn downtime_of_the_server_is_not_a_failure_of_the_source() {
        let runs = [
            ServerRun { began: minute(-90), seen: UnixMillis(minute(20).0 + 5_000) },
            ServerRun { began: minute(40), seen: NOW },
        ];
        let bins = [bin(minute(-1), &[true]), bin(minute(41), &[false])];
        check(
            &bins,
            &runs,
            &[(0, "failed"), (21, "off"), (40, "unknown"), (41, "answered")],
            &[(0, "stale"), (21, "off"), (40, "unknown"), (41, "fresh")],
        );
        check(&[], &[], &[(0, "off")], &[(0, "off")]);
    }

    #[test]
    fn a_pause_is_its_own_state_and_shows_what_was_served() {
        let runs = [ServerRun { began: minute(0), seen: NOW }];
        let mut pausing = bin(minute(20), &[false]);
        pausing.merge_later_bin(&PollBin::from_pause(
            minute(20),
            ServedContentFreshness::Fresh,
            ArchiveSpan::Day,
        ));
        let bins = [
            bin(minute(10), &[false]),
            pausing,
            PollBin::from_pause(minute(80), ServedContentFreshness::Nothing, ArchiveSpan::Day),
            bin(minute(130), &[false]),
        ];
        check(
            &bins,
            &runs,
            &[(0, "unknown"), (10, "answered"), (21, "paused"), (130, "answered")],
            &[(0, "unknown"), (10, "fresh"), (80, "nothing"), (130, "fresh")],
        );
        let strips = FeedAvailabilityTimelines::from_poll_bins(
            bins.to_vec(),
            &[],
            &runs,
            ArchiveSpan::Day,
            NOW,
        );
        assert_eq!(strips.bins.len(), 3, "a bin without polls is not listed");
    }

    #[test]
    fn polls_are_counted_per_segment() {
        let runs = [ServerRun { began: minute(0), seen: NOW }];
        let bins =
            vec![bin(minute(0), &[true, true]), bin(minute(1), &[true]), bin(minute(2), &[false])];
        let strips =
            FeedAvailabilityTimelines::from_poll_bins(bins, &[], &runs, ArchiveSpan::Day, NOW);
        let counts: Vec<_> =
            strips.source.iter().map(|stretch| (stretch.polls, stretch.failed)).collect();
        assert_eq!(counts, [(3, 3), (1, 0)]);
    }

    /// Returns the seconds of a timeline that have a state.
    fn seconds(strip: &[StatePeriod<ServedContentState>], state: ServedContentState) -> u64 {
        let matching_stretches = strip.iter().filter(|stretch| stretch.state == state);
        matching_stretches.map(|stretch| stretch.until.duration_since(stretch.from).as_secs()).sum()
    }

    #[test]
    fn day_and_month_agree_about_the_last_day() {
        let minute_before = |n: i64| UnixMillis(ArchiveSpan::Day.bin_start(NOW).0 - n * 60_000);
        let runs = [ServerRun { began: minute_before(17), seen: NOW }];
        let fails = [false, true];
        let minutes = vec![
            bin(minute_before(17), &[false]),
            bin(minute_before(5), &fails),
            bin(minute_before(4), &[false]),
        ];
        let mut hours: Vec<PollBin> = Vec::new();
        for minute in &minutes {
            let start = ArchiveSpan::Month.bin_start(minute.start);
            match hours.last_mut().filter(|hour| hour.start == start) {
                Some(hour) => hour.merge_later_bin(minute),
                None => hours.push(PollBin { start, ..*minute }),
            }
        }
        let day = FeedAvailabilityTimelines::from_poll_bins(
            minutes.clone(),
            &[],
            &runs,
            ArchiveSpan::Day,
            NOW,
        );
        let month = FeedAvailabilityTimelines::from_poll_bins(
            hours,
            &minutes,
            &runs,
            ArchiveSpan::Month,
            NOW,
        );
        for state in [ServedContentState::Fresh, ServedContentState::Stale] {
            let (seconds_of_day, seconds_of_month) =
                (seconds(&day.serving, state), seconds(&month.serving, state));
            assert_eq!(seconds_of_day, seconds_of_month, "{state:?}");
        }
        assert_eq!(seconds(&month.serving, ServedContentState::Stale), 60);
        let polls =
            |it: &FeedAvailabilityTimelines| it.source.iter().map(|part| part.polls).sum::<u64>();
        assert_eq!((polls(&day), polls(&month)), (4, 4));
        assert_eq!(month.source[0].from, ArchiveSpan::Month.first_bin_start(NOW));
        assert_eq!(month.source.last().unwrap().until, NOW);
    }

    #[test]
    fn only_the_uptime_within_an_hour_counts() {
        let hour = |n: i64| UnixMillis(ArchiveSpan::Month.first_bin_start(NOW).0 + n * 3_600_000);
        let minutes_after = |at: UnixMillis, n: i64| UnixMillis(at.0 + n * 60_000);
        let runs = [
            ServerRun { began: minutes_after(hour(10), 50), seen: minutes_after(hour(11), 19) },
            ServerRun { began: minutes_after(hour(11), 40), seen: minutes_after(hour(12), 9) },
        ];
        let bin_at = |at: UnixMillis| PollBin { start: at, ..bin(at, &[false]) };
        let bins = vec![bin_at(hour(10)), bin_at(hour(11)), bin_at(hour(12))];
        let strips =
            FeedAvailabilityTimelines::from_poll_bins(bins, &[], &runs, ArchiveSpan::Month, NOW);
        assert_eq!(seconds(&strips.serving, ServedContentState::Fresh), (10 + 20 + 20 + 10) * 60);
        assert_eq!(strips.source.iter().map(|part| part.polls).sum::<u64>(), 3);
        for pair in strips.source.windows(2) {
            assert_eq!(pair[0].until, pair[1].from);
        }
        assert_eq!(strips.source.last().unwrap().until, NOW);
    }
}
