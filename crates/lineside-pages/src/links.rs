//! The addresses of pages.

use std::borrow::Cow;

use jiff::civil::Date;
use lineside_quality::check::list_decoder_codes;
use lineside_quality::check::notice_kinds_of_all_formats;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

/// Characters that must be encoded in the value of a query.
pub(super) const QUERY: &AsciiSet = &SEGMENT.add(b'&').add(b'+').add(b'=').add(b':');
/// Characters that must be encoded in a path segment, besides non-ASCII.
pub(super) const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'`');

/// Returns the address of a stop's board.
pub(super) fn departure_board_url(feed: &str, stop_id: &str) -> String {
    format!("/stops/{feed}/{}", encode_path_segment(stop_id))
}

/// Returns the address of a line's page.
pub(super) fn line_page_url(feed: &str, route_id: &str) -> String {
    format!("/routes/{feed}/{}", encode_path_segment(route_id))
}

pub(super) fn line_departures_url(feed: &str, route_id: &str, day: Date, today: Date) -> String {
    let address = format!("/routes/{feed}/{}", encode_path_segment(route_id));
    if day == today { format!("{address}#times") } else { format!("{address}?date={day}#times") }
}

/// Encodes an id as one segment of a path.
pub(super) fn encode_path_segment(id: &str) -> Cow<'_, str> {
    utf8_percent_encode(id, SEGMENT).into()
}

/// Encodes an id for a query.
pub(super) fn encode_query_value(id: &str) -> Cow<'_, str> {
    utf8_percent_encode(id, QUERY).into()
}

/// Returns the address of the map with the card of a vehicle.
pub(super) fn vehicle_map_url(feed: &str, id: &str) -> String {
    format!("/map?vehicle={}", encode_query_value(&format!("{feed}:{id}")))
}

/// Returns the address of a network's alerts.
pub(super) fn network_alerts_url(feed: &str) -> String {
    format!("/alerts/{feed}")
}

/// Returns the address of a network's page.
pub(super) fn network_page_url(id: &str) -> String {
    format!("/networks/{id}")
}

/// Returns true if a code has a page here.
pub(super) fn has_rule_page(code: &str) -> bool {
    notice_kinds_of_all_formats().any(|(_, kind)| kind.code == code)
        || list_decoder_codes().iter().any(|known| known.code == code)
}

/// Returns the address of a rule's page. Codes are letters, digits and underscores.
pub(super) fn rule_page_url(code: &str) -> String {
    format!("/rules/{code}")
}

/// Parses `HH:MM:SS`, as in GTFS; hours may exceed 24.
pub(super) fn parse_gtfs_time(text: &str) -> Option<i32> {
    let mut parts = text
        .split(':')
        .map(|part| part.parse::<i32>().ok().filter(|part| (0..1000).contains(part)));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    Some(hours * 3600 + minutes * 60 + seconds)
}

/// Splits the service date and the start time from a departure's id, which ends with
/// `:<start_date>:<start_time>:<stop_sequence>`.
pub(super) fn split_departure_id(departure_id: &str) -> (&str, &str) {
    let (rest, _) = departure_id.rsplit_once(':').unwrap_or_default();
    let is_date = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let ends = rest.rmatch_indices(':').map(|(at, _)| at).take(3);
    for at in ends {
        let (before, start) = (&rest[..at], &rest[at + 1..]);
        let date = before.rsplit_once(':').map_or("", |(_, date)| date);
        if is_date(date) && (start.is_empty() || parse_gtfs_time(start).is_some()) {
            return (date, start);
        }
    }
    ("", "")
}

/// Returns the address of a trip's page. `date` is a service date as `YYYYMMDD`, `start_time` the start of a repeated
/// trip; both may be empty.
pub(super) fn trip_page_url(feed: &str, trip_id: &str, date: &str, start_time: &str) -> String {
    let mut address = format!("/trips/{feed}/{}", encode_path_segment(trip_id));
    let mut separator = '?';
    if let (8, Some((year, day))) = (date.len(), date.split_at_checked(4)) {
        let (month, day) = day.split_at_checked(2).unwrap_or_default();
        address += &format!("{separator}date={year}-{month}-{day}");
        separator = '&';
    }
    if !start_time.is_empty() {
        address += &format!("{separator}start={}", encode_query_value(start_time));
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_encoded_as_one_path_segment() {
        assert_eq!(encode_path_segment("a/b c?d"), "a%2Fb%20c%3Fd");
        assert_eq!(encode_query_value("a&b=c+d:e"), "a%26b%3Dc%2Bd%3Ae");
    }

    #[test]
    fn a_departure_id_contains_its_date_and_start() {
        for (id, expect) in [
            ("a1:20261123::2", ("20261123", "")),
            ("often:20261123:08:30:00:2", ("20261123", "08:30:00")),
            ("x:20250101:y:20261123::2", ("20261123", "")),
            ("live:entity:7", ("", "")),
            ("", ("", "")),
            ("ü:2026112é::1", ("", "")),
        ] {
            assert_eq!(split_departure_id(id), expect, "{id}");
        }
    }
}
