//! A GBFS system of one version as one of another.

use std::collections::BTreeMap;

use bytes::Bytes;
use lineside_formats::{
    Format, Losses, Problem, Problems,
    gbfs::{self, FileKind, FileLimits, Head, Version, decode_file, encode_discovery, encode_file},
};

use super::{Converted, Named, Refusal, Target};

/// The language of texts that do not say theirs.
const LANGUAGE: &str = "en";
/// The discovery file.
pub(crate) const DISCOVERY: &str = "gbfs";

pub(super) fn convert(files: &[Named], to: Target) -> Result<Converted, Refusal> {
    let version = if to == Target::Gbfs2 { Version::Two } else { Version::Three };
    let (mut problems, mut losses) = (Problems::new(), Losses::new());
    let mut read = BTreeMap::new();
    for (name, body) in files.iter().filter(|(name, _)| name != DISCOVERY) {
        let Some(kind) = FileKind::of_name(name) else {
            losses.push("file", "it is none that GBFS knows", Some(name));
            continue;
        };
        match decode_file(kind, body, LANGUAGE, &FileLimits::default()) {
            Ok((file, more)) => {
                problems.merge(more);
                read.insert(name.clone(), file);
            }
            Err(error) => {
                problems.push(Problem::new(name.as_str(), "unreadable_file", error.to_string()))
            }
        }
    }
    if read.is_empty() {
        return Err(Refusal::Unreadable("no file of the system can be read".to_owned()));
    }
    let mut out: Vec<Named> = Vec::new();
    let mut counts = 0;
    for (name, file) in &read {
        let Some(written) = encode_file(&file.content, &file.head, version, LANGUAGE) else {
            losses.push("file", "this version of GBFS has none of its kind", Some(name));
            continue;
        };
        losses.merge(written.lost);
        counts += file.content.n_records() as u64;
        let name = file.content.kind().name(version.major()).unwrap_or(name);
        out.push((format!("{name}.json"), Bytes::from(written.body)));
    }
    let head = discovery_head(files, read.values().map(|file| &file.head));
    let listed: Vec<(&str, String)> = out
        .iter()
        .map(|(file, _)| (file.strip_suffix(".json").unwrap_or(file), file.clone()))
        .collect();
    let discovery = encode_discovery(listed.into_iter(), &head, version, LANGUAGE);
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
