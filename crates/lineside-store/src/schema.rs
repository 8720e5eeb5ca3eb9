//! The tables, and the migration steps for older files.
//!
//! A released step is never changed; new ones are appended. Each step is applied completely or not at all.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    os::unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    path::Path,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::{error::StoreError, limits::BUSY};

/// Only the owner has access, as to all private files of the data folder.
const MODE: u32 = 0o600;

/// The changes of each version. Times are in milliseconds since 1970, durations in milliseconds.
const STEPS: &[&str] = &["
    CREATE TABLE feed (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
    ) STRICT;

    -- The polls of all feeds. `words` is the error of a failed poll, else NULL; `phase` is the phase that it reached, and
    -- `head` the beginning of the reply.
    CREATE TABLE poll (
        id INTEGER PRIMARY KEY,
        feed INTEGER NOT NULL REFERENCES feed (id),
        at INTEGER NOT NULL,
        took INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        words TEXT,
        phase TEXT,
        status INTEGER,
        head TEXT,
        serving INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX poll_of_feed ON poll (feed, at);
    CREATE INDEX poll_failed_of_feed ON poll (feed, at) WHERE words IS NOT NULL;
    CREATE INDEX poll_good ON poll (at) WHERE words IS NULL;
    CREATE INDEX poll_failed ON poll (at) WHERE words IS NOT NULL;

    -- Totals of the polls that began in an interval; `width` is in seconds, `start` in milliseconds.
    CREATE TABLE bin (
        feed INTEGER NOT NULL REFERENCES feed (id),
        width INTEGER NOT NULL,
        start INTEGER NOT NULL,
        polls INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        stale INTEGER NOT NULL,
        unserved INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        took INTEGER NOT NULL,
        last_failed INTEGER NOT NULL,
        last_serving INTEGER NOT NULL,
        PRIMARY KEY (feed, width, start)
    ) STRICT, WITHOUT ROWID;

    -- The successive states of each feed.
    CREATE TABLE incident (
        id INTEGER PRIMARY KEY,
        feed INTEGER NOT NULL REFERENCES feed (id),
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        began INTEGER NOT NULL,
        ended INTEGER
    ) STRICT;
    CREATE INDEX incident_of_feed ON incident (feed, id);
    CREATE INDEX incident_open ON incident (feed) WHERE ended IS NULL;
    CREATE INDEX incident_ended ON incident (ended) WHERE ended IS NOT NULL;

    -- The periods in which the server ran.
    CREATE TABLE life (
        id INTEGER PRIMARY KEY,
        began INTEGER NOT NULL,
        seen INTEGER NOT NULL
    ) STRICT;
", "
    -- The metadata of the snapshot of each feed, or of each of its files. The bytes are in a separate file, named by their
    -- SHA-256, which is `blob`; the entity tag is derived from `hash`.
    CREATE TABLE snapshot (
        feed INTEGER NOT NULL REFERENCES feed (id),
        file TEXT NOT NULL,
        blob BLOB NOT NULL,
        size INTEGER NOT NULL,
        hash BLOB NOT NULL,
        source TEXT NOT NULL,
        format TEXT NOT NULL,
        content_type TEXT NOT NULL,
        file_name TEXT NOT NULL,
        fetched INTEGER NOT NULL,
        modified INTEGER,
        etag BLOB,
        last_modified BLOB,
        confirmed INTEGER NOT NULL,
        PRIMARY KEY (feed, file)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX snapshot_of_blob ON snapshot (blob);
", "
    -- The schedule versions of each feed. `label` is the publisher's; dates have the form 2026-03-04.
    CREATE TABLE version (
        id INTEGER PRIMARY KEY,
        feed INTEGER NOT NULL REFERENCES feed (id),
        blob BLOB NOT NULL,
        size INTEGER NOT NULL,
        first_seen INTEGER NOT NULL,
        last_seen INTEGER NOT NULL,
        label TEXT,
        valid_from TEXT,
        valid_until TEXT,
        routes INTEGER NOT NULL,
        stops INTEGER NOT NULL,
        trips INTEGER NOT NULL,
        UNIQUE (feed, blob)
    ) STRICT;
    CREATE INDEX version_of_blob ON version (blob);
", "
    -- The operator's overrides of the configuration file, by feed.
    CREATE TABLE laid_over (
        feed TEXT PRIMARY KEY,
        body TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- The history of the overrides. Numbers are never reused.
    CREATE TABLE edit (
        n INTEGER PRIMARY KEY AUTOINCREMENT,
        feed TEXT NOT NULL,
        at INTEGER NOT NULL,
        who TEXT NOT NULL,
        what TEXT NOT NULL,
        before TEXT,
        after TEXT,
        undoes INTEGER
    ) STRICT;
    CREATE INDEX edit_of_feed ON edit (feed, n);
", "
    -- The last state of a feed that was sent to a notification target: `word` is its short form, `pending` is the content
    -- that the target has not accepted yet.
    CREATE TABLE notification (
        target TEXT NOT NULL,
        feed INTEGER NOT NULL REFERENCES feed (id),
        kind TEXT NOT NULL,
        word TEXT NOT NULL,
        at INTEGER NOT NULL,
        pending TEXT,
        PRIMARY KEY (target, feed, kind)
    ) STRICT, WITHOUT ROWID;
", "
    -- The report of each version of a feed's data; `version` is a hash of its bytes, `body` the whole report in JSON.
    CREATE TABLE report (
        id INTEGER PRIMARY KEY,
        feed INTEGER NOT NULL REFERENCES feed (id),
        subject TEXT NOT NULL,
        version TEXT NOT NULL,
        at INTEGER NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (feed, subject, version)
    ) STRICT;
    CREATE INDEX report_of_feed ON report (feed, subject, at);
", "
    -- The number of late trips in a quarter of an hour, summed over its samples: of a feed, if `line` is empty, or of one of
    -- its lines, by `route_id`.
    CREATE TABLE delay (
        id INTEGER PRIMARY KEY,
        feed INTEGER NOT NULL REFERENCES feed (id),
        line TEXT NOT NULL,
        start INTEGER NOT NULL,
        trips INTEGER NOT NULL,
        late INTEGER NOT NULL,
        cancelled INTEGER NOT NULL,
        UNIQUE (feed, line, start)
    ) STRICT;
    CREATE INDEX delay_start ON delay (start);
", "
    -- `refused` is 1 if the data were refused; `brief` is a summary in JSON, for lists of reports.
    ALTER TABLE report ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE report ADD COLUMN brief TEXT NOT NULL DEFAULT '';
    UPDATE report SET refused = coalesce(json_extract(body, '$.subject.refused'), 0) WHERE json_valid(body);
", "
    -- The first and the last service date of a version, as 2026-03-04; NULL for rows from before this step.
    ALTER TABLE version ADD COLUMN service_start TEXT;
    ALTER TABLE version ADD COLUMN service_end TEXT;
"];

/// Returns the latest version of the tables.
pub(crate) fn latest_version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Opens the file for writing, creates it if it is absent, and migrates its tables to the latest version. If it has no
/// tables, `begin` is called before they are created.
///
/// # Errors
/// Returns an error if the file is damaged, newer or not accessible, or if `begin` fails.
pub(crate) fn open_or_create(
    path: &Path,
    begin: impl FnOnce() -> Result<(), StoreError>,
) -> Result<Connection, StoreError> {
    // SQLite would make it readable for all users; the files that it adds have the permissions of this one.
    let made = OpenOptions::new().create(true).append(true).mode(MODE).open(path);
    made.map_err(|error| StoreError::from_io(path, &error))?;
    let fails = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let mut connection = open_write_connection(path, BUSY).map_err(fails)?;
    let found = read_schema_version(&connection).map_err(fails)?;
    // This check comes before any change, because the newer program may be used again.
    if found > latest_version() {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: latest_version() });
    }
    if found == 0 {
        begin()?;
    }
    enable_wal_and_migrate(&mut connection, found).map_err(fails)?;
    Ok(connection)
}

/// Opens a file for writing that was read-only when the store was opened.
pub(crate) fn reopen_for_writing(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = open_write_connection(path, BUSY)?;
    let found = read_schema_version(&connection)?;
    enable_wal_and_migrate(&mut connection, found)?;
    Ok(connection)
}

/// Switches to WAL, and migrates the tables to the latest version.
fn enable_wal_and_migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    migrate_tables(connection, found)
}

/// Returns true if the tables can be read without a WAL: an earlier process closed the file and left no WAL with newer
/// rows.
pub(crate) fn is_readable_without_wal(path: &Path) -> bool {
    let mut wal = OsString::from(path);
    wal.push("-wal");
    let has_wal = fs::metadata(wal).is_ok_and(|wal| wal.len() > 0);
    let found = || read_schema_version(&open_immutable_connection(path)?);
    !has_wal && found().is_ok_and(|found| (1..=latest_version()).contains(&found))
}

/// Moves the rows of a WAL into the file, if the disk has room. An exclusive connection has the WAL index in memory and
/// needs no file for it. On failure the WAL remains unchanged.
///
/// # Errors
/// Returns an error if the rows cannot be written.
pub(crate) fn checkpoint_wal(path: &Path) -> rusqlite::Result<()> {
    let connection = open_write_connection(path, BUSY)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

/// Opens the existing file for writing. `busy` is the timeout for locks of other writers.
pub(crate) fn open_write_connection(path: &Path, busy: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(busy)?;
    // A transaction that begins with a read would not wait for other writers, but fail at its first write.
    connection.set_transaction_behavior(TransactionBehavior::Immediate);
    Ok(connection)
}

/// Opens the file read-only.
pub(crate) fn open_read_connection(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// Opens the file read-only, without the files that SQLite would create next to it, for which a full disk has no room.
/// The connection does not see later writes.
pub(crate) fn open_immutable_connection(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags)
}

fn read_schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn migrate_tables(connection: &mut Connection, from: i64) -> rusqlite::Result<()> {
    let done = usize::try_from(from).unwrap_or(0);
    for (step, sql) in STEPS.iter().enumerate().skip(done) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", i64::try_from(step).unwrap_or(0) + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
