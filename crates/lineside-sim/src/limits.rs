//! Every bound of this crate in one place.

use std::ops::RangeInclusive;

/// Vehicles in the rush hour; more or fewer are taken as the nearest.
pub const VEHICLES: RangeInclusive<usize> = 20..=50_000;
/// Stop times of a generated city; more or fewer are taken as the nearest.
pub const STOP_TIMES: RangeInclusive<usize> = 20_000..=20_000_000;
/// Scripted faults; further ones are refused.
pub const FAULTS_MAX: usize = 256;
/// The longest time in a fault's script.
pub const FAULT_TIME_MAX: std::time::Duration = std::time::Duration::from_hours(24 * 366);
/// Bus routes that a large fleet adds to those of the plan.
pub(crate) const MORE_BUSES_MAX: usize = 600;
/// Subscriptions to the city's SIRI; further ones are refused.
pub const SUBSCRIPTIONS_MAX: usize = 64;
/// Records of one delivery; what is more comes with the next one.
pub(crate) const DELIVERY_RECORDS_MAX: usize = 2_000;
/// A consumer that takes nothing so often in a row is let go.
pub(crate) const DELIVERY_TRIES_MAX: u32 = 3;
