//! The notices of rules: all are counted, and the first few are retained as samples.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The severity of a notice, as the reference validator assigns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Useful information.
    Info,
    /// A violation of best practice; riders may see wrong information.
    Warning,
    /// A violation of the specification; parts of the data cannot be used.
    Error,
}

impl Severity {
    /// Returns the severity as written in reports: `ERROR`, `WARNING` or `INFO`.
    pub fn severity_report_name(self) -> &'static str {
        match self {
            Severity::Info => "INFO",
            Severity::Warning => "WARNING",
            Severity::Error => "ERROR",
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.severity_report_name())
    }
}

/// A kind of notice: one code with its page.
#[derive(Debug)]
pub struct NoticeKind {
    /// The code in snake_case, as the reference validator names it.
    pub code: &'static str,
    /// The severity of all notices of this kind.
    pub severity: Severity,
    /// The name and the meaning of each field of a notice, in display order.
    pub fields: &'static [(&'static str, &'static str)],
    /// The page about the kind, in Markdown: its meaning, its impact, and examples that are run as tests.
    pub page: &'static str,
}

impl NoticeKind {
    /// Returns the page's first paragraph, which describes the problem in a sentence or two.
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
    /// Sets a field. A null value is left out.
    pub fn set_field(&mut self, name: &'static str, value: impl Into<Value>) -> &mut NoticeSample {
        let value = value.into();
        if !value.is_null() {
            self.fields.insert(name.to_owned(), truncate_text_value(value));
        }
        self
    }
}

/// The longest text that a notice quotes, in characters. Longer text is cut.
const TEXT_CHARS_MAX: usize = 500;

fn truncate_text_value(value: Value) -> Value {
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
pub struct NoticesOfKind {
    /// The kind.
    pub kind: &'static NoticeKind,
    /// The number of notices, whether retained or not.
    pub total: u64,
    /// The first notices, as samples.
    pub samples: Vec<Map<String, Value>>,
}

/// All notices of a run: exact totals by kind, and the first few notices of each kind.
#[derive(Clone, Debug)]
pub struct Notices {
    found: BTreeMap<&'static str, NoticesOfKind>,
    samples_max: usize,
    incomplete_codes: BTreeSet<&'static str>,
}

impl Notices {
    /// The default number of notices of a kind that are retained as samples.
    pub const SAMPLES_MAX: usize = 100;

    /// Returns an empty collection that retains at most `samples_max` notices of each kind.
    pub fn new(samples_max: usize) -> Notices {
        Notices { found: BTreeMap::new(), samples_max, incomplete_codes: BTreeSet::new() }
    }

    /// Counts a notice. Calls `fill` to fill in its fields only if the notice is retained as a sample.
    pub fn count_notice_with_sample(
        &mut self,
        kind: &'static NoticeKind,
        fill: impl FnOnce(&mut NoticeSample),
    ) {
        let samples_max = self.samples_max;
        let found = self.notices_of_kind_mut(kind);
        found.total += 1;
        if found.samples.len() < samples_max {
            let mut sample = NoticeSample::default();
            fill(&mut sample);
            found.samples.push(sample.fields);
        }
    }

    /// Counts `n` notices. Calls `fill` only for those that are retained as samples, with their index among the `n`,
    /// from 0. Rules over pairs use this, since there may be more pairs than can be visited.
    pub fn count_notices_with_samples(
        &mut self,
        kind: &'static NoticeKind,
        n: usize,
        mut fill: impl FnMut(usize, &mut NoticeSample),
    ) {
        if n == 0 {
            return;
        }
        let samples_max = self.samples_max;
        let found = self.notices_of_kind_mut(kind);
        found.total += n as u64;
        for at in 0..n.min(samples_max.saturating_sub(found.samples.len())) {
            let mut sample = NoticeSample::default();
            fill(at, &mut sample);
            found.samples.push(sample.fields);
        }
    }

    /// Marks a kind as incomplete: its total is a lower bound, because counting further would cost too much.
    pub fn mark_total_as_lower_bound(&mut self, kind: &'static NoticeKind) {
        self.incomplete_codes.insert(kind.code);
    }

    /// Returns the codes whose totals are lower bounds.
    pub fn codes_with_lower_bound(&self) -> impl Iterator<Item = &'static str> {
        self.incomplete_codes.iter().copied()
    }

    fn notices_of_kind_mut(&mut self, kind: &'static NoticeKind) -> &mut NoticesOfKind {
        let nothing = || NoticesOfKind { kind, total: 0, samples: Vec::new() };
        self.found.entry(kind.code).or_insert_with(nothing)
    }

    /// Adds the notices of `others` after the notices of this collection.
    pub fn merge_notices(&mut self, others: Notices) {
        self.incomplete_codes.extend(others.incomplete_codes);
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

    /// Drops all kinds that `is_wanted` rejects.
    pub fn retain_notice_kinds(&mut self, is_wanted: impl Fn(&'static NoticeKind) -> bool) {
        self.found.retain(|_, found| is_wanted(found.kind));
    }

    /// Returns an empty collection with the same limit of samples.
    pub fn new_empty_like(&self) -> Notices {
        Notices::new(self.samples_max)
    }

    /// Returns the notices by kind, ordered by code.
    pub fn iter(&self) -> impl Iterator<Item = &NoticesOfKind> {
        self.found.values()
    }

    /// Returns the notices with a code.
    pub fn get(&self, code: &str) -> Option<&NoticesOfKind> {
        self.found.get(code)
    }

    /// Returns the number of notices with this severity.
    pub fn notice_count_by_severity(&self, severity: Severity) -> u64 {
        self.iter().filter(|found| found.kind.severity == severity).map(|found| found.total).sum()
    }
}
