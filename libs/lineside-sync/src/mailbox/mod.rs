//! Many senders, one receiver: bounded, first in first out per sender, in parallel when senders contend.
//!
//! After the many-to-one parallel signal queue of Erlang/OTP 25. A mailbox starts as one queue behind one
//! short lock: a lone sender meets nobody there, and the mailbox is a few hundred bytes. When senders keep
//! finding the lock taken, 64 slots are put before the queue, each with a lock of its own; a sender then
//! appends to its own slot and touches nothing that another sender writes, apart from one bit in a set the
//! first time after each visit of the receiver. When little comes, the slots are closed and what they hold
//! moves to the single queue.
//!
//! ```
//! use lineside_sync::mailbox::{self, MailboxOptions, TrySendError};
//!
//! let (sender, mut receiver) = mailbox::new(MailboxOptions { credits: 2, ..MailboxOptions::default() });
//! let other = sender.clone();
//! std::thread::spawn(move || other.try_send("from a thread")).join().unwrap().unwrap();
//! sender.try_send("and one more").unwrap();
//! assert_eq!(sender.try_send("too much"), Err(TrySendError::Full("too much")));
//!
//! assert_eq!(receiver.recv(), Some("from a thread"));
//! drop(sender);
//! assert_eq!(receiver.drain().collect::<Vec<_>>(), ["and one more"]);
//! assert_eq!(receiver.recv(), None);
//! ```
//!
//! # Guarantees
//!
//! - *Order*: what one [`Sender`] sends arrives in the order sent, also while the slots come and go. A cloned
//!   sender is another sender. Between senders there is no order.
//! - *Delivery*: what was accepted is received exactly once, unless the receiver is dropped; one that wants to
//!   leave nothing behind [closes](Receiver::close) and receives on until it is told [`None`].
//! - *Bound*: [`MailboxOptions::credits`] messages wait in the single queue, [`MailboxOptions::slot_credits`] in each slot,
//!   and as many again may be in the receiver's hands, which takes whole queues. A sender that finds its queue
//!   full is refused at once and keeps the message.
//! - *Waking*: a receiver that waits is woken once, by the first message; while it is awake no sender makes a
//!   system call.
//! - *Cost*: a send is one short lock and an append. The lock spins and then yields; it is never held while
//!   foreign code runs (destructors, wakers, iterators).

mod error;
#[cfg_attr(
    all(any(loom, shuttle), not(test)),
    expect(dead_code, reason = "a model checker's lock stands for it, except in its own model")
)]
mod lock;
mod fault_injection;
#[cfg(all(test, any(loom, shuttle)))]
mod model;
mod options;
mod receiver;
mod sender;
mod shared;
mod slots;

pub use error::{RecvTimeoutError, SendError, TryRecvError, TrySendError};
pub use options::MailboxOptions;
pub use receiver::{Drain, Receiver};
pub use sender::Sender;

/// An empty mailbox and its first sender.
pub fn new<T>(options: MailboxOptions) -> (Sender<T>, Receiver<T>) {
    let shared = shared::MailboxShared::new(options);
    (Sender::from_shared(&shared), Receiver::from_shared(shared))
}
