//! `table` and `global`: one hot key whose 10 KiB value is replaced 100 times a second, read by increasing numbers of
//! threads; and a missing value that many tasks request at once.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Cache};
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
use parking_lot::{Mutex, RwLock};

use super::{Bench, Series, crowd};
use crate::report::Row;

/// Numbers of concurrent readers.
const READERS: [usize; 4] = [1, 2, 8, 64];
const VALUE_BYTES: usize = 10 * 1024;
/// Entries besides the hot one: a table with one entry would not be representative.
const KEYS: u64 = 64;
const HOT: u64 = 7;
const SWAP_INTERVAL: Duration = Duration::from_millis(10);
/// One read in this number is timed.
const SAMPLED: usize = 256;
/// Tasks that miss one key at once.
const ASKERS: usize = 64;
const LOAD_TIME: Duration = Duration::from_millis(2);

type Value = Arc<[u8]>;
/// Million reads a second of all readers, and the 99th percentile of a single read in ns.
type Figures = [f64; 2];

const OURS: &str = "table, borrowed";
const GLOBAL: &str = "arc-swap of the value, cached";
const ARC_SWAP: &str = "arc-swap of the value, guard";
const ARC_SWAP_MAP: &str = "arc-swap of a HashMap, guard";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let mut by_readers = Vec::new();
    for readers in READERS {
        let figures = measure(bench, readers)?;
        add_rows(bench, readers, &figures);
        by_readers.push((readers, figures));
    }
    add_growth(bench, &by_readers);
    let names: Vec<_> = by_readers[0].1.keys().copied().filter(|name| *name != OURS).collect();
    let series = [OURS].into_iter().chain(names).map(|name| {
        let points = by_readers.iter().map(|(readers, of)| (*readers as f64, of[name][0]));
        Series::new(name, points.collect())
    });
    let series = series.collect();
    bench.plot("table", "readers", "million reads a second", series)?;
    single_flight(bench)
}

fn measure(bench: &Bench, readers: usize) -> anyhow::Result<BTreeMap<&'static str, Figures>> {
    let time = Duration::from_millis(bench.effort.size(30, 250) as u64);
    bench.medians_of(vec![
        (OURS, Box::new(move || Ok(table(readers, time)))),
        (GLOBAL, Box::new(move || Ok(arc_swap_cached(readers, time)))),
        (ARC_SWAP, Box::new(move || Ok(arc_swap_value(readers, time)))),
        (ARC_SWAP_MAP, Box::new(move || Ok(arc_swap_map(readers, time)))),
        ("papaya", Box::new(move || Ok(papaya_map(readers, time)))),
        ("RwLock<HashMap>, cloned Arc", Box::new(move || Ok(rw_lock(readers, time)))),
        ("Mutex<HashMap>, cloned Arc", Box::new(move || Ok(mutex(readers, time)))),
        ("dashmap, cloned Arc", Box::new(move || Ok(dashmap_map(readers, time)))),
        ("actor thread", Box::new(move || Ok(actor(readers, time)))),
    ])
}

fn add_rows(bench: &mut Bench, readers: usize, figures: &BTreeMap<&'static str, Figures>) {
    let others = |ours: &'static str| figures.iter().filter(move |(name, _)| **name != ours);
    let of_readers = format!("{readers} reader{}", if readers == 1 { "" } else { "s" });

    let mut row =
        Row::new(format!("table, {of_readers} of one hot key"), figures[OURS][0], "M reads/s");
    for (name, [rate, _]) in others(OURS) {
        row = row.beside(name, *rate);
    }
    let recorded = [(1, 0.892, 10.6, 72.8), (2, 0.564, 10.7, 141.0), (8, 0.461, 10.2, 137.0)];
    for (name, place) in [("gen_server", 0), ("ets", 1), ("persistent_term", 2)] {
        let peer = format!("OTP {name}");
        row = row.beside(&peer, bench.erlang(&format!("table_{name}_{readers}")));
        if let Some((_, actor, ets, term)) = recorded.iter().find(|(of, ..)| *of == readers) {
            row = row.recorded(&peer, [*actor, *ets, *term][place]);
        }
    }
    bench.report.add(row.at_least_times(0.9, ARC_SWAP_MAP));

    let what = format!("table, {of_readers}: p99 of a single read");
    let mut row = Row::new(what, figures[OURS][1], "ns");
    for (name, [_, p99]) in others(OURS) {
        row = row.beside(name, *p99);
    }
    bench.report.add(row.at_most_times(2.0, ARC_SWAP_MAP));

    let what = format!("global (arc_swap::Cache), {of_readers}");
    let row =
        Row::new(what, figures[GLOBAL][0], "M reads/s").beside(ARC_SWAP, figures[ARC_SWAP][0]);
    bench.report.add(row.at_least_times(0.9, ARC_SWAP));

    let what = format!("global (arc_swap::Cache), {of_readers}: p99 of a single read");
    let row = Row::new(what, figures[GLOBAL][1], "ns").beside(ARC_SWAP, figures[ARC_SWAP][1]);
    bench.report.add(row.at_most_times(2.0, ARC_SWAP));
}

