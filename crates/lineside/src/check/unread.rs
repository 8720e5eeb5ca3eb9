//! What of a schedule rules did not see, in words: whoever mends it finds more then, and should not wonder.

use lineside_validate::rules::gtfs::{Lack, Unread};

use super::grouped;

/// What stands above the list of such files.
pub(crate) const UNREAD: &str =
    "Not all of it could be looked at, so there may be more to find once this is mended:";

/// The file of a folder of reports that has the list.
pub(crate) const UNREAD_FILE: &str = "unread.json";

/// One such file, in a sentence without a full stop.
pub(crate) fn unread_words(file: &Unread) -> String {
    let name = &file.filename;
    let rows = rows_of(file.rows);
    let (what, all) = match file.lack {
        Lack::Rows if file.rows == 1 => (
            format!("1 row of {name} could not be read, and no other rule saw it"),
            "all of the file",
        ),
        Lack::Rows => (
            format!("{rows} of {name} could not be read, and no other rule saw them"),
            "all of the file",
        ),
        Lack::Rest if file.rows == 0 => (
            format!("{name} could not be read to its end, and no rule saw the rest"),
            "all of the file",
        ),
        Lack::Rest => (
            format!(
                "{name} could not be read to its end, and no rule saw the rest, nor {rows} before it"
            ),
            "all of the file",
        ),
        Lack::Header => {
            (format!("the header of {name} is wrong, and no rule saw its rows"), "the file")
        }
        Lack::Encoding => (
            format!("{name} is text in UTF-16, of which nothing can be read: save it as UTF-8"),
            "the file",
        ),
        Lack::Zones => (
            format!("zones of {name} could not be read, and no other rule saw them"),
            "all of the file",
        ),
        Lack::Content => (format!("there is nothing in {name}"), "the file"),
        Lack::File => (format!("{name} is missing"), "the file"),
    };
    match file.rules {
        0 => what,
        1 => format!("{what}; 1 rule that needs {all} was not asked"),
        rules => format!("{what}; {rules} rules that need {all} were not asked"),
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
            "1 row of agency.txt could not be read, and no other rule saw it; 12 rules that need all of the file were not asked"
        );
        assert!(
            words(Lack::Rows, 2, 1)
                .ends_with("saw them; 1 rule that needs all of the file was not asked")
        );
        assert!(words(Lack::Rest, 2, 0).ends_with("the rest, nor 2 rows before it"));
        assert!(words(Lack::Encoding, 0, 1).contains("save it as UTF-8"));
        assert!(words(Lack::Zones, 0, 3).starts_with("zones of agency.txt could not be read, and"));
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
