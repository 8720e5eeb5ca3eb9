//! The fields of station files: information and status.

use GbfsVersion::{V2_0, V2_1, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{
        COUNT, GbfsFieldRule, GbfsFieldType, LAT, LON, RecordIdKind, optional_field, required_field,
    },
    version::GbfsVersion,
};

const METHODS_BEFORE: GbfsFieldType = GbfsFieldType::Word(&[
    "KEY",
    "CREDITCARD",
    "PAYPASS",
    "APPLEPAY",
    "ANDROIDPAY",
    "TRANSITCARD",
    "ACCOUNTNUMBER",
    "PHONE",
]);
const METHODS: GbfsFieldType = GbfsFieldType::Word(&[
    "key",
    "creditcard",
    "paypass",
    "applepay",
    "androidpay",
    "transitcard",
    "accountnumber",
    "phone",
]);
const PARKING: GbfsFieldType = GbfsFieldType::Word(&[
    "parking_lot",
    "street_parking",
    "underground_parking",
    "sidewalk_parking",
    "other",
]);

pub(super) const INFORMATION: &[GbfsFieldRule] = &[
    required_field("stations", GbfsFieldType::List(0)),
    required_field("stations[]", GbfsFieldType::Object),
    required_field("stations[].station_id", GbfsFieldType::Key(RecordIdKind::Station)),
    required_field("stations[].name", GbfsFieldType::Text).until_version(V2_3),
    required_field("stations[].name", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("stations[].short_name", GbfsFieldType::Text).until_version(V2_3),
    optional_field("stations[].short_name", GbfsFieldType::Texts).since_version(V3_0),
    required_field("stations[].lat", LAT),
    required_field("stations[].lon", LON),
    optional_field("stations[].address", GbfsFieldType::Text),
    optional_field("stations[].cross_street", GbfsFieldType::Text),
    optional_field("stations[].city", GbfsFieldType::Text).since_version(V3_1),
    optional_field("stations[].region_id", GbfsFieldType::Ref(RecordIdKind::Region)),
    optional_field("stations[].post_code", GbfsFieldType::Text),
    optional_field("stations[].station_opening_hours", GbfsFieldType::Text).since_version(V3_0),
    optional_field("stations[].rental_methods", GbfsFieldType::List(1)),
    optional_field("stations[].rental_methods[]", METHODS_BEFORE).until_version(V2_0),
    optional_field("stations[].rental_methods[]", METHODS).since_version(V2_1),
    optional_field("stations[].is_virtual_station", GbfsFieldType::Flag).since_version(V2_1),
    optional_field("stations[].station_area", GbfsFieldType::Area).since_version(V2_1),
    optional_field("stations[].parking_type", PARKING).since_version(V2_3),
    optional_field("stations[].parking_hoop", GbfsFieldType::Flag).since_version(V2_3),
    optional_field("stations[].contact_phone", GbfsFieldType::Text)
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("stations[].contact_phone", GbfsFieldType::Phone).since_version(V3_0),
    optional_field("stations[].capacity", COUNT),
    optional_field(
        "stations[].vehicle_capacity",
        GbfsFieldType::NumbersBy(RecordIdKind::VehicleType),
    )
    .since_version(V2_1)
    .until_version(V2_3),
    optional_field(
        "stations[].vehicle_type_capacity",
        GbfsFieldType::NumbersBy(RecordIdKind::VehicleType),
    )
    .since_version(V2_1)
    .until_version(V2_3),
    optional_field("stations[].vehicle_types_capacity", GbfsFieldType::List(0)).since_version(V3_0),
    optional_field("stations[].vehicle_types_capacity[]", GbfsFieldType::Object)
        .since_version(V3_0),
    required_field("stations[].vehicle_types_capacity[].vehicle_type_ids", GbfsFieldType::List(0))
        .since_version(V3_0),
    optional_field(
        "stations[].vehicle_types_capacity[].vehicle_type_ids[]",
        GbfsFieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V3_0),
    required_field("stations[].vehicle_types_capacity[].count", COUNT).since_version(V3_0),
    optional_field("stations[].vehicle_docks_capacity", GbfsFieldType::List(0)).since_version(V3_0),
    optional_field("stations[].vehicle_docks_capacity[]", GbfsFieldType::Object)
        .since_version(V3_0),
    required_field("stations[].vehicle_docks_capacity[].vehicle_type_ids", GbfsFieldType::List(0))
        .since_version(V3_0),
    optional_field(
        "stations[].vehicle_docks_capacity[].vehicle_type_ids[]",
        GbfsFieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V3_0),
    required_field("stations[].vehicle_docks_capacity[].count", COUNT).since_version(V3_0),
    optional_field("stations[].is_valet_station", GbfsFieldType::Flag).since_version(V2_1),
    optional_field("stations[].is_charging_station", GbfsFieldType::Flag).since_version(V2_3),
    optional_field("stations[].rental_uris", GbfsFieldType::Object)
        .since_version(GbfsVersion::V1_1),
    optional_field("stations[].rental_uris.android", GbfsFieldType::Url)
        .since_version(GbfsVersion::V1_1),
    optional_field("stations[].rental_uris.ios", GbfsFieldType::Url)
        .since_version(GbfsVersion::V1_1),
    optional_field("stations[].rental_uris.web", GbfsFieldType::Url)
        .since_version(GbfsVersion::V1_1),
];

pub(super) const STATUS: &[GbfsFieldRule] = &[
    required_field("stations", GbfsFieldType::List(0)),
    required_field("stations[]", GbfsFieldType::Object),
    required_field("stations[].station_id", GbfsFieldType::Key(RecordIdKind::StationState)),
    required_field("stations[].num_bikes_available", COUNT).until_version(V2_3),
    required_field("stations[].num_vehicles_available", COUNT).since_version(V3_0),
    optional_field("stations[].num_bikes_disabled", COUNT).until_version(V2_3),
    optional_field("stations[].num_vehicles_disabled", COUNT).since_version(V3_0),
    required_field("stations[].num_docks_available", COUNT).until_version(GbfsVersion::V1_1),
    optional_field("stations[].num_docks_available", COUNT).since_version(V2_0),
    optional_field("stations[].num_docks_disabled", COUNT),
    required_field("stations[].is_installed", GbfsFieldType::Flag),
    required_field("stations[].is_renting", GbfsFieldType::Flag),
    required_field("stations[].is_returning", GbfsFieldType::Flag),
    required_field("stations[].last_reported", GbfsFieldType::Instant),
    optional_field("stations[].vehicle_types_available", GbfsFieldType::List(0))
        .since_version(V2_1),
    optional_field("stations[].vehicle_types_available[]", GbfsFieldType::Object)
        .since_version(V2_1),
    required_field(
        "stations[].vehicle_types_available[].vehicle_type_id",
        GbfsFieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V2_1),
    required_field("stations[].vehicle_types_available[].count", COUNT).since_version(V2_1),
    optional_field("stations[].vehicle_docks_available", GbfsFieldType::List(0))
        .since_version(V2_1),
    optional_field("stations[].vehicle_docks_available[]", GbfsFieldType::Object)
        .since_version(V2_1),
    required_field("stations[].vehicle_docks_available[].vehicle_type_ids", GbfsFieldType::List(0))
        .since_version(V2_1),
    optional_field(
        "stations[].vehicle_docks_available[].vehicle_type_ids[]",
        GbfsFieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V2_1),
    required_field("stations[].vehicle_docks_available[].count", COUNT).since_version(V2_1),
];
