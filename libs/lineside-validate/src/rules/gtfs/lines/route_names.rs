//! Checks of the names of a route: too long, missing, or repeated in another field.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile, GtfsTable},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&BOTH_MISSING, &CONTAINED, &TOO_LONG, &DESCRIPTION],
    files: &[],
    check: check_route_names,
};

static BOTH_MISSING: NoticeKind = NoticeKind {
    code: "route_both_short_and_long_name_missing",
    severity: Severity::Error,
    fields: &[("routeId", "The route."), ("csvRowNumber", "The line of the row.")],
    page: include_str!("route_both_short_and_long_name_missing.md"),
};

static CONTAINED: NoticeKind = NoticeKind {
    code: "route_long_name_contains_short_name",
    severity: Severity::Warning,
    fields: &[
        ("routeId", "The route."),
        ("csvRowNumber", "The line of the row."),
        ("routeShortName", "Its short name."),
        ("routeLongName", "Its long name."),
    ],
    page: include_str!("route_long_name_contains_short_name.md"),
};

static TOO_LONG: NoticeKind = NoticeKind {
    code: "route_short_name_too_long",
    severity: Severity::Warning,
    fields: &[
        ("routeId", "The route."),
        ("csvRowNumber", "The line of the row."),
        ("routeShortName", "Its short name."),
    ],
    page: include_str!("route_short_name_too_long.md"),
};

static DESCRIPTION: NoticeKind = NoticeKind {
    code: "same_name_and_description_for_route",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the row."),
        ("routeId", "The route."),
        ("routeDesc", "Its description."),
        ("specifiedField", "The field with the same text."),
    ],
    page: include_str!("same_name_and_description_for_route.md"),
};

/// The longest short name, in UTF-16 code units, that the reference recommends: displays have
/// little room.
const SHORT_NAME_CHARS_MAX: usize = 12;

/// O(n).
fn check_route_names(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Routes);
    let short_names = table.text_column("route_short_name");
    let long_names = table.text_column("route_long_name");
    let descriptions = table.text_column("route_desc");
    for row in table.row_numbers() {
        let (short, long) = (short_names.get(row), long_names.get(row));
        check_short_and_long_name(table, row, short, long, out);
        let Some(description) = descriptions.get(row) else { continue };
        let same = [("route_short_name", short), ("route_long_name", long)]
            .into_iter()
            .find(|(_, name)| name.is_some_and(|name| equals_ignoring_case(name, description)));
        if let Some((field, _)) = same {
            out.count_notice_with_sample(&DESCRIPTION, |sample| {
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("routeId", table.text_column("route_id").get(row));
                sample.set_field("routeDesc", description).set_field("specifiedField", field);
            });
        }
    }
}

fn check_short_and_long_name(
    table: &GtfsTable,
    row: u32,
    short: Option<&str>,
    long: Option<&str>,
    out: &mut Notices,
) {
    if short.is_none() && long.is_none() {
        out.count_notice_with_sample(&BOTH_MISSING, |sample| {
            sample.set_field("routeId", table.text_column("route_id").get(row));
            sample.set_field("csvRowNumber", table.line_number(row));
        });
    }
    let is_long = |name: &str| name.encode_utf16().nth(SHORT_NAME_CHARS_MAX).is_some();
    if short.is_some_and(is_long) {
        out.count_notice_with_sample(&TOO_LONG, |sample| {
            sample.set_field("routeId", table.text_column("route_id").get(row));
            sample
                .set_field("csvRowNumber", table.line_number(row))
                .set_field("routeShortName", short);
        });
    }
    if let (Some(short), Some(long)) = (short, long)
        && begins_with_word(long, short)
    {
        out.count_notice_with_sample(&CONTAINED, |sample| {
            sample.set_field("routeId", table.text_column("route_id").get(row));
            sample.set_field("csvRowNumber", table.line_number(row));
            sample.set_field("routeShortName", short).set_field("routeLongName", long);
        });
    }
}

/// Returns true if a name begins with another as a whole word, in any case: the end, a blank, a
/// hyphen or a parenthesis follows.
fn begins_with_word(long: &str, short: &str) -> bool {
    if !long.to_lowercase().starts_with(&short.to_lowercase()) {
        return false;
    }
    let mut rest = long.chars();
    let mut n_units = short.encode_utf16().count();
    while n_units > 0 {
        n_units = n_units.saturating_sub(rest.next().map_or(n_units, char::len_utf16));
    }
    rest.next().is_none_or(|c| matches!(c, '\t'..='\r' | ' ' | '-' | '(' | ')'))
}

/// Compares letter by letter. Letters with several capitals (`ß`) only equal themselves.
fn equals_ignoring_case(one: &str, other: &str) -> bool {
    let fold = |c: char| {
        let upper = single_item(c.to_uppercase()).unwrap_or(c);
        single_item(upper.to_lowercase()).unwrap_or(upper)
    };
    one.chars().map(fold).eq(other.chars().map(fold))
}

/// Returns the only item, if there is exactly one.
fn single_item(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_found_at_the_start_of_a_long_name() {
        for (long, short) in [
            ("10 Harbour", "10"),
            ("Express", "EXPRESS"),
            ("A-B", "a"),
            ("N1(night)", "n1"),
            ("Å) b", "å"),
        ] {
            assert!(begins_with_word(long, short), "{long} {short}");
        }
        for (long, short) in [("100 Harbour", "10"), ("Harbour 10", "10"), ("10: Harbour", "10")] {
            assert!(!begins_with_word(long, short), "{long} {short}");
        }
    }

    #[test]
    fn texts_are_compared_ignoring_case() {
        assert!(equals_ignoring_case("Harbour Ö", "hARBOUR ö"));
        assert!(equals_ignoring_case("Straße", "straße"));
        assert!(!equals_ignoring_case("Straße", "STRASSE"));
        assert!(!equals_ignoring_case("Harbour", "Harbour "));
    }
}
