//! Problems that decoders find in their input: a bounded number is retained, all are counted.

use std::{collections::BTreeMap, fmt};

/// A fault that a decoder found in its input, and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file of the dataset, or a decoder's name for the message (`entity`).
    pub file: Box<str>,
    /// The line in the file, counted from 1 including the header; the first line of a row whose quoted values span
    /// several.
    pub line: Option<u64>,
    /// The producer's id of the record, at most [`Problem::VALUE_CHARS_MAX`] characters of it.
    pub id: Option<Box<str>>,
    /// The column or field.
    pub field: Option<Box<str>>,
    /// The faulty value, at most [`Problem::VALUE_CHARS_MAX`] characters of it.
    pub value: Option<Box<str>>,
    /// The fault in snake_case: MobilityData's notice code if there is one.
    pub code: &'static str,
    /// A description of the fault, in lower case and without a full stop.
    pub detail: Box<str>,
}

impl Problem {
    /// Longest value that a problem quotes, in characters.
    pub const VALUE_CHARS_MAX: usize = 120;

    /// Creates a problem that concerns the whole of `file`.
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

    /// Sets the line.
    #[must_use]
    pub fn with_line(mut self, line: u64) -> Problem {
        self.line = Some(line);
        self
    }

    /// Sets the id of the record, cut to [`Problem::VALUE_CHARS_MAX`] characters.
    #[must_use]
    pub fn with_record(mut self, id: &str) -> Problem {
        self.id = Some(truncate_value(id));
        self
    }

    /// Sets the field.
    #[must_use]
    pub fn with_field(mut self, field: &str) -> Problem {
        self.field = Some(field.into());
        self
    }

    /// Sets the value, cut to [`Problem::VALUE_CHARS_MAX`] characters.
    #[must_use]
    pub fn with_value(mut self, value: &str) -> Problem {
        self.value = Some(truncate_value(value));
        self
    }
}

/// Cuts a text to [`Problem::VALUE_CHARS_MAX`] characters.
pub(crate) fn truncate_value(text: &str) -> Box<str> {
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

/// The problems of one decoding: the first few of each code, and exact counts.
///
/// Retains at most [`Problems::RETAINED_MAX`] problems, and at most [`Problems::RETAINED_PER_CODE_MAX`] of one code in
/// one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    retained: Vec<Problem>,
    counts: BTreeMap<Box<str>, BTreeMap<&'static str, u64>>,
    total: u64,
}

impl Problems {
    /// Maximum number of retained problems of one code in one file; further ones are only counted.
    pub const RETAINED_PER_CODE_MAX: usize = 50;
    /// Maximum number of retained problems in all; further ones are only counted.
    pub const RETAINED_MAX: usize = 1_000;

    /// Creates an empty list.
    pub fn new() -> Problems {
        Problems::default()
    }

    /// Counts `problem`, and retains it if the limits allow.
    pub fn push(&mut self, problem: Problem) {
        if self.count_and_check_retention(&problem.file, problem.code, 1) {
            self.retained.push(problem);
        }
    }

    /// Counts a problem of `code` in `file`, and builds it only if it will be retained. This is cheap when a million
    /// rows have the same fault.
    pub fn push_lazily(
        &mut self,
        file: &str,
        code: &'static str,
        problem: impl FnOnce() -> Problem,
    ) {
        if self.count_and_check_retention(file, code, 1) {
            self.retained.push(problem());
        }
    }

    /// Counts `n` problems and returns true if one of them may be retained.
    fn count_and_check_retention(&mut self, file: &str, code: &'static str, n: u64) -> bool {
        self.total += n;
        let codes = match self.counts.get_mut(file) {
            Some(codes) => codes,
            None => self.counts.entry(file.into()).or_default(),
        };
        let count = codes.entry(code).or_default();
        *count += n;
        *count <= Problems::RETAINED_PER_CODE_MAX as u64
            && self.retained.len() < Problems::RETAINED_MAX
    }

    /// Returns the number of problems, retained or not.
    pub fn total_count(&self) -> u64 {
        self.total
    }

    /// Returns true if there are no problems.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the retained problems, in the order in which they were found.
    pub fn retained_problems(&self) -> &[Problem] {
        &self.retained
    }

