//! Route variants: a route's stop sequences, merged from the patterns of its trips. Short trips are part of a long
//! variant; a branch is a variant of its own, and so are trips in the opposite direction, whether the timetable states
//! directions or not.
//!
//! Variants are built one after the other: the first remaining pattern begins one, and each other pattern that fits, in
//! order, is merged and removed. Testing a pattern visits its stops until a mismatch and allocates nothing; merging
//! takes as many steps as pattern and variant have stops. So p patterns of n stops together take O(p · n) comparisons
//! if nearly all fit, and otherwise mostly a few for each pair of them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::Hash,
};

use lineside_formats::gtfs::{PatternIdx, RouteIdx, StopIdx, Timetable};

/// Maximum number of variants per direction, those with most trips; others are only counted.
const VARIANTS_MAX: usize = 8;
/// Maximum number of examined patterns of a route, those with most trips first.
const PATTERNS_MAX: usize = 500;
/// Maximum total number of stops of these patterns.
const PATTERN_STOPS_MAX: usize = 100_000;
/// Maximum number of stops of a pattern and of a variant.
const STOPS_MAX: usize = 1_000;
/// Maximum number of headsigns per variant.
const HEADSIGNS_MAX: usize = 32;

#[derive(Debug)]
pub struct RouteVariants<S = StopIdx> {
    /// The shown variants by direction, those with most trips first.
    pub variants: Vec<RouteVariant<S>>,
    /// The number of trips that follow other variants.
    pub n_other_trips: usize,
    /// Each stop with a variant's number and the first place of the stop there, in order.
    stop_positions: Vec<(S, usize, usize)>,
    #[cfg(test)]
    n_steps: usize,
}

#[derive(Debug)]
pub struct RouteVariant<S = StopIdx> {
    /// `direction_id`.
    pub id: Option<u8>,
    /// The headsigns of its trips.
    pub headsigns: BTreeSet<String>,
    /// The stops in order; a station with all its stops that the trips use.
    pub stops: Vec<Vec<S>>,
    n_trips: usize,
}

/// Headsigns and number of the trips of a pattern.
#[derive(Debug, Default)]
struct PatternTripCounts {
    headsigns: BTreeSet<String>,
    n_trips: usize,
}

impl RouteVariants {
    /// Computes the variants of a route. O(t log p) for t trips of p patterns, plus the merging.
    pub fn for_route(timetable: &Timetable, route: RouteIdx) -> RouteVariants {
        let mut variants: BTreeMap<(Option<u8>, PatternIdx), PatternTripCounts> = BTreeMap::new();
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
        let busiest = select_busiest_patterns(all.collect(), |pattern| {
            timetable.pattern_stops(pattern).len()
        });
        let patterns = busiest.into_iter().map(|(id, pattern, variant)| {
            (id, timetable.pattern_stops(pattern).collect(), variant)
        });
        let route_variants = merge_patterns_into_variants(patterns.collect(), |stop| {
            station_or_name_key(timetable, stop)
        });
        let n_shown: usize =
            route_variants.variants.iter().map(|shown_variant| shown_variant.n_trips).sum();
        RouteVariants { n_other_trips: n_trips - n_shown, ..route_variants }
    }

    /// Returns the approximate memory size in bytes.
    pub fn approximate_memory_bytes(&self) -> usize {
        let headsign_bytes = |it: &String| it.len() + 2 * size_of::<String>();
        let stop_list_bytes =
            |it: &Vec<StopIdx>| it.capacity() * size_of::<StopIdx>() + 2 * size_of_val(it);
        let variant_bytes = |variant: &RouteVariant| {
            size_of_val(variant)
                + variant.headsigns.iter().map(headsign_bytes).sum::<usize>()
                + variant.stops.iter().map(stop_list_bytes).sum::<usize>()
        };
        size_of_val(self)
            + self.variants.iter().map(variant_bytes).sum::<usize>()
            + size_of_val(self.stop_positions.as_slice())
    }
}

impl<S: Copy + Ord> RouteVariants<S> {
    /// Returns the positions of a stop, in the order of variants: the variant's number and the first place of the stop
    /// there.
    pub fn positions_of_stop(&self, stop: S) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        let from = self.stop_positions.partition_point(|(it, ..)| *it < stop);
        let to = self.stop_positions.partition_point(|(it, ..)| *it <= stop);
        self.stop_positions[from..to].iter().map(|&(_, variant, position)| (variant, position))
    }
}

