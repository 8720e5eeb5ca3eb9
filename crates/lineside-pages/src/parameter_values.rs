//! The known values of the pages' query parameters. The server refuses all others, so that a misspelt filter is not
//! ignored.

use std::borrow::Cow;

use jiff::civil::Date;
use lineside_formats::Format;
use lineside_http::ParameterValues::{Number, OneOf, Parsed};
use lineside_http::{PageParameterValues, ParameterValues, limits};
use lineside_model::FeedState;
use lineside_quality::reports::ReportVerdict;

use super::board_options::DEPARTURES_MAX;
use super::board_window::is_valid_window_start;
use super::{links, ops, trips};

/// The parameter of a page's number, counted from 1.
const PAGE: &str = "page";

/// Returns the known values of the parameters that have a limited number of them.
pub fn list_parameter_values() -> Vec<PageParameterValues> {
    let words = |words: &[&'static str]| OneOf(words.iter().map(|it| Cow::Borrowed(*it)).collect());
    let states = || words(&FeedState::ALL.map(FeedState::as_str));
    let day = || Parsed { is_valid: is_date, expected: "a date, YYYY-MM-DD" };
    let values =
        |template, name, values: ParameterValues| PageParameterValues { template, name, values };
    let mut all = vec![
        values("/", "format", words(&Format::ALL.map(Format::as_str))),
        values("/", "state", states()),
        values("/", "report", words(&ReportVerdict::ALL.map(ReportVerdict::as_str))),
        values("/", "expires", words(&["soon"])),
        values("/", "all", words(&["1"])),
        values("/", PAGE, Number(1, usize::MAX)),
        values("/alerts/{feed}", PAGE, Number(1, usize::MAX)),
        values("/feeds/{feed}/versions", "offset", Number(0, limits::OFFSET_MAX)),
        values("/map", "show", words(&["list"])),
        values("/networks/{feed}", PAGE, Number(1, usize::MAX)),
        values("/networks/{feed}", "lines", Number(1, usize::MAX)),
        values("/ops", "state", states()),
        values("/ops", PAGE, Number(1, usize::MAX)),
        values("/routes/{feed}/{route_id}", "date", day()),
        values("/stops/{feed}/{stop_id}", "limit", Number(1, DEPARTURES_MAX)),
        values(
            "/stops/{feed}/{stop_id}",
            "after",
            Parsed {
                is_valid: is_valid_window_start,
                expected: "a time, such as 2026-11-28T07:30, or seconds since 1970",
            },
        ),
        values("/trips/{feed}/{trip_id}", "date", day()),
        values(
            "/trips/{feed}/{trip_id}",
            "start",
            Parsed {
                is_valid: |text| links::parse_gtfs_time(text).is_some(),
                expected: "a time of day, HH:MM:SS",
            },
        ),
    ];
    for template in ["/delays/{feed}", "/stops/{feed}/{stop_id}"] {
        all.push(values(template, "embed", words(&["0", "1"])));
    }
    let tiles = ["/ops", "/ops/tiles"];
    all.extend(tiles.map(|template| values(template, "range", OneOf(ops::list_range_values()))));
    all.push(values("/ops", "sort", OneOf(ops::list_sort_values())));
    let notices = ["/ops", "/ops/add", "/ops/feeds/{feed}", "/ops/history"];
    all.extend(notices.map(|template| values(template, "done", OneOf(ops::list_notice_values()))));
    all
}

fn is_date(text: &str) -> bool {
    let parsed: Option<Date> = trips::parse_date(text);
    parsed.is_some()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_parameter_is_listed_once() {
        let all = list_parameter_values();
        let names: BTreeSet<_> = all.iter().map(|it| (it.template, it.name)).collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn both_forms_of_a_date_are_known() {
        assert!(is_date("2026-11-28") && is_date("20261128"));
        assert!(!is_date("2026-13-28") && !is_date("tomorrow"));
    }
}
