//! The receiving half of a mailbox.

#[cfg(not(any(loom, shuttle)))]
use std::time::{Duration, Instant};
use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    mem,
    task::{Context, Poll, Waker},
};

#[cfg(not(any(loom, shuttle)))]
use super::{error::RecvTimeoutError, lock::SpinWait};
use super::{
    error::TryRecvError,
    fault_injection::MailboxFault,
    shared::{MailboxShared, SleepDecision, WaitingReceiver},
    slots::TakenMessages,
};
use crate::primitive::{Arc, thread};

/// The receiver of a mailbox. It takes whole queues and returns their messages one by one.
///
/// *Order*: messages of the single queue come before those taken from the slots; each queue in order.
pub struct Receiver<T> {
    shared: Arc<MailboxShared<T>>,
    /// Messages taken from the single queue.
    single: VecDeque<T>,
    slots: TakenMessages<T>,
    /// Visits to open slots since the last review, and the messages found in them.
    n_visits: u32,
    n_messages: usize,
    /// True if the last visit found few messages: the next visit is delayed a little.
    is_early: bool,
}

impl<T> Receiver<T> {
    pub(super) fn from_shared(shared: Arc<MailboxShared<T>>) -> Self {
        Self {
            shared,
            single: VecDeque::new(),
            slots: TakenMessages::new(),
            n_visits: 0,
            n_messages: 0,
            is_early: false,
        }
    }

    /// Receives the next message; waits for it by spinning a few microseconds and then parking the thread.
    ///
    /// Returns `None` if the mailbox is empty and no message will come.
    #[inline]
    pub fn recv(&mut self) -> Option<T> {
        match self.pop() {
            Some(message) => Some(message),
            None => {
                if self.wait_ready() {
                    self.pop()
                } else {
                    None
                }
            }
        }
    }

    /// Receives the next message, if it comes within `timeout`.
    ///
    /// # Errors
    ///
    /// Returns [`Timeout`](RecvTimeoutError::Timeout), or [`Closed`](RecvTimeoutError::Closed) if the mailbox is empty
    /// and no message will come.
    #[cfg(not(any(loom, shuttle)))]
    pub fn recv_timeout(&mut self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        match self.pop() {
            Some(message) => Ok(message),
            None => {
                self.wait_ready_timeout(timeout)?;
                self.pop().ok_or(RecvTimeoutError::Closed)
            }
        }
    }

