//! Tests of route variants, with timetables made here.

use std::cell::Cell;
use std::sync::Arc;

use lineside_formats::Problems;
use lineside_sync::UnixMillis;
use lineside_testkit::TestSchedule;

use super::*;
use crate::{dataset::Dataset, feed_id::FeedId};

fn variant(n_trips: usize) -> PatternTripCounts {
    PatternTripCounts { n_trips, ..PatternTripCounts::default() }
}

/// Asserts the variants of patterns given as stop numbers; stops with the same tens belong to one station.
#[track_caller]
fn check(patterns: &[&[u32]], expect: &[&[&[u32]]]) {
    let trips_by_pattern = patterns.iter().map(|stops| (None, stops.to_vec(), variant(1)));
    let route_variants = merge_patterns_into_variants(trips_by_pattern.collect(), |stop| stop / 10);
    let mut shown: Vec<_> =
        route_variants.variants.into_iter().map(|shown_variant| shown_variant.stops).collect();
    shown.sort_by_key(|positions| positions.first().cloned());
    assert_eq!(shown, expect, "{patterns:?}");
    assert_eq!(route_variants.n_other_trips, 0, "{patterns:?}");
}

#[test]
fn short_trips_are_merged_into_the_long_variant() {
    check(&[&[30, 40], &[10, 20, 30, 40], &[20, 30]], &[&[&[10], &[20], &[30], &[40]]]);
}

#[test]
fn the_return_direction_is_a_variant_of_its_own() {
    check(
        &[&[10, 20, 30], &[31, 21, 11], &[21, 11]],
        &[&[&[10], &[20], &[30]], &[&[31], &[21], &[11]]],
    );
    check(&[&[10, 20], &[20, 10]], &[&[&[10], &[20]], &[&[20], &[10]]]);
}

#[test]
fn platforms_of_a_station_are_one_position() {
    check(&[&[10, 20, 30], &[10, 21, 30]], &[&[&[10], &[20, 21], &[30]]]);
}

#[test]
fn additional_stops_are_merged_into_a_variant() {
    check(&[&[10, 30, 40], &[10, 20, 40]], &[&[&[10], &[20], &[30], &[40]]]);
    check(&[&[20, 30, 40, 50], &[10, 20, 30]], &[&[&[10], &[20], &[30], &[40], &[50]]]);
    check(&[&[20, 30, 40, 50], &[40, 50, 60]], &[&[&[20], &[30], &[40], &[50], &[60]]]);
}

#[test]
fn branches_are_separate_variants() {
    check(
        &[&[10, 20, 30, 40], &[10, 20, 50]],
        &[&[&[10], &[20], &[30], &[40]], &[&[10], &[20], &[50]]],
    );
    check(
        &[&[10, 20, 30, 40], &[60, 30, 40]],
        &[&[&[10], &[20], &[30], &[40]], &[&[60], &[30], &[40]]],
    );
}

#[test]
fn a_circular_line_ends_at_its_first_stop() {
    check(&[&[10, 20, 30, 10], &[20, 30, 10]], &[&[&[10], &[20], &[30], &[10]]]);
}

#[test]
fn a_station_visited_twice_has_two_positions() {
    // Two villages have a stop "church", whose station is the name.
    check(&[&[10, 20, 30, 21, 40], &[21, 40], &[30, 21]], &[&[&[10], &[20], &[30], &[21], &[40]]]);
    // A station that is passed twice, from different platforms.
    check(&[&[20, 10, 30, 11, 40], &[10, 30, 12]], &[&[&[20], &[10], &[30], &[11, 12], &[40]]]);
    check(&[&[20, 10, 30, 11, 40], &[12, 30, 11]], &[&[&[20], &[10, 12], &[30], &[11], &[40]]]);
}

