//! The count of topics per kind, and the fence that publishers and listeners rely on.

use std::fmt;

use crate::primitive::atomic::{AtomicU32, Ordering, fence};

/// Orders a publisher's new state before its lookup of topics
/// ([`TopicChangeBatch::open_batch`](super::TopicChangeBatch::open_batch) calls this function), and a listener's entry
/// of a topic before its read of the state. So at least one of the two sees the other's write.
///
/// Neither the swap of the state nor the insertion into the table needs an ordering of its own for this. Cost: one
/// fence, about 5 ns.
pub fn fence_before_topic_lookup() {
    fence(Ordering::SeqCst);
}

/// The number of topics of each kind, so that publishers can skip the kinds without topics.
pub struct TopicCountByKind<const KINDS: usize> {
    topics: [AtomicU32; KINDS],
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) fault: super::model::FanoutFault,
}

impl<const KINDS: usize> TopicCountByKind<KINDS> {
    /// Creates a count without topics.
    pub fn new() -> Self {
        Self {
            topics: std::array::from_fn(|_| AtomicU32::new(0)),
            #[cfg(all(test, any(loom, shuttle)))]
            fault: super::model::FanoutFault::None,
        }
    }

    /// Returns true if there is a topic of this kind. One load. A publisher calls this inside an open batch.
    ///
    /// # Panics
    /// Panics if there is no such kind, as the other methods do.
    pub fn has_topics_of_kind(&self, kind: usize) -> bool {
        self.topic_count_of_kind(kind) != 0
    }

    /// Returns the number of topics of this kind.
    pub fn topic_count_of_kind(&self, kind: usize) -> u32 {
        self.topics[kind].load(Ordering::Acquire)
    }

    /// Enters a topic of this kind in the table of topics by calling `insert`. Only one thread at a time may do so for
    /// a topic: hold the lock that keeps others from creating the same topic.
    pub fn count_and_insert_topic<R>(&self, kind: usize, insert: impl FnOnce() -> R) -> R {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.fault == super::model::FanoutFault::InterestAfterTable {
            let result = insert();
            self.topics[kind].fetch_add(1, Ordering::AcqRel);
            return result;
        }
        // Raises the count first. Another listener that finds the topic in the table may read the state at once, and
        // from then on no publisher may skip its kind.
        self.topics[kind].fetch_add(1, Ordering::AcqRel);
        insert()
    }

    /// Removes a topic of this kind from the table by calling `remove`, under the same lock as
    /// [`count_and_insert_topic`](Self::count_and_insert_topic).
    pub fn remove_and_uncount_topic<R>(&self, kind: usize, remove: impl FnOnce() -> R) -> R {
        let result = remove();
        self.topics[kind].fetch_sub(1, Ordering::AcqRel);
        result
    }
}

impl<const KINDS: usize> Default for TopicCountByKind<KINDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const KINDS: usize> fmt::Debug for TopicCountByKind<KINDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicInterest").field("kinds", &KINDS).finish_non_exhaustive()
    }
}
