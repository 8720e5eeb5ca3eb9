//! The interest in rooms, by group and kind.
//!
//! A publisher checks the interest before it builds a name or encodes a record. For a kind without rooms this is one
//! atomic load.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::Included;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lineside_sync::fanout::{self, PublishedSequencePosition};
use parking_lot::{Mutex, MutexGuard};

use crate::{ChannelRoom, Epoch, Position};

/// A group's rooms, by kind and id. Bound: the hub's limit of rooms.
pub(crate) type RoomsByKindAndId = BTreeMap<(u8, u64), Arc<ChannelRoom>>;

/// The rooms of one group, and the position up to which its sequence has been published.
#[derive(Default)]
pub struct RoomGroup {
    kinds: fanout::TopicCountByKind<256>,
    rooms: Mutex<RoomsByKindAndId>,
    /// The position up to which the group's sequence has been appended to all its rooms; its lives are epochs. One
    /// writer, the group's publisher.
    reached: PublishedSequencePosition,
    /// True once nothing more is published in the group.
    has_ended: AtomicBool,
}

impl RoomGroup {
    /// Returns true if there is a room of this kind. One atomic load.
    pub fn has_rooms_of_kind(&self, kind: u8) -> bool {
        self.kinds.has_topics_of_kind(usize::from(kind))
    }

    /// Returns the number of rooms of this kind.
    pub fn room_count_of_kind(&self, kind: u8) -> usize {
        self.kinds.topic_count_of_kind(usize::from(kind)) as usize
    }

    /// Marks the group as ended: nothing more is published in it.
    pub(crate) fn mark_group_ended(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Returns true if the group has ended, so that no room may be added.
    pub(crate) fn has_group_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Returns true if the group has ended and has no rooms.
    pub(crate) fn is_ended_and_empty(&self) -> bool {
        self.has_group_ended() && self.rooms.lock().is_empty()
    }

    pub(crate) fn lock_rooms(&self) -> MutexGuard<'_, RoomsByKindAndId> {
        self.rooms.lock()
    }

    /// Returns the rooms of one kind, by id.
    pub(crate) fn rooms_of_kind(&self, kind: u8) -> Vec<Arc<ChannelRoom>> {
        let range = (Included((kind, 0)), Included((kind, u64::MAX)));
        self.rooms.lock().range(range).map(|(_, room)| room.clone()).collect()
    }

    pub(crate) fn all_rooms(&self) -> Vec<Arc<ChannelRoom>> {
        self.rooms.lock().values().cloned().collect()
    }

    /// Adds a room; `insert` makes it visible to publishers and subscribers.
    pub(crate) fn add_room(
        &self,
        rooms: &mut RoomsByKindAndId,
        room: &Arc<ChannelRoom>,
        insert: impl FnOnce(),
    ) {
        let key = room.key();
        rooms.insert((key.kind, key.id), room.clone());
        self.kinds.count_and_insert_topic(usize::from(key.kind), insert);
    }

    /// Removes a room; `remove` hides it from publishers and subscribers.
    pub(crate) fn remove_room(
        &self,
        rooms: &mut RoomsByKindAndId,
        room: &ChannelRoom,
        remove: impl FnOnce(),
    ) {
        let key = room.key();
        rooms.remove(&(key.kind, key.id));
        self.kinds.remove_and_uncount_topic(usize::from(key.kind), remove);
    }

    /// Returns the position up to which the group has been published to all its rooms. A subscriber that then has
    /// everything in its room is up to date to here, even if the room had no publication.
    pub(crate) fn published_position(&self) -> Position {
        let (epoch, offset) = self.reached.read_position();
        Position { epoch: Epoch::from_bits(epoch), offset }
    }

    /// Returns true if the group has already been published up to `position`.
    pub(crate) fn has_published_up_to(&self, position: Position) -> bool {
        let published = self.published_position();
        published.epoch == position.epoch && published.offset >= position.offset
    }

    pub(crate) fn raise_published_position(&self, to: Position) {
        self.reached.advance_position(to.epoch.to_bits(), to.offset);
    }
}

impl fmt::Debug for RoomGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupInterest")
            .field("published", &self.published_position())
            .finish_non_exhaustive()
    }
}
