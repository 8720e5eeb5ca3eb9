//! Polls a feed for tests of real-time data, with a simulated clock.

use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_hub::HubConfig;
use lineside_ingest::{InboxSettings, Ingest, IngestOptions, MessageObserver};
use lineside_model::{
    FeedConfig, FeedId, MemoryArchive, MemorySnapshotStore, Secret, SourceLocation,
};
use lineside_sync::SimulatedClock;
use lineside_sync::real_time::{RealTimeStopwatch, sleep_real_time};

/// Polls a feed `id` once a second from the file `name` with these bytes.
pub(super) fn poll_test_feed(
    (id, format): (&str, Format),
    (name, bytes): (&str, &[u8]),
    folder: &tempfile::TempDir,
    clock: &SimulatedClock,
    inspector: Option<Arc<dyn MessageObserver>>,
) -> Arc<Ingest> {
    let file = folder.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    let source = SourceLocation::parse(file.to_str().unwrap()).unwrap();
    let feed = FeedConfig {
        format: Some(format),
        poll: Some(Duration::from_secs(1)),
        ..FeedConfig::new(FeedId::new(id).unwrap(), source)
    };
    Ingest::start_polling(IngestOptions {
        feeds: vec![feed],
        clock: Arc::new(clock.clone()),
        seed: 7,
        hub: HubConfig::default(),
        user_agent: String::new(),
        load_limits: lineside_model::DecodingLimits::default(),
        archive: Arc::new(MemoryArchive::new(Arc::new(clock.clone()))),
        snapshots: Arc::new(MemorySnapshotStore::default()),
        extra_channels: None,
        inboxes: InboxSettings {
            address: None,
            subscriber: "lineside-1".into(),
            keys: Arc::new(|| Secret::new("key")),
        },
        message_observer: inspector,
    })
}

/// Advances the clock until there is a value; the limit only ends a failing test.
pub(super) async fn wait_until_some<T>(
    clock: &SimulatedClock,
    mut found_value: impl FnMut() -> Option<T>,
) -> T {
    let watch = RealTimeStopwatch::start_stopwatch();
    loop {
        if let Some(it) = found_value() {
            return it;
        }
        assert!(watch.elapsed() < Duration::from_secs(60), "the value never appeared");
        clock.advance_time(Duration::from_millis(20));
        sleep_real_time(Duration::from_millis(2)).await;
    }
}
