//! Parses a written `report.json` to display it.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use lineside_formats::Format;
use lineside_validate::Severity;
use lineside_validate::rules::gtfs::IncompleteFile;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::finding_places::{OUTLINE_MAX, PLACES_MAX};
use super::json_memory::estimate_json_memory;
use super::{CheckFinding, FindingPlace, LatLon, SourceRow, codes, formats};

/// Maximum number of kinds of findings that are parsed; the reference validator has about 180.
const KINDS_MAX: usize = 1_000;
/// Maximum number of counts of records; the reference validator has seven.
const COUNTS_MAX: usize = 20;
/// Maximum number of findings of each kind that are parsed.
const SAMPLES_MAX: usize = 100;
/// Maximum memory of the findings of a report, in bytes; a report at all other limits takes about half of that.
const SAMPLES_MEMORY_MAX: u64 = 64 << 20;

/// The content of a parsed report.
#[derive(Debug)]
pub struct ParsedReportJson {
    /// The name of the input.
    pub input: String,
    /// Time of the validation, as RFC 3339.
    pub at: String,
    /// The date for which the input was validated.
    pub today: String,
    /// The format, if the report states it or has the shape of the reference validator's.
    pub format: Option<Format>,
    /// The number of records of each kind.
    pub counts: Vec<(String, u64)>,
    /// The version of the validator.
    pub validator: String,
    /// Findings by severity, the most severe first, then by code.
    pub findings: Vec<CheckFinding>,
    /// The number of omitted findings: kinds beyond the limit, and entries with an unknown shape.
    pub n_omitted: u64,
    /// The coordinates of some known places for a map, if the report has them.
    pub outline: Vec<LatLon>,
    /// Internal errors of Lineside: each failed rule with its message.
    pub faults: Vec<(String, String)>,
    /// The files that the rules saw only in part.
    pub unread: Vec<IncompleteFile>,
    /// The rows of the first findings in a schedule.
    pub rows: Vec<SourceRow>,
}

#[derive(Deserialize)]
struct RawReportJson<'a> {
    #[serde(default, borrow)]
    summary: Option<&'a RawValue>,
    #[serde(borrow)]
    notices: BoundedList<&'a RawValue, KINDS_MAX>,
    #[serde(default)]
    lineside: RawReportExtras,
}

/// The summary of a report. A field that is not a string counts as missing.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawReportSummary<'a> {
    #[serde(borrow)]
    gtfs_input: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    format: Option<&'a RawValue>,
    #[serde(borrow)]
    validated_at: Option<&'a RawValue>,
    #[serde(borrow)]
    date_for_validation: Option<&'a RawValue>,
    #[serde(borrow)]
    validator_version: Option<&'a RawValue>,
    #[serde(borrow)]
    counts: Option<&'a RawValue>,
}

/// The fields of a report that the reference validator's lacks.
#[derive(Default, Deserialize)]
struct RawReportExtras {
    #[serde(default)]
    faults: BoundedList<RawRuleFault, KINDS_MAX>,
    #[serde(default)]
    places: BoundedMap<BoundedList<FindingPlace, PLACES_MAX>, KINDS_MAX>,
    #[serde(default)]
    outline: BoundedList<LatLon, OUTLINE_MAX>,
    #[serde(default)]
    unread: BoundedList<IncompleteFile, KINDS_MAX>,
    #[serde(default)]
    rows: BoundedList<SourceRow, KINDS_MAX>,
}

#[derive(Deserialize)]
struct RawRuleFault {
    rule: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawNotice<'a> {
    code: String,
    severity: String,
    total_notices: u64,
    #[serde(default, borrow)]
    sample_notices: BoundedList<&'a RawValue, SAMPLES_MAX>,
}

impl RawNotice<'_> {
    /// Parses the samples that fit into `memory_left` bytes of memory, and subtracts them from it.
    ///
    /// # Errors
    /// Returns an error if a sample is not an object.
    fn parse_samples_within_memory(
        &self,
        memory_left: &mut u64,
    ) -> Result<Vec<Map<String, Value>>, serde_json::Error> {
        let mut samples = Vec::new();
        for sample in &self.sample_notices.items {
            let memory = estimate_json_memory(sample.get().as_bytes());
            if memory <= *memory_left {
                *memory_left -= memory;
                samples.push(serde_json::from_str(sample.get())?);
            }
        }
        Ok(samples)
    }
}

/// The first `MOST` items of a list. Further items are counted and take no memory; neither do borrowed raw values.
struct BoundedList<T, const MOST: usize> {
    items: Vec<T>,
    n_omitted: u64,
}

impl<T, const MOST: usize> Default for BoundedList<T, MOST> {
    fn default() -> Self {
        Self { items: Vec::new(), n_omitted: 0 }
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for BoundedList<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(BoundedListVisitor(PhantomData))
    }
}

