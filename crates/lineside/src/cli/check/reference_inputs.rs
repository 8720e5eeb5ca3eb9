//! Reads the reference inputs of `check` (`--static`, `--ids`, `--previous`) and validates its arguments.

use std::path::Path;

use bytes::Bytes;
use lineside_formats::{Format, sniff_format};
use lineside_quality::check::NOT_REAL_TIME;
use lineside_validate::rules::gbfs;

use super::{
    CheckArguments, CheckPlan, GbfsSystemCheckFiles, INPUT_BYTES_MAX, read_input_and_gbfs_files,
};
use crate::cli::{
    CommandFailure, convert::parse_siri_id_mapping, input, input::AllowedAddresses,
    input::redacted_name, print,
};

/// Checks the arguments before anything is read.
///
/// # Errors
/// Returns an error if several inputs are standard input, or if a file blocks the folder for reports.
pub(super) fn check_arguments_usable(arguments: &CheckArguments) -> Result<(), CommandFailure> {
    let inputs = [&Some(arguments.input.clone()), &arguments.r#static, &arguments.previous];
    if inputs.into_iter().filter(|input| input.as_deref() == Some("-")).count() > 1 {
        let words = "-: only one of the input, --static and --previous can be standard input";
        return Err(CommandFailure::Usage(words.to_owned()));
    }
    let output = arguments.output.as_deref().and_then(find_file_blocking_folder);
    output.map_or(Ok(()), |file| {
        Err(CommandFailure::Usage(format!(
            "--output: {} is a file; give a folder for the report",
            file.display()
        )))
    })
}

/// Returns the existing file that prevents the creation of a folder, at its path or at that of a parent.
fn find_file_blocking_folder(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|above| above.exists()).filter(|above| !above.is_dir())
}

/// Adds the reference inputs to the plan, if they fit the input's format.
///
/// # Errors
/// Returns an error if a reference input does not fit the format, or cannot be read.
pub(super) async fn read_reference_inputs_into_plan(
    arguments: &CheckArguments,
    body: &Bytes,
    plan: &mut CheckPlan,
    address_scope: AllowedAddresses,
) -> Result<(), CommandFailure> {
    let usage = |reason: &str| {
        Err(CommandFailure::Usage(format!("{}: {reason}", redacted_name(&arguments.input))))
    };
    let format = sniff_format(body);
    let is_real_time = format.is_some_and(Format::is_realtime);
    if plan.schedule.is_some() && !is_real_time {
        return usage(NOT_REAL_TIME);
    }
    if let Some(ids) = &arguments.ids {
        if !format.is_some_and(Format::has_mapped_ids) {
            return usage("--ids is only for SIRI");
        }
        if plan.schedule.is_none() {
            return usage("--ids maps ids to those of a schedule: give the schedule with --static");
        }
        plan.ids = parse_siri_id_mapping(ids)?;
    }
    let schedule_options =
        [("--date", arguments.date.is_some()), ("--country", arguments.country.is_some())];
    for (name, _) in schedule_options.iter().filter(|(_, is_given)| *is_given) {
        if is_real_time || is_gbfs_input(body, &plan.files) {
            print::print_failure_reason(&format!(
                "{name} has no effect: only rules for schedules use it"
            ));
        }
    }
    let Some(previous) = &arguments.previous else { return Ok(()) };
    if is_gbfs_input(body, &plan.files) {
        plan.files.earlier = read_previous_gbfs_files(previous, address_scope).await?;
    } else if let Some(format) = format.filter(|format| format.is_realtime()) {
        let read = input::read_input(previous, INPUT_BYTES_MAX, address_scope).await?;
        if let Some(other) = sniff_format(&read).filter(|other| *other != format && !other.is_raw())
        {
            let message = format!(
                "--previous {} is {}, but the message is {}",
                redacted_name(previous),
                other.display_name(),
                format.display_name()
            );
            return usage(&message);
        }
        plan.previous = Some(read);
    } else {
        return usage("--previous is only for GTFS-Realtime, SIRI and GBFS");
    }
    Ok(())
}

/// Returns true if the input is a GBFS system or one of its files.
fn is_gbfs_input(body: &Bytes, files: &GbfsSystemCheckFiles) -> bool {
    !files.read.is_empty() || gbfs::detect_gbfs_file_name(body).is_some()
}

/// Reads the files of an earlier state of a GBFS system, or one file of it.
async fn read_previous_gbfs_files(
    input: &str,
    address_scope: AllowedAddresses,
) -> Result<Vec<(String, Bytes)>, CommandFailure> {
    let (body, files) = read_input_and_gbfs_files(input, address_scope).await?;
    if !files.read.is_empty() {
        return Ok(files.read);
    }
    let name = gbfs::detect_gbfs_file_name(&body);
    let name = name.ok_or_else(|| {
        CommandFailure::Usage(format!("{}: this is not a GBFS file", redacted_name(input)))
    })?;
    Ok(vec![(name.to_owned(), body)])
}
