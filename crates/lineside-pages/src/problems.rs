//! The values of a feed's data that could not be read.

use lineside_formats::{Problem, Problems};
use maud::{Markup, html};

use super::words;
use crate::layout::render_foldable_section;
use crate::links::{has_rule_page, rule_page_url};

/// Values of one kind that are listed individually.
const SHOWN_MAX: usize = 10;
/// The code of a value that the specification does not define.
const UNKNOWN_VALUE: &str = "unexpected_enum_value";
/// The code of a field that the specification does not define.
const UNKNOWN_FIELD: &str = "unknown_field";
/// Files whose rows need such a value: without it, the row is lost. Rows of other files are loaded as if the field were
/// empty.
const FILES_NEEDING_VALUES: [&str; 3] = ["calendar.txt", "calendar_dates.txt", "routes.txt"];

/// The name of real-time messages among the files of problems.
const MESSAGE_FILE: &str = "entity";
/// Codes of records that are in one message twice.
const DUPLICATE_CODES: [&str; 2] = ["duplicate_record", "duplicate_id"];

/// The numbers of a feed's problems, by their effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProblemTotals {
    /// Rows and values that could not be read.
    pub(super) n_unreadable: u64,
    /// Values that the specification does not define; their rows are loaded.
    n_unknown_values: u64,
    /// Fields that the specification does not define; the others of their record are read.
    n_unknown_fields: u64,
    /// Records of real-time messages that were read and appear twice; the later one is used.
    n_duplicates: u64,
}

impl ProblemTotals {
    pub(super) fn from_problems(problems: &Problems) -> Self {
        let mut totals = Self::default();
        for (file, code, count) in problems.problem_counts() {
            let total = match code {
                UNKNOWN_VALUE if !FILES_NEEDING_VALUES.contains(&file) => {
                    &mut totals.n_unknown_values
                }
                UNKNOWN_FIELD => &mut totals.n_unknown_fields,
                code if file == MESSAGE_FILE && DUPLICATE_CODES.contains(&code) => {
                    &mut totals.n_duplicates
                }
                _ => &mut totals.n_unreadable,
            };
            *total = total.saturating_add(count);
        }
        totals
    }

    /// Returns the numbers of ignored fields, ignored values and duplicates, each with the key of its kind.
    fn list_others(self) -> Vec<(&'static str, String)> {
        let count = words::format_count;
        let others = [
            (self.n_duplicates, "duplicates", "duplicate", "duplicates", ""),
            (
                self.n_unknown_values,
                "unknown-values",
                "unknown value",
                "unknown values",
                " ignored",
            ),
            (
                self.n_unknown_fields,
                "unknown-fields",
                "unknown field",
                "unknown fields",
                " ignored",
            ),
        ];
        let present = others.into_iter().filter(|(n, ..)| *n > 0);
        present.map(|(n, key, one, many, end)| (key, count(n, one, many) + end)).collect()
    }

    /// Renders the numbers of ignored fields, ignored values and duplicates; nothing if there are none.
    pub(super) fn render_unknowns_and_duplicates(self) -> Markup {
        html! {
            @for (key, text) in self.list_others() { div.soft.small data-problems=(key) { (text) } }
        }
    }

    fn describe_totals(self) -> String {
        let unreadable = words::format_count(self.n_unreadable, "row or value", "rows and values");
        let first = if self.n_unreadable == 0 { "none".to_owned() } else { unreadable };
        let others = self.list_others().into_iter().map(|(_, text)| text);
        std::iter::once(first).chain(others).collect::<Vec<_>>().join("; ")
    }
}

