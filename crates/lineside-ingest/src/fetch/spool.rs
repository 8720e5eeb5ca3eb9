//! A body that goes to a disk piece by piece, for whoever has no memory for it.

use std::{fmt, io::Write};

use super::{FailureCode, FetchError};

/// Where the pieces go. It may block for as long as a disk does, so it is for commands, not for feeds.
pub(super) struct BodySpool(Box<dyn Write + Send + Sync>);

impl BodySpool {
    pub(super) fn new(writer: Box<dyn Write + Send + Sync>) -> BodySpool {
        BodySpool(writer)
    }

    pub(super) fn write_piece(&mut self, piece: &[u8]) -> Result<(), FetchError> {
        let taken = self.0.write_all(piece);
        taken.map_err(|error| FetchError::new(FailureCode::File, error.to_string()))
    }
}

impl fmt::Debug for BodySpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").finish_non_exhaustive()
    }
}
