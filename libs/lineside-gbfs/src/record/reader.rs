//! Reads one record, tracks the path in the file, and reports unexpected values.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Map, Value};

use crate::{
    limits::FileLimits,
    record::{FieldValue, GbfsFieldNames, GbfsRecord, RecordField},
};
use lineside_formats::{Problem, Problems};

/// A step of the path from the file's data to a value.
#[derive(Clone, Copy, Debug)]
enum JsonPathStep {
    Key(&'static str),
    At(usize),
}

/// The position in a file, and the problems found so far.
#[derive(Debug)]
pub(crate) struct RecordReader<'l> {
    file: &'static str,
    /// The major version that the file states.
    pub(crate) major: u8,
    /// The language of texts that do not state one.
    pub(crate) language: &'l str,
    limits: &'l FileLimits,
    path: Vec<JsonPathStep>,
    /// Reported unknown fields: each once, however many records have it.
    unknown: BTreeSet<String>,
    pub(crate) problems: Problems,
}

impl<'l> RecordReader<'l> {
    pub(crate) fn new(
        file: &'static str,
        (major, language): (u8, &'l str),
        limits: &'l FileLimits,
    ) -> RecordReader<'l> {
        RecordReader {
            file,
            major,
            language,
            limits,
            path: Vec::new(),
            unknown: BTreeSet::new(),
            problems: Problems::new(),
        }
    }

    pub(crate) fn limits(&self) -> &'l FileLimits {
        self.limits
    }

    /// Reads a field of the object, under any of its names.
    pub(crate) fn read_field<T: RecordField>(
        &mut self,
        object: &Map<String, Value>,
        row: &GbfsFieldNames,
    ) -> T {
        let found = row.all_names().find_map(|name| Some((name, object.get(name)?)));
        let Some((name, json)) = found.filter(|(_, json)| !json.is_null()) else {
            return T::default();
        };
        self.read_with_path_key(name, |reading| T::read_field(json, reading))
    }

    /// Reads an object field by field. An unknown field is reported once, unless its name marks it as an extension.
    pub(crate) fn read_record<T: GbfsRecord>(&mut self, json: &Value) -> Option<T> {
        let Value::Object(object) = json else {
            self.report_dropped_value("expected an object", json);
            return None;
        };
        let mut record = T::default();
        record.read_fields(object, self);
        let is_known =
            |key: &str| T::ROWS.iter().any(|row| row.all_names().any(|name| name == key));
        for key in object.keys().filter(|key| !key.starts_with('_') && !is_known(key)) {
            if self.unknown.len() < UNKNOWN_MAX && !self.unknown.contains(key.as_str()) {
                self.unknown.insert(key.clone());
                let detail = "the specification does not define this field; it is ignored";
                let problem = Problem::new(self.file, "unknown_field", detail);
                self.problems.push(problem.with_field(key));
            }
        }
        Some(record)
    }

    /// Reads a list; a lone value counts as a list of one.
    pub(crate) fn read_list<T: FieldValue>(&mut self, json: &Value) -> Vec<T> {
        let Value::Array(items) = json else {
            self.report_unexpected_type("expected a list", json);
            return T::read_value(json, self).into_iter().collect();
        };
        let max = self.limits.list;
        if items.len() > max {
            self.report_field_problem(
                "too_many",
                &format!("more than {max} items; the rest is ignored"),
                None,
            );
        }
        let mut list = Vec::with_capacity(items.len().min(max));
        for (n, item) in items.iter().take(max).enumerate() {
            list.extend(self.read_with_path_index(n, |reading| T::read_value(item, reading)));
        }
        list
    }

    /// Returns a text that is neither empty nor too long.
    pub(crate) fn read_limited_text<'j>(&mut self, json: &'j Value) -> Option<&'j str> {
        let text = json.as_str()?.trim();
        if text.chars().nth(self.limits.text_chars).is_some() {
            self.report_dropped_value("the text is too long", json);
            return None;
        }
        Some(text).filter(|text| !text.is_empty())
    }

    pub(crate) fn read_with_path_key<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut RecordReader<'l>) -> T,
    ) -> T {
        self.read_with_path_step(JsonPathStep::Key(key), read)
    }

    pub(crate) fn read_with_path_index<T>(
        &mut self,
        n: usize,
        read: impl FnOnce(&mut RecordReader<'l>) -> T,
    ) -> T {
        self.read_with_path_step(JsonPathStep::At(n), read)
    }

    fn read_with_path_step<T>(
        &mut self,
        step: JsonPathStep,
        read: impl FnOnce(&mut RecordReader<'l>) -> T,
    ) -> T {
        self.path.push(step);
        let value = read(self);
        self.path.pop();
        value
    }

    /// Reports a value that was understood but should have another form.
    pub(crate) fn report_unexpected_type(&mut self, detail: &str, json: &Value) {
        self.report_field_problem("unexpected_type", detail, Some(json));
    }

    /// Reports a value that was not understood and is dropped.
    pub(crate) fn report_dropped_value(&mut self, detail: &str, json: &Value) {
        self.report_field_problem("bad_value", detail, Some(json));
    }

    pub(crate) fn report_field_problem(
        &mut self,
        code: &'static str,
        detail: &str,
        value: Option<&Value>,
    ) {
        let (file, path) = (self.file, &self.path);
        self.problems.push_lazily(file, code, || {
            let problem = Problem::new(file, code, detail).with_field(&format_path(path));
            match value {
                Some(Value::String(text)) => problem.with_value(text),
                Some(Value::Object(_)) => problem.with_value("{…}"),
                Some(Value::Array(_)) => problem.with_value("[…]"),
                Some(other) => problem.with_value(&other.to_string()),
                None => problem,
            }
        });
    }
}

/// Formats a path, such as `stations[3].rental_uris.web`.
fn format_path(path: &[JsonPathStep]) -> String {
    let mut text = String::new();
    for step in path {
        // Writing to a string cannot fail.
        let _ = match step {
            JsonPathStep::Key(key) if text.is_empty() => write!(text, "{key}"),
            JsonPathStep::Key(key) => write!(text, ".{key}"),
            JsonPathStep::At(n) => write!(text, "[{n}]"),
        };
    }
    text
}

/// Maximum number of unknown fields that are reported for a file.
const UNKNOWN_MAX: usize = 50;
