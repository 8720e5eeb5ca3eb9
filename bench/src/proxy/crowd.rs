//! Ten thousand clients, and the number of requests to the producer.

use std::io::BufReader;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use super::Bench;
use super::peers::{feed, serve};
use super::producer::{SMALL, counts, reset};
use crate::askers::Plan;
use crate::http::{connect, get};
use crate::report::Row;
use crate::rounds::Samples;
use crate::servers::{Server, until_there};

const CLIENTS: usize = 10_000;
const CLIENTS_QUICK: usize = 200;
const SECONDS: f64 = 6.0;
const SECONDS_QUICK: f64 = 2.0;
/// The time after which a poll that the producer has seen is over, and the next one has not begun.
const SETTLED: Duration = Duration::from_millis(300);

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let clients = bench.effort.size(CLIENTS_QUICK, CLIENTS);
    let seconds = if bench.effort.is_quick { SECONDS_QUICK } else { SECONDS };
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        reset(&bench.producer)?;
        let server = serve(&bench.place, &feed(&bench.producer, &SMALL, "1s"))?;
        let path = format!("/proxy/{}", SMALL.id);
        until_there(&server, &path, "")?;
        let plan = Plan {
            port: server.port,
            path,
            headers: String::new(),
            status: "200".to_owned(),
            connections: clients,
            warm_seconds: 0.0,
            seconds,
        };
        let asked = plan.run()?;
        // Read right after a poll, the two counts are of the same polls.
        let seen = next_poll(bench)?;
        thread::sleep(SETTLED);
        samples.add("upstream", seen as f64);
        samples.add("polls", polls(&server)?);
        samples.add("answers", asked.answers as f64);
        samples.add("p99", asked.p99);
    }
    let (upstream, polls) = (samples.sum("upstream"), samples.sum("polls"));
    let answers = samples.sum("answers");
    let what = format!("{clients} clients, {answers} answers: requests to the producer");
    let row = Row::new(what, upstream, "").beside("polls", polls);
    bench.report.add(row.at_most_times(1.0, "polls"));
    let amplification = answers / upstream;
    bench.report.add(Row::new("the same: answers for each of them", amplification, ""));
    bench.report.add(Row::new("the same: p99", samples.median("p99"), "ms"));
    Ok(())
}

/// Waits for the producer's next request; returns the number of its requests so far.
fn next_poll(bench: &Bench) -> anyhow::Result<u64> {
    let before = counts(&bench.producer)?.requests;
    loop {
        let now = counts(&bench.producer)?.requests;
        if now > before {
            return Ok(now);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the number of polls by the server's own count.
fn polls(server: &Server) -> anyhow::Result<f64> {
    let text = get(&mut BufReader::new(connect(server.port)?), "/metrics", "")?;
    let text = String::from_utf8(text)?;
    let lines = text.lines().filter(|line| line.starts_with("lineside_ingest_fetches_total{"));
    let counts =
        lines.map(|line| line.rsplit(' ').next().and_then(|count| count.parse::<f64>().ok()));
    counts.sum::<Option<f64>>().context("the server counts its polls")
}
