//! The senders' side.

use std::{collections::VecDeque, fmt};

use super::{
    error::{SendError, TrySendError},
    fault_injection::MailboxFault,
    lock::SpinWait,
    shared::MailboxShared,
};
use crate::primitive::Arc;

/// Sends to a mailbox; every clone is a sender of its own.
///
/// May be used from several threads at once, but only what one of them sends after another is in order.
pub struct Sender<T> {
    shared: Arc<MailboxShared<T>>,
    /// Its slot, once senders contend.
    slot: usize,
}

impl<T> Sender<T> {
    pub(super) fn from_shared(shared: &Arc<MailboxShared<T>>) -> Self {
        Self { slot: shared.add_sender(), shared: Arc::clone(shared) }
    }

    /// Sends, or gives the message back at once.
    ///
    /// *Guarantee*: after `Ok` the message is received exactly once, after what this sender sent before; the
    /// receiver is woken if it sleeps. *Cost*: one short lock and an append.
    ///
    /// # Errors
    ///
    /// [`Full`](TrySendError::Full) when this sender's queue holds as many messages as it may,
    /// [`Closed`](TrySendError::Closed) when nobody will receive.
    #[inline]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut message = Some(message);
        let appended = self.shared.append_messages(self.slot, |queue, credits| {
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

    /// Sends as many as there is room for, in order, under one lock; what was not accepted stays.
    ///
    /// *Guarantee* of each message as of [`try_send`](Self::try_send). *Cost*: one short lock and an append of
    /// each.
    ///
    /// # Errors
    ///
    /// [`Full`](TrySendError::Full) when some stayed, [`Closed`](TrySendError::Closed) when nobody will
    /// receive and all did.
    pub fn try_send_all(&self, messages: &mut VecDeque<T>) -> Result<(), TrySendError<()>> {
        if messages.is_empty() {
            return Ok(());
        }
        self.shared.append_messages(self.slot, |queue, credits| {
            let room = credits.saturating_sub(queue.len());
            match room < messages.len() {
                true => queue.extend(messages.drain(..room)),
                false => queue.append(messages),
            }
            if self.shared.mistakes.injects_fault(MailboxFault::ForgetTheRest) {
                messages.clear();
            }
        })?;
        if messages.is_empty() { Ok(()) } else { Err(TrySendError::Full(())) }
    }

    /// Sends, and keeps the thread until there is room: spins, yields, then sleeps 100 µs at a time.
    ///
    /// For threads, not for tasks: those try again after a while.
    ///
    /// # Errors
    ///
    /// When nobody will receive.
    #[inline]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(message)) => self.send_slowly(message),
            Err(TrySendError::Closed(message)) => Err(SendError(message)),
        }
    }

    #[cold]
    fn send_slowly(&self, message: T) -> Result<(), SendError<T>> {
        let mut message = message;
        let mut patience = SpinWait::new();
        loop {
            patience.wait_once();
            message = match self.try_send(message) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Full(message)) => message,
                Err(TrySendError::Closed(message)) => return Err(SendError(message)),
            };
        }
    }

    /// Whether the receiver takes no more, for good.
    pub fn is_closed(&self) -> bool {
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
    /// Another sender, with an order of its own.
    fn clone(&self) -> Self {
        Self::from_shared(&self.shared)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.remove_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("slot", &self.slot).finish_non_exhaustive()
    }
}
