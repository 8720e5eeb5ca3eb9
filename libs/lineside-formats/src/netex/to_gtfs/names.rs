//! What quays and stop places are called, where they do not say it themselves: as the stop points that are there, as
//! their labels, as each other.

use std::collections::HashMap;

use super::{Index, find, first_given};
use crate::{
    gtfs::Text,
    netex::record::{Place, Publication},
};

/// Names by the ids of what has them; without those of stops that nothing names.
pub(super) struct Names {
    of_quays: HashMap<Text, Text>,
    of_places: HashMap<Text, Text>,
}

impl Names {
    pub(super) fn new(publication: &Publication, index: &Index) -> Names {
        let mut names = Names { of_quays: HashMap::new(), of_places: HashMap::new() };
        names.take_points(publication, index);
        for place in firsts(&publication.stop_places, &index.stop_places) {
            if place.name != Text::EMPTY {
                names.of_places.insert(place.id, place.name);
            }
        }
        for quay in firsts(&publication.quays, &index.quays) {
            let place = place_of(index, quay);
            let station = find(&publication.stop_places, &index.stop_places, place);
            let name_of_station = station.map_or(Text::EMPTY, |station| station.name);
            let of_point = names.of_quay(quay.id);
            let name = first_given(&[quay.name, name_of_station, of_point, quay.label]);
            if name != Text::EMPTY {
                names.of_quays.insert(quay.id, name);
                if place != Text::EMPTY {
                    names.of_places.entry(place).or_insert(name);
                }
            }
        }
        // The other quays of such a place may have said it later.
        for quay in &publication.quays {
            let name = names.of_place(place_of(index, quay));
            if name != Text::EMPTY {
                names.of_quays.entry(quay.id).or_insert(name);
            }
        }
        names
    }

    /// Takes the names of stop points for where they are assigned to.
    fn take_points(&mut self, publication: &Publication, index: &Index) {
        let points = super::by_id(&publication.stop_points, |point| point.id);
        for assignment in &publication.stop_assignments {
            let point = find(&publication.stop_points, &points, assignment.stop_point);
            let Some(point) = point.filter(|point| point.name != Text::EMPTY) else { continue };
            if index.quays.contains_key(&assignment.quay) {
                self.of_quays.entry(assignment.quay).or_insert(point.name);
            }
            if index.stop_places.contains_key(&assignment.stop_place) {
                self.of_places.entry(assignment.stop_place).or_insert(point.name);
            }
        }
    }

    /// The name of a quay; empty where it has none.
    pub(super) fn of_quay(&self, quay: Text) -> Text {
        self.of_quays.get(&quay).copied().unwrap_or_default()
    }

    /// The name of a stop place; empty where it has none.
    pub(super) fn of_place(&self, place: Text) -> Text {
        self.of_places.get(&place).copied().unwrap_or_default()
    }
}

/// Those that are the first of their id.
fn firsts<'p>(places: &'p [Place], index: &HashMap<Text, u32>) -> impl Iterator<Item = &'p Place> {
    let numbered = (0..).zip(places);
    numbered.filter(|(number, it)| index.get(&it.id) == Some(number)).map(|(_, it)| it)
}

/// The stop place that a quay is in; empty where none is said.
pub(super) fn place_of(index: &Index, quay: &Place) -> Text {
    index.place_of_quay.get(&quay.id).copied().unwrap_or_default()
}
