//! An index of the ids and locations in the files that were already read.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::field::RecordIdKind;
use crate::gtfs::haversine_distance_m;

/// The largest number of points that are retained to compute the middle of a system.
const POINTS_MAX: usize = 10_000;

/// The distance from the middle, in meters, beyond which a point cannot belong to the system: more than nearly any
/// country is wide.
pub(super) const FAR_M: f64 = 2_000_000.0;

/// The facts about a station that its status is checked against.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StationFacts {
    pub(super) capacity: Option<i64>,
    /// True if more vehicles than the capacity can be present: vehicles may be parked around the station, or staff
    /// valet them.
    pub(super) is_open: bool,
}

/// The ids, references and locations of a system.
#[derive(Debug, Default)]
pub(super) struct IdsAndLocationsIndex {
    ids: BTreeMap<RecordIdKind, HashSet<String>>,
    /// True if the current file is shared with another language.
    pub(super) is_shared: bool,
    /// The kinds of ids that are referenced although their file is missing. The value is true if a file of the
    /// language's own refers to them.
    pub(super) referenced: BTreeMap<RecordIdKind, bool>,
    pub(super) stations: HashMap<String, StationFacts>,
    /// The ids of vehicle types with a motor.
    pub(super) motors: HashSet<String>,
    /// The platforms of the apps in `rental_uris`. The value is true if a file of the language's own has them.
    pub(super) platforms: BTreeMap<&'static str, bool>,
    /// The platforms of the apps that the system declares; `None` until `system_information` was read.
    pub(super) programs: Option<BTreeSet<String>>,
    points: Vec<(f64, f64)>,
}

impl IdsAndLocationsIndex {
    /// Records that the file of a kind of ids was read, even if it has none.
    pub(super) fn mark_id_file_read(&mut self, kind: RecordIdKind) {
        self.ids.entry(kind).or_default();
    }

    /// Returns true if the file of a kind of ids was read.
    pub(super) fn was_id_file_read(&self, kind: RecordIdKind) -> bool {
        self.ids.contains_key(&kind)
    }

    /// Adds an id. Returns false if the id already exists.
    pub(super) fn add_record_id(&mut self, kind: RecordIdKind, id: &str) -> bool {
        self.ids.entry(kind).or_default().insert(id.to_owned())
    }

    /// Returns true if an id exists, or if its file was not read.
    pub(super) fn may_record_id_exist(&mut self, kind: RecordIdKind, id: &str) -> bool {
        match self.ids.get(&kind) {
            Some(ids) => ids.contains(id),
            None => {
                *self.referenced.entry(kind).or_default() |= !self.is_shared;
                true
            }
        }
    }

    /// Returns the stations without a status, in order.
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

    pub(super) fn add_location(&mut self, lat: f64, lon: f64) {
        if self.points.len() < POINTS_MAX {
            self.points.push((lat, lon));
        }
    }

    /// Returns the middle of the system so far: the median of the latitudes and of the longitudes. Returns `None` if
    /// too little is known.
    pub(super) fn median_location(&self) -> Option<(f64, f64)> {
        /// The fewest points that have a middle.
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
        // If most points are far away, the location of the system is unknown.
        (near.count() > self.points.len() / 2).then_some(middle)
    }
}
