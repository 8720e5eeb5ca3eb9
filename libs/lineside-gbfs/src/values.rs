//! The types of field values, read as the specification and as producers write them.

use std::collections::HashSet;

use jiff::Timestamp;
use serde_json::Value;
use smol_str::{SmolStr, ToSmolStr};

use super::{
    record::reader::RecordReader,
    record::writer::{RecordWriter, WritableGbfsVersion},
    record::{FieldValue, RecordField, record},
};

/// The identifier of an object within its file.
pub type Id = SmolStr;
/// A text for display, a URL or a colour.
pub type DisplayText = SmolStr;
/// A value of an enumeration; unknown ones are retained as written.
pub type EnumValue = SmolStr;
/// A date, as written.
pub type Date = SmolStr;
/// A count.
pub type Count = u32;
/// A finite number.
pub type Number = f64;

/// A time in whole seconds since 1970: a number in version 1 and 2, a string with an offset in version 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GbfsTime(pub i64);

/// A time that is a string with an offset in every version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rfc3339Time(pub i64);

/// A word, converted to lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LowercaseEnumValue(pub SmolStr);

/// A vehicle's form factor in lower case. Version 3 has two words for a scooter; without a statement about a seat it is
/// `scooter_standing`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormFactor(pub SmolStr);

/// A text in one or more languages; a text without a language has that of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalizedTexts(pub Vec<InLanguage>);

record! {
    /// A text in a language.
    InLanguage {
        text: DisplayText = "text",
        language: EnumValue = "language",
    }
}

record! {
    /// A count for any of these kinds of vehicles.
    TypeCount {
        vehicle_type_ids: Vec<Id> = "vehicle_type_ids".with_aliases(&["vehicle_type_id"]),
        count: Option<Count> = "count",
    }
}

/// Number of free docks by kinds of vehicles: in version 2 an object with a number for each kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VehicleTypeCounts(pub Vec<TypeCount>);

/// Languages; only one in version 2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LanguageList(pub Vec<EnumValue>);

/// Polygons, each an outer ring and its holes, of longitude and latitude.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MultiPolygon(pub Vec<Vec<Vec<[f64; 2]>>>);

impl LocalizedTexts {
    /// Returns the text in that language, else the first.
    pub fn text_in_language(&self, language: Option<&str>) -> Option<&str> {
        let same = self.0.iter().find(|text| Some(text.language.as_str()) == language);
        same.or(self.0.first()).map(|text| text.text.as_str())
    }
}

impl FieldValue for SmolStr {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<SmolStr> {
        match json {
            Value::String(_) => reading.read_limited_text(json).map(SmolStr::new),
            Value::Number(number) => {
                reading.report_unexpected_type("expected a string", json);
                Some(number.to_smolstr())
            }
            _ => {
                reading.report_dropped_value("expected a string", json);
                None
            }
        }
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_json_value(self.as_str());
    }
}

impl RecordField for SmolStr {
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> SmolStr {
        <SmolStr as FieldValue>::read_value(json, reading).unwrap_or_default()
    }

