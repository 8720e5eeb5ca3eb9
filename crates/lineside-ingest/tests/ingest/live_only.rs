//! Tests of trips that a feed updates and the timetable does not have: on boards, on their own page, and their phases.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity,
    trip_descriptor::ScheduleRelationship,
    trip_update::{StopTimeEvent, StopTimeUpdate, stop_time_update},
};
use lineside_model::{Departure, DepartureStatus, Record, TripPhase, TripRunQuery};

use crate::{siri_out::monitored_call, support::*};

fn world(entities: Vec<FeedEntity>) -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world.apply("city-trips", entities);
    world
}

fn board(world: &World, stop: &str) -> Vec<Departure> {
    next_departures(&world.network, stop, world.now().unix_seconds(), 40).unwrap()
}

fn trips_of_route(board: &[Departure], route: &str) -> Vec<String> {
    let departures = board.iter().filter(|it| it.route_id == route);
    departures.map(|it| it.trip_id.to_string()).collect()
}

/// Returns a trip of line R1 with another id than the timetable's. `start` and the calls are in minutes after eight.
fn live(trip_id: &str, start: i64, calls: &[(&str, i64)]) -> FeedEntity {
    let mut entity = update(trip_id, 1, 0);
    let said = entity.trip_update.as_mut().unwrap();
    said.trip.route_id = Some("R1".into());
    said.trip.start_date = Some("20260304".into());
    let minutes = 8 * 60 + start;
    said.trip.start_time = Some(format!("{:02}:{:02}:00", minutes / 60, minutes % 60));
    let calls = calls.iter().map(|&(stop, at)| {
        let event = StopTimeEvent { time: Some(EIGHT + at * 60), ..Default::default() };
        StopTimeUpdate {
            stop_id: Some(stop.into()),
            arrival: Some(event),
            departure: Some(event),
            ..Default::default()
        }
    });
    said.stop_time_update = calls.collect();
    entity
}

#[test]
fn a_trip_that_the_timetable_lacks_departs_at_its_live_times() {
    let mut skips = live("skips", 0, &[("C1", 4), ("B", 9), ("D", 14)]);
    let calls = &mut skips.trip_update.as_mut().unwrap().stop_time_update;
    calls[1].set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
    let calls = [("unknown", 1), ("C1", 3), ("B", 8), ("A", 20), ("elsewhere", 25)];
    let world = world(vec![live("x..N", 0, &calls), skips]);
    let at_central = board(&world, "C");
    let departure = at_central.iter().find(|it| it.trip_id == "x..N").unwrap();
    assert_eq!(departure.status, DepartureStatus::Realtime);
    assert_eq!((departure.scheduled, departure.delay), (None, None));
    assert_eq!(departure.expected, Some(EIGHT + 180));
    assert_eq!((departure.route_id.as_str(), departure.route_short_name.as_str()), ("R1", "12"));
    assert_eq!(departure.headsign.as_deref(), Some("Airport"), "the last stop that is known");
    assert_eq!((departure.platform.as_deref(), departure.stop_sequence), (Some("1"), None));
    assert_eq!(departure.source.as_str(), "city-trips");
    let json = serde_json::to_value(departure).unwrap();
    assert!(json["scheduled"].is_null() && json["delay"].is_null(), "{json}");
    assert_eq!(json["expected"], "2026-03-04T08:03:00+01:00");
    let at_bassin = trips_of_route(&board(&world, "B"), "R1");
    assert_eq!(at_bassin.first().map(String::as_str), Some("x..N"));
    assert!(!at_bassin.contains(&"skips".to_owned()), "a stop that is left out has no departure");
    let at_docks = board(&world, "D");
    assert!(!at_docks.iter().any(|it| it.trip_id == "skips"), "the last call is no departure");
}

#[test]
fn a_departure_keeps_its_id_when_calls_that_are_over_are_dropped() {
    let mut world = world(vec![live("x", 0, &[("C1", 0), ("B", 5), ("D", 10), ("A", 15)])]);
    let id = |world: &World| {
        let board = board(world, "B");
        board.iter().find(|it| it.trip_id == "x").unwrap().id.clone()
    };
    let before = id(&world);
    assert!(before.starts_with("x:20260304:08:00:00:"), "{before}");
    world.clock.advance_time(minutes(1));
    world.apply("city-trips", vec![live("x", 0, &[("B", 6), ("D", 10), ("A", 15)])]);
    assert_eq!(id(&world), before);
}

#[test]
fn incomparable_live_trips_replace_the_timetable_of_their_line() {
    let calls = |at: i64| [("C1", at), ("B", at + 5), ("A", at + 15)];
    let world = world(vec![live("x", 4, &calls(4)), live("y", 26, &calls(26))]);
    assert!(world.network.state().has_feed_without_matches());
    let at_central = board(&world, "C");
    // T18 at 8:00 and T20 at 8:20 may be x and y at 8:04 and 8:26; T22 at 8:40 comes after the last live departure.
    let first: Vec<String> = trips_of_route(&at_central, "R1").into_iter().take(4).collect();
    assert_eq!(first, ["x", "y", "T22", "T24"]);
    // Another line, and a stop without live trips, are as in the timetable.
    assert!(at_central.iter().any(|it| it.trip_id == "T19"));
    assert!(board(&world, "D").iter().any(|it| it.trip_id == "T18"));
    // Outdated data hide nothing: the update of y is too old.
    world.clock.advance_time(std::time::Duration::from_secs(20 * 60 + 1));
    let later = trips_of_route(&board(&world, "C"), "R1");
    assert_eq!(later[0], "T20");
}

