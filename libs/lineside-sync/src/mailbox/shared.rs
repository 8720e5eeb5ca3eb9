//! The state shared by senders and receiver: the single queue, the waiting receiver, and the slots once they are open.
//!
//! Everything except the slots is under one lock. Lock order: the single queue's, then a slot's.

use std::{collections::VecDeque, mem, sync::OnceLock, task::Waker};

use crossbeam_utils::CachePadded;

#[cfg(not(any(loom, shuttle)))]
pub(super) use super::lock::SpinLock;
#[cfg(any(loom, shuttle))]
pub(super) use crate::primitive::Mutex as SpinLock;
#[cfg(not(any(loom, shuttle)))]
type SingleQueueGuard<'a, T> = super::lock::SpinLockGuard<'a, T>;
#[cfg(any(loom, shuttle))]
type SingleQueueGuard<'a, T> = crate::primitive::MutexGuard<'a, T>;

use super::{
    MailboxOptions,
    error::TrySendError,
    fault_injection::{FaultInjection, InjectedMailboxFault},
    slots::{SLOTS, SenderSlotArray, SlotAppendOutcome},
};
use crate::primitive::{
    Arc,
    atomic::{AtomicBool, Ordering},
    thread::Thread,
};

/// The receiver's thread or task that waits for a message.
#[derive(Debug)]
pub(super) enum WaitingReceiver {
    Nobody,
    Thread(Thread),
    Task(Waker),
}

impl WaitingReceiver {
    pub(super) fn wake_receiver(self) {
        match self {
            Self::Nobody => {}
            Self::Thread(thread) => thread.unpark(),
            Self::Task(waker) => waker.wake(),
        }
    }
}

/// The queue of all senders while they do not contend, and the state that only the lock's holder may access.
#[derive(Debug)]
pub(super) struct SingleQueue<T> {
    pub(super) queue: VecDeque<T>,
    waiting: WaitingReceiver,
    contention: u32,
    /// True while the slots are open. A sender sets it, the receiver clears it.
    is_parallel: bool,
    /// True once the receiver accepts no more messages.
    is_closed: bool,
    pub(super) n_senders: usize,
    next_slot: usize,
}

#[derive(Debug)]
pub(super) struct MailboxShared<T> {
    pub(super) options: MailboxOptions,
    /// A copy of [`SingleQueue::is_parallel`], read without the lock: may be stale.
    is_parallel: AtomicBool,
    /// Created on first use, under the single queue's lock; visible to a thread that has seen `is_parallel` true.
    slots: OnceLock<Box<SenderSlotArray<T>>>,
    pub(super) faults: FaultInjection,
    pub(super) single: CachePadded<SpinLock<SingleQueue<T>>>,
}

/// The outcome when a receiver wants to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReceiverSleepDecision {
    /// A message waits.
    Ready,
    /// The mailbox is empty and no message will come.
    Closed,
    /// The receiver may sleep: it will be woken.
    Sleep,
}

impl<T> MailboxShared<T> {
    pub(super) fn new(options: MailboxOptions) -> Arc<Self> {
        Arc::new(Self::with_faults(options, FaultInjection::default()))
    }

    pub(super) fn with_faults(options: MailboxOptions, faults: FaultInjection) -> Self {
        let single = SingleQueue {
            queue: VecDeque::new(),
            waiting: WaitingReceiver::Nobody,
            contention: 0,
            is_parallel: false,
            is_closed: false,
            n_senders: 0,
            next_slot: 0,
        };
        Self {
            options: options.clamp_queue_capacities(),
            is_parallel: AtomicBool::new(false),
            slots: OnceLock::new(),
            faults,
            single: CachePadded::new(SpinLock::new(single)),
        }
    }

    /// Returns the slots, if they seem to be open.
    #[inline]
    pub(super) fn slots_if_open(&self) -> Option<&SenderSlotArray<T>> {
        // Acquire: a thread that sees them open also sees them created.
        if self.is_parallel.load(Ordering::Acquire) {
            self.slots.get().map(|slots| &**slots)
        } else {
            None
        }
    }

