//! Formats the fields of a finding for people: in a fixed order, with units, and without meaningless digits.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_validate::NoticeKind;
use lineside_validate::rules::{gbfs, gtfs, gtfs_rt, netex, siri};
use maud::{Markup, html};
use serde_json::{Map, Value};

/// The fields that locate a finding, in their order of output.
const LOCATION_FIELDS: [&str; 4] = [FILE, "childFilename", "csvRowNumber", "line"];
/// The field with the name of a file.
const FILE: &str = "filename";
/// Number of decimals of a coordinate: a tenth of a meter.
const COORDINATE_DIGITS: usize = 6;

/// All kinds of findings by code; formats may share a code with different meanings.
static KINDS: LazyLock<HashMap<&'static str, Vec<&'static NoticeKind>>> = LazyLock::new(|| {
    let all = gtfs::schedule_notice_kinds()
        .chain(gtfs_rt::realtime_notice_kinds())
        .chain(gbfs::gbfs_notice_kinds());
    let mut kinds: HashMap<&str, Vec<&NoticeKind>> = HashMap::new();
    for kind in all.chain(siri::siri_notice_kinds()).chain(netex::publication_notice_kinds()) {
        kinds.entry(kind.code).or_default().push(kind);
    }
    kinds
});

/// Returns the kinds of findings with this code, one per format; empty for a code of a decoder or of another program.
fn notice_kinds_for_code(code: &str) -> &'static [&'static NoticeKind] {
    KINDS.get(code).map(Vec::as_slice).unwrap_or_default()
}

/// The fields of one kind of finding.
#[derive(Clone, Debug)]
pub(crate) struct FindingFields {
    kind: Option<&'static NoticeKind>,
    /// The file that line numbers refer to, if the findings do not name it.
    file: Option<&'static str>,
    /// The time zone of formatted times.
    zone: TimeZone,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldUnit {
    Nothing,
    Degrees,
    Moment,
    Meters,
    Kilometers,
    KilometersPerHour,
    MetersPerSecond,
    Seconds,
}

impl FindingFields {
    /// Returns the fields of the kind with this code and summary. Times are in UTC.
    pub(crate) fn for_code(code: &str, summary: &str) -> FindingFields {
        let kind =
            notice_kinds_for_code(code).iter().copied().find(|kind| kind.page_summary() == summary);
        let file = kind.and_then(gtfs::file_of_notice_line_numbers).map(|file| file.file_name());
        FindingFields { kind, file, zone: TimeZone::UTC }
    }

    /// Sets the time zone of formatted times.
    fn with_time_zone(self, zone: &TimeZone) -> FindingFields {
        FindingFields { zone: zone.clone(), ..self }
    }

    /// Returns the fields that any of the samples has, in order: the location comes first, because users look for it
    /// first.
    pub(crate) fn ordered_field_names<'a>(
        &self,
        samples: &'a [Map<String, Value>],
    ) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for name in samples.iter().flat_map(|sample| sample.keys()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let has_file = names.contains(&FILE);
        let kind_position = |name: &str| {
            let fields = self.kind.map(|kind| kind.fields).unwrap_or_default();
            fields.iter().position(|(field, _)| *field == name).unwrap_or(fields.len())
        };
        let position_of = |name: &str| {
            LOCATION_FIELDS.iter().position(|it| *it == name).unwrap_or(LOCATION_FIELDS.len())
        };
        names.sort_by_key(|name| (position_of(name), kind_position(name)));
        if self.file.is_some() && !has_file && !names.is_empty() {
            names.insert(0, FILE);
        }
        names
    }

