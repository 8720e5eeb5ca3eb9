//! Trams and buses: the cheapest paths along the streets between the districts of the plan, with stops at crossings.

use super::places::{PlaceRegistry, StopIdentity};
use super::plan::{self, BusKind};
use super::{PatternCall, RouteAttributes, RouteDirection, TransitNetwork, TransportMode};
use crate::geography::Geography;
use crate::geography::plan::DistrictCharacter;
use crate::geography::plane::{MeasuredLine, PlanePoint, simplify_line};
use crate::noise;
use crate::street_class::StreetClass;

/// The distance of stops after a crossing, in metres.
const BEHIND_CROSSING: f64 = 26.0;
/// The distance of stops to the right of the middle of the street, in metres.
const KERB: f64 = 6.5;
/// The extra cost of a street for each line that uses it, so that lines spread.
const SPREAD: f64 = 0.16;
/// A crossing this close to a station belongs to it, in metres.
const STATION_REACH: f64 = 230.0;

/// A line to be laid.
struct SurfaceLinePlan {
    plan: RouteAttributes,
    /// The crossings that the line passes through.
    through: Vec<u32>,
    /// The distance between stops in town, in metres.
    gap: f64,
    short_runs: bool,
}

struct SurfaceLinePath {
    edges: Vec<u32>,
    nodes: Vec<u32>,
    line: MeasuredLine,
    /// The distance of each node along the line.
    along: Vec<f64>,
}

pub(super) fn add_tram_and_bus_lines(
    seed: u64,
    network: &mut TransitNetwork,
    places: &mut PlaceRegistry<'_>,
    geography: &Geography,
    more_buses: usize,
) {
    let hubs: Vec<u32> = geography
        .districts
        .iter()
        .map(|d| geography.graph.nearest_reachable_node(d.position))
        .collect();
    for (district, node) in geography.districts.iter().zip(&hubs) {
        let place = places.find_or_add_named_place(district.name, district.position);
        if places.place_by_number(place).point.distance_to(geography.graph.nodes[*node as usize])
            < STATION_REACH * 1.6
        {
            places.attach_crossing_to_place(*node, place);
        }
    }
    let mut layer = SurfaceLineBuilder { geography, used: vec![0.0; geography.graph.edges.len()] };
    let orders = planned_tram_lines(&hubs).chain(planned_bus_lines(seed, geography, &hubs));
    for order in orders.chain(random_extra_bus_lines(seed, geography, &hubs, more_buses)) {
        layer.add_line_to_network(network, places, order);
    }
}

fn planned_tram_lines(hubs: &[u32]) -> impl Iterator<Item = SurfaceLinePlan> {
    plan::TRAM_LINES.iter().map(|(number, color, districts)| SurfaceLinePlan {
        plan: RouteAttributes {
            id: format!("T{number}"),
            short_name: (*number).to_owned(),
            color: (*color).to_owned(),
            mode: TransportMode::Tram,
            bus_kind: None,
            limited: false,
        },
        through: districts.iter().map(|d| hubs[*d]).collect(),
        gap: 460.0,
        short_runs: matches!(*number, "1" | "5"),
    })
}

fn planned_bus_lines(
    seed: u64,
    geography: &Geography,
    hubs: &[u32],
) -> impl Iterator<Item = SurfaceLinePlan> {
    let key = noise::random_key_for_purpose(seed, "buses");
    plan::BUS_LINES.iter().enumerate().map(move |(i, (number, color, districts, kind))| {
        let direct = districts.iter().map(|d| hubs[*d]).collect();
        let through = match kind {
            BusKind::City => {
                detour_through_quarters(noise::hash_two_numbers(key, i as u64), geography, direct)
            }
            BusKind::Shuttle | BusKind::Night | BusKind::Express => direct,
        };
        SurfaceLinePlan {
            plan: bus_route_attributes(number, color, *kind),
            through,
            gap: match kind {
                BusKind::City | BusKind::Shuttle => 400.0,
                BusKind::Night => 620.0,
                BusKind::Express => 1_700.0,
            },
            short_runs: matches!(*number, "11" | "14" | "16"),
        }
    })
}