/// Returns the patterns with most trips within the limits. A pattern that is too long does not displace others.
fn select_busiest_patterns<P: Copy>(
    mut patterns: Vec<(Option<u8>, P, PatternTripCounts)>,
    n_stops: impl Fn(P) -> usize,
) -> Vec<(Option<u8>, P, PatternTripCounts)> {
    patterns.sort_by_key(|(.., variant)| Reverse(variant.n_trips));
    let mut left = PATTERN_STOPS_MAX;
    patterns.retain(|(_, pattern, _)| {
        let n = n_stops(*pattern);
        let has_room = n <= STOPS_MAX.min(left);
        left -= if has_room { n } else { 0 };
        has_room
    });
    patterns.truncate(PATTERNS_MAX);
    patterns
}

/// Computes the variants of patterns, each with its direction.
fn merge_patterns_into_variants<S: Copy + Ord + Hash, K: Eq + Hash>(
    patterns: Vec<(Option<u8>, Vec<S>, PatternTripCounts)>,
    station: impl Fn(S) -> K,
) -> RouteVariants<S> {
    let n_trips: usize = patterns.iter().map(|(.., variant)| variant.n_trips).sum();
    let mut numbers = StopNumbers::default();
    let mut by_direction: BTreeMap<Option<u8>, Vec<(Vec<NumberedStop>, PatternTripCounts)>> =
        BTreeMap::new();
    for (id, stops, variant) in patterns {
        let calls =
            stops.into_iter().map(|stop| numbers.get_or_assign_numbers(stop, &station)).collect();
        by_direction.entry(id).or_default().push((calls, variant));
    }
    let mut tracing = VariantBuilder::new(numbers.stops.len(), numbers.stations.len());
    let mut shown = Vec::new();
    for (id, patterns) in by_direction {
        let stop = |number: u32| numbers.stops[number as usize];
        let to_stops = |stops: Vec<u32>| stops.into_iter().map(stop).collect();
        shown.extend(build_variants_of_direction(patterns, &mut tracing).into_iter().map(
            |shown_variant| RouteVariant {
                id,
                headsigns: shown_variant.headsigns,
                stops: shown_variant.stops.into_iter().map(to_stops).collect(),
                n_trips: shown_variant.n_trips,
            },
        ));
    }
    let n_shown: usize = shown.iter().map(|shown_variant| shown_variant.n_trips).sum();
    RouteVariants {
        stop_positions: index_stop_positions(&shown),
        variants: shown,
        n_other_trips: n_trips - n_shown,
        #[cfg(test)]
        n_steps: tracing.n_steps,
    }
}

/// Returns the key that the stops of a station share: their name if the timetable has no stations.
fn station_or_name_key(timetable: &Timetable, stop: StopIdx) -> (Option<StopIdx>, &str) {
    let it = timetable.stop(stop);
    match it.parent {
        None if !it.name.is_empty() => (None, it.name),
        parent => (parent.or(Some(stop)), ""),
    }
}

fn index_stop_positions<S: Copy + Ord>(variants: &[RouteVariant<S>]) -> Vec<(S, usize, usize)> {
    let mut all: Vec<_> = variants
        .iter()
        .enumerate()
        .flat_map(|(number, variant)| {
            let positions = variant.stops.iter().enumerate();
            positions.flat_map(move |(at, stops)| stops.iter().map(move |&stop| (stop, number, at)))
        })
        .collect();
    all.sort_unstable();
    all.dedup_by_key(|(stop, number, _)| (*stop, *number));
    all.shrink_to_fit();
    all
}

/// A stop and its station, numbered from 0.
#[derive(Clone, Copy, Debug)]
struct NumberedStop {
    stop: u32,
    station: u32,
}

/// Numbers of stops and stations.
#[derive(Debug)]
struct StopNumbers<S, K> {
    calls: HashMap<S, NumberedStop>,
    stations: HashMap<K, u32>,
    /// Stops by number.
    stops: Vec<S>,
}

impl<S, K> Default for StopNumbers<S, K> {
    fn default() -> Self {
        StopNumbers { calls: HashMap::new(), stations: HashMap::new(), stops: Vec::new() }
    }
}

impl<S: Copy + Eq + Hash, K: Eq + Hash> StopNumbers<S, K> {
    /// Returns the numbers of a stop; calls `station` once per stop.
    fn get_or_assign_numbers(&mut self, stop: S, station: impl Fn(S) -> K) -> NumberedStop {
        *self.calls.entry(stop).or_insert_with(|| {
            let next = self.stations.len() as u32;
            self.stops.push(stop);
            let station = *self.stations.entry(station(stop)).or_insert(next);
            NumberedStop { stop: self.stops.len() as u32 - 1, station }
        })
    }
}

