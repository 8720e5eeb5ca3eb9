//! Trams and buses: the cheapest ways along the streets between the districts of the plan, with stops at crossings.

use super::places::{Places, StopKey};
use super::plan::{self, BusKind};
use super::{Call, Mode, Network, Plan, Run};
use crate::geography::Geography;
use crate::geography::plan::Character;
use crate::geography::plane::{Line, Point, simplify};
use crate::geography::streets::StreetClass;
use crate::noise;

/// Stops lie this far behind the crossing, metres.
const BEHIND_CROSSING: f64 = 26.0;
/// And this far right of the middle of the street, metres.
const KERB: f64 = 6.5;
/// A street that many lines use is this much dearer for the next one, so that lines spread.
const SPREAD: f64 = 0.16;
/// A crossing this near to a station belongs to it, metres.
const STATION_REACH: f64 = 230.0;

/// A line to be laid.
struct Order {
    plan: Plan,
    /// The crossings it is led through.
    through: Vec<u32>,
    /// How far stops are apart in town, metres.
    gap: f64,
    short_runs: bool,
}

/// Way and crossings of a line.
struct Way {
    edges: Vec<u32>,
    nodes: Vec<u32>,
    line: Line,
    /// Distance of each node along the line.
    along: Vec<f64>,
}

pub(super) fn lay(
    seed: u64,
    network: &mut Network,
    places: &mut Places<'_>,
    geography: &Geography,
    more_buses: usize,
) {
    let hubs: Vec<u32> =
        geography.districts.iter().map(|d| geography.graph.nearest(d.place)).collect();
    for (district, node) in geography.districts.iter().zip(&hubs) {
        let place = places.named(district.name, district.place);
        if places.place(place).point.distance(geography.graph.nodes[*node as usize])
            < STATION_REACH * 1.6
        {
            places.attach(*node, place);
        }
    }
    let mut layer = Layer { geography, used: vec![0.0; geography.graph.edges.len()] };
    let orders = trams(&hubs).chain(buses(seed, geography, &hubs));
    for order in orders.chain(further_buses(seed, geography, &hubs, more_buses)) {
        layer.lay(network, places, order);
    }
}

fn trams(hubs: &[u32]) -> impl Iterator<Item = Order> {
    plan::TRAM_LINES.iter().map(|(number, color, districts)| Order {
        plan: Plan {
            id: format!("T{number}"),
            short_name: (*number).to_owned(),
            color: (*color).to_owned(),
            mode: Mode::Tram,
            bus_kind: None,
            limited: false,
        },
        through: districts.iter().map(|d| hubs[*d]).collect(),
        gap: 460.0,
        short_runs: matches!(*number, "1" | "5"),
    })
}

