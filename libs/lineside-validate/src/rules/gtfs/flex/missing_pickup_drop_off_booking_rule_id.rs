//! Check of stop times that require a phone call and have no booking rule.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::StopTimes, GtfsFile::BookingRules],
    check: check_booking_rule_ids,
};

static KIND: NoticeKind = NoticeKind {
    code: "missing_pickup_drop_off_booking_rule_id",
    severity: Severity::Warning,
    fields: &[
        ("csvRowNumber", "The line of the stop time."),
        ("pickupType", "The pickup type."),
        ("dropOffType", "The drop-off type."),
    ],
    page: include_str!("missing_pickup_drop_off_booking_rule_id.md"),
};

/// The `pickup_type` and `drop_off_type` that require a call to the agency.
const MUST_PHONE: i32 = 2;

/// O(n); returns at once if there are no booking rules or types.
fn check_booking_rule_ids(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::StopTimes);
    if !feed.table(GtfsFile::BookingRules).is_file_present() {
        return;
    }
    let (pickups, drop_offs) =
        (table.number_column("pickup_type"), table.number_column("drop_off_type"));
    let sides = [
        (
            pickups,
            table.number_column("start_pickup_drop_off_window"),
            table.text_column("pickup_booking_rule_id"),
        ),
        (
            drop_offs,
            table.number_column("end_pickup_drop_off_window"),
            table.text_column("drop_off_booking_rule_id"),
        ),
    ];
    for row in table.row_numbers() {
        for (types, window, booking) in &sides {
            let must_phone = types.get(row) == Some(MUST_PHONE);
            if must_phone && window.get(row).is_some() && booking.text_code_of_row(row).is_none() {
                out.count_notice_with_sample(&KIND, |sample| {
                    sample.set_field("csvRowNumber", table.line_number(row));
                    sample.set_field("pickupType", pickups.get(row));
                    sample.set_field("dropOffType", drop_offs.get(row));
                });
            }
        }
    }
}
