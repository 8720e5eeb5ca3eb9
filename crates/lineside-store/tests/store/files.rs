//! Older, newer, damaged and inaccessible files.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use lineside_model::{Secret, SnapshotStore as _};
use lineside_store::{FeedOverrideEdit, StoreError};

use super::{
    snapshots::{blobs, key, save},
    *,
};

/// Returns a change of the feed's override.
fn edit(before: Option<&str>, after: Option<&str>) -> FeedOverrideEdit {
    let secret = |text: Option<&str>| text.map(Secret::new);
    FeedOverrideEdit {
        feed: feed("city"),
        at: EIGHT,
        who: "an admin".to_owned(),
        what: "changed".to_owned(),
        before: secret(before),
        after: secret(after),
        undoes: None,
    }
}

fn refused(fixture: &StoreFixture) -> StoreError {
    Store::open(&fixture.file(), Arc::<SimulatedClock>::clone(&fixture.clock), KEEP).unwrap_err()
}

#[test]
fn a_newer_file_is_refused_and_left_unchanged() {
    let fixture = StoreFixture::new();
    drop(fixture.open());
    let connection = rusqlite::Connection::open(fixture.file()).unwrap();
    connection.pragma_update(None, "user_version", 1_000).unwrap();
    drop(connection);
    let before = fs::read(fixture.file()).unwrap();
    let error = refused(&fixture);
    assert!(matches!(error, StoreError::Newer { found: 1_000, .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("lineside.db was written by a newer version"), "{message}");
    assert!(message.contains("start the newer version, or move the file away"), "{message}");
    assert_eq!(fs::read(fixture.file()).unwrap(), before);
}

#[test]
fn a_damaged_file_is_refused_with_its_name_and_advice() {
    let fixture = StoreFixture::new();
    fs::write(
        fixture.file(),
        "this is a text, and long enough for the head of a file. ".repeat(40),
    )
    .unwrap();
    let before = fs::read(fixture.file()).unwrap();
    let error = refused(&fixture);
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("lineside.db is damaged"), "{message}");
    assert!(
        message.contains("move it and") && message.contains("removed at run time"),
        "{message}"
    );
    assert_eq!(fs::read(fixture.file()).unwrap(), before);
}

/// Moves the database file and the files next to it with the same prefix.
fn move_file(from: &Path, to: &Path) {
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = file.file_name();
        if name.to_str().unwrap().starts_with("lineside.db") {
            fs::rename(file.path(), to.join(name)).unwrap();
        }
    }
}

#[test]
fn a_new_database_does_not_adopt_earlier_blobs() {
    let fixture = StoreFixture::new();
    let (lost, found) =
        (fixture.folder.path().join("blobs"), fixture.folder.path().join("blobs-2"));
    fs::create_dir(fixture.folder.path().join("blobs-1")).unwrap();
    let store = fixture.open();
    assert!(save(&store, "city", "one"));
    drop(store);
    let body = blobs(&fixture).pop().unwrap();
    let before = tempfile::tempdir().unwrap();
    move_file(fixture.folder.path(), before.path());
    let store = fixture.open();
    assert_eq!(store.find_snapshot_metadata(&key("city")), None);
    // The save runs in the thread that also sweeps at the start, so the sweep is over.
    assert!(save(&store, "city", "two"));
    drop(store);
    drop(fixture.open());
    let moved = found.join(body.strip_prefix(&lost).unwrap());
    assert_eq!(fs::read(&moved).unwrap(), b"one");
    assert!(fixture.file().exists() && !body.exists());
    // Both are restored to their original paths.
    fs::remove_dir_all(&lost).unwrap();
    fs::rename(&found, &lost).unwrap();
    move_file(fixture.folder.path(), tempfile::tempdir().unwrap().path());
    move_file(before.path(), fixture.folder.path());
    assert_eq!(fixture.open().read_snapshot(&key("city")).unwrap().1, "one");
}

#[test]
fn an_unusable_path_is_refused_with_the_reason() {
    let fixture = StoreFixture::new();
    fs::create_dir(fixture.file()).unwrap();
    let error = refused(&fixture);
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(error.to_string().contains("lineside.db cannot be used"), "{error}");
}

