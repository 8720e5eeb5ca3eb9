//! Publishing: distributes changes to rooms.
//!
//! The new state is swapped in before rooms are looked up, so that a subscriber is either found here or reads the new
//! state. Kinds of channels without subscribers cost one atomic load each; of the others only existing rooms are
//! touched, and a record is encoded once for all of them.

mod area;
mod board;
mod message;
mod targets;

use std::{ops::Range, sync::Arc};

use lineside_hub::{Hub, Position, PublishBatch, Room};
use lineside_sync::stage;

pub(crate) use message::{MESSAGE_OVERHEAD, encode_state_parts};

/// Messages of channels outside of networks, in the same format.
pub mod messages {
    pub use super::message::{encode_publications, encode_state_parts};
}

use self::{
    area::AreaCounts,
    board::{PublishedBoards, TouchedStops},
    message::ChangeMessage,
    targets::TargetRooms,
};
use crate::{
    catalog::Network,
    change::RecordChange,
    channel_kinds::{self, GROUP_NONE, RoomKind, WHOLE_NETWORK},
    feed_id::FeedId,
    hashing::HashSeed,
    network_state::NetworkState,
    poll_stages::PollStage,
    record::{Record, RecordKind, RemovalReason, encode_removal},
};

/// The outcome of a poll, besides its changes.
#[derive(Debug)]
pub(crate) struct PollOutcome {
    /// The boards whose departures may differ.
    pub(crate) boards: AffectedBoards,
    /// The changes of each revision.
    pub(crate) chunks: Vec<Range<usize>>,
}

/// The stop boards that a poll may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AffectedBoards {
    /// No boards.
    Same,
    /// Boards of stops that a changed trip calls at.
    Touched,
    /// All boards, because the displayed time has changed.
    All,
}

/// Presence of subscribers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListenerStatus {
    pub(crate) network: bool,
    pub(crate) stops: bool,
}

/// Publishes one network's changes.
#[derive(Debug)]
pub(crate) struct NetworkPublisher {
    hub: Arc<Hub>,
    network: Arc<Network>,
    seed: HashSeed,
    boards: PublishedBoards,
    areas: AreaCounts,
}

impl NetworkPublisher {
    pub(crate) fn new(hub: Arc<Hub>, network: Arc<Network>, seed: HashSeed) -> NetworkPublisher {
        NetworkPublisher {
            hub,
            network,
            seed,
            boards: PublishedBoards::default(),
            areas: AreaCounts::default(),
        }
    }

    pub(crate) fn listener_status(&self) -> ListenerStatus {
        let group = self.network.group();
        let whole = channel_kinds::room_key(group, RoomKind::Feed, WHOLE_NETWORK);
        ListenerStatus {
            network: self.hub.find_room(whole).is_some(),
            stops: self.hub.group_interest(group).has_rooms(RoomKind::Stop as u8),
        }
    }

    /// Publishes the changes from `before` to `next`, which is already visible to readers.
    pub(crate) fn publish_revision(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[RecordChange],
        outcome: &PollOutcome,
    ) {
        let _at = stage::enter_stage(PollStage::Publish.thread_stage());
        let began = self.network.stage_start();
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.open_batch();
        batch.mark_group_reached(self.network.group(), self.position_at(next.revision));
        self.publish_network_room(&mut batch, before, next, changes, &outcome.chunks);
        self.publish_filtered_rooms(&mut batch, before, next, changes, outcome.boards);
        self.publish_areas(&mut batch, before, next, changes);
        batch.finish();
        self.network.record_stage(PollStage::Publish, began);
    }

    /// Sends every room of the network its state once.
    pub(crate) fn publish_full_state(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[RecordChange],
    ) {
        let _at = stage::enter_stage(PollStage::Publish.thread_stage());
        let began = self.network.stage_start();
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.open_batch();
        let group = self.network.group();
        let at = self.position_at(next.revision);
        batch.mark_group_reached(group, at);
        for room in hub.rooms_of_group(group) {
            batch.restate_room(&room, Some(at));
        }
        // Cells belong to no network: they receive only the changes.
        self.publish_areas(&mut batch, before, next, changes);
        self.boards.forget_boards();
        batch.finish();
        self.network.record_stage(PollStage::Publish, began);
    }

    fn position_at(&self, offset: u64) -> Position {
        Position { epoch: self.network.epoch(), offset }
    }

    /// Publishes to the network's own channel, where every revision is one publication.
    fn publish_network_room(
        &self,
        batch: &mut PublishBatch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
        chunks: &[Range<usize>],
    ) {
        let key = channel_kinds::room_key(self.network.group(), RoomKind::Feed, WHOLE_NETWORK);
        let Some(room) = self.hub.find_room(key) else { return };
        for (chunk, revision) in chunks.iter().zip(before.revision + 1..) {
            let mut message = ChangeMessage::default();
            for change in &changes[chunk.clone()] {
                push_change(&mut message, change);
            }
            batch.append_publication(
                &room,
                Some(self.position_at(revision)),
                message.take_message(next.at),
            );
        }
    }

    /// Publishes to channels with a part of the network. A room receives everything of a poll under one revision, so
    /// records and departures share messages.
    fn publish_filtered_rooms(
        &mut self,
        batch: &mut PublishBatch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
        boards: AffectedBoards,
    ) {
        let mut targets = TargetRooms::default();
        let interest = self.hub.group_interest(self.network.group());
        for kind in RoomKind::NETWORK_KINDS {
            if interest.has_rooms(kind as u8) {
                targets.add_rooms(kind, self.hub.rooms_of_kind(self.network.group(), kind as u8));
            }
        }
        self.put_changes(&mut targets, changes);
        self.put_boards(&mut targets, before, next, changes, boards);
        let first = before.revision + 1;
        targets.flush_messages(next.at, |room, part, is_last, data| {
            // Rooms other than the network's own need not receive every revision, but increasing ones.
            let offset = if is_last { next.revision } else { first + part };
            batch.append_publication(room, Some(self.position_at(offset)), data);
        });
    }

