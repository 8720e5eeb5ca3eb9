//! Rules that follow from the field tables: keys, references, ranges, names and required files. The
//! folder also has the pages of the notices that the reader reports.

mod duplicate_key;
mod foreign_key_violation;
mod invalid_currency_amount;
mod missing_files;
mod mixed_case_recommended_field;
mod more_than_one_entity;
mod point_near;
mod start_and_end_range;

use super::GtfsRule;
pub(super) use foreign_key_violation::KIND as FOREIGN_KEY_VIOLATION;

/// The slowest rule of this family.
pub(super) static LONG_RULES: &[&GtfsRule] = &[&duplicate_key::RULE];

/// The other rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[
    &foreign_key_violation::RULE,
    &point_near::RULE,
    &start_and_end_range::RULE,
    &mixed_case_recommended_field::RULE,
    &invalid_currency_amount::RULE,
    &missing_files::CALENDARS,
    &missing_files::FEED_INFO,
    &missing_files::SHAPES,
    &missing_files::STOPS,
    &more_than_one_entity::RULE,
];
