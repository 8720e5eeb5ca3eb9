//! A network whose live trips have ids that its timetable does not have: its boards, trips, lines, and counts of vehicles.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, TripDescriptor, TripUpdate, VehiclePosition,
    trip_update::{StopTimeEvent, StopTimeUpdate},
};
use lineside_testkit::{wait_for_json, wait_until};
use serde_json::Value;

use crate::support::http::{get, get_json};
use crate::support::timetable::{Lines, message, now};
use crate::support::town::{Town, good};

/// Returns a live trip of line A with its vehicle, which has neither an id nor a position. `start` and the calls are in
/// minutes from now.
fn live(lines: Lines, trip_id: &str, start: i64, calls: &[(&str, i64)]) -> [FeedEntity; 2] {
    let seconds = lines.second_of_day(now() + start * 60);
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let trip = TripDescriptor {
        trip_id: Some(trip_id.to_owned()),
        route_id: Some("A".to_owned()),
        start_date: Some(lines.date()),
        start_time: Some(format!("{hours:02}:{minutes:02}:00")),
        ..TripDescriptor::default()
    };
    let calls = calls.iter().map(|&(stop, at)| {
        let event = StopTimeEvent { time: Some(now() + at * 60), ..StopTimeEvent::default() };
        StopTimeUpdate {
            stop_id: Some(stop.to_owned()),
            arrival: Some(event),
            departure: Some(event),
            ..StopTimeUpdate::default()
        }
    });
    let vehicle = VehiclePosition { trip: Some(trip.clone()), ..VehiclePosition::default() };
    let update = TripUpdate { trip, stop_time_update: calls.collect(), ..TripUpdate::default() };
    [
        FeedEntity {
            id: format!("t-{trip_id}"),
            trip_update: Some(update),
            ..FeedEntity::default()
        },
        FeedEntity { id: format!("v-{trip_id}"), vehicle: Some(vehicle), ..FeedEntity::default() },
    ]
}

/// Returns a running trip that has left `s1`, one that starts there in six minutes, and one that has ended.
fn live_trips(lines: Lines) -> Vec<FeedEntity> {
    let mut entities = live(lines, "under-way", -2, &[("s2", 3), ("s3", 8)]).to_vec();
    entities.extend(live(lines, "announced", 6, &[("s1", 6), ("s2", 11), ("s3", 16)]));
    entities.extend(live(lines, "ended", -40, &[]));
    entities
}

async fn town() -> Town {
    let town = Town::start_town(["", ""], |lines| message(now(), live_trips(lines))).await;
    let url = town.url("/api/v1/stops/town/s1/departures");
    wait_for_json(&url, |found| find(found, "announced").is_some()).await;
    town
}

fn find<'a>(board: &'a Value, trip: &str) -> Option<&'a Value> {
    board["items"].as_array()?.iter().find(|departure| departure["trip_id"] == trip)
}

#[tokio::test]
async fn a_board_shows_live_trips_once_and_without_scheduled_times() {
    let town = town().await;
    let board = get_json(&town.url("/api/v1/stops/town/s1/departures")).await;
    let departure = find(&board, "announced").unwrap();
    assert!(departure["scheduled"].is_null() && departure["delay"].is_null(), "{departure}");
    assert!(departure["expected"].is_string(), "{departure}");
    assert_eq!(
        (&departure["status"], &departure["headsign"]),
        (&"realtime".into(), &"Last".into())
    );
    // Trips of the timetable before the last live one may be the same trains; line B has no live trips.
    assert!(find(&board, "a1").is_none() && find(&board, "a2").is_none(), "{board}");
    assert!(find(&board, "a3").is_some() && find(&board, "b1").is_some(), "{board}");
    let state = get_json(&town.url("/api/v1/state?channel=stop/town/s1")).await;
    assert!(state.to_string().contains("\"announced:"), "{state}");
    let page = town.page("/stops/town/s1").await;
    assert!(page.contains("data-trip=\"announced\"") && !page.contains("data-trip=\"a1\""));
    assert!(page.contains("data-unmatched"), "{page}");
    let (_, link) = page.split_once("href=\"/trips/town/announced").unwrap();
    let (query, _) = link.split_once('"').unwrap();
    let trip = town.page(&format!("/trips/town/announced{}", query.replace("&amp;", "&"))).await;
    assert_eq!(trip.matches("data-status=\"realtime\"").count(), 3, "{trip}");
    assert!(!trip.contains("data-earlier-calls"), "it has not started: {trip}");
    let under_way = town.page("/trips/town/under-way").await;
    assert!(under_way.contains("data-earlier-calls=\"unreported\""), "{under_way}");
    // Once one trip is known by its id, the others are trips that the timetable does not have.
    let mut known = live_trips(town.lines);
    known.push(town.lines.behind("a1", 0));
    town.producer.set(good(&message(now(), known)));
    let url = town.url("/api/v1/stops/town/s1/departures");
    wait_for_json(&url, |found| find(found, "a1").is_some() && find(found, "a2").is_some()).await;
    let page = town.page("/stops/town/s1").await;
    assert!(page.contains("data-trip=\"announced\"") && !page.contains("data-unmatched"), "{page}");
}

