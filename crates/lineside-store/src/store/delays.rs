//! Delay counts in a store.

use lineside_model::ArchiveError;
use lineside_sync::UnixMillis;

use crate::{
    store::Store,
    tables::delays::{DelayCountRow, select_delay_rows_since},
    write_request::WriteRequest,
};

impl Store {
    /// Stores the rows, replacing earlier ones of the same quarter.
    pub fn store_delay_counts(&self, rows: Vec<DelayCountRow>) {
        if !rows.is_empty() {
            self.queue_write_request(WriteRequest::Delays(rows));
        }
    }

    /// Returns the rows from a time on, ordered by time.
    ///
    /// # Errors
    /// Returns an error if the read fails.
    pub fn list_delay_counts(&self, from: UnixMillis) -> Result<Vec<DelayCountRow>, ArchiveError> {
        self.with_read_connection(|connection| select_delay_rows_since(connection, from))
    }
}
