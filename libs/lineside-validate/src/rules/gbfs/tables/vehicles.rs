//! The fields of vehicle files: vehicles, types, availability and geofencing zones.

use GbfsVersion::{V1_1, V2_0, V2_1, V2_2, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{
        AMOUNT, COUNT, GbfsFieldRule, GbfsFieldType, LAT, LON, PART, RecordIdKind, optional_field,
        required_field,
    },
    version::GbfsVersion,
};

const FORMS_BEFORE: GbfsFieldType =
    GbfsFieldType::Word(&["bicycle", "car", "moped", "other", "scooter"]);
const FORMS_BETWEEN: GbfsFieldType = GbfsFieldType::Word(&[
    "bicycle",
    "cargo_bicycle",
    "car",
    "moped",
    "scooter_standing",
    "scooter_seated",
    "other",
    "scooter",
]);
const FORMS: GbfsFieldType = GbfsFieldType::Word(&[
    "bicycle",
    "cargo_bicycle",
    "car",
    "moped",
    "scooter_standing",
    "scooter_seated",
    "other",
]);
const PROPULSION_BEFORE: GbfsFieldType =
    GbfsFieldType::Word(&["human", "electric_assist", "electric", "combustion"]);
const PROPULSION: GbfsFieldType = GbfsFieldType::Word(&[
    "human",
    "electric_assist",
    "electric",
    "combustion",
    "combustion_diesel",
    "hybrid",
    "plug_in_hybrid",
    "hydrogen_fuel_cell",
]);
const ACCESSORIES: GbfsFieldType = GbfsFieldType::Word(&[
    "air_conditioning",
    "automatic",
    "manual",
    "convertible",
    "cruise_control",
    "doors_2",
    "doors_3",
    "doors_4",
    "doors_5",
    "navigation",
]);
const RETURNS: GbfsFieldType =
    GbfsFieldType::Word(&["free_floating", "roundtrip_station", "any_station", "hybrid"]);
const EQUIPMENT: GbfsFieldType = GbfsFieldType::Word(&[
    "child_seat_a",
    "child_seat_b",
    "child_seat_c",
    "winter_tires",
    "snow_chains",
]);

pub(super) const TYPES: &[GbfsFieldRule] = &[
    required_field("vehicle_types", GbfsFieldType::List(0)),
    required_field("vehicle_types[]", GbfsFieldType::Object),
    required_field(
        "vehicle_types[].vehicle_type_id",
        GbfsFieldType::Key(RecordIdKind::VehicleType),
    ),
    required_field("vehicle_types[].form_factor", FORMS_BEFORE).until_version(V2_2),
    required_field("vehicle_types[].form_factor", FORMS_BETWEEN)
        .since_version(V2_3)
        .until_version(V2_3),
    required_field("vehicle_types[].form_factor", FORMS).since_version(V3_0),
    required_field("vehicle_types[].propulsion_type", PROPULSION_BEFORE).until_version(V2_2),
    required_field("vehicle_types[].propulsion_type", PROPULSION).since_version(V2_3),
    optional_field("vehicle_types[].max_range_meters", AMOUNT),
    optional_field("vehicle_types[].name", GbfsFieldType::Text).until_version(V2_3),
    optional_field("vehicle_types[].name", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].description", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].rider_capacity", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].cargo_volume_capacity", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].cargo_load_capacity", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].eco_label", GbfsFieldType::List(0))
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("vehicle_types[].eco_label[]", GbfsFieldType::Object)
        .since_version(V2_3)
        .until_version(V2_3),
    required_field("vehicle_types[].eco_label[].country_code", GbfsFieldType::Country)
        .since_version(V2_3)
        .until_version(V2_3),
    required_field("vehicle_types[].eco_label[].eco_sticker", GbfsFieldType::Text)
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("vehicle_types[].eco_labels", GbfsFieldType::List(0)).since_version(V3_0),
    optional_field("vehicle_types[].eco_labels[]", GbfsFieldType::Object).since_version(V3_0),
    required_field("vehicle_types[].eco_labels[].country_code", GbfsFieldType::Country)
        .since_version(V3_0),
    required_field("vehicle_types[].eco_labels[].eco_sticker", GbfsFieldType::Text)
        .since_version(V3_0),
    optional_field("vehicle_types[].vehicle_accessories", GbfsFieldType::List(0))
        .since_version(V2_3),
    optional_field("vehicle_types[].vehicle_accessories[]", ACCESSORIES).since_version(V2_3),
    optional_field("vehicle_types[].g_CO2_km", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].vehicle_image", GbfsFieldType::Url).since_version(V2_3),
    optional_field("vehicle_types[].make", GbfsFieldType::Text)
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("vehicle_types[].make", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].model", GbfsFieldType::Text)
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("vehicle_types[].model", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].color", GbfsFieldType::Text).since_version(V2_3),
    optional_field("vehicle_types[].wheel_count", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].max_permitted_speed", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].rated_power", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].default_reserve_time", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].return_constraint", RETURNS).since_version(V2_3),
    optional_field("vehicle_types[].min_age", COUNT).since_version(V3_1),
    optional_field("vehicle_types[].vehicle_assets", GbfsFieldType::Object).since_version(V2_3),
    required_field("vehicle_types[].vehicle_assets.icon_url", GbfsFieldType::Url)
        .since_version(V2_3),
    optional_field("vehicle_types[].vehicle_assets.icon_url_dark", GbfsFieldType::Url)
        .since_version(V2_3),
    required_field("vehicle_types[].vehicle_assets.icon_last_modified", GbfsFieldType::Date)
        .since_version(V2_3),
    optional_field(
        "vehicle_types[].default_pricing_plan_id",
        GbfsFieldType::Ref(RecordIdKind::Plan),
    )
    .since_version(V2_3),
    optional_field("vehicle_types[].pricing_plan_ids", GbfsFieldType::List(0)).since_version(V2_3),
    optional_field("vehicle_types[].pricing_plan_ids[]", GbfsFieldType::Ref(RecordIdKind::Plan))
        .since_version(V2_3),
];

