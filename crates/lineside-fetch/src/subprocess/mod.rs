//! External programs of the operator: a program runs once on some bytes, with limits on time, memory and output.
//!
//! The meaning of the bytes and the use of the result are unknown here. A program is started without a shell parsing
//! its arguments, in a temporary folder of its own, and with only `PATH` from this process's environment. When it ends
//! or is stopped, all processes that it started end too, including those that have left its process group.

mod exit;
mod process_group;
mod oneshot;
mod pipes;
mod orphan_reaper;

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use bytes::Bytes;
use lineside_sync::Clock;
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::process::{Child, Command};

pub use self::oneshot::{
    OutputRedactor, ProgramError, ValidatorOutput, run_external_validator, run_program,
};
pub use self::pipes::StderrCapture;
use self::{
    pipes::{read_stderr, read_stdout, write_stdin},
    process_group::ProcessGroup,
};
use crate::{
    feed_config::{ExternalProgram, INPUT_PLACEHOLDER, OUTPUT_PLACEHOLDER, executable_search_path},
    limits::PROGRAM_FILE_TIMES,
};

/// Maximum number of attempts to remove a folder.
const REMOVALS_MAX: usize = 8;
/// Maximum time for a killed program to end.
const EXIT_TIME_MAX: Duration = Duration::from_secs(5);
/// Shell script that limits memory (KiB), files (512 bytes) and core files, and executes the program at a low priority,
/// because serving comes first. POSIX has no other way without unsafe code.
const LIMITS: &str =
    r#"ulimit -c 0; ulimit -v "$1" && ulimit -f "$2" && shift 2 && exec nice -n 10 "$@""#;

/// The input and output conventions of a program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramRunMode {
    /// The name of the file for `{input}`.
    input: &'static str,
    /// The result file, if the program has created a folder at `{output}`.
    in_folder: Option<&'static str>,
    /// True if any exit code and an empty result are allowed.
    is_lenient: bool,
}

impl ProgramRunMode {
    /// Requires success and a result.
    const STRICT: ProgramRunMode =
        ProgramRunMode { input: "input", in_folder: None, is_lenient: false };
}

/// The result of a program.
#[derive(Debug)]
pub struct ProgramOutput {
    pub output: Bytes,
    /// A problem with the exit that does not invalidate the output.
    pub fault: Option<String>,
    /// The standard error output.
    pub stderr: StderrCapture,
    /// The run time.
    pub took: Duration,
}

/// The failure of a program.
#[derive(Debug)]
pub struct RunFailure {
    /// The reason as text, such as `ended with exit code 1`.
    pub reason: String,
    /// The standard error output.
    pub stderr: StderrCapture,
}

impl From<String> for RunFailure {
    fn from(why: String) -> RunFailure {
        RunFailure { reason: why, stderr: StderrCapture::default() }
    }
}

/// Runs a program on `input` for `feed`. Its result may have at most `output_max` bytes.
///
/// # Errors
/// Returns the reason why there is no result. All its processes have then ended and its files are removed.
///
/// Cancel safety: dropping the future kills the program and removes its folder.
pub async fn run_program_requiring_success(
    program: &ExternalProgram,
    input: Bytes,
    output_max: u64,
    feed: &str,
    clock: &dyn Clock,
) -> Result<ProgramOutput, RunFailure> {
    run_program_in_mode(ProgramRunMode::STRICT, program, input, output_max, feed, clock).await
}

async fn run_program_in_mode(
    mode: ProgramRunMode,
    program: &ExternalProgram,
    input: Bytes,
    output_max: u64,
    feed: &str,
    clock: &dyn Clock,
) -> Result<ProgramOutput, RunFailure> {
    let began = clock.monotonic();
    let readying = {
        let (program, input) = (program.clone(), input.clone());
        move || RunFolder::create_with_input(&program, &input, mode)
    };
    let run_folder = run_blocking(readying).await?;
    let folder = run_folder.folder.path().to_path_buf();
    let is_piped = !program.uses_placeholder(OUTPUT_PLACEHOLDER);
    let mut command = run_folder.build_command(program, output_max, feed);
    let mut running = RunningProgram { child: None, run_folder: Some(run_folder) };
    let spawned = command.spawn().map_err(|error| format!("could not be started: {error}"));
    let child = running.child.insert(spawned?);
    // Declared after the folder, so that processes that still write there end before it is removed.
    let group = ProcessGroup::for_child(child);
    let (mut capture, has_ended) = (StderrCapture::default(), AtomicBool::new(false));
    let work = write_input_and_read_output(
        child,
        (&group, &folder),
        (&input, output_max),
        &mut capture,
        &has_ended,
    );
    let ended = tokio::select! {
        biased;
        ended = work => Some(ended),
        () = clock.sleep(program.timeout) => None,
    };
    kill_program_and_descendants(&group, &folder).await;
    let output = match check_exit_and_output(
        ended,
        has_ended.into_inner(),
        program.timeout,
        output_max,
        mode,
    ) {
        Ok((piped, fault)) => {
            let output =
                running.read_result_and_remove_folder(is_piped.then_some(piped), output_max).await;
            // The exit status is more specific than a missing result.
            output.map(|output| (output, fault.clone())).map_err(|why| fault.unwrap_or(why))
        }
        Err(why) => {
            running.remove_folder_after_exit(clock).await;
            Err(why)
        }
    };
    match output {
        Ok((output, _)) if output.is_empty() && !mode.is_lenient => {
            Err(RunFailure { reason: "produced no output".to_owned(), stderr: capture })
        }
        Ok((output, fault)) => {
            let took = clock.monotonic().saturating_sub(began);
            Ok(ProgramOutput { output: output.into(), fault, stderr: capture, took })
        }
        Err(why) => Err(RunFailure { reason: why, stderr: capture }),
    }
}

