//! The streets as a graph for routing buses and trams.
//!
//! Crossings are nodes, and the pieces of street between them are edges. Side streets are left out: no line uses them,
//! and the graph stays small enough to be searched for each line.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::grid::SpatialGrid;
use super::plane::{MeasuredLine, PlanePoint, closest_on_segment, intersect_segments};
use super::streets::Street;
use crate::street_class::StreetClass;

/// Two crossings closer than this are one, in metres.
const SNAP: f64 = 9.0;
/// The end of a street joins another street within this distance, in metres.
const JOIN: f64 = 14.0;
/// The cost of a sharp turn, in metres.
const TURN_COST: f64 = 140.0;

#[derive(Debug)]
pub(crate) struct StreetEdge {
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) street: u32,
    pub(crate) class: StreetClass,
    /// The line from a to b.
    pub(crate) line: MeasuredLine,
}

#[derive(Debug)]
pub(crate) struct StreetGraph {
    pub(crate) nodes: Vec<PlanePoint>,
    pub(crate) edges: Vec<StreetEdge>,
    edges_at_node: Vec<Vec<u32>>,
}

/// A piece of street in the spatial grid.
#[derive(Clone, Copy)]
struct StreetSegment {
    street: u32,
    at: u32,
    a: PlanePoint,
    b: PlanePoint,
}

impl StreetGraph {
    pub(crate) fn build_street_graph(streets: &[Street]) -> Self {
        let used: Vec<(u32, MeasuredLine)> = streets
            .iter()
            .enumerate()
            .filter(|(_, s)| !matches!(s.class, StreetClass::Motorway | StreetClass::Street))
            .map(|(i, s)| (i as u32, MeasuredLine::new(s.points.clone())))
            .collect();
        let cuts = street_crossing_distances(&used);
        let mut graph = Self { nodes: Vec::new(), edges: Vec::new(), edges_at_node: Vec::new() };
        let mut near: SpatialGrid<u32> = SpatialGrid::new(50.0);
        for ((street, line), cuts) in used.iter().zip(cuts) {
            let nodes: Vec<(f64, u32)> = cuts
                .into_iter()
                .map(|d| (d, graph.find_or_add_node(&mut near, line.point_at(d))))
                .collect();
            for pair in nodes.windows(2) {
                if pair[0].1 != pair[1].1 {
                    graph.add_edge_between(
                        pair[0].1,
                        pair[1].1,
                        *street,
                        streets[*street as usize].class,
                        line,
                        pair[0].0,
                        pair[1].0,
                    );
                }
            }
        }
        graph.keep_largest_component();
        graph
    }

