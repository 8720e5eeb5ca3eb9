//! What anybody listens to, by group and kind.
//!
//! A publisher asks here first, before it builds a name or encodes a record; for a kind that nobody
//! listens to that is one atomic load.

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

/// One group's share of the rooms, and how far its sequence has been published.
#[derive(Default)]
pub struct GroupInterest {
    kinds: fanout::TopicInterest<256>,
    rooms: Mutex<GroupRooms>,
    /// How far the group's sequence has been appended to all its rooms; its lives are epochs. One writer,
    /// the group's publisher.
    reached: ReachedPosition,
    /// Nothing is published here any more.
    over: AtomicBool,
}

impl GroupInterest {
    /// Whether any room of this kind lives. One atomic load.
    pub fn has_rooms(&self, kind: u8) -> bool {
        self.kinds.has_topics(usize::from(kind))
    }

    /// How many rooms of this kind live.
    pub fn room_count(&self, kind: u8) -> usize {
        self.kinds.topic_count(usize::from(kind)) as usize
    }

    /// Says that nothing is published here any more.
    pub(crate) fn end_group(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Whether nothing is published here any more, so that no room is added.
    pub(crate) fn has_ended(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Whether nothing is published here any more and no room lives.
    pub(crate) fn is_ended_and_empty(&self) -> bool {
        self.has_ended() && self.rooms.lock().is_empty()
    }

    pub(crate) fn lock_rooms(&self) -> MutexGuard<'_, GroupRooms> {
        self.rooms.lock()
    }

    /// The rooms of one kind, by id.
    pub(crate) fn rooms_of_kind(&self, kind: u8) -> Vec<Arc<Room>> {
        let range = (Included((kind, 0)), Included((kind, u64::MAX)));
        self.rooms.lock().range(range).map(|(_, room)| room.clone()).collect()
    }

    pub(crate) fn all_rooms(&self) -> Vec<Arc<Room>> {
        self.rooms.lock().values().cloned().collect()
    }

    /// Enters a room, and lets `insert` put it where publishers and subscribers find it.
    pub(crate) fn add_room(&self, rooms: &mut GroupRooms, room: &Arc<Room>, insert: impl FnOnce()) {
        let key = room.key();
        rooms.insert((key.kind, key.id), room.clone());
        self.kinds.enter_topic(usize::from(key.kind), insert);
    }

    /// The reverse.
    pub(crate) fn remove_room(&self, rooms: &mut GroupRooms, room: &Room, remove: impl FnOnce()) {
        let key = room.key();
        rooms.remove(&(key.kind, key.id));
        self.kinds.remove_topic(usize::from(key.kind), remove);
    }

    /// How far the group has been published to all its rooms: whoever has then been given all that its
    /// room holds, holds everything up to here, also where the room itself saw nothing.
    pub(crate) fn published_position(&self) -> Position {
        let (epoch, offset) = self.reached.read_position();
        Position { epoch: Epoch::from_bits(epoch), offset }
    }

    /// Whether `position` is said to be in every room already.
    pub(crate) fn has_published_up_to(&self, position: Position) -> bool {
        let published = self.published_position();
        published.epoch == position.epoch && published.offset >= position.offset
    }

    pub(crate) fn raise_published(&self, to: Position) {
        self.reached.raise_to(to.epoch.bits(), to.offset);
    }
}

impl fmt::Debug for GroupInterest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interest")
            .field("published", &self.published_position())
            .finish_non_exhaustive()
    }
}
