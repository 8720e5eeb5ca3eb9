//! The buffers that the workload runs on.

use std::{collections::VecDeque, sync::Arc};

use lineside_sync::ring::{Ring, RingBounds, RingCursor, RingEntry, SharedRing};
use parking_lot::Mutex;

use super::{Content, ITEM_BYTES};

/// A bounded buffer that forgets its oldest.
pub(super) trait Buffer {
    /// What goes in.
    type Item;
    /// What comes out.
    type Pulled;

    fn new(capacity: usize) -> Self;

    fn make(content: &Content) -> Self::Item;

    /// Adds an item, and frees the oldest where there is no place.
    fn push(&mut self, item: Self::Item);

    /// Takes the oldest.
    fn pull(&mut self) -> Self::Pulled;
}

/// Ours. It is read by cursor: what is pulled stays for other readers, until it is overwritten.
pub(super) struct Lineside {
    log: SharedRing<Ring<Content>>,
    bounds: RingBounds,
    cursor: RingCursor,
    taken: Vec<RingEntry<Content>>,
}

impl Buffer for Lineside {
    type Item = Arc<Content>;
    type Pulled = Option<RingEntry<Content>>;

    fn new(capacity: usize) -> Self {
        Lineside {
            log: SharedRing::new(Ring::with_slots(0, capacity + 1)),
            bounds: RingBounds { entries: capacity, ..RingBounds::NONE },
            cursor: RingCursor::at_offset(0),
            taken: Vec::with_capacity(1),
        }
    }

    fn make(content: &Content) -> Arc<Content> {
        Arc::new(*content)
    }

    fn push(&mut self, item: Arc<Content>) {
        self.log.append_next(item, self.bounds);
    }

    fn pull(&mut self) -> Option<RingEntry<Content>> {
        // A reader that was overtaken goes on at the oldest, which is what the others pull.
        let _missed = self.log.take_after(&mut self.cursor, 1, &mut self.taken);
        self.taken.pop()
    }
}

/// What one writes first.
pub(super) struct MutexedDeque {
    items: Mutex<VecDeque<Box<Content>>>,
    capacity: usize,
}

impl Buffer for MutexedDeque {
    type Item = Box<Content>;
    type Pulled = Option<Box<Content>>;

    fn new(capacity: usize) -> Self {
        MutexedDeque { items: Mutex::new(VecDeque::with_capacity(capacity)), capacity }
    }

    fn make(content: &Content) -> Box<Content> {
        Box::new(*content)
    }

    fn push(&mut self, item: Box<Content>) {
        let mut items = self.items.lock();
        let oldest = if items.len() == self.capacity { items.pop_front() } else { None };
        items.push_back(item);
        drop(items);
        drop(oldest);
    }

    fn pull(&mut self) -> Option<Box<Content>> {
        self.items.lock().pop_front()
    }
}

/// The crate's.
pub(super) struct ArrayQueue(crossbeam_queue::ArrayQueue<Box<Content>>);

impl Buffer for ArrayQueue {
    type Item = Box<Content>;
    type Pulled = Option<Box<Content>>;

    fn new(capacity: usize) -> Self {
        ArrayQueue(crossbeam_queue::ArrayQueue::new(capacity))
    }

    fn make(content: &Content) -> Box<Content> {
        Box::new(*content)
    }

    fn push(&mut self, item: Box<Content>) {
        drop(self.0.force_push(item));
    }

    fn pull(&mut self) -> Option<Box<Content>> {
        self.0.pop()
    }
}

/// As much memory, written to at places that no prefetcher guesses.
pub(super) struct Cold {
    memory: Vec<u8>,
    places: fastrand::Rng,
    capacity: usize,
}

impl Cold {
    pub(super) fn new(capacity: usize) -> Cold {
        let places = fastrand::Rng::with_seed(1);
        Cold { memory: vec![1; capacity * ITEM_BYTES], places, capacity }
    }

    /// A place that was, with any luck, not written to for long.
    pub(super) fn place(&mut self) -> &mut [u8] {
        let start = self.places.usize(..self.capacity) * ITEM_BYTES;
        &mut self.memory[start..start + ITEM_BYTES]
    }
}
