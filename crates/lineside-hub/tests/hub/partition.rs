//! A partition of the storm: a partition listener, its rows' notes, and the workers that read states for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lineside_hub::{
    Hub, JoinedPublicationsCache, NewsListener, PartitionListener, Session, SessionLimits,
    WorkerPool,
};

type Job = Box<dyn FnOnce() + Send>;

/// The signals to a partition, and its workers' jobs.
#[derive(Default)]
pub(crate) struct PartitionWorkers {
    signaled: AtomicBool,
    jobs: Mutex<VecDeque<Job>>,
}

impl NewsListener for PartitionWorkers {
    fn signal_news(&self) {
        self.signaled.store(true, Ordering::Release);
    }
}

impl WorkerPool for PartitionWorkers {
    fn submit_job(&self, job: Job) {
        self.jobs.lock().expect("jobs").push_back(job);
    }
}

impl PartitionWorkers {
    /// Returns true if nothing is pending that would lead to another delivery.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.signaled.load(Ordering::Acquire) && self.jobs.lock().expect("jobs").is_empty()
    }
}

pub(crate) struct Partition {
    pub(crate) workers: Arc<PartitionWorkers>,
    listener: PartitionListener,
    /// The runs of its rows.
    pub(crate) runs: JoinedPublicationsCache,
}

impl Partition {
    pub(crate) fn new(hub: &Arc<Hub>) -> Self {
        let workers = Arc::new(PartitionWorkers::default());
        let listener = PartitionListener::new(hub, workers.clone(), workers.clone());
        Self { workers, listener, runs: JoinedPublicationsCache::default() }
    }

    pub(crate) fn session(&self, row: u32) -> Session {
        self.listener.open_session(row, SessionLimits::default())
    }

    /// Runs one job; returns false if there is none.
    pub(crate) fn work(&self) -> bool {
        let job = self.workers.jobs.lock().expect("jobs").pop_front();
        job.map(|job| job()).is_some()
    }

    /// Drops one job, as stopped workers do.
    pub(crate) fn lose_job(&self) {
        let job = self.workers.jobs.lock().expect("jobs").pop_front();
        drop(job);
    }

    /// Calls `note` with the rows that have news, and their subscriptions.
    pub(crate) fn turn(&mut self, mut note: impl FnMut(u32, u32)) {
        if self.workers.signaled.swap(false, Ordering::AcqRel) {
            let (mut rooms, mut slots) = (Vec::new(), Vec::new());
            self.listener.take_rooms_with_news(&mut rooms);
            rooms
                .iter()
                .for_each(|room| self.listener.collect_room_subscriptions(*room, &mut slots));
            slots.iter().for_each(|slot| note(slot.row, slot.subscription));
        }
    }
}
