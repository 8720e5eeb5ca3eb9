//! Stops without a name, and descriptions that only say the name again.

use super::{
    GtfsRule,
    locations::{ENTRANCE, LINE, LOCATION_TYPE, Locations, STATION, STOP, STOP_ID, type_name},
};
use crate::{
    Context, Notices,
    gtfs::Feed,
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&MISSING, &SAME_DESCRIPTION], files: &[], check };

static MISSING: Kind = Kind {
    code: "missing_stop_name",
    severity: Severity::Error,
    fields: &[LINE, LOCATION_TYPE, STOP_ID],
    page: include_str!("missing_stop_name.md"),
};

static SAME_DESCRIPTION: Kind = Kind {
    code: "same_name_and_description_for_stop",
    severity: Severity::Warning,
    fields: &[LINE, STOP_ID, ("stopDesc", "The description.")],
    page: include_str!("same_name_and_description_for_stop.md"),
};

/// O(stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let stops = Locations::of(feed);
    // A file with neither says of no location that it has to have a name.
    if !stops.table.has("stop_name") && !stops.table.has("location_type") {
        return;
    }
    let (names, texts) = (stops.table.texts("stop_name"), stops.table.texts("stop_desc"));
    for row in stops.table.rows() {
        let location_type = stops.type_of(row);
        match (names.get(row), texts.get(row)) {
            (None, _) if matches!(location_type, STOP | STATION | ENTRANCE) => {
                out.add(&MISSING, |sample| {
                    sample.put("csvRowNumber", stops.table.line(row));
                    sample.put("locationType", type_name(location_type));
                    sample.put("stopId", stops.ids.get(row));
                });
            }
            (Some(name), Some(text)) if is_same(name, text) => {
                out.add(&SAME_DESCRIPTION, |sample| {
                    sample.put("csvRowNumber", stops.table.line(row));
                    sample.put("stopId", stops.ids.get(row)).put("stopDesc", text);
                });
            }
            _ => {}
        }
    }
}

/// Whether two texts differ in the case of their letters at most.
fn is_same(one: &str, other: &str) -> bool {
    fn folded(text: &str) -> impl Iterator<Item = char> {
        text.chars().map(|c| lower(upper(c)))
    }
    one == other || folded(one).eq(folded(other))
}

/// The capital of a letter, where that is one letter.
fn upper(c: char) -> char {
    let mut all = c.to_uppercase();
    match (all.next(), all.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

/// The small letter of a capital, where that is one letter.
fn lower(c: char) -> char {
    let mut all = c.to_lowercase();
    match (all.next(), all.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}
