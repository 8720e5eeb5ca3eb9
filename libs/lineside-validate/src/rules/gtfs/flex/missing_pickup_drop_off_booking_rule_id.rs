//! Riders must telephone, and nobody says whom.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::StopTimes, File::BookingRules], check };

static KIND: Kind = Kind {
    code: "missing_pickup_drop_off_booking_rule_id",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the stop time."),
        ("pickupType", "How riders are picked up."),
        ("dropOffType", "How they are dropped off."),
    ],
    page: include_str!("missing_pickup_drop_off_booking_rule_id.md"),
};

/// `pickup_type` and `drop_off_type`: one must telephone the agency.
const MUST_PHONE: i32 = 2;

/// O(n), and nothing where there are no booking rules or types.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::StopTimes);
    if !feed.table(File::BookingRules).is_there() {
        return;
    }
    let (pickups, drop_offs) = (table.numbers("pickup_type"), table.numbers("drop_off_type"));
    let sides = [
        (
            pickups,
            table.numbers("start_pickup_drop_off_window"),
            table.texts("pickup_booking_rule_id"),
        ),
        (
            drop_offs,
            table.numbers("end_pickup_drop_off_window"),
            table.texts("drop_off_booking_rule_id"),
        ),
    ];
    for row in table.rows() {
        for (types, window, booking) in &sides {
            let must_phone = types.get(row) == Some(MUST_PHONE);
            if must_phone && window.get(row).is_some() && booking.code(row).is_none() {
                out.add(&KIND, |sample| {
                    sample.put("csvRowNumber", table.line(row));
                    sample.put("pickupType", pickups.get(row));
                    sample.put("dropOffType", drop_offs.get(row));
                });
            }
        }
    }
}
