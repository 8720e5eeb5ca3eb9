//! Models of the fanout protocol: its promises in every interleaving. They use the crate's own ring, signals and
//! interest, and a table and a state without any ordering of their own.

use std::sync::Arc;

use super::{
    FanoutTopic, ListenerSet, ListenerSignal, ListenerSignalBatch, PartitionReadyTopics,
    PartitionTopicListener, PublishedSequencePosition, TopicChangeBatch, TopicCountByKind,
    TopicListener, WakeHandle,
};
use crate::model::{explore, finds_a_fault};
use crate::primitive::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::primitive::thread;
use crate::ring::{HasRing, MissedRingEntries, Ring, RingBounds, RingCursor, RingItem, SharedRing};

/// A fault that the models must detect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FanoutFault {
    None,
    /// Listeners are signaled before the change is made.
    SignaledBeforeChange,
    /// A topic can be found before it is counted.
    InterestAfterTable,
    /// A topic that was listed once counts as listed forever.
    ListedForgotten,
    /// A partition takes its note after it has taken its list.
    NoteAfterList,
}

struct Revision;

impl RingItem for Revision {
    fn byte_size(&self) -> usize {
        0
    }
}

/// A waker that counts its wake-ups.
struct Bell(AtomicU64);

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(0)))
    }
}

impl WakeHandle for Bell {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// A topic with everything under one lock, as in a room.
struct Inside<L> {
    ring: Ring<Revision>,
    listeners: ListenerSet<L>,
}

impl<L> HasRing for Inside<L> {
    type Item = Revision;

    fn ring(&self) -> &Ring<Revision> {
        &self.ring
    }

    fn ring_mut(&mut self) -> &mut Ring<Revision> {
        &mut self.ring
    }
}

struct Room<L>(SharedRing<Inside<L>>);

impl<L: TopicListener<Wake = Bell>> Room<L> {
    fn new() -> Arc<Self> {
        let inside = Inside { ring: Ring::new(0), listeners: ListenerSet::new() };
        Arc::new(Self(SharedRing::new(inside)))
    }

    fn join(&self, listener: L) {
        self.0.lock().listeners.insert(listener);
    }

    /// Publishes in a separate batch.
    fn publish(self: &Arc<Self>, revision: u64, fault: FanoutFault) {
        let mut batch = TopicChangeBatch::open_batch();
        batch.fault = fault;
        self.append(revision, &mut batch);
    }

    fn append(self: &Arc<Self>, revision: u64, batch: &mut TopicChangeBatch<Self>) {
        batch.change_topic(self, |room| {
            (room.0.push(revision, Arc::new(Revision), RingBounds::NONE), ())
        });
    }

    /// Takes the entries after the cursor; returns true if there were any.
    fn take_entries(&self, cursor: &mut RingCursor) -> bool {
        if !self.0.has_unseen_changes(cursor) {
            return false;
        }
        let mut taken = Vec::new();
        assert_eq!(
            self.0.take_entries_after(cursor, usize::MAX, &mut taken),
            MissedRingEntries::Nothing
        );
        !taken.is_empty()
    }
}

impl<L: TopicListener<Wake = Bell>> FanoutTopic for Room<L> {
    type Wake = Bell;

    fn collect_listener_signals(&self, signals: &mut ListenerSignalBatch<Bell>) {
        self.0.lock().listeners.collect_listener_signals(signals);
    }
}

// Publishing a topic while it is created.

type Listened = Room<Arc<ListenerSignal<Bell>>>;

/// The two steps that order the state and the table.
#[derive(Clone, Copy)]
struct Steps {
    open: fn() -> TopicChangeBatch<Listened>,
    order: fn(),
}

const STEPS: Steps =
    Steps { open: TopicChangeBatch::open_batch, order: super::fence_before_topic_lookup };

/// The state that publisher and listener share: a source's state, the table of topics, and the one topic.
struct Node {
    /// Relaxed, like the state that a source swaps.
    state: AtomicU64,
    interest: TopicCountByKind<1>,
    /// True if the topic can be found; as weak as a table without locks may be.
    table: AtomicBool,
    room: Arc<Listened>,
    steps: Steps,
}

impl Node {
    fn new(steps: Steps, fault: FanoutFault) -> Arc<Self> {
        let mut interest = TopicCountByKind::new();
        interest.fault = fault;
        let (state, table) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { state, interest, table, room: Room::new(), steps })
    }

    fn publish(&self, revision: u64) {
        self.state.store(revision, Ordering::Relaxed);
        let mut batch = (self.steps.open)();
        if self.interest.has_topics_of_kind(0) && self.table.load(Ordering::Acquire) {
            self.room.append(revision, &mut batch);
        }
    }

    fn enter(&self) {
        self.interest.count_and_insert_topic(0, || self.table.store(true, Ordering::Release));
    }

