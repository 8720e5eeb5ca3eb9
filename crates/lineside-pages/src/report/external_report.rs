//! The report of an operator's own validator on a schedule, compared with the server's.

use jiff::tz::TimeZone;
use lineside_quality::check::{render_findings_table, render_text_with_code};
use lineside_quality::external_validators::{
    ComparedCode, ExternalComparison, ExternalOutput, ExternalReport, ExternalResult,
};
use lineside_quality::reports::{FeedValidationReport, FindingsOfCode};
use lineside_sync::UnixMillis;
use lineside_validate::Severity;
use maud::{Markup, html};

use super::super::words;
use super::body::{DIGITS, FEW, describe_severity_counts};
use super::changes;

/// Codes in the table on the page of a feed; the report's own page has all.
const SHOWN: usize = 20;

/// Renders one validator's report, with `examples` rows of each finding.
pub(super) fn render_report(
    report: &FeedValidationReport,
    comparison: &ExternalComparison,
    zone: &TimeZone,
    examples: usize,
) -> Markup {
    html! {
        div.report-beside {
            div.card-body {
                h3 { "Findings of " span.mono { (comparison.name) } }
                @if comparison.is_pending { p.soft { "Its check of the newest version is running or in the queue." } }
                @if let Some(opinion) = &comparison.external { (render_failed_run(opinion, zone)) }
                @if let Some(said) = comparison.latest_external_result() { (render_result(report, comparison, said, zone, examples)) }
            }
            (render_differing_findings(comparison, examples, zone))
        }
    }
}

/// Renders a notice if the newest run failed.
fn render_failed_run(report: &ExternalReport, zone: &TimeZone) -> Markup {
    html! {
        @if let Some(failed) = &report.failed {
            p {
                strong { "Its newest run failed: " } "it " (failed.why) ". This says nothing of the data. "
                span.soft.small { (words::render_time_with_zone(UnixMillis(failed.at), zone)) ", version " (render_version(&report.version)) }
            }
            @if !failed.said.trim().is_empty() { pre.mono.small tabindex="0" { (failed.said) } }
            @if report.said.is_some() { p { "Its last result before that:" } }
        }
    }
}

fn render_result(
    report: &FeedValidationReport,
    comparison: &ExternalComparison,
    result: &ExternalResult,
    zone: &TimeZone,
    examples: usize,
) -> Markup {
    html! {
        p { strong { (describe_totals(result)) } }
        p.soft.small {
            "Checked " (words::render_time_with_zone(UnixMillis(result.at), zone)) " in " (format_millis(result.took_ms)) ", version "
            @if report.subject.dataset_version() == Some(result.version.as_str()) { (render_version(&result.version)) }
            @else { a href=(format!("/feeds/{}/versions/{}/report", report.feed, result.version)) { (render_version(&result.version)) } ", a different version" }
            @if let Some(ended) = &result.ended { "; it " (ended) }
            @if let ExternalOutput::Report { tool, .. } = &result.body { @if !tool.is_empty() { "; it calls itself " (tool) } }
            "."
        }
        @match &result.body {
            ExternalOutput::Report { left_out, .. } => (render_code_comparison(report, comparison, *left_out, examples)),
            ExternalOutput::Text { text, bytes } => (render_output_excerpt(text, *bytes)),
        }
        @if !result.aside.trim().is_empty() {
            details { summary { "What it wrote to its standard error" } pre.mono.small tabindex="0" { (result.aside) } }
        }
    }
}

fn describe_totals(result: &ExternalResult) -> String {
    match result.report_findings() {
        Some(findings) => describe_severity_counts(findings.is_empty(), |severity| {
            result.count_findings(severity)
        }),
        None => "It wrote no report that can be compared.".to_owned(),
    }
}

fn format_millis(millis: u64) -> String {
    format!("{}.{} s", millis / 1_000, millis % 1_000 / 100)
}

fn render_version(version: &str) -> Markup {
    html! { span.mono title=(format!("SHA-256 {version}")) { (version.get(..DIGITS).unwrap_or(version)) } }
}

