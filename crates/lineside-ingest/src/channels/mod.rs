//! Channels: which room a public name is, and how things are in it (docs/protocol/channels.md).

mod beside;
pub(crate) mod kinds;
mod known;

use std::{borrow::Cow, sync::Arc};

use arc_swap::ArcSwap;
use bytes::Bytes;
use lineside_hub::{BadChannel, Channel, Position, ResolveError, RoomKey, State, StateSource};
use lineside_sync::{Clock, UnixMillis};

pub use self::beside::Beside;
use self::kinds::{GROUP_ALONE, KIND_BESIDE, RoomKind, WHOLE_NETWORK};
use crate::{
    catalog::{Catalog, SharedCatalog},
    departures::board,
    geohash::{CELL_CHARS, Cell},
    hashing::Seeded,
    network::{Network, NetworkState},
    publish::state_parts,
    record::Record,
};

/// Reads the state of channels from the networks: what a hub takes as its source.
#[derive(Debug)]
pub struct Channels {
    catalog: SharedCatalog,
    seed: Seeded,
    clock: Arc<dyn Clock>,
    /// What the program fills itself; its rooms are of [`KIND_BESIDE`].
    beside: Option<Beside>,
}

/// A public name, taken apart.
struct Name<'a> {
    kind: RoomKind,
    /// The feed, or the cell.
    first: Cow<'a, str>,
    /// What of the feed.
    id: Cow<'a, str>,
}

impl Channels {
    /// `networks` stay what they are; `seed` is the one of their writers, who find the rooms by the same keys.
    pub fn new(networks: Vec<Arc<Network>>, seed: u64, clock: Arc<dyn Clock>) -> Channels {
        let catalog = Catalog::new(Vec::new(), networks);
        Channels::of(Arc::new(ArcSwap::from_pointee(catalog)), seed, clock)
    }

    /// The same, and the channels that only `source` knows.
    pub(crate) fn beside(self, source: Option<Beside>) -> Channels {
        Channels { beside: source, ..self }
    }

    fn room_beside(&self, channel: &Channel, key: RoomKey) -> Option<State> {
        let source = self.beside.as_ref().filter(|_| key.kind == KIND_BESIDE)?;
        Some(source.0.read_state(channel, key))
    }

    /// The same, of networks that come and go.
    pub(crate) fn of(catalog: SharedCatalog, seed: u64, clock: Arc<dyn Clock>) -> Channels {
        Channels { catalog, seed: Seeded(seed), clock, beside: None }
    }

    fn records(
        &self,
        name: &Name<'_>,
        network: &Network,
        state: &NetworkState,
    ) -> Vec<Arc<Record>> {
        let number = network.number_of(&name.first).unwrap_or_default();
        let whole = name.first == network.id().as_str();
        let slice = &state.feeds[number];
        let tables = &slice.tables;
        let mut records: Vec<Arc<Record>> = match name.kind {
            RoomKind::Feed | RoomKind::Route | RoomKind::Stop if whole => {
                state.feed_records().cloned().collect()
            }
            _ => vec![Arc::clone(&slice.record)],
        };
        match name.kind {
            RoomKind::Feed if whole => {
                records.extend(state.dataset_record.iter().cloned());
                records.extend(state.vehicles().cloned());
                records.extend(state.trip_updates().cloned());
                records.extend(state.alerts().cloned());
                records.extend(state.stations().cloned());
                records.extend(state.rental_vehicles().cloned());
            }
            RoomKind::Feed => {
                records.extend(tables.all().iter().flat_map(|table| table.records()).cloned());
            }
            RoomKind::Vehicle => records.extend(tables.vehicles.find(&name.id).cloned()),
            RoomKind::Trip => {
                records
                    .extend(tables.all().iter().flat_map(|table| table.of_trip(&name.id)).cloned());
            }
            RoomKind::Alerts => records.extend(tables.alerts.records().iter().cloned()),
            RoomKind::Route if whole => records.extend(state.by_route(&name.id).cloned()),
            RoomKind::Stop if whole => records.extend(board(state, &name.id)),
            RoomKind::Station => records.extend(tables.stations.find(&name.id).cloned()),
            // Only the feed that names a network has routes and stops.
            RoomKind::Route | RoomKind::Stop | RoomKind::Area => {}
        }
        records
    }

