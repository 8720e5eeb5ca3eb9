//! Tests of ids, dates, joins and changes.

use lineside_formats::gtfs_rt::proto::{
    FeedHeader, FeedMessage, feed_header::Incrementality, trip_descriptor::ScheduleRelationship,
    vehicle_position::VehicleStopStatus,
};
use lineside_model::{RecordKind, RemovalReason};
use prost::Message as _;

use crate::support::*;

fn trip_name(number: u32) -> String {
    format!("T{number}")
}

#[test]
fn the_same_content_changes_nothing() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let entities = || vec![vehicle("1", Some("T18"), 48.87, 2.34, EIGHT), update("T18", 20, 60)];
    assert_eq!(world.apply("city-vehicles", entities()).changes.len(), 2);
    let revision = world.network.state().revision;
    let outcome = world.apply("city-vehicles", entities());
    assert!(outcome.changes.is_empty());
    assert_eq!(outcome.decoded, 0);
    world.clock.advance_time(minutes(1));
    assert!(world.apply("city-vehicles", entities()).changes.is_empty());
    assert_eq!(world.network.state().revision, revision);
}

#[test]
fn a_vehicle_in_another_entity_is_the_same_vehicle() {
    let mut world = World::new();
    let mut entity = vehicle("1", None, 48.87, 2.34, EIGHT);
    world.apply("city-vehicles", vec![entity.clone()]);
    entity.id = "another".into();
    let applied = world.apply("city-vehicles", vec![entity]);
    assert_eq!((applied.decoded, applied.changes.len()), (1, 0));
    assert_eq!(world.network.state().vehicles().count(), 1);
}

#[test]
fn an_entity_that_disappears_is_removed() {
    let mut world = World::new();
    let entities = ["1", "2", "3"].map(|id| vehicle(id, None, 48.87, 2.34, EIGHT));
    world.apply("city-vehicles", entities.to_vec());
    let applied = world.apply("city-vehicles", entities[..2].to_vec());
    assert_eq!(applied.changes.len(), 1);
    assert_eq!(applied.changes[0].why, RemovalReason::Gone);
    assert_eq!(applied.changes[0].old.as_ref().unwrap().id, "3");
    let applied = world.apply("city-vehicles", Vec::new());
    assert_eq!((applied.changes.len(), applied.records), (2, 0));
}

#[test]
fn an_older_timestamp_does_not_move_a_vehicle_back() {
    let mut world = World::new();
    world.apply("city-vehicles", vec![vehicle("1", None, 48.88, 2.34, EIGHT)]);
    let late = world.apply("city-vehicles", vec![vehicle("1", None, 48.87, 2.34, EIGHT - 30)]);
    assert!(late.changes.is_empty());
    assert_eq!(late.problems.total_count(), 1);
    assert_eq!(
        world.network.state().vehicles().next().unwrap().position().unwrap().0,
        f64::from(48.88_f32)
    );
}

#[test]
fn a_timestamp_in_the_future_does_not_freeze_a_vehicle() {
    let mut world = World::new();
    world.apply("city-vehicles", vec![vehicle("1", None, 48.88, 2.34, EIGHT + 3600)]);
    let right = world.apply("city-vehicles", vec![vehicle("1", None, 48.87, 2.34, EIGHT)]);
    assert_eq!(right.changes.len(), 1);
}

#[test]
fn record_ids_follow_the_protocol() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let mut by_trip = vehicle("x", Some("T18"), 48.87, 2.34, EIGHT);
    by_trip.vehicle.as_mut().unwrap().vehicle = None;
    let mut by_entity = vehicle("y", None, 48.87, 2.34, EIGHT);
    by_entity.vehicle.as_mut().unwrap().vehicle = None;
    let mut timed = update("F0", 1, 10);
    timed.trip_update.as_mut().unwrap().trip.start_time = Some("08:00:00".into());
    world.apply(
        "city-vehicles",
        vec![
            vehicle("4/1", None, 48.87, 2.34, EIGHT),
            by_trip,
            by_entity,
            update("T18", 20, 5),
            timed,
        ],
    );
    let received_state = world.state_of("feed/city-vehicles");
    assert_eq!(received_state.ids("vehicle"), ["4/1", "entity:vy", "trip:T18:20260304:"]);
    assert_eq!(received_state.ids("trip_update"), ["F0:20260304:08:00:00", "T18:20260304:"]);
}

