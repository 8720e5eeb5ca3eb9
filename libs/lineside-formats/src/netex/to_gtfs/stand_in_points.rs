//! Where stops are put in a GTFS zip of which no file of the publication says where they are.
//!
//! Software that reads GTFS refuses a stop without coordinates. A station is put where its first stop is, any other stop
//! where the nearest stop before or after it on a pattern or journey is.

use std::collections::{HashMap, HashSet};

use super::stops::Stop;
use crate::{
    gtfs::Text,
    netex::record::{Degrees, Publication},
};

/// Places by `stop_id`, of stops that have none themselves.
pub(super) struct StandInPoints(HashMap<Text, Degrees>);

impl StandInPoints {
    /// Finds places for the `rows` without one. `stop_of` has the `stop_id` of each stop point.
    pub(super) fn new(
        publication: &Publication,
        stop_of: &HashMap<Text, Text>,
        rows: &[Stop],
    ) -> StandInPoints {
        let without = rows.iter().filter(|row| row.point.is_none());
        let mut missing: HashSet<Text> = without.map(|row| row.id).collect();
        let mut found = HashMap::new();
        if missing.is_empty() {
            return StandInPoints(found);
        }
        let located = rows.iter().filter_map(|row| Some((row.id, row.point?)));
        let located: HashMap<Text, Degrees> = located.collect();
        for row in rows {
            if let Some(point) = row.point
                && missing.remove(&row.parent)
            {
                found.insert(row.parent, point);
            }
        }
        let stop_at = |stop_point: Text| stop_of.get(&stop_point).copied().unwrap_or_default();
        let mut take_sequence = |stops: &[Text]| {
            if missing.is_empty() || !stops.iter().any(|stop| missing.contains(stop)) {
                return;
            }
            let nearest = nearest_points(stops, &located);
            for (stop, nearest) in stops.iter().zip(nearest) {
                if let Some(point) = nearest
                    && missing.remove(stop)
                {
                    found.insert(*stop, point);
                }
            }
        };
        let mut stops = Vec::new();
        for pattern in &publication.patterns {
            let points = pattern.points.start as usize..pattern.points.end as usize;
            let points = publication.pattern_points.get(points).unwrap_or_default();
            stops.clear();
            stops.extend(points.iter().map(|point| stop_at(point.stop_point)));
            take_sequence(&stops);
        }
        for journey in &publication.journeys {
            let times = journey.times.start as usize..journey.times.end as usize;
            let times = publication.passing_times.get(times).unwrap_or_default();
            stops.clear();
            stops.extend(times.iter().map(|time| stop_at(time.stop_point)));
            take_sequence(&stops);
        }
        StandInPoints(found)
    }

    /// The place that stands in for that of a stop; `None` where nothing near it has one.
    pub(super) fn find(&self, stop: Text) -> Option<Degrees> {
        self.0.get(&stop).copied()
    }
}

/// For each stop of a sequence the place of the nearest located stop in it, before or after it.
fn nearest_points(stops: &[Text], located: &HashMap<Text, Degrees>) -> Vec<Option<Degrees>> {
    let mut nearest: Vec<Option<(usize, Degrees)>> = vec![None; stops.len()];
    let forward = (0..stops.len()).map(|at| (at, at.checked_sub(1)));
    let backward = (0..stops.len()).rev().map(|at| (at, Some(at + 1)));
    for (at, neighbour) in forward.chain(backward) {
        let known = neighbour.and_then(|it| *nearest.get(it)?);
        let through = known.map(|(distance, point)| (distance + 1, point));
        let own = located.get(&stops[at]).map(|point| (0, *point));
        let candidates = [own, nearest[at], through];
        nearest[at] = candidates.into_iter().flatten().min_by_key(|(distance, _)| *distance);
    }
    nearest.into_iter().map(|it| it.map(|(_, point)| point)).collect()
}
