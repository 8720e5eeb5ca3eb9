//! The tables that are read only for their counts and problems.

/// The names, in the order of the reference.
pub(super) const TABLES: [&str; 21] = [
    "fare_attributes.txt",
    "fare_rules.txt",
    "timeframes.txt",
    "rider_categories.txt",
    "fare_media.txt",
    "fare_products.txt",
    "fare_leg_rules.txt",
    "fare_leg_join_rules.txt",
    "fare_transfer_rules.txt",
    "areas.txt",
    "stop_areas.txt",
    "networks.txt",
    "route_networks.txt",
    "transfers.txt",
    "pathways.txt",
    "levels.txt",
    "location_groups.txt",
    "location_group_stops.txt",
    "booking_rules.txt",
    "translations.txt",
    "attributions.txt",
];
