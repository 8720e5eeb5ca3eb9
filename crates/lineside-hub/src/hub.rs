//! The hub: all rooms of this node.

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
    ChannelResolveError, ChannelRoom, ChannelStateSource, EncodedChannelName, Epoch, HubConfig,
    HubMetrics, Namespace, NewsListener, PublishBatch, RoomGroup, RoomKey, Session, SessionLimits,
};

/// The rooms of a node, their listeners, and their limits.
pub struct Hub {
    config: HubConfig,
    source: Arc<dyn ChannelStateSource>,
    clock: Arc<dyn Clock>,
    /// Bound: `HubConfig::rooms_max`.
    rooms: papaya::HashMap<RoomKey, Arc<ChannelRoom>>,
    /// Bound: the source's networks. A group stays until it has [ended](Hub::end_group).
    groups: papaya::HashMap<u32, Arc<RoomGroup>>,
    rng: Mutex<fastrand::Rng>,
    namespaces: NamespaceIndex,
    presence: PresenceRegistry,
    counters: Arc<HubCounters>,
    next_batch: AtomicU64,
    next_listener: AtomicU64,
    /// Held by the thread that shrinks rooms; other threads do not wait for it.
    shrink_lock: Mutex<()>,
    /// True once `app/…` accepts no more publications; read-locked during each publication there.
    is_stopping: RwLock<bool>,
}