/// Moves a bus line away from the main road between two districts, into built-up areas without a tram.
fn detour_through_quarters(key: u64, geography: &Geography, hubs: Vec<u32>) -> Vec<u32> {
    let graph = &geography.graph;
    let mut through = vec![hubs[0]];
    for (i, pair) in hubs.windows(2).enumerate() {
        let (a, b) = (graph.nodes[pair[0] as usize], graph.nodes[pair[1] as usize]);
        let chance =
            |n: u64| noise::pseudo_random_share(noise::hash_two_numbers(key, i as u64 * 8 + n));
        let sideways = (0.14 + 0.2 * chance(1)) * if chance(2) < 0.5 { 1.0 } else { -1.0 };
        let wanted = a.point_towards(b, 0.4 + 0.2 * chance(3)) + (b - a).left_normal() * sideways;
        let lived_in = geography.field.built_up_density(wanted) > 0.27
            && geography.terrain.raster.shore_distance(wanted) > 80.0;
        if a.distance_to(b) > 1_700.0 && lived_in && chance(4) < 0.75 {
            let nodes = (0..graph.nodes.len() as u32).filter(|n| graph.edges_at(*n).len() >= 3);
            let away = |n: &u32| graph.nodes[*n as usize].distance_to(wanted);
            through.extend(nodes.min_by(|a, b| away(a).total_cmp(&away(b))));
        }
        through.push(pair[1]);
    }
    through
}

fn bus_route_attributes(number: &str, color: &str, kind: BusKind) -> RouteAttributes {
    RouteAttributes {
        id: format!("B{number}"),
        short_name: number.to_owned(),
        color: color.to_owned(),
        mode: TransportMode::Bus,
        bus_kind: Some(kind),
        limited: kind == BusKind::Express,
    }
}

/// Returns random lines between parts of town, numbered from 100.
fn random_extra_bus_lines(
    seed: u64,
    geography: &Geography,
    hubs: &[u32],
    count: usize,
) -> impl Iterator<Item = SurfaceLinePlan> {
    let mut rng = fastrand::Rng::with_seed(noise::random_key_for_purpose(seed, "further buses"));
    let town: Vec<u32> = (0..geography.graph.nodes.len() as u32)
        .filter(|n| {
            geography.graph.edges_at(*n).len() >= 3
                && geography.field.built_up_density(geography.graph.nodes[*n as usize]) > 0.25
        })
        .collect();
    let inner: Vec<u32> = geography
        .districts
        .iter()
        .zip(hubs)
        .filter(|(d, _)| matches!(d.character, DistrictCharacter::Core | DistrictCharacter::Inner))
        .map(|(_, hub)| *hub)
        .collect();
    (0..count).map(move |i| {
        let number = format!("{}", 100 + i);
        let color = plan::MORE_BUS_COLORS[i % plan::MORE_BUS_COLORS.len()];
        let place = |n: u32| geography.graph.nodes[n as usize];
        let mut pick = |from: &[u32]| from[rng.usize(..from.len())];
        let mut through = vec![pick(&town), pick(&inner), pick(&town)];
        // A useful line is some kilometres long.
        for _ in 0..12 {
            if place(through[0]).distance_to(place(through[2])) > 4_000.0 {
                break;
            }
            through[2] = pick(&town);
        }
        SurfaceLinePlan {
            plan: bus_route_attributes(&number, color, BusKind::City),
            through,
            gap: 420.0,
            short_runs: false,
        }
    })
}

struct SurfaceLineBuilder<'a> {
    geography: &'a Geography,
    /// The number of lines on each edge.
    used: Vec<f64>,
}

