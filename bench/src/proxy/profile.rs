//! The cost of a CPU profile: answers of one server with and without a recording.
//!
//! Answers are counted per second of the server's CPU time.

use std::io::BufReader;
use std::thread;

use anyhow::{Context as _, anyhow};

use super::Bench;
use super::peers::{feed, serve};
use super::producer::SMALL;
use crate::askers::Plan;
use crate::http::{connect, get};
use crate::process::cpu_seconds;
use crate::report::Row;
use crate::rounds::Samples;
use crate::servers::{Server, until_there};

const CONNECTIONS: usize = 64;
const SECONDS: f64 = 3.0;
const SECONDS_QUICK: f64 = 0.5;
/// The token of a server that no one else can reach.
const TOKEN: &str = "the token of a benchmark";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let seconds = if bench.effort.is_quick { SECONDS_QUICK } else { SECONDS };
    let mut samples = Samples::default();
    let small = feed(&bench.producer, &SMALL, "1h");
    let server = serve(&bench.place, &format!("[admin]\ntoken = \"{TOKEN}\"\n{small}"))?;
    // The first recording also initializes shared data.
    record(&server, seconds)?;
    for _ in 0..bench.effort.rounds {
        samples.add("quiet", ask(&server, seconds)?);
        samples.add("recorded", record(&server, seconds)?);
    }
    let row =
        Row::new("2 kB while it is recorded", samples.median("recorded"), "requests/s of CPU");
    let row = row.beside("not recorded", samples.median("quiet"));
    bench.report.add(row.at_least_times(1.0, "not recorded"));
    Ok(())
}

/// Sends requests while the server is recorded, from before the first request until after the last.
fn record(server: &Server, seconds: f64) -> anyhow::Result<f64> {
    let length = seconds.ceil() as u64 + 1;
    let path = format!("/api/v1/admin/profile?seconds={length}&format=folded");
    let headers = format!("Authorization: Bearer {TOKEN}\r\n");
    let port = server.port;
    let recording =
        thread::spawn(move || get(&mut BufReader::new(connect(port)?), &path, &headers));
    let asked = ask(server, seconds);
    let recorded = recording.join().map_err(|_| anyhow!("the recording's thread failed"))?;
    recorded.context("no recording")?;
    asked
}

/// Returns the answers for each second of the server's CPU time.
fn ask(server: &Server, seconds: f64) -> anyhow::Result<f64> {
    let path = format!("/proxy/{}", SMALL.id);
    until_there(server, &path, "")?;
    let plan = Plan {
        port: server.port,
        path,
        headers: String::new(),
        status: "200".to_owned(),
        connections: CONNECTIONS,
        warm_seconds: 0.0,
        seconds,
    };
    let id = server.id().to_string();
    let before = cpu_seconds(&id)?;
    let answers = plan.run()?.answers;
    Ok(answers as f64 / (cpu_seconds(&id)? - before))
}
