//! All rooms of this node.

use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lineside_sync::{Clock, fanout, histogram};
use parking_lot::{Mutex, RwLock};

use crate::handoff::HeadStartClock;
use crate::metrics::HubCounters;
use crate::namespace::NamespaceIndex;
use crate::presence::PresenceRegistry;
use crate::{
    Channel, Epoch, GroupInterest, HubConfig, HubMetrics, Listener, Namespace, PublishBatch,
    ResolveError, Room, RoomKey, Session, SessionLimits, StateSource,
};

/// The rooms, whoever listens in them, and what they may take.
pub struct Hub {
    config: HubConfig,
    source: Arc<dyn StateSource>,
    clock: Arc<dyn Clock>,
    /// Bound: `HubConfig::rooms_max`.
    rooms: papaya::HashMap<RoomKey, Arc<Room>>,
    /// Bound: the source's networks. A group once seen stays until it has [ended](Hub::end_group).
    groups: papaya::HashMap<u32, Arc<GroupInterest>>,
    rng: Mutex<fastrand::Rng>,
    namespaces: NamespaceIndex,
    presence: PresenceRegistry,
    counters: Arc<HubCounters>,
    next_batch: AtomicU64,
    next_listener: AtomicU64,
    /// Held by whoever shrinks rooms; nobody waits for it.
    shrinking: Mutex<()>,
    /// Whether `app/…` takes nothing any more; read for as long as something is published there.
    sealed: RwLock<bool>,
}

