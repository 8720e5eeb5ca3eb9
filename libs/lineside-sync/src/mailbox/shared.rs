//! What the senders and the receiver share: the single queue, who waits for it, and the slots once they are open.
//!
//! Everything but the slots is under one lock. Lock order: the single queue's, then a slot's.

use std::{collections::VecDeque, mem, sync::OnceLock, task::Waker};

use crossbeam_utils::CachePadded;

#[cfg(not(any(loom, shuttle)))]
pub(super) use super::lock::Lock;
#[cfg(any(loom, shuttle))]
pub(super) use crate::primitive::Mutex as Lock;
#[cfg(not(any(loom, shuttle)))]
type Guard<'a, T> = super::lock::Guard<'a, T>;
#[cfg(any(loom, shuttle))]
type Guard<'a, T> = crate::primitive::MutexGuard<'a, T>;

use super::{
    Options,
    error::TrySendError,
    mistake::{Mistake, Mistakes},
    slots::{Outcome, SLOTS, Slots},
};
use crate::primitive::{
    Arc,
    atomic::{AtomicBool, Ordering},
    thread::Thread,
};

/// Who waits for a message.
#[derive(Debug)]
pub(super) enum Waiting {
    Nobody,
    Thread(Thread),
    Task(Waker),
}

impl Waiting {
    pub(super) fn wake(self) {
        match self {
            Self::Nobody => {}
            Self::Thread(thread) => thread.unpark(),
            Self::Task(waker) => waker.wake(),
        }
    }
}

/// The queue of all senders while they do not contend, and what only its lock's holder may know.
#[derive(Debug)]
pub(super) struct Single<T> {
    pub(super) queue: VecDeque<T>,
    waiting: Waiting,
    contention: u32,
    /// The slots are open. Changes to true by a sender, to false by the receiver.
    is_parallel: bool,
    /// The receiver takes no more.
    is_closed: bool,
    pub(super) n_senders: usize,
    next_slot: usize,
}

#[derive(Debug)]
pub(super) struct Shared<T> {
    pub(super) options: Options,
    /// [`Single::is_parallel`], to be looked at without the lock: may be behind.
    is_parallel: AtomicBool,
    /// Made when first needed, under the single queue's lock; seen by who has seen `is_parallel`.
    slots: OnceLock<Box<Slots<T>>>,
    pub(super) mistakes: Mistakes,
    pub(super) single: CachePadded<Lock<Single<T>>>,
}

/// What a receiver finds that wants to go to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Something waits.
    Ready,
    /// Nothing waits and nothing will come.
    Closed,
    /// It may sleep: it will be woken.
    Sleep,
}

impl<T> Shared<T> {
    pub(super) fn new(options: Options) -> Arc<Self> {
        Arc::new(Self::with(options, Mistakes::default()))
    }

    pub(super) fn with(options: Options, mistakes: Mistakes) -> Self {
        let single = Single {
            queue: VecDeque::new(),
            waiting: Waiting::Nobody,
            contention: 0,
            is_parallel: false,
            is_closed: false,
            n_senders: 0,
            next_slot: 0,
        };
        Self {
            options: options.usable(),
            is_parallel: AtomicBool::new(false),
            slots: OnceLock::new(),
            mistakes,
            single: CachePadded::new(Lock::new(single)),
        }
    }