/// Returns the variants of one direction with most trips.
fn build_variants_of_direction(
    mut left: Vec<(Vec<NumberedStop>, PatternTripCounts)>,
    tracing: &mut VariantBuilder,
) -> Vec<RouteVariant<u32>> {
    // The pattern with most trips first, then the others by length: shorter ones are parts of them.
    left.sort_by_key(|(_, variant)| Reverse(variant.n_trips));
    if let Some(others) = left.get_mut(1..) {
        others.sort_by_key(|(calls, _)| Reverse(calls.len()));
    }
    let mut variants: Vec<RouteVariant<u32>> = Vec::new();
    while !left.is_empty() {
        let (calls, PatternTripCounts { mut headsigns, mut n_trips }) = left.remove(0);
        tracing.start_with_pattern(&calls);
        left.retain_mut(|(calls, variant)| {
            let is_merged = tracing.try_merge_pattern(calls);
            if is_merged {
                n_trips += variant.n_trips;
                let n_left = HEADSIGNS_MAX.saturating_sub(headsigns.len());
                headsigns.extend(std::mem::take(&mut variant.headsigns).into_iter().take(n_left));
            }
            !is_merged
        });
        // All variants are computed, but only those that can be among the first are stored.
        if variants.iter().filter(|shown_variant| shown_variant.n_trips >= n_trips).count()
            < VARIANTS_MAX
        {
            variants.push(RouteVariant {
                id: None,
                headsigns,
                stops: tracing.list_stops_by_position(),
                n_trips,
            });
        }
    }
    variants.sort_by_key(|shown_variant| Reverse(shown_variant.n_trips));
    variants.truncate(VARIANTS_MAX);
    variants
}

/// The position of a station that is not on the variant.
const NOT_ON_VARIANT: u32 = u32::MAX;
/// The position of a station that occurs more than once.
const SEVERAL_TIMES: u32 = u32::MAX - 1;

/// The variant under construction. The number of a place is stable, whatever its position.
#[derive(Debug)]
struct VariantBuilder {
    /// Places in the order of the variant.
    order: Vec<u32>,
    /// The position of each place.
    ranks: Vec<u32>,
    /// The station of each place.
    stations: Vec<u32>,
    /// Each stop with its place, in the order of insertion.
    stops: Vec<(NumberedStop, u32)>,
    /// The position of each station, [`NOWHERE`] or [`OFTEN`].
    positions: Vec<u32>,
    /// The places of each station, in order. The allocations are reused across variants.
    station_positions: Vec<Vec<u32>>,
    /// The places of each stop, in order. The allocations are reused across variants.
    stop_positions: Vec<Vec<u32>>,
    #[cfg(test)]
    n_steps: usize,
}

impl VariantBuilder {
    fn new(n_stops: usize, n_stations: usize) -> VariantBuilder {
        VariantBuilder {
            order: Vec::new(),
            ranks: Vec::new(),
            stations: Vec::new(),
            stops: Vec::new(),
            positions: vec![NOT_ON_VARIANT; n_stations],
            station_positions: vec![Vec::new(); n_stations],
            stop_positions: vec![Vec::new(); n_stops],
            #[cfg(test)]
            n_steps: 0,
        }
    }

    /// Begins a variant with these stops.
    fn start_with_pattern(&mut self, calls: &[NumberedStop]) {
        for (call, _) in self.stops.drain(..) {
            self.stop_positions[call.stop as usize].clear();
            self.station_positions[call.station as usize].clear();
            self.positions[call.station as usize] = NOT_ON_VARIANT;
        }
        self.order.clear();
        self.ranks.clear();
        self.stations.clear();
        self.merge_pattern_stops(calls);
    }

    /// Merges the stops of another pattern if it fits.
    fn try_merge_pattern(&mut self, calls: &[NumberedStop]) -> bool {
        let fits = self.can_merge_pattern(calls);
        if fits {
            self.merge_pattern_stops(calls);
        }
        fits
    }

