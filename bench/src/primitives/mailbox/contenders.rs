//! The queues behind a common trait, and their workloads.

use std::{
    hint::{black_box, spin_loop},
    sync::{
        Arc, Barrier, LazyLock, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use lineside_sync::mailbox::{self, MailboxOptions};

/// The capacity of every bounded queue, in messages; ours has this capacity per slot.
const ROOM: usize = 1_024;

pub(super) trait Message: Clone + Default + Send + Sync + Unpin + 'static {
    /// Creates a message, as a sender does.
    fn make() -> Self;
}

/// A message of one word.
pub(super) type Word = u64;

impl Message for Word {
    fn make() -> Self {
        1
    }
}

/// A message of 800 bytes that the sender copies and the receiver frees; `None` is the empty slot of some queues.
#[derive(Clone, Default)]
pub(super) struct Large(
    #[expect(dead_code, reason = "is moved and dropped")] Option<Box<[u64; 100]>>,
);

static TEMPLATE: LazyLock<Large> = LazyLock::new(|| Large(Some(Box::new([1; 100]))));

impl Message for Large {
    fn make() -> Self {
        TEMPLATE.clone()
    }
}

/// A queue of many senders and one receiver.
pub(super) trait Queue<M> {
    type Sender: Clone + Send + 'static;
    type Receiver;

    fn open() -> (Self::Sender, Self::Receiver);

    /// Sends, and waits for capacity if the queue is bounded.
    fn send(sender: &Self::Sender, message: M);

    /// Passes all messages to `take` until the last sender is dropped.
    fn receive(receiver: Self::Receiver, take: impl FnMut(M));
}

/// Returns million messages a second, from the first send to the last receive, with senders that send for `length`.
pub(super) fn rate<M: Message, Q: Queue<M>>(n_senders: usize, length: Duration) -> f64 {
    let (received, elapsed) = run::<M, Q>(n_senders, length, |_, _| {});
    received as f64 / elapsed.as_secs_f64() / 1e6
}

/// Returns the most messages that were sent and not yet received, as seen by the receiver.
pub(super) fn backlog<M: Message, Q: Queue<M>>(n_senders: usize, length: Duration) -> u64 {
    let mut most = 0;
    run::<M, Q>(n_senders, length, |sent, received| {
        if received % 64 == 0 {
            let sent: u64 = sent.iter().map(|n| n.load(Ordering::Relaxed)).sum();
            most = most.max(sent.saturating_sub(received));
        }
    });
    most
}

/// Runs senders for `length` and receives all messages; `look` gets each sender's approximate count, and the number
/// received.
fn run<M: Message, Q: Queue<M>>(
    n_senders: usize,
    length: Duration,
    mut look: impl FnMut(&[AtomicU64], u64),
) -> (u64, Duration) {
    /// Sends between two checks of the stop flag.
    const SENDS: u64 = 64;
    let (first, receiver) = Q::open();
    let mut senders: Vec<Q::Sender> = (1..n_senders).map(|_| first.clone()).collect();
    senders.push(first);
    let sent: Vec<AtomicU64> = (0..n_senders).map(|_| AtomicU64::new(0)).collect();
    let (barrier, start) = (Barrier::new(n_senders + 2), OnceLock::new());
    let is_over = AtomicBool::new(false);
    LazyLock::force(&TEMPLATE);
    let mut received = 0;
    let end = thread::scope(|scope| {
        for (sender, sent) in senders.into_iter().zip(&sent) {
            let (barrier, start, is_over) = (&barrier, &start, &is_over);
            scope.spawn(move || {
                barrier.wait();
                start.get_or_init(Instant::now);
                let mut n = 0;
                while !is_over.load(Ordering::Relaxed) {
                    (0..SENDS).for_each(|_| Q::send(&sender, M::make()));
                    n += SENDS;
                    sent.store(n, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            barrier.wait();
            thread::sleep(length);
            is_over.store(true, Ordering::Relaxed);
        });
        barrier.wait();
        Q::receive(receiver, |message| {
            black_box(message);
            received += 1;
            look(&sent, received);
        });
        Instant::now()
    });
    (received, start.get().map_or(Duration::ZERO, |start| end - *start))
}

/// Our mailbox, received in batches, or message by message.
pub(super) struct Ours<const SINGLY: bool = false>;

impl<M: Message, const SINGLY: bool> Queue<M> for Ours<SINGLY> {
    type Sender = mailbox::Sender<M>;
    type Receiver = mailbox::Receiver<M>;

    fn open() -> (Self::Sender, Self::Receiver) {
        mailbox::new(MailboxOptions::default())
    }

    fn send(sender: &Self::Sender, message: M) {
        let _ = sender.send(message);
    }

    fn receive(mut receiver: Self::Receiver, mut take: impl FnMut(M)) {
        if SINGLY {
            while let Some(message) = receiver.recv() {
                take(message);
            }
        } else {
            while receiver.wait_for_message() {
                receiver.drain_available().for_each(&mut take);
            }
        }
    }
}

/// A channel of a crate; the crates' APIs differ in little but names.
macro_rules! channel {
    ($name:ident, $sender:ty, $receiver:ty, $open:expr, $send:ident, $receive:ident) => {
        pub(super) struct $name;

        impl<M: Message> Queue<M> for $name {
            type Sender = $sender;
            type Receiver = $receiver;

            fn open() -> (Self::Sender, Self::Receiver) {
                $open
            }

            fn send(sender: &Self::Sender, message: M) {
                let _ = sender.$send(message);
            }

            fn receive(mut receiver: Self::Receiver, mut take: impl FnMut(M)) {
                // Some return `None` at the end and some an error; some need `&mut self`.
                while let Some(message) =
                    <Self::Receiver>::$receive(&mut receiver).into_iter().next()
                {
                    take(message);
                }
            }
        }
    };
}

channel!(
    Crossbeam,
    crossbeam_channel::Sender<M>,
    crossbeam_channel::Receiver<M>,
    crossbeam_channel::bounded(ROOM),
    send,
    recv
);
channel!(
    CrossbeamUnbounded,
    crossbeam_channel::Sender<M>,
    crossbeam_channel::Receiver<M>,
    crossbeam_channel::unbounded(),
    send,
    recv
);
channel!(Kanal, kanal::Sender<M>, kanal::Receiver<M>, kanal::bounded(ROOM), send, recv);
channel!(KanalUnbounded, kanal::Sender<M>, kanal::Receiver<M>, kanal::unbounded(), send, recv);
channel!(
    Crossfire,
    crossfire::MTx<crossfire::mpsc::Array<M>>,
    crossfire::Rx<crossfire::mpsc::Array<M>>,
    crossfire::mpsc::bounded_blocking(ROOM),
    send,
    recv
);
channel!(Flume, flume::Sender<M>, flume::Receiver<M>, flume::bounded(ROOM), send, recv);
channel!(
    Thingbuf,
    thingbuf::mpsc::blocking::Sender<M>,
    thingbuf::mpsc::blocking::Receiver<M>,
    thingbuf::mpsc::blocking::channel(ROOM),
    send,
    recv
);
channel!(Std, mpsc::SyncSender<M>, mpsc::Receiver<M>, mpsc::sync_channel(ROOM), send, recv);
channel!(
    Tokio,
    tokio::sync::mpsc::Sender<M>,
    tokio::sync::mpsc::Receiver<M>,
    tokio::sync::mpsc::channel(ROOM),
    blocking_send,
    blocking_recv
);

/// A queue without blocking operations: both sides spin and yield.
pub(super) struct ConcurrentQueue;

/// A sender that closes the queue when the last one is dropped.
pub(super) struct SpinningSender<M> {
    queue: Arc<concurrent_queue::ConcurrentQueue<M>>,
    n_senders: Arc<AtomicUsize>,
}

impl<M> Clone for SpinningSender<M> {
    fn clone(&self) -> Self {
        self.n_senders.fetch_add(1, Ordering::Relaxed);
        Self { queue: Arc::clone(&self.queue), n_senders: Arc::clone(&self.n_senders) }
    }
}

impl<M> Drop for SpinningSender<M> {
    fn drop(&mut self) {
        if self.n_senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.queue.close();
        }
    }
}

impl<M: Message> Queue<M> for ConcurrentQueue {
    type Sender = SpinningSender<M>;
    type Receiver = Arc<concurrent_queue::ConcurrentQueue<M>>;

    fn open() -> (Self::Sender, Self::Receiver) {
        let queue = Arc::new(concurrent_queue::ConcurrentQueue::bounded(ROOM));
        let n_senders = Arc::new(AtomicUsize::new(1));
        (SpinningSender { queue: Arc::clone(&queue), n_senders }, queue)
    }

    fn send(sender: &Self::Sender, message: M) {
        let mut message = message;
        let mut n_tries = 0;
        while let Err(concurrent_queue::PushError::Full(back)) = sender.queue.push(message) {
            message = back;
            spin_or_yield(&mut n_tries);
        }
    }

    fn receive(receiver: Self::Receiver, mut take: impl FnMut(M)) {
        let mut n_tries = 0;
        loop {
            match receiver.pop() {
                Ok(message) => {
                    take(message);
                    n_tries = 0;
                }
                Err(concurrent_queue::PopError::Empty) => spin_or_yield(&mut n_tries),
                Err(concurrent_queue::PopError::Closed) => return,
            }
        }
    }
}

fn spin_or_yield(n_tries: &mut u32) {
    *n_tries += 1;
    if *n_tries < 64 { spin_loop() } else { thread::yield_now() }
}
