//! A load in progress: one caller loads, the others wait for the outcome.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::primitive::{Mutex, thread};

#[derive(Clone)]
pub(super) enum LoadOutcome<V, E> {
    /// A value or a failure, for all waiters.
    Loaded(Result<V, E>),
    /// The loading caller was canceled or panicked: a waiter must start again.
    Abandoned,
}

/// One load of one key. It ends once; later waiters get the outcome at once.
pub(super) struct InFlightLoad<V, E> {
    inner: Mutex<LoadState<V, E>>,
    #[cfg(all(test, any(loom, shuttle)))]
    fault: Option<super::model::CacheFault>,
}

struct LoadState<V, E> {
    outcome: Option<LoadOutcome<V, E>>,
    /// The wakers of waiting callers, in order of arrival. Bound: one entry per living [`LoadEndFuture`].
    waiting: BTreeMap<u64, Waker>,
    next_ticket: u64,
}

impl<V, E> InFlightLoad<V, E> {
    pub(super) fn new() -> Self {
        let inner = LoadState { outcome: None, waiting: BTreeMap::new(), next_ticket: 0 };
        Self {
            inner: Mutex::new(inner),
            #[cfg(all(test, any(loom, shuttle)))]
            fault: None,
        }
    }

    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fn with(self, fault: Option<super::model::CacheFault>) -> Self {
        Self { fault, ..self }
    }

    /// Ends the load and wakes all waiters.
    pub(super) fn end_load_and_wake(&self, outcome: LoadOutcome<V, E>) {
        let waiting = {
            let mut inner = self.inner.lock();
            inner.outcome = Some(outcome);
            std::mem::take(&mut inner.waiting)
        };
        #[cfg(all(test, any(loom, shuttle)))]
        if self.fault == Some(super::model::CacheFault::WakesOnlyOne) {
            waiting.into_values().take(1).for_each(Waker::wake);
            return;
        }
        waiting.into_values().for_each(Waker::wake);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.inner.lock().outcome.is_some()
    }

    /// Waits for the outcome. Cancel safety: dropping the future loses nothing.
    pub(super) fn wait_for_load(&self) -> LoadEndFuture<'_, V, E> {
        LoadEndFuture { in_flight: self, ticket: None }
    }
}

impl<V: Clone, E: Clone> InFlightLoad<V, E> {
    /// Parks the thread until the load ends, and returns the outcome.
    pub(super) fn block_until_load_ends(&self) -> LoadOutcome<V, E> {
        let waker = Waker::from(Arc::new(ThreadUnparker(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut ended = pin!(self.wait_for_load());
        loop {
            match ended.as_mut().poll(&mut context) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => thread::park(),
            }
        }
    }
}

struct ThreadUnparker(thread::Thread);

impl Wake for ThreadUnparker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A future that resolves when the load has ended.
pub(super) struct LoadEndFuture<'a, V, E> {
    in_flight: &'a InFlightLoad<V, E>,
    /// The key of this future's waker in `waiting`.
    ticket: Option<u64>,
}

impl<V: Clone, E: Clone> Future for LoadEndFuture<'_, V, E> {
    type Output = LoadOutcome<V, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut inner = self.in_flight.inner.lock();
        if let Some(outcome) = &inner.outcome {
            return Poll::Ready(outcome.clone());
        }
        #[cfg(all(test, any(loom, shuttle)))]
        if self.in_flight.fault == Some(super::model::CacheFault::ChecksThenRegisters) {
            drop(inner);
            inner = self.in_flight.inner.lock();
        }
        let ticket = self.ticket.unwrap_or_else(|| {
            inner.next_ticket += 1;
            inner.next_ticket
        });
        // The task may have moved, so the latest waker replaces the earlier one.
        inner.waiting.insert(ticket, context.waker().clone());
        drop(inner);
        self.ticket = Some(ticket);
        Poll::Pending
    }
}

impl<V, E> Drop for LoadEndFuture<'_, V, E> {
    fn drop(&mut self) {
        // After a failed assertion, a model can take no more locks.
        #[cfg(all(test, any(loom, shuttle)))]
        if std::thread::panicking() {
            return;
        }
        if let Some(ticket) = self.ticket {
            let waker = self.in_flight.inner.lock().waiting.remove(&ticket);
            drop(waker);
        }
    }
}

impl<V, E> fmt::Debug for InFlightLoad<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlightLoad").finish_non_exhaustive()
    }
}
