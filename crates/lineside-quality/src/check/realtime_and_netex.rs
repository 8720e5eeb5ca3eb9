//! Checks real-time messages and NeTEx: the problems of their decoders and the findings of the rules.

use bytes::Bytes;
use jiff::tz::TimeZone;
use lineside_formats::gtfs::{DatasetLimits, TableWriter};
use lineside_formats::{Error, Format, Problem, Problems, gtfs_rt, is_gtfs_rt_json, netex, siri};
use lineside_validate::gtfs::ZipFileSource;
use lineside_validate::rules::gtfs_rt::{
    MessageWithContext, RealtimeRuleScope, ScheduleIndex, validate_realtime_message,
};
use lineside_validate::rules::netex::{
    WholeOrPartialPublication, validate_publication_cancellable,
};
use lineside_validate::rules::{self, ValidatorFault};
use lineside_validate::{CancelToken, Notices, Severity, ValidationContext};
use serde_json::{Map, Value, json};

use super::progress::{CancellableFiles, cancelled_error};
use super::record_rows::{entity_rows, netex_rows, siri_rows};
use super::{
    CheckFinding, CheckPlan, CheckProgress, CheckReport, Point, RawRow, STOPPED, codes,
    codes_with_samples, realtime_conformance, thin_outline,
};

pub(super) fn check_realtime_or_netex(
    format: Format,
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckProgress,
) -> Result<CheckReport, String> {
    let mut notices = Notices::new(plan.samples);
    let context =
        ValidationContext { today: plan.today, country: plan.country, threads: plan.threads };
    let stop = progress.cancel_token();
    let allowed = plan.memory.map_or(u64::MAX, |(allowed, _)| allowed);
    let inspection = inspect_input(format, body, (&context, stop, allowed), &mut notices);
    if stop.is_cancelled() {
        return Err(STOPPED.to_owned());
    }
    let single = single_file_name(format, body, &plan.input);
    let inspection = inspection.map_err(|error| match single {
        Some(_) => error.strip_prefix(&format!("{SINGLE}: ")).unwrap_or(&error).to_owned(),
        None => error,
    });
    let InspectionResult { problems, unused, counts, mut errors, mut outline } = inspection?;
    let mut found = super::findings_from(&notices);
    // A problem with the code of a finding is the same problem, so it is counted once.
    for (problems, severity) in [(&problems, Severity::Error), (&unused, Severity::Warning)] {
        for finding in problem_findings(problems, severity, format) {
            if found.iter().all(|other| other.code != finding.code) {
                found.push(finding);
            }
        }
    }
    if format.is_realtime() && plan.schedule.is_none() {
        found.push(CheckFinding { code: codes::SCHEDULE_NOT_GIVEN.to_owned(), ..NO_SCHEDULE });
    }
    if format == Format::GtfsRt {
        let mut notices = Notices::new(plan.samples);
        errors = check_gtfs_realtime(body, &plan, stop, (&mut notices, &mut outline))?;
        found.extend(super::findings_from(&notices));
    }
    if format == Format::Siri && realtime_conformance::has_references(&plan) {
        let mut notices = Notices::new(plan.samples);
        errors.extend(realtime_conformance::check_conformance(
            body,
            &plan,
            stop,
            (&mut notices, &mut outline),
        )?);
        found.extend(super::findings_from(&notices));
    }
    let mut rows = match plan.has_places {
        true => find_raw_rows(format, body, (&found, allowed), stop),
        false => Vec::new(),
    };
    if let Some(name) = single {
        set_file_name(&mut found, &name);
        rows.iter_mut().for_each(|row| row.file.clone_from(&name));
    }
    let mut checked = CheckReport::new(format, plan, found);
    checked.counts = counts;
    checked.rows = rows;
    if checked.plan.has_places {
        checked.outline = outline;
    }
    checked.errors = errors;
    Ok(checked)
}

/// Returns the records of the first findings. Data that can no longer be read give none.
fn find_raw_rows(
    format: Format,
    body: &Bytes,
    (found, allowed): (&[CheckFinding], u64),
    stop: &CancelToken,
) -> Vec<RawRow> {
    let found = codes_with_samples(found);
    match format {
        Format::GtfsRt => match decode_message(body) {
            Ok((message, _)) => entity_rows(&message, found),
            Err(_) => Vec::new(),
        },
        Format::Siri => siri_rows(body, found),
        Format::Netex => {
            match netex::PublicationSource::new(body, &super::netex_limits(allowed).files) {
                Ok(mut files) => netex_rows(&mut CancellableFiles::new(&mut files, stop), found),
                Err(_) => Vec::new(),
            }
        }
        Format::Gtfs | Format::Gbfs | Format::Raw => Vec::new(),
    }
}

