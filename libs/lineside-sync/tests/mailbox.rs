//! Tests of the mailbox: compared with a plain queue per sender, and under load.

#![cfg(not(any(loom, shuttle)))]

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use lineside_sync::mailbox::{
    self, MailboxOptions, Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError,
};
use proptest::prelude::*;

/// A step with a mailbox and a few senders, all in one thread.
#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    SendAll(usize, usize),
    Receive(usize),
    Drain,
    Clone(usize),
    Drop(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..4_usize).prop_map(Step::Send),
        4 => (0..4_usize, 0..6_usize).prop_map(|(at, n)| Step::SendAll(at, n)),
        6 => (1..5_usize).prop_map(Step::Receive),
        2 => Just(Step::Drain),
        2 => (0..4_usize).prop_map(Step::Clone),
        1 => (0..4_usize).prop_map(Step::Drop),
        1 => Just(Step::Close),
    ]
}

/// A message: the sender's number, and the message's number in the sender's order.
type Numbered = (usize, u32);

/// The senders in use, each with a permanent number, and their waiting messages.
struct Plain {
    waiting: Vec<VecDeque<Numbered>>,
    sent: Vec<u32>,
}

impl Plain {
    fn next(&mut self, number: usize) -> Numbered {
        let n = self.sent[number];
        self.sent[number] += 1;
        (number, n)
    }

    fn receive(&mut self, message: Numbered) {
        assert_eq!(self.waiting[message.0].pop_front(), Some(message));
    }

    fn len(&self) -> usize {
        self.waiting.iter().map(VecDeque::len).sum()
    }
}

fn check(credits: usize, steps: Vec<Step>) {
    let (sender, mut receiver) = mailbox::new(MailboxOptions::with_queue_capacity(credits));
    let mut senders: Vec<(usize, Sender<Numbered>)> = vec![(0, sender)];
    let mut plain = Plain { waiting: vec![VecDeque::new()], sent: vec![0] };
    let mut is_closed = false;
    for step in steps {
        match step {
            Step::Send(at) if at < senders.len() => {
                let (number, sender) = &senders[at];
                let message = plain.next(*number);
                match sender.try_send(message) {
                    Ok(()) => plain.waiting[*number].push_back(message),
                    Err(TrySendError::Full(back)) => {
                        assert_eq!(back, message);
                        assert!(
                            plain.len() >= credits,
                            "a message was refused although the mailbox has room"
                        );
                    }
                    Err(TrySendError::Closed(back)) => {
                        assert_eq!(back, message);
                        assert!(is_closed);
                    }
                }
            }
            Step::SendAll(at, n) if at < senders.len() => {
                let (number, sender) = &senders[at];
                let all: VecDeque<Numbered> = (0..n).map(|_| plain.next(*number)).collect();
                let mut left = all.clone();
                let outcome = sender.try_send_all(&mut left);
                let n_sent = all.len() - left.len();
                plain.waiting[*number].extend(all.iter().take(n_sent));
                assert!(all.iter().skip(n_sent).eq(&left));
                match outcome {
                    Ok(()) => assert!(left.is_empty()),
                    Err(TrySendError::Full(())) => assert!(!left.is_empty()),
                    Err(TrySendError::Closed(())) => assert!(is_closed && n_sent == 0),
                }
            }
            Step::Receive(n) => {
                for _ in 0..n {
                    match receiver.try_recv() {
                        Ok(message) => plain.receive(message),
                        Err(TryRecvError::Empty) => {
                            assert!(plain.len() == 0 && !senders.is_empty() && !is_closed);
                        }
                        Err(TryRecvError::Closed) => {
                            assert!(plain.len() == 0 && (senders.is_empty() || is_closed));
                        }
                    }
                }
            }
            Step::Drain => receiver.drain_available().for_each(|message| plain.receive(message)),
            Step::Clone(at) if at < senders.len() && senders.len() < 4 => {
                let sender = senders[at].1.clone();
                senders.push((plain.sent.len(), sender));
                plain.sent.push(0);
                plain.waiting.push(VecDeque::new());
            }
            Step::Drop(at) if at < senders.len() => drop(senders.remove(at)),
            Step::Close => {
                receiver.close_mailbox();
                is_closed = true;
            }
            _ => {}
        }
    }
    drop(senders);
    while let Some(message) = receiver.recv() {
        plain.receive(message);
    }
    assert_eq!(plain.len(), 0, "lost");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_mailbox_behaves_like_one_queue_per_sender(
        credits in 1..6_usize,
        steps in prop::collection::vec(step(), 0..80),
    ) {
        check(credits, steps);
    }
}

/// Slots that open at the first contention and close whenever few messages come.
const EAGER: MailboxOptions = MailboxOptions {
    credits: 256,
    slot_credits: 64,
    contended_weight: 1_000,
    parallel_from: 1,
    review_after: 3,
    parallel_below: 40,
};

