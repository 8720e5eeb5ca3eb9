//! Writes records as version 2.3 or 3.0, and counts values that 2.3 cannot express.

use smol_str::SmolStr;

use super::{GbfsFieldNames, GbfsRecord, RecordField};
use lineside_formats::ConversionReport;

/// A version that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WritableGbfsVersion {
    /// 2.3.
    Two,
    /// 3.0.
    Three,
}

impl WritableGbfsVersion {
    /// All versions.
    pub const ALL: [WritableGbfsVersion; 2] =
        [WritableGbfsVersion::Two, WritableGbfsVersion::Three];

    /// Returns the version as files state it.
    pub fn as_str(self) -> &'static str {
        match self {
            WritableGbfsVersion::Two => "2.3",
            WritableGbfsVersion::Three => "3.0",
        }
    }

    /// Returns the number used in URLs.
    pub fn major_version(self) -> u8 {
        match self {
            WritableGbfsVersion::Two => 2,
            WritableGbfsVersion::Three => 3,
        }
    }

    /// Returns the version with that major number.
    pub fn version_from_major_number(major: &str) -> Option<WritableGbfsVersion> {
        match major {
            "2" => Some(WritableGbfsVersion::Two),
            "3" => Some(WritableGbfsVersion::Three),
            _ => None,
        }
    }
}

/// A writer of JSON.
#[derive(Debug)]
pub(crate) struct RecordWriter {
    pub(crate) version: WritableGbfsVersion,
    /// The preferred language where only one can be written.
    pub(crate) language: SmolStr,
    pub(crate) text: Vec<u8>,
    /// The dropped values, by field.
    pub(crate) lost: ConversionReport,
    field: &'static str,
}

impl RecordWriter {
    pub(crate) fn new(version: WritableGbfsVersion, language: &str, text: Vec<u8>) -> RecordWriter {
        let language = SmolStr::new(language);
        RecordWriter { version, language, text, lost: ConversionReport::new(), field: "" }
    }

    /// Writes a field with its name in this version, unless it is absent.
    pub(crate) fn write_field<T: RecordField>(&mut self, row: &GbfsFieldNames, value: &T) {
        if value.is_absent() {
            return;
        }
        let outer = std::mem::replace(&mut self.field, row.key);
        let is_two = self.version == WritableGbfsVersion::Two;
        if is_two && row.is_new {
            self.count_values_dropped_in_field(1);
        } else {
            let name = row.old.filter(|_| is_two).unwrap_or(row.key);
            self.write_key(name);
            value.write_field(self);
        }
        self.field = outer;
    }

    /// Counts `n` dropped values of the current field.
    pub(crate) fn count_values_dropped_in_field(&mut self, n: usize) {
        self.lost.record_dropped_objects(self.field, CANNOT, n as u64);
    }

    /// Counts one dropped value of the given field.
    pub(crate) fn count_dropped_field(&mut self, field: &'static str) {
        self.lost.record_dropped_object(field, CANNOT, None);
    }

    pub(crate) fn write_record<T: GbfsRecord>(&mut self, record: &T) {
        self.write_object(|writing| record.write_fields(writing));
    }

    pub(crate) fn write_object(&mut self, write: impl FnOnce(&mut RecordWriter)) {
        self.text.push(b'{');
        write(self);
        self.text.push(b'}');
    }

    pub(crate) fn write_list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(T, &mut RecordWriter),
    ) {
        self.text.push(b'[');
        for item in items {
            self.write_comma_if_needed(b'[');
            write(item, self);
        }
        self.text.push(b']');
    }

    /// Writes a key with its colon.
    pub(crate) fn write_key(&mut self, name: &str) {
        self.write_comma_if_needed(b'{');
        self.write_json_value(name);
        self.text.push(b':');
    }

    /// Writes a comma, unless an object or list has just begun. A string ends in a quote, so no value looks like a
    /// beginning.
    fn write_comma_if_needed(&mut self, beginning: u8) {
        if self.text.last().is_some_and(|last| *last != beginning) {
            self.text.push(b',');
        }
    }

    /// Writes a value whose form is the same in all versions.
    pub(crate) fn write_json_value<T: serde::Serialize + ?Sized>(&mut self, value: &T) {
        let before = self.text.len();
        if serde_json::to_writer(&mut self.text, value).is_err() {
            // Strings and finite numbers cannot fail; in any other case the rest stays valid JSON.
            self.text.truncate(before);
            self.text.extend_from_slice(b"null");
        }
    }
}

/// The only reason for which the writer drops a value.
const CANNOT: &str = "version 2.3 has no field for it";
