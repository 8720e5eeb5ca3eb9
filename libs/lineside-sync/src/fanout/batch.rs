//! Publishing to many topics and telling each listener once.

use std::fmt;
use std::sync::Arc;

use super::{SignalBatch, WakeHandle, fence_lookup};

/// Something that is published to.
pub trait FanoutTopic {
    /// What wakes its listeners.
    type Wake: WakeHandle + ?Sized;

    /// [Gathers](super::ListenerSet::gather_signals) its listeners. Called once per batch, after what the batch brought
    /// is there.
    fn gather_signals(&self, signals: &mut SignalBatch<Self::Wake>);
}

/// What is told together: a publication, or all that one poll brings to many topics.
///
/// *Order*: what was published can be taken before anybody is told of it. *Delivery*: each listener of a
/// topic that was changed is told once, when the batch [tells](Self::signal_listeners) or is dropped, unless it has been
/// told before and has not looked since.
pub struct TopicBatch<T: FanoutTopic> {
    /// Bound: each topic once, if its user says so.
    touched: Vec<Arc<T>>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) mistake: super::model::Mistake,
}

impl<T: FanoutTopic> TopicBatch<T> {
    /// Opens a batch: after the new state has been made visible, and before topics are looked up.
    pub fn open() -> Self {
        fence_lookup();
        Self::open_unordered()
    }

    pub(super) fn open_unordered() -> Self {
        Self {
            touched: Vec::new(),
            #[cfg(all(test, any(loom, shuttle)))]
            mistake: super::model::Mistake::None,
        }
    }

    /// Changes a topic. `change` says, beside its result, whether this was the topic's first change in this
    /// batch; its listeners are then told at the end.
    pub fn change_topic<R>(&mut self, topic: &Arc<T>, change: impl FnOnce(&T) -> (bool, R)) -> R {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.mistake == super::model::Mistake::ToldBeforeChange {
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

    /// How many topics it has touched.
    pub fn touched_topics(&self) -> usize {
        self.touched.len()
    }

    /// Tells all listeners of what was changed so far.
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
        f.debug_struct("Batch").field("touched", &self.touched.len()).finish_non_exhaustive()
    }
}