    /// Lets `fill` append to the queue of a sender with slot `at`, within the credits given to `fill`; returns an
    /// error if the receiver is closed.
    #[inline]
    pub(super) fn append_to_sender_queue(
        &self,
        at: usize,
        mut fill: impl FnMut(&mut VecDeque<T>, usize),
    ) -> Result<(), TrySendError<()>> {
        loop {
            if let Some(slots) = self.slots_if_open() {
                match slots.append_to_slot(at, |queue| fill(queue, self.options.slot_credits)) {
                    SlotAppendOutcome::Appended => return Ok(()),
                    SlotAppendOutcome::AppendedFirst => {
                        if !self.faults.injects_fault(InjectedMailboxFault::MarkWithoutWake) {
                            self.wake_receiver_if_sleeping();
                        }
                        return Ok(());
                    }
                    // The receiver is closing the slots, or has closed them: wait for the single queue's lock.
                    SlotAppendOutcome::Closed => {}
                }
            }
            let (mut single, was_free) = match self.single.try_lock() {
                Some(single) => (single, true),
                None => (self.single.lock(), false),
            };
            if single.is_closed {
                return Err(TrySendError::Closed(()));
            }
            // The read without the lock may be stale by a closing and an opening: a message in the single queue would
            // then overtake an earlier one of the same sender in a slot.
            if single.is_parallel
                && !self.faults.injects_fault(InjectedMailboxFault::TrustStaleMode)
            {
                continue;
            }
            let n_before = single.queue.len();
            fill(&mut single.queue, self.options.credits);
            // Senders compete for the lock and for room; with slots, a sender that floods its own leaves the others
            // theirs.
            let is_refused = single.queue.len() == n_before
                && !self.faults.injects_fault(InjectedMailboxFault::RefusalsUncounted);
            let is_free = was_free && !is_refused;
            let contention = match is_free {
                true => single.contention.saturating_sub(1),
                false => single.contention.saturating_add(self.options.contended_weight),
            };
            single.contention = contention;
            if contention >= self.options.parallel_from && single.n_senders > 1 {
                self.open_sender_slots(&mut single);
            }
            unlock_and_wake_receiver(single);
            return Ok(());
        }
    }

    /// Opens the slots. Messages in the single queue are older than any that will be in the slots.
    #[cold]
    fn open_sender_slots(&self, single: &mut SingleQueue<T>) {
        if single.is_parallel {
            return;
        }
        self.slots.get_or_init(|| Box::new(SenderSlotArray::new())).open_all_slots();
        single.contention = 0;
        single.is_parallel = true;
        self.is_parallel.store(true, Ordering::Release);
    }

    /// Closes the slots, and moves their messages to the single queue.
    ///
    /// The caller holds the single queue's lock from before the first slot is closed until all are empty. A sender
    /// that finds its slot closed waits for that lock, so its next message comes after its earlier ones.
    #[cold]
    pub(super) fn close_sender_slots(&self, single: &mut SingleQueue<T>) {
        let Some(slots) = self.slots.get() else { return };
        if self.faults.injects_fault(InjectedMailboxFault::ForgetTheSlots) {
            slots.close_all_slots(&mut VecDeque::new());
        } else if !self.faults.injects_fault(InjectedMailboxFault::LeaveSlotsOpen) {
            slots.close_all_slots(&mut single.queue);
        }
        single.contention = 0;
        single.is_parallel = false;
        self.is_parallel.store(false, Ordering::Release);
    }

    /// Wakes the receiver if it sleeps. The lock orders this call after or before the receiver's last check.
    #[cold]
    fn wake_receiver_if_sleeping(&self) {
        unlock_and_wake_receiver(self.single.lock());
    }