    pub(crate) fn field_meaning(&self, name: &str) -> Option<&'static str> {
        let fields = self.kind.map(|kind| kind.fields).unwrap_or_default();
        let known_meaning =
            fields.iter().find(|(field, _)| *field == name).map(|(_, meaning)| *meaning);
        known_meaning
            .or_else(|| (name == FILE && self.file.is_some()).then_some("The file of the lines."))
    }

    /// Returns the name of a field in the reference validator's reports, with its meaning.
    fn field_name_with_meaning(&self, name: &str) -> String {
        match self.field_meaning(name) {
            Some(meaning) => format!("{name}: {}", meaning.replace('`', "")),
            None => name.to_owned(),
        }
    }

    /// Formats the value of a field for people; `None` if the sample lacks the field. Strings stay as they are.
    pub(crate) fn format_field_value(
        &self,
        name: &str,
        sample: &Map<String, Value>,
    ) -> Option<String> {
        match sample.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Array(all)) if self.field_unit(name) == FieldUnit::Degrees => {
                let all: Vec<String> =
                    all.iter().map(|it| self.format_number_with_unit(name, it)).collect();
                Some(all.join(", "))
            }
            Some(value) => Some(self.format_number_with_unit(name, value)),
            None if name == FILE => self.file.map(str::to_owned),
            None => None,
        }
    }

    fn format_number_with_unit(&self, name: &str, value: &Value) -> String {
        let Some(number) = value.as_f64() else { return value.to_string() };
        let unit = self.field_unit(name);
        match unit {
            FieldUnit::Moment => match value.as_i64().map(Timestamp::from_second) {
                Some(Ok(at)) if self.zone == TimeZone::UTC => at.to_string(),
                Some(Ok(at)) => {
                    at.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
                }
                _ => value.to_string(),
            },
            FieldUnit::Degrees => format_decimal_trimmed(number, COORDINATE_DIGITS),
            FieldUnit::Meters => {
                format!("{} m", format_decimal_trimmed(number, if number < 10.0 { 2 } else { 0 }))
            }
            // Names of the reference validator may contain the unit.
            FieldUnit::Kilometers if name.ends_with("Km") => format_decimal_trimmed(number, 2),
            FieldUnit::Kilometers => format!("{} km", format_decimal_trimmed(number, 2)),
            FieldUnit::KilometersPerHour if name.ends_with("Kph") => {
                format_decimal_trimmed(number, 0)
            }
            FieldUnit::KilometersPerHour => format!("{} km/h", format_decimal_trimmed(number, 0)),
            FieldUnit::MetersPerSecond => format!("{} m/s", format_decimal_trimmed(number, 1)),
            FieldUnit::Seconds => {
                let coarse = format_long_duration(number).map(|coarse| format!(" ({coarse})"));
                format!("{} s{}", format_decimal_trimmed(number, 1), coarse.unwrap_or_default())
            }
            FieldUnit::Nothing if value.is_f64() => {
                format_decimal_trimmed(number, COORDINATE_DIGITS)
            }
            FieldUnit::Nothing => value.to_string(),
        }
    }

    /// Returns the unit of a field. Descriptions of fields name the unit.
    fn field_unit(&self, name: &str) -> FieldUnit {
        const DEGREES: [&str; 9] = [
            "latitude",
            "longitude",
            "lat",
            "lon",
            "latFieldValue",
            "lonFieldValue",
            "match",
            "match1",
            "match2",
        ];
        let meaning = self.field_meaning(name).unwrap_or_default();
        let mentions = |words: &[&str]| words.iter().any(|word| meaning.contains(word));
        match () {
            () if DEGREES.contains(&name) => FieldUnit::Degrees,
            () if mentions(&["seconds since 1970"]) => FieldUnit::Moment,
            () if mentions(&["in meters per second"]) => FieldUnit::MetersPerSecond,
            () if mentions(&["in meters"]) => FieldUnit::Meters,
            () if mentions(&["in km/h"]) => FieldUnit::KilometersPerHour,
            () if mentions(&["in kilometers", "in km"]) => FieldUnit::Kilometers,
            () if mentions(&["in seconds", "The seconds "]) => FieldUnit::Seconds,
            () => FieldUnit::Nothing,
        }
    }
}

/// Formats seconds in whole minutes, hours or days, cut as on the other pages; `None` below two minutes.
fn format_long_duration(seconds: f64) -> Option<String> {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    let (unit, name) = match seconds.abs() {
        length if length < 2.0 * MINUTE => return None,
        length if length < 2.0 * HOUR => (MINUTE, "min"),
        length if length < 2.0 * DAY => (HOUR, "h"),
        _ => (DAY, "d"),
    };
    Some(format!("{} {name}", format_decimal_trimmed((seconds / unit).trunc(), 0)))
}

/// Formats a number with at most `digits` decimals.
fn format_decimal_trimmed(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if !text.contains('.') {
        return text;
    }
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Formats a number with thin spaces between thousands, which every country reads alike.
pub fn format_with_thin_spaces(value: u64) -> String {
    let digits = value.to_string();
    let mut spaced = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            spaced.push('\u{202f}');
        }
        spaced.push(digit);
    }
    spaced
}