#[test]
fn the_database_files_are_private() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.record_poll(&feed("city"), poll(EIGHT, false));
    store.flush_writes().unwrap();
    let all = fs::read_dir(fixture.folder.path()).unwrap().map(Result::unwrap);
    for file in all.filter(|file| file.metadata().unwrap().is_file()) {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.file_name());
    }
}

/// Simulates a full disk, on which SQLite cannot create the file that WAL needs: puts a link in its place, which SQLite
/// does not follow.
fn prevent_wal(fixture: &StoreFixture) -> PathBuf {
    let file = fixture.folder.path().join("lineside.db-shm");
    symlink(fixture.folder.path().join("nowhere"), &file).unwrap();
    file
}

#[test]
fn a_full_disk_after_a_clean_stop_still_allows_reading() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "the last good bytes"));
    store.record_poll(&feed("city"), poll(EIGHT, false));
    let number = store.save_override_edit(&edit(None, Some("paused = true"))).unwrap();
    drop(store);
    let in_the_way = prevent_wal(&fixture);
    let store = fixture.open();
    assert!(store.metrics().is_failing);
    assert_eq!(&*store.read_snapshot(&key("city")).unwrap().1, b"the last good bytes");
    assert_eq!(n_polls(&store), 1);
    assert_eq!(store.list_feed_overrides().unwrap().len(), 1);
    store.save_override_edit(&edit(Some("paused = true"), None)).unwrap_err();
    assert_eq!(store.list_feed_overrides().unwrap().len(), 1);
    store.record_poll(&feed("city"), poll(EIGHT + Duration::from_secs(1), false));
    wait_until("a retry", || store.metrics().failures > 1);
    // Once there is room, new writes are readable.
    fs::remove_file(&in_the_way).unwrap();
    let later = store.save_override_edit(&edit(Some("paused = true"), None)).unwrap();
    assert!(later > number);
    assert!(store.list_feed_overrides().unwrap().is_empty());
    wait_until("the writes", || !store.metrics().is_failing && n_polls(&store) == 2);
    drop(store);
    assert!(fixture.open().list_feed_overrides().unwrap().is_empty());
}

#[test]
fn a_full_disk_after_a_crash_still_allows_reading_the_wal() {
    let fixture = StoreFixture::new();
    drop(fixture.open());
    let store = fixture.open();
    store.save_override_edit(&edit(None, Some("paused = true"))).unwrap();
    // Copies the files as a killed process leaves them, without the WAL index.
    let [copy, locked] = [StoreFixture::new(), StoreFixture::new()];
    for to in [&copy, &locked] {
        for name in ["lineside.db", "lineside.db-wal"] {
            fs::copy(fixture.folder.path().join(name), to.folder.path().join(name)).unwrap();
        }
    }
    // The store does not open without the WAL if it cannot be merged into the file.
    let other = rusqlite::Connection::open(locked.file()).unwrap();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    assert!(matches!(refused(&locked), StoreError::Unusable { .. }));
    let in_the_way = prevent_wal(&copy);
    let opened = copy.open();
    assert!(opened.metrics().is_failing);
    assert_eq!(opened.list_feed_overrides().unwrap().len(), 1);
    fs::remove_file(in_the_way).unwrap();
    opened.save_override_edit(&edit(Some("paused = true"), None)).unwrap();
    assert!(opened.list_feed_overrides().unwrap().is_empty());
}

#[test]
fn a_start_on_a_locked_file_reads_now_and_writes_later() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "the last good bytes"));
    store.record_poll(&feed("city"), poll(EIGHT, false));
    drop(store);
    // Every write fails for now, as on a full disk.
    let other = rusqlite::Connection::open(fixture.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let store = fixture.open();
    assert!(store.metrics().is_failing);
    assert_eq!(&*store.read_snapshot(&key("city")).unwrap().1, b"the last good bytes");
    assert_eq!(n_polls(&store), 1);
    store.record_poll(&feed("city"), poll(UnixMillis(EIGHT.0 + 1_000), false));
    other.execute_batch("ROLLBACK").unwrap();
    wait_until("the writes", || !store.metrics().is_failing && n_polls(&store) == 2);
    let server_runs = store.list_server_runs(UnixMillis(0)).unwrap();
    assert_eq!(server_runs.len(), 2, "{server_runs:?}");
}
