//! The writing connection. If the file cannot be opened for writing when the server starts, it is opened at a later
//! write.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rusqlite::Connection;

use crate::schema;

/// A file that is opened for writing as soon as possible.
#[derive(Debug)]
pub(crate) struct LazyWriteConnection {
    path: PathBuf,
    connection: Option<Connection>,
    /// True if readers have to work without the files next to it.
    is_read_only: Arc<AtomicBool>,
}

impl LazyWriteConnection {
    pub(crate) fn new(
        path: &Path,
        connection: Option<Connection>,
        is_read_only: Arc<AtomicBool>,
    ) -> LazyWriteConnection {
        LazyWriteConnection { path: path.to_owned(), connection, is_read_only }
    }

    pub(crate) fn database_path(&self) -> &Path {
        &self.path
    }

    /// Opens the file unless it is open.
    ///
    /// # Errors
    /// Returns an error if the file still cannot be opened.
    pub(crate) fn get_or_open_connection(&mut self) -> rusqlite::Result<&mut Connection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let connection = schema::reopen_for_writing(&self.path)?;
                // This precedes the first write, which readers without a WAL would not see.
                self.is_read_only.store(false, Ordering::Release);
                connection
            }
        };
        Ok(self.connection.insert(connection))
    }
}
