//! The processes of a run: this one alone, or others that exchange lines of JSON with it over pipes.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::LoadError;
use crate::clock::Nanos;
use crate::engine::{ConnectOutcome, LoadEngine, MeasureOutcome, OpenConnections};
use crate::limits::REPORT_BYTES_MAX;
use crate::plan::PlanShare;

/// The processes that hold sessions.
pub(crate) enum WorkerSet {
    InProcess(Box<LoadEngine>),
    /// At most `PROCESSES_MAX`.
    Subprocesses(Vec<WorkerProcess>),
}

/// The holder of the open sessions after the measurement.
pub(crate) enum SessionHolder {
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
    /// Starts the workers. `command` starts another process that calls [`run_worker`].
    pub(crate) fn start_workers(
        mut shares: Vec<PlanShare>,
        command: &dyn Fn() -> io::Result<Command>,
    ) -> Result<Self, LoadError> {
        if shares.len() == 1 {
            let share = shares.remove(0);
            return Ok(Self::InProcess(Box::new(LoadEngine::new(share)?)));
        }
        let start = |share: &PlanShare| {
            let mut worker =
                WorkerProcess::spawn_process(command).map_err(|error| worker_lost_error(&error))?;
            worker.send_order(share)?;
            Ok(worker)
        };
        Ok(Self::Subprocesses(shares.iter().map(start).collect::<Result<_, LoadError>>()?))
    }

    /// Opens all sessions.
    pub(crate) fn connect_sessions(&mut self) -> Result<Vec<ConnectOutcome>, LoadError> {
        match self {
            Self::InProcess(engine) => Ok(vec![engine.connect_sessions()?]),
            // Workers begin to open sessions when they receive their share.
            Self::Subprocesses(workers) => {
                workers.iter_mut().map(WorkerProcess::read_report).collect()
            }
        }
    }

    /// Measures in all processes from the same time on. Dropping the returned [`SessionHolder`] ends the sessions.
    pub(crate) fn measure_deliveries(
        self,
        start: Nanos,
    ) -> Result<(Vec<MeasureOutcome>, SessionHolder), LoadError> {
        match self {
            Self::InProcess(engine) => {
                let (measured, connections) = engine.measure_deliveries(start)?;
                Ok((vec![measured], SessionHolder::Here(connections)))
            }
            Self::Subprocesses(mut workers) => {
                workers.iter_mut().try_for_each(|worker| worker.send_order(&start))?;
                let measured =
                    workers.iter_mut().map(WorkerProcess::read_report).collect::<Result<_, _>>()?;
                Ok((measured, SessionHolder::Others(workers)))
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

    fn send_order(&mut self, order: &impl Serialize) -> Result<(), LoadError> {
        write_line(&mut self.orders, order).map_err(|error| worker_lost_error(&error))
    }

    fn read_report<T: DeserializeOwned>(&mut self) -> Result<T, LoadError> {
        match read_line(&mut self.reports).map_err(|error| worker_lost_error(&error))? {
            WorkerReply::Done(report) => Ok(report),
            WorkerReply::Usage(why) => Err(LoadError::Usage(why)),
            WorkerReply::Unreachable(why) => Err(LoadError::Unreachable(why)),
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

fn worker_lost_error(error: &io::Error) -> LoadError {
    LoadError::Unreachable(format!(
        "a worker process failed or could not be started: {error}; try fewer --sessions"
    ))
}

/// Runs a worker process: reads its share and further orders from `orders`, and writes its results to `reports`.
///
/// # Errors
/// Returns an error if `orders` or `reports` is closed.
pub fn run_worker(mut orders: impl BufRead, mut reports: impl Write) -> io::Result<()> {
    let share: PlanShare = read_line(&mut orders)?;
    let opened = crate::process::raise_descriptor_limit()
        .map_err(|error| worker_lost_error(&error))
        .and_then(|_| LoadEngine::new(share))
        .and_then(|mut engine| Ok((engine.connect_sessions()?, engine)));
    let (connected, engine) = match opened {
        Ok(opened) => opened,
        Err(failure) => return write_report::<ConnectOutcome>(&mut reports, Err(failure)),
    };
    write_report(&mut reports, Ok(connected))?;
    let start = read_line(&mut orders)?;
    let (measured, _connections) = match engine.measure_deliveries(start) {
        Ok((measured, connections)) => (Ok(measured), Some(connections)),
        Err(failure) => (Err(failure), None),
    };
    write_report(&mut reports, measured)?;
    // The sessions remain open until the parent has measured the server.
    io::copy(&mut orders, &mut io::sink()).map(|_| ())
}

fn write_report<T: Serialize>(
    reports: &mut impl Write,
    report: Result<T, LoadError>,
) -> io::Result<()> {
    let reply = match report {
        Ok(report) => WorkerReply::Done(report),
        Err(LoadError::Usage(why)) => WorkerReply::Usage(why),
        Err(LoadError::Unreachable(why)) => WorkerReply::Unreachable(why),
    };
    write_line(reports, &reply)
}

fn write_line(into: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *into, value)?;
    into.write_all(b"\n")?;
    into.flush()
}

fn read_line<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<T> {
    let mut line = Vec::new();
    let read = from.take(REPORT_BYTES_MAX).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}
