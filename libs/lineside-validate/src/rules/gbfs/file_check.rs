//! The check of one file: its current path, and the notices about it.

use serde_json::Value;

use super::{
    area,
    field::{GbfsFieldType, RecordIdKind},
    kinds,
    system_index::IdsAndLocationsIndex,
    tree::FieldSchemaNode,
    values::{self, InvalidValueReason},
    version::GbfsVersion,
};
use crate::{
    notice::{NoticeKind, NoticeSample, Notices},
    rules::time_limit::CallbackTimeLimit,
};

/// Longest quoted value, in characters.
const QUOTED_CHARS_MAX: usize = 120;

/// The state of a check while it walks a file.
pub(super) struct GbfsFileCheck<'a> {
    pub(super) file: &'static str,
    /// The file's name in notices.
    display_name: String,
    pub(super) version: GbfsVersion,
    /// The current time, in seconds since 1970.
    pub(super) now: i64,
    /// The time at which the source last delivered the file, in seconds since 1970.
    pub(super) delivered_at: i64,
    pub(super) system_index: &'a mut IdsAndLocationsIndex,
    pub(super) out: &'a mut Notices,
    time_limit: &'a CallbackTimeLimit<'a>,
    path: String,
}

impl<'a> GbfsFileCheck<'a> {
    pub(super) fn new(
        (file, shown): (&'static str, String),
        version: GbfsVersion,
        (now, delivered_at): (i64, i64),
        (system_index, out): (&'a mut IdsAndLocationsIndex, &'a mut Notices),
        time_limit: &'a CallbackTimeLimit<'a>,
    ) -> GbfsFileCheck<'a> {
        GbfsFileCheck {
            file,
            display_name: shown,
            version,
            now,
            delivered_at,
            system_index,
            out,
            time_limit,
            path: String::new(),
        }
    }

    /// Reports a notice about the current path.
    pub(super) fn report_at_current_path(
        &mut self,
        kind: &'static NoticeKind,
        fill: impl FnOnce(&mut NoticeSample),
    ) {
        let (file, path) = (&self.display_name, &self.path);
        self.out.count_notice_with_sample(kind, |sample| {
            sample.set_field("filename", file.as_str());
            if kind.fields.iter().any(|(name, _)| *name == "path") {
                sample.set_field("path", path.as_str());
            }
            fill(sample);
        });
    }

    /// Runs a check one level down, below a name.
    pub(super) fn check_with_path_appended<T>(
        &mut self,
        name: &str,
        check: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let length = self.path.len();
        self.path.push('/');
        // RFC 6901.
        self.path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let done = check(self);
        self.path.truncate(length);
        done
    }

    /// Checks each record of a list below `data`.
    pub(super) fn check_each_record(
        &mut self,
        document: &Value,
        list: &str,
        mut check: impl FnMut(&mut Self, &Value),
    ) {
        let Some(records) = document["data"][list].as_array() else { return };
        self.check_with_path_appended("data", |this| {
            this.check_with_path_appended(list, |this| {
                for (at, record) in records.iter().enumerate() {
                    this.time_limit.unwind_if_time_is_up();
                    this.check_with_path_appended(&at.to_string(), |this| check(this, record));
                }
            });
        });
    }

    pub(super) fn report_missing_field(&mut self, name: &str, because: &str) {
        self.check_with_path_appended(name, |this| {
            this.report_at_current_path(&kinds::MISSING_FIELD, |sample| {
                if !because.is_empty() {
                    sample.set_field("because", because);
                }
            });
        });
    }

    /// Checks a value and everything below it.
    pub(super) fn check_value_against_schema(&mut self, node: &FieldSchemaNode, value: &Value) {
        let Some(field_type) = node.field_type else { return };
        if !self.check_value_type(field_type, value) {
            return;
        }
        if let Some(object) = value.as_object() {
            for (name, field) in &node.fields {
                match object.get(*name) {
                    Some(value) => self.check_with_path_appended(name, |this| {
                        this.check_value_against_schema(field, value)
                    }),
                    None if *name == "*" => {
                        for (key, value) in object {
                            self.check_with_path_appended(key, |this| {
                                this.check_value_against_schema(field, value)
                            });
                        }
                    }
                    None if field.is_required => self.report_missing_field(name, ""),
                    None => {}
                }
            }
        }
        if let (Some(item), Some(list)) = (&node.item, value.as_array()) {
            for (at, value) in list.iter().enumerate() {
                self.time_limit.unwind_if_time_is_up();
                self.check_with_path_appended(&at.to_string(), |this| {
                    this.check_value_against_schema(item, value)
                });
            }
        }
    }

