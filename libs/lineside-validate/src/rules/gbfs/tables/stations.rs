//! Stations: what they are, and how they are now.

use Version::{V2_0, V2_1, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{COUNT, Field, Is, LAT, LON, Of, may, must},
    version::Version,
};

const METHODS_BEFORE: Is = Is::Word(&[
    "KEY",
    "CREDITCARD",
    "PAYPASS",
    "APPLEPAY",
    "ANDROIDPAY",
    "TRANSITCARD",
    "ACCOUNTNUMBER",
    "PHONE",
]);
const METHODS: Is = Is::Word(&[
    "key",
    "creditcard",
    "paypass",
    "applepay",
    "androidpay",
    "transitcard",
    "accountnumber",
    "phone",
]);
const PARKING: Is = Is::Word(&[
    "parking_lot",
    "street_parking",
    "underground_parking",
    "sidewalk_parking",
    "other",
]);

pub(super) const INFORMATION: &[Field] = &[
    must("stations", Is::List(0)),
    must("stations[]", Is::Object),
    must("stations[].station_id", Is::Key(Of::Station)),
    must("stations[].name", Is::Text).to(V2_3),
    must("stations[].name", Is::Texts).from(V3_0),
    may("stations[].short_name", Is::Text).to(V2_3),
    may("stations[].short_name", Is::Texts).from(V3_0),
    must("stations[].lat", LAT),
    must("stations[].lon", LON),
    may("stations[].address", Is::Text),
    may("stations[].cross_street", Is::Text),
    may("stations[].city", Is::Text).from(V3_1),
    may("stations[].region_id", Is::Ref(Of::Region)),
    may("stations[].post_code", Is::Text),
    may("stations[].station_opening_hours", Is::Text).from(V3_0),
    may("stations[].rental_methods", Is::List(1)),
    may("stations[].rental_methods[]", METHODS_BEFORE).to(V2_0),
    may("stations[].rental_methods[]", METHODS).from(V2_1),
    may("stations[].is_virtual_station", Is::Flag).from(V2_1),
    may("stations[].station_area", Is::Area).from(V2_1),
    may("stations[].parking_type", PARKING).from(V2_3),
    may("stations[].parking_hoop", Is::Flag).from(V2_3),
    may("stations[].contact_phone", Is::Text).from(V2_3).to(V2_3),
    may("stations[].contact_phone", Is::Phone).from(V3_0),
    may("stations[].capacity", COUNT),
    may("stations[].vehicle_capacity", Is::NumbersBy(Of::VehicleType)).from(V2_1).to(V2_3),
    may("stations[].vehicle_type_capacity", Is::NumbersBy(Of::VehicleType)).from(V2_1).to(V2_3),
    may("stations[].vehicle_types_capacity", Is::List(0)).from(V3_0),
    may("stations[].vehicle_types_capacity[]", Is::Object).from(V3_0),
    must("stations[].vehicle_types_capacity[].vehicle_type_ids", Is::List(0)).from(V3_0),
    may("stations[].vehicle_types_capacity[].vehicle_type_ids[]", Is::Ref(Of::VehicleType))
        .from(V3_0),
    must("stations[].vehicle_types_capacity[].count", COUNT).from(V3_0),
    may("stations[].vehicle_docks_capacity", Is::List(0)).from(V3_0),
    may("stations[].vehicle_docks_capacity[]", Is::Object).from(V3_0),
    must("stations[].vehicle_docks_capacity[].vehicle_type_ids", Is::List(0)).from(V3_0),
    may("stations[].vehicle_docks_capacity[].vehicle_type_ids[]", Is::Ref(Of::VehicleType))
        .from(V3_0),
    must("stations[].vehicle_docks_capacity[].count", COUNT).from(V3_0),
    may("stations[].is_valet_station", Is::Flag).from(V2_1),
    may("stations[].is_charging_station", Is::Flag).from(V2_3),
    may("stations[].rental_uris", Is::Object).from(Version::V1_1),
    may("stations[].rental_uris.android", Is::Url).from(Version::V1_1),
    may("stations[].rental_uris.ios", Is::Url).from(Version::V1_1),
    may("stations[].rental_uris.web", Is::Url).from(Version::V1_1),
];

pub(super) const STATUS: &[Field] = &[
    must("stations", Is::List(0)),
    must("stations[]", Is::Object),
    must("stations[].station_id", Is::Key(Of::StationState)),
    must("stations[].num_bikes_available", COUNT).to(V2_3),
    must("stations[].num_vehicles_available", COUNT).from(V3_0),
    may("stations[].num_bikes_disabled", COUNT).to(V2_3),
    may("stations[].num_vehicles_disabled", COUNT).from(V3_0),
    must("stations[].num_docks_available", COUNT).to(Version::V1_1),
    may("stations[].num_docks_available", COUNT).from(V2_0),
    may("stations[].num_docks_disabled", COUNT),
    must("stations[].is_installed", Is::Flag),
    must("stations[].is_renting", Is::Flag),
    must("stations[].is_returning", Is::Flag),
    must("stations[].last_reported", Is::Instant),
    may("stations[].vehicle_types_available", Is::List(0)).from(V2_1),
    may("stations[].vehicle_types_available[]", Is::Object).from(V2_1),
    must("stations[].vehicle_types_available[].vehicle_type_id", Is::Ref(Of::VehicleType))
        .from(V2_1),
    must("stations[].vehicle_types_available[].count", COUNT).from(V2_1),
    may("stations[].vehicle_docks_available", Is::List(0)).from(V2_1),
    may("stations[].vehicle_docks_available[]", Is::Object).from(V2_1),
    must("stations[].vehicle_docks_available[].vehicle_type_ids", Is::List(0)).from(V2_1),
    may("stations[].vehicle_docks_available[].vehicle_type_ids[]", Is::Ref(Of::VehicleType))
        .from(V2_1),
    must("stations[].vehicle_docks_available[].count", COUNT).from(V2_1),
];
