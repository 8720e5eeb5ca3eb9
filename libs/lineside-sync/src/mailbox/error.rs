//! The errors of senders and receivers.

use std::fmt;

/// The error of a message that was not accepted; it contains the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The sender's queue holds as many messages as it has credits.
    Full(T),
    /// The receiver is closed or dropped, permanently.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// Returns the message that was not accepted.
    pub fn into_message(self) -> T {
        match self {
            Self::Full(message) | Self::Closed(message) => message,
        }
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the mailbox is full",
            Self::Closed(_) => "the mailbox is closed",
        })
    }
}

impl<T: fmt::Debug> std::error::Error for TrySendError<T> {}

/// The error of a closed or dropped receiver; it contains the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mailbox is closed")
    }
}

impl<T: fmt::Debug> std::error::Error for SendError<T> {}

/// The error of a receive that found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// The mailbox is empty.
    Empty,
    /// The mailbox is empty and no message will come.
    Closed,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the mailbox is empty",
            Self::Closed => "the mailbox is empty and closed",
        })
    }
}

impl std::error::Error for TryRecvError {}

/// The error of a receive that timed out or found the mailbox closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// No message came in time.
    Timeout,
    /// The mailbox is empty and no message will come.
    Closed,
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no message arrived before the timeout",
            Self::Closed => "the mailbox is empty and closed",
        })
    }
}

impl std::error::Error for RecvTimeoutError {}