    /// The slots, if they seem to be open.
    #[inline]
    pub(super) fn open_slots(&self) -> Option<&Slots<T>> {
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
    pub(super) fn append(
        &self,
        at: usize,
        mut fill: impl FnMut(&mut VecDeque<T>, usize),
    ) -> Result<(), TrySendError<()>> {
        loop {
            if let Some(slots) = self.open_slots() {
                match slots.append(at, |queue| fill(queue, self.options.slot_credits)) {
                    Outcome::Appended => return Ok(()),
                    Outcome::AppendedFirst => {
                        if !self.mistakes.make(Mistake::MarkSilently) {
                            self.wake();
                        }
                        return Ok(());
                    }
                    // The receiver is closing them, or has: wait for it.
                    Outcome::Closed => {}
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
            if single.is_parallel && !self.mistakes.make(Mistake::TrustTheFirstLook) {
                continue;
            }
            let n_before = single.queue.len();
            fill(&mut single.queue, self.options.credits);
            // Senders compete for the lock, and for room: whoever floods a slot leaves the others theirs.
            let is_refused =
                single.queue.len() == n_before && !self.mistakes.make(Mistake::RefusalsUncounted);
            let is_free = was_free && !is_refused;
            let contention = match is_free {
                true => single.contention.saturating_sub(1),
                false => single.contention.saturating_add(self.options.contended_weight),
            };
            single.contention = contention;
            if contention >= self.options.parallel_from && single.n_senders > 1 {
                self.open(&mut single);
            }
            wake_and_unlock(single);
            return Ok(());
        }
    }

    /// Gives senders their slots. What is in the single queue is older than what will be in them.
    #[cold]
    fn open(&self, single: &mut Single<T>) {
        if single.is_parallel {
            return;
        }
        self.slots.get_or_init(|| Box::new(Slots::new())).open();
        single.contention = 0;
        single.is_parallel = true;
        self.is_parallel.store(true, Ordering::Release);
    }

    /// Turns back to the single queue, which is left holding also what the slots held.
    ///
    /// Under the single queue's lock from before the first slot is closed until all are empty: a sender that
    /// finds its slot closed waits for that lock, and so comes after what it sent before.
    #[cold]
    pub(super) fn close_slots(&self, single: &mut Single<T>) {
        let Some(slots) = self.slots.get() else { return };
        if self.mistakes.make(Mistake::ForgetTheSlots) {
            slots.close(&mut VecDeque::new());
        } else if !self.mistakes.make(Mistake::LeaveSlotsOpen) {
            slots.close(&mut single.queue);
        }
        single.contention = 0;
        single.is_parallel = false;
        self.is_parallel.store(false, Ordering::Release);
    }

    /// Wakes the receiver if it sleeps. The lock orders this after or before its last look.
    #[cold]
    fn wake(&self) {
        wake_and_unlock(self.single.lock());
    }

    /// Goes to sleep, unless there is something to receive, or never will be.
    ///
    /// Whoever waited before is forgotten. `close_slots` turns back to the single queue first.
    pub(super) fn sleep(&self, waiting: Waiting, close_slots: bool) -> Look {
        let mut single = self.single.lock();
        if close_slots && single.is_parallel {
            self.close_slots(&mut single);
        }
        let look = self.look_at(&single);
        if look != Look::Sleep && !self.mistakes.make(Mistake::SleepWithoutLooking) {
            return look;
        }
        if self.mistakes.make(Mistake::KeepFirstWaker) && !matches!(single.waiting, Waiting::Nobody)
        {
            return Look::Sleep;
        }
        let before = mem::replace(&mut single.waiting, waiting);
        drop(single);
        // A waker's destructor is foreign code.
        drop(before);
        Look::Sleep
    }

    /// What a receiver with empty hands finds.
    pub(super) fn look(&self) -> Look {
        self.look_at(&self.single.lock())
    }

    fn look_at(&self, single: &Single<T>) -> Look {
        let is_marked = single.is_parallel && self.slots.get().is_some_and(|it| it.are_marked());
        match () {
            () if is_marked || !single.queue.is_empty() => Look::Ready,
            () if single.is_closed || single.n_senders == 0 => Look::Closed,
            () => Look::Sleep,
        }
    }

    /// Takes no more; what was accepted waits in the single queue.
    pub(super) fn close(&self) {
        let mut single = self.single.lock();
        single.is_closed = true;
        self.close_slots(&mut single);
    }

    /// The receiver goes: takes no more, and hands over what was accepted and who waited.
    pub(super) fn abandon(&self) -> (VecDeque<T>, Waiting) {
        let mut single = self.single.lock();
        single.is_closed = !self.mistakes.make(Mistake::AbandonOpen);
        self.close_slots(&mut single);
        let waiting = mem::replace(&mut single.waiting, Waiting::Nobody);
        (mem::take(&mut single.queue), waiting)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.single.lock().is_closed
    }

    pub(super) fn is_parallel(&self) -> bool {
        self.single.lock().is_parallel
    }

    /// A new sender: which slot it has. Every slot has one before any has two.
    pub(super) fn enter(&self) -> usize {
        let mut single = self.single.lock();
        single.n_senders += 1;
        let at = single.next_slot;
        single.next_slot = (at + 1) % SLOTS;
        at
    }

    /// A sender goes; the last one tells the receiver.
    pub(super) fn leave(&self) {
        let mut single = self.single.lock();
        single.n_senders -= 1;
        if single.n_senders == 0 && !self.mistakes.make(Mistake::LeaveSilently) {
            wake_and_unlock(single);
        }
    }
}

/// Wakes whoever waits, once, and without the lock: what a waker does is foreign code.
#[inline]
fn wake_and_unlock<T>(mut single: Guard<'_, Single<T>>) {
    if let Waiting::Nobody = single.waiting {
        return;
    }
    let waiting = mem::replace(&mut single.waiting, Waiting::Nobody);
    drop(single);
    waiting.wake();
}

#[cfg(all(test, any(loom, shuttle)))]
impl<T> Shared<T> {
    /// As contention does.
    pub(super) fn open_now(&self) {
        let mut single = self.single.lock();
        if !single.is_closed {
            self.open(&mut single);
        }
    }
}
