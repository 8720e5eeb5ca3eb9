//! The ways of a line: what its trips have in common, from its patterns. Short trips are part of a long one's way, a branch is a
//! way of its own, and trips the other way round are too, whether the timetable says directions or not.
//!
//! One way is put together after the other: the first of the patterns that are left begins it, and of the others, in order,
//! each that fits comes in, and is no longer asked for. To ask whether a pattern fits takes a look at each of its stops until it is known not to, and
//! makes nothing; to put it in takes as many steps as it and the way have stops. So p patterns of n stops together take
//! O(p · n) looks if nearly all nearly fit, and mostly some for each two of them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
};

use lineside_formats::gtfs::{PatternIdx, RouteIdx, StopIdx, Timetable};

/// Ways of a line that are shown in each direction, those of most trips; what goes otherwise stands beside them.
const WAYS_MAX: usize = 8;
/// Patterns of a line that are looked at, those of most trips first.
const PATTERNS_MAX: usize = 500;
/// Stops of these patterns together.
const STOPS_LOOKED_AT_MAX: usize = 100_000;
/// Stops of a pattern that is looked at, and of a way that is put together.
const STOPS_MAX: usize = 1_000;
/// Names of where trips go that a way remembers.
const HEADSIGNS_MAX: usize = 32;

/// The ways of a line.
#[derive(Debug)]
pub struct RouteVariants<S = StopIdx> {
    /// Those that are shown, by direction, those of most trips first.
    pub shown: Vec<RouteVariant<S>>,
    /// Trips of the timetable that go other ways.
    pub n_left_out: usize,
    /// Each stop with the number of a way and the first place there that has it, in order.
    standing: Vec<(S, usize, usize)>,
    #[cfg(test)]
    n_looks: usize,
}

/// One way of a line.
#[derive(Debug)]
pub struct RouteVariant<S = StopIdx> {
    /// `direction_id`.
    pub id: Option<u8>,
    /// Where its trips say that they go.
    pub headsigns: BTreeSet<String>,
    /// Its stops in order; of a station all from which its trips leave.
    pub places: Vec<Vec<S>>,
    n_trips: usize,
}

/// What the trips of a pattern say.
#[derive(Debug, Default)]
struct PatternTrips {
    headsigns: BTreeSet<String>,
    n_trips: usize,
}

impl RouteVariants {
    /// The ways of a line. O(t log p) for t trips of p patterns, and what putting them together takes.
    pub(crate) fn for_route(timetable: &Timetable, route: RouteIdx) -> RouteVariants {
        let mut variants: BTreeMap<(Option<u8>, PatternIdx), PatternTrips> = BTreeMap::new();
        for &idx in timetable.route_trips(route) {
            let Some(pattern) = timetable.trip_pattern(idx) else { continue };
            let trip = timetable.trip(idx);
            let variant = variants.entry((trip.direction, pattern)).or_default();
            variant.n_trips += 1;
            let headsign =
                trip.headsign.filter(|it| !it.is_empty() && !variant.headsigns.contains(*it));
            if let Some(headsign) = headsign.filter(|_| variant.headsigns.len() < HEADSIGNS_MAX) {
                variant.headsigns.insert(headsign.to_owned());
            }
        }
        let n_trips: usize = variants.values().map(|variant| variant.n_trips).sum();
        let all = variants.into_iter().map(|((id, pattern), variant)| (id, pattern, variant));
        let busiest =
            busiest_patterns(all.collect(), |pattern| timetable.pattern_stops(pattern).len());
        let told = busiest.into_iter().map(|(id, pattern, variant)| {
            (id, timetable.pattern_stops(pattern).collect(), variant)
        });
        let ways = choose_variants(told.collect(), |stop| station_key(timetable, stop));
        let n_shown: usize = ways.shown.iter().map(|way| way.n_trips).sum();
        RouteVariants { n_left_out: n_trips - n_shown, ..ways }
    }

    /// Bytes that it takes, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        let of_headsign = |it: &String| it.len() + 2 * size_of::<String>();
        let of_place =
            |it: &Vec<StopIdx>| it.capacity() * size_of::<StopIdx>() + 2 * size_of_val(it);
        let of_way = |way: &RouteVariant| {
            size_of_val(way)
                + way.headsigns.iter().map(of_headsign).sum::<usize>()
                + way.places.iter().map(of_place).sum::<usize>()
        };
        size_of_val(self)
            + self.shown.iter().map(of_way).sum::<usize>()
            + size_of_val(self.standing.as_slice())
    }
}

