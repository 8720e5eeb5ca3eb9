//! The ways of a line: what its trips have in common, from its patterns. Short trips are part of a long one's way, a branch is a
//! way of its own, and trips the other way round are too, whether the timetable says directions or not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use lineside_formats::gtfs::{PatternIdx, RouteIdx, StopIdx, Timetable};

/// Ways of a line that are shown in each direction, those of most trips; what goes otherwise stands beside them.
const WAYS_MAX: usize = 8;
/// Ways of each direction that are put together to choose them from.
const WAYS_HELD_MAX: usize = 32;
/// Patterns of a line that are looked at, those of most trips first.
const PATTERNS_MAX: usize = 500;
/// Stops of a way that is put together.
const STOPS_MAX: usize = 1_000;
/// Names of where trips go that a way remembers.
const HEADSIGNS_MAX: usize = 32;

/// The ways of a line.
#[derive(Debug)]
pub(super) struct Ways<S = StopIdx> {
    /// Those that are shown, by direction, those of most trips first.
    pub(super) shown: Vec<Way<S>>,
    /// Trips of the timetable that go other ways.
    pub(super) n_left_out: usize,
}

/// One way of a line.
#[derive(Debug)]
pub(super) struct Way<S = StopIdx> {
    /// `direction_id`.
    pub(super) id: Option<u8>,
    /// Where its trips say that they go.
    pub(super) headsigns: BTreeSet<String>,
    /// Its stops in order; of a station all from which its trips leave.
    pub(super) places: Vec<Vec<S>>,
    n_trips: usize,
}

/// A pattern with what its trips say.
#[derive(Debug, Default)]
struct Variant {
    headsigns: BTreeSet<String>,
    n_trips: usize,
}

/// The ways of a line.
pub(super) fn ways(timetable: &Timetable, route: RouteIdx) -> Ways {
    let mut variants: BTreeMap<(Option<u8>, PatternIdx), Variant> = BTreeMap::new();
    for &idx in timetable.trips_of_route(route) {
        let Some(pattern) = timetable.pattern_of(idx) else { continue };
        let trip = timetable.trip(idx);
        let variant = variants.entry((trip.direction, pattern)).or_default();
        variant.n_trips += 1;
        let headsign =
            trip.headsign.filter(|it| !it.is_empty() && !variant.headsigns.contains(*it));
        if let Some(headsign) = headsign.filter(|_| variant.headsigns.len() < HEADSIGNS_MAX) {
            variant.headsigns.insert(headsign.to_owned());
        }
    }
    let told = variants.into_iter().map(|((direction, pattern), variant)| {
        (direction, timetable.stops_of_pattern(pattern).collect(), variant)
    });
    choose(told.collect(), |stop| station(timetable, stop))
}

/// The ways of patterns, each with its direction.
fn choose<S: Copy + Eq + Hash, K: Eq + Hash>(
    mut patterns: Vec<(Option<u8>, Vec<S>, Variant)>,
    station: impl Fn(S) -> K,
) -> Ways<S> {
    let n_trips: usize = patterns.iter().map(|(.., variant)| variant.n_trips).sum();
    patterns.sort_by_key(|(.., variant)| std::cmp::Reverse(variant.n_trips));
    patterns.truncate(PATTERNS_MAX);
    let mut begun = BTreeSet::new();
    // What most trips of a direction do has its place, however many are longer. Then the long ones come: others are parts of them.
    let is_usual: Vec<bool> = patterns.iter().map(|(id, ..)| begun.insert(*id)).collect();
    let mut ordered: Vec<_> = is_usual.into_iter().zip(patterns).collect();
    ordered.sort_by_key(|(is_usual, (_, stops, _))| std::cmp::Reverse((*is_usual, stops.len())));
    let mut ways = Vec::new();
    for (_, (id, stops, variant)) in ordered {
        put(&mut ways, id, &stops, variant, &station);
    }
    ways.sort_by_key(|way| (way.id, std::cmp::Reverse(way.n_trips)));
    let mut places_left: BTreeMap<Option<u8>, usize> = BTreeMap::new();
    ways.retain(|way| {
        let left = places_left.entry(way.id).or_insert(WAYS_MAX);
        let is_shown = *left > 0;
        *left = left.saturating_sub(1);
        is_shown
    });
    let n_shown: usize = ways.iter().map(|way| way.n_trips).sum();
    Ways { shown: ways, n_left_out: n_trips - n_shown }
}

