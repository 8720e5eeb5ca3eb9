//! A batch of changes to many topics, which signals each listener once.

use std::fmt;
use std::sync::Arc;

use super::{ListenerSignalBatch, WakeHandle, fence_before_topic_lookup};

/// A topic that publishers change and listeners follow.
pub trait FanoutTopic {
    /// The handle that wakes the topic's listeners.
    type Wake: WakeHandle + ?Sized;

    /// [Gathers](super::ListenerSet::collect_listener_signals) the signals of the topic's listeners. Called once per
    /// batch, after the batch's changes are visible.
    fn collect_listener_signals(&self, signals: &mut ListenerSignalBatch<Self::Wake>);
}

/// A group of changes that is signaled together: one publication, or all changes of one poll to many topics.
///
/// *Order*: a change is visible before any listener is signaled. *Delivery*: each listener of a changed topic is
/// signaled once, when the batch [signals](Self::signal_listeners) or is dropped, unless it has an earlier signal that
/// it has not taken yet.
pub struct TopicChangeBatch<T: FanoutTopic> {
    /// Bound: each topic once, if `change` reports first changes correctly.
    touched: Vec<Arc<T>>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fault: super::model::FanoutFault,
}

impl<T: FanoutTopic> TopicChangeBatch<T> {
    /// Opens a batch. Call it after the new state has been made visible, and before topics are looked up.
    pub fn open_batch() -> Self {
        fence_before_topic_lookup();
        Self::open_batch_without_fence()
    }

    pub(super) fn open_batch_without_fence() -> Self {
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
    pub fn changed_topic_count(&self) -> usize {
        self.touched.len()
    }

    /// Signals all listeners of the topics changed so far.
    pub fn signal_listeners(&mut self) {
        let mut signals = ListenerSignalBatch::new();
        self.touched.drain(..).for_each(|topic| topic.collect_listener_signals(&mut signals));
        signals.wake_listeners_once();
    }
}

impl<T: FanoutTopic> Drop for TopicChangeBatch<T> {
    fn drop(&mut self) {
        self.signal_listeners();
    }
}

impl<T: FanoutTopic> fmt::Debug for TopicChangeBatch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicBatch").field("touched", &self.touched.len()).finish_non_exhaustive()
    }
}
