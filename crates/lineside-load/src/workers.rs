//! The processes of a run: this one alone, or others that exchange lines of JSON with it over pipes.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::LoadTestError;
use crate::clock::MonotonicNanos;
use crate::engine::{ConnectPhaseOutcome, LoadTestEngine, MeasurementOutcome, OpenConnections};
use crate::limits::REPORT_BYTES_MAX;
use crate::plan::ProcessPlanShare;

/// The processes that hold sessions.
pub(crate) enum WorkerSet {
    InProcess(Box<LoadTestEngine>),
    /// At most `PROCESSES_MAX`.
    Subprocesses(Vec<WorkerProcess>),
}

/// The holder of the open sessions after the measurement.
pub(crate) enum OpenSessionHolder {
    Here(#[expect(dead_code, reason = "kept open until it is dropped")] OpenConnections),
    Others(#[expect(dead_code, reason = "kept open until it is dropped")] Vec<WorkerProcess>),
}

/// One line from a worker.
#[derive(Serialize, Deserialize)]
enum WorkerReply<T> {
    Done(T),
    Usage(String),
    Unreachable(String),
}

/// A worker process; it is killed when dropped.
pub(crate) struct WorkerProcess {
    child: Child,
    orders: ChildStdin,
    reports: BufReader<ChildStdout>,
}

impl WorkerSet {
    /// Starts the workers. `command` starts another process that calls [`run_worker_process`].
    pub(crate) fn start_workers(
        mut shares: Vec<ProcessPlanShare>,
        command: &dyn Fn() -> io::Result<Command>,
    ) -> Result<Self, LoadTestError> {
        if shares.len() == 1 {
            let share = shares.remove(0);
            return Ok(Self::InProcess(Box::new(LoadTestEngine::new(share)?)));
        }
        let start = |share: &ProcessPlanShare| {
            let mut worker =
                WorkerProcess::spawn_process(command).map_err(|error| worker_lost_error(&error))?;
            worker.send_worker_order(share)?;
            Ok(worker)
        };
        Ok(Self::Subprocesses(shares.iter().map(start).collect::<Result<_, LoadTestError>>()?))
    }

    /// Opens all sessions.
    pub(crate) fn connect_sessions(&mut self) -> Result<Vec<ConnectPhaseOutcome>, LoadTestError> {
        match self {
            Self::InProcess(engine) => Ok(vec![engine.connect_sessions()?]),
            // Workers begin to open sessions when they receive their share.
            Self::Subprocesses(workers) => {
                workers.iter_mut().map(WorkerProcess::read_worker_report).collect()
            }
        }
    }

    /// Measures in all processes from the same time on. Dropping the returned [`OpenSessionHolder`] ends the sessions.
    pub(crate) fn measure_deliveries(
        self,
        start: MonotonicNanos,
    ) -> Result<(Vec<MeasurementOutcome>, OpenSessionHolder), LoadTestError> {
        match self {
            Self::InProcess(engine) => {
                let (measured, connections) = engine.measure_deliveries(start)?;
                Ok((vec![measured], OpenSessionHolder::Here(connections)))
            }
            Self::Subprocesses(mut workers) => {
                workers.iter_mut().try_for_each(|worker| worker.send_worker_order(&start))?;
                let measured = workers
                    .iter_mut()
                    .map(WorkerProcess::read_worker_report)
                    .collect::<Result<_, _>>()?;
                Ok((measured, OpenSessionHolder::Others(workers)))
            }
        }
    }
}

impl WorkerProcess {
    fn spawn_process(command: &dyn Fn() -> io::Result<Command>) -> io::Result<Self> {
        let mut child = command()?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (orders, reports) = (child.stdin.take(), child.stdout.take());
        let (Some(orders), Some(reports)) = (orders, reports) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(Self { child, orders, reports: BufReader::new(reports) })
    }

    fn send_worker_order(&mut self, order: &impl Serialize) -> Result<(), LoadTestError> {
        write_json_line(&mut self.orders, order).map_err(|error| worker_lost_error(&error))
    }

    fn read_worker_report<T: DeserializeOwned>(&mut self) -> Result<T, LoadTestError> {
        match read_json_line(&mut self.reports).map_err(|error| worker_lost_error(&error))? {
            WorkerReply::Done(report) => Ok(report),
            WorkerReply::Usage(why) => Err(LoadTestError::Usage(why)),
            WorkerReply::Unreachable(why) => Err(LoadTestError::Unreachable(why)),
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // A worker that has reported everything exits by itself; any other is not needed any more.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn worker_lost_error(error: &io::Error) -> LoadTestError {
    LoadTestError::Unreachable(format!(
        "a worker process failed or could not be started: {error}; try fewer --sessions"
    ))
}

/// Runs a worker process: reads its share and further orders from `orders`, and writes its results to `reports`.
///
/// # Errors
/// Returns an error if `orders` or `reports` is closed.
pub fn run_worker_process(mut orders: impl BufRead, mut reports: impl Write) -> io::Result<()> {
    let share: ProcessPlanShare = read_json_line(&mut orders)?;
    let opened = crate::process::raise_descriptor_limit()
        .map_err(|error| worker_lost_error(&error))
        .and_then(|_| LoadTestEngine::new(share))
        .and_then(|mut engine| Ok((engine.connect_sessions()?, engine)));
    let (connected, engine) = match opened {
        Ok(opened) => opened,
        Err(failure) => {
            return write_worker_report::<ConnectPhaseOutcome>(&mut reports, Err(failure));
        }
    };
    write_worker_report(&mut reports, Ok(connected))?;
    let start = read_json_line(&mut orders)?;
    let (measured, _connections) = match engine.measure_deliveries(start) {
        Ok((measured, connections)) => (Ok(measured), Some(connections)),
        Err(failure) => (Err(failure), None),
    };
    write_worker_report(&mut reports, measured)?;
    // The sessions remain open until the parent has measured the server.
    io::copy(&mut orders, &mut io::sink()).map(|_| ())
}

fn write_worker_report<T: Serialize>(
    reports: &mut impl Write,
    report: Result<T, LoadTestError>,
) -> io::Result<()> {
    let reply = match report {
        Ok(report) => WorkerReply::Done(report),
        Err(LoadTestError::Usage(why)) => WorkerReply::Usage(why),
        Err(LoadTestError::Unreachable(why)) => WorkerReply::Unreachable(why),
    };
    write_json_line(reports, &reply)
}

fn write_json_line(into: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *into, value)?;
    into.write_all(b"\n")?;
    into.flush()
}

fn read_json_line<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<T> {
    let mut line = Vec::new();
    let read = from.take(REPORT_BYTES_MAX).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}
