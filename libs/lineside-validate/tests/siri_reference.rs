//! Compares the notices about real messages and examples of profiles with counts that were checked by hand.
//!
//! The files are in a folder next to the repository; without it, nothing is compared. `LINESIDE_SHOW=code` prints the
//! notices with that code.

mod looked_at;

use std::fs;

use jiff::tz::TimeZone;
use lineside_formats::siri::{MessageLimits, decode_siri_message};
use lineside_validate::{Notices, rules::siri::validate_siri_message};

use looked_at::Tally;

/// Folder or file, code, count.
const EXPECTED: &[(&str, &str, u64)] = &[
    ("ara-fr", "no_delivery", 25),
    ("ara-fr", "refused_by_producer", 1),
    ("cen-examples", "aimed_times_run_backwards", 3),
    ("cen-examples", "expected_times_run_backwards", 3),
    ("cen-examples", "no_delivery", 62),
    ("cen-examples", "time_in_future", 3),
    ("entur-profile", "aimed_times_run_backwards", 7),
    ("entur-profile", "call_order_not_rising", 1),
    ("entur-profile", "expected_times_run_backwards", 8),
    ("entur-profile", "no_delivery", 3),
    ("entur-profile", "situation_without_text", 9),
    ("entur-profile", "time_in_future", 6),
    ("et-banenor-raw.xml", "departure_before_arrival", 2),
    ("et-banenor-raw.xml", "expected_times_run_backwards", 2),
    ("israel-sm", "delivery_failed", 4),
];

#[test]
fn real_messages_have_the_reviewed_counts() {
    let Some(data) = looked_at::data("siri") else { return };
    let mut tally = Tally::default();
    for (name, path) in looked_at::files(&data) {
        let body = fs::read(&path).expect("a file");
        let Ok((message, _)) =
            decode_siri_message(&body, &TimeZone::UTC, &MessageLimits::default())
        else {
            continue;
        };
        let mut notices = Notices::new(2);
        let errors = validate_siri_message(&message, &mut notices);
        assert!(errors.is_empty(), "{name}: {errors:?}");
        let set = name.split('/').next().unwrap_or_default();
        tally.add(set, &name, &notices);
    }
    tally.hold(EXPECTED);
}
