//! The operator's limit on the memory of a schedule or a message: larger ones are refused, and the last good one stays.

use std::{fmt::Write as _, sync::Arc};

use lineside_ingest::{Ingest, IngestOptions};
use lineside_model::{DecodingLimits, FailureCode};
use lineside_sync::{Clock as _, RealClock};
use lineside_testkit::wait_until;

use crate::{
    running::{body, config, options, wait_until_failed, zip, zip_of},
    support::{city, message, vehicle},
    upstream::{Answer, Upstream, http},
};

/// Starts a feed whose source serves `good` bytes, replaces them with `large` ones, and waits until these are refused.
async fn assert_refused(memory: u64, good: &[u8], large: &[u8]) {
    let ok = |body: &[u8]| Answer::Bytes(http("200 OK", &[], body));
    let upstream = Upstream::start(ok(good)).await;
    let feeds = vec![config("f", &upstream.url("/"))];
    let load_limits = DecodingLimits::for_memory(memory);
    let ingest: Arc<Ingest> =
        Ingest::start_polling(IngestOptions { load_limits, ..options(feeds) });
    let feed = ingest.find_feed("f").unwrap();
    wait_until("the first body is accepted", async || feed.status().last_success.is_some()).await;
    let accepted = feed.status().entities;
    assert!(accepted > 0);
    upstream.set(ok(large));
    wait_until_failed(&feed, FailureCode::TooLarge).await;
    assert_eq!(feed.status().entities, accepted);
    assert_eq!(feed.snapshot().unwrap().bytes, good);
    ingest.stop_polling().await;
}

#[tokio::test]
async fn a_schedule_over_the_memory_limit_keeps_the_previous_one() {
    let mut stops = String::new();
    for n in 0..10_000 {
        writeln!(stops, "X{n},Stop {n},48.86,2.34,0,,").unwrap();
    }
    let large =
        city(0).replace("        # frequencies.txt", &format!("{stops}        # frequencies.txt"));
    assert_ne!(large, city(0));
    assert_refused(1 << 20, &zip(0), &zip_of(&large)).await;
}

#[tokio::test]
async fn a_gtfs_realtime_message_over_the_memory_limit_keeps_the_previous_one() {
    let now = RealClock::new().wall_time().unix_seconds();
    let vehicles = (0..2_000).map(|n| vehicle(&n.to_string(), None, 48.87, 2.34, now));
    assert_refused(8 << 20, &body(48.87), &message(now, vehicles.collect())).await;
}

#[tokio::test]
async fn a_siri_message_over_the_memory_limit_keeps_the_previous_one() {
    let now = "2026-03-04T08:00:00Z";
    let activities = |n: usize| {
        let activity = format!(
            "<VehicleActivity><RecordedAtTime>{now}</RecordedAtTime><MonitoredVehicleJourney>\
             <VehicleRef>v</VehicleRef><VehicleLocation><Longitude>2.34</Longitude>\
             <Latitude>48.87</Latitude></VehicleLocation></MonitoredVehicleJourney></VehicleActivity>"
        );
        let empty = "<VehicleActivity/>".repeat(n);
        format!(
            "<Siri xmlns='http://www.siri.org.uk/siri' version='2.0'><ServiceDelivery>\
             <ResponseTimestamp>{now}</ResponseTimestamp><VehicleMonitoringDelivery>{activity}{empty}\
             </VehicleMonitoringDelivery></ServiceDelivery></Siri>"
        )
    };
    assert_refused(8 << 20, activities(0).as_bytes(), activities(20_000).as_bytes()).await;
}
