//! Who listens to one topic.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Signal, WakeHandle};

/// One listener, as a topic sees it.
pub trait TopicListener {
    /// What wakes it.
    type Wake: WakeHandle + ?Sized;

    /// Its number, its own among the topic's listeners.
    fn listener_number(&self) -> u64;

    /// Notes that the topic has something. The signal to tell, unless the listener knows.
    fn note_news(&self) -> Option<&Arc<Signal<Self::Wake>>>;
}

/// A topic's listeners, each once, in the order of their numbers: so that they are told in the same order
/// each time.
///
/// For one thread at a time: it belongs under the topic's lock. Bound: what its user lets join.
pub struct ListenerSet<L> {
    by_number: BTreeMap<u64, L>,
}

impl<L: TopicListener> ListenerSet<L> {
    /// Nobody.
    pub const fn new() -> Self {
        Self { by_number: BTreeMap::new() }
    }

    /// Lets a listener join, or takes the place of the one with its number. What was published before may
    /// not be told to it: it looks by itself once.
    pub fn insert(&mut self, listener: L) {
        self.by_number.insert(listener.listener_number(), listener);
    }

    /// Lets a listener leave. A wake-up under way may still reach it.
    pub fn remove(&mut self, number: u64) -> Option<L> {
        self.by_number.remove(&number)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &L> {
        self.by_number.values()
    }

    /// Notes with each that there is something; adds those to be told to `signals`.
    pub fn gather_signals(&self, signals: &mut SignalBatch<L::Wake>) {
        signals.0.extend(self.by_number.values().filter_map(TopicListener::note_news).cloned());
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

/// Who is to be told, once all locks are released. Bound: the listeners of what a batch has touched.
pub struct SignalBatch<W: ?Sized>(Vec<Arc<Signal<W>>>);

impl<W: WakeHandle + ?Sized> SignalBatch<W> {
    /// Nobody.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Tells each of them once, in the order of their numbers.
    pub fn wake_all(self) {
        let Self(mut signals) = self;
        // Who took its note meanwhile may be there twice.
        signals.sort_unstable_by_key(|signal| signal.listener_number());
        signals.dedup_by_key(|signal| signal.listener_number());
        signals.iter().for_each(|signal| signal.wake_listener());
    }
}

impl<W: WakeHandle + ?Sized> Default for SignalBatch<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: ?Sized> fmt::Debug for SignalBatch<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signals").field(&self.0.len()).finish()
    }
}
