//! Which versions wait for which validator: each pair of feed and validator once, in the order in which they came, so many at
//! most. One runs at a time: a program takes what threads and gigabytes it likes.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lineside_ingest::FeedId;
use lineside_sync::histogram::{self, Histogram};
use lineside_sync::semaphore::{OwnedPermit, Semaphore};
use parking_lot::Mutex;

use crate::config::Validator;

/// Programs that run at once.
const SLOTS: u32 = 1;

/// A feed whose version is to be given to a validator: the one that is served when its turn comes.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) feed: FeedId,
    pub(super) validator: Arc<Validator>,
}

impl Job {
    fn is_of(&self, feed: &str, validator: &str) -> bool {
        self.feed.as_str() == feed && self.validator.name == validator
    }
}

/// Those who wait, and the slot in which one runs.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<Job>>,
    running: Mutex<HashSet<(FeedId, String)>>,
    slots: Arc<Semaphore>,
    counts: Counts,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            running: Mutex::default(),
            slots: Arc::new(Semaphore::new(SLOTS)),
            counts: Counts::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    finished: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    replaced: AtomicU64,
    took: Histogram,
}

/// What waits and runs, and what came of it so far.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Versions that wait for a validator.
    pub(crate) waiting: usize,
    pub(crate) running: u32,
    /// Runs that said something of the data.
    pub(crate) finished: u64,
    /// Runs that did not.
    pub(crate) failed: u64,
    /// Times that a version found the queue full; it comes again.
    pub(crate) refused: u64,
    /// Versions whose place in the queue a newer one took.
    pub(crate) replaced: u64,
    /// How long runs took that said something.
    pub(crate) took: histogram::Snapshot,
}

impl Queue {
    /// Has the newest version of a feed wait for a validator, in the place of an older one if there is one. Tells whether it
    /// waits.
    pub(super) fn push(&self, job: Job, most: usize) -> bool {
        let mut waiting = self.waiting.lock();
        let is_it = |older: &&mut Job| older.is_of(job.feed.as_str(), &job.validator.name);
        if let Some(older) = waiting.iter_mut().find(is_it) {
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

    /// The next one with the slot for it, if that is free.
    pub(super) fn next(&self) -> Option<(Job, OwnedPermit)> {
        let mut waiting = self.waiting.lock();
        waiting.front()?;
        let permit = self.slots.try_acquire_owned()?;
        let job = waiting.pop_front()?;
        self.running.lock().insert((job.feed.clone(), job.validator.name.to_string()));
        Some((job, permit))
    }

    /// A run has ended; `took` if it said something of the data.
    pub(super) fn finish(&self, job: &Job, took: Option<Duration>) {
        self.running.lock().remove(&(job.feed.clone(), job.validator.name.to_string()));
        let count = if took.is_some() { &self.counts.finished } else { &self.counts.failed };
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(took) = took {
            self.counts.took.record_duration(took);
        }
    }

    /// Lets go of feeds and validators that are gone.
    pub(super) fn retain(&self, is_there: impl Fn(&str, &str) -> bool) {
        self.waiting.lock().retain(|job| is_there(job.feed.as_str(), &job.validator.name));
    }

    /// Whether a feed's newest version waits for a validator, or it looks at one right now.
    pub(super) fn is_pending(&self, feed: &str, validator: &str) -> bool {
        let is_it = |(id, name): &(FeedId, String)| id.as_str() == feed && name == validator;
        self.waiting.lock().iter().any(|job| job.is_of(feed, validator))
            || self.running.lock().iter().any(is_it)
    }

    pub(super) fn figures(&self) -> Figures {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Figures {
            waiting: self.waiting.lock().len(),
            running: self.slots.held(),
            finished: count(&self.counts.finished),
            failed: count(&self.counts.failed),
            refused: count(&self.counts.refused),
            replaced: count(&self.counts.replaced),
            took: self.counts.took.snapshot(),
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside_formats::Format;
    use lineside_ingest::Program;

    use super::*;

    fn job(feed: &str, name: &str) -> Job {
        let program = Program { command: Vec::new(), timeout: Duration::ZERO, memory: 0 };
        let validator = Validator { name: name.into(), format: Format::Gtfs, program };
        Job { feed: FeedId::new(feed).unwrap(), validator: Arc::new(validator) }
    }

    #[test]
    fn it_is_bounded_and_the_newest_takes_the_place_of_the_older_of_the_same_validator() {
        let queue = Queue::default();
        assert!(queue.push(job("a", "x"), 2) && queue.push(job("a", "y"), 2));
        assert!(!queue.push(job("b", "x"), 2), "it is full");
        assert!(queue.push(job("a", "x"), 2), "a newer version of who waits already");
        let figures = queue.figures();
        assert_eq!((figures.waiting, figures.refused, figures.replaced), (2, 1, 1));
        let (first, permit) = queue.next().unwrap();
        assert_eq!(first.validator.name, "x");
        assert!(queue.next().is_none(), "one runs at a time");
        assert!(queue.is_pending("a", "x") && queue.is_pending("a", "y"));
        assert!(!queue.is_pending("b", "x"));
        queue.finish(&first, None);
        drop(permit);
        assert!(!queue.is_pending("a", "x"));
        queue.retain(|_, name| name == "x");
        assert!(queue.next().is_none());
        assert_eq!((queue.figures().failed, queue.figures().finished), (1, 0));
    }
}
