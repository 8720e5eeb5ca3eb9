//! Renders a report as lines for a terminal: short, grouped by severity.

use std::borrow::Cow;
use std::fmt::Write as _;

use lineside_validate::Severity;
use lineside_validate::rules::ValidatorFault;
use serde_json::{Map, Value};

use super::codes::find_cause_and_fix;
use super::finding_fields::{FindingFields, field_name_in_words};
use super::{
    CheckFinding, CheckReport, STDIN, UNREAD, describe_record_counts, describe_unread_file,
    format_with_thin_spaces,
};

/// Number of findings of one kind that are shown.
const FINDINGS_SHOWN_MAX: usize = 3;

pub(super) fn render_text(checked: &CheckReport, in_colors: bool) -> String {
    let mut out = String::new();
    let paint = |severity, text: &str| {
        if in_colors { colorize_by_severity(severity, text) } else { text.to_owned() }
    };
    let counts = describe_counts(checked).join(", ");
    let counts = if counts.is_empty() { counts } else { format!(": {counts}") };
    // Writing into a String cannot fail.
    let input = match checked.plan.input.as_str() {
        STDIN => Cow::Borrowed("Standard input"),
        input => escape_control_chars(input),
    };
    _ = writeln!(out, "{input} is {}{counts}", checked.format.display_name());
    append_unread_files(&mut out, checked);
    for finding in &checked.findings {
        let name = paint(finding.severity, finding.severity.severity_report_name());
        _ = writeln!(out, "\n{name} {} ({})", finding.code, format_occurrences(finding.total));
        if !finding.summary.is_empty() {
            _ = writeln!(out, "  {}", finding.summary.replace('\n', " "));
        }
        if let Some(remedy) = find_cause_and_fix(&finding.code, finding.summary) {
            _ = writeln!(out, "  Fix: {}", remedy.replace('\n', " "));
        }
        let fields = FindingFields::for_code(&finding.code, finding.summary);
        // Findings about the whole input have empty samples.
        let nonempty_samples = || finding.samples.iter().filter(|sample| !sample.is_empty());
        for sample in nonempty_samples().take(FINDINGS_SHOWN_MAX) {
            _ = writeln!(
                out,
                "  - {}",
                escape_control_chars(&format_finding_line(&fields, sample))
            );
        }
        if finding.total > FINDINGS_SHOWN_MAX as u64 && nonempty_samples().next().is_some() {
            _ = writeln!(
                out,
                "  - and {} more",
                format_with_thin_spaces(finding.total - FINDINGS_SHOWN_MAX as u64)
            );
        }
    }
    _ = writeln!(out, "\n{}", summarize_findings_and_ignored(checked));
    if !checked.unread.is_empty() {
        // The end of a long report repeats that it is incomplete.
        _ = writeln!(out, "Some data could not be checked; see the start of this report.");
    }
    for error in &checked.errors {
        _ = writeln!(out, "{}", escape_control_chars(&describe_rule_failure(error)));
    }
    out
}

/// Describes the unread data and the ignored codes; `None` if there are none.
pub(super) fn describe_ignored_and_unread(checked: &CheckReport) -> Option<String> {
    let mut out = String::new();
    append_unread_files(&mut out, checked);
    out.extend(describe_ignored_codes(checked));
    (!out.is_empty()).then(|| out.trim_end().to_owned())
}

fn append_unread_files(out: &mut String, checked: &CheckReport) {
    if !checked.unread.is_empty() {
        _ = writeln!(out, "{UNREAD}");
        for file in &checked.unread {
            _ = writeln!(out, "  - {}", describe_unread_file(file));
        }
    }
}

/// Describes the number of records of each kind.
pub(super) fn describe_counts(checked: &CheckReport) -> Vec<String> {
    describe_record_counts(checked.counts.iter().copied(), &checked.unread)
}

/// Escapes control characters: a producer's file names could otherwise control a terminal or a CI log.
pub fn escape_control_chars(line: &str) -> Cow<'_, str> {
    if !line.contains(char::is_control) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Returns the number of findings of each severity, and the ignored codes.
pub(super) fn summarize_findings_and_ignored(checked: &CheckReport) -> String {
    let sum = describe_severity_counts(&checked.findings);
    let Some(ignored) = describe_ignored_codes(checked) else { return sum };
    let sum = if checked.findings.is_empty() { "No other findings.".to_owned() } else { sum };
    format!("{sum} {ignored}")
}