#[test]
fn beside_trips_of_the_timetable_an_unknown_id_is_another_trip() {
    let calls = [("C1", 4), ("B", 9), ("A", 19)];
    let world = world(vec![live("x", 4, &calls), update("T20", 10, 60)]);
    assert!(!world.network.state().has_feed_without_matches());
    let first: Vec<String> = trips_of_route(&board(&world, "C"), "R1");
    assert_eq!(first[..3], ["T18", "x", "T20"]);
}

#[test]
fn boards_follow_when_trips_become_comparable() {
    let calls = [("C1", 4), ("B", 9), ("A", 19)];
    let mut world = world(vec![live("x", 4, &calls)]);
    let mut client = Client::new(&world, "stop/city/B");
    client.pull_all();
    assert!(client.state.find("departure", "T18:20260304::20").is_none());
    // The trip of the timetable does not call at this stop.
    world.apply("city-trips", vec![live("x", 4, &calls), update("late", 1, 0)]);
    client.pull_all();
    assert!(client.state.find("departure", "T18:20260304::20").is_some());
    assert_eq!(client.state, world.state_of("stop/city/B"));
}

#[test]
fn a_live_only_trip_of_two_feeds_departs_once_and_a_cancelled_one_never() {
    let calls = [("C1", 4), ("B", 9), ("A", 19)];
    let mut off = live("off", 4, &calls);
    let said = off.trip_update.as_mut().unwrap();
    said.trip.set_schedule_relationship(ScheduleRelationship::Canceled);
    let mut world = world(vec![live("x", 4, &calls), off]);
    world.apply("city-vehicles", vec![live("x", 4, &[("C1", 5), ("B", 10), ("A", 19)])]);
    let live = trips_of_route(&board(&world, "C"), "R1");
    assert_eq!(live.iter().filter(|trip| *trip == "x").count(), 1, "{live:?}");
    assert!(!live.contains(&"off".to_owned()));
}

#[test]
fn a_live_only_trip_has_calls_without_a_timetable() {
    let world = world(vec![live("x", 4, &[("C1", 4), ("B", 9), ("A", 19)])]);
    let ask = |start_time| {
        let query = TripRunQuery { trip_id: "x", date: None, start_time };
        world.network.state().find_trip_run(query, world.now())
    };
    let run = ask(Some(8 * 3600 + 240)).unwrap();
    assert_eq!((run.is_scheduled, run.route_id.as_deref()), (false, Some("R1")));
    assert_eq!(run.headsign.as_deref(), Some("Airport"));
    let said: Vec<_> =
        run.calls.iter().map(|it| (it.scheduled, it.expected, it.delay, it.status)).collect();
    let expect =
        [4, 9, 19].map(|at| (None, Some(EIGHT + at * 60), None, DepartureStatus::Realtime));
    assert_eq!(said, expect);
    assert!(ask(Some(7 * 3600)).is_err(), "another run of the day");
}

#[test]
fn a_siri_visit_of_a_live_only_trip_has_the_expected_time_of_its_call() {
    let world = world(vec![live("x", 0, &[("D", -2), ("C1", 4), ("B", 9), ("A", 19)])]);
    let call = monitored_call(&world, "x").unwrap();
    assert_eq!(call.stop_point_ref.as_deref(), Some("C1"));
    let expected = call.expected_departure_time.map(|it| it.as_seconds());
    assert_eq!((expected, call.aimed_departure_time), (Some(EIGHT + 240), None));
}

#[test]
fn trips_are_under_way_between_their_first_and_their_last_known_time() {
    let all = [
        ("announced", live("announced", 10, &[("C1", 10), ("B", 15)])),
        // Its call at Central is past and has been dropped.
        ("under-way", live("under-way", -5, &[("B", 2), ("A", 12)])),
        ("over", live("over", -40, &[("B", -20), ("A", -10)])),
        ("at-its-end", live("at-its-end", -40, &[])),
    ];
    let mut world = world(all.iter().map(|(_, entity)| entity.clone()).collect());
    let on_trip = |trip_id: &str, entity: &FeedEntity| {
        let mut on_trip = vehicle(trip_id, None, 0.0, 0.0, EIGHT);
        let it = on_trip.vehicle.as_mut().unwrap();
        (it.position, it.vehicle) = (None, None);
        it.trip = Some(entity.trip_update.as_ref().unwrap().trip.clone());
        on_trip
    };
    let mut vehicles: Vec<_> = all.iter().map(|(id, entity)| on_trip(id, entity)).collect();
    vehicles.push(on_trip("unknown", &live("unknown", 10, &[])));
    world.apply("city-vehicles", vehicles);
    let state = world.network.state();
    let phase = |id: &str| {
        let record: &Record =
            state.realtime_records_by_trip(id).find(|it| it.vehicle().is_some()).unwrap();
        state.find_trip_phase(record, world.now())
    };
    assert_eq!(phase("announced"), Some(TripPhase::Announced));
    assert_eq!(phase("under-way"), Some(TripPhase::UnderWay));
    assert_eq!(phase("over"), Some(TripPhase::Ended));
    assert_eq!(phase("at-its-end"), Some(TripPhase::Ended));
    assert_eq!(phase("unknown"), None);
    let active = state.active_trips_without_vehicle("R1", world.now(), 10);
    let active: Vec<_> = active.iter().map(|it| (it.next_stop_id.as_str(), it.next_at)).collect();
    assert_eq!(active, [("B", EIGHT + 120)]);
    let announced = state.upcoming_extra_trips("R1", world.now(), 10);
    let announced: Vec<_> =
        announced.iter().map(|it| (it.first_stop_id.as_str(), it.starts_at)).collect();
    assert_eq!(announced, [("C1", EIGHT + 600)]);
}