    /// Reads the state's revision, for a listener that has found or created the topic.
    fn read_state(&self) -> u64 {
        (self.steps.order)();
        self.state.load(Ordering::Relaxed)
    }

    /// Checks, after all threads have ended, that the log has each revision after the state `held`.
    fn check(&self, held: u64, last: u64) {
        let inside = self.room.0.lock();
        let missing = (held + 1..=last).find(|revision| {
            inside
                .ring
                .first_entry_after(revision - 1)
                .is_none_or(|(entry, _)| entry.offset != *revision)
        });
        assert_eq!(missing, None, "a revision is missing from the state and the log");
    }
}

/// Publishes two revisions while one listener creates the topic, joins, reads the state and looks; afterwards it looks
/// only if it has been woken.
fn publishing_and_making(steps: Steps) {
    let node = Node::new(steps, FanoutFault::None);
    let publisher = thread::spawn({
        let node = node.clone();
        move || {
            node.publish(1);
            node.publish(2);
        }
    });
    let bell = Bell::new();
    let signal = ListenerSignal::new(1, bell.clone());
    node.enter();
    node.room.join(signal.clone());
    let held = node.read_state();
    let mut cursor = RingCursor::cursor_at_offset(held);
    let notes = drain(&node.room, &signal, &mut cursor);
    publisher.join().expect("no panic");
    if bell.0.load(Ordering::Acquire) > notes {
        drain(&node.room, &signal, &mut cursor);
    }
    assert_eq!(cursor.offset(), 2, "a revision was published, but the listener was not signaled");
    node.check(held, 2);
}

/// Publishes one revision while one listener creates the topic and another finds it.
fn publishing_and_finding(fault: FanoutFault) {
    let node = Node::new(STEPS, fault);
    let publisher = thread::spawn({
        let node = node.clone();
        move || node.publish(1)
    });
    let maker = thread::spawn({
        let node = node.clone();
        move || node.enter()
    });
    let held = node.table.load(Ordering::Acquire).then(|| node.read_state());
    publisher.join().expect("no panic");
    maker.join().expect("no panic");
    if let Some(held) = held {
        node.check(held, 1);
    }
}

#[test]
fn the_publisher_finds_the_topic_or_its_creator_reads_the_state() {
    explore(|| publishing_and_making(STEPS));
}

#[test]
fn joining_an_existing_topic_misses_nothing() {
    explore(|| publishing_and_finding(FanoutFault::None));
}

// Only loom models memory that is weaker than sequential consistency.

#[cfg(loom)]
#[test]
fn a_weaker_memory_order_is_detected() {
    fn weak() {
        crate::primitive::atomic::fence(Ordering::AcqRel);
    }
    fn open() -> TopicChangeBatch<Listened> {
        weak();
        TopicChangeBatch::open_batch_without_fence()
    }
    finds_a_fault(|| publishing_and_making(Steps { open, order: weak }));
}

#[cfg(loom)]
#[test]
fn a_publisher_without_memory_order_is_detected() {
    finds_a_fault(|| {
        publishing_and_making(Steps { open: TopicChangeBatch::open_batch_without_fence, ..STEPS })
    });
}

#[cfg(loom)]
#[test]
fn a_listener_without_memory_order_is_detected() {
    finds_a_fault(|| publishing_and_making(Steps { order: || (), ..STEPS }));
}

#[test]
fn registering_a_topic_before_counting_it_is_detected() {
    finds_a_fault(|| publishing_and_finding(FanoutFault::InterestAfterTable));
}

// One listener and its signal.

/// Looks until the room is empty and there is no note. Returns the number of notes taken.
fn drain(room: &Listened, signal: &ListenerSignal<Bell>, cursor: &mut RingCursor) -> u64 {
    let mut notes = 0;
    loop {
        while room.take_entries(cursor) {}
        if !signal.take_news_pending() {
            return notes;
        }
        notes += 1;
    }
}

/// Publishes twice while a listener looks; afterwards it looks only if it has been woken.
fn signaling(fault: FanoutFault) {
    let room = Room::new();
    let bell = Bell::new();
    let signal = ListenerSignal::new(1, bell.clone());
    room.join(signal.clone());
    let publisher = thread::spawn({
        let room = room.clone();
        move || {
            room.publish(1, fault);
            room.publish(2, fault);
        }
    });
    let mut cursor = RingCursor::cursor_at_offset(0);
    let notes = drain(&room, &signal, &mut cursor);
    publisher.join().expect("no panic");
    let wakes = bell.0.load(Ordering::Acquire);
    assert!(wakes <= notes + 1, "a second signal came before the listener cleared the first");
    if wakes > notes {
        drain(&room, &signal, &mut cursor);
    }
    assert_eq!(cursor.offset(), 2, "an item was published, but the listener was not signaled");
}

