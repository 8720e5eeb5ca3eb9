//! A large state to every new session, while other sessions wait for a small publication in another room.

use std::io::BufReader;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::load::{Found, Load};
use super::servers::{ONE_CORE, PLAIN, Place, Server};
use super::{Bench, MB, Samples, feeds};
use crate::http::{connect, get};
use crate::report::Row;

/// Vehicles in a state of 2 MB.
const VEHICLES: usize = 8_000;
const NEWCOMERS: usize = 10_000;
const NEWCOMERS_QUICK: usize = 500;
/// Sessions in the other room, and publications a second there.
const LISTENERS: usize = 10;
const RATE: f64 = 50.0;
/// The time of the measurement on an idle server.
const QUIET_SECONDS: f64 = 5.0;
/// The timeout for the server to read its feed.
const READ_MAX: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);
/// The share of the newcomers' time in a previous run during which latency is measured: new sessions surely arrive
/// during all of it.
const PART: f64 = 0.8;

const CHANNEL: &str = "feed/large";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let place = &bench.place;
    let file = place.folder.path().join("large.pb");
    feeds::write(&file, VEHICLES, 0, 0)?;
    let feed = feeds::section("large", &file);
    let newcomers = bench.effort.size(NEWCOMERS_QUICK, NEWCOMERS);
    let mut seconds = None;
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        let server = place.lineside(ONE_CORE, &feed)?;
        let bytes = state_bytes(place, &server)?;
        samples.add("state", bytes as f64);
        let seconds = match seconds {
            Some(seconds) => seconds,
            // Without listeners: measures the newcomers' time.
            None => *seconds.insert(come(newcomers).run_last(place, &server)?.connect.seconds),
        };
        let quiet = listen(QUIET_SECONDS).begin_urgently(place, &server)?.end()?;
        samples.add("quiet", quiet.latency()?.p99);
        let listening = listen((seconds * PART).max(1.0)).begin_urgently(place, &server)?;
        let came = come(newcomers).run_last(place, &server)?;
        let heard = listening.end()?;
        note(&mut samples, &came, &heard)?;
        samples.add("peak", server.peak_bytes()?);
    }
    rows(bench, &samples, newcomers);
    Ok(())
}

fn note(samples: &mut Samples, came: &Found, heard: &Found) -> anyhow::Result<()> {
    samples.add("busy", heard.latency()?.p99);
    samples.add("seconds", came.connect.seconds);
    samples.add("lost", (came.lost() + heard.lost()) as f64);
    samples.add("rate", came.connect.bytes as f64 / came.connect.seconds);
    Ok(())
}

fn rows(bench: &mut Bench, samples: &Samples, newcomers: usize) {
    let state = samples.median("state") / MB;
    let all = format!("{state:.1} MB to {newcomers} newcomers");
    let row = Row::new(format!("{all}: p99 in another room"), samples.median("busy"), "ms");
    let row = row.beside("quiet", samples.median("quiet"));
    bench.report.add(row.at_most_times(3.0, "quiet"));
    let row = Row::new(format!("{all}: most memory"), samples.most("peak") / MB, "MB");
    bench.report.add(row);
    bench.report.add(Row::new(format!("{all}: all have it"), samples.median("seconds"), "s"));
    bench.report.add(Row::new(format!("{all}: a second"), samples.median("rate") / MB, "MB"));
    bench.report.add(Row::new(format!("{all}: lost"), samples.sum("lost"), "").at_most(0.0));
}

fn come(sessions: usize) -> Load<'static> {
    let channels = vec![CHANNEL.to_owned()];
    Load { sessions, channels, transport: "websocket", publish: None, seconds: 0.1 }
}

fn listen(seconds: f64) -> Load<'static> {
    Load::publishing(PLAIN, LISTENERS, RATE, seconds)
}

/// Waits until the server has read its feed, and returns the size of a state.
fn state_bytes(place: &Place, server: &Server) -> anyhow::Result<u64> {
    let start = Instant::now();
    let mut connection = BufReader::new(connect(server.port)?);
    let all = format!("\"entities\":{VEHICLES},");
    while !String::from_utf8(get(&mut connection, "/api/v1/feeds", "")?)?.contains(&all) {
        ensure!(start.elapsed() < READ_MAX, "the server does not read its feed");
        thread::sleep(LOOK);
    }
    Ok(come(1).run(place, server)?.connect.bytes)
}