fn buses(seed: u64, geography: &Geography, hubs: &[u32]) -> impl Iterator<Item = Order> {
    let key = noise::key(seed, "buses");
    plan::BUS_LINES.iter().enumerate().map(move |(i, (number, color, districts, kind))| {
        let direct = districts.iter().map(|d| hubs[*d]).collect();
        let through = match kind {
            BusKind::City => through_the_quarters(noise::mix(key, i as u64), geography, direct),
            BusKind::Shuttle | BusKind::Night | BusKind::Express => direct,
        };
        Order {
            plan: bus_plan(number, color, *kind),
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

/// Leads a bus aside of the main road between two districts, where people live and no tram goes.
fn through_the_quarters(key: u64, geography: &Geography, hubs: Vec<u32>) -> Vec<u32> {
    let graph = &geography.graph;
    let mut through = vec![hubs[0]];
    for (i, pair) in hubs.windows(2).enumerate() {
        let (a, b) = (graph.nodes[pair[0] as usize], graph.nodes[pair[1] as usize]);
        let chance = |n: u64| noise::share(noise::mix(key, i as u64 * 8 + n));
        let aside = (0.14 + 0.2 * chance(1)) * if chance(2) < 0.5 { 1.0 } else { -1.0 };
        let wanted = a.towards(b, 0.4 + 0.2 * chance(3)) + (b - a).left() * aside;
        let lived_in =
            geography.field.density(wanted) > 0.27 && geography.terrain.raster.shore(wanted) > 80.0;
        if a.distance(b) > 1_700.0 && lived_in && chance(4) < 0.75 {
            let nodes = (0..graph.nodes.len() as u32).filter(|n| graph.edges_at(*n).len() >= 3);
            let away = |n: &u32| graph.nodes[*n as usize].distance(wanted);
            through.extend(nodes.min_by(|a, b| away(a).total_cmp(&away(b))));
        }
        through.push(pair[1]);
    }
    through
}

fn bus_plan(number: &str, color: &str, kind: BusKind) -> Plan {
    Plan {
        id: format!("B{number}"),
        short_name: number.to_owned(),
        color: color.to_owned(),
        mode: Mode::Bus,
        bus_kind: Some(kind),
        limited: kind == BusKind::Express,
    }
}

/// Lines between parts of town by chance, numbered from 100.
fn further_buses(
    seed: u64,
    geography: &Geography,
    hubs: &[u32],
    count: usize,
) -> impl Iterator<Item = Order> {
    let mut rng = fastrand::Rng::with_seed(noise::key(seed, "further buses"));
    let town: Vec<u32> = (0..geography.graph.nodes.len() as u32)
        .filter(|n| {
            geography.graph.edges_at(*n).len() >= 3
                && geography.field.density(geography.graph.nodes[*n as usize]) > 0.25
        })
        .collect();
    let inner: Vec<u32> = geography
        .districts
        .iter()
        .zip(hubs)
        .filter(|(d, _)| matches!(d.character, Character::Core | Character::Inner))
        .map(|(_, hub)| *hub)
        .collect();
    (0..count).map(move |i| {
        let number = format!("{}", 100 + i);
        let color = plan::MORE_BUS_COLORS[i % plan::MORE_BUS_COLORS.len()];
        let place = |n: u32| geography.graph.nodes[n as usize];
        let mut pick = |from: &[u32]| from[rng.usize(..from.len())];
        let mut through = vec![pick(&town), pick(&inner), pick(&town)];
        // Lines worth their bus are some kilometres long.
        for _ in 0..12 {
            if place(through[0]).distance(place(through[2])) > 4_000.0 {
                break;
            }
            through[2] = pick(&town);
        }
        Order {
            plan: bus_plan(&number, color, BusKind::City),
            through,
            gap: 420.0,
            short_runs: false,
        }
    })
}

struct Layer<'a> {
    geography: &'a Geography,
    /// How many lines use each edge.
    used: Vec<f64>,
}

impl Layer<'_> {
    fn lay(&mut self, network: &mut Network, places: &mut Places<'_>, order: Order) {
        let Some(way) = self.way(&order) else { return };
        for edge in &way.edges {
            self.used[*edge as usize] += 1.0;
        }
        let stops = self.choose_stops(places, &way, order.gap);
        if stops.len() < 2 {
            return;
        }
        let runs = [
            self.run(places, &way, &stops),
            self.run(places, &way.reversed(), &reversed(&stops, &way)),
        ];
        let calls = runs[0].calls.len();
        let short_runs = order.short_runs && calls > 14;
        network.add(order.plan, runs);
        if short_runs {
            network.add_short_runs(calls / 5, calls * 4 / 5);
        }
    }

    /// Leads a line through its crossings, without running into a blind alley and back.
    fn way(&self, order: &Order) -> Option<Way> {
        let graph = &self.geography.graph;
        let tram = order.plan.mode == Mode::Tram;
        let weight = |edge: u32| {
            let by_class = match graph.edges[edge as usize].class {
                StreetClass::Main => 1.0,
                StreetClass::Avenue => 1.15,
                StreetClass::Collector if tram => 2.4,
                StreetClass::Collector => 1.55,
                _ => 1.9,
            };
            // Trams keep to their tracks and gather; buses spread.
            let spread = if tram { -0.02 } else { SPREAD };
            by_class * (1.0 + spread * self.used[edge as usize].min(8.0))
        };
        let mut edges: Vec<u32> = Vec::new();
        for pair in order.through.windows(2) {
            for edge in graph.way(pair[0], pair[1], weight)? {
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
        let nodes = graph.nodes_of(start, &edges);
        let line = graph.line_of(start, &edges);
        let line = Line::new(simplify(line.points(), 0.8));
        let mut along = Vec::with_capacity(nodes.len());
        let mut total = 0.0;
        along.push(0.0);
        for edge in &edges {
            total += graph.edges[*edge as usize].line.length();
            along.push(total);
        }
        // Simplifying shortens the line by next to nothing; the nodes follow.
        let scale = line.length() / total.max(1.0);
        along.iter_mut().for_each(|d| *d *= scale);
        Some(Way { edges, nodes, line, along })
    }

    /// Which of a way's crossings get a stop: about evenly apart, rather where there is one already.
    fn choose_stops(&self, places: &mut Places<'_>, way: &Way, gap: f64) -> Vec<usize> {
        let graph = &self.geography.graph;
        let last = way.nodes.len() - 1;
        let end = way.along[last];
        let mut chosen = vec![0];
        loop {
            let from = way.along[chosen[chosen.len() - 1]];
            let density = self.geography.field.density(way.line.point_at(from + gap));
            let gap = gap * (1.0 + 1.3 * (0.35 - density).max(0.0) / 0.35);
            if end - from < gap * 1.45 {
                break;
            }
            let badness = |k: usize| {
                let node = way.nodes[k];
                let off = (way.along[k] - from - gap).abs();
                let known = match places.find_at(node) {
                    Some(place) if places.place(place).is_station => 320.0,
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
        self.one_stop_per_place(places, way, chosen)
    }

    /// Two crossings of one place in a row would be the same name twice.
    fn one_stop_per_place(
        &self,
        places: &mut Places<'_>,
        way: &Way,
        chosen: Vec<usize>,
    ) -> Vec<usize> {
        let graph = &self.geography.graph;
        let mut seen = Vec::new();
        let last = chosen.len() - 1;
        let mut kept: Vec<usize> = Vec::new();
        let terminus = self.place_of(places, way, chosen[last]);
        for (i, k) in chosen.into_iter().enumerate() {
            let node = way.nodes[k];
            let station = places.find_near(graph.nodes[node as usize], STATION_REACH);
            if let Some(station) = station.filter(|s| places.place(*s).is_station) {
                places.attach(node, station);
            }
            let place = self.place_of(places, way, k);
            let again = seen.contains(&place) || (place == terminus && i != last);
            if i == last || !again {
                seen.push(place);
                kept.push(k);
            }
        }
        kept
    }

    fn place_of(&self, places: &mut Places<'_>, way: &Way, k: usize) -> u32 {
        let edge = way.edges[k.min(way.edges.len() - 1)];
        places.at_crossing(way.nodes[k], self.geography.graph.edges[edge as usize].street)
    }

    fn run(&self, places: &mut Places<'_>, way: &Way, stops: &[usize]) -> Run {
        let length = way.line.length();
        let mut calls: Vec<Call> = Vec::new();
        for k in stops {
            let node = way.nodes[*k];
            let (key, along) = match way.edges.get(*k) {
                Some(edge) => {
                    let room = way.along[k + 1] - way.along[*k];
                    (
                        StopKey::Kerb { node, edge: *edge },
                        way.along[*k] + BEHIND_CROSSING.min(room / 2.0),
                    )
                }
                None => {
                    (StopKey::LineEnd { node, edge: way.edges[way.edges.len() - 1] }, length - 6.0)
                }
            };
            let (point, heading): (Point, Point) = way.line.place_at(along);
            let place = self.place_of(places, way, *k);
            let stop = places.stop(key, place, point - heading.left() * KERB, heading);
            calls.push(Call { stop, along });
        }
        Run { line: way.line.clone(), calls }
    }
}

impl Way {
    fn reversed(&self) -> Self {
        let length = self.line.length();
        Self {
            edges: self.edges.iter().rev().copied().collect(),
            nodes: self.nodes.iter().rev().copied().collect(),
            line: Line::new(self.line.points().iter().rev().copied().collect()),
            along: self.along.iter().rev().map(|d| length - d).collect(),
        }
    }
}

fn reversed(stops: &[usize], way: &Way) -> Vec<usize> {
    stops.iter().rev().map(|k| way.nodes.len() - 1 - k).collect()
}
