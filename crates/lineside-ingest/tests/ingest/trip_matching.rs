//! Tests of match counts from the state of a network.

use std::sync::Arc;

use lineside_model::{FeedMatchCounts, MatchCount, UnmatchedReason};

use crate::support::*;

fn feed_matches(world: &World, feed: &str) -> Arc<FeedMatchCounts> {
    world.network.state().feed_match_counts(feed).unwrap()
}

fn reasons(counts: &MatchCount) -> Vec<(UnmatchedReason, u64, Vec<&str>)> {
    let found_reasons = counts.reasons();
    found_reasons
        .map(|(reason, found)| (reason, found.count, found.sample_ids().collect()))
        .collect()
}

#[test]
fn every_record_is_counted_by_kind() {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let mut wrong_day = update("T18", 10, 0);
    wrong_day.trip_update.as_mut().unwrap().trip.start_date = Some("20310101".to_owned());
    let mut other_trip = update("T20", 10, 0);
    let trip_update = other_trip.trip_update.as_mut().unwrap();
    trip_update.trip.route_id = Some("R9".to_owned());
    trip_update.stop_time_update[0].stop_id = Some("X1".to_owned());
    let mut known = update("T22", 10, 0);
    known.trip_update.as_mut().unwrap().stop_time_update[0].stop_id = Some("C1".to_owned());
    let entities = vec![wrong_day, other_trip, known, update("U1", 10, 0), update("U0", 10, 0)];
    world.apply("city-trips", entities);
    let at = EIGHT;
    world.apply(
        "city-vehicles",
        vec![
            vehicle("1", Some("T18"), 48.86, 2.34, at),
            vehicle("2", Some("U0"), 48.86, 2.34, at),
            vehicle("3", None, 48.86, 2.34, at),
        ],
    );
    world.apply(
        "city-alerts",
        vec![
            alert("a", Some("R1"), Some("C"), "matches both"),
            alert("b", Some("R9"), None, "unknown line"),
            alert("c", None, None, "no reference"),
        ],
    );
    let trips = feed_matches(&world, "city-trips");
    assert_eq!((trips.trip_updates.matched, trips.trip_updates.unmatched_count()), (2, 3));
    assert_eq!(
        reasons(&trips.trip_updates),
        [
            (UnmatchedReason::UnknownTrip, 2, vec!["U0", "U1"]),
            (UnmatchedReason::NotRunning, 1, vec!["T18:20310101"])
        ]
    );
    assert_eq!(reasons(&trips.routes), [(UnmatchedReason::UnknownRoute, 1, vec!["R9"])]);
    assert_eq!((trips.stops.matched, trips.stops.matched_share()), (1, Some(0.5)));
    assert_eq!(reasons(&trips.stops), [(UnmatchedReason::UnknownStop, 1, vec!["X1"])]);
    assert!(trips.vehicles.is_empty() && trips.alerts.is_empty());
    let vehicles = feed_matches(&world, "city-vehicles");
    assert_eq!((vehicles.vehicles.matched, vehicles.vehicles.total_count()), (1, 2));
    assert_eq!(
        reasons(&vehicles.vehicles),
        [
            (UnmatchedReason::UnknownTrip, 1, vec!["U0"]),
            (UnmatchedReason::NoReference, 1, vec!["3"])
        ]
    );
    let alerts = feed_matches(&world, "city-alerts");
    assert_eq!(
        reasons(&alerts.alerts),
        [
            (UnmatchedReason::UnknownRoute, 1, vec!["R9"]),
            (UnmatchedReason::NoReference, 1, vec!["c"])
        ]
    );
    assert_eq!(
        (alerts.count_matched_and_unmatched(), vehicles.count_matched_and_unmatched()),
        ((1, 1), (1, 1))
    );
}

#[test]
fn the_report_is_cached_until_the_feed_or_timetable_changes() {
    let mut world = World::new();
    world.apply("city-trips", vec![update("T18", 10, 0), update("U0", 10, 0)]);
    assert!(
        world.network.state().feed_match_counts("city-trips").is_none(),
        "no timetable is loaded"
    );
    world.writer.apply_dataset(dataset(0), world.now());
    let first = feed_matches(&world, "city-trips");
    assert_eq!(first.count_matched_and_unmatched(), (1, 1));
    assert!(Arc::ptr_eq(&first, &feed_matches(&world, "city-trips")));
    world.apply("city-vehicles", vec![vehicle("1", None, 48.86, 2.34, EIGHT)]);
    assert!(
        Arc::ptr_eq(&first, &feed_matches(&world, "city-trips")),
        "a change of another feed keeps the result"
    );
    world.apply("city-trips", vec![update("T18", 10, 0)]);
    let second = feed_matches(&world, "city-trips");
    assert_eq!(second.count_matched_and_unmatched(), (1, 0));
    world.writer.apply_dataset(dataset(1), world.now());
    let third = feed_matches(&world, "city-trips");
    assert_ne!(second.dataset, third.dataset);
    assert!(world.network.state().feed_match_counts("elsewhere").is_none());
}
