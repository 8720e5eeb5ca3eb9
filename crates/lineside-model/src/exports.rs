//! GTFS-Realtime exports: messages rebuilt from the state, made of the entities' original bytes.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use lineside_formats::gtfs_rt::{
    FeedMessageLimits, encode_feed_message, proto::FeedHeader, proto::feed_header::Incrementality,
    remove_lineside_extensions, split_feed_message, write_feed_json,
};
use smol_str::{SmolStr, format_smolstr};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    departures::has_better_update_elsewhere,
    network_state::{FeedStateInNetwork, NetworkState},
    record::{Record, RecordKind},
};

/// The entities that an exported message contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExportedEntityKinds {
    /// All entities.
    All,
    VehiclePositions,
    TripUpdates,
    Alerts,
}

impl ExportedEntityKinds {
    pub const COUNT: usize = 4;

    /// Returns the name of the part in URLs; `None` for all entities.
    pub fn url_name(self) -> Option<&'static str> {
        match self {
            ExportedEntityKinds::All => None,
            ExportedEntityKinds::VehiclePositions => Some("vehicle-positions"),
            ExportedEntityKinds::TripUpdates => Some("trip-updates"),
            ExportedEntityKinds::Alerts => Some("alerts"),
        }
    }

    pub fn parse_url_name(name: &str) -> Option<ExportedEntityKinds> {
        [
            ExportedEntityKinds::VehiclePositions,
            ExportedEntityKinds::TripUpdates,
            ExportedEntityKinds::Alerts,
        ]
        .into_iter()
        .find(|part| part.url_name() == Some(name))
    }

    fn record_kinds(self) -> &'static [RecordKind] {
        match self {
            ExportedEntityKinds::All => {
                &[RecordKind::TripUpdate, RecordKind::Vehicle, RecordKind::Alert]
            }
            ExportedEntityKinds::VehiclePositions => &[RecordKind::Vehicle],
            ExportedEntityKinds::TripUpdates => &[RecordKind::TripUpdate],
            ExportedEntityKinds::Alerts => &[RecordKind::Alert],
        }
    }
}

/// An encoded message.
#[derive(Clone, Debug)]
pub struct EncodedExportMessage {
    /// The encoded bytes.
    pub bytes: Bytes,
    /// The header's timestamp in Unix seconds: never decreases from one state to the next.
    pub timestamp: u64,
    /// Hash of the bytes.
    pub hash: u128,
}

impl EncodedExportMessage {
    fn new(bytes: Bytes, timestamp: u64) -> EncodedExportMessage {
        EncodedExportMessage { hash: xxh3_128(&bytes), bytes, timestamp }
    }

    /// Returns a strong entity tag, in quotes.
    pub fn etag(&self) -> SmolStr {
        format_smolstr!("\"{:032x}\"", self.hash)
    }
}

/// A value per export part, computed once.
type OncePerExportPart<T> = [OnceLock<T>; ExportedEntityKinds::COUNT];

/// The messages of one state, each encoded on first use and then shared.
#[derive(Debug, Default)]
pub struct ExportCache {
    protobuf: OncePerExportPart<EncodedExportMessage>,
    json: OncePerExportPart<EncodedExportMessage>,
}

/// Returns the message of a feed, or of a whole network if `id` names it; `None` if the network has no such feed.
/// Before the first message arrives, the export is empty.
pub fn get_gtfs_rt_export(
    state: &NetworkState,
    id: &str,
    part: ExportedEntityKinds,
) -> Option<EncodedExportMessage> {
    let source = ExportSource::find_by_id(state, id)?;
    Some(
        source.export_cache().protobuf[part as usize]
            .get_or_init(|| source.encode_export_message(part))
            .clone(),
    )
}

/// Returns the message as JSON, without extensions, which JSON cannot name.
pub fn get_gtfs_rt_json_export(
    state: &NetworkState,
    id: &str,
    part: ExportedEntityKinds,
) -> Option<EncodedExportMessage> {
    let source = ExportSource::find_by_id(state, id)?;
    let export = source.export_cache().json[part as usize].get_or_init(|| {
        let encoded = source.export_cache().protobuf[part as usize]
            .get_or_init(|| source.encode_export_message(part));
        EncodedExportMessage::new(gtfs_rt_to_json(&encoded.bytes).into(), encoded.timestamp)
    });
    Some(export.clone())
}

