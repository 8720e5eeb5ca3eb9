//! Models of the mailbox's guarantees, each with an injected fault that it detects.
//!
//! The spin lock has its own models. The other models use the model checker's lock instead, so that the checker need
//! not explore spinning. A model's mailbox has two slots.

use std::{
    collections::VecDeque,
    mem::ManuallyDrop,
    sync::Arc as Unchecked,
    task::{Context, Poll, Wake, Waker},
};

use super::{
    MailboxOptions, Receiver, Sender,
    error::{TryRecvError, TrySendError},
    fault_injection::{FaultInjection, InjectedMailboxFault},
    lock::SpinLock,
    shared::MailboxShared,
};
use crate::{
    model::{explore, finds_a_fault},
    primitive::{Arc, thread},
};

/// The slots open and close only on command.
const QUIET: MailboxOptions = MailboxOptions {
    credits: 4,
    slot_credits: 4,
    contended_weight: 0,
    parallel_from: u32::MAX,
    review_after: u32::MAX,
    parallel_below: 0,
};

/// The slots open at every message in the single queue, and close at every visit that finds one message. (In a model
/// no thread is interrupted while it holds the lock, so no sender would find it taken.)
const NERVOUS: MailboxOptions =
    MailboxOptions { parallel_from: 0, review_after: 1, parallel_below: 2, ..QUIET };

/// The number of the sender, and the message's number in the sender's order.
type Numbered = (u8, u8);

fn mailbox<T>(
    options: MailboxOptions,
    fault: Option<InjectedMailboxFault>,
) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(MailboxShared::with_faults(options, FaultInjection(fault)));
    (Sender::from_shared(&shared), Receiver::from_shared(shared))
}

/// Asserts that `received` has `n` messages of each sender, in order.
fn assert_in_order(received: &[Numbered], n: [u8; 2]) {
    for (sender, n) in n.into_iter().enumerate() {
        let of_sender = received.iter().filter(|it| usize::from(it.0) == sender).map(|it| it.1);
        assert!(of_sender.eq(0..n), "sender {sender} of {received:?}");
    }
}

fn receive_all<T>(receiver: &mut Receiver<T>) -> Vec<T> {
    std::iter::from_fn(|| receiver.recv()).collect()
}

/// Two threads change the guarded value; the checker detects access at the same time.
fn lock_guards(fault: Option<InjectedMailboxFault>) {
    #[cfg(loom)]
    {
        let cell = loom::cell::UnsafeCell::new(0);
        let lock = Arc::new(match fault {
            Some(fault) => SpinLock::with_fault(cell, fault),
            None => SpinLock::new(cell),
        });
        let add = |lock: &SpinLock<loom::cell::UnsafeCell<u8>>| {
            // SAFETY: the lock is held; the checker verifies that no other thread has access.
            #[expect(unsafe_code, reason = "loom's cell gives access through a pointer")]
            lock.lock().with_mut(|n| unsafe { *n += 1 });
        };
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || add(&other));
        add(&lock);
        thread.join().unwrap();
        // SAFETY: as above.
        #[expect(unsafe_code, reason = "loom's cell gives access through a pointer")]
        lock.lock().with(|n| assert_eq!(unsafe { *n }, 2));
    }
    #[cfg(not(loom))]
    {
        let _ = fault;
        let lock = Arc::new(SpinLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.lock() += 1);
        *lock.lock() += 1;
        thread.join().unwrap();
        assert_eq!(*lock.lock(), 2);
    }
}

#[test]
fn one_thread_at_a_time_holds_the_lock() {
    explore(|| lock_guards(None));
}

/// shuttle models only sequential consistency.
#[cfg(loom)]
#[test]
fn releasing_the_lock_without_memory_order_is_detected() {
    finds_a_fault(|| lock_guards(Some(InjectedMailboxFault::UnlockRelaxed)));
}

#[test]
fn try_lock_succeeds_for_one_thread_at_a_time() {
    explore(|| {
        let lock = Arc::new(SpinLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || other.try_lock().map(|mut n| *n += 1).is_some());
        let mine = lock.try_lock().map(|mut n| *n += 1).is_some();
        let theirs = thread.join().unwrap();
        assert!(mine || theirs);
        assert_eq!(*lock.lock(), u8::from(mine) + u8::from(theirs));
    });
}