    /// Receives the next message, if there is one.
    ///
    /// # Errors
    ///
    /// Returns [`Empty`](TryRecvError::Empty), or [`Closed`](TryRecvError::Closed) if no message will come.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        loop {
            if let Some(message) = self.pop() {
                return Ok(message);
            }
            if !self.collect_queues() {
                match self.shared.decide_sleep() {
                    SleepDecision::Ready => {}
                    SleepDecision::Closed => return Err(TryRecvError::Closed),
                    SleepDecision::Sleep => return Err(TryRecvError::Empty),
                }
            }
        }
    }

    /// Receives the next message; `None` if the mailbox is empty and no message will come.
    ///
    /// *Cancel safety*: dropping the future loses no message. The future does not use up a task's budget: a loop over
    /// a mailbox that never gets empty should yield now and then.
    pub fn recv_async(&mut self) -> impl Future<Output = Option<T>> + Send + '_
    where
        T: Send,
    {
        poll_fn(|context| self.poll_recv(context))
    }

    /// Returns the next message, or `None` if no message will come; otherwise has the task woken once for the next
    /// message.
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            if let Some(message) = self.pop() {
                return Poll::Ready(Some(message));
            }
            if !self.collect_queues() {
                match self.try_sleep(WaitingReceiver::Task(context.waker().clone())) {
                    SleepDecision::Ready => {}
                    SleepDecision::Closed => return Poll::Ready(None),
                    SleepDecision::Sleep => return Poll::Pending,
                }
            }
        }
    }

    /// Registers `waker`, if the mailbox is empty, to be woken once: by a message, or when the last sender is dropped.
    ///
    /// Returns true if the mailbox is empty and the waker will be woken. Returns false if the caller must not sleep:
    /// there is a message, or no message will ever come. This is for a thread that sleeps in its own event loop:
    ///
    /// ```
    /// # use lineside_sync::mailbox::{self, MailboxOptions};
    /// use std::{sync::Arc, task::{Wake, Waker}, thread};
    ///
    /// /// What ends the sleep of an event loop: here a parked thread.
    /// struct EventLoop(thread::Thread);
    ///
    /// impl Wake for EventLoop {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.unpark();
    ///     }
    /// }
    ///
    /// let (sender, mut receiver) = mailbox::new(MailboxOptions::default());
    /// let waker = Waker::from(Arc::new(EventLoop(thread::current())));
    /// thread::spawn(move || (0..100).for_each(|n| sender.send(n).unwrap()));
    /// let mut received = Vec::new();
    /// while received.len() < 100 {
    ///     received.extend(receiver.drain());
    ///     if receiver.register_waker(&waker) {
    ///         thread::park();
    ///     }
    /// }
    /// assert!(received.into_iter().eq(0..100));
    /// ```
    pub fn register_waker(&mut self, waker: &Waker) -> bool {
        self.has_nothing_in_hand()
            && self.try_sleep(WaitingReceiver::Task(waker.clone())) == SleepDecision::Sleep
    }

    /// Waits until a message can be received at once. Returns false if no message will ever come.
    pub fn wait_ready(&mut self) -> bool {
        if self.is_ready_soon() {
            return true;
        }
        loop {
            match self.try_sleep(WaitingReceiver::Thread(thread::current())) {
                SleepDecision::Ready => {}
                SleepDecision::Closed => return false,
                SleepDecision::Sleep => thread::park(),
            }
            if self.collect_queues() {
                return true;
            }
        }
    }

    /// Waits until a message can be received at once, at most for `timeout`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`recv_timeout`](Self::recv_timeout).
    #[cfg(not(any(loom, shuttle)))]
    #[expect(clippy::disallowed_methods, reason = "only the real clock can park a thread")]
    pub fn wait_ready_timeout(&mut self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        if self.is_ready_soon() {
            return Ok(());
        }
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.try_sleep(WaitingReceiver::Thread(thread::current())) {
                SleepDecision::Ready => {}
                SleepDecision::Closed => return Err(RecvTimeoutError::Closed),
                SleepDecision::Sleep if left.is_zero() => return Err(RecvTimeoutError::Timeout),
                SleepDecision::Sleep => thread::park_timeout(left),
            }
            if self.collect_queues() {
                return Ok(());
            }
        }
    }

    /// Returns the messages that can be received at once, at least one queue if any message waits; never waits.
    ///
    /// *Cost*: a visit if no message is left of the last one, then a move per message. Messages not taken from the
    /// iterator stay in the receiver.
    pub fn drain(&mut self) -> Drain<'_, T> {
        if self.has_nothing_in_hand() {
            self.collect_queues();
        }
        Drain { receiver: self }
    }

    /// Closes the mailbox: sends fail from now on. Messages accepted before can still be received.
    pub fn close(&mut self) {
        self.shared.close();
    }

    /// Returns true if the senders have their own slots, because they contended.
    pub fn is_parallel(&self) -> bool {
        self.shared.is_parallel()
    }

    #[inline]
    fn has_nothing_in_hand(&self) -> bool {
        self.single.is_empty() && self.slots.is_empty()
    }

    /// Returns the next of the messages already taken.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.shared.faults.injects_fault(MailboxFault::SlotsFirst) && !self.slots.is_empty() {
            return self.slots.pop();
        }
        match self.single.pop_front() {
            Some(message) => Some(message),
            None => self.slots.pop(),
        }
    }

    /// Takes all waiting messages; returns true if there were any. The receiver must hold no messages.
    ///
    /// The slots are visited first and handed out last. A sender's messages are in the single queue before it gets a
    /// slot. So if a message is found in a slot, older messages of its sender can only be in the single queue, which
    /// is taken after the slot. Newer ones get there only after this receiver has closed the slots.
    fn collect_queues(&mut self) -> bool {
        let slots = self.shared.slots_if_open();
        let from_slots = slots.map_or(0, |slots| slots.take_queues(&mut self.slots));
        let review = match slots {
            Some(_) if from_slots > 0 => self.review_slots(from_slots),
            Some(_) => None,
            None => {
                self.slots.release_memory();
                None
            }
        };
        let mut single = self.shared.single.lock();
        mem::swap(&mut single.queue, &mut self.single);
        if review.is_some_and(|too_little| too_little || single.n_senders < 2) {
            // After the swap: messages found in the slots now are newer than those taken from them.
            self.shared.close_slots(&mut single);
        }
        drop(single);
        let n_messages = from_slots + self.single.len();
        self.is_early = n_messages < FEW_MESSAGES;
        n_messages > 0
    }

    /// Goes to sleep if there is nothing to receive. The receiver must hold no messages.
    fn try_sleep(&mut self, waiting: WaitingReceiver) -> SleepDecision {
        let is_parallel = self.shared.slots_if_open().is_some();
        let review = if is_parallel { self.review_slots(0) } else { None };
        self.shared.try_sleep(waiting, review == Some(true))
    }

    /// Counts a visit to open slots. Returns `None` if no review is due, otherwise true if the visits found too few
    /// messages to justify slots.
    fn review_slots(&mut self, n_messages: usize) -> Option<bool> {
        let options = self.shared.options;
        self.n_visits += 1;
        self.n_messages += n_messages;
        if self.n_visits < options.review_after {
            return None;
        }
        let least = u64::from(self.n_visits) * u64::from(options.parallel_below);
        let is_too_little = (self.n_messages as u64) < least;
        self.n_visits = 0;
        self.n_messages = 0;
        Some(is_too_little)
    }

    /// Returns true if a message is held, or comes within a few microseconds.
    ///
    /// A receiver that runs after every single message keeps the queue's cache lines moving between two cores. So
    /// after a visit that found few messages it lets some gather.
    fn is_ready_soon(&mut self) -> bool {
        if !self.has_nothing_in_hand() {
            return true;
        }
        #[cfg(not(any(loom, shuttle)))]
        {
            if mem::take(&mut self.is_early) {
                (0..PAUSES_AFTER_FEW).for_each(|_| crate::primitive::hint::spin_loop());
            }
            let mut spin = SpinWait::new();
            for _ in 0..VISITS_BEFORE_PARK {
                if self.collect_queues() {
                    return true;
                }
                spin.wait_once();
            }
        }
        self.collect_queues()
    }
}

