//! Parents of the wrong type, and stations that nothing is part of.

use super::{
    GtfsRule,
    locations::{
        BOARDING_AREA, ENTRANCE, GENERIC_NODE, LINE, LOCATION_TYPE, Locations, PARENT, STATION,
        STOP, STOP_ID, STOP_NAME, put_stop,
    },
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&WRONG_PARENT, &UNUSED], files: &[File::Stops], check };

static WRONG_PARENT: Kind = Kind {
    code: "wrong_parent_location_type",
    severity: Severity::Error,
    fields: &[
        LINE,
        STOP_ID,
        STOP_NAME,
        LOCATION_TYPE,
        ("parentCsvRowNumber", "The line of the parent."),
        PARENT,
        ("parentStopName", "The parent's name."),
        ("parentLocationType", "What kind of location the parent is."),
        ("expectedLocationType", "What kind it has to be."),
    ],
    page: include_str!("wrong_parent_location_type.md"),
};

static UNUSED: Kind = Kind {
    code: "unused_station",
    severity: Severity::Info,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("unused_station.md"),
};

/// O(stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let stops = Locations::of(feed);
    let mut has_stops = vec![false; stops.table.len() as usize];
    for row in stops.table.rows() {
        let location_type = stops.type_of(row);
        let Some(parent) = stops.parent(row).filter(|_| location_type != STATION) else {
            continue;
        };
        has_stops[parent as usize] |= location_type == STOP;
        let expected = match location_type {
            STOP | ENTRANCE | GENERIC_NODE => STATION,
            BOARDING_AREA => STOP,
            _ => continue,
        };
        if stops.type_of(parent) != expected {
            out.add(&WRONG_PARENT, |sample| {
                put_stop(sample, stops.table, row).put("locationType", location_type);
                sample.put("parentCsvRowNumber", stops.table.line(parent));
                sample.put("parentStation", stops.parents.get(row));
                sample.put("parentStopName", stops.table.texts("stop_name").get(parent));
                sample.put("parentLocationType", stops.type_of(parent));
                sample.put("expectedLocationType", expected);
            });
        }
    }
    for row in stops.table.rows().filter(|&row| stops.type_of(row) == STATION) {
        // A station whose row repeats is one station.
        let first = stops.first(row).unwrap_or(row);
        if !std::mem::replace(&mut has_stops[first as usize], true) {
            out.add(&UNUSED, |sample| {
                put_stop(sample, stops.table, first);
            });
        }
    }
}
