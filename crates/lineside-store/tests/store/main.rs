//! Tests of the store's guarantees to writers and readers.

#![expect(clippy::unwrap_used, reason = "a failed expectation fails the test")]

mod delays;
mod edits;
mod files;
mod remembering;
mod reports;
mod snapshots;
mod trouble;
mod versions;

use std::{path::PathBuf, sync::Arc, thread, time::Duration};

use lineside_model::{
    FeedId, FetchPhase, PollArchive as _, PollFailure, PollQuery, PollRecord,
    ServedContentFreshness,
};
use lineside_store::{RetentionPolicy, Store};
use lineside_sync::{SimulatedClock, UnixMillis};
use tempfile::TempDir;

/// Wednesday 4 March 2026, 08:00 in Paris.
const EIGHT: UnixMillis = UnixMillis(1_772_607_600_000);
const KEEP: RetentionPolicy = RetentionPolicy {
    availability: Duration::from_secs(30 * 86_400),
    versions: 3,
    versions_age: Duration::from_secs(90 * 86_400),
    reports: 100,
};
const EVERYTHING: PollQuery =
    PollQuery { from: UnixMillis(0), only_failed: false, offset: 0, limit: 1_000_000 };

/// A folder and its clock.
struct StoreFixture {
    folder: TempDir,
    clock: Arc<SimulatedClock>,
}

impl StoreFixture {
    fn new() -> StoreFixture {
        let folder = tempfile::tempdir().unwrap();
        StoreFixture { folder, clock: Arc::new(SimulatedClock::new(EIGHT)) }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("lineside.db")
    }

    fn open(&self) -> Store {
        Store::open(&self.file(), Arc::<SimulatedClock>::clone(&self.clock), KEEP).unwrap()
    }
}

fn feed(id: &str) -> FeedId {
    FeedId::new(id).unwrap()
}

fn poll(at: UnixMillis, failed: bool) -> PollRecord {
    PollRecord {
        at,
        took: Duration::from_millis(120),
        bytes: 2_000,
        outcome: if failed { "http_500".into() } else { "new".into() },
        failure: failed.then(|| PollFailure {
            message: "the server returned 500 Internal Server Error".to_owned(),
            phase: Some(FetchPhase::Wait),
            status: Some(500),
            head: Some("<h1>Oops</h1>".to_owned()),
        }),
        serving: if failed { ServedContentFreshness::Stale } else { ServedContentFreshness::Fresh },
    }
}

fn n_polls(store: &Store) -> usize {
    store.list_polls(&feed("city"), EVERYTHING).unwrap().len()
}

/// Waits until a condition holds, for up to 20 s.
#[track_caller]
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if condition() {
            return;
        }
        thread::park_timeout(Duration::from_millis(10));
    }
    panic!("{what}: this did not happen within 20 s");
}
