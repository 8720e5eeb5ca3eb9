//! What the senders and the receiver share: the single queue, who waits for it, and the slots once they are open.
//!
//! Everything but the slots is under one lock. Lock order: the single queue's, then a slot's.

use std::{collections::VecDeque, mem, sync::OnceLock, task::Waker};

use crossbeam_utils::CachePadded;

#[cfg(not(any(loom, shuttle)))]
pub(super) use super::lock::SpinLock;
#[cfg(any(loom, shuttle))]
pub(super) use crate::primitive::Mutex as SpinLock;
#[cfg(not(any(loom, shuttle)))]
type Guard<'a, T> = super::lock::SpinLockGuard<'a, T>;
#[cfg(any(loom, shuttle))]
type Guard<'a, T> = crate::primitive::MutexGuard<'a, T>;

use super::{
    MailboxOptions,
    error::TrySendError,
    fault_injection::{FaultInjection, MailboxFault},
    slots::{AppendOutcome, SLOTS, SlotArray},
};
use crate::primitive::{
    Arc,
    atomic::{AtomicBool, Ordering},
    thread::Thread,
};

/// Who waits for a message.
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

/// The queue of all senders while they do not contend, and what only its lock's holder may know.
#[derive(Debug)]
pub(super) struct SingleQueue<T> {
    pub(super) queue: VecDeque<T>,
    waiting: WaitingReceiver,
    contention: u32,
    /// The slots are open. Changes to true by a sender, to false by the receiver.
    is_parallel: bool,
    /// The receiver takes no more.
    is_closed: bool,
    pub(super) n_senders: usize,
    next_slot: usize,
}

#[derive(Debug)]
pub(super) struct MailboxShared<T> {
    pub(super) options: MailboxOptions,
    /// [`SingleQueue::is_parallel`], to be looked at without the lock: may be behind.
    is_parallel: AtomicBool,
    /// Made when first needed, under the single queue's lock; seen by who has seen `is_parallel`.
    slots: OnceLock<Box<SlotArray<T>>>,
    pub(super) mistakes: FaultInjection,
    pub(super) single: CachePadded<SpinLock<SingleQueue<T>>>,
}

/// What a receiver finds that wants to go to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SleepDecision {
    /// Something waits.
    Ready,
    /// Nothing waits and nothing will come.
    Closed,
    /// It may sleep: it will be woken.
    Sleep,
}

impl<T> MailboxShared<T> {
    pub(super) fn new(options: MailboxOptions) -> Arc<Self> {
        Arc::new(Self::with_faults(options, FaultInjection::default()))
    }

