//! The slots: a queue per sender, and the set of slots that hold messages.

use std::{collections::VecDeque, mem};

use crossbeam_utils::CachePadded;

use super::shared::SpinLock;
use crate::primitive::atomic::{AtomicU64, Ordering};

/// The number of slots; at most the bits of a word.
pub(super) const SLOTS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 64 };

/// A sender's queue while senders contend.
#[derive(Debug)]
struct SenderSlot<T> {
    queue: VecDeque<T>,
    /// A closed slot accepts nothing: its senders use the single queue.
    is_open: bool,
}

/// All slots, each on its own cache line.
#[derive(Debug)]
pub(super) struct SenderSlotArray<T> {
    /// A bit per slot that was empty and got a message. Set under the slot's lock, so that a closed slot is never
    /// marked again.
    marked: CachePadded<AtomicU64>,
    slots: Box<[CachePadded<SpinLock<SenderSlot<T>>>]>,
}

/// The outcome of an attempt to append to a slot.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlotAppendOutcome {
    /// The slot is closed.
    Closed,
    /// Appended; the sender has nothing more to do.
    Appended,
    /// Appended, and no slot was marked before: the receiver may be asleep.
    AppendedFirst,
}

/// The messages that the receiver has taken from the slots.
#[derive(Debug)]
pub(super) struct MessagesTakenFromSlots<T> {
    /// A bit per queue that holds messages.
    marked: u64,
    /// One queue per slot once the slots were open, none before.
    queues: Vec<VecDeque<T>>,
}

impl<T> SenderSlotArray<T> {
    /// Creates closed and empty slots.
    pub(super) fn new() -> Self {
        let slot = || SenderSlot { queue: VecDeque::new(), is_open: false };
        let slots = (0..SLOTS).map(|_| CachePadded::new(SpinLock::new(slot()))).collect();
        Self { marked: CachePadded::new(AtomicU64::new(0)), slots }
    }

    /// Lets `fill` append to the queue of the slot `at`.
    #[inline]
    pub(super) fn append_to_slot(
        &self,
        at: usize,
        fill: impl FnOnce(&mut VecDeque<T>),
    ) -> SlotAppendOutcome {
        let Some(slot) = self.slots.get(at) else { return SlotAppendOutcome::Closed };
        let mut slot = slot.lock();
        if !slot.is_open {
            return SlotAppendOutcome::Closed;
        }
        let was_empty = slot.queue.is_empty();
        fill(&mut slot.queue);
        // Release: a thread that finds the mark also finds the writes before it. Only the first mark must check for a
        // sleeping receiver; until the receiver's next visit it finds all further marks.
        match was_empty && self.marked.fetch_or(1 << at, Ordering::AcqRel) == 0 {
            true => SlotAppendOutcome::AppendedFirst,
            false => SlotAppendOutcome::Appended,
        }
    }

    /// Returns true if a slot was marked since the last visit.
    pub(super) fn has_slot_with_messages(&self) -> bool {
        self.marked.load(Ordering::Acquire) != 0
    }

    /// Swaps the queues of marked slots with the empty ones in `taken`; returns the number of messages taken.
    ///
    /// `taken` must be empty.
    pub(super) fn take_marked_queues(&self, taken: &mut MessagesTakenFromSlots<T>) -> usize {
        if !self.has_slot_with_messages() {
            return 0;
        }
        if taken.queues.is_empty() {
            taken.queues.resize_with(SLOTS, VecDeque::new);
        }
        let marked = self.marked.swap(0, Ordering::AcqRel);
        let mut n_messages = 0;
        for (at, (slot, queue)) in self.slots.iter().zip(&mut taken.queues).enumerate() {
            if marked & 1 << at != 0 {
                mem::swap(&mut slot.lock().queue, queue);
                n_messages += queue.len();
                taken.marked |= u64::from(!queue.is_empty()) << at;
            }
        }
        n_messages
    }

    pub(super) fn open_all_slots(&self) {
        for slot in &self.slots {
            slot.lock().is_open = true;
        }
    }

    /// Closes every slot, moves its messages to the end of `queue` and frees its memory.
    pub(super) fn close_all_slots(&self, queue: &mut VecDeque<T>) {
        for slot in &self.slots {
            let mut slot = slot.lock();
            slot.is_open = false;
            queue.append(&mut slot.queue);
            slot.queue = VecDeque::new();
        }
        self.marked.store(0, Ordering::Release);
    }
}

impl<T> MessagesTakenFromSlots<T> {
    pub(super) fn new() -> Self {
        Self { marked: 0, queues: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.marked == 0
    }

    pub(super) fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Returns the next message: slot by slot, in order within each.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.marked == 0 {
            return None;
        }
        let at = self.marked.trailing_zeros() as usize;
        let queue = self.queues.get_mut(at)?;
        let message = queue.pop_front();
        if queue.is_empty() {
            self.marked &= self.marked - 1;
        }
        message
    }

    /// Frees the memory of the queues, if they are empty. For use once the slots are closed.
    pub(super) fn free_empty_queues(&mut self) {
        if self.marked == 0 && !self.queues.is_empty() {
            self.queues = Vec::new();
        }
    }
}
