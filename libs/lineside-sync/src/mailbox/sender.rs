//! The sending half of a mailbox.

use std::{collections::VecDeque, fmt};

use super::{
    error::{SendError, TrySendError},
    fault_injection::InjectedMailboxFault,
    lock::SpinBackoff,
    shared::MailboxShared,
};
use crate::primitive::Arc;

/// A sender of a mailbox; every clone is a separate sender.
///
/// Several threads may share a sender, but only one thread's successive messages are in order.
pub struct Sender<T> {
    shared: Arc<MailboxShared<T>>,
    /// The sender's slot, used once senders contend.
    slot: usize,
}

impl<T> Sender<T> {
    pub(super) fn from_shared(shared: &Arc<MailboxShared<T>>) -> Self {
        Self { slot: shared.count_sender_and_assign_slot(), shared: Arc::clone(shared) }
    }

    /// Sends the message, or returns it at once.
    ///
    /// *Guarantee*: after `Ok` the message is received exactly once, after the earlier messages of this sender; a
    /// sleeping receiver is woken. *Cost*: one short lock and an append.
    ///
    /// # Errors
    ///
    /// Returns [`Full`](TrySendError::Full) if this sender's queue holds as many messages as it may,
    /// [`Closed`](TrySendError::Closed) if the receiver is closed or dropped.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut message = Some(message);
        let appended = self.shared.append_to_sender_queue(self.slot, |queue, credits| {
            if queue.len() < credits
                && let Some(message) = message.take()
            {
                queue.push_back(message);
            }
        });
        match (message, appended) {
            (None, _) => Ok(()),
            (Some(message), Ok(()) | Err(TrySendError::Full(()))) => {
                Err(TrySendError::Full(message))
            }
            (Some(message), Err(TrySendError::Closed(()))) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends as many messages as fit, in order, under one lock; the rest stays in `messages`.
    ///
    /// *Guarantee* for each message as in [`try_send`](Self::try_send). *Cost*: one short lock, and an append per
    /// message.
    ///
    /// # Errors
    ///
    /// Returns [`Full`](TrySendError::Full) if some messages did not fit, [`Closed`](TrySendError::Closed) if the
    /// receiver is closed or dropped; then all messages stay.
    pub fn try_send_all(&self, messages: &mut VecDeque<T>) -> Result<(), TrySendError<()>> {
        if messages.is_empty() {
            return Ok(());
        }
        self.shared.append_to_sender_queue(self.slot, |queue, credits| {
            let room = credits.saturating_sub(queue.len());
            match room < messages.len() {
                true => queue.extend(messages.drain(..room)),
                false => queue.append(messages),
            }
            if self.shared.faults.injects_fault(InjectedMailboxFault::ForgetTheRest) {
                messages.clear();
            }
        })?;
        if messages.is_empty() { Ok(()) } else { Err(TrySendError::Full(())) }
    }

    /// Sends the message; blocks the thread until there is room: spins, yields, then sleeps 100 µs at a time.
    ///
    /// For threads, not for tasks: a task should use [`try_send`](Self::try_send) again later.
    ///
    /// # Errors
    ///
    /// Returns an error if the receiver is closed or dropped.
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(message)) => self.send_with_backoff(message),
            Err(TrySendError::Closed(message)) => Err(SendError(message)),
        }
    }

    #[cold]
    fn send_with_backoff(&self, message: T) -> Result<(), SendError<T>> {
        let mut message = message;
        let mut spin = SpinBackoff::new();
        loop {
            spin.back_off_once();
            message = match self.try_send(message) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(message)) => message,
                Err(TrySendError::Closed(message)) => return Err(SendError(message)),
            };
        }
    }

    /// Returns true if the receiver is closed or dropped, permanently.
    pub fn is_receiver_closed(&self) -> bool {
        self.shared.is_closed()
    }
}

#[cfg(all(test, any(loom, shuttle)))]
impl<T> Sender<T> {
    pub(super) fn shared(&self) -> &MailboxShared<T> {
        &self.shared
    }
}

impl<T> Clone for Sender<T> {
    /// Creates a separate sender, whose messages have their own order.
    fn clone(&self) -> Self {
        Self::from_shared(&self.shared)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.uncount_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("slot", &self.slot).finish_non_exhaustive()
    }
}
