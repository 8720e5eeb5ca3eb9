//! Fanout from one publisher to many listeners: append once, then signal each listener concerned once.
//!
//! Nothing is queued per listener. Each topic has a [ring](crate::ring) with its publications. A listener has a cursor
//! in the ring, is signaled when there is news, and reads. So a publisher's work does not grow with the subscribers
//! behind a listener, and a listener that does not read costs the others nothing.
//!
//! - [`ListenerSignal`]: the way to one listener: a note that there is news, and a wake-up for the first note
//! - [`PartitionReadyTopics`]: the way to a listener with many topics, a *partition*: it also lists the topics that have news
//! - [`ListenerSet`], [`FanoutTopic`]: the listeners of one topic
//! - [`TopicChangeBatch`]: the signals of one publication, or of one poll
//! - [`TopicCountByKind`], [`fence_before_topic_lookup`]: let a publisher skip kinds without listeners, and yet miss no listener
//! - [`PublishedSequencePosition`]: the publisher's progress, for listeners whose topics had no change
//!
//! # The protocol
//! *Publishing*: (1) make the new state visible, (2) open a [`TopicChangeBatch`], (3) read the [`TopicCountByKind`], look up
//! topics and [append](TopicChangeBatch::change_topic) to them, (4) [signal](TopicChangeBatch::signal_listeners).
//! *Listening*: (1) [enter](TopicCountByKind::count_and_insert_topic) the topic in the table of topics, or find it there, (2) join
//! its listeners, (3) [`fence_before_topic_lookup`], (4) read the state, (5) read the topic until it is empty and there
//! is no [note](ListenerSignal::take_news_pending).
//!
//! # Guarantees
//! - Either the publisher finds the topic, or the listener reads the publisher's state.
//! - After each publication every current listener reads once more: no wake-up is lost.
//! - A listener is woken at most once until it has taken its note, however much is published meanwhile.
//! - *Cost*: one load without listeners. Otherwise one append per topic; one swap per listener and topic, and for a
//!   partition an append to its list; one wake-up per listener.
//!
//! ```
//! use std::sync::Arc; use lineside_sync::fanout::{TopicChangeBatch, ListenerSet, PartitionReadyTopics,
//! PartitionTopicListener, ListenerSignalBatch, FanoutTopic, WakeHandle}; use lineside_sync::ring::{RingBounds,
//! RingCursor, HasRing, Ring, SharedRing};
//!
//! /// Wakes the one thread that has the rows.
//! struct Thread(std::thread::Thread);
//!
//! impl WakeHandle for Thread {
//!     fn wake(&self) {
//!         self.0.unpark();
//!     }
//! }
//!
//! /// What belongs under one lock: the log, and who listens to it.
//! struct Log {
//!     ring: Ring<[u8]>,
//!     listeners: ListenerSet<Arc<PartitionTopicListener<usize, Thread>>>,
//! }
//!
//! impl HasRing for Log {
//!     type Item = [u8];
//!     fn ring(&self) -> &Ring<[u8]> {
//!         &self.ring
//!     }
//!     fn ring_mut(&mut self) -> &mut Ring<[u8]> {
//!         &mut self.ring
//!     }
//! }
//!
//! struct News(SharedRing<Log>);
//!
//! impl FanoutTopic for News {
//!     type Wake = Thread;
//!     fn collect_listener_signals(&self, signals: &mut ListenerSignalBatch<Thread>) {
//!         self.0.lock().listeners.collect_listener_signals(signals);
//!     }
//! }
//!
//! // A partition that listens to one topic, which it knows by its index.
//! let mut ready = PartitionReadyTopics::new(0, Arc::new(Thread(std::thread::current())));
//! let topics = [Arc::new(News(SharedRing::new(Log { ring: Ring::new(0), listeners: ListenerSet::new() })))];
//! topics[0].0.lock().listeners.insert(ready.new_topic_listener(0));
//!
//! let mut batch = TopicChangeBatch::open_batch();
//! for word in ["early", "late"] {
//!     batch.change_topic(&topics[0], |topic| {
//!         let first = topic.0.append_next(Arc::from(word.as_bytes()), RingBounds::NONE) == 1;
//!         (first, ())
//!     });
//! }
//! batch.signal_listeners();
//!
//! // Its turn: one wake-up, one topic with news, two entries for all of its rows.
//! std::thread::park();
//! let (mut keys, mut entries, mut cursor) = (Vec::new(), Vec::new(), RingCursor::cursor_at_offset(0));
//! ready.take_topics_with_news(&mut keys);
//! assert_eq!(keys, [0]);
//! topics[keys[0]].0.take_entries_after(&mut cursor, usize::MAX, &mut entries);
//! assert_eq!(entries.len(), 2);
//! ```

mod batch;
mod interest;
mod listeners;
mod reached;
mod ready;
mod signal;

#[cfg(all(test, any(loom, shuttle)))]
mod model;

pub use self::batch::{FanoutTopic, TopicChangeBatch};
pub use self::interest::{TopicCountByKind, fence_before_topic_lookup};
pub use self::listeners::{ListenerSet, ListenerSignalBatch, TopicListener};
pub use self::reached::PublishedSequencePosition;
pub use self::ready::{PartitionReadyTopics, PartitionTopicListener};
pub use self::signal::{ListenerSignal, WakeHandle};
