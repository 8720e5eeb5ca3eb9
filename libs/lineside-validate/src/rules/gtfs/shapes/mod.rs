//! Rules about shapes, and about the speeds of vehicles.

mod assign;
mod fast_travel;
mod shape_line;
mod shape_distance_not_increasing;
mod single_shape_point;
mod stops_and_shape;
mod trip_distance_exceeds_shape_distance;
mod trip_with_shape_dist_traveled_but_no_shape_distances;
mod unused_shape;

use super::GtfsRule;

/// The slowest rules of this family.
pub(super) static LONG_RULES: &[&GtfsRule] =
    &[&stops_and_shape::RULE, &fast_travel::RULE, &trip_distance_exceeds_shape_distance::RULE];

/// The other rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[
    &shape_distance_not_increasing::RULE,
    &trip_with_shape_dist_traveled_but_no_shape_distances::RULE,
    &single_shape_point::RULE,
    &unused_shape::RULE,
];
