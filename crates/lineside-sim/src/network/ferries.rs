//! Ferries: the shortest ways over open water that keep off the shore.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::places::{Places, StopKey};
use super::{Call, Mode, Network, Plan, Run, plan};
use crate::geography::Geography;
use crate::geography::plane::{Line, Point, at, round_corners, simplify};
use crate::geography::raster::Raster;

/// The side of a square of the chart that ways are searched on, metres.
const CELL: f64 = 40.0;
/// The chart's middle and half its size, metres: the bay and the river up to the last landing.
const CHART: (Point, Point) = (at(200.0, -3_000.0), at(12_500.0, 9_500.0));
/// Ferries keep this far off the shore where they can, metres.
const OFF_SHORE: f64 = 130.0;
/// A berth is this far out, metres.
const BERTH: f64 = 22.0;

pub(super) fn lay(network: &mut Network, places: &mut Places<'_>, geography: &Geography) {
    let chart = Chart::new(&geography.terrain.raster);
    for (number, color, piers) in plan::FERRY_LINES {
        let berths: Vec<(u32, Point)> = piers
            .iter()
            .map(|pier| {
                let (name, wanted) = plan::PIERS[*pier];
                let point = berth(&geography.terrain.raster, wanted);
                (places.named(name, point), point)
            })
            .collect();
        let Some((line, calls)) = chart.route(&berths) else { continue };
        let plan = Plan {
            id: number.to_owned(),
            short_name: number.to_owned(),
            color: color.to_owned(),
            mode: Mode::Ferry,
            bus_kind: None,
            limited: false,
        };
        let total = line.length();
        let back = Line::new(line.points().iter().rev().copied().collect());
        let runs = [
            (line, calls.clone()),
            (back, calls.into_iter().rev().map(|(p, d)| (p, total - d)).collect()),
        ]
        .map(|(line, calls): (Line, Vec<(u32, f64)>)| Run {
            calls: calls
                .into_iter()
                .map(|(place, along)| {
                    let (point, heading) = line.place_at(along);
                    Call {
                        stop: places.stop(StopKey::Pier { place }, place, point, heading),
                        along,
                    }
                })
                .collect(),
            line,
        });
        network.add(plan, runs);
    }
}

/// The nearest water beside a shore.
fn berth(raster: &Raster, wanted: Point) -> Point {
    let fits = |p: Point| {
        let shore = raster.shore(p);
        (-BERTH * 2.2..-BERTH).contains(&shore)
    };
    raster.find_near(wanted, fits).unwrap_or(wanted)
}

/// Water and its cost, in squares.
struct Chart {
    width: usize,
    height: usize,
    /// Cost per square; 0 is land.
    cost: Vec<u32>,
}

impl Chart {
    fn new(raster: &Raster) -> Self {
        let (width, height) =
            ((CHART.1.x * 2.0 / CELL) as usize, (CHART.1.y * 2.0 / CELL) as usize);
        let mut chart = Self { width, height, cost: Vec::new() };
        chart.cost = (0..width * height)
            .map(|i| {
                let depth = -raster.shore(chart.point(i));
                if depth < BERTH * 0.7 {
                    0
                } else {
                    100 + ((OFF_SHORE - depth).max(0.0) * 3.0) as u32
                }
            })
            .collect();
        chart
    }

    fn point(&self, cell: usize) -> Point {
        let (column, row) = (cell % self.width, cell / self.width);
        CHART.0 - CHART.1 + at((column as f64 + 0.5) * CELL, (row as f64 + 0.5) * CELL)
    }

    fn cell(&self, p: Point) -> usize {
        let local = (p - CHART.0 + CHART.1) * (1.0 / CELL);
        let (column, row) = (local.x.max(0.0) as usize, local.y.max(0.0) as usize);
        row.min(self.height - 1) * self.width + column.min(self.width - 1)
    }

    /// The line through all berths and where along it they are.
    fn route(&self, berths: &[(u32, Point)]) -> Option<(Line, Vec<(u32, f64)>)> {
        let mut points: Vec<Point> = vec![berths[0].1];
        let mut marks = vec![(berths[0].0, berths[0].1)];
        for pair in berths.windows(2) {
            let way = self.way(pair[0].1, pair[1].1)?;
            let eased = round_corners(&simplify(&way, 55.0), 3);
            points.extend(eased.into_iter().skip(1));
            marks.push(pair[1]);
        }
        let line = Line::new(points);
        let mut from = 0.0;
        let calls = marks
            .into_iter()
            .map(|(place, point)| {
                // A line may pass the same water twice: each berth is looked for beyond the one before.
                let rest = Line::new(line.slice(from, line.length()));
                from += rest.nearest(point).0;
                (place, from)
            })
            .collect();
        Some((line, calls))
    }

    /// The cheapest way over water.
    fn way(&self, from: Point, to: Point) -> Option<Vec<Point>> {
        let (start, goal) = (self.cell(from), self.cell(to));
        let mut cost = vec![u32::MAX; self.cost.len()];
        let mut before = vec![usize::MAX; self.cost.len()];
        let mut open = BinaryHeap::from([(Reverse(0), start)]);
        cost[start] = 0;
        while let Some((Reverse(reached), cell)) = open.pop() {
            if cell == goal {
                break;
            }
            if reached > cost[cell] {
                continue;
            }
            for (next, length) in self.neighbours(cell) {
                // A berth may lie in a square whose middle is dry.
                let price = if next == goal { 100 } else { self.cost[next] };
                let total = reached + price * length / 10;
                if price > 0 && total < cost[next] {
                    cost[next] = total;
                    before[next] = cell;
                    open.push((Reverse(total), next));
                }
            }
        }
        if cost[goal] == u32::MAX {
            return None;
        }
        let mut way = vec![to];
        let mut cell = before[goal];
        while cell != start && cell != usize::MAX {
            way.push(self.point(cell));
            cell = before[cell];
        }
        way.push(from);
        way.reverse();
        Some(way)
    }

    fn neighbours(&self, cell: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let (column, row) = ((cell % self.width) as isize, (cell / self.width) as isize);
        let around = [(-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)];
        around.into_iter().filter_map(move |(dx, dy)| {
            let (x, y) = (column + dx, row + dy);
            let inside =
                (0..self.width as isize).contains(&x) && (0..self.height as isize).contains(&y);
            inside.then(|| {
                (y as usize * self.width + x as usize, if dx == 0 || dy == 0 { 10 } else { 14 })
            })
        })
    }
}
