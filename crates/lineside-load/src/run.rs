//! A run from its beginning to its end.

use std::io;
use std::process::Command;

use crate::Failure;
use crate::clock::{self, Nanos};
use crate::engine::{Connected, count};
use crate::limits::{DESCRIPTORS_KEPT, PROCESSES_MAX, SESSIONS_PER_PROCESS_MAX};
use crate::plan::{Plan, shares};
use crate::process::{Process, raise_descriptors};
use crate::publisher::{Published, Publisher};
use crate::report::{Findings, Report};
use crate::workers::Workers;

/// Between the last session's readiness and the first publication.
const BREATH: Nanos = 100_000_000;

/// Makes a run. `worker` gives the command that starts another process that calls [`work`](crate::work) with its
/// standard input and output; it is asked where one process has too few descriptors. `note` hears how far it is.
///
/// # Errors
/// When the plan makes no sense, or no session could be opened.
pub fn run(
    plan: &Plan,
    worker: &dyn Fn() -> io::Result<Command>,
    note: &mut dyn FnMut(&str),
) -> Result<Report, Failure> {
    plan.check()?;
    let processes = processes_for(plan)?;
    let server = plan.server_process.map(Process::of_id);
    let server = server.or_else(|| Process::listening_on(plan.target.address));
    if plan.server_process.is_some() && server.and_then(Process::usage).is_none() {
        return Err(Failure::Usage(
            "--server-pid names no process that can be looked at".to_owned(),
        ));
    }
    let usage = || server.and_then(Process::usage);
    let publisher = Publisher::open(plan)?;
    let before = usage();
    note(&format!("opening {} sessions from {}", plan.sessions, in_words(processes)));
    let mut workers = Workers::start(shares(plan, processes), worker)?;
    let connected = workers.connect()?;
    let ready: u64 = connected.iter().map(|connected| connected.ready).sum();
    if ready == 0 {
        return Err(nobody_came_in(plan, &connected));
    }
    let idle = usage();
    note(&format!("{ready} sessions are there; measuring for {:?}", plan.duration));
    let start = clock::now() + BREATH;
    let publishing = publisher.map(|publisher| publisher.begin(start)).transpose();
    let publishing = publishing
        .map_err(|error| Failure::Unreachable(format!("no thread for the publisher: {error}")))?;
    let (measured, holding) = workers.measure(start)?;
    let after = usage();
    drop(holding);
    let published =
        publishing.map(|publishing| publishing.join().unwrap_or_else(|_| Published::default()));
    Ok(Report::of(
        plan,
        Findings {
            processes,
            server: server.map(Process::id),
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

/// As many as were asked for, or as descriptors demand.
fn processes_for(plan: &Plan) -> Result<usize, Failure> {
    let descriptors = raise_descriptors().unwrap_or(DESCRIPTORS_KEPT * 2);
    let each = usize::try_from(descriptors.saturating_sub(DESCRIPTORS_KEPT)).unwrap_or(usize::MAX);
    let each = each.clamp(1, SESSIONS_PER_PROCESS_MAX);
    let processes = plan.sessions.div_ceil(each).max(plan.processes).min(plan.sessions);
    if processes > PROCESSES_MAX {
        return Err(Failure::Usage(format!(
            "{} sessions need more than {PROCESSES_MAX} processes with {descriptors} descriptors each: raise `ulimit -n`",
            plan.sessions
        )));
    }
    Ok(processes)
}

fn in_words(processes: usize) -> String {
    if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") }
}

fn nobody_came_in(plan: &Plan, connected: &[Connected]) -> Failure {
    let mut reasons = Vec::new();
    for (reason, times) in connected.iter().flat_map(|connected| &connected.failed) {
        count(&mut reasons, reason, *times);
    }
    let given_up = |(reason, _): &&(String, u64)| !reason.starts_with("given up");
    let most = reasons.iter().filter(given_up).max_by_key(|(_, times)| *times);
    let why = most.map_or("no session got through", |(reason, _)| reason.as_str());
    Failure::Unreachable(format!("{}: {why}; {}", plan.target.url, advice(why)))
}

/// What to do about it.
pub(crate) fn advice(why: &str) -> &'static str {
    let all = |words: &[&str]| words.iter().all(|word| why.contains(word));
    if all(&["listens"]) {
        "start it, or correct the address"
    } else if all(&["certificate"]) {
        "name a file with certificates to trust in SSL_CERT_FILE"
    } else if all(&["404", "Not Found"]) {
        "is it another server, an unknown channel, or another --transport?"
    } else if all(&["the server refused"]) {
        "correct the channel, or let everybody subscribe to it"
    } else {
        "look into the server's log"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_follows_from_what_went_wrong() {
        let refused = advice("the server refused feed/nowhere with code 102 (unknown channel)");
        assert!(refused.starts_with("correct the channel"), "{refused}");
        assert_eq!(advice("nobody listens there"), "start it, or correct the address");
        assert_eq!(advice("whatever else"), "look into the server's log");
    }
}