/// Returns a field's name in plain words: `csvRowNumber` is "line", `prevShapePtSequence` "previous shape point
/// sequence".
pub(super) fn field_name_in_words(name: &str) -> String {
    const NAMES: [(&str, &str); 14] = [
        ("csvRowNumber", "line"),
        ("csvRowNumber1", "first line"),
        ("csvRowNumber2", "second line"),
        ("filename", "file"),
        ("childFilename", "file"),
        ("childFieldName", "field"),
        ("parentFilename", "missing in file"),
        ("parentFieldName", "missing in field"),
        ("fieldName", "field"),
        ("fieldValue", "value"),
        ("oldCsvRowNumber", "first line"),
        ("newCsvRowNumber", "second line"),
        ("prevCsvRowNumber", "previous line"),
        ("entityId", "entity"),
    ];
    const PLAIN_WORDS: [(&str, &str); 10] = [
        ("prev", "previous"),
        ("pt", "point"),
        ("dist", "distance"),
        ("lat", "latitude"),
        ("lon", "longitude"),
        ("kph", "(km/h)"),
        ("km", "(km)"),
        ("csv", ""),
        ("desc", "description"),
        ("num", "number"),
    ];
    if let Some((_, plain)) = NAMES.iter().find(|(known, _)| *known == name) {
        return (*plain).to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !c.is_ascii_uppercase() && c != '_' => word.push(c),
            _ if c == '_' => words.push(String::new()),
            _ => words.push(c.to_ascii_lowercase().to_string()),
        }
    }
    let plain = |word: String| {
        let known = PLAIN_WORDS.iter().find(|(known, _)| *known == word);
        known.map_or(word, |(_, plain)| (*plain).to_owned())
    };
    let words: Vec<String> = words.into_iter().map(plain).filter(|word| !word.is_empty()).collect();
    words.join(" ").replace("row number", "line")
}

