//! Reading one record: where in the file we are, what is expected there, and what is told of what stands there instead.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Map, Value};

use super::{
    limits::FileLimits,
    record::{Field, Leaf, Record, Row},
};
use crate::{Problem, Problems};

/// A step from the file's data to a value.
#[derive(Clone, Copy, Debug)]
enum Step {
    Key(&'static str),
    At(usize),
}

/// The place in a file, and what is told of it.
#[derive(Debug)]
pub(super) struct Reading<'l> {
    file: &'static str,
    /// The version that the file says to be of.
    pub(super) major: u8,
    /// Of texts that do not say theirs.
    pub(super) language: &'l str,
    limits: &'l FileLimits,
    path: Vec<Step>,
    /// Unknown fields that were told: each once, however many records have it.
    unknown: BTreeSet<String>,
    pub(super) problems: Problems,
}

impl<'l> Reading<'l> {
    pub(super) fn new(
        file: &'static str,
        (major, language): (u8, &'l str),
        limits: &'l FileLimits,
    ) -> Reading<'l> {
        Reading {
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
    pub(super) fn field<T: Field>(&mut self, object: &Map<String, Value>, row: &Row) -> T {
        let said = row.names().find_map(|name| Some((name, object.get(name)?)));
        let Some((name, json)) = said.filter(|(_, json)| !json.is_null()) else {
            return T::default();
        };
        self.at_key(name, |reading| T::read(json, reading))
    }

    /// An object, field by field; what it has beside is told once, unless it is an extension by its name.
    pub(super) fn record<T: Record>(&mut self, json: &Value) -> Option<T> {
        let Value::Object(object) = json else {
            self.bad("an object is expected", json);
            return None;
        };
        let mut record = T::default();
        record.read_fields(object, self);
        let is_known = |key: &str| T::ROWS.iter().any(|row| row.names().any(|name| name == key));
        for key in object.keys().filter(|key| !key.starts_with('_') && !is_known(key)) {
            if self.unknown.len() < UNKNOWN_MAX && !self.unknown.contains(key.as_str()) {
                self.unknown.insert(key.clone());
                let detail = "the specification has no such field: passed over";
                let problem = Problem::new(self.file, "unknown_field", detail);
                self.problems.push(problem.in_field(key));
            }
        }
        Some(record)
    }

    /// A list; a lone value is taken for a list of one.
    pub(super) fn list<T: Leaf>(&mut self, json: &Value) -> Vec<T> {
        let Value::Array(items) = json else {
            self.odd("a list is expected", json);
            return T::read(json, self).into_iter().collect();
        };
        let most = self.limits.list;
        if items.len() > most {
            self.tell("too_many", &format!("more than {most}: the others are left out"), None);
        }
        let mut list = Vec::with_capacity(items.len().min(most));
        for (n, item) in items.iter().take(most).enumerate() {
            list.extend(self.at(n, |reading| T::read(item, reading)));
        }
        list
    }

    /// A text that is not empty and not too long.
    pub(super) fn text<'j>(&mut self, json: &'j Value) -> Option<&'j str> {
        let text = json.as_str()?.trim();
        if text.chars().nth(self.limits.text_chars).is_some() {
            self.bad("the text is too long", json);
            return None;
        }
        Some(text).filter(|text| !text.is_empty())
    }

    pub(super) fn at_key<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&mut Reading<'l>) -> T,
    ) -> T {
        self.within(Step::Key(key), read)
    }

    pub(super) fn at<T>(&mut self, n: usize, read: impl FnOnce(&mut Reading<'l>) -> T) -> T {
        self.within(Step::At(n), read)
    }

    fn within<T>(&mut self, step: Step, read: impl FnOnce(&mut Reading<'l>) -> T) -> T {
        self.path.push(step);
        let value = read(self);
        self.path.pop();
        value
    }

    /// Something was understood that should have been written in another way.
    pub(super) fn odd(&mut self, detail: &str, json: &Value) {
        self.tell("unexpected_type", detail, Some(json));
    }

    /// Something was not understood and is left out.
    pub(super) fn bad(&mut self, detail: &str, json: &Value) {
        self.tell("bad_value", detail, Some(json));
    }

    pub(super) fn tell(&mut self, code: &'static str, detail: &str, value: Option<&Value>) {
        let (file, path) = (self.file, &self.path);
        self.problems.push_with(file, code, || {
            let problem = Problem::new(file, code, detail).in_field(&written(path));
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
fn written(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        // Writing to a text cannot fail.
        let _ = match step {
            Step::Key(key) if text.is_empty() => write!(text, "{key}"),
            Step::Key(key) => write!(text, ".{key}"),
            Step::At(n) => write!(text, "[{n}]"),
        };
    }
    text
}

/// Unknown fields of a file that are told.
const UNKNOWN_MAX: usize = 50;
