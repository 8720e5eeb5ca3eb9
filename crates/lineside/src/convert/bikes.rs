//! A GBFS system of one version as one of another, and as places for a map.

mod map;

use std::collections::BTreeMap;

use bytes::Bytes;
use lineside_formats::{
    Format, Losses, Problem, Problems,
    gbfs::{
        self, Content, File, FileKind, FileLimits, Head, Version, decode_file, encode_discovery,
        encode_file, name_out,
    },
};

use super::{Converted, Named, Refusal, Target};

/// The language of a system that does not say it.
const LANGUAGE_USUAL: &str = "en";
/// The discovery file.
pub(crate) const DISCOVERY: &str = "gbfs";

/// A system as it was read.
struct System {
    language: String,
    files: BTreeMap<FileKind, File>,
    problems: Problems,
    losses: Losses,
}

pub(super) fn convert(
    files: &[Named],
    language: Option<String>,
    others: &[(String, Vec<Named>)],
    missing: Losses,
    to: Target,
    out: &std::fs::File,
) -> Result<Converted, Refusal> {
    let mut system = read(files, language, missing)?;
    add_languages(&mut system, others, to);
    match to {
        Target::Geojson => map::write(system, out),
        Target::Gbfs2 => Ok(write(files, system, Version::Two)),
        _ => Ok(write(files, system, Version::Three)),
    }
}

fn read(files: &[Named], language: Option<String>, missing: Losses) -> Result<System, Refusal> {
    let language = language.or_else(|| said_by(files));
    let language = language.unwrap_or_else(|| LANGUAGE_USUAL.to_owned());
    let (mut problems, mut losses) = (Problems::new(), missing);
    let mut read = BTreeMap::new();
    for (name, body) in files.iter().filter(|(name, _)| name != DISCOVERY) {
        let Some(kind) = FileKind::of_name(name) else {
            losses.push("file", "it is none that GBFS knows", Some(name));
            continue;
        };
        match decode_file(kind, body, &language, &FileLimits::default()) {
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
        return Err(Refusal::Unreadable("no file of the system can be read".to_owned()));
    }
    Ok(System { language, files: read, problems, losses })
}

/// Adds what the files of other languages say, where the texts of several can stand together.
fn add_languages(system: &mut System, others: &[(String, Vec<Named>)], to: Target) {
    for (language, files) in others {
        for (name, body) in files {
            if to == Target::Gbfs2 {
                let why = "it is in another language, and one is written";
                system.losses.push("file", why, Some(&format!("{language}/{name}")));
                continue;
            }
            let Some(kind) = FileKind::of_name(name) else { continue };
            match decode_file(kind, body, language, &FileLimits::default()) {
                // Its problems are those of the first language's once more.
                Ok((other, _)) => {
                    if let Some(file) = system.files.get_mut(&kind) {
                        file.content.add_language(&other.content);
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

fn write(files: &[Named], system: System, version: Version) -> Converted {
    let System { language, files: mut read, problems, mut losses } = system;
    let has_hours = version == Version::Three && complete(files, &mut read, &language);
    if version == Version::Three
        && let Some(file) = read.get_mut(&FileKind::SystemInformation)
    {
        losses.merge(file.content.fit_version_three(None));
    }
    let mut out: Vec<Named> = Vec::new();
    let mut listed: Vec<(&str, String)> = Vec::new();
    let mut counts = 0;
    for (&kind, file) in &read {
        let written = encode_file(&file.content, &file.head, version, &language);
        let (Some(name), Some(written)) = (name_out(kind, version), written) else {
            let is_said = has_hours && matches!(kind, FileKind::Hours | FileKind::Calendar);
            if !is_said {
                let name = kind.name(3).or(kind.name(2));
                losses.push("file", "this version of GBFS has none of its kind", name);
            }
            continue;
        };
        losses.merge(written.lost);
        counts += file.content.n_records() as u64;
        listed.push((name, format!("{name}.json")));
        out.push((format!("{name}.json"), Bytes::from(written.body)));
    }
    let head = discovery_head(files, read.values().map(|file| &file.head));
    let discovery = encode_discovery(&[(language, listed)], &head, version);
    out.insert(0, (format!("{DISCOVERY}.json"), discovery.into()));
    Converted {
        from: Format::Gbfs,
        files: out,
        counts: vec![("records", counts)],
        problems,
        losses,
        matched: None,
    }
}

/// The language that a system says it is in.
fn said_by(files: &[Named]) -> Option<String> {
    let kind = FileKind::SystemInformation;
    let (_, body) = files.iter().find(|(name, _)| FileKind::of_name(name) == Some(kind))?;
    let (file, _) = decode_file(kind, body, LANGUAGE_USUAL, &FileLimits::default()).ok()?;
    let Content::SystemInformation(system) = file.content else { return None };
    system.languages.0.first().map(ToString::to_string)
}

/// Adds to a system's information what version 3 asks for; whether the opening hours of its other files are in it then.
fn complete(files: &[Named], read: &mut BTreeMap<FileKind, File>, language: &str) -> bool {
    let listed = |kind| files.iter().any(|(name, _)| FileKind::of_name(name) == Some(kind));
    let is_whole = |kind| !listed(kind) || read.contains_key(&kind);
    let all = is_whole(FileKind::Hours) && is_whole(FileKind::Calendar);
    let (mut hours, mut calendar) = (Vec::new(), Vec::new());
    for file in read.values() {
        match &file.content {
            Content::Hours(all) => hours.clone_from(all),
            Content::Calendar(all) => calendar.clone_from(all),
            _ => {}
        }
    }
    let Some(system) = read.get_mut(&FileKind::SystemInformation) else { return false };
    let is_new = system.head.version.as_deref().is_some_and(|version| version.starts_with('3'));
    let hours = (all && !is_new).then_some((&hours[..], &calendar[..]));
    system.content.complete(language, hours);
    matches!(&system.content, Content::SystemInformation(it) if it.opening_hours.is_some())
}

/// The discovery file is as fresh as the newest of its files.
fn discovery_head<'a>(files: &[Named], heads: impl Iterator<Item = &'a Head>) -> Head {
    let own = files.iter().find(|(name, _)| name == DISCOVERY);
    let ttl = own.and_then(|(_, body)| gbfs::ttl(body).ok().flatten());
    Head {
        last_updated: heads.filter_map(|head| head.last_updated).max(),
        ttl: ttl.and_then(|ttl| u32::try_from(ttl.as_secs()).ok()).or(Some(0)),
        version: None,
    }
}