#[test]
fn a_missing_date_is_that_of_the_nearest_run() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let id_at = |world: &mut World, hour: i64| {
        let at = EIGHT + (hour - 8) * 3600;
        let body = message(at, vec![update("late", 1, 0)]);
        world
            .writer
            .decode_and_apply_message("city-trips", message(at, Vec::new()), world.now())
            .unwrap();
        world.writer.decode_and_apply_message("city-trips", body, world.now()).unwrap();
        world.network.state().trip_updates().next().unwrap().id.to_string()
    };
    // The trip leaves at 24:10, ten past midnight of the next day.
    assert_eq!(id_at(&mut world, 1), "late:20260303:");
    assert_eq!(id_at(&mut world, 10), "late:20260303:");
    assert_eq!(id_at(&mut world, 23), "late:20260304:");
    assert_eq!(id_at(&mut world, 25), "late:20260304:");
}

#[test]
fn a_vehicle_is_joined_with_route_headsign_stop_and_delay() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world.apply("city-trips", vec![update(&trip_name(EIGHT_TRIP), 20, 90)]);
    let mut entity = vehicle("1", Some("T18"), 48.87, 2.34, EIGHT);
    entity.vehicle.as_mut().unwrap().current_stop_sequence = Some(20);
    world.apply("city-vehicles", vec![entity]);
    let joined = world.network.state().vehicles().next().unwrap().join.clone();
    assert_eq!(joined.route_id.as_deref(), Some("R1"));
    assert_eq!(joined.route_short_name.as_deref(), Some("12"));
    assert_eq!(joined.route_color, Some([0xFF, 0x88, 0]));
    assert_eq!(joined.headsign.as_deref(), Some("Airport"));
    assert_eq!(joined.next_stop_id.as_deref(), Some("B"));
    assert_eq!(joined.next_stop_name.as_deref(), Some("Bassin « Nord »"));
    assert_eq!(joined.delay, Some(90));
}

#[test]
fn a_vehicle_that_waits_for_its_departure_has_not_left_the_stop() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world.apply("city-trips", vec![update(&trip_name(EIGHT_TRIP), 20, 90)]);
    // The trip leaves the stop of sequence 10 at 8:00, and that of sequence 20 at 8:05, predicted at 8:06:30.
    for (sequence, seconds, next_stop) in
        [(10, -600, "C1"), (10, 1, "B"), (20, 389, "B"), (20, 390, "D")]
    {
        let mut entity = vehicle("1", Some("T18"), 48.87, 2.34, EIGHT + seconds);
        let position = entity.vehicle.as_mut().unwrap();
        position.current_stop_sequence = Some(sequence);
        position.set_current_status(VehicleStopStatus::StoppedAt);
        world.apply("city-vehicles", vec![entity]);
        let join = world.network.state().vehicles().next().unwrap().join.clone();
        assert_eq!(join.next_stop_id.as_deref(), Some(next_stop), "{sequence} at {seconds} s");
    }
}

#[test]
fn a_trip_update_changes_the_delay_of_its_vehicle() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let mut entity = vehicle("1", Some("T18"), 48.87, 2.34, EIGHT);
    entity.vehicle.as_mut().unwrap().current_stop_sequence = Some(20);
    world.apply("city-vehicles", vec![entity]);
    let delay = |world: &World| world.network.state().vehicles().next().unwrap().join.delay;
    assert_eq!(delay(&world), None);
    let early = world.apply("city-trips", vec![update("T18", 20, -45)]);
    assert_eq!(early.changes.len(), 2);
    assert_eq!(delay(&world), Some(-45));
    let removal = world.apply("city-trips", Vec::new());
    assert_eq!(removal.changes.len(), 2);
    assert_eq!(delay(&world), None);
}