/// Describes the ignored codes in a sentence.
fn describe_ignored_codes(checked: &CheckReport) -> Option<String> {
    let codes = checked
        .ignored
        .iter()
        .map(|(code, total)| format!("{code} ({})", format_occurrences(*total)));
    let codes: Vec<String> = codes.collect();
    let n = codes.len();
    let ignored =
        if n == 1 { "1 code is ignored".to_owned() } else { format!("{n} codes are ignored") };
    (n > 0).then(|| format!("{ignored}: {}.", codes.join(", ")))
}

/// Describes a rule that failed or hit a limit.
pub(super) fn describe_rule_failure(error: &ValidatorFault) -> String {
    format!("Error in Lineside: rule {} failed: {}", error.rule, error.message)
}

/// Returns the number of findings of each severity, in words.
fn describe_severity_counts(findings: &[CheckFinding]) -> String {
    if findings.is_empty() {
        return "No findings.".to_owned();
    }
    let format_count = |severity, one: &str| match super::count_findings(findings, severity) {
        1 => format!("1 {one}"),
        n => format!("{} {one}s", format_with_thin_spaces(n)),
    };
    format!(
        "{}, {}, {}.",
        format_count(Severity::Error, "error"),
        format_count(Severity::Warning, "warning"),
        format_count(Severity::Info, "info"),
    )
}

pub(super) fn format_occurrences(total: u64) -> String {
    match total {
        1 => "once".to_owned(),
        n => format!("{} times", format_with_thin_spaces(n)),
    }
}

/// Formats one finding: its location, then its fields.
pub(super) fn format_finding_line(fields: &FindingFields, sample: &Map<String, Value>) -> String {
    const FILES: [&str; 2] = ["filename", "childFilename"];
    const LINES: [&str; 2] = ["csvRowNumber", "line"];
    let names = fields.ordered_field_names(std::slice::from_ref(sample));
    let find = |names_to_find: [&'static str; 2]| {
        names_to_find.into_iter().find(|name| names.contains(name))
    };
    let (file, line) = (find(FILES), find(LINES));
    let cell = |name: &str| fields.format_field_value(name, sample).unwrap_or_default();
    let mut file_location: Vec<String> = Vec::new();
    file_location.extend(file.map(cell));
    file_location.extend(line.map(|name| format!("line {}", cell(name))));
    let rest = names.iter().filter(|name| ![file, line].contains(&Some(**name)));
    let format_field = |name: &&str| {
        // Other fields keep their names in the reference validator's report, by which users search.
        let label =
            if name.contains("RowNumber") { field_name_in_words(name) } else { (*name).to_owned() };
        match sample.get(*name) {
            Some(text @ Value::String(_)) => format!("{label} {text}"),
            Some(Value::Array(_)) => format!("{label} [{}]", cell(name)),
            _ => format!("{label} {}", cell(name)),
        }
    };
    let rest: Vec<String> = rest.map(format_field).collect();
    match (file_location.is_empty(), rest.is_empty()) {
        (true, _) => rest.join(", "),
        (false, true) => file_location.join(" "),
        (false, false) => format!("{}: {}", file_location.join(" "), rest.join(", ")),
    }
}

fn colorize_by_severity(severity: Severity, text: &str) -> String {
    let color = match severity {
        Severity::Error => 31,
        Severity::Warning => 33,
        Severity::Info => 36,
    };
    format!("\x1b[1;{color}m{text}\x1b[0m")
}

impl CheckFinding {
    /// Returns the heading of a finding.
    pub(super) fn code_with_count(&self) -> String {
        format!("{} ({})", self.code, format_occurrences(self.total))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn control_characters_in_names_are_escaped() {
        let sample = json!({"filename": "a\n::error::owned\u{1b}[2J\u{9b}x\u{7f}.txt", "csvRowNumber": 2, "fieldValue": "b\u{9b}\n"});
        let line = format_finding_line(
            &FindingFields::for_code("unknown_file", ""),
            sample.as_object().unwrap(),
        );
        let escaped = escape_control_chars(&line);
        assert_eq!(
            escaped,
            r#"a\n::error::owned\u{1b}[2J\u{9b}x\u{7f}.txt line 2: fieldValue "b\u{9b}\n""#
        );
        let plain = "gj\u{f8}vik \u{2192} \u{1f68b}.txt";
        assert_eq!(escape_control_chars(plain), plain);
    }
}
