//! Rooms: a room is one channel on this node, with a short log of publications and a way to read its state.
//!
//! A room stores no records and knows no names except its own. Its content is behind one short lock, which is never
//! held while a source or a listener is called. A reader can check for news without the lock.

mod app;
mod log;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::fanout::{FanoutTopic, ListenerSignalBatch};
use lineside_sync::ring::SharedRing;

pub(crate) use self::app::RoomLogTail;
pub(crate) use self::state::DeliverableState;
pub use self::state::EncodedState;

use self::log::RoomLog;
use crate::listener::ListenerHandle;
use crate::metrics::HubCounters;
use crate::publication::Publication;
use crate::{
    EncodedChannelName, Epoch, HistoryOptions, HubConfig, NewsListener, Position, RoomKey,
};

/// One channel's live state on this node.
#[derive(Debug)]
pub struct ChannelRoom {
    key: RoomKey,
    channel: EncodedChannelName,
    log: SharedRing<RoomLog>,
    /// True once the group has ended. Set before the log's version rises, so a reader that sees the new version sees
    /// this too.
    has_ended: AtomicBool,
    /// The number of subscriptions of all sessions; one listener may serve several.
    subscribers: AtomicUsize,
    counters: Arc<HubCounters>,
}

/// The outcome of a read after a cursor.
#[derive(Debug)]
pub(crate) enum NextPublication {
    /// The next publication; with the log's version if it is the newest.
    Publication(Arc<Publication>, Option<u64>),
    /// There is no later publication, as of this version of the log.
    Nothing(u64),
    /// The ring begins after the cursor, or belongs to another epoch: the reader needs the state.
    NotCovered,
}

/// The relation of a client's claimed position to the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimedPositionStatus {
    /// All publications after the position are available.
    Covered,
    /// The position is of another epoch, or before the start of the ring; it will never be covered again.
    Gone,
    /// The position is ahead of the sequence: no honest client can have it now, but the sequence may reach it later.
    Ahead,
}

impl ChannelRoom {
    pub(crate) fn new(
        key: RoomKey,
        channel: EncodedChannelName,
        epoch: Option<Epoch>,
        history: Option<HistoryOptions>,
        now: Duration,
        counters: Arc<HubCounters>,
    ) -> Arc<Self> {
        let log = SharedRing::new(RoomLog::new(epoch, history, now));
        let (has_ended, subscribers) = (AtomicBool::new(false), AtomicUsize::new(0));
        Arc::new(Self { key, channel, log, has_ended, subscribers, counters })
    }

    /// Returns the key by which publishers find the room.
    pub fn key(&self) -> RoomKey {
        self.key
    }

    /// Returns the channel's name.
    pub fn channel(&self) -> &EncodedChannelName {
        &self.channel
    }

    /// Returns the newest offset and its epoch; `None` between the room's creation and its first read.
    pub fn newest_position(&self) -> Option<Position> {
        let log = self.log.lock();
        log.epoch.map(|epoch| Position { epoch, offset: log.ring.newest_offset() })
    }

    /// Returns the number of listeners: single sessions, and partitions with sessions here.
    pub fn listener_count(&self) -> usize {
        self.log.lock().listeners.len()
    }

    /// Returns the number of subscribers, without taking a lock.
    pub fn subscriber_count(&self) -> usize {
        self.subscribers.load(Ordering::Relaxed)
    }

