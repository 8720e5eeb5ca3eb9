//! A partition's list of topics with news.

use std::fmt;
use std::sync::Arc;

use super::{ListenerSignal, TopicListener, WakeHandle};
use crate::primitive::Mutex;
use crate::primitive::atomic::{AtomicBool, Ordering};

/// A partition's side of its topics: the list of those with news, behind one signal.
///
/// A partition serves many subscribers in many topics and is woken once for all of them. It then takes the whole list
/// and looks only at the listed topics. After it is dropped, nothing is listed any more.
///
/// *Delivery*: after each publication in a topic where the partition has a [`PartitionTopicListener`], a later take names the
/// topic, before the partition looks at it. *Cost*: a publisher's append to the list is one short lock; a take is one
/// lock, whatever the length of the list, and a swap for each topic named.
pub struct PartitionReadyTopics<K, W: ?Sized> {
    shared: Arc<SharedReadyList<K, W>>,
    /// The other of two buffers, swapped with the list so that a take allocates nothing.
    spare: PartitionTopicListeners<K, W>,
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fault: super::model::FanoutFault,
}

type PartitionTopicListeners<K, W> = Vec<Arc<PartitionTopicListener<K, W>>>;

struct SharedReadyList<K, W: ?Sized> {
    signal: Arc<ListenerSignal<W>>,
    /// `None` once the partition is dropped. Bound: one entry per place.
    topics: Mutex<Option<PartitionTopicListeners<K, W>>>,
}

/// A partition's place among the [listeners](super::ListenerSet) of one topic.
pub struct PartitionTopicListener<K, W: ?Sized> {
    key: K,
    /// True while the place is in the list.
    listed: AtomicBool,
    partition: Arc<SharedReadyList<K, W>>,
}

impl<K: Copy, W: WakeHandle + ?Sized> PartitionReadyTopics<K, W> {
    /// Creates a partition's list. `number` distinguishes the partition from other listeners.
    pub fn new(number: u64, wake: Arc<W>) -> Self {
        let shared = SharedReadyList {
            signal: ListenerSignal::new(number, wake),
            topics: Mutex::new(Some(Vec::new())),
        };
        Self {
            shared: Arc::new(shared),
            spare: Vec::new(),
            #[cfg(all(test, any(loom, shuttle)))]
            fault: super::model::FanoutFault::None,
        }
    }

    /// Creates a place for one topic, to be inserted in the topic's listeners; `key` is the partition's key of the
    /// topic.
    pub fn new_topic_listener(&self, key: K) -> Arc<PartitionTopicListener<K, W>> {
        Arc::new(PartitionTopicListener {
            key,
            listed: AtomicBool::new(false),
            partition: self.shared.clone(),
        })
    }

    /// Adds to `into` the key of each topic with news since the last call, once, in the order of their first news. The
    /// partition then looks at each of them. A topic that the partition has left may be named once more.
    ///
    /// After looking, the partition waits to be woken; it need not call this again first.
    pub fn take_topics_with_news(&mut self, into: &mut Vec<K>) {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.fault == super::model::FanoutFault::NoteAfterList {
            self.drain_ready_list(into);
            let _noted = self.shared.signal.take_news_pending();
            return;
        }
        // Takes the note first: a place listed after the swap then wakes the partition again.
        let _noted = self.shared.signal.take_news_pending();
        self.drain_ready_list(into);
    }

    fn drain_ready_list(&mut self, into: &mut Vec<K>) {
        if let Some(topics) = &mut *self.shared.topics.lock() {
            std::mem::swap(topics, &mut self.spare);
        }
        for topic in self.spare.drain(..) {
            #[cfg(all(test, any(loom, shuttle)))]
            if self.fault == super::model::FanoutFault::ListedForgotten {
                into.push(topic.key);
                continue;
            }
            // Clears the flag before the partition looks: later news then list the place again.
            topic.listed.swap(false, Ordering::AcqRel);
            into.push(topic.key);
        }
    }
}

impl<K, W: ?Sized> Drop for PartitionReadyTopics<K, W> {
    fn drop(&mut self) {
        let topics = self.shared.topics.lock().take();
        drop(topics);
    }
}

impl<K: Copy, W: WakeHandle + ?Sized> TopicListener for Arc<PartitionTopicListener<K, W>> {
    type Wake = W;

    fn listener_number(&self) -> u64 {
        self.partition.signal.listener_number()
    }

    fn mark_news_pending(&self) -> Option<&Arc<ListenerSignal<W>>> {
        if self.listed.swap(true, Ordering::AcqRel) {
            // The thread that listed the place signals the partition.
            return None;
        }
        self.partition.topics.lock().as_mut()?.push(self.clone());
        self.partition.signal.set_news_pending().then_some(&self.partition.signal)
    }
}

impl<K, W: ?Sized> fmt::Debug for PartitionReadyTopics<K, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadyTopics").field("signal", &self.shared.signal).finish_non_exhaustive()
    }
}

impl<K: fmt::Debug, W: ?Sized> fmt::Debug for PartitionTopicListener<K, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionTopic")
            .field("key", &self.key)
            .field("listed", &self.listed)
            .finish_non_exhaustive()
    }
}
