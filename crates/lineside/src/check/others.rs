//! Formats without rules of their own yet: what their decoders complain about.

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::Limits;
use lineside_formats::{
    Error, Format, Problem, Problems, gbfs, gtfs_rt, is_json_twin, netex, siri,
};
use lineside_validate::gtfs::{self, ZipSource};
use lineside_validate::rules::SystemError;
use lineside_validate::rules::gtfs_rt::{Subject, Timetable, validate};
use lineside_validate::{Context, Notices, Severity};
use serde_json::{Map, Value, json};

use super::{Checked, Finding, Plan};

pub(super) fn check(format: Format, body: &Bytes, plan: Plan) -> Result<Checked, String> {
    let (format, problems, counts) = look(format, body)?;
    let mut found = findings(&problems);
    let mut errors = Vec::new();
    if let Some(zip) = &plan.schedule {
        let mut notices = Notices::new(plan.samples);
        errors = judge(body, zip, &plan, &mut notices)?;
        found.extend(super::findings(&notices));
    }
    let mut checked = Checked::new(format, plan, found);
    checked.counts = counts;
    checked.errors = errors;
    Ok(checked)
}

/// Holds a message of GTFS-Realtime against the rules, with its schedule.
fn judge(
    body: &Bytes,
    zip: &Bytes,
    plan: &Plan,
    notices: &mut Notices,
) -> Result<Vec<SystemError>, String> {
    let words = |error: Error| format!("the schedule: {error}");
    let context = Context { today: plan.today, country: plan.country, threads: plan.threads };
    let source = ZipSource::new(zip, &Limits::default()).map_err(words)?;
    // What is wrong with the schedule is not asked here.
    let feed = gtfs::load(&source, &context, &mut Notices::new(0)).map_err(words)?;
    let timetable = Timetable::new(&feed);
    let before = plan.previous.as_ref().map(message).transpose();
    let message = message(body).map_err(|error| error.to_string())?.0;
    let previous = before.map_err(|error| format!("the message before it: {error}"))?;
    let subject = Subject::new(&message, &timetable, plan.now);
    let subject = subject.after(previous.as_ref().map(|(message, _)| message));
    Ok(validate(&subject, &context, notices))
}

fn message(body: &Bytes) -> Result<(gtfs_rt::proto::FeedMessage, Problems), Error> {
    let limits = gtfs_rt::Limits::default();
    if is_json_twin(body) {
        gtfs_rt::decode_json(body, &limits)
    } else {
        gtfs_rt::decode(body.clone(), &limits)
    }
}

type Looked = (Format, Problems, Vec<(&'static str, u64)>);

fn look(format: Format, body: &Bytes) -> Result<Looked, String> {
    let words = |error: Error| error.to_string();
    match format {
        Format::GtfsRt => {
            let (message, problems) = message(body).map_err(words)?;
            let count = |is: fn(&gtfs_rt::proto::FeedEntity) -> bool| {
                message.entity.iter().filter(|entity| is(entity)).count() as u64
            };
            let counts = vec![
                ("trip updates", count(|entity| entity.trip_update.is_some())),
                ("vehicles", count(|entity| entity.vehicle.is_some())),
                ("alerts", count(|entity| entity.alert.is_some())),
            ];
            Ok((format, problems, counts))
        }
        Format::Siri => {
            let limits = siri::Limits::default();
            let (message, problems) = siri::decode(body, &TimeZone::UTC, &limits).map_err(words)?;
            Ok((format, problems, vec![("payloads", message.payloads.len() as u64)]))
        }
        Format::Netex => {
            let limits = netex::Limits::default();
            let mut files = netex::Source::new(body, &limits.files).map_err(words)?;
            let (publication, problems) = netex::decode(&mut files, &limits).map_err(words)?;
            let journeys = publication.counts().service_journeys as u64;
            Ok((format, problems, vec![("journeys", journeys)]))
        }
        // A discovery file has no sign at its beginning by which it could be told from other JSON.
        Format::Gbfs | Format::Raw => {
            let decoded = gbfs::decode(body, &gbfs::Limits::default());
            let (discovery, problems) = decoded.map_err(|_| super::NO_FORMAT.to_owned())?;
            Ok((Format::Gbfs, problems, vec![("files", discovery.entries.len() as u64)]))
        }
        Format::Gtfs => Err(super::NO_FORMAT.to_owned()),
    }
}

/// What decoders complain about, by code. All of it is of no use to readers, so all of it counts as an error.
fn findings(problems: &Problems) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for (_, code, total) in problems.counts() {
        match findings.iter_mut().find(|finding| finding.code == code) {
            Some(finding) => finding.total += total,
            None => findings.push(Finding {
                code: code.to_owned(),
                severity: Severity::Error,
                total,
                summary: "",
                samples: Vec::new(),
                places: Vec::new(),
            }),
        }
    }
    for problem in problems.kept() {
        if let Some(finding) = findings.iter_mut().find(|finding| finding.code == problem.code) {
            finding.samples.push(sample(problem));
        }
    }
    findings
}

fn sample(problem: &Problem) -> Map<String, Value> {
    let fields = [
        ("filename", Some(json!(problem.file))),
        ("line", problem.line.map(|line| json!(line))),
        ("fieldName", problem.field.as_ref().map(|field| json!(field))),
        ("fieldValue", problem.value.as_ref().map(|value| json!(value))),
        ("message", Some(json!(problem.detail))),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}
