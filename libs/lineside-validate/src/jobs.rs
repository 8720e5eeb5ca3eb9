//! Jobs on worker threads, with results and notices in a fixed order.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{ValidationContext, notice::Notices};

/// Runs jobs on as many threads as the context allows. Results and notices are in the order of the jobs, regardless of
/// which finished first.
pub(crate) fn run_jobs_in_parallel<J: Sync, T: Send>(
    jobs: &[J],
    context: &ValidationContext,
    notices: &mut Notices,
    work: impl Fn(&J, &mut Notices) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let empty = notices.new_empty_like();
    let done: Mutex<Vec<Option<(T, Notices)>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let go = || {
        while let Some((at, job)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, job))
        } {
            let mut out = empty.clone();
            let result = work(job, &mut out);
            done.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some((result, out));
        }
    };
    thread::scope(|scope| {
        for _ in 1..context.threads.min(jobs.len()) {
            scope.spawn(go);
        }
        go();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut results = Vec::with_capacity(jobs.len());
    for (result, out) in done.into_iter().flatten() {
        notices.merge_notices(out);
        results.push(result);
    }
    results
}
