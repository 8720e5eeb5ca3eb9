//! Describes the parts of a schedule that no rule saw. Once they are fixed, a validation may find more.

use lineside_validate::rules::gtfs::{IncompleteFile, MissingFilePart};

use super::format_with_thin_spaces;

/// The text above the list of such files.
pub const UNREAD: &str = "Some data could not be checked. Fix these files and validate again; there may be more findings:";

/// The file of a report folder with that list.
pub const UNREAD_FILE: &str = "unread.json";

/// Describes one such file, in a sentence without a full stop.
pub fn describe_unread_file(file: &IncompleteFile) -> String {
    let name = &file.filename;
    let rows = format_row_count(file.rows);
    let what = match file.lack {
        MissingFilePart::Rows if file.rows == 1 => {
            format!("1 unreadable row in {name} was skipped")
        }
        MissingFilePart::Rows => {
            format!("{} unreadable rows in {name} were skipped", format_with_thin_spaces(file.rows))
        }
        MissingFilePart::Rest if file.rows == 0 => {
            format!("{name} could not be read to its end; the rest was skipped")
        }
        MissingFilePart::Rest => format!(
            "{name} could not be read to its end; the rest and {rows} before it were skipped"
        ),
        MissingFilePart::Header => {
            format!("the header of {name} is wrong, so its rows were skipped")
        }
        MissingFilePart::Encoding => {
            format!("{name} is in UTF-16 and was skipped: save it as UTF-8")
        }
        MissingFilePart::Zones => format!("unreadable zones of {name} were skipped"),
        MissingFilePart::Content => format!("{name} is empty"),
        MissingFilePart::File => format!("{name} is missing"),
    };
    match file.rules {
        0 => what,
        1 => format!("{what}, so 1 rule could not run"),
        rules => format!("{what}, so {rules} rules could not run"),
    }
}

fn format_row_count(rows: u64) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{} rows", format_with_thin_spaces(rows)) }
}

/// Returns true if a file has unreadable rows, so that the count of its records is too low.
pub(super) fn has_unreadable_rows(kind: &str, unread: &[IncompleteFile]) -> bool {
    let file = match kind {
        "agencies" => "agency.txt",
        "routes" => "routes.txt",
        "trips" | "blocks" => "trips.txt",
        "stops" => "stops.txt",
        "shapes" => "shapes.txt",
        _ => return false,
    };
    let lacks_rows =
        |it: &IncompleteFile| !matches!(it.lack, MissingFilePart::Content | MissingFilePart::File);
    unread.iter().any(|it| it.filename == file && lacks_rows(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_missing_part_has_a_description() {
        let describe = |incompleteness, rows, rules| {
            describe_unread_file(&IncompleteFile {
                filename: "agency.txt".to_owned(),
                lack: incompleteness,
                rows,
                rules,
            })
        };
        assert_eq!(
            describe(MissingFilePart::Rows, 1, 12),
            "1 unreadable row in agency.txt was skipped, so 12 rules could not run"
        );
        assert!(
            describe(MissingFilePart::Rows, 2, 1)
                .ends_with("were skipped, so 1 rule could not run")
        );
        assert!(
            describe(MissingFilePart::Rest, 2, 0)
                .ends_with("the rest and 2 rows before it were skipped")
        );
        assert!(describe(MissingFilePart::Encoding, 0, 1).contains("save it as UTF-8"));
        assert!(
            describe(MissingFilePart::Zones, 0, 3)
                .starts_with("unreadable zones of agency.txt were skipped")
        );
        assert_eq!(describe(MissingFilePart::File, 0, 0), "agency.txt is missing");
    }

    #[test]
    fn only_kinds_with_skipped_rows_are_partly_read() {
        let unread = |incompleteness| {
            [IncompleteFile {
                filename: "routes.txt".to_owned(),
                lack: incompleteness,
                rows: 1,
                rules: 1,
            }]
        };
        assert!(has_unreadable_rows("routes", &unread(MissingFilePart::Rows)));
        assert!(!has_unreadable_rows("trips", &unread(MissingFilePart::Rows)));
        assert!(!has_unreadable_rows("routes", &unread(MissingFilePart::File)));
    }
}
