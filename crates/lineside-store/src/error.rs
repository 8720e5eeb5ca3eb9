//! Errors of opening and writing the store, with messages that say what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// The reason why the database file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A newer version of the program wrote the file.
    #[error(
        "{} was written by a newer version of Lineside: the file has table version {found}, but \
        this program supports at most {known}; start the newer version, or move the file away to \
        begin with an empty one", path.display()
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
        "{} is damaged ({reason}); restore a backup of it, or move it and the files with the same \
        prefix away to begin with an empty one; an empty file lacks the feeds that were added, \
        changed, paused or removed at run time, the schedule versions, the snapshots and the poll \
        history", path.display()
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
    #[error("writing {} timed out", path.display())]
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
pub(crate) fn is_transient_sqlite_error(error: &rusqlite::Error) -> bool {
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
