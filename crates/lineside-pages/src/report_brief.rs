//! The summary of a report in a few words, for all lists of reports.

use lineside_quality::reports::ReportFindingCounts;

use crate::words;

/// Describes the errors and warnings, or the status if there are no counts. `web/plain/words.js` does the same.
pub(crate) fn describe_report_summary(brief: &ReportFindingCounts) -> String {
    // A number does not stand at the end of a line without its noun.
    let count = |n, one, many| words::format_count(n, one, many).replace(' ', "\u{a0}");
    let counts = format!(
        "{}, {}",
        count(brief.errors, "error", "errors"),
        count(brief.warnings, "warning", "warnings")
    );
    let is_partial = brief.unread_files > 0 && brief.has_all_finding_counts();
    let counts = if is_partial { format!("{counts}, partly checked") } else { counts };
    counts_or_status(brief, counts)
}

/// Formats the counts as bare numbers, for a column.
pub(crate) fn format_report_counts(brief: &ReportFindingCounts) -> String {
    let counts_text = format!(
        "{} · {}",
        words::format_number(brief.errors),
        words::format_number(brief.warnings)
    );
    counts_or_status(brief, counts_text)
}

/// Returns the counts, or the status if they are incomplete or missing.
fn counts_or_status(brief: &ReportFindingCounts, counts: String) -> String {
    match brief.errors + brief.warnings {
        _ if !brief.is_of_finished_validation() => "incomplete".to_owned(),
        _ if brief.outcome == "unreadable" => "unreadable".to_owned(),
        0 if !brief.has_all_finding_counts() => "incomplete".to_owned(),
        _ if !brief.has_all_finding_counts() => format!("{counts} or more"),
        _ => counts,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;
    use lineside_quality::reports::ReportVerdict;

    #[test]
    fn a_report_is_summarized_as_in_the_browser() {
        let cases = words::tests::load_cases();
        let cases = cases["report"].as_array().unwrap();
        assert!(cases.len() > 5);
        for case in cases {
            let brief: ReportFindingCounts = from_value(case[0].clone()).unwrap();
            let verdict = ReportVerdict::from_summary(Some(&brief)).as_str();
            let texts = (describe_report_summary(&brief), format_report_counts(&brief), verdict);
            let expected = [1, 2, 3].map(|at| case[at].as_str().unwrap());
            assert_eq!([texts.0.as_str(), texts.1.as_str(), texts.2], expected, "{brief:?}");
        }
    }
}
