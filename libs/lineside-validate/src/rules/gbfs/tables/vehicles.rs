//! The fields of vehicle files: vehicles, types, availability and geofencing zones.

use SpecVersion::{V1_1, V2_0, V2_1, V2_2, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{
        AMOUNT, COUNT, FieldRule, FieldType, LAT, LON, PART, RecordIdKind, optional_field,
        required_field,
    },
    version::SpecVersion,
};

const FORMS_BEFORE: FieldType = FieldType::Word(&["bicycle", "car", "moped", "other", "scooter"]);
const FORMS_BETWEEN: FieldType = FieldType::Word(&[
    "bicycle",
    "cargo_bicycle",
    "car",
    "moped",
    "scooter_standing",
    "scooter_seated",
    "other",
    "scooter",
]);
const FORMS: FieldType = FieldType::Word(&[
    "bicycle",
    "cargo_bicycle",
    "car",
    "moped",
    "scooter_standing",
    "scooter_seated",
    "other",
]);
const PROPULSION_BEFORE: FieldType =
    FieldType::Word(&["human", "electric_assist", "electric", "combustion"]);
const PROPULSION: FieldType = FieldType::Word(&[
    "human",
    "electric_assist",
    "electric",
    "combustion",
    "combustion_diesel",
    "hybrid",
    "plug_in_hybrid",
    "hydrogen_fuel_cell",
]);
const ACCESSORIES: FieldType = FieldType::Word(&[
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
const RETURNS: FieldType =
    FieldType::Word(&["free_floating", "roundtrip_station", "any_station", "hybrid"]);
const EQUIPMENT: FieldType = FieldType::Word(&[
    "child_seat_a",
    "child_seat_b",
    "child_seat_c",
    "winter_tires",
    "snow_chains",
]);

pub(super) const TYPES: &[FieldRule] = &[
    required_field("vehicle_types", FieldType::List(0)),
    required_field("vehicle_types[]", FieldType::Object),
    required_field("vehicle_types[].vehicle_type_id", FieldType::Key(RecordIdKind::VehicleType)),
    required_field("vehicle_types[].form_factor", FORMS_BEFORE).until_version(V2_2),
    required_field("vehicle_types[].form_factor", FORMS_BETWEEN)
        .since_version(V2_3)
        .until_version(V2_3),
    required_field("vehicle_types[].form_factor", FORMS).since_version(V3_0),
    required_field("vehicle_types[].propulsion_type", PROPULSION_BEFORE).until_version(V2_2),
    required_field("vehicle_types[].propulsion_type", PROPULSION).since_version(V2_3),
    optional_field("vehicle_types[].max_range_meters", AMOUNT),
    optional_field("vehicle_types[].name", FieldType::Text).until_version(V2_3),
    optional_field("vehicle_types[].name", FieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].description", FieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].rider_capacity", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].cargo_volume_capacity", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].cargo_load_capacity", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].eco_label", FieldType::List(0))
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("vehicle_types[].eco_label[]", FieldType::Object)
        .since_version(V2_3)
        .until_version(V2_3),
    required_field("vehicle_types[].eco_label[].country_code", FieldType::Country)
        .since_version(V2_3)
        .until_version(V2_3),
    required_field("vehicle_types[].eco_label[].eco_sticker", FieldType::Text)
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("vehicle_types[].eco_labels", FieldType::List(0)).since_version(V3_0),
    optional_field("vehicle_types[].eco_labels[]", FieldType::Object).since_version(V3_0),
    required_field("vehicle_types[].eco_labels[].country_code", FieldType::Country)
        .since_version(V3_0),
    required_field("vehicle_types[].eco_labels[].eco_sticker", FieldType::Text).since_version(V3_0),
    optional_field("vehicle_types[].vehicle_accessories", FieldType::List(0)).since_version(V2_3),
    optional_field("vehicle_types[].vehicle_accessories[]", ACCESSORIES).since_version(V2_3),
    optional_field("vehicle_types[].g_CO2_km", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].vehicle_image", FieldType::Url).since_version(V2_3),
    optional_field("vehicle_types[].make", FieldType::Text).since_version(V2_3).until_version(V2_3),
    optional_field("vehicle_types[].make", FieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].model", FieldType::Text)
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("vehicle_types[].model", FieldType::Texts).since_version(V3_0),
    optional_field("vehicle_types[].color", FieldType::Text).since_version(V2_3),
    optional_field("vehicle_types[].wheel_count", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].max_permitted_speed", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].rated_power", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].default_reserve_time", COUNT).since_version(V2_3),
    optional_field("vehicle_types[].return_constraint", RETURNS).since_version(V2_3),
    optional_field("vehicle_types[].min_age", COUNT).since_version(V3_1),
    optional_field("vehicle_types[].vehicle_assets", FieldType::Object).since_version(V2_3),
    required_field("vehicle_types[].vehicle_assets.icon_url", FieldType::Url).since_version(V2_3),
    optional_field("vehicle_types[].vehicle_assets.icon_url_dark", FieldType::Url)
        .since_version(V2_3),
    required_field("vehicle_types[].vehicle_assets.icon_last_modified", FieldType::Date)
        .since_version(V2_3),
    optional_field("vehicle_types[].default_pricing_plan_id", FieldType::Ref(RecordIdKind::Plan))
        .since_version(V2_3),
    optional_field("vehicle_types[].pricing_plan_ids", FieldType::List(0)).since_version(V2_3),
    optional_field("vehicle_types[].pricing_plan_ids[]", FieldType::Ref(RecordIdKind::Plan))
        .since_version(V2_3),
];