#[test]
fn the_busiest_variant_of_each_direction_is_shown() {
    let far = |n: u32| (None, (0..5).map(|at| n * 1_000 + at * 10).collect(), variant(1));
    let rare = (1..=60).map(far);
    let common = [(None, vec![10, 20, 30], variant(50)), (Some(1), vec![30, 20, 10], variant(9))];
    let route_variants =
        merge_patterns_into_variants(rare.chain(common).collect(), |stop| stop / 10);
    let list_trips = |id: Option<u8>| -> Vec<_> {
        route_variants
            .variants
            .iter()
            .filter(|shown_variant| shown_variant.id == id)
            .map(|shown_variant| shown_variant.n_trips)
            .collect()
    };
    assert_eq!(
        (list_trips(Some(1)), list_trips(None).len(), list_trips(None)[0]),
        (vec![9], VARIANTS_MAX, 50)
    );
    assert_eq!(route_variants.n_other_trips, 60 - (VARIANTS_MAX - 1));
}

#[test]
fn the_other_shown_variants_have_the_most_trips() {
    let pair = |n: u32| (Some(0), vec![n * 100, n * 100 + 10], variant(n as usize));
    let route_variants =
        merge_patterns_into_variants((1..=20).map(pair).collect(), |stop| stop / 10);
    let trips: Vec<usize> =
        route_variants.variants.iter().map(|shown_variant| shown_variant.n_trips).collect();
    assert_eq!(trips, (13..=20).rev().collect::<Vec<_>>());
    assert_eq!(route_variants.n_other_trips, (1..=12).sum::<usize>());
}

#[test]
fn busy_short_variants_are_shown_before_rare_long_ones() {
    let rare = |n: u32| (Some(0), (0..5).map(|at| n * 1_000 + at * 10).collect(), variant(1));
    let busy = |n: u32| (Some(0), (0..3).map(|at| n * 1_000 + at * 10).collect(), variant(100));
    let route_variants = merge_patterns_into_variants(
        (1..=40).map(rare).chain((41..=43).map(busy)).collect(),
        |stop| stop / 10,
    );
    let trips: Vec<usize> =
        route_variants.variants.iter().map(|shown_variant| shown_variant.n_trips).collect();
    assert_eq!(trips, [100, 100, 100, 1, 1, 1, 1, 1]);
    assert_eq!(route_variants.n_other_trips, 35);
}

#[test]
fn short_trips_count_for_the_variant_that_contains_them() {
    let parts = [(None, vec![100, 110, 120, 130], variant(1)), (None, vec![110, 120], variant(9))];
    let pair = |n: u32| (None, vec![n * 1_000, n * 1_000 + 10], variant(5));
    let route_variants =
        merge_patterns_into_variants((1..=8).map(pair).chain(parts).collect(), |stop| stop / 10);
    assert_eq!(
        (route_variants.variants[0].n_trips, route_variants.variants[0].stops.len()),
        (10, 4)
    );
    assert_eq!(route_variants.n_other_trips, 5);
}

#[test]
fn the_busiest_patterns_are_used_within_limits() {
    let choose = |lengths: &[usize]| {
        let all = lengths.iter().enumerate();
        let all = all.map(|(at, &length)| (None, length, variant(at + 1))).collect();
        select_busiest_patterns(all, |length| length)
            .into_iter()
            .map(|(_, length, _)| length)
            .collect::<Vec<_>>()
    };
    assert_eq!(choose(&[2, STOPS_MAX, STOPS_MAX + 1, 3]), [3, STOPS_MAX, 2]);
    assert_eq!(choose(&[2; PATTERNS_MAX + 9]).len(), PATTERNS_MAX);
    let n_long = PATTERN_STOPS_MAX / STOPS_MAX;
    let many = [vec![2], vec![STOPS_MAX; n_long], vec![4]].concat();
    assert_eq!(choose(&many), [vec![4], vec![STOPS_MAX; n_long - 1], vec![2]].concat());
}

/// Returns how often a station was requested and a stop was compared to merge patterns of one direction.
fn work(patterns: impl Iterator<Item = Vec<u32>>) -> (usize, usize) {
    let n_inspected = Cell::new(0);
    let route_variants = merge_patterns_into_variants(
        patterns.map(|stops| (None, stops, variant(1))).collect(),
        |stop| {
            n_inspected.set(n_inspected.get() + 1);
            stop
        },
    );
    (n_inspected.get(), route_variants.n_steps)
}