/// Many threads send; asserts that all messages arrive, in order per sender. Returns the number of mode changes seen.
fn stress(
    options: MailboxOptions,
    n_senders: usize,
    mut receive: impl FnMut(&mut Receiver<(u32, u32)>) -> Option<(u32, u32)>,
) -> usize {
    let n_each = if cfg!(miri) { 50 } else { 200_000 };
    let (first, mut receiver) = mailbox::new(options);
    let mut senders: Vec<_> = (1..n_senders).map(|_| first.clone()).collect();
    senders.push(first);
    let mut n_changes = 0;
    thread::scope(|scope| {
        for (number, sender) in (0_u32..).zip(senders) {
            scope.spawn(move || (0..n_each).all(|n| sender.send((number, n)).is_ok()));
        }
        let mut next = vec![0; n_senders];
        let mut was_parallel = false;
        while let Some((number, n)) = receive(&mut receiver) {
            let expected = &mut next[number as usize];
            assert_eq!(n, *expected, "sender {number}");
            *expected += 1;
            if n % 64 == 0 && was_parallel != receiver.are_sender_slots_open() {
                was_parallel = !was_parallel;
                n_changes += 1;
            }
        }
        assert!(next.iter().all(|n| *n == n_each), "{next:?}");
    });
    n_changes
}

#[test]
fn many_senders_are_received_in_order_and_completely() {
    stress(MailboxOptions::default(), if cfg!(miri) { 3 } else { 24 }, Receiver::recv);
}

#[test]
fn order_is_preserved_while_slots_open_and_close() {
    let n_changes = stress(EAGER, if cfg!(miri) { 3 } else { 8 }, Receiver::recv);
    assert!(cfg!(miri) || n_changes > 0, "the slots never opened");
}

#[test]
fn a_task_receives_messages_of_threads() {
    stress(EAGER, 4, |receiver| futures_executor::block_on(receiver.recv_async()));
}

#[test]
fn a_full_queue_refuses_at_once() {
    let (sender, mut receiver) = mailbox::new(MailboxOptions::with_queue_capacity(2));
    sender.try_send(1).unwrap();
    let mut more = VecDeque::from([2, 3, 4]);
    assert_eq!(sender.try_send_all(&mut more), Err(TrySendError::Full(())));
    assert_eq!(more, [3, 4]);
    assert_eq!(sender.try_send(5), Err(TrySendError::Full(5)));
    assert_eq!(receiver.try_recv(), Ok(1));
    // The receiver has taken all messages, so there is room again.
    assert_eq!(sender.try_send_all(&mut more), Ok(()));
    assert!(receiver.drain_available().chain([0]).eq([2, 0]));
    assert!(receiver.drain_available().eq([3, 4]));
}

#[test]
fn a_receive_with_a_timeout_ends_in_time() {
    let (sender, mut receiver) = mailbox::new::<u8>(MailboxOptions::default());
    let brief = Duration::from_millis(2);
    assert_eq!(receiver.recv_timeout(brief), Err(RecvTimeoutError::Timeout));
    sender.try_send(1).unwrap();
    assert_eq!(receiver.recv_timeout(brief), Ok(1));
    drop(sender);
    assert_eq!(receiver.recv_timeout(brief), Err(RecvTimeoutError::Closed));
}

/// A waker that counts its wake-ups.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_sleeper_is_woken_once() {
    let (sender, mut receiver) = mailbox::new(MailboxOptions::default());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    assert!(receiver.register_waker_if_empty(&waker));
    (0..10).for_each(|n| sender.try_send(n).unwrap());
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(!receiver.register_waker_if_empty(&waker), "a message is waiting");
    assert_eq!(receiver.drain_available().count(), 10);
    assert!(receiver.register_waker_if_empty(&waker));
    drop(sender);
    assert_eq!(woken.0.load(Ordering::Relaxed), 2);
    assert!(!receiver.register_waker_if_empty(&waker), "no message will arrive");
}

#[test]
fn a_cancelled_receive_loses_nothing() {
    let (sender, mut receiver) = mailbox::new(MailboxOptions::default());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    {
        let mut abandoned = std::pin::pin!(receiver.recv_async());
        assert!(abandoned.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        sender.try_send(1).unwrap();
    }
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert_eq!(receiver.poll_recv(&mut Context::from_waker(&waker)), Poll::Ready(Some(1)));
}

#[test]
fn dropping_the_receiver_drops_pending_messages() {
    let message = Arc::new(());
    let (sender, mut receiver) = mailbox::new(MailboxOptions::default());
    (0..4).for_each(|_| sender.try_send(Arc::clone(&message)).unwrap());
    assert!(receiver.recv().is_some());
    sender.try_send(Arc::clone(&message)).unwrap();
    drop(receiver);
    assert_eq!(Arc::strong_count(&message), 1);
    assert!(sender.is_receiver_closed());
    let back = sender.try_send(Arc::clone(&message)).unwrap_err();
    assert_eq!(Arc::strong_count(&back.into_message()), 2);
}

#[test]
fn one_sender_never_opens_the_slots() {
    let n_messages = if cfg!(miri) { 500 } else { 10_000 };
    let (sender, mut receiver) = mailbox::new(EAGER);
    thread::scope(|scope| {
        scope.spawn(move || (0..n_messages).for_each(|n| sender.send(n).unwrap()));
        let mut n_received = 0;
        while receiver.recv().is_some() {
            n_received += 1;
            assert!(!receiver.are_sender_slots_open());
        }
        assert_eq!(n_received, n_messages);
    });
}