    fn write_field(&self, writing: &mut RecordWriter) {
        FieldValue::write_value(self, writing);
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl FieldValue for LowercaseEnumValue {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<LowercaseEnumValue> {
        let word = <SmolStr as FieldValue>::read_value(json, reading)?;
        let is_lower = !word.bytes().any(|byte| byte.is_ascii_uppercase());
        Some(LowercaseEnumValue(if is_lower { word } else { word.to_ascii_lowercase().into() }))
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_json_value(self.0.as_str());
    }
}

impl FieldValue for FormFactor {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<FormFactor> {
        LowercaseEnumValue::read_value(json, reading).map(|word| FormFactor(word.0))
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        let is_old = self.0 == "scooter" && writing.version == WritableGbfsVersion::Three;
        writing.write_json_value(if is_old { "scooter_standing" } else { self.0.as_str() });
    }
}

impl FieldValue for bool {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<bool> {
        let number = |number: &serde_json::Number| match number.as_f64() {
            Some(0.0) => Some(false),
            Some(1.0) => Some(true),
            _ => None,
        };
        let parsed = match json {
            Value::Bool(flag) => return Some(*flag),
            Value::Number(numeric) => number(numeric),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "0" | "false" | "no" => Some(false),
                "1" | "true" | "yes" => Some(true),
                _ => None,
            },
            _ => None,
        };
        match parsed {
            None => reading.report_dropped_value("expected true or false", json),
            // Version 1 writes numbers.
            Some(_) if reading.major < 2 && json.is_number() => {}
            Some(_) => reading.report_unexpected_type("expected true or false", json),
        }
        parsed
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_json_value(self);
    }
}

impl FieldValue for f64 {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<f64> {
        let parsed = match json {
            Value::Number(number) => return number.as_f64(),
            Value::String(text) => text.trim().parse().ok().filter(|it: &f64| it.is_finite()),
            _ => None,
        };
        match parsed {
            Some(_) => reading.report_unexpected_type("expected a number", json),
            None if json.as_str().is_some_and(|text| text.trim().is_empty()) => {}
            None => reading.report_dropped_value("expected a number", json),
        }
        parsed
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        // Whole numbers are written without a point, as most producers do.
        if self.fract() == 0.0 && self.abs() < WHOLE_MAX {
            writing.write_json_value(&(*self as i64));
        } else {
            writing.write_json_value(self);
        }
    }
}

impl FieldValue for u32 {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<u32> {
        let plain = json.as_u64().and_then(|number| u32::try_from(number).ok());
        if plain.is_some() {
            return plain;
        }
        let is_number = json.is_number();
        let number = if is_number { json.as_f64()? } else { f64::read_value(json, reading)? };
        let is_count = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        match (is_count, is_number) {
            (false, _) => reading.report_dropped_value("expected a non-negative integer", json),
            (true, true) => reading.report_unexpected_type("expected an integer", json),
            // The string was already reported.
            (true, false) => {}
        }
        is_count.then_some(number as u32)
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_json_value(self);
    }
}

/// Reads a time in any known form, and reports one that is not in the form that is due.
fn read_timestamp(json: &Value, is_text_due: bool, reading: &mut RecordReader<'_>) -> Option<i64> {
    let number = match json {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse::<f64>().ok().filter(|it| it.is_finite()),
        _ => None,
    };
    let text = || json.as_str()?.trim().parse::<Timestamp>().ok();
    let (seconds, is_as_due) = match number {
        Some(number) if number.abs() >= MILLISECONDS_FROM => ((number / 1e3).floor(), false),
        Some(number) => (number.floor(), json.is_number() && !is_text_due),
        None => match text() {
            Some(at) => (at.as_second() as f64, is_text_due),
            None => {
                if json.as_str().is_none_or(|text| !text.trim().is_empty()) {
                    reading.report_dropped_value("expected a time", json);
                }
                return None;
            }
        },
    };
    // The conversion ensures that every retained time can be written.
    let Ok(at) = Timestamp::from_second(seconds as i64) else {
        reading.report_dropped_value("the time does not exist", json);
        return None;
    };
    if !is_as_due {
        let due = if is_text_due { "RFC 3339" } else { "whole seconds since 1970" };
        reading.report_unexpected_type(&format!("expected a time as {due}"), json);
    }
    Some(at.as_second())
}

fn format_rfc3339(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

impl FieldValue for GbfsTime {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<GbfsTime> {
        read_timestamp(json, reading.major >= 3, reading).map(GbfsTime)
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        match writing.version {
            WritableGbfsVersion::Two => writing.write_json_value(&self.0),
            WritableGbfsVersion::Three => writing.write_json_value(&format_rfc3339(self.0)),
        }
    }
}

impl FieldValue for Rfc3339Time {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<Rfc3339Time> {
        read_timestamp(json, true, reading).map(Rfc3339Time)
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_json_value(&format_rfc3339(self.0));
    }
}

impl RecordField for LocalizedTexts {
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> LocalizedTexts {
        let is_localised = matches!(json, Value::Array(_) | Value::Object(_));
        if is_localised {
            if reading.major < 3 {
                reading.report_unexpected_type("expected a plain string", json);
            }
            let mut texts: Vec<InLanguage> = reading.read_list(json);
            texts.retain(|text| !text.text.is_empty());
            for text in texts.iter_mut().filter(|text| text.language.is_empty()) {
                text.language = SmolStr::new(reading.language);
            }
            return LocalizedTexts(texts);
        }
        let Some(text) = <SmolStr as FieldValue>::read_value(json, reading) else {
            return LocalizedTexts::default();
        };
        if reading.major >= 3 {
            reading.report_unexpected_type("expected a list of texts with languages", json);
        }
        LocalizedTexts(vec![InLanguage { text, language: SmolStr::new(reading.language) }])
    }

    fn write_field(&self, writing: &mut RecordWriter) {
        if writing.version == WritableGbfsVersion::Three {
            self.0.write_field(writing);
            return;
        }
        let language = writing.language.clone();
        let translation = self.0.iter().find(|text| text.language == language);
        let lost = self.0.len() - usize::from(translation.is_some());
        writing.write_json_value(self.text_in_language(Some(&language)).unwrap_or_default());
        writing.count_values_dropped_in_field(lost);
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }

    fn add_language(&mut self, other: &LocalizedTexts) {
        for text in &other.0 {
            if self.0.iter().all(|known| known.language != text.language) {
                self.0.push(text.clone());
            }
        }
    }
}

impl RecordField for LanguageList {
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> LanguageList {
        if reading.major < 3 && json.is_string() {
            return LanguageList(
                <SmolStr as FieldValue>::read_value(json, reading).into_iter().collect(),
            );
        }
        LanguageList(reading.read_list(json))
    }

    fn write_field(&self, writing: &mut RecordWriter) {
        match (writing.version, self.0.split_first()) {
            (WritableGbfsVersion::Two, Some((first, others))) => {
                FieldValue::write_value(first, writing);
                writing.count_values_dropped_in_field(others.len());
            }
            _ => self.0.write_field(writing),
        }
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }

    fn add_language(&mut self, other: &LanguageList) {
        for language in &other.0 {
            if !self.0.contains(language) {
                self.0.push(language.clone());
            }
        }
    }
}

impl RecordField for VehicleTypeCounts {
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> VehicleTypeCounts {
        let Value::Object(object) = json else { return VehicleTypeCounts(reading.read_list(json)) };
        let mut counts = Vec::new();
        let named = object.iter().filter(|(id, _)| !id.trim().is_empty());
        for (id, count) in named.take(reading.limits().list) {
            if let Some(count) = u32::read_value(count, reading) {
                let vehicle_type_ids = vec![SmolStr::new(id.trim())];
                counts.push(TypeCount { vehicle_type_ids, count: Some(count) });
            }
        }
        VehicleTypeCounts(counts)
    }

    fn write_field(&self, writing: &mut RecordWriter) {
        if writing.version == WritableGbfsVersion::Three {
            self.0.write_field(writing);
            return;
        }
        // A count for several kinds, or two counts for one kind, cannot be expressed.
        let mut written_types: HashSet<&str> = HashSet::new();
        let mut lost = 0;
        writing.write_object(|writing| {
            for it in &self.0 {
                match (it.vehicle_type_ids.as_slice(), it.count) {
                    ([id], Some(count)) if written_types.insert(id) => {
                        writing.write_key(id);
                        writing.write_json_value(&count);
                    }
                    _ => lost += 1,
                }
            }
        });
        writing.count_values_dropped_in_field(lost);
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }
}

impl FieldValue for MultiPolygon {
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<MultiPolygon> {
        let kind = json.get("type").and_then(Value::as_str);
        let coordinates = json.get("coordinates");
        let polygons = match (kind, coordinates) {
            (Some("MultiPolygon"), Some(lists)) => parse_all_items_or_none(lists, parse_polygon),
            // Some producers write a Polygon.
            (Some("Polygon"), Some(lists)) => {
                reading.report_unexpected_type("expected a MultiPolygon", json);
                parse_polygon(lists).map(|polygon| vec![polygon])
            }
            _ => None,
        };
        if polygons.is_none() {
            reading.report_dropped_value(
                "expected a GeoJSON MultiPolygon with longitudes and latitudes",
                json,
            );
        }
        polygons.map(MultiPolygon)
    }

    fn write_value(&self, writing: &mut RecordWriter) {
        writing.write_object(|writing| {
            writing.write_key("type");
            writing.write_json_value("MultiPolygon");
            writing.write_key("coordinates");
            writing.write_json_value(&self.0);
        });
    }
}

fn parse_polygon(json: &Value) -> Option<Vec<Vec<[f64; 2]>>> {
    parse_all_items_or_none(json, |ring| parse_all_items_or_none(ring, parse_position))
}

/// Reads all items or none: an area without one of its corners is another area.
fn parse_all_items_or_none<T>(json: &Value, read: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    json.as_array()?.iter().map(read).collect()
}

fn parse_position(json: &Value) -> Option<[f64; 2]> {
    let numbers = json.as_array()?;
    let number = |n: usize| numbers.get(n).and_then(Value::as_f64);
    let (lon, lat) = (number(0)?, number(1)?);
    (lon.abs() <= 180.0 && lat.abs() <= 90.0).then_some([lon, lat])
}

/// From this number on, seconds would lie beyond the year 5000, so the unit is milliseconds.
const MILLISECONDS_FROM: f64 = 1e11;
/// Whole numbers below this are exact.
const WHOLE_MAX: f64 = 9e15;