impl Hub {
    /// Creates a hub without rooms. `seed` determines the epochs of rooms with their own sequence: take it from the
    /// system's randomness, except for repeatable runs.
    pub fn new(
        config: HubConfig,
        source: Arc<dyn ChannelStateSource>,
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
            shrink_lock: Mutex::new(()),
            is_stopping: RwLock::new(false),
        })
    }

    /// Returns the interest in a group's rooms. A publisher calls this once per poll, after the new state has been
    /// swapped in.
    pub fn room_group(&self, group: u32) -> Arc<RoomGroup> {
        fanout::fence_before_topic_lookup();
        self.get_or_create_group(group)
    }

    /// Returns the room with this key, if it exists. One probe without a lock. Call this after [`interest`] or
    /// [`batch`], and like them after the swap.
    ///
    /// [`interest`]: Self::room_group
    /// [`batch`]: Self::open_publish_batch
    pub fn find_room(&self, key: RoomKey) -> Option<Arc<ChannelRoom>> {
        self.rooms.pin().get(&key).cloned()
    }

    /// Returns the rooms of a kind, in order of their ids.
    pub fn rooms_of_kind_in_group(&self, group: u32, kind: u8) -> Vec<Arc<ChannelRoom>> {
        self.room_group(group).rooms_of_kind(kind)
    }

    /// Returns all rooms of a group, by kind and id: those that a new dataset restates.
    pub fn rooms_of_group(&self, group: u32) -> Vec<Arc<ChannelRoom>> {
        self.room_group(group).all_rooms()
    }

    /// Opens a batch. Call this after the new state has been swapped in and before rooms are looked up.
    pub fn open_publish_batch(&self) -> PublishBatch<'_> {
        let number = self.next_batch.fetch_add(1, Ordering::Relaxed);
        PublishBatch::new(self, number, self.clock.monotonic())
    }

    /// Opens a session; `listener` is signaled when the session has something to pull.
    pub fn open_session(
        self: &Arc<Self>,
        listener: Arc<dyn NewsListener>,
        limits: SessionLimits,
    ) -> Session {
        Session::with_listener(self.clone(), self.allocate_listener_number(), listener, limits)
    }

    /// Returns the number of a new listener: a session or a partition.
    pub(crate) fn allocate_listener_number(&self) -> u64 {
        self.next_listener.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the name under which a client lists its position in this channel's sequence. A client needs the name
    /// before a subscription that resumes.
    ///
    /// # Errors
    /// Returns an error if there is no such channel or feed.
    pub fn sequence_name_of_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<String, ChannelResolveError> {
        let key = self.resolve_room_key(channel)?;
        Ok(self.sequence_name_for_key(channel, key))
    }

    /// Returns the namespace of an `app/…` channel; `None` for other channels.
    pub fn find_namespace(&self, channel: &EncodedChannelName) -> Option<&Namespace> {
        self.namespaces.find_namespace(channel)
    }

    /// Ends a group: closes its rooms, and ends each subscription there with
    /// [`GroupEnded`](crate::SubscriptionEndReason::GroupEnded). For a source whose sequence has ended, or continues
    /// under another group's number; a number is not reused.
    ///
    /// Call this once the source neither resolves a channel to this group nor has a position for it. A subscriber that
    /// enters meanwhile is either found here, or sees the end and is refused.
    pub fn end_group_and_close_rooms(&self, group: u32) {
        let mut batch = self.open_publish_batch();
        let interest = self.get_or_create_group(group);
        let mut rooms = interest.lock_rooms();
        interest.mark_group_ended();
        let all: Vec<Arc<ChannelRoom>> = rooms.values().cloned().collect();
        for room in &all {
            batch.end_room(room);
            interest.remove_room(&mut rooms, room, || {
                self.rooms.pin().remove(&room.key());
            });
            self.counters.rooms.fetch_sub(1, Ordering::Relaxed);
        }
        drop(rooms);
        batch.finish_and_signal_listeners();
    }

    /// Drops old ring entries and unused states, closes rooms after their linger time, and enforces the node's byte
    /// limit. Call this about once a second; linear in the number of rooms.
    pub fn trim_and_close_idle_rooms(&self) {
        let now = self.clock.monotonic();
        for group in self.all_groups() {
            for room in group.all_rooms() {
                room.trim_log_and_state(now, &self.config);
                self.close_idle_room(&group, &room);
            }
        }
        self.groups.pin().retain(|_, group| !group.is_ended_and_empty());
        self.halve_largest_rooms();
    }

    /// Calls `tell` with the channel and the number of subscribers of each room with a public name. Linear in the
    /// number of rooms, like [`trim_and_close_idle_rooms`](Self::trim_and_close_idle_rooms), but locks no room.
    pub fn for_each_public_room(&self, mut tell: impl FnMut(&EncodedChannelName, usize)) {
        for room in self.all_rooms() {
            if !room.key().is_hidden_from_clients() {
                tell(room.channel(), room.subscriber_count());
            }
        }
    }

    /// Returns the hub's metrics.
    pub fn metrics(&self) -> HubMetrics {
        self.counters.read_counter_values(self.presence.present_count())
    }

    /// Returns the times from append to delivery of publications, in nanoseconds: of those appended during a
    /// subscription, without those that a returning client had missed.
    pub fn delivery_time_snapshot(&self) -> histogram::HistogramSnapshot {
        self.counters.delivery_time.snapshot()
    }

    /// Returns the hub's clock; its monotonic time starts long before the process.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Returns the key of a channel's room, which belongs to the hub or to the source.
    pub(crate) fn resolve_room_key(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        match self.namespaces.room_key_of_hub_channel(channel) {
            Some(key) => Ok(key),
            None => self.source.resolve_channel(channel),
        }
    }

    /// Returns [`ChannelStateSource::sequence_name`] for a channel of the source, the channel's name for one of the
    /// hub; empty for hidden rooms.
    pub(crate) fn sequence_name_for_key(
        &self,
        channel: &EncodedChannelName,
        key: RoomKey,
    ) -> String {
        if key.is_hidden_from_clients() {
            String::new()
        } else if key.has_source_state() {
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
        &self.is_stopping
    }

    pub(crate) fn all_rooms(&self) -> Vec<Arc<ChannelRoom>> {
        self.all_groups().iter().flat_map(|group| group.all_rooms()).collect()
    }

    fn all_groups(&self) -> Vec<Arc<RoomGroup>> {
        self.groups.pin().values().cloned().collect()
    }

    pub(crate) fn config(&self) -> &HubConfig {
        &self.config
    }

    pub(crate) fn state_source(&self) -> &dyn ChannelStateSource {
        &*self.source
    }

    pub(crate) fn counters(&self) -> &HubCounters {
        &self.counters
    }

    pub(crate) fn get_or_create_group(&self, group: u32) -> Arc<RoomGroup> {
        self.groups.pin().get_or_insert_with(group, Arc::default).clone()
    }

    /// Returns the room of a channel, created if there is none; `None` if there are too many rooms, or if the group
    /// has ended.
    pub(crate) fn get_or_create_room(
        &self,
        channel: &EncodedChannelName,
        key: RoomKey,
    ) -> Option<Arc<ChannelRoom>> {
        if let Some(room) = self.find_room(key) {
            return Some(room);
        }
        let group = self.get_or_create_group(key.group);
        let mut rooms = group.lock_rooms();
        if let Some(room) = self.find_room(key) {
            return Some(room);
        }
        if group.has_group_ended() {
            return None;
        }
        if self.counters.rooms.fetch_add(1, Ordering::Relaxed) >= self.config.rooms_max {
            self.counters.rooms.fetch_sub(1, Ordering::Relaxed);
            self.counters.refused_rooms.increment();
            return None;
        }
        let epoch = key.has_own_sequence().then(|| Epoch::random(&mut self.rng.lock()));
        let now = self.clock.monotonic();
        let history =
            self.namespaces.find_namespace(channel).and_then(|namespace| namespace.history);
        let room =
            ChannelRoom::new(key, channel.clone(), epoch, history, now, self.counters.clone());
        group.add_room(&mut rooms, &room, || {
            self.rooms.pin().insert(key, room.clone());
        });
        Some(room)
    }

    /// Lock order: a group's rooms, then a room's log.
    fn close_idle_room(&self, group: &RoomGroup, room: &ChannelRoom) {
        if room.listener_count() > 0 {
            return;
        }
        let mut rooms = group.lock_rooms();
        if room.close_if_idle(self.clock.monotonic(), self.config.linger) {
            group.remove_room(&mut rooms, room, || {
                self.rooms.pin().remove(&room.key());
            });
            self.counters.rooms.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Halves the largest rooms until the node is an eighth below its byte limit.
    pub(crate) fn halve_largest_rooms(&self) {
        let used_bytes = || {
            self.counters.ring_bytes.load(Ordering::Relaxed)
                + self.counters.state_bytes.load(Ordering::Relaxed)
        };
        if used_bytes() <= self.config.total_bytes {
            return;
        }
        let Some(_only_one) = self.shrink_lock.try_lock() else { return };
        let enough = self.config.total_bytes - self.config.total_bytes / 8;
        let rooms = self.all_rooms();
        let mut by_size: BinaryHeap<(usize, RoomKey, usize)> =
            rooms.iter().enumerate().map(|(n, room)| (room.byte_size(), room.key(), n)).collect();
        while used_bytes() > enough {
            let Some((bytes, key, n)) = by_size.pop() else { break };
            self.counters.evicted.add(rooms[n].halve_log_or_drop_state());
            let left = rooms[n].byte_size();
            // Other threads may append meanwhile: a room that does not get smaller is not visited again.
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
