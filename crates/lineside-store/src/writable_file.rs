//! The connection that writes. Where the disk does not let the file be opened for writing when the server starts, it is
//! opened when something is to be written later.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::Connection;

use crate::schema;

/// The file, which is opened for writing as soon as that succeeds.
#[derive(Debug)]
pub(crate) struct WritableFile {
    path: PathBuf,
    connection: Option<Connection>,
    /// Whether readers have to do without the files next to it.
    is_read_only: Arc<AtomicBool>,
}

impl WritableFile {
    pub(crate) fn new(
        path: &Path,
        connection: Option<Connection>,
        is_read_only: Arc<AtomicBool>,
    ) -> WritableFile {
        WritableFile { path: path.to_owned(), connection, is_read_only }
    }

    pub(crate) fn file_path(&self) -> &Path {
        &self.path
    }

    /// Opens it unless it is open.
    ///
    /// # Errors
    /// If the disk still does not take it.
    pub(crate) fn ensure_open(&mut self) -> rusqlite::Result<&mut Connection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let connection = schema::reopen_for_writing(&self.path)?;
                // Before anything is written, which readers without a WAL would not see.
                self.is_read_only.store(false, Ordering::Release);
                connection
            }
        };
        Ok(self.connection.insert(connection))
    }
}
