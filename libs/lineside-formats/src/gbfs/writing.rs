//! Writing records as version 2.3 or 3.0 has them, and counting what 2.3 cannot say.

use smol_str::SmolStr;

use super::record::{Field, Record, Row};
use crate::Losses;

/// A version that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 2.3.
    Two,
    /// 3.0.
    Three,
}

impl Version {
    /// All of them.
    pub const ALL: [Version; 2] = [Version::Two, Version::Three];

    /// As files say it.
    pub fn as_str(self) -> &'static str {
        match self {
            Version::Two => "2.3",
            Version::Three => "3.0",
        }
    }

    /// The number that addresses have.
    pub fn major(self) -> u8 {
        match self {
            Version::Two => 2,
            Version::Three => 3,
        }
    }

    /// The version with that major number.
    pub fn of_major(major: &str) -> Option<Version> {
        match major {
            "2" => Some(Version::Two),
            "3" => Some(Version::Three),
            _ => None,
        }
    }
}

/// JSON as it grows.
#[derive(Debug)]
pub(super) struct Writing {
    pub(super) version: Version,
    /// The one that is written where only one can be.
    pub(super) language: SmolStr,
    pub(super) text: Vec<u8>,
    /// Values that were left out, by field.
    pub(super) lost: Losses,
    /// The field that is written.
    field: &'static str,
}

impl Writing {
    pub(super) fn new(version: Version, language: &str, text: Vec<u8>) -> Writing {
        let language = SmolStr::new(language);
        Writing { version, language, text, lost: Losses::new(), field: "" }
    }

    /// A field with its name in this version, unless it is absent.
    pub(super) fn field<T: Field>(&mut self, row: &Row, value: &T) {
        if value.is_absent() {
            return;
        }
        let outer = std::mem::replace(&mut self.field, row.key);
        let is_two = self.version == Version::Two;
        if is_two && row.is_new {
            self.lose(1);
        } else {
            let name = row.old.filter(|_| is_two).unwrap_or(row.key);
            self.key(name);
            value.write(self);
        }
        self.field = outer;
    }

    /// So many values of the present field cannot be said.
    pub(super) fn lose(&mut self, n: usize) {
        self.lost.push_many(self.field, CANNOT, n as u64);
    }

    /// A value of that field cannot be said.
    pub(super) fn lose_field(&mut self, field: &'static str) {
        self.lost.push(field, CANNOT, None);
    }

    pub(super) fn record<T: Record>(&mut self, record: &T) {
        self.object(|writing| record.write_fields(writing));
    }

    pub(super) fn object(&mut self, write: impl FnOnce(&mut Writing)) {
        self.text.push(b'{');
        write(self);
        self.text.push(b'}');
    }

    pub(super) fn list<T>(
        &mut self,
        items: impl Iterator<Item = T>,
        mut write: impl FnMut(T, &mut Writing),
    ) {
        self.text.push(b'[');
        for item in items {
            self.separate(b'[');
            write(item, self);
        }
        self.text.push(b']');
    }

    /// A name with its colon.
    pub(super) fn key(&mut self, name: &str) {
        self.separate(b'{');
        self.json(name);
        self.text.push(b':');
    }

    /// A comma, unless something has just begun. A text ends in a quote, so no value is taken for a beginning.
    fn separate(&mut self, beginning: u8) {
        if self.text.last().is_some_and(|last| *last != beginning) {
            self.text.push(b',');
        }
    }

    /// A value that has one way to be written.
    pub(super) fn json<T: serde::Serialize + ?Sized>(&mut self, value: &T) {
        let before = self.text.len();
        if serde_json::to_writer(&mut self.text, value).is_err() {
            // Texts and finite numbers are written without fail; whatever else it was, the rest stays readable.
            self.text.truncate(before);
            self.text.extend_from_slice(b"null");
        }
    }
}

/// Why something is lost: the one reason there is.
const CANNOT: &str = "version 2.3 has no way to say it";
