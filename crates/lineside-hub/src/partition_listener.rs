//! A partition's side of the hub: one listener for all sessions of a thread.
//!
//! A room signals a partition once, however many of its sessions listen there. The partition then takes the rooms with
//! news, collects its rows with sessions in them, and pulls those.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_sync::fanout::PartitionReadyTopics;
use parking_lot::Mutex;
use slab::Slab;

use crate::listener::{ListenerHandle, PartitionRoomListener, WorkerPool};
use crate::{ChannelRoom, Hub, NewsListener, RoomKey, Session, SessionLimits};

/// A session's subscription, as named to its partition when there is news for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionSubscription {
    /// The partition's number for the session.
    pub row: u32,
    /// The number of the subscription within the session, for [`Session::mark_subscription_has_news`].
    pub subscription: u32,
}

/// All sessions of one partition, as one listener.
///
/// *Delivery*: after each publication in a room where one of the sessions listens, a later
/// [`take_rooms_with_news`](Self::take_rooms_with_news) names the room; the listener is signaled once until that call.
/// *Cost*: a publisher pays for one listener. Joining or leaving a room takes a lock and a few steps, independent of
/// the number of sessions there.
pub struct PartitionListener {
    hub: Arc<Hub>,
    shared: Arc<PartitionRoomSlots>,
    workers: Arc<dyn WorkerPool>,
}

/// The part of a partition's listener that its sessions share.
pub(crate) struct PartitionRoomSlots {
    number: u64,
    /// Rises when the partition takes news, and when it joins a room: what it knew before may then be incomplete.
    signal_count: AtomicU64,
    /// Locked by the partition's own thread, and by a thread that drops one of its sessions.
    table: Mutex<PartitionSlotTable>,
}

struct PartitionSlotTable {
    ready: PartitionReadyTopics<u32, dyn NewsListener>,
    /// Bound: the sessions' subscriptions.
    rooms: Slab<RoomSubscriberSlots>,
    by_key: HashMap<RoomKey, u32>,
}

/// A room in which sessions of this partition listen.
struct RoomSubscriberSlots {
    listener: Arc<PartitionRoomListener>,
    /// Bound: the partition's sessions.
    slots: Slab<PartitionSubscription>,
}

/// The membership of one session in its partition.
pub(crate) struct SessionPartitionMembership {
    pub(crate) partition: Arc<PartitionRoomSlots>,
    pub(crate) workers: Arc<dyn WorkerPool>,
    pub(crate) row: u32,
}

/// The slot of a subscription in its partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartitionSlotId {
    room: u32,
    slot: u32,
}

impl PartitionListener {
    /// Creates a listener without sessions. `listener` is signaled when any of the rooms has news; `workers` read
    /// states.
    pub fn new(
        hub: &Arc<Hub>,
        listener: Arc<dyn NewsListener>,
        workers: Arc<dyn WorkerPool>,
    ) -> Self {
        let number = hub.allocate_listener_number();
        let table = PartitionSlotTable {
            ready: PartitionReadyTopics::new(number, listener),
            rooms: Slab::new(),
            by_key: HashMap::new(),
        };
        let shared = Arc::new(PartitionRoomSlots {
            number,
            signal_count: AtomicU64::new(0),
            table: Mutex::new(table),
        });
        Self { hub: hub.clone(), shared, workers }
    }

    /// Returns the hub of the rooms.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Opens a session for the partition's row of this number. The partition learns of its rooms' news from
    /// [`take_rooms_with_news`](Self::take_rooms_with_news); after [`Session::subscribe`] it must pull the session once
    /// in any case.
    pub fn open_session(&self, row: u32, limits: SessionLimits) -> Session {
        let partition = self.shared.clone();
        let member = SessionPartitionMembership { partition, workers: self.workers.clone(), row };
        Session::new_in_partition(self.hub.clone(), member, limits)
    }

    /// Adds the numbers of the rooms that had news since the last call to `into`.
    pub fn take_rooms_with_news(&mut self, into: &mut Vec<u32>) {
        let before = into.len();
        self.shared.table.lock().ready.take_topics_with_news(into);
        if into.len() > before {
            self.shared.increment_signal_count();
        }
    }

    /// Adds the slots of a room's subscriptions to `into`, in no particular order; adds none if the partition has left
    /// the room.
    pub fn collect_room_subscriptions(&self, room: u32, into: &mut Vec<PartitionSubscription>) {
        if let Some(occupied) = self.shared.table.lock().rooms.get(room as usize) {
            into.extend(occupied.slots.iter().map(|(_, slot)| *slot));
        }
    }
}

impl PartitionRoomSlots {
    fn increment_signal_count(&self) {
        self.signal_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a session to a room; returns `None` if the room has been closed and must be looked up again.
    fn join_room(
        &self,
        room: &Arc<ChannelRoom>,
        subscriber: PartitionSubscription,
    ) -> Option<PartitionSlotId> {
        let mut table = self.table.lock();
        let PartitionSlotTable { ready, rooms, by_key } = &mut *table;
        if let Some(&number) = by_key.get(&room.key()) {
            // A room with sessions is not closed, so this is the same room.
            let slot = rooms[number as usize].slots.insert(subscriber) as u32;
            return Some(PartitionSlotId { room: number, slot });
        }
        let entry = rooms.vacant_entry();
        let number = entry.key() as u32;
        let listener = ready.new_topic_listener(number);
        if !room.add_listener(ListenerHandle::Partition(listener.clone())) {
            return None;
        }
        self.increment_signal_count();
        let mut slots = Slab::new();
        let slot = slots.insert(subscriber) as u32;
        entry.insert(RoomSubscriberSlots { listener, slots });
        by_key.insert(room.key(), number);
        Some(PartitionSlotId { room: number, slot })
    }

    fn leave_room(&self, room: &ChannelRoom, slot: PartitionSlotId, hub: &Hub) {
        let mut table = self.table.lock();
        let PartitionSlotTable { rooms, by_key, .. } = &mut *table;
        let occupied = &mut rooms[slot.room as usize];
        occupied.slots.remove(slot.slot as usize);
        if occupied.slots.is_empty() {
            room.remove_listener(self.number, hub.clock().monotonic());
            by_key.remove(&room.key());
            rooms.remove(slot.room as usize);
        }
    }

    fn listener_handle(&self, slot: PartitionSlotId) -> ListenerHandle {
        ListenerHandle::Partition(self.table.lock().rooms[slot.room as usize].listener.clone())
    }
}

impl SessionPartitionMembership {
    pub(crate) fn join_room(
        &self,
        room: &Arc<ChannelRoom>,
        subscription: u32,
    ) -> Option<PartitionSlotId> {
        self.partition.join_room(room, PartitionSubscription { row: self.row, subscription })
    }

    pub(crate) fn leave_room(&self, room: &ChannelRoom, slot: PartitionSlotId, hub: &Hub) {
        self.partition.leave_room(room, slot, hub);
    }

    pub(crate) fn listener_handle(&self, slot: PartitionSlotId) -> ListenerHandle {
        self.partition.listener_handle(slot)
    }

    /// Returns a count that changes whenever the partition's earlier knowledge may have become incomplete.
    pub(crate) fn signal_count(&self) -> u64 {
        self.partition.signal_count.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for PartitionListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionListener")
            .field("number", &self.shared.number)
            .finish_non_exhaustive()
    }
}
