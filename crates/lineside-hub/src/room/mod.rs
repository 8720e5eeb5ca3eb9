//! A room is one channel on this node: a short log of what happened, and a way to read how things are.
//!
//! It holds no records and knows no names but its own. All of it sits behind one short lock that is
//! never held while a source or a listener is called; whether there is anything new can be asked
//! without the lock.

mod app;
mod log;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::fanout::{FanoutTopic, SignalBatch};
use lineside_sync::ring::SharedRing;

pub(crate) use self::app::RoomTail;
pub(crate) use self::state::DeliverableState;
pub use self::state::EncodedState;

use self::log::RoomLog;
use crate::listener::ListenerHandle;
use crate::metrics::HubCounters;
use crate::publication::Publication;
use crate::{Channel, Epoch, HistoryOptions, HubConfig, Listener, Position, RoomKey};

/// One channel's live state on this node.
#[derive(Debug)]
pub struct Room {
    key: RoomKey,
    channel: Channel,
    log: SharedRing<RoomLog>,
    /// Its group has ended. Set before the log's version rises, so whoever sees that sees this.
    over: AtomicBool,
    /// Subscriptions of all sessions; several may stand behind one listener.
    subscribers: AtomicUsize,
    counters: Arc<HubCounters>,
}

/// What a reader finds when it looks past its cursor.
#[derive(Debug)]
pub(crate) enum NextPublication {
    /// The next publication; with the version when it is the last there is.
    Publication(Arc<Publication>, Option<u64>),
    /// Nothing, as of this version.
    Nothing(u64),
    /// The ring begins after the cursor, or belongs to another life: the state is needed.
    NotCovered,
}

/// How a position that a client claims relates to the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PositionClaim {
    /// All that came after it can be given.
    Covered,
    /// Of another life, or before what the ring reaches back to; never covered again.
    Gone,
    /// Beyond the present: nobody can honestly be there. One day the sequence may be.
    Ahead,
}

impl Room {
    pub(crate) fn new(
        key: RoomKey,
        channel: Channel,
        epoch: Option<Epoch>,
        keeps: Option<HistoryOptions>,
        now: Duration,
        counters: Arc<HubCounters>,
    ) -> Arc<Self> {
        let log = SharedRing::new(RoomLog::new(epoch, keeps, now));
        let (over, subscribers) = (AtomicBool::new(false), AtomicUsize::new(0));
        Arc::new(Self { key, channel, log, over, subscribers, counters })
    }

    /// How publishers find it.
    pub fn key(&self) -> RoomKey {
        self.key
    }

    /// Its public name.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The newest offset and its epoch; `None` for the moment between its making and its first read.
    pub fn top_position(&self) -> Option<Position> {
        let log = self.log.lock();
        log.epoch.map(|epoch| Position { epoch, offset: log.ring.top_offset() })
    }

    /// How many listen: sessions by themselves, and partitions with sessions here.
    pub fn listener_count(&self) -> usize {
        self.log.lock().listeners.len()
    }

    /// How many subscribe, without waiting for anybody.
    pub fn subscriber_count(&self) -> usize {
        self.subscribers.load(Ordering::Relaxed)
    }

