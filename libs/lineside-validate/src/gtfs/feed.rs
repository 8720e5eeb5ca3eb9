//! All that was read of one schedule.

use std::sync::OnceLock;

use super::{
    files::GtfsFile,
    links::JoinCache,
    services::ServiceCalendar,
    table::{GtfsTable, ReadStatus},
    zones::FlexZones,
};
use crate::cancel::{CancelCheck, CancelToken};

/// A schedule that was read.
#[derive(Debug)]
pub struct GtfsFeed {
    /// One for each file of the reference, in its order.
    tables: Vec<GtfsTable>,
    /// The names of all files at the top of the dataset.
    pub(super) names: Vec<String>,
    zones: FlexZones,
    pub(super) joins: JoinCache,
    pub(super) services: OnceLock<ServiceCalendar>,
    pub(super) brake: CancelCheck,
}

impl GtfsFeed {
    pub(super) fn new(tables: Vec<GtfsTable>, zones: FlexZones, names: Vec<String>) -> GtfsFeed {
        let (joins, services) = (JoinCache::default(), OnceLock::new());
        GtfsFeed { tables, zones, names, joins, services, brake: CancelCheck::default() }
    }

    /// Has rules over it end when they are stopped, until it is [let go](GtfsFeed::detach_cancel).
    pub(crate) fn attach_cancel(&mut self, stop: &CancelToken) {
        self.brake = CancelCheck::new(stop);
        self.tables.iter_mut().for_each(|table| table.attach_cancel(&self.brake));
    }

    /// The rules have ended.
    pub(crate) fn detach_cancel(&self) {
        self.brake.detach_cancel();
    }

    /// Unwinds if the look was stopped: for rules to ask where a single row or trip takes long.
    #[inline]
    pub(crate) fn unwind_if_cancelled(&self) {
        self.brake.unwind_if_cancelled();
    }

    /// A file, whether it is there or not.
    pub fn table(&self, file: GtfsFile) -> &GtfsTable {
        &self.tables[file as usize]
    }

    /// The names of all files at the top of the dataset.
    pub fn file_names(&self) -> &[String] {
        &self.names
    }

    /// The zones of services on demand.
    pub fn flex_zones(&self) -> &FlexZones {
        &self.zones
    }

    /// Whether rules may rely on a file: it was read to its end, or is missing and may be.
    pub fn is_file_usable(&self, file: GtfsFile) -> bool {
        match self.table(file).read_status() {
            ReadStatus::Parsed => true,
            ReadStatus::Missing => !ALWAYS.contains(&file),
            ReadStatus::Empty | ReadStatus::BadHeader | ReadStatus::BadRows => false,
        }
    }
}

/// The files that every schedule must have, whatever else it has.
pub(super) const ALWAYS: [GtfsFile; 4] =
    [GtfsFile::Agency, GtfsFile::Routes, GtfsFile::Trips, GtfsFile::StopTimes];
