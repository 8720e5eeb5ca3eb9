//! `[validation]`: resource limits of validating new data.

use std::ops::RangeInclusive;
use std::time::Duration;

use lineside_validate::gtfs::has_numbering_plan;
use serde::Deserialize;
use toml::Spanned;

use super::config_checker::{ConfigChecker, expected_message};
use super::value::{CountText, DurationText, SizeText};

const CONCURRENCY: RangeInclusive<u64> = 0..=64;
const QUEUE: RangeInclusive<u64> = 1..=100_000;
const TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(86_400);
const MESSAGE_TIME: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(10);
const MEMORY: RangeInclusive<u64> = (1 << 10)..=(1 << 40);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ValidationTable {
    concurrency: Option<Spanned<CountText>>,
    queue: Option<Spanned<CountText>>,
    timeout: Option<Spanned<DurationText>>,
    memory: Option<Spanned<SizeText>>,
    message_time: Option<Spanned<DurationText>>,
    country: Option<Spanned<String>>,
}

/// `[validation]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationConfig {
    /// Number of schedules that are validated at a time, each by one thread; 0 disables validation.
    pub concurrency: usize,
    /// Maximum number of feeds whose schedules wait for validation.
    pub queue: usize,
    /// Time limit of one validation.
    pub timeout: Duration,
    /// Memory limit of one validation, compared with an estimate before it begins.
    pub memory: u64,
    /// Time limit for validating a real-time message; zero disables that.
    pub message_time: Duration,
    /// The country of telephone numbers (ISO 3166, capitals).
    pub country: Option<[u8; 2]>,
}

impl Default for ValidationConfig {
    fn default() -> Self {
        Self {
            concurrency: 1,
            queue: 1_000,
            timeout: Duration::from_secs(10 * 60),
            memory: 2 << 30,
            message_time: Duration::from_millis(250),
            country: None,
        }
    }
}

impl ConfigChecker<'_> {
    pub(super) fn check_validation(&mut self, table: ValidationTable) -> ValidationConfig {
        let defaults = ValidationConfig::default();
        let concurrency =
            self.check_count("validation.concurrency", &table.concurrency, CONCURRENCY);
        let queue = self.check_count("validation.queue", &table.queue, QUEUE);
        let timeout = self.check_duration("validation.timeout", table.timeout, TIMEOUT);
        let memory = self.check_size("validation.memory", &table.memory, MEMORY);
        let message_time =
            self.check_duration("validation.message_time", table.message_time, MESSAGE_TIME);
        ValidationConfig {
            concurrency: concurrency.unwrap_or(defaults.concurrency),
            queue: queue.unwrap_or(defaults.queue),
            timeout: timeout.unwrap_or(defaults.timeout),
            memory: memory.unwrap_or(defaults.memory),
            message_time: message_time.unwrap_or(defaults.message_time),
            country: table.country.and_then(|text| self.check_country_code(&text)),
        }
    }

    fn check_country_code(&mut self, text: &Spanned<String>) -> Option<[u8; 2]> {
        let letters = text.get_ref().as_bytes().try_into().ok();
        let country = letters.filter(|code: &[u8; 2]| has_numbering_plan(*code));
        if country.is_none() {
            let reason = expected_message(
                "an ISO 3166 country with a telephone numbering plan, in capitals, such as \"NO\" or \"GB\"",
                text.get_ref(),
            );
            self.add_error(text, "validation.country", reason);
        }
        country
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Config;

    #[test]
    fn every_key_is_read_or_refused_by_name() {
        let text = "[validation]\nconcurrency = 2\nqueue = 9\ntimeout = \"5s\"\nmemory = \"1MiB\"\nmessage_time = \"50ms\"\ncountry = \"NO\"\n";
        let config = Config::parse(Path::new("lineside.toml"), text).unwrap();
        let expected = ValidationConfig {
            concurrency: 2,
            queue: 9,
            timeout: Duration::from_secs(5),
            memory: 1 << 20,
            message_time: Duration::from_millis(50),
            country: Some(*b"NO"),
        };
        assert_eq!(config.validation, expected);
        let bad = "[validation]\nconcurrency = 65\ntimeout = \"0s\"\ncountry = \"Norway\"\n";
        let refused = Config::parse(Path::new("lineside.toml"), bad).unwrap_err().to_string();
        for key in ["validation.concurrency", "validation.timeout", "validation.country"] {
            assert!(refused.contains(key), "{refused}");
        }
        let uk = Config::parse(Path::new("lineside.toml"), "[validation]\ncountry = \"UK\"\n");
        assert!(uk.unwrap_err().to_string().contains("such as \"NO\" or \"GB\""));
    }
}
