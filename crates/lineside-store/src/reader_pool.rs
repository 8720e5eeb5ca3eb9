//! A few reading connections. In WAL mode readers and the writer never wait for each other.
//!
//! Until the file has been opened for writing, connections read it as immutable: WAL needs a file next to it, for which
//! a full disk has no room.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use crate::{limits::READERS_MAX, schema};

/// The connections; each is lent to one reader at a time.
#[derive(Debug)]
pub(crate) struct ReadConnectionPool {
    path: PathBuf,
    is_read_only: Arc<AtomicBool>,
    state: Mutex<PoolState>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    /// Idle connections; true if opened while the file was read-only.
    idle: Vec<(Connection, bool)>,
    n_lent: usize,
}

/// A lent connection, which is returned even if its reader panics.
struct PooledConnection<'a> {
    readers: &'a ReadConnectionPool,
    connection: Option<(Connection, bool)>,
}

impl ReadConnectionPool {
    pub(crate) fn new(path: &Path, is_read_only: Arc<AtomicBool>) -> ReadConnectionPool {
        ReadConnectionPool {
            path: path.to_owned(),
            is_read_only,
            state: Mutex::default(),
            returned: Condvar::new(),
        }
    }

    /// Calls `read` with a connection; waits while all are lent.
    pub(crate) fn with_connection<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut loan = self.acquire_connection();
        let is_read_only = self.is_read_only.load(Ordering::Acquire);
        // A connection from the read-only phase does not see later writes.
        let known =
            loan.connection.take().filter(|(_, was_read_only)| *was_read_only == is_read_only);
        let connection = match known {
            Some((connection, _)) => connection,
            None if is_read_only => schema::open_immutable_connection(&self.path)?,
            None => schema::open_read_connection(&self.path)?,
        };
        let (connection, _) = loan.connection.insert((connection, is_read_only));
        read(connection)
    }

    /// Closes the idle connections.
    pub(crate) fn close_all_idle_connections(&self) {
        self.state.lock().idle.clear();
    }

    fn acquire_connection(&self) -> PooledConnection<'_> {
        let mut state = self.state.lock();
        self.returned.wait_while(&mut state, |lent| lent.n_lent >= READERS_MAX);
        state.n_lent += 1;
        PooledConnection { readers: self, connection: state.idle.pop() }
    }
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state.lock();
        state.n_lent -= 1;
        state.idle.extend(self.connection.take());
        drop(state);
        self.readers.returned.notify_one();
    }
}
