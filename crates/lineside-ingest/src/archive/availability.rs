//! Two strips of time: whether the source answered, and what we served meanwhile. They show whose fault an outage was.

use lineside_sync::UnixMillis;

use super::{Archive, ArchiveError, Bin, Last, Life, Serving, Span};
use crate::config::FeedId;

/// How a source was in a piece of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceState {
    /// It answered, with something that could be used.
    Answered,
    /// It did and it did not.
    Mixed,
    /// It did not.
    Failed,
    /// It was not asked: the feed was paused.
    Paused,
    /// It was not asked: this server did not run.
    Off,
    /// It was not asked yet.
    Unknown,
}

impl SourceState {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            SourceState::Answered => "answered",
            SourceState::Mixed => "mixed",
            SourceState::Failed => "failed",
            SourceState::Paused => "paused",
            SourceState::Off => "off",
            SourceState::Unknown => "unknown",
        }
    }
}

/// What clients were given in a piece of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServingState {
    /// What the source said last.
    Fresh,
    /// The last good bytes, for a while or all the time.
    Stale,
    /// For a while nothing, and then something, or the other way round.
    Mixed,
    /// Nothing.
    Nothing,
    /// This server did not run.
    Off,
    /// Nothing was asked for yet.
    Unknown,
}

impl ServingState {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            ServingState::Fresh => "fresh",
            ServingState::Stale => "stale",
            ServingState::Mixed => "mixed",
            ServingState::Nothing => "nothing",
            ServingState::Off => "off",
            ServingState::Unknown => "unknown",
        }
    }
}

/// A stretch of time that was the same throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<S> {
    /// Where it begins.
    pub from: UnixMillis,
    /// Where it ends.
    pub until: UnixMillis,
    /// How it was.
    pub state: S,
    /// Polls that began in it.
    pub polls: u64,
    /// Of these, how many failed.
    pub failed: u64,
}

/// A feed's strips over a span.
#[derive(Clone, Debug)]
pub struct Availability {
    /// How far back they go.
    pub span: Span,
    /// Where they begin.
    pub from: UnixMillis,
    /// Where they end: the present.
    pub until: UnixMillis,
    /// Whether the source answered; without gaps, in order.
    pub source: Vec<Stretch<SourceState>>,
    /// What clients were given; without gaps, in order.
    pub serving: Vec<Stretch<ServingState>>,
    /// Each piece of time in which the source was asked, in order.
    pub bins: Vec<Bin>,
}

impl Availability {
    /// Reads a feed's strips as they are at `now`. May take its time.
    ///
    /// # Errors
    /// If what is remembered cannot be read.
    pub fn read(
        archive: &dyn Archive,
        feed: &FeedId,
        span: Span,
        now: UnixMillis,
    ) -> Result<Availability, ArchiveError> {
        let from = span.begin(now);
        let bins = archive.list_bins(feed, span, from)?;
        let minutes = match span {
            Span::Day => Vec::new(),
            Span::Month => archive.list_bins(feed, Span::Day, Span::Day.begin(now))?,
        };
        let lives = archive.list_lives(from)?;
        Ok(Availability::of(bins, &minutes, &lives, span, now))
    }

    /// The strips of bins in their order, of which the first may lie before the span. The last day is told by the minute in
    /// any span, so that two spans do not tell two things of it.
    fn of(
        bins: Vec<Bin>,
        minutes: &[Bin],
        lives: &[Life],
        span: Span,
        now: UnixMillis,
    ) -> Availability {
        let from = span.begin(now);
        let before = bins.iter().rfind(|bin| bin.start < from);
        let mut strips = Strips {
            known: before.map(|bin| (after_source(bin), after_serving(bin))),
            source: Vec::new(),
            serving: Vec::new(),
        };
        // From the first hour of the last day on a month is told by the minute.
        let last_day = Span::Day.begin(now).0.saturating_add(span.bin_ms() - 1);
        let closely = span.start_of(UnixMillis(last_day));
        let mut start = from;
        while start <= now {
            let (of, known) = match span == Span::Day || start < closely {
                true => (span, &bins[..]),
                false => (Span::Day, minutes),
            };
            let end = UnixMillis(start.0 + of.bin_ms());
            let bin = known.binary_search_by_key(&start, |bin| bin.start).ok();
            strips.put(start, end.min(now), bin.and_then(|at| known.get(at)), lives);
            start = end;
        }
        let bins = bins.into_iter().filter(|bin| bin.start >= from && bin.polls > 0).collect();
        Availability {
            span,
            from,
            until: now,
            source: strips.source,
            serving: strips.serving,
            bins,
        }
    }
}

