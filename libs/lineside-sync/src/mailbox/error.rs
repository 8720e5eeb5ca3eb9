//! What a sender or a receiver is told.

use std::fmt;

/// Why a message was not accepted; it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The sender's queue holds as many messages as it has credits.
    Full(T),
    /// The receiver is closed or gone, for good.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// The message that was not accepted.
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

/// The receiver is closed or gone, for good; the message comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the mailbox is closed")
    }
}

impl<T: fmt::Debug> std::error::Error for SendError<T> {}

/// Why nothing was received at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing waits.
    Empty,
    /// Nothing waits and nothing will come.
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

/// Why nothing was received in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// Nothing came in time.
    Timeout,
    /// Nothing waits and nothing will come.
    Closed,
}

impl fmt::Display for RecvTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "nothing came in time",
            Self::Closed => "the mailbox is empty and closed",
        })
    }
}

impl std::error::Error for RecvTimeoutError {}