    /// Checks a value against its type. Returns true if its contents can be checked.
    fn check_value_type(&mut self, field_type: GbfsFieldType, value: &Value) -> bool {
        if let Some(InvalidValueReason { kind, expected }) =
            values::find_value_fault(field_type, value, self.version)
        {
            self.report_at_current_path(kind, |sample| {
                if kind.fields.iter().any(|(name, _)| *name == "value") {
                    sample.set_field("value", shortened_value_text(value));
                }
                if kind.fields.iter().any(|(name, _)| *name == "expected") {
                    sample.set_field("expected", expected);
                }
            });
            return false;
        }
        match (field_type, value) {
            (GbfsFieldType::Key(id_kind), Value::String(id)) => self.check_unique_id(id_kind, id),
            (GbfsFieldType::Ref(id_kind), Value::String(id)) => {
                self.check_id_reference(id_kind, id)
            }
            (GbfsFieldType::NumbersBy(id_kind), Value::Object(numbers)) => {
                for id in numbers.keys() {
                    self.check_with_path_appended(id, |this| this.check_id_reference(id_kind, id));
                }
            }
            (GbfsFieldType::Texts | GbfsFieldType::Urls, Value::Array(texts)) => {
                for (at, text) in texts.iter().enumerate() {
                    self.check_with_path_appended(&at.to_string(), |this| {
                        this.check_translated_text(matches!(field_type, GbfsFieldType::Urls), text)
                    });
                }
            }
            (GbfsFieldType::Area, area) => {
                let (kind, reason) = match area::check_geojson_area(area) {
                    Ok(()) => return true,
                    Err(area::GeoJsonAreaFault::Form(reason)) => (&kinds::INVALID_AREA, reason),
                    Err(area::GeoJsonAreaFault::Crossing(reason)) => {
                        (&kinds::CROSSING_AREA, reason)
                    }
                };
                self.report_at_current_path(kind, |sample| _ = sample.set_field("reason", reason));
            }
            (GbfsFieldType::Text, Value::String(text)) if text.trim().is_empty() => {
                self.report_at_current_path(&kinds::EMPTY_VALUE, |_| {});
            }
            _ => {}
        }
        true
    }

    /// Checks one translation of a text.
    fn check_translated_text(&mut self, is_url: bool, text: &Value) {
        if !self.check_value_type(GbfsFieldType::Object, text) {
            return;
        }
        let kind = if is_url { GbfsFieldType::Url } else { GbfsFieldType::Text };
        for (name, field_type) in [("text", kind), ("language", GbfsFieldType::Language)] {
            match text.get(name) {
                Some(value) => {
                    _ = self.check_with_path_appended(name, |this| {
                        this.check_value_type(field_type, value)
                    })
                }
                None => self.report_missing_field(name, ""),
            }
        }
    }

    fn check_unique_id(&mut self, id_kind: RecordIdKind, id: &str) {
        if id.trim().is_empty() {
            self.report_at_current_path(&kinds::EMPTY_VALUE, |_| {});
            return;
        }
        if id_kind == RecordIdKind::StationState {
            self.check_id_reference(RecordIdKind::Station, id);
        }
        if !self.system_index.add_record_id(id_kind, id) {
            self.report_at_current_path(&kinds::DUPLICATE_ID, |sample| {
                _ = sample.set_field("value", id)
            });
        }
    }

    fn check_id_reference(&mut self, id_kind: RecordIdKind, id: &str) {
        if self.system_index.may_record_id_exist(id_kind, id) {
            return;
        }
        let kind = match id_kind {
            RecordIdKind::Station => &kinds::UNKNOWN_STATION,
            RecordIdKind::VehicleType => &kinds::UNKNOWN_TYPE,
            RecordIdKind::Plan => &kinds::UNKNOWN_PLAN,
            RecordIdKind::Region => &kinds::UNKNOWN_REGION,
            _ => return,
        };
        self.report_at_current_path(kind, |sample| _ = sample.set_field("value", id));
    }
}

/// Returns a value as written in the file, shortened.
pub(super) fn shortened_value_text(value: &Value) -> String {
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
