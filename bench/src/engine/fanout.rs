//! One message to all sessions: memory and CPU of a session, of its connect and of a delivery, and the latency of the
//! last delivery.

use std::thread;
use std::time::Duration;

use super::load::{Found, Load};
use super::servers::{KEPT, ONE_CORE, PLAIN, Server, TWO_CORES};
use super::{Bench, KIB, Samples};
use crate::{
    plot::{Plot, Series},
    report::Row,
    rounds::Effort,
};

/// Numbers of sessions: as many as the server's descriptors allow, and fewer.
const SESSIONS: [usize; 3] = [10_000, 5_000, 2_500];
const SESSIONS_QUICK: [usize; 3] = [1_000, 500, 250];
/// Single publications: each has reached all sessions before the next one.
const LONE_RATE: f64 = 4.0;
const LONE_SECONDS: f64 = 3.0;
/// Sustained publications a second.
const SUSTAINED_RATE: f64 = 10.0;
const SUSTAINED_SECONDS: f64 = 5.0;
/// Many publications to fewer sessions, and the time for which a busy server may coalesce them.
const BUSY_RATE: f64 = 500.0;
const BUSY_SESSIONS: usize = 1_000;
const BUSY_SECONDS: f64 = 4.0;
const COALESCE: Duration = Duration::from_millis(10);
/// The size of a large message, after which a session must be as small as before.
const LARGE_BYTES: usize = 60_000;
/// Rooms that each session subscribes to, and publications a second over all of them.
const ROOMS: [usize; 2] = [1, 10];
const ROOMS_RATE: f64 = 50.0;
const ROOMS_SESSIONS: usize = 1_000;
/// Sessions of a warm-up run, so that code and tables shared by all sessions are not counted as theirs.
const WARM_SESSIONS: usize = 200;
/// The time for a server to free the sessions of the previous run.
const BREATH: Duration = Duration::from_millis(500);

const OURS: &str = "Lineside";
const BARE: &str = "bare loop";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        large(bench, &mut samples, "websocket")?;
        large(bench, &mut samples, "sse")?;
        let ours = warm(bench, bench.place.lineside(ONE_CORE, "")?)?;
        common(bench, &mut samples, OURS, &ours)?;
        kept(bench, &mut samples, &ours)?;
        busy(bench, &mut samples, OURS, &ours)?;
        rooms(bench, &mut samples, &ours)?;
        drop(ours);
        let bare = warm(bench, bench.place.bare(None)?)?;
        common(bench, &mut samples, BARE, &bare)?;
        drop(bare);
        let bare = bench.place.bare(Some(COALESCE))?;
        busy(bench, &mut samples, BARE, &bare)?;
        drop(bare);
        let ours = warm(bench, bench.place.lineside(TWO_CORES, "")?)?;
        let found = lone(bench, &ours, PLAIN, sizes(bench.effort)[0])?;
        samples.add("partitions 2", found.cpu_per_delivery()?);
        note_losses(&mut samples, &found);
        drop(ours);
        secured(bench, &mut samples)?;
    }
    memory_rows(bench, &samples);
    delivery_rows(bench, &samples);
    growth_rows(bench, &samples);
    tls_rows(bench, &samples);
    plot(bench, &samples)
}

fn sizes(effort: Effort) -> [usize; 3] {
    if effort.is_quick { SESSIONS_QUICK } else { SESSIONS }
}

/// Runs a warm-up load on a server.
fn warm(bench: &Bench, server: Server) -> anyhow::Result<Server> {
    Load::publishing(PLAIN, WARM_SESSIONS, 10.0, 0.5).run(&bench.place, &server)?;
    thread::sleep(BREATH);
    Ok(server)
}

fn lone(bench: &Bench, server: &Server, channel: &str, sessions: usize) -> anyhow::Result<Found> {
    let load = Load::publishing(channel, sessions, LONE_RATE, LONE_SECONDS);
    let found = load.run(&bench.place, server)?;
    thread::sleep(BREATH);
    Ok(found)
}

fn note_losses(samples: &mut Samples, found: &Found) {
    samples.add("lost", found.lost() as f64);
}

/// Measures both servers: single publications to few and many sessions, then sustained ones.
fn common(bench: &Bench, samples: &mut Samples, who: &str, server: &Server) -> anyhow::Result<()> {
    let sizes = sizes(bench.effort);
    for sessions in sizes {
        let found = lone(bench, server, PLAIN, sessions)?;
        if sessions == sizes[0] {
            let costs = found.costs()?;
            samples.add(format!("idle {who}"), costs.resident_bytes_per_session);
            samples.add(format!("connect {who}"), costs.cpu_us_per_session);
        }
        samples.add(format!("lone {sessions} {who}"), found.cpu_per_delivery()?);
        samples.add(format!("last {sessions} {who}"), found.latency()?.last);
        note_losses(samples, &found);
    }
    let load = Load::publishing(PLAIN, sizes[0], SUSTAINED_RATE, SUSTAINED_SECONDS);
    let found = load.run(&bench.place, server)?;
    samples.add(format!("sustained {who}"), found.cpu_per_delivery()?);
    samples.add(format!("sustained p99 {who}"), found.latency()?.p99);
    samples.add(format!("sustained lost {who}"), found.lost() as f64);
    thread::sleep(BREATH);
    Ok(())
}

