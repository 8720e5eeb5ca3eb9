//! Channels: mapping from channel names to rooms, and their state (docs/protocol/channels.md).

mod extra_channels;
pub(crate) mod known_ids;

use std::{borrow::Cow, sync::Arc};

use arc_swap::ArcSwap;
use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName,
    Position, RoomKey,
};
use lineside_model::departures::list_stop_channel_records;
use lineside_sync::{Clock, UnixMillis};

pub use self::extra_channels::ExtraChannelSource;
use crate::{
    catalog::{FeedCatalog, Network, SharedCatalog},
    channel_kinds::{self, GROUP_NONE, KIND_EXTRA, RoomKind, WHOLE_NETWORK},
    geohash::{CELL_CHARS, GeohashCell},
    hashing::SeededHashBuilder,
    network_state::NetworkState,
    publish::encode_state_parts,
    record::Record,
};

/// Reads the state of channels from the networks; the state source of a hub.
#[derive(Debug)]
pub struct NetworkChannelStates {
    catalog: SharedCatalog,
    seed: SeededHashBuilder,
    clock: Arc<dyn Clock>,
    /// Channels that the program fills itself; their rooms have [`KIND_BESIDE`].
    extra_channels: Option<ExtraChannelSource>,
}

/// A parsed channel name.
struct ParsedChannelName<'a> {
    kind: RoomKind,
    /// The feed id or the geohash cell.
    first: Cow<'a, str>,
    /// The id of the item within the feed.
    id: Cow<'a, str>,
}

impl NetworkChannelStates {
    /// Creates the states of fixed `networks`. `seed` must be that of their writers, which derive the same room keys.
    pub fn new(
        networks: Vec<Arc<Network>>,
        seed: u64,
        clock: Arc<dyn Clock>,
    ) -> NetworkChannelStates {
        let catalog = FeedCatalog::new(Vec::new(), networks);
        NetworkChannelStates::from_catalog(Arc::new(ArcSwap::from_pointee(catalog)), seed, clock)
    }

    /// Adds the channels of `source`.
    pub(crate) fn with_extra_channels(
        self,
        source: Option<ExtraChannelSource>,
    ) -> NetworkChannelStates {
        NetworkChannelStates { extra_channels: source, ..self }
    }

    fn extra_channel_state(
        &self,
        channel: &EncodedChannelName,
        key: RoomKey,
    ) -> Option<ChannelState> {
        let source = self.extra_channels.as_ref().filter(|_| key.kind == KIND_EXTRA)?;
        Some(source.0.read_state(channel, key))
    }

    /// Creates the states of a catalog whose networks may change.
    pub(crate) fn from_catalog(
        catalog: SharedCatalog,
        seed: u64,
        clock: Arc<dyn Clock>,
    ) -> NetworkChannelStates {
        NetworkChannelStates { catalog, seed: SeededHashBuilder(seed), clock, extra_channels: None }
    }

    fn records_of_channel(
        &self,
        name: &ParsedChannelName<'_>,
        network: &Network,
        state: &NetworkState,
    ) -> Vec<Arc<Record>> {
        let number = network.index_of_feed(&name.first).unwrap_or_default();
        let whole = name.first == network.id().as_str();
        let slice = &state.feeds[number];
        let tables = &slice.tables;
        let mut records: Vec<Arc<Record>> = match name.kind {
            RoomKind::Feed | RoomKind::Route | RoomKind::Stop if whole => {
                state.feed_status_records().cloned().collect()
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
                records
                    .extend(tables.all_tables().iter().flat_map(|table| table.records()).cloned());
            }
            RoomKind::Vehicle => records.extend(tables.vehicles.find_record(&name.id).cloned()),
            RoomKind::Trip => {
                records.extend(
                    tables
                        .all_tables()
                        .iter()
                        .flat_map(|table| table.records_by_trip(&name.id))
                        .cloned(),
                );
            }
            RoomKind::Alerts => records.extend(tables.alerts.records().iter().cloned()),
            RoomKind::Route if whole => {
                records.extend(state.realtime_records_by_route(&name.id).cloned())
            }
            RoomKind::Stop if whole => records.extend(list_stop_channel_records(state, &name.id)),
            RoomKind::Station => records.extend(tables.stations.find_record(&name.id).cloned()),
            // Only the feed that names a network has routes and stops.
            RoomKind::Route | RoomKind::Stop | RoomKind::Area => {}
        }
        records
    }

    fn state_of_cell_channel(&self, cell: GeohashCell) -> ChannelState {
        let mut records: Vec<Arc<Record>> = Vec::new();
        let mut at = None;
        for network in &self.catalog.load().networks {
            let state = network.state();
            at = at.max(Some(state.at));
            for slice in &state.feeds {
                let mut placed = slice.records_in_cell(cell).peekable();
                if placed.peek().is_some() {
                    records.push(Arc::clone(&slice.record));
                    records.extend(placed.cloned());
                }
            }
        }
        ChannelState {
            position: None,
            parts: encode_records_as_state(at.unwrap_or_else(|| self.clock.wall_time()), &records),
        }
    }

