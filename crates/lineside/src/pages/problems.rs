//! What could not be read of a feed's data.

use lineside_formats::{Problem, Problems};
use maud::{Markup, html};

use super::words;

/// Problems of one kind that are listed one by one.
const SHOWN_MAX: usize = 10;

/// The rows and values that were left out, if any data came yet.
pub(super) fn card(problems: &Problems, has_data: bool) -> Markup {
    html! {
        section.card #problems aria-labelledby="problems-title" {
            div.card-head {
                h2 #problems-title { "What could not be read" }
                @if !problems.is_empty() { span.soft.small { (words::count(problems.total(), "time", "times")) " in the data served" } }
            }
            @if !has_data {
                p.card-body.soft { "Nothing has come yet that could be read." }
            } @else if problems.is_empty() {
                p.card-body.soft { "All of it could be read. Whether it is right is another question: the report says." }
            } @else {
                ul.problem-list {
                    @for (file, code, count) in problems.counts() {
                        (problem_kind(file, code, count, problems.kept()))
                    }
                }
            }
        }
    }
}

/// The problems of one kind in one file: how many, and the first few with their lines.
fn problem_kind(file: &str, code: &str, count: u64, kept: &[Problem]) -> Markup {
    let shown: Vec<&Problem> = kept
        .iter()
        .filter(|problem| &*problem.file == file && problem.code == code)
        .take(SHOWN_MAX)
        .collect();
    let more = count - u64::try_from(shown.len()).unwrap_or(count).min(count);
    html! {
        li {
            details open[count <= 3] {
                summary { strong { (file) } " " span.mono { (code) } span.tag { (words::number(count)) } }
                ul {
                    @for problem in shown { li { (problem_line(problem)) } }
                    @if more > 0 { li.soft { "and " (words::number(more)) " more" } }
                }
            }
        }
    }
}

fn problem_line(problem: &Problem) -> Markup {
    html! {
        @if let Some(line) = problem.line { span.problem-line.numeric { "line " (line) } }
        @if let Some(id) = &problem.id { code { (id) } " " }
        @if let Some(field) = &problem.field { code { (field) } " " }
        (problem.detail)
        @if let Some(value) = &problem.value { ": " q { (value) } }
    }
}
