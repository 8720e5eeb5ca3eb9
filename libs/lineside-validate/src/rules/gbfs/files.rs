//! Checks of a system's set of files, their versions, and their ages.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{
    GbfsSystemFiles,
    field::{COUNT, GbfsFieldType, RecordIdKind},
    file_check::{GbfsFileCheck, shortened_value_text},
    kinds, records,
    system_index::IdsAndLocationsIndex,
    tables::{self, TABLES},
    tree::FieldSchemaNode,
    version::GbfsVersion,
};
use crate::notice::Notices;

/// Real-time files, and the age in seconds that the specification allows them.
const LIVE: &[&str] =
    &["station_status", "free_bike_status", "vehicle_status", "vehicle_availability"];
const LIVE_AGE_MAX_S: i64 = 300;
/// The extra age, in seconds, before an old file is reported: a cache on the way may have held it for a while.
const OUTDATED_EXTRA_S: i64 = 600;

#[derive(Debug)]
pub(super) struct DeclaredFileVersions {
    versions: BTreeMap<String, Value>,
    pub(super) version: GbfsVersion,
}

#[derive(Deserialize)]
struct FileVersionOnly {
    #[serde(default)]
    version: Value,
}

impl DeclaredFileVersions {
    pub(super) fn declared_versions_of_system(
        system: &GbfsSystemFiles<'_>,
    ) -> DeclaredFileVersions {
        let mut versions = BTreeMap::new();
        for (name, body) in &system.files {
            let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
            if let Ok(FileVersionOnly { version }) = serde_json::from_slice(body) {
                versions.insert((*name).to_owned(), version);
            }
        }
        let of = |name: &str| {
            versions.get(name).and_then(Value::as_str).and_then(GbfsVersion::parse_gbfs_version)
        };
        // Without a version in the discovery file, the newest that any file declares; version 1.0 declares none.
        let any = || {
            versions
                .values()
                .filter_map(Value::as_str)
                .filter_map(GbfsVersion::parse_gbfs_version)
                .max()
        };
        let version = of("gbfs").or_else(any).unwrap_or(GbfsVersion::V1_0);
        DeclaredFileVersions { versions, version }
    }

    /// Returns the version by which a file is judged.
    pub(super) fn applicable_file_version(&self, name: &str) -> GbfsVersion {
        let own = self
            .versions
            .get(name)
            .and_then(Value::as_str)
            .and_then(GbfsVersion::parse_gbfs_version);
        own.unwrap_or(self.version)
    }
}

/// Checks that the required files are present and of one version.
pub(super) fn check_files_present_and_versions(
    system: &GbfsSystemFiles<'_>,
    heads: &DeclaredFileVersions,
    out: &mut Notices,
) {
    let is_here = |name: &str| !system.shared.contains(&name);
    for (name, reason) in system.unread.iter().filter(|(name, _)| is_here(name)) {
        out.count_notice_with_sample(&kinds::UNREACHABLE_FILE, |sample| {
            sample
                .set_field("filename", system.file_name_in_notices(name))
                .set_field("reason", *reason);
        });
    }
    let discovery = heads.versions.get("gbfs").and_then(Value::as_str);
    for (name, version) in heads.versions.iter().filter(|(name, _)| is_here(name)) {
        if let (Some(version), Some(discovery)) = (version.as_str(), discovery)
            && GbfsVersion::parse_gbfs_version(version).is_some_and(|version| version != heads.version)
            // These files list versions, so they may declare any.
            && !matches!(name.as_str(), "gbfs_versions" | "manifest")
        {
            out.count_notice_with_sample(&kinds::MIXED_VERSIONS, |sample| {
                sample
                    .set_field("filename", system.file_name_in_notices(name))
                    .set_field("value", version);
                sample.set_field("systemVersion", discovery);
            });
        }
    }
    if system.is_whole {
        check_required_files(system, heads.version, out);
    }
}

fn is_file_listed(system: &GbfsSystemFiles<'_>, name: &str) -> bool {
    let mut names = system.files.iter().map(|(name, _)| *name);
    // A file that is present and unreadable is already reported.
    names.any(|other| other == name) || system.unread.iter().any(|(other, _)| *other == name)
}

