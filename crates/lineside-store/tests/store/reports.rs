//! Reports are retained up to the configured number, and a new report on a version replaces the old one.

use lineside_store::ReportRow;
use lineside_sync::Clock as _;

use super::*;

fn found(fixture: &StoreFixture, store: &Store, id: &str, version: &str, body: &str) {
    put(fixture, store, (id, version, body), false);
}

fn put(
    fixture: &StoreFixture,
    store: &Store,
    (id, version, body): (&str, &str, &str),
    refused: bool,
) {
    store.store_validation_report(ReportRow {
        feed: feed(id),
        subject: "dataset".to_owned(),
        version: version.to_owned(),
        at: fixture.clock.wall_time(),
        refused,
        brief: format!("{{\"of\":\"{version}\"}}"),
        body: body.to_owned(),
    });
    store.flush_writes().unwrap();
    fixture.clock.advance_time(Duration::from_secs(1));
}

fn versions(store: &Store, id: &str) -> Vec<String> {
    let rows = store.list_validation_reports(&feed(id), "dataset", 100).unwrap();
    rows.into_iter().map(|row| row.version).collect()
}

#[test]
fn the_latest_report_of_a_version_survives_a_restart() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    found(&fixture, &store, "city", "one", "{}");
    found(&fixture, &store, "city", "two", "{}");
    found(&fixture, &store, "other", "one", "{}");
    assert_eq!(versions(&store, "city"), ["two", "one"]);
    found(&fixture, &store, "city", "one", "{\"more\":1}");
    drop(store);
    let store = fixture.open();
    assert_eq!(versions(&store, "city"), ["one", "two"]);
    let one = store.find_report_on_version(&feed("city"), "dataset", "one").unwrap().unwrap();
    assert_eq!(one.body, "{\"more\":1}");
    assert_eq!(store.find_report_on_version(&feed("other"), "dataset", "two").unwrap(), None);
    assert_eq!(store.list_validation_reports(&feed("city"), "realtime", 100).unwrap(), []);
}

#[test]
fn reports_of_a_version_are_found_by_subject_prefix() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for (subject, version) in
        [("validator/b", "one"), ("validator/a", "one"), ("validator/a", "two"), ("dataset", "one")]
    {
        store.store_validation_report(ReportRow {
            feed: feed("city"),
            subject: subject.to_owned(),
            version: version.to_owned(),
            at: fixture.clock.wall_time(),
            refused: false,
            brief: String::new(),
            body: "{}".to_owned(),
        });
    }
    store.flush_writes().unwrap();
    let found = |id: &str, limit: usize| {
        let rows = store.list_reports_on_version(&feed(id), "validator/", "one", limit).unwrap();
        rows.into_iter().map(|row| row.subject).collect::<Vec<_>>()
    };
    assert_eq!(found("city", 9), ["validator/a", "validator/b"]);
    assert_eq!(found("city", 1), ["validator/a"]);
    assert!(found("town", 9).is_empty());
}

#[test]
fn the_oldest_reports_are_deleted_beyond_the_limit() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for version in 0..KEEP.reports + 3 {
        found(&fixture, &store, "city", &version.to_string(), "{}");
    }
    drop(store);
    // Each start deletes excess reports.
    let store = fixture.open();
    wait_until("the oldest reports are deleted", || versions(&store, "city").len() == KEEP.reports);
    assert_eq!(versions(&store, "city").last().unwrap(), "3");
}

#[test]
fn reports_of_refused_versions_do_not_displace_others() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    found(&fixture, &store, "city", "good", "{}");
    for version in 0..KEEP.reports + 3 {
        put(&fixture, &store, ("city", &format!("refused {version}"), "{}"), true);
    }
    let retained = versions(&store, "city");
    assert_eq!(retained.len(), 6, "{retained:?}");
    assert_eq!(retained.last().unwrap(), "good");
    assert_eq!(retained[0], format!("refused {}", KEEP.reports + 2));
    drop(store);
    let store = fixture.open();
    assert_eq!(versions(&store, "city"), retained);
    let briefs = store.list_validation_report_summaries(&feed("city"), "dataset", 100).unwrap();
    assert_eq!(briefs.len(), 6);
    assert_eq!(briefs[5].brief, "{\"of\":\"good\"}");
}
