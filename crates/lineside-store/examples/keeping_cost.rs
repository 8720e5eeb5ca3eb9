//! Measures the cost of saving snapshots: the time that a feed waits before it may serve new bytes.
//!
//! `cargo run --release -p lineside-store --example keeping_cost [FOLDER]`; the folder is on the measured disk.

#![expect(clippy::print_stdout, reason = "an example that prints a table")]
#![expect(clippy::disallowed_methods, reason = "the example measures real time")]

use std::{env, path::PathBuf, sync::Arc, sync::mpsc::channel, time::Duration, time::Instant};

use bytes::Bytes;
use lineside_model::{CacheValidators, FeedId, SnapshotKey, SnapshotMetadata, SnapshotStore as _};
use lineside_store::{RetentionPolicy, Store};
use lineside_sync::{RealClock, UnixMillis};

/// Sizes of bodies, with the number of feeds that save one at the same time.
const CASES: [(usize, usize); 6] =
    [(2_000, 1), (200_000, 1), (4_000_000, 1), (2_000, 50), (200_000, 50), (4_000_000, 8)];
const ROUNDS: u64 = 40;
const KEEP: RetentionPolicy = RetentionPolicy {
    availability: Duration::from_secs(86_400),
    versions: 1,
    versions_age: Duration::from_secs(86_400),
    reports: 100,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parent = env::args().nth(1).map_or_else(env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(parent)?;
    let store = Store::open(&folder.path().join("lineside.db"), Arc::new(RealClock::new()), KEEP)?;
    println!(
        "{:>10} {:>6} {:>10} {:>10} {:>10}",
        "bytes", "feeds", "median ms", "worst ms", "MB/s"
    );
    for (size, n_feeds) in CASES {
        let mut waits = Vec::new();
        let began = Instant::now();
        for round in 0..ROUNDS {
            waits.extend(save_round(&store, size, n_feeds, round)?);
        }
        let took = began.elapsed().as_secs_f64();
        waits.sort();
        let ms = |wait: Duration| wait.as_secs_f64() * 1_000.0;
        let rate = (size * waits.len()) as f64 / took / 1e6;
        let (median, worst) = (ms(waits[waits.len() / 2]), ms(waits[waits.len() - 1]));
        println!("{size:>10} {n_feeds:>6} {median:>10.2} {worst:>10.2} {rate:>10.1}");
    }
    Ok(())
}

/// Saves a body for all feeds at once. Returns the wait of each.
fn save_round(
    store: &Store,
    size: usize,
    n_feeds: usize,
    round: u64,
) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let bodies: Vec<Bytes> = (0..n_feeds as u64)
        .map(|feed| (round << 32 | feed).to_le_bytes().repeat(size / 8).into())
        .collect();
    let (on_done, ended) = channel();
    let began = Instant::now();
    for (feed, body) in bodies.into_iter().enumerate() {
        let on_done = on_done.clone();
        let key = SnapshotKey::for_feed(&FeedId::new(&format!("feed-{feed}"))?);
        let done = Box::new(move |is_saved| {
            // The receiver lives until all feeds are done.
            let _ = on_done.send((is_saved, began.elapsed()));
        });
        store.save_snapshot(&key, sample_head(), body, None, done);
    }
    drop(on_done);
    let ended: Vec<(bool, Duration)> = ended.iter().collect();
    if ended.iter().any(|(is_saved, _)| !is_saved) {
        return Err("writing to the disk failed".into());
    }
    Ok(ended.into_iter().map(|(_, wait)| wait).collect())
}

fn sample_head() -> SnapshotMetadata {
    SnapshotMetadata {
        source: "https://example.org/a".to_owned(),
        hash: 0,
        format: SnapshotMetadata::parse_format("raw").expect("a valid format"),
        content_type: "application/x-protobuf".to_owned(),
        file_name: "a.pb".to_owned(),
        fetched_at: UnixMillis(1),
        last_modified: None,
        validators: CacheValidators::default(),
        confirmed_at: UnixMillis(1),
    }
}