pub(super) const BIKES: &[GbfsFieldRule] = &[
    required_field("bikes", GbfsFieldType::List(0)),
    required_field("bikes[]", GbfsFieldType::Object),
    required_field("bikes[].bike_id", GbfsFieldType::Key(RecordIdKind::Vehicle)),
    required_field("bikes[].lat", LAT).until_version(V2_0),
    required_field("bikes[].lon", LON).until_version(V2_0),
    optional_field("bikes[].lat", LAT).since_version(V2_1),
    optional_field("bikes[].lon", LON).since_version(V2_1),
    required_field("bikes[].is_reserved", GbfsFieldType::Flag),
    required_field("bikes[].is_disabled", GbfsFieldType::Flag),
    optional_field("bikes[].rental_uris", GbfsFieldType::Object).since_version(V1_1),
    optional_field("bikes[].rental_uris.android", GbfsFieldType::Url).since_version(V1_1),
    optional_field("bikes[].rental_uris.ios", GbfsFieldType::Url).since_version(V1_1),
    optional_field("bikes[].rental_uris.web", GbfsFieldType::Url).since_version(V1_1),
    optional_field("bikes[].vehicle_type_id", GbfsFieldType::Ref(RecordIdKind::VehicleType))
        .since_version(V2_1),
    optional_field("bikes[].last_reported", GbfsFieldType::Instant).since_version(V2_1),
    optional_field("bikes[].current_range_meters", AMOUNT).since_version(V2_1),
    optional_field("bikes[].current_fuel_percent", PART).since_version(V2_3),
    optional_field("bikes[].station_id", GbfsFieldType::Ref(RecordIdKind::Station))
        .since_version(V2_1),
    optional_field("bikes[].home_station_id", GbfsFieldType::Ref(RecordIdKind::Station))
        .since_version(V2_3),
    optional_field("bikes[].pricing_plan_id", GbfsFieldType::Ref(RecordIdKind::Plan))
        .since_version(V2_2),
    optional_field("bikes[].vehicle_equipment", GbfsFieldType::List(0)).since_version(V2_3),
    optional_field("bikes[].vehicle_equipment[]", EQUIPMENT).since_version(V2_3),
    optional_field("bikes[].available_until", GbfsFieldType::DateTime).since_version(V2_3),
];

pub(super) const STATUS: &[GbfsFieldRule] = &[
    required_field("vehicles", GbfsFieldType::List(0)),
    required_field("vehicles[]", GbfsFieldType::Object),
    required_field("vehicles[].vehicle_id", GbfsFieldType::Key(RecordIdKind::Vehicle)),
    optional_field("vehicles[].lat", LAT),
    optional_field("vehicles[].lon", LON),
    required_field("vehicles[].is_reserved", GbfsFieldType::Flag),
    required_field("vehicles[].is_disabled", GbfsFieldType::Flag),
    optional_field("vehicles[].rental_uris", GbfsFieldType::Object),
    optional_field("vehicles[].rental_uris.android", GbfsFieldType::Url),
    optional_field("vehicles[].rental_uris.ios", GbfsFieldType::Url),
    optional_field("vehicles[].rental_uris.web", GbfsFieldType::Url),
    optional_field("vehicles[].vehicle_type_id", GbfsFieldType::Ref(RecordIdKind::VehicleType)),
    optional_field("vehicles[].last_reported", GbfsFieldType::Instant),
    optional_field("vehicles[].current_range_meters", AMOUNT),
    optional_field("vehicles[].current_fuel_percent", PART),
    optional_field("vehicles[].station_id", GbfsFieldType::Ref(RecordIdKind::Station)),
    optional_field("vehicles[].home_station_id", GbfsFieldType::Ref(RecordIdKind::Station)),
    optional_field("vehicles[].pricing_plan_id", GbfsFieldType::Ref(RecordIdKind::Plan)),
    optional_field("vehicles[].vehicle_equipment", GbfsFieldType::List(0)),
    optional_field("vehicles[].vehicle_equipment[]", EQUIPMENT),
    optional_field("vehicles[].available_until", GbfsFieldType::DateTime),
];

