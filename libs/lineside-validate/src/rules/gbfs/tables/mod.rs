//! The files of a system and their fields, version by version, after the specification and its
//! JSON schemas (MobilityData/gbfs and gbfs-json-schema, versions 1.0 to 3.1-RC3).

mod stations;
mod system;
mod vehicles;

use super::{field::Field, version::Version};

/// A file.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name, without `.json`.
    pub(super) name: &'static str,
    /// Its fields, those that hold others before these.
    pub(super) fields: &'static [Field],
    pub(super) from: Version,
    pub(super) to: Version,
}

const fn table(name: &'static str, fields: &'static [Field]) -> Table {
    Table { name, fields, from: Version::V1_0, to: Version::V3_1 }
}

/// All files, in the order in which they are read: what is named comes before what names it.
pub(super) static TABLES: &[Table] = &[
    table("gbfs", system::DISCOVERY),
    Table { from: Version::V1_1, ..table("gbfs_versions", system::VERSIONS) },
    Table { from: Version::V3_0, ..table("manifest", system::MANIFEST) },
    table("system_information", system::INFORMATION),
    table("system_regions", system::REGIONS),
    table("system_pricing_plans", system::PLANS),
    Table { to: Version::V2_3, ..table("system_hours", system::HOURS) },
    Table { to: Version::V2_3, ..table("system_calendar", system::CALENDAR) },
    Table { from: Version::V2_1, ..table("vehicle_types", vehicles::TYPES) },
    table("station_information", stations::INFORMATION),
    table("station_status", stations::STATUS),
    Table { to: Version::V2_3, ..table("free_bike_status", vehicles::BIKES) },
    Table { from: Version::V3_0, ..table("vehicle_status", vehicles::STATUS) },
    Table { from: Version::V3_1, ..table("vehicle_availability", vehicles::AVAILABILITY) },
    table("system_alerts", system::ALERTS),
    Table { from: Version::V2_1, ..table("geofencing_zones", vehicles::ZONES) },
];

/// The file of that name.
pub(super) fn find(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}