    pub(crate) fn increment_subscriber_count(&self) {
        self.subscribers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn decrement_subscriber_count(&self) {
        self.subscribers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the bytes of the ring and the encoded state, without frames.
    pub fn byte_size(&self) -> usize {
        let log = self.log.lock();
        log.ring.byte_size() + log.state_bytes()
    }

    /// Returns the number of publications in the ring.
    pub fn publication_count(&self) -> usize {
        self.log.lock().ring.len()
    }

    pub(crate) fn log_version(&self) -> u64 {
        self.log.change_version()
    }

    /// Changes the log, and updates the node's byte counts.
    fn change_log_and_count_bytes<R>(&self, change: impl FnOnce(&mut RoomLog) -> R) -> R {
        let mut log = self.log.lock();
        let before = (log.ring.byte_size(), log.state_bytes());
        let result = change(&mut log);
        let after = (log.ring.byte_size(), log.state_bytes());
        // Wrapping arithmetic, so that a negative difference subtracts.
        self.counters.ring_bytes.fetch_add(after.0.wrapping_sub(before.0), Ordering::Relaxed);
        self.counters.state_bytes.fetch_add(after.1.wrapping_sub(before.1), Ordering::Relaxed);
        let spent = log.spent_state.take();
        drop(log);
        drop(spent);
        result
    }

    /// Adds a listener; returns false if the room has been closed and must be looked up again.
    pub(crate) fn add_listener(&self, listener: ListenerHandle) -> bool {
        let mut log = self.log.lock();
        if !log.closed {
            log.listeners.insert(listener);
        }
        !log.closed
    }

    pub(crate) fn remove_listener(&self, number: u64, now: Duration) {
        let mut log = self.log.lock();
        log.listeners.remove(number);
        log.waiters.remove(number);
        log.quiet_since = now;
    }

    /// Closes the room and discards its ring if it has had no listeners for `linger` and has no history.
    pub(crate) fn close_if_idle(&self, now: Duration, linger: Duration) -> bool {
        self.change_log_and_count_bytes(|log| {
            let quiet = log.listeners.is_empty()
                && now.saturating_sub(log.quiet_since) >= linger
                && !log.has_history();
            if quiet {
                log.close_log();
            }
            quiet
        })
    }

    /// Ends the room permanently: the caller signals its listeners, and no new ones can join. Returns true if it was
    /// open.
    pub(crate) fn end_room(&self) -> bool {
        self.has_ended.store(true, Ordering::Release);
        self.change_log_and_count_bytes(|log| {
            let was_open = !log.closed;
            log.close_log();
            was_open
        })
    }

    /// Returns true if the room's group has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Appends a publication: at its network's position, or at the room's own next offset. Returns true if this is the
    /// room's first change in the batch, and true if the publication was appended.
    pub(crate) fn append_publication(
        &self,
        at: Option<Position>,
        data: Bytes,
        now: Duration,
        batch: u64,
        config: &HubConfig,
    ) -> (bool, bool) {
        self.change_log_and_count_bytes(|log| {
            if log.closed {
                return (false, false);
            }
            (log.start_batch_once(batch), log.append_publication(at, data, now, config))
        })
    }

    /// Makes every subscriber read the state at `at`, or at the room's own next offset. Returns true if this is the
    /// room's first change in the batch.
    pub(crate) fn require_state_read(&self, at: Option<Position>, batch: u64) -> bool {
        self.change_log_and_count_bytes(|log| {
            if log.closed {
                return false;
            }
            let first = log.start_batch_once(batch);
            log.require_state_read_at(at);
            first
        })
    }

    /// Continues at `at` without the publications before it. Returns true if this is the room's first change in the
    /// batch.
    pub(crate) fn continue_at_with_gap(&self, at: Position, batch: u64) -> bool {
        self.change_log_and_count_bytes(|log| {
            let is_new = log.epoch != Some(at.epoch) || log.ring.newest_offset() < at.offset;
            if log.closed || !is_new {
                return false;
            }
            let first = log.start_batch_once(batch);
            log.start_epoch_at(at);
            first
        })
    }

    pub(crate) fn current_epoch(&self) -> Option<Epoch> {
        self.log.lock().epoch
    }

    /// Sets the room's position from the source. Returns false if the room has started a new epoch since `before` was
    /// read, so that `position` may be of the old one: then ask the source again.
    pub(crate) fn set_position_from_source(
        &self,
        previous_epoch: Option<Epoch>,
        position: Position,
    ) -> bool {
        let (settled, woken) = self.change_log_and_count_bytes(|log| {
            if log.epoch == Some(position.epoch) {
                return (true, Vec::new());
            }
            if log.epoch != previous_epoch {
                return (false, Vec::new());
            }
            log.start_epoch_at(position);
            // Before the first epoch the listeners had nothing that they could have lost.
            let listeners = log.listeners.iter().filter(|_| previous_epoch.is_some());
            (true, listeners.cloned().collect())
        });
        woken.iter().for_each(ListenerHandle::notify_listener);
        settled
    }

    /// Compares a client's claimed position with the room; `now` is the source's position.
    pub(crate) fn compare_claimed_position(
        &self,
        claim: Position,
        now: Option<Position>,
    ) -> ClaimedPositionStatus {
        let log = self.log.lock();
        let reached = now.map_or(0, |now| now.offset).max(log.ring.newest_offset());
        if log.epoch != Some(claim.epoch) || !log.ring.holds_all_entries_after(claim.offset) {
            ClaimedPositionStatus::Gone
        } else if claim.offset > reached {
            ClaimedPositionStatus::Ahead
        } else {
            ClaimedPositionStatus::Covered
        }
    }

    /// Returns the next publication for a reader that has everything up to `cursor`.
    pub(crate) fn next_publication_after(&self, cursor: Position) -> NextPublication {
        let log = self.log.lock();
        if log.epoch != Some(cursor.epoch) || !log.ring.holds_all_entries_after(cursor.offset) {
            return NextPublication::NotCovered;
        }
        match log.ring.first_entry_after(cursor.offset) {
            Some((entry, last)) => NextPublication::Publication(
                entry.item.clone(),
                last.then_some(log.ring.change_version()),
            ),
            None => NextPublication::Nothing(log.ring.change_version()),
        }
    }

    /// Adds the data-only publications after `cursor` to `into`, up to `bytes`, but at least one. Returns
    /// `Some(Some(version))` of the log if no others follow, `Some(None)` if others do, and `None` if there is no
    /// publication or another kind comes first.
    pub(crate) fn collect_data_publications(
        &self,
        cursor: Position,
        bytes: usize,
        into: &mut Vec<Arc<Publication>>,
    ) -> Option<Option<u64>> {
        let log = self.log.lock();
        if log.epoch != Some(cursor.epoch) || !log.ring.holds_all_entries_after(cursor.offset) {
            return None;
        }
        let (mut offset, mut left) = (cursor.offset, bytes);
        let mut seen = None;
        while seen.is_none()
            && let Some((entry, last)) = log.ring.first_entry_after(offset)
            && entry.item.is_for_all_listeners()
            && (into.is_empty() || entry.item.payload.data().len() <= left)
        {
            offset = entry.offset;
            left = left.saturating_sub(entry.item.payload.data().len());
            into.push(entry.item.clone());
            seen = last.then_some(log.ring.change_version());
        }
        (!into.is_empty()).then_some(seen)
    }

    /// Drops entries that are too old or too many, and the encoded state if it was unused for the linger time.
    pub(crate) fn trim_log_and_state(&self, now: Duration, config: &HubConfig) {
        self.change_log_and_count_bytes(|log| {
            log.trim_ring(now, config);
            if now.saturating_sub(log.state_used) >= config.linger {
                log.drop_cached_state();
            }
        });
    }

    /// Discards about half of the room's bytes: the state if it is larger than the ring, otherwise the older half of
    /// the ring. Returns the number of publications dropped.
    pub(crate) fn halve_log_or_drop_state(&self) -> u64 {
        self.change_log_and_count_bytes(|log| {
            if log.state_bytes() > log.ring.byte_size() {
                log.drop_cached_state();
                return 0;
            }
            let dropped = log.ring.shrink_to_bytes(log.ring.byte_size() / 2);
            log.drop_state_older_than_ring();
            dropped
        })
    }
}

impl FanoutTopic for ChannelRoom {
    type Wake = dyn NewsListener;

    fn collect_listener_signals(&self, signals: &mut ListenerSignalBatch<dyn NewsListener>) {
        self.log.lock().listeners.collect_listener_signals(signals);
    }
}
