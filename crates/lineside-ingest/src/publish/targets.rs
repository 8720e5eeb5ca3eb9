//! The existing rooms that receive a poll's changes, each with its messages.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use lineside_hub::ChannelRoom;
use lineside_sync::UnixMillis;

use super::message::ChangeMessageBuilder;
use crate::{
    channel_kinds::RoomKind,
    hashing::SeededHashBuilder,
    record::{Record, RemovalReason, append_removal_json},
};

/// The kind and id of a room.
pub(super) type RoomKindAndId = (RoomKind, u64);

/// Rooms and their messages.
#[derive(Debug, Default)]
pub(super) struct TargetRooms {
    /// The kinds with rooms, one bit each.
    kinds: u16,
    rooms: HashMap<(u8, u64), usize, SeededHashBuilder>,
    targets: Vec<TargetRoom>,
    /// Indexes of rooms with messages, in the order of their first one.
    touched: Vec<usize>,
}

#[derive(Debug)]
struct TargetRoom {
    kind: RoomKind,
    room: Arc<ChannelRoom>,
    /// Full messages, followed by `open`, which still takes changes.
    full: Vec<ChangeMessageBuilder>,
    open: ChangeMessageBuilder,
}

impl TargetRooms {
    pub(super) fn add_rooms(&mut self, kind: RoomKind, rooms: Vec<Arc<ChannelRoom>>) {
        for room in rooms {
            self.kinds |= 1 << kind as u8;
            self.rooms.insert((kind as u8, room.key().id), self.targets.len());
            self.targets.push(TargetRoom {
                kind,
                room,
                full: Vec::new(),
                open: ChangeMessageBuilder::default(),
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    pub(super) fn has_rooms_of_kind(&self, kind: RoomKind) -> bool {
        self.kinds & 1 << kind as u8 != 0
    }

    pub(super) fn contains(&self, (kind, id): RoomKindAndId) -> bool {
        self.rooms.contains_key(&(kind as u8, id))
    }

    pub(super) fn rooms_of_kind(&self, kind: RoomKind) -> Vec<Arc<ChannelRoom>> {
        let kind_targets = self.targets.iter().filter(|target| target.kind == kind);
        kind_targets.map(|target| Arc::clone(&target.room)).collect()
    }

    pub(super) fn rooms(&self) -> impl Iterator<Item = &Arc<ChannelRoom>> {
        self.targets.iter().map(|target| &target.room)
    }

    /// Adds `upsert` to the room with a key.
    pub(super) fn add_upsert_to_room(&mut self, (kind, id): RoomKindAndId, upsert: &Bytes) {
        if let Some(&at) = self.rooms.get(&(kind as u8, id)) {
            self.message_with_space(at, upsert.len()).push(upsert);
        }
    }

    /// Adds the removal of a record to the room with a key.
    pub(super) fn add_removal_to_room(
        &mut self,
        (kind, id): RoomKindAndId,
        record: &Record,
        why: RemovalReason,
    ) {
        if let Some(&at) = self.rooms.get(&(kind as u8, id)) {
            let bytes = crate::change::REMOVAL_BYTES_MAX + 6 * record.id.len();
            self.message_with_space(at, bytes)
                .push_written_change(|out| append_removal_json(out, record, why));
        }
    }

    /// Adds `upsert` to all rooms for which `is_concerned` returns true.
    pub(super) fn add_upsert_to_rooms_where(
        &mut self,
        upsert: &Bytes,
        is_concerned: impl Fn(RoomKind, &ChannelRoom) -> bool,
    ) {
        for at in 0..self.targets.len() {
            let target = &self.targets[at];
            let whole = target.room.key().id == crate::channel_kinds::WHOLE_NETWORK
                && target.kind == RoomKind::Feed;
            if !whole && is_concerned(target.kind, &target.room) {
                self.message_with_space(at, upsert.len()).push(upsert);
            }
        }
    }

    fn message_with_space(&mut self, at: usize, bytes: usize) -> &mut ChangeMessageBuilder {
        let target = &mut self.targets[at];
        if target.open.is_empty() && target.full.is_empty() {
            self.touched.push(at);
        }
        if target.open.is_full_for(bytes + 1) {
            target.full.push(std::mem::take(&mut target.open));
        }
        &mut target.open
    }

    /// Passes the messages of each room to `append`: the room, the message's number from 0 (`u64::MAX` for the last),
    /// true for the room's last message, and its data.
    pub(super) fn pass_messages_to(
        mut self,
        at: UnixMillis,
        mut append: impl FnMut(&Arc<ChannelRoom>, u64, bool, Bytes),
    ) {
        for touched in self.touched {
            let target = &mut self.targets[touched];
            let full = std::mem::take(&mut target.full);
            for (mut message, part) in full.into_iter().zip(0..) {
                append(&target.room, part, false, message.take_publication(at));
            }
            append(&target.room, u64::MAX, true, target.open.take_publication(at));
        }
    }
}