    fn find_or_add_node(&mut self, near: &mut SpatialGrid<u32>, p: PlanePoint) -> u32 {
        if let Some(node) =
            near.items_near(p, SNAP).find(|n| self.nodes[*n as usize].distance_to(p) < SNAP)
        {
            return node;
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(p);
        self.edges_at_node.push(Vec::new());
        near.insert(p, node);
        node
    }

    #[expect(clippy::too_many_arguments, reason = "an edge needs all these parameters")]
    fn add_edge_between(
        &mut self,
        a: u32,
        b: u32,
        street: u32,
        class: StreetClass,
        line: &MeasuredLine,
        from: f64,
        to: f64,
    ) {
        let mut points = line.slice_between(from, to);
        let last = points.len() - 1;
        points[0] = self.nodes[a as usize];
        points[last] = self.nodes[b as usize];
        let edge = self.edges.len() as u32;
        self.edges.push(StreetEdge { a, b, street, class, line: MeasuredLine::new(points) });
        self.edges_at_node[a as usize].push(edge);
        self.edges_at_node[b as usize].push(edge);
    }

    /// Removes the edges of streets that buses cannot reach, such as those on islets.
    fn keep_largest_component(&mut self) {
        let mut part = vec![u32::MAX; self.nodes.len()];
        let mut sizes: Vec<usize> = Vec::new();
        for start in 0..self.nodes.len() {
            if part[start] != u32::MAX {
                continue;
            }
            let id = sizes.len() as u32;
            let mut open = vec![start];
            part[start] = id;
            let mut size = 0;
            while let Some(node) = open.pop() {
                size += 1;
                for edge in &self.edges_at_node[node] {
                    let other = self.other_end(*edge, node as u32) as usize;
                    if part[other] == u32::MAX {
                        part[other] = id;
                        open.push(other);
                    }
                }
            }
            sizes.push(size);
        }
        let largest = (0..sizes.len()).max_by_key(|i| sizes[*i]).unwrap_or(0) as u32;
        for (node, edges) in self.edges_at_node.iter_mut().enumerate() {
            if part[node] != largest {
                edges.clear();
            }
        }
    }

    fn other_end(&self, edge: u32, node: u32) -> u32 {
        let edge = &self.edges[edge as usize];
        if edge.a == node { edge.b } else { edge.a }
    }

    /// Returns the edges that meet at a node.
    pub(crate) fn edges_at(&self, node: u32) -> &[u32] {
        &self.edges_at_node[node as usize]
    }

    /// Returns the nearest node that can be reached from everywhere, with a preference for wide streets.
    pub(crate) fn nearest_reachable_node(&self, p: PlanePoint) -> u32 {
        let badness = |node: usize| {
            let best = self.edges_at_node[node].iter().map(|e| self.edges[*e as usize].class).min();
            let detour = match best {
                Some(StreetClass::Main) => 0.0,
                Some(StreetClass::Avenue) => 60.0,
                Some(_) => 160.0,
                None => f64::MAX,
            };
            self.nodes[node].distance_to(p) + detour
        };
        (0..self.nodes.len()).min_by(|a, b| badness(*a).total_cmp(&badness(*b))).unwrap_or(0) as u32
    }

    /// Returns the direction in which an edge leaves a node.
    pub(crate) fn leaving_direction(&self, edge: u32, node: u32) -> PlanePoint {
        let edge = &self.edges[edge as usize];
        let reach = edge.line.total_length().min(40.0);
        if edge.a == node {
            (edge.line.point_at(reach) - self.nodes[node as usize]).unit_vector()
        } else {
            (edge.line.point_at(edge.line.total_length() - reach) - self.nodes[node as usize])
                .unit_vector()
        }
    }

    /// Returns the cheapest path between two nodes as edges. `weight` is the cost per metre of an edge; turns cost
    /// extra.
    ///
    /// Searches over directed edges, so that turns can be distinguished from going straight. O(E log E).
    pub(crate) fn find_cheapest_path(
        &self,
        from: u32,
        to: u32,
        weight: impl Fn(u32) -> f64,
    ) -> Option<Vec<u32>> {
        // The state is 2·edge, plus 1 in the direction from b to a.
        let mut cost = vec![f64::MAX; self.edges.len() * 2];
        let mut predecessors = vec![u32::MAX; self.edges.len() * 2];
        let mut open = BinaryHeap::new();
        let price = |edge: u32| self.edges[edge as usize].line.total_length() * weight(edge);
        for edge in &self.edges_at_node[from as usize] {
            let state = self.directed_edge_state(*edge, from);
            cost[state as usize] = price(*edge);
            open.push((Reverse(cost[state as usize] as u64), state));
        }
        while let Some((Reverse(reached), state)) = open.pop() {
            let (edge, node) = (state / 2, self.state_end_node(state));
            if reached > cost[state as usize] as u64 {
                continue;
            }
            if node == to {
                return Some(self.retrace_path(state, &predecessors));
            }
            let arriving = self.leaving_direction(edge, node) * -1.0;
            for next in &self.edges_at_node[node as usize] {
                if *next == edge {
                    continue;
                }
                let turn =
                    (1.0 - arriving.dot_product(self.leaving_direction(*next, node))).max(0.0);
                let total = cost[state as usize] + price(*next) + turn * TURN_COST;
                let next = self.directed_edge_state(*next, node);
                if total < cost[next as usize] {
                    cost[next as usize] = total;
                    predecessors[next as usize] = state;
                    open.push((Reverse(total as u64), next));
                }
            }
        }
        None
    }

    fn directed_edge_state(&self, edge: u32, from: u32) -> u32 {
        edge * 2 + u32::from(self.edges[edge as usize].a != from)
    }

    fn state_end_node(&self, state: u32) -> u32 {
        let edge = &self.edges[(state / 2) as usize];
        if state.is_multiple_of(2) { edge.b } else { edge.a }
    }

    fn retrace_path(&self, mut state: u32, predecessors: &[u32]) -> Vec<u32> {
        let mut way = vec![state / 2];
        while predecessors[state as usize] != u32::MAX {
            state = predecessors[state as usize];
            way.push(state / 2);
        }
        way.reverse();
        way
    }

    /// Returns the nodes along a path, from its start to its end.
    pub(crate) fn nodes_along_path(&self, from: u32, way: &[u32]) -> Vec<u32> {
        let mut nodes = vec![from];
        for edge in way {
            nodes.push(self.other_end(*edge, nodes[nodes.len() - 1]));
        }
        nodes
    }

    /// Returns the line along a path that starts at a node.
    pub(crate) fn line_along_path(&self, from: u32, way: &[u32]) -> MeasuredLine {
        let mut points = vec![self.nodes[from as usize]];
        let mut node = from;
        for id in way {
            let edge = &self.edges[*id as usize];
            if edge.a == node {
                points.extend(edge.line.points().iter().skip(1));
            } else {
                points.extend(edge.line.points().iter().rev().skip(1));
            }
            node = self.other_end(*id, node);
        }
        MeasuredLine::new(points)
    }
}

/// Returns for each street the distances at which it is cut: its ends and its crossings.
fn street_crossing_distances(used: &[(u32, MeasuredLine)]) -> Vec<Vec<f64>> {
    let mut cells: SpatialGrid<StreetSegment> = SpatialGrid::new(60.0);
    for (street, (_, line)) in used.iter().enumerate() {
        for (i, pair) in line.points().windows(2).enumerate() {
            let piece =
                StreetSegment { street: street as u32, at: i as u32, a: pair[0], b: pair[1] };
            cells.insert_segment(pair[0], pair[1], piece);
        }
    }
    let mut cuts: Vec<Vec<f64>> =
        used.iter().map(|(_, line)| vec![0.0, line.total_length()]).collect();
    for (street, (_, line)) in used.iter().enumerate() {
        for (i, pair) in line.points().windows(2).enumerate() {
            let reach = pair[0].distance_to(pair[1]) / 2.0;
            for other in cells.items_near(pair[0].point_towards(pair[1], 0.5), reach) {
                if (other.street as usize, other.at as usize) <= (street, i + 1) {
                    continue;
                }
                if let Some((share, _)) = intersect_segments(pair[0], pair[1], other.a, other.b) {
                    let place = pair[0].point_towards(pair[1], share);
                    cuts[street].push(line.distances_along()[i] + share * (reach * 2.0));
                    let theirs = &used[other.street as usize].1;
                    cuts[other.street as usize].push(
                        theirs.distances_along()[other.at as usize] + other.a.distance_to(place),
                    );
                }
            }
        }
        for end in [line.points()[0], line.points()[line.points().len() - 1]] {
            for other in cells.items_near(end, JOIN).filter(|other| other.street as usize != street)
            {
                let (foot, _) = closest_on_segment(end, other.a, other.b);
                if foot.distance_to(end) < JOIN {
                    let theirs = &used[other.street as usize].1;
                    cuts[other.street as usize].push(
                        theirs.distances_along()[other.at as usize] + other.a.distance_to(foot),
                    );
                }
            }
        }
    }
    for list in &mut cuts {
        list.sort_by(f64::total_cmp);
        // Cuts at (nearly) one place are merged; the ends stay.
        list.dedup_by(|b, a| *b - *a < SNAP);
    }
    cuts
}
