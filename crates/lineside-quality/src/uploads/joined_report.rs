//! Joins the files that `lineside check` wrote about an uploaded file into the stored report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;
use lineside_validate::rules::gtfs::IncompleteFile;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::check::{SourceRow, UNREAD_FILE};
use crate::reports::FailedRule;

/// Maximum size of a report, in bytes: 180 codes with 100 findings of some hundred bytes fit.
pub(super) const BYTES_MAX: u64 = 16 << 20;
/// Maximum size of the list of internal errors, and of the list of unread files, in bytes.
const FAULTS_BYTES_MAX: u64 = 1 << 20;
/// Maximum size of the list of places, in bytes: 180 codes with 100 places and names of some hundred bytes fit.
const PLACES_BYTES_MAX: u64 = 4 << 20;
/// The field of the summary with the output folder, which visitors must not see.
const FOLDER: &str = "outputDirectory";

/// `report.json`, whose notices are copied unchanged.
#[derive(Serialize, Deserialize)]
struct ReportJsonToJoin<'a> {
    summary: Map<String, Value>,
    #[serde(borrow)]
    notices: &'a RawValue,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    lineside: Option<ReportJsonExtras<'a>>,
}

/// The fields that the reference validator's report lacks, as in the reports of the API.
#[derive(Serialize)]
struct ReportJsonExtras<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<FailedRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outline: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    places: BTreeMap<String, &'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<IncompleteFile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<SourceRow>,
}

/// `places.json`.
#[derive(Deserialize)]
struct PlacesJsonFile<'a> {
    #[serde(borrow)]
    outline: &'a RawValue,
    #[serde(borrow)]
    places: BTreeMap<String, &'a RawValue>,
    #[serde(default)]
    rows: Vec<SourceRow>,
}

/// `system_errors.json`.
#[derive(Deserialize)]
struct SystemErrorsJsonFile {
    notices: Vec<SystemErrorNotice>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SystemErrorNotice {
    sample_notices: Vec<SystemErrorSample>,
}

#[derive(Deserialize)]
struct SystemErrorSample {
    validator: String,
    message: String,
}

/// Reads the report in this folder, with internal errors and the places of findings if there are any.
///
/// # Errors
/// Returns an error if there is no report, or it is incomplete.
pub(super) fn read_and_join_report_files(folder: &Path) -> io::Result<Bytes> {
    let report = read_file_up_to(&folder.join("report.json"), BYTES_MAX)?;
    let unread = read_file_up_to(&folder.join(UNREAD_FILE), FAULTS_BYTES_MAX)?;
    // `lineside check` writes this file last, so all files are complete if it exists.
    let errors = read_file_up_to(&folder.join("system_errors.json"), FAULTS_BYTES_MAX)?;
    let places = read_file_up_to(&folder.join("places.json"), PLACES_BYTES_MAX)?;
    Ok(join_report_files(&report, &errors, &unread, &places)?.into())
}

fn read_file_up_to(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the report is too large"));
    }
    Ok(bytes)
}

fn join_report_files(
    report: &[u8],
    errors: &[u8],
    unread: &[u8],
    places: &[u8],
) -> serde_json::Result<Vec<u8>> {
    let mut report: ReportJsonToJoin<'_> = serde_json::from_slice(report)?;
    let errors: SystemErrorsJsonFile = serde_json::from_slice(errors)?;
    report.summary.remove(FOLDER);
    let faults = errors.notices.into_iter().flat_map(|notice| notice.sample_notices);
    let faults: Vec<FailedRule> =
        faults.map(|error| FailedRule { rule: error.validator, message: error.message }).collect();
    let unread: Vec<IncompleteFile> = serde_json::from_slice(unread)?;
    let PlacesJsonFile { outline, places, rows } = serde_json::from_slice(places)?;
    let has_some =
        !faults.is_empty() || !unread.is_empty() || !places.is_empty() || !rows.is_empty();
    let outline = (!places.is_empty()).then_some(outline);
    report.lineside =
        has_some.then_some(ReportJsonExtras { faults, outline, places, unread, rows });
    serde_json::to_vec(&report)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    const REPORT: &str = r#"{"summary": {"gtfsInput": "a.zip", "outputDirectory": "/tmp/x/found"},
        "notices": [{"code": "unknown_file", "totalNotices": 1}]}"#;
    const OUTLINE_ONLY: &str = r#"{"outline": [[59.5, 10.5]], "places": {}}"#;
    const NONE: &str = r#"{"notices": []}"#;

    fn folder(report: &str, errors: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("places.json"), OUTLINE_ONLY).unwrap();
        fs::write(folder.path().join("report.json"), report).unwrap();
        fs::write(folder.path().join("system_errors.json"), errors).unwrap();
        fs::write(folder.path().join("unread.json"), "[]").unwrap();
        folder
    }

    #[test]
    fn the_report_includes_system_errors_but_no_server_paths() {
        let read = |errors: &str| -> Value {
            serde_json::from_slice(
                &read_and_join_report_files(folder(REPORT, errors).path()).unwrap(),
            )
            .unwrap()
        };
        let notices = json!([{"code": "unknown_file", "totalNotices": 1}]);
        let plain = json!({"summary": {"gtfsInput": "a.zip"}, "notices": notices});
        assert_eq!(read(NONE), plain);
        let errors = r#"{"notices": [{"code": "runtime_exception_in_validator_error", "severity": "ERROR", "totalNotices": 1,
            "sampleNotices": [{"validator": "netex", "message": "it broke"}]}]}"#;
        let found = read(errors);
        let faults = json!({"faults": [{"rule": "netex", "message": "it broke"}]});
        assert_eq!((&found["lineside"], &found["notices"]), (&faults, &notices));
    }

    #[test]
    fn the_report_includes_the_places_of_findings() {
        let folder = folder(REPORT, NONE);
        let places = r#"{"outline": [[59.5, 10.5]], "places": {"unknown_file": [{"at": [59.5, 10.5], "label": "stop a"}]}}"#;
        fs::write(folder.path().join("places.json"), places).unwrap();
        let found: Value =
            serde_json::from_slice(&read_and_join_report_files(folder.path()).unwrap()).unwrap();
        assert_eq!(found["lineside"], serde_json::from_str::<Value>(places).unwrap());
    }

    #[test]
    fn the_report_includes_the_unread_files() {
        let folder = folder(REPORT, NONE);
        let unread = json!([{"filename": "agency.txt", "lack": "rows", "rows": 1, "rules": 12}]);
        fs::write(folder.path().join("unread.json"), unread.to_string()).unwrap();
        let found: Value =
            serde_json::from_slice(&read_and_join_report_files(folder.path()).unwrap()).unwrap();
        assert_eq!(found["lineside"]["unread"], unread);
    }

    #[test]
    fn an_incomplete_report_is_refused() {
        let halves = [(&REPORT[..40], NONE), (REPORT, ""), (REPORT, r#"{"notices": ["#)];
        for (report, errors) in halves {
            assert!(
                read_and_join_report_files(folder(report, errors).path()).is_err(),
                "{report} {errors}"
            );
        }
        let large = format!("{NONE}{}", " ".repeat(FAULTS_BYTES_MAX as usize));
        assert!(read_and_join_report_files(folder(REPORT, &large).path()).is_err());
        assert!(read_and_join_report_files(tempfile::tempdir().unwrap().path()).is_err());
    }
}