#[tokio::test]
async fn a_column_without_values_is_hidden_and_a_stop_outside_the_timetable_has_no_raw_id() {
    let town = town().await;
    // All departures of line A from its middle stop that are shown are live, without a schedule or a delay.
    let board = town.page("/stops/town/S?lines=A&limit=1").await;
    let (_, table) = board.split_once("<table class=\"board").unwrap();
    let (classes, _) = table.split_once('"').unwrap();
    assert!(classes.contains("without-scheduled") && classes.contains("without-status"), "{board}");
    let all = town.page("/stops/town/S").await;
    assert!(!all.contains("without-scheduled"), "line B has the times of the timetable: {all}");
    let strange = live(town.lines, "strange", -2, &[("nowhere", 3)]);
    town.producer.set(good(&message(now(), strange.to_vec())));
    let page = async || town.page("/routes/town/A").await;
    wait_until("the trip is there", async || page().await.contains("data-id=\"strange:")).await;
    let visible = page().await;
    let (_, elsewhere) = visible.split_once("data-reckoned=\"elsewhere\"").unwrap();
    assert!(!elsewhere.contains("nowhere"), "{elsewhere}");
}

#[tokio::test]
async fn vehicles_of_trips_not_under_way_are_not_counted() {
    let town = town().await;
    let counts = get_json(&town.url("/map/counts")).await;
    assert_eq!(
        (&counts[0]["unplaced"], &counts[0]["vehicles"]),
        (&1.into(), &0.into()),
        "{counts}"
    );
    assert_eq!(counts[0]["idle"], 2, "a trip that has not begun and one that has ended: {counts}");
    let unplaced = get_json(&town.url("/map/unplaced?network=town")).await;
    assert_eq!(unplaced.as_array().unwrap().len(), 1, "{unplaced}");
    assert_eq!(unplaced[0]["record"]["lineside"]["route_id"], "A", "{unplaced}");
    let trip = unplaced[0]["trip_address"].as_str().unwrap();
    assert!(trip.starts_with("/trips/town/under-way?"), "{unplaced}");
    let index = town.page("/networks").await;
    assert!(index.contains("1 vehicle") && !index.contains("vehicles"), "{index}");
    // The list without scripts has the same vehicle, and no age of a position that it does not report.
    let map = town.page("/map").await;
    assert_eq!(map.matches("data-vehicle=\"").count(), 1, "{map}");
    assert!(!map.contains("data-age="), "{map}");
}

#[tokio::test]
async fn a_line_shows_trips_under_way_and_later_trips_separately() {
    let town = town().await;
    let url = town.url("/routes/town/A");
    let page = async || get(&url).await.text().await.unwrap();
    wait_until("the trip is there", async || page().await.contains("data-id=\"under-way:")).await;
    let shown = page().await;
    assert_eq!(shown.matches("<li class=\"vehicle").count(), 1, "{shown}");
    let [before, after] =
        ["s1", "s3"].map(|stop| shown.find(&format!("data-stop=\"{stop}\"")).unwrap());
    assert!(shown[before..after].contains("data-id=\"under-way:"), "{shown}");
    assert!(shown[before..after].contains("href=\"/trips/town/under-way?date="), "{shown}");
    let (_, later) = shown.split_once("data-reckoned=\"announced\"").unwrap();
    assert!(later.contains("href=\"/trips/town/announced?date="), "{later}");
    assert!(later.contains("data-from=\"s1\" data-starts=\"1\""), "{later}");
    // Many trips to one destination are one row.
    let mut many = live_trips(town.lines);
    for number in 0..5 {
        many.extend(live(town.lines, &format!("x{number}"), -2, &[("s2", 4), ("s3", 9)]));
    }
    town.producer.set(good(&message(now(), many)));
    wait_until("they are one row", async || page().await.contains("data-trips=\"6\"")).await;
    assert_eq!(page().await.matches("<li class=\"vehicle").count(), 1);
}
