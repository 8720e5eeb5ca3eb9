//! A GBFS system of one version as one of another.

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

pub(super) fn convert(
    files: &[Named],
    language: Option<String>,
    missing: Losses,
    to: Target,
) -> Result<Converted, Refusal> {
    let version = if to == Target::Gbfs2 { Version::Two } else { Version::Three };
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
    let has_hours = version == Version::Three && complete(files, &mut read, &language);
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
    Ok(Converted {
        from: Format::Gbfs,
        files: out,
        counts: vec![("records", counts)],
        problems,
        losses,
        matched: None,
    })
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