/// Strips while they are made.
struct Strips {
    /// How things are until the source is asked again.
    known: Option<(SourceState, ServingState)>,
    source: Vec<Stretch<SourceState>>,
    serving: Vec<Stretch<ServingState>>,
}

impl Strips {
    /// Puts a piece of time, with the bin of it if the source was asked in it. What of it no life of the server was there for
    /// does not count as what the bin says.
    fn put(&mut self, start: UnixMillis, end: UnixMillis, bin: Option<&Bin>, lives: &[Life]) {
        let mut watched = watched(lives, start, end);
        if watched.is_empty() && bin.is_some() {
            watched.push((start, end));
        }
        let (mut counted, mut at) = (bin, start);
        for (from, until) in watched {
            self.put_off(at, from);
            self.put_watched((from, until), bin, counted.take());
            at = until;
        }
        self.put_off(at, end);
    }

    /// Puts a part in which it ran; the polls of the whole piece are `counted` in one of its parts.
    fn put_watched(
        &mut self,
        (from, until): (UnixMillis, UnixMillis),
        bin: Option<&Bin>,
        counted: Option<&Bin>,
    ) {
        if let Some(bin) = bin {
            self.known = Some((after_source(bin), after_serving(bin)));
        }
        let usual = self.known.unwrap_or((SourceState::Unknown, ServingState::Unknown));
        let (of_source, of_serving) = bin.map_or(usual, |bin| (bin.source(), bin.serving()));
        extend(&mut self.source, from, until, of_source, counted);
        extend(&mut self.serving, from, until, of_serving, counted);
    }

    /// Puts a time in which the server did not run. What was known does not hold for the one that runs next.
    fn put_off(&mut self, from: UnixMillis, until: UnixMillis) {
        if from < until {
            self.known = None;
            extend(&mut self.source, from, until, SourceState::Off, None);
            extend(&mut self.serving, from, until, ServingState::Off, None);
        }
    }
}

/// The parts of a piece of time in which the server ran, in order, to the minute: one in which it ran at all counts whole.
fn watched(lives: &[Life], start: UnixMillis, end: UnixMillis) -> Vec<(UnixMillis, UnixMillis)> {
    let within = |life: &Life| {
        let last = Span::Day.start_of(life.seen);
        let until = UnixMillis(last.0.saturating_add(Span::Day.bin_ms())).min(end);
        (Span::Day.start_of(life.began).max(start), until)
    };
    let mut parts: Vec<_> = lives.iter().map(within).filter(|(from, to)| from < to).collect();
    parts.sort_unstable();
    parts.dedup_by(|next, last| {
        let goes_on = next.0 <= last.1;
        if goes_on {
            last.1 = last.1.max(next.1);
        }
        goes_on
    });
    parts
}

/// Appends a piece of time; what goes on as it was is one stretch.
fn extend<S: PartialEq>(
    strip: &mut Vec<Stretch<S>>,
    from: UnixMillis,
    until: UnixMillis,
    state: S,
    bin: Option<&Bin>,
) {
    let polls = bin.map_or(0, |bin| u64::from(bin.polls));
    let failed = bin.map_or(0, |bin| u64::from(bin.failed));
    match strip.last_mut() {
        Some(last) if last.state == state => {
            last.until = until;
            last.polls += polls;
            last.failed += failed;
        }
        _ => strip.push(Stretch { from, until, state, polls, failed }),
    }
}

/// How it was from a bin on, until it is asked again.
fn after_source(bin: &Bin) -> SourceState {
    match bin.last {
        Last::Answered => SourceState::Answered,
        Last::Failed => SourceState::Failed,
        Last::Paused => SourceState::Paused,
    }
}

fn after_serving(bin: &Bin) -> ServingState {
    match bin.last_serving {
        Serving::Fresh => ServingState::Fresh,
        Serving::Stale => ServingState::Stale,
        Serving::Nothing => ServingState::Nothing,
    }
}

impl Bin {
    /// How the source was in it.
    pub fn source(&self) -> SourceState {
        match self.failed {
            _ if self.polls == 0 => after_source(self),
            0 => SourceState::Answered,
            failed if failed == self.polls => SourceState::Failed,
            _ => SourceState::Mixed,
        }
    }