/// Measures single publications to a channel with history.
fn kept(bench: &Bench, samples: &mut Samples, server: &Server) -> anyhow::Result<()> {
    let found = lone(bench, server, KEPT, sizes(bench.effort)[0])?;
    samples.add("kept", found.cpu_per_delivery()?);
    samples.add("kept last", found.latency()?.last);
    note_losses(samples, &found);
    Ok(())
}

fn busy(bench: &Bench, samples: &mut Samples, who: &str, server: &Server) -> anyhow::Result<()> {
    let load = Load::publishing(PLAIN, BUSY_SESSIONS, BUSY_RATE, BUSY_SECONDS);
    let found = load.run(&bench.place, server)?;
    samples.add(format!("busy {who}"), found.cpu_per_delivery()?);
    samples.add(format!("busy p99 {who}"), found.latency()?.p99);
    note_losses(samples, &found);
    thread::sleep(BREATH);
    Ok(())
}

fn rooms(bench: &Bench, samples: &mut Samples, server: &Server) -> anyhow::Result<()> {
    for rooms in ROOMS {
        let channels = (1..=rooms).map(|room| format!("app/load/{room}")).collect();
        let load = Load::publishing(PLAIN, ROOMS_SESSIONS, ROOMS_RATE, LONE_SECONDS);
        let found = Load { channels, ..load }.run(&bench.place, server)?;
        samples.add(format!("rooms {rooms}"), found.cpu_per_delivery()?);
        note_losses(samples, &found);
        thread::sleep(BREATH);
    }
    Ok(())
}

/// Measures memory before and after a large message, on a separate server: memory that one run leaves behind would not
/// be counted for the next.
fn large(bench: &Bench, samples: &mut Samples, transport: &str) -> anyhow::Result<()> {
    let server = warm(bench, bench.place.lineside(ONE_CORE, "")?)?;
    let sessions = sizes(bench.effort)[0];
    let load = Load::publishing(PLAIN, sessions, 1.0, 1.0);
    let load = Load { transport, publish: Some((1.0, LARGE_BYTES)), ..load };
    let found = load.run(&bench.place, &server)?;
    samples.add(format!("idle {transport}"), found.costs()?.resident_bytes_per_session);
    samples.add(format!("connect {transport}"), found.costs()?.cpu_us_per_session);
    samples.add(format!("large {transport}"), found.bytes_after(sessions)?);
    note_losses(samples, &found);
    Ok(())
}

/// Measures single publications through TLS.
fn secured(bench: &Bench, samples: &mut Samples) -> anyhow::Result<()> {
    let server = warm(bench, bench.place.secured(ONE_CORE)?)?;
    let found = lone(bench, &server, PLAIN, sizes(bench.effort)[0])?;
    samples.add("tls idle", found.costs()?.resident_bytes_per_session);
    samples.add("tls connect", found.costs()?.cpu_us_per_session);
    samples.add("tls", found.cpu_per_delivery()?);
    samples.add("tls last", found.latency()?.last);
    note_losses(samples, &found);
    Ok(())
}

fn memory_rows(bench: &mut Bench, samples: &Samples) {
    let sessions = sizes(bench.effort)[0];
    let bare = samples.median(&format!("idle {BARE}")) / KIB;
    for (transport, name) in [("websocket", "WebSocket"), ("sse", "SSE")] {
        let idle = samples.median(&format!("idle {transport}")) / KIB;
        let what = format!("{sessions} idle sessions, {name}: memory of each");
        bench.report.add(Row::new(what, idle, "KiB").beside(BARE, bare).at_most(3.0));
        let after = samples.median(&format!("large {transport}")) / KIB;
        let what = format!("after {LARGE_BYTES} bytes to all, {name}: memory of each");
        bench.report.add(Row::new(what, after, "KiB").at_most(3.0));
    }
    let bare = samples.median(&format!("connect {BARE}"));
    let connect = samples.median(&format!("connect {OURS}"));
    let row = Row::new("connect and subscribe, WebSocket: CPU", connect, "µs");
    bench.report.add(row.beside(BARE, bare).at_most(60.0));
    let connect = samples.median("connect sse");
    bench.report.add(Row::new("connect and subscribe, SSE: CPU", connect, "µs").beside(BARE, bare));
}