#[test]
fn a_new_dataset_joins_all_records_again() {
    let mut world = World::new();
    world.apply("city-vehicles", vec![vehicle("1", Some("T18"), 48.87, 2.34, EIGHT)]);
    let headsign = |world: &World| {
        let state = world.network.state();
        state.find_record(RecordKind::Vehicle, "1").unwrap().join.headsign.clone()
    };
    assert_eq!(headsign(&world), None);
    world.writer.apply_dataset(dataset(0), world.now());
    assert_eq!(headsign(&world).as_deref(), Some("Airport"));
    world.writer.apply_dataset(dataset(1), world.now());
    assert_eq!(headsign(&world).as_deref(), Some("Aéroport"));
    // Nothing was sent again, so nothing must be decoded again.
    let outcome = world.apply("city-vehicles", vec![vehicle("1", Some("T18"), 48.87, 2.34, EIGHT)]);
    assert_eq!((outcome.decoded, outcome.changes.len()), (0, 0));
}

#[test]
fn an_added_trip_needs_no_schedule() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let mut entity = update("extra", 1, 0);
    let update = entity.trip_update.as_mut().unwrap();
    update.trip.set_schedule_relationship(ScheduleRelationship::Added);
    update.trip.route_id = Some("R1".into());
    world.apply("city-trips", vec![entity]);
    let state = world.network.state();
    let record = state.trip_updates().next().unwrap();
    assert_eq!(record.join.route_short_name.as_deref(), Some("12"));
    assert_eq!(record.id, "extra::");
}

#[test]
fn an_invalid_entity_is_counted_and_the_others_are_applied() {
    let mut world = World::new();
    let good = vehicle("1", None, 48.87, 2.34, EIGHT);
    let mut body = message(EIGHT, vec![good]).to_vec();
    // An entity with an id and a vehicle whose position is not a message.
    body.extend_from_slice(&[0x12, 9, 0x0A, 3, b'b', b'a', b'd', 0x22, 2, 0x12, 0x7F]);
    for _ in 0..2 {
        let applied = world.writer.decode_and_apply_message(
            "city-vehicles",
            body.clone().into(),
            world.now(),
        );
        let applied = applied.unwrap();
        assert_eq!((applied.records, applied.problems.total_count()), (1, 1));
    }
}

#[test]
fn a_message_without_valid_entities_removes_nothing() {
    let mut world = World::new();
    let good = || vec![vehicle("1", None, 48.87, 2.34, EIGHT)];
    world.apply("city-vehicles", good());
    let refused = |id: &str| vec![vehicle(&id.repeat(1 << 20), None, 48.87, 2.34, EIGHT)];
    for id in ["a", "b"] {
        let applied = world.apply("city-vehicles", refused(id));
        assert!(applied.is_refused, "{:?}", applied.problems.retained_problems());
        assert_eq!((applied.records, applied.changes.len()), (1, 0));
    }
    assert_eq!(world.network.state().vehicles().next().unwrap().id, "1");
    let applied = world.apply("city-vehicles", Vec::new());
    assert_eq!(
        (applied.is_refused, applied.records),
        (false, 0),
        "an empty message is not rejected"
    );
}

#[test]
fn of_two_entities_of_a_vehicle_one_is_used() {
    let mut world = World::new();
    let mut newer = vehicle("1", None, 48.88, 2.34, EIGHT);
    newer.id = "second".into();
    let older = vehicle("1", None, 48.87, 2.34, EIGHT - 5);
    let applied = world.apply("city-vehicles", vec![newer, older]);
    assert_eq!((applied.records, applied.changes.len()), (1, 1));
    assert_eq!(applied.problems.problem_counts().next().unwrap().1, "duplicate_record");
    let state = world.network.state();
    assert_eq!(state.vehicles().next().unwrap().position().unwrap().0, f64::from(48.88_f32));
}

#[test]
fn a_trip_update_and_a_vehicle_may_share_an_entity_id() {
    let mut world = World::new();
    let both = |lat: f32| {
        let mut at = vehicle("1", Some("T18"), lat, 2.34, EIGHT);
        let mut on = update("T18", 20, 0);
        at.id = "T18".into();
        on.id = "T18".into();
        vec![at, on]
    };
    assert_eq!(world.apply("city-vehicles", both(48.87)).records, 2);
    let moved = world.apply("city-vehicles", both(48.88));
    assert_eq!((moved.decoded, moved.changes.len()), (1, 1));
}

