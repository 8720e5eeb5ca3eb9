//! Modes of transport, by GTFS `route_type`.

use std::ops::RangeInclusive;

/// A mode of transport as riders know it, in the order of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteMode {
    /// Trams and light rail.
    Tram,
    /// Metro and underground.
    Metro,
    Train,
    /// Buses, coaches and trolleybuses.
    Bus,
    /// Ferries and ships.
    Ferry,
    /// Cable cars, gondolas and funiculars.
    Cable,
    Other,
}

/// The basic and extended `route_type`s of each mode.
const ROUTE_TYPES: &[(RouteMode, &[RangeInclusive<u16>])] = &[
    (RouteMode::Tram, &[0..=0, 900..=999]),
    (RouteMode::Metro, &[1..=1, 400..=499, 500..=699]),
    (RouteMode::Train, &[2..=2, 100..=199]),
    (RouteMode::Bus, &[3..=3, 11..=11, 200..=299, 700..=899]),
    (RouteMode::Ferry, &[4..=4, 1000..=1099, 1200..=1299]),
    (RouteMode::Cable, &[5..=7, 1300..=1499]),
];

impl RouteMode {
    /// Returns the mode of a `route_type`.
    pub fn from_route_type(route_type: u16) -> RouteMode {
        let found = ROUTE_TYPES
            .iter()
            .find(|(_, types)| types.iter().any(|range| range.contains(&route_type)));
        found.map_or(RouteMode::Other, |(mode, _)| *mode)
    }

    /// Returns the mode that a folded search word names, in several languages.
    pub fn from_search_word(mode_name: &str) -> Option<RouteMode> {
        Some(match mode_name {
            "tram" | "trams" | "tramway" | "streetcar" | "strassenbahn" | "trikk" => {
                RouteMode::Tram
            }
            "metro" | "subway" | "underground" | "ubahn" | "tbane" => RouteMode::Metro,
            "train" | "trains" | "rail" | "zug" | "sbahn" | "tog" => RouteMode::Train,
            "bus" | "buses" | "coach" | "buss" => RouteMode::Bus,
            "ferry" | "ferries" | "boat" | "faehre" | "ferge" => RouteMode::Ferry,
            "cable" | "gondola" | "funicular" => RouteMode::Cable,
            _ => return None,
        })
    }

    /// Returns the mode of a letter before a line's number, as in T1.
    pub fn from_line_letter(letter: char) -> Option<RouteMode> {
        Some(match letter {
            't' => RouteMode::Tram,
            'm' | 'u' => RouteMode::Metro,
            's' | 'r' => RouteMode::Train,
            'b' => RouteMode::Bus,
            'f' => RouteMode::Ferry,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_and_extended_route_types_have_a_mode() {
        for (route_type, mode) in [
            (0, RouteMode::Tram),
            (900, RouteMode::Tram),
            (1, RouteMode::Metro),
            (109, RouteMode::Train),
            (11, RouteMode::Bus),
            (704, RouteMode::Bus),
            (1200, RouteMode::Ferry),
            (7, RouteMode::Cable),
            (1700, RouteMode::Other),
        ] {
            assert_eq!(RouteMode::from_route_type(route_type), mode, "{route_type}");
        }
    }
}
