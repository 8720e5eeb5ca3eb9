//! The interest in rooms, by group and kind.
//!
//! A publisher checks the interest before it builds a name or encodes a record. For a kind without rooms this is one
//! atomic load.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::Included;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lineside_sync::fanout::{self, ReachedPosition};
use parking_lot::{Mutex, MutexGuard};

use crate::{Epoch, Position, Room};

/// A group's rooms, by kind and id. Bound: the hub's limit of rooms.
pub(crate) type GroupRooms = BTreeMap<(u8, u64), Arc<Room>>;

/// The rooms of one group, and the position up to which its sequence has been published.
#[derive(Default)]
pub struct GroupInterest {
    kinds: fanout::TopicInterest<256>,
    rooms: Mutex<GroupRooms>,
    /// The position up to which the group's sequence has been appended to all its rooms; its lives are epochs. One
    /// writer, the group's publisher.
    reached: ReachedPosition,
    /// True once nothing more is published in the group.
    has_ended: AtomicBool,
}

impl GroupInterest {
    /// Returns true if there is a room of this kind. One atomic load.
    pub fn has_rooms(&self, kind: u8) -> bool {
        self.kinds.has_topics(usize::from(kind))
    }

    /// Returns the number of rooms of this kind.
    pub fn room_count(&self, kind: u8) -> usize {
        self.kinds.topic_count(usize::from(kind)) as usize
    }

    /// Marks the group as ended: nothing more is published in it.
    pub(crate) fn end_group(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    /// Returns true if the group has ended, so that no room may be added.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Returns true if the group has ended and has no rooms.
    pub(crate) fn is_ended_and_empty(&self) -> bool {
        self.has_ended() && self.rooms.lock().is_empty()
    }

    pub(crate) fn lock_rooms(&self) -> MutexGuard<'_, GroupRooms> {
        self.rooms.lock()
    }

    /// Returns the rooms of one kind, by id.
    pub(crate) fn rooms_of_kind(&self, kind: u8) -> Vec<Arc<Room>> {
        let range = (Included((kind, 0)), Included((kind, u64::MAX)));
        self.rooms.lock().range(range).map(|(_, room)| room.clone()).collect()
    }

    pub(crate) fn all_rooms(&self) -> Vec<Arc<Room>> {
        self.rooms.lock().values().cloned().collect()
    }

    /// Adds a room; `insert` makes it visible to publishers and subscribers.
    pub(crate) fn add_room(&self, rooms: &mut GroupRooms, room: &Arc<Room>, insert: impl FnOnce()) {
        let key = room.key();
        rooms.insert((key.kind, key.id), room.clone());
        self.kinds.enter_topic(usize::from(key.kind), insert);
    }

    /// Removes a room; `remove` hides it from publishers and subscribers.
    pub(crate) fn remove_room(&self, rooms: &mut GroupRooms, room: &Room, remove: impl FnOnce()) {
        let key = room.key();
        rooms.remove(&(key.kind, key.id));
        self.kinds.remove_topic(usize::from(key.kind), remove);
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

    pub(crate) fn raise_published(&self, to: Position) {
        self.reached.advance_position(to.epoch.bits(), to.offset);
    }
}

impl fmt::Debug for GroupInterest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupInterest")
            .field("published", &self.published_position())
            .finish_non_exhaustive()
    }
}