pub(super) const AVAILABILITY: &[GbfsFieldRule] = &[
    required_field("vehicles", GbfsFieldType::List(0)),
    required_field("vehicles[]", GbfsFieldType::Object),
    required_field("vehicles[].vehicle_id", GbfsFieldType::Key(RecordIdKind::Availability)),
    optional_field("vehicles[].vehicle_type_id", GbfsFieldType::Ref(RecordIdKind::VehicleType)),
    required_field("vehicles[].station_id", GbfsFieldType::Ref(RecordIdKind::Station)),
    optional_field("vehicles[].pricing_plan_id", GbfsFieldType::Ref(RecordIdKind::Plan)),
    optional_field("vehicles[].vehicle_equipment", GbfsFieldType::List(0)),
    optional_field("vehicles[].vehicle_equipment[]", GbfsFieldType::Text),
    required_field("vehicles[].availabilities", GbfsFieldType::List(0)),
    required_field("vehicles[].availabilities[]", GbfsFieldType::Object),
    required_field("vehicles[].availabilities[].from", GbfsFieldType::Instant),
    optional_field("vehicles[].availabilities[].until", GbfsFieldType::Instant),
];

pub(super) const ZONES: &[GbfsFieldRule] = &[
    required_field("geofencing_zones", GbfsFieldType::Object),
    required_field("geofencing_zones.type", GbfsFieldType::Word(&["FeatureCollection"])),
    required_field("geofencing_zones.features", GbfsFieldType::List(0)),
    required_field("geofencing_zones.features[]", GbfsFieldType::Object),
    required_field("geofencing_zones.features[].type", GbfsFieldType::Word(&["Feature"])),
    required_field("geofencing_zones.features[].geometry", GbfsFieldType::Area),
    required_field("geofencing_zones.features[].properties", GbfsFieldType::Object),
    optional_field("geofencing_zones.features[].properties.name", GbfsFieldType::Text)
        .until_version(V2_3),
    optional_field("geofencing_zones.features[].properties.name", GbfsFieldType::Texts)
        .since_version(V3_0),
    optional_field("geofencing_zones.features[].properties.start", GbfsFieldType::Instant),
    optional_field("geofencing_zones.features[].properties.end", GbfsFieldType::Instant),
    optional_field("geofencing_zones.features[].properties.rules", GbfsFieldType::List(0)),
    optional_field("geofencing_zones.features[].properties.rules[]", GbfsFieldType::Object),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_id",
        GbfsFieldType::List(0),
    )
    .until_version(V2_3),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_id[]",
        GbfsFieldType::Ref(RecordIdKind::VehicleType),
    )
    .until_version(V2_3),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_ids",
        GbfsFieldType::List(0),
    )
    .since_version(V3_0),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_ids[]",
        GbfsFieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V3_0),
    required_field(
        "geofencing_zones.features[].properties.rules[].ride_allowed",
        GbfsFieldType::Flag,
    )
    .until_version(V2_3),
    required_field(
        "geofencing_zones.features[].properties.rules[].ride_start_allowed",
        GbfsFieldType::Flag,
    )
    .since_version(V3_0),
    required_field(
        "geofencing_zones.features[].properties.rules[].ride_end_allowed",
        GbfsFieldType::Flag,
    )
    .since_version(V3_0),
    required_field(
        "geofencing_zones.features[].properties.rules[].ride_through_allowed",
        GbfsFieldType::Flag,
    ),
    optional_field("geofencing_zones.features[].properties.rules[].maximum_speed_kph", COUNT),
    optional_field(
        "geofencing_zones.features[].properties.rules[].station_parking",
        GbfsFieldType::Flag,
    )
    .since_version(V2_3),
    required_field("global_rules", GbfsFieldType::List(0)).since_version(V3_0),
    required_field("global_rules[]", GbfsFieldType::Object).since_version(V3_0),
    optional_field("global_rules[].vehicle_type_ids", GbfsFieldType::List(0)).since_version(V3_0),
    optional_field(
        "global_rules[].vehicle_type_ids[]",
        GbfsFieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V3_0),
    required_field("global_rules[].ride_start_allowed", GbfsFieldType::Flag).since_version(V3_0),
    required_field("global_rules[].ride_end_allowed", GbfsFieldType::Flag).since_version(V3_0),
    required_field("global_rules[].ride_through_allowed", GbfsFieldType::Flag).since_version(V3_0),
    optional_field("global_rules[].maximum_speed_kph", COUNT).since_version(V3_0),
    optional_field("global_rules[].station_parking", GbfsFieldType::Flag).since_version(V3_0),
];
