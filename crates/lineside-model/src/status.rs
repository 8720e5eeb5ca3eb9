//! The status of a feed: its state, the reason and counters.

use std::{fmt, sync::Arc, time::Duration};

use lineside_formats::{Format, Problems};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{feed_config::FeedConfig, fetch_failure::FetchFailure, service_window::EndOfService};

/// Below this many running trips, the share of reported trips is not meaningful.
pub const ACTIVE_TRIPS_MIN: u32 = 10;
/// The minimum of expected entities: of fewer, half may be missing by chance.
const EXPECTED_ENTITIES_MIN: f64 = 10.0;
/// Less than this fraction of the usual content is too little.
pub const SHARE_MIN: f64 = 0.5;
/// Fewer trips and vehicles may all stand still.
const STILL_MIN: u32 = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FeedState {
    /// The source answers with fresh data.
    Ok,
    /// The source answers, but its data are old by their own timestamp.
    Late,
    /// The last poll failed while the last good data are served and not yet old, or the source answers with data older
    /// than `stale_after_age`.
    Stale,
    /// The last service day of the schedule has passed.
    Expired,
    /// Polls fail, and there are no good data, or they are old.
    Failing,
    /// The source answers without content.
    Empty,
    /// An admin has paused it: the source is not polled.
    Paused,
    /// The source has not been polled yet.
    #[default]
    Unknown,
}

impl FeedState {
    pub const ALL: [FeedState; 8] = [
        FeedState::Ok,
        FeedState::Late,
        FeedState::Stale,
        FeedState::Expired,
        FeedState::Failing,
        FeedState::Empty,
        FeedState::Paused,
        FeedState::Unknown,
    ];

    /// Returns true if the state needs attention.
    pub fn is_problem_state(self) -> bool {
        !matches!(self, FeedState::Ok | FeedState::Paused | FeedState::Unknown)
    }

