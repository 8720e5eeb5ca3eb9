//! The listeners of one topic.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{ListenerSignal, WakeHandle};

/// One listener from a topic's point of view.
pub trait TopicListener {
    /// The handle that wakes the listener.
    type Wake: WakeHandle + ?Sized;

    /// Returns the listener's number, unique among the topic's listeners.
    fn listener_number(&self) -> u64;

    /// Records that the topic has news. Returns the signal to wake, or `None` if the listener is informed already.
    fn mark_news_pending(&self) -> Option<&Arc<ListenerSignal<Self::Wake>>>;
}

/// A topic's listeners, each once, in the order of their numbers, so that they are always signaled in the same order.
///
/// For one thread at a time: it belongs under the topic's lock. Bound: the number of listeners that its user adds.
pub struct ListenerSet<L> {
    by_number: BTreeMap<u64, L>,
}

impl<L: TopicListener> ListenerSet<L> {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self { by_number: BTreeMap::new() }
    }

    /// Adds a listener, or replaces the one with its number. Earlier publications may not be signaled to it, so a new
    /// listener looks once by itself.
    pub fn insert(&mut self, listener: L) {
        self.by_number.insert(listener.listener_number(), listener);
    }

    /// Removes a listener. A wake-up in progress may still reach it.
    pub fn remove(&mut self, number: u64) -> Option<L> {
        self.by_number.remove(&number)
    }

    /// Returns the number of listeners.
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Returns true if there are no listeners.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// Returns all listeners, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &L> {
        self.by_number.values()
    }

    /// Records news with each listener; adds the signals of those to wake to `signals`.
    pub fn collect_listener_signals(&self, signals: &mut ListenerSignalBatch<L::Wake>) {
        signals
            .0
            .extend(self.by_number.values().filter_map(TopicListener::mark_news_pending).cloned());
    }
}

impl<L: TopicListener> Default for ListenerSet<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L> fmt::Debug for ListenerSet<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_number.keys()).finish()
    }
}

/// The signals to wake once all locks are released. Bound: the listeners of the topics that a batch has changed.
pub struct ListenerSignalBatch<W: ?Sized>(Vec<Arc<ListenerSignal<W>>>);

impl<W: WakeHandle + ?Sized> ListenerSignalBatch<W> {
    /// Creates an empty batch.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Wakes each listener once, in the order of their numbers.
    pub fn wake_listeners_once(self) {
        let Self(mut signals) = self;
        // A listener that took its note in the meantime may be in the list twice.
        signals.sort_unstable_by_key(|signal| signal.listener_number());
        signals.dedup_by_key(|signal| signal.listener_number());
        signals.iter().for_each(|signal| signal.wake_listener());
    }
}

impl<W: WakeHandle + ?Sized> Default for ListenerSignalBatch<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: ?Sized> fmt::Debug for ListenerSignalBatch<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SignalBatch").field(&self.0.len()).finish()
    }
}
