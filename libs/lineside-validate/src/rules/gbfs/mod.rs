//! Rules over GBFS systems of the versions 1.0 to 3.1, with one page for each kind of notice.
//!
//! `tables` defines the fields of each file; most notices come from there. Files are read one after the other,
//! referenced files first. Only one file is in memory as a tree of values at a time; of the others, only ids and some
//! locations are retained.

mod area;
mod field;
mod files;
mod kinds;
mod system_index;
mod file_check;
mod records;
mod rotation;
mod tables;
mod tree;
mod values;
mod version;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::{
    file_check::GbfsFileCheck, files::DeclaredFileVersions, system_index::IdsAndLocationsIndex,
    tree::FieldSchemaNode,
};
pub use self::{
    files::detect_gbfs_file_name, rotation::is_compared_with_earlier_copy, version::GbfsVersion,
};
use super::{ValidationOutcome, ValidatorFault, panic_message, time_limit::CallbackTimeLimit};
use crate::{
    cancel::CancelPanicPayload,
    notice::{NoticeKind, Notices},
};

/// The largest number of languages of a system that are checked.
pub const LANGUAGES_MAX: usize = 20;
/// The largest file that is checked, in bytes. A tree of small objects may take a hundred times as much memory.
const FILE_BYTES_MAX: usize = 64 << 20;

/// The files of a system, or some of them.
#[derive(Debug, Default)]
pub struct GbfsSystemFiles<'a> {
    /// The bodies of the files by name, without `.json`.
    pub files: Vec<(&'a str, &'a [u8])>,
    /// The names of unreadable files, each with the reason.
    pub unread: Vec<(&'a str, &'a str)>,
    /// Earlier bodies of those files that are [compared](is_compared_with_earlier_copy); empty if unknown.
    pub previous: Vec<(&'a str, &'a [u8])>,
    /// The language code if these are the files of a further language; empty for the first language. Notices prefix
    /// file names with it.
    pub language: &'a str,
    /// The names of files that are shared with the first language, whose run reports on them. Here they are only
    /// checked against files that are not shared.
    pub shared: Vec<&'a str>,
    /// The names of the files that the first language lists.
    pub first: Vec<&'a str>,
    /// True if these are all the files of the system.
    pub is_whole: bool,
    /// The time for which the system is judged, in seconds since 1970.
    pub now: i64,
    /// The times at which the source last delivered files, in seconds since 1970, where earlier than `now`. A file ages
    /// in our cache if it is fetched seldom; its producer is judged by its age at delivery.
    pub delivered_at: Vec<(&'a str, i64)>,
}

impl GbfsSystemFiles<'_> {
    fn file_name_in_notices(&self, name: &str) -> String {
        let is_of_language = !self.language.is_empty() && !self.shared.contains(&name);
        let language = if is_of_language { format!("{}/", self.language) } else { String::new() };
        format!("{language}{name}.json")
    }
}

/// Returns all kinds of notices about a system.
pub fn gbfs_notice_kinds() -> impl Iterator<Item = &'static NoticeKind> {
    kinds::KINDS.iter().copied()
}

/// Returns true if a GBFS file has this name, without `.json`.
pub fn is_gbfs_file(name: &str) -> bool {
    tables::find_file_schema(name).is_some()
}

/// Validates a system. Returns the validator's own faults, such as a check that panics, apart from the notices.
pub fn validate_gbfs_system(
    system: &GbfsSystemFiles<'_>,
    notices: &mut Notices,
) -> Vec<ValidatorFault> {
    validate_gbfs_while(system, notices, &|| true).errors
}

