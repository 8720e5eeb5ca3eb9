//! Routes, their lines through the city and their stops, without times.

mod ferries;
mod places;
pub(crate) mod plan;
mod rails;
mod surface;

pub(crate) use places::{Stop, StopPlace};

use crate::geography::Geography;
use crate::geography::plane::MeasuredLine;
use crate::noise;
use places::PlaceRegistry;
use plan::BusKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TransportMode {
    Rail,
    Metro,
    Tram,
    Bus,
    Ferry,
}

impl TransportMode {
    pub(crate) const ALL: [Self; 5] = [Self::Rail, Self::Metro, Self::Tram, Self::Bus, Self::Ferry];

    /// Returns the GTFS `route_type`.
    pub(crate) fn route_type(self) -> u16 {
        match self {
            Self::Tram => 0,
            Self::Metro => 1,
            Self::Rail => 2,
            Self::Bus => 3,
            Self::Ferry => 4,
        }
    }

    /// Returns the first letter of the ids of routes, blocks and vehicles.
    pub(crate) fn id_letter(self) -> char {
        match self {
            Self::Rail => 'R',
            Self::Metro => 'M',
            Self::Tram => 'T',
            Self::Bus => 'B',
            Self::Ferry => 'F',
        }
    }
}

#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) id: String,
    pub(crate) short_name: String,
    pub(crate) long_name: String,
    pub(crate) mode: TransportMode,
    pub(crate) bus_kind: Option<BusKind>,
    /// True if the route skips smaller stations.
    pub(crate) limited: bool,
    /// Six hex digits; the text colour is white.
    pub(crate) color: String,
    /// The indices of its patterns: the full length in both directions, then shorter ones.
    pub(crate) patterns: Vec<u32>,
}

/// A stop on a pattern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatternCall {
    pub(crate) stop: u32,
    /// The distance along the pattern's line, in metres.
    pub(crate) along: f64,
}

/// A sequence of stops of a route along a line.
#[derive(Debug)]
pub(crate) struct StopPattern {
    pub(crate) route: u32,
    pub(crate) direction: u8,
    pub(crate) line: MeasuredLine,
    pub(crate) calls: Vec<PatternCall>,
    pub(crate) shape_id: String,
    pub(crate) headsign: String,
}

#[derive(Debug)]
pub(crate) struct TransitNetwork {
    pub(crate) places: Vec<StopPlace>,
    pub(crate) stops: Vec<Stop>,
    pub(crate) routes: Vec<Route>,
    pub(crate) patterns: Vec<StopPattern>,
}

/// The name and properties of a route before it is laid.
struct RouteAttributes {
    id: String,
    short_name: String,
    color: String,
    mode: TransportMode,
    bus_kind: Option<BusKind>,
    limited: bool,
}

/// One direction of a route with its line and calls.
struct RouteDirection {
    line: MeasuredLine,
    calls: Vec<PatternCall>,
}

impl TransitNetwork {
    /// Builds all routes of the plan, and `more_buses` further bus routes for a larger fleet.
    pub(crate) fn build_network(seed: u64, geography: &Geography, more_buses: usize) -> Self {
        let mut network = Self {
            places: Vec::new(),
            stops: Vec::new(),
            routes: Vec::new(),
            patterns: Vec::new(),
        };
        let mut places =
            PlaceRegistry::new(noise::random_key_for_purpose(seed, "places"), geography);
        rails::add_railway_routes(&mut network, &mut places, geography);
        rails::add_metro_routes(&mut network, &mut places, geography);
        ferries::add_ferry_routes(&mut network, &mut places, geography);
        surface::add_tram_and_bus_lines(seed, &mut network, &mut places, geography, more_buses);
        (network.places, network.stops) = places.assign_ids_and_finish();
        network.set_headsigns_and_long_names();
        network
    }

    /// Adds a route with its two directions.
    fn add_route(&mut self, plan: RouteAttributes, runs: [RouteDirection; 2]) {
        let route = self.routes.len() as u32;
        let mut patterns = Vec::new();
        for (direction, run) in runs.into_iter().enumerate() {
            patterns.push(self.patterns.len() as u32);
            self.patterns.push(StopPattern {
                route,
                direction: direction as u8,
                shape_id: format!("{}.{direction}", plan.id),
                line: run.line,
                calls: run.calls,
                headsign: String::new(),
            });
        }
        self.routes.push(Route {
            id: plan.id,
            short_name: plan.short_name,
            long_name: String::new(),
            mode: plan.mode,
            bus_kind: plan.bus_kind,
            limited: plan.limited,
            color: plan.color,
            patterns,
        });
    }

    /// Adds patterns to the last route that run only between two of its calls, counted in the first direction.
    fn add_short_turn_patterns(&mut self, from: usize, to: usize) {
        let Some(route) = self.routes.len().checked_sub(1) else { return };
        for direction in 0..2 {
            let full = &self.patterns[self.routes[route].patterns[direction] as usize];
            let last = full.calls.len() - 1;
            let (from, to) = if direction == 0 { (from, to) } else { (last - to, last - from) };
            let begin = (full.calls[from].along - 8.0).max(0.0);
            let end = full.calls[to].along + 8.0;
            let calls = full.calls[from..=to]
                .iter()
                .map(|c| PatternCall { stop: c.stop, along: c.along - begin })
                .collect();
            let pattern = StopPattern {
                route: route as u32,
                direction: direction as u8,
                shape_id: format!("{}s", full.shape_id),
                line: MeasuredLine::new(full.line.slice_between(begin, end)),
                calls,
                headsign: String::new(),
            };
            self.routes[route].patterns.push(self.patterns.len() as u32);
            self.patterns.push(pattern);
        }
    }

    /// Returns the lines of the railways, one per route.
    pub(crate) fn rail_lines(&self) -> impl Iterator<Item = &MeasuredLine> {
        let rails = self.routes.iter().filter(|route| route.mode == TransportMode::Rail);
        rails.map(|route| &self.patterns[route.patterns[0] as usize].line)
    }

    /// Returns the place of a pattern's last call.
    pub(crate) fn terminus_place(&self, pattern: &StopPattern) -> u32 {
        pattern.calls.last().map_or(0, |call| self.stops[call.stop as usize].place)
    }

    /// Returns the place of a pattern's first call.
    pub(crate) fn origin_place(&self, pattern: &StopPattern) -> u32 {
        pattern.calls.first().map_or(0, |call| self.stops[call.stop as usize].place)
    }

    /// Sets headsigns and long names from the ends of the lines, which have names only once all lines are laid.
    fn set_headsigns_and_long_names(&mut self) {
        for i in 0..self.patterns.len() {
            let terminus = self.terminus_place(&self.patterns[i]);
            self.patterns[i].headsign.clone_from(&self.places[terminus as usize].name);
        }
        for route in &mut self.routes {
            let [out, back] = [0, 1].map(|i| &self.patterns[route.patterns[i] as usize].headsign);
            route.long_name = format!("{back} – {out}");
        }
    }
}
