//! One cache read in two ways: each reader loads the shared value, or requests it from the task that owns it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::Bench;
use super::producer::{MEDIUM, text};
use crate::report::Row;
use crate::rounds::Samples;

const READERS: usize = 64;
const THREADS: usize = 2;
const SECONDS: Duration = Duration::from_secs(2);
const SECONDS_QUICK: Duration = Duration::from_millis(100);
/// Reads between two readings of the clock.
const IN_A_ROW: u64 = 64;
/// Requests that may wait for the task.
const QUEUE: usize = 1_024;
const SWAP: Duration = Duration::from_millis(100);

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let time = if bench.effort.is_quick { SECONDS_QUICK } else { SECONDS };
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_time().build()?;
    let body = Bytes::from(text(MEDIUM.bytes, 0));
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        samples.add("ours", shared(&runtime, &body, time));
        samples.add("task", behind_a_task(&runtime, &body, time));
    }
    let what = format!("the cache read by {READERS} clients on {THREADS} cores");
    let ours = Row::new(what, samples.median("ours") / 1e6, "M/s");
    bench.report.add(ours.beside("behind one task", samples.median("task") / 1e6));
    Ok(())
}

/// Returns the reads a second of a value that a writer swaps.
fn shared(runtime: &Runtime, body: &Bytes, time: Duration) -> f64 {
    let cache = Arc::new(ArcSwap::from_pointee(body.clone()));
    let (swapped, fresh) = (Arc::clone(&cache), body.clone());
    let swapping = runtime.spawn(async move {
        loop {
            tokio::time::sleep(SWAP).await;
            swapped.store(Arc::new(fresh.clone()));
        }
    });
    let readers = (0..READERS).map(|_| {
        let cache = Arc::clone(&cache);
        runtime.spawn(async move {
            let (end, mut reads) = (Instant::now() + time, 0);
            while Instant::now() < end {
                for _ in 0..IN_A_ROW {
                    std::hint::black_box(Bytes::clone(&cache.load_full()));
                }
                reads += IN_A_ROW;
                tokio::task::yield_now().await;
            }
            reads
        })
    });
    let reads = joined(runtime, readers.collect());
    swapping.abort();
    reads as f64 / time.as_secs_f64()
}

/// Returns the reads a second of a value that one task owns and sends to readers.
fn behind_a_task(runtime: &Runtime, body: &Bytes, time: Duration) -> f64 {
    let (asking, mut asked) = mpsc::channel::<oneshot::Sender<Bytes>>(QUEUE);
    let mut held = body.clone();
    let fresh = body.clone();
    let owner = runtime.spawn(async move {
        let mut swap = tokio::time::interval(SWAP);
        loop {
            tokio::select! {
                reply = asked.recv() => match reply {
                    // A reader that has ended needs no answer.
                    Some(reply) => drop(reply.send(held.clone())),
                    None => return,
                },
                _ = swap.tick() => held = fresh.clone(),
            }
        }
    });
    let readers = (0..READERS).map(|_| {
        let asking = asking.clone();
        runtime.spawn(async move {
            let (end, mut reads) = (Instant::now() + time, 0);
            while Instant::now() < end {
                for _ in 0..IN_A_ROW {
                    let (reply, answer) = oneshot::channel();
                    if asking.send(reply).await.is_err() {
                        return reads;
                    }
                    std::hint::black_box(answer.await.ok());
                    reads += 1;
                }
            }
            reads
        })
    });
    let reads = joined(runtime, readers.collect());
    owner.abort();
    reads as f64 / time.as_secs_f64()
}

fn joined(runtime: &Runtime, readers: Vec<tokio::task::JoinHandle<u64>>) -> u64 {
    runtime.block_on(async {
        let mut reads = 0;
        for reader in readers {
            reads += reader.await.unwrap_or_default();
        }
        reads
    })
}