/// Validates a system while there is time. Calls `should_continue` before each file and about every 64 records, and
/// stops once it returns false. Checks between files run only if all files were checked.
pub fn validate_gbfs_while(
    system: &GbfsSystemFiles<'_>,
    notices: &mut Notices,
    should_continue: &dyn Fn() -> bool,
) -> ValidationOutcome {
    let time_limit = CallbackTimeLimit::new(should_continue);
    let heads = DeclaredFileVersions::declared_versions_of_system(system);
    let mut system_index = IdsAndLocationsIndex::default();
    let mut errors = Vec::new();
    files::check_files_present_and_versions(system, &heads, notices);
    for table in tables::TABLES {
        let Some((_, body)) = system.files.iter().find(|(name, _)| *name == table.name) else {
            continue;
        };
        if time_limit.was_time_limit_reached() || !should_continue() {
            return ValidationOutcome { errors, is_cut_short: true };
        }
        let version = heads.applicable_file_version(table.name);
        // A file that this version does not have is judged by the nearest version that has it.
        let version = version.clamp(table.from, table.to);
        let previous = system.previous.iter().find(|(name, _)| *name == table.name);
        let mut of_shared = notices.new_empty_like();
        system_index.is_shared = system.shared.contains(&table.name);
        let shown = match system_index.is_shared {
            true => format!("{}/{}.json", system.language, table.name),
            false => system.file_name_in_notices(table.name),
        };
        let result = catch_unwind(AssertUnwindSafe(|| {
            let out = if system_index.is_shared { &mut of_shared } else { &mut *notices };
            let (name, to) = ((table.name, shown), (&mut system_index, out));
            let delivered_at = system.delivered_at.iter().find(|(name, _)| *name == table.name);
            let delivered_at = delivered_at.map_or(system.now, |(_, given)| system.now.min(*given));
            let mut check =
                GbfsFileCheck::new(name, version, (system.now, delivered_at), to, &time_limit);
            check_gbfs_file(
                &mut check,
                &FieldSchemaNode::build_field_schema_tree(table.fields, version),
                body,
                previous.map(|(_, body)| *body),
            );
        }));
        of_shared.retain_notice_kinds(|kind| {
            reference_file_of_kind(kind).is_some_and(|other| !system.shared.contains(&other))
        });
        notices.merge_notices(of_shared);
        // A cancelled check is not a fault.
        if let Err(panic) = result
            && !panic.is::<CancelPanicPayload>()
        {
            errors.push(ValidatorFault { rule: table.name, message: panic_message(&*panic) });
        }
    }
    if time_limit.was_time_limit_reached() {
        return ValidationOutcome { errors, is_cut_short: true };
    }
    files::check_files_required_by_references(system, &heads, &system_index, notices);
    ValidationOutcome { errors, is_cut_short: false }
}

/// Returns the file against which notices of a kind are checked, if there is one.
fn reference_file_of_kind(kind: &NoticeKind) -> Option<&'static str> {
    let by = [
        (&kinds::UNKNOWN_STATION, "station_information"),
        (&kinds::STATION_WITHOUT_STATUS, "station_information"),
        (&kinds::OVER_CAPACITY, "station_information"),
        (&kinds::UNKNOWN_TYPE, "vehicle_types"),
        (&kinds::UNKNOWN_PLAN, "system_pricing_plans"),
        (&kinds::UNKNOWN_REGION, "system_regions"),
    ];
    by.iter().find(|(other, _)| other.code == kind.code).map(|(_, file)| *file)
}

