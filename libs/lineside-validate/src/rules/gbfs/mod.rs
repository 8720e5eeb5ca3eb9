//! The rules over GBFS systems of the versions 1.0 to 3.1: one page for each kind of notice.
//!
//! The fields of each file stand in [`tables`]; most of what is said comes from there. Files are
//! read one after the other, those first whose ids others name, and only one of them is a tree of
//! values at a time: besides it, ids are kept, and a few places.

mod area;
mod field;
mod files;
mod kinds;
mod known;
mod look;
mod records;
mod rotation;
mod tables;
mod tree;
mod values;
mod version;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::{files::Heads, known::Known, look::Look, tree::Node};
pub use self::{files::name_of, rotation::is_compared, version::Version};
use super::{SystemError, words_of};
use crate::notice::{Kind, Notices};

/// Longest file that is looked at, in bytes. As a tree of values it takes some ten times as much.
const FILE_BYTES_MAX: usize = 64 << 20;

/// A system, or some of its files.
#[derive(Debug, Default)]
pub struct System<'a> {
    /// Its files with their names, which have no `.json`.
    pub files: Vec<(&'a str, &'a [u8])>,
    /// The names of those that could not be read, each with the reason.
    pub unread: Vec<(&'a str, &'a str)>,
    /// Its files as they were some time before, of those that are [compared](is_compared); none if nobody knows.
    pub before: Vec<(&'a str, &'a [u8])>,
    /// Whether these are all the files that it has.
    pub is_whole: bool,
    /// The time at which it is judged, in seconds since 1970.
    pub now: i64,
}

/// All kinds of notices that a system may get.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    kinds::KINDS.iter().copied()
}

/// Whether a file of a system has this name, without `.json`.
pub fn is_file(name: &str) -> bool {
    tables::find(name).is_some()
}

/// Looks at a system. A look that breaks off at a file is told apart from what the file gets wrong.
pub fn validate(system: &System<'_>, notices: &mut Notices) -> Vec<SystemError> {
    let heads = Heads::read(system);
    let mut known = Known::default();
    let mut errors = Vec::new();
    files::look(system, &heads, notices);
    for table in tables::TABLES {
        let Some((_, body)) = system.files.iter().find(|(name, _)| *name == table.name) else {
            continue;
        };
        let version = heads.version_of(table.name);
        // What a version does not have is judged by the nearest one that has it.
        let version = version.clamp(table.from, table.to);
        let before = system.before.iter().find(|(name, _)| *name == table.name);
        let looked = catch_unwind(AssertUnwindSafe(|| {
            let mut look = Look::new(table.name, version, system.now, &mut known, notices);
            file(&mut look, &Node::of(table.fields, version), body, before.map(|(_, body)| *body));
        }));
        if let Err(panic) = looked {
            errors.push(SystemError { rule: table.name, message: words_of(&*panic) });
        }
    }
    files::look_at_what_was_named(system, &heads, &known, notices);
    errors
}

fn file(look: &mut Look<'_>, data: &Node, body: &[u8], before: Option<&[u8]>) {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let malformed = |look: &mut Look<'_>, reason: String| {
        look.say(&kinds::MALFORMED_JSON, |sample| _ = sample.put("reason", reason));
    };
    if body.len() > FILE_BYTES_MAX {
        malformed(look, format!("more than {FILE_BYTES_MAX} bytes: it is not looked at"));
        return;
    }
    match serde_json::from_slice(body) {
        Ok(document) => {
            files::frame(look, &document);
            if let Some(value) = document.get("data") {
                look.at("data", |look| look.walk(data, value));
                records::look(look, &document);
                if let Some(before) = before {
                    rotation::look(look, &document, before);
                }
            }
        }
        Err(error) => malformed(look, error.to_string()),
    }
}
