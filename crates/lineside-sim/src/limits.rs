//! The limits of this crate.

use std::ops::RangeInclusive;

/// The range of vehicles in the rush hour; other values are clamped.
pub const VEHICLES: RangeInclusive<usize> = 20..=50_000;
/// The range of stop times of a generated city; other values are clamped.
pub const STOP_TIMES: RangeInclusive<usize> = 20_000..=20_000_000;
/// The largest number of scripted faults; more are an error.
pub const FAULTS_MAX: usize = 256;
/// The longest time in a fault's script.
pub const FAULT_TIME_MAX: std::time::Duration = std::time::Duration::from_hours(24 * 366);
/// The largest number of bus routes that a large fleet adds to the plan.
pub(crate) const MORE_BUSES_MAX: usize = 600;
/// The largest number of subscriptions to the city's SIRI feeds; more are refused.
pub const SUBSCRIPTIONS_MAX: usize = 64;
/// The largest number of records in a delivery; the rest follows with the next one.
pub(crate) const DELIVERY_RECORDS_MAX: usize = 2_000;
/// The number of failed deliveries in a row after which a consumer's subscription ends.
pub(crate) const DELIVERY_TRIES_MAX: u32 = 3;
