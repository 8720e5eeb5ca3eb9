//! Railways and the metro: smooth lines through their stations, independent of streets.

use std::collections::HashMap;

use super::places::{PlaceRegistry, StopIdentity};
use super::plan::{self, RailLine, RailPoint};
use super::{PatternCall, RouteAttributes, RouteDirection, TransitNetwork, TransportMode};
use crate::geography::Geography;
use crate::geography::plane::{MeasuredLine, PlanePoint, smooth_spline};

/// The distance of stations from the main street of their district, in metres.
const SET_BACK: f64 = 140.0;
/// Half the distance between the two tracks, in metres.
const TRACK_SIDE: f64 = 4.0;
/// The approximate distance between metro stations, in metres.
const METRO_GAP: f64 = 1_050.0;
/// Two metro stations closer than this are one, in metres.
const METRO_JOIN: f64 = 420.0;

/// A station, or a bend of the track.
struct TrackWaypoint {
    point: PlanePoint,
    place: Option<u32>,
}

pub(super) fn add_railway_routes(
    network: &mut TransitNetwork,
    places: &mut PlaceRegistry<'_>,
    geography: &Geography,
) {
    let mut stations: HashMap<usize, PlanePoint> = HashMap::new();
    for line in &plan::RAIL_LINES {
        let waypoints = rail_waypoints(line, places, geography, &mut stations);
        let plan = RouteAttributes {
            id: line.number.to_owned(),
            short_name: line.number.to_owned(),
            color: line.color.to_owned(),
            mode: TransportMode::Rail,
            bus_kind: None,
            limited: line.limited,
        };
        let runs = build_both_directions(
            places,
            &waypoints,
            60.0,
            |places, place, run: &StationApproach| {
                if places.place_by_number(place).name
                    == geography.districts[plan::MAIN_STATION].name
                {
                    // The main station has a track for each line and direction.
                    let line =
                        plan::RAIL_LINES.iter().position(|l| l.number == line.number).unwrap_or(0);
                    format!("{}", line * 2 + run.direction + 1)
                } else if run.heading.compass_bearing() < 180.0 {
                    "1".to_owned()
                } else {
                    "2".to_owned()
                }
            },
        );
        network.add_route(plan, runs);
    }
}

fn rail_waypoints(
    line: &RailLine,
    places: &mut PlaceRegistry<'_>,
    geography: &Geography,
    stations: &mut HashMap<usize, PlanePoint>,
) -> Vec<TrackWaypoint> {
    let inbound: Vec<RailPoint> =
        line.inbound.iter().flat_map(|part| part.iter().copied()).collect();
    let outbound = line.outbound.iter().flat_map(|part| part.iter().copied());
    let all: Vec<RailPoint> = inbound
        .into_iter()
        .rev()
        .chain([RailPoint::District(plan::MAIN_STATION)])
        .chain(outbound)
        .collect();
    let rough: Vec<PlanePoint> = all
        .iter()
        .map(|via| match via {
            RailPoint::District(d) => geography.districts[*d].position,
            RailPoint::Halt(_, p) | RailPoint::Track(p) => *p,
        })
        .collect();
    let count = all.len();
    let mut waypoints = Vec::new();
    for (i, via) in all.iter().enumerate() {
        let terminus = i == 0 || i + 1 == count;
        let waypoint = match via {
            RailPoint::Track(p) => TrackWaypoint { point: *p, place: None },
            RailPoint::Halt(_, p) if line.limited && !terminus => {
                TrackWaypoint { point: *p, place: None }
            }
            RailPoint::Halt(name, p) => {
                TrackWaypoint { point: *p, place: Some(places.find_or_add_named_place(name, *p)) }
            }
            RailPoint::District(d) => {
                let point = *stations.entry(*d).or_insert_with(|| {
                    let along =
                        (rough[(i + 1).min(count - 1)] - rough[i.saturating_sub(1)]).unit_vector();
                    offset_from_tracks(geography, rough[i], along)
                });
                let calls = terminus || !line.limited || CALLS_OF_LIMITED.contains(d);
                let place = calls
                    .then(|| places.find_or_add_named_place(geography.districts[*d].name, point));
                TrackWaypoint { point, place }
            }
        };
        waypoints.push(waypoint);
    }
    waypoints
}

/// The districts where limited trains stop.
const CALLS_OF_LIMITED: [usize; 4] = [7, plan::MAIN_STATION, 5, 14];