fn delivery_rows(bench: &mut Bench, samples: &Samples) {
    let sessions = sizes(bench.effort)[0];
    let mut beside = |what: String, unit, ours: &str, bare: &str| {
        let row = Row::new(what, samples.median(ours), unit).beside(BARE, samples.median(bare));
        bench.report.add(row.at_most_times(1.2, BARE));
    };
    let of = |what: &str, who: &str| format!("{what} {who}");
    let lone = |who: &str| format!("lone {sessions} {who}");
    let last = |who: &str| format!("last {sessions} {who}");
    let what = format!("200 bytes to {sessions}: CPU of a delivery");
    beside(what, "µs", &lone(OURS), &lone(BARE));
    let what = format!("200 bytes to {sessions}: the last has them");
    beside(what, "ms", &last(OURS), &last(BARE));
    let what = "the same with a history of 100: CPU of a delivery".to_owned();
    beside(what, "µs", "kept", &lone(BARE));
    beside("the same: the last has them".to_owned(), "ms", "kept last", &last(BARE));
    let what = format!("{SUSTAINED_RATE} a second to {sessions}: CPU of a delivery");
    beside(what, "µs", &of("sustained", OURS), &of("sustained", BARE));
    let what = format!("{BUSY_RATE} a second to {BUSY_SESSIONS}: CPU of a delivery");
    beside(what, "µs", &of("busy", OURS), &of("busy", BARE));
    let shown = |what: String, name: &str| {
        let (ours, bare) = (samples.median(&of(name, OURS)), samples.median(&of(name, BARE)));
        Row::new(what, ours, "ms").beside(BARE, bare)
    };
    let what = format!("{SUSTAINED_RATE} a second to {sessions}: p99");
    bench.report.add(shown(what, "sustained p99"));
    let what = format!("{BUSY_RATE} a second to {BUSY_SESSIONS}: p99");
    bench.report.add(shown(what, "busy p99"));
    let lost = samples.sum(&of("sustained lost", OURS));
    let what = format!("{SUSTAINED_RATE} a second to {sessions}: lost in all rounds");
    bench.report.add(Row::new(what, lost, "").at_most(0.0));
    let what = "all other runs: deliveries, sessions and publications lost";
    bench.report.add(Row::new(what, samples.sum("lost"), "").at_most(0.0));
}

fn growth_rows(bench: &mut Bench, samples: &Samples) {
    let [many, half, _] = sizes(bench.effort);
    let lone = |sessions: usize| samples.median(&format!("lone {sessions} {OURS}"));
    let rooms = |rooms: usize| samples.median(&format!("rooms {rooms}"));
    let partitions = samples.median("partitions 2");
    let [few, more] = ROOMS;
    let grown = [
        (format!("sessions x 2, {many}"), lone(many), format!("{half} sessions"), lone(half)),
        (format!("rooms x 10, {more}"), rooms(more), format!("{few} room"), rooms(few)),
        ("partitions x 2, 2".to_owned(), partitions, "1 partition".to_owned(), lone(many)),
    ];
    for (what, after, name, before) in grown {
        let row = Row::new(format!("{what}: CPU of a delivery"), after, "µs");
        bench.report.add(row.beside(&name, before).at_most_times(1.25, &name));
    }
}

fn tls_rows(bench: &mut Bench, samples: &Samples) {
    let sessions = sizes(bench.effort)[0];
    let idle = (samples.median("tls idle") / KIB, samples.median(&format!("idle {OURS}")) / KIB);
    let lone = samples.median(&format!("lone {sessions} {OURS}"));
    let last = samples.median(&format!("last {sessions} {OURS}"));
    let connect = samples.median(&format!("connect {OURS}"));
    let rows = [
        ("memory of each", "KiB", idle.0, idle.1),
        ("CPU of a connect and subscribe", "µs", samples.median("tls connect"), connect),
        ("CPU of a delivery", "µs", samples.median("tls"), lone),
        ("the last has them", "ms", samples.median("tls last"), last),
    ];
    for (what, unit, ours, plain) in rows {
        let what = format!("200 bytes to {sessions} through TLS: {what}");
        bench.report.add(Row::new(what, ours, unit).beside("plain", plain));
    }
}

fn plot(bench: &Bench, samples: &Samples) -> anyhow::Result<()> {
    let series = |what: &str| {
        let points = |who: &str| {
            let sizes = sizes(bench.effort).into_iter().rev();
            sizes
                .map(|n| (n as f64, samples.median(&format!("{what} {n} {who}"))))
                .collect::<Vec<_>>()
        };
        [OURS, BARE].map(|who| Series::new(who, points(who))).into()
    };
    let cost = "microseconds of CPU for a delivery";
    let plots = [
        Plot { name: "cost", x: "sessions", y: cost, series: series("lone") },
        Plot { name: "last", x: "sessions", y: "ms until the last has it", series: series("last") },
    ];
    plots.iter().try_for_each(|plot| plot.draw("engine", bench.effort))
}
