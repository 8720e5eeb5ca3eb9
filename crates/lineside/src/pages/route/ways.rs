//! The ways of a line: what its trips have in common, from its patterns. Short trips are part of a long one's way, a branch is a
//! way of its own, and trips the other way round are too, whether the timetable says directions or not.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use lineside_formats::gtfs::{PatternIdx, RouteIdx, StopIdx, Timetable};

/// Ways of a line that are shown; what goes otherwise stands beside them.
const WAYS_MAX: usize = 8;
/// Patterns of a line that are looked at, those of most trips first.
const PATTERNS_MAX: usize = 500;
/// Stops of a way that is put together.
const STOPS_MAX: usize = 1_000;
/// Names of where trips go that a way remembers.
const HEADSIGNS_MAX: usize = 32;

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

/// The ways of a line, by direction, those of most trips first.
pub(super) fn ways(timetable: &Timetable, route: RouteIdx) -> Vec<Way> {
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
    let mut variants: Vec<_> = variants.into_iter().collect();
    variants.sort_by_key(|(key, variant)| (std::cmp::Reverse(variant.n_trips), *key));
    variants.truncate(PATTERNS_MAX);
    // The long ones first: the others are parts of them.
    variants.sort_by_key(|((_, pattern), _)| {
        std::cmp::Reverse(timetable.stops_of_pattern(*pattern).len())
    });
    let mut ways = Vec::new();
    for ((id, pattern), variant) in variants {
        let stops: Vec<StopIdx> = timetable.stops_of_pattern(pattern).collect();
        put(&mut ways, id, &stops, variant, |stop| station(timetable, stop));
    }
    ways.sort_by_key(|way| (way.id, std::cmp::Reverse(way.n_trips)));
    ways
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
fn put<S: Copy + Eq, K: Eq + Hash>(
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
    } else if ways.len() < WAYS_MAX {
        let places = stops.iter().map(|&stop| vec![stop]).collect();
        ways.push(Way { id, headsigns: variant.headsigns, places, n_trips: variant.n_trips });
    }
}

/// A way with the stops of a further pattern; none if that goes the other way round, has not two stations in common with it, or
/// begins or ends on a branch.
fn joined<S: Copy + Eq, K: Eq + Hash>(
    places: &[Vec<S>],
    stops: &[S],
    station: impl Fn(S) -> K,
) -> Option<Vec<Vec<S>>> {
    let mut found: HashMap<K, Vec<usize>> = HashMap::new();
    for (at, place) in places.iter().enumerate() {
        let stop = *place.first()?;
        found.entry(station(stop)).or_default().push(at);
    }
    // Where on the way each stop is, in order.
    let mut next = 0;
    let mut on_way = Vec::with_capacity(stops.len());
    for &stop in stops {
        let at = match found.get(&station(stop)) {
            None => None,
            // One that lies behind already: it goes the other way round.
            Some(all) => Some(*all.get(all.partition_point(|&at| at < next))?),
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

    /// The ways of patterns, each by the numbers of its stops; stops of one ten are of one station.
    #[track_caller]
    fn check(patterns: &[&[u32]], expect: &[&[&[u32]]]) {
        let mut ways = Vec::new();
        let mut sorted: Vec<&[u32]> = patterns.to_vec();
        sorted.sort_by_key(|stops| std::cmp::Reverse(stops.len()));
        for stops in sorted {
            let variant = Variant { n_trips: 1, ..Variant::default() };
            put(&mut ways, None, stops, variant, |stop| stop / 10);
        }
        let shown: Vec<_> = ways.into_iter().map(|way| way.places).collect();
        assert_eq!(shown, expect, "{patterns:?}");
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
    fn there_are_so_many_ways() {
        let pairs: Vec<[u32; 2]> = (1..=20).map(|n| [n * 100, n * 100 + 10]).collect();
        let mut ways = Vec::new();
        for stops in &pairs {
            put(&mut ways, None, stops, Variant::default(), |stop| stop);
        }
        assert_eq!(ways.len(), WAYS_MAX);
    }
}