fn offset_from_tracks(geography: &Geography, p: PlanePoint, along: PlanePoint) -> PlanePoint {
    let raster = &geography.terrain.raster;
    let dry = |p: &PlanePoint| raster.shore_distance(*p) > 40.0;
    [p + along.left_normal() * SET_BACK, p - along.left_normal() * SET_BACK]
        .into_iter()
        .find(dry)
        .unwrap_or(p)
}

pub(super) fn add_metro_routes(
    network: &mut TransitNetwork,
    places: &mut PlaceRegistry<'_>,
    geography: &Geography,
) {
    for (number, color, districts) in plan::METRO_LINES {
        let waypoints = metro_waypoints(districts, places, geography);
        let plan = RouteAttributes {
            id: number.to_owned(),
            short_name: number.to_owned(),
            color: color.to_owned(),
            mode: TransportMode::Metro,
            bus_kind: None,
            limited: false,
        };
        let sign = |_: &PlaceRegistry<'_>, _, run: &StationApproach| {
            format!("{number}-{}", run.direction + 1)
        };
        let runs = build_both_directions(places, &waypoints, 45.0, sign);
        network.add_route(plan, runs);
    }
}

fn metro_waypoints(
    districts: &[usize],
    places: &mut PlaceRegistry<'_>,
    geography: &Geography,
) -> Vec<TrackWaypoint> {
    let graph = &geography.graph;
    let mut waypoints: Vec<TrackWaypoint> = Vec::new();
    for (i, district) in districts.iter().enumerate() {
        let here = geography.districts[*district];
        if i > 0 {
            let previous = geography.districts[districts[i - 1]].position;
            let pieces =
                (previous.distance_to(here.position) / METRO_GAP).round().max(1.0) as usize;
            for k in 1..pieces {
                let wanted = previous.point_towards(here.position, k as f64 / pieces as f64);
                let place = places.find_place_near(wanted, METRO_JOIN).unwrap_or_else(|| {
                    let node = graph.nearest_reachable_node(wanted);
                    let along =
                        graph.edges_at(node).first().map_or(0, |e| graph.edges[*e as usize].street);
                    places.find_or_add_place_at_crossing(node, along)
                });
                let point = places.place_by_number(place).point;
                // Skip a station that is too close to the last one, for example because it was pushed back by the
                // coast.
                if waypoints.last().is_none_or(|last| last.point.distance_to(point) > 500.0)
                    && point.distance_to(here.position) > 450.0
                {
                    waypoints.push(TrackWaypoint { point, place: Some(place) });
                }
            }
        }
        let place = places.find_or_add_named_place(here.name, here.position);
        waypoints.push(TrackWaypoint { point: here.position, place: Some(place) });
    }
    waypoints
}

/// One direction of a line at a station.
struct StationApproach {
    direction: usize,
    heading: PlanePoint,
}

/// Lays both directions of a line; `sign` returns the platform of a run.
fn build_both_directions(
    places: &mut PlaceRegistry<'_>,
    waypoints: &[TrackWaypoint],
    step: f64,
    sign: impl Fn(&PlaceRegistry<'_>, u32, &StationApproach) -> String,
) -> [RouteDirection; 2] {
    let points: Vec<PlanePoint> = waypoints.iter().map(|w| w.point).collect();
    let first = points[0] + (points[0] - points[1]).unit_vector() * 90.0;
    let last = points[points.len() - 1];
    let beyond = last + (last - points[points.len() - 2]).unit_vector() * 90.0;
    // The track extends a little beyond the terminus, so that platforms at the ends are on it.
    let way: Vec<PlanePoint> = [first].into_iter().chain(points).chain([beyond]).collect();
    let line = smooth_spline(&way, false, step);
    [0, 1].map(|direction| {
        let mut points = line.clone();
        let mut stations: Vec<&TrackWaypoint> =
            waypoints.iter().filter(|w| w.place.is_some()).collect();
        if direction == 1 {
            points.reverse();
            stations.reverse();
        }
        let line = MeasuredLine::new(points);
        let mut calls = Vec::new();
        for station in stations {
            let Some(place) = station.place else { continue };
            let (along, _) = line.nearest_position_and_distance(station.point);
            let (point, heading) = line.point_and_direction_at(along);
            let run = StationApproach { direction, heading };
            let key = StopIdentity::Platform { place, sign: sign(places, place, &run) };
            let platform = point - heading.left_normal() * TRACK_SIDE;
            calls.push(PatternCall {
                stop: places.find_or_add_stop(key, place, platform, heading),
                along,
            });
        }
        RouteDirection { line, calls }
    })
}
