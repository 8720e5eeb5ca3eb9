//! The worker threads that run slow jobs for partitions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::{io, thread};

use lineside_hub::WorkerPool;
use lineside_sync::stage::{self, ThreadWorkStage};
use parking_lot::{Condvar, Mutex};

type WorkerJob = Box<dyn FnOnce() + Send>;

/// A fixed number of threads and their jobs. Dropping it ends the threads and drops the jobs that have not started.
pub(super) struct WorkerThreads {
    shared: Arc<WorkerShared>,
}

#[derive(Default)]
struct WorkerShared {
    pending: Mutex<PendingJobs>,
    job_added: Condvar,
}

#[derive(Default)]
struct PendingJobs {
    /// Bound: the callers have at most one job per room or row in progress.
    jobs: VecDeque<WorkerJob>,
    is_closed: bool,
}

impl WorkerThreads {
    pub(super) fn start_threads(threads: usize) -> io::Result<Self> {
        let shared: Arc<WorkerShared> = Arc::default();
        for n in 0..threads.max(1) {
            let shared = shared.clone();
            let builder = thread::Builder::new().name(format!("worker-{n}"));
            builder.spawn(move || shared.run_jobs_until_closed())?;
        }
        Ok(Self { shared })
    }
}

impl WorkerShared {
    fn run_jobs_until_closed(&self) {
        while let Some(job) = self.wait_for_next_job() {
            let _at = stage::set_stage_until_dropped(ThreadWorkStage::Assist);
            // The panic hook has reported a panicking job; the other jobs must run.
            _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        }
    }

    fn wait_for_next_job(&self) -> Option<WorkerJob> {
        let mut pending = self.pending.lock();
        loop {
            if pending.is_closed {
                return None;
            }
            if let Some(job) = pending.jobs.pop_front() {
                return Some(job);
            }
            self.job_added.wait(&mut pending);
        }
    }
}

impl WorkerPool for WorkerThreads {
    fn submit_job(&self, job: WorkerJob) {
        let mut pending = self.shared.pending.lock();
        if pending.is_closed {
            drop(pending);
            return drop(job);
        }
        pending.jobs.push_back(job);
        drop(pending);
        self.shared.job_added.notify_one();
    }
}

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        let jobs = {
            let mut pending = self.shared.pending.lock();
            pending.is_closed = true;
            std::mem::take(&mut pending.jobs)
        };
        self.shared.job_added.notify_all();
        drop(jobs);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_panicking_job_does_not_affect_other_jobs() {
        let pool = WorkerThreads::start_threads(1).expect("a thread");
        let (done, doing) = mpsc::sync_channel(1);
        pool.submit_job(Box::new(|| panic!("intended panic; the next job must still run")));
        pool.submit_job(Box::new(move || done.send(7).expect("a listener")));
        assert_eq!(doing.recv(), Ok(7));
    }

    #[test]
    fn pending_jobs_are_dropped_with_the_pool() {
        let pool = WorkerThreads::start_threads(1).expect("a thread");
        let (begin, begun) = mpsc::sync_channel(1);
        let (end, wait) = mpsc::sync_channel::<()>(1);
        pool.submit_job(Box::new(move || {
            begin.send(()).expect("a listener");
            _ = wait.recv();
        }));
        begun.recv().expect("the first job began");
        let (sender, receiver) = mpsc::sync_channel::<()>(1);
        pool.submit_job(Box::new(move || drop(sender)));
        drop(pool);
        assert!(receiver.recv().is_err(), "the job and its sender were dropped");
        drop(end);
    }
}