    fn area_state(&self, cell: Cell) -> State {
        let mut records: Vec<Arc<Record>> = Vec::new();
        let mut at = None;
        for network in &self.catalog.load().networks {
            let state = network.state();
            at = at.max(Some(state.at));
            for slice in &state.feeds {
                let mut placed = slice.in_cell(cell).peekable();
                if placed.peek().is_some() {
                    records.push(Arc::clone(&slice.record));
                    records.extend(placed.cloned());
                }
            }
        }
        State { position: None, parts: parts_of(at.unwrap_or_else(|| self.clock.wall()), &records) }
    }

    /// What is read under a name that [`StateSource::resolve`] refuses.
    fn no_state(&self) -> State {
        State { position: None, parts: parts_of(self.clock.wall(), &[]) }
    }
}

fn parts_of(at: UnixMillis, records: &[Arc<Record>]) -> Vec<Bytes> {
    state_parts(at, records.iter().map(|record| record.upsert()))
}

/// What an `area/` has to name; the numbers are those of [`CELL_CHARS`].
const NO_CELL: &str =
    "an area is a geohash: 4 to 6 of 0-9 and the small letters b-z without i, l and o";

impl<'a> Name<'a> {
    fn of(channel: &'a Channel) -> Result<Name<'a>, BadChannel> {
        let mut segments = channel.segments();
        let (Some(word), Some(first)) = (segments.next(), segments.next()) else {
            return Err(BadChannel::UnknownForm);
        };
        let id = segments.next();
        let kind = match (&*word, id.is_some()) {
            ("feed", false) => RoomKind::Feed,
            ("vehicle", true) => RoomKind::Vehicle,
            ("trip", true) => RoomKind::Trip,
            ("alerts", false) => RoomKind::Alerts,
            ("route", true) => RoomKind::Route,
            ("stop", true) => RoomKind::Stop,
            ("station", true) => RoomKind::Station,
            ("area", false) => RoomKind::Area,
            _ => return Err(BadChannel::UnknownForm),
        };
        if segments.next().is_some() {
            return Err(BadChannel::UnknownForm);
        }
        Ok(Name { kind, first, id: id.unwrap_or_default() })
    }

    fn cell(&self) -> Result<Cell, BadChannel> {
        let cell = Cell::parse(&self.first).filter(|cell| CELL_CHARS.contains(&cell.chars()));
        cell.ok_or(BadChannel::Segment(NO_CELL))
    }
}

impl StateSource for Channels {
    fn resolve(&self, channel: &Channel) -> Result<RoomKey, ResolveError> {
        let name = match (Name::of(channel), &self.beside) {
            (Ok(name), _) => name,
            (Err(BadChannel::UnknownForm), Some(source)) => return source.0.resolve(channel),
            (Err(error), _) => return Err(error.into()),
        };
        if name.kind == RoomKind::Area {
            return Ok(kinds::key(GROUP_ALONE, RoomKind::Area, kinds::of_cell(name.cell()?)));
        }
        let catalog = self.catalog.load();
        let found = catalog.network_of(&name.first);
        let (network, number) = found.ok_or(ResolveError::UnknownFeed)?;
        let whole = number == 0;
        known::check(&name, network, number)?;
        let id = match name.kind {
            RoomKind::Feed if whole => WHOLE_NETWORK,
            RoomKind::Feed | RoomKind::Alerts => number as u64,
            RoomKind::Route | RoomKind::Stop if whole => kinds::of_network(self.seed, &name.id),
            _ => kinds::of_feed(self.seed, number, &name.id),
        };
        Ok(kinds::key(network.group(), name.kind, id))
    }

    fn sequence_name(&self, channel: &Channel, key: RoomKey) -> String {
        match self.catalog.load().network_of_group(key.group) {
            Some(network) => network.id().to_string(),
            None => channel.as_str().to_owned(),
        }
    }

    fn position(&self, _channel: &Channel, key: RoomKey) -> Option<Position> {
        Some(self.catalog.load().network_of_group(key.group)?.position())
    }

    fn read_state(&self, channel: &Channel, key: RoomKey) -> State {
        if let Some(state) = self.room_beside(channel, key) {
            return state;
        }
        let Ok(name) = Name::of(channel) else { return self.no_state() };
        if let Ok(cell) = name.cell()
            && key.group == GROUP_ALONE
        {
            return self.area_state(cell);
        }
        let catalog = self.catalog.load();
        // A room of a network that is gone is about to end, whatever is there now under its name.
        let Some(network) = catalog.network_of_group(key.group) else { return self.no_state() };
        let state = network.state();
        let records = self.records(&name, network, &state);
        let position = Position { epoch: network.epoch(), offset: state.revision };
        State { position: Some(position), parts: parts_of(state.at, &records) }
    }
}