pub(super) const BIKES: &[FieldRule] = &[
    required_field("bikes", FieldType::List(0)),
    required_field("bikes[]", FieldType::Object),
    required_field("bikes[].bike_id", FieldType::Key(RecordIdKind::Vehicle)),
    required_field("bikes[].lat", LAT).until_version(V2_0),
    required_field("bikes[].lon", LON).until_version(V2_0),
    optional_field("bikes[].lat", LAT).since_version(V2_1),
    optional_field("bikes[].lon", LON).since_version(V2_1),
    required_field("bikes[].is_reserved", FieldType::Flag),
    required_field("bikes[].is_disabled", FieldType::Flag),
    optional_field("bikes[].rental_uris", FieldType::Object).since_version(V1_1),
    optional_field("bikes[].rental_uris.android", FieldType::Url).since_version(V1_1),
    optional_field("bikes[].rental_uris.ios", FieldType::Url).since_version(V1_1),
    optional_field("bikes[].rental_uris.web", FieldType::Url).since_version(V1_1),
    optional_field("bikes[].vehicle_type_id", FieldType::Ref(RecordIdKind::VehicleType))
        .since_version(V2_1),
    optional_field("bikes[].last_reported", FieldType::Instant).since_version(V2_1),
    optional_field("bikes[].current_range_meters", AMOUNT).since_version(V2_1),
    optional_field("bikes[].current_fuel_percent", PART).since_version(V2_3),
    optional_field("bikes[].station_id", FieldType::Ref(RecordIdKind::Station)).since_version(V2_1),
    optional_field("bikes[].home_station_id", FieldType::Ref(RecordIdKind::Station))
        .since_version(V2_3),
    optional_field("bikes[].pricing_plan_id", FieldType::Ref(RecordIdKind::Plan))
        .since_version(V2_2),
    optional_field("bikes[].vehicle_equipment", FieldType::List(0)).since_version(V2_3),
    optional_field("bikes[].vehicle_equipment[]", EQUIPMENT).since_version(V2_3),
    optional_field("bikes[].available_until", FieldType::DateTime).since_version(V2_3),
];

pub(super) const STATUS: &[FieldRule] = &[
    required_field("vehicles", FieldType::List(0)),
    required_field("vehicles[]", FieldType::Object),
    required_field("vehicles[].vehicle_id", FieldType::Key(RecordIdKind::Vehicle)),
    optional_field("vehicles[].lat", LAT),
    optional_field("vehicles[].lon", LON),
    required_field("vehicles[].is_reserved", FieldType::Flag),
    required_field("vehicles[].is_disabled", FieldType::Flag),
    optional_field("vehicles[].rental_uris", FieldType::Object),
    optional_field("vehicles[].rental_uris.android", FieldType::Url),
    optional_field("vehicles[].rental_uris.ios", FieldType::Url),
    optional_field("vehicles[].rental_uris.web", FieldType::Url),
    optional_field("vehicles[].vehicle_type_id", FieldType::Ref(RecordIdKind::VehicleType)),
    optional_field("vehicles[].last_reported", FieldType::Instant),
    optional_field("vehicles[].current_range_meters", AMOUNT),
    optional_field("vehicles[].current_fuel_percent", PART),
    optional_field("vehicles[].station_id", FieldType::Ref(RecordIdKind::Station)),
    optional_field("vehicles[].home_station_id", FieldType::Ref(RecordIdKind::Station)),
    optional_field("vehicles[].pricing_plan_id", FieldType::Ref(RecordIdKind::Plan)),
    optional_field("vehicles[].vehicle_equipment", FieldType::List(0)),
    optional_field("vehicles[].vehicle_equipment[]", EQUIPMENT),
    optional_field("vehicles[].available_until", FieldType::DateTime),
];

