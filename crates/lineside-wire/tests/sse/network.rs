//! A network of a few vehicles on routes and in cells, as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName,
    Epoch, Hub, HubConfig, Position, RoomKey,
};
use lineside_sync::{SimulatedClock, UnixMillis};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) const ROUTES: u64 = 3;
pub(crate) const VEHICLES: u64 = 6;
const RECORDS_PER_PART: usize = 2;
pub(crate) const GROUP: u32 = 1;
const FEED: u8 = 1;
const ROUTE: u8 = 2;
const AREA: u8 = 3;

/// Records by id.
pub(crate) type Holdings = BTreeMap<String, Value>;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Vehicle {
    route: u64,
    cell: u64,
    moves: u64,
}

#[derive(Clone, Debug)]
struct Now {
    position: Position,
    dataset: u64,
    vehicles: BTreeMap<u64, Vehicle>,
}

pub(crate) struct Source(Mutex<Now>);

pub(crate) struct Network {
    pub(crate) hub: Arc<Hub>,
    pub(crate) clock: SimulatedClock,
    source: Arc<Source>,
}

impl Network {
    pub(crate) fn new(ring_publications: usize) -> Self {
        let position = Position { epoch: Epoch::from_bits(1), offset: 0 };
        let now = Now { position, dataset: 1, vehicles: BTreeMap::new() };
        let source = Arc::new(Source(Mutex::new(now)));
        let clock = SimulatedClock::new(UnixMillis(0));
        let config =
            HubConfig { ring_publications, linger: Duration::from_secs(5), ..HubConfig::default() };
        let hub = Hub::new(config, source.clone(), Arc::new(clock.clone()), 1);
        Self { hub, clock, source }
    }

    pub(crate) fn holdings(&self, channel: &str) -> Holdings {
        self.source.0.lock().holdings(channel)
    }

    /// Adds, moves or removes a vehicle, or changes its route or cell.
    pub(crate) fn change(&self, vehicle: u64, what: u64) {
        let mut now = self.source.0.lock().clone();
        let id = vehicle % VEHICLES;
        let old = now.vehicles.get(&id).copied();
        let mut new = old.unwrap_or(Vehicle { route: what % ROUTES, cell: what % 2, moves: 0 });
        new.moves += 1;
        match what % 5 {
            0 => new.route = (new.route + 1) % ROUTES,
            1 => new.cell = 1 - new.cell,
            _ => {}
        }
        let new = (what % 7 != 6).then_some(new);
        match new {
            Some(new) => now.vehicles.insert(id, new),
            None => now.vehicles.remove(&id),
        };
        now.position.offset += 1;
        let (at, dataset) = (now.position, now.dataset);
        *self.source.0.lock() = now;

        let name = |it: Vehicle, kind| if kind == ROUTE { it.route } else { it.cell };
        let upsert =
            new.map(|new| json!({"op": "upsert", "id": id, "record": record(new, dataset)}));
        let remove = json!({"op": "remove", "id": id});
        let mut batch = self.hub.open_publish_batch();
        let mut tell = |key: RoomKey, change: &Value| {
            if let Some(room) = self.hub.find_room(key) {
                let data = json!({"at": 0, "changes": [change]}).to_string();
                batch.append_publication(
                    &room,
                    (!key.has_own_sequence()).then_some(at),
                    data.into(),
                );
            }
        };
        tell(key(FEED, 0), upsert.as_ref().unwrap_or(&remove));
        for kind in [ROUTE, AREA] {
            let (old, new) = (old.map(|it| name(it, kind)), new.map(|it| name(it, kind)));
            if let Some(old) = old.filter(|old| Some(*old) != new) {
                tell(key(kind, old), &remove);
            }
            if let (Some(new), Some(upsert)) = (new, &upsert) {
                tell(key(kind, new), upsert);
            }
        }
        batch.finish_and_signal_listeners();
    }

    /// Starts a new dataset, or a new epoch whose offsets start again.
    pub(crate) fn restate(&self, is_new_epoch: bool) {
        let mut now = self.source.0.lock().clone();
        now.dataset += 1;
        now.position.offset += 1;
        if is_new_epoch {
            now.position =
                Position { epoch: Epoch::from_bits(now.position.epoch.to_bits() + 1), offset: 1 };
        }
        let at = now.position;
        *self.source.0.lock() = now;
        let mut batch = self.hub.open_publish_batch();
        for room in self.hub.rooms_of_group(GROUP) {
            batch.resend_state_without_gap(&room, Some(at));
        }
        for room in self.hub.rooms_of_group(0) {
            batch.resend_state_without_gap(&room, None);
        }
    }
}

impl Now {
    fn holdings(&self, channel: &str) -> Holdings {
        let number: u64 = channel.rsplit('/').next().and_then(|it| it.parse().ok()).unwrap_or(0);
        let belongs = |vehicle: &Vehicle| match channel.split('/').next() {
            Some("route") => vehicle.route == number,
            Some("area") => vehicle.cell == number,
            _ => true,
        };
        let here = self.vehicles.iter().filter(|(_, vehicle)| belongs(vehicle));
        here.map(|(id, vehicle)| (id.to_string(), record(*vehicle, self.dataset))).collect()
    }
}

fn record(vehicle: Vehicle, dataset: u64) -> Value {
    json!({"moves": vehicle.moves, "dataset": dataset})
}

fn key(kind: u8, id: u64) -> RoomKey {
    RoomKey { group: if kind == AREA { 0 } else { GROUP }, kind, id }
}

impl ChannelStateSource for Source {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        let segments: Vec<_> = channel.decoded_segments().collect();
        let number = |n: usize| segments.get(n).and_then(|it| it.parse().ok()).unwrap_or(99);
        match (&*segments[0], &*segments[1]) {
            ("feed", "city") => Ok(key(FEED, 0)),
            ("route", "city") => Ok(key(ROUTE, number(2))),
            ("area", _) => Ok(key(AREA, number(1))),
            ("feed" | "route", _) => Err(ChannelResolveError::UnknownFeed),
            _ => Err(BadChannelName::UnknownForm.into()),
        }
    }

    fn sequence_name(&self, channel: &EncodedChannelName, key: RoomKey) -> String {
        if key.has_own_sequence() { channel.to_string() } else { "city".into() }
    }

    fn current_position(&self, _: &EncodedChannelName, _: RoomKey) -> Option<Position> {
        Some(self.0.lock().position)
    }

    fn read_state(&self, channel: &EncodedChannelName, _: RoomKey) -> ChannelState {
        let now = self.0.lock().clone();
        let changes: Vec<Value> = now
            .holdings(channel.as_str())
            .iter()
            .map(|(id, record)| {
                json!({"op": "upsert", "id": id.parse::<u64>().expect("a number"), "record": record})
            })
            .collect();
        let n = changes.len().div_ceil(RECORDS_PER_PART).max(1);
        let part = |k: usize| {
            let changes = changes.chunks(RECORDS_PER_PART).nth(k).unwrap_or_default();
            let part = json!({"at": 0, "state": {"part": k + 1, "parts": n}, "changes": changes});
            // Pretty-printed, to test that line breaks do no harm.
            Bytes::from(serde_json::to_string_pretty(&part).expect("JSON"))
        };
        ChannelState { position: Some(now.position), parts: (0..n).map(part).collect() }
    }
}
