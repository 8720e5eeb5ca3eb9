//! Rules about demand-responsive services: zones, windows and booking.

mod booking;
mod missing_pickup_drop_off_booking_rule_id;
mod places;
mod windows;
mod zones;

pub(super) use self::zones::CODES_OF_ZONES;
use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[
    &zones::OVERLAPS,
    &places::RULE,
    &windows::RULE,
    &windows::CONTINUOUS,
    &missing_pickup_drop_off_booking_rule_id::RULE,
    &zones::IDS,
    &zones::REFERENCES,
    &booking::RULE,
];
