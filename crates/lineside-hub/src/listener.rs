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

/// One session's bell.
///
/// `rung` is set by whoever has something for the session and taken by the session before it gives up
/// looking. Both are read-modify-writes: whichever comes second sees what the first one did, so either
/// the session looks again or the publisher signals.
pub(crate) struct Bell {
    /// Tells sessions apart, in order of their making.
    pub(crate) session: u64,
    rung: AtomicBool,
    listener: Arc<dyn Listener>,
}

impl Bell {
    pub(crate) fn new(session: u64, listener: Arc<dyn Listener>) -> Arc<Self> {
        Arc::new(Self { session, rung: AtomicBool::new(false), listener })
    }

    /// Marks that there is something; true when the listener is to be signaled for it.
    pub(crate) fn set(&self) -> bool {
        !self.rung.swap(true, Ordering::AcqRel)
    }

    /// Takes the mark; true when there was one.
    pub(crate) fn take(&self) -> bool {
        self.rung.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn signal(&self) {
        self.listener.signal();
    }

    pub(crate) fn ring(&self) {
        if self.set() {
            self.signal();
        }
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell")
            .field("session", &self.session)
            .field("rung", &self.rung)
            .finish_non_exhaustive()
    }
}
