//! `hashring`: lookups of a key's owner, on a ring of 1,024 virtual nodes behind arc-swap.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault};
use std::hint::black_box;
use std::thread;
use std::time::Instant;

use arc_swap::ArcSwap;
use lineside_sync::hashring::{HashRing, HashRingMember, POINTS_PER_WEIGHT};
use xxhash_rust::xxh3::Xxh3;

use super::{Bench, Series};
use crate::report::Row;

/// Nodes whose points add up to 1,024.
const NODES: u32 = 1_024 / POINTS_PER_WEIGHT;
const KEYS: usize = 4_096;
const THREADS: [usize; 3] = [1, 2, 8];

const CRATE: &str = "hashring crate, its own hash";
const CRATE_XXH3: &str = "hashring crate, xxh3";

/// A virtual node of the crate, which represents weight by repeated nodes.
#[derive(Debug, Clone, Copy, Hash)]
struct Virtual {
    node: u32,
    point: u32,
}

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let lookups = bench.effort.size(20_000, 2_000_000);
    let keys: Vec<String> = (0..KEYS).map(|n| format!("network-{n}")).collect();
    let members = (0..NODES).map(|node| HashRingMember::new(&format!("node-{node}"), 1));
    let ours = ArcSwap::from_pointee(HashRing::new(members)?);
    let siphash = ArcSwap::from_pointee(filled(hashring::HashRing::new()));
    let xxh3 = hashring::HashRing::with_hasher(BuildHasherDefault::<Xxh3>::default());
    let xxh3 = ArcSwap::from_pointee(filled(xxh3));

    let mut by_threads = Vec::new();
    for threads in THREADS {
        let keys = &keys;
        let run_ours = || {
            spread(threads, lookups, keys, |key| {
                ours.load().find_owner(key.as_bytes()).map_or(0, |owner| owner.len())
            })
        };
        let run_siphash = || spread(threads, lookups, keys, |key| node_of(&siphash.load(), key));
        let run_xxh3 = || spread(threads, lookups, keys, |key| node_of(&xxh3.load(), key));
        let figures = bench.medians(vec![
            ("ours", Box::new(|| Ok(run_ours()))),
            (CRATE, Box::new(|| Ok(run_siphash()))),
            (CRATE_XXH3, Box::new(|| Ok(run_xxh3()))),
        ])?;
        add_row(bench, threads, &figures);
        by_threads.push((threads as f64, figures));
    }
    let series = ["ours", CRATE, CRATE_XXH3].map(|name| {
        let points = by_threads.iter().map(|(threads, figures)| (*threads, figures[name]));
        Series::new(name, points.collect())
    });
    bench.plot("hashring", "threads", "ns a lookup, of all threads together", series.into())
}

fn add_row(bench: &mut Bench, threads: usize, figures: &BTreeMap<&'static str, f64>) {
    let of_threads = format!("{threads} thread{}", if threads == 1 { "" } else { "s" });
    let what = format!("hashring, 1,024 virtual nodes, {of_threads}: wall time a lookup");
    let mut row = Row::new(what, figures["ours"], "ns")
        .beside(CRATE, figures[CRATE])
        .beside(CRATE_XXH3, figures[CRATE_XXH3]);
    if threads == 1 {
        let peers = [("process", 773.0, 12_000.0), ("ets", 5_298.0, 7_000.0)];
        for (name, here, published) in peers.into_iter().chain([("persistent_term", 147.0, 300.0)])
        {
            let peer = format!("OTP {name}");
            row = row
                .beside(&peer, bench.erlang(&format!("hashring_{name}")))
                .recorded(&peer, here)
                .recorded(&format!("OTP {name}, published"), published);
        }
    }
    bench.report.add(row.at_most_times(1.2, CRATE).at_most_times(1.2, CRATE_XXH3));
}

fn filled<S: BuildHasher>(
    mut ring: hashring::HashRing<Virtual, S>,
) -> hashring::HashRing<Virtual, S> {
    let points = 0..POINTS_PER_WEIGHT;
    let all = (0..NODES).flat_map(|node| points.clone().map(move |point| Virtual { node, point }));
    ring.batch_add(all.collect());
    ring
}

fn node_of<S: BuildHasher>(ring: &hashring::HashRing<Virtual, S>, key: &str) -> usize {
    ring.get(&key).map_or(0, |found| found.node as usize)
}

/// Returns the wall time in ns of one lookup, with all lookups spread over threads.
fn spread(
    threads: usize,
    lookups: usize,
    keys: &[String],
    look_up: impl Fn(&str) -> usize + Sync,
) -> f64 {
    let each = lookups / threads;
    let begun = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            let look_up = &look_up;
            scope.spawn(move || {
                for n in 0..each {
                    black_box(look_up(&keys[(n * 31 + thread) % KEYS]));
                }
            });
        }
    });
    begun.elapsed().as_nanos() as f64 / (each * threads) as f64
}