/// Adds the gain of a second reader: readers that write lose by it, others double.
fn add_growth(bench: &mut Bench, by_readers: &[(usize, BTreeMap<&'static str, Figures>)]) {
    let [(1, alone), (2, both), ..] = by_readers else { return };
    for (what, name) in [("table", OURS), ("global (arc_swap::Cache)", GLOBAL)] {
        let row = Row::new(format!("{what}, 2 readers beside 1"), both[name][0], "M reads/s");
        bench.report.add(row.beside("1 reader", alone[name][0]).at_least_times(1.8, "1 reader"));
    }
}

fn value(round: u64) -> Value {
    vec![round as u8; VALUE_BYTES].into()
}

fn entries() -> impl Iterator<Item = (u64, Value)> {
    (0..KEYS).map(|key| (key, value(key)))
}

/// Reads one byte of a value, at a varying place.
fn read_byte(value: &[u8], read: usize) -> u8 {
    value[read.wrapping_mul(4_099) % VALUE_BYTES]
}

/// Runs readers for some time while one writer swaps the value. `reader` is called on each reader's thread and returns
/// the read function.
fn compete<R: FnMut(usize) -> u8>(
    readers: usize,
    time: Duration,
    reader: impl Fn() -> R + Sync,
    swap: impl Fn(Value) + Send + Sync,
) -> Figures {
    let read_on = |seat: crowd::Seat<'_>| {
        let (mut read, mut samples) = (reader(), Vec::with_capacity(1 << 16));
        let mut n_reads = 0;
        while seat.goes_on(SAMPLED as u64) {
            for _ in 1..SAMPLED {
                black_box(read(n_reads));
                n_reads += 1;
            }
            let begun = Instant::now();
            black_box(read(n_reads));
            samples.push(begun.elapsed().as_nanos() as f64);
            n_reads += 1;
        }
        samples
    };
    let mut round = 0;
    let swap_on = || {
        round += 1;
        swap(value(round));
    };
    let (rate, samples) = crowd::rate(readers, time, SWAP_INTERVAL, read_on, swap_on);
    let mut samples = samples.concat();
    let at = samples.len() * 99 / 100;
    let p99 = match samples.is_empty() {
        true => f64::NAN,
        false => *samples.select_nth_unstable_by(at, f64::total_cmp).1,
    };
    [rate / 1e6, p99]
}

fn table(readers: usize, time: Duration) -> Figures {
    let limits = CacheLimits { entries: 1024, weight: 1024 * VALUE_BYTES, age: None };
    let table: LoadingCache<u64, Value> = LoadingCache::new(limits, |_, value| value.len());
    entries().for_each(|(key, value)| table.insert(key, value));
    let reader = || |n| table.pin_for_reading().get(&HOT).map_or(0, |value| read_byte(value, n));
    compete(readers, time, reader, |value| table.insert(HOT, value))
}

fn arc_swap_value(readers: usize, time: Duration) -> Figures {
    let global = ArcSwap::from_pointee(value(0));
    compete(
        readers,
        time,
        || |n| read_byte(&global.load(), n),
        |value| global.store(Arc::new(value)),
    )
}

fn arc_swap_cached(readers: usize, time: Duration) -> Figures {
    let global = ArcSwap::from_pointee(value(0));
    let reader = || {
        let mut cache = Cache::new(&global);
        move |n| read_byte(cache.load(), n)
    };
    compete(readers, time, reader, |value| global.store(Arc::new(value)))
}

fn arc_swap_map(readers: usize, time: Duration) -> Figures {
    let map = ArcSwap::from_pointee(entries().collect::<HashMap<_, _>>());
    let reader = || |n| map.load().get(&HOT).map_or(0, |value| read_byte(value, n));
    let swap = |value| {
        let mut changed = HashMap::clone(&map.load());
        changed.insert(HOT, value);
        map.store(Arc::new(changed));
    };
    compete(readers, time, reader, swap)
}

fn papaya_map(readers: usize, time: Duration) -> Figures {
    let map: papaya::HashMap<u64, Value> = entries().collect();
    let reader = || |n| map.pin().get(&HOT).map_or(0, |value| read_byte(value, n));
    let swap = |value| _ = map.pin().insert(HOT, value);
    compete(readers, time, reader, swap)
}

fn rw_lock(readers: usize, time: Duration) -> Figures {
    let map = RwLock::new(entries().collect::<HashMap<_, _>>());
    let find = || map.read().get(&HOT).cloned();
    let reader = || |n| find().map_or(0, |value| read_byte(&value, n));
    compete(readers, time, reader, |value| drop(map.write().insert(HOT, value)))
}

fn mutex(readers: usize, time: Duration) -> Figures {
    let map = Mutex::new(entries().collect::<HashMap<_, _>>());
    let find = || map.lock().get(&HOT).cloned();
    let reader = || |n| find().map_or(0, |value| read_byte(&value, n));
    compete(readers, time, reader, |value| drop(map.lock().insert(HOT, value)))
}

fn dashmap_map(readers: usize, time: Duration) -> Figures {
    let map: dashmap::DashMap<u64, Value> = entries().collect();
    let find = || map.get(&HOT).map(|found| Arc::clone(found.value()));
    let reader = || |n| find().map_or(0, |value| read_byte(&value, n));
    compete(readers, time, reader, |value| drop(map.insert(HOT, value)))
}

/// A message to the actor.
enum Told {
    Get(u64, crossbeam_channel::Sender<Option<Value>>),
    Put(u64, Value),
}

/// A thread that owns the map and answers the readers one by one.
fn actor(readers: usize, time: Duration) -> Figures {
    let (told, inbox) = crossbeam_channel::unbounded();
    let owner = thread::spawn(move || {
        let mut map: HashMap<_, _> = entries().collect();
        for told in inbox {
            match told {
                // A reader that has ended needs no answer.
                Told::Get(key, reply) => _ = reply.send(map.get(&key).cloned()),
                Told::Put(key, value) => drop(map.insert(key, value)),
            }
        }
    });
    let reader = || {
        let (reply, answers) = crossbeam_channel::bounded(1);
        let told = told.clone();
        move |n| {
            told.send(Told::Get(HOT, reply.clone())).expect("the actor lives");
            let answer = answers.recv().expect("the actor answers");
            answer.map_or(0, |value| read_byte(&value, n))
        }
    };
    let swap = |value| told.send(Told::Put(HOT, value)).expect("the actor lives");
    let figures = compete(readers, time, reader, swap);
    drop(told);
    owner.join().expect("the actor ends when nobody asks any more");
    figures
}

/// Measures many tasks that miss one key at the same time: the number of loads, and the time until all have the value.
fn single_flight(bench: &mut Bench) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let figures = bench.medians_of(vec![
        ("ours", Box::new(|| Ok(runtime.block_on(table_misses())))),
        ("tokio OnceCell", Box::new(|| Ok(runtime.block_on(once_cell_misses())))),
    ])?;
    let ([loads, micros], [others_loads, others_micros]) =
        (figures["ours"], figures["tokio OnceCell"]);
    let row = Row::new(format!("table, {ASKERS} tasks miss one key"), loads, "loads");
    let row = row.beside("tokio OnceCell", others_loads).recorded("moka get_with", 1.0);
    bench.report.add(row.at_most(1.0));
    let what = format!("table, {ASKERS} tasks miss one key: until all have it, loading takes 2 ms");
    let row = Row::new(what, micros, "µs").beside("tokio OnceCell", others_micros);
    bench.report.add(row.recorded("moka get_with", 3_281.0));
    Ok(())
}