    /// Returns true if a pattern fits: it goes in the same direction, shares at least two stations with the variant,
    /// and neither begins nor ends on a branch.
    fn can_merge_pattern(&mut self, calls: &[NumberedStop]) -> bool {
        if !self.may_end_on_variant(calls) {
            return false;
        }
        let (mut next, mut n_common) = (0, 0);
        for (at, &call) in calls.iter().enumerate() {
            self.count_comparison();
            if self.positions[call.station as usize] == NOT_ON_VARIANT {
                continue;
            }
            // The station is already passed: the pattern goes in the opposite direction.
            let Some(rank) = self.find_next_station_position(call, next) else { return false };
            let starts_off_variant = n_common == 0 && at > 0 && rank > 0;
            if starts_off_variant {
                return false;
            }
            next = rank + 1;
            n_common += 1;
        }
        let n_places = self.order.len();
        let is_off_variant =
            |call: &NumberedStop| self.positions[call.station as usize] == NOT_ON_VARIANT;
        let ends_off_variant =
            calls.last().is_some_and(is_off_variant) && (next as usize) < n_places;
        n_common >= 2 && !ends_off_variant && n_places + calls.len() - n_common <= STOPS_MAX
    }

    /// Returns true if a pattern ends on the variant or leaves it at its end; this rejects most branches without
    /// following them.
    fn may_end_on_variant(&mut self, calls: &[NumberedStop]) -> bool {
        let last = self.order.last().map(|&position| self.stations[position as usize]);
        for (n_missing, call) in calls.iter().rev().enumerate() {
            self.count_comparison();
            if self.positions[call.station as usize] != NOT_ON_VARIANT {
                return n_missing == 0 || Some(call.station) == last;
            }
        }
        false
    }

    /// Returns the position of the next place of a stop's station, from `next` on. A variant may pass a station, or
    /// several with the same name, more than once: then the stop itself decides.
    fn find_next_station_position(&self, call: NumberedStop, next: u32) -> Option<u32> {
        match self.positions[call.station as usize] {
            NOT_ON_VARIANT => None,
            SEVERAL_TIMES => {
                let first = |positions: &[u32]| {
                    let at =
                        positions.partition_point(|&position| self.ranks[position as usize] < next);
                    positions.get(at).map(|&position| self.ranks[position as usize])
                };
                let itself = first(&self.stop_positions[call.stop as usize]);
                itself.or_else(|| first(&self.station_positions[call.station as usize]))
            }
            rank => (rank >= next).then_some(rank),
        }
    }

    /// Merges the stops of a pattern into their places, and inserts the others between them.
    fn merge_pattern_stops(&mut self, calls: &[NumberedStop]) {
        let mut order = Vec::with_capacity(self.order.len() + calls.len());
        let mut positions = Vec::with_capacity(calls.len());
        let mut n_placed = 0;
        for &call in calls {
            let position = if let Some(rank) = self.find_next_station_position(call, n_placed) {
                order.extend_from_slice(&self.order[n_placed as usize..=rank as usize]);
                n_placed = rank + 1;
                self.order[rank as usize]
            } else {
                let new = self.stations.len() as u32;
                self.stations.push(call.station);
                order.push(new);
                new
            };
            positions.push(position);
        }
        order.extend_from_slice(&self.order[n_placed as usize..]);
        self.ranks.resize(self.stations.len(), 0);
        for (rank, &position) in order.iter().enumerate() {
            self.ranks[position as usize] = rank as u32;
        }
        self.order = order;
        for (&call, position) in calls.iter().zip(positions) {
            if insert_position(&mut self.stop_positions[call.stop as usize], position, &self.ranks)
            {
                self.stops.push((call, position));
                insert_position(
                    &mut self.station_positions[call.station as usize],
                    position,
                    &self.ranks,
                );
            }
        }
        for &position in &self.order {
            let station = self.stations[position as usize] as usize;
            let is_once = self.station_positions[station].len() == 1;
            self.positions[station] =
                if is_once { self.ranks[position as usize] } else { SEVERAL_TIMES };
        }
    }

    /// Returns the stops of each place, in the order of the variant.
    fn list_stops_by_position(&self) -> Vec<Vec<u32>> {
        let mut positions = vec![Vec::new(); self.order.len()];
        for &(call, position) in &self.stops {
            positions[self.ranks[position as usize] as usize].push(call.stop);
        }
        positions
    }

    fn count_comparison(&mut self) {
        #[cfg(test)]
        {
            self.n_steps += 1;
        }
    }
}

/// Inserts a place into an ordered list; returns false if it is there already.
fn insert_position(positions: &mut Vec<u32>, position: u32, ranks: &[u32]) -> bool {
    let rank = |position: u32| ranks[position as usize];
    let at = positions.partition_point(|&it| rank(it) < rank(position));
    let is_new = positions.get(at) != Some(&position);
    if is_new {
        positions.insert(at, position);
    }
    is_new
}

#[cfg(test)]
mod tests;
