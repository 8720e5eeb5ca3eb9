//! The texts of times, delays and states, identical to those of `web/plain/words.js`.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_ingest::Network;
use lineside_model::FetchPhase;
use lineside_model::RouteMode;
use lineside_quality::check::format_with_thin_spaces;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

/// Below this many seconds a departure counts as on time.
const ON_TIME_S: i64 = 60;

/// The least seconds of a long delay.
const VERY_LATE_S: i64 = 300;

/// A date as in `8 Feb 2024`, which does not break at the end of a line.
const DAY: &str = "%-d\u{a0}%b\u{a0}%Y";

/// Characters of a name that a page shows; the longest real names have about a hundred.
const NAME_CHARS_MAX: usize = 200;

/// Returns the first characters of a name: a page with hundreds of names must stay small even if a producer's names are
/// long.
pub(super) fn shorten_name(name: &str) -> &str {
    let end = name.char_indices().nth(NAME_CHARS_MAX);
    end.map_or(name, |(end, _)| &name[..end])
}

/// Returns the title of a line: `Line 7`, but `N Line` for a line with that name.
pub(super) fn line_title(name: &str) -> String {
    let name = shorten_name(name);
    let mut name_words = name.split(|letter: char| !letter.is_alphanumeric());
    let has_noun = name_words.any(|word| word.eq_ignore_ascii_case("line"));
    if has_noun { name.to_owned() } else { format!("Line {name}") }
}

/// Returns the heading of the stored text of a failed poll.
pub(super) fn failed_poll_text_heading(is_converter: bool) -> &'static str {
    if is_converter { "The converter's standard error" } else { "First bytes" }
}

/// Describes the activity of a poll in a phase.
pub(super) fn describe_fetch_phase(phase: FetchPhase) -> &'static str {
    match phase {
        FetchPhase::Dns => "looking up the host",
        FetchPhase::Connect => "connecting",
        FetchPhase::Tls => "setting up TLS",
        FetchPhase::Wait => "waiting for a reply",
        FetchPhase::Body => "receiving the body",
        FetchPhase::Decode => "decoding the data",
    }
}

/// A delay in a board's words, with the class name of its color.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DelayText {
    pub(super) text: String,
    pub(super) tone: &'static str,
}

/// Describes a delay. `status` is the departure's, `delay` in seconds and positive when late.
pub(super) fn format_delay(status: &str, delay: Option<i64>) -> DelayText {
    let build_text = |delay_text: &str, tone| DelayText { text: delay_text.to_owned(), tone };
    match (status, delay) {
        ("cancelled", _) => build_text("Cancelled", "cancelled"),
        ("skipped", _) => build_text("Does not stop here", "cancelled"),
        ("realtime", None) => build_text("Predicted", "live"),
        ("scheduled", _) | (_, None) => build_text("Scheduled", "scheduled"),
        (_, Some(delay)) if delay.abs() < ON_TIME_S => build_text("On time", "on-time"),
        (_, Some(delay)) if delay < 0 => build_text(&format!("{} min early", -delay / 60), "early"),
        (_, Some(delay)) => build_text(
            &format!("{} min late", delay / 60),
            if delay >= VERY_LATE_S { "very-late" } else { "late" },
        ),
    }
}

/// Returns the delay between two times as clocks show them, to the minute, so that a page's status follows from the
/// times next to it. Without both times, or for a trip of unknown delay, it is the known `delay`.
pub(super) fn delay_in_shown_minutes(
    delay: Option<i64>,
    scheduled: Option<i64>,
    expected: Option<i64>,
) -> Option<i64> {
    let minute = |at: i64| at.div_euclid(60);
    let times = delay.and(scheduled.zip(expected));
    times.map(|(scheduled, expected)| (minute(expected) - minute(scheduled)) * 60).or(delay)
}

/// Describes a past call with its last known delay. A timetable alone does not say when the trip was there.
pub(super) fn format_passed_call(status: &str, seconds: Option<i64>) -> DelayText {
    let last = format_delay(status, seconds);
    match last.tone {
        "cancelled" => last,
        "scheduled" | "live" => DelayText { text: "Passed".to_owned(), ..last },
        "on-time" => DelayText { text: "Passed on time".to_owned(), ..last },
        _ => DelayText { text: format!("Passed, {}", last.text), ..last },
    }
}

/// Describes the time until a departure on a board.
pub(super) fn format_time_until_departure(seconds: i64) -> String {
    if seconds < -30 {
        return "left".to_owned();
    }
    if seconds < 30 {
        return "now".to_owned();
    }
    let minutes = (seconds + 30) / 60;
    if minutes <= 60 {
        format!("{} min", minutes.max(1))
    } else {
        format!("{} h {} min", minutes / 60, minutes % 60)
    }
}

