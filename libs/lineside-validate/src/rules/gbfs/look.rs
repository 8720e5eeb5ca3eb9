//! A look at one file: where it is, and what is said of it.

use serde_json::Value;

use super::{
    area,
    field::{Is, Of},
    kinds,
    known::Known,
    tree::Node,
    values::{self, Fault},
    version::Version,
};
use crate::{
    notice::{Kind, Notices, Sample},
    rules::patience::Patience,
};

/// Longest quoted value, in characters.
const QUOTED_CHARS_MAX: usize = 120;

/// A file as it is walked.
pub(super) struct Look<'a> {
    pub(super) file: &'static str,
    /// What it is called in what is said of it.
    shown: String,
    pub(super) version: Version,
    /// The clock, in seconds since 1970.
    pub(super) now: i64,
    /// When the source gave the file last, in seconds since 1970.
    pub(super) given: i64,
    pub(super) known: &'a mut Known,
    pub(super) out: &'a mut Notices,
    patience: &'a Patience<'a>,
    path: String,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        (file, shown): (&'static str, String),
        version: Version,
        (now, given): (i64, i64),
        (known, out): (&'a mut Known, &'a mut Notices),
        patience: &'a Patience<'a>,
    ) -> Look<'a> {
        Look { file, shown, version, now, given, known, out, patience, path: String::new() }
    }

    /// Says something about the place where the look is.
    pub(super) fn say(&mut self, kind: &'static Kind, fill: impl FnOnce(&mut Sample)) {
        let (file, path) = (&self.shown, &self.path);
        self.out.add(kind, |sample| {
            sample.put("filename", file.as_str());
            if kind.fields.iter().any(|(name, _)| *name == "path") {
                sample.put("path", path.as_str());
            }
            fill(sample);
        });
    }

    /// Looks at what stands below a name.
    pub(super) fn at<T>(&mut self, name: &str, look: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        // RFC 6901.
        self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let done = look(self);
        self.path.truncate(length);
        done
    }

    /// Looks at the records of a list below `data`.
    pub(super) fn each(
        &mut self,
        document: &Value,
        list: &str,
        mut look: impl FnMut(&mut Self, &Value),
    ) {
        let Some(records) = document["data"][list].as_array() else { return };
        self.at("data", |this| {
            this.at(list, |this| {
                for (at, record) in records.iter().enumerate() {
                    this.patience.ask();
                    this.at(&at.to_string(), |this| look(this, record));
                }
            });
        });
    }

    /// Says that something is missing.
    pub(super) fn missing(&mut self, name: &str, because: &str) {
        self.at(name, |this| {
            this.say(&kinds::MISSING_FIELD, |sample| {
                if !because.is_empty() {
                    sample.put("because", because);
                }
            });
        });
    }

    /// Holds a value and all below it against what may stand there.
    pub(super) fn walk(&mut self, node: &Node, value: &Value) {
        let Some(is) = node.is else { return };
        if !self.value(is, value) {
            return;
        }
        if let Some(object) = value.as_object() {
            for (name, field) in &node.fields {
                match object.get(*name) {
                    Some(value) => self.at(name, |this| this.walk(field, value)),
                    None if *name == "*" => {
                        for (key, value) in object {
                            self.at(key, |this| this.walk(field, value));
                        }
                    }
                    None if field.must => self.missing(name, ""),
                    None => {}
                }
            }
        }
        if let (Some(item), Some(list)) = (&node.item, value.as_array()) {
            for (at, value) in list.iter().enumerate() {
                self.patience.ask();
                self.at(&at.to_string(), |this| this.walk(item, value));
            }
        }
    }

    /// Holds a value against its kind; whether what is in it can be looked at.
    fn value(&mut self, is: Is, value: &Value) -> bool {
        if let Some(Fault { kind, expected }) = values::fault(is, value, self.version) {
            self.say(kind, |sample| {
                if kind.fields.iter().any(|(name, _)| *name == "value") {
                    sample.put("value", quoted(value));
                }
                if kind.fields.iter().any(|(name, _)| *name == "expected") {
                    sample.put("expected", expected);
                }
            });
            return false;
        }
        match (is, value) {
            (Is::Key(of), Value::String(id)) => self.key(of, id),
            (Is::Ref(of), Value::String(id)) => self.reference(of, id),
            (Is::NumbersBy(of), Value::Object(numbers)) => {
                for id in numbers.keys() {
                    self.at(id, |this| this.reference(of, id));
                }
            }
            (Is::Texts | Is::Urls, Value::Array(texts)) => {
                for (at, text) in texts.iter().enumerate() {
                    self.at(&at.to_string(), |this| this.text(matches!(is, Is::Urls), text));
                }
            }
            (Is::Area, area) => {
                let (kind, reason) = match area::check(area) {
                    Ok(()) => return true,
                    Err(area::Fault::Form(reason)) => (&kinds::INVALID_AREA, reason),
                    Err(area::Fault::Crossing(reason)) => (&kinds::CROSSING_AREA, reason),
                };
                self.say(kind, |sample| _ = sample.put("reason", reason));
            }
            (Is::Text, Value::String(text)) if text.trim().is_empty() => {
                self.say(&kinds::EMPTY_VALUE, |_| {});
            }
            _ => {}
        }
        true
    }

    /// One of the languages of a text.
    fn text(&mut self, is_url: bool, text: &Value) {
        if !self.value(Is::Object, text) {
            return;
        }
        let kind = if is_url { Is::Url } else { Is::Text };
        for (name, is) in [("text", kind), ("language", Is::Language)] {
            match text.get(name) {
                Some(value) => _ = self.at(name, |this| this.value(is, value)),
                None => self.missing(name, ""),
            }
        }
    }

    fn key(&mut self, of: Of, id: &str) {
        if id.trim().is_empty() {
            self.say(&kinds::EMPTY_VALUE, |_| {});
            return;
        }
        if of == Of::StationState {
            self.reference(Of::Station, id);
        }
        if !self.known.add(of, id) {
            self.say(&kinds::DUPLICATE_ID, |sample| _ = sample.put("value", id));
        }
    }

    fn reference(&mut self, of: Of, id: &str) {
        if self.known.has(of, id) {
            return;
        }
        let kind = match of {
            Of::Station => &kinds::UNKNOWN_STATION,
            Of::VehicleType => &kinds::UNKNOWN_TYPE,
            Of::Plan => &kinds::UNKNOWN_PLAN,
            Of::Region => &kinds::UNKNOWN_REGION,
            _ => return,
        };
        self.say(kind, |sample| _ = sample.put("value", id));
    }
}

/// A value as it stands in the file, shortened.
pub(super) fn quoted(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        value => value.to_string(),
    };
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
