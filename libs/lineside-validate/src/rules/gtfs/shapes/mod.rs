//! Rules about the lines on the map, and how fast vehicles would have to be.

mod assign;
mod fast_travel;
mod line;
mod shape_distance_not_increasing;
mod single_shape_point;
mod stops_and_shape;
mod trip_distance_exceeds_shape_distance;
mod trip_with_shape_dist_traveled_but_no_shape_distances;
mod unused_shape;

use super::GtfsRule;

/// The rules of this family. The one that takes longest stands first.
pub(super) static RULES: &[&GtfsRule] = &[
    &stops_and_shape::RULE,
    &fast_travel::RULE,
    &shape_distance_not_increasing::RULE,
    &trip_distance_exceeds_shape_distance::RULE,
    &trip_with_shape_dist_traveled_but_no_shape_distances::RULE,
    &single_shape_point::RULE,
    &unused_shape::RULE,
];
