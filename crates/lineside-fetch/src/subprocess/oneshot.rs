//! Running a program once, outside of a feed or to validate a feed's data.

use std::{fmt, time::Duration};

use bytes::Bytes;
use lineside_formats::Format;
use lineside_sync::Clock;

use super::{ProgramRunMode, run_program_in_mode, run_program_requiring_success};
use crate::{
    feed_config::{ExternalProgram, FeedConfig},
    fetch::SecretRedactor,
    source::Secret,
};

/// The report file that the reference GTFS validator writes into its output folder.
const REPORT: &str = "report.json";

/// The failure of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramError {
    /// The reason as text, such as `ended with exit code 1`.
    pub reason: String,
    /// The beginning and end of the standard error output.
    pub stderr: String,
}

/// Runs a program on `input`. Its result may have at most `output_max` bytes; `about` is passed to it as the feed that
/// it works for.
///
/// # Errors
/// Returns the reason why there is no result. All its processes have then ended and its files are removed.
///
/// Cancel safety: dropping the future kills the program and removes its folder.
pub async fn run_program(
    program: &ExternalProgram,
    input: Bytes,
    output_max: u64,
    about: &str,
    clock: &dyn Clock,
) -> Result<Bytes, ProgramError> {
    match run_program_requiring_success(program, input, output_max, about, clock).await {
        Ok(ran) => Ok(ran.output),
        Err(not) => Err(ProgramError {
            reason: not.reason,
            stderr: not.stderr.to_redacted_text(&SecretRedactor::default()),
        }),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidatorOutput {
    /// The result, which may be empty.
    pub output: Bytes,
    /// The description of an exit code other than 0.
    pub fault: Option<String>,
    /// The beginning and end of the standard error output.
    pub stderr: String,
    /// The run time.
    pub took: Duration,
}

/// Redacts a program's output: its own arguments, and the secrets of the feed that it is run for.
pub struct OutputRedactor(SecretRedactor);

impl fmt::Debug for OutputRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputRedactor").finish_non_exhaustive()
    }
}

impl OutputRedactor {
    /// Creates the redactor for a program that is run for a feed.
    pub fn for_program(program: &ExternalProgram, feed: &FeedConfig) -> OutputRedactor {
        let arguments = program.argument_secrets();
        let arguments: Vec<&Secret> = arguments.iter().collect();
        OutputRedactor(SecretRedactor::for_feed(feed, &arguments))
    }

    /// Returns the first of `bytes` as redacted text of at most `max` bytes, without characters that move surrounding
    /// text.
    pub fn redact_output(&self, bytes: &[u8], max: usize) -> String {
        self.0.redact_prefix_up_to(bytes, max)
    }
}

/// Runs a validator on a schedule of `feed`. `{input}` is a file with the extension of its format, `{output}` a file or
/// a folder with a `report.json`; the exit code is reported but not judged. The result may have at most `output_max`
/// bytes.
///
/// # Errors
/// Returns the reason why there is no result. All its processes have then ended and its files are removed.
///
/// Cancel safety: dropping the future kills the program and removes its folder.
pub async fn run_external_validator(
    program: &ExternalProgram,
    input: Bytes,
    format: Format,
    feed: &FeedConfig,
    output_max: u64,
    clock: &dyn Clock,
) -> Result<ValidatorOutput, ProgramError> {
    let name = if format.file_extension(&input) == Some("xml") { "input.xml" } else { "input.zip" };
    let mode = ProgramRunMode { input: name, in_folder: Some(REPORT), is_lenient: true };
    let cover = OutputRedactor::for_program(program, feed);
    match run_program_in_mode(mode, program, input, output_max, feed.id.as_str(), clock).await {
        Ok(ran) => Ok(ValidatorOutput {
            output: ran.output,
            fault: ran.fault,
            stderr: ran.stderr.to_redacted_text(&cover.0),
            took: ran.took,
        }),
        Err(not) => {
            Err(ProgramError { reason: not.reason, stderr: not.stderr.to_redacted_text(&cover.0) })
        }
    }
}
