//! A batch of changes to many topics, which signals each listener once.

use std::fmt;
use std::sync::Arc;

use super::{SignalBatch, WakeHandle, fence_lookup};

/// A topic that publishers change and listeners follow.
pub trait FanoutTopic {
    /// The handle that wakes the topic's listeners.
    type Wake: WakeHandle + ?Sized;

    /// [Gathers](super::ListenerSet::gather_signals) the signals of the topic's listeners. Called once per batch,
    /// after the batch's changes are visible.
    fn gather_signals(&self, signals: &mut SignalBatch<Self::Wake>);
}

/// A group of changes that is signaled together: one publication, or all changes of one poll to many topics.
///
/// *Order*: a change is visible before any listener is signaled. *Delivery*: each listener of a changed topic is
/// signaled once, when the batch [signals](Self::signal_listeners) or is dropped, unless it has an earlier signal that
/// it has not taken yet.
pub struct TopicBatch<T: FanoutTopic> {
    /// Bound: each topic once, if `change` reports first changes correctly.
    touched: Vec<Arc<T>>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fault: super::model::FanoutFault,
}

impl<T: FanoutTopic> TopicBatch<T> {
    /// Opens a batch. Call it after the new state has been made visible, and before topics are looked up.
    pub fn open() -> Self {
        fence_lookup();
        Self::open_unordered()
    }

    pub(super) fn open_unordered() -> Self {
        Self {
            touched: Vec::new(),
            #[cfg(all(test, any(loom, shuttle)))]
            fault: super::model::FanoutFault::None,
        }
    }

    /// Changes a topic. `change` returns its result, and true if this is the topic's first change in this batch; the
    /// topic's listeners are then signaled at the end.
    pub fn change_topic<R>(&mut self, topic: &Arc<T>, change: impl FnOnce(&T) -> (bool, R)) -> R {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.fault == super::model::FanoutFault::SignaledBeforeChange {
            self.touched.push(topic.clone());
            self.signal_listeners();
            return change(topic).1;
        }
        let (first, result) = change(topic);
        if first {
            self.touched.push(topic.clone());
        }
        result
    }

    /// Returns the number of topics changed since the last signal.
    pub fn touched_topics(&self) -> usize {
        self.touched.len()
    }

    /// Signals all listeners of the topics changed so far.
    pub fn signal_listeners(&mut self) {
        let mut signals = SignalBatch::new();
        self.touched.drain(..).for_each(|topic| topic.gather_signals(&mut signals));
        signals.wake_all();
    }
}

impl<T: FanoutTopic> Drop for TopicBatch<T> {
    fn drop(&mut self) {
        self.signal_listeners();
    }
}

impl<T: FanoutTopic> fmt::Debug for TopicBatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicBatch").field("touched", &self.touched.len()).finish_non_exhaustive()
    }
}