    /// Returns the number of problems of each code in each file, ordered by file and code.
    pub fn problem_counts(&self) -> impl Iterator<Item = (&str, &'static str, u64)> {
        self.counts
            .iter()
            .flat_map(|(file, codes)| codes.iter().map(move |(&code, &n)| (&**file, code, n)))
    }

    /// Removes the problems of one field, which the caller reports in another form: the retained ones, and `n` of the
    /// count.
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
        self.retained.retain(|problem| !is_it(problem));
        let Some(codes) = self.counts.get_mut(file) else { return };
        if let Some(count) = codes.get_mut(code) {
            let n = n.min(*count);
            *count -= n;
            self.total -= n;
        }
        codes.retain(|_, count| *count > 0);
        self.counts.retain(|_, codes| !codes.is_empty());
    }

    /// Moves all problems to `file`.
    #[must_use]
    pub fn move_all_to_file(self, file: &str) -> Problems {
        let mut relabeled = Problems { total: self.total, ..Problems::default() };
        relabeled.retained =
            self.retained.into_iter().map(|it| Problem { file: file.into(), ..it }).collect();
        for (code, n) in self.counts.into_values().flatten() {
            *relabeled.counts.entry(file.into()).or_default().entry(code).or_default() += n;
        }
        relabeled
    }

    /// Appends the problems of `other`, within the same limits.
    pub fn merge(&mut self, other: Problems) {
        for problem in other.retained {
            let already = self
                .retained
                .iter()
                .filter(|p| p.code == problem.code && p.file == problem.file)
                .count();
            if already < Problems::RETAINED_PER_CODE_MAX
                && self.retained.len() < Problems::RETAINED_MAX
            {
                self.retained.push(problem);
            }
        }
        for (file, codes) in other.counts {
            for (code, n) in codes {
                self.count_and_check_retention(&file, code, n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_formatted_as_one_sentence() {
        let problem = Problem::new("stops.txt", "invalid_float", "not a number")
            .with_line(7)
            .with_field("stop_lat")
            .with_value("abc");
        assert_eq!(problem.to_string(), "stops.txt line 7, stop_lat: not a number: \"abc\"");
        assert_eq!(
            Problem::new("trips.txt", "missing_required_file", "is missing").to_string(),
            "trips.txt: is missing"
        );
        let problem = Problem::new("Line", "invalid_integer", "not an integer").with_record("L 1");
        assert_eq!(problem.with_value("x").to_string(), "Line: not an integer (L 1): \"x\"");
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
    fn every_problem_is_counted_and_a_bounded_number_is_retained() {
        let mut problems = Problems::new();
        for line in 0..10_000 {
            problems
                .push(Problem::new("stops.txt", "invalid_float", "not a number").with_line(line));
        }
        problems.push_lazily("trips.txt", "duplicate_key", || {
            Problem::new("trips.txt", "duplicate_key", "again")
        });
        assert_eq!(problems.total_count(), 10_001);
        assert_eq!(problems.retained_problems().len(), Problems::RETAINED_PER_CODE_MAX + 1);
        let counts: Vec<_> = problems.problem_counts().collect();
        assert_eq!(
            counts,
            [("stops.txt", "invalid_float", 10_000), ("trips.txt", "duplicate_key", 1)]
        );
    }

    #[cfg(feature = "netex")]
    #[test]
    fn retracted_problems_are_no_longer_counted() {
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
    fn problems_are_relabeled_with_another_file_name() {
        let mut problems = Problems::new();
        for (file, code) in [("a", "bad"), ("a", "odd"), ("b", "bad")] {
            problems.push(Problem::new(file, code, "is wrong").with_field("x"));
        }
        let relabeled = problems.move_all_to_file("fr/a.json");
        let counts: Vec<_> = relabeled.problem_counts().collect();
        assert_eq!(counts, [("fr/a.json", "bad", 2), ("fr/a.json", "odd", 1)]);
        assert_eq!((relabeled.total_count(), relabeled.retained_problems().len()), (3, 3));
        assert!(
            relabeled
                .retained_problems()
                .iter()
                .all(|it| &*it.file == "fr/a.json" && it.field.is_some())
        );
        assert!(Problems::new().move_all_to_file("a").is_empty());
    }

    #[test]
    fn merging_respects_the_bounds_and_adds_the_counts() {
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
        assert_eq!(all.retained_problems().len(), Problems::RETAINED_MAX);
        assert!(all.problem_counts().all(|(_, _, n)| n == 120));
    }
}
