//! Who is told that something is there to pull.

use std::fmt;
use std::sync::Arc;

use lineside_sync::fanout::{self, Listen, Wake};

/// Told that there is something to pull: a task's waker, a partition's poller.
///
/// Called from publishers' threads without any lock held; must be quick and must not call the hub.
pub trait Listener: Send + Sync + 'static {
    /// Something is there. May come without cause; comes at most once until what was told of has been
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

/// A partition's place in one room: all its sessions there are one listener. The key is the room's number
/// in the partition's [`Audience`](crate::Audience).
pub(crate) type Place = fanout::Place<u32, dyn Listener>;

/// Who listens to a room.
#[derive(Clone)]
pub(crate) enum Ear {
    /// One session by itself.
    Alone(Arc<Signal>),
    /// All sessions of a partition.
    Partition(Arc<Place>),
}

impl Ear {
    /// Tells that there is something, outside of a batch.
    pub(crate) fn notify(&self) {
        if let Some(signal) = self.note() {
            signal.tell();
        }
    }
}

impl Listen for Ear {
    type Wake = dyn Listener;

    fn number(&self) -> u64 {
        match self {
            Self::Alone(signal) => signal.number(),
            Self::Partition(place) => Listen::number(place),
        }
    }

    fn note(&self) -> Option<&Arc<Signal>> {
        match self {
            Self::Alone(signal) => signal.note(),
            Self::Partition(place) => place.note(),
        }
    }
}

impl fmt::Debug for Ear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ear({})", self.number())
    }
}

/// Does work that takes long somewhere else than on a partition's thread.
pub trait Workers: Send + Sync + 'static {
    /// Does the job soon, on another thread. Jobs are bounded by who hands them in: the hub has at most one per
    /// room under way. A job that is dropped undone harms nobody: it is handed in again.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}
