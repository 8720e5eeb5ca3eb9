//! What stands on the command line beside what is looked at: what that is held against, and where reports go.

use std::path::Path;

use bytes::Bytes;
use lineside_formats::{Format, sniff};
use lineside_validate::rules::gbfs;

use super::{Arguments, Files, INPUT_BYTES_MAX, Plan, given};
use crate::check::{NOT_REAL_TIME, called};
use crate::cli::{Failure, convert::ids_of, input, input::Reach, input::shown, print};

/// Sees that the command makes sense as far as that can be told before anything is read.
///
/// # Errors
/// If several inputs are standard input, or no folder can be where reports are to be written.
pub(super) fn see_usage(arguments: &Arguments) -> Result<(), Failure> {
    let inputs = [&Some(arguments.input.clone()), &arguments.r#static, &arguments.previous];
    if inputs.into_iter().filter(|input| input.as_deref() == Some("-")).count() > 1 {
        let words = "-: standard input can be one of the input, --static and --previous only";
        return Err(Failure::Usage(words.to_owned()));
    }
    let output = arguments.output.as_deref().and_then(file_on_the_way);
    output.map_or(Ok(()), |file| {
        Err(Failure::Usage(format!(
            "--output: {} is a file, and reports are written into a folder",
            file.display()
        )))
    })
}

/// The file that is where a folder is to be, or one of those above it.
fn file_on_the_way(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|above| above.exists()).filter(|above| !above.is_dir())
}

/// Puts beside what is looked at what it is held against, if that is to the point.
///
/// # Errors
/// If it is not, or cannot be read.
pub(super) async fn put(
    arguments: &Arguments,
    body: &Bytes,
    plan: &mut Plan,
    reach: Reach,
) -> Result<(), Failure> {
    let usage =
        |reason: &str| Err(Failure::Usage(format!("{}: {reason}", shown(&arguments.input))));
    let format = sniff(body);
    let is_real_time = format.is_some_and(Format::is_real_time);
    if plan.schedule.is_some() && !is_real_time {
        return usage(NOT_REAL_TIME);
    }
    if let Some(ids) = &arguments.ids {
        if format != Some(Format::Siri) {
            return usage("--ids is for SIRI");
        }
        if plan.schedule.is_none() {
            return usage("--ids says how ids become those of a schedule: --static names that");
        }
        plan.ids = ids_of(ids)?;
    }
    let of_schedules =
        [("--date", arguments.date.is_some()), ("--country", arguments.country.is_some())];
    for (name, _) in of_schedules.iter().filter(|(_, is_given)| *is_given) {
        if is_real_time || is_system(body, &plan.files) {
            print::complain(&format!("{name} is for schedules: no rule asks for it here"));
        }
    }
    let Some(previous) = &arguments.previous else { return Ok(()) };
    if is_system(body, &plan.files) {
        plan.files.before = before(previous, reach).await?;
    } else if let Some(format) = format.filter(|format| format.is_real_time()) {
        let read = input::read(previous, INPUT_BYTES_MAX, reach).await?;
        if let Some(other) = sniff(&read).filter(|other| *other != format && *other != Format::Raw)
        {
            let words = format!(
                "--previous {} is {}, and the message is {}",
                shown(previous),
                called(other),
                called(format)
            );
            return usage(&words);
        }
        plan.previous = Some(read);
    } else {
        return usage("--previous is for GTFS-Realtime, SIRI and GBFS");
    }
    Ok(())
}

/// Whether what was given is a GBFS system, or one of its files.
fn is_system(body: &Bytes, files: &Files) -> bool {
    !files.read.is_empty() || gbfs::name_of(body).is_some()
}

/// The files of a system as it was some time before, or one of them.
async fn before(input: &str, reach: Reach) -> Result<Vec<(String, Bytes)>, Failure> {
    let (body, files) = given(input, reach).await?;
    if !files.read.is_empty() {
        return Ok(files.read);
    }
    let name = gbfs::name_of(&body);
    let name =
        name.ok_or_else(|| Failure::Usage(format!("{}: this is no file of GBFS", shown(input))))?;
    Ok(vec![(name.to_owned(), body)])
}
