//! Collects the rows of a schedule's files that findings are about, so that users need not look for line 40,212 by
//! hand.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};

use lineside_validate::gtfs::ScheduleFileSource;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CheckFinding;
use super::finding_fields::FindingFields;

/// Number of findings of one kind whose rows are shown.
pub(super) const FINDINGS_MAX: usize = 2;
/// Maximum number of rows in a report.
pub(super) const ROWS_MAX: usize = 120;
/// Maximum number of bytes of a row.
pub(super) const ROW_BYTES_MAX: usize = 400;
/// Maximum number of bytes that are read of a file: a country's `stop_times.txt` has a few hundred million.
const FILE_BYTES_MAX: u64 = 2 << 30;
/// The fields of a finding that hold a row number.
const ROW_FIELDS: [&str; 4] =
    ["csvRowNumber", "oldCsvRowNumber", "newCsvRowNumber", "prevCsvRowNumber"];

/// A row of a file as text, or another record that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRow {
    /// The code of the finding.
    pub code: String,
    /// The file, or another name of the record, such as `entity 17`.
    pub file: String,
    /// The line in the file, from 1 (the header of a table); 0 if lines do not apply.
    pub line: u64,
    /// The header of a table; truncated if it is long.
    pub header: String,
    /// The row; truncated if it is long.
    pub text: String,
}

/// Reads the rows of the first findings of each kind. A file that cannot be read gives no rows.
pub(super) fn read_rows_of_findings(
    source: &dyn ScheduleFileSource,
    findings: &[CheckFinding],
) -> Vec<SourceRow> {
    // For each file, its lines with their indexes in `rows`.
    let mut wanted_lines: BTreeMap<String, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
    let mut rows: Vec<SourceRow> = Vec::new();
    for finding in findings {
        let fields = FindingFields::for_code(&finding.code, finding.summary);
        for sample in finding.samples.iter().take(FINDINGS_MAX) {
            for (file, line) in row_positions_of_sample(&fields, sample) {
                let is_known = rows
                    .iter()
                    .any(|row| row.code == finding.code && row.file == file && row.line == line);
                if is_known || rows.len() >= ROWS_MAX {
                    continue;
                }
                wanted_lines
                    .entry(file.clone())
                    .or_default()
                    .entry(line)
                    .or_default()
                    .push(rows.len());
                let code = finding.code.clone();
                rows.push(SourceRow {
                    code,
                    file,
                    line,
                    header: String::new(),
                    text: String::new(),
                });
            }
        }
    }
    for (file, lines) in wanted_lines {
        // A file that cannot be opened has a finding already.
        _ = source.read_file_with(&file, &mut |bytes| {
            if let Some(bytes) = bytes {
                read_wanted_lines(bytes, &lines, &mut rows);
            }
        });
    }
    rows.retain(|row| !row.text.is_empty());
    rows
}

/// Returns the files and lines that a finding names.
fn row_positions_of_sample(
    fields: &FindingFields,
    sample: &Map<String, Value>,
) -> Vec<(String, u64)> {
    let child = sample.get("childFilename").and_then(Value::as_str).map(str::to_owned);
    let Some(file) = child.or_else(|| fields.format_field_value("filename", sample)) else {
        return Vec::new();
    };
    let lines = ROW_FIELDS.into_iter().filter_map(|field| sample.get(field)?.as_u64());
    lines.filter(|line| *line > 1).map(|line| (file.clone(), line)).collect()
}

fn read_wanted_lines(
    bytes: &mut dyn Read,
    wanted_lines: &BTreeMap<u64, Vec<usize>>,
    rows: &mut [SourceRow],
) {
    let mut reader = BufReader::with_capacity(64 << 10, bytes.take(FILE_BYTES_MAX));
    let last = wanted_lines.keys().next_back().copied().unwrap_or_default();
    let (mut header, mut line) = (String::new(), Vec::new());
    for number in 1..=last {
        match read_line_beginning(&mut reader, &mut line) {
            Some(true) => {}
            Some(false) | None => return,
        }
        if number == 1 {
            header = truncate_line(&line);
        }
        for at in wanted_lines.get(&number).into_iter().flatten() {
            if let Some(row) = rows.get_mut(*at) {
                (row.header, row.text) = (header.clone(), truncate_line(&line));
            }
        }
    }
}

/// Reads a line, of which it keeps the beginning. Returns `Some(false)` at the end, `None` if the line cannot be read.
fn read_line_beginning(reader: &mut BufReader<impl Read>, line: &mut Vec<u8>) -> Option<bool> {
    line.clear();
    let mut has_any = false;
    loop {
        let buffer = reader.fill_buf().ok()?;
        if buffer.is_empty() {
            return Some(has_any);
        }
        has_any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        // One extra byte shows that the line is longer.
        let n_left = (ROW_BYTES_MAX + 1).saturating_sub(line.len());
        line.extend_from_slice(part.get(..n_left.min(part.len())).unwrap_or_default());
        let n = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(n);
        if end.is_some() {
            return Some(true);
        }
    }
}

pub(super) fn truncate_line(line: &[u8]) -> String {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii_end();
    let prefix = line.get(..ROW_BYTES_MAX.min(line.len())).unwrap_or_default();
    let mut text = String::from_utf8_lossy(prefix).into_owned();
    if prefix.len() < line.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use lineside_validate::Severity;
    use lineside_validate::gtfs::InMemoryFiles;
    use serde_json::json;

    use super::*;

    fn finding(code: &str, samples: Value) -> CheckFinding {
        CheckFinding {
            code: code.to_owned(),
            severity: Severity::Error,
            total: 1,
            summary: "",
            samples: serde_json::from_value(samples).unwrap(),
            places: Vec::new(),
        }
    }

    #[test]
    fn rows_are_copied_from_the_file_with_its_header() {
        let long = "x".repeat(5_000);
        let text = format!("stop_id,stop_name\nS1,Here\nS2,{long}\n");
        let source = InMemoryFiles::default().with_file("stops.txt", text);
        let findings = [
            finding(
                "a",
                json!([{"filename": "stops.txt", "csvRowNumber": 2}, {"filename": "stops.txt", "csvRowNumber": 3}]),
            ),
            finding("b", json!([{"childFilename": "stops.txt", "csvRowNumber": 2}])),
            finding(
                "gone",
                json!([{"filename": "stops.txt", "csvRowNumber": 99}, {"filename": "no.txt", "csvRowNumber": 2}]),
            ),
            finding("none", json!([{"filename": "stops.txt"}])),
        ];
        let rows = read_rows_of_findings(&source, &findings);
        let found_rows: Vec<_> = rows.iter().map(|row| (row.code.as_str(), row.line)).collect();
        assert_eq!(found_rows, [("a", 2), ("a", 3), ("b", 2)]);
        assert_eq!(
            (rows[0].header.as_str(), rows[0].text.as_str()),
            ("stop_id,stop_name", "S1,Here")
        );
        assert!(rows[1].text.len() <= ROW_BYTES_MAX + 3 && rows[1].text.ends_with('…'));
    }
}
