//! Rules about stops, stations, pathways and transfers.

mod bidirectional_exit_gate;
mod inconsistent_route_type_for_in_seat_transfer;
mod location_type;
mod locations;
mod missing_level_id;
mod pathway_graph;
mod parent_station;
mod pathway_dangling_generic_node;
mod pathway_endpoint;
mod pathway_loop;
mod pathway_to_stop_with_access_outside_of_station_pathways;
mod pathway_unreachable_location;
mod stop_access;
mod stop_name;
mod stop_times_at;
mod stop_url;
mod stop_without_location;
mod stop_without_zone_id;
mod transfer_distance;
mod transfer_ends;
mod transfer_in_seat;
mod transfer_stop_ids;
mod transfer_trip;
mod transfer_with_invalid_stop_location_type;

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[
    &transfer_trip::RULE,
    &transfer_in_seat::RULE,
    &stop_without_zone_id::RULE,
    &stop_times_at::RULE,
    &location_type::RULE,
    &parent_station::RULE,
    &stop_name::RULE,
    &stop_without_location::RULE,
    &stop_access::RULE,
    &stop_url::RULE,
    &missing_level_id::RULE,
    &bidirectional_exit_gate::RULE,
    &pathway_dangling_generic_node::RULE,
    &pathway_endpoint::RULE,
    &pathway_loop::RULE,
    &pathway_to_stop_with_access_outside_of_station_pathways::RULE,
    &pathway_unreachable_location::RULE,
    &inconsistent_route_type_for_in_seat_transfer::RULE,
    &transfer_distance::RULE,
    &transfer_stop_ids::RULE,
    &transfer_with_invalid_stop_location_type::RULE,
];
