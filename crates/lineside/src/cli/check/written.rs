//! The folder that a report is written into.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use super::json_text;
use crate::check::{Checked, UNREAD_FILE};
use crate::cli::{Failure, print};

const REPORT: &str = "report.json";
const PAGE: &str = "report.html";
const PLACES: &str = "places.json";
/// What is no fault of the data.
const ERRORS: &str = "system_errors.json";

/// Writes all that a report is.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write_all(checked: &Checked, folder: &Path) -> Result<(), Failure> {
    let cannot = |path: &Path, error: &io::Error| {
        Failure::Unfinished(format!("{} cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    let files = [
        (REPORT, json_text(&checked.json())?),
        (PAGE, checked.html()),
        (PLACES, json_text(&checked.places())?),
        (UNREAD_FILE, json_text(&checked.unread())?),
        (ERRORS, json_text(&checked.system_errors())?),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| cannot(&path, &error))?;
    }
    Ok(())
}

/// Leaves the reason why there is no report, in the shape in which the reference says so, and nothing of an earlier one: whoever
/// takes up the folder would take that for today's.
pub(super) fn leave_reason(folder: &Path, reason: &str) {
    for name in [REPORT, PAGE, PLACES, UNREAD_FILE] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let path = folder.join(name);
                print::complain(&format!("{} is of an earlier look: {error}", path.display()));
            }
            _ => {}
        }
    }
    let said = json!({ "notices": [{
        "code": "i_o_error",
        "severity": "ERROR",
        "totalNotices": 1,
        "sampleNotices": [{ "message": reason }],
    }] });
    let text = format!("{said:#}");
    if let Err(error) =
        fs::create_dir_all(folder).and_then(|()| fs::write(folder.join(ERRORS), text))
    {
        let path = folder.join(ERRORS);
        print::complain(&format!("{} cannot be written: {error}", path.display()));
    }
}
