//! Describes the contents of an input: the counts of routes, trips, stops and so on.

use lineside_validate::rules::gtfs::IncompleteFile;

use super::format_with_thin_spaces;
use super::unread_files::has_unreadable_rows;

/// The blocks that trips belong to.
const BLOCKS: &str = "blocks";

/// The kinds of records in their order of output.
const KINDS: [&str; 13] = [
    "agencies",
    "routes",
    "trips",
    BLOCKS,
    "stops",
    "shapes",
    "trip updates",
    "journeys",
    "vehicles",
    "visits",
    "situations",
    "alerts",
    "files",
];

/// Returns a text such as `2 stops` for each kind that is present. Where rows could not be read the text says
/// `readable`, because those rows are not counted. Kinds may have a name of this list or of a report, such as
/// `WatchedStopDelays` and `trip_updates`.
pub fn describe_record_counts<'a>(
    counts: impl IntoIterator<Item = (&'a str, u64)>,
    unread: &[IncompleteFile],
) -> Vec<String> {
    let named = counts.into_iter().map(|(kind, n)| (kind.to_lowercase().replace('_', " "), n));
    let mut counts: Vec<(String, u64)> = named.collect();
    let position_of =
        |kind: &str| KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len());
    counts.sort_by_key(|(kind, _)| position_of(kind));
    let texts = counts.iter().filter_map(|(kind, n)| {
        let is_part = has_unreadable_rows(kind, unread);
        let readable = if is_part { "readable " } else { "" };
        // Most schedules have no blocks, so zero readable blocks would mean nothing.
        let is_shown = *n > 0 || (is_part && kind != BLOCKS);
        is_shown.then(|| {
            format!("{} {readable}{}", format_with_thin_spaces(*n), plural_or_singular(kind, *n))
        })
    });
    texts.collect()
}

/// Returns a plural word, or its singular if `n` is 1.
pub(super) fn plural_or_singular(several: &str, n: u64) -> &str {
    match several {
        several if n != 1 => several,
        "agencies" => "agency",
        several => several.strip_suffix('s').unwrap_or(several),
    }
}

#[cfg(test)]
mod tests {
    use lineside_validate::rules::gtfs::MissingFilePart;

    use super::*;

    #[test]
    fn contents_are_described_equally_for_all_names_of_a_kind() {
        let describe = |counts: &[(&str, u64)]| describe_record_counts(counts.iter().copied(), &[]);
        let schedule = ["1 agency", "2 routes", "1 block", "2 stops"];
        assert_eq!(
            describe(&[("agencies", 1), ("routes", 2), ("blocks", 1), ("stops", 2)]),
            schedule
        );
        let report = [("Agencies", 1), ("Blocks", 1), ("Routes", 2), ("Shapes", 0), ("Stops", 2)];
        assert_eq!(describe(&report), schedule);
        assert_eq!(describe(&[("alerts", 1), ("trip_updates", 1)]), ["1 trip update", "1 alert"]);
        assert_eq!(
            describe(&[("of others", 2), ("files", 7_000)]),
            ["7\u{202f}000 files", "2 of others"]
        );
    }

    #[test]
    fn kinds_with_skipped_rows_are_described_as_readable_even_at_zero() {
        let unread = |filename: &str| {
            [IncompleteFile {
                filename: filename.to_owned(),
                lack: MissingFilePart::Rows,
                rows: 1,
                rules: 1,
            }]
        };
        let describe = |file: &str| {
            describe_record_counts([("Routes", 0), ("Trips", 1), ("Blocks", 1)], &unread(file))
        };
        assert_eq!(describe("routes.txt"), ["0 readable routes", "1 trip", "1 block"]);
        assert_eq!(describe("trips.txt"), ["1 readable trip", "1 readable block"]);
        assert_eq!(describe_record_counts([("Blocks", 0)], &unread("trips.txt")), [""; 0]);
    }
}
