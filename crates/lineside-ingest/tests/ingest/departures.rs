//! Tests of boards: schedule, updates and passing time.

use std::sync::Arc;

use lineside_formats::{
    gtfs::{self, TextFiles},
    gtfs_rt::proto::{
        FeedEntity,
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeEvent, StopTimeUpdate, stop_time_update},
    },
};
use lineside_model::{Dataset, Departure, DepartureStatus, FeedState, FeedStatusRecord};
use lineside_sync::UnixMillis;

use crate::support::*;

fn world() -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world
}

fn board(world: &World, stop: &str) -> Vec<Departure> {
    next_departures(&world.network, stop, world.now().unix_seconds(), 40).unwrap()
}

fn find<'a>(board: &'a [Departure], trip: &str) -> Option<&'a Departure> {
    board.iter().find(|departure| departure.trip_id == trip)
}

fn trip_update_in(entity: &mut FeedEntity) -> &mut lineside_formats::gtfs_rt::proto::TripUpdate {
    entity.trip_update.as_mut().unwrap()
}

#[test]
fn a_board_shows_the_next_departures_in_order() {
    let world = world();
    let board = board(&world, "C");
    assert_eq!(board[0].trip_id, "F0");
    let t18 = find(&board, "T18").unwrap();
    assert_eq!((t18.scheduled, t18.status), (Some(EIGHT), DepartureStatus::Scheduled));
    assert_eq!((t18.route_short_name.as_str(), t18.platform.as_deref()), ("12", Some("1")));
    assert_eq!(t18.id, "T18:20260304::10");
    assert_eq!(t18.format_local_time(EIGHT), "2026-03-04T08:00:00+01:00");
    assert!(board.is_sorted_by_key(Departure::expected_or_scheduled_time));
    assert!(board.last().unwrap().scheduled <= Some(EIGHT + 2 * 3600));
    // The frequent ferry runs every half hour, each run with its own time.
    assert_eq!(board.iter().filter(|it| it.trip_id == "F0").count(), 5);
    assert_eq!(board[0].id, "F0:20260304:08:00:00:1");
    assert!(next_departures(&world.network, "nowhere", EIGHT, 40).is_none());
}

#[test]
fn past_frequency_runs_do_not_displace_coming_ones() {
    let every_second = city(0).replace("F0,06:00:00,22:00:00,1800", "F0,06:00:00,22:00:00,1");
    let (timetable, _) = gtfs::load_timetable(
        &mut TextFiles::from_sections(&every_second),
        &gtfs::DatasetLimits::default(),
    )
    .unwrap();
    let mut world = World::new();
    let dataset = Dataset::from_timetable(
        feed("city"),
        timetable,
        Default::default(),
        7,
        UnixMillis(EIGHT * 1000),
    );
    world.writer.apply_dataset(Arc::new(dataset), world.now());
    let board = board(&world, "C");
    assert!(
        board.iter().any(|it| it.trip_id == "F0" && it.scheduled >= Some(EIGHT - 60)),
        "{board:?}"
    );
}

#[test]
fn the_last_call_is_not_a_departure() {
    assert!(board(&world(), "A").is_empty());
}

#[test]
fn delays_propagate_to_later_calls() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 10, 120)]);
    let at_docks = board(&world, "D");
    let t18 = find(&at_docks, "T18").unwrap();
    assert_eq!((t18.status, t18.delay), (DepartureStatus::Realtime, Some(120)));
    assert_eq!(t18.expected, t18.scheduled.map(|at| at + 120));
    assert_eq!(t18.source.as_str(), "city-trips");
    assert_eq!(t18.age, Some(0));
    assert_eq!(find(&at_docks, "T19").unwrap().source.as_str(), "city");
}