struct BoundedListVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for BoundedListVisitor<T, MOST> {
    type Value = BoundedList<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut first = BoundedList::default();
        while first.items.len() < MOST
            && let Some(element) = list.next_element()?
        {
            first.items.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            first.n_omitted += 1;
        }
        Ok(first)
    }
}

/// The first `MOST` members of an object. Further members take no memory.
struct BoundedMap<T, const MOST: usize>(BTreeMap<String, T>);

impl<T, const MOST: usize> Default for BoundedMap<T, MOST> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for BoundedMap<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(BoundedMapVisitor(PhantomData))
    }
}

struct BoundedMapVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for BoundedMapVisitor<T, MOST> {
    type Value = BoundedMap<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut first = BTreeMap::new();
        while first.len() < MOST
            && let Some((name, value)) = object.next_entry()?
        {
            first.insert(name, value);
        }
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(BoundedMap(first))
    }
}

impl<'a> RawReportSummary<'a> {
    fn parse_summary(summary: Option<&'a RawValue>) -> Self {
        summary.and_then(|it| serde_json::from_str(it.get()).ok()).unwrap_or_default()
    }

    /// Parses the counts of records, by name.
    fn parse_record_counts(&self) -> Vec<(String, u64)> {
        let counts = self.counts.and_then(|it| serde_json::from_str(it.get()).ok());
        let BoundedMap::<&RawValue, COUNTS_MAX>(counts) = counts.unwrap_or_default();
        let number = |n: &RawValue| serde_json::from_str(n.get()).ok();
        counts.into_iter().filter_map(|(name, n)| Some((name, number(n)?))).collect()
    }
}

fn parse_json_string(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}

impl ParsedReportJson {
    /// Parses a report of this program or of the reference validator.
    ///
    /// # Errors
    /// Returns an error if the JSON is not a report.
    pub fn from_json(json: &[u8]) -> Result<Self, serde_json::Error> {
        let RawReportJson { summary, notices, lineside } = serde_json::from_slice(json)?;
        let BoundedMap(mut places) = lineside.places;
        let about = RawReportSummary::parse_summary(summary);
        let format = match about.format {
            Some(name) => parse_json_string(Some(name)).as_deref().and_then(Format::from_name),
            None => about.gtfs_input.map(|_| Format::Gtfs),
        };
        let summaries = summaries_by_code(format);
        let mut memory_left = SAMPLES_MEMORY_MAX;
        let mut finding = |notice: &RawValue| -> Result<CheckFinding, serde_json::Error> {
            let notice: RawNotice<'_> = serde_json::from_str(notice.get())?;
            Ok(CheckFinding {
                severity: match notice.severity.as_str() {
                    "ERROR" => Severity::Error,
                    "WARNING" => Severity::Warning,
                    _ => Severity::Info,
                },
                total: notice.total_notices,
                places: places.remove(&notice.code).unwrap_or_default().items,
                summary: {
                    let rule_summary = summaries.get(notice.code.as_str()).copied();
                    rule_summary.unwrap_or_else(|| codes::decoder_code_meaning(&notice.code))
                },
                samples: notice.parse_samples_within_memory(&mut memory_left)?,
                code: notice.code,
            })
        };
        let mut left_out = notices.n_omitted;
        let mut findings: Vec<CheckFinding> = Vec::new();
        for notice in notices.items {
            match finding(notice) {
                Ok(finding) => findings.push(finding),
                // An entry with an unknown shape must not hide the others.
                Err(_) => left_out += 1,
            }
        }
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
        Ok(Self {
            format,
            counts: about.parse_record_counts(),
            input: parse_json_string(about.gtfs_input)
                .or_else(|| parse_json_string(about.input))
                .unwrap_or_default(),
            at: parse_json_string(about.validated_at).unwrap_or_default(),
            today: parse_json_string(about.date_for_validation).unwrap_or_default(),
            validator: parse_json_string(about.validator_version).unwrap_or_default(),
            findings,
            n_omitted: left_out,
            outline: lineside.outline.items,
            unread: lineside.unread.items,
            rows: lineside.rows.items,
            faults: lineside.faults.items.into_iter().map(|it| (it.rule, it.message)).collect(),
        })
    }
}