impl<S: Copy + Ord> RouteVariants<S> {
    /// Where a stop stands, in the order of ways: the number of a way, and of the first place there that has the stop.
    pub fn stop_positions(&self, stop: S) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        let from = self.standing.partition_point(|(it, ..)| *it < stop);
        let to = self.standing.partition_point(|(it, ..)| *it <= stop);
        self.standing[from..to].iter().map(|&(_, way, place)| (way, place))
    }
}

/// Of patterns, each with its direction, those of most trips, within what is looked at. One that is too long stands in no other's way.
fn busiest_patterns<P: Copy>(
    mut patterns: Vec<(Option<u8>, P, PatternTrips)>,
    n_stops: impl Fn(P) -> usize,
) -> Vec<(Option<u8>, P, PatternTrips)> {
    patterns.sort_by_key(|(.., variant)| Reverse(variant.n_trips));
    let mut left = STOPS_LOOKED_AT_MAX;
    patterns.retain(|(_, pattern, _)| {
        let n = n_stops(*pattern);
        let has_room = n <= STOPS_MAX.min(left);
        left -= if has_room { n } else { 0 };
        has_room
    });
    patterns.truncate(PATTERNS_MAX);
    patterns
}

/// The ways of patterns, each with its direction.
fn choose_variants<S: Copy + Ord + Hash, K: Eq + Hash>(
    patterns: Vec<(Option<u8>, Vec<S>, PatternTrips)>,
    station: impl Fn(S) -> K,
) -> RouteVariants<S> {
    let n_trips: usize = patterns.iter().map(|(.., variant)| variant.n_trips).sum();
    let mut numbers = StopNumbering::default();
    let mut by_direction: BTreeMap<Option<u8>, Vec<(Vec<NumberedStop>, PatternTrips)>> =
        BTreeMap::new();
    for (id, stops, variant) in patterns {
        let calls = stops.into_iter().map(|stop| numbers.number_stop(stop, &station)).collect();
        by_direction.entry(id).or_default().push((calls, variant));
    }
    let mut tracing = VariantBuilder::new(numbers.stops.len(), numbers.stations.len());
    let mut shown = Vec::new();
    for (id, patterns) in by_direction {
        let stop = |number: u32| numbers.stops[number as usize];
        let place = |stops: Vec<u32>| stops.into_iter().map(stop).collect();
        shown.extend(variants_of_direction(patterns, &mut tracing).into_iter().map(|way| {
            RouteVariant {
                id,
                headsigns: way.headsigns,
                places: way.places.into_iter().map(place).collect(),
                n_trips: way.n_trips,
            }
        }));
    }
    let n_shown: usize = shown.iter().map(|way| way.n_trips).sum();
    RouteVariants {
        standing: index_stop_positions(&shown),
        shown,
        n_left_out: n_trips - n_shown,
        #[cfg(test)]
        n_looks: tracing.n_looks,
    }
}

/// What stops of one station have in common: where the timetable has no stations, their name.
fn station_key(timetable: &Timetable, stop: StopIdx) -> (Option<StopIdx>, &str) {
    let it = timetable.stop(stop);
    match it.parent {
        None if !it.name.is_empty() => (None, it.name),
        parent => (parent.or(Some(stop)), ""),
    }
}

/// Where each stop stands on ways.
fn index_stop_positions<S: Copy + Ord>(ways: &[RouteVariant<S>]) -> Vec<(S, usize, usize)> {
    let mut all: Vec<_> = ways
        .iter()
        .enumerate()
        .flat_map(|(number, way)| {
            let places = way.places.iter().enumerate();
            places.flat_map(move |(at, stops)| stops.iter().map(move |&stop| (stop, number, at)))
        })
        .collect();
    all.sort_unstable();
    all.dedup_by_key(|(stop, number, _)| (*stop, *number));
    all.shrink_to_fit();
    all
}

/// A stop and its station, by numbers from 0.
#[derive(Clone, Copy, Debug)]
struct NumberedStop {
    stop: u32,
    station: u32,
}

/// Stops and stations by number.
#[derive(Debug)]
struct StopNumbering<S, K> {
    calls: HashMap<S, NumberedStop>,
    stations: HashMap<K, u32>,
    /// The stop of each number.
    stops: Vec<S>,
}

impl<S, K> Default for StopNumbering<S, K> {
    fn default() -> Self {
        StopNumbering { calls: HashMap::new(), stations: HashMap::new(), stops: Vec::new() }
    }
}

