//! Publishing: append to many rooms, then signal each listener once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::fanout;

use crate::{Hub, Note, Position, Room};

/// What one poll publishes. Made by [`Hub::batch`] *after* the new state has been swapped in.
///
/// A batch holds everything that its offsets carry: once finished, no later batch of the same group
/// appends at or below them. Listeners are signaled when it is finished or dropped.
pub struct Batch<'a> {
    hub: &'a Hub,
    number: u64,
    now: Duration,
    rooms: fanout::Batch<Room>,
    /// Per group, how far this batch goes.
    reached: BTreeMap<u32, Position>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(hub: &'a Hub, number: u64, now: Duration) -> Self {
        Self { hub, number, now, rooms: fanout::Batch::open(), reached: BTreeMap::new() }
    }

    /// Appends to a room: at its network's position, or `None` where the room counts by itself.
    ///
    /// Positions of one room rise; one at or below what the room holds already, by its ring or by the
    /// state it has read, is skipped. An epoch other than the room's begins a new life there: all its
    /// subscribers then get the state, marked as a gap.
    pub fn append(&mut self, room: &Arc<Room>, at: Option<Position>, data: Bytes) {
        let (now, number, config) = (self.now, self.number, self.hub.config());
        if self.rooms.change(room, |room| room.append(at, data, now, number, config)) {
            self.hub.counters().publications.increment();
        }
        self.note_reach(room, at);
    }

    /// Appends to a room without a state, at the room's own next offset; `None` when it has been closed.
    pub(crate) fn note(
        &mut self,
        room: &Arc<Room>,
        data: Bytes,
        note: Option<Note>,
    ) -> Option<Position> {
        let (now, number, config) = (self.now, self.number, self.hub.config());
        let appended =
            self.rooms.change(room, |room| room.append_next(data, note, now, number, config));
        if appended.is_some() {
            self.hub.counters().publications.increment();
        }
        appended
    }

    pub(crate) fn hub(&self) -> &'a Hub {
        self.hub
    }

    /// Sends each subscriber of the room its state as of now once, without a gap: for a new dataset.
    /// With a position of another epoch it is a new life of the sequence, and a gap.
    pub fn restate(&mut self, room: &Arc<Room>, at: Option<Position>) {
        self.rooms.change(room, |room| (room.restate(at, self.number), ()));
        self.note_reach(room, at);
    }

    /// Says that what leads to `at` is not known here: the room goes on from there, and each of its subscribers gets
    /// the state, marked as a gap. For who follows a sequence and has missed a part of it, or begins a new life
    /// of it. A room that has read the state as of `at` already is left alone.
    pub fn lose(&mut self, room: &Arc<Room>, at: Position) {
        self.rooms.change(room, |room| (room.lose(at, self.number), ()));
        self.note_reach(room, Some(at));
    }

    /// Ends the room for good.
    pub(crate) fn end(&mut self, room: &Arc<Room>) {
        self.rooms.change(room, |room| (room.end(), ()));
    }

    /// Says that this batch, with those before, carries everything of the group up to `position`, even
    /// if no room heard of it. So quiet channels keep up, and a later resume still finds them covered.
    pub fn reach(&mut self, group: u32, position: Position) {
        let reached = self.reached.entry(group).or_insert(position);
        if reached.epoch != position.epoch || reached.offset < position.offset {
            *reached = position;
        }
    }

    /// Signals every listener concerned, once each.
    pub fn finish(self) {}

    fn note_reach(&mut self, room: &Arc<Room>, at: Option<Position>) {
        if let Some(at) = at {
            let group = room.key().group;
            debug_assert!(
                !self.hub.group(group).has_published(at),
                "{at} of {} belongs into the batch that published it",
                room.channel()
            );
            self.reach(group, at);
        }
    }

    fn publish(&mut self) {
        // Before anybody is signaled: whoever wakes up and drains its rooms may count on it.
        for (&group, &position) in &self.reached {
            self.hub.group(group).raise_published(position);
        }
        self.rooms.tell();
        let counters = self.hub.counters();
        let bytes = counters.ring_bytes.load(Ordering::Relaxed)
            + counters.state_bytes.load(Ordering::Relaxed);
        if bytes > self.hub.config().total_bytes {
            self.hub.shrink();
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.publish();
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("number", &self.number).field("rooms", &self.rooms).finish()
    }
}
