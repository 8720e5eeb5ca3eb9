//! A GBFS system, or one of its files.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_validate::Notices;
use lineside_validate::rules::gbfs::{System, name_of, validate_while};
use serde::Deserialize;

use super::{Checked, Plan, Point, Progress, STOPPED, outline_of, unlike};

pub(super) fn check(body: &Bytes, mut plan: Plan, progress: &Progress) -> Result<Checked, String> {
    let mut files = std::mem::take(&mut plan.files);
    if files.read.is_empty() {
        let name = name_of(body).ok_or_else(|| unlike::words(body))?;
        files.read.push((name.to_owned(), body.clone()));
    }
    let system = System {
        files: files.read.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        unread: files.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
        before: files.before.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        is_whole: files.is_whole,
        now: plan.now,
    };
    let mut notices = Notices::new(plan.samples);
    let goes_on = || !progress.stopper().is_stopped();
    let verdict = validate_while(&system, &mut notices, &goes_on);
    if verdict.is_cut_short {
        return Err(STOPPED.to_owned());
    }
    let mut checked = Checked::new(Format::Gbfs, plan, super::findings(&notices));
    checked.counts = vec![("files", files.read.len() as u64)];
    checked.errors = verdict.errors;
    if checked.plan.with_places {
        checked.outline = outline(&files.read);
    }
    Ok(checked)
}

/// What of a file says where something is.
#[derive(Default, Deserialize)]
struct Places {
    #[serde(default)]
    data: Lists,
}

#[derive(Default, Deserialize)]
struct Lists {
    #[serde(default)]
    stations: Vec<Coordinates>,
    #[serde(default, alias = "bikes")]
    vehicles: Vec<Coordinates>,
}

#[derive(Deserialize)]
struct Coordinates {
    lat: Option<f64>,
    lon: Option<f64>,
}

/// Where stations and vehicles are. A file that is not as it should be has none, and is told of by the rules.
fn outline(files: &[(String, Bytes)]) -> Vec<Point> {
    let read = files.iter().filter_map(|(_, body)| serde_json::from_slice::<Places>(body).ok());
    let all = read.flat_map(|file| file.data.stations.into_iter().chain(file.data.vehicles));
    outline_of(all.map(|it| (it.lat, it.lon)))
}
