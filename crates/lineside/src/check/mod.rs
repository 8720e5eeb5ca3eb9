//! What is wrong with a file: what `lineside check` does, without a terminal or a socket.
//!
//! Everything is held against the rules of `lineside-validate`; GTFS-Realtime without its schedule against those that need none. Of real time and
//! NeTEx it is told besides what their decoders complain about.

mod bikes;
mod codes;
mod contents;
mod counted;
mod fields;
mod fit;
mod html;
mod others;
#[cfg(test)]
mod own_feeds;
pub(crate) mod picture;
mod places;
mod raw_rows;
mod reckoning;
mod record_rows;
mod reread;
mod sample;
mod text;
mod unlike;
mod unread;
mod values;

use bytes::Bytes;
use jiff::civil::Date;
use lineside_formats::gtfs::Limits;
use lineside_formats::{Format, sniff};
use lineside_ingest::SiriIds;
use lineside_validate::gtfs::{File, Source, Watched, ZipSource};
use lineside_validate::report::{self, Run, Summary};
use lineside_validate::rules::gtfs::Unread;
use lineside_validate::rules::{SystemError, gtfs};
use lineside_validate::{Context, Notices, Severity};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use codes::{UNREADABLE_FILE, decoder_codes, know, rules};
pub(crate) use contents::contents;
use counted::Counted;
pub(crate) use counted::Progress;
pub(crate) use fields::{grouped, remedy, table};
pub(crate) use html::{day, prose};
pub(crate) use places::{Place, Point, outline_of};
pub(crate) use raw_rows::RawRow;
pub(crate) use reckoning::{memory_for, memory_until, netex_limits, too_much};
pub(crate) use record_rows::{entity_rows, gbfs_rows};
pub(crate) use reread::Reread;
pub(crate) use sample::sample_report;
pub(crate) use text::{called, harmless};
pub(crate) use unlike::of_folder;
pub(crate) use unread::{UNREAD, UNREAD_FILE, unread_words};
pub(crate) use values::memory_of;

/// How something is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What the report calls the input.
    pub(crate) input: String,
    /// The day on which it is judged.
    pub(crate) today: Date,
    /// When, as RFC 3339.
    pub(crate) at: String,
    /// When, in seconds since 1970.
    pub(crate) now: i64,
    /// The schedule that real time belongs to, as a zip.
    pub(crate) schedule: Option<Bytes>,
    /// The message before it, of the same feed.
    pub(crate) previous: Option<Bytes>,
    /// How the ids of SIRI become the schedule's.
    pub(crate) ids: SiriIds,
    /// The country of its telephone numbers (ISO 3166).
    pub(crate) country: Option<[u8; 2]>,
    /// How many threads work.
    pub(crate) threads: usize,
    /// Codes that are not told.
    pub(crate) ignored: Vec<String>,
    /// The folder into which reports are written.
    pub(crate) output: Option<String>,
    /// Findings of one kind that are kept.
    pub(crate) samples: usize,
    /// Whether it is said where on earth findings are.
    pub(crate) with_places: bool,
    /// The memory in bytes that a look at a schedule may take, if that is to be reckoned, and who allows that.
    pub(crate) memory: Option<(u64, &'static str)>,
    /// The files of a GBFS system, if it may be one.
    pub(crate) files: Files,
}

/// Files of a GBFS system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    /// The files with their names, which have no `.json`.
    pub(crate) read: Vec<(String, Bytes)>,
    /// The names of those that are listed and were not to be had, each with the reason; in a further language that stands before.
    pub(crate) unread: Vec<(String, String)>,
    /// Those in further languages.
    pub(crate) others: Vec<Further>,
    /// The files as they were some time before.
    pub(crate) before: Vec<(String, Bytes)>,
    /// Whether these are all that the system has.
    pub(crate) is_whole: bool,
}