    /// What was served in it.
    pub fn serving(&self) -> ServingState {
        match (self.nothing, self.stale) {
            _ if self.polls == 0 => after_serving(self),
            (0, 0) => ServingState::Fresh,
            (0, _) => ServingState::Stale,
            (nothing, _) if nothing == self.polls => ServingState::Nothing,
            _ => ServingState::Mixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        archive::{Poll, PollFailure},
        fetch::Phase,
    };

    const NOW: UnixMillis = UnixMillis(1_772_607_600_000 + 90_000);

    fn minute(n: i64) -> UnixMillis {
        UnixMillis(Span::Day.begin(NOW).0 + n * 60_000)
    }

    fn bin(at: UnixMillis, failures: &[bool]) -> Bin {
        let polls = failures.iter().map(|failed| {
            let poll = Poll {
                at,
                took: Duration::from_millis(10),
                bytes: 3,
                outcome: if *failed { "http_500".into() } else { "new".into() },
                failure: failed.then(|| PollFailure {
                    words: "the answer was 500".to_owned(),
                    phase: Some(Phase::Wait),
                    status: Some(500),
                    head: None,
                }),
                serving: if *failed { Serving::Stale } else { Serving::Fresh },
            };
            Bin::of(&poll, Span::Day)
        });
        let sum = polls.reduce(|mut sum, later| {
            sum.add(&later);
            sum
        });
        sum.unwrap()
    }

    fn check(bins: &[Bin], lives: &[Life], source: &[(i64, &str)], serving: &[(i64, &str)]) {
        let strips = Availability::of(bins.to_vec(), &[], lives, Span::Day, NOW);
        let words: Vec<_> =
            strips.source.iter().map(|stretch| (stretch.from, stretch.state.as_str())).collect();
        let expect: Vec<_> = source.iter().map(|(n, word)| (minute(*n), *word)).collect();
        assert_eq!(words, expect);
        let words: Vec<_> =
            strips.serving.iter().map(|stretch| (stretch.from, stretch.state.as_str())).collect();
        let expect: Vec<_> = serving.iter().map(|(n, word)| (minute(*n), *word)).collect();
        assert_eq!(words, expect);
        // Without gaps, from the beginning to the present.
        assert_eq!(strips.source[0].from, Span::Day.begin(NOW));
        assert_eq!(strips.source.last().unwrap().until, NOW);
        for pair in strips.source.windows(2) {
            assert_eq!(pair[0].until, pair[1].from);
        }
    }

    #[test]
    fn what_a_poll_said_holds_until_the_next_one() {
        let lives = [Life { began: minute(0), seen: NOW }];
        let bins =
            [bin(minute(10), &[false]), bin(minute(70), &[true]), bin(minute(130), &[false])];
        check(
            &bins,
            &lives,
            &[(0, "unknown"), (10, "answered"), (70, "failed"), (130, "answered")],
            &[(0, "unknown"), (10, "fresh"), (70, "stale"), (130, "fresh")],
        );
    }

    #[test]
    fn a_single_failed_poll_is_seen() {
        let lives = [Life { began: minute(0), seen: NOW }];
        let bins = [bin(minute(-3), &[false]), bin(minute(5), &[false, true, false])];
        check(
            &bins,
            &lives,
            &[(0, "answered"), (5, "mixed"), (6, "answered")],
            &[(0, "fresh"), (5, "stale"), (6, "fresh")],
        );
    }

    #[test]
    fn a_server_that_did_not_run_is_told_apart_from_a_source_that_failed() {
        let lives = [
            Life { began: minute(-90), seen: UnixMillis(minute(20).0 + 5_000) },
            Life { began: minute(40), seen: NOW },
        ];
        let bins = [bin(minute(-1), &[true]), bin(minute(41), &[false])];
        check(
            &bins,
            &lives,
            &[(0, "failed"), (21, "off"), (40, "unknown"), (41, "answered")],
            &[(0, "stale"), (21, "off"), (40, "unknown"), (41, "fresh")],
        );
        check(&[], &[], &[(0, "off")], &[(0, "off")]);
    }

    #[test]
    fn a_pause_is_neither_an_answer_nor_a_failure_and_shows_what_was_served() {
        let lives = [Life { began: minute(0), seen: NOW }];
        let mut pausing = bin(minute(20), &[false]);
        pausing.add(&Bin::of_pause(minute(20), Serving::Fresh, Span::Day));
        let bins = [
            bin(minute(10), &[false]),
            pausing,
            Bin::of_pause(minute(80), Serving::Nothing, Span::Day),
            bin(minute(130), &[false]),
        ];
        check(
            &bins,
            &lives,
            &[(0, "unknown"), (10, "answered"), (21, "paused"), (130, "answered")],
            &[(0, "unknown"), (10, "fresh"), (80, "nothing"), (130, "fresh")],
        );
        let strips = Availability::of(bins.to_vec(), &[], &lives, Span::Day, NOW);
        assert_eq!(strips.bins.len(), 3, "in the others it was asked");
    }

    #[test]
    fn polls_are_counted_by_stretch() {
        let lives = [Life { began: minute(0), seen: NOW }];
        let bins =
            vec![bin(minute(0), &[true, true]), bin(minute(1), &[true]), bin(minute(2), &[false])];
        let strips = Availability::of(bins, &[], &lives, Span::Day, NOW);
        let counts: Vec<_> =
            strips.source.iter().map(|stretch| (stretch.polls, stretch.failed)).collect();
        assert_eq!(counts, [(3, 3), (1, 0)]);
    }

    /// How many seconds of a strip are so.
    fn seconds(strip: &[Stretch<ServingState>], state: ServingState) -> u64 {
        let so = strip.iter().filter(|stretch| stretch.state == state);
        so.map(|stretch| stretch.until.since(stretch.from).as_secs()).sum()
    }

    #[test]
    fn a_day_is_told_alike_in_both_spans() {
        let minute_before = |n: i64| UnixMillis(Span::Day.start_of(NOW).0 - n * 60_000);
        let lives = [Life { began: minute_before(17), seen: NOW }];
        let fails = [false, true];
        let minutes = vec![
            bin(minute_before(17), &[false]),
            bin(minute_before(5), &fails),
            bin(minute_before(4), &[false]),
        ];
        let mut hours: Vec<Bin> = Vec::new();
        for minute in &minutes {
            let start = Span::Month.start_of(minute.start);
            match hours.last_mut().filter(|hour| hour.start == start) {
                Some(hour) => hour.add(minute),
                None => hours.push(Bin { start, ..*minute }),
            }
        }
        let day = Availability::of(minutes.clone(), &[], &lives, Span::Day, NOW);
        let month = Availability::of(hours, &minutes, &lives, Span::Month, NOW);
        for state in [ServingState::Fresh, ServingState::Stale] {
            let (of_day, of_month) = (seconds(&day.serving, state), seconds(&month.serving, state));
            assert_eq!(of_day, of_month, "{state:?}");
        }
        assert_eq!(seconds(&month.serving, ServingState::Stale), 60);
        let polls = |it: &Availability| it.source.iter().map(|part| part.polls).sum::<u64>();
        assert_eq!((polls(&day), polls(&month)), (4, 4));
        assert_eq!(month.source[0].from, Span::Month.begin(NOW));
        assert_eq!(month.source.last().unwrap().until, NOW);
    }

    #[test]
    fn of_an_hour_counts_what_the_server_ran_of_it() {
        let hour = |n: i64| UnixMillis(Span::Month.begin(NOW).0 + n * 3_600_000);
        let minutes_after = |at: UnixMillis, n: i64| UnixMillis(at.0 + n * 60_000);
        let lives = [
            Life { began: minutes_after(hour(10), 50), seen: minutes_after(hour(11), 19) },
            Life { began: minutes_after(hour(11), 40), seen: minutes_after(hour(12), 9) },
        ];
        let of = |at: UnixMillis| Bin { start: at, ..bin(at, &[false]) };
        let bins = vec![of(hour(10)), of(hour(11)), of(hour(12))];
        let strips = Availability::of(bins, &[], &lives, Span::Month, NOW);
        assert_eq!(seconds(&strips.serving, ServingState::Fresh), (10 + 20 + 20 + 10) * 60);
        assert_eq!(strips.source.iter().map(|part| part.polls).sum::<u64>(), 3);
        for pair in strips.source.windows(2) {
            assert_eq!(pair[0].until, pair[1].from);
        }
        assert_eq!(strips.source.last().unwrap().until, NOW);
    }
}
