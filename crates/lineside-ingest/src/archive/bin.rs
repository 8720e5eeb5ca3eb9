//! A piece of time with what the polls in it came to.

use std::time::Duration;

use lineside_sync::UnixMillis;

use super::Poll;

/// What clients are given of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Serving {
    /// What the source said last.
    Fresh,
    /// The last good bytes, while the source fails.
    Stale,
    /// Nothing: no good bytes have come, or they are older than the operator allows.
    Nothing,
}

impl Serving {
    /// All, in the order of their numbers.
    pub const ALL: [Serving; 3] = [Serving::Fresh, Serving::Stale, Serving::Nothing];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Serving::Fresh => "fresh",
            Serving::Stale => "stale",
            Serving::Nothing => "nothing",
        }
    }

    /// A number for it, where it is written down.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// What has that number.
    pub fn of_number(number: i64) -> Option<Serving> {
        Serving::ALL.into_iter().find(|serving| serving.number() == number)
    }
}

/// How far back is looked, and how closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// A day by the minute.
    Day,
    /// 30 days by the hour.
    Month,
}

impl Span {
    /// Both.
    pub const ALL: [Span; 2] = [Span::Day, Span::Month];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Span::Day => "24h",
            Span::Month => "30d",
        }
    }

    /// The length of a bin, in seconds.
    pub const fn bin_s(self) -> i64 {
        match self {
            Span::Day => 60,
            Span::Month => 60 * 60,
        }
    }

    /// The same in milliseconds.
    pub(super) const fn bin_ms(self) -> i64 {
        self.bin_s() * 1_000
    }

    /// The number of bins, the present one among them.
    pub const fn n_bins(self) -> usize {
        match self {
            Span::Day => 24 * 60,
            Span::Month => 30 * 24,
        }
    }

    /// The length of all bins.
    pub const fn length(self) -> Duration {
        Duration::from_secs(self.bin_s().unsigned_abs() * self.n_bins() as u64)
    }

    /// The start of the bin that `at` is in.
    pub fn start_of(self, at: UnixMillis) -> UnixMillis {
        let bin_ms = self.bin_s() * 1_000;
        UnixMillis(at.0.div_euclid(bin_ms).saturating_mul(bin_ms))
    }

    /// The start of the first bin that is shown at `now`.
    pub fn begin(self, now: UnixMillis) -> UnixMillis {
        let last = self.start_of(now);
        UnixMillis(last.0.saturating_sub((self.n_bins() as i64 - 1) * self.bin_s() * 1_000))
    }
}

/// What the polls of one feed came to that began within one piece of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Where it begins.
    pub start: UnixMillis,
    /// Polls that began in it.
    pub polls: u32,
    /// Of these, how many failed.
    pub failed: u32,
    /// After how many of them the last good bytes were served while the source failed.
    pub stale: u32,
    /// After how many of them there was nothing to serve.
    pub nothing: u32,
    /// Bytes that came.
    pub bytes: u64,
    /// How long all of them took together.
    pub took: Duration,
    /// What came last in it.
    pub last: Last,
    /// What was served after that.
    pub last_serving: Serving,
}

/// What holds from a bin on until the source is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Last {
    /// The source answered.
    Answered,
    /// It did not.
    Failed,
    /// It was not asked any more: the feed was paused.
    Paused,
}

impl Last {
    /// All, in the order of their numbers.
    pub const ALL: [Last; 3] = [Last::Answered, Last::Failed, Last::Paused];

    /// A number for it, where it is written down.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// What has that number.
    pub fn of_number(number: i64) -> Option<Last> {
        Last::ALL.into_iter().find(|last| last.number() == number)
    }
}

impl Bin {
    /// The bin of one poll.
    pub fn of(poll: &Poll, span: Span) -> Bin {
        Bin {
            start: span.start_of(poll.at),
            polls: 1,
            failed: u32::from(poll.has_failed()),
            stale: u32::from(poll.serving == Serving::Stale),
            nothing: u32::from(poll.serving == Serving::Nothing),
            bytes: poll.bytes,
            took: poll.took,
            last: if poll.has_failed() { Last::Failed } else { Last::Answered },
            last_serving: poll.serving,
        }
    }

    /// The bin of a pause in which this is served.
    pub fn of_pause(at: UnixMillis, serving: Serving, span: Span) -> Bin {
        Bin {
            start: span.start_of(at),
            polls: 0,
            failed: 0,
            stale: 0,
            nothing: 0,
            bytes: 0,
            took: Duration::ZERO,
            last: Last::Paused,
            last_serving: serving,
        }
    }

    /// Adds what came after it.
    pub fn add(&mut self, later: &Bin) {
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
    fn bins_of_a_span_end_with_the_present_one() {
        let now = UnixMillis(90_061_500);
        assert_eq!(Span::Day.start_of(now), UnixMillis(90_060_000));
        assert_eq!(Span::Day.begin(now) + Span::Day.length(), UnixMillis(90_120_000));
        assert_eq!(Span::Month.length(), Duration::from_secs(30 * 86_400));
        assert_eq!(Span::Day.start_of(UnixMillis(-1)), UnixMillis(-60_000));
    }

    #[test]
    fn what_is_served_is_found_by_its_number() {
        for serving in Serving::ALL {
            assert_eq!(Serving::of_number(serving.number()), Some(serving));
        }
        assert_eq!(Serving::of_number(3), None);
        for last in Last::ALL {
            assert_eq!(Last::of_number(last.number()), Some(last));
        }
        assert_eq!(Last::of_number(3), None);
    }
}