impl Hub {
    /// A hub without rooms. `seed` decides the epochs of rooms that count by themselves: take it from
    /// the system's randomness, except where runs are to be repeated.
    pub fn new(
        config: HubConfig,
        source: Arc<dyn StateSource>,
        clock: Arc<dyn Clock>,
        seed: u64,
    ) -> Arc<Self> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let namespaces = NamespaceIndex::new(&config.namespaces, rng.fork().u64(..));
        Arc::new(Self {
            namespaces,
            presence: PresenceRegistry::new(config.present_max),
            config,
            source,
            clock: Arc::new(HeadStartClock(clock)),
            rooms: papaya::HashMap::new(),
            groups: papaya::HashMap::new(),
            rng: Mutex::new(rng),
            counters: Arc::default(),
            next_batch: AtomicU64::new(1),
            next_listener: AtomicU64::new(1),
            shrinking: Mutex::new(()),
            sealed: RwLock::new(false),
        })
    }

    /// What is listened to in a group, for publishers: to be asked for after the new state has been
    /// swapped in, once per poll.
    pub fn group_interest(&self, group: u32) -> Arc<GroupInterest> {
        fanout::fence_lookup();
        self.ensure_group(group)
    }

    /// The room with this key, if it lives. One probe without a lock. Asked after [`interest`] or
    /// [`batch`], and like them after the swap.
    ///
    /// [`interest`]: Self::group_interest
    /// [`batch`]: Self::open_batch
    pub fn find_room(&self, key: RoomKey) -> Option<Arc<Room>> {
        self.rooms.pin().get(&key).cloned()
    }

    /// The living rooms of a kind, in order of their ids.
    pub fn rooms_of_kind(&self, group: u32, kind: u8) -> Vec<Arc<Room>> {
        self.group_interest(group).rooms_of_kind(kind)
    }

    /// All living rooms of a group, by kind and id: what a new dataset has to restate.
    pub fn rooms_of_group(&self, group: u32) -> Vec<Arc<Room>> {
        self.group_interest(group).all_rooms()
    }

    /// Opens a batch: to be called after the new state has been swapped in and before rooms are
    /// looked up.
    pub fn open_batch(&self) -> PublishBatch<'_> {
        let number = self.next_batch.fetch_add(1, Ordering::Relaxed);
        PublishBatch::new(self, number, self.clock.monotonic())
    }

    /// Opens a session whose listener is told when there is something to pull.
    pub fn open_session(
        self: &Arc<Self>,
        listener: Arc<dyn Listener>,
        limits: SessionLimits,
    ) -> Session {
        Session::with_listener(self.clone(), self.next_listener_number(), listener, limits)
    }

    /// The number of a new listener: a session by itself, or a partition.
    pub(crate) fn next_listener_number(&self) -> u64 {
        self.next_listener.fetch_add(1, Ordering::Relaxed)
    }

    /// The name under which a client lists its position in this channel's sequence, to be known before
    /// a subscription that resumes.
    ///
    /// # Errors
    /// When there is no such channel or feed.
    pub fn sequence_name(&self, channel: &Channel) -> Result<String, ResolveError> {
        let key = self.resolve_channel(channel)?;
        Ok(self.sequence_name_for_key(channel, key))
    }

    /// What holds for an `app/…` channel; `None` for every other.
    pub fn find_namespace(&self, channel: &Channel) -> Option<&Namespace> {
        self.namespaces.find_namespace(channel)
    }

    /// Ends a group: its rooms are closed, and each subscription there [is over](crate::SubscriptionEnd::Over). For a source
    /// whose sequence is no more, or goes on under another group's number; a number is not used twice.
    ///
    /// To be called once the source neither resolves a channel to this group nor has a position for it: who enters
    /// meanwhile is either found here, or sees that and is refused.
    pub fn end_group(&self, group: u32) {
        let mut batch = self.open_batch();
        let interest = self.ensure_group(group);
        let mut rooms = interest.lock_rooms();
        interest.end_group();
        let all: Vec<Arc<Room>> = rooms.values().cloned().collect();
        for room in &all {
            batch.end_room(room);
            interest.remove_room(&mut rooms, room, || {
                self.rooms.pin().remove(&room.key());
            });
            self.counters.rooms.fetch_sub(1, Ordering::Relaxed);
        }
        drop(rooms);
        batch.finish();
    }

    /// Drops old ring entries and unused states, closes rooms after their linger, and keeps to the
    /// node's byte limit. To be called about once a second; takes time for each living room.
    pub fn sweep_rooms(&self) {
        let now = self.clock.monotonic();
        for group in self.all_groups() {
            for room in group.all_rooms() {
                room.trim_log(now, &self.config);
                self.close_quiet_room(&group, &room);
            }
        }
        self.groups.pin().retain(|_, group| !group.is_ended_and_empty());
        self.shrink_largest_rooms();
    }

    /// Tells of each living room how many subscribe to it. Takes time for each, as [`sweep`](Self::sweep_rooms) does, and no
    /// room's lock.
    pub fn for_each_room(&self, mut tell: impl FnMut(&Channel, usize)) {
        for room in self.all_rooms() {
            if !room.key().is_hidden() {
                tell(room.channel(), room.subscriber_count());
            }
        }
    }

    /// What it has done and holds.
    pub fn metrics(&self) -> HubMetrics {
        self.counters.read_metrics(self.presence.present_count())
    }

    /// How long publications took from their append to their delivery, in nanoseconds: those that were appended while
    /// the subscription was there, not what a client that came back had missed.
    pub fn delivery_time_snapshot(&self) -> histogram::HistogramSnapshot {
        self.counters.delivery_time.snapshot()
    }

    /// The clock that it was given; its monotonic time begins long before the process.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Which room a channel is: one of the hub's own, or of the source.
    pub(crate) fn resolve_channel(&self, channel: &Channel) -> Result<RoomKey, ResolveError> {
        match self.namespaces.room_key(channel) {
            Some(key) => Ok(key),
            None => self.source.resolve_channel(channel),
        }
    }

    /// As [`StateSource::sequence_name`]; empty for what nobody can name.
    pub(crate) fn sequence_name_for_key(&self, channel: &Channel, key: RoomKey) -> String {
        if key.is_hidden() {
            String::new()
        } else if key.has_state() {
            self.source.sequence_name(channel, key)
        } else {
            channel.as_str().to_owned()
        }
    }

    pub(crate) fn namespaces(&self) -> &NamespaceIndex {
        &self.namespaces
    }

    pub(crate) fn presence_registry(&self) -> &PresenceRegistry {
        &self.presence
    }

    pub(crate) fn app_publish_lock(&self) -> &RwLock<bool> {
        &self.sealed
    }

    pub(crate) fn all_rooms(&self) -> Vec<Arc<Room>> {
        self.all_groups().iter().flat_map(|group| group.all_rooms()).collect()
    }

    fn all_groups(&self) -> Vec<Arc<GroupInterest>> {
        self.groups.pin().values().cloned().collect()
    }

    pub(crate) fn config(&self) -> &HubConfig {
        &self.config
    }

    pub(crate) fn state_source(&self) -> &dyn StateSource {
        &*self.source
    }

    pub(crate) fn counters(&self) -> &HubCounters {
        &self.counters
    }

    pub(crate) fn ensure_group(&self, group: u32) -> Arc<GroupInterest> {
        self.groups.pin().get_or_insert_with(group, Arc::default).clone()
    }

    /// The room of a channel, made if there is none. `None` when there are too many, or its group has ended.
    pub(crate) fn enter_room(&self, channel: &Channel, key: RoomKey) -> Option<Arc<Room>> {
        if let Some(room) = self.find_room(key) {
            return Some(room);
        }
        let group = self.ensure_group(key.group);
        let mut rooms = group.lock_rooms();
        if let Some(room) = self.find_room(key) {
            return Some(room);
        }
        if group.has_ended() {
            return None;
        }
        if self.counters.rooms.fetch_add(1, Ordering::Relaxed) >= self.config.rooms_max {
            self.counters.rooms.fetch_sub(1, Ordering::Relaxed);
            self.counters.refused_rooms.increment();
            return None;
        }
        let epoch = key.has_own_sequence().then(|| Epoch::random(&mut self.rng.lock()));
        let now = self.clock.monotonic();
        let keeps = self.namespaces.find_namespace(channel).and_then(|namespace| namespace.history);
        let room = Room::new(key, channel.clone(), epoch, keeps, now, self.counters.clone());
        group.add_room(&mut rooms, &room, || {
            self.rooms.pin().insert(key, room.clone());
        });
        Some(room)
    }

    /// Lock order: a group's rooms, then a room's log.
    fn close_quiet_room(&self, group: &GroupInterest, room: &Room) {
        if room.listener_count() > 0 {
            return;
        }
        let mut rooms = group.lock_rooms();
        if room.close_if_quiet(self.clock.monotonic(), self.config.linger) {
            group.remove_room(&mut rooms, room, || {
                self.rooms.pin().remove(&room.key());
            });
            self.counters.rooms.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Halves the largest rooms until the node is an eighth below its byte limit.
    pub(crate) fn shrink_largest_rooms(&self) {
        let held = || {
            self.counters.ring_bytes.load(Ordering::Relaxed)
                + self.counters.state_bytes.load(Ordering::Relaxed)
        };
        if held() <= self.config.total_bytes {
            return;
        }
        let Some(_only_one) = self.shrinking.try_lock() else { return };
        let enough = self.config.total_bytes - self.config.total_bytes / 8;
        let rooms = self.all_rooms();
        let mut by_size: BinaryHeap<(usize, RoomKey, usize)> =
            rooms.iter().enumerate().map(|(n, room)| (room.byte_size(), room.key(), n)).collect();
        while held() > enough {
            let Some((bytes, key, n)) = by_size.pop() else { break };
            self.counters.shrunk.add(rooms[n].halve_log());
            let left = rooms[n].byte_size();
            // Others may append meanwhile; a room is not visited for ever.
            if left > 0 && left < bytes {
                by_size.push((left, key, n));
            }
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("metrics", &self.metrics()).finish_non_exhaustive()
    }
}
