//! Parses texts to values and finds their faults, by the type of the element.

use jiff::tz::TimeZone;
use smol_str::SmolStr;

use super::{DurationSeconds, SiriTime, time::ParsedTime};

/// A fault of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueFault {
    pub(super) code: &'static str,
    pub(super) detail: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonValueForm {
    /// A string.
    Quoted,
    /// A bare number or boolean.
    Bare,
    /// A string with milliseconds: French readers cannot parse a time without a fraction.
    Moment,
}

/// A type of value that is written as one text.
pub(super) trait TextValue: Sized {
    /// Parses a non-empty, trimmed text, and returns the value and the fault, if any.
    fn parse(text: &str, zone: &TimeZone) -> (Option<Self>, Option<&'static ValueFault>);

    /// Passes the text of the value and its JSON form to `write`. A value that cannot be written is not passed.
    fn with_text(&self, write: impl FnOnce(&str, JsonValueForm));

    /// Returns a sample text of a value, for an element with that name.
    fn sample(name: &'static str) -> &'static str;

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng) -> Self;
}

static NOT_A_TIME: ValueFault = ValueFault {
    code: "invalid_timestamp",
    detail: "not a time of the form 2026-11-21T20:25:00+01:00",
};
static NO_ZONE: ValueFault = ValueFault {
    code: "timestamp_without_zone",
    detail: "has no UTC offset; the feed's time zone is used",
};
static NOT_A_SPAN: ValueFault =
    ValueFault { code: "invalid_duration", detail: "not a duration of the form PT1M30S" };
static NOT_A_BOOLEAN: ValueFault =
    ValueFault { code: "invalid_boolean", detail: "neither true nor false" };
static NOT_AN_INTEGER: ValueFault =
    ValueFault { code: "invalid_integer", detail: "not an integer of the field's range" };
static NOT_A_NUMBER: ValueFault = ValueFault { code: "invalid_float", detail: "not a number" };
/// The fault of a term that an enumeration does not have.
pub(super) static NOT_IN_LIST: ValueFault =
    ValueFault { code: "unexpected_enum_value", detail: "not a value of the SIRI specification" };

fn value_or_fault<T>(
    value: Option<T>,
    fault: &'static ValueFault,
) -> (Option<T>, Option<&'static ValueFault>) {
    match value {
        Some(value) => (Some(value), None),
        None => (None, Some(fault)),
    }
}

impl TextValue for SmolStr {
    #[inline]
    fn parse(text: &str, _: &TimeZone) -> (Option<SmolStr>, Option<&'static ValueFault>) {
        (Some(SmolStr::new(text)), None)
    }

    fn with_text(&self, write: impl FnOnce(&str, JsonValueForm)) {
        write(self, JsonValueForm::Quoted);
    }

    fn sample(name: &'static str) -> &'static str {
        name
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng) -> SmolStr {
        const TEXTS: [&str; 7] = [
            "a",
            "NSR:Quay:7",
            "Zürich, Bahnhof",
            "\"<A & B>' ]]> \\",
            "x\n\ty",
            "1/2 #3",
            "\u{1F68B}",
        ];
        SmolStr::new(TEXTS[rng.usize(..TEXTS.len())])
    }
}

impl TextValue for SiriTime {
    #[inline]
    fn parse(text: &str, zone: &TimeZone) -> (Option<SiriTime>, Option<&'static ValueFault>) {
        match SiriTime::parse_lenient(text) {
            ParsedTime::Exact(time) => (Some(time), None),
            ParsedTime::Local(time) => match time.reinterpret_as_local_time(zone) {
                Some(time) => (Some(time), Some(&NO_ZONE)),
                None => (None, Some(&NOT_A_TIME)),
            },
            ParsedTime::Invalid => (None, Some(&NOT_A_TIME)),
        }
    }

    fn with_text(&self, write: impl FnOnce(&str, JsonValueForm)) {
        write(&self.to_string(), JsonValueForm::Moment);
    }

    fn sample(_: &'static str) -> &'static str {
        "2026-11-21T12:20:00Z"
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng) -> SiriTime {
        SiriTime::from_millis(rng.i64(0..4_102_444_800_000)).expect("a time of this century")
    }
}

impl TextValue for DurationSeconds {
    fn parse(text: &str, _: &TimeZone) -> (Option<DurationSeconds>, Option<&'static ValueFault>) {
        value_or_fault(DurationSeconds::parse(text), &NOT_A_SPAN)
    }

