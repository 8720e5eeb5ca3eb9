//! The files of a system and their fields, version by version, after the specification and its
//! JSON schemas (MobilityData/gbfs and gbfs-json-schema, versions 1.0 to 3.1-RC3).

mod stations;
mod system;
mod vehicles;

use super::{field::GbfsFieldRule, version::GbfsVersion};

#[derive(Debug)]
pub(super) struct GbfsFileSchema {
    /// Its name, without `.json`.
    pub(super) name: &'static str,
    /// Its fields; parents come before their children.
    pub(super) fields: &'static [GbfsFieldRule],
    pub(super) from: GbfsVersion,
    pub(super) to: GbfsVersion,
}

const fn new_file_schema(name: &'static str, fields: &'static [GbfsFieldRule]) -> GbfsFileSchema {
    GbfsFileSchema { name, fields, from: GbfsVersion::V1_0, to: GbfsVersion::V3_1 }
}

/// All files in reading order: referenced files come before the files that refer to them.
pub(super) static TABLES: &[GbfsFileSchema] = &[
    new_file_schema("gbfs", system::DISCOVERY),
    GbfsFileSchema {
        from: GbfsVersion::V1_1,
        ..new_file_schema("gbfs_versions", system::VERSIONS)
    },
    GbfsFileSchema { from: GbfsVersion::V3_0, ..new_file_schema("manifest", system::MANIFEST) },
    new_file_schema("system_information", system::INFORMATION),
    new_file_schema("system_regions", system::REGIONS),
    new_file_schema("system_pricing_plans", system::PLANS),
    GbfsFileSchema { to: GbfsVersion::V2_3, ..new_file_schema("system_hours", system::HOURS) },
    GbfsFileSchema {
        to: GbfsVersion::V2_3,
        ..new_file_schema("system_calendar", system::CALENDAR)
    },
    GbfsFileSchema { from: GbfsVersion::V2_1, ..new_file_schema("vehicle_types", vehicles::TYPES) },
    new_file_schema("station_information", stations::INFORMATION),
    new_file_schema("station_status", stations::STATUS),
    GbfsFileSchema {
        to: GbfsVersion::V2_3,
        ..new_file_schema("free_bike_status", vehicles::BIKES)
    },
    GbfsFileSchema {
        from: GbfsVersion::V3_0,
        ..new_file_schema("vehicle_status", vehicles::STATUS)
    },
    GbfsFileSchema {
        from: GbfsVersion::V3_1,
        ..new_file_schema("vehicle_availability", vehicles::AVAILABILITY)
    },
    new_file_schema("system_alerts", system::ALERTS),
    GbfsFileSchema {
        from: GbfsVersion::V2_1,
        ..new_file_schema("geofencing_zones", vehicles::ZONES)
    },
];

pub(super) fn find_file_schema(name: &str) -> Option<&'static GbfsFileSchema> {
    TABLES.iter().find(|table| table.name == name)
}