/// Returns true if this is a further language and the first language does not list the file either.
fn is_missing_in_first_language(system: &GbfsSystemFiles<'_>, name: &str) -> bool {
    !system.language.is_empty() && !system.first.contains(&name)
}

fn check_required_files(system: &GbfsSystemFiles<'_>, version: GbfsVersion, out: &mut Notices) {
    let mut require = |name: &str, because: &str| {
        if !is_file_listed(system, name) && !is_missing_in_first_language(system, name) {
            report_missing_file(system, name, because, out);
        }
    };
    if version >= GbfsVersion::V2_0 {
        require("gbfs", "");
    }
    require("system_information", "");
    let vehicles = if version < GbfsVersion::V3_0 { "free_bike_status" } else { "vehicle_status" };
    let (information, status) = ("station_information", "station_status");
    match (is_file_listed(system, information), is_file_listed(system, status)) {
        (true, _) => require(status, "station_information.json exists"),
        (false, true) => require(information, "station_status.json exists"),
        (false, false) => require(vehicles, "the system has no stations"),
    }
}

fn report_missing_file(system: &GbfsSystemFiles<'_>, name: &str, because: &str, out: &mut Notices) {
    out.count_notice_with_sample(&kinds::MISSING_FILE, |sample| {
        sample.set_field("filename", system.file_name_in_notices(name));
        if !because.is_empty() {
            sample.set_field("because", because);
        }
    });
}

/// Checks for files and fields that are required because other files refer to them.
pub(super) fn check_files_required_by_references(
    system: &GbfsSystemFiles<'_>,
    heads: &DeclaredFileVersions,
    system_index: &IdsAndLocationsIndex,
    out: &mut Notices,
) {
    if !system.is_whole {
        return;
    }
    for (of, name, what) in [
        (RecordIdKind::VehicleType, "vehicle_types", "vehicle_type_id"),
        (RecordIdKind::Plan, "system_pricing_plans", "a pricing plan"),
    ] {
        let Some(&is_own) = system_index.referenced.get(&of) else { continue };
        if !is_file_listed(system, name) && (is_own || !is_missing_in_first_language(system, name))
        {
            report_missing_file(system, name, &format!("other files refer to {what}"), out);
        }
    }
    let Some(programs) = &system_index.programs else { return };
    let is_shared = system.shared.contains(&"system_information");
    for (platform, is_own) in &system_index.platforms {
        if is_shared && !is_own {
            continue;
        }
        if heads.version >= GbfsVersion::V2_1 && !programs.contains(*platform) {
            out.count_notice_with_sample(&kinds::MISSING_FIELD, |sample| {
                sample.set_field("filename", system.file_name_in_notices("system_information"));
                sample.set_field("path", format!("/data/rental_apps/{platform}/store_uri"));
                sample.set_field("because", format!("rental_uris has {platform}"));
            });
        }
    }
}

/// Checks the fields around the data of every file.
pub(super) fn check_top_level_fields(check: &mut GbfsFileCheck<'_>, document: &Value) {
    let field = |field_type, is_required| FieldSchemaNode {
        field_type: Some(field_type),
        is_required,
        ..FieldSchemaNode::default()
    };
    let has_version = check.version >= GbfsVersion::V1_1;
    let root = FieldSchemaNode {
        fields: vec![
            ("last_updated", field(GbfsFieldType::Instant, true)),
            ("ttl", field(COUNT, true)),
            ("version", field(GbfsFieldType::VersionNumber, has_version)),
            ("data", field(GbfsFieldType::Object, true)),
        ],
        ..field(GbfsFieldType::Object, true)
    };
    check.check_value_against_schema(&root, document);
    records::check_not_in_future(check, document, "last_updated");
    let ttl = document["ttl"].as_i64().unwrap_or(0).max(0);
    let updated = records::parse_gbfs_timestamp(&document["last_updated"]);
    if let Some(age) = updated.map(|updated| check.delivered_at.saturating_sub(updated))
        && LIVE.contains(&check.file)
        && age > ttl.max(LIVE_AGE_MAX_S).saturating_add(OUTDATED_EXTRA_S)
    {
        check.report_at_current_path(&kinds::OUTDATED, |sample| {
            _ = sample.set_field("age", age).set_field("ttl", ttl)
        });
    }
    if check.file == "gbfs" {
        check_discovery_feeds(check, &document["data"]);
    }
}

