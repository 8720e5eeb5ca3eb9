//! Who waits to be looked at: each feed once, in the order in which they came, so many at most; and the slots.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lineside_ingest::{FeedId, Refused};
use lineside_sync::histogram::{self, Histogram};
use lineside_sync::semaphore::{OwnedPermit, Semaphore};
use parking_lot::Mutex;

/// What is to be looked at.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) feed: FeedId,
    /// Bytes that ingest refused; without them it is the version that is served when the look begins.
    pub(super) refused: Option<Arc<Refused>>,
}

/// Those who wait, and the slots in which they are looked at.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<Job>>,
    running: Mutex<HashSet<FeedId>>,
    slots: Arc<Semaphore>,
    counts: Counts,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            running: Mutex::default(),
            slots: Arc::new(Semaphore::new(0)),
            counts: Counts::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    finished: AtomicU64,
    unfinished: AtomicU64,
    refused: AtomicU64,
    replaced: AtomicU64,
    took: Histogram,
}

/// What waits and runs, and what came of it so far.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Feeds whose newest version waits.
    pub(crate) waiting: usize,
    /// Slots, and how many of them are taken.
    pub(crate) slots: u32,
    pub(crate) running: u32,
    /// Looks that ended with a word on the data.
    pub(crate) finished: u64,
    /// Looks that we gave up, or that broke off.
    pub(crate) unfinished: u64,
    /// Times that a feed found the queue full; it comes again.
    pub(crate) refused: u64,
    /// Versions whose place in the queue a newer one took.
    pub(crate) replaced: u64,
    /// How long looks took.
    pub(crate) took: histogram::Snapshot,
}

/// How far it is with a feed that is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It waits, and so many feeds before it.
    Waits(usize),
    /// It is looked at right now.
    IsLookedAt,
}

impl Queue {
    pub(super) fn set_slots(&self, slots: usize) {
        self.slots.set_limit(u32::try_from(slots).unwrap_or(u32::MAX));
    }

    /// Has the newest version of a feed wait, in the place of an older one if there is one. Tells whether it waits.
    pub(super) fn push(&self, job: Job, most: usize) -> bool {
        let mut waiting = self.waiting.lock();
        if let Some(older) = waiting.iter_mut().find(|older| older.feed == job.feed) {
            *older = job;
            self.counts.replaced.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        if waiting.len() >= most {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        waiting.push_back(job);
        true
    }

    /// The next one with a slot for it, if there is one free. A feed whose last version is still looked at lets others pass.
    pub(super) fn next(&self) -> Option<(Job, OwnedPermit)> {
        let mut waiting = self.waiting.lock();
        let mut running = self.running.lock();
        let place = waiting.iter().position(|job| !running.contains(&job.feed))?;
        let permit = self.slots.try_acquire_owned()?;
        let job = waiting.remove(place)?;
        running.insert(job.feed.clone());
        Some((job, permit))
    }

    /// A look has ended; `took` if it said something of the data.
    pub(super) fn finish(&self, feed: &FeedId, took: Option<Duration>) {
        self.running.lock().remove(feed);
        let count = if took.is_some() { &self.counts.finished } else { &self.counts.unfinished };
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(took) = took {
            self.counts.took.record_duration(took);
        }
    }

    /// Lets go of feeds that are gone.
    pub(super) fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.waiting.lock().retain(|job| is_there(job.feed.as_str()));
    }

    /// How far it is with a feed; none if nothing of it is to be looked at.
    pub(super) fn standing(&self, feed: &str) -> Option<Standing> {
        if self.running.lock().iter().any(|id| id.as_str() == feed) {
            return Some(Standing::IsLookedAt);
        }
        let place = self.waiting.lock().iter().position(|job| job.feed.as_str() == feed);
        place.map(Standing::Waits)
    }

    pub(super) fn figures(&self) -> Figures {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Figures {
            waiting: self.waiting.lock().len(),
            slots: self.slots.limit(),
            running: self.slots.held(),
            finished: count(&self.counts.finished),
            unfinished: count(&self.counts.unfinished),
            refused: count(&self.counts.refused),
            replaced: count(&self.counts.replaced),
            took: self.counts.took.snapshot(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(feed: &str) -> Job {
        Job { feed: FeedId::new(feed).unwrap(), refused: None }
    }

    #[test]
    fn it_is_bounded_keeps_its_order_and_the_newest_takes_the_place_of_the_older() {
        let queue = Queue::default();
        queue.set_slots(1);
        assert!(queue.push(job("a"), 2) && queue.push(job("b"), 2));
        assert!(!queue.push(job("c"), 2), "it is full");
        assert!(queue.push(job("a"), 2), "a newer version of who waits already");
        let figures = queue.figures();
        assert_eq!((figures.waiting, figures.refused, figures.replaced), (2, 1, 1));
        let (first, permit) = queue.next().unwrap();
        assert_eq!(first.feed.as_str(), "a");
        assert!(queue.next().is_none(), "the only slot is taken");
        assert_eq!(queue.standing("a"), Some(Standing::IsLookedAt));
        assert_eq!((queue.standing("b"), queue.standing("c")), (Some(Standing::Waits(0)), None));
        drop(permit);
        assert!(queue.push(job("a"), 2));
        let (second, permit) = queue.next().unwrap();
        assert_eq!(second.feed.as_str(), "b");
        drop(permit);
        assert!(queue.next().is_none(), "its last version is still looked at");
        queue.finish(&first.feed, Some(Duration::from_millis(5)));
        assert_eq!(queue.next().unwrap().0.feed.as_str(), "a");
        assert_eq!(queue.figures().finished, 1);
    }
}