/// The source of a message's entities.
enum ExportSource<'a> {
    Feed(&'a FeedStateInNetwork),
    Network(&'a NetworkState),
}

impl<'a> ExportSource<'a> {
    fn find_by_id(state: &'a NetworkState, id: &str) -> Option<ExportSource<'a>> {
        let names_network = state.feeds.first().is_some_and(|feed| feed.id.as_str() == id);
        if names_network && state.feeds.len() > 1 {
            return Some(ExportSource::Network(state));
        }
        state.find_feed_slice(id).map(|feed| ExportSource::Feed(feed))
    }

    fn export_cache(&self) -> &'a ExportCache {
        match self {
            ExportSource::Feed(feed) => feed.cache.get_or_init(ExportCache::default),
            ExportSource::Network(state) => state.cache.get_or_init(ExportCache::default),
        }
    }

    fn feed_slices(&self) -> Vec<&'a FeedStateInNetwork> {
        match self {
            ExportSource::Feed(feed) => vec![feed],
            ExportSource::Network(state) => state.feeds.iter().map(|feed| &**feed).collect(),
        }
    }

    /// Returns true if another feed of the network has a better update for the trip of a record: a message contains one
    /// update per trip.
    fn is_superseded_elsewhere(&self, record: &Record) -> bool {
        match self {
            ExportSource::Feed(_) => false,
            ExportSource::Network(state) => {
                has_better_update_elsewhere(state, record, state.at.unix_seconds(), |_| true)
            }
        }
    }

    fn encode_export_message(&self, part: ExportedEntityKinds) -> EncodedExportMessage {
        let feeds: Vec<&FeedStateInNetwork> =
            self.feed_slices().into_iter().filter(|feed| feed.header.is_some()).collect();
        let timestamp = match (self, feeds.as_slice()) {
            (ExportSource::Network(state), [_, _, ..]) => state.timestamp,
            (_, feeds) => feeds.iter().map(|feed| feed.timestamp).max().unwrap_or(0),
        };
        let only = match feeds.as_slice() {
            [feed] => feed.header.as_ref(),
            _ => None,
        };
        let header = FeedHeader {
            gtfs_realtime_version: only.map_or("2.0", |it| &it.gtfs_realtime_version).to_owned(),
            incrementality: Some(Incrementality::FullDataset as i32),
            timestamp: Some(timestamp),
            feed_version: only.and_then(|header| header.feed_version.clone()),
        };
        // Ids are unique within a feed only; a message of several feeds prefixes them.
        let merged = feeds.len() > 1;
        let entities = feeds.iter().flat_map(|feed| {
            collect_encoded_entities(feed, part, |record| self.is_superseded_elsewhere(record))
                .into_iter()
                .map(|entity| match merged {
                    true => prefix_entity_id(&entity, feed.id.as_str()),
                    false => entity,
                })
        });
        EncodedExportMessage::new(encode_feed_message(&header, entities), timestamp)
    }
}

/// Returns the entities of a feed's part, each once, without superseded trip updates. An id used for two kinds gets a
/// prefix.
fn collect_encoded_entities(
    feed: &FeedStateInNetwork,
    part: ExportedEntityKinds,
    is_superseded: impl Fn(&Record) -> bool,
) -> Vec<Bytes> {
    let mut entities = Vec::new();
    let mut ids: HashSet<Vec<u8>> = HashSet::new();
    let mut collected: HashSet<*const u8> = HashSet::new();
    for &kind in part.record_kinds() {
        let Some(table) = feed.tables.for_kind(kind) else { continue };
        for record in table.records() {
            if part == ExportedEntityKinds::All && !collected.insert(record.raw.as_ptr()) {
                continue;
            }
            let is_dropped = kind == RecordKind::TripUpdate && is_superseded(record);
            let entity = match part {
                ExportedEntityKinds::All if is_dropped => {
                    copy_entity_without_fields(&record.raw, |number| number == TRIP_UPDATE)
                }
                _ if is_dropped => continue,
                ExportedEntityKinds::All => record.raw.clone(),
                _ => strip_other_payloads(record),
            };
            if is_dropped
                && !iter_protobuf_fields(&entity).any(|(number, _)| PAYLOADS.contains(&number))
            {
                continue;
            }
            let id = entity_id(&entity).to_vec();
            if ids.contains(&id) {
                let entity = prefix_entity_id(&entity, kind.as_str());
                ids.insert(entity_id(&entity).to_vec());
                entities.push(entity);
            } else {
                ids.insert(id);
                entities.push(entity);
            }
        }
    }
    if part == ExportedEntityKinds::All {
        entities.extend(feed.others.iter().cloned());
    }
    entities
}