/// Two senders and a parked receiver; a lost wake-up leaves the receiver parked forever, which the checker detects.
fn parked(options: MailboxOptions, are_open: bool, fault: Option<InjectedMailboxFault>) {
    let (sender, receiver) = mailbox(options, fault);
    // A checker that has found the receiver parked forever cannot run its destructor.
    let mut receiver = ManuallyDrop::new(receiver);
    if are_open {
        receiver.shared().open_now();
    }
    let other = sender.clone();
    let threads = [(0_u8, sender), (1, other)]
        .map(|(number, sender)| thread::spawn(move || sender.try_send((number, 0)).unwrap()));
    assert_in_order(&receive_all(&mut receiver), [1, 1]);
    drop(ManuallyDrop::into_inner(receiver));
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_wake_up_is_never_lost() {
    explore(|| parked(QUIET, false, None));
}

#[test]
fn sleeping_without_a_final_check_is_detected() {
    finds_a_fault(|| parked(QUIET, false, Some(InjectedMailboxFault::SleepWithoutCheck)));
}

#[test]
fn a_wake_up_from_a_slot_is_never_lost() {
    explore(|| parked(QUIET, true, None));
}

/// One sender, which is not dropped: the drop of the last sender would wake the receiver too.
fn parked_before_a_slot(fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox(QUIET, fault);
    receiver.shared().open_now();
    let thread = thread::spawn(move || {
        sender.try_send(1).unwrap();
        sender
    });
    assert_eq!(receiver.recv(), Some(1));
    drop(thread.join().unwrap());
}

#[test]
fn a_single_message_in_a_slot_wakes_the_receiver() {
    explore(|| parked_before_a_slot(None));
}

#[test]
fn marking_a_slot_without_waking_is_detected() {
    finds_a_fault(|| parked_before_a_slot(Some(InjectedMailboxFault::MarkWithoutWake)));
}

/// A receiver is woken by the drop of the last sender.
fn last_sender_goes(fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox::<u8>(QUIET, fault);
    let other = sender.clone();
    let threads = [sender, other].map(|sender| thread::spawn(move || drop(sender)));
    assert_eq!(receiver.recv(), None);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn dropping_the_last_sender_wakes_the_receiver() {
    explore(|| last_sender_goes(None));
}

#[test]
fn a_last_sender_that_does_not_wake_the_receiver_is_detected() {
    finds_a_fault(|| last_sender_goes(Some(InjectedMailboxFault::LeaveWithoutWake)));
}

/// A waker that unparks one thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Unchecked<Self>) {
        self.0.unpark();
    }
}

/// Two tasks poll for a message in turn; the first gives up, and the second must be woken.
fn handed_over(fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox(QUIET, fault);
    let thread = thread::spawn(move || {
        sender.try_send(7).unwrap();
        sender
    });
    let nobody = Waker::noop();
    let mut received = receiver.poll_recv(&mut Context::from_waker(nobody));
    let waker = Waker::from(Unchecked::new(Unpark(thread::current())));
    while received.is_pending() {
        received = receiver.poll_recv(&mut Context::from_waker(&waker));
        if received.is_pending() {
            thread::park();
        }
    }
    assert_eq!(received, Poll::Ready(Some(7)));
    drop(thread.join().unwrap());
}

#[test]
fn the_last_registered_waker_is_woken() {
    explore(|| handed_over(None));
}

#[test]
fn waking_an_outdated_waker_is_detected() {
    finds_a_fault(|| handed_over(Some(InjectedMailboxFault::KeepFirstWaker)));
}

