//! Request rates such as `4/min` and `1/10min`.

use std::{fmt, time::Duration};

use crate::limits::RATE_COUNT_MAX;

/// A maximum number of requests in any period of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestRate {
    count: u32,
    /// The length of the period in units.
    units: u32,
    unit: &'static RateUnit,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RateUnit {
    name: &'static str,
    seconds: u32,
}

const UNITS: [RateUnit; 4] = [
    RateUnit { name: "s", seconds: 1 },
    RateUnit { name: "min", seconds: 60 },
    RateUnit { name: "h", seconds: 3_600 },
    RateUnit { name: "day", seconds: 86_400 },
];

/// An invalid rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a rate: 1 to {RATE_COUNT_MAX} requests per s, min, h or day, or per several of them, \
     such as \"4/min\" or \"1/10min\""
)]
pub struct InvalidRate;

impl RequestRate {
    /// Parses `4/min`, `1/s`, `100/h`, `2000/day` or `1/10min`.
    ///
    /// # Errors
    /// Returns an error if the text is not a rate.
    pub fn parse(text: &str) -> Result<RequestRate, InvalidRate> {
        let (count, time) = text.split_once('/').ok_or(InvalidRate)?;
        let time = time.trim();
        let name = time.trim_start_matches(|it: char| it.is_ascii_digit());
        let units = match time.strip_suffix(name) {
            Some("") | None => 1,
            Some(units) => parse_count(units)?,
        };
        let unit = UNITS.iter().find(|known| known.name == name.trim_start()).ok_or(InvalidRate)?;
        Ok(RequestRate { count: parse_count(count.trim())?, units, unit })
    }

    /// Returns the maximum number of requests.
    pub fn max_requests(self) -> usize {
        self.count as usize
    }

    /// Returns the length of the period.
    pub fn period(self) -> Duration {
        Duration::from_secs(u64::from(self.units) * u64::from(self.unit.seconds))
    }

    /// Returns true if every sequence of requests within this rate is within `other` too.
    pub fn is_at_least_as_strict(self, other: RequestRate) -> bool {
        self.count <= other.count && self.period() >= other.period()
    }
}

/// Parses a whole number from 1 to [`RATE_COUNT_MAX`] without a sign.
fn parse_count(text: &str) -> Result<u32, InvalidRate> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(InvalidRate);
    }
    let number = text.parse().ok().filter(|number| (1..=RATE_COUNT_MAX).contains(number));
    number.ok_or(InvalidRate)
}

impl fmt::Display for RequestRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.units {
            1 => write!(f, "{}/{}", self.count, self.unit.name),
            units => write!(f, "{}/{units}{}", self.count, self.unit.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_round_trips_through_its_text() {
        for text in ["4/min", "1/s", "100/h", "1000/day", "1/10min", "3/2h"] {
            assert_eq!(RequestRate::parse(text).unwrap().to_string(), text);
        }
        let rate = RequestRate::parse(" 4 / min ").unwrap();
        assert_eq!((rate.max_requests(), rate.period()), (4, Duration::from_secs(60)));
        let rate = RequestRate::parse(" 1 / 10 min ").unwrap();
        assert_eq!((rate.max_requests(), rate.period()), (1, Duration::from_secs(600)));
    }

    #[test]
    fn an_invalid_rate_is_rejected() {
        for text in ["", "4", "4/", "/min", "0/min", "-1/s", "+1/s", "1.5/s", "4/week", "1001/s"]
            .into_iter()
            .chain(["1/0min", "1/1001min", "1/-1min", "1/1.5min", "1/10", "1/min10"])
        {
            assert_eq!(RequestRate::parse(text), Err(InvalidRate), "{text}");
        }
    }

    #[test]
    fn a_rate_is_stricter_if_it_allows_less_in_more_time() {
        let implies = |a: &str, b: &str| {
            RequestRate::parse(a).unwrap().is_at_least_as_strict(RequestRate::parse(b).unwrap())
        };
        assert!(implies("4/min", "5/min") && implies("4/h", "4/min") && implies("1/s", "1/s"));
        assert!(
            implies("1/10min", "1/min") && !implies("6/h", "1/10min"),
            "1/10min allows no bursts"
        );
        // Neither implies the other: one forbids bursts, the other limits the sum.
        assert!(!implies("1/s", "30/min") && !implies("30/min", "1/s"));
    }
}
