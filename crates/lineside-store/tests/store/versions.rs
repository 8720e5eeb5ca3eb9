//! Versions of a schedule are retained in addition to the served one, up to the configured number and age.

use std::sync::mpsc::sync_channel;

use bytes::Bytes;
use lineside_model::{
    CacheValidators, ScheduleVersionFacts, SnapshotKey, SnapshotMetadata, SnapshotStore as _,
};
use lineside_store::{BlobHash, ScheduleVersion};
use lineside_sync::Clock as _;

use super::*;

fn facts(label: &str) -> ScheduleVersionFacts {
    ScheduleVersionFacts {
        publisher_version: Some(label.to_owned()),
        valid_from: Some("2026-03-01".to_owned()),
        valid_until: None,
        service_start: Some("2026-03-02".to_owned()),
        service_end: Some("2026-11-30".to_owned()),
        routes: 1,
        stops: 2,
        trips: 3,
    }
}

/// Saves a version now.
fn come(fixture: &StoreFixture, store: &Store, id: &str, text: &'static str) {
    let now = fixture.clock.wall_time();
    let head = SnapshotMetadata {
        source: "https://example.org/a.zip".to_owned(),
        hash: 1,
        format: SnapshotMetadata::parse_format("gtfs").unwrap(),
        content_type: "application/zip".to_owned(),
        file_name: "a.zip".to_owned(),
        fetched_at: now,
        last_modified: None,
        validators: CacheValidators::default(),
        confirmed_at: now,
    };
    let (reply, done) = sync_channel(1);
    let on_done = Box::new(move |is_saved| reply.send(is_saved).unwrap());
    let (key, bytes) = (SnapshotKey::for_feed(&feed(id)), Bytes::from_static(text.as_bytes()));
    store.save_snapshot(&key, head, bytes, Some(facts(text)), on_done);
    assert!(done.recv_timeout(Duration::from_secs(20)).unwrap());
}

fn labels(store: &Store, id: &str) -> Vec<String> {
    let versions = store.list_schedule_versions(&feed(id), 0, 100).unwrap();
    versions.into_iter().map(|it| it.facts.publisher_version.unwrap()).collect()
}

const HOUR: Duration = Duration::from_secs(3_600);

#[test]
fn each_version_is_listed_with_its_period() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    come(&fixture, &store, "city", "one");
    fixture.clock.advance_time(HOUR);
    let key = SnapshotKey::for_feed(&feed("city"));
    store.record_not_modified(&key, fixture.clock.wall_time(), CacheValidators::default());
    fixture.clock.advance_time(HOUR);
    come(&fixture, &store, "city", "two");
    come(&fixture, &store, "other", "two");
    let versions = store.list_schedule_versions(&feed("city"), 0, 100).unwrap();
    let expect =
        |text: &str, first: UnixMillis, last: UnixMillis, is_current: bool| ScheduleVersion {
            hash: BlobHash::from_content(text.as_bytes()),
            size: 3,
            first_seen: first,
            last_seen: last,
            is_current,
            facts: facts(text),
        };
    let (two, one) = (
        expect("two", EIGHT + 2 * HOUR, EIGHT + 2 * HOUR, true),
        expect("one", EIGHT, EIGHT + HOUR, false),
    );
    assert_eq!(versions.as_slice(), &[two, one.clone()]);
    assert_eq!(
        store.list_schedule_versions(&feed("city"), 1, 100).unwrap().as_slice(),
        &versions[1..]
    );
    assert_eq!(store.find_schedule_version(&feed("city"), &one.hash).unwrap(), Some(one.clone()));
    assert_eq!(store.find_schedule_version(&feed("other"), &one.hash).unwrap(), None);
    assert_eq!(std::fs::read(store.blob_path(&one.hash)).unwrap(), b"one");
    // A return to an earlier version does not create a new one.
    come(&fixture, &store, "city", "one");
    assert_eq!(labels(&store, "city"), ["one", "two"]);
    let reread = store.find_schedule_version(&feed("city"), &one.hash).unwrap().unwrap();
    assert_eq!((reread.first_seen, reread.last_seen), (EIGHT, EIGHT + 2 * HOUR));
    assert!(reread.is_current);
}

#[test]
fn old_versions_are_deleted_except_the_served_one() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for text in ["one", "two", "six", "ten"] {
        fixture.clock.advance_time(HOUR);
        come(&fixture, &store, "city", text);
    }
    come(&fixture, &store, "other", "one");
    wait_until("only three versions are left", || labels(&store, "city") == ["ten", "six", "two"]);
    assert_eq!(labels(&store, "other"), ["one"], "each feed has its own limit");
    fixture.clock.advance_time(KEEP.versions_age + HOUR);
    // A write triggers the deletion of old versions.
    store.retain_snapshots_of_feeds(&[feed("city"), feed("other")]);
    wait_until("only the served version is left", || labels(&store, "city") == ["ten"]);
    assert_eq!(labels(&store, "other"), ["one"]);
    drop(store);
    let store = fixture.open();
    let gone = store.blob_path(&BlobHash::from_content(b"six"));
    wait_until("its stored file is deleted, too", || !gone.exists());
    assert!(store.blob_path(&BlobHash::from_content(b"one")).exists());
}
