//! A partition's side of the hub: one listener for all the sessions of a thread.
//!
//! A room tells a partition once, however many of its sessions listen there. The partition then asks which of
//! its rooms have news, and which of its rows sit there, and pulls those.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_sync::fanout::Ready;
use parking_lot::Mutex;
use slab::Slab;

use crate::listener::{Ear, Place, Workers};
use crate::{Hub, Listener, Room, RoomKey, Session, SessionLimits};

/// Where a session sits: what a partition is told when there is something for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The partition's own number for the session.
    pub row: u32,
    /// Which of the session's subscriptions, for [`Session::note`].
    pub subscription: u32,
}

/// All sessions of one partition.
///
/// *Delivery*: whatever is published in a room where one of its sessions listens is followed by a
/// [`take_rooms`](Self::take_rooms) that names the room, and its listener is signaled for it, once until that call.
/// *Cost*: for a publisher that of one listener; joining and leaving a room are a lock and a few steps, whatever the
/// number of sessions there.
pub struct Audience {
    hub: Arc<Hub>,
    shared: Arc<Shared>,
    workers: Arc<dyn Workers>,
}

/// What its sessions know of it.
pub(crate) struct Shared {
    number: u64,
    /// Rises when the partition has been told of something, and when it begins to listen somewhere: what was known
    /// before may not be all there is.
    heard: AtomicU64,
    /// Locked by the partition's own thread, and by whoever drops one of its sessions elsewhere.
    inside: Mutex<Inside>,
}

struct Inside {
    ready: Ready<u32, dyn Listener>,
    /// Bound: the sessions' subscriptions.
    rooms: Slab<Occupied>,
    by_key: HashMap<RoomKey, u32>,
}

/// A room in which sessions of this partition sit.
struct Occupied {
    place: Arc<Place>,
    /// Bound: the partition's sessions.
    seats: Slab<Seat>,
}

/// One session's place among them.
pub(crate) struct Member {
    pub(crate) audience: Arc<Shared>,
    pub(crate) workers: Arc<dyn Workers>,
    pub(crate) row: u32,
}

/// Where a subscription sits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chair {
    room: u32,
    seat: u32,
}

impl Audience {
    /// Nobody yet. `listener` is told when any of the rooms has news; `workers` read states.
    pub fn new(hub: &Arc<Hub>, listener: Arc<dyn Listener>, workers: Arc<dyn Workers>) -> Self {
        let number = hub.next_listener();
        let inside = Inside {
            ready: Ready::new(number, listener),
            rooms: Slab::new(),
            by_key: HashMap::new(),
        };
        let shared =
            Arc::new(Shared { number, heard: AtomicU64::new(0), inside: Mutex::new(inside) });
        Self { hub: hub.clone(), shared, workers }
    }

    /// The hub whose rooms they are.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Opens a session for the partition's row of this number. Its rooms' news come by
    /// [`take_rooms`](Self::take_rooms); after [`Session::subscribe`] it is to be pulled once anyhow.
    pub fn session(&self, row: u32, limits: SessionLimits) -> Session {
        let audience = self.shared.clone();
        let member = Member { audience, workers: self.workers.clone(), row };
        Session::seated(self.hub.clone(), member, limits)
    }

    /// Adds the numbers of the rooms that had news since the last call.
    pub fn take_rooms(&mut self, into: &mut Vec<u32>) {
        let before = into.len();
        self.shared.inside.lock().ready.take(into);
        if into.len() > before {
            self.shared.hear();
        }
    }

    /// Adds who sits in a room, in no promised order; nobody where the room has been left meanwhile.
    pub fn seats(&self, room: u32, into: &mut Vec<Seat>) {
        if let Some(occupied) = self.shared.inside.lock().rooms.get(room as usize) {
            into.extend(occupied.seats.iter().map(|(_, seat)| *seat));
        }
    }
}

impl Shared {
    fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets a session sit in a room; `None` when the room has been closed and another is to be found.
    fn join(&self, room: &Arc<Room>, seat: Seat) -> Option<Chair> {
        let mut inside = self.inside.lock();
        let Inside { ready, rooms, by_key } = &mut *inside;
        if let Some(&number) = by_key.get(&room.key()) {
            // As long as somebody sits there the room is not closed, so it is this one.
            let seat = rooms[number as usize].seats.insert(seat) as u32;
            return Some(Chair { room: number, seat });
        }
        let entry = rooms.vacant_entry();
        let number = entry.key() as u32;
        let place = ready.place(number);
        if !room.join(Ear::Partition(place.clone())) {
            return None;
        }
        self.hear();
        let mut seats = Slab::new();
        let seat = seats.insert(seat) as u32;
        entry.insert(Occupied { place, seats });
        by_key.insert(room.key(), number);
        Some(Chair { room: number, seat })
    }

    fn leave(&self, room: &Room, chair: Chair, hub: &Hub) {
        let mut inside = self.inside.lock();
        let Inside { rooms, by_key, .. } = &mut *inside;
        let occupied = &mut rooms[chair.room as usize];
        occupied.seats.remove(chair.seat as usize);
        if occupied.seats.is_empty() {
            room.leave(self.number, hub.clock().monotonic());
            by_key.remove(&room.key());
            rooms.remove(chair.room as usize);
        }
    }

    fn ear(&self, chair: Chair) -> Ear {
        Ear::Partition(self.inside.lock().rooms[chair.room as usize].place.clone())
    }
}

impl Member {
    pub(crate) fn join(&self, room: &Arc<Room>, subscription: u32) -> Option<Chair> {
        self.audience.join(room, Seat { row: self.row, subscription })
    }

    pub(crate) fn leave(&self, room: &Room, chair: Chair, hub: &Hub) {
        self.audience.leave(room, chair, hub);
    }

    pub(crate) fn ear(&self, chair: Chair) -> Ear {
        self.audience.ear(chair)
    }

    /// Changes whenever what the partition knew before may not be all there is.
    pub(crate) fn heard(&self) -> u64 {
        self.audience.heard.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audience").field("number", &self.shared.number).finish_non_exhaustive()
    }
}
