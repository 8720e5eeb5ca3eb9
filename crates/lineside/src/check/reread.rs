//! A report that was written as `report.json`, read again to be shown.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use lineside_formats::Format;
use lineside_validate::rules::{gbfs, gtfs, gtfs_rt, netex, siri};
use lineside_validate::{Kind, Severity};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::places::{OUTLINE_MAX, PLACES_MAX};
use super::{Finding, Place, Point, codes};

/// Kinds of findings that are read; the reference has about 180.
const KINDS_MAX: usize = 1_000;
/// Findings of each kind that are read.
const SAMPLES_MAX: usize = 100;

/// What such a report says.
#[derive(Debug)]
pub(crate) struct Reread {
    /// What the input is called.
    pub(crate) input: String,
    /// When it was looked at, as RFC 3339.
    pub(crate) at: String,
    /// The day on which it was judged.
    pub(crate) today: String,
    /// Which version of the validator looked.
    pub(crate) validator: String,
    /// By severity, the worst first, then by code.
    pub(crate) findings: Vec<Finding>,
    /// Kinds beyond those that are read, and entries that are not as the reference writes them.
    pub(crate) left_out: u64,
    /// Where some of what is well known is, where the report says it.
    pub(crate) outline: Vec<Point>,
    /// Our own faults, where the report names them: each rule with what it said.
    pub(crate) faults: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    summary: Value,
    notices: First<Element, KINDS_MAX>,
    #[serde(default)]
    lineside: Ours,
}

/// One that others wrote otherwise takes nothing away from the rest.
#[derive(Deserialize)]
#[serde(untagged)]
enum Element {
    Notice(Notice),
    Other(IgnoredAny),
}

/// What the reference has no word for.
#[derive(Default, Deserialize)]
struct Ours {
    #[serde(default)]
    faults: First<Fault, KINDS_MAX>,
    #[serde(default)]
    places: BTreeMap<String, First<Place, PLACES_MAX>>,
    #[serde(default)]
    outline: First<Point, OUTLINE_MAX>,
}

#[derive(Deserialize)]
struct Fault {
    rule: String,
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notice {
    code: String,
    severity: String,
    total_notices: u64,
    #[serde(default)]
    sample_notices: First<Map<String, Value>, SAMPLES_MAX>,
}

/// The first of a list, so many at most. The rest is counted and takes no memory.
struct First<T, const MOST: usize> {
    kept: Vec<T>,
    left_out: u64,
}

impl<T, const MOST: usize> Default for First<T, MOST> {
    fn default() -> Self {
        Self { kept: Vec::new(), left_out: 0 }
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for First<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(OfList(PhantomData))
    }
}

struct OfList<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for OfList<T, MOST> {
    type Value = First<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut first = First::default();
        while first.kept.len() < MOST
            && let Some(element) = list.next_element()?
        {
            first.kept.push(element);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            first.left_out += 1;
        }
        Ok(first)
    }
}

impl Reread {
    /// Reads it, whether this program wrote it or the reference validator.
    ///
    /// # Errors
    /// If it is no such report.
    pub(crate) fn of(json: &[u8]) -> Result<Self, serde_json::Error> {
        let Report { summary, notices, lineside } = serde_json::from_slice(json)?;
        let mut places = lineside.places;
        let words = summaries(summary["format"].as_str().and_then(Format::parse));
        let mut finding = |notice: Notice| Finding {
            severity: match notice.severity.as_str() {
                "ERROR" => Severity::Error,
                "WARNING" => Severity::Warning,
                _ => Severity::Info,
            },
            total: notice.total_notices,
            places: places.remove(&notice.code).unwrap_or_default().kept,
            summary: {
                let of_rule = words.get(notice.code.as_str()).copied();
                of_rule.unwrap_or_else(|| codes::meaning(&notice.code))
            },
            samples: notice.sample_notices.kept,
            code: notice.code,
        };
        let mut left_out = notices.left_out;
        let mut findings: Vec<Finding> = Vec::new();
        for element in notices.kept {
            match element {
                Element::Notice(notice) => findings.push(finding(notice)),
                Element::Other(_) => left_out += 1,
            }
        }
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
        let text = |names: [&str; 2]| {
            let found = names.iter().find_map(|name| summary[*name].as_str());
            found.unwrap_or_default().to_owned()
        };
        Ok(Self {
            input: text(["gtfsInput", "input"]),
            at: text(["validatedAt", "validatedAt"]),
            today: text(["dateForValidation", "dateForValidation"]),
            validator: text(["validatorVersion", "validatorVersion"]),
            findings,
            left_out,
            outline: lineside.outline.kept,
            faults: lineside.faults.kept.into_iter().map(|it| (it.rule, it.message)).collect(),
        })
    }
}

