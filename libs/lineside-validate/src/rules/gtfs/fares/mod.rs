//! Rules about fares: products, media, rules for legs and transfers, and timeframes.

mod duplicate_fare_media;
mod fare_leg_join_rules;
mod fare_media_name;
mod fare_product_with_multiple_default_rider_categories;
mod fare_transfer_rules;
mod timeframe_overlap;
mod timeframe_times;

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[
    &fare_transfer_rules::RULE,
    &fare_leg_join_rules::RULE,
    &fare_product_with_multiple_default_rider_categories::RULE,
    &duplicate_fare_media::RULE,
    &fare_media_name::RULE,
    &timeframe_overlap::RULE,
    &timeframe_times::RULE,
];