/// Renders the beginning of output that is not a report.
fn render_output_excerpt(text: &str, bytes: u64) -> Markup {
    html! {
        @if bytes == 0 { p.soft { "It wrote nothing." } }
        @else {
            pre.mono.small tabindex="0" { (text) }
            @if bytes > text.len() as u64 { p.soft.small { (words::format_bytes(bytes)) " in all" } }
        }
    }
}

/// Renders the codes of both reports.
fn render_code_comparison(
    report: &FeedValidationReport,
    comparison: &ExternalComparison,
    left_out: u64,
    examples: usize,
) -> Markup {
    html! {
        @match comparison.compare_finding_counts() {
            Some(both) => (render_count_comparison(report, &comparison.name, &both, examples)),
            None => p.soft { "There is no report of ours on that version to compare it with." },
        }
        @if left_out > 0 { p.soft.small { "and " (words::format_count(left_out, "further code", "further codes")) " of its own that " (if left_out == 1 { "is" } else { "are" }) " not kept" } }
    }
}

/// Renders the validator's findings for codes on which the two reports differ.
fn render_differing_findings(
    comparison: &ExternalComparison,
    examples: usize,
    zone: &TimeZone,
) -> Markup {
    let both = comparison.compare_finding_counts().unwrap_or_default();
    let is_same = |code: &str| both.iter().any(|it| it.code == code && !it.has_different_counts());
    let external = comparison
        .latest_external_result()
        .and_then(ExternalResult::report_findings)
        .unwrap_or_default();
    let findings_max = if examples > FEW { usize::MAX } else { SHOWN };
    let shown = external.iter().filter(|finding| !is_same(&finding.code)).take(findings_max);
    let shown: Vec<&FindingsOfCode> = shown.collect();
    html! {
        @if !shown.is_empty() {
            details.report-theirs {
                summary { "Its findings with rows" }
                ul.problem-list { @for finding in shown { (render_finding(finding, examples, zone)) } }
            }
        }
    }
}

