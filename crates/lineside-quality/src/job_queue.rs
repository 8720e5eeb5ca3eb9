//! A bounded job queue with a few slots: each key waits once, in the order of arrival.
//!
//! A newer job of a key replaces the waiting one, and waits while an older job of its key runs; jobs of other keys
//! overtake it. A full queue refuses a job, and the caller retries later.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lineside_sync::histogram::{self, Histogram};
use lineside_sync::semaphore::{OwnedPermit, Semaphore};
use parking_lot::Mutex;

/// The waiting jobs, and the slots in which they run; no job runs before
/// [`set_max_running`](JobQueue::set_max_running).
#[derive(Debug)]
pub struct JobQueue<K, J> {
    waiting: Mutex<VecDeque<(K, J)>>,
    running: Mutex<HashSet<K>>,
    slots: Arc<Semaphore>,
    counts: QueueCounters,
}

#[derive(Debug, Default)]
struct QueueCounters {
    finished: AtomicU64,
    aborted: AtomicU64,
    rejected: AtomicU64,
    superseded: AtomicU64,
    took: Histogram,
}

/// Statistics of a queue.
#[derive(Debug)]
pub struct QueueStats {
    /// Number of waiting jobs, one per key.
    pub waiting: usize,
    /// Number of slots, and of those in use.
    pub slots: u32,
    pub running: u32,
    /// Jobs that ended with a result.
    pub finished: u64,
    /// Jobs that ended without a result.
    pub aborted: u64,
    /// Times that the full queue refused a job.
    pub rejected: u64,
    /// Waiting jobs that a newer one replaced.
    pub superseded: u64,
    /// Durations of the jobs that ended with a result.
    pub took: histogram::HistogramSnapshot,
}

/// The state of a key's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// The job waits, with this many before it.
    Waiting(usize),
    /// The job runs.
    Running,
}

impl<K, J> Default for JobQueue<K, J> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            running: Mutex::default(),
            slots: Arc::new(Semaphore::new(0)),
            counts: QueueCounters::default(),
        }
    }
}

impl<K: Clone + Eq + Hash, J> JobQueue<K, J> {
    /// Sets the number of jobs that run at the same time.
    pub fn set_max_running(&self, slots: usize) {
        self.slots.set_limit(u32::try_from(slots).unwrap_or(u32::MAX));
    }

