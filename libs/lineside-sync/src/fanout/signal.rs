//! The signal to one listener: a note that there is news, and a wake-up.

use std::fmt;
use std::sync::Arc;

use super::TopicListener;
use crate::primitive::atomic::{AtomicBool, Ordering};

/// Wakes the listener that reads: a task's waker, a thread, or a poll's waker.
///
/// Called from publishers' threads with no lock held; must be quick and must not publish.
pub trait WakeHandle: Send + Sync {
    /// Signals that there is news. May be called without cause.
    fn wake(&self);
}

/// A note that there is news, and the handle that wakes its listener.
///
/// A publisher sets the note after its change, and the listener takes the note before it stops looking. Both are
/// read-modify-writes, so the second sees what the first did. Hence either the listener looks again or it is woken,
/// and it is woken at most once until it takes the note.
///
/// *Listening*: look; when there is nothing, call [`take_news_pending`](Self::take_news_pending); if that returns true, look again,
/// otherwise wait to be woken. *Cost*: one swap to set, one to take.
pub struct ListenerSignal<W: ?Sized> {
    number: u64,
    pending: AtomicBool,
    wake: Arc<W>,
}

impl<W: WakeHandle + ?Sized> ListenerSignal<W> {
    /// Creates a signal without a note. `number` distinguishes the listener from all others of the same topics;
    /// listeners are signaled in the order of their numbers.
    pub fn new(number: u64, wake: Arc<W>) -> Arc<Self> {
        Arc::new(Self { number, pending: AtomicBool::new(false), wake })
    }

    /// Returns the listener's number.
    pub fn signaled_listener_number(&self) -> u64 {
        self.number
    }

    /// Sets the note; call this after the change is visible. Returns true if the listener must be woken.
    #[must_use]
    pub fn set_news_pending(&self) -> bool {
        !self.pending.swap(true, Ordering::AcqRel)
    }

    /// Takes the note. Returns true if there was one: the listener then looks again.
    #[must_use]
    pub fn take_news_pending(&self) -> bool {
        self.pending.swap(false, Ordering::AcqRel)
    }

    /// Wakes the listener.
    pub fn wake_listener(&self) {
        self.wake.wake();
    }

    /// Sets the note, and wakes the listener unless the note was set already.
    pub fn set_pending_and_wake(&self) {
        if self.set_news_pending() {
            self.wake_listener();
        }
    }
}

impl<W: WakeHandle + ?Sized> TopicListener for Arc<ListenerSignal<W>> {
    type Wake = W;

    fn listener_number(&self) -> u64 {
        self.number
    }

    fn mark_news_pending(&self) -> Option<&Arc<ListenerSignal<W>>> {
        self.set_news_pending().then_some(self)
    }
}

impl<W: ?Sized> fmt::Debug for ListenerSignal<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("number", &self.number)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}