/// The decoder's file name for a publication of one file.
const SINGLE: &str = "publication.xml";
/// The field with the name of a file.
const FILENAME: &str = "filename";

/// Returns the file name of a NeTEx publication that is not a zip, if the name of the input is one of an XML file.
fn single_file_name(format: Format, body: &[u8], input: &str) -> Option<String> {
    let is_single = format.is_schedule() && format.file_extension(body) == Some("xml");
    let xml_name = |path: &str| {
        let name = path.rsplit(['/', '\\']).next()?;
        (name.len() > 4 && name.to_ascii_lowercase().ends_with(".xml")).then(|| name.to_owned())
    };
    // The query of an address is not part of the file name.
    let named = xml_name(input).or_else(|| xml_name(input.split(['?', '#']).next()?));
    named.filter(|_| is_single)
}

/// Replaces the decoder's name of a single file in findings.
fn set_file_name(findings: &mut [CheckFinding], name: &str) {
    let samples = findings.iter_mut().flat_map(|finding| &mut finding.samples);
    for file in samples.filter_map(|sample| sample.get_mut(FILENAME)) {
        if file == SINGLE {
            *file = json!(name);
        }
    }
}

/// Validates a GTFS-Realtime message: with its schedule by all rules, otherwise by those that need none. The stops of
/// the schedule become the outline.
fn check_gtfs_realtime(
    body: &Bytes,
    plan: &CheckPlan,
    stop: &CancelToken,
    (notices, outline): (&mut Notices, &mut Vec<Point>),
) -> Result<Vec<ValidatorFault>, String> {
    let context =
        ValidationContext { today: plan.today, country: plan.country, threads: plan.threads };
    let timetable = read_timetable(plan, &context, stop)?;
    add_stop_outline(&timetable, outline);
    let before = plan.previous.as_ref().map(decode_message).transpose();
    let message = decode_message(body).map_err(|error| error.to_string())?.0;
    let previous = before.map_err(|error| format!("the previous message: {error}"))?;
    let scope =
        RealtimeRuleScope { has_schedule: plan.schedule.is_some(), ..RealtimeRuleScope::default() };
    let subject = MessageWithContext::new(&message, &timetable, plan.now).with_rule_scope(scope);
    let subject = subject.with_previous_message(previous.as_ref().map(|(message, _)| message));
    let errors = validate_realtime_message(&subject, &context, notices);
    rules::gtfs_rt::validate_schedule_for_realtime(&timetable, notices);
    Ok(errors)
}

/// Replaces the outline with the schedule's stops, if it has any.
pub(super) fn add_stop_outline(timetable: &ScheduleIndex, outline: &mut Vec<Point>) {
    let stops = timetable.stop_coordinates();
    if !stops.is_empty() {
        let points = stops.iter().map(|[lat, lon]| (Some((*lat).into()), Some((*lon).into())));
        *outline = thin_outline(points);
    }
}

/// Reads the schedule of the plan; returns an empty one if there is none. The schedule itself is not validated.
pub(super) fn read_timetable(
    plan: &CheckPlan,
    context: &ValidationContext,
    stop: &CancelToken,
) -> Result<ScheduleIndex, String> {
    let Some(zip) = &plan.schedule else { return Ok(ScheduleIndex::new_empty_index()) };
    super::check_schedule_memory(zip, plan).map_err(schedule_error)?;
    let source = ZipFileSource::open_with_any_folder(zip, &DatasetLimits::default())
        .map_err(schedule_error)?;
    let read = ScheduleIndex::read_and_index_until_cancelled(&source, context, stop)
        .map_err(schedule_error)?;
    read.ok_or_else(|| STOPPED.to_owned())
}

/// Marks an error as one of the schedule, not of the message.
pub(super) fn schedule_error(error: impl std::fmt::Display) -> String {
    format!("the schedule: {error}")
}

fn decode_message(body: &Bytes) -> Result<(gtfs_rt::proto::FeedMessage, Problems), Error> {
    let limits = gtfs_rt::FeedMessageLimits::default();
    if is_gtfs_rt_json(body) {
        gtfs_rt::decode_json(body, &limits)
    } else {
        gtfs_rt::decode_feed_message(body.clone(), &limits)
    }
}