    /// Puts the receiver to sleep, unless there is a message to receive, or no message will come.
    ///
    /// Replaces an earlier waiting thread or task. `close_slots` closes the slots first.
    pub(super) fn sleep_unless_message(
        &self,
        waiting: WaitingReceiver,
        close_slots: bool,
    ) -> ReceiverSleepDecision {
        let mut single = self.single.lock();
        if close_slots && single.is_parallel {
            self.close_sender_slots(&mut single);
        }
        let decision = self.receiver_sleep_decision_locked(&single);
        if decision != ReceiverSleepDecision::Sleep
            && !self.faults.injects_fault(InjectedMailboxFault::SleepWithoutCheck)
        {
            return decision;
        }
        if self.faults.injects_fault(InjectedMailboxFault::KeepFirstWaker)
            && !matches!(single.waiting, WaitingReceiver::Nobody)
        {
            return ReceiverSleepDecision::Sleep;
        }
        let previous = mem::replace(&mut single.waiting, waiting);
        drop(single);
        // A waker's destructor is foreign code.
        drop(previous);
        ReceiverSleepDecision::Sleep
    }

    /// Returns the outcome for a receiver that holds no messages.
    pub(super) fn receiver_sleep_decision(&self) -> ReceiverSleepDecision {
        self.receiver_sleep_decision_locked(&self.single.lock())
    }

    fn receiver_sleep_decision_locked(&self, single: &SingleQueue<T>) -> ReceiverSleepDecision {
        let is_marked =
            single.is_parallel && self.slots.get().is_some_and(|it| it.has_slot_with_messages());
        match () {
            () if is_marked || !single.queue.is_empty() => ReceiverSleepDecision::Ready,
            () if single.is_closed || single.n_senders == 0 => ReceiverSleepDecision::Closed,
            () => ReceiverSleepDecision::Sleep,
        }
    }

    /// Closes the mailbox; accepted messages wait in the single queue.
    pub(super) fn close_mailbox(&self) {
        let mut single = self.single.lock();
        single.is_closed = true;
        self.close_sender_slots(&mut single);
    }

    /// Closes the mailbox as its receiver is dropped; returns the accepted messages and the waiting thread or task.
    pub(super) fn close_for_dropped_receiver(&self) -> (VecDeque<T>, WaitingReceiver) {
        let mut single = self.single.lock();
        single.is_closed = !self.faults.injects_fault(InjectedMailboxFault::AbandonOpen);
        self.close_sender_slots(&mut single);
        let waiting = mem::replace(&mut single.waiting, WaitingReceiver::Nobody);
        (mem::take(&mut single.queue), waiting)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.single.lock().is_closed
    }

    pub(super) fn are_sender_slots_open(&self) -> bool {
        self.single.lock().is_parallel
    }

    /// Adds a sender and returns its slot. Slots are assigned in turn.
    pub(super) fn count_sender_and_assign_slot(&self) -> usize {
        let mut single = self.single.lock();
        single.n_senders += 1;
        let at = single.next_slot;
        single.next_slot = (at + 1) % SLOTS;
        at
    }

    /// Removes a sender; removing the last one wakes the receiver.
    pub(super) fn uncount_sender(&self) {
        let mut single = self.single.lock();
        single.n_senders -= 1;
        if single.n_senders == 0
            && !self.faults.injects_fault(InjectedMailboxFault::LeaveWithoutWake)
        {
            unlock_and_wake_receiver(single);
        }
    }
}

/// Wakes the waiting receiver, once, and without the lock: a waker is foreign code.
#[inline]
fn unlock_and_wake_receiver<T>(mut single: SingleQueueGuard<'_, SingleQueue<T>>) {
    if let WaitingReceiver::Nobody = single.waiting {
        return;
    }
    let waiting = mem::replace(&mut single.waiting, WaitingReceiver::Nobody);
    drop(single);
    waiting.wake_receiver();
}

#[cfg(all(test, any(loom, shuttle)))]
impl<T> MailboxShared<T> {
    /// Opens the slots, as contention does.
    pub(super) fn open_now(&self) {
        let mut single = self.single.lock();
        if !single.is_closed {
            self.open_sender_slots(&mut single);
        }
    }
}
