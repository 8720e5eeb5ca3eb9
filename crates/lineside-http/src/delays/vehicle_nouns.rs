//! The riders' words for vehicles: tram, bus, train.

use lineside_formats::gtfs::Timetable;
use lineside_model::RouteMode;

/// A noun in singular and plural.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VehicleNoun {
    /// As in "Is my train late?".
    pub one: &'static str,
    /// As on a badge.
    pub many: &'static str,
}

/// The noun for any mode.
const ANY: VehicleNoun = VehicleNoun { one: "trip", many: "trips" };

impl VehicleNoun {
    /// Returns the noun for all of these kinds, or [`ANY`] if they differ. Without trips, the lines of the timetable
    /// decide.
    pub fn for_optional_route_types(
        kinds: impl Iterator<Item = Option<u16>>,
        timetable: Option<&Timetable>,
    ) -> Self {
        let mut nouns = kinds.map(|kind| kind.map_or(ANY, Self::for_route_type));
        let Some(first) = nouns.next() else {
            let routes = timetable.into_iter().flat_map(Timetable::routes);
            let mut nouns = routes.map(|route| Self::for_route_type(route.kind));
            return nouns.next().filter(|first| nouns.all(|noun| noun == *first)).unwrap_or(ANY);
        };
        if nouns.all(|noun| noun == first) { first } else { ANY }
    }

    /// Returns the noun for vehicles of these `route_type`s, or [`ANY`] if they differ.
    pub fn for_route_types(route_types: impl Iterator<Item = u16>) -> Self {
        Self::for_optional_route_types(route_types.map(Some), None)
    }

    fn for_route_type(kind: u16) -> Self {
        match RouteMode::from_route_type(kind) {
            RouteMode::Tram => Self { one: "tram", many: "trams" },
            // A subway's vehicle is a train in every city; a "metro" is not.
            RouteMode::Metro | RouteMode::Train => Self { one: "train", many: "trains" },
            RouteMode::Bus => Self { one: "bus", many: "buses" },
            RouteMode::Ferry => Self { one: "ferry", many: "ferries" },
            RouteMode::Cable | RouteMode::Other => ANY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noun_matches_all_kinds_or_is_generic() {
        let noun_for = |kinds: &[u16]| {
            VehicleNoun::for_optional_route_types(kinds.iter().map(|kind| Some(*kind)), None)
        };
        assert_eq!(noun_for(&[3, 700, 3]).many, "buses");
        assert_eq!(noun_for(&[2, 109]).one, "train");
        assert_eq!(noun_for(&[1, 401]).many, "trains");
        assert_eq!(noun_for(&[2, 3]).many, "trips");
        assert_eq!(noun_for(&[]).many, "trips");
        assert_eq!(noun_for(&[7]).many, "trips");
        assert_eq!(VehicleNoun::for_optional_route_types([None].into_iter(), None), ANY);
    }
}
