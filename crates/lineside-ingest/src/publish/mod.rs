//! Publishing: which room hears of which change.
//!
//! First the new state is swapped in, then rooms are looked up, so that a subscriber either is found here or reads the
//! new state. Kinds of channels that nobody listens to cost one atomic load each; of the others only the rooms that
//! live are touched, and a record is encoded once for all of them.

mod area;
mod board;
mod message;
mod targets;

use std::{ops::Range, sync::Arc};

use lineside_hub::{Batch, Hub, Position, Room};
use lineside_sync::{UnixMillis, stage};
use smol_str::SmolStr;

pub(crate) use message::{MESSAGE_OVERHEAD, state_parts};

/// Messages of channels beside those of the networks, put together as theirs are.
pub mod messages {
    pub use super::message::{publications, state_parts};
}

use self::{
    area::Areas,
    board::{ToldBoards, Touched},
    message::Changes,
    targets::Targets,
};
use crate::{
    change::{Change, Why},
    channels::kinds::{self, GROUP_ALONE, RoomKind, WHOLE_NETWORK},
    config::FeedId,
    hashing::Seeded,
    network::{Network, NetworkState},
    record::{Body, FeedRecord, Kind, Record, encode_removal},
    stages::Stage,
    status::FeedState,
};

/// What one poll came to, besides its changes.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Which departures may differ.
    pub(crate) boards: Boards,
    /// The changes of each revision.
    pub(crate) chunks: Vec<Range<usize>>,
}

/// Which boards of stops a poll may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boards {
    /// None.
    Same,
    /// Those of stops that a changed trip calls at.
    Touched,
    /// All, because time went on.
    All,
}

/// Whether anybody listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) network: bool,
    pub(crate) stops: bool,
}

/// Publishes one network's changes.
#[derive(Debug)]
pub(crate) struct Publisher {
    hub: Arc<Hub>,
    network: Arc<Network>,
    seed: Seeded,
    boards: ToldBoards,
    areas: Areas,
}

impl Publisher {
    pub(crate) fn new(hub: Arc<Hub>, network: Arc<Network>, seed: Seeded) -> Publisher {
        Publisher { hub, network, seed, boards: ToldBoards::default(), areas: Areas::default() }
    }

    pub(crate) fn hears(&self) -> Heard {
        let group = self.network.group();
        let whole = kinds::key(group, RoomKind::Feed, WHOLE_NETWORK);
        Heard {
            network: self.hub.find_room(whole).is_some(),
            stops: self.hub.interest(group).any(RoomKind::Stop as u8),
        }
    }

    /// Publishes what leads from `before` to `next`, which readers see already.
    pub(crate) fn publish(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[Change],
        outcome: &Outcome,
    ) {
        let _at = stage::enter(Stage::Publish.work());
        let began = self.network.begin();
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.batch();
        batch.reach(self.network.group(), self.position(next.revision));
        self.publish_whole(&mut batch, before, next, changes, &outcome.chunks);
        self.publish_filtered(&mut batch, before, next, changes, outcome.boards);
        self.publish_areas(&mut batch, before, next, changes);
        batch.finish();
        self.network.finish(Stage::Publish, began);
    }

    /// Sends every room of the network its state once.
    pub(crate) fn restate(
        &mut self,
        before: &NetworkState,
        next: &Arc<NetworkState>,
        changes: &[Change],
    ) {
        let _at = stage::enter(Stage::Publish.work());
        let began = self.network.begin();
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.batch();
        let group = self.network.group();
        let at = self.position(next.revision);
        batch.reach(group, at);
        for room in hub.rooms_of_group(group) {
            batch.restate(&room, Some(at));
        }
        // Cells belong to no network: they hear of what changed only.
        self.publish_areas(&mut batch, before, next, changes);
        self.boards.forget();
        batch.finish();
        self.network.finish(Stage::Publish, began);
    }

    fn position(&self, offset: u64) -> Position {
        Position { epoch: self.network.epoch(), offset }
    }

    /// The network's own channel: every revision is one publication there.
    fn publish_whole(
        &self,
        batch: &mut Batch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[Change],
        chunks: &[Range<usize>],
    ) {
        let key = kinds::key(self.network.group(), RoomKind::Feed, WHOLE_NETWORK);
        let Some(room) = self.hub.find_room(key) else { return };
        for (chunk, revision) in chunks.iter().zip(before.revision + 1..) {
            let mut message = Changes::default();
            for change in &changes[chunk.clone()] {
                put_change(&mut message, change);
            }
            batch.append(&room, Some(self.position(revision)), message.take_message(next.at));
        }
    }

    /// The channels that carry a part of the network. A room hears all that a poll brings it under one revision, so
    /// records and departures go into the same messages.
    fn publish_filtered(
        &mut self,
        batch: &mut Batch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[Change],
        boards: Boards,
    ) {
        let mut targets = Targets::default();
        let interest = self.hub.interest(self.network.group());
        for kind in RoomKind::OF_NETWORK {
            if interest.any(kind as u8) {
                targets.add(kind, self.hub.rooms(self.network.group(), kind as u8));
            }
        }
        self.put_changes(&mut targets, changes);
        self.put_boards(&mut targets, before, next, changes, boards);
        let first = before.revision + 1;
        targets.flush(next.at, |room, part, is_last, data| {
            // Rooms other than the network's own need not hear of every revision, only of rising ones.
            let offset = if is_last { next.revision } else { first + part };
            batch.append(room, Some(self.position(offset)), data);
        });
    }

