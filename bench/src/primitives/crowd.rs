//! Threads that all do the same work for some time, and the amount done.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// The work done by one thread; on a separate cache line.
#[derive(Default)]
#[repr(align(128))]
struct Done(AtomicU64);

/// The handle of one thread in the crowd.
pub(super) struct Seat<'a> {
    stop: &'a AtomicBool,
    done: &'a Done,
}

impl Seat<'_> {
    /// Adds to the work done, and returns true if the thread must continue.
    pub(super) fn goes_on(&self, more: u64) -> bool {
        self.done.0.store(self.done.0.load(Relaxed) + more, Relaxed);
        !self.stop.load(Relaxed)
    }
}

/// Returns the work of all threads in a second, and the result of each. Meanwhile a separate thread calls `beside` at
/// each `tick`: a lock that starves its writer blocks that thread and not the measurement.
///
/// Only the work between two readings of this thread counts: on a busy machine the thread is scheduled late, at the
/// start as at the end.
pub(super) fn rate<T: Send>(
    threads: usize,
    time: Duration,
    tick: Duration,
    work: impl Fn(Seat<'_>) -> T + Sync,
    mut beside: impl FnMut() + Send,
) -> (f64, Vec<T>) {
    let (stop, start) = (AtomicBool::new(false), Barrier::new(threads + 1));
    let done: Vec<Done> = (0..threads).map(|_| Done::default()).collect();
    let so_far = || (Instant::now(), done.iter().map(|done| done.0.load(Relaxed)).sum::<u64>());
    thread::scope(|scope| {
        let spawn = |done| {
            let (stop, start, work) = (&stop, &start, &work);
            scope.spawn(move || {
                start.wait();
                work(Seat { stop, done })
            })
        };
        let crowd: Vec<_> = done.iter().map(spawn).collect();
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                beside();
                thread::sleep(tick.min(time));
            }
        });
        start.wait();
        let (begun, before) = so_far();
        thread::sleep(time);
        let (ended, after) = so_far();
        stop.store(true, Relaxed);
        let given = crowd.into_iter().map(|thread| thread.join().expect("a thread does its work"));
        ((after - before) as f64 / (ended - begun).as_secs_f64(), given.collect())
    })
}

/// Returns the millions of operations of all threads in 5 seconds, the unit of the published results.
pub(super) fn millions_in_5_s(
    threads: usize,
    time: Duration,
    work: impl Fn(Seat<'_>) + Sync,
) -> f64 {
    rate(threads, time, time, work, || ()).0 * 5.0 / 1e6
}