/// Describes an age roughly.
pub(super) fn format_age(seconds: i64) -> String {
    match seconds {
        ..1 => "just now".to_owned(),
        1..120 => format!("{seconds} s ago"),
        120..7_200 => format!("{} min ago", seconds / 60),
        7_200..172_800 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", format_number((seconds / 86_400).unsigned_abs())),
    }
}

/// Describes a duration in words.
pub(super) fn describe_duration(seconds: u64) -> String {
    match seconds {
        0 => "less than a second".to_owned(),
        1 => "1 second".to_owned(),
        2..120 => format!("{seconds} seconds"),
        120..7_200 => format!("{} minutes", seconds / 60),
        7_200..172_800 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", format_number(seconds / 86_400)),
    }
}

/// Formats local hours and minutes.
pub(super) fn format_clock(unix_seconds: i64, timezone: &TimeZone) -> String {
    format_time_with_pattern(unix_seconds, timezone, "%H:%M")
}

/// Formats local hours and minutes, after the day if it is not the day of `now`, Unix seconds.
pub(super) fn format_clock_or_day(unix_seconds: i64, now: i64, timezone: &TimeZone) -> String {
    if format_local_day(unix_seconds, timezone) == format_local_day(now, timezone) {
        format_clock(unix_seconds, timezone)
    } else {
        format_time_with_pattern(unix_seconds, timezone, "%-d\u{a0}%b\u{a0}%Y, %H:%M")
    }
}

/// Formats the local day of a time in ISO 8601, such as `2024-02-08`.
pub(super) fn format_local_day(unix_seconds: i64, timezone: &TimeZone) -> String {
    format_time_with_pattern(unix_seconds, timezone, "%Y-%m-%d")
}

/// Formats the local day of a time, such as `8 Feb 2024`.
pub(super) fn format_day_of_time(at: UnixMillis, zone: &TimeZone) -> String {
    format_time_with_pattern(at.unix_seconds(), zone, DAY)
}

/// Formats a date without its weekday, such as `8 Feb 2024`.
pub(super) fn format_day(date: Date) -> String {
    date.strftime(DAY).to_string()
}

/// Formats a date, such as `Mon 23 Nov 2026`.
pub(super) fn format_date_with_weekday(date: Date) -> String {
    date.strftime("%a\u{a0}%-d\u{a0}%b\u{a0}%Y").to_string()
}

/// Formats local hours, minutes and seconds.
pub(super) fn format_clock_seconds(unix_seconds: i64, timezone: &TimeZone) -> String {
    format_time_with_pattern(unix_seconds, timezone, "%H:%M:%S")
}

/// Formats local day and time, with the zone's abbreviation, or its offset if it has none.
pub(super) fn format_time_with_zone(unix_seconds: i64, timezone: &TimeZone) -> String {
    let zone = zone_name(unix_seconds, timezone);
    format!("{} {zone}", format_time_without_zone(unix_seconds, timezone))
}

/// Formats local day and time, for pages that name the zone once.
pub(super) fn format_time_without_zone(unix_seconds: i64, timezone: &TimeZone) -> String {
    format_time_with_pattern(unix_seconds, timezone, "%-d\u{a0}%b\u{a0}%Y, %H:%M:%S")
}

/// Formats local day, hours and minutes, such as `23 Nov 07:30`.
pub(super) fn format_day_and_clock(unix_seconds: i64, timezone: &TimeZone) -> String {
    format_time_with_pattern(unix_seconds, timezone, "%-d\u{a0}%b %H:%M")
}

/// Returns the abbreviation of a zone at a time, such as `CET`. Many zones have only a number such as `-11`, which
/// becomes `UTC−11`.
pub(super) fn zone_name(unix_seconds: i64, timezone: &TimeZone) -> String {
    let name = format_time_with_pattern(unix_seconds, timezone, "%Z");
    let offset = |sign: char| name.strip_prefix(sign);
    match (offset('-'), offset('+')) {
        (Some(hours), _) => format!("UTC\u{2212}{hours}"),
        (_, Some(hours)) => format!("UTC+{hours}"),
        _ => name,
    }
}

/// Renders a time with its zone, as text and as machine-readable attribute.
pub(super) fn render_time_with_zone(at: UnixMillis, zone: &TimeZone) -> Markup {
    let seconds = at.unix_seconds();
    html! { time datetime=(format_rfc3339(seconds, zone)) { (format_time_with_zone(seconds, zone)) } }
}

