//! A program run once, for whoever has no feed, or to say what is wrong with the data of one.

use std::{fmt, time::Duration};

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::Clock;

use super::{ExternalProgram, RunMode, run_in_mode, run_strict};
use crate::{config::FeedConfig, fetch::Redactor, source::Secret};

/// The file that the reference validator of GTFS writes into the folder that it is given.
const REPORT: &str = "report.json";

/// Why a program made nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramError {
    /// In words that say what the program did, such as `ended with exit code 1`.
    pub why: String,
    /// What it wrote to its standard error, at most its beginning and its end.
    pub said: String,
}

/// Runs a program over these bytes. Its result may have `output_max` bytes at most; `about` is what it is told it works for.
///
/// # Errors
/// Why there is no result. None of its processes is left then, nor any of its files.
///
/// Cancel safety: dropped, it ends the program and takes its folder away.
pub async fn run_program(
    program: &ExternalProgram,
    input: Bytes,
    output_max: u64,
    about: &str,
    clock: &dyn Clock,
) -> Result<Bytes, ProgramError> {
    match run_strict(program, input, output_max, about, clock).await {
        Ok(ran) => Ok(ran.output),
        Err(not) => {
            Err(ProgramError { why: not.why, said: not.said.redact_text(&Redactor::default()) })
        }
    }
}

/// What a validator said of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidatorOutput {
    /// Its result, which may be empty.
    pub output: Bytes,
    /// That it ended with another exit code than 0, in words.
    pub fault: Option<String>,
    /// What it wrote to its standard error, at most its beginning and its end.
    pub said: String,
    /// How long it took.
    pub took: Duration,
}

/// What may not be shown of what a program says: its own arguments, and the secrets of the feed that it is run for.
pub struct OutputRedactor(Redactor);

impl fmt::Debug for OutputRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cover").finish_non_exhaustive()
    }
}

impl OutputRedactor {
    /// That of a program that is run for a feed.
    pub fn for_program(program: &ExternalProgram, feed: &FeedConfig) -> OutputRedactor {
        let arguments = program.argument_secrets();
        let arguments: Vec<&Secret> = arguments.iter().collect();
        OutputRedactor(Redactor::for_feed(feed, &arguments))
    }

    /// The first of `bytes` as text of at most `max` bytes that everybody may see, with nothing in it that moves what
    /// stands around it.
    pub fn redact_output(&self, bytes: &[u8], max: usize) -> String {
        self.0.redact_first_bytes(bytes, max)
    }
}

/// Runs a validator over a schedule of `feed`. `{input}` is a file whose name ends as its kind does, `{output}` a file or a
/// folder with a `report.json`; the exit code is told and not judged. The result may have `output_max` bytes at most.
///
/// # Errors
/// Why there is no result. None of its processes is left then, nor any of its files.
///
/// Cancel safety: dropped, it ends the program and takes its folder away.
pub async fn run_validator(
    program: &ExternalProgram,
    input: Bytes,
    format: Format,
    feed: &FeedConfig,
    output_max: u64,
    clock: &dyn Clock,
) -> Result<ValidatorOutput, ProgramError> {
    let is_zip = input.starts_with(b"PK");
    let name = if format == Format::Netex && !is_zip { "input.xml" } else { "input.zip" };
    let manner = RunMode { input: name, in_folder: Some(REPORT), is_lenient: true };
    let cover = OutputRedactor::for_program(program, feed);
    match run_in_mode(manner, program, input, output_max, feed.id.as_str(), clock).await {
        Ok(ran) => Ok(ValidatorOutput {
            output: ran.output,
            fault: ran.fault,
            said: ran.said.redact_text(&cover.0),
            took: ran.took,
        }),
        Err(not) => Err(ProgramError { why: not.why, said: not.said.redact_text(&cover.0) }),
    }
}
