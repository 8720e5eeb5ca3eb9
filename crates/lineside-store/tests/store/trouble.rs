//! A disk that fails to write.

use lineside_store::limits::QUEUE_MAX;
use rusqlite::{Connection, TransactionBehavior};

use super::*;

#[test]
fn failed_writes_are_retried() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let mut other = Connection::open(fixture.file()).unwrap();
    let locked = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    store.record_poll(&feed("city"), poll(EIGHT, false));
    wait_until("a failed write", || store.metrics().is_failing);
    store.record_poll(&feed("city"), poll(EIGHT + Duration::from_secs(1), true));
    // Readers are not affected.
    assert_eq!(n_polls(&store), 0);
    drop(locked);
    wait_until("both rows", || n_polls(&store) == 2);
    wait_until("writing succeeds again", || !store.metrics().is_failing);
    let figures = store.metrics();
    assert!(figures.failures >= 1 && figures.lost == 0 && figures.bytes > 0, "{figures:?}");
}

#[test]
fn recording_never_blocks_and_dropped_records_are_counted() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let mut other = Connection::open(fixture.file()).unwrap();
    let locked = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let n_sent = 2 * QUEUE_MAX as u64;
    for n in 0..n_sent {
        store.record_poll(&feed("city"), poll(EIGHT + Duration::from_millis(n), false));
    }
    assert!(store.metrics().lost > 0);
    drop(locked);
    let all = || store.metrics().written + store.metrics().lost;
    wait_until("each record is either written or counted as lost", || all() == n_sent);
    assert_eq!(n_polls(&store) as u64, store.metrics().written);
}

#[test]
fn closing_the_store_while_writes_fail_terminates() {
    let fixture = StoreFixture::new();
    let store = fixture.open();
    let mut other = Connection::open(fixture.file()).unwrap();
    let locked = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    store.record_poll(&feed("city"), poll(EIGHT, false));
    wait_until("a failed write", || store.metrics().is_failing);
    drop(store);
    drop(locked);
    assert_eq!(n_polls(&fixture.open()), 0);
}
