//! `[keep]`: for how long what is remembered stays.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Keep;
use super::file::KeepTable;
use super::resolve::Checker;

const DAY: Duration = Duration::from_secs(86_400);
const AVAILABILITY: RangeInclusive<Duration> = DAY..=Duration::from_secs(366 * 86_400);
const VERSIONS: RangeInclusive<u64> = 1..=10_000;
const REPORTS: RangeInclusive<u64> = 1..=10_000;
const VERSIONS_AGE: RangeInclusive<Duration> = DAY..=Duration::from_secs(10 * 366 * 86_400);

impl Checker<'_> {
    pub(super) fn keep(&mut self, table: KeepTable, defaults: Keep) -> Keep {
        let availability = self.duration("keep.availability", table.availability, AVAILABILITY);
        let versions = self.count("keep.versions", &table.versions, VERSIONS);
        let versions_age = self.duration("keep.versions_age", table.versions_age, VERSIONS_AGE);
        let reports = self.count("keep.reports", &table.reports, REPORTS);
        Keep {
            availability: availability.unwrap_or(defaults.availability),
            versions: versions.unwrap_or(defaults.versions),
            versions_age: versions_age.unwrap_or(defaults.versions_age),
            reports: reports.unwrap_or(defaults.reports),
        }
    }
}
