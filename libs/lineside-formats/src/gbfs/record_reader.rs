//! Reading one record: where in the file we are, what is expected there, and what is told of what stands there instead.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Map, Value};

use super::{
    limits::FileLimits,
    record::{FieldNames, FieldValue, GbfsRecord, RecordField},
};
use crate::{Problem, Problems};

/// A step from the file's data to a value.
#[derive(Clone, Copy, Debug)]
enum PathStep {
    Key(&'static str),
    At(usize),
}

/// The place in a file, and what is told of it.
#[derive(Debug)]
pub(super) struct RecordReader<'l> {
    file: &'static str,
    /// The version that the file says to be of.
    pub(super) major: u8,
    /// Of texts that do not say theirs.
    pub(super) language: &'l str,
    limits: &'l FileLimits,
    path: Vec<PathStep>,
    /// Unknown fields that were told: each once, however many records have it.
    unknown: BTreeSet<String>,
    pub(super) problems: Problems,
}

impl<'l> RecordReader<'l> {
    pub(super) fn new(
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

    pub(super) fn limits(&self) -> &'l FileLimits {
        self.limits
    }

    /// What a field of the object says, by whichever of its names.
    pub(super) fn read_field<T: RecordField>(
        &mut self,
        object: &Map<String, Value>,
        row: &FieldNames,
    ) -> T {
        let said = row.all_names().find_map(|name| Some((name, object.get(name)?)));
        let Some((name, json)) = said.filter(|(_, json)| !json.is_null()) else {
            return T::default();
        };
        self.read_at_key(name, |reading| T::read_field(json, reading))
    }

    /// An object, field by field; what it has beside is told once, unless it is an extension by its name.
    pub(super) fn read_record<T: GbfsRecord>(&mut self, json: &Value) -> Option<T> {
        let Value::Object(object) = json else {
            self.report_bad_value("an object is expected", json);
            return None;
        };
        let mut record = T::default();
        record.read_fields(object, self);
        let is_known =
            |key: &str| T::ROWS.iter().any(|row| row.all_names().any(|name| name == key));
        for key in object.keys().filter(|key| !key.starts_with('_') && !is_known(key)) {
            if self.unknown.len() < UNKNOWN_MAX && !self.unknown.contains(key.as_str()) {
                self.unknown.insert(key.clone());
                let detail = "the specification has no such field: passed over";
                let problem = Problem::new(self.file, "unknown_field", detail);
                self.problems.push(problem.with_field(key));
            }
        }
        Some(record)
    }

    /// A list; a lone value is taken for a list of one.
    pub(super) fn read_list<T: FieldValue>(&mut self, json: &Value) -> Vec<T> {
        let Value::Array(items) = json else {
            self.report_unexpected_type("a list is expected", json);
            return T::read_value(json, self).into_iter().collect();
        };
        let most = self.limits.list;
        if items.len() > most {
            self.report_problem(
                "too_many",
                &format!("more than {most}: the others are left out"),
                None,
            );
        }
        let mut list = Vec::with_capacity(items.len().min(most));
        for (n, item) in items.iter().take(most).enumerate() {
            list.extend(self.read_at_index(n, |reading| T::read_value(item, reading)));
        }
        list
    }

    /// A text that is not empty and not too long.
    pub(super) fn read_text<'j>(&mut self, json: &'j Value) -> Option<&'j str> {
        let text = json.as_str()?.trim();
        if text.chars().nth(self.limits.text_chars).is_some() {
            self.report_bad_value("the text is too long", json);
            return None;
        }
        Some(text).filter(|text| !text.is_empty())
    }

    pub(super) fn read_at_key<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut RecordReader<'l>) -> T,
    ) -> T {
        self.read_at_step(PathStep::Key(key), read)
    }

    pub(super) fn read_at_index<T>(
        &mut self,
        n: usize,
        read: impl FnOnce(&mut RecordReader<'l>) -> T,
    ) -> T {
        self.read_at_step(PathStep::At(n), read)
    }

    fn read_at_step<T>(
        &mut self,
        step: PathStep,
        read: impl FnOnce(&mut RecordReader<'l>) -> T,
    ) -> T {
        self.path.push(step);
        let value = read(self);
        self.path.pop();
        value
    }

    /// Something was understood that should have been written in another way.
    pub(super) fn report_unexpected_type(&mut self, detail: &str, json: &Value) {
        self.report_problem("unexpected_type", detail, Some(json));
    }

    /// Something was not understood and is left out.
    pub(super) fn report_bad_value(&mut self, detail: &str, json: &Value) {
        self.report_problem("bad_value", detail, Some(json));
    }

    pub(super) fn report_problem(
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

/// `stations[3].rental_uris.web`.
fn format_path(path: &[PathStep]) -> String {
    let mut text = String::new();
    for step in path {
        // Writing to a text cannot fail.
        let _ = match step {
            PathStep::Key(key) if text.is_empty() => write!(text, "{key}"),
            PathStep::Key(key) => write!(text, ".{key}"),
            PathStep::At(n) => write!(text, "[{n}]"),
        };
    }
    text
}

/// Unknown fields of a file that are told.
const UNKNOWN_MAX: usize = 50;
