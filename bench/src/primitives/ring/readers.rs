//! Readers with cursors against one writer that never waits, compared with tokio's `broadcast`, which is a ring of the
//! same kind: the entries that all readers together receive in a second.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lineside_sync::ring::{MissedRingEntries, Ring, RingBounds, RingCursor, SharedRing};
use tokio::sync::broadcast::{self, error::TryRecvError};

use super::{Bench, Content, ITEM_BYTES};
use crate::plot::Series;

const READERS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const KEPT: usize = 1_024;
const OURS: &str = "Lineside";
const BROADCAST: &str = "tokio broadcast";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let span = Duration::from_millis(bench.effort.size(5, 100) as u64);
    let mut lines = [Vec::new(), Vec::new()];
    for readers in READERS {
        let medians = bench.medians(vec![
            (OURS, Box::new(move || Ok(ours(readers, span)))),
            (BROADCAST, Box::new(move || Ok(broadcast(readers, span)))),
        ])?;
        for (line, name) in lines.iter_mut().zip([OURS, BROADCAST]) {
            line.push((readers as f64, medians[name]));
        }
    }
    let [ours, broadcast] = lines;
    let series = vec![Series::new(OURS, ours), Series::new(BROADCAST, broadcast)];
    bench.plot("ring", "readers of one fast writer", "million entries taken a second", series)
}

/// Runs readers until the stop flag is set, while `write` is called repeatedly. Returns millions of entries a second.
fn against<R: FnMut(&AtomicBool) -> u64 + Send>(
    readers: Vec<R>,
    span: Duration,
    mut write: impl FnMut(),
) -> f64 {
    let (over, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    thread::scope(|scope| {
        for mut reader in readers {
            let (over, taken) = (&over, &taken);
            scope.spawn(move || taken.fetch_add(reader(over), Ordering::Relaxed));
        }
        while start.elapsed() < span {
            write();
        }
        over.store(true, Ordering::Release);
    });
    taken.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn ours(readers: usize, span: Duration) -> f64 {
    let log: SharedRing<Ring<Content>> = SharedRing::new(Ring::new(0));
    let log = &log;
    let reader = || {
        move |over: &AtomicBool| {
            let (mut cursor, mut entries, mut taken) =
                (RingCursor::cursor_at_offset(0), Vec::new(), 0);
            while !over.load(Ordering::Acquire) {
                if !log.has_unseen_changes(&cursor) {
                    thread::yield_now();
                    continue;
                }
                let missed = log.take_entries_after(&mut cursor, usize::MAX, &mut entries);
                debug_assert_ne!(missed, MissedRingEntries::Uncounted);
                taken += entries.len() as u64;
                entries.clear();
            }
            taken
        }
    };
    let event: Arc<Content> = Arc::new([7; ITEM_BYTES]);
    against((0..readers).map(|_| reader()).collect(), span, || {
        log.append_next(event.clone(), RingBounds { entries: KEPT, ..RingBounds::NONE });
    })
}

fn broadcast(readers: usize, span: Duration) -> f64 {
    let (sender, _) = broadcast::channel::<Arc<Content>>(KEPT);
    let reader = || {
        let mut receiver = sender.subscribe();
        move |over: &AtomicBool| {
            let mut taken = 0;
            while !over.load(Ordering::Acquire) {
                match receiver.try_recv() {
                    Ok(_) => taken += 1,
                    Err(TryRecvError::Lagged(_)) => {}
                    Err(_) => thread::yield_now(),
                }
            }
            taken
        }
    };
    let event: Arc<Content> = Arc::new([7; ITEM_BYTES]);
    against((0..readers).map(|_| reader()).collect(), span, || {
        // All receivers live until the writer stops or the counting is over.
        let _sent = sender.send(event.clone());
    })
}
