//! A body written piece by piece to a disk instead of memory.

use std::{fmt, io::Write};

use crate::fetch_failure::{FailureCode, FetchError};

/// The destination of the pieces. Writing may block on a disk, so this is for commands, not for feeds.
pub(super) struct BodyStreamWriter(Box<dyn Write + Send + Sync>);

impl BodyStreamWriter {
    pub(super) fn new(writer: Box<dyn Write + Send + Sync>) -> BodyStreamWriter {
        BodyStreamWriter(writer)
    }

    pub(super) fn write_piece(&mut self, piece: &[u8]) -> Result<(), FetchError> {
        let bytes_written = self.0.write_all(piece);
        bytes_written.map_err(|error| FetchError::new(FailureCode::File, error.to_string()))
    }
}

impl fmt::Debug for BodyStreamWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodySpool").finish_non_exhaustive()
    }
}
