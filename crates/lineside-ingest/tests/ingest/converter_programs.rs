//! Tests of feeds with a converter program, while it runs, waits or hangs, and after it is removed.

use std::{fs, path::Path, sync::Arc, time::Duration};

use lineside_formats::Format;
use lineside_ingest::{Ingest, IngestOptions};
use lineside_model::{
    ExternalProgram, FailureCode, FeedConfig, FeedState, FormatConverter, MemorySnapshotStore,
    SnapshotKey, SnapshotStore as _,
};
use lineside_sync::{Clock, RealClock, SimulatedClock};
use lineside_testkit::wait_until;

use crate::{
    running::{body, config, options, start_with},
    support::feed,
    upstream::{Answer, Upstream, http},
};

const HOUR: Duration = Duration::from_secs(3_600);

/// Returns a feed whose bytes are converted by a script.
fn converted(id: &str, url: &str, script: &str, timeout: Duration) -> FeedConfig {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let program = ExternalProgram { command, timeout, memory: 1 << 30 };
    let converter = FormatConverter { from: "other".into(), to: Format::GtfsRt, program };
    FeedConfig {
        converter: Some(Arc::new(converter)),
        format: Some(Format::GtfsRt),
        ..config(id, url)
    }
}

/// Returns a script that copies its input; while the file `hang` exists, it writes its feed's name and then hangs.
fn hanging(folder: &Path) -> String {
    let (hang, started_file) = (folder.join("hang"), folder.join("begun"));
    format!(
        "if [ -e {} ]; then echo $LINESIDE_FEED >> {}; exec sleep 1000; fi; exec cat",
        hang.display(),
        started_file.display()
    )
}

fn count_started(folder: &Path) -> usize {
    fs::read_to_string(folder.join("begun")).unwrap_or_default().lines().count()
}

fn answer(lat: f32) -> Answer {
    Answer::Bytes(http("200 OK", &[], &body(lat)))
}

fn clock() -> Arc<SimulatedClock> {
    Arc::new(SimulatedClock::new(RealClock::new().wall_time()))
}

#[tokio::test]
async fn data_age_while_a_converter_runs() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(answer(48.87)).await;
    let clock = clock();
    let feed = converted("a", &upstream.url("/a"), &hanging(folder.path()), HOUR);
    let ingest = Ingest::start_polling(IngestOptions {
        clock: Arc::clone(&clock) as _,
        ..options(vec![feed])
    });
    let feed = ingest.find_feed("a").unwrap();
    wait_until("the feed is ok", async || {
        clock.advance_time(Duration::from_millis(1));
        feed.status().state == FeedState::Ok
    })
    .await;
    fs::write(folder.path().join("hang"), "").unwrap();
    upstream.set(answer(48.88));
    ingest.poll_now("a").await.unwrap();
    wait_until("the program hangs", async || count_started(folder.path()) == 1).await;
    clock.advance_time(feed.config().late_after + Duration::from_secs(60));
    wait_until("the data are late", async || feed.status().state != FeedState::Ok).await;
    assert_eq!(feed.status().failures, 0, "the program has not timed out");
    ingest.stop_polling().await;
}

#[tokio::test]
async fn hanging_converters_block_others_no_longer_than_the_timeout() {
    /// The maximum number of concurrent conversions.
    const HUNG_PROGRAMS: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(answer(48.87)).await;
    fs::write(folder.path().join("hang"), "").unwrap();
    let script = hanging(folder.path());
    let mut feeds: Vec<FeedConfig> = (0..HUNG_PROGRAMS)
        .map(|n| converted(&format!("stuck-{n}"), &upstream.url("/a"), &script, HOUR))
        .collect();
    feeds.push(converted("other", &upstream.url("/a"), "cat", Duration::from_secs(10)));
    feeds.push(config("plain", &upstream.url("/a")));
    let clock = clock();
    let ingest =
        Ingest::start_polling(IngestOptions { clock: Arc::clone(&clock) as _, ..options(feeds) });
    wait_until("all converter slots are used", async || {
        clock.advance_time(Duration::from_millis(1));
        count_started(folder.path()) == HUNG_PROGRAMS
    })
    .await;
    upstream.set(answer(48.88));
    let other = ingest.find_feed("other").unwrap();
    let _ = ingest.poll_now("other").await;
    let error = || other.status().last_error.clone();
    wait_until("the other feed gets no slot", async || {
        clock.advance_time(Duration::from_secs(1));
        error().is_some()
    })
    .await;
    let error = error().unwrap();
    assert_eq!(error.code, FailureCode::Convert);
    assert!(error.detail.contains("all converter slots were in use"), "{}", error.detail);
    let plain = ingest.find_feed("plain").unwrap();
    let polls = plain.status().fetches;
    wait_until("a feed without a converter is polled", async || {
        clock.advance_time(Duration::from_millis(60));
        plain.status().fetches > polls + 3
    })
    .await;
    assert_eq!(count_started(folder.path()), HUNG_PROGRAMS);

    fs::remove_file(folder.path().join("hang")).unwrap();
    clock.advance_time(HOUR);
    wait_until("each hanging program is stopped", async || {
        (0..HUNG_PROGRAMS).all(|n| {
            let status = ingest.find_feed(&format!("stuck-{n}")).unwrap().status();
            status.outcomes.iter().any(|(name, times)| name == "convert" && *times > 0)
        })
    })
    .await;
    wait_until("the other feed is converted", async || {
        clock.advance_time(Duration::from_secs(1));
        other.snapshot().is_some() && other.status().last_error.is_none()
    })
    .await;
    ingest.stop_polling().await;
}

#[tokio::test]
async fn original_bytes_are_deleted_after_the_converter_is_removed() {
    let upstream = Upstream::start(answer(48.87)).await;
    let through = converted("a", &upstream.url("/a"), "cat", HOUR);
    let snapshots = Arc::new(MemorySnapshotStore::default());
    let own = SnapshotKey { feed: feed("a"), file: "as sent".into() };
    let ingest = start_with(vec![through.clone()], Arc::clone(&snapshots));
    wait_until("the original bytes are stored", async || {
        snapshots.find_snapshot_metadata(&own).is_some()
    })
    .await;
    ingest.stop_polling().await;
    let second = start_with(vec![through.clone()], Arc::clone(&snapshots));
    assert!(
        snapshots.find_snapshot_metadata(&own).is_some(),
        "a converted feed keeps its original bytes"
    );
    second.stop_polling().await;
    let plain = FeedConfig { converter: None, ..through };
    let ingest = start_with(vec![plain], Arc::clone(&snapshots));
    assert!(snapshots.find_snapshot_metadata(&own).is_none());
    assert!(snapshots.find_snapshot_metadata(&SnapshotKey::for_feed(&feed("a"))).is_some());
    ingest.stop_polling().await;
}
