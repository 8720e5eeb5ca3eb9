//! Five hundred feeds: the cost of polling all of them, and the delay of their polls.

use std::thread;
use std::time::Duration;

use anyhow::ensure;

use super::Bench;
use super::peers::{section, serve};
use super::producer::{CHANGING, counts, reset};
use crate::process::{cpu_seconds, memory};
use crate::report::Row;
use crate::rounds::{Samples, timed};

const FEEDS: usize = 500;
const FEEDS_QUICK: usize = 20;
const POLL: Duration = Duration::from_secs(10);
const POLL_QUICK: Duration = Duration::from_secs(1);
/// Polls of each feed in a measurement.
const POLLS: u32 = 3;
/// The share by which the time between two polls may exceed the configured one, because polls are spread.
const JITTER: f64 = 0.05;
const LATE_MAX: f64 = 1.0;
const MB: f64 = 1e6;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let feeds = bench.effort.size(FEEDS_QUICK, FEEDS);
    let poll = if bench.effort.is_quick { POLL_QUICK } else { POLL };
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        let sections: String = (0..feeds)
            .map(|n| {
                let url = format!("{}{CHANGING}{n}", bench.producer.url);
                section(&format!("feed-{n}"), &url, &format!("{}s", poll.as_secs()))
            })
            .collect();
        reset(&bench.producer)?;
        let server = serve(&bench.place, &sections)?;
        let id = server.id().to_string();
        // The first poll of each feed belongs to the start.
        thread::sleep(poll);
        let before = cpu_seconds(&id)?;
        let (elapsed, ()) = timed(|| thread::sleep(poll * POLLS));
        samples.add("cpu", (cpu_seconds(&id)? - before) / elapsed.as_secs_f64() * 100.0);
        samples.add("memory", memory(&id, "VmRSS:")? / MB);
        let counts = counts(&bench.producer)?;
        ensure!(counts.repeated == feeds, "{} of {feeds} feeds are polled", counts.repeated);
        let allowed = poll.as_secs_f64() * (1.0 + JITTER);
        samples.add("late", (counts.longest_gap - allowed).max(0.0));
        samples.add("requests", counts.requests as f64);
    }
    let all = format!("{feeds} feeds of 20 kB, polled every {} s", poll.as_secs());
    let late = Row::new(format!("{all}: the latest poll"), samples.most("late"), "s late");
    bench.report.add(late.at_most(LATE_MAX));
    bench.report.add(Row::new(format!("{all}: CPU"), samples.median("cpu"), "% of a core"));
    bench.report.add(Row::new(format!("{all}: memory"), samples.median("memory"), "MB"));
    Ok(())
}
