//! The values of a feed's data that could not be read.

use lineside_formats::{Problem, Problems};
use maud::{Markup, html};

use super::feed::render_fold;
use super::rules::{has_rule, rule_address};
use super::words;

/// Problems of one kind that are listed individually.
const SHOWN_MAX: usize = 10;

/// Renders the rows and values that were left out, once data have arrived. `is_converted`: the tables were converted
/// from NeTEx, so their names and lines are not the producer's.
pub(super) fn render_card(problems: &Problems, has_data: bool, is_converted: bool) -> Markup {
    let total = problems.total_count();
    let note = match total {
        _ if !has_data => String::new(),
        0 => "none".to_owned(),
        total => words::format_count(total, "value", "values"),
    };
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
                "Rows and values that Lineside skipped while loading the data that it serves now. The report checks the same data against all rules, so the same fault may be counted there, too."
            }
            ul.problem-list {
                @for (file, code, count) in own { (render_problem_kind(file, code, count, problems.retained_problems())) }
            }
            @if !converted.is_empty() {
                p.card-body.soft.small { "The timetable that was converted from this NeTEx lacks:" }
                ul.problem-list {
                    @for (file, code, count) in converted { (render_converted_kind(file, code, count, problems.retained_problems())) }
                }
            }
        }
    };
    render_fold("problems", "Unreadable data", &html! { (note) }, false, &body)
}

/// Returns the NeTEx elements that become the rows of a table.
fn netex_name(file: &str) -> &str {
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
fn render_converted_kind(file: &str, code: &str, count: u64, samples: &[Problem]) -> Markup {
    let all = samples.iter().filter(|problem| &*problem.file == file && problem.code == code);
    let shown: Vec<&Problem> = all.take(SHOWN_MAX).collect();
    let more = count - u64::try_from(shown.len()).unwrap_or(count).min(count);
    html! {
        li {
            details open[count <= 3] {
                summary { strong { (netex_name(file)) } " " span.mono { (code) } span.tag { (words::format_number(count)) } }
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
    let shown: Vec<&Problem> = samples
        .iter()
        .filter(|problem| &*problem.file == file && problem.code == code)
        .take(SHOWN_MAX)
        .collect();
    let more = count - u64::try_from(shown.len()).unwrap_or(count).min(count);
    html! {
        li {
            details open[count <= 3] {
                summary { strong { (file) } " " span.mono { (code) } span.tag { (words::format_number(count)) } }
                (render_rule_link(code))
                ul {
                    @for problem in shown { li { (render_problem_line(problem)) } }
                    @if more > 0 { li.soft { "and " (words::format_number(more)) " more" } }
                }
            }
        }
    }
}

/// Renders a link to the page of a code, if it has one.
fn render_rule_link(code: &str) -> Markup {
    html! {
        @if has_rule(code) { p.card-body.small { a.target href=(rule_address(code)) { "About " code { (code) } } } }
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
    fn a_code_links_to_its_rule() {
        let code = lineside_quality::check::UNREADABLE_FILE;
        assert!(has_rule(code), "{code}");
        let mut problems = Problems::new();
        problems.push(Problem::new("a.txt", code, "it is cut off"));
        problems.push(Problem::new("a.txt", "of_nobody", "x"));
        let page = render_card(&problems, true, false).into_string();
        assert!(page.contains(&format!("href=\"{}\"", rule_address(code))), "{page}");
        assert!(!page.contains("/rules/of_nobody"), "{page}");
    }
}
