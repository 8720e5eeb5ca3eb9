//! Errors of opening and writing the store, with messages that say what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The reason why the database file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A newer version of the program wrote the file.
    #[error(
        "{} was written by a newer Lineside: its tables are version {found}, and this one knows {known}; start that \
         version, or move the file away to begin a new one", path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// The file is not a database, or is damaged.
    #[error(
        "{} is damaged ({reason}): move it away, with the files beside it that begin with the same name, and a new one is \
         begun; or put a copy from before in its place. In it are the feeds that were added, changed, paused or removed while \
         the server ran, which versions of schedules and which last good bytes are whose, and what is remembered of \
         polling: a new one begins without them", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The message of SQLite.
        reason: String,
    },
    /// The disk or the folder prevents reading or writing.
    #[error("{} cannot be used: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The message of SQLite or the system.
        reason: String,
    },
    /// Data could not be written to the disk in time.
    #[error("{} could not be written in time", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
    },
}

impl StoreError {
    /// Converts an error of SQLite.
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

/// Returns true if a retry may succeed.
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
