//! Listeners: the receivers of signals that there is something to pull.

use std::fmt;
use std::sync::Arc;

use lineside_sync::fanout::{self, TopicListener, WakeHandle};

/// Receives signals that there is something to pull: a task's waker, a partition's poller.
///
/// Called from publishers' threads without any lock held; must be quick and must not call the hub.
pub trait NewsListener: Send + Sync + 'static {
    /// Signals that there is something to pull. May come without cause; comes at most once until the listener has
    /// pulled everything that was signaled.
    fn signal_news(&self);
}

impl WakeHandle for dyn NewsListener {
    fn wake(&self) {
        self.signal_news();
    }
}

/// The signal to one session's listener, with the session's number: sessions are signaled in the order of their
/// creation.
pub(crate) type SessionSignal = fanout::ListenerSignal<dyn NewsListener>;

/// A partition's place in one room: all its sessions there are one listener. The key is the room's number in the
/// partition's [`PartitionListener`](crate::PartitionListener).
pub(crate) type PartitionRoomListener = fanout::PartitionTopicListener<u32, dyn NewsListener>;

/// A listener of a room.
#[derive(Clone)]
pub(crate) enum ListenerHandle {
    /// One session.
    Direct(Arc<SessionSignal>),
    /// All sessions of a partition.
    Partition(Arc<PartitionRoomListener>),
}

impl ListenerHandle {
    /// Signals news to the listener, outside of a batch.
    pub(crate) fn notify_listener(&self) {
        if let Some(signal) = self.mark_news_pending() {
            signal.wake_listener();
        }
    }
}

impl TopicListener for ListenerHandle {
    type Wake = dyn NewsListener;

    fn listener_number(&self) -> u64 {
        match self {
            Self::Direct(signal) => signal.listener_number(),
            Self::Partition(listener) => TopicListener::listener_number(listener),
        }
    }

    fn mark_news_pending(&self) -> Option<&Arc<SessionSignal>> {
        match self {
            Self::Direct(signal) => signal.mark_news_pending(),
            Self::Partition(listener) => listener.mark_news_pending(),
        }
    }
}

impl fmt::Debug for ListenerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListenerHandle({})", self.listener_number())
    }
}

/// Runs long jobs outside of a partition's thread.
pub trait WorkerPool: Send + Sync + 'static {
    /// Runs the job soon, on another thread. The caller bounds the jobs: the hub has at most one per room in progress.
    /// A job may be dropped without being run: it is submitted again.
    fn submit_job(&self, job: Box<dyn FnOnce() + Send>);
}