/// The files of a GBFS system in a further language.
#[derive(Clone, Debug, Default)]
pub(crate) struct Further {
    pub(crate) language: String,
    /// The files with their names.
    pub(crate) read: Vec<(String, Bytes)>,
    /// The names of those that came from where the first language's did.
    pub(crate) shared: Vec<String>,
    /// The names of those that were not to be had.
    pub(crate) unread: Vec<String>,
}

/// One kind of finding.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) severity: Severity,
    pub(crate) total: u64,
    /// What is wrong, in a sentence; empty where the code says it all.
    pub(crate) summary: &'static str,
    /// The first of them.
    pub(crate) samples: Vec<Map<String, Value>>,
    /// Where some of them are, as far as that was looked up; only where that was asked for.
    pub(crate) places: Vec<Place>,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) format: Format,
    plan: Plan,
    /// By severity, the worst first, then by code.
    pub(crate) findings: Vec<Finding>,
    /// Our own faults.
    pub(crate) errors: Vec<SystemError>,
    /// The codes that were not to be told and were found, and how often.
    ignored: Vec<(String, u64)>,
    /// Files of a schedule of which rules did not see all.
    pub(crate) unread: Vec<Unread>,
    /// What there is of each kind.
    counts: Vec<(&'static str, u64)>,
    /// What the reference's report says besides the findings; only of a schedule.
    summary: Option<Summary>,
    /// Where some of what is well known is, such as stops; only where places were asked for.
    pub(crate) outline: Vec<Point>,
    /// The rows and records that the first findings are about; only where places were asked for.
    pub(crate) rows: Vec<RawRow>,
    pub(crate) seconds: f64,
}

/// What standard input is called, which has no name of its own.
pub(crate) const STDIN: &str = "standard input";

/// Findings of one kind that can be kept, as many as the reference validator writes.
pub(crate) const SAMPLES_MAX: u32 = 1_000;

/// Why something is held against nothing else.
pub(crate) const NOT_REAL_TIME: &str =
    "a schedule, and a message before it, belong to messages of GTFS-Realtime or SIRI";

/// Why there is nothing to tell of a look that was stopped.
const STOPPED: &str = "it was stopped before its end";

impl Checked {
    /// The worst there is.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The report, as the reference validator's `report.json`.
    pub(crate) fn json(&self) -> Value {
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_by(|a, b| a.code.cmp(&b.code));
        let notices = findings.into_iter().map(|finding| {
            json!({
                "code": finding.code,
                "severity": finding.severity,
                "totalNotices": finding.total,
                "sampleNotices": finding.samples,
            })
        });
        json!({ "summary": self.about(), "notices": notices.collect::<Vec<_>>() })
    }

    /// What was looked at, how, and what is in it: the `summary` of the reference validator's `report.json`.
    pub(crate) fn about(&self) -> Value {
        match &self.summary {
            Some(summary) => json!(summary),
            None => json!({
                "validatorVersion": env!("CARGO_PKG_VERSION"),
                "validatedAt": self.plan.at,
                "input": self.plan.input,
                "format": self.format.as_str(),
                "dateForValidation": self.plan.today.to_string(),
                "validationTimeSeconds": self.seconds,
                "counts": self.counts.iter().map(|(kind, n)| (kind.replace(' ', "_"), json!(n)))
                    .collect::<Map<String, Value>>(),
            }),
        }
    }

    /// Our own faults, as the reference validator's `system_errors.json`.
    pub(crate) fn system_errors(&self) -> Value {
        report::system_errors(&self.errors)
    }

    /// Where findings are, by code, and what is well known around them: as JSON, in which a coordinate has the digits that tell it
    /// from others.
    pub(crate) fn places(&self) -> impl Serialize {
        let of = |finding: &Finding| places::known(&finding.places, &finding.samples).into_owned();
        let all = self.findings.iter().map(|finding| (finding.code.clone(), of(finding)));
        places::Written {
            outline: self.outline.clone(),
            places: all.filter(|(_, it)| !it.is_empty()).collect(),
            rows: self.rows.clone(),
        }
    }

