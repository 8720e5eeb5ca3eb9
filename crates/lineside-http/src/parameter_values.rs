//! The values that a page's query parameter may have.

use std::borrow::Cow;

use super::errors::Refusal;
use super::parameters::bad_parameter_refusal;

/// Longest value that a refusal repeats, in characters.
const VALUE_CHARS_MAX: usize = 100;

/// The values of one query parameter of a page. An empty value is always allowed, because forms send it.
#[derive(Debug)]
pub struct PageParameterValues {
    /// The page's path template, such as `/stops/{feed}/{stop_id}`.
    pub template: &'static str,
    pub name: &'static str,
    pub values: ParameterValues,
}

/// The known values of a parameter.
#[derive(Debug)]
pub enum ParameterValues {
    OneOf(Vec<Cow<'static, str>>),
    /// A whole number from the first to the second.
    Number(usize, usize),
    Parsed {
        is_valid: fn(&str) -> bool,
        /// What the value must be, such as "a date, YYYY-MM-DD".
        expected: &'static str,
    },
}

impl PageParameterValues {
    /// Checks a value.
    ///
    /// # Errors
    /// Returns [`Refusal::BadParameter`] with the value and the known values.
    pub(crate) fn check_value(&self, value: &str) -> Result<(), Refusal> {
        let value = value.trim();
        if value.is_empty() || self.values.contains(value) {
            return Ok(());
        }
        let shown: String = value.chars().take(VALUE_CHARS_MAX).collect();
        Err(bad_parameter_refusal(
            self.name,
            format!("\"{shown}\" is not {}", self.values.describe_accepted_values()),
        ))
    }
}

impl ParameterValues {
    fn contains(&self, value: &str) -> bool {
        match self {
            Self::OneOf(words) => words.iter().any(|word| word == value),
            Self::Number(least, most) => {
                value.parse().is_ok_and(|number: usize| (*least..=*most).contains(&number))
            }
            Self::Parsed { is_valid, .. } => is_valid(value),
        }
    }

    fn describe_accepted_values(&self) -> String {
        match self {
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
            Self::Number(least, usize::MAX) => format!("a number from {least}"),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Parsed { expected, .. } => (*expected).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: ParameterValues, value: &str) -> Result<(), Refusal> {
        PageParameterValues { template: "/", name: "x", values }.check_value(value)
    }

    #[test]
    fn a_refusal_has_the_value_and_the_known_values() {
        let words = || ParameterValues::OneOf(vec!["ok".into(), "late".into()]);
        assert_eq!(check(words(), " late "), Ok(()));
        assert_eq!(check(words(), ""), Ok(()), "forms send empty values");
        let Err(refusal) = check(words(), "good") else { panic!("good is unknown") };
        let message = refusal.message();
        assert!(["good", "ok", "late"].iter().all(|part| message.contains(part)), "{message}");
        assert_eq!(check(ParameterValues::Number(1, 40), "40"), Ok(()));
        for wrong in ["0", "41", "-1", "1.5", "x"] {
            assert!(check(ParameterValues::Number(1, 40), wrong).is_err(), "{wrong}");
        }
    }
}