/// An event loop that sleeps only if `register_waker` allows it, with two senders and the slots open.
#[test]
fn an_event_loop_sleeps_only_if_register_waker_allows_it() {
    explore(|| {
        let (sender, mut receiver) = mailbox(QUIET, None);
        receiver.shared().open_now();
        let threads = [(0_u8, sender.clone()), (1, sender)]
            .map(|(number, sender)| thread::spawn(move || sender.try_send((number, 0)).unwrap()));
        let waker = Waker::from(Unchecked::new(Unpark(thread::current())));
        let mut received: Vec<Numbered> = Vec::new();
        while received.len() < 2 {
            received.extend(receiver.drain_available());
            if received.len() < 2 && receiver.register_waker_if_empty(&waker) {
                thread::park();
            }
        }
        assert_in_order(&received, [1, 1]);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// A sender moves from the single queue to its slot while it sends.
fn slots_open(fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox(QUIET, fault);
    let other = sender.clone();
    let sends = thread::spawn(move || (0..3).for_each(|n| sender.try_send((0, n)).unwrap()));
    let opens = thread::spawn(move || {
        other.shared().open_now();
        other.try_send((1, 0)).unwrap();
    });
    assert_in_order(&receive_all(&mut receiver), [3, 1]);
    sends.join().unwrap();
    opens.join().unwrap();
}

#[test]
fn order_is_preserved_while_the_slots_open() {
    explore(|| slots_open(None));
}

#[test]
fn delivering_from_slots_first_is_detected() {
    finds_a_fault(|| slots_open(Some(InjectedMailboxFault::SlotsFirst)));
}

/// The receiver closes the slots while a sender uses one.
fn slots_close(fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox(QUIET, fault);
    receiver.shared().open_now();
    let other = sender.clone();
    let threads = [(0, sender, 3), (1, other, 1)].map(|(number, sender, n_messages)| {
        thread::spawn(move || (0..n_messages).for_each(|n| sender.try_send((number, n)).unwrap()))
    });
    let mut received = Vec::new();
    received.extend(receiver.drain_available());
    receiver.close_slots();
    received.extend(receive_all(&mut receiver));
    assert_in_order(&received, [3, 1]);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn order_is_preserved_while_the_slots_close() {
    explore(|| slots_close(None));
}

#[test]
fn slots_left_open_are_detected() {
    finds_a_fault(|| slots_close(Some(InjectedMailboxFault::LeaveSlotsOpen)));
}

#[test]
fn forgotten_slots_are_detected() {
    finds_a_fault(|| slots_close(Some(InjectedMailboxFault::ForgetTheSlots)));
}

/// The slots close and reopen under senders whose view of the mode may be stale by both changes.
fn slots_close_and_open(fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox(QUIET, fault);
    let other = sender.clone();
    receiver.shared().open_now();
    let threads = [(0, sender, 1), (1, other, 2)].map(|(number, sender, n_messages)| {
        thread::spawn(move || (0..n_messages).for_each(|n| sender.try_send((number, n)).unwrap()))
    });
    receiver.close_slots();
    receiver.shared().open_now();
    assert_in_order(&receive_all(&mut receiver), [1, 2]);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn order_is_preserved_while_the_slots_close_and_reopen() {
    explore(|| slots_close_and_open(None));
}

/// Only loom models stale reads.
#[cfg(loom)]
#[test]
fn trusting_a_stale_read_is_detected() {
    finds_a_fault(|| slots_close_and_open(Some(InjectedMailboxFault::TrustStaleMode)));
}

/// The slots open and close by themselves.
fn to_and_fro(fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox(NERVOUS, fault);
    let other = sender.clone();
    let threads = [(0, sender), (1, other)].map(|(number, sender)| {
        thread::spawn(move || (0..2).for_each(|n| sender.try_send((number, n)).unwrap()))
    });
    assert_in_order(&receive_all(&mut receiver), [2, 2]);
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn order_is_preserved_while_the_slots_alternate() {
    explore(|| to_and_fro(None));
}

/// Also shows that the model above reaches the closing of slots that hold messages.
#[test]
fn forgotten_slots_while_alternating_are_detected() {
    finds_a_fault(|| to_and_fro(Some(InjectedMailboxFault::ForgetTheSlots)));
}

/// The receiver closes while a sender sends: each message is received, or it and all later messages are refused.
fn closed_while_sending(are_open: bool, fault: Option<InjectedMailboxFault>) {
    let (sender, mut receiver) = mailbox(QUIET, fault);
    if are_open {
        receiver.shared().open_now();
    }
    let thread = thread::spawn(move || {
        let sent = [0, 1].map(|n| sender.try_send((0, n)));
        match sent {
            [Ok(()), Ok(())] => 2,
            [Ok(()), Err(TrySendError::Closed((0, 1)))] => 1,
            [Err(TrySendError::Closed((0, 0))), Err(TrySendError::Closed((0, 1)))] => 0,
            other => panic!("{other:?}"),
        }
    });
    receiver.close_mailbox();
    let early = receive_all(&mut receiver);
    let n_accepted = thread.join().unwrap();
    assert_in_order(&early, [n_accepted, 0]);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn messages_accepted_before_the_close_are_received() {
    explore(|| closed_while_sending(false, None));
    explore(|| closed_while_sending(true, None));
}

#[test]
fn a_close_that_leaves_slots_open_is_detected() {
    finds_a_fault(|| closed_while_sending(true, Some(InjectedMailboxFault::LeaveSlotsOpen)));
}

/// The receiver is dropped while a sender sends. The sender keeps the queues alive, and with them any message left in
/// them.
fn receiver_goes(fault: Option<InjectedMailboxFault>) {
    let (sender, receiver) = mailbox(QUIET, fault);
    receiver.shared().open_now();
    let message = Arc::new(());
    let mine = Arc::clone(&message);
    let thread = thread::spawn(move || {
        let sent = [(); 2].map(|()| sender.try_send(Arc::clone(&mine)).is_ok());
        assert_ne!(sent, [false, true], "a message was accepted after a refused one");
        sender
    });
    drop(receiver);
    let sender = thread.join().unwrap();
    assert_eq!(Arc::strong_count(&message), 1);
    assert!(matches!(sender.try_send(message), Err(TrySendError::Closed(_))));
}

#[test]
fn dropping_the_receiver_drops_each_message_once() {
    explore(|| receiver_goes(None));
}

#[test]
fn a_mailbox_left_open_by_its_receiver_is_detected() {
    finds_a_fault(|| receiver_goes(Some(InjectedMailboxFault::AbandonOpen)));
}

/// A sender sends several messages under one lock, more than fit.
fn list_is_sent(fault: Option<InjectedMailboxFault>) {
    let options = MailboxOptions { credits: 2, slot_credits: 2, ..QUIET };
    let (sender, mut receiver) = mailbox(options, fault);
    let other = sender.clone();
    let thread = thread::spawn(move || {
        let mut messages = VecDeque::from([(0, 0), (0, 1), (0, 2)]);
        assert_eq!(sender.try_send_all(&mut messages), Err(TrySendError::Full(())));
        assert_eq!(messages, [(0, 2)]);
        while sender.try_send_all(&mut messages) == Err(TrySendError::Full(())) {
            thread::yield_now();
        }
    });
    other.shared().open_now();
    drop(other);
    assert_in_order(&receive_all(&mut receiver), [3, 0]);
    thread.join().unwrap();
}

#[test]
fn a_list_is_sent_in_order_up_to_the_credits() {
    explore(|| list_is_sent(None));
}

#[test]
fn forgetting_the_rest_of_a_list_is_detected() {
    finds_a_fault(|| list_is_sent(Some(InjectedMailboxFault::ForgetTheRest)));
}

/// There is room for one message, and each of two senders has one: the refused sender gets a slot, although the
/// receiver does not receive.
fn refused_for_want_of_room(fault: Option<InjectedMailboxFault>) {
    let options = MailboxOptions { credits: 1, contended_weight: 1, parallel_from: 1, ..QUIET };
    let (sender, mut receiver) = mailbox(options, fault);
    let other = sender.clone();
    let threads = [(0_u8, sender), (1, other)].map(|(number, sender)| {
        thread::spawn(move || {
            if sender.try_send((number, 0)).is_err() {
                sender.try_send((number, 0)).unwrap();
            }
            // Slots need several senders: keep this one until the other is done.
            sender
        })
    });
    let senders = threads.map(|thread| thread.join().unwrap());
    assert!(receiver.are_sender_slots_open());
    drop(senders);
    assert_in_order(&receive_all(&mut receiver), [1, 1]);
}

#[test]
fn a_refused_sender_gets_a_slot() {
    explore(|| refused_for_want_of_room(None));
}

#[test]
fn uncounted_refusals_are_detected() {
    finds_a_fault(|| refused_for_want_of_room(Some(InjectedMailboxFault::RefusalsUncounted)));
}