#[test]
fn the_delay_of_a_vehicle_does_not_replace_expected_stop_times() {
    let mut world = world();
    let mut vehicle_trip = update("T18", 10, 0);
    let trip_update = trip_update_in(&mut vehicle_trip);
    trip_update.stop_time_update.clear();
    trip_update.delay = Some(45);
    let at = world.now().unix_seconds();
    trip_update.timestamp = Some(at as u64);
    let mut estimated = update("T18", 10, 120);
    trip_update_in(&mut estimated).timestamp = Some((at - 60) as u64);
    world.apply("city-vehicles", vec![vehicle_trip.clone()]);
    assert_eq!(find(&board(&world, "C"), "T18").unwrap().delay, Some(45), "where nothing else is");
    world.apply("city-trips", vec![estimated]);
    let at_central = board(&world, "C");
    let t18 = find(&at_central, "T18").unwrap();
    assert_eq!((t18.delay, t18.source.as_str()), (Some(120), "city-trips"));
    // Old estimates lose against a vehicle that keeps reporting.
    world.clock.advance_time(minutes(30));
    trip_update_in(&mut vehicle_trip).delay = Some(1_800);
    trip_update_in(&mut vehicle_trip).timestamp = Some(world.now().unix_seconds() as u64);
    world.apply("city-vehicles", vec![vehicle_trip]);
    let at_central = board(&world, "C");
    let t18 = find(&at_central, "T18").unwrap();
    assert_eq!((t18.delay, t18.source.as_str()), (Some(1_800), "city-vehicles"));
}

#[test]
fn a_late_departure_stays_until_a_minute_after_it_left() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 10, 3000)]);
    world.clock.advance_time(minutes(50));
    // An update that is not repeated expires.
    world.apply("city-trips", vec![update("T18", 10, 3000)]);
    assert_eq!(find(&board(&world, "C"), "T18").unwrap().delay, Some(3000));
    world.clock.advance_time(minutes(1));
    assert!(find(&board(&world, "C"), "T18").is_some());
    world.clock.advance_time(minutes(1));
    assert!(find(&board(&world, "C"), "T18").is_none());
}

#[test]
fn cancelled_skipped_and_deleted_trips_are_distinguished() {
    let mut world = world();
    let mut cancelled = update("T18", 10, 0);
    trip_update_in(&mut cancelled).trip.set_schedule_relationship(ScheduleRelationship::Canceled);
    let mut deleted = update("T19", 10, 0);
    trip_update_in(&mut deleted).trip.set_schedule_relationship(ScheduleRelationship::Deleted);
    let mut skipped = update("T20", 10, 0);
    trip_update_in(&mut skipped).stop_time_update[0]
        .set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
    world.apply("city-trips", vec![cancelled, deleted, skipped]);
    let board = board(&world, "C");
    assert_eq!(find(&board, "T18").unwrap().status, DepartureStatus::Cancelled);
    assert!(find(&board, "T19").is_none());
    assert_eq!(find(&board, "T20").unwrap().status, DepartureStatus::Skipped);
}

#[test]
fn an_added_trip_departs_except_at_its_last_stop() {
    let mut world = world();
    let mut extra = added(Some("extra"), world.now().unix_seconds(), EIGHT + 60);
    let trip_update = trip_update_in(&mut extra);
    trip_update.trip.route_id = Some("R1".into());
    trip_update.stop_time_update.push(call("A", EIGHT + 600));
    world.apply("city-trips", vec![extra]);
    let at_central = board(&world, "C");
    let extra = find(&at_central, "extra").unwrap();
    assert_eq!((extra.expected, extra.status), (Some(EIGHT + 60), DepartureStatus::Realtime));
    assert_eq!(
        (extra.headsign.as_deref(), extra.platform.as_deref()),
        (Some("Airport"), Some("2"))
    );
    assert!(find(&board(&world, "B"), "extra").is_some());
    assert!(find(&board(&world, "A"), "extra").is_none());
}

