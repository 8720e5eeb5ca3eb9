//! Snapshots are saved, read back completely, and deleted when unreferenced.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::mpsc::sync_channel};

use bytes::Bytes;
use lineside_model::{CacheValidators, SnapshotKey, SnapshotMetadata, SnapshotStore as _};

use super::*;

fn head(file_name: &str) -> SnapshotMetadata {
    SnapshotMetadata {
        source: "https://example.org/a".to_owned(),
        hash: u128::MAX - 7,
        format: SnapshotMetadata::parse_format("gtfs-rt").unwrap(),
        content_type: "application/x-protobuf".to_owned(),
        file_name: file_name.to_owned(),
        fetched_at: EIGHT,
        last_modified: Some(EIGHT - Duration::from_secs(60)),
        validators: CacheValidators { etag: Some(b"\"\xE9\"".to_vec()), last_modified: None },
        confirmed_at: EIGHT,
    }
}

pub(crate) fn key(id: &str) -> SnapshotKey {
    SnapshotKey::for_feed(&feed(id))
}

/// Saves a snapshot and waits for the result.
pub(crate) fn save(store: &Store, id: &str, bytes: impl Into<Bytes>) -> bool {
    let (reply, done) = sync_channel(1);
    let on_done = Box::new(move |is_saved| reply.send(is_saved).unwrap());
    store.save_snapshot(&key(id), head("a.pb"), bytes.into(), None, on_done);
    done.recv_timeout(Duration::from_secs(20)).unwrap()
}

pub(crate) fn blobs(fixture: &StoreFixture) -> Vec<PathBuf> {
    let Ok(folders) = fs::read_dir(fixture.folder.path().join("blobs")) else { return Vec::new() };
    let folders = folders.map(|folder| folder.unwrap()).filter(|it| it.file_name() != "tmp");
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()))
        .collect();
    files.sort();
    files
}

#[test]
fn snapshots_survive_a_restart_with_their_metadata() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert_eq!(store.find_snapshot_metadata(&key("city")), None);
    assert!(save(&store, "city", "one"));
    assert!(
        save(&store, "other", vec![7_u8; 9 << 20]),
        "a large snapshot is saved by another thread"
    );
    let file = SnapshotKey { file: "station_status".into(), ..key("city") };
    store.save_snapshot(&file, head("b.json"), Bytes::from_static(b"{}"), None, Box::new(drop));
    drop(store);
    let store = fixture.open();
    assert_eq!(store.read_snapshot(&key("city")), Some((head("a.pb"), Bytes::from_static(b"one"))));
    assert_eq!(store.read_snapshot(&key("other")).unwrap().1.len(), 9 << 20);
    assert_eq!(store.read_snapshot(&file), Some((head("b.json"), Bytes::from_static(b"{}"))));
    let later = CacheValidators { etag: None, last_modified: Some(b"yesterday".to_vec()) };
    store.record_not_modified(&key("city"), EIGHT + Duration::from_secs(9), later.clone());
    store.flush_writes().unwrap();
    let known = store.find_snapshot_metadata(&key("city")).unwrap();
    assert_eq!((known.confirmed_at, known.validators), (EIGHT + Duration::from_secs(9), later));
    let figures = store.metrics();
    assert_eq!((figures.snapshots, figures.snapshots_failed), (0, 0), "in this life");
    wait_until("the size of all stored files is counted", || {
        store.metrics().blob_bytes == (9 << 20) + 5
    });
}

#[test]
fn a_replaced_body_is_deleted_unless_another_feed_uses_it() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "one") && save(&store, "other", "one"));
    assert_eq!(blobs(&fixture).len(), 1);
    assert!(save(&store, "city", "two"));
    wait_until("both snapshots are stored", || blobs(&fixture).len() == 2);
    assert!(save(&store, "other", "two"));
    wait_until("the first snapshot is deleted", || blobs(&fixture).len() == 1);
    assert_eq!(store.read_snapshot(&key("other")).unwrap().1, "two");
    assert!(save(&store, "other", "two"), "saving the same bytes again succeeds");
    assert_eq!(store.read_snapshot(&key("city")).unwrap().1, "two");
}

