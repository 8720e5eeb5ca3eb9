//! A bin: the aggregated polls of one period.

use std::time::Duration;

use lineside_sync::UnixMillis;

use super::PollRecord;

/// The content served to clients of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServedContentFreshness {
    /// The latest content of the source.
    Fresh,
    /// The last good bytes, while the source fails.
    Stale,
    /// Nothing: no good bytes have come, or they are older than the configured maximum age.
    Nothing,
}

impl ServedContentFreshness {
    /// All variants, ordered by their numbers.
    pub const ALL: [ServedContentFreshness; 3] = [
        ServedContentFreshness::Fresh,
        ServedContentFreshness::Stale,
        ServedContentFreshness::Nothing,
    ];

    /// Returns the name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            ServedContentFreshness::Fresh => "fresh",
            ServedContentFreshness::Stale => "stale",
            ServedContentFreshness::Nothing => "nothing",
        }
    }

    /// Returns the number under which the archive stores the variant.
    pub const fn to_stored_number(self) -> i64 {
        self as i64
    }

    /// Returns the variant stored under a number.
    pub fn from_stored_number(number: i64) -> Option<ServedContentFreshness> {
        ServedContentFreshness::ALL.into_iter().find(|serving| serving.to_stored_number() == number)
    }
}

/// The length and resolution of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArchiveSpan {
    /// A day in bins of a minute.
    Day,
    /// 30 days in bins of an hour.
    Month,
}

impl ArchiveSpan {
    pub const ALL: [ArchiveSpan; 2] = [ArchiveSpan::Day, ArchiveSpan::Month];

    /// Returns the name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            ArchiveSpan::Day => "24h",
            ArchiveSpan::Month => "30d",
        }
    }

    /// Returns the length of a bin in seconds.
    pub const fn bin_seconds(self) -> i64 {
        match self {
            ArchiveSpan::Day => 60,
            ArchiveSpan::Month => 60 * 60,
        }
    }

    /// Returns the length of a bin in milliseconds.
    pub(super) const fn bin_millis(self) -> i64 {
        self.bin_seconds() * 1_000
    }

    /// Returns the number of bins, including the present one.
    pub const fn bin_count(self) -> usize {
        match self {
            ArchiveSpan::Day => 24 * 60,
            ArchiveSpan::Month => 30 * 24,
        }
    }

    /// Returns the total length of all bins.
    pub const fn total_duration(self) -> Duration {
        Duration::from_secs(self.bin_seconds().unsigned_abs() * self.bin_count() as u64)
    }

    /// Returns the start of the bin that contains `at`.
    pub fn bin_start(self, at: UnixMillis) -> UnixMillis {
        let bin_ms = self.bin_seconds() * 1_000;
        UnixMillis(at.0.div_euclid(bin_ms).saturating_mul(bin_ms))
    }

    /// Returns the start of the first bin shown at `now`.
    pub fn first_bin_start(self, now: UnixMillis) -> UnixMillis {
        let last = self.bin_start(now);
        UnixMillis(
            last.0.saturating_sub((self.bin_count() as i64 - 1) * self.bin_seconds() * 1_000),
        )
    }
}

/// The aggregated polls of a feed that began within one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollBin {
    /// The start of the period.
    pub start: UnixMillis,
    /// Polls that began in the period.
    pub polls: u32,
    pub failed: u32,
    /// Polls after which the last good bytes were served while the source failed.
    pub stale: u32,
    /// Polls after which nothing could be served.
    pub nothing: u32,
    /// Bytes received.
    pub bytes: u64,
    /// The total time of all polls.
    pub took: Duration,
    /// The last event of the period.
    pub last: LastPollOutcome,
    /// The content served after the last event.
    pub last_serving: ServedContentFreshness,
}

/// The last event of a bin, which determines the source's state until the next poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastPollOutcome {
    /// A poll succeeded.
    Answered,
    Failed,
    /// The feed was paused.
    Paused,
}

impl LastPollOutcome {
    /// All variants, ordered by their numbers.
    pub const ALL: [LastPollOutcome; 3] =
        [LastPollOutcome::Answered, LastPollOutcome::Failed, LastPollOutcome::Paused];

    /// Returns the number under which the archive stores the variant.
    pub const fn outcome_to_stored_number(self) -> i64 {
        self as i64
    }

    /// Returns the variant stored under a number.
    pub fn outcome_from_stored_number(number: i64) -> Option<LastPollOutcome> {
        LastPollOutcome::ALL.into_iter().find(|last| last.outcome_to_stored_number() == number)
    }
}

impl PollBin {
    /// Creates the bin of one poll.
    pub fn from_poll(poll: &PollRecord, span: ArchiveSpan) -> PollBin {
        PollBin {
            start: span.bin_start(poll.at),
            polls: 1,
            failed: u32::from(poll.has_failed()),
            stale: u32::from(poll.serving == ServedContentFreshness::Stale),
            nothing: u32::from(poll.serving == ServedContentFreshness::Nothing),
            bytes: poll.bytes,
            took: poll.took,
            last: if poll.has_failed() {
                LastPollOutcome::Failed
            } else {
                LastPollOutcome::Answered
            },
            last_serving: poll.serving,
        }
    }

    /// Creates the bin of a pause during which `serving` is served.
    pub fn from_pause(
        at: UnixMillis,
        serving: ServedContentFreshness,
        span: ArchiveSpan,
    ) -> PollBin {
        PollBin {
            start: span.bin_start(at),
            polls: 0,
            failed: 0,
            stale: 0,
            nothing: 0,
            bytes: 0,
            took: Duration::ZERO,
            last: LastPollOutcome::Paused,
            last_serving: serving,
        }
    }

    /// Adds a later bin.
    pub fn merge_later_bin(&mut self, later: &PollBin) {
        self.polls = self.polls.saturating_add(later.polls);
        self.failed = self.failed.saturating_add(later.failed);
        self.stale = self.stale.saturating_add(later.stale);
        self.nothing = self.nothing.saturating_add(later.nothing);
        self.bytes = self.bytes.saturating_add(later.bytes);
        self.took = self.took.saturating_add(later.took);
        self.last = later.last;
        self.last_serving = later.last_serving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bin_of_a_span_contains_the_present() {
        let now = UnixMillis(90_061_500);
        assert_eq!(ArchiveSpan::Day.bin_start(now), UnixMillis(90_060_000));
        assert_eq!(
            ArchiveSpan::Day.first_bin_start(now) + ArchiveSpan::Day.total_duration(),
            UnixMillis(90_120_000)
        );
        assert_eq!(ArchiveSpan::Month.total_duration(), Duration::from_secs(30 * 86_400));
        assert_eq!(ArchiveSpan::Day.bin_start(UnixMillis(-1)), UnixMillis(-60_000));
    }

    #[test]
    fn served_content_and_last_poll_round_trip_by_number() {
        for serving in ServedContentFreshness::ALL {
            assert_eq!(
                ServedContentFreshness::from_stored_number(serving.to_stored_number()),
                Some(serving)
            );
        }
        assert_eq!(ServedContentFreshness::from_stored_number(3), None);
        for last in LastPollOutcome::ALL {
            assert_eq!(
                LastPollOutcome::outcome_from_stored_number(last.outcome_to_stored_number()),
                Some(last)
            );
        }
        assert_eq!(LastPollOutcome::outcome_from_stored_number(3), None);
    }
}