impl SurfaceLineBuilder<'_> {
    fn add_line_to_network(
        &mut self,
        network: &mut TransitNetwork,
        places: &mut PlaceRegistry<'_>,
        order: SurfaceLinePlan,
    ) {
        let Some(way) = self.find_line_path(&order) else { return };
        for edge in &way.edges {
            self.used[*edge as usize] += 1.0;
        }
        let stops = self.choose_stops(places, &way, order.gap);
        if stops.len() < 2 {
            return;
        }
        let runs = [
            self.build_route_direction(places, &way, &stops),
            self.build_route_direction(places, &way.reversed_path(), &reversed_stops(&stops, &way)),
        ];
        let calls = runs[0].calls.len();
        let short_runs = order.short_runs && calls > 14;
        network.add_route(order.plan, runs);
        if short_runs {
            network.add_short_turn_patterns(calls / 5, calls * 4 / 5);
        }
    }

    /// Finds the path of a line through its crossings, without entering a dead end and returning.
    fn find_line_path(&self, order: &SurfaceLinePlan) -> Option<SurfaceLinePath> {
        let graph = &self.geography.graph;
        let tram = order.plan.mode == TransportMode::Tram;
        let weight = |edge: u32| {
            let by_class = match graph.edges[edge as usize].class {
                StreetClass::Main => 1.0,
                StreetClass::Avenue => 1.15,
                StreetClass::Collector if tram => 2.4,
                StreetClass::Collector => 1.55,
                _ => 1.9,
            };
            // Trams share tracks; buses spread.
            let spread = if tram { -0.02 } else { SPREAD };
            by_class * (1.0 + spread * self.used[edge as usize].min(8.0))
        };
        let mut edges: Vec<u32> = Vec::new();
        for pair in order.through.windows(2) {
            for edge in graph.find_cheapest_path(pair[0], pair[1], weight)? {
                if edges.last() == Some(&edge) {
                    edges.pop();
                } else {
                    edges.push(edge);
                }
            }
        }
        let first = *edges.first()?;
        let start = order.through[0];
        let ends = [graph.edges[first as usize].a, graph.edges[first as usize].b];
        let start = if ends.contains(&start) { start } else { ends[0] };
        let nodes = graph.nodes_along_path(start, &edges);
        let line = graph.line_along_path(start, &edges);
        let line = MeasuredLine::new(simplify_line(line.points(), 0.8));
        let mut along = Vec::with_capacity(nodes.len());
        let mut total = 0.0;
        along.push(0.0);
        for edge in &edges {
            total += graph.edges[*edge as usize].line.total_length();
            along.push(total);
        }
        // Simplification shortens the line slightly, so the nodes are scaled.
        let scale = line.total_length() / total.max(1.0);
        along.iter_mut().for_each(|d| *d *= scale);
        Some(SurfaceLinePath { edges, nodes, line, along })
    }

    /// Chooses the crossings with stops: about evenly spaced, preferably at existing places.
    fn choose_stops(
        &self,
        places: &mut PlaceRegistry<'_>,
        way: &SurfaceLinePath,
        gap: f64,
    ) -> Vec<usize> {
        let graph = &self.geography.graph;
        let last = way.nodes.len() - 1;
        let end = way.along[last];
        let mut chosen = vec![0];
        loop {
            let from = way.along[chosen[chosen.len() - 1]];
            let density = self.geography.field.built_up_density(way.line.point_at(from + gap));
            let gap = gap * (1.0 + 1.3 * (0.35 - density).max(0.0) / 0.35);
            if end - from < gap * 1.45 {
                break;
            }
            let badness = |k: usize| {
                let node = way.nodes[k];
                let off = (way.along[k] - from - gap).abs();
                let known = match places.find_place_at_node(node) {
                    Some(place) if places.place_by_number(place).is_station => 320.0,
                    Some(_) => 150.0,
                    None => 0.0,
                };
                let crossing = if graph.edges_at(node).len() >= 3 { 120.0 } else { 0.0 };
                off - known - crossing
            };
            let next = (0..=last)
                .filter(|k| (from + gap * 0.6..from + gap * 1.45).contains(&way.along[*k]))
                .filter(|k| end - way.along[*k] > gap * 0.55)
                .min_by(|a, b| badness(*a).total_cmp(&badness(*b)))
                .or_else(|| {
                    (0..last)
                        .find(|k| way.along[*k] >= from + gap && end - way.along[*k] > gap * 0.55)
                });
            match next {
                Some(next) => chosen.push(next),
                None => break,
            }
        }
        chosen.push(last);
        self.merge_stops_by_place(places, way, chosen)
    }

    /// Merges consecutive stops at one place, which would repeat its name.
    fn merge_stops_by_place(
        &self,
        places: &mut PlaceRegistry<'_>,
        way: &SurfaceLinePath,
        chosen: Vec<usize>,
    ) -> Vec<usize> {
        let graph = &self.geography.graph;
        let mut seen = Vec::new();
        let last = chosen.len() - 1;
        let mut retained: Vec<usize> = Vec::new();
        let terminus = self.find_or_add_place_of_stop(places, way, chosen[last]);
        for (i, k) in chosen.into_iter().enumerate() {
            let node = way.nodes[k];
            let station = places.find_place_near(graph.nodes[node as usize], STATION_REACH);
            if let Some(station) = station.filter(|s| places.place_by_number(*s).is_station) {
                places.attach_crossing_to_place(node, station);
            }
            let place = self.find_or_add_place_of_stop(places, way, k);
            let is_repeated = seen.contains(&place) || (place == terminus && i != last);
            if i == last || !is_repeated {
                seen.push(place);
                retained.push(k);
            }
        }
        retained
    }

    fn find_or_add_place_of_stop(
        &self,
        places: &mut PlaceRegistry<'_>,
        way: &SurfaceLinePath,
        k: usize,
    ) -> u32 {
        let edge = way.edges[k.min(way.edges.len() - 1)];
        places.find_or_add_place_at_crossing(
            way.nodes[k],
            self.geography.graph.edges[edge as usize].street,
        )
    }

    fn build_route_direction(
        &self,
        places: &mut PlaceRegistry<'_>,
        way: &SurfaceLinePath,
        stops: &[usize],
    ) -> RouteDirection {
        let length = way.line.total_length();
        let mut calls: Vec<PatternCall> = Vec::new();
        for k in stops {
            let node = way.nodes[*k];
            let (key, along) = match way.edges.get(*k) {
                Some(edge) => {
                    let room = way.along[k + 1] - way.along[*k];
                    (
                        StopIdentity::Kerb { node, edge: *edge },
                        way.along[*k] + BEHIND_CROSSING.min(room / 2.0),
                    )
                }
                None => (
                    StopIdentity::LineEnd { node, edge: way.edges[way.edges.len() - 1] },
                    length - 6.0,
                ),
            };
            let (point, heading): (PlanePoint, PlanePoint) = way.line.point_and_direction_at(along);
            let place = self.find_or_add_place_of_stop(places, way, *k);
            let stop =
                places.find_or_add_stop(key, place, point - heading.left_normal() * KERB, heading);
            calls.push(PatternCall { stop, along });
        }
        RouteDirection { line: way.line.clone(), calls }
    }
}

impl SurfaceLinePath {
    fn reversed_path(&self) -> Self {
        let length = self.line.total_length();
        Self {
            edges: self.edges.iter().rev().copied().collect(),
            nodes: self.nodes.iter().rev().copied().collect(),
            line: MeasuredLine::new(self.line.points().iter().rev().copied().collect()),
            along: self.along.iter().rev().map(|d| length - d).collect(),
        }
    }
}

fn reversed_stops(stops: &[usize], way: &SurfaceLinePath) -> Vec<usize> {
    stops.iter().rev().map(|k| way.nodes.len() - 1 - k).collect()
}
