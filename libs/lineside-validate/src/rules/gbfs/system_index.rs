//! What is known of a system from the files that were read before.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::field::RecordIdKind;
use crate::gtfs::haversine_distance_m;

/// Points of a system that are kept to find its middle.
const POINTS_MAX: usize = 10_000;

/// How far from its middle nothing of a system is, in meters: further than nearly any country is wide.
pub(super) const FAR_M: f64 = 2_000_000.0;

/// A station, as far as its state is held against it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StationEntry {
    pub(super) capacity: Option<i64>,
    /// Whether more vehicles than its capacity can be there: they lie around it, or somebody takes them.
    pub(super) is_open: bool,
}

/// What is known.
#[derive(Debug, Default)]
pub(super) struct SystemIndex {
    ids: BTreeMap<RecordIdKind, HashSet<String>>,
    /// Whether the file that is read is one of those that another language has, too.
    pub(super) is_shared: bool,
    /// What was named although its file is not there, and whether by a file of the language's own.
    pub(super) named: BTreeMap<RecordIdKind, bool>,
    pub(super) stations: HashMap<String, StationEntry>,
    /// The types of vehicles that have a motor.
    pub(super) motors: HashSet<String>,
    /// The platforms of programs that vehicles or stations are rented with, and whether a file of the language's own has them.
    pub(super) platforms: BTreeMap<&'static str, bool>,
    /// Programs that the system names, by platform; `None` before its information was read.
    pub(super) programs: Option<BTreeSet<String>>,
    points: Vec<(f64, f64)>,
}

impl SystemIndex {
    /// Says that a file was read, with ids or without.
    pub(super) fn mark_file_read(&mut self, of: RecordIdKind) {
        self.ids.entry(of).or_default();
    }

    /// Whether a file with such ids was read.
    pub(super) fn has_file_read(&self, of: RecordIdKind) -> bool {
        self.ids.contains_key(&of)
    }

    /// Takes an id in; false if it is there already.
    pub(super) fn add_id(&mut self, of: RecordIdKind, id: &str) -> bool {
        self.ids.entry(of).or_default().insert(id.to_owned())
    }

    /// Whether an id is one, or nobody can tell as its file is not there.
    pub(super) fn may_have_id(&mut self, of: RecordIdKind, id: &str) -> bool {
        match self.ids.get(&of) {
            Some(ids) => ids.contains(id),
            None => {
                *self.named.entry(of).or_default() |= !self.is_shared;
                true
            }
        }
    }

    /// The stations without a state, in order.
    pub(super) fn stations_without_status(&self) -> Vec<&str> {
        let (Some(stations), Some(states)) =
            (self.ids.get(&RecordIdKind::Station), self.ids.get(&RecordIdKind::StationState))
        else {
            return Vec::new();
        };
        let mut missing: Vec<&str> =
            stations.iter().filter(|id| !states.contains(*id)).map(String::as_str).collect();
        missing.sort_unstable();
        missing
    }

    /// Takes a place in.
    pub(super) fn add_point(&mut self, lat: f64, lon: f64) {
        if self.points.len() < POINTS_MAX {
            self.points.push((lat, lon));
        }
    }

    /// The middle of the system so far: the median of what lies where; `None` where little is known.
    pub(super) fn median_point(&self) -> Option<(f64, f64)> {
        /// Fewer points have no middle.
        const POINTS_MIN: usize = 3;
        if self.points.len() < POINTS_MIN {
            return None;
        }
        let median = |of: fn(&(f64, f64)) -> f64| {
            let mut numbers: Vec<f64> = self.points.iter().map(of).collect();
            numbers.sort_by(f64::total_cmp);
            numbers.get(numbers.len() / 2).copied()
        };
        let middle = (median(|point| point.0)?, median(|point| point.1)?);
        let near =
            self.points.iter().filter(|point| haversine_distance_m(middle, **point) <= FAR_M);
        // Where most of it is far away, nobody knows where it is.
        (near.count() > self.points.len() / 2).then_some(middle)
    }
}