    fn put_changes(&self, targets: &mut TargetRooms, changes: &[RecordChange]) {
        if targets.is_empty() {
            return;
        }
        let mut old_keys = Vec::new();
        let mut new_keys = Vec::new();
        for change in changes {
            let Some(record) = change.record() else { continue };
            if record.kind == RecordKind::Feed {
                targets.put_upsert_where(record.upsert_json(), |kind, room| {
                    self.concerns_room(kind, room, &record.feed)
                });
                continue;
            }
            let number = self.network.feed_number(record.feed.as_str()).unwrap_or_default();
            old_keys.clear();
            new_keys.clear();
            if let Some(old) = &change.old {
                self.collect_room_keys(old, number, targets, &mut old_keys);
            }
            if let Some(new) = &change.new {
                self.collect_room_keys(new, number, targets, &mut new_keys);
                for &key in &new_keys {
                    targets.put_upsert(key, new.upsert_json());
                }
            }
            for &key in old_keys.iter().filter(|key| !new_keys.contains(key)) {
                if let Some(old) = &change.old {
                    targets.put_removal(key, old, room_removal_reason(change));
                }
            }
        }
    }

    /// Adds the departures of stops with subscribers.
    fn put_boards(
        &mut self,
        targets: &mut TargetRooms,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
        boards: AffectedBoards,
    ) {
        if !targets.has_kind(RoomKind::Stop) {
            self.boards.forget_boards();
            return;
        }
        let touched = match (boards, &next.dataset) {
            (AffectedBoards::Same, _) | (_, None) => return,
            (AffectedBoards::Touched, Some(dataset)) => {
                Some(TouchedStops::from_changes(changes, &dataset.timetable))
            }
            (AffectedBoards::All, _) => None,
        };
        self.boards.put_board_changes(targets, touched.as_ref(), before, next);
    }

    /// Returns true if a room of the network contains the status of `feed`.
    fn concerns_room(&self, kind: RoomKind, room: &Room, feed: &FeedId) -> bool {
        let Some(name) = room.channel().decoded_segments().nth(1) else { return false };
        let merges = matches!(kind, RoomKind::Route | RoomKind::Stop);
        name == feed.as_str() || merges && name == self.network.id().as_str()
    }

    /// Collects the existing rooms that contain a record, except for the network's own.
    fn collect_room_keys(
        &self,
        record: &Record,
        number: usize,
        targets: &TargetRooms,
        keys: &mut Vec<(RoomKind, u64)>,
    ) {
        let mut put = |kind: RoomKind, id: &dyn Fn() -> u64| {
            if targets.has_kind(kind) {
                let key = (kind, id());
                if targets.contains(key) && !keys.contains(&key) {
                    keys.push(key);
                }
            }
        };
        put(RoomKind::Feed, &|| number as u64);
        match record.kind {
            // A rental vehicle gets another id after each rental, so it cannot be followed.
            RecordKind::Vehicle if record.rental_vehicle().is_none() => {
                put(RoomKind::Vehicle, &|| {
                    channel_kinds::feed_item_room_id(self.seed, number, &record.id)
                });
            }
            RecordKind::Alert => put(RoomKind::Alerts, &|| number as u64),
            RecordKind::Station => {
                put(RoomKind::Station, &|| {
                    channel_kinds::feed_item_room_id(self.seed, number, &record.id)
                });
            }
            _ => {}
        }
        if targets.has_kind(RoomKind::Trip) {
            for trip in record.trip_ids() {
                put(RoomKind::Trip, &|| channel_kinds::feed_item_room_id(self.seed, number, trip));
            }
        }
        if targets.has_kind(RoomKind::Route) {
            for route in record.route_ids() {
                put(RoomKind::Route, &|| channel_kinds::network_room_id(self.seed, route));
            }
        }
    }

    /// Publishes changes to cells only.
    pub(crate) fn announce_areas(
        &mut self,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
    ) {
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.open_batch();
        self.publish_areas(&mut batch, before, next, changes);
        batch.finish();
    }

    fn publish_areas(
        &mut self,
        batch: &mut PublishBatch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
    ) {
        let area = RoomKind::Area as u8;
        if !self.hub.group_interest(GROUP_NONE).has_rooms(area) {
            self.areas.clear_counts();
            return;
        }
        let mut targets = TargetRooms::default();
        targets.add_rooms(RoomKind::Area, self.hub.rooms_of_kind(GROUP_NONE, area));
        self.areas.publish_changes(&mut targets, before, next, changes);
        targets
            .flush_messages(next.at, |room, _, _, data| batch.append_publication(room, None, data));
    }
}

/// Returns the reason why a record leaves a room: it has moved, unless it is removed.
fn room_removal_reason(change: &RecordChange) -> RemovalReason {
    if change.new.is_some() { RemovalReason::Moved } else { change.why }
}

fn push_change(message: &mut ChangeMessage, change: &RecordChange) {
    match (&change.new, &change.old) {
        (Some(new), _) => message.push(new.upsert_json()),
        (None, Some(old)) => message.push_with(|out| encode_removal(out, old, change.why)),
        (None, None) => {}
    }
}