    /// The files of which rules did not see all, as JSON.
    pub(crate) fn unread(&self) -> Value {
        json!(self.unread)
    }

    /// What a reader of the findings alone would not know, as lines for a terminal: what was ignored, and what was not looked at.
    pub(crate) fn beside(&self) -> Option<String> {
        text::beside(self)
    }

    /// The report as lines for a terminal.
    pub(crate) fn text(&self, in_colors: bool) -> String {
        text::write(self, in_colors)
    }

    /// The report as a page that needs no other file.
    pub(crate) fn html(&self) -> String {
        html::write(self)
    }

    fn new(format: Format, plan: Plan, findings: Vec<Finding>) -> Checked {
        let is_ignored = |finding: &Finding| plan.ignored.contains(&finding.code);
        let (ignored, mut findings): (Vec<Finding>, Vec<Finding>) =
            findings.into_iter().partition(is_ignored);
        let mut ignored: Vec<(String, u64)> =
            ignored.into_iter().map(|finding| (finding.code, finding.total)).collect();
        ignored.sort();
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
        let (errors, counts) = (Vec::new(), Vec::new());
        Checked {
            format,
            plan,
            findings,
            errors,
            ignored,
            unread: Vec::new(),
            counts,
            summary: None,
            outline: Vec::new(),
            rows: Vec::new(),
            seconds: 0.0,
        }
    }
}

/// Codes with their samples.
fn codes_with_samples(findings: &[Finding]) -> impl Iterator<Item = (&str, &[Map<String, Value>])> {
    findings.iter().map(|finding| (finding.code.as_str(), finding.samples.as_slice()))
}

/// How many of the findings are that bad.
fn count(findings: &[Finding], severity: Severity) -> u64 {
    let alike = findings.iter().filter(|finding| finding.severity == severity);
    alike.map(|finding| finding.total).sum()
}

/// Looks at an input. Takes as long as the input is large: not to be called where that blocks anybody.
///
/// # Errors
/// If it is of no format that can be checked, or cannot be read at all.
pub(crate) fn check(
    body: &Bytes,
    plan: Plan,
    progress: &Progress,
    elapsed: &dyn Fn() -> f64,
) -> Result<Checked, String> {
    let format = sniff(body);
    let is_real_time = format.is_some_and(Format::is_real_time);
    if !is_real_time && (plan.schedule.is_some() || plan.previous.is_some()) {
        return Err(NOT_REAL_TIME.to_owned());
    }
    let timed = |checked: Checked| Checked { seconds: elapsed(), ..checked };
    match format {
        _ if plan.files.is_whole => bikes::check(body, plan, progress).map(timed),
        Some(Format::Gtfs) => schedule(body, plan, progress, elapsed),
        // A file of GBFS has no sign at its beginning by which it could be told from other JSON.
        None | Some(Format::Raw | Format::Gbfs) => bikes::check(body, plan, progress).map(timed),
        Some(format) => {
            if format == Format::Netex {
                fits(body, &plan)?;
            }
            others::check(format, body, plan, progress).map(timed)
        }
    }
}

fn findings(notices: &Notices) -> Vec<Finding> {
    let findings = notices.iter().map(|found| Finding {
        code: found.kind.code.to_owned(),
        severity: found.kind.severity,
        total: found.total,
        summary: found.kind.summary(),
        samples: found.samples.clone(),
        places: Vec::new(),
    });
    findings.collect()
}

/// Sees that a look at a schedule takes no more memory than it may, in GTFS or NeTEx.
fn fits(zip: &Bytes, plan: &Plan) -> Result<(), String> {
    let Some((allowed, by)) = plan.memory else { return Ok(()) };
    let needed = memory_for(zip, allowed).map_err(|error| error.to_string())?;
    too_much(needed, allowed, by).map_or(Ok(()), Err)
}

