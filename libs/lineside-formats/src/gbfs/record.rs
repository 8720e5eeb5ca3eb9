//! How a record is described: a row for each field says how version 3 calls it, how version 2 did, and since when there
//! is such a field. Reading and writing of every version go by the same rows.

use serde_json::{Map, Value};

use super::{reading::Reading, writing::Writing};

/// A field's names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Version 3's.
    pub(super) key: &'static str,
    /// Version 2's, where it differs.
    pub(super) old: Option<&'static str>,
    /// Others that are read and never written: of drafts and of common mistakes.
    pub(super) also: &'static [&'static str],
    /// Version 2 has no such field.
    pub(super) is_new: bool,
}

impl Row {
    pub(super) const fn new(key: &'static str) -> Row {
        Row { key, old: None, also: &[], is_new: false }
    }

    /// With that name in version 2.
    pub(super) const fn was(self, old: &'static str) -> Row {
        Row { old: Some(old), ..self }
    }

    /// With those names read too.
    pub(super) const fn also(self, also: &'static [&'static str]) -> Row {
        Row { also, ..self }
    }

    /// Of version 3 only.
    pub(super) const fn is_new(self) -> Row {
        Row { is_new: true, ..self }
    }

    /// All its names, the newest first.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.key].into_iter().chain(self.old).chain(self.also.iter().copied())
    }
}

/// One value.
pub(super) trait Leaf: Sized {
    /// `None` where nothing can be made of it; why is told.
    fn read(json: &Value, reading: &mut Reading<'_>) -> Option<Self>;
    fn write(&self, writing: &mut Writing);
}

/// What a field holds: a value that may be absent, or several.
pub(super) trait Field: Default {
    /// The default where nothing can be made of it; why is told.
    fn read(json: &Value, reading: &mut Reading<'_>) -> Self;
    /// Writes what is not absent.
    fn write(&self, writing: &mut Writing);
    /// Whether there is nothing to be written.
    fn is_absent(&self) -> bool;
    /// Takes over what the same field says in a language that this one has not.
    fn add_language(&mut self, _other: &Self) {}
}

impl<T: Leaf> Field for Option<T> {
    fn read(json: &Value, reading: &mut Reading<'_>) -> Option<T> {
        T::read(json, reading)
    }

    fn write(&self, writing: &mut Writing) {
        if let Some(value) = self {
            value.write(writing);
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Leaf> Field for Vec<T> {
    fn read(json: &Value, reading: &mut Reading<'_>) -> Vec<T> {
        reading.list(json)
    }

    fn write(&self, writing: &mut Writing) {
        writing.list(self.iter(), |value, writing| value.write(writing));
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// An object with rows.
pub(super) trait Record: Default {
    /// The names of all its fields.
    const ROWS: &'static [Row];
    /// Takes each field for itself: a bad one is absent.
    fn read_fields(&mut self, object: &Map<String, Value>, reading: &mut Reading<'_>);
    /// Writes the fields that are there.
    fn write_fields(&self, writing: &mut Writing);
    /// Takes over what the same record says in a language that this one has not.
    fn add_language(&mut self, _other: &Self) {}
}

/// A record with its rows: `field: Type = "key"`, and after the key what [`Row`] can be.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident {
        $($field:ident: $type:ty = $key:literal $(.$say:ident($($with:expr),*))*,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $(#[doc = concat!("`", $key, "`.")] pub $field: $type,)*
        }

        impl $crate::gbfs::record::Record for $name {
            const ROWS: &'static [$crate::gbfs::record::Row] =
                &[$($crate::gbfs::record::Row::new($key)$(.$say($($with),*))*,)*];

            fn read_fields(
                &mut self,
                object: &serde_json::Map<String, serde_json::Value>,
                reading: &mut $crate::gbfs::reading::Reading<'_>,
            ) {
                let mut rows = Self::ROWS.iter();
                $(if let Some(row) = rows.next() {
                    self.$field = reading.field(object, row);
                })*
            }

            fn write_fields(&self, writing: &mut $crate::gbfs::writing::Writing) {
                let mut rows = Self::ROWS.iter();
                $(if let Some(row) = rows.next() {
                    writing.field(row, &self.$field);
                })*
            }

            fn add_language(&mut self, other: &Self) {
                $($crate::gbfs::record::Field::add_language(&mut self.$field, &other.$field);)*
            }
        }

        impl $crate::gbfs::record::Leaf for $name {
            fn read(
                json: &serde_json::Value,
                reading: &mut $crate::gbfs::reading::Reading<'_>,
            ) -> Option<$name> {
                reading.record(json)
            }

            fn write(&self, writing: &mut $crate::gbfs::writing::Writing) {
                writing.record(self);
            }
        }

        #[cfg(test)]
        impl $crate::gbfs::sample::Sample for $name {
            fn sample(chance: &mut fastrand::Rng) -> $name {
                $name { $($field: $crate::gbfs::sample::Sample::sample(chance),)* }
            }
        }
    };
}
pub(super) use record;
