//! Who is told that something is there to pull.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Told that a session has something to pull: a task's waker, a partition's mailbox.
///
/// Called from publishers' threads without any lock held; must be quick and must not call the hub.
pub trait Listener: Send + Sync + 'static {
    /// Something is there. May come without cause; comes at most once until the session has been
    /// pulled dry.
    fn signal(&self);
}

/// The way to one session's listener.
///
/// `pending` is set by whoever has something for the session and taken by the session before it gives
/// up looking. Both are read-modify-writes: whichever comes second sees what the first one did, so
/// either the session looks again or the publisher signals.
pub(crate) struct Signal {
    /// Tells sessions apart, in order of their making.
    pub(crate) session: u64,
    pending: AtomicBool,
    listener: Arc<dyn Listener>,
}

impl Signal {
    pub(crate) fn new(session: u64, listener: Arc<dyn Listener>) -> Arc<Self> {
        Arc::new(Self { session, pending: AtomicBool::new(false), listener })
    }

    /// Notes that there is something; true when the listener is to be told of it.
    pub(crate) fn set(&self) -> bool {
        !self.pending.swap(true, Ordering::AcqRel)
    }

    /// Takes the note; true when there was one.
    pub(crate) fn take(&self) -> bool {
        self.pending.swap(false, Ordering::AcqRel)
    }

    /// Tells the listener.
    pub(crate) fn send(&self) {
        self.listener.signal();
    }

    /// Notes it, and tells the listener unless it knows.
    pub(crate) fn notify(&self) {
        if self.set() {
            self.send();
        }
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("session", &self.session)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}
