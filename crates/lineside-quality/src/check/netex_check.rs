//! Checks NeTEx publications.

use bytes::Bytes;
use lineside_formats::gtfs::TableWriter;
use lineside_formats::{Error, Format, Problem, Problems, netex};
use lineside_validate::rules::netex::{
    WholeOrPartialPublication, validate_publication_cancellable,
};
use lineside_validate::{CancelToken, Notices};
use serde_json::json;

use super::decoded_check::{
    DecodedFormat, DecodedInput, FILENAME, InspectionResult, check_decoded,
};
use super::progress::{CancellableFileSet, cancelled_error};
use super::record_rows::netex_rows_of_findings;
use super::{
    CheckFinding, CheckPlan, CheckReadProgress, CheckReport, SourceRow, check_schedule_memory,
    codes, codes_with_samples,
};

/// The parts of a check that only NeTEx has.
static NETEX: DecodedFormat = DecodedFormat {
    format: Format::Netex,
    inspect: |input, notices| {
        inspect_publication(input, notices).map_err(|error| error.to_string())
    },
    check_references: |_, _, _| Ok(Vec::new()),
    find_rows: find_elements,
    line_field: "line",
};

/// The decoder's file name for a publication of one file.
const SINGLE: &str = "publication.xml";

/// Checks a publication. Findings in a publication of one file have the name of the input.
pub(super) fn check_netex(
    body: &Bytes,
    plan: CheckPlan,
    progress: &CheckReadProgress,
    elapsed: &dyn Fn() -> f64,
) -> Result<CheckReport, String> {
    check_schedule_memory(body, &plan)?;
    let Some(name) = single_file_name(body, &plan.input) else {
        return check_decoded(&NETEX, body, plan, progress, elapsed);
    };
    let checked = check_decoded(&NETEX, body, plan, progress, elapsed);
    let mut checked = checked
        .map_err(|error| error.strip_prefix(&format!("{SINGLE}: ")).unwrap_or(&error).to_owned())?;
    set_file_name(&mut checked.findings, &name);
    checked.rows.iter_mut().for_each(|row| row.file.clone_from(&name));
    Ok(checked)
}

/// Returns the file name of a NeTEx publication that is not a zip, if the name of the input is one of an XML file.
fn single_file_name(body: &[u8], input: &str) -> Option<String> {
    let is_single = Format::Netex.file_extension(body) == Some("xml");
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

fn inspect_publication(
    input: &DecodedInput<'_>,
    notices: &mut Notices,
) -> Result<InspectionResult, Error> {
    let DecodedInput { body, context, stop, allowed, .. } = *input;
    let limits = super::netex_limits_for_memory(allowed);
    let mut files = netex::PublicationSource::new(body, &limits.files)?;
    let may_continue = || !stop.is_cancelled();
    let mut files = CancellableFileSet::new(&mut files, stop);
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
    let mut files = CancellableFileSet::new(&mut files, stop);
    files.hide_files(refused.iter().filter_map(Error::file_name));
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

/// Returns the problem that one of several files cannot be read.
fn unreadable_file(refusal: &Error) -> Problem {
    let (file, message) = (refusal.file_name().unwrap_or_default(), refusal.to_string());
    let reason = message.strip_prefix(file).and_then(|message| message.strip_prefix(": "));
    Problem::new(file, codes::UNREADABLE_FILE, reason.unwrap_or(&message))
}

fn find_elements(input: &DecodedInput<'_>, found: &[CheckFinding]) -> Vec<SourceRow> {
    let limits = super::netex_limits_for_memory(input.allowed);
    match netex::PublicationSource::new(input.body, &limits.files) {
        Ok(mut files) => {
            let mut files = CancellableFileSet::new(&mut files, input.stop);
            netex_rows_of_findings(&mut files, codes_with_samples(found))
        }
        Err(_) => Vec::new(),
    }
}

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