    fn put_changes(&self, targets: &mut Targets, changes: &[Change]) {
        if targets.is_empty() {
            return;
        }
        let mut old_keys = Vec::new();
        let mut new_keys = Vec::new();
        for change in changes {
            let Some(record) = change.record() else { continue };
            if record.kind == Kind::Feed {
                targets.put_where(record.upsert(), |kind, room| {
                    self.is_concerned(kind, room, &record.feed)
                });
                continue;
            }
            let number = self.network.number_of(record.feed.as_str()).unwrap_or_default();
            old_keys.clear();
            new_keys.clear();
            if let Some(old) = &change.old {
                self.keys_of(old, number, targets, &mut old_keys);
            }
            if let Some(new) = &change.new {
                self.keys_of(new, number, targets, &mut new_keys);
                for &key in &new_keys {
                    targets.put(key, new.upsert());
                }
            }
            for &key in old_keys.iter().filter(|key| !new_keys.contains(key)) {
                if let Some(old) = &change.old {
                    targets.remove(key, old, why_here(change));
                }
            }
        }
    }

    /// The departures of the stops that somebody listens to.
    fn put_boards(
        &mut self,
        targets: &mut Targets,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[Change],
        boards: Boards,
    ) {
        if !targets.has(RoomKind::Stop) {
            self.boards.forget();
            return;
        }
        let touched = match (boards, &next.dataset) {
            (Boards::Same, _) | (_, None) => return,
            (Boards::Touched, Some(dataset)) => Some(Touched::by(changes, &dataset.timetable)),
            (Boards::All, _) => None,
        };
        self.boards.put(targets, touched.as_ref(), before, next);
    }

    /// Whether a room of the network holds the state of `feed`.
    fn is_concerned(&self, kind: RoomKind, room: &Room, feed: &FeedId) -> bool {
        let Some(name) = room.channel().segments().nth(1) else { return false };
        let merges = matches!(kind, RoomKind::Route | RoomKind::Stop);
        name == feed.as_str() || merges && name == self.network.id().as_str()
    }

    /// The living rooms that carry a record, but for the network's own.
    fn keys_of(
        &self,
        record: &Record,
        number: usize,
        targets: &Targets,
        keys: &mut Vec<(RoomKind, u64)>,
    ) {
        let mut put = |kind: RoomKind, id: &dyn Fn() -> u64| {
            if targets.has(kind) {
                let key = (kind, id());
                if targets.contains(key) && !keys.contains(&key) {
                    keys.push(key);
                }
            }
        };
        put(RoomKind::Feed, &|| number as u64);
        match record.kind {
            // A vehicle for rent has another id after each rental: there is nothing to follow.
            Kind::Vehicle if record.rental_vehicle().is_none() => {
                put(RoomKind::Vehicle, &|| kinds::of_feed(self.seed, number, &record.id));
            }
            Kind::Alert => put(RoomKind::Alerts, &|| number as u64),
            Kind::Station => {
                put(RoomKind::Station, &|| kinds::of_feed(self.seed, number, &record.id));
            }
            _ => {}
        }
        if targets.has(RoomKind::Trip) {
            for trip in record.trip_ids() {
                put(RoomKind::Trip, &|| kinds::of_feed(self.seed, number, trip));
            }
        }
        if targets.has(RoomKind::Route) {
            for route in record.route_ids() {
                put(RoomKind::Route, &|| kinds::of_network(self.seed, route));
            }
        }
    }

    /// Tells cells what changed, where nobody else hears of it.
    pub(crate) fn tell_areas(
        &mut self,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[Change],
    ) {
        let hub = Arc::clone(&self.hub);
        let mut batch = hub.batch();
        self.publish_areas(&mut batch, before, next, changes);
        batch.finish();
    }

    fn publish_areas(
        &mut self,
        batch: &mut Batch<'_>,
        before: &NetworkState,
        next: &NetworkState,
        changes: &[Change],
    ) {
        let area = RoomKind::Area as u8;
        if !self.hub.interest(GROUP_ALONE).any(area) {
            self.areas.forget();
            return;
        }
        let mut targets = Targets::default();
        targets.add(RoomKind::Area, self.hub.rooms(GROUP_ALONE, area));
        self.areas.publish(&mut targets, before, next, changes);
        targets.flush(next.at, |room, _, _, data| batch.append(room, None, data));
    }
}

/// Why a record leaves a room: it is elsewhere now, unless it is nowhere.
fn why_here(change: &Change) -> Why {
    if change.new.is_some() { Why::Moved } else { change.why }
}

fn put_change(message: &mut Changes, change: &Change) {
    match (&change.new, &change.old) {
        (Some(new), _) => message.push(new.upsert()),
        (None, Some(old)) => message.push_with(|out| encode_removal(out, old, change.why)),
        (None, None) => {}
    }
}

/// A feed's state as a record.
pub(crate) fn feed_record(feed: &FeedId, record: FeedRecord) -> Record {
    Record::made_here(feed.clone(), SmolStr::new(feed.as_str()), Body::Feed(Box::new(record)))
}

/// The state of a feed that was not polled yet.
pub(crate) fn empty_feed_record(feed: &FeedId, now: UnixMillis) -> Record {
    let reason = "has not been polled yet".to_owned();
    let state = FeedState::Unknown;
    let record =
        FeedRecord { state, reason, since: now, state_before_pause: None, unreliable_since: None };
    feed_record(feed, record)
}