#[test]
fn a_damaged_body_is_ignored_and_can_be_saved_again() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "one") && save(&store, "other", "three"));
    drop(store);
    let damaged =
        blobs(&fixture).into_iter().find(|path| fs::read(path).unwrap() == b"one").unwrap();
    fs::write(damaged, "onE").unwrap();
    let store = fixture.open();
    assert_eq!(store.read_snapshot(&key("city")), None);
    assert_eq!(store.read_snapshot(&key("other")).unwrap().1, "three");
    assert!(save(&store, "city", "one"));
    assert_eq!(store.read_snapshot(&key("city")).unwrap().1, "one");
}

#[test]
fn unreferenced_bodies_are_deleted_at_the_start() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "one"));
    drop(store);
    let orphan = fixture.folder.path().join("blobs/00").join("0".repeat(62));
    fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    fs::write(&orphan, "unfinished file of a killed process").unwrap();
    let half = fixture.folder.path().join("blobs/tmp/0");
    fs::create_dir_all(half.parent().unwrap()).unwrap();
    fs::write(&half, "ha").unwrap();
    let foreign = fixture.folder.path().join("blobs/00/readme");
    fs::write(&foreign, "foreign file").unwrap();
    let store = fixture.open();
    wait_until("the unfinished file is deleted", || !orphan.exists());
    assert!(!half.exists() && foreign.exists());
    assert_eq!(store.read_snapshot(&key("city")).unwrap().1, "one");
}

#[test]
fn removed_feeds_are_deleted_after_a_month() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "one") && save(&store, "other", "two"));
    let all = [feed("other")];
    store.retain_snapshots_of_feeds(&all);
    store.flush_writes().unwrap();
    assert!(
        store.find_snapshot_metadata(&key("city")).is_some(),
        "the feed may be configured again"
    );
    fixture.clock.advance_time(Duration::from_secs(31 * 86_400));
    // The list of feeds is not sent again; old rows are deleted periodically.
    store.record_poll(&feed("other"), poll(EIGHT, false));
    wait_until("its stored file is deleted", || {
        store.find_snapshot_metadata(&key("city")).is_none()
    });
    assert!(
        store.find_snapshot_metadata(&key("other")).is_some(),
        "the snapshot of a configured feed is never deleted"
    );
    drop(store);
    let store = fixture.open();
    wait_until("its stored file is deleted, too", || blobs(&fixture).len() == 1);
    drop(store);
}

#[test]
fn a_failed_save_is_reported_and_leaves_the_earlier_snapshot() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "one"));
    // A file in place of the folder fails like a full disk.
    let tmp = fixture.folder.path().join("blobs/tmp");
    fs::remove_dir_all(&tmp).unwrap();
    fs::write(&tmp, "a file with the folder's name").unwrap();
    assert!(!save(&store, "city", "two"));
    assert!(store.metrics().snapshots_failing);
    assert_eq!(store.metrics().snapshots_failed, 1);
    assert_eq!(store.read_snapshot(&key("city")).unwrap().1, "one");
    fs::remove_file(&tmp).unwrap();
    assert!(save(&store, "city", "two"));
    assert!(!store.metrics().snapshots_failing);
}

#[test]
fn a_locked_database_leaves_the_earlier_snapshot() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "one"));
    let mut other = rusqlite::Connection::open(fixture.file()).unwrap();
    let locked = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    assert!(!save(&store, "city", "two"));
    drop(locked);
    assert_eq!(store.read_snapshot(&key("city")).unwrap().1, "one");
    wait_until("saving succeeds again", || save(&store, "city", "three"));
    assert_eq!(store.read_snapshot(&key("city")).unwrap().1, "three");
}

#[test]
fn stored_bodies_are_private() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    assert!(save(&store, "city", "one"));
    let mode = fs::metadata(&blobs(&fixture)[0]).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let folder = fs::metadata(fixture.folder.path().join("blobs")).unwrap().permissions().mode();
    assert_eq!(folder & 0o777, 0o700);
}
