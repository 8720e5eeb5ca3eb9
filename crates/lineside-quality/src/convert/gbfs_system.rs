//! Conversion of a GBFS system to another version, and to GeoJSON.

mod geojson_map;

use std::collections::BTreeMap;

use bytes::Bytes;
use lineside_formats::{ConversionReport, Format, Problem, Problems};
use lineside_gbfs::{
    FileContent, FileHeader, FileKind, FileLimits, GbfsFile, WritableGbfsVersion, decode_gbfs_file,
    encode_discovery_file, encode_gbfs_file, output_file_name,
};

use super::{ConversionError, ConversionOutput, ConversionTargetFormat, NamedFileBody};

/// Default language of a system.
const LANGUAGE_DEFAULT: &str = "en";
/// Name of the discovery file.
pub const DISCOVERY: &str = "gbfs";

/// A decoded system.
struct GbfsSystem {
    language: String,
    files: BTreeMap<FileKind, GbfsFile>,
    problems: Problems,
    conversion_report: ConversionReport,
}

pub(super) fn convert_system(
    files: &[NamedFileBody],
    language: Option<String>,
    others: &[(String, Vec<NamedFileBody>)],
    missing: ConversionReport,
    to: ConversionTargetFormat,
    out: &std::fs::File,
) -> Result<ConversionOutput, ConversionError> {
    let mut system = decode_system(files, language, missing)?;
    add_translated_texts(&mut system, others, to);
    match to {
        ConversionTargetFormat::Geojson => geojson_map::write_gbfs_geojson(system, out),
        ConversionTargetFormat::Gbfs2 => {
            Ok(write_gbfs_files(files, system, WritableGbfsVersion::Two))
        }
        _ => Ok(write_gbfs_files(files, system, WritableGbfsVersion::Three)),
    }
}

fn decode_system(
    files: &[NamedFileBody],
    language: Option<String>,
    missing: ConversionReport,
) -> Result<GbfsSystem, ConversionError> {
    let language = language.or_else(|| read_declared_language(files));
    let language = language.unwrap_or_else(|| LANGUAGE_DEFAULT.to_owned());
    let (mut problems, mut losses) = (Problems::new(), missing);
    let mut read = BTreeMap::new();
    for (name, body) in files.iter().filter(|(name, _)| name != DISCOVERY) {
        let Some(kind) = FileKind::kind_from_file_name(name) else {
            losses.record_dropped_object("file", "GBFS has no such file", Some(name));
            continue;
        };
        match decode_gbfs_file(kind, body, &language, &FileLimits::default()) {
            Ok((file, more)) => {
                problems.merge(more);
                read.insert(kind, file);
            }
            Err(error) => {
                problems.push(Problem::new(name.as_str(), "unreadable_file", error.to_string()))
            }
        }
    }
    if read.is_empty() {
        return Err(ConversionError::Unreadable("no file of the system can be read".to_owned()));
    }
    Ok(GbfsSystem { language, files: read, problems, conversion_report: losses })
}

/// Adds the texts of other languages, if the target format supports several.
fn add_translated_texts(
    system: &mut GbfsSystem,
    others: &[(String, Vec<NamedFileBody>)],
    to: ConversionTargetFormat,
) {
    for (language, files) in others {
        for (name, body) in files {
            if to == ConversionTargetFormat::Gbfs2 {
                let why = "it is in another language, and GBFS 2 has only one";
                system.conversion_report.record_dropped_object(
                    "file",
                    why,
                    Some(&format!("{language}/{name}")),
                );
                continue;
            }
            let Some(kind) = FileKind::kind_from_file_name(name) else { continue };
            match decode_gbfs_file(kind, body, language, &FileLimits::default()) {
                // Its problems would repeat those of the first language.
                Ok((other, _)) => {
                    if let Some(file) = system.files.get_mut(&kind) {
                        file.content.add_texts_of_language(&other.content);
                    }
                }
                Err(error) => {
                    let name = format!("{language}/{name}");
                    let problem = Problem::new(name, "unreadable_file", error.to_string());
                    system.problems.push(problem);
                }
            }
        }
    }
}

