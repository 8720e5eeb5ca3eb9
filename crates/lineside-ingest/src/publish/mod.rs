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

use lineside_hub::{ChannelRoom, Hub, Position, PublishBatch};
use lineside_sync::stage;

pub(crate) use message::{MESSAGE_OVERHEAD, encode_state_parts};

/// Messages of channels outside of networks, in the same format.
pub mod messages {
    pub use super::message::{encode_changes_as_publications, encode_state_parts};
}

use self::{
    area::CellFeedCounts,
    board::{PossiblyChangedStops, PublishedBoards},
    message::ChangeMessageBuilder,
    targets::TargetRooms,
};
use crate::{
    catalog::Network,
    change::RecordChange,
    channel_kinds::{self, GROUP_NONE, RoomKind, WHOLE_NETWORK},
    feed_id::FeedId,
    hashing::SeededHashBuilder,
    network_state::NetworkState,
    poll_stages::PollStage,
    record::{Record, RecordKind, RemovalReason, append_removal_json},
};

/// The outcome of a poll, besides its changes.
#[derive(Debug)]
pub(crate) struct PublicationPlan {
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
pub(crate) struct SubscriberPresence {
    pub(crate) network: bool,
    pub(crate) stops: bool,
}

/// Publishes one network's changes.
#[derive(Debug)]
pub(crate) struct NetworkPublisher {
    hub: Arc<Hub>,
    network: Arc<Network>,
    seed: SeededHashBuilder,
    boards: PublishedBoards,
    areas: CellFeedCounts,
}

impl NetworkPublisher {
    pub(crate) fn new(
        hub: Arc<Hub>,
        network: Arc<Network>,
        seed: SeededHashBuilder,
    ) -> NetworkPublisher {
        NetworkPublisher {
            hub,
            network,
            seed,
            boards: PublishedBoards::default(),
            areas: CellFeedCounts::default(),
        }
    }

    pub(crate) fn subscriber_presence(&self) -> SubscriberPresence {
        let group = self.network.room_group();
        let whole = channel_kinds::room_key(group, RoomKind::Feed, WHOLE_NETWORK);
        SubscriberPresence {
            network: self.hub.find_room(whole).is_some(),
            stops: self.hub.room_group(group).has_rooms_of_kind(RoomKind::Stop as u8),
        }
    }

    /// Publishes the changes from `before` to `next`, which is already visible to readers.
    pub(crate) fn publish_state_changes(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[RecordChange],
        outcome: &PublicationPlan,
    ) {
        let _at = stage::set_stage_until_dropped(PollStage::Publish.to_work_stage());
        let began = self.network.stage_start_time();
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.open_publish_batch();
        batch
            .mark_group_published_up_to(self.network.room_group(), self.position_at(next.revision));
        self.publish_to_network_channel(&mut batch, before, next, changes, &outcome.chunks);
        self.publish_to_filtered_channels(&mut batch, before, next, changes, outcome.boards);
        self.publish_cells_in_batch(&mut batch, before, next, changes);
        batch.finish_and_signal_listeners();
        self.network.record_stage_duration(PollStage::Publish, began);
    }

    /// Sends every room of the network its state once.
    pub(crate) fn publish_full_states(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[RecordChange],
    ) {
        let _at = stage::set_stage_until_dropped(PollStage::Publish.to_work_stage());
        let began = self.network.stage_start_time();
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.open_publish_batch();
        let group = self.network.room_group();
        let at = self.position_at(next.revision);
        batch.mark_group_published_up_to(group, at);
        for room in hub.rooms_of_group(group) {
            batch.resend_state_without_gap(&room, Some(at));
        }
        // Cells belong to no network: they receive only the changes.
        self.publish_cells_in_batch(&mut batch, before, next, changes);
        self.boards.forget_boards();
        batch.finish_and_signal_listeners();
        self.network.record_stage_duration(PollStage::Publish, began);
    }

    fn position_at(&self, offset: u64) -> Position {
        Position { epoch: self.network.epoch(), offset }
    }

    /// Publishes to the network's own channel, where every revision is one publication.
    fn publish_to_network_channel(
        &self,
        batch: &mut PublishBatch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
        chunks: &[Range<usize>],
    ) {
        let key = channel_kinds::room_key(self.network.room_group(), RoomKind::Feed, WHOLE_NETWORK);
        let Some(room) = self.hub.find_room(key) else { return };
        for (chunk, revision) in chunks.iter().zip(before.revision + 1..) {
            let mut message = ChangeMessageBuilder::default();
            for change in &changes[chunk.clone()] {
                push_record_change(&mut message, change);
            }
            batch.append_publication(
                &room,
                Some(self.position_at(revision)),
                message.take_publication(next.at),
            );
        }
    }

    /// Publishes to channels with a part of the network. A room receives everything of a poll under one revision, so
    /// records and departures share messages.
    fn publish_to_filtered_channels(
        &mut self,
        batch: &mut PublishBatch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
        boards: AffectedBoards,
    ) {
        let mut targets = TargetRooms::default();
        let interest = self.hub.room_group(self.network.room_group());
        for kind in RoomKind::NETWORK_KINDS {
            if interest.has_rooms_of_kind(kind as u8) {
                targets.add_rooms(
                    kind,
                    self.hub.rooms_of_kind_in_group(self.network.room_group(), kind as u8),
                );
            }
        }
        self.add_changes_to_rooms(&mut targets, changes);
        self.add_board_changes_to_rooms(&mut targets, before, next, changes, boards);
        let first = before.revision + 1;
        targets.pass_messages_to(next.at, |room, part, is_last, data| {
            // Rooms other than the network's own need not receive every revision, but increasing ones.
            let offset = if is_last { next.revision } else { first + part };
            batch.append_publication(room, Some(self.position_at(offset)), data);
        });
    }