fn added(trip: Option<&str>, made_at: i64, at: i64) -> FeedEntity {
    let mut entity = update("extra", 1, 0);
    let trip_update = trip_update_in(&mut entity);
    trip_update.trip.trip_id = trip.map(str::to_owned);
    trip_update.trip.set_schedule_relationship(ScheduleRelationship::Added);
    trip_update.timestamp = u64::try_from(made_at).ok();
    trip_update.stop_time_update = vec![call("C2", at), call("B", at + 300)];
    entity
}

fn call(stop: &str, at: i64) -> StopTimeUpdate {
    StopTimeUpdate {
        stop_id: Some(stop.into()),
        departure: Some(StopTimeEvent { time: Some(at), ..Default::default() }),
        ..Default::default()
    }
}

#[test]
fn an_added_trip_in_two_feeds_departs_once_by_the_newer_update() {
    for newer in ["city-trips", "city-vehicles"] {
        let mut world = world();
        let now = world.now().unix_seconds();
        for feed in ["city-trips", "city-vehicles"] {
            // By one update the trip leaves before T18, by the other after it.
            let (made_at, at) =
                if feed == newer { (now - 10, EIGHT + 60) } else { (now - 60, EIGHT - 30) };
            world.apply(feed, vec![added(Some("extra"), made_at, at)]);
        }
        let board = board(&world, "C");
        let extra: Vec<_> = board.iter().filter(|it| it.trip_id == "extra").collect();
        assert_eq!(extra.len(), 1, "{newer}: {extra:?}");
        assert_eq!((extra[0].expected, extra[0].source.as_str()), (Some(EIGHT + 60), newer));
    }
}

#[test]
fn unnamed_added_trips_of_two_feeds_are_distinct() {
    let mut world = world();
    let now = world.now().unix_seconds();
    world.apply("city-trips", vec![added(None, now - 10, EIGHT + 60)]);
    world.apply("city-vehicles", vec![added(None, now - 60, EIGHT + 120)]);
    let board = board(&world, "C");
    let extra: Vec<_> = board
        .iter()
        .filter(|it| it.platform.as_deref() == Some("2"))
        .map(|it| it.expected)
        .collect();
    assert_eq!(extra, [Some(EIGHT + 60), Some(EIGHT + 120)]);
    let ids: std::collections::BTreeSet<_> = board.iter().map(|it| &it.id).collect();
    assert_eq!(ids.len(), board.len());
}

#[test]
fn a_board_with_subscribers_advances_with_time() {
    let mut world = world();
    let mut client = Client::new(&world, "stop/city/B");
    client.pull_all();
    let first = client.state.ids("departure")[0].to_owned();
    assert_eq!(client.state.ids("departure").len(), 12);
    assert!(!world.writer.advance_boards_if_due());
    for _ in 0..40 {
        world.clock.advance_time(std::time::Duration::from_secs(15));
        assert!(world.writer.advance_boards_if_due());
        client.pull_all();
        assert_eq!(client.state, world.state_of("stop/city/B"));
    }
    assert!(!client.state.ids("departure").contains(&first.as_str()));
    let removed: Vec<_> =
        client.publications.iter().flat_map(|it| it["changes"].as_array().unwrap()).collect();
    assert!(removed.iter().any(|change| change["op"] == "remove" && change["id"] == *first));
}

#[test]
fn the_first_state_is_current_after_a_quiet_hour() {
    let mut world = world();
    for _ in 0..240 {
        world.clock.advance_time(std::time::Duration::from_secs(15));
        world.writer.advance_boards_if_due();
    }
    let received_state = world.state_of("stop/city/C");
    assert!(received_state.ids("departure").iter().all(|id| !id.starts_with("T18:")));
    assert!(received_state.find("departure", "T24:20260304::10").is_some());
}

#[test]
fn a_quiet_network_publishes_no_empty_messages() {
    let mut world = world();
    let mut client = Client::new(&world, "feed/city");
    client.pull_all();
    for _ in 0..10 {
        world.clock.advance_time(minutes(1));
        world.writer.advance_boards_if_due();
    }
    client.pull_all();
    assert!(client.publications.is_empty());
}

