//! The kinds of channels and the keys of their rooms.

use lineside_hub::RoomKey;

use crate::{geohash::GeohashCell, hashing::SeededHashBuilder};

/// The kind of a channel.
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

/// The kind of rooms that the program fills itself; they have their own offsets.
pub const KIND_EXTRA: u8 = 9;

impl RoomKind {
    /// The kinds that belong to a network.
    pub(crate) const NETWORK_KINDS: [RoomKind; 7] = [
        RoomKind::Feed,
        RoomKind::Vehicle,
        RoomKind::Trip,
        RoomKind::Alerts,
        RoomKind::Route,
        RoomKind::Stop,
        RoomKind::Station,
    ];
}

/// The group of rooms outside of networks, which have their own offsets.
pub(crate) const GROUP_NONE: u32 = 0;

/// The id of the room that carries a whole network.
pub(crate) const WHOLE_NETWORK: u64 = u64::MAX;

/// Returns the room id of an item of a feed; `number` is the feed's number in its network.
pub(crate) fn feed_item_room_id(seed: SeededHashBuilder, number: usize, id: &str) -> u64 {
    SeededHashBuilder(seed.0 ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .hash_texts(&[id])
}

/// Returns the room id of a network's route or stop.
pub(crate) fn network_room_id(seed: SeededHashBuilder, id: &str) -> u64 {
    seed.hash_texts(&[id])
}

pub(crate) fn cell_room_id(cell: GeohashCell) -> u64 {
    u64::from(cell.char_count()) << 60 | cell.cell_number()
}

pub(crate) fn room_key(group: u32, kind: RoomKind, id: u64) -> RoomKey {
    RoomKey { group, kind: kind as u8, id }
}