    fn add_changes_to_rooms(&self, targets: &mut TargetRooms, changes: &[RecordChange]) {
        if targets.is_empty() {
            return;
        }
        let mut old_keys = Vec::new();
        let mut new_keys = Vec::new();
        for change in changes {
            let Some(record) = change.new_or_old_record() else { continue };
            if record.kind == RecordKind::Feed {
                targets.add_upsert_to_rooms_where(record.upsert_json(), |kind, room| {
                    self.is_feed_status_in_room(kind, room, &record.feed)
                });
                continue;
            }
            let number = self.network.index_of_feed(record.feed.as_str()).unwrap_or_default();
            old_keys.clear();
            new_keys.clear();
            if let Some(old) = &change.old {
                self.collect_rooms_of_record(old, number, targets, &mut old_keys);
            }
            if let Some(new) = &change.new {
                self.collect_rooms_of_record(new, number, targets, &mut new_keys);
                for &key in &new_keys {
                    targets.add_upsert_to_room(key, new.upsert_json());
                }
            }
            for &key in old_keys.iter().filter(|key| !new_keys.contains(key)) {
                if let Some(old) = &change.old {
                    targets.add_removal_to_room(key, old, room_removal_reason(change));
                }
            }
        }
    }

    /// Adds the departures of stops with subscribers.
    fn add_board_changes_to_rooms(
        &mut self,
        targets: &mut TargetRooms,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
        boards: AffectedBoards,
    ) {
        if !targets.has_rooms_of_kind(RoomKind::Stop) {
            self.boards.forget_boards();
            return;
        }
        let touched = match (boards, &next.dataset) {
            (AffectedBoards::Same, _) | (_, None) => return,
            (AffectedBoards::Touched, Some(dataset)) => {
                Some(PossiblyChangedStops::from_changes(changes, &dataset.timetable))
            }
            (AffectedBoards::All, _) => None,
        };
        self.boards.add_board_changes(targets, touched.as_ref(), before, next);
    }

    /// Returns true if a room of the network contains the status of `feed`.
    fn is_feed_status_in_room(&self, kind: RoomKind, room: &ChannelRoom, feed: &FeedId) -> bool {
        let Some(name) = room.channel().decoded_segments().nth(1) else { return false };
        let merges = matches!(kind, RoomKind::Route | RoomKind::Stop);
        name == feed.as_str() || merges && name == self.network.id().as_str()
    }

    /// Collects the existing rooms that contain a record, except for the network's own.
    fn collect_rooms_of_record(
        &self,
        record: &Record,
        number: usize,
        targets: &TargetRooms,
        keys: &mut Vec<(RoomKind, u64)>,
    ) {
        let mut put = |kind: RoomKind, id: &dyn Fn() -> u64| {
            if targets.has_rooms_of_kind(kind) {
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
        if targets.has_rooms_of_kind(RoomKind::Trip) {
            for trip in record.trip_ids() {
                put(RoomKind::Trip, &|| channel_kinds::feed_item_room_id(self.seed, number, trip));
            }
        }
        if targets.has_rooms_of_kind(RoomKind::Route) {
            for route in record.route_ids() {
                put(RoomKind::Route, &|| channel_kinds::network_room_id(self.seed, route));
            }
        }
    }

    /// Publishes changes to cells only.
    pub(crate) fn publish_cell_changes(
        &mut self,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
    ) {
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.open_publish_batch();
        self.publish_cells_in_batch(&mut batch, before, next, changes);
        batch.finish_and_signal_listeners();
    }

    fn publish_cells_in_batch(
        &mut self,
        batch: &mut PublishBatch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[RecordChange],
    ) {
        let area = RoomKind::Area as u8;
        if !self.hub.room_group(GROUP_NONE).has_rooms_of_kind(area) {
            self.areas.clear_counts();
            return;
        }
        let mut targets = TargetRooms::default();
        targets.add_rooms(RoomKind::Area, self.hub.rooms_of_kind_in_group(GROUP_NONE, area));
        self.areas.add_cell_changes(&mut targets, before, next, changes);
        targets.pass_messages_to(next.at, |room, _, _, data| {
            batch.append_publication(room, None, data)
        });
    }
}

/// Returns the reason why a record leaves a room: it has moved, unless it is removed.
fn room_removal_reason(change: &RecordChange) -> RemovalReason {
    if change.new.is_some() { RemovalReason::Moved } else { change.why }
}

fn push_record_change(message: &mut ChangeMessageBuilder, change: &RecordChange) {
    match (&change.new, &change.old) {
        (Some(new), _) => message.push(new.upsert_json()),
        (None, Some(old)) => {
            message.push_written_change(|out| append_removal_json(out, old, change.why))
        }
        (None, None) => {}
    }
}
