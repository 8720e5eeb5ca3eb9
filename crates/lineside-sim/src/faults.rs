//! Faults of a producer, by script or by switch.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use lineside_sync::UnixMillis;
use parking_lot::RwLock;

use crate::city_feed::CityFeed;
use crate::limits;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeedFault {
    /// The connection is accepted and nothing is ever sent.
    Hang,
    /// Status 500.
    Http500,
    /// Status 200 with a web page, like a maintenance page.
    Html,
    /// The body is truncated.
    Truncate,
    /// Status 200 with an empty body.
    Empty,
    /// An old message with old timestamps, or an old version of the schedule.
    Skew,
    /// Ids of trips, stops and routes that other feeds do not know.
    Ids,
}

impl FeedFault {
    /// All kinds of faults.
    pub const ALL: [Self; 7] =
        [Self::Hang, Self::Http500, Self::Html, Self::Truncate, Self::Empty, Self::Skew, Self::Ids];

    /// Returns the name of the fault in scripts and switches.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::Http500 => "500",
            Self::Html => "html",
            Self::Truncate => "truncate",
            Self::Empty => "empty",
            Self::Skew => "skew",
            Self::Ids => "ids",
        }
    }
}

impl fmt::Display for FeedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for FeedFault {
    type Err = FaultParseError;

    fn from_str(text: &str) -> Result<Self, FaultParseError> {
        let known = Self::ALL.into_iter().find(|fault| fault.as_str() == text);
        known.ok_or_else(|| FaultParseError::new(text, format!("{text:?} is not a fault")))
    }
}

/// The reason why a fault's script is invalid, with the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid fault {spec:?}: {why}; expected \
    <city|city-vehicles|city-trips|city-alerts|city-bikes|twin|twin-et|twin-vm|twin-sx>:<hang|500|html|truncate|empty|skew|ids>@<start>+<length>, times in seconds or with s, m or h, such as city-trips:hang@30s+2m"
)]
pub struct FaultParseError {
    spec: String,
    why: String,
}

impl FaultParseError {
    fn new(spec: &str, why: impl Into<String>) -> Self {
        Self { spec: spec.chars().take(120).collect(), why: why.into() }
    }
}

/// A fault of one feed that starts some time after the city's start and lasts for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedFault {
    feed: CityFeed,
    fault: FeedFault,
    start: Duration,
    length: Duration,
}

impl FromStr for ScriptedFault {
    type Err = FaultParseError;

    /// Parses `<feed>:<fault>@<start>+<length>`.
    fn from_str(spec: &str) -> Result<Self, FaultParseError> {
        let bad = |why: &str| FaultParseError::new(spec, why);
        let (feed, rest) =
            spec.split_once(':').ok_or_else(|| bad("the colon after the feed is missing"))?;
        let (fault, rest) =
            rest.split_once('@').ok_or_else(|| bad("the @ before the start is missing"))?;
        let (start, length) =
            rest.split_once('+').ok_or_else(|| bad("the + before the length is missing"))?;
        let feed = CityFeed::feed_from_id(feed)
            .ok_or_else(|| bad(&format!("there is no feed {feed:?}")))?;
        let fault = fault.parse().map_err(|_| bad(&format!("there is no fault {fault:?}")))?;
        let time = |name: &str, text: &str| {
            parse_fault_duration(text)
                .ok_or_else(|| bad(&format!("{text:?} is not a valid {name}")))
        };
        let (start, length) = (time("start", start)?, time("length", length)?);
        if length.is_zero() {
            return Err(bad("the length must be more than 0"));
        }
        Ok(Self { feed, fault, start, length })
    }
}

/// Parses `90`, `90s`, `2m` or `1h`.
fn parse_fault_duration(text: &str) -> Option<Duration> {
    let (digits, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) => (digits, &text[digits.len()..]),
        None => (text, "s"),
    };
    let factor = match unit {
        "h" => 3_600,
        "m" => 60,
        _ => 1,
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let seconds = plain.then(|| digits.parse::<u64>().ok()).flatten()?.checked_mul(factor)?;
    Some(Duration::from_secs(seconds)).filter(|duration| *duration <= limits::FAULT_TIME_MAX)
}

/// The scripted faults of a run. Where two overlap, the later one in the list applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    scripted: Vec<ScriptedFault>,
}

impl FaultPlan {
    /// Parses a plan from scripts such as `city-trips:hang@30s+2m`.
    ///
    /// # Errors
    /// Returns an error for the first invalid script, or if there are more than [`limits::FAULTS_MAX`].
    pub fn parse_fault_specs<'a>(
        specs: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, FaultParseError> {
        Self::new(specs.into_iter().map(str::parse).collect::<Result<_, _>>()?)
    }

    /// Creates a plan from parsed scripts.
    ///
    /// # Errors
    /// Returns an error if there are more than [`limits::FAULTS_MAX`].
    pub fn new(scripted: Vec<ScriptedFault>) -> Result<Self, FaultParseError> {
        match scripted.len() {
            n if n > limits::FAULTS_MAX => Err(FaultParseError::new(
                "…",
                format!("{n} faults exceed the limit of {}", limits::FAULTS_MAX),
            )),
            _ => Ok(Self { scripted }),
        }
    }

