//! Finds names for quays and stop places without their own: those of assigned stop points, labels, or those of each
//! other.

use std::collections::HashMap;

use super::{RecordIndex, find_record_by_id, first_non_empty};
use crate::{
    gtfs::TextId,
    netex::record::{Publication, StopPlaceOrQuay},
};

/// Names of quays and stop places by id; objects without any name are absent.
pub(super) struct StopNames {
    of_quays: HashMap<TextId, TextId>,
    of_places: HashMap<TextId, TextId>,
}

impl StopNames {
    pub(super) fn new(publication: &Publication, index: &RecordIndex) -> StopNames {
        let mut names = StopNames { of_quays: HashMap::new(), of_places: HashMap::new() };
        names.add_stop_point_names(publication, index);
        for place in first_stops_by_id(&publication.stop_places, &index.stop_places) {
            if place.name != TextId::EMPTY {
                names.of_places.insert(place.id, place.name);
            }
        }
        for quay in first_stops_by_id(&publication.quays, &index.quays) {
            let place = parent_stop_place(index, quay);
            let station = find_record_by_id(&publication.stop_places, &index.stop_places, place);
            let name_of_station = station.map_or(TextId::EMPTY, |station| station.name);
            let of_point = names.quay_name(quay.id);
            let name = first_non_empty(&[quay.name, name_of_station, of_point, quay.label]);
            if name != TextId::EMPTY {
                names.of_quays.insert(quay.id, name);
                if place != TextId::EMPTY {
                    names.of_places.entry(place).or_insert(name);
                }
            }
        }
        // Another quay of the place may have named it later.
        for quay in &publication.quays {
            let name = names.stop_place_name(parent_stop_place(index, quay));
            if name != TextId::EMPTY {
                names.of_quays.entry(quay.id).or_insert(name);
            }
        }
        names
    }

    /// Adds the names of stop points to the places to which they are assigned.
    fn add_stop_point_names(&mut self, publication: &Publication, index: &RecordIndex) {
        let points = super::index_by_id(&publication.stop_points, |point| point.id);
        for assignment in &publication.stop_assignments {
            let point = find_record_by_id(&publication.stop_points, &points, assignment.stop_point);
            let Some(point) = point.filter(|point| point.name != TextId::EMPTY) else { continue };
            if index.quays.contains_key(&assignment.quay) {
                self.of_quays.entry(assignment.quay).or_insert(point.name);
            }
            if index.stop_places.contains_key(&assignment.stop_place) {
                self.of_places.entry(assignment.stop_place).or_insert(point.name);
            }
        }
    }

    /// Returns the name of a quay; empty if it has none.
    pub(super) fn quay_name(&self, quay: TextId) -> TextId {
        self.of_quays.get(&quay).copied().unwrap_or_default()
    }

    /// Returns the name of a stop place; empty if it has none.
    pub(super) fn stop_place_name(&self, place: TextId) -> TextId {
        self.of_places.get(&place).copied().unwrap_or_default()
    }
}

/// Returns the records that are the first with their id.
fn first_stops_by_id<'p>(
    places: &'p [StopPlaceOrQuay],
    index: &HashMap<TextId, u32>,
) -> impl Iterator<Item = &'p StopPlaceOrQuay> {
    let numbered = (0..).zip(places);
    numbered.filter(|(number, it)| index.get(&it.id) == Some(number)).map(|(_, it)| it)
}

/// Returns the stop place of a quay; empty if it has none.
pub(super) fn parent_stop_place(index: &RecordIndex, quay: &StopPlaceOrQuay) -> TextId {
    index.place_of_quay.get(&quay.id).copied().unwrap_or_default()
}
