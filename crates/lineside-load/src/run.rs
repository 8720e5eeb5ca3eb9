//! Executes a run.

use std::io;
use std::process::Command;

use crate::LoadTestError;
use crate::clock::{self, MonotonicNanos};
use crate::engine::ConnectPhaseOutcome;
use crate::limits::{PROCESSES_MAX, RESERVED_DESCRIPTORS, SESSIONS_PER_PROCESS_MAX};
use crate::plan::{LoadTestPlan, split_plan_between_processes};
use crate::process::{ProcessHandle, raise_descriptor_limit};
use crate::publisher::{ApiPublisher, PublishTotals};
use crate::reasons::{count_failure_reason, failure_advice};
use crate::report::{LoadTestReport, RunResults};
use crate::workers::WorkerSet;

/// Pause between the last session's readiness and the first publication, in nanoseconds.
const START_DELAY: MonotonicNanos = 100_000_000;

/// Executes a run. `worker` returns the command that starts another process, which calls
/// [`run_worker_process`](crate::run_worker_process) with its standard input and output; it is used if one process has
/// too few descriptors. `note` receives progress messages.
///
/// # Errors
/// Returns an error if the plan is invalid, or if no session could be opened.
pub fn run_load_test(
    plan: &LoadTestPlan,
    worker: &dyn Fn() -> io::Result<Command>,
    note: &mut dyn FnMut(&str),
) -> Result<LoadTestReport, LoadTestError> {
    plan.validate_plan()?;
    let processes = choose_process_count(plan)?;
    let server = plan.server_process.map(ProcessHandle::from_id);
    let server = server.or_else(|| ProcessHandle::find_listening_process(plan.target.address));
    if plan.server_process.is_some() && server.and_then(ProcessHandle::read_usage).is_none() {
        return Err(LoadTestError::Usage(
            "--server-pid must be the id of a process that is readable for this user".to_owned(),
        ));
    }
    let usage = || server.and_then(ProcessHandle::read_usage);
    let publisher = ApiPublisher::open_connection(plan)?;
    let before = usage();
    note(&format!("opening {} sessions from {}", plan.sessions, format_process_count(processes)));
    let mut workers =
        WorkerSet::start_workers(split_plan_between_processes(plan, processes), worker)?;
    let connected = workers.connect_sessions()?;
    let ready: u64 = connected.iter().map(|connected| connected.ready).sum();
    if ready == 0 {
        return Err(no_session_error(plan, &connected));
    }
    let idle = usage();
    note(&format!("{ready} sessions are ready; measuring for {:?}", plan.duration));
    let start = clock::now_nanos() + START_DELAY;
    let publishing = publisher.map(|publisher| publisher.spawn_publisher(start)).transpose();
    let publishing = publishing.map_err(|error| {
        LoadTestError::Unreachable(format!("starting the publisher's thread failed: {error}"))
    })?;
    let (measured, holding) = workers.measure_deliveries(start)?;
    let after = usage();
    drop(holding);
    let published =
        publishing.map(|publishing| publishing.join().unwrap_or_else(|_| PublishTotals::default()));
    Ok(LoadTestReport::from_results(
        plan,
        RunResults {
            processes,
            server: server.map(ProcessHandle::process_id),
            before,
            idle,
            after,
            start,
            connected,
            measured,
            published,
        },
    ))
}

/// Returns the requested number of processes, or more if descriptors require it.
fn choose_process_count(plan: &LoadTestPlan) -> Result<usize, LoadTestError> {
    let descriptors = raise_descriptor_limit().unwrap_or(RESERVED_DESCRIPTORS * 2);
    let each =
        usize::try_from(descriptors.saturating_sub(RESERVED_DESCRIPTORS)).unwrap_or(usize::MAX);
    let each = each.clamp(1, SESSIONS_PER_PROCESS_MAX);
    let processes = plan.sessions.div_ceil(each).max(plan.processes).min(plan.sessions);
    if processes > PROCESSES_MAX {
        return Err(LoadTestError::Usage(format!(
            "{} sessions need more than {PROCESSES_MAX} processes with {descriptors} descriptors \
            each; raise `ulimit -n`",
            plan.sessions
        )));
    }
    Ok(processes)
}

fn format_process_count(processes: usize) -> String {
    if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") }
}

fn no_session_error(plan: &LoadTestPlan, connected: &[ConnectPhaseOutcome]) -> LoadTestError {
    let mut reasons = Vec::new();
    for (reason, times) in connected.iter().flat_map(|connected| &connected.failed) {
        count_failure_reason(&mut reasons, reason, *times);
    }
    let given_up = |(reason, _): &&(String, u64)| !reason.starts_with("cancelled");
    let most_frequent = reasons.iter().filter(given_up).max_by_key(|(_, times)| *times);
    let why = most_frequent.map_or("no session could connect", |(reason, _)| reason.as_str());
    LoadTestError::Unreachable(format!("{}: {why}; {}", plan.target.url, failure_advice(why)))
}
