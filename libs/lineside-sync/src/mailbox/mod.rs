//! A bounded mailbox: many senders, one receiver, first in first out per sender, and parallel under contention.
//!
//! Modeled on the many-to-one parallel signal queue of Erlang/OTP 25. A mailbox starts as one queue behind one short
//! lock: a lone sender meets no contention there, and the mailbox takes a few hundred bytes. When senders keep finding
//! the lock taken, 64 slots open in front of the queue, each with its own lock. A sender then appends to its own slot
//! and touches nothing that another sender writes, except one bit in a set, on the first message after each visit of
//! the receiver. When few messages come, the slots are closed and their messages move to the single queue.
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
//! assert_eq!(receiver.drain_available().collect::<Vec<_>>(), ["and one more"]);
//! assert_eq!(receiver.recv(), None);
//! ```
//!
//! # Guarantees
//!
//! - *Order*: the messages of one [`Sender`] arrive in the order sent, also while slots open and close. A cloned
//!   sender is a separate sender. There is no order between senders.
//! - *Delivery*: each accepted message is received exactly once, unless the receiver is dropped. To lose none,
//!   [close_mailbox](Receiver::close_mailbox) the receiver and receive until it returns [`None`].
//! - *Bound*: [`MailboxOptions::credits`] messages wait in the single queue, [`MailboxOptions::slot_credits`] in each
//!   slot, and the receiver, which takes whole queues, may hold as many again. A sender whose queue is full is refused
//!   at once and keeps the message.
//! - *Waking*: a waiting receiver is woken once, by the first message; while it is awake no sender makes a system
//!   call.
//! - *Cost*: a send is one short lock and an append. The lock spins and then yields; it is never held while foreign
//!   code runs (destructors, wakers, iterators).

mod error;
#[cfg_attr(
    all(any(loom, shuttle), not(test)),
    expect(
        dead_code,
        reason = "models replace this lock by the checker's, except in its own model"
    )
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

/// Creates an empty mailbox and its first sender.
pub fn new<T>(options: MailboxOptions) -> (Sender<T>, Receiver<T>) {
    let shared = shared::MailboxShared::new(options);
    (Sender::from_shared(&shared), Receiver::from_shared(shared))
}
