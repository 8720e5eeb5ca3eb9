//! Delay counts are retained for a day, also across a restart, and the latest row of a quarter applies.

use lineside_store::DelayCountRow;

use super::*;

const QUARTER: Duration = Duration::from_secs(15 * 60);

fn row(id: &str, line: Option<&str>, start: UnixMillis, trips: u32) -> DelayCountRow {
    let line = line.map(str::to_owned);
    DelayCountRow { feed: feed(id), line, start, trips, late: trips / 2, cancelled: 1 }
}

#[test]
fn delays_are_stored_by_feed_line_and_quarter_and_replaced() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let first = [row("city", None, EIGHT, 40), row("city", Some("T1"), EIGHT, 10)];
    store.store_delay_counts(first.to_vec());
    let other = row("other", Some("T1"), EIGHT, 4);
    store.store_delay_counts(vec![other.clone(), row("city", None, EIGHT + QUARTER, 44)]);
    store.store_delay_counts(vec![row("city", None, EIGHT, 80)]);
    store.store_delay_counts(Vec::new());
    store.flush_writes().unwrap();
    drop(store);
    let store = fixture.open();
    let mut all = store.list_delay_counts(EIGHT).unwrap();
    assert_eq!(
        all.pop(),
        Some(row("city", None, EIGHT + QUARTER, 44)),
        "the newest value replaces the earlier one"
    );
    all.sort_by_key(|row| (row.feed.clone(), row.line.clone()));
    assert_eq!(all, [row("city", None, EIGHT, 80), first[1].clone(), other]);
    assert_eq!(store.list_delay_counts(EIGHT + QUARTER).unwrap().len(), 1);
}

#[test]
fn delays_older_than_a_day_are_deleted() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let starts = || (0..10).map(|quarter| EIGHT + QUARTER * quarter);
    store.store_delay_counts(starts().map(|start| row("city", None, start, 4)).collect());
    store.flush_writes().unwrap();
    drop(store);
    // The first nine quarters are now older than 25 hours.
    fixture.clock.advance_time(Duration::from_secs(25 * 60 * 60) + QUARTER * 9);
    let store = fixture.open();
    wait_until("the old rows are deleted", || {
        store.list_delay_counts(UnixMillis(0)).unwrap()
            == [row("city", None, EIGHT + QUARTER * 9, 4)]
    });
}