#[test]
fn shuffled_patterns_need_few_comparisons_per_pair() {
    let mut chance = fastrand::Rng::with_seed(1);
    let patterns = std::iter::repeat_with(|| {
        let mut stops: Vec<u32> = (0..200).collect();
        chance.shuffle(&mut stops);
        stops.truncate(150);
        stops
    });
    let (n_inspected, n_steps) = work(patterns.take(PATTERNS_MAX));
    assert_eq!(n_inspected, 200, "each stop is looked up once");
    let n_pairs = PATTERNS_MAX * (PATTERNS_MAX - 1) / 2;
    assert!(n_steps < 5 * n_pairs, "{n_steps}");
}

#[test]
fn similar_patterns_need_at_most_one_comparison_per_stop_and_pair() {
    let length = PATTERN_STOPS_MAX / PATTERNS_MAX;
    let n_pairs = PATTERNS_MAX * (PATTERNS_MAX - 1) / 2;
    let trunk = || 0..length as u32 - 2;
    // All are alike, but turn to other stops at their ends.
    let stop_pattern = |n: u32| trunk().chain([n % 25, 50 + n / 25]).collect();
    let (n_inspected, n_steps) = work((0..PATTERNS_MAX as u32).map(stop_pattern));
    assert_eq!(n_inspected, length - 2, "each stop is looked up once");
    assert!((n_pairs * (length - 2)..=n_pairs * (length + 1)).contains(&n_steps), "{n_steps}");
    // They leave to other stops there, which is detected at once.
    let branch = |n: u32| trunk().chain([1_000 + n, 2_000 + n]).collect();
    let (_, n_steps) = work((0..PATTERNS_MAX as u32).map(branch));
    assert_eq!(n_steps, n_pairs * 3);
    // All are equal: each is tested once.
    let (_, n_steps) = work((0..PATTERNS_MAX).map(|_| trunk().collect()));
    assert_eq!(n_steps, (PATTERNS_MAX - 1) * (length - 2 + 1));
}

#[test]
fn a_stop_is_found_at_its_first_position_on_each_variant() {
    let patterns = [&[10, 20, 30, 10][..], &[10, 21, 30], &[30, 20, 11]];
    let patterns = patterns.map(|stops| (None, stops.to_vec(), variant(1)));
    let route_variants = merge_patterns_into_variants(patterns.into(), |stop| stop / 10);
    let find_positions = |stop: u32| route_variants.positions_of_stop(stop).collect::<Vec<_>>();
    assert_eq!(route_variants.variants.len(), 2);
    assert_eq!(
        [find_positions(10), find_positions(20), find_positions(21)],
        [vec![(0, 0)], vec![(0, 1), (1, 1)], vec![(0, 1)]]
    );
    assert_eq!([find_positions(11), find_positions(40)], [vec![(1, 2)], vec![]]);
}

#[test]
fn variants_of_a_line_are_computed_once_per_version() {
    let schedule = TestSchedule::new("UTC")
        .stop("S", "Here", 48.86, 2.34)
        .stop("T", "There", 48.87, 2.34)
        .route("B", "2", 3)
        .route("A", "1", 3)
        .trip("there", "S 08:00, T 08:10")
        .trip("back", "T 08:00, S 08:10")
        .table(
            "trips.txt",
            "route_id,service_id,trip_id,trip_headsign,direction_id\n\
             A,d,there,There,0\nA,d,back,Here,1\n",
        );
    let dataset = |hash: u128| {
        let id = FeedId::new("town").unwrap();
        Dataset::from_timetable(id, schedule.timetable(), Problems::default(), hash, UnixMillis(0))
    };
    let (first, second) = (dataset(1), dataset(2));
    let line = |id: &str| first.timetable.find_route(id).unwrap();
    let route_variants = first.route_variants(line("A"));
    assert_eq!(
        route_variants.variants.iter().map(|shown_variant| shown_variant.id).collect::<Vec<_>>(),
        [Some(0), Some(1)]
    );
    assert!(Arc::ptr_eq(&route_variants, &first.route_variants(line("A"))));
    assert!(
        !Arc::ptr_eq(&route_variants, &second.route_variants(line("A"))),
        "another version has its own variants"
    );
    assert!(first.route_variants(line("B")).variants.is_empty(), "another line has no variants");
    // The variants are freed with the version.
    drop(first);
    assert_eq!(Arc::strong_count(&route_variants), 1);
}