/// Renders the rows and values that were left out, once data have arrived. `is_converted`: the tables were converted
/// from NeTEx, so their names and lines are not the producer's.
pub(super) fn render_card(problems: &Problems, has_data: bool, is_converted: bool) -> Markup {
    let totals = ProblemTotals::from_problems(problems);
    let note = if has_data { totals.describe_totals() } else { String::new() };
    let (own, converted): (Vec<_>, Vec<_>) = problems
        .problem_counts()
        .partition(|(file, _, _)| !(is_converted && file.ends_with(".txt")));
    let body = html! {
        @if !has_data {
            p.card-body.soft { "No valid data has arrived yet." }
        } @else if problems.is_empty() {
            p.card-body.soft { "Everything was readable. See the report for data quality." }
        } @else {
            p.card-body.soft.small {
                "Rows and values that Lineside could not read while it loaded the data that it serves now. The report checks the same data against all rules, so the same fault may be counted there, too."
                @if totals.n_duplicates > 0 { " Duplicates are records that one message has twice: both were read, and the later one is used." }
                @if totals.n_unknown_values > 0 { " A value that the specification does not define (" code { (UNKNOWN_VALUE) } ") is ignored as if the field were empty: nothing else of its row is lost." }
                @if totals.n_unknown_fields > 0 { " A field that the specification does not define (" code { (UNKNOWN_FIELD) } ") is ignored: all other fields of its record are read." }
            }
            ul.problem-list {
                @for (file, code, count) in own { (render_problem_kind(file, code, count, problems.retained_problems())) }
            }
            @if !converted.is_empty() {
                p.card-body.soft.small { "The timetable that was converted from this NeTEx lacks:" }
                ul.problem-list {
                    @for (file, code, count) in converted { (render_converted_problem_kind(file, code, count, problems.retained_problems())) }
                }
            }
        }
    };
    render_foldable_section("problems", "Unreadable data", &html! { (note) }, false, &body)
}

/// Returns the NeTEx elements that become the rows of a table.
fn netex_element_names(file: &str) -> &str {
    match file {
        "agency.txt" => "Operator or Authority",
        "stops.txt" => "StopPlace, Quay or ScheduledStopPoint",
        "routes.txt" => "Line",
        "trips.txt" => "ServiceJourney",
        "stop_times.txt" => "Call or TimetabledPassingTime",
        "calendar.txt" | "calendar_dates.txt" => "DayType or OperatingPeriod",
        "shapes.txt" => "ServiceLink or Route geometry",
        "transfers.txt" => "Interchange",
        other => other,
    }
}

/// Renders problems of one kind in a table converted from NeTEx: with the names of the original elements, and without
/// line numbers, which the producer does not have.
fn render_converted_problem_kind(
    file: &str,
    code: &str,
    count: u64,
    samples: &[Problem],
) -> Markup {
    let all = samples.iter().filter(|problem| &*problem.file == file && problem.code == code);
    let shown: Vec<&Problem> = all.take(SHOWN_MAX).collect();
    let more = count - u64::try_from(shown.len()).unwrap_or(count).min(count);
    html! {
        li {
            details open[count <= 3] {
                summary { strong { (netex_element_names(file)) } " " span.mono { (code) } span.tag { (words::format_number(count)) } }
                (render_rule_link(code))
                ul {
                    @for problem in shown {
                        li {
                            @if let Some(id) = &problem.id { code { (id) } " " }
                            @else if let Some(value) = &problem.value { code { (value) } " " }
                            (problem.detail)
                        }
                    }
                    @if more > 0 { li.soft { "and " (words::format_number(more)) " more" } }
                }
            }
        }
    }
}

/// Renders the problems of one kind in one file: their number, and the first few with their lines.
fn render_problem_kind(file: &str, code: &str, count: u64, samples: &[Problem]) -> Markup {
    let own = samples.iter().filter(|problem| &*problem.file == file && problem.code == code);
    let groups = group_by_value(own);
    let n_shown: usize = groups.iter().take(SHOWN_MAX).map(|(_, n)| n).sum();
    let more = count - u64::try_from(n_shown).unwrap_or(count).min(count);
    html! {
        li {
            details open[count <= 3] {
                summary { strong { (file) } " " span.mono { (code) } span.tag { (words::format_number(count)) } }
                (render_rule_link(code))
                ul {
                    @for (problem, n) in groups.iter().take(SHOWN_MAX) { li { (render_problem_line(problem)) @if *n > 1 { span.soft data-repeats=(n) { ", first of " (words::format_number(*n as u64)) } } } }
                    @if more > 0 { li.soft { "and " (words::format_number(more)) " more" } }
                }
            }
        }
    }
}

/// Returns the first problem for each field and value, in order, and the number of those like it.
fn group_by_value<'a>(problems: impl Iterator<Item = &'a Problem>) -> Vec<(&'a Problem, usize)> {
    let mut groups: Vec<(&Problem, usize)> = Vec::new();
    for problem in problems {
        let is_like = |other: &Problem| {
            problem.value.is_some()
                && (&other.field, &other.value, &other.detail)
                    == (&problem.field, &problem.value, &problem.detail)
        };
        match groups.iter_mut().find(|(first, _)| is_like(first)) {
            Some((_, n)) => *n += 1,
            None => groups.push((problem, 1)),
        }
    }
    groups
}

