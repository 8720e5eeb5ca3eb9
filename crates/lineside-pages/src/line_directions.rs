//! The heading of one direction of a line: the last stops of its trips.

use std::collections::BTreeSet;

use maud::{Markup, html};

/// The last stops that a heading names.
const ENDS_MAX: usize = 3;

/// The last stops of a direction's trips.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DirectionTermini<'a> {
    /// The first of them: that of the shown stops, then those of the trips.
    names: Vec<&'a str>,
    /// The number of further ones.
    n_more: usize,
}

impl<'a> DirectionTermini<'a> {
    /// Collects the ends of a direction. `last_stop` is the last of the shown stops, `live` are the headsigns of the
    /// trips under way. Without any of them, the `scheduled` headsigns of the timetable count. Some timetables have one
    /// headsign for both directions, so that of the first stop is not an end.
    pub(super) fn new(
        (first_stop, last_stop): (&str, &'a str),
        live: impl Iterator<Item = &'a str>,
        scheduled: impl Iterator<Item = &'a str>,
    ) -> Self {
        let live: BTreeSet<&str> = live.collect();
        let scheduled = scheduled.filter(|_| live.is_empty());
        let mut names: Vec<&str> = Vec::new();
        for name in [last_stop].into_iter().chain(live.iter().copied()).chain(scheduled) {
            let is_same = |known: &&str| is_same_stop_name(known, name);
            let is_start = !first_stop.is_empty()
                && is_same_stop_name(first_stop, name)
                && !is_same_stop_name(last_stop, name);
            if !name.is_empty() && !is_start && !names.iter().any(is_same) {
                names.push(name);
            }
        }
        let n_more = names.len().saturating_sub(ENDS_MAX);
        names.truncate(ENDS_MAX);
        Self { names, n_more }
    }

    /// Returns the ends beyond the last of the shown stops, to which its trips continue.
    pub(super) fn termini_beyond_stop(&self, last_stop: &str) -> Vec<&'a str> {
        let names = self.names.iter().copied();
        names.filter(|name| !is_same_stop_name(last_stop, name)).collect()
    }

    pub(super) fn heading(&self) -> String {
        let names = self.names.join(", ");
        match self.n_more {
            0 => format!("Towards {names}"),
            n => format!("Towards {names} and {n} more"),
        }
    }
}

/// Returns true if two names are of one stop: a headsign is often a short form of the stop's name.
fn is_same_stop_name(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Renders a note on the `n` trips of the timetable on variants that are not shown; a line may have hundreds.
pub(super) fn render_omitted_variants_note(n: usize, shows_none: bool) -> Markup {
    html! {
        @if n > 0 && shows_none {
            p.soft { "The trips of this line have too many stops to be shown here." }
        } @else if n > 0 {
            p.soft.small {
                "The most frequent routings are shown. " (n) @if n == 1 { " trip of the timetable takes" } @else { " trips of the timetable take" } " a different one."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends<'a>(
        last_stop: &'a str,
        live: &[&'a str],
        scheduled: &[&'a str],
    ) -> (Vec<&'a str>, usize) {
        let ends = DirectionTermini::new(
            ("First", last_stop),
            live.iter().copied(),
            scheduled.iter().copied(),
        );
        (ends.names, ends.n_more)
    }

    #[test]
    fn a_direction_has_the_ends_of_its_trips() {
        let live = ["Inwood-207 St", "168 St", "Inwood-207 St"];
        let expect = (vec!["168 St", "Inwood-207 St"], 0);
        assert_eq!(ends("168 St", &live, &["168 St", "Euclid Av"]), expect);
        assert_eq!(ends("168 St", &[], &["168 St", "Euclid Av"]).0, ["168 St", "Euclid Av"]);
        assert_eq!(ends("A", &["B", "C", "D", "E"], &[]), (vec!["A", "B", "C"], 2));
    }

    #[test]
    fn trips_to_other_ends_continue_after_the_last_shown_stop() {
        let live = ["Inwood-207 St", "168 St"].into_iter();
        let ends = DirectionTermini::new(("First", "168 St"), live, std::iter::empty());
        assert_eq!(ends.termini_beyond_stop("168 St"), ["Inwood-207 St"]);
        let ends = DirectionTermini::new(("First", "A"), ["A"].into_iter(), std::iter::empty());
        assert!(ends.termini_beyond_stop("A").is_empty());
    }

    #[test]
    fn the_first_stop_is_no_end_of_a_direction() {
        assert_eq!(ends("Airport", &[], &["First", "Airport"]).0, ["Airport"]);
        assert_eq!(
            ends("First", &[], &["First"]).0,
            ["First"],
            "a circular line ends at its start"
        );
    }

    #[test]
    fn a_short_form_of_a_name_is_no_second_end() {
        let expect = (vec!["Drammen stasjon"], 0);
        assert_eq!(ends("Drammen stasjon", &["Drammen"], &["", "Drammen"]), expect);
    }
}