/// Field numbers of a feed entity.
const ID: u32 = 1;
const PAYLOADS: std::ops::RangeInclusive<u32> = 3..=5;
const TRIP_UPDATE: u32 = 3;

/// Returns the entity without payloads of other kinds. Nearly all have one payload and are returned unchanged.
fn strip_other_payloads(record: &Arc<Record>) -> Bytes {
    let kept_fields = match record.kind {
        RecordKind::TripUpdate => TRIP_UPDATE,
        RecordKind::Vehicle => 4,
        _ => 5,
    };
    let is_other = |number: u32| PAYLOADS.contains(&number) && number != kept_fields;
    if !iter_protobuf_fields(&record.raw).any(|(number, _)| is_other(number)) {
        return record.raw.clone();
    }
    copy_entity_without_fields(&record.raw, is_other)
}

fn copy_entity_without_fields(entity: &[u8], is_dropped: impl Fn(u32) -> bool) -> Bytes {
    let retained = iter_protobuf_fields(entity).filter(|(number, _)| !is_dropped(*number));
    retained.flat_map(|(_, field)| field.iter().copied()).collect::<Vec<u8>>().into()
}

fn entity_id(entity: &[u8]) -> &[u8] {
    let field =
        iter_protobuf_fields(entity).find(|(number, _)| *number == ID).map(|(_, field)| field);
    let Some(mut value) = field.and_then(|field| field.get(1..)) else { return &[] };
    match prost::decode_length_delimiter(&mut value) {
        Ok(length) => value.get(..length).unwrap_or_default(),
        Err(_) => &[],
    }
}

/// Returns the entity with the id `<prefix>:<id>`.
fn prefix_entity_id(entity: &Bytes, prefix: &str) -> Bytes {
    let id = entity_id(entity);
    let length = prefix.len() + 1 + id.len();
    let mut out = Vec::with_capacity(entity.len() + prefix.len() + 4);
    out.push((ID << 3 | 2) as u8);
    prost::encode_length_delimiter(length, &mut out).expect("encoding into a Vec cannot fail");
    out.extend_from_slice(prefix.as_bytes());
    out.push(b':');
    out.extend_from_slice(id);
    for (_, field) in iter_protobuf_fields(entity).filter(|(number, _)| *number != ID) {
        out.extend_from_slice(field);
    }
    out.into()
}

/// Iterates over the fields of an encoded message and their bytes, keys included. The entities were decoded before, so
/// an unreadable field ends the iteration.
fn iter_protobuf_fields(message: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = message;
    std::iter::from_fn(move || {
        let start = rest;
        let (tag, wire_type) = prost::encoding::decode_key(&mut rest).ok()?;
        let context = prost::encoding::DecodeContext::default();
        prost::encoding::skip_field(wire_type, tag, &mut rest, context).ok()?;
        Some((tag, &start[..start.len() - rest.len()]))
    })
}

fn gtfs_rt_to_json(message: &Bytes) -> Vec<u8> {
    let mut out = Vec::new();
    let limits = FeedMessageLimits {
        body_bytes: usize::MAX,
        entity_bytes: usize::MAX,
        ..FeedMessageLimits::default()
    };
    if let Ok((shallow, _)) = split_feed_message(message.clone(), &limits) {
        let entities = shallow.entities.iter().filter_map(|raw| {
            let mut entity = raw.decode_entity().ok()?;
            remove_lineside_extensions(&mut entity);
            Some(entity)
        });
        write_feed_json(&mut out, &shallow.header, entities).expect("writing to a Vec cannot fail");
    }
    out
}