#[test]
fn differential_messages_add_and_delete() {
    let mut world = World::new();
    let mut apply = |entity| {
        let header = FeedHeader {
            gtfs_realtime_version: "2.0".into(),
            incrementality: Some(Incrementality::Differential as i32),
            ..Default::default()
        };
        let body = FeedMessage { header, entity }.encode_to_vec().into();
        let now = lineside_sync::UnixMillis::from_seconds(EIGHT);
        world.writer.decode_and_apply_message("city-vehicles", body, now).unwrap()
    };
    apply(vec![vehicle("1", None, 48.87, 2.34, EIGHT)]);
    assert_eq!(apply(vec![vehicle("2", None, 48.87, 2.34, EIGHT)]).records, 2);
    assert_eq!(apply(Vec::new()).records, 2);
    let mut deleted = vehicle("1", None, 48.87, 2.34, EIGHT);
    deleted.is_deleted = Some(true);
    let applied = apply(vec![deleted]);
    assert_eq!((applied.records, applied.changes.len()), (1, 1));
}

#[test]
fn an_impossible_position_is_dropped_and_the_record_stays() {
    let (lat, lon) = ("vehicle.position.latitude", "vehicle.position.longitude");
    let cases = [
        (99.0, 2.34, "number_out_of_range", lat, "99"),
        (-90.5, 2.34, "number_out_of_range", lat, "-90.5"),
        (48.87, 180.5, "number_out_of_range", lon, "180.5"),
        (0.0, 0.0, "point_near_origin", lat, "0, 0"),
        (0.5, -0.5, "point_near_origin", lat, "0.5, -0.5"),
    ];
    for (latitude, longitude, code, field, shown) in cases {
        let mut world = World::new();
        world.writer.apply_dataset(dataset(0), world.now());
        let entities = || {
            let right = vehicle("1", Some("T18"), 48.87, 2.34, EIGHT);
            vec![right, vehicle("2", Some("T19"), latitude, longitude, EIGHT)]
        };
        // The second time nothing is decoded, and the problem is still reported.
        for decoded in [2, 0] {
            let applied = world.apply("city-vehicles", entities());
            assert_eq!((applied.decoded, applied.records), (decoded, 2));
            let problem = applied.problems.retained_problems().first().unwrap();
            assert_eq!(
                applied.problems.total_count(),
                1,
                "{:?}",
                applied.problems.retained_problems()
            );
            assert_eq!((problem.code, problem.field.as_deref()), (code, Some(field)));
            assert_eq!((problem.line, problem.value.as_deref()), (Some(2), Some("v2")));
            assert!(problem.detail.starts_with(shown), "{problem}");
        }
        let state = world.network.state();
        let wrong = state.vehicles().find(|record| record.id == "2").unwrap();
        assert_eq!(wrong.position(), None);
        assert_eq!(wrong.vehicle().unwrap().position, None);
        assert_eq!(wrong.join.route_id.as_deref(), Some("R2"));
    }
}

#[test]
fn extreme_coordinates_are_valid() {
    let mut world = World::new();
    let edges = [(90.0, 180.0), (-90.0, -180.0), (1.01, 0.0), (0.0, -1.01)];
    let entities = edges.iter().zip(0..).map(|((lat, lon), id): (&(f32, f32), u8)| {
        vehicle(&id.to_string(), None, *lat, *lon, EIGHT)
    });
    let applied = world.apply("city-vehicles", entities.collect());
    assert_eq!(applied.problems.total_count(), 0, "{:?}", applied.problems.retained_problems());
    assert!(world.network.state().vehicles().all(|record| record.position().is_some()));
}

#[test]
fn a_position_that_is_not_a_number_names_its_entity() {
    let cases = [
        (f32::NAN, 2.34, "vehicle.position.latitude"),
        (48.87, f32::NEG_INFINITY, "vehicle.position.longitude"),
    ];
    for (latitude, longitude, field) in cases {
        let mut world = World::new();
        let right = vehicle("1", None, 48.87, 2.34, EIGHT);
        let wrong = vehicle("2", None, latitude, longitude, EIGHT);
        let applied = world.apply("city-vehicles", vec![right, wrong]);
        // JSON cannot express the value, so the whole entity is dropped.
        assert_eq!((applied.records, applied.problems.total_count()), (1, 1));
        let problem = applied.problems.retained_problems().first().unwrap();
        assert_eq!((problem.field.as_deref(), problem.value.as_deref()), (Some(field), Some("v2")));
    }
}
