//! A body that goes to a disk piece by piece, for whoever has no memory for it.

use std::{fmt, io::Write};

use super::{Failure, FailureCode};

/// Where the pieces go. It may block for as long as a disk does, so it is for commands, not for feeds.
pub(super) struct Spool(Box<dyn Write + Send + Sync>);

impl Spool {
    pub(super) fn new(writer: Box<dyn Write + Send + Sync>) -> Spool {
        Spool(writer)
    }

    pub(super) fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let taken = self.0.write_all(piece);
        taken.map_err(|error| Failure::new(FailureCode::File, error.to_string()))
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").finish_non_exhaustive()
    }
}
