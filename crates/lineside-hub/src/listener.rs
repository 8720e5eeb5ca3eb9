//! Who is told that something is there to pull.

use lineside_sync::fanout::{self, Wake};

/// Told that a session has something to pull: a task's waker, a partition's mailbox.
///
/// Called from publishers' threads without any lock held; must be quick and must not call the hub.
pub trait Listener: Send + Sync + 'static {
    /// Something is there. May come without cause; comes at most once until the session has been
    /// pulled dry.
    fn signal(&self);
}

impl Wake for dyn Listener {
    fn wake(&self) {
        self.signal();
    }
}

/// The way to one session's listener, by the session's number: sessions are signaled in the order of
/// their making.
pub(crate) type Signal = fanout::Signal<dyn Listener>;
