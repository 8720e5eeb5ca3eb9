//! `[uploads]`: limits of the files that visitors have validated at `/validate`.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::config_checker::ConfigChecker;
use super::value::{DurationText, SizeText};

const MAX_BYTES: RangeInclusive<u64> = 1024..=(2 << 30);
const TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(60 * 60);
/// With less memory not even the program starts.
const MEMORY: RangeInclusive<u64> = (256 << 20)..=(1 << 40);
const RETENTION: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(31 * 24 * 60 * 60);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct UploadsTable {
    enabled: Option<bool>,
    max_bytes: Option<Spanned<SizeText>>,
    timeout: Option<Spanned<DurationText>>,
    memory: Option<Spanned<SizeText>>,
    retention: Option<Spanned<DurationText>>,
}

/// `[uploads]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadsConfig {
    /// True if visitors may upload files.
    pub enabled: bool,
    /// Maximum size of a file, in bytes.
    pub max_bytes: u64,
    /// Time limit of a validation.
    pub timeout: Duration,
    /// Address space of the process that validates a file, in bytes.
    pub memory: u64,
    /// Lifetime of a report.
    pub retention: Duration,
}

impl Default for UploadsConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            max_bytes: 100 << 20,
            timeout: Duration::from_secs(120),
            memory: 4 << 30,
            retention: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl ConfigChecker<'_> {
    pub(super) fn check_uploads(&mut self, table: UploadsTable) -> UploadsConfig {
        let defaults = UploadsConfig::default();
        let max_bytes = self.check_size("uploads.max_bytes", &table.max_bytes, MAX_BYTES);
        let timeout = self.check_duration("uploads.timeout", table.timeout, TIMEOUT);
        let memory = self.check_size("uploads.memory", &table.memory, MEMORY);
        let retention = self.check_duration("uploads.retention", table.retention, RETENTION);
        UploadsConfig {
            enabled: table.enabled.unwrap_or(defaults.enabled),
            max_bytes: max_bytes.unwrap_or(defaults.max_bytes),
            timeout: timeout.unwrap_or(defaults.timeout),
            memory: memory.unwrap_or(defaults.memory),
            retention: retention.unwrap_or(defaults.retention),
        }
    }
}