/// What stops of one station have in common: where the timetable has no stations, their name.
fn station(timetable: &Timetable, stop: StopIdx) -> (Option<StopIdx>, &str) {
    let it = timetable.stop(stop);
    match it.parent {
        None if !it.name.is_empty() => (None, it.name),
        parent => (parent.or(Some(stop)), ""),
    }
}

/// Puts a pattern into the way that it is of, or makes it one.
fn put<S: Copy + Eq + Hash, K: Eq + Hash>(
    ways: &mut Vec<Way<S>>,
    id: Option<u8>,
    stops: &[S],
    variant: Variant,
    station: impl Fn(S) -> K,
) {
    let joined = ways
        .iter_mut()
        .filter(|way| way.id == id)
        .find_map(|way| Some((joined(&way.places, stops, &station)?, way)));
    if let Some((places, way)) = joined {
        way.places = places;
        way.n_trips += variant.n_trips;
        let room = HEADSIGNS_MAX.saturating_sub(way.headsigns.len());
        way.headsigns.extend(variant.headsigns.into_iter().take(room));
    } else if ways.iter().filter(|way| way.id == id).count() < WAYS_HELD_MAX {
        let places = stops.iter().map(|&stop| vec![stop]).collect();
        ways.push(Way { id, headsigns: variant.headsigns, places, n_trips: variant.n_trips });
    }
}

