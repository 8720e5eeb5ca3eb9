//! All that was read of one schedule.

use std::sync::OnceLock;

use super::{
    files::File,
    links::Joins,
    services::Services,
    table::{Status, Table},
    zones::Zones,
};
use crate::stop::{Brake, Stop};

/// A schedule that was read.
#[derive(Debug)]
pub struct Feed {
    /// One for each file of the reference, in its order.
    tables: Vec<Table>,
    /// The names of all files at the top of the dataset.
    pub(super) names: Vec<String>,
    zones: Zones,
    pub(super) joins: Joins,
    pub(super) services: OnceLock<Services>,
    pub(super) brake: Brake,
}

impl Feed {
    pub(super) fn new(tables: Vec<Table>, zones: Zones, names: Vec<String>) -> Feed {
        let (joins, services) = (Joins::default(), OnceLock::new());
        Feed { tables, zones, names, joins, services, brake: Brake::default() }
    }

    /// Has rules over it end when they are stopped, until it is [let go](Feed::let_go).
    pub(crate) fn hold(&mut self, stop: &Stop) {
        self.brake = Brake::new(stop);
        self.tables.iter_mut().for_each(|table| table.hold(&self.brake));
    }

    /// The rules have ended.
    pub(crate) fn let_go(&self) {
        self.brake.release();
    }

    /// Unwinds if the look was stopped: for rules to ask where a single row or trip takes long.
    #[inline]
    pub(crate) fn look(&self) {
        self.brake.look();
    }

    /// A file, whether it is there or not.
    pub fn table(&self, file: File) -> &Table {
        &self.tables[file as usize]
    }

    /// The names of all files at the top of the dataset.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The zones of services on demand.
    pub fn zones(&self) -> &Zones {
        &self.zones
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
