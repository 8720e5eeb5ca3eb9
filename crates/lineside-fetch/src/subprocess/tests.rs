//! Tests with real programs that every Unix has.

use lineside_formats::Format;
use lineside_sync::{RealClock, SimulatedClock, UnixMillis};
use lineside_testkit::{wait_for_some, wait_until};

use super::*;
use crate::source::Secret;
use crate::{
    feed_config::FeedConfig, feed_id::FeedId, fetch::SecretRedactor, source::SourceLocation,
};

/// Longer than any test takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

fn program(command: &[&str]) -> ExternalProgram {
    let command = command.iter().map(|it| (*it).to_owned()).collect();
    ExternalProgram { command, timeout: LONG, memory: 1 << 30 }
}

/// Returns a script that writes to its standard output.
fn shell(script: &str) -> ExternalProgram {
    program(&["sh", "-c", script])
}

/// Returns a script that writes to the file `$1`.
fn filing(script: &str) -> ExternalProgram {
    program(&["sh", "-c", script, "sh", OUTPUT_PLACEHOLDER])
}

async fn run_over(
    program: &ExternalProgram,
    input: &'static [u8],
) -> Result<ProgramOutput, RunFailure> {
    run_program_requiring_success(
        program,
        Bytes::from_static(input),
        1_000,
        "city",
        &RealClock::new(),
    )
    .await
}

async fn output(program: &ExternalProgram, input: &'static [u8]) -> String {
    let ran = run_over(program, input).await.unwrap();
    String::from_utf8(ran.output.to_vec()).unwrap()
}

#[track_caller]
fn check_fault(ran: Result<ProgramOutput, RunFailure>, expected_message: &str) -> String {
    let failed = ran.unwrap_err();
    assert!(failed.reason.contains(expected_message), "{}", failed.reason);
    failed.stderr.to_redacted_text(&SecretRedactor::default())
}

#[tokio::test]
async fn data_pass_through_pipes_and_files() {
    assert_eq!(output(&program(&["base64", "-d"]), b"aGVsbG8=").await, "hello");
    assert_eq!(output(&program(&["cat", INPUT_PLACEHOLDER]), b"by a file").await, "by a file");
    assert_eq!(
        output(&program(&["cp", INPUT_PLACEHOLDER, OUTPUT_PLACEHOLDER]), b"both").await,
        "both"
    );
    assert_eq!(output(&program(&["tee", OUTPUT_PLACEHOLDER]), b"into a file").await, "into a file");
    // A program that does not read its input is no failure.
    assert_eq!(output(&program(&["echo", "{other}"]), &[b'x'; 900_000]).await, "{other}\n");
}

#[tokio::test]
async fn a_program_has_its_own_folder_and_no_secrets() {
    let ran = output(&program(&["env"]), b"").await;
    let mut names: Vec<&str> = ran.lines().filter_map(|line| line.split('=').next()).collect();
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "LINESIDE_FEED", "PATH", "TMPDIR"]);
    let folder = output(&shell("pwd; touch left"), b"").await;
    assert!(!Path::new(folder.trim()).exists(), "{folder}");
}

#[tokio::test]
async fn a_failed_run_states_the_reason() {
    let failing = shell("echo 'line 3: no such stop' >&2; exit 4");
    let stderr = check_fault(run_over(&failing, b"x").await, "ended with exit code 4");
    assert_eq!(stderr, "line 3: no such stop\n");
    check_fault(run_over(&program(&["kill-me-not"]), b"x").await, "no program \"kill-me-not\"");
    check_fault(run_over(&program(&["/etc/passwd"]), b"x").await, "is not executable");
    check_fault(run_over(&program(&["/no/such"]), b"x").await, "cannot be run");
    check_fault(run_over(&shell("kill -TERM $$"), b"x").await, "killed by SIGTERM");
    check_fault(run_over(&program(&["true"]), b"x").await, "produced no output");
    check_fault(run_over(&filing("mkfifo \"$1\""), b"x").await, "wrote no output file");
}

#[tokio::test]
async fn output_over_the_limit_is_rejected_while_it_is_written() {
    check_fault(run_over(&program(&["yes"]), b"").await, "produced more than 1000 bytes");
    let large = filing("head -c 2000 /dev/zero > \"$1\"");
    check_fault(run_over(&large, b"").await, "produced more than 1000 bytes");
    // A file that would fill the disk ends the process that writes it.
    let failed = run_over(&filing("exec cat /dev/zero > \"$1\""), b"").await;
    check_fault(failed, "wrote a file larger than allowed");
}