/// Renders a time to the minute and without the zone, for a table that names it.
pub(super) fn render_time_to_minute(at: UnixMillis, zone: &TimeZone) -> Markup {
    let seconds = at.unix_seconds();
    html! { time datetime=(format_rfc3339(seconds, zone)) { (format_time_with_pattern(seconds, zone, "%-d\u{a0}%b\u{a0}%Y, %H:%M")) } }
}

/// Returns the zone of a network's displayed times: its timetable's, or UTC.
pub(super) fn network_zone(network: &Network) -> TimeZone {
    network.timetable().map_or(TimeZone::UTC, |timetable| timetable.timezone().clone())
}

/// Formats a time in RFC 3339.
pub(super) fn format_rfc3339(unix_seconds: i64, timezone: &TimeZone) -> String {
    format_time_with_pattern(unix_seconds, timezone, "%Y-%m-%dT%H:%M:%S%:z")
}

fn format_time_with_pattern(unix_seconds: i64, timezone: &TimeZone, format: &str) -> String {
    Timestamp::from_second(unix_seconds)
        .map(|at| at.to_zoned(timezone.clone()).strftime(format).to_string())
        .unwrap_or_else(|_| "–".to_owned())
}

/// Formats a number with thin spaces between thousands, which reads the same in every country.
pub(super) fn format_number(value: u64) -> String {
    format_with_thin_spaces(value)
}

/// Formats a non-negative number with one decimal and thin spaces between thousands.
pub(super) fn format_one_decimal(value: f64) -> String {
    let tenths = (value * 10.0).round() as u64;
    format!("{}.{}", format_number(tenths / 10), tenths % 10)
}

/// Formats a short duration.
pub(super) fn format_short_duration(seconds: f64) -> String {
    if seconds == 0.0 {
        "0 s".to_owned()
    } else if seconds < 0.001 {
        "< 1 ms".to_owned()
    } else if seconds < 1.0 {
        format!("{} ms", (seconds * 1_000.0).floor())
    } else if seconds < 10.0 && seconds.fract() != 0.0 {
        format!("{:.1} s", (seconds * 10.0).floor() / 10.0)
    } else if seconds < 120.0 {
        format!("{} s", seconds.floor())
    } else if seconds < 7_200.0 {
        format!("{} min", (seconds / 60.0).floor())
    } else {
        format!("{} h", format_number((seconds / 3_600.0) as u64))
    }
}

/// Formats a share of one as percent.
pub(super) fn format_percent(value: f64) -> String {
    format!("{} %", (value * 100.0).floor())
}

/// Formats a number of bytes.
pub(super) fn format_bytes(value: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    match value {
        0..KIB => format!("{} bytes", format_number(value)),
        KIB..MIB => format!("{} KiB", format_one_decimal(value as f64 / KIB as f64)),
        MIB..GIB => format!("{} MiB", format_one_decimal(value as f64 / MIB as f64)),
        _ => format!("{} GiB", format_one_decimal(value as f64 / GIB as f64)),
    }
}

/// Renders a code such as `expired_calendar`, with line breaks allowed after its underscores.
pub(super) fn render_breakable_code(code: &str) -> Markup {
    html! { @for part in code.split_inclusive('_') { (part) @if part.ends_with('_') { wbr; } } }
}

/// Renders an address, with line breaks allowed before its slashes.
pub(super) fn render_breakable_path(path: &str) -> Markup {
    html! { @for (at, part) in path.split('/').enumerate() { @if at > 0 { wbr; "/" } (part) } }
}

/// Formats a count: `1 feed`, `2 feeds`.
pub(super) fn format_count(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", format_number(value), if value == 1 { one } else { many })
}