impl<S: Copy + Eq + Hash, K: Eq + Hash> StopNumbering<S, K> {
    /// A stop by its numbers; its station is asked for once.
    fn number_stop(&mut self, stop: S, station: impl Fn(S) -> K) -> NumberedStop {
        *self.calls.entry(stop).or_insert_with(|| {
            let next = self.stations.len() as u32;
            self.stops.push(stop);
            let station = *self.stations.entry(station(stop)).or_insert(next);
            NumberedStop { stop: self.stops.len() as u32 - 1, station }
        })
    }
}

/// The ways of one direction that have most trips.
fn variants_of_direction(
    mut left: Vec<(Vec<NumberedStop>, PatternTrips)>,
    tracing: &mut VariantBuilder,
) -> Vec<RouteVariant<u32>> {
    // What most trips do begins. Then the long ones come: others are parts of them.
    left.sort_by_key(|(_, variant)| Reverse(variant.n_trips));
    if let Some(others) = left.get_mut(1..) {
        others.sort_by_key(|(calls, _)| Reverse(calls.len()));
    }
    let mut ways: Vec<RouteVariant<u32>> = Vec::new();
    while !left.is_empty() {
        let (calls, PatternTrips { mut headsigns, mut n_trips }) = left.remove(0);
        tracing.begin_variant(&calls);
        left.retain_mut(|(calls, variant)| {
            let comes_in = tracing.try_merge_pattern(calls);
            if comes_in {
                n_trips += variant.n_trips;
                let room = HEADSIGNS_MAX.saturating_sub(headsigns.len());
                headsigns.extend(std::mem::take(&mut variant.headsigns).into_iter().take(room));
            }
            !comes_in
        });
        // All are put together, however long or short; of those that cannot be among the first, no more is kept.
        if ways.iter().filter(|way| way.n_trips >= n_trips).count() < WAYS_MAX {
            ways.push(RouteVariant {
                id: None,
                headsigns,
                places: tracing.ordered_place_stops(),
                n_trips,
            });
        }
    }
    ways.sort_by_key(|way| Reverse(way.n_trips));
    ways.truncate(WAYS_MAX);
    ways
}

/// Where a station is that is not on the way.
const NOWHERE: u32 = u32::MAX;
/// Where a station is that is there more than once.
const OFTEN: u32 = u32::MAX - 1;

/// The way that is being put together. A place has a number, which it keeps wherever it comes to stand.
#[derive(Debug)]
struct VariantBuilder {
    /// The places in the order of the way.
    order: Vec<u32>,
    /// Where in it each place is.
    ranks: Vec<u32>,
    /// The station of each place.
    stations: Vec<u32>,
    /// Each stop with its place, as they came.
    stops: Vec<(NumberedStop, u32)>,
    /// Where on the way each station is, [`NOWHERE`] or [`OFTEN`].
    spots: Vec<u32>,
    /// The places of each station, in order. Their room is kept from one way to the next.
    of_station: Vec<Vec<u32>>,
    /// The places of each stop, likewise.
    of_stop: Vec<Vec<u32>>,
    #[cfg(test)]
    n_looks: usize,
}

impl VariantBuilder {
    fn new(n_stops: usize, n_stations: usize) -> VariantBuilder {
        VariantBuilder {
            order: Vec::new(),
            ranks: Vec::new(),
            stations: Vec::new(),
            stops: Vec::new(),
            spots: vec![NOWHERE; n_stations],
            of_station: vec![Vec::new(); n_stations],
            of_stop: vec![Vec::new(); n_stops],
            #[cfg(test)]
            n_looks: 0,
        }
    }

    /// Begins a way with these stops.
    fn begin_variant(&mut self, calls: &[NumberedStop]) {
        for (call, _) in self.stops.drain(..) {
            self.of_stop[call.stop as usize].clear();
            self.of_station[call.station as usize].clear();
            self.spots[call.station as usize] = NOWHERE;
        }
        self.order.clear();
        self.ranks.clear();
        self.stations.clear();
        self.merge_pattern_stops(calls);
    }

    /// Takes the stops of a further pattern in, if it fits.
    fn try_merge_pattern(&mut self, calls: &[NumberedStop]) -> bool {
        let fits = self.can_merge_pattern(calls);
        if fits {
            self.merge_pattern_stops(calls);
        }
        fits
    }

