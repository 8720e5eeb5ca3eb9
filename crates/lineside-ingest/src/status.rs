//! How a feed is doing, and why, in words.

use std::{fmt, sync::Arc, time::Duration};

use lineside_formats::{Format, Problems};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{config::FeedConfig, fetch::FetchFailure, health::Expectation};

/// The six states of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FeedState {
    /// The source answers, and what it says is fresh.
    Ok,
    /// The source answers, but its data are old by their own time.
    Late,
    /// The last poll failed; the last good data are served and not yet old.
    Stale,
    /// Polls fail, and there is nothing good to serve or it is old.
    Failing,
    /// The source answers with nothing in it.
    Empty,
    /// Not polled yet.
    #[default]
    Unknown,
}

impl FeedState {
    /// All states.
    pub const ALL: [FeedState; 6] = [
        FeedState::Ok,
        FeedState::Late,
        FeedState::Stale,
        FeedState::Failing,
        FeedState::Empty,
        FeedState::Unknown,
    ];

    /// Whether somebody should look after the feed.
    pub fn is_trouble(self) -> bool {
        !matches!(self, FeedState::Ok | FeedState::Unknown)
    }

    /// The word for it, in messages and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            FeedState::Ok => "ok",
            FeedState::Late => "late",
            FeedState::Stale => "stale",
            FeedState::Failing => "failing",
            FeedState::Empty => "empty",
            FeedState::Unknown => "unknown",
        }
    }

    /// The state of that word.
    pub fn parse(word: &str) -> Option<FeedState> {
        FeedState::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

impl fmt::Display for FeedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A feed's state at one moment.
#[derive(Clone, Debug, Default)]
pub struct FeedStatus {
    /// The state.
    pub state: FeedState,
    /// Why, in words that stay the same while the state does.
    pub reason: String,
    /// Since when the state holds.
    pub since: UnixMillis,
    /// When a poll last brought good data or confirmed them.
    pub last_success: Option<UnixMillis>,
    /// When the source was last asked.
    pub last_attempt: Option<UnixMillis>,
    /// The time that the data give themselves.
    pub data_time: Option<UnixMillis>,
    /// When the source is asked next.
    pub next_poll: Option<UnixMillis>,
    /// Real time: records served. Schedules: trips.
    pub entities: u64,
    /// What the decoder complained about in the data served.
    pub problems: Arc<Problems>,
    /// Times that the source was asked.
    pub fetches: u64,
    /// Of these, how many failed.
    pub failures: u64,
    /// Failures since the last success.
    pub failures_in_a_row: u32,
    /// When the first of these was.
    pub failing_since: Option<UnixMillis>,
    /// Since when the source, of real time, answers with nothing in its body; none once something came.
    pub nothing_since: Option<UnixMillis>,
    /// How fetches ended: `new`, `same`, `not_modified`, `nothing`, or a failure's code.
    pub outcomes: Vec<(SmolStr, u64)>,
    /// The last failure, unless a success came after it.
    pub last_error: Option<FetchFailure>,
    /// What the feed is, once known.
    pub format: Option<Format>,
    /// Bytes that came in bodies.
    pub bytes: u64,
    /// Whether all that is known of it comes from before this start: the source has not been asked since.
    pub is_restored: bool,
    /// Whether nothing is known but a part of its first answer, which readers are told when it is whole.
    pub is_gathering: bool,
    /// Whether the producer that it is subscribed to may not have told all that there is yet.
    pub is_beginning: bool,
    /// Whether it tells of alerts, and is not known to have told of a trip or a vehicle.
    pub tells_of_alerts_only: bool,
    /// Of a system, the worst state of its files with the reason, if any is in trouble.
    pub of_parts: Option<(FeedState, String)>,
}

impl FeedStatus {
    /// Counts one fetch that ended as `outcome`.
    pub(crate) fn count(&mut self, outcome: &str) {
        self.fetches += 1;
        match self.outcomes.iter_mut().find(|(name, _)| name == outcome) {
            Some((_, count)) => *count += 1,
            None => self.outcomes.push((SmolStr::new(outcome), 1)),
        }
    }

    /// Adds the requests of another, and what came of them.
    pub(crate) fn add_counts(&mut self, other: &FeedStatus) {
        self.fetches += other.fetches;
        self.failures += other.failures;
        self.bytes += other.bytes;
        for (outcome, more) in &other.outcomes {
            match self.outcomes.iter_mut().find(|(name, _)| name == outcome) {
                Some((_, count)) => *count += more,
                None => self.outcomes.push((outcome.clone(), *more)),
            }
        }
    }

    /// Judges the state anew; `since` moves only if it changed.
    ///
    /// `data_now` is the present on the clock of the data, which in a replay is the recorded one.
    pub(crate) fn judge(&mut self, now: UnixMillis, data_now: UnixMillis, rules: &Rules) {
        let (state, mut reason) = self.judgement(now, data_now, rules);
        if rules.paused {
            reason.insert_str(0, PAUSED);
        }
        if state != self.state || self.since == UnixMillis::default() {
            self.since = now;
        }
        self.state = state;
        self.reason = reason;
    }

    fn judgement(
        &self,
        now: UnixMillis,
        data_now: UnixMillis,
        rules: &Rules,
    ) -> (FeedState, String) {
        let late_after = rules.late_after;
        if let Some(failure) = &self.last_error {
            let why = format!("{}: {}", failure.code, failure.detail);
            return match self.last_success {
                None => (FeedState::Failing, format!("{why}; nothing good has come yet")),
                Some(at) if rules.max_age.is_some_and(|max_age| now.since(at) > max_age) => {
                    let words = format!("{why}; the last good data are too old to be served");
                    (FeedState::Failing, words)
                }
                Some(at) if now.since(at) > late_after => {
                    let words = format!("{why}; for more than {}", spoken(late_after));
                    (FeedState::Failing, words)
                }
                Some(_) => (FeedState::Stale, format!("{why}; the last good data are served")),
            };
        }
        if self.nothing_since.is_some() {
            return judgement_of_nothing(&rules.expectation);
        }
        if self.is_gathering {
            let words = "answers page by page, and has not told all that there is yet";
            return (FeedState::Unknown, words.to_owned());
        }
        if self.last_success.is_none() {
            return (FeedState::Unknown, "has not been polled yet".to_owned());
        }
        if self.is_restored {
            let words = "has not been polled since the start; the last good data are served";
            return (FeedState::Unknown, words.to_owned());
        }
        self.of_parts.clone().unwrap_or_else(|| self.judgement_of_data(data_now, rules))
    }

    /// How a feed is that answers: by what it says.
    fn judgement_of_data(&self, data_now: UnixMillis, rules: &Rules) -> (FeedState, String) {
        // What is asked for once per `ttl`, as is usual, and was good for as long when it came is twice as old at the most.
        let late_after = rules.late_after.max(rules.ttl.saturating_mul(2));
        match self.format {
            Some(Format::GtfsRt | Format::Siri) if self.entities == 0 => {
                return judgement_of_nothing(&rules.expectation);
            }
            Some(Format::Gtfs | Format::Netex | Format::Gbfs) if self.entities == 0 => {
                return (FeedState::Empty, NOTHING.to_owned());
            }
            _ => {}
        }
        if rules.expectation.is_too_little() && !self.is_beginning {
            let words = "tells of less than half of the trips and vehicles that are usual for as many as are under way";
            return (FeedState::Empty, words.to_owned());
        }
        match self.data_time {
            Some(at) if data_now.since(at) > late_after => {
                let words = format!("answers, with data more than {} old", spoken(late_after));
                (FeedState::Late, words)
            }
            Some(at) if at.since(data_now) > late_after => {
                let words =
                    format!("answers, with data dated more than {} ahead", spoken(late_after));
                (FeedState::Late, words)
            }
            _ if rules.expectation.is_frozen(late_after) => {
                let words = format!(
                    "answers, but has said the same of all trips and vehicles for more than {}",
                    spoken(late_after)
                );
                (FeedState::Late, words)
            }
            _ if self.is_beginning => {
                let words = "brings fresh data, and may not have told all that there is yet";
                (FeedState::Ok, words.to_owned())
            }
            _ => (FeedState::Ok, "answers, with fresh data".to_owned()),
        }
    }
}

/// How a feed of real time is that answers with nothing.
fn judgement_of_nothing(expectation: &Expectation) -> (FeedState, String) {
    if expectation.under_way == Some(0) {
        return (FeedState::Ok, format!("{NOTHING}, as no trip is under way"));
    }
    if !expectation.tells_of_trips {
        // Of alerts there may be none for weeks.
        return (FeedState::Ok, format!("{NOTHING}, and has not told of trips or vehicles so far"));
    }
    (FeedState::Empty, NOTHING.to_owned())
}

/// The reason of a feed that says nothing.
const NOTHING: &str = "answers, with nothing in it";
/// How the reason of a feed begins whose source is left alone.
const PAUSED: &str = "paused, its source is not asked; before that: ";

/// What a feed is judged by: what its configuration says about age, and what it should be saying.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) late_after: Duration,
    pub(crate) max_age: Option<Duration>,
    /// Its source is left alone.
    pub(crate) paused: bool,
    /// How long its data are good by their own word; zero if they have none.
    pub(crate) ttl: Duration,
    /// What it should be saying.
    pub(crate) expectation: Expectation,
}

