//! What of a schedule rules did not see, in words: whoever mends it finds more then, and should not wonder.

use lineside_validate::rules::gtfs::{Lack, Unread};

use super::grouped;

/// What stands above the list of such files.
pub(crate) const UNREAD: &str = "Some of the data could not be checked. Fix this and validate again; there may be more findings then:";

/// The file of a folder of reports that has the list.
pub(crate) const UNREAD_FILE: &str = "unread.json";

/// One such file, in a sentence without a full stop.
pub(crate) fn unread_words(file: &Unread) -> String {
    let name = &file.filename;
    let rows = rows_of(file.rows);
    let what = match file.lack {
        Lack::Rows if file.rows == 1 => format!("1 unreadable row in {name} was skipped"),
        Lack::Rows => format!("{} unreadable rows in {name} were skipped", grouped(file.rows)),
        Lack::Rest if file.rows == 0 => {
            format!("{name} could not be read to its end; the rest was skipped")
        }
        Lack::Rest => format!(
            "{name} could not be read to its end; the rest and {rows} before it were skipped"
        ),
        Lack::Header => format!("the header of {name} is wrong, so its rows were skipped"),
        Lack::Encoding => format!("{name} is in UTF-16 and was skipped: save it as UTF-8"),
        Lack::Zones => format!("unreadable zones of {name} were skipped"),
        Lack::Content => format!("{name} is empty"),
        Lack::File => format!("{name} is missing"),
    };
    match file.rules {
        0 => what,
        1 => format!("{what}, so 1 rule could not run"),
        rules => format!("{what}, so {rules} rules could not run"),
    }
}

fn rows_of(rows: u64) -> String {
    if rows == 1 { "1 row".to_owned() } else { format!("{} rows", grouped(rows)) }
}

/// Whether there are more of these things than are counted: those in rows that could not be read.
pub(super) fn is_partly_read(kind: &str, unread: &[Unread]) -> bool {
    let file = match kind {
        "agencies" => "agency.txt",
        "routes" => "routes.txt",
        "trips" | "blocks" => "trips.txt",
        "stops" => "stops.txt",
        "shapes" => "shapes.txt",
        _ => return false,
    };
    let lacks_rows = |it: &Unread| !matches!(it.lack, Lack::Content | Lack::File);
    unread.iter().any(|it| it.filename == file && lacks_rows(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lack_has_its_words() {
        let words = |lack, rows, rules| {
            unread_words(&Unread { filename: "agency.txt".to_owned(), lack, rows, rules })
        };
        assert_eq!(
            words(Lack::Rows, 1, 12),
            "1 unreadable row in agency.txt was skipped, so 12 rules could not run"
        );
        assert!(words(Lack::Rows, 2, 1).ends_with("were skipped, so 1 rule could not run"));
        assert!(words(Lack::Rest, 2, 0).ends_with("the rest and 2 rows before it were skipped"));
        assert!(words(Lack::Encoding, 0, 1).contains("save it as UTF-8"));
        assert!(
            words(Lack::Zones, 0, 3).starts_with("unreadable zones of agency.txt were skipped")
        );
        assert_eq!(words(Lack::File, 0, 0), "agency.txt is missing");
    }

    #[test]
    fn only_what_is_in_rows_that_were_left_out_is_counted_in_part() {
        let unread = |lack| [Unread { filename: "routes.txt".to_owned(), lack, rows: 1, rules: 1 }];
        assert!(is_partly_read("routes", &unread(Lack::Rows)));
        assert!(!is_partly_read("trips", &unread(Lack::Rows)));
        assert!(!is_partly_read("routes", &unread(Lack::File)));
    }
}
