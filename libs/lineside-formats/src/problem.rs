//! A decoder's complaints about bytes, kept in bounded number and counted exactly.

use std::{collections::BTreeMap, fmt};

/// One thing that a decoder could not take as it stands, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file of the dataset, or a decoder's name for the message (`entity`).
    pub file: Box<str>,
    /// Line in the file, counted from 1 with the header; the first line of the row where quotes
    /// span several.
    pub line: Option<u64>,
    /// What its producer calls the record that it is in, at most [`Problem::VALUE_CHARS_MAX`] characters of it.
    pub id: Option<Box<str>>,
    /// The column or field.
    pub field: Option<Box<str>>,
    /// What stands there, at most [`Problem::VALUE_CHARS_MAX`] characters of it.
    pub value: Option<Box<str>>,
    /// What is wrong, in snake_case; MobilityData's notice code where one exists.
    pub code: &'static str,
    /// What is wrong, in words: lower case, no full stop.
    pub detail: Box<str>,
}

impl Problem {
    /// Longest value that a problem quotes, in characters.
    pub const VALUE_CHARS_MAX: usize = 120;

    /// A problem of the whole of `file`.
    pub fn new(
        file: impl Into<Box<str>>,
        code: &'static str,
        detail: impl Into<Box<str>>,
    ) -> Problem {
        Problem {
            file: file.into(),
            line: None,
            id: None,
            field: None,
            value: None,
            code,
            detail: detail.into(),
        }
    }

    /// The same problem, at `line`.
    #[must_use]
    pub fn with_line(mut self, line: u64) -> Problem {
        self.line = Some(line);
        self
    }

    /// The same problem, in the record with that id, cut to [`Problem::VALUE_CHARS_MAX`] characters.
    #[must_use]
    pub fn with_record(mut self, id: &str) -> Problem {
        self.id = Some(shorten_value(id));
        self
    }

    /// The same problem, in `field`.
    #[must_use]
    pub fn with_field(mut self, field: &str) -> Problem {
        self.field = Some(field.into());
        self
    }

    /// The same problem, quoting `value`, cut to [`Problem::VALUE_CHARS_MAX`] characters.
    #[must_use]
    pub fn with_value(mut self, value: &str) -> Problem {
        self.value = Some(shorten_value(value));
        self
    }
}

/// The text, cut to [`Problem::VALUE_CHARS_MAX`] characters.
pub(crate) fn shorten_value(text: &str) -> Box<str> {
    match text.char_indices().nth(Problem::VALUE_CHARS_MAX - 1) {
        Some((cut, last)) if cut + last.len_utf8() < text.len() => {
            format!("{}…", &text[..cut]).into()
        }
        _ => text.into(),
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, " line {line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", {field}")?;
        }
        write!(f, ": {}", self.detail)?;
        if let Some(id) = &self.id {
            write!(f, " ({id})")?;
        }
        match &self.value {
            Some(value) => write!(f, ": {value:?}"),
            None => Ok(()),
        }
    }
}

/// The problems of one decoding: the first few of each kind, and how many there were of each.
///
/// Bound: at most [`Problems::KEPT_MAX`] kept, at most [`Problems::KEPT_PER_CODE_MAX`] of one code
/// in one file. Totals are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    kept: Vec<Problem>,
    counts: BTreeMap<Box<str>, BTreeMap<&'static str, u64>>,
    total: u64,
}

impl Problems {
    /// Problems kept of one code in one file; further ones are only counted.
    pub const KEPT_PER_CODE_MAX: usize = 50;
    /// Problems kept in all; further ones are only counted.
    pub const KEPT_MAX: usize = 1_000;

    /// No problems.
    pub fn new() -> Problems {
        Problems::default()
    }

    /// Counts `problem`, and keeps it while there is room.
    pub fn push(&mut self, problem: Problem) {
        if self.count_problem(&problem.file, problem.code, 1) {
            self.kept.push(problem);
        }
    }

    /// Counts a problem of `code` in `file` and builds it only if it is to be kept: cheap when a
    /// million rows share one fault.
    pub fn push_lazily(
        &mut self,
        file: &str,
        code: &'static str,
        problem: impl FnOnce() -> Problem,
    ) {
        if self.count_problem(file, code, 1) {
            self.kept.push(problem());
        }
    }

    /// Counts, and tells whether a problem of this kind would still be kept.
    fn count_problem(&mut self, file: &str, code: &'static str, n: u64) -> bool {
        self.total += n;
        let codes = match self.counts.get_mut(file) {
            Some(codes) => codes,
            None => self.counts.entry(file.into()).or_default(),
        };
        let count = codes.entry(code).or_default();
        *count += n;
        *count <= Problems::KEPT_PER_CODE_MAX as u64 && self.kept.len() < Problems::KEPT_MAX
    }

    /// How many there were, kept or not.
    pub fn total_count(&self) -> u64 {
        self.total
    }

    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The ones that were kept, in the order in which they were found.
    pub fn retained_problems(&self) -> &[Problem] {
        &self.kept
    }

    /// How many there were of each code in each file, ordered by file and code.
    pub fn problem_counts(&self) -> impl Iterator<Item = (&str, &'static str, u64)> {
        self.counts
            .iter()
            .flat_map(|(file, codes)| codes.iter().map(move |(&code, &n)| (&**file, code, n)))
    }

