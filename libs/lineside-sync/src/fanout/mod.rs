//! From one publisher to many listeners: append once, then tell each who is concerned, once.
//!
//! Nothing is queued for a listener. What is published stands in a [ring](crate::ring) per topic; a
//! listener has a cursor there, is told that there is something, and looks. So a publisher's work does not
//! grow with the rows behind a listener, and one who does not look costs nobody anything.
//!
//! - [`Signal`]: the way to one listener: a note that there is something, and a wake-up for the first note
//! - [`ReadyTopics`]: the same for a listener with many topics, a *partition*: which of them have news
//! - [`ListenerSet`], [`FanoutTopic`]: who listens to one topic
//! - [`TopicBatch`]: what one publication, or one poll, tells to whom
//! - [`TopicInterest`], [`fence_lookup`]: how a publisher passes over what nobody listens to, and yet misses nobody
//! - [`ReachedPosition`]: how far a publisher is, for those who were not concerned
//!
//! # The protocol
//! *Publishing*: (1) make the new state visible, (2) open a [`TopicBatch`], (3) ask the [`TopicInterest`], look up
//! topics and [append](TopicBatch::change_topic) to them, (4) [tell](TopicBatch::tell).
//! *Listening*: (1) [enter](TopicInterest::enter) the topic in the table of topics, or find it there, (2) join its
//! listeners, (3) [`fence_lookup`], (4) read the state, (5) look, and go on looking until there is nothing and no
//! [note](Signal::take_note).
//!
//! # Guarantees
//! - Either the publisher finds the topic, or the listener reads the publisher's state.
//! - Nothing is published without a later look of all who listened then: no wake-up is lost.
//! - A listener is woken at most once until it has taken its note, whatever is published meanwhile.
//! - *Cost*: nobody listens: one load. Otherwise an append per topic; per listener and topic one swap, for
//!   a partition also an append to its list; per listener one wake-up.
//!
//! ```
//! use std::sync::Arc;
//! use lineside_sync::fanout::{TopicBatch, ListenerSet, ReadyTopics, PartitionPlace, SignalBatch, FanoutTopic, WakeHandle};
//! use lineside_sync::ring::{RingBounds, RingCursor, HasRing, Ring, SharedRing};
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
//!     listeners: ListenerSet<Arc<PartitionPlace<usize, Thread>>>,
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
//!     fn gather_signals(&self, signals: &mut SignalBatch<Thread>) {
//!         self.0.lock().listeners.gather_signals(signals);
//!     }
//! }
//!
//! // A partition that listens to one topic, which it knows by its index.
//! let mut ready = ReadyTopics::new(0, Arc::new(Thread(std::thread::current())));
//! let topics = [Arc::new(News(SharedRing::new(Log { ring: Ring::new(0), listeners: ListenerSet::new() })))];
//! topics[0].0.lock().listeners.insert(ready.new_place(0));
//!
//! let mut batch = TopicBatch::open();
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
//! let (mut keys, mut entries, mut cursor) = (Vec::new(), Vec::new(), RingCursor::at_offset(0));
//! ready.take_ready(&mut keys);
//! assert_eq!(keys, [0]);
//! topics[keys[0]].0.take_after(&mut cursor, usize::MAX, &mut entries);
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

pub use self::batch::{FanoutTopic, TopicBatch};
pub use self::interest::{TopicInterest, fence_lookup};
pub use self::listeners::{ListenerSet, SignalBatch, TopicListener};
pub use self::reached::ReachedPosition;
pub use self::ready::{PartitionPlace, ReadyTopics};
pub use self::signal::{Signal, WakeHandle};