fn render_count_comparison(
    report: &FeedValidationReport,
    name: &str,
    both: &[ComparedCode<'_>],
    examples: usize,
) -> Markup {
    let n_differing = both.iter().filter(|it| it.has_different_counts()).count();
    let shown = if examples > FEW { both.len() } else { both.len().min(SHOWN) };
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    html! {
        p {
            @match (both.len(), n_differing) {
                (0, _) => "No findings in either report.",
                (all, 0) => { "Both agree on " (words::format_count(count(all), "code", "codes")) "." },
                (all, some) => { "They differ in " (words::format_number(count(some))) " of " (words::format_count(count(all), "code", "codes")) "." },
            }
        }
        @if !both.is_empty() {
            div.scroll tabindex="0" {
                table.samples {
                    thead { tr { th scope="col" { "code" } th.numeric scope="col" { "Lineside" } th.numeric scope="col" { (name) } } }
                    tbody {
                        @for it in &both[..shown] {
                            tr data-differs=[it.has_different_counts().then_some("yes")] {
                                td { (render_severities(it)) span.mono { (words::render_breakable_code(it.code)) } }
                                td.numeric { (format_finding_count(it.lineside)) }
                                td.numeric { (format_finding_count(it.external)) }
                            }
                        }
                    }
                }
            }
            @if both.len() > shown {
                p.soft.small { a href=(report.report_path()) { "and " (words::format_count(count(both.len() - shown), "further code", "further codes")) } }
            }
        }
    }
}

/// Renders the severity; both if they differ.
fn render_severities(it: &ComparedCode<'_>) -> Markup {
    let [lineside, external] =
        [it.lineside, it.external].map(|count| count.map(|(severity, _)| severity));
    html! {
        @if let Some(severity) = lineside.or(external) { (changes::render_severity_label(severity)) }
        @if let Some(other) = external.filter(|_| lineside.is_some() && lineside != external) { "/ " (changes::render_severity_label(other)) }
    }
}

fn format_finding_count(count: Option<(Severity, u64)>) -> String {
    count.map_or_else(|| "–".to_owned(), |(_, n)| words::format_number(n))
}

/// Renders the validator's finding for one code.
fn render_finding(finding: &FindingsOfCode, examples: usize, zone: &TimeZone) -> Markup {
    let shown = &finding.samples[..finding.samples.len().min(examples)];
    let more = finding.total.saturating_sub(u64::try_from(shown.len()).unwrap_or(u64::MAX));
    html! {
        li {
            details {
                summary { (changes::render_severity_label(finding.severity)) span.mono { (words::render_breakable_code(&finding.code)) } span.tag { (words::format_number(finding.total)) } }
                div.finding {
                    @if !finding.summary.is_empty() { p { (render_text_with_code(&finding.summary)) } }
                    (render_findings_table(&finding.code, &finding.summary, shown, zone))
                    @if more > 0 && !shown.is_empty() { p.soft.small { "and " (words::format_number(more)) " more" } }
                    @if shown.is_empty() { p.soft.small { "It gave no rows." } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use lineside_quality::reports::test_report;

    const VERSION: &str = "aaaaaaaaaaaaaaaa";

    fn result_with(body: ExternalOutput) -> ExternalResult {
        ExternalResult {
            version: VERSION.to_owned(),
            at: 5,
            took_ms: 1_290,
            ended: None,
            aside: String::new(),
            body,
        }
    }

    fn shown(result: Option<ExternalResult>, failed: bool) -> String {
        let report =
            test_report(VERSION, &[("same", Severity::Info, 2), ("ours", Severity::Error, 1_200)]);
        let failed = failed.then(|| lineside_quality::external_validators::FailedRun {
            at: 9,
            why: "ended with exit code 3".to_owned(),
            said: "<i>no</i> memory".to_owned(),
        });
        let external_report = ExternalReport {
            validator: "canonical".to_owned(),
            version: VERSION.to_owned(),
            tag: String::new(),
            mark: String::new(),
            said: result,
            failed,
        };
        let comparison = ExternalComparison {
            name: "canonical".to_owned(),
            external: Some(Arc::new(external_report)),
            lineside: Some(Arc::new(report.clone())),
            is_pending: false,
        };
        render_report(&report, &comparison, &TimeZone::UTC, FEW).into_string()
    }

    #[test]
    fn both_reports_are_compared_and_external_text_is_escaped() {
        let mut external =
            test_report(VERSION, &[("same", Severity::Info, 2), ("<b>t</b>", Severity::Error, 3)]);
        let sample = [("x".to_owned(), serde_json::Value::from("<script>"))].into_iter().collect();
        external.findings[1].samples = vec![sample];
        let body = ExternalOutput::Report {
            tool: "8.0".to_owned(),
            findings: external.findings,
            left_out: 4,
        };
        let page = shown(Some(result_with(body)), true);
        for part in [
            "They differ in 2 of 3 codes.",
            "1\u{202f}200</td><td class=\"numeric\">–</td>",
            "&lt;b&gt;t&lt;/b&gt;",
            "&lt;script&gt;",
            "&lt;i&gt;no&lt;/i&gt; memory",
            "and 4 further codes of its own that are not kept",
            "Its newest run failed: ",
            "in 1.2 s",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let position_of = |part: &str| page.find(part).unwrap();
        assert!(position_of(">ours<") < position_of(">same<"), "what differs comes first");
        assert!(!page.contains("<b>t") && !page.contains("<script>"), "{page}");
    }

    #[test]
    fn text_output_is_escaped_and_shown_with_its_length() {
        let text = ExternalOutput::Text { text: "line 3: <b>".to_owned(), bytes: 9_000 };
        let page = shown(Some(result_with(text)), false);
        assert!(page.contains("line 3: &lt;b&gt;") && page.contains("in all"), "{page}");
        assert!(
            page.contains("no report that can be compared") && !page.contains("newest run failed"),
            "{page}"
        );
        let nothing = ExternalOutput::Text { text: String::new(), bytes: 0 };
        assert!(shown(Some(result_with(nothing)), false).contains("It wrote nothing."));
        assert!(!shown(None, true).contains("Its last result before"), "there is nothing");
    }
}
