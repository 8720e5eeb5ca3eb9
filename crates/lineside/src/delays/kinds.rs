//! What riders call what they wait for.

use lineside_formats::gtfs::Timetable;

/// A word for one of them, and for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Noun {
    /// As in "Is my train late?".
    pub(crate) one: &'static str,
    /// As on a badge.
    pub(crate) many: &'static str,
}

/// What stands for anything.
const ANY: Noun = Noun { one: "train", many: "trips" };

/// By `route_type`, the basic ones and the extended ones.
const NOUNS: [(&[(u16, u16)], Noun); 5] = [
    (&[(2, 2), (100, 199)], Noun { one: "train", many: "trains" }),
    (&[(0, 0), (900, 999)], Noun { one: "tram", many: "trams" }),
    (&[(1, 1), (400, 499)], Noun { one: "metro", many: "metros" }),
    (&[(3, 3), (11, 11), (200, 299), (700, 899)], Noun { one: "bus", many: "buses" }),
    (&[(4, 4), (1000, 1099), (1200, 1299)], Noun { one: "ferry", many: "ferries" }),
];

impl Noun {
    /// The word for all of these; where they differ, one for any. Where there is no trip, the lines of the timetable say.
    pub(crate) fn of(
        kinds: impl Iterator<Item = Option<u16>>,
        timetable: Option<&Timetable>,
    ) -> Self {
        let mut nouns = kinds.map(|kind| kind.map_or(ANY, Self::of_kind));
        let Some(first) = nouns.next() else {
            let routes = timetable.into_iter().flat_map(Timetable::routes);
            let mut nouns = routes.map(|route| Self::of_kind(route.kind));
            return nouns.next().filter(|first| nouns.all(|noun| noun == *first)).unwrap_or(ANY);
        };
        if nouns.all(|noun| noun == first) { first } else { ANY }
    }

    fn of_kind(kind: u16) -> Self {
        let is_one =
            |ranges: &&[(u16, u16)]| ranges.iter().any(|&(from, to)| (from..=to).contains(&kind));
        NOUNS.iter().find(|(ranges, _)| is_one(ranges)).map_or(ANY, |(_, noun)| *noun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_fits_all_or_stands_for_any() {
        let of = |kinds: &[u16]| Noun::of(kinds.iter().map(|kind| Some(*kind)), None);
        assert_eq!(of(&[3, 700, 3]).many, "buses");
        assert_eq!(of(&[2, 109]).one, "train");
        assert_eq!(of(&[2, 3]).many, "trips");
        assert_eq!(of(&[]).many, "trips");
        assert_eq!(of(&[7]).many, "trips");
        assert_eq!(Noun::of([None].into_iter(), None), ANY);
    }
}
