//! Formatting of changes as readable lines.

use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Select Graphic Rendition parameters of terminals (ECMA-48 §8.3.117).
const BOLD: &str = "1";
const GREEN: &str = "32";
const RED: &str = "31";

/// The output style of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventStyle {
    /// One line per change.
    Lines,
    /// Each event's unchanged data, one JSON object per line.
    Json,
}

/// Formats the data of events.
#[derive(Debug)]
pub(crate) struct EventFormatter {
    style: EventStyle,
    /// True if marks and names are colored, for a terminal.
    is_colored: bool,
    zone: TimeZone,
}

impl EventFormatter {
    pub(crate) fn new(style: EventStyle, colored: bool) -> Self {
        Self { style, is_colored: colored, zone: TimeZone::system() }
    }

    /// Returns the lines for one event, without a trailing line feed.
    pub(crate) fn format_event(&self, event: &str) -> String {
        match (self.style, serde_json::from_str::<Value>(event)) {
            (EventStyle::Json, _) => event.to_owned(),
            (EventStyle::Lines, Ok(event)) => self.format_event_message(&event),
            (EventStyle::Lines, Err(error)) => format!("invalid event, not JSON: {error}"),
        }
    }

    fn format_event_message(&self, event: &Value) -> String {
        let channel = event["channel"].as_str().unwrap_or("?");
        let data = &event["data"];
        let time = self.format_local_time(&data["at"]);
        if data.get("changes").is_none() {
            // An operator's own message may be any JSON: printed on one line, without terminal control characters.
            let data = data.to_string().replace(char::is_control, "\u{fffd}");
            return format!("{time} {}  {data}", self.colorize_text(BOLD, channel));
        }
        let changes = data["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut out = format!("{time} {}", self.colorize_text(BOLD, channel));
        if let Some(state) = data.get("state") {
            let gap_note = if data["gap"] == true { " again, after a gap" } else { "" };
            let (part, parts) = (&state["part"], &state["parts"]);
            _ = write!(
                out,
                "  state{gap_note}, part {part} of {parts}: {}",
                format_change_count(changes.len())
            );
        } else {
            _ = write!(out, "  {}", format_change_count(changes.len()));
        }
        for change in changes {
            let (mark, change_text) = mark_and_describe_change(change);
            let color = if mark == "+" { GREEN } else { RED };
            _ = write!(out, "\n  {} {change_text}", self.colorize_text(color, mark));
            for line in list_changed_report_codes(change) {
                _ = write!(out, "\n      {line}");
            }
        }
        out
    }

    fn colorize_text(&self, color: &str, text: &str) -> String {
        if self.is_colored { format!("\x1b[{color}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn format_local_time(&self, at: &Value) -> String {
        let at = at.as_i64().and_then(|at| Timestamp::from_millisecond(at).ok());
        at.map_or_else(
            || "--:--:--".to_owned(),
            |at| at.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string(),
        )
    }
}

fn format_change_count(changes: usize) -> String {
    if changes == 1 { "1 change".to_owned() } else { format!("{changes} changes") }
}

/// Returns the mark and the description of a change.
fn mark_and_describe_change(change: &Value) -> (&'static str, String) {
    let kind = change["kind"].as_str().unwrap_or("?").replace('_', " ");
    let id = change["id"].as_str().unwrap_or("?");
    if change["op"] == "remove" {
        let why = change["why"].as_str().unwrap_or("gone");
        return ("-", format!("{kind} {id}: {why}"));
    }
    let record = &change["record"];
    let change_text = match change["kind"].as_str() {
        Some("vehicle") => describe_vehicle(record),
        Some("trip_update") => describe_route_and_next_stop(&record["lineside"]),
        Some("departure") => describe_departure(record),
        Some("alert") => json_value_to_text(&record["header_text"]["translation"][0]["text"]),
        Some("report") => describe_report_counts(record),
        Some("feed") => {
            format!(
                "{}, {}",
                json_value_to_text(&record["state"]),
                json_value_to_text(&record["reason"])
            )
        }
        _ => String::new(),
    };
    ("+", format!("{kind} {id}: {change_text}").trim_end_matches([':', ' ']).to_owned())
}

/// Describes the counts of a report.
fn describe_report_counts(record: &Value) -> String {
    let outcome = json_value_to_text(&record["outcome"]).replace('_', " ");
    let mut out = if outcome == "whole" { String::new() } else { format!("{outcome}, ") };
    for (n, (member, one)) in
        [("errors", "error"), ("warnings", "warning"), ("infos", "info")].into_iter().enumerate()
    {
        let count = record[member].as_u64().unwrap_or_default();
        let comma = if n == 0 { "" } else { ", " };
        let plural = if count == 1 { "" } else { "s" };
        _ = write!(out, "{comma}{count} {one}{plural}");
    }
    out
}

/// Returns a line for each code of a report, with the change since the last report.
fn list_changed_report_codes(change: &Value) -> Vec<String> {
    let record = &change["record"];
    let list = |member: &str| record[member].as_array().map(Vec::as_slice).unwrap_or_default();
    if change["kind"] != "report" {
        return Vec::new();
    }
    let line = |it: &Value, count: u64| {
        format!(
            "{:<7} {} {count}",
            json_value_to_text(&it["severity"]),
            json_value_to_text(&it["code"])
        )
    };
    let is_same_code = |it: &Value, other: &Value| {
        it["code"] == other["code"] && it["severity"] == other["severity"]
    };
    let found = list("codes").iter().map(|it| {
        let before = list("changed").iter().find(|changed| is_same_code(changed, it));
        let before = before.map(|changed| changed["before"].as_u64().unwrap_or_default());
        let line = line(it, it["count"].as_u64().unwrap_or_default());
        match before {
            Some(0) => format!("{line} (new)"),
            Some(before) => format!("{line} (was {before})"),
            None => line,
        }
    });
    let removed = list("changed").iter().filter(|changed| changed["now"] == 0);
    let removed = removed
        .map(|it| format!("{} (was {})", line(it, 0), it["before"].as_u64().unwrap_or_default()));
    found.chain(removed).collect()
}

fn describe_vehicle(record: &Value) -> String {
    let mut out = describe_route_and_next_stop(&record["lineside"]);
    let position = &record["position"];
    if let (Some(lat), Some(lon)) = (position["latitude"].as_f64(), position["longitude"].as_f64())
    {
        _ = write!(out, "  at {lat:.5}, {lon:.5}");
    }
    out.trim_start().to_owned()
}

/// Describes route, headsign, delay and next stop, as far as the timetable provides them.
fn describe_route_and_next_stop(join: &Value) -> String {
    let mut out = json_value_to_text(&join["route_short_name"]);
    if let Some(headsign) = join["headsign"].as_str() {
        _ = write!(out, " to {headsign}");
    }
    if let Some(delay) = join["delay"].as_i64() {
        _ = write!(out, ", {}", format_delay(delay));
    }
    if let Some(stop) = join["next_stop_name"].as_str() {
        _ = write!(out, ", next {stop}");
    }
    out
}

fn describe_departure(record: &Value) -> String {
    let route = json_value_to_text(&record["route_short_name"]);
    let headsign = json_value_to_text(&record["headsign"]);
    let when = json_value_to_text(
        record.get("expected").filter(|at| !at.is_null()).unwrap_or(&record["scheduled"]),
    );
    format!("{route} to {headsign} at {when}, {}", json_value_to_text(&record["status"]))
}

fn json_value_to_text(value: &Value) -> String {
    value.as_str().map_or_else(
        || if value.is_null() { String::new() } else { value.to_string() },
        ToOwned::to_owned,
    )
}

fn format_delay(delay: i64) -> String {
    match delay {
        0 => "on time".to_owned(),
        1.. => format!("{} late", format_seconds_or_minutes(delay)),
        _ => format!("{} early", format_seconds_or_minutes(-delay)),
    }
}

fn format_seconds_or_minutes(seconds: i64) -> String {
    if seconds < 60 { format!("{seconds} s") } else { format!("{} min", (seconds + 30) / 60) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(data: &Value, expect: &str) {
        let show =
            EventFormatter { style: EventStyle::Lines, is_colored: false, zone: TimeZone::UTC };
        let event = json!({ "channel": "feed/city", "epoch": "e", "data": data });
        assert_eq!(show.format_event(&event.to_string()), expect);
    }

    #[test]
    fn a_change_is_formatted_as_one_line() {
        let record = json!({
            "position": { "latitude": 59.91, "longitude": 10.75 },
            "lineside": {
                "route_short_name": "4", "headsign": "Harbour", "delay": 95,
                "next_stop_name": "Old Town"
            }
        });
        let changes = json!([
            { "op": "upsert", "feed": "v", "kind": "vehicle", "id": "t4", "record": record },
            { "op": "remove", "feed": "v", "kind": "vehicle", "id": "t9", "why": "gone" }
        ]);
        check(
            &json!({ "at": 27_000_000, "changes": changes }),
            "07:30:00 feed/city  2 changes\n  \
             + vehicle t4: 4 to Harbour, 2 min late, next Old Town  at 59.91000, 10.75000\n  \
             - vehicle t9: gone",
        );
    }

    #[test]
    fn a_report_is_formatted_as_counts_and_codes() {
        let record = json!({
            "subject": "realtime", "outcome": "cut_short", "errors": 3, "warnings": 1, "infos": 0,
            "codes": [
                { "code": "E003", "severity": "ERROR", "count": 3 },
                { "code": "W008", "severity": "WARNING", "count": 1 }
            ],
            "changed": [
                { "code": "E003", "severity": "ERROR", "before": 2, "now": 3 },
                { "code": "W008", "severity": "WARNING", "before": 0, "now": 1 },
                { "code": "W001", "severity": "WARNING", "before": 7, "now": 0 }
            ]
        });
        let change = json!({ "op": "upsert", "feed": "city", "kind": "report", "id": "realtime", "record": record });
        check(
            &json!({ "at": 0, "changes": [change] }),
            "00:00:00 feed/city  1 change\n  \
             + report realtime: cut short, 3 errors, 1 warning, 0 infos\n      \
             ERROR   E003 3 (was 2)\n      \
             WARNING W008 1 (new)\n      \
             WARNING W001 0 (was 7)",
        );
    }

    #[test]
    fn a_state_event_gives_its_part_and_any_gap() {
        let state = json!({ "part": 1, "parts": 2 });
        check(
            &json!({ "at": 0, "state": state, "gap": true, "changes": [] }),
            "00:00:00 feed/city  state again, after a gap, part 1 of 2: 0 changes",
        );
    }

    #[test]
    fn other_events_are_shown_as_json() {
        check(
            &json!({ "text": "a\u{1b}[2J\u{9b}b" }),
            "--:--:-- feed/city  {\"text\":\"a\\u001b[2J\u{fffd}b\"}",
        );
        check(&json!(7), "--:--:-- feed/city  7");
    }

    #[test]
    fn json_is_passed_through() {
        let show =
            EventFormatter { style: EventStyle::Json, is_colored: true, zone: TimeZone::UTC };
        assert_eq!(show.format_event("{\"a\":1}"), "{\"a\":1}");
    }
}
