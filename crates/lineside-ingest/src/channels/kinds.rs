//! The kinds of channels and the keys of their rooms.

use lineside_hub::RoomKey;

use crate::{geohash::GeohashCell, hashing::HashSeed};

/// What sort of channel a room is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RoomKind {
    Feed = 1,
    Vehicle = 2,
    Trip = 3,
    Alerts = 4,
    Route = 5,
    Stop = 6,
    Station = 7,
    Area = 8,
}

/// The kind of rooms whose channels the program fills itself; they count by themselves.
pub const KIND_BESIDE: u8 = 9;

impl RoomKind {
    /// The kinds that belong to a network.
    pub(crate) const OF_NETWORK: [RoomKind; 7] = [
        RoomKind::Feed,
        RoomKind::Vehicle,
        RoomKind::Trip,
        RoomKind::Alerts,
        RoomKind::Route,
        RoomKind::Stop,
        RoomKind::Station,
    ];
}

/// The group of rooms that count by themselves.
pub(crate) const GROUP_ALONE: u32 = 0;

/// The id of the room that carries all of a network.
pub(crate) const WHOLE_NETWORK: u64 = u64::MAX;

/// A room of one of a network's feeds; `number` is the feed's place in the network.
pub(crate) fn feed_room_id(seed: HashSeed, number: usize, id: &str) -> u64 {
    HashSeed(seed.0 ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).hash_texts(&[id])
}

/// A room of a whole network: a route or a stop.
pub(crate) fn network_room_id(seed: HashSeed, id: &str) -> u64 {
    seed.hash_texts(&[id])
}

/// The room of a cell.
pub(crate) fn cell_room_id(cell: GeohashCell) -> u64 {
    u64::from(cell.char_count()) << 60 | cell.bits()
}

pub(crate) fn room_key(group: u32, kind: RoomKind, id: u64) -> RoomKey {
    RoomKey { group, kind: kind as u8, id }
}