    /// Whether a pattern fits: not if it goes the other way round, has not two stations in common with the way, or begins or
    /// ends on a branch.
    fn can_merge_pattern(&mut self, calls: &[NumberedStop]) -> bool {
        if !self.may_end_on_variant(calls) {
            return false;
        }
        let (mut next, mut n_common) = (0, 0);
        for (at, &call) in calls.iter().enumerate() {
            self.count_comparison();
            if self.spots[call.station as usize] == NOWHERE {
                continue;
            }
            // One that lies behind already: it goes the other way round.
            let Some(rank) = self.find_station_ahead(call, next) else { return false };
            let begins_beside = n_common == 0 && at > 0 && rank > 0;
            if begins_beside {
                return false;
            }
            next = rank + 1;
            n_common += 1;
        }
        let n_places = self.order.len();
        let is_beside = |call: &NumberedStop| self.spots[call.station as usize] == NOWHERE;
        let ends_beside = calls.last().is_some_and(is_beside) && (next as usize) < n_places;
        n_common >= 2 && !ends_beside && n_places + calls.len() - n_common <= STOPS_MAX
    }

    /// Whether a pattern that leaves the way could have been at its end; most branches need not be followed to say that they were not.
    fn may_end_on_variant(&mut self, calls: &[NumberedStop]) -> bool {
        let last = self.order.last().map(|&place| self.stations[place as usize]);
        for (n_beside, call) in calls.iter().rev().enumerate() {
            self.count_comparison();
            if self.spots[call.station as usize] != NOWHERE {
                return n_beside == 0 || Some(call.station) == last;
            }
        }
        false
    }

    /// Where on the way the next place of a stop's station is, from `next` on. A way may pass a station, or villages whose stops
    /// are called alike, more than once: then this very stop counts.
    fn find_station_ahead(&self, call: NumberedStop, next: u32) -> Option<u32> {
        match self.spots[call.station as usize] {
            NOWHERE => None,
            OFTEN => {
                let first = |places: &[u32]| {
                    let at = places.partition_point(|&place| self.ranks[place as usize] < next);
                    places.get(at).map(|&place| self.ranks[place as usize])
                };
                let itself = first(&self.of_stop[call.stop as usize]);
                itself.or_else(|| first(&self.of_station[call.station as usize]))
            }
            rank => (rank >= next).then_some(rank),
        }
    }

    /// Puts the stops of a pattern where they are on the way, and those that are not between them.
    fn merge_pattern_stops(&mut self, calls: &[NumberedStop]) {
        let mut order = Vec::with_capacity(self.order.len() + calls.len());
        let mut places = Vec::with_capacity(calls.len());
        let mut n_taken = 0;
        for &call in calls {
            let place = if let Some(rank) = self.find_station_ahead(call, n_taken) {
                order.extend_from_slice(&self.order[n_taken as usize..=rank as usize]);
                n_taken = rank + 1;
                self.order[rank as usize]
            } else {
                let new = self.stations.len() as u32;
                self.stations.push(call.station);
                order.push(new);
                new
            };
            places.push(place);
        }
        order.extend_from_slice(&self.order[n_taken as usize..]);
        self.ranks.resize(self.stations.len(), 0);
        for (rank, &place) in order.iter().enumerate() {
            self.ranks[place as usize] = rank as u32;
        }
        self.order = order;
        for (&call, place) in calls.iter().zip(places) {
            if insert_place(&mut self.of_stop[call.stop as usize], place, &self.ranks) {
                self.stops.push((call, place));
                insert_place(&mut self.of_station[call.station as usize], place, &self.ranks);
            }
        }
        for &place in &self.order {
            let station = self.stations[place as usize] as usize;
            let is_once = self.of_station[station].len() == 1;
            self.spots[station] = if is_once { self.ranks[place as usize] } else { OFTEN };
        }
    }

    /// The stops of each place, in the order of the way.
    fn ordered_place_stops(&self) -> Vec<Vec<u32>> {
        let mut places = vec![Vec::new(); self.order.len()];
        for &(call, place) in &self.stops {
            places[self.ranks[place as usize] as usize].push(call.stop);
        }
        places
    }

    fn count_comparison(&mut self) {
        #[cfg(test)]
        {
            self.n_looks += 1;
        }
    }
}

/// Puts a place among others, which are in order; false if it is there.
fn insert_place(places: &mut Vec<u32>, place: u32, ranks: &[u32]) -> bool {
    let rank = |place: u32| ranks[place as usize];
    let at = places.partition_point(|&it| rank(it) < rank(place));
    let is_new = places.get(at) != Some(&place);
    if is_new {
        places.insert(at, place);
    }
    is_new
}

#[cfg(test)]
mod tests;
