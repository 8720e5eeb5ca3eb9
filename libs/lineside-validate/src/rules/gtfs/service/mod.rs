//! Rules about calendars, trips, stop times, blocks and frequencies.

mod along_trip;
mod block_trips_with_overlapping_stop_times;
mod expired_calendar;
mod feed_expiration;
mod forbidden_shape_dist_traveled;
mod future_feed;
mod inconsistent_route_type_for_block_id;
mod missing_bike_allowance;
mod missing_stop_times_record;
mod overlapping_frequency;
mod service_has_no_active_day_of_the_week;
mod service_spread;
mod service_window;
mod timepoint;
mod trip_coverage_not_active_for_next7_days;
mod trip_headsign_matches_intermediate_stop;
mod trip_use;

use super::GtfsRule;

/// The slowest rule of this family that needs no join.
pub(super) static LONG_RULES: &[&GtfsRule] = &[&timepoint::RULE];

/// The other rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[
    &along_trip::RULE,
    &trip_headsign_matches_intermediate_stop::RULE,
    &forbidden_shape_dist_traveled::RULE,
    &missing_stop_times_record::RULE,
    &block_trips_with_overlapping_stop_times::RULE,
    &trip_use::RULE,
    &trip_coverage_not_active_for_next7_days::RULE,
    &service_spread::RULE,
    &service_window::RULE,
    &expired_calendar::RULE,
    &service_has_no_active_day_of_the_week::RULE,
    &feed_expiration::RULE,
    &future_feed::RULE,
    &overlapping_frequency::RULE,
    &inconsistent_route_type_for_block_id::RULE,
    &missing_bike_allowance::RULE,
];
