//! The files of a system and their fields, version by version, after the specification and its
//! JSON schemas (MobilityData/gbfs and gbfs-json-schema, versions 1.0 to 3.1-RC3).

mod stations;
mod system;
mod vehicles;

use super::{field::FieldRule, version::SpecVersion};

#[derive(Debug)]
pub(super) struct FileSchema {
    /// Its name, without `.json`.
    pub(super) name: &'static str,
    /// Its fields; parents come before their children.
    pub(super) fields: &'static [FieldRule],
    pub(super) from: SpecVersion,
    pub(super) to: SpecVersion,
}

const fn file_schema(name: &'static str, fields: &'static [FieldRule]) -> FileSchema {
    FileSchema { name, fields, from: SpecVersion::V1_0, to: SpecVersion::V3_1 }
}

/// All files in reading order: referenced files come before the files that refer to them.
pub(super) static TABLES: &[FileSchema] = &[
    file_schema("gbfs", system::DISCOVERY),
    FileSchema { from: SpecVersion::V1_1, ..file_schema("gbfs_versions", system::VERSIONS) },
    FileSchema { from: SpecVersion::V3_0, ..file_schema("manifest", system::MANIFEST) },
    file_schema("system_information", system::INFORMATION),
    file_schema("system_regions", system::REGIONS),
    file_schema("system_pricing_plans", system::PLANS),
    FileSchema { to: SpecVersion::V2_3, ..file_schema("system_hours", system::HOURS) },
    FileSchema { to: SpecVersion::V2_3, ..file_schema("system_calendar", system::CALENDAR) },
    FileSchema { from: SpecVersion::V2_1, ..file_schema("vehicle_types", vehicles::TYPES) },
    file_schema("station_information", stations::INFORMATION),
    file_schema("station_status", stations::STATUS),
    FileSchema { to: SpecVersion::V2_3, ..file_schema("free_bike_status", vehicles::BIKES) },
    FileSchema { from: SpecVersion::V3_0, ..file_schema("vehicle_status", vehicles::STATUS) },
    FileSchema {
        from: SpecVersion::V3_1,
        ..file_schema("vehicle_availability", vehicles::AVAILABILITY)
    },
    file_schema("system_alerts", system::ALERTS),
    FileSchema { from: SpecVersion::V2_1, ..file_schema("geofencing_zones", vehicles::ZONES) },
];

pub(super) fn find_schema(name: &str) -> Option<&'static FileSchema> {
    TABLES.iter().find(|table| table.name == name)
}
