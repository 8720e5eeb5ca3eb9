//! The settings file of `--config`, for arguments that a producer's build repeats each time.

use std::fs;
use std::path::Path;

use clap::ValueEnum as _;
use jiff::civil::Date;
use lineside_quality::check::ensure_known_codes;
use toml::value::Datetime;
use toml::{Table, Value};

use super::{FailSeverity, parse_country};
use crate::cli::CommandFailure;

/// The settings that the file may contain.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CheckSettings {
    pub(super) fail_on: Option<FailSeverity>,
    pub(super) ignore: Vec<String>,
    pub(super) country: Option<[u8; 2]>,
    pub(super) date: Option<Date>,
}

impl CheckSettings {
    /// Reads a settings file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or a setting is invalid. The message names the file, the key and a
    /// valid value.
    pub(super) fn from_file(file: &Path) -> Result<CheckSettings, CommandFailure> {
        let usage = |reason: String| CommandFailure::Usage(format!("{}: {reason}", file.display()));
        let text = fs::read_to_string(file).map_err(|error| usage(error.to_string()))?;
        CheckSettings::parse_toml(&text).map_err(usage)
    }

    fn parse_toml(text: &str) -> Result<CheckSettings, String> {
        let table: Table = text.parse().map_err(|error| format_toml_error(text, &error))?;
        let mut settings = CheckSettings::default();
        for (key, value) in &table {
            let refused = |reason: String| format!("{key}: {reason}");
            match key.as_str() {
                "fail_on" => settings.fail_on = Some(parse_fail_on(value).map_err(refused)?),
                "ignore" => settings.ignore = parse_ignored(value).map_err(refused)?,
                "country" => settings.country = Some(parse_country_value(value).map_err(refused)?),
                "date" => settings.date = Some(parse_toml_date(value).map_err(refused)?),
                _ => {
                    let known = "expected fail_on, ignore, country or date";
                    return Err(refused(format!("unknown setting; {known}")));
                }
            }
        }
        Ok(settings)
    }
}

/// Formats a TOML error in one line, as all messages are.
fn format_toml_error(text: &str, fault: &toml::de::Error) -> String {
    let before = fault.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
    let error_text: Vec<&str> = fault.message().lines().map(str::trim).collect();
    format!("line {line}: {}", error_text.join("; "))
}

fn parse_fail_on(value: &Value) -> Result<FailSeverity, String> {
    let named = value.as_str().and_then(|name| FailSeverity::from_str(name, false).ok());
    named.ok_or_else(|| {
        format!(
            "expected \"error\", \"warning\", \"info\" or \"never\", not {value}; write fail_on = \"warning\""
        )
    })
}

fn parse_ignored(value: &Value) -> Result<Vec<String>, String> {
    let codes = value.as_array().and_then(|list| {
        list.iter().map(|code| code.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    let codes = codes.ok_or("expected a list of codes; write ignore = [\"unknown_file\"]")?;
    ensure_known_codes(&codes)?;
    Ok(codes)
}

fn parse_country_value(value: &Value) -> Result<[u8; 2], String> {
    let letters = value.as_str().map(parse_country);
    let code = letters.unwrap_or_else(|| Err(format!("{value} is not a country")));
    code.map_err(|reason| format!("{reason}; write country = \"NO\""))
}

/// Parses a day from a TOML date or a string.
fn parse_toml_date(value: &Value) -> Result<Date, String> {
    let date = match value {
        Value::Datetime(Datetime { date: Some(date), time: None, offset: None }) => {
            Some(date.to_string())
        }
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let date = date.and_then(|text| text.parse().ok());
    date.ok_or_else(|| format!("{value} is not a date; write date = 2026-06-15"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_may_be_a_toml_date_or_a_string() {
        for text in ["date = 2026-06-15", "date = \"2026-06-15\""] {
            let settings = CheckSettings::parse_toml(text).unwrap();
            assert_eq!(settings.date, Some(jiff::civil::date(2026, 6, 15)), "{text}");
        }
    }

    #[test]
    fn every_setting_is_read() {
        let text = "fail_on = \"warning\"\nignore = [\"unknown_file\"]\ncountry = \"no\"\n";
        let expected = CheckSettings {
            fail_on: Some(FailSeverity::Warning),
            ignore: vec!["unknown_file".to_owned()],
            country: Some(*b"NO"),
            date: None,
        };
        assert_eq!(CheckSettings::parse_toml(text), Ok(expected));
        assert_eq!(CheckSettings::parse_toml(""), Ok(CheckSettings::default()));
    }

    #[test]
    fn an_error_names_the_key_and_the_expected_value() {
        for (text, words) in [
            (
                "date = 2026-06-15T08:00:00Z",
                "date: 2026-06-15T08:00:00Z is not a date; write date = 2026-06-15",
            ),
            ("date = \"today\"", "date: \"today\" is not a date"),
            ("date = 20260615", "date: 20260615 is not a date"),
            ("country = \"Norway\"", "country: expected a country as two letters of ISO 3166"),
            ("country = 47", "country: 47 is not a country; write country = \"NO\""),
            (
                "ignore = \"unknown_file\"",
                "ignore: expected a list of codes; write ignore = [\"unknown_file\"]",
            ),
            ("ignore = [\"unkown_file\"]", "ignore: unknown code \"unkown_file\"; did you mean"),
            ("fail_on = \"errors\"", "not \"errors\"; write fail_on"),
            ("failon = 1", "failon: unknown setting; expected fail_on,"),
            ("date = ", "line 1"),
        ] {
            let error = CheckSettings::parse_toml(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