    fn with_text(&self, write: impl FnOnce(&str, JsonValueForm)) {
        write(&self.to_string(), JsonValueForm::Quoted);
    }

    fn sample(_: &'static str) -> &'static str {
        "PT3M"
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng) -> DurationSeconds {
        DurationSeconds(rng.i32(..))
    }
}

impl TextValue for bool {
    #[inline]
    fn parse(text: &str, _: &TimeZone) -> (Option<bool>, Option<&'static ValueFault>) {
        let value = match text {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ if text.eq_ignore_ascii_case("true") => Some(true),
            _ if text.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        };
        value_or_fault(value, &NOT_A_BOOLEAN)
    }

    fn with_text(&self, write: impl FnOnce(&str, JsonValueForm)) {
        write(if *self { "true" } else { "false" }, JsonValueForm::Bare);
    }

    fn sample(_: &'static str) -> &'static str {
        "true"
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng) -> bool {
        rng.bool()
    }
}

impl TextValue for u32 {
    #[inline]
    fn parse(text: &str, _: &TimeZone) -> (Option<u32>, Option<&'static ValueFault>) {
        value_or_fault(text.parse().ok(), &NOT_AN_INTEGER)
    }

    fn with_text(&self, write: impl FnOnce(&str, JsonValueForm)) {
        write(&self.to_string(), JsonValueForm::Bare);
    }

    fn sample(_: &'static str) -> &'static str {
        "2"
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng) -> u32 {
        rng.u32(..)
    }
}

impl TextValue for f64 {
    #[inline]
    fn parse(text: &str, _: &TimeZone) -> (Option<f64>, Option<&'static ValueFault>) {
        // `parse` also accepts `inf` and `nan`.
        value_or_fault(text.parse().ok().filter(|number: &f64| number.is_finite()), &NOT_A_NUMBER)
    }

    fn with_text(&self, write: impl FnOnce(&str, JsonValueForm)) {
        if self.is_finite() {
            write(&self.to_string(), JsonValueForm::Bare);
        }
    }

