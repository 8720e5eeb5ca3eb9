//! Locations whose type asks for a parent, or forbids one.

use super::{
    GtfsRule,
    locations::{
        BOARDING_AREA, ENTRANCE, GENERIC_NODE, LINE, LOCATION_TYPE, Locations, PARENT, STATION,
        STOP, STOP_ID, STOP_NAME, put_stop,
    },
};
use crate::{
    Context, Notices,
    gtfs::Feed,
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&WITHOUT_PARENT, &PLATFORM, &STATION_WITH_PARENT], files: &[], check };

static WITHOUT_PARENT: Kind = Kind {
    code: "location_without_parent_station",
    severity: Severity::Error,
    fields: &[LINE, STOP_ID, STOP_NAME, LOCATION_TYPE],
    page: include_str!("location_without_parent_station.md"),
};

static PLATFORM: Kind = Kind {
    code: "platform_without_parent_station",
    severity: Severity::Info,
    fields: &[LINE, STOP_ID, STOP_NAME],
    page: include_str!("platform_without_parent_station.md"),
};

static STATION_WITH_PARENT: Kind = Kind {
    code: "station_with_parent_station",
    severity: Severity::Error,
    fields: &[LINE, STOP_ID, STOP_NAME, PARENT],
    page: include_str!("station_with_parent_station.md"),
};

/// O(stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let stops = Locations::of(feed);
    let platforms = stops.table.texts("platform_code");
    for row in stops.table.rows() {
        let kind = match (stops.type_of(row), stops.parents.code(row).is_some()) {
            (STATION, true) => &STATION_WITH_PARENT,
            // What is numbered among others is part of something.
            (STOP, false) if platforms.code(row).is_some() => &PLATFORM,
            (ENTRANCE | GENERIC_NODE | BOARDING_AREA, false) => &WITHOUT_PARENT,
            _ => continue,
        };
        out.add(kind, |sample| {
            put_stop(sample, stops.table, row);
            if kind.code == WITHOUT_PARENT.code {
                sample.put("locationType", stops.type_of(row));
            }
            sample.put("parentStation", stops.parents.get(row));
        });
    }
}
