//! What a report comes to, in a few words: the same wherever reports are listed.

use super::super::words;
use crate::reports::Brief;

/// Errors and warnings, unless there is something else to say. `web/plain/words.js` says the same.
pub(in crate::pages) fn in_brief(brief: &Brief) -> String {
    let counts = format!(
        "{}, {}",
        words::count(brief.errors, "error", "errors"),
        words::count(brief.warnings, "warning", "warnings")
    );
    unless_otherwise(brief, counts)
}

/// The same with bare figures, for a column of them.
pub(in crate::pages) fn in_figures(brief: &Brief) -> String {
    let figures = format!("{} · {}", words::number(brief.errors), words::number(brief.warnings));
    unless_otherwise(brief, figures)
}

/// These counts, unless there is something else to say.
fn unless_otherwise(brief: &Brief, counts: String) -> String {
    match brief.errors + brief.warnings {
        _ if !brief.is_word() => "incomplete".to_owned(),
        _ if brief.outcome == "unreadable" => "unreadable".to_owned(),
        0 if !brief.is_all() => "incomplete".to_owned(),
        _ if !brief.is_all() => format!("{counts} or more"),
        _ => counts,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;
    use crate::reports::Verdict;

    #[test]
    fn what_a_report_comes_to_is_said_as_the_browser_says_it() {
        let cases = words::tests::cases();
        let cases = cases["report"].as_array().unwrap();
        assert!(cases.len() > 5);
        for case in cases {
            let brief: Brief = from_value(case[0].clone()).unwrap();
            let verdict = Verdict::of(Some(&brief)).as_str();
            let said = (in_brief(&brief), in_figures(&brief), verdict);
            let wanted = [1, 2, 3].map(|at| case[at].as_str().unwrap());
            assert_eq!([said.0.as_str(), said.1.as_str(), said.2], wanted, "{brief:?}");
        }
    }
}
