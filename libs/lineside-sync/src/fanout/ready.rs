//! A partition's list of topics with news.

use std::fmt;
use std::sync::Arc;

use super::{Signal, TopicListener, WakeHandle};
use crate::primitive::Mutex;
use crate::primitive::atomic::{AtomicBool, Ordering};

/// One partition's side: which of its topics have news, behind one signal.
///
/// A partition has many rows in many topics and is woken once for all of them. It then takes the list whole
/// and looks only at the topics that it names. Dropped, it lists nothing any more.
///
/// *Delivery*: whatever is published in a topic where it has a [`PartitionPlace`] is followed by a take that names the
/// topic and comes before the partition's look. *Cost*: a publisher's append to the list is one short lock;
/// a take is one lock, whatever the list's length, and a swap for each topic named.
pub struct ReadyTopics<K, W: ?Sized> {
    shared: Arc<ReadyList<K, W>>,
    /// Taken and put back, so that a take allocates nothing.
    spare: Places<K, W>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) mistake: super::model::Mistake,
}

type Places<K, W> = Vec<Arc<PartitionPlace<K, W>>>;

struct ReadyList<K, W: ?Sized> {
    signal: Arc<Signal<W>>,
    /// `None` once the partition is gone. Bound: one per place.
    places: Mutex<Option<Places<K, W>>>,
}

/// A partition's place among the [listeners](super::ListenerSet) of one topic.
pub struct PartitionPlace<K, W: ?Sized> {
    key: K,
    /// It is in the list.
    listed: AtomicBool,
    partition: Arc<ReadyList<K, W>>,
}

impl<K: Copy, W: WakeHandle + ?Sized> ReadyTopics<K, W> {
    /// A partition's list. `number` tells the partition from others.
    pub fn new(number: u64, wake: Arc<W>) -> Self {
        let shared =
            ReadyList { signal: Signal::new(number, wake), places: Mutex::new(Some(Vec::new())) };
        Self {
            shared: Arc::new(shared),
            spare: Vec::new(),
            #[cfg(all(test, any(loom, shuttle)))]
            mistake: super::model::Mistake::None,
        }
    }

    /// A place for one topic, to be inserted in its listeners; `key` is what the partition knows it by.
    pub fn new_place(&self, key: K) -> Arc<PartitionPlace<K, W>> {
        Arc::new(PartitionPlace {
            key,
            listed: AtomicBool::new(false),
            partition: self.shared.clone(),
        })
    }

    /// Adds to `into` each topic that had news since the last call, once, in the order in which they came.
    /// The partition looks at each of them afterwards. A topic that was left may be named once more.
    ///
    /// Having looked, it waits to be woken without asking again.
    pub fn take_ready(&mut self, into: &mut Vec<K>) {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.mistake == super::model::Mistake::NoteAfterList {
            self.swap_list(into);
            let _noted = self.shared.signal.take_note();
            return;
        }
        // The note first: what is listed after the swap then wakes the partition again.
        let _noted = self.shared.signal.take_note();
        self.swap_list(into);
    }

    fn swap_list(&mut self, into: &mut Vec<K>) {
        if let Some(places) = &mut *self.shared.places.lock() {
            std::mem::swap(places, &mut self.spare);
        }
        for place in self.spare.drain(..) {
            #[cfg(all(test, any(loom, shuttle)))]
            if self.mistake == super::model::Mistake::ListedForgotten {
                into.push(place.key);
                continue;
            }
            // Before the look: what comes after it is then listed again.
            place.listed.swap(false, Ordering::AcqRel);
            into.push(place.key);
        }
    }
}

impl<K, W: ?Sized> Drop for ReadyTopics<K, W> {
    fn drop(&mut self) {
        let places = self.shared.places.lock().take();
        drop(places);
    }
}

impl<K: Copy, W: WakeHandle + ?Sized> TopicListener for Arc<PartitionPlace<K, W>> {
    type Wake = W;

    fn listener_number(&self) -> u64 {
        self.partition.signal.listener_number()
    }

    fn note_news(&self) -> Option<&Arc<Signal<W>>> {
        if self.listed.swap(true, Ordering::AcqRel) {
            // Whoever listed it tells the partition.
            return None;
        }
        self.partition.places.lock().as_mut()?.push(self.clone());
        self.partition.signal.set_note().then_some(&self.partition.signal)
    }
}

impl<K, W: ?Sized> fmt::Debug for ReadyTopics<K, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("signal", &self.shared.signal).finish_non_exhaustive()
    }
}

impl<K: fmt::Debug, W: ?Sized> fmt::Debug for PartitionPlace<K, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("key", &self.key)
            .field("listed", &self.listed)
            .finish_non_exhaustive()
    }
}
