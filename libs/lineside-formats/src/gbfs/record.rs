//! How a record is described: a row for each field says how version 3 calls it, how version 2 did, and since when there
//! is such a field. Reading and writing of every version go by the same rows.

use serde_json::{Map, Value};

use super::{record_reader::RecordReader, record_writer::RecordWriter};

/// A field's names.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldNames {
    /// Version 3's.
    pub(super) key: &'static str,
    /// Version 2's, where it differs.
    pub(super) old: Option<&'static str>,
    /// Others that are read and never written: of drafts and of common mistakes.
    pub(super) also: &'static [&'static str],
    /// Version 2 has no such field.
    pub(super) is_new: bool,
}

impl FieldNames {
    pub(super) const fn new(key: &'static str) -> FieldNames {
        FieldNames { key, old: None, also: &[], is_new: false }
    }

    /// With that name in version 2.
    pub(super) const fn named_in_v2(self, old: &'static str) -> FieldNames {
        FieldNames { old: Some(old), ..self }
    }

    /// With those names read too.
    pub(super) const fn with_aliases(self, also: &'static [&'static str]) -> FieldNames {
        FieldNames { also, ..self }
    }

    /// Of version 3 only.
    pub(super) const fn only_in_v3(self) -> FieldNames {
        FieldNames { is_new: true, ..self }
    }

    /// All its names, the newest first.
    pub(super) fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.key].into_iter().chain(self.old).chain(self.also.iter().copied())
    }
}

/// One value.
pub(super) trait FieldValue: Sized {
    /// `None` where nothing can be made of it; why is told.
    fn read_value(json: &Value, reading: &mut RecordReader<'_>) -> Option<Self>;
    fn write_value(&self, writing: &mut RecordWriter);
}

/// What a field holds: a value that may be absent, or several.
pub(super) trait RecordField: Default {
    /// The default where nothing can be made of it; why is told.
    fn read_field(json: &Value, reading: &mut RecordReader<'_>) -> Self;
    /// Writes what is not absent.
    fn write_field(&self, writing: &mut RecordWriter);
    /// Whether there is nothing to be written.
    fn is_absent(&self) -> bool;
    /// Takes over what the same field says in a language that this one has not.
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

/// An object with rows.
pub(super) trait GbfsRecord: Default {
    /// The names of all its fields.
    const ROWS: &'static [FieldNames];
    /// Takes each field for itself: a bad one is absent.
    fn read_fields(&mut self, object: &Map<String, Value>, reading: &mut RecordReader<'_>);
    /// Writes the fields that are there.
    fn write_fields(&self, writing: &mut RecordWriter);
    /// Takes over what the same record says in a language that this one has not.
    fn add_language(&mut self, _other: &Self) {}
}

/// A record with its rows: `field: Type = "key"`, and after the key what [`FieldNames`] can be.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident {
        $($field:ident: $type:ty = $key:literal $(.$say:ident($($with:expr),*))*,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(#[doc = concat!("`", $key, "`.")] pub $field: $type,)*
        }

        impl $crate::gbfs::record::GbfsRecord for $name {
            const ROWS: &'static [$crate::gbfs::record::FieldNames] =
                &[$($crate::gbfs::record::FieldNames::new($key)$(.$say($($with),*))*,)*];

            fn read_fields(
                &mut self,
                object: &serde_json::Map<String, serde_json::Value>,
                reading: &mut $crate::gbfs::record_reader::RecordReader<'_>,
            ) {
                let mut rows = Self::ROWS.iter();
                $(if let Some(row) = rows.next() {
                    self.$field = reading.read_field(object, row);
                })*
            }

            fn write_fields(&self, writing: &mut $crate::gbfs::record_writer::RecordWriter) {
                let mut rows = Self::ROWS.iter();
                $(if let Some(row) = rows.next() {
                    writing.write_field(row, &self.$field);
                })*
            }

            fn add_language(&mut self, other: &Self) {
                $($crate::gbfs::record::RecordField::add_language(&mut self.$field, &other.$field);)*
            }
        }

        impl $crate::gbfs::record::FieldValue for $name {
            fn read_value(
                json: &serde_json::Value,
                reading: &mut $crate::gbfs::record_reader::RecordReader<'_>,
            ) -> Option<$name> {
                reading.read_record(json)
            }

            fn write_value(&self, writing: &mut $crate::gbfs::record_writer::RecordWriter) {
                writing.write_record(self);
            }
        }

        #[cfg(test)]
        impl $crate::gbfs::sample::RandomSample for $name {
            fn sample(chance: &mut fastrand::Rng) -> $name {
                $name { $($field: $crate::gbfs::sample::RandomSample::sample(chance),)* }
            }
        }
    };
}
pub(super) use record;