    /// Returns the name of the state in messages and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            FeedState::Ok => "ok",
            FeedState::Late => "late",
            FeedState::Stale => "stale",
            FeedState::Expired => "expired",
            FeedState::Failing => "failing",
            FeedState::Empty => "empty",
            FeedState::Paused => "paused",
            FeedState::Unknown => "unknown",
        }
    }

    pub fn parse(name: &str) -> Option<FeedState> {
        FeedState::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

impl fmt::Display for FeedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A feed's status at one time.
#[derive(Clone, Debug, Default)]
pub struct FeedStatus {
    pub state: FeedState,
    /// The reason as text, which does not change while the state stays the same.
    pub reason: String,
    /// The time since which the state holds.
    pub since: UnixMillis,
    /// The state before an admin paused the feed; `None` unless it is paused.
    pub state_before_pause: Option<FeedState>,
    /// The time since which passengers have had no reliable live data: the time of the last reliable ones, if known.
    /// `None` while the data are reliable, and for schedules.
    pub unreliable_since: Option<UnixMillis>,
    /// The time at which a poll last brought or confirmed good data.
    pub last_success: Option<UnixMillis>,
    /// The time of the last poll.
    pub last_attempt: Option<UnixMillis>,
    /// The timestamp in the data.
    pub data_time: Option<UnixMillis>,
    /// True if the timestamp in the data is after the year 9999; then `data_time` is `None`.
    pub has_impossible_time: bool,
    /// The time of the next poll.
    pub next_poll: Option<UnixMillis>,
    /// The time for which the source calls its last reply fresh: it is not polled sooner.
    pub fresh_for: Option<Duration>,
    /// The number of served records; for schedules, of trips.
    pub entities: u64,
    /// The decoder's problems with the served data.
    pub problems: Arc<Problems>,
    /// The number of fetches.
    pub fetches: u64,
    /// The number of failed fetches.
    pub failures: u64,
    /// Failures since the last success.
    pub failures_in_a_row: u32,
    /// The time of the first failure since the last success.
    pub failing_since: Option<UnixMillis>,
    /// The time since which a realtime source answers with an empty body; `None` after a body with content.
    pub empty_since: Option<UnixMillis>,
    /// Fetches by outcome: `new`, `same`, `not_modified`, `nothing`, or a failure's code.
    pub outcomes: Vec<(SmolStr, u64)>,
    /// The last failure, unless followed by a success.
    pub last_error: Option<FetchFailure>,
    /// The format, once known.
    pub format: Option<Format>,
    /// Bytes received in bodies.
    pub bytes: u64,
    /// True if all data come from before this start: the source has not been polled since.
    pub is_restored: bool,
    /// True if only a part of the first answer has arrived, which is published once it is complete.
    pub is_gathering: bool,
    /// True if a subscription's producer may not have sent all data yet.
    pub is_beginning: bool,
    /// True if the feed has alerts and is not known to have reported a trip or a vehicle.
    pub has_only_alerts: bool,
    /// The worst failure state of a GBFS system's files and its reason, if there is one.
    pub worst_file_state: Option<(FeedState, String)>,
    /// The oldest time of a GBFS system's station and vehicle data.
    pub files_data_time: Option<UnixMillis>,
}

impl FeedStatus {
    /// Counts a fetch by its outcome.
    pub fn count_poll_outcome(&mut self, outcome: &str) {
        self.fetches += 1;
        match self.outcomes.iter_mut().find(|(name, _)| name == outcome) {
            Some((_, count)) => *count += 1,
            None => self.outcomes.push((SmolStr::new(outcome), 1)),
        }
    }

    /// Adds the counters of another status.
    pub fn add_poll_counters(&mut self, other: &FeedStatus) {
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

    /// Updates the state; `since` changes only with the state.
    ///
    /// `data_now` is the present on the clock of the data: the recorded time during a replay.
    pub fn update_state(&mut self, now: UnixMillis, data_now: UnixMillis, rules: &HealthRules) {
        let (state, reason) = if rules.paused {
            let before =
                if self.state == FeedState::Paused { FeedState::Unknown } else { self.state };
            self.state_before_pause.get_or_insert(before);
            (FeedState::Paused, PAUSED_REASON.to_owned())
        } else {
            self.state_before_pause = None;
            self.evaluate_state(now, data_now, rules)
        };
        // An expired timetable ended on its last day, whenever that was detected.
        if let Some(end) = rules.ended.filter(|_| state == FeedState::Expired) {
            self.since = end.at;
        } else if state != self.state || self.since == UnixMillis::default() {
            self.since = now;
        }
        self.state = state;
        self.reason = reason;
        self.update_unreliable_since(now, data_now, rules);
    }

    /// Updates the time since which the data are unreliable. It stays the same until they are reliable again, whichever
    /// states the feed passes through.
    fn update_unreliable_since(
        &mut self,
        now: UnixMillis,
        data_now: UnixMillis,
        rules: &HealthRules,
    ) {
        let late_after = self.data_late_after(rules);
        let age = match (self.data_time.or(self.files_data_time), self.last_success) {
            (Some(at), _) => Some(data_now.duration_since(at)),
            (None, at) => at.map(|at| now.duration_since(at)),
        };
        let is_live = self.format.is_none_or(|it| it.is_realtime() || it.is_shared_mobility());
        let is_unreliable = is_live
            && match self.state {
                FeedState::Ok | FeedState::Expired => false,
                // Nothing is known since the start, so the earlier value holds.
                FeedState::Unknown => self.unreliable_since.is_some(),
                // The last good data are served and may be seconds old.
                FeedState::Stale | FeedState::Paused => age.is_none_or(|age| age > late_after),
                FeedState::Late | FeedState::Failing | FeedState::Empty => true,
            };
        if !is_unreliable {
            self.unreliable_since = None;
        } else if self.unreliable_since.is_none() {
            let is_frozen = rules.expectation.has_frozen_content(late_after);
            let age = match age {
                Some(_) if is_frozen => now.duration_since(rules.expectation.unchanged_since),
                age => age.unwrap_or_default(),
            };
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            // The age was computed a moment before `now`, and message timestamps are whole seconds.
            let nearest_second = now.0.saturating_sub(age).saturating_add(500).div_euclid(1_000);
            self.unreliable_since = Some(UnixMillis(nearest_second.saturating_mul(1_000)).min(now));
        }
    }

    /// Returns the age from which the data are late. Data polled once per `ttl`, as usual, and valid for as long on
    /// arrival are at most twice as old.
    fn data_late_after(&self, rules: &HealthRules) -> Duration {
        rules.late_after.max(rules.ttl.saturating_mul(2))
    }

    fn evaluate_state(
        &self,
        now: UnixMillis,
        data_now: UnixMillis,
        rules: &HealthRules,
    ) -> (FeedState, String) {
        let late_after = rules.late_after;
        if let Some(failure) = &self.last_error {
            let why = format!("{} ({})", failure.detail, failure.code);
            return match self.last_success {
                None => (FeedState::Failing, format!("{why}; no data received yet")),
                Some(at)
                    if rules.max_age.is_some_and(|max_age| now.duration_since(at) > max_age) =>
                {
                    let state_reason =
                        format!("{why}; the last good data are too old to be served");
                    (FeedState::Failing, state_reason)
                }
                Some(at) if now.duration_since(at) > late_after => {
                    let words =
                        format!("{why}; failing for more than {}", format_duration(late_after));
                    (FeedState::Failing, words)
                }
                Some(_) if let Some(end) = rules.ended => ended_schedule_state(end),
                Some(_) => (FeedState::Stale, format!("{why}; the last good data are served")),
            };
        }
        if self.empty_since.is_some() {
            return evaluate_empty_message(&rules.expectation, None);
        }
        if self.is_gathering {
            let words = "responds page by page; the data are not complete yet";
            return (FeedState::Unknown, words.to_owned());
        }
        if self.last_success.is_none() {
            return (FeedState::Unknown, "has not been polled yet".to_owned());
        }
        if self.is_restored {
            let state_reason = "has not been polled since the start; the last good data are served";
            return (FeedState::Unknown, state_reason.to_owned());
        }
        self.worst_file_state.clone().unwrap_or_else(|| self.evaluate_content(data_now, rules))
    }

    /// Returns the state of a feed that answers, by its content.
    fn evaluate_content(&self, data_now: UnixMillis, rules: &HealthRules) -> (FeedState, String) {
        if rules.replay_has_ended {
            return (FeedState::Stale, REPLAY_END_REASON.to_owned());
        }
        let late_after = self.data_late_after(rules);
        let age = self.data_time.map(|at| data_now.duration_since(at));
        match self.format {
            Some(format) if format.is_realtime() && self.has_impossible_time => {
                return (FeedState::Late, IMPOSSIBLE_TIME_REASON.to_owned());
            }
            Some(format) if format.is_realtime() && self.entities == 0 => {
                return evaluate_empty_message(&rules.expectation, age);
            }
            Some(format) if !format.is_raw() && self.entities == 0 => {
                return (FeedState::Empty, EMPTY_REASON.to_owned());
            }
            Some(format)
                if format.is_schedule()
                    && let Some(end) = rules.ended =>
            {
                return ended_schedule_state(end);
            }
            _ => {}
        }
        if rules.expectation.has_too_few_entities() && !self.is_beginning {
            let words = "contains less than half of its usual trips and vehicles";
            return (FeedState::Empty, words.to_owned());
        }
        match self.data_time {
            Some(at) if data_now.duration_since(at) > late_after => {
                let (state, age) = evaluate_data_age(data_now.duration_since(at), late_after);
                let subject = if rules.is_replay { REPLAY_GAP_REASON } else { OLD_DATA_REASON };
                (state, format!("{subject} {age} old"))
            }
            Some(at) if at.duration_since(data_now) > late_after => {
                let message = format!(
                    "responds, but its data are dated more than {} ahead",
                    format_duration(late_after)
                );
                (FeedState::Late, message)
            }
            _ if rules.expectation.has_frozen_content(late_after) => {
                let message = format!(
                    "responds, but all trips and vehicles have been unchanged for more than {}",
                    format_duration(late_after)
                );
                (FeedState::Late, message)
            }
            // The data of a recording are as old as the recording.
            _ if rules.is_replay => (FeedState::Ok, REPLAY_REASON.to_owned()),
            _ if self.is_beginning => {
                let words = "responds with fresh data that may not be complete yet";
                (FeedState::Ok, words.to_owned())
            }
            _ => (FeedState::Ok, "responds with fresh data".to_owned()),
        }
    }
}

/// Returns the state of a realtime feed with an empty message or body. `age` is that of the message.
fn evaluate_empty_message(
    expectation: &ContentExpectation,
    age: Option<Duration>,
) -> (FeedState, String) {
    if let Some(age) = age.filter(|age| *age > EMPTY_STALE_AFTER) {
        return (
            FeedState::Stale,
            format!("{EMPTY_REASON}; data are {} old", format_rounded_age(age)),
        );
    }
    if expectation.n_active_trips == Some(0) {
        return (FeedState::Ok, format!("{EMPTY_REASON}, as expected: no trips are running"));
    }
    if !expectation.has_trip_data {
        // A feed may have no alerts for weeks.
        return (
            FeedState::Ok,
            format!("{EMPTY_REASON}; it has contained no trips or vehicles so far"),
        );
    }
    (FeedState::Empty, EMPTY_REASON.to_owned())
}

/// Returns the state of a feed whose data are older than `late_after`, and their age in words.
fn evaluate_data_age(age: Duration, late_after: Duration) -> (FeedState, String) {
    let is_stale = age > stale_after_age(late_after);
    let state = if is_stale { FeedState::Stale } else { FeedState::Late };
    // The text must stay the same for a while: each new reason is a message to all subscribers.
    let message = match age {
        age if age < late_after.max(COARSE_STEP) => {
            format!("more than {}", format_duration(late_after))
        }
        age if age < HOUR => {
            let step = COARSE_STEP.as_secs();
            let floor = Duration::from_secs(age.as_secs() / step * step);
            format!("more than {}", format_duration(floor.max(late_after)))
        }
        age => format_rounded_age(age),
    };
    (state, message)
}

/// Returns the age from which data are stale instead of late: 12 times `late_after`, and at least an hour.
pub fn stale_after_age(late_after: Duration) -> Duration {
    late_after.saturating_mul(12).max(HOUR)
}

/// Returns the state of a schedule whose last service day has passed.
fn ended_schedule_state(end: EndOfService) -> (FeedState, String) {
    (FeedState::Expired, format!("the timetable ended on {}", end.last_day.strftime("%-d %b %Y")))
}

const HOUR: Duration = Duration::from_secs(3600);
/// Steps in which the age in a reason grows below an hour.
const COARSE_STEP: Duration = Duration::from_secs(600);
/// Maximum age of an empty message: some producers publish none while nothing runs, for example over a weekend.
const EMPTY_STALE_AFTER: Duration = Duration::from_secs(3 * 24 * 3600);
/// The reason for the state of a recording that plays.
const REPLAY_REASON: &str = "plays a recording";
/// The beginning of the reason for old data; their age follows.
const OLD_DATA_REASON: &str = "responds, but its data are";
/// The same in a gap of a recording.
const REPLAY_GAP_REASON: &str = "the recording has a gap, so its data are";
/// The reason for the state of a recording after its last message.
const REPLAY_END_REASON: &str = "the recording has ended; its last data are served";
/// The reason for the state of an empty feed.
const EMPTY_REASON: &str = "the feed is empty";
/// The reason for an impossible timestamp.
const IMPOSSIBLE_TIME_REASON: &str =
    "responds, but the timestamp of its data is impossible: their age is unknown";
/// The reason for the state of a paused feed.
const PAUSED_REASON: &str =
    "paused by an admin: the source is not polled, the last data stay available";

/// The expected and actual content of a feed, for the health rules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContentExpectation {
    /// Running trips by the timetable; `None` if unknown.
    pub n_active_trips: Option<u32>,
    /// The usual number of trips and vehicles for this many running trips; `None` if unknown.
    pub n_expected: Option<f64>,
    /// Trips and vehicles in the last message.
    pub n_reported: u32,
    /// True if any message contained trips or vehicles.
    pub has_trip_data: bool,
    /// The time of the last message.
    pub last_message_at: UnixMillis,
    /// The time since which the content is unchanged.
    pub unchanged_since: UnixMillis,
}

impl ContentExpectation {
    /// Returns true if much of the usual content is missing.
    pub fn has_too_few_entities(&self) -> bool {
        let typical = self.n_expected.filter(|typical| *typical >= EXPECTED_ENTITIES_MIN);
        typical.is_some_and(|typical| f64::from(self.n_reported) < typical * SHARE_MIN)
    }

    /// Returns true if the content was unchanged for longer than `limit` at the last message, although much should
    /// move.
    pub fn has_frozen_content(&self, limit: Duration) -> bool {
        self.n_reported >= STILL_MIN
            && self.n_active_trips.is_some_and(|n_active| n_active >= ACTIVE_TRIPS_MIN)
            && self.last_message_at.duration_since(self.unchanged_since) > limit
    }
}

/// The rules for a feed's state: configured ages and expected content.
#[derive(Clone, Copy, Debug)]
pub struct HealthRules {
    pub late_after: Duration,
    pub max_age: Option<Duration>,
    /// True if the source is not polled.
    pub paused: bool,
    /// The end of the timetable's service, if it has passed.
    pub ended: Option<EndOfService>,
    /// The `ttl` of the data; zero if they have none.
    pub ttl: Duration,
    /// True if the source plays a recording.
    pub is_replay: bool,
    /// True if that recording has ended.
    pub replay_has_ended: bool,
    pub expectation: ContentExpectation,
}

impl HealthRules {
    pub fn from_config(config: &FeedConfig) -> HealthRules {
        let FeedConfig { late_after, max_age, paused, .. } = *config;
        HealthRules {
            late_after,
            max_age,
            paused,
            ended: None,
            ttl: Duration::ZERO,
            is_replay: config.is_replay(),
            replay_has_ended: false,
            expectation: ContentExpectation::default(),
        }
    }
}

/// Formats an age of an hour or more in whole hours, from two days on in whole days: `2 h`, `3 009 days`.
fn format_rounded_age(age: Duration) -> String {
    match age.as_secs() / 3600 {
        hours if hours < 48 => format!("{hours} h"),
        hours => format!("{} days", format_with_thin_spaces(hours / 24)),
    }
}

/// Formats a number with thin spaces between thousands, as on pages.
fn format_with_thin_spaces(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{}\u{202f}{:03}", format_with_thin_spaces(number / 1000), number % 1000),
    }
}

/// Formats a duration: `5 min`, `90 s`, `2 h`.
fn format_duration(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{} ms", duration.as_millis()),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests;