/// Counts a load that takes some time.
async fn load(loads: &AtomicU64) -> Value {
    loads.fetch_add(1, Relaxed);
    let slept = tokio::task::spawn_blocking(|| thread::sleep(LOAD_TIME)).await;
    slept.expect("sleeping does not fail");
    value(0)
}

async fn table_misses() -> Figures {
    let limits = CacheLimits { entries: 16, weight: 16 * VALUE_BYTES, age: None };
    let table: Arc<LoadingCache<u64, Value>> =
        Arc::new(LoadingCache::new(limits, |_, value| value.len()));
    misses(|loads| {
        let table = Arc::clone(&table);
        async move {
            let Ok(value) = table.get_or_load(HOT, async || Ok(load(&loads).await)).await;
            value
        }
    })
    .await
}

async fn once_cell_misses() -> Figures {
    let cell = Arc::new(tokio::sync::OnceCell::new());
    misses(|loads| {
        let cell = Arc::clone(&cell);
        async move { Value::clone(cell.get_or_init(async || load(&loads).await).await) }
    })
    .await
}

async fn misses<F>(ask: impl Fn(Arc<AtomicU64>) -> F) -> Figures
where
    F: Future<Output = Value> + Send + 'static,
{
    let loads = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let tasks: Vec<_> = (0..ASKERS).map(|_| tokio::spawn(ask(Arc::clone(&loads)))).collect();
    for task in tasks {
        assert_eq!(task.await.expect("a task asks").len(), VALUE_BYTES);
    }
    [loads.load(Relaxed) as f64, begun.elapsed().as_secs_f64() * 1e6]
}