/// The exit status of a program and its standard output.
type ProgramExitAndOutput = (io::Result<ExitStatus>, Result<Vec<u8>, OutputTooLarge>);

/// Returns the standard output of a program that ended in time, with any tolerated exit problem.
///
/// # Errors
/// Returns the problem as text.
fn check_exit_and_output(
    ended: Option<ProgramExitAndOutput>,
    has_ended: bool,
    timeout: Duration,
    output_max: u64,
    mode: ProgramRunMode,
) -> Result<(Vec<u8>, Option<String>), String> {
    match ended {
        None if has_ended => Err(format!(
            "ended, but a process that it started kept its output open for {timeout:?}"
        )),
        None => Err(format!("did not end within {timeout:?} and was stopped")),
        Some((_, Err(OutputTooLarge))) => Err(output_too_large_message(output_max)),
        Some((Err(error), _)) => Err(format!("ended, but its exit status is unknown: {error}")),
        Some((Ok(status), Ok(piped))) => match exit::describe_exit_failure(status) {
            Some(why) if status.code().is_none() || !mode.is_lenient => Err(why),
            fault => Ok((piped, fault)),
        },
    }
}

/// A started program and its folder, which is removed on a blocking thread.
#[derive(Debug)]
struct RunningProgram {
    child: Option<Child>,
    run_folder: Option<RunFolder>,
}

impl RunningProgram {
    /// Returns the result: the standard output if given, else the output file. Removes the folder.
    async fn read_result_and_remove_folder(
        mut self,
        piped: Option<Vec<u8>>,
        output_max: u64,
    ) -> Result<Vec<u8>, String> {
        let run_folder = self.run_folder.take();
        run_blocking(move || match (piped, &run_folder) {
            (Some(output), _) => Ok(output),
            (None, Some(run_folder)) => run_folder.read_output_file(output_max),
            (None, None) => Ok(Vec::new()),
        })
        .await
    }

    /// Removes the folder after the killed program has stopped writing to it.
    async fn remove_folder_after_exit(mut self, clock: &dyn Clock) {
        if let Some(child) = &mut self.child {
            tokio::select! {
                biased;
                // The exit status is known or meaningless, since the program was killed.
                _ = child.wait() => {}
                () = clock.sleep(EXIT_TIME_MAX) => {}
            }
        }
        let run_folder = self.run_folder.take();
        let emptying = run_blocking(move || {
            let Some(run_folder) = &run_folder else { return Ok(()) };
            // Its child processes may still be ending and write a last file.
            for _ in 0..REMOVALS_MAX {
                if fs::remove_dir_all(run_folder.folder.path()).is_ok() {
                    break;
                }
            }
            Ok(())
        });
        // A folder that cannot be removed is left to the system's cleanup of temporary files.
        let _: Result<(), String> = emptying.await;
    }
}

/// Removes the folder of an abandoned program on a blocking thread, since it may be large.
impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(run_folder) = self.run_folder.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn_blocking(move || {
                orphan_reaper::kill_orphans(run_folder.folder.path(), None);
                drop(run_folder);
            });
        }
    }
}

/// Kills a program and its descendants while their parents are still known.
async fn kill_program_and_descendants(group: &ProcessGroup, folder: &Path) {
    if let Some(leader) = group.leader_pid() {
        kill_orphan_processes(folder, Some(leader)).await;
        group.kill_processes();
    }
    kill_orphan_processes(folder, None).await;
}