    /// Returns the state of a channel that [`ChannelStateSource::resolve_channel`] rejects.
    fn empty_channel_state(&self) -> ChannelState {
        ChannelState { position: None, parts: encode_records_as_state(self.clock.wall_time(), &[]) }
    }
}

fn encode_records_as_state(at: UnixMillis, records: &[Arc<Record>]) -> Vec<Bytes> {
    encode_state_parts(at, records.iter().map(|record| record.upsert_json()))
}

/// The error for an invalid `area/` channel; the lengths are those of [`CELL_CHARS`].
const NO_CELL: &str = "an area is a geohash of 4 to 6 characters: 0-9 and the lowercase letters b-z except i, l and o";

impl<'a> ParsedChannelName<'a> {
    fn parse_channel(
        channel: &'a EncodedChannelName,
    ) -> Result<ParsedChannelName<'a>, BadChannelName> {
        let mut segments = channel.decoded_segments();
        let (Some(kind_name), Some(first)) = (segments.next(), segments.next()) else {
            return Err(BadChannelName::UnknownForm);
        };
        let id = segments.next();
        let kind = match (&*kind_name, id.is_some()) {
            ("feed", false) => RoomKind::Feed,
            ("vehicle", true) => RoomKind::Vehicle,
            ("trip", true) => RoomKind::Trip,
            ("alerts", false) => RoomKind::Alerts,
            ("route", true) => RoomKind::Route,
            ("stop", true) => RoomKind::Stop,
            ("station", true) => RoomKind::Station,
            ("area", false) => RoomKind::Area,
            _ => return Err(BadChannelName::UnknownForm),
        };
        if segments.next().is_some() {
            return Err(BadChannelName::UnknownForm);
        }
        Ok(ParsedChannelName { kind, first, id: id.unwrap_or_default() })
    }

    fn parse_geohash_cell(&self) -> Result<GeohashCell, BadChannelName> {
        let cell =
            GeohashCell::parse(&self.first).filter(|cell| CELL_CHARS.contains(&cell.char_count()));
        cell.ok_or(BadChannelName::Segment(NO_CELL))
    }
}

impl ChannelStateSource for NetworkChannelStates {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        let name = match (ParsedChannelName::parse_channel(channel), &self.extra_channels) {
            (Ok(name), _) => name,
            (Err(BadChannelName::UnknownForm), Some(source)) => {
                return source.0.resolve_channel(channel);
            }
            (Err(error), _) => return Err(error.into()),
        };
        if name.kind == RoomKind::Area {
            return Ok(channel_kinds::room_key(
                GROUP_NONE,
                RoomKind::Area,
                channel_kinds::cell_room_id(name.parse_geohash_cell()?),
            ));
        }
        let catalog = self.catalog.load();
        let found = catalog.find_network_of_feed(&name.first);
        let (network, number) = found.ok_or(ChannelResolveError::UnknownFeed)?;
        let whole = number == 0;
        known_ids::check_channel_id_known(&name, network, number)?;
        let id = match name.kind {
            RoomKind::Feed if whole => WHOLE_NETWORK,
            RoomKind::Feed | RoomKind::Alerts => number as u64,
            RoomKind::Route | RoomKind::Stop if whole => {
                channel_kinds::network_room_id(self.seed, &name.id)
            }
            _ => channel_kinds::feed_item_room_id(self.seed, number, &name.id),
        };
        Ok(channel_kinds::room_key(network.room_group(), name.kind, id))
    }

    fn sequence_name(&self, channel: &EncodedChannelName, key: RoomKey) -> String {
        match self.catalog.load().find_network_by_room_group(key.group) {
            Some(network) => network.id().to_string(),
            None => channel.as_str().to_owned(),
        }
    }

    fn current_position(&self, _channel: &EncodedChannelName, key: RoomKey) -> Option<Position> {
        Some(self.catalog.load().find_network_by_room_group(key.group)?.sequence_position())
    }

    fn read_state(&self, channel: &EncodedChannelName, key: RoomKey) -> ChannelState {
        if let Some(state) = self.extra_channel_state(channel, key) {
            return state;
        }
        let Ok(name) = ParsedChannelName::parse_channel(channel) else {
            return self.empty_channel_state();
        };
        if let Ok(cell) = name.parse_geohash_cell()
            && key.group == GROUP_NONE
        {
            return self.state_of_cell_channel(cell);
        }
        let catalog = self.catalog.load();
        // The room of a removed network is about to end, even if the name now refers to something else.
        let Some(network) = catalog.find_network_by_room_group(key.group) else {
            return self.empty_channel_state();
        };
        let state = network.state();
        let records = self.records_of_channel(&name, network, &state);
        let position = Position { epoch: network.epoch(), offset: state.revision };
        ChannelState {
            position: Some(position),
            parts: encode_records_as_state(state.at, &records),
        }
    }
}
