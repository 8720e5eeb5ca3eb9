//! Stops that nobody can find on a map.

use super::{
    GtfsRule,
    locations::{ENTRANCE, LINE, LOCATION_TYPE, Locations, STATION, STOP, STOP_ID, type_name},
};
use crate::{
    Context, Notices,
    gtfs::Feed,
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "stop_without_location",
    severity: Severity::Error,
    fields: &[LINE, LOCATION_TYPE, STOP_ID],
    page: include_str!("stop_without_location.md"),
};

/// O(stops).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let stops = Locations::of(feed);
    let (lat, lon) = (stops.table.floats("stop_lat"), stops.table.floats("stop_lon"));
    for row in stops.table.rows() {
        let location_type = stops.type_of(row);
        let is_placed = lat.get(row).is_some() && lon.get(row).is_some();
        if matches!(location_type, STOP | STATION | ENTRANCE) && !is_placed {
            out.add(&KIND, |sample| {
                sample.put("csvRowNumber", stops.table.line(row));
                sample.put("locationType", type_name(location_type));
                sample.put("stopId", stops.ids.get(row));
            });
        }
    }
}
