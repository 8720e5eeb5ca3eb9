//! Test helpers: running ingests, and waiting for conditions.

use std::{fmt, fs, io::Write as _, path::Path, sync::Arc, time::Duration};

use lineside_hub::HubConfig;
use lineside_ingest::{Feed, InboxSettings, Ingest, IngestOptions};
use lineside_model::{
    FailureCode, FeedConfig, MemoryArchive, MemorySnapshotStore, Secret, SourceLocation,
};
use lineside_sync::{Clock, RealClock};
use lineside_testkit::wait_until;

use crate::support::*;

/// Returns a realtime message with one vehicle at the present time.
pub(crate) fn body(lat: f32) -> Vec<u8> {
    let now = RealClock::new().wall_time().unix_seconds();
    message(now, vec![vehicle("1", None, lat, 2.34, now)]).to_vec()
}

pub(crate) fn config(id: &str, url: &str) -> FeedConfig {
    let mut config = FeedConfig::new(feed(id), SourceLocation::parse(url).unwrap());
    config.poll = Some(Duration::from_millis(50));
    config.max_bytes = 1 << 20;
    config
}

pub(crate) fn start(feeds: Vec<FeedConfig>) -> Arc<Ingest> {
    start_with(feeds, Arc::new(MemorySnapshotStore::default()))
}

/// Starts feeds with the snapshot store of an earlier process.
pub(crate) fn start_with(
    feeds: Vec<FeedConfig>,
    snapshots: Arc<MemorySnapshotStore>,
) -> Arc<Ingest> {
    Ingest::start_polling(IngestOptions { snapshots, ..options(feeds) })
}

pub(crate) fn options(feeds: Vec<FeedConfig>) -> IngestOptions {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    IngestOptions {
        feeds,
        seed: 9,
        hub: HubConfig::default(),
        user_agent: "test-client/1".to_owned(),
        load_limits: lineside_model::DecodingLimits::default(),
        archive: Arc::new(MemoryArchive::new(Arc::clone(&clock))),
        snapshots: Arc::new(MemorySnapshotStore::default()),
        extra_channels: None,
        message_observer: None,
        inboxes: InboxSettings {
            address: None,
            subscriber: "lineside-1".into(),
            keys: Arc::new(|| Secret::new("key")),
        },
        clock,
    }
}

/// Waits until a poll has failed with a code.
pub(crate) async fn wait_until_failed(feed: &Feed, code: FailureCode) {
    let error = || feed.status().last_error.clone();
    let what = fmt::from_fn(|f| write!(f, "the feed fails with {code}: {:?}", error()));
    wait_until(what, async || error().is_some_and(|error| error.code == code)).await;
}

/// Returns the city as a zip.
pub(crate) fn zip(version: u32) -> Vec<u8> {
    zip_of(&city(version))
}

pub(crate) fn zip_of(sections: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, rows) in files_of(sections) {
        let options = zip::write::SimpleFileOptions::default();
        let options = options.last_modified_time(zip::DateTime::default());
        zip.start_file(name, options).unwrap();
        zip.write_all(rows.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Writes the files of the city into a folder.
pub(crate) fn write_city(folder: &Path) {
    for (name, rows) in files_of(&city(0)) {
        fs::write(folder.join(name), rows).unwrap();
    }
}

/// Returns the names and rows of files, from sections that begin with `# ` and the name.
fn files_of(sections: &str) -> impl Iterator<Item = (&str, String)> {
    let (_, sections) = sections.split_once("# ").unwrap();
    sections.split("# ").map(|section| {
        let (name, rows) = section.split_once('\n').unwrap();
        let rows: Vec<_> = rows.lines().map(str::trim).collect();
        (name.trim(), rows.join("\n"))
    })
}
