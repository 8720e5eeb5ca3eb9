//! Conversion between formats, from files and bytes to files and bytes: the core of `lineside convert`, without
//! terminal or sockets.
//!
//! Each conversion combines parts of the server: a decoder, a network's state, an export. Data that the target format
//! cannot represent are counted as losses, and errors of the input are problems.

mod gbfs_system;
mod dropped_fields;
mod netex;
mod realtime;
mod schedule_geojson;

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use bytes::Bytes;
use clap::ValueEnum;
use lineside_formats::{
    ConversionReport, Error, Format, Problems, sniff_format, sniff_schedule_format,
};
use lineside_model::{MatchCount, SiriIdMapping};
use serde_json::{Value, json};

pub use gbfs_system::DISCOVERY;
pub use realtime::build_state_from_message;
pub use realtime::{SiriConversionSchedule, siri_to_gtfs_rt_via_state};

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConversionTargetFormat {
    /// A schedule: a zip of tables
    Gtfs,
    /// Real time, in protobuf
    GtfsRt,
    /// Real time, in JSON
    GtfsRtJson,
    /// Real time as SIRI 2.1, in XML
    SiriXml,
    /// Real time as SIRI Lite, in JSON
    SiriJson,
    /// Map features, as GeoJSON
    Geojson,
    /// Shared mobility, version 2.3: a folder of files
    Gbfs2,
    /// Shared mobility, version 3.0: a folder of files
    Gbfs3,
}

impl fmt::Display for ConversionTargetFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

impl ConversionTargetFormat {
    /// Returns the formats that an input format can be converted to.
    fn targets_for(format: Format) -> &'static [ConversionTargetFormat] {
        match format {
            Format::Gtfs => &[ConversionTargetFormat::Geojson],
            Format::Netex => &[ConversionTargetFormat::Gtfs, ConversionTargetFormat::Geojson],
            Format::GtfsRt | Format::Siri => &[
                ConversionTargetFormat::GtfsRt,
                ConversionTargetFormat::GtfsRtJson,
                ConversionTargetFormat::SiriXml,
                ConversionTargetFormat::SiriJson,
                ConversionTargetFormat::Geojson,
            ],
            Format::Gbfs => &[
                ConversionTargetFormat::Gbfs2,
                ConversionTargetFormat::Gbfs3,
                ConversionTargetFormat::Geojson,
            ],
            Format::Raw => &[],
        }
    }
}

/// A file of an input or output, with its name.
pub type NamedFileBody = (String, Bytes);

/// Largest input other than a schedule, in bytes over all its files: it is held in memory, several times over.
pub const REALTIME_BYTES_MAX: u64 = 256 << 20;

#[derive(Debug)]
pub enum ConversionInput {
    /// A schedule of this format, which is read from its file.
    Schedule(Format, File),
    /// The content of an input of any other format.
    Body(Bytes),
    /// The files of a GBFS system in one of its languages.
    System {
        /// The files, including the discovery file.
        files: Vec<NamedFileBody>,
        /// The language of the files in the discovery file, if known.
        language: Option<String>,
        /// The files of the other languages, by language.
        others: Vec<(String, Vec<NamedFileBody>)>,
        /// Listed files that could not be fetched, each with the reason.
        missing_files: ConversionReport,
    },
}

impl ConversionInput {
    /// Opens a file: a schedule stays in the file, any other input is read into memory.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or is larger than [`REALTIME_BYTES_MAX`] without being a schedule.
    pub fn open_file_input(mut file: File) -> Result<ConversionInput, ConversionError> {
        if let Some(format) = sniff_schedule_format(&file)? {
            return Ok(ConversionInput::Schedule(format, file));
        }
        if file.metadata()?.len() > REALTIME_BYTES_MAX {
            return Err(ConversionError::Unreadable(input_too_large_message()));
        }
        let mut body = Vec::new();
        file.rewind()?;
        // The file may grow meanwhile.
        file.take(REALTIME_BYTES_MAX).read_to_end(&mut body)?;
        Ok(ConversionInput::Body(body.into()))
    }
}

/// Returns the error for an input beyond [`REALTIME_BYTES_MAX`].
pub fn input_too_large_message() -> String {
    let size_mib = REALTIME_BYTES_MAX >> 20;
    format!("larger than {size_mib} MiB; only schedules in GTFS or NeTEx may be larger")
}

