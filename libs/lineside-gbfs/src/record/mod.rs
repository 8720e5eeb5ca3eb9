//! Declares records by rows, one for each field: its name in version 3 and version 2, and whether version 2 has it.
//! Readers and writers of all versions use the same rows.

use serde_json::{Map, Value};

pub(crate) mod reader;
#[cfg(test)]
pub(crate) mod random_sample;
pub(crate) mod writer;

use reader::RecordReader;
use writer::RecordWriter;

#[derive(Clone, Copy, Debug)]
pub(crate) struct GbfsFieldNames {
    /// The name in version 3.
    pub(crate) key: &'static str,
    /// The name in version 2, if it differs.
    pub(crate) old: Option<&'static str>,
    /// Other names, of drafts and common mistakes, that are read and never written.
    pub(crate) also: &'static [&'static str],
    /// True if version 2 has no such field.
    pub(crate) is_new: bool,
}

impl GbfsFieldNames {
    pub(crate) const fn new(key: &'static str) -> GbfsFieldNames {
        GbfsFieldNames { key, old: None, also: &[], is_new: false }
    }

    /// Sets the name in version 2.
    pub(crate) const fn named_in_v2(self, old: &'static str) -> GbfsFieldNames {
        GbfsFieldNames { old: Some(old), ..self }
    }

    /// Sets further names that are read.
    pub(crate) const fn with_aliases(self, also: &'static [&'static str]) -> GbfsFieldNames {
        GbfsFieldNames { also, ..self }
    }

    /// Marks a field that version 2 does not have.
    pub(crate) const fn only_in_v3(self) -> GbfsFieldNames {
        GbfsFieldNames { is_new: true, ..self }
    }

    /// Returns all names, the newest first.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.key].into_iter().chain(self.old).chain(self.also.iter().copied())
    }
}

/// A JSON value of a field.
pub(crate) trait FieldValue: Sized {
    /// Reads a value. Returns `None` and reports a problem if the JSON is unusable.
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<Self>;
    fn write_value(&self, writing: &mut RecordWriter);
}

/// The type of a field: an optional value, or a list.
pub(crate) trait RecordField: Default {
    /// Reads a field. Returns the default and reports a problem if the JSON is unusable.
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> Self;
    /// Writes the field's value.
    fn write_field(&self, writing: &mut RecordWriter);
    /// Returns true if there is no value to write.
    fn is_absent(&self) -> bool;
    /// Adds the texts of the other field in languages that this one does not have.
    fn add_language(&mut self, _other: &Self) {}
}

impl<T: FieldValue> RecordField for Option<T> {
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> Option<T> {
        T::read_value(json, reading)
    }

    fn write_field(&self, writing: &mut RecordWriter) {
        if let Some(value) = self {
            value.write_value(writing);
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: FieldValue> RecordField for Vec<T> {
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> Vec<T> {
        reading.read_list(json)
    }

    fn write_field(&self, writing: &mut RecordWriter) {
        writing.write_list(self.iter(), |value, writing| value.write_value(writing));
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// An object whose fields are declared by rows.
pub(crate) trait GbfsRecord: Default {
    /// The names of all fields.
    const ROWS: &'static [GbfsFieldNames];
    /// Reads each field independently: a bad one is absent.
    fn read_fields(&mut self, object: &Map<String, Value>, reading: &mut RecordReader<'_>);
    /// Writes the fields that are not absent.
    fn write_fields(&self, writing: &mut RecordWriter);
    /// Adds the texts of the other record in languages that this one does not have.
    fn add_language(&mut self, _other: &Self) {}
}

/// Declares a record by rows: `field: Type = "key"`, followed by methods of [`GbfsFieldNames`].
macro_rules! record {
    ($(#[$meta:meta])* $name:ident {
        $($field:ident: $type:ty = $key:literal $(.$say:ident($($with:expr),*))*,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(#[doc = concat!("`", $key, "`.")] pub $field: $type,)*
        }

        impl $crate::record::GbfsRecord for $name {
            const ROWS: &'static [$crate::record::GbfsFieldNames] =
                &[$($crate::record::GbfsFieldNames::new($key)$(.$say($($with),*))*,)*];

            fn read_fields(
                &mut self,
                object: &serde_json::Map<String, serde_json::Value>,
                reading: &mut $crate::record::reader::RecordReader<'_>,
            ) {
                let mut rows = Self::ROWS.iter();
                $(if let Some(row) = rows.next() {
                    self.$field = reading.read_field(object, row);
                })*
            }

            fn write_fields(&self, writing: &mut $crate::record::writer::RecordWriter) {
                let mut rows = Self::ROWS.iter();
                $(if let Some(row) = rows.next() {
                    writing.write_field(row, &self.$field);
                })*
            }

            fn add_language(&mut self, other: &Self) {
                $($crate::record::RecordField::add_language(&mut self.$field, &other.$field);)*
            }
        }

        impl $crate::record::FieldValue for $name {
            fn read_value(
                json: &serde_json::Value,
                reading: &mut $crate::record::reader::RecordReader<'_>,
            ) -> Option<$name> {
                reading.read_record(json)
            }

            fn write_value(&self, writing: &mut $crate::record::writer::RecordWriter) {
                writing.write_record(self);
            }
        }

        #[cfg(test)]
        impl $crate::record::random_sample::RandomSample for $name {
            fn sample(chance: &mut fastrand::Rng) -> $name {
                $name { $($field: $crate::record::random_sample::RandomSample::sample(chance),)* }
            }
        }
    };
}
pub(crate) use record;
