//! The data of one schedule.

use std::sync::OnceLock;

use super::{
    files::GtfsFile,
    links::RowJoinCache,
    services::ServiceCalendar,
    table::{FileReadStatus, GtfsTable},
    zones::FlexZones,
};
use crate::cancel::{CancelToken, CancelUnwindCheck};

/// A schedule in memory.
#[derive(Debug)]
pub struct GtfsFeed {
    /// The tables of all files of the reference, in its order.
    tables: Vec<GtfsTable>,
    /// The names of all files at the top level of the dataset.
    pub(super) names: Vec<String>,
    zones: FlexZones,
    pub(super) joins: RowJoinCache,
    pub(super) services: OnceLock<ServiceCalendar>,
    pub(super) cancel_check: CancelUnwindCheck,
}

impl GtfsFeed {
    pub(super) fn new(tables: Vec<GtfsTable>, zones: FlexZones, names: Vec<String>) -> GtfsFeed {
        let (joins, services) = (RowJoinCache::default(), OnceLock::new());
        GtfsFeed {
            tables,
            zones,
            names,
            joins,
            services,
            cancel_check: CancelUnwindCheck::default(),
        }
    }

    /// Makes rules over the feed unwind once cancelled, until it is
    /// [detached](GtfsFeed::disable_cancellation).
    pub(crate) fn enable_cancellation(&mut self, cancel: &CancelToken) {
        self.cancel_check = CancelUnwindCheck::new(cancel);
        self.tables.iter_mut().for_each(|table| table.set_cancel_check(&self.cancel_check));
    }

    /// Ends the effect of cancellation, once the rules have finished.
    pub(crate) fn disable_cancellation(&self) {
        self.cancel_check.disable_cancellation();
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
    pub fn dataset_file_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the zones of demand-responsive services.
    pub fn geojson_flex_zones(&self) -> &FlexZones {
        &self.zones
    }

    /// Returns true if rules may rely on a file: it was read to its end, or is missing and
    /// optional.
    pub fn can_rules_use_file(&self, file: GtfsFile) -> bool {
        match self.table(file).read_status() {
            FileReadStatus::Parsed => true,
            FileReadStatus::Missing => !ALWAYS.contains(&file),
            FileReadStatus::Empty | FileReadStatus::BadHeader | FileReadStatus::BadRows => false,
        }
    }
}

/// The files that every schedule must have.
pub(super) const ALWAYS: [GtfsFile; 4] =
    [GtfsFile::Agency, GtfsFile::Routes, GtfsFile::Trips, GtfsFile::StopTimes];