fn write_gbfs_files(
    files: &[NamedFileBody],
    system: GbfsSystem,
    version: WritableGbfsVersion,
) -> ConversionOutput {
    let GbfsSystem { language, files: mut read, problems, mut conversion_report } = system;
    let has_hours = version == WritableGbfsVersion::Three
        && complete_system_information(files, &mut read, &language);
    if version == WritableGbfsVersion::Three
        && let Some(file) = read.get_mut(&FileKind::SystemInformation)
    {
        conversion_report.merge(file.content.adapt_contacts_to_v3(None));
    }
    let mut out: Vec<NamedFileBody> = Vec::new();
    let mut listed: Vec<(&str, String)> = Vec::new();
    let mut counts = 0;
    for (&kind, file) in &read {
        let written = encode_gbfs_file(&file.content, &file.head, version, &language);
        let (Some(name), Some(written)) = (output_file_name(kind, version), written) else {
            let is_replaced = has_hours && matches!(kind, FileKind::Hours | FileKind::Calendar);
            if !is_replaced {
                let name = kind.file_name(3).or(kind.file_name(2));
                conversion_report.record_dropped_object(
                    "file",
                    "this version of GBFS has no such file",
                    name,
                );
            }
            continue;
        };
        conversion_report.merge(written.lost);
        counts += file.content.record_count() as u64;
        listed.push((name, format!("{name}.json")));
        out.push((format!("{name}.json"), Bytes::from(written.body)));
    }
    let head = build_discovery_header(files, read.values().map(|file| &file.head));
    let discovery = encode_discovery_file(&[(language, listed)], &head, version);
    out.insert(0, (format!("{DISCOVERY}.json"), discovery.into()));
    ConversionOutput {
        from: Format::Gbfs,
        files: out,
        counts: vec![("records", counts)],
        problems,
        conversion_report,
        matched: None,
    }
}

/// Returns the language that a system declares.
fn read_declared_language(files: &[NamedFileBody]) -> Option<String> {
    let kind = FileKind::SystemInformation;
    let (_, body) =
        files.iter().find(|(name, _)| FileKind::kind_from_file_name(name) == Some(kind))?;
    let (file, _) = decode_gbfs_file(kind, body, LANGUAGE_DEFAULT, &FileLimits::default()).ok()?;
    let FileContent::SystemInformation(system) = file.content else { return None };
    system.languages.0.first().map(ToString::to_string)
}

/// Adds the fields that version 3 requires to the system information; returns true if it then has the opening hours of
/// the other files.
fn complete_system_information(
    files: &[NamedFileBody],
    read: &mut BTreeMap<FileKind, GbfsFile>,
    language: &str,
) -> bool {
    let listed =
        |kind| files.iter().any(|(name, _)| FileKind::kind_from_file_name(name) == Some(kind));
    let is_whole = |kind| !listed(kind) || read.contains_key(&kind);
    let all = is_whole(FileKind::Hours) && is_whole(FileKind::Calendar);
    let (mut hours, mut calendar) = (Vec::new(), Vec::new());
    for file in read.values() {
        match &file.content {
            FileContent::Hours(all) => hours.clone_from(all),
            FileContent::Calendar(all) => calendar.clone_from(all),
            _ => {}
        }
    }
    let Some(system) = read.get_mut(&FileKind::SystemInformation) else { return false };
    let is_new = system.head.version.as_deref().is_some_and(|version| version.starts_with('3'));
    let hours = (all && !is_new).then_some((&hours[..], &calendar[..]));
    system.content.add_fields_required_by_v3(language, hours);
    matches!(&system.content, FileContent::SystemInformation(it) if it.opening_hours.is_some())
}

/// Builds the head of the discovery file, which is as fresh as the newest of its files.
fn build_discovery_header<'a>(
    files: &[NamedFileBody],
    heads: impl Iterator<Item = &'a FileHeader>,
) -> FileHeader {
    let own = files.iter().find(|(name, _)| name == DISCOVERY);
    let ttl = own.and_then(|(_, body)| lineside_gbfs::parse_file_ttl(body).ok().flatten());
    FileHeader {
        last_updated: heads.filter_map(|head| head.last_updated).max(),
        ttl: ttl.and_then(|ttl| u32::try_from(ttl.as_secs()).ok()).or(Some(0)),
        version: None,
    }
}
