//! What anybody listens to, by group and kind.
//!
//! A publisher asks here first, before it builds a name or encodes a record; for a kind that nobody
//! listens to that is one atomic load.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::Included;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::{Epoch, Position, Room};

/// A group's rooms, by kind and id. Bound: the hub's limit of rooms.
pub(crate) type GroupRooms = BTreeMap<(u8, u64), Arc<Room>>;

/// One group's share of the rooms, and how far its sequence has been published.
pub struct Interest {
    rooms_of_kind: [AtomicU32; 256],
    rooms: Mutex<GroupRooms>,
    published: Published,
}

impl Default for Interest {
    fn default() -> Self {
        Self {
            rooms_of_kind: [const { AtomicU32::new(0) }; 256],
            rooms: Mutex::default(),
            published: Published::default(),
        }
    }
}

impl Interest {
    /// Whether any room of this kind lives. One atomic load.
    pub fn any(&self, kind: u8) -> bool {
        self.rooms_of_kind[usize::from(kind)].load(Ordering::Acquire) != 0
    }

    /// How many rooms of this kind live.
    pub fn count(&self, kind: u8) -> usize {
        self.rooms_of_kind[usize::from(kind)].load(Ordering::Acquire) as usize
    }

    pub(crate) fn lock_rooms(&self) -> MutexGuard<'_, GroupRooms> {
        self.rooms.lock()
    }

    /// The rooms of one kind, by id.
    pub(crate) fn rooms_of(&self, kind: u8) -> Vec<Arc<Room>> {
        let range = (Included((kind, 0)), Included((kind, u64::MAX)));
        self.rooms.lock().range(range).map(|(_, room)| room.clone()).collect()
    }

    pub(crate) fn all_rooms(&self) -> Vec<Arc<Room>> {
        self.rooms.lock().values().cloned().collect()
    }

    pub(crate) fn add(&self, rooms: &mut GroupRooms, room: &Arc<Room>) {
        let key = room.key();
        rooms.insert((key.kind, key.id), room.clone());
        self.rooms_of_kind[usize::from(key.kind)].fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn remove(&self, rooms: &mut GroupRooms, room: &Room) {
        let key = room.key();
        rooms.remove(&(key.kind, key.id));
        self.rooms_of_kind[usize::from(key.kind)].fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn published(&self) -> &Published {
        &self.published
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interest")
            .field("published", &self.published.read())
            .finish_non_exhaustive()
    }
}

/// How far a group's sequence has been appended to all its rooms: whoever has then been given all that
/// its room holds, holds everything up to here, also where the room itself saw nothing.
///
/// One writer at a time, the group's publisher; readers never wait.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// 0 is an epoch too; with offset 0 it says nothing.
    epoch: AtomicU64,
    offset: AtomicU64,
}

impl Published {
    pub(crate) fn read(&self) -> Position {
        loop {
            let epoch = self.epoch.load(Ordering::Acquire);
            let offset = self.offset.load(Ordering::Acquire);
            // An offset of the next life is stored after its epoch, so seeing it shows here.
            if self.epoch.load(Ordering::Acquire) == epoch {
                return Position { epoch: Epoch::from_bits(epoch), offset };
            }
        }
    }

    /// Whether `position` is said to be in every room already.
    pub(crate) fn covers(&self, position: Position) -> bool {
        let published = self.read();
        published.epoch == position.epoch && published.offset >= position.offset
    }

    pub(crate) fn raise(&self, to: Position) {
        let bits = to.epoch.bits();
        if self.epoch.load(Ordering::Acquire) != bits {
            // In this order: no reader may pair the old epoch with the new offset, or the new epoch
            // with the old offset.
            self.offset.store(0, Ordering::Release);
            self.epoch.store(bits, Ordering::Release);
        }
        self.offset.fetch_max(to.offset, Ordering::AcqRel);
    }
}
