//! A GBFS system, or one of its files.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_validate::Notices;
use lineside_validate::rules::gbfs::{System, name_of, validate_while};
use serde::Deserialize;

use super::{
    Checked, Files, Further, Plan, Point, Progress, STOPPED, codes_with_samples, gbfs_rows,
    memory_of, outline_of, too_much, unlike,
};
use crate::convert::DISCOVERY;

pub(super) fn check(body: &Bytes, mut plan: Plan, progress: &Progress) -> Result<Checked, String> {
    let mut files = std::mem::take(&mut plan.files);
    if files.read.is_empty() {
        // What it is called is known only when it has been read.
        fits_alone(body, &plan)?;
        let name = name_of(body).ok_or_else(|| unlike::words(body))?;
        files.read.push((name.to_owned(), body.clone()));
    }
    fits(&files, &plan)?;
    let mut notices = Notices::new(plan.samples);
    let goes_on = || !progress.stopper().is_stopped();
    let first = System {
        files: files.read.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        unread: files.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
        before: files.before.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        is_whole: files.is_whole,
        now: plan.now,
        ..System::default()
    };
    let mut verdict = validate_while(&first, &mut notices, &goes_on);
    for further in &files.others {
        let its = validate_while(&further.system(&first, &files), &mut notices, &goes_on);
        verdict.is_cut_short |= its.is_cut_short;
        verdict.errors.extend(its.errors);
    }
    if verdict.is_cut_short {
        return Err(STOPPED.to_owned());
    }
    let mut checked = Checked::new(Format::Gbfs, plan, super::findings(&notices));
    checked.counts = vec![("files", files.len() as u64)];
    checked.errors = verdict.errors;
    if checked.plan.with_places {
        checked.outline = outline(&files.read);
        checked.rows = gbfs_rows(pairs(&files.read), codes_with_samples(&checked.findings));
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

/// Sees that a file by itself takes no more memory than a look may. What is no JSON is not read as such, and takes nothing.
fn fits_alone(body: &Bytes, plan: &Plan) -> Result<(), String> {
    let Some((allowed, by)) = plan.memory else { return Ok(()) };
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    if !matches!(text.first(), Some(b'{' | b'[')) {
        return Ok(());
    }
    too_much(memory_of(body), allowed, by).map_or(Ok(()), Err)
}

/// Sees that no language of a system takes more memory than a look may: they are looked at one after the other.
fn fits(files: &Files, plan: &Plan) -> Result<(), String> {
    let Some((allowed, by)) = plan.memory else { return Ok(()) };
    let sum = |files: &[(String, Bytes)]| {
        files.iter().map(|(_, body)| memory_of(body)).fold(0, u64::saturating_add)
    };
    let first = sum(&files.read).saturating_add(sum(&files.before));
    let needed = files.others.iter().map(|it| sum(&it.read)).fold(first, u64::max);
    too_much(needed, allowed, by).map_or(Ok(()), Err)
}

impl Files {
    /// How many files there are; one that languages share is one.
    fn len(&self) -> usize {
        let own = |it: &Further| {
            it.read.iter().filter(|(name, _)| !it.shared.iter().any(|other| other == name)).count()
        };
        self.read.len() + self.others.iter().map(own).sum::<usize>()
    }
}

impl Further {
    /// The system as it is in this language.
    fn system<'a>(&'a self, first: &System<'a>, all: &'a Files) -> System<'a> {
        let mut files = pairs(&self.read);
        let discovery = first.files.iter().filter(|(name, _)| *name == DISCOVERY);
        files.extend(discovery);
        let shared = self.shared.iter().map(String::as_str);
        // What was not to be had has been told with the first.
        let unread = self.unread.iter().map(String::as_str);
        System {
            files,
            unread: unread.clone().map(|name| (name, "")).collect(),
            language: &self.language,
            shared: shared.chain(unread).chain([DISCOVERY]).collect(),
            // Of a further language's names the language stands before.
            first: all
                .read
                .iter()
                .map(|(name, _)| name)
                .chain(all.unread.iter().map(|(name, _)| name))
                .map(String::as_str)
                .collect(),
            is_whole: first.is_whole,
            now: first.now,
            ..System::default()
        }
    }
}

fn pairs(files: &[(String, Bytes)]) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, body)| (name.as_str(), &body[..])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: String) -> String {
        let plan = Plan { memory: Some((1 << 20, "--memory")), ..Plan::plain() };
        check(&Bytes::from(text), plan, &Progress::default()).unwrap_err()
    }

    #[test]
    fn a_file_by_itself_is_refused_before_it_is_read() {
        let objects = "{},".repeat(2_000);
        // It breaks off: who reads it does not find what it is.
        for text in [format!("[{objects}"), format!("\u{FEFF}\n{{\"data\":[{objects}")] {
            let words = refusal(text);
            assert_eq!(words, "it would take about 2MiB of memory, and --memory allows 1MiB");
        }
        let words = refusal(format!("a table,{objects}"));
        assert!(!words.contains("memory"), "what is no JSON is told what it is: {words}");
    }
}