#[cfg(all(test, any(loom, shuttle)))]
impl<T> Receiver<T> {
    pub(super) fn shared(&self) -> &MailboxShared<T> {
        &self.shared
    }

    /// Closes the slots, as a review with too few messages does.
    pub(super) fn close_slots(&mut self) {
        self.shared.close_slots(&mut self.shared.single.lock());
    }
}

/// A visit that finds fewer messages than this delays the next one.
const FEW_MESSAGES: usize = 64;
/// The pauses after a visit that found few messages: about half a microsecond.
#[cfg(not(any(loom, shuttle)))]
const PAUSES_AFTER_FEW: u32 = 16;
/// The visits before the thread is parked, with growing pauses and then yields between them.
#[cfg(not(any(loom, shuttle)))]
const VISITS_BEFORE_PARK: u32 = 10;

impl<T> Drop for Receiver<T> {
    /// Closes the mailbox, and drops the messages that were accepted but not received.
    fn drop(&mut self) {
        // Without the lock: destructors are foreign code.
        drop(self.shared.abandon_receiver());
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_in_hand = self.single.len() + self.slots.len();
        f.debug_struct("Receiver").field("n_in_hand", &n_in_hand).finish_non_exhaustive()
    }
}

/// An iterator over the messages that can be received at once.
#[derive(Debug)]
pub struct Drain<'a, T> {
    receiver: &'a mut Receiver<T>,
}

impl<T> Iterator for Drain<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.receiver.pop()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.receiver.single.len() + self.receiver.slots.len();
        (n, Some(n))
    }
}

impl<T> ExactSizeIterator for Drain<'_, T> {}
impl<T> std::iter::FusedIterator for Drain<'_, T> {}