/// Returns the heading of a mode's lines.
pub(super) fn mode_lines_heading(mode: RouteMode) -> &'static str {
    match mode {
        RouteMode::Tram => "Trams",
        RouteMode::Metro => "Metro trains",
        RouteMode::Train => "Trains",
        RouteMode::Bus => "Buses",
        RouteMode::Ferry => "Ferries",
        RouteMode::Cable => "Cable cars and funiculars",
        RouteMode::Other => "Other lines",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_at_a_character_boundary() {
        assert_eq!(shorten_name("Gare de l’Est"), "Gare de l’Est");
        assert_eq!(shorten_name(&"é".repeat(70_000)), "é".repeat(NAME_CHARS_MAX));
    }

    #[test]
    fn a_name_with_the_word_line_is_a_title() {
        assert_eq!(line_title("7"), "Line 7");
        assert_eq!(line_title("N Line"), "N Line");
        assert_eq!(line_title("1-Line"), "1-Line");
        assert_eq!(line_title("Airline"), "Line Airline");
    }

    /// Loads the cases that the tests of the browser's words use too.
    pub(crate) fn load_cases() -> serde_json::Value {
        serde_json::from_str(include_str!("../../../web/tests/words.json"))
            .expect("the cases are JSON")
    }

    fn list_cases<'a>(cases: &'a serde_json::Value, name: &str) -> &'a [serde_json::Value] {
        cases[name].as_array().map(Vec::as_slice).expect("a list of cases")
    }

    #[test]
    fn delays_are_formatted_as_in_the_browser() {
        for case in list_cases(&load_cases(), "delay") {
            let delay_text = format_delay(case[0].as_str().expect("a status"), case[1].as_i64());
            assert_eq!(
                (Some(delay_text.text.as_str()), Some(delay_text.tone)),
                (case[2].as_str(), case[3].as_str())
            );
        }
    }

    #[test]
    fn a_shown_delay_is_that_of_the_shown_minutes_as_in_the_browser() {
        for case in list_cases(&load_cases(), "shown_delay") {
            let [delay, scheduled, expected, shown] = [0, 1, 2, 3].map(|at| case[at].as_i64());
            assert_eq!(delay_in_shown_minutes(delay, scheduled, expected), shown, "{case}");
        }
    }

    #[test]
    fn a_passed_call_keeps_its_last_delay() {
        let format_passed = |status, seconds| format_passed_call(status, seconds).text;
        assert_eq!(format_passed("scheduled", None), "Passed");
        assert_eq!(format_passed("realtime", None), "Passed");
        assert_eq!(format_passed("realtime", Some(0)), "Passed on time");
        assert_eq!(format_passed("realtime", Some(125)), "Passed, 2 min late");
        assert_eq!(format_passed("skipped", None), format_delay("skipped", None).text);
    }

    #[test]
    fn due_times_and_ages_are_formatted_as_in_the_browser() {
        for case in list_cases(&load_cases(), "due") {
            assert_eq!(
                Some(format_time_until_departure(case[0].as_i64().expect("seconds")).as_str()),
                case[1].as_str()
            );
        }
        for case in list_cases(&load_cases(), "age").iter().filter(|case| case[0].is_i64()) {
            assert_eq!(
                Some(format_age(case[0].as_i64().expect("seconds")).as_str()),
                case[1].as_str()
            );
        }
    }

    #[test]
    fn figures_are_formatted_as_in_the_browser() {
        let (cases, formatted) =
            (load_cases(), |case: &serde_json::Value| case[1].as_str().map(str::to_owned));
        for case in list_cases(&cases, "duration") {
            assert_eq!(
                Some(format_short_duration(case[0].as_f64().expect("seconds"))),
                formatted(case)
            );
        }
        for case in list_cases(&cases, "share") {
            assert_eq!(Some(format_percent(case[0].as_f64().expect("a share"))), formatted(case));
        }
        for case in list_cases(&cases, "bytes") {
            assert_eq!(Some(format_bytes(case[0].as_u64().expect("bytes"))), formatted(case));
        }
        for case in list_cases(&cases, "number") {
            assert_eq!(Some(format_number(case[0].as_u64().expect("a number"))), formatted(case));
        }
    }

    #[test]
    fn a_time_on_another_day_is_formatted_as_in_the_browser() {
        for case in list_cases(&load_cases(), "clock_or_day") {
            let seconds = |at: usize| case[at].as_i64().expect("seconds");
            let zone = TimeZone::get(case[2].as_str().expect("a zone")).expect("a known zone");
            assert_eq!(
                Some(&*format_clock_or_day(seconds(0), seconds(1), &zone)),
                case[3].as_str()
            );
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(format_number(0), "0");
        assert_eq!(format_number(999), "999");
        assert_eq!(format_number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(format_count(1, "feed", "feeds"), "1 feed");
        assert_eq!(format_bytes(1_536), "1.5 KiB");
    }

    #[test]
    fn a_moment_includes_its_time_zone() {
        let at = |zone: &str| format_time_with_zone(0, &TimeZone::get(zone).expect("a known zone"));
        assert_eq!(at("Asia/Tokyo"), "1\u{a0}Jan\u{a0}1970, 09:00:00 JST");
        assert_eq!(at("Asia/Dubai"), "1\u{a0}Jan\u{a0}1970, 04:00:00 UTC+04");
        assert_eq!(at("Etc/GMT+11"), "31\u{a0}Dec\u{a0}1969, 13:00:00 UTC\u{2212}11");
    }

    #[test]
    fn a_clock_shows_local_time() {
        let tokyo = TimeZone::get("Asia/Tokyo").expect("a known zone");
        assert_eq!(format_clock(0, &tokyo), "09:00");
        assert_eq!(format_rfc3339(0, &tokyo), "1970-01-01T09:00:00+09:00");
    }
}
