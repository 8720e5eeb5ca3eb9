//! `mailbox`: many threads send, one receives; messages of one word and of 800 bytes.

mod contenders;

use std::{collections::BTreeMap, fs, time::Duration};

use anyhow::Context as _;
use lineside_sync::mailbox::{self, MailboxOptions};

use self::contenders::{
    ConcurrentQueue, Crossbeam, CrossbeamUnbounded, Crossfire, Flume, Kanal, KanalUnbounded, Large,
    Message, Ours, Std, Thingbuf, Tokio, Word, rate,
};
use super::{Bench, Contender, Series};
use crate::report::Row;

const UNIT: &str = "M/s";
/// Bounded queues that block the sender when full: the peers of our goals.
const BOUNDED: [&str; 5] = ["crossbeam", "kanal", "crossfire", "flume", "thingbuf"];
/// Contenders that are measured with every number of senders.
const SWEPT: [&str; 5] = ["ours", "crossbeam", "kanal", "crossfire", "thingbuf"];
const SENDERS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Results of Erlang/OTP 25 on 2 cores of the Sapphire Rapids class, used if `erl` is not installed.
const RECORDED: [(&str, f64); 4] = [
    ("off_heap_1", 4.84),
    ("off_heap_16", 7.45),
    ("off_heap_1_800b", 1.30),
    ("off_heap_16_800b", 0.761),
];

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    idle(bench)?;
    let words = sweep(bench, contenders_of::<Word>)?;
    rows(bench, &words, "1 word", "");
    let large = sweep(bench, contenders_of::<Large>)?;
    rows(bench, &large, "800 bytes", "_800b");
    plot(bench, "mailbox", &words)?;
    plot(bench, "mailbox-800b", &large)?;
    backlog(bench)
}

/// Rates by number of senders and contender.
type Rates = BTreeMap<usize, BTreeMap<&'static str, f64>>;

/// Measures one and sixteen senders with all contenders, and other numbers with the swept contenders.
fn sweep(
    bench: &Bench,
    contenders: fn(usize, Duration) -> Vec<Contender<'static>>,
) -> anyhow::Result<Rates> {
    let length = Duration::from_millis(bench.effort.size(20, 150) as u64);
    let mut rates = Rates::new();
    for n_senders in SENDERS {
        let mut contenders = contenders(n_senders, length);
        if ![1, 16].contains(&n_senders) {
            contenders.retain(|(name, _)| SWEPT.contains(name));
        }
        rates.insert(n_senders, bench.medians(contenders)?);
    }
    Ok(rates)
}

macro_rules! contenders {
    ($message:ty, $n_senders:expr, $length:expr, $($name:literal: $queue:ty),+ $(,)?) => {
        vec![$((
            $name,
            Box::new(move || Ok(rate::<$message, $queue>($n_senders, $length)))
                as Box<dyn FnMut() -> anyhow::Result<f64>>,
        )),+]
    };
}

fn contenders_of<M: Message>(n_senders: usize, length: Duration) -> Vec<Contender<'static>> {
    contenders!(
        M, n_senders, length,
        "ours": Ours<false>,
        "ours, one by one": Ours<true>,
        "crossbeam": Crossbeam,
        "crossbeam unbounded": CrossbeamUnbounded,
        "kanal": Kanal,
        "kanal unbounded": KanalUnbounded,
        "crossfire": Crossfire,
        "flume": Flume,
        "thingbuf": Thingbuf,
        "concurrent-queue, spinning": ConcurrentQueue,
        "std sync_channel": Std,
        "tokio mpsc": Tokio,
    )
}