/// Renders findings of one kind as a table with a row for each finding and a column for each field. Users scroll a wide
/// table by keyboard; a narrow page stacks the cells of a row (`stacked`).
pub fn render_findings_table(
    code: &str,
    summary: &str,
    samples: &[Map<String, Value>],
    zone: &TimeZone,
) -> Markup {
    let fields = FindingFields::for_code(code, summary).with_time_zone(zone);
    let names = fields.ordered_field_names(samples);
    html! {
        @if !names.is_empty() {
            div.scroll tabindex="0" role="region" aria-label=(format!("Rows of {code}")) {
                table.samples.stacked role="table" {
                    thead role="rowgroup" { tr role="row" {
                        @for name in &names { th scope="col" role="columnheader" title=(fields.field_name_with_meaning(name)) { (field_name_in_words(name)) } }
                    } }
                    tbody role="rowgroup" {
                        @for sample in samples {
                            tr role="row" {
                                @for name in &names { td role="cell" data-label=(field_name_in_words(name)) { (render_field_value(name, &fields.format_field_value(name, sample).unwrap_or_default())) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders a value, and a date such as `20141228` also in words.
fn render_field_value(name: &str, text: &str) -> Markup {
    let is_date = text.len() == 8 && name.to_ascii_lowercase().contains("date");
    let date = is_date.then(|| Date::strptime("%Y%m%d", text).ok()).flatten();
    html! { (text) @if let Some(date) = date { " (" (date.strftime("%-d %b %Y").to_string()) ")" } }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the formatted fields of a sample, in order.
    fn shown(kind: &'static str, sample: &Value) -> Vec<(String, String)> {
        let rule_code = KINDS[kind][0];
        let fields = FindingFields::for_code(kind, rule_code.page_summary());
        let samples = [sample.as_object().unwrap().clone()];
        let names = fields.ordered_field_names(&samples);
        let cell = |name: &str| fields.format_field_value(name, &samples[0]).unwrap_or_default();
        names.into_iter().map(|name| (name.to_owned(), cell(name))).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, cell)| ((*name).to_owned(), (*cell).to_owned())).collect()
    }

    #[test]
    fn dates_are_also_shown_in_words() {
        let cell = |name: &str, text: &str| render_field_value(name, text).into_string();
        assert_eq!(cell("serviceWindowEndDate", "20141228"), "20141228 (28 Dec 2014)");
        assert_eq!(cell("serviceWindowEndDate", "20141328"), "20141328");
        assert_eq!(cell("tripId", "20141228"), "20141228");
    }

    #[test]
    fn numbers_have_units_and_no_insignificant_digits() {
        let jump = json!({"entityId": "1", "vehicleId": "V", "latitude": 59.9498176574707, "longitude": 10.75,
            "distance": 33355, "seconds": 2, "speed": 16677});
        let expected = [
            ("entityId", "1"),
            ("vehicleId", "V"),
            ("latitude", "59.949818"),
            ("longitude", "10.75"),
            ("distance", "33355 m"),
            ("seconds", "2 s"),
            ("speed", "16677 m/s"),
        ];
        assert_eq!(shown("vehicle_jump", &jump), pairs(&expected));
        let leg = json!({"distanceKm": 5977.123, "speedKph": 881.5});
        assert_eq!(
            shown("fast_travel_between_far_stops", &leg),
            pairs(&[
                ("filename", "stop_times.txt"),
                ("speedKph", "882"),
                ("distanceKm", "5977.12")
            ])
        );
        let back = json!({"headerTimestamp": 1_795_369_202, "previousTimestamp": 1_795_370_379});
        let expected = [
            ("headerTimestamp", "2026-11-22T17:40:02Z"),
            ("previousTimestamp", "2026-11-22T17:59:39Z"),
        ];
        assert_eq!(shown("E018", &back), pairs(&expected));
        let old = json!({"headerTimestamp": 1_795_369_202, "now": 1_795_370_379, "age": 1177});
        let expected = [
            ("headerTimestamp", "2026-11-22T17:40:02Z"),
            ("now", "2026-11-22T17:59:39Z"),
            ("age", "1177 s (19 min)"),
        ];
        assert_eq!(shown("W008", &old), pairs(&expected));
        let far = json!({"stopId": "S", "match": [59.949_999_999_999_996, 10.75], "geoDistanceToShape": 240.181_502_442});
        let expected =
            [("stopId", "S"), ("match", "59.95, 10.75"), ("geoDistanceToShape", "240 m")];
        assert_eq!(shown("stop_too_far_from_shape", &far), pairs(&expected));
    }

    #[test]
    fn timestamps_of_a_table_are_in_the_time_zone_of_its_page() {
        let old =
            json!({"headerTimestamp": 1_795_369_202, "age": 1177}).as_object().unwrap().clone();
        let oslo = TimeZone::get("Europe/Oslo").unwrap();
        let text = render_findings_table("W008", KINDS["W008"][0].page_summary(), &[old], &oslo)
            .into_string();
        assert!(text.contains("2026-11-22 18:40:02 +01:00") && !text.contains("Z</td>"), "{text}");
    }

    #[test]
    fn long_durations_are_also_given_in_minutes_hours_or_days() {
        let format = |seconds: f64| format_long_duration(seconds).unwrap_or_default();
        assert_eq!([0.0, 119.9, -119.0].map(format), ["", "", ""]);
        assert_eq!([120.0, 7_199.0].map(format), ["2 min", "119 min"]);
        assert_eq!([7_200.0, 172_799.0].map(format), ["2 h", "47 h"]);
        assert_eq!([-172_800.0, 1_209_600.0].map(format), ["-2 d", "14 d"]);
    }

    #[test]
    fn a_row_number_is_shown_with_its_file_name() {
        let unused = json!({"csvRowNumber": 402, "tripId": "T"});
        let expected = [("filename", "trips.txt"), ("csvRowNumber", "402"), ("tripId", "T")];
        assert_eq!(shown("unused_trip", &unused), pairs(&expected));
        let unknown = json!({"filename": "x.txt", "csvRowNumber": 2, "fieldName": "a"});
        let named = shown("unexpected_enum_value", &unknown);
        assert_eq!(named[..2], pairs(&[("filename", "x.txt"), ("csvRowNumber", "2")]));
    }

    #[test]
    fn unknown_fields_are_shown_unchanged() {
        let fields = FindingFields::for_code("of_somebody_else", "");
        let sample =
            json!({"b": {"x": 1}, "a": 3, "line": 7, "c": 0.1}).as_object().unwrap().clone();
        assert_eq!(
            fields.ordered_field_names(std::slice::from_ref(&sample)),
            ["line", "a", "b", "c"]
        );
        assert_eq!(fields.format_field_value("b", &sample).unwrap(), "{\"x\":1}");
        assert_eq!(fields.format_field_value("c", &sample).unwrap(), "0.1");
        assert!(fields.ordered_field_names(&[Map::new()]).is_empty());
        assert!(
            FindingFields::for_code("unused_trip", "")
                .ordered_field_names(&[Map::new()])
                .is_empty()
        );
    }

    #[test]
    fn headers_are_plain_words_with_the_field_as_title() {
        for (name, plain) in [
            ("csvRowNumber", "line"),
            ("stopCsvRowNumber", "stop line"),
            ("prevShapePtSequence", "previous shape point sequence"),
            ("speedKph", "speed (km/h)"),
            ("tripId", "trip id"),
            ("stop_id", "stop id"),
            ("", ""),
        ] {
            assert_eq!(field_name_in_words(name), plain, "{name}");
        }
        let sample = json!({"csvRowNumber": 2, "tripId": "T"}).as_object().unwrap().clone();
        let summary = KINDS["unused_trip"][0].page_summary();
        let text =
            render_findings_table("unused_trip", summary, &[sample], &TimeZone::UTC).into_string();
        assert!(text.contains("title=\"csvRowNumber: "), "{text}");
        assert_eq!(text.matches("<td ").count(), text.matches(" data-label=\"").count(), "{text}");
    }

    #[test]
    fn decimals_have_no_trailing_zeros() {
        let cases = [
            (59.949_999_999_999_996, 6, "59.95"),
            (-0.000_000_1, 6, "0"),
            (240.18, 0, "240"),
            (100.0, 0, "100"),
            (0.5, 2, "0.5"),
        ];
        for (number, digits, text) in cases {
            assert_eq!(format_decimal_trimmed(number, digits), text);
        }
    }
}
