//! Publishing in batches: append to many rooms, then signal each listener once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::fanout;

use crate::{ChannelRoom, Hub, NonDataContent, Position};

/// The publications of one poll. Created by [`Hub::open_publish_batch`] *after* the new state has been swapped in.
///
/// A batch is complete for its offsets: once it is finished, no later batch of the same group appends at or below
/// them. Listeners are signaled when the batch is finished or dropped.
pub struct PublishBatch<'a> {
    hub: &'a Hub,
    number: u64,
    now: Duration,
    rooms: fanout::TopicChangeBatch<ChannelRoom>,
    /// The position that this batch reaches, per group.
    reached: BTreeMap<u32, Position>,
}

impl<'a> PublishBatch<'a> {
    pub(crate) fn new(hub: &'a Hub, number: u64, now: Duration) -> Self {
        Self {
            hub,
            number,
            now,
            rooms: fanout::TopicChangeBatch::open_batch(),
            reached: BTreeMap::new(),
        }
    }

    /// Appends a publication to a room: at its network's position, or with `None` at the room's own next offset.
    ///
    /// The positions of a room rise. A position at or below what the room already has, in its ring or in the state it
    /// has read, is skipped. An epoch other than the room's starts a new life there: all subscribers then get the
    /// state, marked as a gap.
    pub fn append_publication(
        &mut self,
        room: &Arc<ChannelRoom>,
        at: Option<Position>,
        data: Bytes,
    ) {
        let (now, number, config) = (self.now, self.number, self.hub.config());
        if self
            .rooms
            .change_topic(room, |room| room.append_publication(at, data, now, number, config))
        {
            self.hub.counters().publications.increment();
        }
        self.mark_room_group_published(room, at);
    }

    /// Appends to a room without a state, at the room's own next offset; returns `None` if the room has been closed.
    pub(crate) fn append_at_next_offset(
        &mut self,
        room: &Arc<ChannelRoom>,
        data: Bytes,
        note: Option<NonDataContent>,
    ) -> Option<Position> {
        let (now, number, config) = (self.now, self.number, self.hub.config());
        let appended = self
            .rooms
            .change_topic(room, |room| room.append_at_next_offset(data, note, now, number, config));
        if appended.is_some() {
            self.hub.counters().publications.increment();
        }
        appended
    }

    pub(crate) fn hub(&self) -> &'a Hub {
        self.hub
    }

    /// Sends the room's current state to each subscriber once, without a gap: for a new dataset. A position of another
    /// epoch starts a new life of the sequence, and is a gap.
    pub fn resend_state_without_gap(&mut self, room: &Arc<ChannelRoom>, at: Option<Position>) {
        self.rooms.change_topic(room, |room| (room.require_state_read(at, self.number), ()));
        self.mark_room_group_published(room, at);
    }

    /// Moves the room to `at` without the publications that lead there; each subscriber gets the state, marked as a
    /// gap. For a follower that has missed a part of a sequence, or starts a new life of it. A room that has already
    /// read the state at `at` is left unchanged.
    pub fn resend_state_with_gap(&mut self, room: &Arc<ChannelRoom>, at: Position) {
        self.rooms.change_topic(room, |room| (room.continue_at_with_gap(at, self.number), ()));
        self.mark_room_group_published(room, Some(at));
    }

    /// Ends the room permanently.
    pub(crate) fn end_room(&mut self, room: &Arc<ChannelRoom>) {
        self.rooms.change_topic(room, |room| (room.end_room(), ()));
    }

    /// States that this batch and those before carry everything of the group up to `position`, even if no room got a
    /// publication. So quiet channels keep up, and a later resume finds them covered.
    pub fn mark_group_published_up_to(&mut self, group: u32, position: Position) {
        let reached = self.reached.entry(group).or_insert(position);
        if reached.epoch != position.epoch || reached.offset < position.offset {
            *reached = position;
        }
    }

    /// Signals every listener concerned, once each.
    pub fn finish_and_signal_listeners(self) {}

    fn mark_room_group_published(&mut self, room: &Arc<ChannelRoom>, at: Option<Position>) {
        if let Some(at) = at {
            let group = room.key().group;
            debug_assert!(
                !self.hub.get_or_create_group(group).has_published_up_to(at),
                "{at} of {} must be appended to the batch that published it",
                room.channel()
            );
            self.mark_group_published_up_to(group, at);
        }
    }

    fn signal_listeners(&mut self) {
        // Raise the positions before any listener is signaled: a woken listener that drains its rooms may rely on
        // them.
        for (&group, &position) in &self.reached {
            self.hub.get_or_create_group(group).raise_published_position(position);
        }
        self.rooms.signal_listeners();
        let counters = self.hub.counters();
        let bytes = counters.ring_bytes.load(Ordering::Relaxed)
            + counters.state_bytes.load(Ordering::Relaxed);
        if bytes > self.hub.config().total_bytes {
            self.hub.halve_largest_rooms();
        }
    }
}

impl Drop for PublishBatch<'_> {
    fn drop(&mut self) {
        self.signal_listeners();
    }
}

impl fmt::Debug for PublishBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishBatch")
            .field("number", &self.number)
            .field("rooms", &self.rooms)
            .finish()
    }
}
