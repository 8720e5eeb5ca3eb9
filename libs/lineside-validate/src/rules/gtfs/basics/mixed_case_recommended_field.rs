//! Check of names for riders that are all in upper case or all in lower case.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{
        GtfsFeed, GtfsFile,
        letters::{is_letter, is_lowercase_letter, is_uppercase_letter},
    },
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_mixed_case };

static KIND: NoticeKind = NoticeKind {
    code: "mixed_case_recommended_field",
    severity: Severity::Warning,
    fields: &[
        ("filename", "The file."),
        ("fieldName", "The field."),
        ("fieldValue", "The value."),
        ("csvRowNumber", "The line of the row."),
    ],
    page: include_str!("mixed_case_recommended_field.md"),
};

/// O(n): each distinct text is checked once.
fn check_mixed_case(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    for file in GtfsFile::ALL {
        let table = feed.table(file);
        for field in file.file_spec().fields.iter().filter(|field| field.mixed_case) {
            let texts = table.text_column(field.name);
            let is_odd: Vec<bool> = (0..texts.text_code_count() as u32)
                .map(|code| lacks_mixed_case(texts.text_of_code(code)))
                .collect();
            if !is_odd.contains(&true) {
                continue;
            }
            for row in table.row_numbers() {
                let Some(code) = texts.text_code_of_row(row).filter(|&code| is_odd[code as usize])
                else {
                    continue;
                };
                out.count_notice_with_sample(&KIND, |sample| {
                    sample
                        .set_field("filename", table.file_name())
                        .set_field("fieldName", field.name);
                    sample.set_field("fieldValue", texts.text_of_code(code));
                    sample.set_field("csvRowNumber", table.line_number(row));
                });
            }
        }
    }
}

/// Returns true if a text is one lower-case word, or several words none of which mixes cases. Words are separated by
/// characters other than letters; words of one letter do not count.
fn lacks_mixed_case(text: &str) -> bool {
    let mut words: Vec<&str> = text.split(|c: char| !is_letter(c)).collect();
    // A run of separators separates words once, and separators at the end have no effect.
    let leading = words.first().is_some_and(|first| first.is_empty());
    words.retain(|word| !word.is_empty());
    if leading && !words.is_empty() {
        words.insert(0, "");
    }
    let is_long = |word: &str| word.encode_utf16().nth(1).is_some();
    if let [only] = words.as_slice() {
        return is_long(only) && only.chars().all(is_lowercase_letter);
    }
    let counted = || words.iter().filter(|word| word.is_empty() || is_long(word));
    let is_mixed =
        |word: &&str| word.contains(is_uppercase_letter) && word.contains(is_lowercase_letter);
    counted().count() >= 2 && !counted().any(is_mixed)
}

#[cfg(test)]
mod tests {
    use super::lacks_mixed_case;

    #[test]
    fn single_case_names_are_distinguished_from_mixed_case() {
        for text in [
            "central",
            "CENTRAL STATION",
            "main st & 5th av",
            "NORTH-WEST 12",
            "@ 2 main",
            "ESTACIÓN Nº 5",
        ] {
            assert!(lacks_mixed_case(text), "{text}");
        }
        for text in ["CENTRAL", "Central", "x", "A 12", "route 1a", "nº", "Main ST", "12", ""] {
            assert!(!lacks_mixed_case(text), "{text}");
        }
    }
}