fn check_gbfs_file(
    check: &mut GbfsFileCheck<'_>,
    data: &FieldSchemaNode,
    body: &[u8],
    previous: Option<&[u8]>,
) {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let malformed = |check: &mut GbfsFileCheck<'_>, reason: String| {
        check.report_at_current_path(&kinds::MALFORMED_JSON, |sample| {
            _ = sample.set_field("reason", reason)
        });
    };
    if body.len() > FILE_BYTES_MAX {
        malformed(
            check,
            format!("the file is larger than {FILE_BYTES_MAX} bytes and is not checked"),
        );
        return;
    }
    match serde_json::from_slice(body) {
        Ok(document) => {
            files::check_top_level_fields(check, &document);
            if let Some(value) = document.get("data") {
                check.check_with_path_appended("data", |look| {
                    look.check_value_against_schema(data, value)
                });
                records::check_records_of_file(check, &document);
                if let Some(previous) = previous {
                    rotation::check_vehicle_id_rotation(check, &document, previous);
                }
            }
        }
        Err(error) => malformed(check, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Returns the two files of a system with this many stations and no faults.
    fn pages(n: usize) -> [(&'static str, String); 2] {
        let page = |stations: Vec<String>| {
            let stations = stations.join(",");
            format!(
                r#"{{"last_updated":1767250000,"ttl":1,"version":"2.3","data":{{"stations":[{stations}]}}}}"#
            )
        };
        let place =
            |at: usize| format!(r#"{{"station_id":"S{at}","name":"S","lat":59.9,"lon":10.7}}"#);
        let state = |at: usize| {
            format!(
                r#"{{"station_id":"S{at}","num_bikes_available":1,"is_installed":true,"is_renting":true,
                    "is_returning":true,"last_reported":1767250000}}"#
            )
        };
        [
            ("station_information", page((0..n).map(place).collect())),
            ("station_status", page((0..n).map(state).collect())),
        ]
    }

    #[test]
    fn findings_in_files_shared_by_languages_are_reported_once() {
        let pages = pages(2).map(|(name, page)| (name, page.replace("\"lat\"", "\"latt\"")));
        let files = || pages.iter().map(|(name, page)| (*name, page.as_bytes())).collect();
        let reported_files = |system: GbfsSystemFiles<'_>| {
            let mut notices = Notices::new(9);
            assert!(validate_gbfs_system(&system, &mut notices).is_empty());
            let samples = notices.iter().flat_map(|found| found.samples.clone());
            let names = samples.map(|sample| sample["filename"].as_str().map(str::to_owned));
            let mut names: Vec<String> = names.flatten().collect();
            names.sort();
            names.dedup();
            names
        };
        let system =
            || GbfsSystemFiles { files: files(), now: 1_767_250_000, ..GbfsSystemFiles::default() };
        assert_eq!(reported_files(system()), ["station_information.json"]);
        let french = || GbfsSystemFiles { language: "fr", ..system() };
        assert_eq!(reported_files(french()), ["fr/station_information.json"]);
        let shared = vec!["station_information"];
        assert!(reported_files(GbfsSystemFiles { shared: shared.clone(), ..french() }).is_empty());
        let unread = vec![("gbfs", "gone"), ("system_regions", "gone")];
        let shared = [shared, vec!["gbfs"]].concat();
        let first = vec!["system_information"];
        let missing = GbfsSystemFiles { unread, shared, first, is_whole: true, ..french() };
        assert_eq!(
            reported_files(missing),
            ["fr/system_information.json", "fr/system_regions.json"]
        );
    }

    type File = (&'static str, String);

    /// Returns the notices about the languages of a system, by code and file. Each language has its files, some of them
    /// shared with the first.
    fn told_of(languages: &[(&str, &[File], &[&str])]) -> Vec<String> {
        let mut notices = Notices::new(9);
        for (at, (language, files, shared)) in languages.iter().enumerate() {
            let system = GbfsSystemFiles {
                files: files.iter().map(|(name, body)| (*name, body.as_bytes())).collect(),
                language: if at == 0 { "" } else { language },
                shared: shared.to_vec(),
                first: languages[0].1.iter().map(|(name, _)| *name).collect(),
                is_whole: true,
                now: 1_767_250_000,
                ..GbfsSystemFiles::default()
            };
            assert!(validate_gbfs_system(&system, &mut notices).is_empty());
        }
        let mut reported: Vec<String> = Vec::new();
        for found in notices.iter() {
            let files = found.samples.iter().filter_map(|sample| sample["filename"].as_str());
            reported.extend(files.map(|file| format!("{} {file}", found.kind.code)));
        }
        reported
    }

    fn discovery() -> File {
        let feeds = r#"{"feeds":[{"name":"system_information","url":"https://b.example/a"}]}"#;
        let page = format!(
            r#"{{"last_updated":1767250000,"ttl":1,"version":"2.3","data":{{"en":{feeds},"fr":{feeds}}}}}"#
        );
        ("gbfs", page)
    }

    fn information() -> File {
        let data = r#"{"system_id":"b","language":"en","name":"B","timezone":"Europe/Oslo"}"#;
        let page =
            format!(r#"{{"last_updated":1767250000,"ttl":1,"version":"2.3","data":{data}}}"#);
        ("system_information", page)
    }

    #[test]
    fn references_of_a_shared_file_are_checked_for_each_language() {
        let shared = ["gbfs", "system_information", "station_status"];
        let files = |n_stations: usize| {
            let [(place, _), state] = pages(2);
            let places = (place, pages(n_stations)[0].1.clone());
            [discovery(), information(), places, state]
        };
        let (all, one) = (files(2), files(1));
        let reported = told_of(&[("en", &all, &[]), ("fr", &one, &shared)]);
        assert_eq!(reported, ["unknown_station_id fr/station_status.json"]);
        let reported = told_of(&[("fr", &one, &[]), ("en", &all, &shared)]);
        assert_eq!(reported, ["unknown_station_id station_status.json"]);
    }

    #[test]
    fn a_file_missing_in_all_languages_is_reported_once() {
        let [(place, places), state] = pages(1);
        let uris = r#""rental_uris":{"ios":"https://b.example/x"},"station_id""#;
        let places = (place, places.replace("\"station_id\"", uris));
        let files = [discovery(), information(), places.clone(), state.clone()];
        let shared = files.each_ref().map(|(name, _)| *name);
        let reported =
            told_of(&[("en", &files, &[]), ("fr", &files, &shared), ("de", &files, &shared)]);
        assert_eq!(reported, ["missing_required_field system_information.json"]);
        let less = [discovery(), information(), places];
        let shared = less.each_ref().map(|(name, _)| *name);
        let reported = told_of(&[("en", &less, &[]), ("fr", &less, &shared)]);
        assert!(
            reported.contains(&"missing_required_file station_status.json".to_owned()),
            "{reported:?}"
        );
        assert!(!reported.iter().any(|told| told.contains("fr/")), "{reported:?}");
        let reported = told_of(&[("en", &files, &[]), ("fr", &less, &shared)]);
        assert!(
            reported.contains(&"missing_required_file fr/station_status.json".to_owned()),
            "{reported:?}"
        );
    }

    #[test]
    fn the_age_of_a_file_is_measured_when_it_was_received() {
        const NOW: i64 = 1_767_250_000;
        let page = |updated: i64| {
            format!(
                r#"{{"last_updated": {updated}, "ttl": 60, "version": "2.3", "data": {{"stations": []}}}}"#
            )
        };
        let ages = |updated: i64, deliveries: &[(&'static str, i64)]| {
            let page = page(updated);
            let files = vec![("station_status", page.as_bytes())];
            let system = GbfsSystemFiles {
                files,
                now: NOW,
                delivered_at: deliveries.to_vec(),
                ..GbfsSystemFiles::default()
            };
            let mut notices = Notices::new(1);
            assert!(validate_gbfs_system(&system, &mut notices).is_empty());
            notices.get("outdated_file").and_then(|found| found.samples[0]["age"].as_i64())
        };
        assert_eq!(ages(NOW - 3_600, &[]), Some(3_600));
        assert_eq!(
            ages(NOW - 3_600, &[("station_status", NOW - 3_590)]),
            None,
            "the file was fresh when it was received"
        );
        assert_eq!(ages(NOW - 9_000, &[("station_status", NOW - 3_600)]), Some(5_400));
        assert_eq!(
            ages(NOW - 3_600, &[("vehicle_status", 0)]),
            Some(3_600),
            "the time is of another file"
        );
        assert_eq!(ages(NOW - 3_600, &[("station_status", i64::MAX)]), Some(3_600));
    }

    #[test]
    fn an_interrupted_validation_reports_nothing_about_unseen_files() {
        let pages = pages(200);
        let files = pages.iter().map(|(name, page)| (*name, page.as_bytes())).collect();
        let system = GbfsSystemFiles { files, now: 1_767_250_000, ..GbfsSystemFiles::default() };
        let n_checks = Cell::new(0);
        // A clock that runs out after this many checks.
        let run_until = |until: u32| {
            n_checks.set(0);
            let mut notices = Notices::new(1);
            let should_continue = || {
                n_checks.set(n_checks.get() + 1);
                n_checks.get() <= until
            };
            let verdict = validate_gbfs_while(&system, &mut notices, &should_continue);
            assert!(verdict.errors.is_empty(), "{verdict:?}");
            assert_eq!(notices.iter().count(), 0, "{until}: {notices:?}");
            verdict.is_cut_short
        };
        assert!(!run_until(u32::MAX));
        let all = n_checks.get();
        assert!(all > 8, "the cancel check runs within files, too: {all}");
        assert!((0..all).all(run_until));
    }
}
