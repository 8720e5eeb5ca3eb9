//! The fields of station files: information and status.

use SpecVersion::{V2_0, V2_1, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{COUNT, FieldRule, FieldType, LAT, LON, RecordIdKind, optional_field, required_field},
    version::SpecVersion,
};

const METHODS_BEFORE: FieldType = FieldType::Word(&[
    "KEY",
    "CREDITCARD",
    "PAYPASS",
    "APPLEPAY",
    "ANDROIDPAY",
    "TRANSITCARD",
    "ACCOUNTNUMBER",
    "PHONE",
]);
const METHODS: FieldType = FieldType::Word(&[
    "key",
    "creditcard",
    "paypass",
    "applepay",
    "androidpay",
    "transitcard",
    "accountnumber",
    "phone",
]);
const PARKING: FieldType = FieldType::Word(&[
    "parking_lot",
    "street_parking",
    "underground_parking",
    "sidewalk_parking",
    "other",
]);

pub(super) const INFORMATION: &[FieldRule] = &[
    required_field("stations", FieldType::List(0)),
    required_field("stations[]", FieldType::Object),
    required_field("stations[].station_id", FieldType::Key(RecordIdKind::Station)),
    required_field("stations[].name", FieldType::Text).until_version(V2_3),
    required_field("stations[].name", FieldType::Texts).since_version(V3_0),
    optional_field("stations[].short_name", FieldType::Text).until_version(V2_3),
    optional_field("stations[].short_name", FieldType::Texts).since_version(V3_0),
    required_field("stations[].lat", LAT),
    required_field("stations[].lon", LON),
    optional_field("stations[].address", FieldType::Text),
    optional_field("stations[].cross_street", FieldType::Text),
    optional_field("stations[].city", FieldType::Text).since_version(V3_1),
    optional_field("stations[].region_id", FieldType::Ref(RecordIdKind::Region)),
    optional_field("stations[].post_code", FieldType::Text),
    optional_field("stations[].station_opening_hours", FieldType::Text).since_version(V3_0),
    optional_field("stations[].rental_methods", FieldType::List(1)),
    optional_field("stations[].rental_methods[]", METHODS_BEFORE).until_version(V2_0),
    optional_field("stations[].rental_methods[]", METHODS).since_version(V2_1),
    optional_field("stations[].is_virtual_station", FieldType::Flag).since_version(V2_1),
    optional_field("stations[].station_area", FieldType::Area).since_version(V2_1),
    optional_field("stations[].parking_type", PARKING).since_version(V2_3),
    optional_field("stations[].parking_hoop", FieldType::Flag).since_version(V2_3),
    optional_field("stations[].contact_phone", FieldType::Text)
        .since_version(V2_3)
        .until_version(V2_3),
    optional_field("stations[].contact_phone", FieldType::Phone).since_version(V3_0),
    optional_field("stations[].capacity", COUNT),
    optional_field("stations[].vehicle_capacity", FieldType::NumbersBy(RecordIdKind::VehicleType))
        .since_version(V2_1)
        .until_version(V2_3),
    optional_field(
        "stations[].vehicle_type_capacity",
        FieldType::NumbersBy(RecordIdKind::VehicleType),
    )
    .since_version(V2_1)
    .until_version(V2_3),
    optional_field("stations[].vehicle_types_capacity", FieldType::List(0)).since_version(V3_0),
    optional_field("stations[].vehicle_types_capacity[]", FieldType::Object).since_version(V3_0),
    required_field("stations[].vehicle_types_capacity[].vehicle_type_ids", FieldType::List(0))
        .since_version(V3_0),
    optional_field(
        "stations[].vehicle_types_capacity[].vehicle_type_ids[]",
        FieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V3_0),
    required_field("stations[].vehicle_types_capacity[].count", COUNT).since_version(V3_0),
    optional_field("stations[].vehicle_docks_capacity", FieldType::List(0)).since_version(V3_0),
    optional_field("stations[].vehicle_docks_capacity[]", FieldType::Object).since_version(V3_0),
    required_field("stations[].vehicle_docks_capacity[].vehicle_type_ids", FieldType::List(0))
        .since_version(V3_0),
    optional_field(
        "stations[].vehicle_docks_capacity[].vehicle_type_ids[]",
        FieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V3_0),
    required_field("stations[].vehicle_docks_capacity[].count", COUNT).since_version(V3_0),
    optional_field("stations[].is_valet_station", FieldType::Flag).since_version(V2_1),
    optional_field("stations[].is_charging_station", FieldType::Flag).since_version(V2_3),
    optional_field("stations[].rental_uris", FieldType::Object).since_version(SpecVersion::V1_1),
    optional_field("stations[].rental_uris.android", FieldType::Url)
        .since_version(SpecVersion::V1_1),
    optional_field("stations[].rental_uris.ios", FieldType::Url).since_version(SpecVersion::V1_1),
    optional_field("stations[].rental_uris.web", FieldType::Url).since_version(SpecVersion::V1_1),
];

pub(super) const STATUS: &[FieldRule] = &[
    required_field("stations", FieldType::List(0)),
    required_field("stations[]", FieldType::Object),
    required_field("stations[].station_id", FieldType::Key(RecordIdKind::StationState)),
    required_field("stations[].num_bikes_available", COUNT).until_version(V2_3),
    required_field("stations[].num_vehicles_available", COUNT).since_version(V3_0),
    optional_field("stations[].num_bikes_disabled", COUNT).until_version(V2_3),
    optional_field("stations[].num_vehicles_disabled", COUNT).since_version(V3_0),
    required_field("stations[].num_docks_available", COUNT).until_version(SpecVersion::V1_1),
    optional_field("stations[].num_docks_available", COUNT).since_version(V2_0),
    optional_field("stations[].num_docks_disabled", COUNT),
    required_field("stations[].is_installed", FieldType::Flag),
    required_field("stations[].is_renting", FieldType::Flag),
    required_field("stations[].is_returning", FieldType::Flag),
    required_field("stations[].last_reported", FieldType::Instant),
    optional_field("stations[].vehicle_types_available", FieldType::List(0)).since_version(V2_1),
    optional_field("stations[].vehicle_types_available[]", FieldType::Object).since_version(V2_1),
    required_field(
        "stations[].vehicle_types_available[].vehicle_type_id",
        FieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V2_1),
    required_field("stations[].vehicle_types_available[].count", COUNT).since_version(V2_1),
    optional_field("stations[].vehicle_docks_available", FieldType::List(0)).since_version(V2_1),
    optional_field("stations[].vehicle_docks_available[]", FieldType::Object).since_version(V2_1),
    required_field("stations[].vehicle_docks_available[].vehicle_type_ids", FieldType::List(0))
        .since_version(V2_1),
    optional_field(
        "stations[].vehicle_docks_available[].vehicle_type_ids[]",
        FieldType::Ref(RecordIdKind::VehicleType),
    )
    .since_version(V2_1),
    required_field("stations[].vehicle_docks_available[].count", COUNT).since_version(V2_1),
];
