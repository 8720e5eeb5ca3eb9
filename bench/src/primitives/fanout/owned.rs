//! Lineside's fan-out: two partitions own the rows.

use std::{
    collections::VecDeque,
    hint::black_box,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle, Thread},
    time::Instant,
};

use anyhow::Context as _;
use lineside_sync::{
    fanout::{
        FanoutTopic, ListenerSet, ListenerSignalBatch, PartitionReadyTopics,
        PartitionTopicListener, TopicChangeBatch, WakeHandle,
    },
    ring::{HasRing, Ring, RingBounds, RingCursor, SharedRing},
};

use super::{EVENT_BYTES, Event, FanOut, Finish};

const PARTITIONS: usize = 2;
const BOUNDS: RingBounds = RingBounds { entries: 64, ..RingBounds::NONE };
/// The queue length of a row that receives by push.
const QUEUE: usize = 16;

/// The way a row receives an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiving {
    /// Its cursor moves.
    ByCursor,
    /// The event is pushed into the row's queue.
    ByPush,
}

struct Unparks(Thread);

impl WakeHandle for Unparks {
    fn wake(&self) {
        self.0.unpark();
    }
}

struct Log {
    ring: Ring<[u8; EVENT_BYTES]>,
    listeners: ListenerSet<Arc<PartitionTopicListener<usize, Unparks>>>,
}

impl HasRing for Log {
    type Item = [u8; EVENT_BYTES];

    fn ring(&self) -> &Ring<[u8; EVENT_BYTES]> {
        &self.ring
    }

    fn ring_mut(&mut self) -> &mut Ring<[u8; EVENT_BYTES]> {
        &mut self.ring
    }
}

struct Room(SharedRing<Log>);

impl FanoutTopic for Room {
    type Wake = Unparks;

    fn collect_listener_signals(&self, signals: &mut ListenerSignalBatch<Unparks>) {
        self.0.lock().listeners.collect_listener_signals(signals);
    }
}

#[derive(Clone, Default)]
struct Row {
    held: u64,
    queue: VecDeque<Event>,
}

/// Rooms, and the partitions that own equal shares of every room's rows.
pub(super) struct Owned {
    rooms: Arc<[Arc<Room>]>,
    finish: Arc<Finish>,
    over: Arc<AtomicBool>,
    partitions: Vec<JoinHandle<()>>,
}

impl Owned {
    pub(super) fn new(rows: usize, rooms: usize, receiving: Receiving) -> anyhow::Result<Owned> {
        let share = (rows / rooms / PARTITIONS).max(1);
        let log = || Log { ring: Ring::new(0), listeners: ListenerSet::new() };
        let rooms: Arc<[Arc<Room>]> =
            (0..rooms).map(|_| Arc::new(Room(SharedRing::new(log())))).collect();
        let finish = Finish::new(share * rooms.len() * PARTITIONS);
        let over = Arc::new(AtomicBool::new(false));
        let (started, starts) = mpsc::sync_channel(PARTITIONS);
        let partitions = (0..PARTITIONS).map(|number| {
            let (rooms, finish) = (rooms.clone(), finish.clone());
            let (over, started) = (over.clone(), started.clone());
            thread::spawn(move || {
                let partition = Partition::new(number, rooms, share, receiving, finish);
                if started.send(()).is_ok() {
                    partition.run(&over);
                }
            })
        });
        let partitions = partitions.collect();
        for _ in 0..PARTITIONS {
            starts.recv().context("a partition starts")?;
        }
        Ok(Owned { rooms, finish, over, partitions })
    }
}

impl FanOut for Owned {
    fn publish(&mut self, event: Event) -> anyhow::Result<(Instant, Instant)> {
        let start = Instant::now();
        let mut batch = TopicChangeBatch::open_batch();
        for room in &*self.rooms {
            batch.change_topic(room, |room| (true, room.0.append_next(event.clone(), BOUNDS)));
        }
        batch.signal_listeners();
        Ok((start, Instant::now()))
    }

    fn finish(&self) -> &Finish {
        &self.finish
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        for partition in self.partitions.drain(..) {
            partition.thread().unpark();
            // A partition that panicked has printed its error.
            let _ended = partition.join();
        }
    }
}

/// One thread's rows, grouped by room.
struct Partition {
    rooms: Arc<[Arc<Room>]>,
    ready: PartitionReadyTopics<usize, Unparks>,
    cursors: Vec<RingCursor>,
    rows: Vec<Row>,
    share: usize,
    receiving: Receiving,
    finish: Arc<Finish>,
}

impl Partition {
    fn new(
        number: usize,
        rooms: Arc<[Arc<Room>]>,
        share: usize,
        receiving: Receiving,
        finish: Arc<Finish>,
    ) -> Partition {
        let ready = PartitionReadyTopics::new(number as u64, Arc::new(Unparks(thread::current())));
        for (key, room) in rooms.iter().enumerate() {
            room.0.lock().listeners.insert(ready.new_topic_listener(key));
        }
        let cursors = vec![RingCursor::cursor_at_offset(0); rooms.len()];
        let rows = vec![Row::default(); rooms.len() * share];
        Partition { rooms, ready, cursors, rows, share, receiving, finish }
    }

    fn run(mut self, over: &AtomicBool) {
        let (mut keys, mut entries) = (Vec::new(), Vec::new());
        loop {
            thread::park();
            if over.load(Ordering::Acquire) {
                return;
            }
            self.ready.take_topics_with_news(&mut keys);
            for key in keys.drain(..) {
                let cursor = &mut self.cursors[key];
                let _nothing =
                    self.rooms[key].0.take_entries_after(cursor, usize::MAX, &mut entries);
                let rows = Range { start: key * self.share, end: (key + 1) * self.share };
                for entry in entries.drain(..) {
                    receive(
                        &mut self.rows[rows.clone()],
                        entry.offset,
                        &entry.item,
                        self.receiving,
                    );
                    self.finish.arrive(self.share);
                }
            }
        }
    }
}

fn receive(rows: &mut [Row], offset: u64, event: &Event, receiving: Receiving) {
    for row in black_box(rows) {
        row.held = offset;
        if receiving == Receiving::ByPush {
            if row.queue.len() == QUEUE {
                row.queue.pop_front();
            }
            row.queue.push_back(event.clone());
        }
    }
}
