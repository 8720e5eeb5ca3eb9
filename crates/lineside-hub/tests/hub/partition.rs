//! A partition of the storm: a partition listener, its rows' notes, and the workers that read states for it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lineside_hub::{
    Hub, Listener, PartitionListener, RunCache, Session, SessionLimits, WorkerPool,
};

type Job = Box<dyn FnOnce() + Send>;

/// The signals to a partition, and its workers' jobs.
#[derive(Default)]
pub(crate) struct Desk {
    signaled: AtomicBool,
    jobs: Mutex<VecDeque<Job>>,
}

impl Listener for Desk {
    fn signal(&self) {
        self.signaled.store(true, Ordering::Release);
    }
}

impl WorkerPool for Desk {
    fn run_job(&self, job: Job) {
        self.jobs.lock().expect("jobs").push_back(job);
    }
}

impl Desk {
    /// Returns true if nothing is pending that would lead to another delivery.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.signaled.load(Ordering::Acquire) && self.jobs.lock().expect("jobs").is_empty()
    }
}

pub(crate) struct Partition {
    pub(crate) desk: Arc<Desk>,
    audience: PartitionListener,
    /// The runs of its rows.
    pub(crate) runs: RunCache,
}

impl Partition {
    pub(crate) fn new(hub: &Arc<Hub>) -> Self {
        let desk = Arc::new(Desk::default());
        let audience = PartitionListener::new(hub, desk.clone(), desk.clone());
        Self { desk, audience, runs: RunCache::default() }
    }

    pub(crate) fn session(&self, row: u32) -> Session {
        self.audience.open_session(row, SessionLimits::default())
    }

    /// Runs one job; returns false if there is none.
    pub(crate) fn work(&self) -> bool {
        let job = self.desk.jobs.lock().expect("jobs").pop_front();
        job.map(|job| job()).is_some()
    }

    /// Drops one job, as stopped workers do.
    pub(crate) fn lose_job(&self) {
        let job = self.desk.jobs.lock().expect("jobs").pop_front();
        drop(job);
    }

    /// Calls `note` with the rows that have news, and their subscriptions.
    pub(crate) fn turn(&mut self, mut note: impl FnMut(u32, u32)) {
        if self.desk.signaled.swap(false, Ordering::AcqRel) {
            let (mut rooms, mut seats) = (Vec::new(), Vec::new());
            self.audience.take_ready_rooms(&mut rooms);
            rooms.iter().for_each(|room| self.audience.collect_slots(*room, &mut seats));
            seats.iter().for_each(|seat| note(seat.row, seat.subscription));
        }
    }
}
