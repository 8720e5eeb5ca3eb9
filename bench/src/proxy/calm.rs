//! The latency of answers while the producer hangs, and while the bytes are swapped ten times a second, compared with
//! the same server when it is idle.

use std::fs;
use std::path::PathBuf;

use super::Bench;
use super::peers::{feed, section, serve};
use super::producer::{MEDIUM, counts, go_on, hang, reset, text};
use crate::askers::{Asked, Plan};
use crate::report::Row;
use crate::rounds::Samples;
use crate::servers::{Server, until_there};

/// Few enough that an answer does not wait for many others.
const CONNECTIONS: usize = 8;
const SECONDS: f64 = 4.0;
const SECONDS_QUICK: f64 = 0.5;
const WARM_SECONDS: f64 = 0.5;
/// The replay speed of a recording with a second between its files.
const SPEED: u32 = 10;
/// Files enough for the whole measurement, including the server's start.
const FRAMES: u64 = 150;
/// The first second of the recording.
const RECORDED: u64 = 1_700_000_000;
const TIMES: f64 = 1.5;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let recording = record(bench)?;
    let seconds = if bench.effort.is_quick { SECONDS_QUICK } else { SECONDS };
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        let server = serve(&bench.place, &feed(&bench.producer, &MEDIUM, "1s"))?;
        hanging(bench, &server, seconds, &mut samples)?;
        drop(server);
        let url = format!("replay://{}?speed={SPEED}", recording.display());
        let server = serve(&bench.place, &section(MEDIUM.id, &url, "1s"))?;
        samples.add("swapped", ask(&server, seconds)?.p99);
    }
    let quiet = samples.median("quiet");
    for (name, what) in
        [("hanging", "while the producer hangs"), ("swapped", "while swapped every 100 ms")]
    {
        let row = Row::new(format!("200 kB {what}: p99"), samples.median(name), "ms");
        bench.report.add(row.beside("quiet", quiet).at_most_times(TIMES, "quiet"));
    }
    Ok(())
}

/// Measures a server whose producer is healthy, then the same server while the producer hangs.
fn hanging(
    bench: &Bench,
    server: &Server,
    seconds: f64,
    samples: &mut Samples,
) -> anyhow::Result<()> {
    samples.add("quiet", ask(server, seconds)?.p99);
    hang(&bench.producer)?;
    reset(&bench.producer)?;
    let asked = ask(server, seconds);
    let waiting = counts(&bench.producer);
    go_on(&bench.producer)?;
    samples.add("hanging", asked?.p99);
    anyhow::ensure!(
        bench.effort.is_quick || waiting?.requests == 1,
        "exactly one request hangs, whoever asks"
    );
    Ok(())
}

fn ask(server: &Server, seconds: f64) -> anyhow::Result<Asked> {
    let path = format!("/proxy/{}", MEDIUM.id);
    until_there(server, &path, "")?;
    let plan = Plan {
        port: server.port,
        path,
        headers: String::new(),
        status: "200".to_owned(),
        connections: CONNECTIONS,
        warm_seconds: WARM_SECONDS,
        seconds,
    };
    plan.run()
}

/// Writes a recording with different bytes for each second.
fn record(bench: &Bench) -> anyhow::Result<PathBuf> {
    let folder = bench.place.folder.path().join("recording");
    fs::create_dir_all(&folder)?;
    for n in 0..FRAMES {
        let name = format!("{}.txt", RECORDED + n);
        fs::write(folder.join(name), text(MEDIUM.bytes, n))?;
    }
    Ok(folder)
}