    pub(crate) fn count_subscriber(&self) {
        self.subscribers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn uncount_subscriber(&self) {
        self.subscribers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Bytes in its ring and its encoded state, frames not counted.
    pub fn byte_size(&self) -> usize {
        let log = self.log.lock();
        log.ring.byte_size() + log.state_bytes()
    }

    /// Publications in its ring.
    pub fn publication_count(&self) -> usize {
        self.log.lock().ring.len()
    }

    pub(crate) fn log_version(&self) -> u64 {
        self.log.version()
    }

    /// Changes the log, and keeps the node's byte counts true.
    fn change_log<R>(&self, change: impl FnOnce(&mut RoomLog) -> R) -> R {
        let mut log = self.log.lock();
        let before = (log.ring.byte_size(), log.state_bytes());
        let result = change(&mut log);
        let after = (log.ring.byte_size(), log.state_bytes());
        // Wrapping, so that a difference below zero subtracts.
        self.counters.ring_bytes.fetch_add(after.0.wrapping_sub(before.0), Ordering::Relaxed);
        self.counters.state_bytes.fetch_add(after.1.wrapping_sub(before.1), Ordering::Relaxed);
        let spent = log.spent_state.take();
        drop(log);
        drop(spent);
        result
    }

    /// Lets somebody listen; false when the room has been closed and another is to be found.
    pub(crate) fn add_listener(&self, ear: ListenerHandle) -> bool {
        let mut log = self.log.lock();
        if !log.closed {
            log.listeners.insert(ear);
        }
        !log.closed
    }

    pub(crate) fn remove_listener(&self, number: u64, now: Duration) {
        let mut log = self.log.lock();
        log.listeners.remove(number);
        log.waiters.remove(number);
        log.quiet_since = now;
    }

    /// Closes the room when nobody has listened for `linger`. Its ring is given up.
    pub(crate) fn close_if_quiet(&self, now: Duration, linger: Duration) -> bool {
        self.change_log(|log| {
            let quiet = log.listeners.is_empty()
                && now.saturating_sub(log.quiet_since) >= linger
                && !log.keeps_history();
            if quiet {
                log.close_log();
            }
            quiet
        })
    }

    /// Ends the room for good: who listens is to be told, and nobody else comes in. Says whether it was open.
    pub(crate) fn end_room(&self) -> bool {
        self.over.store(true, Ordering::Release);
        self.change_log(|log| {
            let was_open = !log.closed;
            log.close_log();
            was_open
        })
    }

    /// Whether its group has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Takes a publication: at its network's position, or at the room's own next offset. Says whether it
    /// is the room's first change in this batch, and whether it was appended.
    pub(crate) fn append_publication(
        &self,
        at: Option<Position>,
        data: Bytes,
        now: Duration,
        batch: u64,
        config: &HubConfig,
    ) -> (bool, bool) {
        self.change_log(|log| {
            if log.closed {
                return (false, false);
            }
            (log.enter_batch(batch), log.append_publication(at, data, now, config))
        })
    }

    /// Makes every subscriber read the state as of `at`, or as of the room's own next offset. Says whether
    /// it is the room's first change in this batch.
    pub(crate) fn restate_room(&self, at: Option<Position>, batch: u64) -> bool {
        self.change_log(|log| {
            if log.closed {
                return false;
            }
            let first = log.enter_batch(batch);
            log.restate_at(at);
            first
        })
    }

    /// Goes on at `at` without what came before it. Says whether it is the room's first change in this batch.
    pub(crate) fn mark_gap(&self, at: Position, batch: u64) -> bool {
        self.change_log(|log| {
            let is_new = log.epoch != Some(at.epoch) || log.ring.top_offset() < at.offset;
            if log.closed || !is_new {
                return false;
            }
            let first = log.enter_batch(batch);
            log.begin_epoch(at);
            first
        })
    }

    pub(crate) fn current_epoch(&self) -> Option<Epoch> {
        self.log.lock().epoch
    }

    /// Learns from the source where the room's sequence is. False when the room began a new life since
    /// `before` was read, so that `position` may be of the old one: to be asked again.
    pub(crate) fn settle_position(&self, before: Option<Epoch>, position: Position) -> bool {
        let (settled, woken) = self.change_log(|log| {
            if log.epoch == Some(position.epoch) {
                return (true, Vec::new());
            }
            if log.epoch != before {
                return (false, Vec::new());
            }
            log.begin_epoch(position);
            // Before there was a first life nobody had anything to be told of.
            let listeners = log.listeners.iter().filter(|_| before.is_some());
            (true, listeners.cloned().collect())
        });
        woken.iter().for_each(ListenerHandle::notify_listener);
        settled
    }

    /// Judges a client's position; `now` is the source's.
    pub(crate) fn judge_claim(&self, claim: Position, now: Option<Position>) -> PositionClaim {
        let log = self.log.lock();
        let reached = now.map_or(0, |now| now.offset).max(log.ring.top_offset());
        if log.epoch != Some(claim.epoch) || !log.ring.covers_offset(claim.offset) {
            PositionClaim::Gone
        } else if claim.offset > reached {
            PositionClaim::Ahead
        } else {
            PositionClaim::Covered
        }
    }

    /// What comes next for a reader that holds everything up to `cursor`.
    pub(crate) fn find_next(&self, cursor: Position) -> NextPublication {
        let log = self.log.lock();
        if log.epoch != Some(cursor.epoch) || !log.ring.covers_offset(cursor.offset) {
            return NextPublication::NotCovered;
        }
        match log.ring.first_after(cursor.offset) {
            Some((entry, last)) => {
                NextPublication::Publication(entry.item.clone(), last.then_some(log.ring.version()))
            }
            None => NextPublication::Nothing(log.ring.version()),
        }
    }

    /// Adds the publications after `cursor` that are nothing but data, up to so many bytes, but at least one. Says as
    /// of which version they are all there is, if they are; `None` where there is none, or something else comes first.
    pub(crate) fn collect_run(
        &self,
        cursor: Position,
        bytes: usize,
        into: &mut Vec<Arc<Publication>>,
    ) -> Option<Option<u64>> {
        let log = self.log.lock();
        if log.epoch != Some(cursor.epoch) || !log.ring.covers_offset(cursor.offset) {
            return None;
        }
        let (mut offset, mut left) = (cursor.offset, bytes);
        let mut seen = None;
        while seen.is_none()
            && let Some((entry, last)) = log.ring.first_after(offset)
            && entry.item.is_data_only()
            && (into.is_empty() || entry.item.payload.data().len() <= left)
        {
            offset = entry.offset;
            left = left.saturating_sub(entry.item.payload.data().len());
            into.push(entry.item.clone());
            seen = last.then_some(log.ring.version());
        }
        (!into.is_empty()).then_some(seen)
    }

    /// Drops what is too old or too much, and the encoded state when nobody has used it for a linger.
    pub(crate) fn trim_log(&self, now: Duration, config: &HubConfig) {
        self.change_log(|log| {
            log.trim_ring(now, config);
            if now.saturating_sub(log.state_used) >= config.linger {
                log.drop_state();
            }
        });
    }

    /// Gives up about half of what it holds, the larger of ring and state first; says how many
    /// publications went.
    pub(crate) fn halve_log(&self) -> u64 {
        self.change_log(|log| {
            if log.state_bytes() > log.ring.byte_size() {
                log.drop_state();
                return 0;
            }
            let dropped = log.ring.shrink_to_bytes(log.ring.byte_size() / 2);
            log.drop_uncovered_state();
            dropped
        })
    }
}

impl FanoutTopic for Room {
    type Wake = dyn Listener;

    fn gather_signals(&self, signals: &mut SignalBatch<dyn Listener>) {
        self.log.lock().listeners.gather_signals(signals);
    }
}
