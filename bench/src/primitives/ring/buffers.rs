//! The buffers of the workload.

use std::{collections::VecDeque, sync::Arc};

use lineside_sync::ring::{Ring, RingBounds, RingCursor, RingEntry, SharedRing};
use parking_lot::Mutex;

use super::{Content, ITEM_BYTES};

/// A bounded buffer that drops its oldest item.
pub(super) trait Buffer {
    /// The pushed item.
    type Item;
    /// The pulled item.
    type Pulled;

    fn new(capacity: usize) -> Self;

    fn make(content: &Content) -> Self::Item;

    /// Adds an item, and drops the oldest if the buffer is full.
    fn push(&mut self, item: Self::Item);

    /// Removes the oldest item.
    fn pull(&mut self) -> Self::Pulled;
}

/// Our ring, read by cursor: a pulled item stays for other readers until it is overwritten.
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
            log: SharedRing::new(Ring::with_min_slots(0, capacity + 1)),
            bounds: RingBounds { entries: capacity, ..RingBounds::NONE },
            cursor: RingCursor::cursor_at_offset(0),
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
        // An overtaken reader continues at the oldest entry, which is the one that the other buffers pull.
        let _missed = self.log.take_entries_after(&mut self.cursor, 1, &mut self.taken);
        self.taken.pop()
    }
}

/// The obvious implementation.
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

/// The crate's queue.
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

/// The same amount of memory, written at places that no prefetcher predicts.
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

    /// Returns a place that was probably not written recently.
    pub(super) fn place(&mut self) -> &mut [u8] {
        let start = self.places.usize(..self.capacity) * ITEM_BYTES;
        &mut self.memory[start..start + ITEM_BYTES]
    }
}
