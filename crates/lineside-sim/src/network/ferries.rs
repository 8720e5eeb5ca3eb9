//! Ferries: the shortest routes over open water, away from the shore.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::places::{PlaceRegistry, StopIdentity};
use super::{PatternCall, RouteAttributes, RouteDirection, TransitNetwork, TransportMode, plan};
use crate::geography::Geography;
use crate::geography::plane::{
    MeasuredLine, PlanePoint, point_from_xy, round_corners, simplify_line,
};
use crate::geography::raster::GroundCoverRaster;

/// The cell size of the chart for searching routes, in metres.
const CELL: f64 = 40.0;
/// The chart's centre and half its size, in metres: the bay and the river up to the last landing.
const CHART: (PlanePoint, PlanePoint) =
    (point_from_xy(200.0, -3_000.0), point_from_xy(12_500.0, 9_500.0));
/// The distance from the shore that ferries prefer, in metres.
const OFF_SHORE: f64 = 130.0;
/// The distance of a berth from the shore, in metres.
const BERTH: f64 = 22.0;

pub(super) fn add_ferry_routes(
    network: &mut TransitNetwork,
    places: &mut PlaceRegistry<'_>,
    geography: &Geography,
) {
    let chart = WaterCostGrid::new(&geography.terrain.raster);
    for (number, color, piers) in plan::FERRY_LINES {
        let berths: Vec<(u32, PlanePoint)> = piers
            .iter()
            .map(|pier| {
                let (name, wanted) = plan::PIERS[*pier];
                let point = find_ferry_berth(&geography.terrain.raster, wanted);
                (places.find_or_add_named_place(name, point), point)
            })
            .collect();
        let Some((line, calls)) = chart.route_through_berths(&berths) else { continue };
        let plan = RouteAttributes {
            id: number.to_owned(),
            short_name: number.to_owned(),
            color: color.to_owned(),
            mode: TransportMode::Ferry,
            bus_kind: None,
            limited: false,
        };
        let total = line.total_length();
        let back = MeasuredLine::new(line.points().iter().rev().copied().collect());
        let runs = [
            (line, calls.clone()),
            (back, calls.into_iter().rev().map(|(p, d)| (p, total - d)).collect()),
        ]
        .map(|(line, calls): (MeasuredLine, Vec<(u32, f64)>)| RouteDirection {
            calls: calls
                .into_iter()
                .map(|(place, along)| {
                    let (point, heading) = line.point_and_direction_at(along);
                    PatternCall {
                        stop: places.find_or_add_stop(
                            StopIdentity::Pier { place },
                            place,
                            point,
                            heading,
                        ),
                        along,
                    }
                })
                .collect(),
            line,
        });
        network.add_route(plan, runs);
    }
}

/// Returns the nearest water next to the shore.
fn find_ferry_berth(raster: &GroundCoverRaster, wanted: PlanePoint) -> PlanePoint {
    let fits = |p: PlanePoint| {
        let shore = raster.shore_distance(p);
        (-BERTH * 2.2..-BERTH).contains(&shore)
    };
    raster.find_accepted_point_near(wanted, fits).unwrap_or(wanted)
}

/// The water and its cost, in squares.
struct WaterCostGrid {
    width: usize,
    height: usize,
    /// The cost of each square; 0 is land.
    cost: Vec<u32>,
}

impl WaterCostGrid {
    fn new(raster: &GroundCoverRaster) -> Self {
        let (width, height) =
            ((CHART.1.x * 2.0 / CELL) as usize, (CHART.1.y * 2.0 / CELL) as usize);
        let mut chart = Self { width, height, cost: Vec::new() };
        chart.cost = (0..width * height)
            .map(|i| {
                let depth = -raster.shore_distance(chart.cell_center(i));
                if depth < BERTH * 0.7 {
                    0
                } else {
                    100 + ((OFF_SHORE - depth).max(0.0) * 3.0) as u32
                }
            })
            .collect();
        chart
    }

    fn cell_center(&self, cell: usize) -> PlanePoint {
        let (column, row) = (cell % self.width, cell / self.width);
        CHART.0 - CHART.1 + point_from_xy((column as f64 + 0.5) * CELL, (row as f64 + 0.5) * CELL)
    }

    fn cell_at(&self, p: PlanePoint) -> usize {
        let local = (p - CHART.0 + CHART.1) * (1.0 / CELL);
        let (column, row) = (local.x.max(0.0) as usize, local.y.max(0.0) as usize);
        row.min(self.height - 1) * self.width + column.min(self.width - 1)
    }

    /// Returns the line through all berths, and the distance of each berth along it.
    fn route_through_berths(
        &self,
        berths: &[(u32, PlanePoint)],
    ) -> Option<(MeasuredLine, Vec<(u32, f64)>)> {
        let mut points: Vec<PlanePoint> = vec![berths[0].1];
        let mut marks = vec![(berths[0].0, berths[0].1)];
        for pair in berths.windows(2) {
            let way = self.find_water_path(pair[0].1, pair[1].1)?;
            let eased = round_corners(&simplify_line(&way, 55.0), 3);
            points.extend(eased.into_iter().skip(1));
            marks.push(pair[1]);
        }
        let line = MeasuredLine::new(points);
        let mut from = 0.0;
        let calls = marks
            .into_iter()
            .map(|(place, point)| {
                // A line may pass the same water twice, so each berth is searched for after the previous one.
                let rest = MeasuredLine::new(line.slice_between(from, line.total_length()));
                from += rest.nearest_position_and_distance(point).0;
                (place, from)
            })
            .collect();
        Some((line, calls))
    }

    /// Returns the cheapest path over water.
    fn find_water_path(&self, from: PlanePoint, to: PlanePoint) -> Option<Vec<PlanePoint>> {
        let (start, goal) = (self.cell_at(from), self.cell_at(to));
        let mut cost = vec![u32::MAX; self.cost.len()];
        let mut predecessors = vec![usize::MAX; self.cost.len()];
        let mut open = BinaryHeap::from([(Reverse(0), start)]);
        cost[start] = 0;
        while let Some((Reverse(reached), cell)) = open.pop() {
            if cell == goal {
                break;
            }
            if reached > cost[cell] {
                continue;
            }
            for (next, length) in self.neighbour_cells(cell) {
                // The centre of a berth's square may be on land.
                let price = if next == goal { 100 } else { self.cost[next] };
                let total = reached + price * length / 10;
                if price > 0 && total < cost[next] {
                    cost[next] = total;
                    predecessors[next] = cell;
                    open.push((Reverse(total), next));
                }
            }
        }
        if cost[goal] == u32::MAX {
            return None;
        }
        let mut way = vec![to];
        let mut cell = predecessors[goal];
        while cell != start && cell != usize::MAX {
            way.push(self.cell_center(cell));
            cell = predecessors[cell];
        }
        way.push(from);
        way.reverse();
        Some(way)
    }

    fn neighbour_cells(&self, cell: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let (column, row) = ((cell % self.width) as isize, (cell / self.width) as isize);
        let offsets = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)];
        offsets.into_iter().filter_map(move |(dx, dy)| {
            let (x, y) = (column + dx, row + dy);
            let inside =
                (0..self.width as isize).contains(&x) && (0..self.height as isize).contains(&y);
            inside.then(|| {
                (y as usize * self.width + x as usize, if dx == 0 || dy == 0 { 10 } else { 14 })
            })
        })
    }
}
