//! Runs the examples on the page of each SIRI kind as tests.
//!
//! A case is a `##` heading. Its `xml` block is a delivery or a request, which is wrapped in a message, or a whole
//! envelope. A `json` block lists the expected notices of the page's code, with the relevant fields; without such a
//! block, none are expected.

mod list;
mod support;

use jiff::tz::TimeZone;
use lineside_formats::siri::{MessageLimits, decode_siri_message};
use lineside_validate::{
    Notices,
    notice::NoticeKind,
    rules::{
        gtfs_rt,
        siri::{siri_notice_kinds, validate_siri_message, validate_siri_while},
    },
};
use serde_json::Value;

#[derive(Default)]
struct Case {
    heading: String,
    delivery: String,
    expected: Vec<Value>,
}

/// Parses the cases of a page.
fn cases(page: &str) -> Vec<Case> {
    let begin = |heading: &str| Case { heading: heading.to_owned(), ..Case::default() };
    let block = |case: &mut Case, info: &str, text: &str| match info {
        "xml" => text.clone_into(&mut case.delivery),
        "json" => case.expected = serde_json::from_str(text).expect("the JSON is a list"),
        _ => panic!("unknown block {info:?}"),
    };
    support::cases(page, begin, block, |_, _| {})
}

fn message(delivery: &str) -> String {
    if delivery.starts_with("<soap:") {
        return delivery.to_owned();
    }
    let is_request = delivery.starts_with("<CheckStatusRequest");
    let inside = match is_request {
        true => delivery.to_owned(),
        false => format!("<ServiceDelivery>{delivery}</ServiceDelivery>"),
    };
    format!("<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\">{inside}</Siri>")
}

fn found(delivery: &str) -> Notices {
    let body = message(delivery);
    let (message, problems) =
        decode_siri_message(body.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .expect("a message");
    assert!(problems.is_empty(), "{problems:?}");
    let mut notices = Notices::new(100);
    let errors = validate_siri_message(&message, &mut notices);
    assert!(errors.is_empty(), "{errors:?}");
    notices
}

fn check(kind: &NoticeKind) -> Result<(), String> {
    let cases = cases(kind.page);
    let expected: Vec<&[Value]> = cases.iter().map(|case| case.expected.as_slice()).collect();
    support::has_both(&expected, false)?;
    for case in &cases {
        let found = found(&case.delivery);
        support::hold(kind, &case.heading, &case.expected, &found)?;
        // A case demonstrates only one thing.
        if case.expected.is_empty() && found.iter().next().is_some() {
            return Err(format!("{}: {found:?}", case.heading));
        }
    }
    Ok(())
}

#[test]
fn every_page_matches_its_rule() {
    support::check_all(siri_notice_kinds(), check);
}

#[test]
fn each_kind_has_one_page_and_each_field_is_described() {
    support::describe_all(siri_notice_kinds(), "src/rules/siri");
}

#[test]
fn validating_a_damaged_message_does_not_panic() {
    let mut random = fastrand::Rng::with_seed(7);
    let pages: Vec<Case> = siri_notice_kinds().flat_map(|kind| cases(kind.page)).collect();
    let mut n_read = 0;
    for _ in 0..3_000 {
        let mut body = message(&pages[random.usize(..pages.len())].delivery).into_bytes();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..body.len());
            body[at] = b"0123456789-+.TZ e"[random.usize(..17)];
        }
        let Ok((message, _)) =
            decode_siri_message(&body, &TimeZone::UTC, &MessageLimits::default())
        else {
            continue;
        };
        n_read += 1;
        let errors = validate_siri_message(&message, &mut Notices::new(10));
        assert!(errors.is_empty(), "{errors:?} in {}", String::from_utf8_lossy(&body));
    }
    assert!(n_read > 300, "{n_read}");
}

#[test]
fn the_documentation_lists_each_kind() {
    list::hold(
        "siri",
        "SIRI messages",
        "Estimated timetables, vehicle monitoring, stop monitoring and situation exchange of 2.0 and 2.1. Times are compared\n\
         with the `ResponseTimestamp` of the message, not with the clock. Data that cannot be read are reported under the codes\n\
         of the decoder, and not as missing.",
        siri_notice_kinds(),
    );
}

#[test]
fn an_interrupted_validation_is_marked_as_cut_short() {
    let vehicle = "<VehicleActivity><MonitoredVehicleJourney/></VehicleActivity>";
    let delivery =
        format!("<VehicleMonitoringDelivery>{}</VehicleMonitoringDelivery>", vehicle.repeat(200));
    let body = message(&delivery);
    let (message, _) =
        decode_siri_message(body.as_bytes(), &TimeZone::UTC, &MessageLimits::default()).unwrap();
    let validate_with = |n_checks: usize| {
        let left = std::cell::Cell::new(n_checks);
        let should_continue = || left.replace(left.get().saturating_sub(1)) > 0;
        let mut notices = Notices::new(1);
        let verdict = validate_siri_while(&message, &mut notices, &should_continue);
        assert!(verdict.errors.is_empty());
        let total = notices.get("vehicle_without_ref").map_or(0, |found| found.total);
        (total, verdict.is_cut_short)
    };
    assert_eq!(validate_with(1_000), (200, false));
    assert_eq!(validate_with(0), (0, true));
    assert_eq!(validate_with(2), (128, true));
}

#[test]
fn codes_differ_from_those_of_gtfs_realtime() {
    for kind in siri_notice_kinds() {
        assert!(
            gtfs_rt::realtime_notice_kinds().all(|other| other.code != kind.code),
            "{}",
            kind.code
        );
    }
}