/// What the codes of a format mean: one code may mean another thing in each. A report that names none is on a schedule, as the
/// reference's are.
fn summaries(format: Option<Format>) -> BTreeMap<&'static str, &'static str> {
    fn of(kinds: impl Iterator<Item = &'static Kind>) -> BTreeMap<&'static str, &'static str> {
        kinds.map(|kind| (kind.code, kind.summary())).collect()
    }
    match format {
        None | Some(Format::Gtfs) => of(gtfs::kinds()),
        Some(Format::GtfsRt) => of(gtfs_rt::kinds()),
        Some(Format::Gbfs) => of(gbfs::kinds()),
        Some(Format::Siri) => of(siri::kinds()),
        Some(Format::Netex) => of(netex::kinds()),
        Some(Format::Raw) => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All kinds, with what the summary of a report on their format says of that.
    fn kinds() -> Vec<(&'static str, &'static Kind)> {
        let of = |about: &'static str, kinds: Vec<&'static Kind>| {
            kinds.into_iter().map(move |kind| (about, kind))
        };
        of("{}", gtfs::kinds().collect())
            .chain(of(r#"{"format": "gtfs-rt"}"#, gtfs_rt::kinds().collect()))
            .chain(of(r#"{"format": "gbfs"}"#, gbfs::kinds().collect()))
            .chain(of(r#"{"format": "siri"}"#, siri::kinds().collect()))
            .chain(of(r#"{"format": "netex"}"#, netex::kinds().collect()))
            .collect()
    }

    #[test]
    fn a_code_of_two_formats_means_what_it_means_in_that_of_the_report() {
        let all = kinds();
        let mut n_unlike = 0;
        for (about, kind) in &all {
            let namesakes = all.iter().filter(|(_, other)| other.code == kind.code);
            n_unlike += namesakes.filter(|(_, other)| other.summary() != kind.summary()).count();
            let json = format!(
                r#"{{"summary": {about}, "notices": [{{"code": "{}", "severity": "ERROR", "totalNotices": 1}}]}}"#,
                kind.code
            );
            let read = Reread::of(json.as_bytes()).unwrap();
            assert_eq!(read.findings[0].summary, kind.summary(), "{} of {about}", kind.code);
        }
        assert!(n_unlike > 0, "no two formats share a code");
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let json = br#"{"summary": {"gtfsInput": "a.zip", "validatedAt": "2026-01-02T03:04:05Z"}, "notices": [
            {"code": "unknown_file", "severity": "INFO", "totalNotices": 1, "sampleNotices": [{"filename": "x.txt"}]},
            {"code": "of_somebody_else", "severity": "WARNING", "totalNotices": 7},
            {"code": "foreign_key_violation", "severity": "ERROR", "totalNotices": 2, "sampleNotices": []}
        ]}"#;
        let read = Reread::of(json).unwrap();
        assert_eq!((&*read.input, &*read.at), ("a.zip", "2026-01-02T03:04:05Z"));
        let codes: Vec<&str> = read.findings.iter().map(|it| &*it.code).collect();
        assert_eq!(codes, ["foreign_key_violation", "of_somebody_else", "unknown_file"]);
        assert!(!read.findings[0].summary.is_empty() && read.findings[1].summary.is_empty());
        assert_eq!(read.findings[2].samples[0]["filename"], "x.txt");
        assert!(Reread::of(b"{}").is_err() && Reread::of(b"<html>").is_err());
        assert!(read.faults.is_empty());
    }

    #[test]
    fn our_own_faults_are_read_too() {
        let json = br#"{"summary": {}, "notices": [], "lineside": {"faults": [{"rule": "netex", "message": "it broke"}]}}"#;
        let faults = Reread::of(json).unwrap().faults;
        assert_eq!(faults, [("netex".to_owned(), "it broke".to_owned())]);
    }

    #[test]
    fn places_are_read_with_their_findings() {
        let json = br#"{"summary": {}, "notices": [{"code": "stop_too_far_from_shape", "severity": "WARNING", "totalNotices": 1}],
            "lineside": {"outline": [[59.5, 10.5]], "places": {"stop_too_far_from_shape": [{"at": [59.5, 10.5], "label": "stop a"}]}}}"#;
        let read = Reread::of(json).unwrap();
        assert_eq!((read.findings[0].places.len(), &*read.outline), (1, &[[59.5, 10.5]][..]));
    }

    #[test]
    fn of_a_huge_report_the_first_is_read_and_the_rest_is_counted() {
        let samples = vec!["{}"; SAMPLES_MAX + 5].join(",");
        let notice = |n: usize| {
            format!(
                r#"{{"code": "c{n:05}", "severity": "ERROR", "totalNotices": 900, "sampleNotices": [{samples}]}}"#
            )
        };
        let notices: Vec<String> = (0..KINDS_MAX + 7).map(notice).collect();
        let read =
            Reread::of(format!(r#"{{"notices": [{}]}}"#, notices.join(",")).as_bytes()).unwrap();
        assert_eq!((read.findings.len(), read.left_out), (KINDS_MAX, 7));
        assert_eq!((read.findings[0].samples.len(), read.findings[0].total), (SAMPLES_MAX, 900));
        assert!(Reread::of(br#"{"notices": [], "summary": 3}"#).is_ok());
        assert!(Reread::of(br#"{"notices": {}}"#).is_err());
    }
}