/// Two publishers publish at the same time in two topics of one listener.
fn signaling_from_two() {
    let rooms = [Room::new(), Room::new()];
    let bell = Bell::new();
    let signal = ListenerSignal::new(1, bell.clone());
    rooms.iter().for_each(|room| room.join(signal.clone()));
    let publishers =
        rooms.clone().map(|room| thread::spawn(move || room.publish(1, FanoutFault::None)));
    let mut cursors = [RingCursor::cursor_at_offset(0); 2];
    let mut drain_both = || {
        let mut notes = 0;
        loop {
            for (room, cursor) in rooms.iter().zip(&mut cursors) {
                while room.take_entries(cursor) {}
            }
            if !signal.take_news_pending() {
                return notes;
            }
            notes += 1;
        }
    };
    let notes = drain_both();
    publishers.into_iter().for_each(|publisher| publisher.join().expect("no panic"));
    if bell.0.load(Ordering::Acquire) > notes {
        drain_both();
    }
    assert_eq!(cursors.map(|cursor| cursor.offset()), [1, 1], "a topic was skipped");
}

#[test]
fn a_signal_is_never_lost_and_sent_once_until_received() {
    explore(|| signaling(FanoutFault::None));
}

#[test]
fn a_signal_covers_the_changes_of_two_publishers() {
    explore(signaling_from_two);
}

#[test]
fn signaling_before_the_change_is_detected() {
    finds_a_fault(|| signaling(FanoutFault::SignaledBeforeChange));
}

// A partition and its list.

type Placed = Arc<PartitionTopicListener<usize, Bell>>;

/// A woken partition takes its turn while two threads publish in its two topics; afterwards it takes another turn only
/// if it has been woken again.
fn partition(fault: FanoutFault) {
    let bell = Bell::new();
    let mut ready = PartitionReadyTopics::new(1, bell.clone());
    ready.fault = fault;
    let rooms: [Arc<Room<Placed>>; 2] = [Room::new(), Room::new()];
    rooms.iter().enumerate().for_each(|(key, room)| room.join(ready.new_topic_listener(key)));
    rooms[0].publish(1, FanoutFault::None);
    let before = bell.0.load(Ordering::Acquire);
    let publisher = thread::spawn({
        let room = rooms[0].clone();
        move || room.publish(2, FanoutFault::None)
    });
    let other = thread::spawn({
        let room = rooms[1].clone();
        move || room.publish(1, FanoutFault::None)
    });
    let mut cursors = [RingCursor::cursor_at_offset(0); 2];
    let mut turn = || {
        let mut keys = Vec::new();
        ready.take_topics_with_news(&mut keys);
        assert!(keys.len() <= 2, "a topic is listed twice");
        for key in keys {
            rooms[key].take_entries(&mut cursors[key]);
        }
    };
    turn();
    publisher.join().expect("no panic");
    other.join().expect("no panic");
    if bell.0.load(Ordering::Acquire) > before {
        turn();
    }
    assert_eq!(cursors.map(|cursor| cursor.offset()), [2, 1], "a topic was skipped");
}

#[test]
fn a_partition_visits_every_changed_topic() {
    explore(|| partition(FanoutFault::None));
}

#[test]
fn a_topic_that_remains_listed_is_detected() {
    finds_a_fault(|| partition(FanoutFault::ListedForgotten));
}

#[test]
fn clearing_the_signal_after_reading_the_list_is_detected() {
    finds_a_fault(|| partition(FanoutFault::NoteAfterList));
}

// The publisher's progress.

/// A reader reads while a publisher advances in one life, and then into the next.
fn reaching() {
    let reached = Arc::new(PublishedSequencePosition::new());
    let publisher = thread::spawn({
        let reached = reached.clone();
        move || {
            reached.advance_position(1, 7);
            reached.advance_position(2, 3);
        }
    });
    let (life, offset) = reached.read_position();
    assert!(
        matches!((life, offset), (0..=2, 0) | (1, 7) | (2, 3)),
        "the offset belongs to another life: {life}, {offset}"
    );
    publisher.join().expect("no panic");
    assert_eq!(reached.read_position(), (2, 3));
}

/// A publisher stores the next life before it resets the offset.
fn reaching_carelessly() {
    let reached = Arc::new(PublishedSequencePosition::new());
    let publisher = thread::spawn({
        let reached = reached.clone();
        move || {
            reached.advance_position(1, 7);
            reached.generation.store(2, Ordering::Release);
            reached.offset.store(3, Ordering::Release);
        }
    });
    assert_ne!(reached.read_position(), (2, 7));
    publisher.join().expect("no panic");
}

#[test]
fn publishing_the_epoch_before_its_offset_is_detected() {
    finds_a_fault(reaching_carelessly);
}

#[test]
fn an_epoch_is_never_read_with_the_offset_of_another() {
    explore(reaching);
}