#[tokio::test]
async fn the_memory_of_a_program_is_limited() {
    let hungry = |memory| ExternalProgram {
        memory,
        ..program(&[
            "awk",
            "BEGIN { s = \"x\"; while (length(s) < 200e6) s = s s; print \"had it\" }",
        ])
    };
    assert_eq!(output(&hungry(4 << 30), b"").await, "had it\n");
    let stderr = check_fault(run_over(&hungry(64 << 20), b"").await, "ended");
    assert!(!stderr.is_empty());
}

/// Returns true if a process exists and runs.
fn is_running(id: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Starts a background process and writes its id to a file.
fn leaving_one(folder: &Path, then: &str) -> ExternalProgram {
    shell(&format!("sleep 1000 & echo $! > {}/id; {then}", folder.display()))
}

#[tokio::test]
async fn a_timeout_kills_the_program_and_its_child_processes() {
    let folder = tempfile::tempdir().unwrap();
    let slow = leaving_one(folder.path(), "echo begun >&2; wait");
    // The first runs may be killed before they have begun; each lasts longer than the one before.
    let mut timeout = Duration::from_millis(500);
    let id = loop {
        let slow = ExternalProgram { timeout, ..slow.clone() };
        let stderr = check_fault(run_over(&slow, b"x").await, "did not end within");
        if stderr == "begun\n" {
            break fs::read_to_string(folder.path().join("id")).unwrap();
        }
        timeout *= 2;
    };
    wait_until("the process ends", async || !is_running(id.trim())).await;
}

/// Waits until a program has written a line to a file, and returns the line.
async fn read_started_file(path: &Path) -> String {
    let read = async || fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'));
    wait_for_some("the program begins", read).await
}

/// Runs an endless program until its timeout, which passes once it has reported in a file that it has begun.
async fn run_out(
    program: &ExternalProgram,
    started_file: &Path,
) -> Result<ProgramOutput, RunFailure> {
    let clock = SimulatedClock::new(UnixMillis(0));
    let running = run_program_requiring_success(program, Bytes::new(), 1_000, "city", &clock);
    let time = async {
        read_started_file(started_file).await;
        clock.advance_time(program.timeout);
        // The time for a killed program to end does not pass on this clock.
        std::future::pending::<()>().await
    };
    tokio::select! {
        ran = running => ran,
        () = time => unreachable!("the program has no timeout"),
    }
}

#[tokio::test]
async fn the_folder_is_removed_after_a_killed_program_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let started_file = folder.path().join("begun");
    let script =
        format!("echo $$ $PWD > {}; while :; do : > a; : > b; done", started_file.display());
    check_fault(run_out(&shell(&script), &started_file).await, "did not end within 60s");
    let started_line = fs::read_to_string(&started_file).unwrap();
    let (id, own) = started_line.trim().split_once(' ').unwrap();
    assert!(!is_running(id) && !Path::new(own).exists(), "{started_line}");
}

#[tokio::test]
async fn the_reason_names_a_child_process_that_kept_the_output_open() {
    let folder = tempfile::tempdir().unwrap();
    let (started_file, leftover_file) = (folder.path().join("begun"), folder.path().join("apart"));
    // It leaves the group first, without environment and parent, so that it cannot be recognised, and reports that it
    // has begun once the program is gone.
    let left = format!(
        "touch {}; while kill -0 $1 2> /dev/null; do :; done; echo $$ > {}; exec sleep 1000",
        leftover_file.display(),
        started_file.display()
    );
    let script = format!(
        "(cd /; setsid env -i sh -c '{left}' sh $$ &); while [ ! -e {} ]; do :; done; echo made",
        leftover_file.display()
    );
    let failed = run_out(&shell(&script), &started_file).await;
    let id = fs::read_to_string(&started_file).unwrap();
    let id = nix::unistd::Pid::from_raw(id.trim().parse().unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGKILL).unwrap();
    check_fault(failed, "ended, but a process that it started kept its output open");
}

#[test]
fn arguments_and_their_values_are_redacted() {
    let program = program(&["tool", "--key=hunter2", "plain", "{input}", "--to={output}"]);
    let secrets = program.argument_secrets();
    let secrets: Vec<&str> = secrets.iter().map(Secret::reveal).collect();
    assert_eq!(secrets, ["--key=hunter2", "hunter2", "plain"]);
}