    fn sample(_: &'static str) -> &'static str {
        "1.5"
    }

    #[cfg(test)]
    fn random(rng: &mut fastrand::Rng) -> f64 {
        f64::from(rng.i32(..)) / 1e7
    }
}

/// A text with its stated language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LanguageText {
    /// The language of `xml:lang`; some producers write country codes.
    pub lang: Option<SmolStr>,
    /// The text.
    pub value: SmolStr,
}

/// Declares enumerations of SIRI with their terms in messages.
macro_rules! terms {
    ($($(#[$about:meta])* pub enum $Name:ident { $($(#[$meaning:meta])* $Term:ident = $text:literal,)+ })+) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $Name { $($(#[$meaning])* $Term,)+ }

        impl $Name {
            /// All terms.
            pub const ALL: &[$Name] = &[$($Name::$Term,)+];

            /// Returns the term as written in messages.
            pub fn as_str(self) -> &'static str {
                match self { $($Name::$Term => $text,)+ }
            }

            /// Parses a term, ignoring case, underscores and hyphens.
            pub fn parse(text: &str) -> Option<$Name> {
                match text {
                    $($text => Some($Name::$Term),)+
                    _ => $Name::ALL.iter().copied().find(|term| is_same_term(text, term.as_str())),
                }
            }
        }

        impl TextValue for $Name {
            fn parse(text: &str, _: &TimeZone) -> (Option<$Name>, Option<&'static ValueFault>) {
                value_or_fault($Name::parse(text), &NOT_IN_LIST)
            }

            fn with_text(&self, write: impl FnOnce(&str, JsonValueForm)) {
                write(self.as_str(), JsonValueForm::Quoted);
            }

            fn sample(_: &'static str) -> &'static str {
                // The last term is never the default.
                $Name::ALL.last().map_or("", |term| term.as_str())
            }

            #[cfg(test)]
            fn random(rng: &mut fastrand::Rng) -> $Name {
                $Name::ALL[rng.usize(..$Name::ALL.len())]
            }
        }
    )+ };
}

/// Returns true if two spellings are of one term: `ON_TIME` and `onTime`.
fn is_same_term(text: &str, term: &str) -> bool {
    let letters = |text: &'_ str| {
        let letters: Vec<u8> = text.bytes().filter(|&byte| byte != b'_' && byte != b'-').collect();
        letters
    };
    text.len() <= 2 * term.len() && letters(text).eq_ignore_ascii_case(term.as_bytes())
}

terms! {
    /// The status of a call (`CallStatusEnumeration`).
    pub enum CallStatus {
        /// On time.
        OnTime = "onTime",
        /// Ahead of schedule.
        Early = "early",
        /// Behind schedule.
        Delayed = "delayed",
        /// The call is cancelled.
        Cancelled = "cancelled",
        /// The vehicle is at the stop.
        Arrived = "arrived",
        /// The vehicle has left.
        Departed = "departed",
        /// The vehicle did not stop.
        Missed = "missed",
        /// The vehicle does not report.
        NoReport = "noReport",
        /// The call is not expected.
        NotExpected = "notExpected",
    }

    /// The occupancy of a vehicle (`OccupancyEnumeration`, and the additions of 2.1).
    pub enum Occupancy {
        /// The occupancy is unknown.
        Unknown = "unknown",
        /// The occupancy is undefined.
        Undefined = "undefined",
        /// The vehicle is empty.
        Empty = "empty",
        /// Many seats are free.
        ManySeatsAvailable = "manySeatsAvailable",
        /// Seats are free; the older, coarser term.
        SeatsAvailable = "seatsAvailable",
        /// Few seats are free.
        FewSeatsAvailable = "fewSeatsAvailable",
        /// There is standing room; the older term.
        StandingAvailable = "standingAvailable",
        /// There is only standing room.
        StandingRoomOnly = "standingRoomOnly",
        /// There is hardly any standing room.
        CrushedStandingRoomOnly = "crushedStandingRoomOnly",
        /// There is no room.
        Full = "full",
        /// No more passengers may board.
        NotAcceptingPassengers = "notAcceptingPassengers",
    }

    /// Alighting at an arrival.
    pub enum ArrivalBoardingActivity {
        /// Passengers can alight.
        Alighting = "alighting",
        /// Passengers cannot alight.
        NoAlighting = "noAlighting",
        /// The vehicle passes.
        PassThru = "passThru",
    }

    /// Boarding at a departure.
    pub enum DepartureBoardingActivity {
        /// Passengers can board.
        Boarding = "boarding",
        /// Passengers cannot board.
        NoBoarding = "noBoarding",
        /// The vehicle passes.
        PassThru = "passThru",
    }

    /// The severity of a situation or consequence (`SeverityEnumeration`).
    pub enum Severity {
        /// The severity is unknown.
        Unknown = "unknown",
        /// The severity is undefined.
        Undefined = "undefined",
        /// No passengers are affected.
        NoImpact = "noImpact",
        /// Hardly any passengers are affected.
        VerySlight = "verySlight",
        /// Slight impact.
        Slight = "slight",
        /// Normal impact of a disruption.
        Normal = "normal",
        /// Severe impact.
        Severe = "severe",
        /// Very severe impact.
        VerySevere = "verySevere",
    }

    /// The workflow status of a situation (`WorkflowStatusEnumeration`).
    pub enum SituationProgress {
        /// The situation is a draft.
        Draft = "draft",
        /// The situation waits for approval.
        PendingApproval = "pendingApproval",
        /// The situation is approved and not yet open.
        ApprovedDraft = "approvedDraft",
        /// The situation is open.
        Open = "open",
        /// The situation is published.
        Published = "published",
        /// The situation is about to end.
        Closing = "closing",
        /// The situation has ended.
        Closed = "closed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_recognized_in_the_spellings_of_other_libraries() {
        for &status in CallStatus::ALL {
            assert_eq!(CallStatus::parse(status.as_str()), Some(status));
        }
        assert_eq!(CallStatus::parse("ON_TIME"), Some(CallStatus::OnTime));
        assert_eq!(Occupancy::parse("standing-room-only"), Some(Occupancy::StandingRoomOnly));
        assert_eq!(Severity::parse("VerySevere"), Some(Severity::VerySevere));
        assert_eq!(Severity::parse("awful"), None);
        assert_eq!(SituationProgress::parse(""), None);
    }
}
