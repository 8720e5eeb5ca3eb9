//! Checks a GBFS system, or one of its files.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_validate::Notices;
use lineside_validate::rules::gbfs::{GbfsSystemFiles, detect_gbfs_file_name, validate_gbfs_while};
use serde::Deserialize;

use super::{
    CheckPlan, CheckReadProgress, CheckReport, GbfsLanguageFiles, GbfsSystemCheckFiles, LatLon,
    STOPPED, codes_with_samples, describe_if_over_memory_limit, estimate_json_memory,
    gbfs_rows_of_findings, sample_points_evenly, unsupported_input,
};
use crate::convert::DISCOVERY;

pub(super) fn check_gbfs(
    body: &Bytes,
    mut plan: CheckPlan,
    progress: &CheckReadProgress,
    elapsed: &dyn Fn() -> f64,
) -> Result<CheckReport, String> {
    let mut files = std::mem::take(&mut plan.files);
    if files.read.is_empty() {
        // The file's name is known only after parsing.
        check_single_file_memory(body, &plan)?;
        let name = detect_gbfs_file_name(body)
            .ok_or_else(|| unsupported_input::describe_unsupported_input(body))?;
        files.read.push((name.to_owned(), body.clone()));
    }
    check_system_memory(&files, &plan)?;
    let mut notices = Notices::new(plan.samples);
    let may_continue = || !progress.cancel_token().is_cancelled();
    let first = GbfsSystemFiles {
        files: files.read.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        unread: files.unread.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect(),
        previous: files.earlier.iter().map(|(name, body)| (name.as_str(), &body[..])).collect(),
        is_whole: files.is_whole,
        now: plan.now,
        ..GbfsSystemFiles::default()
    };
    let mut verdict = validate_gbfs_while(&first, &mut notices, &may_continue);
    for further in &files.others {
        let its = validate_gbfs_while(
            &further.to_system_files(&first, &files),
            &mut notices,
            &may_continue,
        );
        verdict.is_cut_short |= its.is_cut_short;
        verdict.errors.extend(its.errors);
    }
    if verdict.is_cut_short {
        return Err(STOPPED.to_owned());
    }
    let mut checked = CheckReport::new(Format::Gbfs, plan, super::to_check_findings(&notices));
    checked.counts = vec![("files", files.len() as u64)];
    checked.errors = verdict.errors;
    checked.seconds = elapsed();
    if checked.plan.has_places {
        checked.outline = sample_gbfs_coordinates(&files.read);
        checked.rows = gbfs_rows_of_findings(
            name_body_pairs(&files.read),
            codes_with_samples(&checked.findings),
        );
    }
    Ok(checked)
}

/// The coordinates in a GBFS file.
#[derive(Default, Deserialize)]
struct GbfsFileCoordinates {
    #[serde(default)]
    data: GbfsCoordinateLists,
}

#[derive(Default, Deserialize)]
struct GbfsCoordinateLists {
    #[serde(default)]
    stations: Vec<GbfsCoordinates>,
    #[serde(default, alias = "bikes")]
    vehicles: Vec<GbfsCoordinates>,
}

#[derive(Deserialize)]
struct GbfsCoordinates {
    lat: Option<f64>,
    lon: Option<f64>,
}

/// Returns the coordinates of stations and vehicles. A malformed file gives none; the rules report it.
fn sample_gbfs_coordinates(files: &[(String, Bytes)]) -> Vec<LatLon> {
    let read = files
        .iter()
        .filter_map(|(_, body)| serde_json::from_slice::<GbfsFileCoordinates>(body).ok());
    let all = read.flat_map(|file| file.data.stations.into_iter().chain(file.data.vehicles));
    sample_points_evenly(all.map(|it| (it.lat, it.lon)))
}

/// Returns an error if parsing a single file would exceed the memory limit. Input that is not JSON is not parsed and
/// takes none.
fn check_single_file_memory(body: &Bytes, plan: &CheckPlan) -> Result<(), String> {
    let Some((allowed, setting)) = plan.memory else { return Ok(()) };
    let text = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    if !matches!(text.first(), Some(b'{' | b'[')) {
        return Ok(());
    }
    describe_if_over_memory_limit(estimate_json_memory(body), allowed, setting).map_or(Ok(()), Err)
}

/// Returns an error if a language of a system would exceed the memory limit: languages are checked one after the other.
fn check_system_memory(files: &GbfsSystemCheckFiles, plan: &CheckPlan) -> Result<(), String> {
    let Some((allowed, setting)) = plan.memory else { return Ok(()) };
    let sum = |files: &[(String, Bytes)]| {
        files.iter().map(|(_, body)| estimate_json_memory(body)).fold(0, u64::saturating_add)
    };
    let first = sum(&files.read).saturating_add(sum(&files.earlier));
    let needed = files.others.iter().map(|it| sum(&it.read)).fold(first, u64::max);
    describe_if_over_memory_limit(needed, allowed, setting).map_or(Ok(()), Err)
}

impl GbfsSystemCheckFiles {
    /// Returns the number of files; a file that languages share counts once.
    fn len(&self) -> usize {
        let own = |it: &GbfsLanguageFiles| {
            it.read.iter().filter(|(name, _)| !it.shared.iter().any(|other| other == name)).count()
        };
        self.read.len() + self.others.iter().map(own).sum::<usize>()
    }
}

impl GbfsLanguageFiles {
    fn to_system_files<'a>(
        &'a self,
        first: &GbfsSystemFiles<'a>,
        all: &'a GbfsSystemCheckFiles,
    ) -> GbfsSystemFiles<'a> {
        let mut files = name_body_pairs(&self.read);
        let discovery = first.files.iter().filter(|(name, _)| *name == DISCOVERY);
        files.extend(discovery);
        let shared = self.shared.iter().map(String::as_str);
        // The first language reports the missing files.
        let unread = self.unread.iter().map(String::as_str);
        GbfsSystemFiles {
            files,
            unread: unread.clone().map(|name| (name, "")).collect(),
            language: &self.language,
            shared: shared.chain(unread).chain([DISCOVERY]).collect(),
            // Names of a further language's missing files begin with the language.
            first: all
                .read
                .iter()
                .map(|(name, _)| name)
                .chain(all.unread.iter().map(|(name, _)| name))
                .map(String::as_str)
                .collect(),
            is_whole: first.is_whole,
            now: first.now,
            ..GbfsSystemFiles::default()
        }
    }
}

fn name_body_pairs(files: &[(String, Bytes)]) -> Vec<(&str, &[u8])> {
    files.iter().map(|(name, body)| (name.as_str(), &body[..])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: String) -> String {
        let plan = CheckPlan { memory: Some((1 << 20, "--memory")), ..CheckPlan::for_tests() };
        check_gbfs(&Bytes::from(text), plan, &CheckReadProgress::default(), &|| 0.0).unwrap_err()
    }

    #[test]
    fn a_single_file_over_the_memory_limit_is_refused_before_parsing() {
        let objects = "{},".repeat(2_000);
        // The JSON is truncated, so parsing it would not reveal the file's name.
        for text in [format!("[{objects}"), format!("\u{FEFF}\n{{\"data\":[{objects}")] {
            let message = refusal(text);
            assert_eq!(message, "it would take about 2MiB of memory, and --memory allows 1MiB");
        }
        let message = refusal(format!("a table,{objects}"));
        assert!(!message.contains("memory"), "the error should describe the format: {message}");
    }
}