#[tokio::test]
async fn no_child_process_outlives_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let leaving = leaving_one(folder.path(), "echo made");
    assert_eq!(output(&leaving, b"x").await, "made\n");
    let id = fs::read_to_string(folder.path().join("id")).unwrap();
    wait_until("the process ends", async || !is_running(id.trim())).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_is_killed_after_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let ids = folder.path().join("ids");
    // One that leaves the group, one with another environment, and one whose parent has ended.
    let leaves = format!(
        "setsid sleep 1000 & echo $! >> {0}; env -i setsid sleep 1000 & echo $! >> {0}; \
         setsid sh -c 'sleep 1000 & echo $! >> {0}'; echo made",
        ids.display()
    );
    assert_eq!(output(&shell(&leaves), b"x").await, "made\n");
    let id_lines = fs::read_to_string(&ids).unwrap();
    assert_eq!(id_lines.lines().count(), 3, "{id_lines}");
    for id in id_lines.lines() {
        wait_until("the process ends", async || !is_running(id)).await;
    }
}

#[tokio::test]
async fn a_timeout_kills_processes_that_left_the_group() {
    let folder = tempfile::tempdir().unwrap();
    let started_file = folder.path().join("begun");
    // Only its parent identifies the process.
    let script = format!(
        "cd /; setsid env -i sleep 1000 & while grep -qs {0} /proc/$!/environ; do :; done; \
         echo $! > {1}; wait",
        "LINESIDE_FEED",
        started_file.display()
    );
    check_fault(run_out(&shell(&script), &started_file).await, "did not end within 60s");
    let id = fs::read_to_string(&started_file).unwrap();
    wait_until("the process ends", async || !is_running(id.trim())).await;
}

#[tokio::test]
async fn a_cancelled_run_kills_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("id");
    let waiting = leaving_one(folder.path(), "wait");
    let running = tokio::spawn(async move { run_over(&waiting, b"x").await.map(drop) });
    let id = read_started_file(&file).await;
    assert!(is_running(id.trim()));
    running.abort();
    running.await.unwrap_err();
    wait_until("the process ends", async || !is_running(id.trim())).await;
}

async fn validate(
    program: &ExternalProgram,
    format: Format,
) -> Result<ValidatorOutput, ProgramError> {
    let url = SourceLocation::parse("https://a.example/?key=inurl1").unwrap();
    let feed = FeedConfig::new(FeedId::new("city").unwrap(), url);
    let input = Bytes::from_static(b"<xml/>");
    run_external_validator(program, input, format, &feed, 1_000, &RealClock::new()).await
}

#[tokio::test]
async fn a_validator_may_write_a_folder_and_exit_with_any_code() {
    let folder =
        filing("mkdir \"$1\" && echo '{}' > \"$1/report.json\" && echo '<p>' > \"$1/report.html\"");
    let validated = validate(&folder, Format::Gtfs).await.unwrap();
    assert_eq!((&validated.output[..], validated.fault), (&b"{}\n"[..], None));
    let file = filing("echo found > \"$1\"; echo 'two faults' >&2; exit 1");
    let validated = validate(&file, Format::Gtfs).await.unwrap();
    assert_eq!(&validated.output[..], b"found\n");
    assert_eq!(validated.fault.as_deref(), Some("ended with exit code 1"));
    assert_eq!(validated.stderr, "two faults\n");
    // An empty result is fine, unless a file was requested.
    assert!(validate(&program(&["true"]), Format::Gtfs).await.unwrap().output.is_empty());
    let left =
        async |script: &str| validate(&filing(script), Format::Gtfs).await.unwrap_err().reason;
    assert_eq!(left("mkdir \"$1\"").await, "wrote no output file");
    assert_eq!(left("mkdir \"$1\"; exit 7").await, "ended with exit code 7");
    assert_eq!(left("mkdir \"$1\"; mkfifo \"$1/report.json\"").await, "wrote no output file");
    assert_eq!(left("ln -s /etc \"$1\"").await, "wrote no output file");
    assert_eq!(left("kill -TERM $$").await, "was killed by SIGTERM");
}

#[tokio::test]
async fn validator_input_has_an_extension_and_secrets_are_redacted() {
    let name = program(&["basename", INPUT_PLACEHOLDER]);
    for (format, expect) in [(Format::Gtfs, "input.zip\n"), (Format::Netex, "input.xml\n")] {
        let validated = validate(&name, format).await.unwrap();
        assert_eq!(&validated.output[..], expect.as_bytes());
    }
    let validator_program =
        program(&["sh", "-c", "echo \"$1 inurl1\" >&2; exit 1", "sh", "--key=hunter2"]);
    let stderr = validate(&validator_program, Format::Gtfs).await.unwrap().stderr;
    assert_eq!(stderr, "*** ***\n");
    let feed = FeedConfig::new(
        FeedId::new("a").unwrap(),
        SourceLocation::parse("https://a.example/").unwrap(),
    );
    let cover = OutputRedactor::for_program(&validator_program, &feed);
    assert_eq!(
        cover.redact_output("with hunter2\u{7}, and more".as_bytes(), 20),
        "with ***\u{fffd}, and m"
    );
}