#[test]
fn feed_and_departure_changes_reach_a_stop_together() {
    let mut world = world();
    let mut client = Client::new(&world, "stop/city/B");
    client.pull_all();
    let body = message(EIGHT, vec![update("T18", 10, 120)]);
    let since = world.now();
    let apply_one_record = |n_records| {
        assert_eq!(n_records, 1);
        let (state, reason) = (FeedState::Late, "by test".into());
        let (state_before_pause, unreliable_since) = (None, Some(since));
        Some(FeedStatusRecord { state, reason, since, state_before_pause, unreliable_since })
    };
    world.writer.decode_and_apply_with_status("city-trips", body, since, apply_one_record).unwrap();
    client.pull_all();
    assert_eq!(client.publications.len(), 1);
    assert_eq!(client.state.find("feed", "city-trips").unwrap()["state"], "late");
    assert_eq!(client.state.find("departure", "T18:20260304::20").unwrap()["delay"], 120);
}

#[test]
fn a_departure_at_another_platform_has_both_platforms() {
    let mut world = world();
    let mut moved = update("T18", 10, 0);
    let properties = stop_time_update::StopTimeProperties {
        assigned_stop_id: Some("C2".into()),
        ..Default::default()
    };
    trip_update_in(&mut moved).stop_time_update[0].stop_time_properties = Some(properties);
    world.apply("city-trips", vec![moved, update("T19", 10, 60)]);
    let board = board(&world, "C");
    let platforms = |trip: &str| {
        let departure = find(&board, trip).unwrap();
        (departure.platform.clone(), departure.scheduled_platform.clone())
    };
    assert_eq!(platforms("T18"), (Some("2".into()), Some("1".into())));
    assert_eq!(platforms("T19"), (Some("1".into()), None));
    let encode_departure = |trip: &str| serde_json::to_value(find(&board, trip).unwrap()).unwrap();
    assert_eq!(encode_departure("T18")["scheduled_platform"], "1");
    assert!(encode_departure("T19").get("scheduled_platform").is_none());
}

#[test]
fn a_replaced_departure_returns_when_its_replacement_expires() {
    let mut world = world();
    let mut replaced = update("T21", 10, 120);
    trip_update_in(&mut replaced).trip.set_schedule_relationship(ScheduleRelationship::Replacement);
    world.apply("city-trips", vec![replaced]);
    assert!(find(&board(&world, "C"), "T21").is_none_or(|it| it.source.as_str() == "city-trips"));
    world.clock.advance_time(minutes(21));
    let after = board(&world, "C");
    let plain = find(&after, "T21").unwrap();
    assert_eq!((plain.status, plain.source.as_str()), (DepartureStatus::Scheduled, "city"));
    assert_eq!((plain.expected, plain.age), (None, None));
}

#[test]
fn expired_times_are_removed_and_cancellations_stay() {
    let mut world = world();
    let mut cancelled = update("T22", 10, 0);
    trip_update_in(&mut cancelled).trip.set_schedule_relationship(ScheduleRelationship::Canceled);
    world.apply("city-trips", vec![update("T21", 10, 120), cancelled]);
    world.clock.advance_time(minutes(20));
    assert_eq!(find(&board(&world, "C"), "T21").unwrap().delay, Some(120));
    world.clock.advance_time(minutes(1));
    let after = board(&world, "C");
    let t21 = find(&after, "T21").unwrap();
    assert_eq!((t21.status, t21.expected, t21.delay), (DepartureStatus::Scheduled, None, None));
    assert_eq!((t21.source.as_str(), t21.age), ("city", None));
    assert_eq!(find(&after, "T22").unwrap().status, DepartureStatus::Cancelled);
    // A repeated update is as good as a new one.
    world.apply("city-trips", vec![update("T21", 10, 120)]);
    assert_eq!(find(&board(&world, "C"), "T21").unwrap().delay, Some(120));
}