/// Checks the files that a discovery file lists: each is listed once, and the version has it.
fn check_discovery_feeds(check: &mut GbfsFileCheck<'_>, data: &Value) {
    let Some(languages) = data.as_object() else { return };
    let version = check.version;
    check.check_with_path_appended("data", |check| {
        if version >= GbfsVersion::V3_0 {
            check_discovery_feed_list(check, &data["feeds"]);
            return;
        }
        for (language, feeds) in languages {
            check.check_with_path_appended(language, |check| {
                if crate::gtfs::normalize_language_tag(language).is_none() {
                    check.report_at_current_path(&kinds::INVALID_LANGUAGE, |sample| {
                        sample.set_field("value", language.as_str());
                    });
                }
                check_discovery_feed_list(check, &feeds["feeds"]);
            });
        }
    });
}

fn check_discovery_feed_list(check: &mut GbfsFileCheck<'_>, feeds: &Value) {
    let version = check.version;
    let mut seen = BTreeSet::new();
    for (at, feed) in feeds.as_array().into_iter().flatten().enumerate() {
        let Some(name) = feed["name"].as_str() else { continue };
        let is_known = tables::find_file_schema(name)
            .is_some_and(|table| (table.from..=table.to).contains(&version));
        // Version 1.0 lets producers add files of their own.
        let kind = if !seen.insert(name) {
            &kinds::DUPLICATE_FILE
        } else if !is_known && version >= GbfsVersion::V1_1 {
            &kinds::UNEXPECTED_WORD
        } else {
            continue;
        };
        check.check_with_path_appended("feeds", |check| {
            check.check_with_path_appended(&at.to_string(), |check| {
                check.check_with_path_appended("name", |check| {
                    check.report_at_current_path(kind, |sample| {
                        sample.set_field("value", shortened_value_text(&feed["name"]));
                        if kind.code == kinds::UNEXPECTED_WORD.code {
                            sample.set_field("expected", file_names_of_version(version));
                        }
                    });
                });
            });
        });
    }
}

/// Returns the names of the files of a version, for a message.
fn file_names_of_version(version: GbfsVersion) -> String {
    let of_version = TABLES.iter().filter(|table| (table.from..=table.to).contains(&version));
    of_version.map(|table| table.name).collect::<Vec<_>>().join(", ")
}

/// The file that each list below `data` belongs to. Lists of stations need a closer look.
const LISTS: &[(&str, &str)] = &[
    ("bikes", "free_bike_status"),
    ("vehicle_types", "vehicle_types"),
    ("regions", "system_regions"),
    ("plans", "system_pricing_plans"),
    ("rental_hours", "system_hours"),
    ("calendars", "system_calendar"),
    ("alerts", "system_alerts"),
    ("geofencing_zones", "geofencing_zones"),
    ("versions", "gbfs_versions"),
    ("datasets", "manifest"),
    ("system_id", "system_information"),
    ("feeds", "gbfs"),
];

/// Returns the name of the GBFS file that a body is, judging by its contents; `None` if it is not GBFS.
pub fn detect_gbfs_file_name(body: &[u8]) -> Option<&'static str> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    if body.len() > super::FILE_BYTES_MAX {
        return None;
    }
    let document: Value = serde_json::from_slice(body).ok()?;
    let data = document["data"].as_object()?;
    let first = |list: &str| data.get(list).and_then(|list| list.get(0));
    let has = |list: &str, field: &str| first(list).is_some_and(|it| it.get(field).is_some());
    if data.contains_key("stations") {
        let is_state = has("stations", "is_renting") || has("stations", "is_installed");
        return Some(if is_state { "station_status" } else { "station_information" });
    }
    if data.contains_key("vehicles") {
        let has_plan = has("vehicles", "availabilities");
        return Some(if has_plan { "vehicle_availability" } else { "vehicle_status" });
    }
    let named = LISTS.iter().find(|(list, _)| data.contains_key(*list));
    let has_languages = || data.values().any(|value| value.get("feeds").is_some());
    named.map(|(_, name)| *name).or_else(|| has_languages().then_some("gbfs"))
}
