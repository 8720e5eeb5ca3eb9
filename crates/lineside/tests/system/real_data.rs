//! Runs real feeds of real agencies through the whole server. They are outside the repository; if they are missing,
//! these tests report that and pass.

#![expect(
    clippy::print_stdout,
    reason = "what was seen of each feed, for who runs with --nocapture"
)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lineside::{Config, RunningServer};
use lineside_ingest::Feed;
use lineside_model::{FeedConfig, FeedId, SourceLocation};
use serde_json::Value;

use crate::support::events::{ReceivedByChannel, Stream};
use crate::support::http::get_json;
use crate::support::{repository, serve};

const LOAD_TIME_MAX: Duration = Duration::from_secs(300);
const PLAY_TIME_MAX: Duration = Duration::from_secs(90);
/// Recorded seconds per second: one snapshot per minute becomes ten per second.
const SPEED: f64 = 600.0;

/// Returns the folder of real feeds, or reports that the test is skipped.
fn real_data() -> Option<PathBuf> {
    let folder = repository().join("../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    // Bypasses the test harness, which hides the output of passing tests.
    _ = writeln!(std::io::stderr(), "skipped: no real feeds at {}", folder.display());
    None
}

fn feed(id: &str, location: SourceLocation) -> FeedConfig {
    let mut feed = FeedConfig::new(FeedId::new(id).unwrap(), location);
    feed.poll = Some(Duration::from_millis(50));
    feed
}

fn config(feeds: Vec<FeedConfig>) -> Config {
    let mut config = Config::default();
    config.server.listen = "127.0.0.1:0".parse().unwrap();
    config.server.drain = Duration::ZERO;
    config.feeds = feeds;
    config
}

fn zips_below(folder: &Path) -> Vec<PathBuf> {
    let mut zips = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "zip") {
                zips.push(path);
            }
        }
    }
    zips.sort();
    zips
}

/// Counts the rows of each text file in a zip with the csv crate alone.
fn count_rows(zip: &Path) -> BTreeMap<String, u64> {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(zip).unwrap()).unwrap();
    let mut counts = BTreeMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let Ok(name) = file.name().map(|name| name.into_owned()) else { continue };
        if !name.ends_with(".txt") || name.starts_with("__MACOSX") {
            continue;
        }
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        let mut text = Vec::new();
        file.read_to_end(&mut text).unwrap();
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&text[..]);
        let mut row = csv::ByteRecord::new();
        let mut rows = 0;
        while reader.read_byte_record(&mut row).unwrap_or(false) {
            rows += 1;
        }
        counts.insert(name, rows);
    }
    counts
}

