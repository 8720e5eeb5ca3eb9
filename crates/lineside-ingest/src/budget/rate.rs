//! `4/min`: how many requests in how much time.

use std::{fmt, time::Duration};

use crate::limits::RATE_COUNT_MAX;

/// At most so many requests in any stretch of so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    count: u32,
    unit: &'static Unit,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Unit {
    name: &'static str,
    seconds: u64,
}

const UNITS: [Unit; 4] = [
    Unit { name: "s", seconds: 1 },
    Unit { name: "min", seconds: 60 },
    Unit { name: "h", seconds: 3_600 },
    Unit { name: "day", seconds: 86_400 },
];

/// A text that is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a rate: 1 to {RATE_COUNT_MAX} requests per s, min, h or day, such as \"4/min\"")]
pub struct BadRate;

impl Rate {
    /// Reads `4/min`, `1/s`, `100/h` or `2000/day`.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Rate, BadRate> {
        let (count, unit) = text.split_once('/').ok_or(BadRate)?;
        let unit = UNITS.iter().find(|known| known.name == unit.trim()).ok_or(BadRate)?;
        let count = count.trim();
        if !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadRate);
        }
        let count = count.parse().ok().filter(|count| (1..=RATE_COUNT_MAX).contains(count));
        Ok(Rate { count: count.ok_or(BadRate)?, unit })
    }

    /// How many requests.
    pub fn count(self) -> usize {
        self.count as usize
    }

    /// In any stretch of this time.
    pub fn per(self) -> Duration {
        Duration::from_secs(self.unit.seconds)
    }

    /// Whether whoever keeps to this one keeps to `other` too.
    pub(super) fn implies(self, other: Rate) -> bool {
        self.count <= other.count && self.per() >= other.per()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.unit.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_as_it_is_shown() {
        for text in ["4/min", "1/s", "100/h", "1000/day"] {
            assert_eq!(Rate::parse(text).unwrap().to_string(), text);
        }
        let rate = Rate::parse(" 4 / min ").unwrap();
        assert_eq!((rate.count(), rate.per()), (4, Duration::from_secs(60)));
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in ["", "4", "4/", "/min", "0/min", "-1/s", "+1/s", "1.5/s", "4/week", "1001/s"] {
            assert_eq!(Rate::parse(text), Err(BadRate), "{text}");
        }
    }

    #[test]
    fn a_rate_is_stricter_if_it_allows_less_in_more_time() {
        let implies = |a: &str, b: &str| Rate::parse(a).unwrap().implies(Rate::parse(b).unwrap());
        assert!(implies("4/min", "5/min") && implies("4/h", "4/min") && implies("1/s", "1/s"));
        // Neither says all of the other: one forbids bursts, the other the sum.
        assert!(!implies("1/s", "30/min") && !implies("30/min", "1/s"));
    }
}
