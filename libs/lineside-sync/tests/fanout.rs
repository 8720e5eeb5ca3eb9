//! Tests of fanout: partitions with rows and cursors, and listeners that come and go. Nothing is lost, and no listener
//! is signaled twice.
#![cfg(not(any(loom, shuttle)))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use lineside_sync::fanout::{
    FanoutTopic, ListenerSet, ListenerSignal, ListenerSignalBatch, PartitionReadyTopics,
    PartitionTopicListener, PublishedSequencePosition, TopicChangeBatch, TopicCountByKind,
    TopicListener, WakeHandle,
};
use lineside_sync::ring::{HasRing, MissedRingEntries, Ring, RingBounds, RingCursor, SharedRing};
use proptest::prelude::*;

const TOPICS: usize = 40;
const PARTITIONS: u64 = 2;
const ROWS: usize = 300;
const REVISIONS: u64 = if cfg!(miri) { 20 } else { 4_000 };
/// A wait this long means that a promised wake-up was lost.
const SIGNAL_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Bell(AtomicU64);

impl Bell {
    fn rung(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

impl WakeHandle for Bell {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct TopicContent<L> {
    ring: Ring<[u64; 1]>,
    listeners: ListenerSet<L>,
}

impl<L> HasRing for TopicContent<L> {
    type Item = [u64; 1];

    fn ring(&self) -> &Ring<[u64; 1]> {
        &self.ring
    }

    fn ring_mut(&mut self) -> &mut Ring<[u64; 1]> {
        &mut self.ring
    }
}

struct News<L>(SharedRing<TopicContent<L>>);

impl<L: TopicListener> News<L> {
    fn new() -> Arc<Self> {
        Arc::new(Self(SharedRing::new(TopicContent {
            ring: Ring::new(0),
            listeners: ListenerSet::new(),
        })))
    }

    fn append(&self, revision: u64) -> (bool, ()) {
        (self.0.push(revision, Arc::new([revision]), RingBounds::NONE), ())
    }
}

impl<L: TopicListener> FanoutTopic for News<L> {
    type Wake = L::Wake;

    fn collect_listener_signals(&self, signals: &mut ListenerSignalBatch<L::Wake>) {
        self.0.lock().listeners.collect_listener_signals(signals);
    }
}

#[test]
fn a_listener_of_many_topics_is_signaled_once_per_batch() {
    let bell = Arc::new(Bell::default());
    let signal = ListenerSignal::new(1, bell.clone());
    let topics: Vec<_> = (0..3).map(|_| News::new()).collect();
    topics.iter().for_each(|topic| topic.0.lock().listeners.insert(signal.clone()));
    let mut batch = TopicChangeBatch::open_batch();
    topics.iter().for_each(|topic| batch.change_topic(topic, |topic| topic.append(1)));
    assert_eq!(
        (batch.changed_topic_count(), bell.rung()),
        (3, 0),
        "no signal before the batch ends"
    );
    drop(batch);
    assert_eq!(bell.rung(), 1);
    TopicChangeBatch::open_batch().change_topic(&topics[0], |topic| topic.append(2));
    assert_eq!(bell.rung(), 0, "the earlier signal is still pending");
    assert!(signal.take_news_pending() && !signal.take_news_pending());
    TopicChangeBatch::open_batch().change_topic(&topics[0], |topic| topic.append(3));
    assert_eq!(bell.rung(), 1);
    topics[0].0.lock().listeners.remove(1);
    assert!(signal.take_news_pending());
    TopicChangeBatch::open_batch().change_topic(&topics[0], |topic| topic.append(4));
    assert_eq!(bell.rung(), 0, "the listener was removed");
}

#[test]
fn a_partition_receives_the_list_of_its_changed_topics() {
    let bell = Arc::new(Bell::default());
    let mut ready = PartitionReadyTopics::new(1, bell.clone());
    let topics: Vec<_> = (0..3).map(|_| News::new()).collect();
    for (key, topic) in topics.iter().enumerate() {
        topic.0.lock().listeners.insert(ready.new_topic_listener(key));
    }
    let publish = |concerned: &[usize], revision| {
        let mut batch = TopicChangeBatch::open_batch();
        for &key in concerned {
            batch.change_topic(&topics[key], |topic| topic.append(revision));
        }
    };
    let mut keys = Vec::new();
    publish(&[2, 0], 1);
    publish(&[2], 2);
    assert_eq!(bell.rung(), 1);
    ready.take_topics_with_news(&mut keys);
    assert_eq!(keys, [2, 0]);
    publish(&[1], 3);
    keys.clear();
    ready.take_topics_with_news(&mut keys);
    assert_eq!((bell.rung(), &keys[..]), (1, &[1][..]));
    drop(ready);
    publish(&[0, 1, 2], 4);
    assert_eq!(bell.rung(), 0, "the partition was dropped");
}

#[test]
fn a_kind_without_topics_has_no_interest() {
    let interest = TopicCountByKind::<2>::new();
    interest.count_and_insert_topic(1, || {
        assert!(interest.has_topics_of_kind(1), "the topic is counted before it can be found")
    });
    assert!(!interest.has_topics_of_kind(0) && interest.topic_count_of_kind(1) == 1);
    interest.remove_and_uncount_topic(1, || {
        assert!(interest.has_topics_of_kind(1), "the topic is counted until it cannot be found")
    });
    assert!(!interest.has_topics_of_kind(1));
}

#[test]
fn the_reached_position_rises_and_restarts_with_a_new_epoch() {
    let reached = PublishedSequencePosition::new();
    assert_eq!(reached.read_position(), (0, 0));
    reached.advance_position(7, 5);
    reached.advance_position(7, 3);
    assert_eq!(reached.read_position(), (7, 5));
    reached.advance_position(8, 1);
    assert_eq!(reached.read_position(), (8, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 8 } else { 256 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares the listeners with a sorted list: the listeners of each topic, and those signaled that have not looked
    /// yet.
    #[test]
    fn listeners_are_signaled_in_order_and_once_each(
        steps in proptest::collection::vec((0..4_u8, 0..5_u64, 0..3_usize), 1..100),
    ) {
        let bells: Vec<Arc<Bell>> = (0..5).map(|_| Arc::default()).collect();
        let signals: Vec<_> = (0..5).map(|n| ListenerSignal::new(n, bells[n as usize].clone())).collect();
        let topics: [_; 3] = std::array::from_fn(|_| News::new());
        let mut joined: [BTreeMap<u64, ()>; 3] = Default::default();
        let mut has_news = [false; 5];
        for (revision, (what, who, topic)) in (1..).zip(steps) {
            match what {
                0 => {
                    topics[topic].0.lock().listeners.insert(signals[who as usize].clone());
                    joined[topic].insert(who, ());
                }
                1 => {
                    let left = topics[topic].0.lock().listeners.remove(who).is_some();
                    prop_assert_eq!(left, joined[topic].remove(&who).is_some());
                }
                2 => {
                    prop_assert_eq!(signals[who as usize].take_news_pending(), has_news[who as usize]);
                    has_news[who as usize] = false;
                }
                _ => {
                    let mut batch = TopicChangeBatch::open_batch();
                    for topic in &topics[..=topic] {
                        batch.change_topic(topic, |topic| topic.append(revision));
                    }
                    batch.signal_listeners();
                    for listener in joined[..=topic].iter().flat_map(BTreeMap::keys) {
                        let rung = bells[*listener as usize].rung();
                        prop_assert_eq!(rung, u64::from(!has_news[*listener as usize]));
                        has_news[*listener as usize] = true;
                    }
                    prop_assert!(bells.iter().all(|bell| bell.rung() == 0));
                }
            }
            for (topic, joined) in topics.iter().zip(&joined) {
                let content = topic.0.lock();
                prop_assert!(content.listeners.iter().map(|it| it.listener_number()).eq(joined.keys().copied()));
                prop_assert_eq!(content.listeners.len(), joined.len());
            }
        }
    }
}

struct Unparks {
    thread: Thread,
    wakes: AtomicU64,
}

impl WakeHandle for Unparks {
    fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::Release);
        self.thread.unpark();
    }
}

/// Returns true if a revision concerns a topic; the last revision concerns all topics.
fn concerns(revision: u64, topic: usize) -> bool {
    revision == REVISIONS || revision.wrapping_mul(topic as u64 + 7).is_multiple_of(11)
}

type Placed = Arc<PartitionTopicListener<usize, Unparks>>;

/// Runs a partition: its rows' cursors, and the offset up to which each topic was taken.
fn run_partition(number: u64, topics: &[Arc<News<Placed>>], started: &AtomicU64) {
    let wake = Arc::new(Unparks { thread: thread::current(), wakes: AtomicU64::new(0) });
    let mut ready = PartitionReadyTopics::new(number, wake.clone());
    for (key, topic) in topics.iter().enumerate() {
        topic.0.lock().listeners.insert(ready.new_topic_listener(key));
    }
    started.fetch_add(1, Ordering::Release);
    let mut cursors = vec![RingCursor::cursor_at_offset(0); topics.len()];
    let mut rows: Vec<(usize, u64)> = (0..ROWS).map(|row| (row % topics.len(), 0)).collect();
    let (mut keys, mut taken, mut seen) = (Vec::new(), Vec::new(), 0);
    while cursors.iter().any(|cursor| cursor.offset() < REVISIONS) {
        // The thread may also wake for a note that it has taken before.
        let woken = (0..4).any(|_| {
            let woken = wake.wakes.load(Ordering::Acquire) > seen;
            if !woken {
                thread::park_timeout(SIGNAL_TIMEOUT);
            }
            woken
        });
        assert!(woken, "a signal was lost");
        seen = wake.wakes.load(Ordering::Acquire);
        ready.take_topics_with_news(&mut keys);
        for key in keys.drain(..) {
            let missed =
                topics[key].0.take_entries_after(&mut cursors[key], usize::MAX, &mut taken);
            assert_eq!(missed, MissedRingEntries::Nothing);
            for entry in taken.drain(..) {
                for (_, last_seen) in rows.iter_mut().filter(|(topic, _)| *topic == key) {
                    let skipped = (*last_seen + 1..entry.offset).find(|it| concerns(*it, key));
                    assert_eq!((skipped, entry.item[0]), (None, entry.offset));
                    *last_seen = entry.offset;
                }
            }
        }
    }
    assert!(rows.iter().all(|(_, held)| *held == REVISIONS));
}

#[test]
fn every_partition_receives_every_revision() {
    let topics: Vec<Arc<News<Placed>>> = (0..TOPICS).map(|_| News::new()).collect();
    let (started, topics) = (&AtomicU64::new(0), &topics);
    thread::scope(|scope| {
        for number in 0..PARTITIONS {
            scope.spawn(move || run_partition(number, topics, started));
        }
        while started.load(Ordering::Acquire) < PARTITIONS {
            thread::yield_now();
        }
        for revision in 1..=REVISIONS {
            let mut batch = TopicChangeBatch::open_batch();
            for (number, topic) in topics.iter().enumerate() {
                if concerns(revision, number) {
                    batch.change_topic(topic, |topic| topic.append(revision));
                }
            }
            drop(batch);
            // Lets all threads fall asleep now and then.
            if revision.is_multiple_of(64) {
                thread::sleep(Duration::from_micros(200));
            }
        }
    });
}
