//! Threads that all do the same for some time, and how much they did within it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// What one thread has done; on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Done(AtomicU64);

/// One thread's place in the crowd.
pub(super) struct Seat<'a> {
    stop: &'a AtomicBool,
    done: &'a Done,
}

impl Seat<'_> {
    /// Notes that so much more was done, and says whether to go on.
    pub(super) fn goes_on(&self, more: u64) -> bool {
        self.done.0.store(self.done.0.load(Relaxed) + more, Relaxed);
        !self.stop.load(Relaxed)
    }
}

/// What all threads together do in a second, and what each gives in the end. `beside` is called on a thread of its own
/// meanwhile at each `tick`: a lock that starves its writer holds up that thread and not the measurement.
///
/// What counts is done between two looks of this thread: on a crowded machine it comes to its turn late, at the
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

/// Millions that so many threads do in 5 seconds, as the published figures are given.
pub(super) fn millions_in_5_s(
    threads: usize,
    time: Duration,
    work: impl Fn(Seat<'_>) + Sync,
) -> f64 {
    rate(threads, time, time, work, || ()).0 * 5.0 / 1e6
}
