//! Tests of trip delays from a network's records.

use std::time::Duration;

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, trip_descriptor::ScheduleRelationship, trip_update::stop_time_update,
};
use lineside_model::{DelayCounts, DelayQuery, FeedId, TripDelayStatus};

use crate::support::*;

fn world(entities: Vec<FeedEntity>) -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world.apply("city-trips", entities);
    world
}

/// Returns the reported trips with their status, in the order of their ids.
fn list_trip_delays(
    world: &World,
    feeds: &[FeedId],
    route: Option<&str>,
    stop: Option<&str>,
) -> Vec<(String, TripDelayStatus)> {
    let selection = DelayQuery { feeds, route, stop, all_lines: true };
    let mut delays = list_delays(world, selection);
    delays.retain(|(_, status)| *status != TripDelayStatus::ScheduledOnly);
    delays
}

/// Returns the trips of a selection with their status, in the order of their ids.
fn list_delays(world: &World, selection: DelayQuery<'_>) -> Vec<(String, TripDelayStatus)> {
    let trips = world.network.state().trip_delays(selection, world.now());
    let mut all: Vec<_> =
        trips.iter().map(|trip| (trip.trip_id.to_string(), trip.status)).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Returns the ids of scheduled-only trips.
fn list_scheduled_only(world: &World, selection: DelayQuery<'_>) -> Vec<String> {
    let all = list_delays(world, selection).into_iter();
    all.filter(|(_, status)| *status == TripDelayStatus::ScheduledOnly)
        .map(|(trip, _)| trip)
        .collect()
}

fn all(world: &World, route: Option<&str>, stop: Option<&str>) -> Vec<(String, TripDelayStatus)> {
    list_trip_delays(world, &[feed("city-trips")], route, stop)
}

fn named(expected: &[(&str, TripDelayStatus)]) -> Vec<(String, TripDelayStatus)> {
    expected.iter().map(|&(trip, status)| (trip.to_owned(), status)).collect()
}

fn cancelled(trip: &str) -> FeedEntity {
    let mut entity = update(trip, 10, 0);
    let trip_update = entity.trip_update.as_mut().unwrap();
    trip_update.trip.set_schedule_relationship(ScheduleRelationship::Canceled);
    trip_update.stop_time_update.clear();
    entity
}

/// Trips of number n leave at 05:00 plus n times ten minutes, and take a quarter of an hour.
fn morning() -> Vec<FeedEntity> {
    let mut silent = update("T22", 10, 0);
    silent.trip_update.as_mut().unwrap().stop_time_update.clear();
    let mut deleted = update("T24", 10, 900);
    let trip_update = deleted.trip_update.as_mut().unwrap();
    trip_update.trip.set_schedule_relationship(ScheduleRelationship::Deleted);
    vec![
        update("T18", 10, 120),
        update("T19", 10, 400),
        update("T20", 10, -180),
        cancelled("T21"),
        silent,
        deleted,
    ]
}

#[test]
fn each_trip_is_listed_once_with_its_delay() {
    let world = world(morning());
    let delays = all(&world, None, None);
    let expect = named(&[
        ("T18", TripDelayStatus::Delayed(120)),
        ("T19", TripDelayStatus::Delayed(400)),
        ("T20", TripDelayStatus::Delayed(-180)),
        ("T21", TripDelayStatus::Cancelled),
        ("T22", TripDelayStatus::Unknown),
    ]);
    assert_eq!(delays, expect);
    let feeds = [feed("city-trips")];
    let selection = DelayQuery { feeds: &feeds, route: None, stop: None, all_lines: true };
    let trips = world.network.state().reported_trip_delays(selection);
    let counts =
        DelayCounts::from_trips(trips.iter().map(|trip| &**trip), Duration::from_secs(300));
    assert_eq!((counts.trips, counts.late, counts.cancelled, counts.early), (5, 1, 1, 1));
    assert_eq!(counts.worst, Some(400));
    let late = trips.iter().find(|trip| trip.trip_id == "T19").unwrap();
    assert_eq!(late.start_date, "20260304");
    assert_eq!(late.headsign.as_deref(), Some("Airport"));
    assert_eq!(late.stop_name.as_deref(), Some("Central"));
}

#[test]
fn the_start_of_a_trip_is_given_only_if_known() {
    let extra = |id: &str, sequence: Option<u32>, delay: Option<i32>| {
        let mut entity = update(id, 10, 0);
        let trip_update = entity.trip_update.as_mut().unwrap();
        trip_update.trip.set_schedule_relationship(ScheduleRelationship::Added);
        let call = &mut trip_update.stop_time_update[0];
        (call.stop_sequence, call.arrival) = (sequence, None);
        call.stop_id = Some("C1".to_owned());
        let departure = call.departure.as_mut().unwrap();
        departure.time = Some(EIGHT + 300);
        departure.delay = delay;
        entity
    };
    let world = world(vec![
        update("T19", 10, 400),
        extra("late", Some(1), Some(120)),
        extra("first", Some(0), None),
        // Many producers drop past calls.
        extra("on-its-way", Some(3), None),
        extra("unknown", None, None),
    ]);
    let feeds = [feed("city-trips")];
    let selection = DelayQuery { feeds: &feeds, route: None, stop: None, all_lines: true };
    let trips = world.network.state().reported_trip_delays(selection);
    let begins = |id: &str| {
        let trip = trips.iter().find(|trip| trip.trip_id == id).unwrap();
        (trip.begins_at, trip.first_stop_name.clone())
    };
    let (at, name) = begins("T19");
    assert_eq!((at, name.as_deref()), (Some(EIGHT + 600), Some("Central")));
    assert_eq!(begins("late"), (Some(EIGHT + 180), Some("Central".into())));
    assert_eq!(begins("first"), (Some(EIGHT + 300), Some("Central".into())));
    assert_eq!([begins("on-its-way"), begins("unknown")], [(None, None), (None, None)]);
}

#[test]
fn a_trip_in_two_feeds_counts_once() {
    let mut world = world(morning());
    let alone = list_trip_delays(&world, &[feed("city-trips")], None, None).len();
    world.apply("city-vehicles", vec![update("T18", 10, 30)]);
    let both = [feed("city-trips"), feed("city-vehicles")];
    assert_eq!(list_trip_delays(&world, &both, None, None).len(), alone);
    assert_eq!(list_trip_delays(&world, &[feed("city-vehicles")], None, None).len(), 1);
}

#[test]
fn the_delay_of_a_vehicle_counts_only_without_a_better_source() {
    let mere = |trip: &str, time: Option<&str>, delay: i32| {
        let mut entity = update(trip, 10, delay);
        let trip_update = entity.trip_update.as_mut().unwrap();
        trip_update.trip.start_date = Some("20260304".to_owned());
        trip_update.trip.start_time = time.map(str::to_owned);
        trip_update.stop_time_update.clear();
        trip_update.delay = Some(delay);
        entity
    };
    let both = [feed("city-vehicles"), feed("city-trips")];
    // Feeds are visited in their own order, so each is the first one once.
    for (vehicles, trips) in [("city-vehicles", "city-trips"), ("city-trips", "city-vehicles")] {
        let mut world = world(Vec::new());
        world.apply(vehicles, vec![mere("T21", None, 30), mere("T23", None, 40)]);
        world.apply(trips, vec![cancelled("T21")]);
        for route in [None, Some("R2")] {
            let delays = list_trip_delays(&world, &both, route, None);
            let list_statuses = |trip: &str| -> Vec<_> {
                delays.iter().filter(|it| it.0 == trip).map(|it| it.1).collect()
            };
            assert_eq!(list_statuses("T21"), [TripDelayStatus::Cancelled], "{route:?} {trips}");
            assert_eq!(list_statuses("T23"), [TripDelayStatus::Delayed(40)], "{route:?} {trips}");
        }
    }
    // Runs of a trip at other times are distinct; a run without a time may equal either.
    for (time, expected) in [(Some("07:50:00"), 2), (Some("05:50:00"), 1), (None, 1)] {
        let mut world = world(vec![mere("T23", Some("05:50:00"), 10)]);
        world.apply("city-vehicles", vec![mere("T23", time, 20)]);
        assert_eq!(list_trip_delays(&world, &both, None, None).len(), expected, "{time:?}");
    }
}

#[test]
fn a_line_lists_its_own_trips_only() {
    let world = world(morning());
    let delays = all(&world, Some("R2"), None);
    assert_eq!(
        delays,
        named(&[("T19", TripDelayStatus::Delayed(400)), ("T21", TripDelayStatus::Cancelled)])
    );
    assert!(all(&world, Some("none"), None).is_empty());
}

#[test]
fn a_stop_lists_departing_trips_with_their_delay_there() {
    let mut leaves_out = update("T23", 10, 60);
    leaves_out.trip_update.as_mut().unwrap().stop_time_update.push({
        let mut call = update("x", 30, 0).trip_update.unwrap().stop_time_update.remove(0);
        call.set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
        call
    });
    let world = world(morning().into_iter().chain([leaves_out]).collect());
    let delays = all(&world, None, Some("D"));
    let expect = named(&[
        ("T18", TripDelayStatus::Delayed(120)),
        ("T19", TripDelayStatus::Delayed(400)),
        ("T20", TripDelayStatus::Delayed(-180)),
        ("T21", TripDelayStatus::Cancelled),
        ("T23", TripDelayStatus::Cancelled),
    ]);
    assert_eq!(delays, expect, "trips without real-time data are omitted");
    let line_delays = all(&world, Some("R1"), Some("D"));
    assert_eq!(line_delays.len(), 2);
    assert!(all(&world, None, Some("A")).is_empty(), "a last stop has no departures");
    assert_eq!(
        all(&world, None, Some("C")).len(),
        5,
        "a station has the departures of its platforms"
    );
}

#[test]
fn past_and_distant_trips_do_not_count() {
    // Two hours ahead is 10:00, when trip 30 leaves; trip 16 has arrived at 07:55, trip 17 is running.
    let world = world(vec![
        update("T30", 10, 500),
        update("T31", 10, 500),
        update("T16", 40, 0),
        update("T17", 40, 0),
        update("T12", 40, 4_000),
        cancelled("T10"),
    ]);
    let trips: Vec<String> = all(&world, None, None).into_iter().map(|(trip, _)| trip).collect();
    assert_eq!(trips, ["T12", "T17", "T30"]);
}

#[test]
fn only_reliable_feeds_count() {
    let mut world = world(morning());
    world.apply("city-vehicles", vec![vehicle("1", Some("T18"), 48.86, 2.34, EIGHT)]);
    assert!(list_trip_delays(&world, &[], None, None).is_empty());
    assert!(list_trip_delays(&world, &[feed("city-vehicles")], None, None).is_empty());
    assert!(list_trip_delays(&world, &[], None, Some("D")).is_empty());
    let state = world.network.state();
    assert!(state.has_trip_updates("city-trips") && !state.has_trip_updates("city-vehicles"));
    assert_eq!(
        (state.feed_record_count("city-vehicles"), state.feed_record_count("nobody")),
        (1, 0)
    );
}

#[test]
fn without_a_timetable_the_data_of_the_feed_are_used() {
    let mut world = World::new();
    let mut entity = update("X", 10, 700);
    entity.trip_update.as_mut().unwrap().trip.route_id = Some("R9".into());
    entity.trip_update.as_mut().unwrap().stop_time_update[0].stop_id = Some("S".into());
    world.apply("city-trips", vec![entity]);
    assert_eq!(all(&world, Some("R9"), None), named(&[("X", TripDelayStatus::Delayed(700))]));
    assert!(all(&world, None, Some("D")).is_empty());
}

#[test]
fn a_cancelled_trip_without_times_counts_on_its_day() {
    let off = |date: Option<&str>| {
        let mut entity = cancelled("X");
        let trip = &mut entity.trip_update.as_mut().unwrap().trip;
        trip.start_date = date.map(str::to_owned);
        entity
    };
    for (date, counts) in [
        (Some("20260303"), false),
        (Some("20260304"), true),
        (Some("20260305"), false),
        (None, true),
    ] {
        let mut bare = World::new();
        bare.apply("city-trips", vec![off(date)]);
        assert_eq!(all(&bare, None, None).len(), usize::from(counts), "{date:?}");
        let known = world(vec![off(date)]);
        assert_eq!(all(&known, None, None).len(), usize::from(counts), "{date:?}");
    }
}

#[test]
fn delays_are_computed_again_for_a_new_state() {
    let mut world = world(morning());
    assert_eq!(all(&world, Some("R2"), None).len(), 2);
    world.apply("city-trips", vec![update("T19", 10, 30)]);
    assert_eq!(all(&world, Some("R2"), None), named(&[("T19", TripDelayStatus::Delayed(30))]));
    world.writer.apply_dataset(dataset(1), world.now());
    assert_eq!(all(&world, None, None).len(), 1, "a new timetable is matched again");
}

#[test]
fn running_trips_without_real_time_count_as_unknown() {
    // Trip 17 is running, 16 has arrived, and 19 is ahead; a ferry leaves each half hour.
    let world = world(vec![update("T18", 10, 0)]);
    let feeds = [feed("city-trips")];
    let all = DelayQuery { feeds: &feeds, route: None, stop: None, all_lines: true };
    assert_eq!(list_scheduled_only(&world, all), ["F0", "T17"]);
    assert_eq!(list_scheduled_only(&world, DelayQuery { route: Some("R2"), ..all }), ["T17"]);
    assert!(list_scheduled_only(&world, DelayQuery { route: Some("R1"), ..all }).is_empty());
    // Reports of all feeds matter, reliable or not; but without a reliable feed nothing is counted.
    assert!(list_scheduled_only(&world, DelayQuery { feeds: &[], ..all }).is_empty());
    // With one of several feeds, its reported routes count.
    assert!(list_scheduled_only(&world, DelayQuery { all_lines: false, ..all }).is_empty());
    let delays = list_delays(&world, DelayQuery { route: Some("R2"), ..all });
    assert_eq!(delays, named(&[("T17", TripDelayStatus::ScheduledOnly)]));
    let mut world = world;
    world.apply("city-vehicles", vec![update("T17", 10, 60)]);
    assert_eq!(list_scheduled_only(&world, all), ["F0"], "a report in another feed counts");
    let ferry = |date: &str| {
        let mut ferry = update("F0", 1, 60);
        let trip = &mut ferry.trip_update.as_mut().unwrap().trip;
        trip.start_date = Some(date.to_owned());
        trip.start_time = Some("07:50:00".to_owned());
        ferry
    };
    world.apply("city-vehicles", vec![ferry("20260303")]);
    assert_eq!(
        list_scheduled_only(&world, all),
        ["F0", "T17"],
        "the previous day's run does not count"
    );
    world.apply("city-vehicles", vec![ferry("20260304")]);
    assert_eq!(
        list_scheduled_only(&world, all),
        ["T17"],
        "frequency-based runs need no exact start time"
    );
    world.apply("city-vehicles", Vec::new());
    world.apply("city-trips", vec![update("T18", 10, 0), update("T31", 10, 0)]);
    assert_eq!(
        list_scheduled_only(&world, DelayQuery { all_lines: false, ..all }),
        ["T17"],
        "a trip of the same line"
    );
    let trip = world.network.state().trip_delays(all, world.now());
    let trip = trip.iter().find(|trip| trip.trip_id == "T17").unwrap();
    assert_eq!(trip.status, TripDelayStatus::ScheduledOnly);
    assert_eq!((trip.start_date.as_str(), trip.route_id.as_deref()), ("20260304", Some("R2")));
}

#[test]
fn scheduled_stop_calls_without_real_time_count_as_unknown() {
    let world = world(vec![update("T18", 10, 0)]);
    let feeds = [feed("city-trips")];
    let there = DelayQuery { feeds: &feeds, route: None, stop: Some("D"), all_lines: true };
    let trips = world.network.state().trip_delays(there, world.now());
    let counts =
        DelayCounts::from_trips(trips.iter().map(|trip| &**trip), Duration::from_secs(300));
    assert_eq!((counts.trips, counts.on_time, counts.scheduled_only), (9, 1, 8));
    assert!(!counts.has_enough_known_trips(), "one of many trips is not conclusive: {counts:?}");
    // On the reported route, departures within half an hour count; on the other one all.
    let expect = ["T17", "T19", "T20", "T21", "T23", "T25", "T27", "T29"];
    assert_eq!(list_scheduled_only(&world, there), expect);
    assert_eq!(list_scheduled_only(&world, DelayQuery { all_lines: false, ..there }), ["T20"]);
    assert!(list_scheduled_only(&world, DelayQuery { feeds: &[], ..there }).is_empty());
    assert!(list_scheduled_only(&world, DelayQuery { stop: Some("A"), ..there }).is_empty());
}