    /// Adds a job, in place of a waiting one of the same key, else if fewer than `queue_max` wait. Returns false if the
    /// queue is full.
    pub fn push(&self, key: K, job: J, queue_max: usize) -> bool {
        let mut waiting = self.waiting.lock();
        if let Some((_, older)) = waiting.iter_mut().find(|(other, _)| *other == key) {
            *older = job;
            self.counts.superseded.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        if waiting.len() >= queue_max {
            self.counts.rejected.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        waiting.push_back((key, job));
        true
    }

    /// Starts the first job whose key does not run, if a slot is free. The job runs until
    /// [`mark_job_finished`](Self::mark_job_finished).
    pub fn start_next_job(&self) -> Option<(K, J, OwnedPermit)> {
        let mut waiting = self.waiting.lock();
        let mut running = self.running.lock();
        let position = waiting.iter().position(|(key, _)| !running.contains(key))?;
        let permit = self.slots.try_acquire_owned()?;
        let (key, job) = waiting.remove(position)?;
        running.insert(key.clone());
        Some((key, job, permit))
    }

    /// Marks the job of a key as ended; `took` is `Some` if it had a result.
    pub fn mark_job_finished(&self, key: &K, took: Option<Duration>) {
        self.running.lock().remove(key);
        let count = if took.is_some() { &self.counts.finished } else { &self.counts.aborted };
        count.fetch_add(1, Ordering::Relaxed);
        if let Some(took) = took {
            self.counts.took.record_duration(took);
        }
    }

    /// Drops the waiting jobs of removed keys.
    pub fn retain_waiting_jobs(&self, is_member: impl Fn(&K) -> bool) {
        self.waiting.lock().retain(|(key, _)| is_member(key));
    }

    /// Returns the status of a key's job; `None` if there is none.
    pub fn job_status(&self, is_match: impl Fn(&K) -> bool) -> Option<JobStatus> {
        // Both locks are held, so that a job that is just starting is always seen in one of the two.
        let waiting = self.waiting.lock();
        if self.running.lock().iter().any(&is_match) {
            return Some(JobStatus::Running);
        }
        waiting.iter().position(|(key, _)| is_match(key)).map(JobStatus::Waiting)
    }

    pub fn stats(&self) -> QueueStats {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        QueueStats {
            waiting: self.waiting.lock().len(),
            slots: self.slots.limit(),
            running: self.slots.permits_held(),
            finished: count(&self.counts.finished),
            aborted: count(&self.counts.aborted),
            rejected: count(&self.counts.rejected),
            superseded: count(&self.counts.superseded),
            took: self.counts.took.snapshot(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(slots: usize) -> JobQueue<&'static str, u32> {
        let queue = JobQueue::default();
        queue.set_max_running(slots);
        queue
    }

    #[test]
    fn the_queue_is_bounded_and_ordered_and_a_new_job_replaces_its_older() {
        let queue = queue(1);
        assert!(queue.push("a", 1, 2) && queue.push("b", 1, 2));
        assert!(!queue.push("c", 1, 2), "the queue is full");
        assert!(queue.push("a", 2, 2), "a newer job replaces a waiting one");
        let stats = queue.stats();
        assert_eq!((stats.waiting, stats.rejected, stats.superseded), (2, 1, 1));
        let job_status = |key| queue.job_status(|other| *other == key);
        assert_eq!(job_status("b"), Some(JobStatus::Waiting(1)));
        let (first, job, permit) = queue.start_next_job().unwrap();
        assert_eq!((first, job), ("a", 2));
        assert!(queue.start_next_job().is_none(), "the only slot is taken");
        assert_eq!(job_status("a"), Some(JobStatus::Running));
        assert_eq!((job_status("b"), job_status("c")), (Some(JobStatus::Waiting(0)), None));
        drop(permit);
        assert_eq!(queue.start_next_job().unwrap().0, "b");
    }

    #[test]
    fn a_job_whose_predecessor_still_runs_lets_others_pass() {
        let queue = queue(2);
        assert!(queue.push("a", 1, 2));
        let (_, _, permit) = queue.start_next_job().unwrap();
        assert!(queue.push("a", 2, 2) && queue.push("b", 1, 2));
        let stats = queue.stats();
        assert_eq!((stats.slots, stats.running, stats.waiting), (2, 1, 2));
        assert_eq!(queue.start_next_job().unwrap().0, "b");
        drop(permit);
        assert!(queue.start_next_job().is_none(), "its last job is still running");
        queue.mark_job_finished(&"a", Some(Duration::from_millis(5)));
        let (key, job, _permit) = queue.start_next_job().unwrap();
        assert_eq!((key, job), ("a", 2));
        queue.mark_job_finished(&"b", None);
        let stats = queue.stats();
        assert_eq!((stats.finished, stats.aborted), (1, 1));
    }

    #[test]
    fn a_job_has_a_status_throughout_its_start() {
        let queue = queue(1);
        assert!(queue.push("a", 0, 1));
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                for job in 1..100_000 {
                    let (key, _, permit) = queue.start_next_job().unwrap();
                    // A newer job arrives before the older one has ended.
                    assert!(queue.push(key, job, 1));
                    drop(permit);
                    queue.mark_job_finished(&key, None);
                }
            });
            while !running.is_finished() {
                assert!(queue.job_status(|key| *key == "a").is_some());
            }
        });
    }

    #[test]
    fn jobs_of_removed_keys_leave_the_queue() {
        let queue = queue(0);
        assert!(queue.push("a", 1, 2) && queue.push("b", 1, 2));
        assert!(queue.start_next_job().is_none(), "the concurrency is 0");
        queue.retain_waiting_jobs(|key| *key == "b");
        queue.set_max_running(1);
        assert_eq!(queue.start_next_job().unwrap().0, "b");
    }
}
