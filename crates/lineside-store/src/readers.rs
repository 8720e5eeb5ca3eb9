//! A few connections that read. In WAL none of them waits for the writer, nor the writer for them.

use std::path::{Path, PathBuf};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use crate::{limits::READERS_MAX, schema};

/// The connections, of which each is lent to one reader at a time.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    lent: Mutex<Lent>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct Lent {
    idle: Vec<Connection>,
    n_lent: usize,
}

/// A connection that goes back, also when its reader breaks.
struct Loan<'a> {
    readers: &'a Readers,
    connection: Option<Connection>,
}

impl Readers {
    pub(crate) fn new(path: &Path) -> Readers {
        Readers { path: path.to_owned(), lent: Mutex::default(), returned: Condvar::new() }
    }

    /// Reads with a connection; waits while all of them are lent.
    pub(crate) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut loan = self.lend();
        let connection = match loan.connection.take() {
            Some(connection) => connection,
            None => schema::open_reader(&self.path)?,
        };
        read(loan.connection.insert(connection))
    }

    fn lend(&self) -> Loan<'_> {
        let mut lent = self.lent.lock();
        self.returned.wait_while(&mut lent, |lent| lent.n_lent >= READERS_MAX);
        lent.n_lent += 1;
        Loan { readers: self, connection: lent.idle.pop() }
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut lent = self.readers.lent.lock();
        lent.n_lent -= 1;
        lent.idle.extend(self.connection.take());
        drop(lent);
        self.readers.returned.notify_one();
    }
}