    pub fn feeds_with_scripted_faults(&self) -> impl Iterator<Item = CityFeed> {
        self.scripted.iter().map(|fault| fault.feed)
    }

    fn scripted_fault_at(&self, feed: CityFeed, since_start: Duration) -> Option<FeedFault> {
        let active = |f: &&ScriptedFault| {
            f.feed == feed && f.start <= since_start && since_start < f.start + f.length
        };
        self.scripted.iter().rev().find(active).map(|f| f.fault)
    }
}

/// The source of a feed's current fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultSource {
    Script,
    Fixed(Option<FeedFault>),
}

/// The faults of a running city: the plan, and switches that override it.
#[derive(Debug)]
pub struct FaultControl {
    start: UnixMillis,
    plan: FaultPlan,
    switches: RwLock<[FaultSource; CityFeed::ALL.len()]>,
}

impl FaultControl {
    /// Creates the control of a plan whose times count from `start`.
    #[must_use]
    pub fn new(start: UnixMillis, plan: FaultPlan) -> Self {
        Self { start, plan, switches: RwLock::new([FaultSource::Script; CityFeed::ALL.len()]) }
    }

    /// Switches a feed to a fault, or to no fault, regardless of the script, until it is switched again.
    pub fn switch_fault(&self, feed: CityFeed, fault: Option<FeedFault>) {
        self.switches.write()[feed as usize] = FaultSource::Fixed(fault);
    }

    /// Lets a feed follow the script again.
    pub fn follow_script(&self, feed: CityFeed) {
        self.switches.write()[feed as usize] = FaultSource::Script;
    }

    /// Returns true if a feed was switched by hand and does not follow the script.
    #[must_use]
    pub fn is_manually_switched(&self, feed: CityFeed) -> bool {
        self.switches.read()[feed as usize] != FaultSource::Script
    }

    /// Returns the fault of a feed at an instant.
    #[must_use]
    pub fn active_fault(&self, feed: CityFeed, now: UnixMillis) -> Option<FeedFault> {
        match self.switches.read()[feed as usize] {
            FaultSource::Fixed(fault) => fault,
            FaultSource::Script => {
                self.plan.scripted_fault_at(feed, now.duration_since(self.start))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(specs: &[&str], seconds: i64) -> Option<FeedFault> {
        let faults = FaultControl::new(
            UnixMillis(1_000),
            FaultPlan::parse_fault_specs(specs.iter().copied()).unwrap(),
        );
        faults.active_fault(CityFeed::Trips, UnixMillis(1_000 + seconds * 1_000))
    }

    #[test]
    fn a_scripted_fault_is_active_for_its_duration() {
        let plan = ["city-trips:hang@90s+2m"];
        assert_eq!(
            [0, 89, 90, 209, 210].map(|s| active(&plan, s)),
            [None, None, Some(FeedFault::Hang), Some(FeedFault::Hang), None]
        );
        assert_eq!(active(&["city-vehicles:500@0+1h"], 5), None);
        assert_eq!(
            active(&["city-trips:500@0+60", "city-trips:ids@10+5"], 12),
            Some(FeedFault::Ids)
        );
    }

    #[test]
    fn a_manual_fault_overrides_the_script_until_reset() {
        let faults = FaultControl::new(
            UnixMillis(0),
            FaultPlan::parse_fault_specs(["city:html@0+1h"]).unwrap(),
        );
        let now = UnixMillis(5_000);
        assert_eq!(faults.active_fault(CityFeed::City, now), Some(FeedFault::Html));
        faults.switch_fault(CityFeed::City, None);
        assert_eq!(faults.active_fault(CityFeed::City, now), None);
        faults.switch_fault(CityFeed::City, Some(FeedFault::Empty));
        assert_eq!(faults.active_fault(CityFeed::City, now), Some(FeedFault::Empty));
        assert!(
            faults.is_manually_switched(CityFeed::City)
                && !faults.is_manually_switched(CityFeed::Alerts)
        );
        faults.follow_script(CityFeed::City);
        assert_eq!(faults.active_fault(CityFeed::City, now), Some(FeedFault::Html));
    }

    #[test]
    fn a_malformed_script_is_refused_with_the_expected_form() {
        let cases = [
            ("", "the colon"),
            ("city-trips", "the colon"),
            ("city-trips:hang", "the @"),
            ("city-trips:hang@5", "the + before"),
            ("town:hang@5+5", "no feed \"town\""),
            ("city:explode@5+5", "no fault \"explode\""),
            ("city:hang@soon+5", "\"soon\" is not a valid start"),
            ("city:hang@5+5d", "\"5d\" is not a valid length"),
            ("city:hang@-5+5", "\"-5\" is not a valid start"),
            ("city:hang@5+0", "more than 0"),
            ("city:hang@5+99999999999999999999h", "is not a valid length"),
        ];
        for (spec, why) in cases {
            let message = spec.parse::<ScriptedFault>().unwrap_err().to_string();
            assert!(message.contains(why), "{spec}: {message}");
            assert!(message.contains("expected <city|city-vehicles|"), "{message}");
        }
    }

    #[test]
    fn the_number_of_scripted_faults_is_bounded() {
        let many = vec!["city:hang@1+1"; limits::FAULTS_MAX + 1];
        assert!(FaultPlan::parse_fault_specs(many).is_err());
    }
}
