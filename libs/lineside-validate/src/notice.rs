//! What rules say: notices, of which all are counted and some are kept.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// How bad it is, as the reference validator judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Against best practice; riders may see wrong information.
    Warning,
    /// Breaks the specification; parts of the data cannot be used.
    Error,
}

impl Severity {
    /// As written in reports: `ERROR`, `WARNING` or `INFO`.
    pub fn report_name(self) -> &'static str {
        match self {
            Severity::Info => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.report_name())
    }
}

/// A kind of notice: one code with its page.
#[derive(Debug)]
pub struct NoticeKind {
    /// In snake_case, as the reference validator names it.
    pub code: &'static str,
    /// How bad each of its notices is.
    pub severity: Severity,
    /// What a notice holds: the fields' names, in the order in which they are shown, and what each
    /// means.
    pub fields: &'static [(&'static str, &'static str)],
    /// The page about it, in Markdown: what it means, why it matters, and cases that are tests.
    pub page: &'static str,
}

impl NoticeKind {
    /// The page's first paragraph: what is wrong, in a sentence or two.
    pub fn page_summary(&self) -> &'static str {
        let mut paragraphs = self.page.split("\n\n").map(str::trim);
        paragraphs.find(|paragraph| !paragraph.starts_with('#')).unwrap_or_default()
    }
}

/// The fields of one notice, in the order of its [`NoticeKind`].
#[derive(Debug, Default)]
pub struct NoticeSample {
    fields: Map<String, Value>,
}

impl NoticeSample {
    /// Says what a field holds. A value that is not there stays out.
    pub fn set_field(&mut self, name: &'static str, value: impl Into<Value>) -> &mut NoticeSample {
        let value = value.into();
        if !value.is_null() {
            self.fields.insert(name.to_owned(), shorten_value(value));
        }
        self
    }
}

/// The longest text that a notice quotes, in characters.
const TEXT_CHARS_MAX: usize = 500;

fn shorten_value(value: Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(TEXT_CHARS_MAX) {
            Some((cut, _)) => Value::String(format!("{}…", &text[..cut])),
            None => Value::String(text),
        },
        value => value,
    }
}

/// The notices of one kind.
#[derive(Clone, Debug)]
pub struct NoticeGroup {
    /// Their kind.
    pub kind: &'static NoticeKind,
    /// How many there were, kept or not.
    pub total: u64,
    /// The first of them.
    pub samples: Vec<Map<String, Value>>,
}

/// What was found: exact totals of each kind, and the first few notices of it.
#[derive(Clone, Debug)]
pub struct Notices {
    found: BTreeMap<&'static str, NoticeGroup>,
    samples_max: usize,
    left_off: BTreeSet<&'static str>,
}

impl Notices {
    /// Notices of one kind that are kept unless somebody asks for another number.
    pub const SAMPLES_MAX: usize = 100;

    /// Nothing found yet; at most `samples_max` notices of each kind will be kept.
    pub fn new(samples_max: usize) -> Notices {
        Notices { found: BTreeMap::new(), samples_max, left_off: BTreeSet::new() }
    }

    /// Counts a notice, and has its fields filled in if it is one of those that are kept.
    pub fn add_notice(&mut self, kind: &'static NoticeKind, fill: impl FnOnce(&mut NoticeSample)) {
        let samples_max = self.samples_max;
        let found = self.group_for_kind(kind);
        found.total += 1;
        if found.samples.len() < samples_max {
            let mut sample = NoticeSample::default();
            fill(&mut sample);
            found.samples.push(sample.fields);
        }
    }

    /// Counts `n` notices, and has the fields filled in of those that are kept; `fill` is told which
    /// of the `n` it is, from 0. For pairs, of which there may be more than there is time.
    pub fn add_notices(
        &mut self,
        kind: &'static NoticeKind,
        n: usize,
        mut fill: impl FnMut(usize, &mut NoticeSample),
    ) {
        if n == 0 {
            return;
        }
        let samples_max = self.samples_max;
        let found = self.group_for_kind(kind);
        found.total += n as u64;
        for at in 0..n.min(samples_max.saturating_sub(found.samples.len())) {
            let mut sample = NoticeSample::default();
            fill(at, &mut sample);
            found.samples.push(sample.fields);
        }
    }

    /// Says that there may be more of a kind than is counted, as looking further would take too much.
    pub fn mark_incomplete(&mut self, kind: &'static NoticeKind) {
        self.left_off.insert(kind.code);
    }

    /// The codes of which there may be more than is counted.
    pub fn incomplete_codes(&self) -> impl Iterator<Item = &'static str> {
        self.left_off.iter().copied()
    }

    fn group_for_kind(&mut self, kind: &'static NoticeKind) -> &mut NoticeGroup {
        let nothing = || NoticeGroup { kind, total: 0, samples: Vec::new() };
        self.found.entry(kind.code).or_insert_with(nothing)
    }

    /// Adds what others found after these.
    pub fn merge_notices(&mut self, others: Notices) {
        self.left_off.extend(others.left_off);
        for (code, other) in others.found {
            match self.found.get_mut(code) {
                Some(found) => {
                    found.total += other.total;
                    let room = self.samples_max - found.samples.len().min(self.samples_max);
                    found.samples.extend(other.samples.into_iter().take(room));
                }
                None => {
                    self.found.insert(code, other);
                }
            }
        }
    }

    /// Lets go of all but these kinds.
    pub fn retain_kinds(&mut self, is_wanted: impl Fn(&'static NoticeKind) -> bool) {
        self.found.retain(|_, found| is_wanted(found.kind));
    }

    /// An empty one with the same bound.
    pub fn new_empty_like(&self) -> Notices {
        Notices::new(self.samples_max)
    }

    /// What was found, ordered by code.
    pub fn iter(&self) -> impl Iterator<Item = &NoticeGroup> {
        self.found.values()
    }

    /// What was found of one code.
    pub fn get(&self, code: &str) -> Option<&NoticeGroup> {
        self.found.get(code)
    }

    /// How many notices of this severity there are.
    pub fn count_by_severity(&self, severity: Severity) -> u64 {
        self.iter().filter(|found| found.kind.severity == severity).map(|found| found.total).sum()
    }
}