/// The result of a conversion.
#[derive(Debug)]
pub struct ConversionOutput {
    /// The format of the input.
    pub from: Format,
    /// The files of an output folder; empty if the output is a single file.
    pub files: Vec<NamedFileBody>,
    /// Number of written objects by kind.
    pub counts: Vec<(&'static str, u64)>,
    /// Errors of the input.
    pub problems: Problems,
    /// Data that the target format cannot represent.
    pub conversion_report: ConversionReport,
    /// The trip matching of real-time data with the given schedule.
    pub matched: Option<MatchCount>,
}

impl ConversionOutput {
    pub fn report_json(&self, to: ConversionTargetFormat) -> Value {
        let counts: serde_json::Map<String, Value> =
            self.counts.iter().map(|(kind, count)| ((*kind).to_owned(), json!(count))).collect();
        let problems = self
            .problems
            .problem_counts()
            .map(|(file, code, count)| json!({ "file": file, "code": code, "count": count }));
        let samples = self.problems.retained_problems().iter().map(ToString::to_string);
        let mut report = json!({
            "from": self.from.as_str(),
            "to": to.to_string(),
            "counts": counts,
            "losses": self.conversion_report,
            "problems": {
                "total": self.problems.total_count(),
                "counts": problems.collect::<Vec<_>>(),
                "samples": samples.collect::<Vec<_>>(),
            },
        });
        if let Some(counts) = &self.matched {
            report["trips"] = trip_matching_json(counts);
        }
        report
    }
}

fn trip_matching_json(counts: &MatchCount) -> Value {
    let reasons = counts.reasons().map(|(reason, found)| {
        json!({
            "reason": reason.as_str(),
            "count": found.count,
            "unmatched": reason.is_counted_as_unmatched(),
            "samples": found.sample_ids().collect::<Vec<_>>(),
            "known_ids": found.timetable_sample_ids().collect::<Vec<_>>(),
        })
    });
    json!({
        "matched": counts.matched,
        "unmatched": counts.unmatched_count(),
        "match_rate": counts.matched_share(),
        "reasons": reasons.collect::<Vec<_>>(),
    })
}

/// The reason why nothing was converted.
#[derive(Debug)]
pub enum ConversionError {
    /// The input format cannot be converted to the target.
    Unsupported(String),
    /// The input cannot be read.
    Unreadable(String),
    /// The schedule for real-time data cannot be read.
    Schedule(String),
}

impl ConversionError {
    fn from_schedule_error(error: Error) -> ConversionError {
        ConversionError::Schedule(error.to_string())
    }

    /// Returns the reason in words.
    fn into_reason(self) -> String {
        match self {
            ConversionError::Unsupported(message)
            | ConversionError::Unreadable(message)
            | ConversionError::Schedule(message) => message,
        }
    }
}

fn output_write_error(error: &io::Error) -> ConversionError {
    ConversionError::Unreadable(format!("the output cannot be written: {error}"))
}

impl From<io::Error> for ConversionError {
    fn from(error: io::Error) -> ConversionError {
        ConversionError::Unreadable(error.to_string())
    }
}

impl From<Error> for ConversionError {
    fn from(error: Error) -> ConversionError {
        ConversionError::Unreadable(error.to_string())
    }
}

/// Additional inputs for real-time data.
#[derive(Debug, Default)]
pub struct ConversionOptions {
    /// The schedule that the data belong to, in GTFS or NeTEx.
    pub schedule: Option<File>,
    /// The mapping of SIRI ids to the schedule's, if given.
    pub ids: Option<SiriIdMapping>,
}

/// Converts `input` and writes to `out`, which must be empty; the files of a folder are returned instead. Blocks for a
/// time that grows with the input.
///
/// Memory: the records of a schedule, one XML file of NeTEx at a time, and the features for a map; for all other inputs
/// several times their size.
///
/// # Errors
/// Returns an error if the input cannot be read, if its format does not convert to the target, or if `out` cannot be
/// written.
pub fn convert_input(
    input: ConversionInput,
    to: ConversionTargetFormat,
    context: ConversionOptions,
    out: &File,
) -> Result<ConversionOutput, ConversionError> {
    let body = match input {
        ConversionInput::System { files, language, others, missing_files } => {
            check_target_supported(Format::Gbfs, to)?;
            check_options_have_effect(Format::Gbfs, to, &context)?;
            return gbfs_system::convert_system(&files, language, &others, missing_files, to, out);
        }
        ConversionInput::Schedule(from, file) => {
            check_target_supported(from, to)?;
            check_options_have_effect(from, to, &context)?;
            return match from {
                Format::Netex => netex::convert_netex_to_gtfs_or_geojson(file, to, out),
                _ => schedule_geojson::convert_gtfs_to_geojson(file, out),
            };
        }
        ConversionInput::Body(body) => body,
    };
    let from = sniff_format(&body).unwrap_or(Format::Raw);
    check_target_supported(from, to)?;
    check_options_have_effect(from, to, &context)?;
    let schedule = context.schedule.map(netex::open_as_gtfs_zip).transpose()?;
    realtime::convert_realtime(body, from, to, schedule, &context.ids.unwrap_or_default(), out)
}

/// Refuses options without effect: a schedule for an input that is not real-time data, and an id mapping for an input
/// or target without translated ids.
fn check_options_have_effect(
    from: Format,
    to: ConversionTargetFormat,
    context: &ConversionOptions,
) -> Result<(), ConversionError> {
    let from_name = from.as_str();
    if context.schedule.is_some() && !from.is_realtime() {
        let reason =
            format!("a schedule is only for real-time input, but the input is {from_name}");
        return Err(ConversionError::Unsupported(reason));
    }
    if context.ids.is_none() {
        return Ok(());
    }
    if !from.has_mapped_ids() {
        let reason = format!("an id mapping is only for SIRI input, but the input is {from_name}");
        return Err(ConversionError::Unsupported(reason));
    }
    match to {
        ConversionTargetFormat::SiriXml | ConversionTargetFormat::SiriJson => {
            Err(ConversionError::Unsupported("SIRI output keeps the ids of SIRI input".to_owned()))
        }
        _ => Ok(()),
    }
}

fn check_target_supported(from: Format, to: ConversionTargetFormat) -> Result<(), ConversionError> {
    let targets = ConversionTargetFormat::targets_for(from);
    if targets.contains(&to) {
        return Ok(());
    }
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    Err(ConversionError::Unsupported(match names.as_slice() {
        [] => "the input is not GTFS, GTFS-Realtime, NeTEx, SIRI or GBFS".to_owned(),
        _ => format!("{} cannot be converted to {to}, only to {}", from.as_str(), names.join(", ")),
    }))
}

#[cfg(test)]
mod tests;
