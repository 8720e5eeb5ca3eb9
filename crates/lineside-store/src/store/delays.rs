//! Delay counts in a store.

use lineside_model::ArchiveError;
use lineside_sync::UnixMillis;

use crate::{
    store::Store,
    tables::delays::{DelayRow, select_rows},
    write_request::WriteRequest,
};

impl Store {
    /// Stores the rows, replacing earlier ones of the same quarter.
    pub fn store_delays(&self, rows: Vec<DelayRow>) {
        if !rows.is_empty() {
            self.send_to_writer(WriteRequest::Delays(rows));
        }
    }

    /// Returns the rows from a time on, ordered by time.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_delays(&self, from: UnixMillis) -> Result<Vec<DelayRow>, ArchiveError> {
        self.with_reader(|connection| select_rows(connection, from))
    }
}
