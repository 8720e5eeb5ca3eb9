//! Ways of access to what is not part of a station.

use super::{
    GtfsRule,
    locations::{LINE, LOCATION_TYPE, Locations, STOP, STOP_ID, STOP_NAME, put_stop, type_name},
};
use crate::{
    Context, Notices,
    gtfs::Feed,
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&NO_STOP, &NO_PARENT], files: &[], check };

const FIELDS: &[(&str, &str)] =
    &[LINE, STOP_ID, STOP_NAME, ("stopAccess", "How riders reach it, by the data."), LOCATION_TYPE];

static NO_STOP: Kind = Kind {
    code: "stop_access_specified_for_incorrect_location",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("stop_access_specified_for_incorrect_location.md"),
};

static NO_PARENT: Kind = Kind {
    code: "stop_access_specified_for_stop_with_no_parent_station",
    severity: Severity::Error,
    fields: FIELDS,
    page: include_str!("stop_access_specified_for_stop_with_no_parent_station.md"),
};

/// O(stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let stops = Locations::of(feed);
    if !stops.table.has("stop_access") {
        return;
    }
    let access = stops.table.numbers("stop_access");
    for row in stops.table.rows() {
        let Some(access) = access.get(row) else { continue };
        let kind = match (stops.type_of(row), stops.parents.code(row)) {
            (STOP, Some(_)) => continue,
            (STOP, None) => &NO_PARENT,
            _ => &NO_STOP,
        };
        out.add(kind, |sample| {
            put_stop(sample, stops.table, row).put("stopAccess", access_name(access));
            sample.put("locationType", type_name(stops.type_of(row)));
        });
    }
}

fn access_name(access: i32) -> &'static str {
    match access {
        0 => "ACCESSIBLE_VIA_PATHWAYS",
        1 => "NOT_ACCESSIBLE_VIA_PATHWAYS",
        _ => "UNRECOGNIZED",
    }
}
