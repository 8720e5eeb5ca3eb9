//! What anybody listens to, and the one order that publishers and listeners rely upon.

use std::fmt;

use crate::primitive::atomic::{AtomicU32, Ordering, fence};

/// Stands between a publisher's new state and its lookup of topics ([`TopicBatch::open`](super::TopicBatch::open) calls
/// it), and between a listener's entry of a topic and its reading of the state: of the two, at least one
/// sees what the other did.
///
/// Neither the state's swap nor the table's insertion needs an ordering of its own for this. Cost: one
/// fence, some 5 ns.
pub fn fence_lookup() {
    fence(Ordering::SeqCst);
}

/// How many topics of each kind there are, so that publishers can pass over the kinds without any.
pub struct TopicInterest<const KINDS: usize> {
    topics: [AtomicU32; KINDS],
    #[cfg(all(test, any(loom, shuttle)))]
    pub(super) mistake: super::model::Mistake,
}

impl<const KINDS: usize> TopicInterest<KINDS> {
    /// Without topics.
    pub fn new() -> Self {
        Self {
            topics: std::array::from_fn(|_| AtomicU32::new(0)),
            #[cfg(all(test, any(loom, shuttle)))]
            mistake: super::model::Mistake::None,
        }
    }

    /// Whether there is any topic of this kind. One load. A publisher asks in an open batch.
    ///
    /// # Panics
    /// When there is no such kind; so do the others.
    pub fn has_topics(&self, kind: usize) -> bool {
        self.topic_count(kind) != 0
    }

    /// How many topics of this kind there are.
    pub fn topic_count(&self, kind: usize) -> u32 {
        self.topics[kind].load(Ordering::Acquire)
    }

    /// Enters a topic of this kind in the table of topics, as `insert` does it. For one thread at a time
    /// per topic: under the lock that keeps others from making the same one.
    pub fn enter_topic<R>(&self, kind: usize, insert: impl FnOnce() -> R) -> R {
        #[cfg(all(test, any(loom, shuttle)))]
        if self.mistake == super::model::Mistake::InterestAfterTable {
            let result = insert();
            self.topics[kind].fetch_add(1, Ordering::AcqRel);
            return result;
        }
        // The interest first: another listener who finds the topic in the table may read the state at
        // once, and from then on a publisher must not be told that nobody listens.
        self.topics[kind].fetch_add(1, Ordering::AcqRel);
        insert()
    }

    /// Takes a topic of this kind out of the table, as `remove` does it; under the same lock.
    pub fn remove_topic<R>(&self, kind: usize, remove: impl FnOnce() -> R) -> R {
        let result = remove();
        self.topics[kind].fetch_sub(1, Ordering::AcqRel);
        result
    }
}

impl<const KINDS: usize> Default for TopicInterest<KINDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const KINDS: usize> fmt::Debug for TopicInterest<KINDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interest").field("kinds", &KINDS).finish_non_exhaustive()
    }
}