/// The finding that a real-time message was validated without its schedule.
const NO_SCHEDULE: CheckFinding = CheckFinding {
    code: String::new(),
    severity: Severity::Info,
    total: 1,
    summary: "The rules that need a schedule did not run; name it with --static.",
    samples: Vec::new(),
    places: Vec::new(),
};

/// A writer that discards all tables: only the records that do not fit into tables matter. Fails after a cancellation.
struct DiscardTables<'a>(&'a CancelToken);

impl TableWriter for DiscardTables<'_> {
    fn begin_table(&mut self, _: &'static str, _: &[&str]) -> Result<(), Error> {
        Ok(())
    }

    fn write_row(&mut self, _: &[&str]) -> Result<(), Error> {
        self.check_cancelled()
    }

    fn check_cancelled(&mut self) -> Result<(), Error> {
        if self.0.is_cancelled() { Err(Error::from_io(cancelled_error())) } else { Ok(()) }
    }
}

/// The result of decoding and validating an input.
#[derive(Default)]
struct InspectionResult {
    /// The problems of the decoder.
    problems: Problems,
    /// The records that do not fit into a timetable.
    unused: Problems,
    counts: Vec<(&'static str, u64)>,
    errors: Vec<ValidatorFault>,
    /// The coordinates of some vehicles.
    outline: Vec<Point>,
}

/// Decodes and validates an input in `allowed` bytes of memory.
fn inspect_input(
    format: Format,
    body: &Bytes,
    (context, stop, allowed): (&ValidationContext, &CancelToken, u64),
    notices: &mut Notices,
) -> Result<InspectionResult, String> {
    let format_error = |error: Error| error.to_string();
    match format {
        Format::GtfsRt => {
            let (message, problems) = decode_message(body).map_err(format_error)?;
            let count = |is: fn(&gtfs_rt::proto::FeedEntity) -> bool| {
                message.entity.iter().filter(|entity| is(entity)).count() as u64
            };
            let counts = vec![
                ("trip updates", count(|entity| entity.trip_update.is_some())),
                ("vehicles", count(|entity| entity.vehicle.is_some())),
                ("alerts", count(|entity| entity.alert.is_some())),
            ];
            let vehicle_coordinates =
                message.entity.iter().filter_map(|entity| entity.vehicle.as_ref());
            let vehicle_coordinates =
                vehicle_coordinates.filter_map(|vehicle| vehicle.position.as_ref());
            let outline = thin_outline(
                vehicle_coordinates
                    .map(|it| (Some(f64::from(it.latitude)), Some(f64::from(it.longitude)))),
            );
            Ok(InspectionResult { problems, counts, outline, ..InspectionResult::default() })
        }
        Format::Siri => {
            let limits = siri::MessageLimits::default();
            let (message, problems) =
                siri::decode_siri_message(body, &TimeZone::UTC, &limits).map_err(format_error)?;
            let may_continue = || !stop.is_cancelled();
            let errors = rules::siri::validate_siri_while(&message, notices, &may_continue).errors;
            let counts = count_elements(&message);
            let outline =
                thin_outline(vehicle_locations(&message).map(|it| (it.latitude, it.longitude)));
            Ok(InspectionResult {
                problems,
                counts,
                errors,
                outline,
                ..InspectionResult::default()
            })
        }
        Format::Netex => {
            inspect_netex(body, (context, stop, allowed), notices).map_err(format_error)
        }
        Format::Gtfs | Format::Gbfs | Format::Raw => {
            Err(super::unsupported_input::describe_input(body))
        }
    }
}

fn inspect_netex(
    body: &Bytes,
    (context, stop, allowed): (&ValidationContext, &CancelToken, u64),
    notices: &mut Notices,
) -> Result<InspectionResult, Error> {
    let limits = super::netex_limits(allowed);
    let mut files = netex::PublicationSource::new(body, &limits.files)?;
    let may_continue = || !stop.is_cancelled();
    let mut files = CancellableFiles::new(&mut files, stop);
    let read = netex::decode_readable_files(&mut files, &limits, &may_continue)?;
    let netex::PartialPublication { publication, mut problems, refused } = read;
    let counts = vec![("journeys", publication.record_counts().service_journeys as u64)];
    let mut unused = Problems::new();
    // Records that a timetable lacks may be in unreadable files.
    if refused.is_empty() {
        netex::write_gtfs(&publication, &mut DiscardTables(stop), &mut unused)?;
    }
    drop(publication);
    let mut files = netex::PublicationSource::new(body, &limits.files)?;
    let mut files = CancellableFiles::new(&mut files, stop);
    files.exclude_files(refused.iter().filter_map(Error::file_name));
    refused.iter().for_each(|refusal| problems.push(unreadable_file(refusal)));
    let extent = if refused.is_empty() {
        WholeOrPartialPublication::Whole
    } else {
        WholeOrPartialPublication::Part
    };
    let inspection =
        validate_publication_cancellable(&mut files, extent, &limits, context, stop, notices)?;
    let errors = inspection.unwrap_or_default();
    Ok(InspectionResult { problems, unused, counts, errors, outline: Vec::new() })
}

fn vehicle_locations(message: &siri::SiriMessage) -> impl Iterator<Item = &siri::Location> {
    let deliveries = message.service_deliveries().flat_map(|it| &it.vehicle_monitorings);
    let activities = deliveries.flat_map(|it| &it.vehicle_activities);
    activities.filter_map(|it| it.monitored_vehicle_journey.as_ref()?.vehicle_location.as_ref())
}

/// Returns the problem that one of several files cannot be read.
fn unreadable_file(refusal: &Error) -> Problem {
    let (file, message) = (refusal.file_name().unwrap_or_default(), refusal.to_string());
    let reason = message.strip_prefix(file).and_then(|message| message.strip_prefix(": "));
    Problem::new(file, codes::UNREADABLE_FILE, reason.unwrap_or(&message))
}

fn count_elements(message: &siri::SiriMessage) -> Vec<(&'static str, u64)> {
    let sum = |n: fn(&siri::ServiceDelivery) -> usize| {
        message.service_deliveries().map(n).sum::<usize>() as u64
    };
    vec![
        (
            "journeys",
            sum(|it| it.estimated_timetables.iter().flat_map(|it| it.estimated_journeys()).count()),
        ),
        (
            "vehicles",
            sum(|it| it.vehicle_monitorings.iter().map(|it| it.vehicle_activities.len()).sum()),
        ),
        (
            "visits",
            sum(|it| it.stop_monitorings.iter().map(|it| it.monitored_stop_visits.len()).sum()),
        ),
        ("situations", sum(|it| it.situation_exchanges.iter().map(|it| it.situations.len()).sum())),
    ]
}

/// Groups problems by code into findings of a severity. Services that only Lineside does not read give an info.
fn problem_findings(problems: &Problems, severity: Severity, format: Format) -> Vec<CheckFinding> {
    let mut findings: Vec<CheckFinding> = Vec::new();
    for (_, code, total) in problems.problem_counts() {
        match findings.iter_mut().find(|finding| finding.code == code) {
            Some(finding) => finding.total += total,
            None => findings.push(CheckFinding {
                code: code.to_owned(),
                severity: match code {
                    NOT_READ => Severity::Info,
                    // The schema allows a missing offset, and the message names the assumed one.
                    WITHOUT_ZONE => Severity::Warning,
                    _ => severity,
                },
                total,
                summary: codes::decoder_code_meaning(code),
                samples: Vec::new(),
                places: Vec::new(),
            }),
        }
    }
    for problem in problems.retained_problems() {
        if let Some(finding) = findings.iter_mut().find(|finding| finding.code == problem.code) {
            finding.samples.push(problem_sample(problem, format));
        }
    }
    findings
}

/// The decoder's code for a delivery of an unsupported service.
const NOT_READ: &str = "delivery_not_read";
/// The decoder's code for a time without an offset.
const WITHOUT_ZONE: &str = "timestamp_without_zone";

fn problem_sample(problem: &Problem, format: Format) -> Map<String, Value> {
    // Problems of SIRI have a record number instead of a line.
    let line = if format == Format::Siri { "record" } else { "line" };
    let fields = [
        (FILENAME, Some(json!(problem.file))),
        (line, problem.line.map(|line| json!(line))),
        ("id", problem.id.as_ref().map(|id| json!(id))),
        ("fieldName", problem.field.as_ref().map(|field| json!(field))),
        ("fieldValue", problem.value.as_ref().map(|value| json!(value))),
        ("message", Some(json!(problem.detail))),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}
