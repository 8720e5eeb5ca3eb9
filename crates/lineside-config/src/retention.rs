//! `[retention]`: retention times and limits of stored data.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::RetentionConfig;
use super::config_checker::ConfigChecker;
use super::config_file::RetentionTable;

const DAY: Duration = Duration::from_secs(86_400);
const AVAILABILITY: RangeInclusive<Duration> = DAY..=Duration::from_secs(366 * 86_400);
const VERSIONS: RangeInclusive<u64> = 1..=10_000;
const REPORTS: RangeInclusive<u64> = 1..=10_000;
const VERSIONS_AGE: RangeInclusive<Duration> = DAY..=Duration::from_secs(10 * 366 * 86_400);

impl ConfigChecker<'_> {
    pub(super) fn check_retention(
        &mut self,
        table: RetentionTable,
        defaults: RetentionConfig,
    ) -> RetentionConfig {
        let availability =
            self.check_duration("retention.availability", table.availability, AVAILABILITY);
        let versions = self.check_count("retention.versions", &table.versions, VERSIONS);
        let versions_age =
            self.check_duration("retention.versions_age", table.versions_age, VERSIONS_AGE);
        let reports = self.check_count("retention.reports", &table.reports, REPORTS);
        RetentionConfig {
            availability: availability.unwrap_or(defaults.availability),
            versions: versions.unwrap_or(defaults.versions),
            versions_age: versions_age.unwrap_or(defaults.versions_age),
            reports: reports.unwrap_or(defaults.reports),
        }
    }
}