    /// Takes back the problems of one field that are told in other words: those that were kept, and `n` of the count.
    #[cfg(feature = "netex")]
    pub(crate) fn retract_field_problems(
        &mut self,
        file: &str,
        code: &'static str,
        field: &str,
        n: u64,
    ) {
        let is_it = |it: &Problem| {
            *it.file == *file && it.code == code && it.field.as_deref() == Some(field)
        };
        self.kept.retain(|problem| !is_it(problem));
        let Some(codes) = self.counts.get_mut(file) else { return };
        if let Some(count) = codes.get_mut(code) {
            let n = n.min(*count);
            *count -= n;
            self.total -= n;
        }
        codes.retain(|_, count| *count > 0);
        self.counts.retain(|_, codes| !codes.is_empty());
    }

    /// The same problems, told of `file`.
    #[must_use]
    pub fn relabel_file(self, file: &str) -> Problems {
        let mut told = Problems { total: self.total, ..Problems::default() };
        told.kept = self.kept.into_iter().map(|it| Problem { file: file.into(), ..it }).collect();
        for (code, n) in self.counts.into_values().flatten() {
            *told.counts.entry(file.into()).or_default().entry(code).or_default() += n;
        }
        told
    }

    /// Adds the problems of `other` after these, within the same bounds.
    pub fn merge(&mut self, other: Problems) {
        for problem in other.kept {
            let already = self
                .kept
                .iter()
                .filter(|p| p.code == problem.code && p.file == problem.file)
                .count();
            if already < Problems::KEPT_PER_CODE_MAX && self.kept.len() < Problems::KEPT_MAX {
                self.kept.push(problem);
            }
        }
        for (file, codes) in other.counts {
            for (code, n) in codes {
                self.count_problem(&file, code, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_one_sentence() {
        let problem = Problem::new("stops.txt", "invalid_float", "not a number")
            .with_line(7)
            .with_field("stop_lat")
            .with_value("abc");
        assert_eq!(problem.to_string(), "stops.txt line 7, stop_lat: not a number: \"abc\"");
        assert_eq!(
            Problem::new("trips.txt", "missing_required_file", "is missing").to_string(),
            "trips.txt: is missing"
        );
        let problem = Problem::new("Line", "invalid_integer", "no whole number").with_record("L 1");
        assert_eq!(problem.with_value("x").to_string(), "Line: no whole number (L 1): \"x\"");
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        let long = "ü".repeat(500);
        let value = Problem::new("a", "b", "c").with_value(&long).value.unwrap();
        assert_eq!(value.chars().count(), Problem::VALUE_CHARS_MAX);
        let exact = "ü".repeat(Problem::VALUE_CHARS_MAX);
        assert_eq!(*Problem::new("a", "b", "c").with_value(&exact).value.unwrap(), *exact);
    }

    #[test]
    fn few_are_kept_and_all_are_counted() {
        let mut problems = Problems::new();
        for line in 0..10_000 {
            problems
                .push(Problem::new("stops.txt", "invalid_float", "not a number").with_line(line));
        }
        problems.push_lazily("trips.txt", "duplicate_key", || {
            Problem::new("trips.txt", "duplicate_key", "again")
        });
        assert_eq!(problems.total_count(), 10_001);
        assert_eq!(problems.retained_problems().len(), Problems::KEPT_PER_CODE_MAX + 1);
        let counts: Vec<_> = problems.problem_counts().collect();
        assert_eq!(
            counts,
            [("stops.txt", "invalid_float", 10_000), ("trips.txt", "duplicate_key", 1)]
        );
    }

    #[cfg(feature = "netex")]
    #[test]
    fn what_is_taken_back_was_never_there() {
        let mut problems = Problems::new();
        let wrong = |field: &str| Problem::new("agency.txt", "empty", "is empty").with_field(field);
        for _ in 0..60 {
            problems.push(wrong("url"));
        }
        let mut others = Problems::new();
        others.push(wrong("name"));
        problems.merge(others.clone());
        problems.retract_field_problems("agency.txt", "empty", "url", 60);
        assert_eq!(problems.problem_counts().collect::<Vec<_>>(), [("agency.txt", "empty", 1)]);
        assert_eq!((problems.total_count(), problems.retained_problems().len()), (1, 0));
        others.retract_field_problems("agency.txt", "empty", "name", 2);
        assert_eq!(others, Problems::new());
    }

    #[test]
    fn problems_of_one_file_are_told_of_it_by_another_name() {
        let mut problems = Problems::new();
        for (file, code) in [("a", "bad"), ("a", "odd"), ("b", "bad")] {
            problems.push(Problem::new(file, code, "is wrong").with_field("x"));
        }
        let told = problems.relabel_file("fr/a.json");
        let counts: Vec<_> = told.problem_counts().collect();
        assert_eq!(counts, [("fr/a.json", "bad", 2), ("fr/a.json", "odd", 1)]);
        assert_eq!((told.total_count(), told.retained_problems().len()), (3, 3));
        assert!(
            told.retained_problems()
                .iter()
                .all(|it| &*it.file == "fr/a.json" && it.field.is_some())
        );
        assert!(Problems::new().relabel_file("a").is_empty());
    }

    #[test]
    fn merging_keeps_the_bounds_and_the_counts() {
        let mut all = Problems::new();
        for file in 0..30 {
            let mut one = Problems::new();
            for line in 0..60 {
                one.push(
                    Problem::new(format!("{file}.txt"), "invalid_float", "not a number")
                        .with_line(line),
                );
            }
            all.merge(one.clone());
            all.merge(one);
        }
        assert_eq!(all.total_count(), 30 * 120);
        assert_eq!(all.retained_problems().len(), Problems::KEPT_MAX);
        assert!(all.problem_counts().all(|(_, _, n)| n == 120));
    }
}
