//! Writes a report into a folder.

use std::fs;
use std::io;
use std::path::Path;

use lineside_quality::check::{CheckReport, UNREAD_FILE};
use serde_json::json;

use super::to_pretty_json;
use crate::cli::{CommandFailure, print};

const REPORT: &str = "report.json";
const PAGE: &str = "report.html";
const PLACES: &str = "places.json";
/// The file of errors that are not in the data, such as a failed rule.
const ERRORS: &str = "system_errors.json";
/// The reference validator's code in that file for an input that cannot be read.
const NOT_READ: &str = "i_o_error";

/// Writes all files of a report, or none.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub(super) fn write_report_files(
    checked: &CheckReport,
    folder: &Path,
) -> Result<(), CommandFailure> {
    let files = [
        (REPORT, to_pretty_json(&checked.to_report_json())?),
        (PAGE, checked.render_as_html()),
        (PLACES, to_pretty_json(&checked.places_json())?),
        (UNREAD_FILE, to_pretty_json(&checked.incomplete_files_json())?),
        (ERRORS, to_pretty_json(&checked.system_errors_json())?),
    ];
    let cannot = |path: &Path, error: &io::Error| {
        CommandFailure::Unfinished(format!("{} cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    // Check before files of an earlier report, or of someone else, are overwritten.
    for path in files.iter().map(|(name, _)| folder.join(name)) {
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            return Err(cannot(&path, &io::ErrorKind::IsADirectory.into()));
        }
    }
    let part = |name: &str| folder.join(format!("{name}.part"));
    let written = files.iter().try_for_each(|(name, text)| {
        fs::write(part(name), text).map_err(|error| cannot(&folder.join(name), &error))
    });
    let mut report_json = Vec::new();
    let moved = written.and_then(|()| {
        files.iter().try_for_each(|(name, _)| {
            let path = folder.join(name);
            fs::rename(part(name), &path).map_err(|error| cannot(&path, &error))?;
            report_json.push(path);
            Ok(())
        })
    });
    if moved.is_err() {
        // Parts that were never written do not exist.
        files.iter().for_each(|(name, _)| _ = fs::remove_file(part(name)));
        report_json.iter().for_each(|path| _ = fs::remove_file(path));
    }
    moved
}

/// Writes the reason why there is no report on `input`, in the reference validator's format, and deletes an earlier
/// report, which readers would take for the current one. A folder that lacks some of a report's files does not hold a
/// report of ours. A folder that contains the input is left as it is.
pub(super) fn replace_report_by_failure(folder: &Path, input: &str, reason: &str) {
    let report_paths = [REPORT, PAGE, PLACES, UNREAD_FILE, ERRORS].map(|name| folder.join(name));
    let holds_input = Path::new(input).ancestors().any(|above| is_same_path(above, folder));
    // A folder with the reason of an earlier failure does not hold a report of ours.
    let is_whole = |text: String| !text.contains(NOT_READ);
    let has_report = report_paths.iter().all(|path| path.is_file())
        && fs::read_to_string(folder.join(ERRORS)).is_ok_and(is_whole);
    if !holds_input && has_report {
        for path in &report_paths {
            if let Err(error) = fs::remove_file(path) {
                print::print_failure_reason(&format!(
                    "{} belongs to an earlier report and cannot be deleted: {error}",
                    path.display()
                ));
            }
        }
    }
    let path = folder.join(ERRORS);
    if holds_input && path.exists() {
        return;
    }
    let failure_report = json!({ "notices": [{
        "code": NOT_READ,
        "severity": "ERROR",
        "totalNotices": 1,
        "sampleNotices": [{ "message": reason }],
    }] });
    let written =
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, format!("{failure_report:#}")));
    if let Err(error) = written {
        print::print_failure_reason(&format!("{} cannot be written: {error}", path.display()));
    }
}

/// Returns true if both paths are the same folder or file. The empty path is the current folder.
fn is_same_path(one: &Path, other: &Path) -> bool {
    let full = |path: &Path| match path.as_os_str().is_empty() {
        true => Path::new(".").canonicalize().ok(),
        false => path.canonicalize().ok(),
    };
    full(one).is_some_and(|one| full(other) == Some(one))
}