pub(super) const AVAILABILITY: &[FieldRule] = &[
    required_field("vehicles", FieldType::List(0)),
    required_field("vehicles[]", FieldType::Object),
    required_field("vehicles[].vehicle_id", FieldType::Key(RecordIdKind::Availability)),
    optional_field("vehicles[].vehicle_type_id", FieldType::Ref(RecordIdKind::VehicleType)),
    required_field("vehicles[].station_id", FieldType::Ref(RecordIdKind::Station)),
    optional_field("vehicles[].pricing_plan_id", FieldType::Ref(RecordIdKind::Plan)),
    optional_field("vehicles[].vehicle_equipment", FieldType::List(0)),
    optional_field("vehicles[].vehicle_equipment[]", FieldType::Text),
    required_field("vehicles[].availabilities", FieldType::List(0)),
    required_field("vehicles[].availabilities[]", FieldType::Object),
    required_field("vehicles[].availabilities[].from", FieldType::Instant),
    optional_field("vehicles[].availabilities[].until", FieldType::Instant),
];

pub(super) const ZONES: &[FieldRule] = &[
    required_field("geofencing_zones", FieldType::Object),
    required_field("geofencing_zones.type", FieldType::Word(&["FeatureCollection"])),
    required_field("geofencing_zones.features", FieldType::List(0)),
    required_field("geofencing_zones.features[]", FieldType::Object),
    required_field("geofencing_zones.features[].type", FieldType::Word(&["Feature"])),
    required_field("geofencing_zones.features[].geometry", FieldType::Area),
    required_field("geofencing_zones.features[].properties", FieldType::Object),
    optional_field("geofencing_zones.features[].properties.name", FieldType::Text)
        .until_version(V2_3),
    optional_field("geofencing_zones.features[].properties.name", FieldType::Texts)
        .since_version(V3_0),
    optional_field("geofencing_zones.features[].properties.start", FieldType::Instant),
    optional_field("geofencing_zones.features[].properties.end", FieldType::Instant),
    optional_field("geofencing_zones.features[].properties.rules", FieldType::List(0)),
    optional_field("geofencing_zones.features[].properties.rules[]", FieldType::Object),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_id",
        FieldType::List(0),
    )
    .until_version(V2_3),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_id[]",
        FieldType::Ref(RecordIdKind::VehicleType),
    )
    .until_version(V2_3),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_ids",
        FieldType::List(0),
    )
    .since_version(V3_0),
    optional_field(
        "geofencing_zones.features[].properties.rules[].vehicle_type_ids[]",
        FieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V3_0),
    required_field("geofencing_zones.features[].properties.rules[].ride_allowed", FieldType::Flag)
        .until_version(V2_3),
    required_field(
        "geofencing_zones.features[].properties.rules[].ride_start_allowed",
        FieldType::Flag,
    )
    .since_version(V3_0),
    required_field(
        "geofencing_zones.features[].properties.rules[].ride_end_allowed",
        FieldType::Flag,
    )
    .since_version(V3_0),
    required_field(
        "geofencing_zones.features[].properties.rules[].ride_through_allowed",
        FieldType::Flag,
    ),
    optional_field("geofencing_zones.features[].properties.rules[].maximum_speed_kph", COUNT),
    optional_field(
        "geofencing_zones.features[].properties.rules[].station_parking",
        FieldType::Flag,
    )
    .since_version(V2_3),
    required_field("global_rules", FieldType::List(0)).since_version(V3_0),
    required_field("global_rules[]", FieldType::Object).since_version(V3_0),
    optional_field("global_rules[].vehicle_type_ids", FieldType::List(0)).since_version(V3_0),
    optional_field("global_rules[].vehicle_type_ids[]", FieldType::Ref(RecordIdKind::VehicleType))
        .since_version(V3_0),
    required_field("global_rules[].ride_start_allowed", FieldType::Flag).since_version(V3_0),
    required_field("global_rules[].ride_end_allowed", FieldType::Flag).since_version(V3_0),
    required_field("global_rules[].ride_through_allowed", FieldType::Flag).since_version(V3_0),
    optional_field("global_rules[].maximum_speed_kph", COUNT).since_version(V3_0),
    optional_field("global_rules[].station_parking", FieldType::Flag).since_version(V3_0),
];
