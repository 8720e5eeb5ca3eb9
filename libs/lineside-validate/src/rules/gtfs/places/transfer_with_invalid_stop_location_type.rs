//! Transfers to what is neither a stop nor a station.

use super::{
    GtfsRule,
    locations::{LINE, Locations, STATION, STOP, STOP_ID, type_name},
    transfer_ends::{ENDS, End},
};
use crate::{
    Context, Notices,
    gtfs::{Feed, File, Table},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Transfers, File::Stops], check };

static KIND: Kind = Kind {
    code: "transfer_with_invalid_stop_location_type",
    severity: Severity::Error,
    fields: &[
        LINE,
        ("stopIdFieldName", "At which end of the transfer it is."),
        STOP_ID,
        ("locationTypeValue", "What kind of location it is, as a number."),
        ("locationTypeName", "What kind of location it is, in words."),
    ],
    page: include_str!("transfer_with_invalid_stop_location_type.md"),
};

/// O(transfers).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let transfers = feed.table(File::Transfers);
    let stops = Locations::of(feed);
    let ends = ENDS.map(|end| {
        let stop_rows = feed.link(File::Transfers, end.stop, File::Stops, "stop_id");
        (end, transfers.texts(end.stop), stop_rows)
    });
    for row in transfers.rows() {
        for (end, texts, stop_rows) in &ends {
            let stop = texts.code(row).and_then(|code| stop_rows.row(code));
            let Some(location_type) = stop.map(|stop| stops.type_of(stop)) else { continue };
            if !matches!(location_type, STOP | STATION) {
                say(transfers, row, *end, location_type, out);
            }
        }
    }
}

/// Says that one end of a transfer is of the wrong type.
pub(super) fn say(transfers: &Table, row: u32, end: End, location_type: i32, out: &mut Notices) {
    out.add(&KIND, |sample| {
        sample.put("csvRowNumber", transfers.line(row)).put("stopIdFieldName", end.stop);
        sample.put("stopId", transfers.texts(end.stop).get(row));
        sample.put("locationTypeValue", location_type);
        sample.put("locationTypeName", type_name(location_type));
    });
}
