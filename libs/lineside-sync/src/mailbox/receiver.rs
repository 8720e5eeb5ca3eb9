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
use super::{error::RecvTimeoutError, lock::SpinBackoff};
use super::{
    error::TryRecvError,
    fault_injection::InjectedMailboxFault,
    shared::{MailboxShared, ReceiverSleepDecision, WaitingReceiver},
    slots::MessagesTakenFromSlots,
};
use crate::primitive::{Arc, thread};

/// The receiver of a mailbox. It takes whole queues and returns their messages one by one.
///
/// *Order*: messages of the single queue come before those taken from the slots; each queue in order.
pub struct Receiver<T> {
    shared: Arc<MailboxShared<T>>,
    /// Messages taken from the single queue.
    single: VecDeque<T>,
    slots: MessagesTakenFromSlots<T>,
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
            slots: MessagesTakenFromSlots::new(),
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
                if self.wait_for_message() {
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
                self.wait_for_message_timeout(timeout)?;
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
            if !self.collect_waiting_messages() {
                match self.shared.receiver_sleep_decision() {
                    ReceiverSleepDecision::Ready => {}
                    ReceiverSleepDecision::Closed => return Err(TryRecvError::Closed),
                    ReceiverSleepDecision::Sleep => return Err(TryRecvError::Empty),
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
            if !self.collect_waiting_messages() {
                match self.sleep_unless_message(WaitingReceiver::Task(context.waker().clone())) {
                    ReceiverSleepDecision::Ready => {}
                    ReceiverSleepDecision::Closed => return Poll::Ready(None),
                    ReceiverSleepDecision::Sleep => return Poll::Pending,
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
    ///     received.extend(receiver.drain_available());
    ///     if receiver.register_waker_if_empty(&waker) {
    ///         thread::park();
    ///     }
    /// }
    /// assert!(received.into_iter().eq(0..100));
    /// ```
    pub fn register_waker_if_empty(&mut self, waker: &Waker) -> bool {
        self.has_no_collected_messages()
            && self.sleep_unless_message(WaitingReceiver::Task(waker.clone()))
                == ReceiverSleepDecision::Sleep
    }

    /// Waits until a message can be received at once. Returns false if no message will ever come.
    pub fn wait_for_message(&mut self) -> bool {
        if self.spin_for_message() {
            return true;
        }
        loop {
            match self.sleep_unless_message(WaitingReceiver::Thread(thread::current())) {
                ReceiverSleepDecision::Ready => {}
                ReceiverSleepDecision::Closed => return false,
                ReceiverSleepDecision::Sleep => thread::park(),
            }
            if self.collect_waiting_messages() {
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
    pub fn wait_for_message_timeout(&mut self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        if self.spin_for_message() {
            return Ok(());
        }
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.sleep_unless_message(WaitingReceiver::Thread(thread::current())) {
                ReceiverSleepDecision::Ready => {}
                ReceiverSleepDecision::Closed => return Err(RecvTimeoutError::Closed),
                ReceiverSleepDecision::Sleep if left.is_zero() => {
                    return Err(RecvTimeoutError::Timeout);
                }
                ReceiverSleepDecision::Sleep => thread::park_timeout(left),
            }
            if self.collect_waiting_messages() {
                return Ok(());
            }
        }
    }

    /// Returns the messages that can be received at once, at least one queue if any message waits; never waits.
    ///
    /// *Cost*: a visit if no message is left of the last one, then a move per message. Messages not taken from the
    /// iterator stay in the receiver.
    pub fn drain_available(&mut self) -> Drain<'_, T> {
        if self.has_no_collected_messages() {
            self.collect_waiting_messages();
        }
        Drain { receiver: self }
    }

    /// Closes the mailbox: sends fail from now on. Messages accepted before can still be received.
    pub fn close_mailbox(&mut self) {
        self.shared.close_mailbox();
    }

    /// Returns true if the senders have their own slots, because they contended.
    pub fn are_sender_slots_open(&self) -> bool {
        self.shared.are_sender_slots_open()
    }

    #[inline]
    fn has_no_collected_messages(&self) -> bool {
        self.single.is_empty() && self.slots.is_empty()
    }

    /// Returns the next of the messages already taken.
    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.shared.faults.injects_fault(InjectedMailboxFault::SlotsFirst)
            && !self.slots.is_empty()
        {
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
    fn collect_waiting_messages(&mut self) -> bool {
        let slots = self.shared.slots_if_open();
        let from_slots = slots.map_or(0, |slots| slots.take_marked_queues(&mut self.slots));
        let review = match slots {
            Some(_) if from_slots > 0 => self.count_visit_and_review_slots(from_slots),
            Some(_) => None,
            None => {
                self.slots.free_empty_queues();
                None
            }
        };
        let mut single = self.shared.single.lock();
        mem::swap(&mut single.queue, &mut self.single);
        if review.is_some_and(|too_little| too_little || single.n_senders < 2) {
            // After the swap: messages found in the slots now are newer than those taken from them.
            self.shared.close_sender_slots(&mut single);
        }
        drop(single);
        let n_messages = from_slots + self.single.len();
        self.is_early = n_messages < FEW_MESSAGES;
        n_messages > 0
    }

    /// Goes to sleep if there is nothing to receive. The receiver must hold no messages.
    fn sleep_unless_message(&mut self, waiting: WaitingReceiver) -> ReceiverSleepDecision {
        let is_parallel = self.shared.slots_if_open().is_some();
        let review = if is_parallel { self.count_visit_and_review_slots(0) } else { None };
        self.shared.sleep_unless_message(waiting, review == Some(true))
    }

    /// Counts a visit to open slots. Returns `None` if no review is due, otherwise true if the visits found too few
    /// messages to justify slots.
    fn count_visit_and_review_slots(&mut self, n_messages: usize) -> Option<bool> {
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
    fn spin_for_message(&mut self) -> bool {
        if !self.has_no_collected_messages() {
            return true;
        }
        #[cfg(not(any(loom, shuttle)))]
        {
            if mem::take(&mut self.is_early) {
                (0..PAUSES_AFTER_FEW).for_each(|_| crate::primitive::hint::spin_loop());
            }
            let mut spin = SpinBackoff::new();
            for _ in 0..VISITS_BEFORE_PARK {
                if self.collect_waiting_messages() {
                    return true;
                }
                spin.back_off_once();
            }
        }
        self.collect_waiting_messages()
    }
}

#[cfg(all(test, any(loom, shuttle)))]
impl<T> Receiver<T> {
    pub(super) fn shared(&self) -> &MailboxShared<T> {
        &self.shared
    }

    /// Closes the slots, as a review with too few messages does.
    pub(super) fn close_slots(&mut self) {
        self.shared.close_sender_slots(&mut self.shared.single.lock());
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
        drop(self.shared.close_for_dropped_receiver());
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
