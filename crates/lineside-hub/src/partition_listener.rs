//! A partition's side of the hub: one listener for all the sessions of a thread.
//!
//! A room tells a partition once, however many of its sessions listen there. The partition then asks which of
//! its rooms have news, and which of its rows sit there, and pulls those.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_sync::fanout::ReadyTopics;
use parking_lot::Mutex;
use slab::Slab;

use crate::listener::{ListenerHandle, Place, WorkerPool};
use crate::{Hub, Listener, Room, RoomKey, Session, SessionLimits};

/// Where a session sits: what a partition is told when there is something for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriberSlot {
    /// The partition's own number for the session.
    pub row: u32,
    /// Which of the session's subscriptions, for [`Session::note`].
    pub subscription: u32,
}

/// All sessions of one partition.
///
/// *Delivery*: whatever is published in a room where one of its sessions listens is followed by a
/// [`take_rooms`](Self::take_ready_rooms) that names the room, and its listener is signaled for it, once until that call.
/// *Cost*: for a publisher that of one listener; joining and leaving a room are a lock and a few steps, whatever the
/// number of sessions there.
pub struct PartitionListener {
    hub: Arc<Hub>,
    shared: Arc<PartitionSlots>,
    workers: Arc<dyn WorkerPool>,
}

/// What its sessions know of it.
pub(crate) struct PartitionSlots {
    number: u64,
    /// Rises when the partition has been told of something, and when it begins to listen somewhere: what was known
    /// before may not be all there is.
    heard: AtomicU64,
    /// Locked by the partition's own thread, and by whoever drops one of its sessions elsewhere.
    inside: Mutex<SlotTable>,
}

struct SlotTable {
    ready: ReadyTopics<u32, dyn Listener>,
    /// Bound: the sessions' subscriptions.
    rooms: Slab<RoomSlots>,
    by_key: HashMap<RoomKey, u32>,
}

/// A room in which sessions of this partition sit.
struct RoomSlots {
    place: Arc<Place>,
    /// Bound: the partition's sessions.
    seats: Slab<SubscriberSlot>,
}

/// One session's place among them.
pub(crate) struct PartitionMember {
    pub(crate) audience: Arc<PartitionSlots>,
    pub(crate) workers: Arc<dyn WorkerPool>,
    pub(crate) row: u32,
}

/// Where a subscription sits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotId {
    room: u32,
    seat: u32,
}

impl PartitionListener {
    /// Nobody yet. `listener` is told when any of the rooms has news; `workers` read states.
    pub fn new(hub: &Arc<Hub>, listener: Arc<dyn Listener>, workers: Arc<dyn WorkerPool>) -> Self {
        let number = hub.next_listener_number();
        let inside = SlotTable {
            ready: ReadyTopics::new(number, listener),
            rooms: Slab::new(),
            by_key: HashMap::new(),
        };
        let shared = Arc::new(PartitionSlots {
            number,
            heard: AtomicU64::new(0),
            inside: Mutex::new(inside),
        });
        Self { hub: hub.clone(), shared, workers }
    }

    /// The hub whose rooms they are.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Opens a session for the partition's row of this number. Its rooms' news come by
    /// [`take_rooms`](Self::take_ready_rooms); after [`Session::subscribe`] it is to be pulled once anyhow.
    pub fn open_session(&self, row: u32, limits: SessionLimits) -> Session {
        let audience = self.shared.clone();
        let member = PartitionMember { audience, workers: self.workers.clone(), row };
        Session::for_partition(self.hub.clone(), member, limits)
    }

    /// Adds the numbers of the rooms that had news since the last call.
    pub fn take_ready_rooms(&mut self, into: &mut Vec<u32>) {
        let before = into.len();
        self.shared.inside.lock().ready.take_ready(into);
        if into.len() > before {
            self.shared.count_signal();
        }
    }

    /// Adds who sits in a room, in no promised order; nobody where the room has been left meanwhile.
    pub fn collect_slots(&self, room: u32, into: &mut Vec<SubscriberSlot>) {
        if let Some(occupied) = self.shared.inside.lock().rooms.get(room as usize) {
            into.extend(occupied.seats.iter().map(|(_, seat)| *seat));
        }
    }
}

impl PartitionSlots {
    fn count_signal(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets a session sit in a room; `None` when the room has been closed and another is to be found.
    fn join_room(&self, room: &Arc<Room>, seat: SubscriberSlot) -> Option<SlotId> {
        let mut inside = self.inside.lock();
        let SlotTable { ready, rooms, by_key } = &mut *inside;
        if let Some(&number) = by_key.get(&room.key()) {
            // As long as somebody sits there the room is not closed, so it is this one.
            let seat = rooms[number as usize].seats.insert(seat) as u32;
            return Some(SlotId { room: number, seat });
        }
        let entry = rooms.vacant_entry();
        let number = entry.key() as u32;
        let place = ready.new_place(number);
        if !room.add_listener(ListenerHandle::Partition(place.clone())) {
            return None;
        }
        self.count_signal();
        let mut seats = Slab::new();
        let seat = seats.insert(seat) as u32;
        entry.insert(RoomSlots { place, seats });
        by_key.insert(room.key(), number);
        Some(SlotId { room: number, seat })
    }

    fn leave_room(&self, room: &Room, chair: SlotId, hub: &Hub) {
        let mut inside = self.inside.lock();
        let SlotTable { rooms, by_key, .. } = &mut *inside;
        let occupied = &mut rooms[chair.room as usize];
        occupied.seats.remove(chair.seat as usize);
        if occupied.seats.is_empty() {
            room.remove_listener(self.number, hub.clock().monotonic());
            by_key.remove(&room.key());
            rooms.remove(chair.room as usize);
        }
    }

    fn listener_handle(&self, chair: SlotId) -> ListenerHandle {
        ListenerHandle::Partition(self.inside.lock().rooms[chair.room as usize].place.clone())
    }
}

impl PartitionMember {
    pub(crate) fn join_room(&self, room: &Arc<Room>, subscription: u32) -> Option<SlotId> {
        self.audience.join_room(room, SubscriberSlot { row: self.row, subscription })
    }

    pub(crate) fn leave_room(&self, room: &Room, chair: SlotId, hub: &Hub) {
        self.audience.leave_room(room, chair, hub);
    }

    pub(crate) fn listener_handle(&self, chair: SlotId) -> ListenerHandle {
        self.audience.listener_handle(chair)
    }

    /// Changes whenever what the partition knew before may not be all there is.
    pub(crate) fn signal_count(&self) -> u64 {
        self.audience.heard.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for PartitionListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audience").field("number", &self.shared.number).finish_non_exhaustive()
    }
}