fn rows(bench: &mut Bench, rates: &Rates, size: &str, suffix: &str) {
    for (&n_senders, rates) in rates {
        let ours = rates.get("ours").copied().unwrap_or(f64::NAN);
        let mut row = Row::new(format!("mailbox, {n_senders} senders, {size}"), ours, UNIT);
        for (&name, &rate) in rates.iter().filter(|(name, _)| **name != "ours") {
            row = row.beside(name, rate);
        }
        if [1, 16].contains(&n_senders) {
            for (label, heap) in [("Erlang on_heap", "on_heap"), ("Erlang off_heap", "off_heap")] {
                let figure = format!("{heap}_{n_senders}{suffix}");
                row = row.beside(label, bench.erlang(&format!("mailbox_{figure}")));
                for (_, rate) in RECORDED.iter().filter(|(name, _)| **name == figure) {
                    row = row.recorded(label, *rate);
                }
            }
        }
        let rate_of = |name: &&str| rates.get(*name).copied().unwrap_or(0.0);
        let fastest = BOUNDED.into_iter().max_by(|a, b| rate_of(a).total_cmp(&rate_of(b)));
        if let Some(fastest) = fastest {
            row = match (n_senders, suffix) {
                (1, "") => row.at_least_times(1.0 / 1.5, fastest),
                (16, "") => {
                    row.at_least_times(2.0, fastest).at_least_times(10.0, "Erlang off_heap")
                }
                (16, _) => row.at_least_times(1.0, fastest),
                _ => row,
            };
        }
        bench.report.add(row);
    }
}

fn plot(bench: &mut Bench, name: &'static str, rates: &Rates) -> anyhow::Result<()> {
    let series = SWEPT.into_iter().map(|name| {
        let points = rates.iter().filter_map(|(n, rates)| Some((*n as f64, *rates.get(name)?)));
        Series::new(name, points.collect())
    });
    bench.plot(name, "senders", "million messages a second", series.collect())
}

/// Measures the largest backlog with 16 senders that send at full speed.
fn backlog(bench: &mut Bench) -> anyhow::Result<()> {
    let options = MailboxOptions::default();
    let slots_in_use = 16;
    // The capacity of the slots and of the single queue, and the same amount held by the receiver.
    let bound = 2 * (options.credits + slots_in_use * options.slot_credits);
    let length = Duration::from_millis(bench.effort.size(20, 150) as u64);
    let ours = contenders::backlog::<Large, Ours<false>>(slots_in_use, length);
    let kanal = contenders::backlog::<Large, KanalUnbounded>(slots_in_use, length);
    let row = Row::new("mailbox, largest backlog of 16 senders, 800 bytes", ours as f64, "");
    bench.report.add(row.beside("kanal unbounded", kanal as f64).at_most(bound as f64));
    Ok(())
}

/// Measures the memory of an unused mailbox. This comes first: memory freed by other measurements would not count.
fn idle(bench: &mut Bench) -> anyhow::Result<()> {
    let n = bench.effort.size(2_000, 20_000);
    let (ours, _all) = bytes_each(n, || mailbox::new::<Word>(MailboxOptions::default()))?;
    let (tokio, _all) = bytes_each(n, || tokio::sync::mpsc::channel::<Word>(1_024))?;
    let (kanal, _all) = bytes_each(n, || kanal::bounded::<Word>(1_024))?;
    let (flume, _all) = bytes_each(n, || flume::bounded::<Word>(1_024))?;
    let (crossbeam, _all) = bytes_each(n / 10, || crossbeam_channel::bounded::<Word>(1_024))?;
    let row = Row::new("mailbox, memory of an idle one", ours, "B").beside("tokio mpsc", tokio);
    let row = row.beside("kanal", kanal).beside("flume", flume).beside("crossbeam", crossbeam);
    bench.report.add(row);
    Ok(())
}

/// Returns the process's growth for each of `n` values from `make`, and the values, which are still alive.
fn bytes_each<T>(n: usize, make: impl Fn() -> T) -> anyhow::Result<(f64, Vec<T>)> {
    let before = resident()?;
    let all: Vec<T> = (0..n).map(|_| make()).collect();
    let after = resident()?;
    Ok((after.saturating_sub(before) as f64 / n as f64, all))
}

/// Returns the resident bytes of this process.
fn resident() -> anyhow::Result<usize> {
    let statm = fs::read_to_string("/proc/self/statm").context("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).context("/proc/self/statm has a second word")?;
    Ok(pages.parse::<usize>()? * 4_096)
}
