//! Why a store cannot be opened or written, in sentences that say what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A later version of the program wrote it.
    #[error(
        "{} was written by a newer Lineside: its tables are version {found}, and this one knows {known}; start that \
         version, or move the file away to begin a new one", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The latest version that is known here.
        known: i64,
    },
    /// It is no database, or no longer a whole one.
    #[error(
        "{} is damaged ({reason}): move it away, with the files beside it that begin with the same name, and a new one is \
         begun; or put a copy from before in its place. In it are the feeds that were added, changed, paused or removed while \
         the server ran, which versions of schedules and which last good bytes are whose, and what is remembered of \
         polling: a new one begins without them", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// The disk or the folder do not let it be read or written.
    #[error("{} cannot be used: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What SQLite or the system says.
        reason: String,
    },
    /// What was told is not on the disk yet.
    #[error("{} could not be written in time", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
    },
}

impl StoreError {
    /// In the words of this file.
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> StoreError {
        let (path, reason) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, reason }
            }
            _ => StoreError::Unusable { path, reason },
        }
    }

    pub(crate) fn from_io(path: &Path, error: &std::io::Error) -> StoreError {
        StoreError::Unusable { path: path.to_owned(), reason: error.to_string() }
    }
}

/// Whether the same may succeed when it is tried again.
pub(crate) fn is_transient(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OutOfMemory
        )
    )
}
