//! The operator's edits.

use lineside_model::Secret;
use lineside_store::FeedOverrideEdit;

use super::*;

fn edit(id: &str, before: Option<&str>, after: Option<&str>) -> FeedOverrideEdit {
    FeedOverrideEdit {
        feed: feed(id),
        at: EIGHT,
        who: "admin".to_owned(),
        what: "change".to_owned(),
        before: before.map(Secret::new),
        after: after.map(Secret::new),
        undoes: None,
    }
}

#[test]
fn the_last_edit_of_a_feed_determines_its_override() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let first = edit("city", None, Some("one"));
    let second = FeedOverrideEdit { undoes: Some(1), ..edit("city", Some("one"), Some("two")) };
    let number = store.save_override_edit(&first).unwrap();
    assert_eq!(store.save_override_edit(&second).unwrap(), number + 1);
    let other = edit("other", None, Some("three"));
    store.save_override_edit(&other).unwrap();
    drop(store);
    let store = fixture.open();
    let mut all = store.list_feed_overrides().unwrap();
    all.sort_by_key(|(id, _)| id.clone());
    assert_eq!(all, [(feed("city"), Secret::new("two")), (feed("other"), Secret::new("three"))]);
    let history = [(number + 1, second), (number, first.clone())];
    assert_eq!(store.list_edits_of_feed(&feed("city"), 10).unwrap(), history);
    assert_eq!(store.list_edits_of_feed(&feed("city"), 1).unwrap(), history[..1]);
    let of_all = [(number + 2, other), history[0].clone(), history[1].clone()];
    assert_eq!(store.list_edits_of_all_feeds(i64::MAX, 10).unwrap(), of_all);
    assert_eq!(store.list_edits_of_all_feeds(number + 2, 1).unwrap(), of_all[1..2]);
    assert_eq!(store.list_edits_of_all_feeds(number, 10).unwrap(), []);
    assert_eq!(store.find_edit_by_number(&feed("city"), number).unwrap(), Some((number, first)));
    assert_eq!(store.find_edit_by_number(&feed("other"), number).unwrap(), None);
    assert!(
        !format!("{history:?}").contains("two"),
        "debug output hides the override, which may contain secrets"
    );
    store.save_override_edit(&edit("city", Some("two"), None)).unwrap();
    assert_eq!(store.list_feed_overrides().unwrap().len(), 1);
}

#[test]
fn an_edit_that_cannot_be_written_changes_nothing() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    store.save_override_edit(&edit("city", None, Some("one"))).unwrap();
    rusqlite::Connection::open(fixture.file())
        .unwrap()
        .execute("DROP TABLE laid_over", [])
        .unwrap();
    store.save_override_edit(&edit("city", Some("one"), Some("two"))).unwrap_err();
    assert_eq!(store.list_edits_of_feed(&feed("city"), 10).unwrap().len(), 1);
}

#[test]
fn edits_and_polls_are_written_concurrently() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    for n in 0..50 {
        store.record_poll(&feed("city"), poll(EIGHT, false));
        let number = store.save_override_edit(&edit("city", None, Some("one"))).unwrap();
        assert_eq!(number, n + 1);
    }
    store.flush_writes().unwrap();
    assert_eq!((n_polls(&store), store.metrics().lost), (50, 0));
}