    pub(super) fn with_faults(options: MailboxOptions, mistakes: FaultInjection) -> Self {
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
            options: options.clamp_credits(),
            is_parallel: AtomicBool::new(false),
            slots: OnceLock::new(),
            mistakes,
            single: CachePadded::new(SpinLock::new(single)),
        }
    }

    /// The slots, if they seem to be open.
    #[inline]
    pub(super) fn slots_if_open(&self) -> Option<&SlotArray<T>> {
        // Acquire: who sees them open also sees them made.
        if self.is_parallel.load(Ordering::Acquire) {
            self.slots.get().map(|slots| &**slots)
        } else {
            None
        }
    }

    /// Lets `fill` append to the queue of the sender whose slot is `at`, given how many messages may wait
    /// there; refuses once the receiver is closed.
    #[inline]
    pub(super) fn append_messages(
        &self,
        at: usize,
        mut fill: impl FnMut(&mut VecDeque<T>, usize),
    ) -> Result<(), TrySendError<()>> {
        loop {
            if let Some(slots) = self.slots_if_open() {
                match slots.append_messages(at, |queue| fill(queue, self.options.slot_credits)) {
                    AppendOutcome::Appended => return Ok(()),
                    AppendOutcome::AppendedFirst => {
                        if !self.mistakes.injects_fault(MailboxFault::MarkSilently) {
                            self.wake_if_sleeping();
                        }
                        return Ok(());
                    }
                    // The receiver is closing them, or has: wait for it.
                    AppendOutcome::Closed => {}
                }
            }
            let (mut single, was_free) = match self.single.try_lock() {
                Some(single) => (single, true),
                None => (self.single.lock(), false),
            };
            if single.is_closed {
                return Err(TrySendError::Closed(()));
            }
            // The look without the lock may be behind by a closing and an opening: a message in the single
            // queue would then overtake one of the same sender in a slot.
            if single.is_parallel && !self.mistakes.injects_fault(MailboxFault::TrustTheFirstLook) {
                continue;
            }
            let n_before = single.queue.len();
            fill(&mut single.queue, self.options.credits);
            // Senders compete for the lock, and for room: whoever floods a slot leaves the others theirs.
            let is_refused = single.queue.len() == n_before
                && !self.mistakes.injects_fault(MailboxFault::RefusalsUncounted);
            let is_free = was_free && !is_refused;
            let contention = match is_free {
                true => single.contention.saturating_sub(1),
                false => single.contention.saturating_add(self.options.contended_weight),
            };
            single.contention = contention;
            if contention >= self.options.parallel_from && single.n_senders > 1 {
                self.assign_slots(&mut single);
            }
            wake_and_unlock(single);
            return Ok(());
        }
    }

    /// Gives senders their slots. What is in the single queue is older than what will be in them.
    #[cold]
    fn assign_slots(&self, single: &mut SingleQueue<T>) {
        if single.is_parallel {
            return;
        }
        self.slots.get_or_init(|| Box::new(SlotArray::new())).open_all();
        single.contention = 0;
        single.is_parallel = true;
        self.is_parallel.store(true, Ordering::Release);
    }

    /// Turns back to the single queue, which is left holding also what the slots held.
    ///
    /// Under the single queue's lock from before the first slot is closed until all are empty: a sender that
    /// finds its slot closed waits for that lock, and so comes after what it sent before.
    #[cold]
    pub(super) fn close_slots(&self, single: &mut SingleQueue<T>) {
        let Some(slots) = self.slots.get() else { return };
        if self.mistakes.injects_fault(MailboxFault::ForgetTheSlots) {
            slots.close_all(&mut VecDeque::new());
        } else if !self.mistakes.injects_fault(MailboxFault::LeaveSlotsOpen) {
            slots.close_all(&mut single.queue);
        }
        single.contention = 0;
        single.is_parallel = false;
        self.is_parallel.store(false, Ordering::Release);
    }

    /// Wakes the receiver if it sleeps. The lock orders this after or before its last look.
    #[cold]
    fn wake_if_sleeping(&self) {
        wake_and_unlock(self.single.lock());
    }

    /// Goes to sleep, unless there is something to receive, or never will be.
    ///
    /// Whoever waited before is forgotten. `close_slots` turns back to the single queue first.
    pub(super) fn try_sleep(&self, waiting: WaitingReceiver, close_slots: bool) -> SleepDecision {
        let mut single = self.single.lock();
        if close_slots && single.is_parallel {
            self.close_slots(&mut single);
        }
        let look = self.decide_sleep_locked(&single);
        if look != SleepDecision::Sleep
            && !self.mistakes.injects_fault(MailboxFault::SleepWithoutLooking)
        {
            return look;
        }
        if self.mistakes.injects_fault(MailboxFault::KeepFirstWaker)
            && !matches!(single.waiting, WaitingReceiver::Nobody)
        {
            return SleepDecision::Sleep;
        }
        let before = mem::replace(&mut single.waiting, waiting);
        drop(single);
        // A waker's destructor is foreign code.
        drop(before);
        SleepDecision::Sleep
    }

    /// What a receiver with empty hands finds.
    pub(super) fn decide_sleep(&self) -> SleepDecision {
        self.decide_sleep_locked(&self.single.lock())
    }

    fn decide_sleep_locked(&self, single: &SingleQueue<T>) -> SleepDecision {
        let is_marked =
            single.is_parallel && self.slots.get().is_some_and(|it| it.has_marked_slot());
        match () {
            () if is_marked || !single.queue.is_empty() => SleepDecision::Ready,
            () if single.is_closed || single.n_senders == 0 => SleepDecision::Closed,
            () => SleepDecision::Sleep,
        }
    }

    /// Takes no more; what was accepted waits in the single queue.
    pub(super) fn close(&self) {
        let mut single = self.single.lock();
        single.is_closed = true;
        self.close_slots(&mut single);
    }

    /// The receiver goes: takes no more, and hands over what was accepted and who waited.
    pub(super) fn abandon_receiver(&self) -> (VecDeque<T>, WaitingReceiver) {
        let mut single = self.single.lock();
        single.is_closed = !self.mistakes.injects_fault(MailboxFault::AbandonOpen);
        self.close_slots(&mut single);
        let waiting = mem::replace(&mut single.waiting, WaitingReceiver::Nobody);
        (mem::take(&mut single.queue), waiting)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.single.lock().is_closed
    }

    pub(super) fn is_parallel(&self) -> bool {
        self.single.lock().is_parallel
    }

    /// A new sender: which slot it has. Every slot has one before any has two.
    pub(super) fn add_sender(&self) -> usize {
        let mut single = self.single.lock();
        single.n_senders += 1;
        let at = single.next_slot;
        single.next_slot = (at + 1) % SLOTS;
        at
    }

    /// A sender goes; the last one tells the receiver.
    pub(super) fn remove_sender(&self) {
        let mut single = self.single.lock();
        single.n_senders -= 1;
        if single.n_senders == 0 && !self.mistakes.injects_fault(MailboxFault::LeaveSilently) {
            wake_and_unlock(single);
        }
    }
}

/// Wakes whoever waits, once, and without the lock: what a waker does is foreign code.
#[inline]
fn wake_and_unlock<T>(mut single: Guard<'_, SingleQueue<T>>) {
    if let WaitingReceiver::Nobody = single.waiting {
        return;
    }
    let waiting = mem::replace(&mut single.waiting, WaitingReceiver::Nobody);
    drop(single);
    waiting.wake_receiver();
}

#[cfg(all(test, any(loom, shuttle)))]
impl<T> MailboxShared<T> {
    /// As contention does.
    pub(super) fn open_now(&self) {
        let mut single = self.single.lock();
        if !single.is_closed {
            self.assign_slots(&mut single);
        }
    }
}