/// Waits until a schedule is loaded or rejected.
async fn wait_until_read(server: &RunningServer, id: &str, deadline: Instant) -> Arc<Feed> {
    let feed = server.shared_app().ingest().find_feed(id).unwrap();
    while feed.status().last_attempt.is_none() || feed.status().fetches == 0 {
        assert!(Instant::now() < deadline, "{} was not read in time", feed.config().url);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    feed
}

#[tokio::test(flavor = "multi_thread")]
async fn every_real_schedule_is_loaded_with_all_rows() {
    let Some(data) = real_data() else { return };
    let zips = zips_below(&data.join("gtfs"));
    let mut feeds = Vec::new();
    for (index, zip) in zips.iter().enumerate() {
        let mut feed = feed(&format!("schedule-{index}"), SourceLocation::Path(zip.clone()));
        feed.format = Some(lineside_formats::Format::Gtfs);
        feed.poll = Some(Duration::from_secs(3600));
        feeds.push(feed);
    }
    let server = serve(config(feeds)).await;
    let deadline = Instant::now() + LOAD_TIME_MAX;
    let (mut loaded, mut rows_compared) = (0, 0);
    for (index, zip) in zips.iter().enumerate() {
        let feed = wait_until_read(&server, &format!("schedule-{index}"), deadline).await;
        let broken_on_purpose =
            zip.strip_prefix(data.join("gtfs")).unwrap().components().count() > 1;
        let Some(timetable) = feed.network().timetable() else {
            let status = feed.status();
            assert!(broken_on_purpose, "{}: {}", zip.display(), status.reason);
            assert!(status.last_error.is_some(), "{}: refused without a reason", zip.display());
            continue;
        };
        loaded += 1;
        if !broken_on_purpose {
            let counted = count_rows(zip);
            for (name, rows) in timetable.row_counts() {
                assert_eq!(counted.get(&**name), Some(rows), "{} {name}", zip.display());
                rows_compared += rows;
            }
        }
    }
    println!("{loaded} of {} schedules were loaded, {rows_compared} rows compared", zips.len());
    assert!(loaded > 0);
    server.shut_down().await;
}

/// A folder of snapshots, its schedule if there is one, and the expected results.
struct Series {
    folder: &'static str,
    schedule: Option<&'static str>,
    /// True if the trips are in the schedule, so that names and delays are expected.
    matched: bool,
    snapshots: usize,
}

const SERIES: &[Series] = &[
    Series {
        folder: "nyct-ace-series",
        schedule: Some("nyct-multi"),
        matched: false,
        snapshots: 80,
    },
    Series {
        folder: "nyct-night-series",
        schedule: Some("nyct-multi"),
        matched: false,
        snapshots: 28,
    },
    Series {
        folder: "soundtransit-pb",
        schedule: Some("soundtransit-oba"),
        matched: true,
        snapshots: 8,
    },
    Series { folder: "caltrain", schedule: Some("caltrain-rt"), matched: true, snapshots: 2 },
    Series { folder: "raba", schedule: Some("raba"), matched: true, snapshots: 2 },
    Series { folder: "wmata-midnight", schedule: Some("wmata-oba4"), matched: false, snapshots: 4 },
    Series { folder: "unitrans", schedule: None, matched: false, snapshots: 2 },
    Series { folder: "mbta", schedule: None, matched: false, snapshots: 2 },
    Series { folder: "transitland", schedule: None, matched: false, snapshots: 2 },
];

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_series_reaches_a_subscriber() {
    let Some(data) = real_data() else { return };
    for series in SERIES {
        replay(&data, series).await;
    }
}

async fn replay(data: &Path, series: &Series) {
    let dir = data.join("gtfs-rt").join(series.folder);
    let plan = series.schedule.map(|schedule| {
        let zip = data.join("gtfs").join(schedule).with_extension("zip");
        FeedConfig::new(FeedId::new("plan").unwrap(), SourceLocation::Path(zip))
    });
    let feeds = |location| {
        let mut live = feed("live", location);
        live.format = Some(lineside_formats::Format::GtfsRt);
        live.static_feed = plan.as_ref().map(|plan| plan.id.clone());
        plan.iter().cloned().chain([live]).collect::<Vec<_>>()
    };
    // Nothing is played before the schedule is loaded and a client listens.
    let server = serve(config(feeds(SourceLocation::Path(dir.join("not there"))))).await;
    if plan.is_some() {
        let plan = wait_until_read(&server, "plan", Instant::now() + LOAD_TIME_MAX).await;
        assert!(plan.network().timetable().is_some(), "{}", plan.status().reason);
    }
    let url = format!("http://{}", server.listen_address());
    let channel = if plan.is_some() { "feed/plan" } else { "feed/live" };
    let mut stream = Stream::open(&url, &format!("channel={channel}")).await;
    let mut received_by_channel = ReceivedByChannel::default();
    // A client with the state receives all later changes.
    received_by_channel.apply(&stream.next_within(PLAY_TIME_MAX).await.expect("a state"));
    let recorded = feeds(SourceLocation::Replay { dir, speed: SPEED });
    server.shared_app().ingest().apply_feed_configs(recorded).await.unwrap();
    let seen = follow((stream, received_by_channel), channel, series).await;
    let expect = get_json(&format!("{url}/api/v1/state?channel={channel}")).await;
    assert!(expect["changes"].is_array());
    println!("{}: {seen:?}", series.folder);
    assert!(seen.records > 0, "{}: nothing came", series.folder);
    if series.matched {
        assert!(seen.with_route > 0, "{}: no vehicle or trip shows its route", series.folder);
        assert!(seen.with_delay > 0, "{}: no delay is known", series.folder);
    }
    server.shut_down().await;
}

#[derive(Debug, Default)]
struct SeriesCounts {
    records: usize,
    with_route: usize,
    with_delay: usize,
    publications: usize,
}

/// Follows a channel until the recording ends.
async fn follow(
    (mut stream, mut received_by_channel): (Stream, ReceivedByChannel),
    channel: &str,
    series: &Series,
) -> SeriesCounts {
    let mut seen = SeriesCounts::default();
    let deadline = Instant::now() + PLAY_TIME_MAX;
    loop {
        // The server scans the whole recording before it begins.
        let silence = if seen.records == 0 { PLAY_TIME_MAX } else { Duration::from_secs(5) };
        let Some(event) = stream.next_within(silence).await else { break };
        received_by_channel.apply(&event);
        for change in event.data["data"]["changes"].as_array().unwrap() {
            seen.count(&change["record"]["lineside"]);
        }
        let now = received_by_channel.get(channel);
        let records =
            now.records_of_kind("vehicle").count() + now.records_of_kind("trip_update").count();
        seen.records = seen.records.max(records);
        seen.publications = now.publications;
        if seen.is_enough(series) || Instant::now() > deadline {
            break;
        }
    }
    assert!(seen.publications >= series.snapshots / 2, "{}: {seen:?}", series.folder);
    seen
}

impl SeriesCounts {
    fn count(&mut self, join: &Value) {
        self.with_route += usize::from(join["route_short_name"].is_string());
        self.with_delay += usize::from(join["delay"].is_i64());
    }

    fn is_enough(&self, series: &Series) -> bool {
        self.publications >= series.snapshots
            && self.records > 0
            && (!series.matched || (self.with_route > 0 && self.with_delay > 0))
    }
}