impl Rules {
    pub(crate) fn of(config: &FeedConfig) -> Rules {
        let FeedConfig { late_after, max_age, paused, .. } = *config;
        Rules {
            late_after,
            max_age,
            paused,
            ttl: Duration::ZERO,
            expectation: Expectation::default(),
        }
    }
}

/// A duration as people say it: `5 min`, `90 s`, `2 h`.
fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{} ms", duration.as_millis()),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::{Failure, FailureCode};

    const RULES: Rules = Rules {
        late_after: Duration::from_secs(300),
        max_age: None,
        paused: false,
        ttl: Duration::ZERO,
        expectation: Expectation {
            under_way: None,
            usual: None,
            told: 0,
            tells_of_trips: true,
            heard_at: UnixMillis(0),
            unchanged_since: UnixMillis(0),
        },
    };

    fn good(at: i64) -> FeedStatus {
        FeedStatus {
            last_success: Some(UnixMillis::from_seconds(at)),
            data_time: Some(UnixMillis::from_seconds(at)),
            entities: 3,
            format: Some(Format::GtfsRt),
            ..FeedStatus::default()
        }
    }

    fn failed(mut status: FeedStatus, at: i64) -> FeedStatus {
        let at = UnixMillis::from_seconds(at);
        let detail = "the answer was 500 Internal Server Error";
        status.last_error = Some(Failure::new(FailureCode::Http(500), detail).at(at));
        status
    }

    fn check(mut status: FeedStatus, now: i64, rules: &Rules, state: FeedState, says: &str) {
        let now = UnixMillis::from_seconds(now);
        status.judge(now, now, rules);
        assert_eq!(status.state, state, "{}", status.reason);
        assert!(status.reason.contains(says), "{}", status.reason);
    }

    #[test]
    fn each_state_has_its_reason() {
        check(FeedStatus::default(), 1000, &RULES, FeedState::Unknown, "not been polled");
        check(good(1000), 1010, &RULES, FeedState::Ok, "fresh");
        check(good(1000), 1301, &RULES, FeedState::Late, "more than 5 min old");
        check(good(2000), 1000, &RULES, FeedState::Late, "ahead");
        check(failed(good(1000), 1010), 1010, &RULES, FeedState::Stale, "http_500");
        check(failed(good(1000), 1310), 1310, &RULES, FeedState::Failing, "for more than 5 min");
        check(failed(FeedStatus::default(), 5), 5, &RULES, FeedState::Failing, "nothing good");
        check(
            FeedStatus { entities: 0, ..good(1000) },
            1000,
            &RULES,
            FeedState::Empty,
            "nothing in it",
        );
        let gathering = FeedStatus { is_gathering: true, entities: 0, ..good(1000) };
        check(gathering.clone(), 1000, &RULES, FeedState::Unknown, "not told all");
        check(failed(gathering, 1010), 1010, &RULES, FeedState::Stale, "http_500");
        let restored = FeedStatus { is_restored: true, ..good(1000) };
        check(restored, 9000, &RULES, FeedState::Unknown, "since the start; the last good data");
        let strict = Rules { max_age: Some(Duration::from_secs(60)), ..RULES };
        check(failed(good(1000), 1070), 1070, &strict, FeedState::Failing, "too old");
    }

    #[test]
    fn what_is_too_little_depends_on_what_should_be_under_way() {
        let expecting = |under_way, told, unchanged_since| Rules {
            expectation: Expectation {
                under_way: Some(under_way),
                usual: Some(f64::from(under_way) * 0.9),
                told,
                tells_of_trips: true,
                heard_at: UnixMillis::from_seconds(1000),
                unchanged_since: UnixMillis::from_seconds(unchanged_since),
            },
            ..RULES
        };
        let nothing = FeedStatus { entities: 0, ..good(1000) };
        check(nothing.clone(), 1000, &expecting(0, 0, 0), FeedState::Ok, "no trip is under way");
        check(nothing, 1000, &expecting(50, 0, 0), FeedState::Empty, "nothing in it");
        let morning = expecting(50, 10, 1000);
        check(good(1000), 1000, &morning, FeedState::Empty, "less than half");
        check(good(1000), 1000, &expecting(50, 40, 1000), FeedState::Ok, "fresh");
        check(good(1000), 1000, &expecting(50, 40, 600), FeedState::Late, "said the same");
        check(good(1000), 1000, &expecting(5, 40, 600), FeedState::Ok, "fresh");
    }

    #[test]
    fn a_feed_that_never_told_of_trips_or_vehicles_may_have_nothing_to_say() {
        let about_else = |under_way| Rules {
            expectation: Expectation { tells_of_trips: false, under_way, ..RULES.expectation },
            ..RULES
        };
        let nothing = FeedStatus { entities: 0, ..good(1000) };
        for under_way in [None, Some(50)] {
            check(nothing.clone(), 1000, &about_else(under_way), FeedState::Ok, "so far");
        }
        let schedule = FeedStatus { format: Some(Format::Gtfs), ..nothing };
        check(schedule, 1000, &about_else(None), FeedState::Empty, "nothing in it");
    }

    #[test]
    fn an_answer_without_a_body_is_judged_like_a_message_with_nothing_in_it() {
        let under_way = |under_way| Rules {
            expectation: Expectation { under_way, ..RULES.expectation },
            ..RULES
        };
        let at = UnixMillis::from_seconds(9_000);
        // The good data from before are old by now; that is not what it is judged by.
        let nothing = FeedStatus { nothing_since: Some(at), ..good(1000) };
        check(nothing.clone(), 9_000, &under_way(Some(0)), FeedState::Ok, "no trip is under way");
        check(nothing.clone(), 9_000, &under_way(Some(50)), FeedState::Empty, "nothing in it");
        check(nothing.clone(), 9_000, &under_way(None), FeedState::Empty, "nothing in it");
        check(failed(nothing, 9_000), 9_000, &under_way(Some(0)), FeedState::Failing, "http_500");
        let first = FeedStatus { nothing_since: Some(at), ..FeedStatus::default() };
        check(first, 9_000, &under_way(Some(0)), FeedState::Ok, "no trip is under way");
    }

    #[test]
    fn since_moves_only_with_the_state() {
        let mut status = good(1000);
        let at = UnixMillis::from_seconds;
        status.judge(at(1000), at(1000), &RULES);
        status.judge(at(1100), at(1100), &RULES);
        assert_eq!(status.since, at(1000));
        status.judge(at(1400), at(1400), &RULES);
        assert_eq!((status.state, status.since), (FeedState::Late, at(1400)));
    }

    #[test]
    fn outcomes_are_counted_by_name() {
        let mut status = FeedStatus::default();
        for outcome in ["new", "same", "new", "http_500"] {
            status.count(outcome);
        }
        assert_eq!(status.fetches, 4);
        assert_eq!(status.outcomes[0], ("new".into(), 2));
    }
}