async fn kill_orphan_processes(folder: &Path, leader: Option<Pid>) {
    let folder = folder.to_path_buf();
    let ending = run_blocking(move || {
        orphan_reaper::kill_orphans(&folder, leader);
        Ok(())
    });
    // There may be none left.
    let _: Result<(), String> = ending.await;
}

fn output_too_large_message(max: u64) -> String {
    format!("produced more than {max} bytes")
}

/// The result exceeds the limit.
#[derive(Debug)]
struct OutputTooLarge;

/// Writes a program's input and reads its output up to a limit, until the program and all writers have ended. Sets
/// `has_ended` once the program itself has ended.
async fn write_input_and_read_output(
    child: &mut Child,
    (group, folder): (&ProcessGroup, &Path),
    (input, output_max): (&Bytes, u64),
    capture: &mut StderrCapture,
    has_ended: &AtomicBool,
) -> ProgramExitAndOutput {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ended = async {
        let status = child.wait().await;
        has_ended.store(true, Ordering::Relaxed);
        // Remaining processes would keep the pipes open.
        group.kill_processes();
        kill_orphan_processes(folder, None).await;
        status
    };
    let output = async {
        let output = read_stdout(stdout, output_max).await;
        if output.is_err() {
            group.kill_processes();
        }
        output
    };
    let (status, output, (), ()) =
        tokio::join!(ended, output, write_stdin(stdin, input), read_stderr(stderr, capture));
    (status, output)
}

#[derive(Debug)]
struct RunFolder {
    folder: TempDir,
    path: PathBuf,
    mode: ProgramRunMode,
}

impl RunFolder {
    fn create_with_input(
        program: &ExternalProgram,
        input: &[u8],
        mode: ProgramRunMode,
    ) -> Result<RunFolder, String> {
        let path =
            program.find_executable().map_err(|why| format!("could not be started: {why}"))?;
        let cannot = |error: io::Error| {
            format!("could not be started: its input cannot be written: {error}")
        };
        let folder = tempfile::Builder::new().prefix("lineside-").tempdir().map_err(cannot)?;
        let run_folder = RunFolder { folder, path, mode };
        if program.uses_placeholder(INPUT_PLACEHOLDER) {
            fs::write(run_folder.input_path(), input).map_err(cannot)?;
        }
        Ok(run_folder)
    }

    fn input_path(&self) -> PathBuf {
        self.folder.path().join(self.mode.input)
    }

    fn output_path(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    fn build_command(&self, program: &ExternalProgram, output_max: u64, feed: &str) -> Command {
        let folder = self.folder.path();
        let (input, output) = (self.input_path(), self.output_path());
        let filled = |argument: &String| {
            let to_text = |path: &Path| path.to_string_lossy().into_owned();
            argument
                .replace(INPUT_PLACEHOLDER, &to_text(&input))
                .replace(OUTPUT_PLACEHOLDER, &to_text(&output))
        };
        let (memory, files) =
            (program.memory >> 10, output_max.saturating_mul(PROGRAM_FILE_TIMES) >> 9);
        let pipe = |is_piped: bool| if is_piped { Stdio::piped() } else { Stdio::null() };
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", LIMITS, "sh", &memory.to_string(), &files.to_string()])
            .arg(&self.path)
            .args(program.command.iter().skip(1).map(filled))
            .env_clear()
            .env("PATH", executable_search_path())
            .env("LANG", "C.UTF-8")
            .envs([("HOME", folder), ("TMPDIR", folder)])
            .env("LINESIDE_FEED", feed)
            .current_dir(folder)
            .stdin(pipe(!program.uses_placeholder(INPUT_PLACEHOLDER)))
            .stdout(pipe(!program.uses_placeholder(OUTPUT_PLACEHOLDER)))
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    /// Returns the content of the output file after all processes have ended.
    fn read_output_file(&self, max: u64) -> Result<Vec<u8>, String> {
        let mut path = self.output_path();
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        if let Some(name) = self.mode.in_folder.filter(|_| is_folder(&path)) {
            path.push(name);
        }
        // Reading a pipe would never end, and a link leads elsewhere.
        let is_file = |found: fs::Metadata| found.is_file();
        if !fs::symlink_metadata(&path).is_ok_and(is_file) {
            return Err("wrote no output file".to_owned());
        }
        let cannot =
            |error: io::Error| format!("wrote an output file that cannot be read: {error}");
        let mut output = Vec::new();
        let file = fs::File::open(&path).map_err(cannot)?;
        file.take(max.saturating_add(1)).read_to_end(&mut output).map_err(cannot)?;
        if output.len() as u64 > max {
            return Err(output_too_large_message(max));
        }
        Ok(output)
    }
}

/// Runs blocking disk work.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(format!("was stopped because of a bug in Lineside: {error}")),
    }
}

#[cfg(test)]
mod tests;
