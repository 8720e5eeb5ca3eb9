//! Checks of stops without a name, and of descriptions that repeat the name.

use super::{
    GtfsRule,
    locations::{
        ENTRANCE, LINE, LOCATION_TYPE, LocationHierarchy, STATION, STOP, STOP_ID,
        location_type_report_name,
    },
};
use crate::{
    Notices, ValidationContext,
    gtfs::GtfsFeed,
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&MISSING, &SAME_DESCRIPTION], files: &[], check: check_stop_names };

static MISSING: NoticeKind = NoticeKind {
    code: "missing_stop_name",
    severity: Severity::Error,
    fields: &[LINE, LOCATION_TYPE, STOP_ID],
    page: include_str!("missing_stop_name.md"),
};

static SAME_DESCRIPTION: NoticeKind = NoticeKind {
    code: "same_name_and_description_for_stop",
    severity: Severity::Warning,
    fields: &[LINE, STOP_ID, ("stopDesc", "The description.")],
    page: include_str!("same_name_and_description_for_stop.md"),
};

/// O(stops).
fn check_stop_names(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let stops = LocationHierarchy::location_hierarchy_of_feed(feed);
    // A file with neither column does not require names.
    if !stops.table.has_column("stop_name") && !stops.table.has_column("location_type") {
        return;
    }
    let (names, texts) =
        (stops.table.text_column("stop_name"), stops.table.text_column("stop_desc"));
    for row in stops.table.row_numbers() {
        let location_type = stops.location_type(row);
        match (names.get(row), texts.get(row)) {
            (None, _) if matches!(location_type, STOP | STATION | ENTRANCE) => {
                out.count_notice_with_sample(&MISSING, |sample| {
                    sample.set_field("csvRowNumber", stops.table.line_number(row));
                    sample.set_field("locationType", location_type_report_name(location_type));
                    sample.set_field("stopId", stops.ids.get(row));
                });
            }
            (Some(name), Some(text)) if equals_ignoring_case(name, text) => {
                out.count_notice_with_sample(&SAME_DESCRIPTION, |sample| {
                    sample.set_field("csvRowNumber", stops.table.line_number(row));
                    sample.set_field("stopId", stops.ids.get(row)).set_field("stopDesc", text);
                });
            }
            _ => {}
        }
    }
}

/// Returns true if two texts are equal except for case.
fn equals_ignoring_case(one: &str, other: &str) -> bool {
    fn fold_case(text: &str) -> impl Iterator<Item = char> {
        text.chars().map(|c| lower_case_letter(upper_case_letter(c)))
    }
    one == other || fold_case(one).eq(fold_case(other))
}

/// Returns the upper-case letter, if it is a single letter.
fn upper_case_letter(c: char) -> char {
    let mut all = c.to_uppercase();
    match (all.next(), all.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

/// Returns the lower-case letter, if it is a single letter.
fn lower_case_letter(c: char) -> char {
    let mut all = c.to_lowercase();
    match (all.next(), all.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}