/// A way with the stops of a further pattern; none if that goes the other way round, has not two stations in common with it, or
/// begins or ends on a branch.
fn joined<S: Copy + Eq + Hash, K: Eq + Hash>(
    places: &[Vec<S>],
    stops: &[S],
    station: impl Fn(S) -> K,
) -> Option<Vec<Vec<S>>> {
    let mut found: HashMap<K, Vec<usize>> = HashMap::new();
    let mut themselves: HashMap<S, Vec<usize>> = HashMap::new();
    for (at, place) in places.iter().enumerate() {
        found.entry(station(*place.first()?)).or_default().push(at);
        for stop in place {
            themselves.entry(*stop).or_default().push(at);
        }
    }
    // Where on the way each stop is, in order.
    let mut next = 0;
    let mut on_way = Vec::with_capacity(stops.len());
    for &stop in stops {
        let ahead = |all: &Vec<usize>| all.get(all.partition_point(|&at| at < next)).copied();
        // A way may pass a station, or villages whose stops are called alike, more than once: then this very stop counts.
        let itself = themselves.get(&stop).and_then(ahead);
        let at = match found.get(&station(stop)) {
            None => None,
            // One that lies behind already: it goes the other way round.
            Some(all) => Some(itself.or_else(|| ahead(all))?),
        };
        next = at.map_or(next, |at| at + 1);
        on_way.push(at);
    }
    let (first, last) = (on_way.iter().flatten().next()?, on_way.iter().flatten().next_back()?);
    let has_two = on_way.iter().flatten().nth(1).is_some();
    let begins_beside = on_way.first() == Some(&None) && *first > 0;
    let ends_beside = on_way.last() == Some(&None) && *last + 1 < places.len();
    let n_new = on_way.iter().filter(|at| at.is_none()).count();
    if !has_two || begins_beside || ends_beside || places.len() + n_new > STOPS_MAX {
        return None;
    }
    let mut made = Vec::with_capacity(places.len() + n_new);
    let mut rest = places.iter().cloned();
    let mut taken = 0;
    for (&stop, at) in stops.iter().zip(on_way) {
        let Some(at) = at else {
            made.push(vec![stop]);
            continue;
        };
        made.extend(rest.by_ref().take(at - taken));
        let mut place = rest.next()?;
        if !place.contains(&stop) {
            place.push(stop);
        }
        made.push(place);
        taken = at + 1;
    }
    made.extend(rest);
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(n_trips: usize) -> Variant {
        Variant { n_trips, ..Variant::default() }
    }

    /// The ways of patterns, each by the numbers of its stops; stops of one ten are of one station.
    #[track_caller]
    fn check(patterns: &[&[u32]], expect: &[&[&[u32]]]) {
        let told = patterns.iter().map(|stops| (None, stops.to_vec(), variant(1)));
        let ways = choose(told.collect(), |stop| stop / 10);
        let mut shown: Vec<_> = ways.shown.into_iter().map(|way| way.places).collect();
        shown.sort_by_key(|places| places.first().cloned());
        assert_eq!(shown, expect, "{patterns:?}");
        assert_eq!(ways.n_left_out, 0, "{patterns:?}");
    }

    #[test]
    fn short_trips_are_part_of_the_long_way() {
        check(&[&[30, 40], &[10, 20, 30, 40], &[20, 30]], &[&[&[10], &[20], &[30], &[40]]]);
    }

    #[test]
    fn the_way_back_is_another_also_from_other_platforms() {
        check(
            &[&[10, 20, 30], &[31, 21, 11], &[21, 11]],
            &[&[&[10], &[20], &[30]], &[&[31], &[21], &[11]]],
        );
        check(&[&[10, 20], &[20, 10]], &[&[&[10], &[20]], &[&[20], &[10]]]);
    }

    #[test]
    fn platforms_of_a_station_are_one_place() {
        check(&[&[10, 20, 30], &[10, 21, 30]], &[&[&[10], &[20, 21], &[30]]]);
    }

    #[test]
    fn stops_between_and_at_the_ends_are_put_in() {
        check(&[&[10, 30, 40], &[10, 20, 40]], &[&[&[10], &[20], &[30], &[40]]]);
        check(&[&[20, 30, 40, 50], &[10, 20, 30]], &[&[&[10], &[20], &[30], &[40], &[50]]]);
        check(&[&[20, 30, 40, 50], &[40, 50, 60]], &[&[&[20], &[30], &[40], &[50], &[60]]]);
    }

    #[test]
    fn branches_are_ways_of_their_own() {
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
    fn a_ring_ends_where_it_began() {
        check(&[&[10, 20, 30, 10], &[20, 30, 10]], &[&[&[10], &[20], &[30], &[10]]]);
    }

    #[test]
    fn a_stop_that_is_called_like_another_on_the_way_is_itself() {
        // Two villages, each with a stop at its church, whose station is the name.
        check(
            &[&[10, 20, 30, 21, 40], &[21, 40], &[30, 21]],
            &[&[&[10], &[20], &[30], &[21], &[40]]],
        );
        // A station that is passed twice, from other platforms.
        check(&[&[20, 10, 30, 11, 40], &[10, 30, 12]], &[&[&[20], &[10], &[30], &[11, 12], &[40]]]);
        check(&[&[20, 10, 30, 11, 40], &[12, 30, 11]], &[&[&[20], &[10, 12], &[30], &[11], &[40]]]);
    }

    #[test]
    fn the_usual_way_of_each_direction_is_shown_however_many_are_longer() {
        let far = |n: u32| (None, (0..5).map(|at| n * 1_000 + at * 10).collect(), variant(1));
        let rare = (1..=60).map(far);
        let usual =
            [(None, vec![10, 20, 30], variant(50)), (Some(1), vec![30, 20, 10], variant(9))];
        let ways = choose(rare.chain(usual).collect(), |stop| stop / 10);
        let of = |id: Option<u8>| -> Vec<_> {
            ways.shown.iter().filter(|way| way.id == id).map(|way| way.n_trips).collect()
        };
        assert_eq!((of(Some(1)), of(None).len(), of(None)[0]), (vec![9], WAYS_MAX, 50));
        assert_eq!(ways.n_left_out, 60 - (WAYS_MAX - 1));
    }

    #[test]
    fn of_the_others_those_of_most_trips_are_shown() {
        let pair = |n: u32| (Some(0), vec![n * 100, n * 100 + 10], variant(n as usize));
        let ways = choose((1..=20).map(pair).collect(), |stop| stop / 10);
        let trips: Vec<usize> = ways.shown.iter().map(|way| way.n_trips).collect();
        assert_eq!(trips, (13..=20).rev().collect::<Vec<_>>());
        assert_eq!(ways.n_left_out, (1..=12).sum::<usize>());
    }
}
