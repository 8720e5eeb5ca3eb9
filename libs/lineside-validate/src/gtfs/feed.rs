//! The data of one schedule.

use std::sync::OnceLock;

use super::{
    files::GtfsFile,
    links::JoinCache,
    services::ServiceCalendar,
    table::{GtfsTable, ReadStatus},
    zones::FlexZones,
};
use crate::cancel::{CancelCheck, CancelToken};

/// A schedule in memory.
#[derive(Debug)]
pub struct GtfsFeed {
    /// The tables of all files of the reference, in its order.
    tables: Vec<GtfsTable>,
    /// The names of all files at the top level of the dataset.
    pub(super) names: Vec<String>,
    zones: FlexZones,
    pub(super) joins: JoinCache,
    pub(super) services: OnceLock<ServiceCalendar>,
    pub(super) cancel_check: CancelCheck,
}

impl GtfsFeed {
    pub(super) fn new(tables: Vec<GtfsTable>, zones: FlexZones, names: Vec<String>) -> GtfsFeed {
        let (joins, services) = (JoinCache::default(), OnceLock::new());
        GtfsFeed { tables, zones, names, joins, services, cancel_check: CancelCheck::default() }
    }

    /// Makes rules over the feed unwind once cancelled, until it is
    /// [detached](GtfsFeed::detach_cancel).
    pub(crate) fn attach_cancel(&mut self, cancel: &CancelToken) {
        self.cancel_check = CancelCheck::new(cancel);
        self.tables.iter_mut().for_each(|table| table.attach_cancel(&self.cancel_check));
    }

    /// Ends the effect of cancellation, once the rules have finished.
    pub(crate) fn detach_cancel(&self) {
        self.cancel_check.detach_cancel();
    }

    /// Unwinds if the run was cancelled. Rules call this if a single row or trip takes long.
    #[inline]
    pub(crate) fn unwind_if_cancelled(&self) {
        self.cancel_check.unwind_if_cancelled();
    }

    /// Returns the table of a file, even if the file is missing.
    pub fn table(&self, file: GtfsFile) -> &GtfsTable {
        &self.tables[file as usize]
    }

    /// Returns the names of all files at the top level of the dataset.
    pub fn file_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the zones of demand-responsive services.
    pub fn flex_zones(&self) -> &FlexZones {
        &self.zones
    }

    /// Returns true if rules may rely on a file: it was read to its end, or is missing and
    /// optional.
    pub fn is_file_usable(&self, file: GtfsFile) -> bool {
        match self.table(file).read_status() {
            ReadStatus::Parsed => true,
            ReadStatus::Missing => !ALWAYS.contains(&file),
            ReadStatus::Empty | ReadStatus::BadHeader | ReadStatus::BadRows => false,
        }
    }
}

/// The files that every schedule must have.
pub(super) const ALWAYS: [GtfsFile; 4] =
    [GtfsFile::Agency, GtfsFile::Routes, GtfsFile::Trips, GtfsFile::StopTimes];