/// Renders a link to the page of a code, if it has one.
fn render_rule_link(code: &str) -> Markup {
    html! {
        @if has_rule_page(code) { p.card-body.small { a.target href=(rule_page_url(code)) { "About " code { (code) } } } }
    }
}

fn render_problem_line(problem: &Problem) -> Markup {
    html! {
        @if let Some(line) = problem.line { span.problem-line.numeric { "line " (line) } }
        @if let Some(id) = &problem.id { code { (id) } " " }
        @if let Some(field) = &problem.field { code { (field) } " " }
        (problem.detail)
        @if let Some(value) = &problem.value { ": " q { (value) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_of_netex_name_its_elements_and_no_table_rows() {
        let mut problems = Problems::new();
        problems.push(Problem {
            line: Some(7),
            ..Problem::new("stops.txt", "missing_value", "no name")
        });
        let own = render_card(&problems, true, false).into_string();
        assert!(own.contains("<strong>stops.txt</strong>") && own.contains("line 7"), "{own}");
        let converted = render_card(&problems, true, true).into_string();
        assert!(
            converted.contains("<strong>StopPlace, Quay or ScheduledStopPoint</strong>"),
            "{converted}"
        );
        assert!(!converted.contains("stops.txt") && !converted.contains("line 7"), "{converted}");
        problems.push(Problem::new("line.xml", "unknown_ref", "no such Line"));
        let both = render_card(&problems, true, true).into_string();
        assert!(both.contains("<strong>line.xml</strong>"), "a file of the producer's: {both}");
    }

    #[test]
    fn an_undefined_value_is_not_counted_as_unreadable() {
        let problem = |code, line, value: &str| Problem {
            line: Some(line),
            field: Some("stop_id".into()),
            value: Some(value.into()),
            ..Problem::new("stop_times.txt", code, "no")
        };
        let mut problems = Problems::new();
        for line in 2..5 {
            problems.push(problem("foreign_key_violation", line, "36388"));
            problems.push(problem(UNKNOWN_VALUE, line, "-999"));
        }
        problems.push(problem("foreign_key_violation", 9, "36389"));
        problems.push(Problem::new("routes.txt", UNKNOWN_VALUE, "its row is lost"));
        problems.push(Problem::new("en/station_status.json", UNKNOWN_FIELD, "it is ignored"));
        let totals = ProblemTotals::from_problems(&problems);
        let expected = ProblemTotals {
            n_unreadable: 5,
            n_unknown_values: 3,
            n_unknown_fields: 1,
            n_duplicates: 0,
        };
        assert_eq!(totals, expected);
        let page = render_card(&problems, true, false).into_string();
        assert_eq!(page.matches("36388").count(), 1, "one line for each value: {page}");
        assert_eq!(page.matches("data-repeats=\"3\"").count(), 2, "{page}");
    }

    #[test]
    fn a_record_that_one_message_has_twice_is_not_unreadable() {
        let mut problems = Problems::new();
        for code in DUPLICATE_CODES {
            problems.push(Problem::new(MESSAGE_FILE, code, "twice"));
        }
        problems.push(Problem::new(MESSAGE_FILE, "vehicle_timestamp_decreased", "older"));
        problems.push(Problem::new("stations.json", "duplicate_id", "lost"));
        let totals = ProblemTotals::from_problems(&problems);
        assert_eq!((totals.n_unreadable, totals.n_duplicates), (2, 2));
        let page = totals.render_unknowns_and_duplicates().into_string();
        assert!(page.contains("data-problems=\"duplicates\""), "{page}");
    }

    #[test]
    fn a_code_links_to_its_rule() {
        let code = lineside_quality::check::UNREADABLE_FILE;
        assert!(has_rule_page(code), "{code}");
        let mut problems = Problems::new();
        problems.push(Problem::new("a.txt", code, "it is cut off"));
        problems.push(Problem::new("a.txt", "of_nobody", "x"));
        let page = render_card(&problems, true, false).into_string();
        assert!(page.contains(&format!("href=\"{}\"", rule_page_url(code))), "{page}");
        assert!(!page.contains("/rules/of_nobody"), "{page}");
    }
}