/// Returns the summaries of a format's codes. Formats may share a code with different meanings. A report without a
/// format is of a schedule, as the reference validator's are.
fn summaries_by_code(format: Option<Format>) -> BTreeMap<&'static str, &'static str> {
    let kinds = (formats::find_checks(format.or(Some(Format::Gtfs))).kinds)();
    kinds.into_iter().map(|kind| (kind.code, kind.page_summary())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lineside_validate::NoticeKind;
    use lineside_validate::rules::{gbfs, gtfs, gtfs_rt, netex, siri};

    /// Returns all kinds, each with the summary of a report in its format.
    fn kinds() -> Vec<(&'static str, &'static NoticeKind)> {
        let with_about = |about: &'static str, kinds: Vec<&'static NoticeKind>| {
            kinds.into_iter().map(move |kind| (about, kind))
        };
        with_about("{}", gtfs::schedule_notice_kinds().collect())
            .chain(with_about(
                r#"{"format": "gtfs-rt"}"#,
                gtfs_rt::realtime_notice_kinds().collect(),
            ))
            .chain(with_about(r#"{"format": "gbfs"}"#, gbfs::gbfs_notice_kinds().collect()))
            .chain(with_about(r#"{"format": "siri"}"#, siri::siri_notice_kinds().collect()))
            .chain(with_about(
                r#"{"format": "netex"}"#,
                netex::publication_notice_kinds().collect(),
            ))
            .collect()
    }

    #[test]
    fn a_code_shared_by_formats_has_the_meaning_of_the_reports_format() {
        let all = kinds();
        let mut n_unlike = 0;
        for (about, kind) in &all {
            let namesakes = all.iter().filter(|(_, other)| other.code == kind.code);
            n_unlike +=
                namesakes.filter(|(_, other)| other.page_summary() != kind.page_summary()).count();
            let json = format!(
                r#"{{"summary": {about}, "notices": [{{"code": "{}", "severity": "ERROR", "totalNotices": 1}}]}}"#,
                kind.code
            );
            let read = ParsedReportJson::from_json(json.as_bytes()).unwrap();
            assert_eq!(read.findings[0].summary, kind.page_summary(), "{} of {about}", kind.code);
        }
        assert!(n_unlike > 0, "the test needs two formats that share a code");
    }

    #[test]
    fn a_report_is_parsed_as_written() {
        let json = br#"{"summary": {"gtfsInput": "a.zip", "validatedAt": "2026-01-02T03:04:05Z"}, "notices": [
            {"code": "unknown_file", "severity": "INFO", "totalNotices": 1, "sampleNotices": [{"filename": "x.txt"}]},
            {"code": "of_somebody_else", "severity": "WARNING", "totalNotices": 7},
            {"code": "foreign_key_violation", "severity": "ERROR", "totalNotices": 2, "sampleNotices": []}
        ]}"#;
        let read = ParsedReportJson::from_json(json).unwrap();
        assert_eq!((&*read.input, &*read.at), ("a.zip", "2026-01-02T03:04:05Z"));
        let codes: Vec<&str> = read.findings.iter().map(|it| &*it.code).collect();
        assert_eq!(codes, ["foreign_key_violation", "of_somebody_else", "unknown_file"]);
        assert!(!read.findings[0].summary.is_empty() && read.findings[1].summary.is_empty());
        assert_eq!(read.findings[2].samples[0]["filename"], "x.txt");
        assert!(
            ParsedReportJson::from_json(b"{}").is_err()
                && ParsedReportJson::from_json(b"<html>").is_err()
        );
        assert!(read.faults.is_empty());
    }

    #[test]
    fn system_errors_of_a_report_are_parsed() {
        let json = br#"{"summary": {}, "notices": [], "lineside": {"faults": [{"rule": "netex", "message": "it broke"}]}}"#;
        let faults = ParsedReportJson::from_json(json).unwrap().faults;
        assert_eq!(faults, [("netex".to_owned(), "it broke".to_owned())]);
    }

    #[test]
    fn places_are_parsed_with_their_findings() {
        let json = br#"{"summary": {}, "notices": [{"code": "stop_too_far_from_shape", "severity": "WARNING", "totalNotices": 1}],
            "lineside": {"outline": [[59.5, 10.5]], "places": {"stop_too_far_from_shape": [{"at": [59.5, 10.5], "label": "stop a"}]}}}"#;
        let read = ParsedReportJson::from_json(json).unwrap();
        assert_eq!((read.findings[0].places.len(), &*read.outline), (1, &[[59.5, 10.5]][..]));
    }

    #[test]
    fn a_huge_report_is_read_up_to_the_limits_and_the_rest_counted() {
        let samples = vec!["{}"; SAMPLES_MAX + 5].join(",");
        let notice = |n: usize| {
            format!(
                r#"{{"code": "c{n:05}", "severity": "ERROR", "totalNotices": 900, "sampleNotices": [{samples}]}}"#
            )
        };
        let notices: Vec<String> = (0..KINDS_MAX + 7).map(notice).collect();
        let read = ParsedReportJson::from_json(
            format!(r#"{{"notices": [{}]}}"#, notices.join(",")).as_bytes(),
        )
        .unwrap();
        assert_eq!((read.findings.len(), read.n_omitted), (KINDS_MAX, 7));
        assert_eq!((read.findings[0].samples.len(), read.findings[0].total), (SAMPLES_MAX, 900));
        assert!(ParsedReportJson::from_json(br#"{"notices": [], "summary": 3}"#).is_ok());
        assert!(ParsedReportJson::from_json(br#"{"notices": {}}"#).is_err());
    }

    #[test]
    fn invalid_notices_are_counted_and_the_others_are_read() {
        let json = br#"{"summary": {"gtfsInput": 3, "input": "b.zip", "more": [{}]}, "notices": [
            0, "a text", {"code": "no_total", "severity": "ERROR"},
            {"code": "odd", "severity": "ERROR", "totalNotices": 1, "sampleNotices": [1]},
            {"code": "fine", "severity": "ERROR", "totalNotices": 2, "sampleNotices": [{"a": [1, {"b": null}]}], "more": {}}
        ]}"#;
        let read = ParsedReportJson::from_json(json).unwrap();
        assert_eq!((read.findings.len(), read.n_omitted, &*read.input), (1, 4, "b.zip"));
        assert_eq!(Value::from(read.findings[0].samples[0].clone())["a"][1]["b"], Value::Null);
    }

    #[test]
    fn a_sample_over_the_memory_limit_is_skipped() {
        let list = format!("[{}0]", "0,".repeat(1 << 20));
        let json = format!(
            r#"{{"notices": [{{"code": "c", "severity": "ERROR", "totalNotices": 3, "sampleNotices": [{{"a": 1}}, {{"a": {list}}}, {{"a": 3}}]}}]}}"#
        );
        let read = ParsedReportJson::from_json(json.as_bytes()).unwrap();
        let retained_samples: Vec<_> =
            read.findings[0].samples.iter().map(|it| it["a"].clone()).collect();
        assert_eq!((retained_samples, read.findings[0].total), (vec![1.into(), 3.into()], 3));
    }

    /// The environment variable with the report's shape, set when the next test runs as a child process.
    const SHAPE: &str = "LINESIDE_REPORT";

    /// Returns a report of about `bytes` bytes, in a shape that takes the most memory.
    fn large(shape: &str, bytes: usize) -> String {
        let notice = r#"{"notices": [{"code": "c", "severity": "ERROR", "totalNotices": 9, "sampleNotices": ["#;
        let objects = format!(r#"{{"a": [{}0]}}"#, r#"{"a":0},"#.repeat(500));
        let (start_text, many, end) = match shape {
            "rows" => (notice, "{}", "]}]}"),
            "rows of objects" => (notice, &*objects, "]}]}"),
            "odd rows" => (notice, "0", "]}]}"),
            "a row" => (notice, r#"{"a":0}"#, "]}]}]}"),
            "odd notices" => (r#"{"notices": [{"a": ["#, "0", "]}]}"),
            "a summary" => (r#"{"notices": [], "summary": {"a": ["#, r#"{"a":0}"#, "]}}"),
            _ => ("", "", ""),
        };
        let start_text = start_text.to_owned() + if shape == "a row" { r#"{"a": ["# } else { "" };
        // Reserve the text first, so that it adds nothing to the peak.
        let mut text = String::with_capacity(bytes + objects.len());
        text.push_str(&start_text);
        while text.len() + objects.len() < bytes {
            text.push_str(many);
            text.push(',');
        }
        text + many + end
    }

    /// Each report is parsed in a child process, because the peak memory of a process never falls.
    #[cfg(target_os = "linux")]
    #[test]
    fn parsing_a_report_uses_little_more_memory_than_its_bytes() {
        let memory = |name: &str| {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
        };
        if let Ok(shape) = std::env::var(SHAPE) {
            let json = large(&shape, 16 << 20);
            let before = memory("VmHWM:");
            let read = ParsedReportJson::from_json(json.as_bytes()).unwrap();
            let took = memory("VmHWM:").saturating_sub(before);
            println!("{shape}: {took} bytes for {} findings", read.findings.len());
            assert!(took <= SAMPLES_MEMORY_MAX + (16 << 20), "{shape} took {took} bytes");
            return;
        }
        let name =
            concat!(module_path!(), "::parsing_a_report_uses_little_more_memory_than_its_bytes");
        let name = name.split_once("::").unwrap().1;
        for shape in ["rows", "rows of objects", "odd rows", "a row", "odd notices", "a summary"] {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            let ran = command.args(["--exact", name, "--nocapture"]).env(SHAPE, shape).output();
            let ran = ran.unwrap();
            let output =
                String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
            assert!(ran.status.success() && output.contains(" bytes for "), "{output}");
        }
    }
}
