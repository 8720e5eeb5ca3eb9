//! `fanout`: one event of 1 KiB to 30,000 rows, owned by two partitions, compared with a channel for each row.
//!
//! Two times are measured from before publishing: until the publish call returns, and until the last row has the event.
//! The peers' publisher is a task among the subscribers' tasks, which is the best case for them.

mod owned;
mod tasks;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use self::{
    owned::{Owned, Receiving},
    tasks::{Broadcast, PerSubscriber, WatchAndLog},
};
use super::Bench;
use crate::{plot::Series, report::Row, rounds::median};

const EVENT_BYTES: usize = 1024;
const ROWS: usize = 30_000;
/// Rooms with changes in one poll.
const ROOMS: usize = 1_000;
/// Rows of the smallest growth step; each following step doubles them.
const ROWS_MIN: usize = 3_750;
const STEPS: usize = 5;
/// The pause after which all waiting threads are asleep.
const PAUSE: Duration = Duration::from_millis(2);

type Event = Arc<[u8; EVENT_BYTES]>;

/// A way of delivering events to all rows.
trait FanOut {
    /// Publishes one event. Returns its beginning, and the time when the publish call returned.
    fn publish(&mut self, event: Event) -> anyhow::Result<(Instant, Instant)>;

    /// Returns the counter of rows that have the event.
    fn finish(&self) -> &Finish;
}

/// Records when the last row has the event.
struct Finish {
    rows: usize,
    left: AtomicUsize,
    end: Mutex<Option<Instant>>,
    waiter: Thread,
}

impl Finish {
    /// Creates a counter for this number of rows; this thread waits for it.
    fn new(rows: usize) -> Arc<Finish> {
        let (left, end) = (AtomicUsize::new(rows), Mutex::new(None));
        Arc::new(Finish { rows, left, end, waiter: thread::current() })
    }

    /// Counts further rows that have the event.
    fn arrive(&self, rows: usize) {
        if self.left.fetch_sub(rows, Ordering::AcqRel) == rows {
            self.left.store(self.rows, Ordering::Release);
            *self.end.lock() = Some(Instant::now());
            self.waiter.unpark();
        }
    }

    fn wait(&self) -> Instant {
        loop {
            if let Some(end) = self.end.lock().take() {
                return end;
            }
            thread::park();
        }
    }
}

/// Returns the medians over several events, in milliseconds: the publish call returns, the last row has the event.
fn measure(way: &mut dyn FanOut, events: usize) -> anyhow::Result<[f64; 2]> {
    let mut took = Vec::new();
    for _ in 0..events {
        thread::sleep(PAUSE);
        let event: Event = Arc::new([7; EVENT_BYTES]);
        let (start, returned) = way.publish(event)?;
        let end = way.finish().wait();
        took.push([returned - start, end - start].map(|it| it.as_secs_f64() * 1e3));
    }
    Ok([0, 1].map(|which| median(took.iter().map(|took| took[which]))))
}

const OURS: &str = "Lineside, cursors";
const PUSHES: &str = "Lineside, a push per row";
const MPSC: &str = "tokio mpsc each";
const BROADCAST: &str = "tokio broadcast";
const WATCH: &str = "tokio watch and a log";
const NAMES: [&str; 5] = [OURS, PUSHES, MPSC, BROADCAST, WATCH];

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let events = bench.effort.size(2, 9);
    let mut lines: [Vec<(f64, f64)>; NAMES.len()] = Default::default();
    for step in 0..STEPS {
        let rows = (ROWS_MIN << step) / bench.effort.size(10, 1);
        let mut ways: [(&str, Box<dyn FanOut>); NAMES.len()] = [
            (OURS, Box::new(Owned::new(rows, 1, Receiving::ByCursor)?)),
            (PUSHES, Box::new(Owned::new(rows, 1, Receiving::ByPush)?)),
            (MPSC, Box::new(PerSubscriber::new(rows)?)),
            (BROADCAST, Box::new(Broadcast::new(rows)?)),
            (WATCH, Box::new(WatchAndLog::new(rows)?)),
        ];
        let medians = bench.medians_of(
            ways.iter_mut().map(|(name, way)| (*name, contender(way.as_mut(), events))).collect(),
        )?;
        for (line, name) in lines.iter_mut().zip(NAMES) {
            line.push((rows as f64, medians[name][1]));
        }
        if ROWS_MIN << step == ROWS {
            let figure = |name: &str, which: usize| medians[name][which];
            add_rows(bench, rows, &figure);
        }
    }
    add_rooms(bench, events)?;
    let series = NAMES.into_iter().zip(lines).map(|(name, points)| Series::new(name, points));
    bench.plot("fanout", "rows", "milliseconds until the last row has it", series.collect())
}

fn contender<'a>(
    way: &'a mut dyn FanOut,
    events: usize,
) -> Box<dyn FnMut() -> anyhow::Result<[f64; 2]> + 'a> {
    Box::new(move || measure(way, events))
}

/// Discord's measurement of one event in a large guild, with Erlang's sends: 0.9 to 2.1 s.
const SEED_MS: f64 = 900.0;

fn add_rows(bench: &mut Bench, rows: usize, figure: &dyn Fn(&str, usize) -> f64) {
    let row = |which: usize, what: &str, erlang: &str| {
        let mut row = Row::new(format!("{rows} rows, {what}"), figure(OURS, which), "ms");
        for peer in [PUSHES, MPSC, BROADCAST, WATCH] {
            row = row.beside(peer, figure(peer, which));
        }
        for (name, way) in [("sends", "send"), ("Manifold", "manifold"), ("workers", "workers")] {
            let value = bench.erlang(&format!("fanout_{way}_{erlang}"));
            row = row.beside(&format!("Erlang, {name}"), value);
        }
        row
    };
    let published = row(0, "the publisher goes on", "publish")
        .recorded("Discord, before Manifold", SEED_MS)
        .at_most_times(0.01, MPSC);
    let received = row(1, "the last has it", "last").at_most_times(0.2, MPSC);
    bench.report.add(published);
    bench.report.add(received);
}

/// Measures one poll with changes in many rooms of a few rows each: an append for each room, and one signal for each
/// partition.
fn add_rooms(bench: &mut Bench, events: usize) -> anyhow::Result<()> {
    let rooms = ROOMS / bench.effort.size(10, 1);
    let rows = ROWS / bench.effort.size(10, 1);
    let mut way = Owned::new(rows, rooms, Receiving::ByCursor)?;
    let medians = bench.medians_of(vec![(OURS, contender(&mut way, events))])?;
    for (which, what) in [(0, "the publisher goes on"), (1, "the last has it")] {
        let what = format!("{rows} rows in {rooms} rooms, one poll to all, {what}");
        bench.report.add(Row::new(what, medians[OURS][which], "ms"));
    }
    Ok(())
}
