//! All that was read of one schedule.

use std::sync::OnceLock;

use lineside_formats::gtfs::fields::LOCATIONS;

use super::{
    files::File,
    links::Joins,
    services::Services,
    table::{Status, Table},
};

/// A schedule that was read.
#[derive(Debug)]
pub struct Feed {
    /// One for each file of the reference, in its order.
    tables: Vec<Table>,
    /// The names of all files at the top of the dataset.
    pub(super) names: Vec<String>,
    pub(super) joins: Joins,
    pub(super) services: OnceLock<Services>,
}

impl Feed {
    pub(super) fn new(tables: Vec<Table>, names: Vec<String>) -> Feed {
        Feed { tables, names, joins: Joins::default(), services: OnceLock::new() }
    }

    /// A file, whether it is there or not.
    pub fn table(&self, file: File) -> &Table {
        &self.tables[file as usize]
    }

    /// The names of all files at the top of the dataset.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the dataset has zones, as GeoJSON.
    pub fn has_locations(&self) -> bool {
        self.names.iter().any(|name| name.eq_ignore_ascii_case(LOCATIONS))
    }

    /// Whether rules may rely on a file: it was read to its end, or is missing and may be.
    pub fn is_usable(&self, file: File) -> bool {
        match self.table(file).status() {
            Status::Parsed => true,
            Status::Missing => !ALWAYS.contains(&file),
            Status::Empty | Status::BadHeader | Status::BadRows => false,
        }
    }
}

/// The files that every schedule must have, whatever else it has.
pub(super) const ALWAYS: [File; 4] = [File::Agency, File::Routes, File::Trips, File::StopTimes];
