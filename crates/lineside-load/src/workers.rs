//! The processes of a run: this one alone, or others that it starts and speaks with over pipes, a line of JSON each way.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::clock::Nanos;
use crate::engine::{Connected, Engine, Held, Measured};
use crate::limits::REPORT_BYTES_MAX;
use crate::plan::Share;

/// Everyone who holds sessions.
pub(crate) enum Workers {
    Here(Box<Engine>),
    /// Bound: `PROCESSES_MAX`.
    Others(Vec<Worker>),
}

/// Who still holds the sessions of a run that has measured.
pub(crate) enum Holding {
    Here(#[expect(dead_code, reason = "held, and let go of")] Held),
    Others(#[expect(dead_code, reason = "held, and let go of")] Vec<Worker>),
}

/// One line from a worker.
#[derive(Serialize, Deserialize)]
enum Told<T> {
    Done(T),
    Usage(String),
    Unreachable(String),
}

/// A process of its own; ended if it is left behind.
pub(crate) struct Worker {
    child: Child,
    orders: ChildStdin,
    reports: BufReader<ChildStdout>,
}

impl Workers {
    /// `command` starts another process that calls [`work`].
    pub(crate) fn start(
        mut shares: Vec<Share>,
        command: &dyn Fn() -> io::Result<Command>,
    ) -> Result<Self, Failure> {
        if shares.len() == 1 {
            let share = shares.remove(0);
            return Ok(Self::Here(Box::new(Engine::new(share)?)));
        }
        let start = |share: &Share| {
            let mut worker = Worker::start(command).map_err(|error| lost(&error))?;
            worker.order(share)?;
            Ok(worker)
        };
        Ok(Self::Others(shares.iter().map(start).collect::<Result<_, Failure>>()?))
    }

    /// Opens all sessions.
    pub(crate) fn connect(&mut self) -> Result<Vec<Connected>, Failure> {
        match self {
            Self::Here(engine) => Ok(vec![engine.connect()?]),
            // They began when they were told their share.
            Self::Others(workers) => workers.iter_mut().map(Worker::report).collect(),
        }
    }

    /// Measures, from the same moment on. The sessions end when what comes with the findings is dropped.
    pub(crate) fn measure(self, start: Nanos) -> Result<(Vec<Measured>, Holding), Failure> {
        match self {
            Self::Here(engine) => {
                let (measured, held) = engine.measure(start)?;
                Ok((vec![measured], Holding::Here(held)))
            }
            Self::Others(mut workers) => {
                workers.iter_mut().try_for_each(|worker| worker.order(&start))?;
                let measured = workers.iter_mut().map(Worker::report).collect::<Result<_, _>>()?;
                Ok((measured, Holding::Others(workers)))
            }
        }
    }
}

impl Worker {
    fn start(command: &dyn Fn() -> io::Result<Command>) -> io::Result<Self> {
        let mut child = command()?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (orders, reports) = (child.stdin.take(), child.stdout.take());
        let (Some(orders), Some(reports)) = (orders, reports) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        Ok(Self { child, orders, reports: BufReader::new(reports) })
    }

    fn order(&mut self, order: &impl Serialize) -> Result<(), Failure> {
        write_line(&mut self.orders, order).map_err(|error| lost(&error))
    }

    fn report<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        match read_line(&mut self.reports).map_err(|error| lost(&error))? {
            Told::Done(report) => Ok(report),
            Told::Usage(why) => Err(Failure::Usage(why)),
            Told::Unreachable(why) => Err(Failure::Unreachable(why)),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has told everything ends by itself; one that has not is of no more use.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn lost(error: &io::Error) -> Failure {
    Failure::Unreachable(format!(
        "a process of this run cannot be started or was lost: {error}; try fewer --sessions"
    ))
}

/// The work of one process: takes its share and its orders from `orders`, and reports.
///
/// # Errors
/// When nobody gives orders, or nobody listens.
pub fn work(mut orders: impl BufRead, mut reports: impl Write) -> io::Result<()> {
    let share: Share = read_line(&mut orders)?;
    let opened = crate::process::raise_descriptors()
        .map_err(|error| lost(&error))
        .and_then(|_| Engine::new(share))
        .and_then(|mut engine| Ok((engine.connect()?, engine)));
    let (connected, engine) = match opened {
        Ok(opened) => opened,
        Err(failure) => return tell::<Connected>(&mut reports, Err(failure)),
    };
    tell(&mut reports, Ok(connected))?;
    let start = read_line(&mut orders)?;
    let (measured, _held) = match engine.measure(start) {
        Ok((measured, held)) => (Ok(measured), Some(held)),
        Err(failure) => (Err(failure), None),
    };
    tell(&mut reports, measured)?;
    // The sessions stay until whoever gives the orders has looked at the server.
    io::copy(&mut orders, &mut io::sink()).map(|_| ())
}

fn tell<T: Serialize>(reports: &mut impl Write, report: Result<T, Failure>) -> io::Result<()> {
    let told = match report {
        Ok(report) => Told::Done(report),
        Err(Failure::Usage(why)) => Told::Usage(why),
        Err(Failure::Unreachable(why)) => Told::Unreachable(why),
    };
    write_line(reports, &told)
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
