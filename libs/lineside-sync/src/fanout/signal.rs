//! The way to one listener.

use std::fmt;
use std::sync::Arc;

use super::TopicListener;
use crate::primitive::atomic::{AtomicBool, Ordering};

/// Wakes whoever looks: a task's waker, a thread, a poll's waker.
///
/// Called from publishers' threads with no lock held; must be quick and must not publish.
pub trait WakeHandle: Send + Sync {
    /// There is something to look for. May come without cause.
    fn wake(&self);
}

/// A note that there is something to look for, and whom to wake for it.
///
/// The note is set by whoever has something and taken by the listener before it gives up looking. Both are
/// read-modify-writes: whichever comes second sees what the first one did. So either the listener looks
/// again, or it is woken; and it is woken at most once until it takes the note.
///
/// *Listening*: look; when there is nothing, [`take`](Self::take_note); if that was true, look again; else wait
/// to be woken. *Cost*: one swap for setting, one for taking.
pub struct Signal<W: ?Sized> {
    number: u64,
    pending: AtomicBool,
    wake: Arc<W>,
}

impl<W: WakeHandle + ?Sized> Signal<W> {
    /// A signal without a note. `number` tells the listener from all others of the same topics, and is the
    /// order in which listeners are told.
    pub fn new(number: u64, wake: Arc<W>) -> Arc<Self> {
        Arc::new(Self { number, pending: AtomicBool::new(false), wake })
    }

    /// The listener's number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Notes that there is something: to be called once it is there. True when the listener is to be told.
    #[must_use]
    pub fn set_note(&self) -> bool {
        !self.pending.swap(true, Ordering::AcqRel)
    }

    /// Takes the note; true when there was one, and it is time for another look.
    #[must_use]
    pub fn take_note(&self) -> bool {
        self.pending.swap(false, Ordering::AcqRel)
    }

    /// Wakes the listener.
    pub fn wake_listener(&self) {
        self.wake.wake();
    }

    /// Notes it, and wakes the listener unless it has been told.
    pub fn notify_listener(&self) {
        if self.set_note() {
            self.wake_listener();
        }
    }
}

impl<W: WakeHandle + ?Sized> TopicListener for Arc<Signal<W>> {
    type Wake = W;

    fn listener_number(&self) -> u64 {
        self.number
    }

    fn note_news(&self) -> Option<&Arc<Signal<W>>> {
        self.set_note().then_some(self)
    }
}

impl<W: ?Sized> fmt::Debug for Signal<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("number", &self.number)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}
