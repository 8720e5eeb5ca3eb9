//! Names that riders read, in one case only.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "mixed_case_recommended_field",
    severity: Severity::Warning,
    fields: &[
        ("filename", "The file."),
        ("fieldName", "The field."),
        ("fieldValue", "What stands there."),
        ("csvRowNumber", "The line of the row."),
    ],
    page: include_str!("mixed_case_recommended_field.md"),
};

/// O(n): each distinct text is looked at once.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    for file in File::ALL {
        let table = feed.table(file);
        for field in file.spec().fields.iter().filter(|field| field.mixed_case) {
            let texts = table.texts(field.name);
            let is_odd: Vec<bool> =
                (0..texts.n_codes() as u32).map(|code| is_in_one_case(texts.text(code))).collect();
            if !is_odd.contains(&true) {
                continue;
            }
            for row in table.rows() {
                let Some(code) = texts.code(row).filter(|&code| is_odd[code as usize]) else {
                    continue;
                };
                out.add(&KIND, |sample| {
                    sample.put("filename", table.name()).put("fieldName", field.name);
                    sample.put("fieldValue", texts.text(code));
                    sample.put("csvRowNumber", table.line(row));
                });
            }
        }
    }
}

/// Whether a text is one word of small letters, or several words none of which has letters of both
/// cases. Words are what stands between signs that are no letters; those of one letter do not count.
fn is_in_one_case(text: &str) -> bool {
    let mut words: Vec<&str> = text.split(|c: char| !c.is_alphabetic()).collect();
    // A run of signs parts two words once, and signs at the end part nothing.
    let leading = words.first().is_some_and(|first| first.is_empty());
    words.retain(|word| !word.is_empty());
    if leading && !words.is_empty() {
        words.insert(0, "");
    }
    if let [only] = words.as_slice() {
        return only.chars().nth(1).is_some() && only.chars().all(char::is_lowercase);
    }
    let long = words.iter().filter(|word| word.chars().count() != 1);
    let is_mixed =
        |word: &&&str| word.chars().any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    long.clone().count() >= 2 && !long.clone().any(|word| is_mixed(&word))
}

#[cfg(test)]
mod tests {
    use super::is_in_one_case;

    #[test]
    fn names_in_one_case_are_told_from_others() {
        for text in ["central", "CENTRAL STATION", "main st & 5th av", "NORTH-WEST 12", "@ 2 main"]
        {
            assert!(is_in_one_case(text), "{text}");
        }
        for text in ["CENTRAL", "Central", "x", "A 12", "route 1a", "Main ST", "12", ""] {
            assert!(!is_in_one_case(text), "{text}");
        }
    }
}