fn schedule(
    body: &Bytes,
    plan: Plan,
    progress: &Progress,
    elapsed: &dyn Fn() -> f64,
) -> Result<Checked, String> {
    fits(body, &plan)?;
    let source = ZipSource::new(body, &Limits::default()).map_err(|error| error.to_string())?;
    let listed = source.list();
    if !source.has_nested() && !listed.iter().any(|(name, _)| File::of_name(name).is_some()) {
        let names = listed.iter().map(|(name, _)| name.as_str());
        unlike::zip_of_zips(names).map_or(Ok(()), Err)?;
    }
    progress.expect(listed.iter().map(|(_, size)| size).sum());
    let files = source.clone();
    let source = Counted::new(source, progress);
    let context = Context { today: plan.today, country: plan.country, threads: plan.threads };
    let mut notices = Notices::new(plan.samples);
    let looked = gtfs::validate_until(&source, &context, progress.stopper(), &mut notices);
    let (feed, errors) = looked.map_err(|error| error.to_string())?.ok_or(STOPPED)?;
    let mut checked = Checked::new(Format::Gtfs, plan, findings(&notices));
    if checked.plan.with_places {
        checked.outline = places::outline(&feed);
        places::fill(&feed, &mut checked.findings);
        let files = Watched::new(&files, progress.stopper());
        checked.rows = raw_rows::raw_rows(&files, &checked.findings);
    }
    checked.seconds = elapsed();
    let run = Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        at: checked.plan.at.clone(),
        input: checked.plan.input.clone(),
        threads: context.threads,
        output: checked.plan.output.clone(),
        country: context.country,
        today: context.today,
        seconds: checked.seconds,
    };
    let counts = report::Counts::of(&feed);
    checked.counts = vec![
        ("agencies", counts.agencies),
        ("routes", counts.routes),
        ("trips", counts.trips),
        ("blocks", counts.blocks),
        ("stops", counts.stops),
        ("shapes", counts.shapes),
    ];
    checked.summary = Some(Summary::new(&feed, &run));
    checked.unread = Unread::of(&feed);
    checked.errors = errors;
    Ok(checked)
}

#[cfg(test)]
impl Plan {
    /// What tests begin with.
    pub(crate) fn plain() -> Plan {
        Plan {
            input: "input".to_owned(),
            today: Date::ZERO,
            at: String::new(),
            now: 0,
            schedule: None,
            previous: None,
            ids: SiriIds::Same,
            country: None,
            threads: 1,
            ignored: Vec::new(),
            output: None,
            samples: 1,
            with_places: false,
            memory: None,
            files: Files::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_is_stopped_has_nothing_to_tell_whatever_it_looks_at() {
        let netex = "<PublicationDelivery xmlns=\"http://www.netex.org.uk/netex\" version=\"1.0\">\
                     <Line id=\"L\" version=\"1\"/></PublicationDelivery>";
        let siri = "<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\"><ServiceDelivery>\
                    <EstimatedTimetableDelivery version=\"2.0\"/></ServiceDelivery></Siri>";
        let gbfs =
            "{\"last_updated\":0,\"ttl\":1,\"version\":\"2.3\",\"data\":{\"stations\":[{}]}}";
        let inputs = [(Format::Netex, netex), (Format::Siri, siri), (Format::Gbfs, gbfs)];
        for (format, text) in inputs {
            let (body, progress) = (Bytes::from(text), Progress::default());
            let look = || check(&body, Plan::plain(), &progress, &|| 0.5);
            let looked = look().unwrap();
            assert_eq!(looked.about()["validationTimeSeconds"], 0.5);
            assert_eq!(looked.format, format);
            assert!(!looked.findings.is_empty(), "{format:?} has something to tell");
            progress.stop();
            assert_eq!(look().unwrap_err(), STOPPED, "{format:?}");
        }
    }
}
