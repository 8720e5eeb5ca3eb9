//! Records: normalized items of feeds, with the timetable's additions.
//!
//! A record is immutable; a change is another record under the same key. Its JSON is encoded on first use and then
//! shared by all channels with the record.

mod departure;
mod encode;
mod join;
mod size;
mod gbfs_records;
mod removal_reason;

use std::sync::{
    OnceLock,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use bytes::Bytes;
use jiff::Timestamp;
use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use serde::Serialize;
use smol_str::SmolStr;

pub use departure::{Departure, DepartureStatus};
pub use encode::append_removal_json;
pub use gbfs_records::Coordinates;
pub use gbfs_records::{RentalVehicle, Station};
pub use join::HexColor;
pub use join::TimetableJoin;
pub use removal_reason::RemovalReason;

use crate::{
    feed_id::FeedId,
    status::{FeedState, FeedStatus},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// The position of a vehicle.
    Vehicle,
    /// The realtime data of a trip.
    TripUpdate,
    /// An alert for passengers.
    Alert,
    /// A departure from a stop.
    Departure,
    /// The schedule in use.
    Dataset,
    /// The status of a feed.
    Feed,
    /// A station of a GBFS system.
    Station,
}

impl RecordKind {
    /// Returns the name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            RecordKind::Vehicle => "vehicle",
            RecordKind::TripUpdate => "trip_update",
            RecordKind::Alert => "alert",
            RecordKind::Departure => "departure",
            RecordKind::Dataset => "dataset",
            RecordKind::Feed => "feed",
            RecordKind::Station => "station",
        }
    }
}

/// The content of a record: a protobuf message of the specification if there is one.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "most records are vehicles; boxing them would cost an allocation each"
)]
pub enum RecordBody {
    /// A GTFS-Realtime vehicle, with `start_date` filled in if missing.
    Vehicle(proto::VehiclePosition),
    /// A GTFS-Realtime trip update, with `start_date` filled in if missing.
    TripUpdate(Box<proto::TripUpdate>),
    /// A GTFS-Realtime alert.
    Alert(Box<proto::Alert>),
    Departure(Box<Departure>),
    /// A schedule.
    Dataset(Box<DatasetRecord>),
    /// A feed's status.
    Feed(Box<FeedStatusRecord>),
    /// A station of a GBFS system.
    Station(Box<Station>),
    /// A vehicle of a GBFS system; its kind is [`RecordKind::Vehicle`] too.
    RentalVehicle(Box<RentalVehicle>),
}

/// The status of a feed, which every state of a channel contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedStatusRecord {
    pub state: FeedState,
    /// The reason for the state.
    pub reason: String,
    /// The time at which the state began.
    pub since: UnixMillis,
    /// The state before an admin paused the feed; `None` unless it is paused.
    pub state_before_pause: Option<FeedState>,
    /// The time since which passengers have had no reliable live data; `None` while they are reliable.
    pub unreliable_since: Option<UnixMillis>,
}

impl FeedStatusRecord {
    /// Returns the part of a status that subscribers receive.
    pub fn from_status(status: &FeedStatus) -> FeedStatusRecord {
        FeedStatusRecord {
            state: status.state,
            reason: status.reason.clone(),
            since: status.since,
            state_before_pause: status.state_before_pause,
            unreliable_since: status.unreliable_since,
        }
    }
}

/// The schedule with which a network is joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetRecord {
    /// Hash of the bytes, in hexadecimal.
    pub version: SmolStr,
    /// GTFS `feed_version`.
    pub feed_version: Option<String>,
    /// First and last service date.
    pub service: Option<(jiff::civil::Date, jiff::civil::Date)>,
    /// The number of stops.
    pub stops: usize,
    /// The number of routes.
    pub routes: usize,
    /// The number of trips.
    pub trips: usize,
}

/// A normalized item of a feed.
#[derive(Debug)]
pub struct Record {
    pub feed: FeedId,
    pub kind: RecordKind,
    /// The id, unique among the feed's records of the kind (docs/protocol/messages.md).
    pub id: SmolStr,
    /// The original GTFS-Realtime entity with its extensions; empty for records that Lineside makes.
    pub raw: Bytes,
    /// The content.
    pub body: RecordBody,
    /// The timetable's additions.
    pub join: TimetableJoin,
    /// The number among all records of this process, from 1. A later version of a record has a higher one.
    pub number: u64,
    /// Upper bound of the size in a message, in bytes.
    bytes_max: usize,
    encoded: OnceLock<EncodedRecordJson>,
}

#[derive(Debug)]
struct EncodedRecordJson {
    upsert: Bytes,
    json: Bytes,
}

impl Record {
    /// Creates a record without encoding it.
    pub fn new(
        feed: FeedId,
        id: SmolStr,
        raw: Bytes,
        body: RecordBody,
        join: TimetableJoin,
    ) -> Record {
        let kind = match &body {
            RecordBody::Vehicle(_) => RecordKind::Vehicle,
            RecordBody::TripUpdate(_) => RecordKind::TripUpdate,
            RecordBody::Alert(_) => RecordKind::Alert,
            RecordBody::Departure(_) => RecordKind::Departure,
            RecordBody::Dataset(_) => RecordKind::Dataset,
            RecordBody::Feed(_) => RecordKind::Feed,
            RecordBody::Station(_) => RecordKind::Station,
            RecordBody::RentalVehicle(_) => RecordKind::Vehicle,
        };
        let bytes_max = size::upsert_json_bytes_max(&feed, &id, &body, &join);
        static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = LAST_NUMBER.fetch_add(1, Relaxed) + 1;
        Record { feed, kind, id, raw, body, join, number, bytes_max, encoded: OnceLock::new() }
    }

    /// Creates a record that the feed did not send: a status, a departure or a dataset.
    pub fn new_without_source(feed: FeedId, id: SmolStr, body: RecordBody) -> Record {
        Record::new(feed, id, Bytes::new(), body, TimetableJoin::default())
    }

    /// Returns the record as JSON: the body's own fields, then `lineside`. Encoded once.
    pub fn json(&self) -> &Bytes {
        &self.encode_json_once().json
    }

    /// Returns the upsert of this record as JSON. Encoded once.
    pub fn upsert_json(&self) -> &Bytes {
        &self.encode_json_once().upsert
    }

    fn encode_json_once(&self) -> &EncodedRecordJson {
        self.encoded.get_or_init(|| {
            let (mut upsert, json) = encode::encode_upsert_json(self);
            upsert.shrink_to_fit();
            let upsert = Bytes::from(upsert);
            let json = upsert.slice(json);
            EncodedRecordJson { upsert, json }
        })
    }

    /// Returns an upper bound of the upsert's size in a message, in bytes, without encoding it.
    pub fn upsert_json_bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns true if both have the same content, whatever the original bytes.
    pub fn has_same_content(&self, other: &Record) -> bool {
        self.join == other.join && self.body == other.body
    }

    /// Returns the vehicle position message, if this is one.
    pub fn vehicle(&self) -> Option<&proto::VehiclePosition> {
        match &self.body {
            RecordBody::Vehicle(vehicle) => Some(vehicle),
            _ => None,
        }
    }

    pub fn trip_update(&self) -> Option<&proto::TripUpdate> {
        match &self.body {
            RecordBody::TripUpdate(update) => Some(update),
            _ => None,
        }
    }

    pub fn alert(&self) -> Option<&proto::Alert> {
        match &self.body {
            RecordBody::Alert(alert) => Some(alert),
            _ => None,
        }
    }

    pub fn station(&self) -> Option<&Station> {
        match &self.body {
            RecordBody::Station(station) => Some(station),
            _ => None,
        }
    }

    /// Returns the vehicle of a GBFS system, if this is one.
    pub fn rental_vehicle(&self) -> Option<&RentalVehicle> {
        match &self.body {
            RecordBody::RentalVehicle(vehicle) => Some(vehicle),
            _ => None,
        }
    }

    /// Returns the trip of a vehicle or trip update.
    pub fn trip_descriptor(&self) -> Option<&proto::TripDescriptor> {
        match &self.body {
            RecordBody::Vehicle(vehicle) => vehicle.trip.as_ref(),
            RecordBody::TripUpdate(update) => Some(&update.trip),
            _ => None,
        }
    }

    /// Returns latitude and longitude in degrees, if a vehicle or a station has a position. An impossible one was
    /// removed as a problem of the entity.
    pub fn position(&self) -> Option<(f64, f64)> {
        match &self.body {
            RecordBody::Station(station) => return station.coordinates,
            RecordBody::RentalVehicle(vehicle) => return vehicle.coordinates,
            _ => {}
        }
        let position = self.vehicle()?.position.as_ref()?;
        Some((f64::from(position.latitude), f64::from(position.longitude)))
    }

    /// Returns the trip ids of the record; an alert may name several.
    pub fn trip_ids(&self) -> impl Iterator<Item = &str> {
        let own = self.trip_descriptor().and_then(|trip| trip.trip_id.as_deref());
        let informed =
            self.informed_entities().filter_map(|entity| entity.trip.as_ref()?.trip_id.as_deref());
        own.into_iter().chain(informed).filter(|id| !id.is_empty())
    }

    /// Returns the route ids of the record; an alert may name several, also repeatedly.
    pub fn route_ids(&self) -> impl Iterator<Item = &str> {
        let own = self.join.route_id.as_deref();
        let informed = self.informed_entities().filter_map(|entity| {
            let trip_route = entity.trip.as_ref().and_then(|trip| trip.route_id.as_deref());
            entity.route_id.as_deref().or(trip_route)
        });
        own.into_iter().chain(informed).filter(|id| !id.is_empty())
    }

    fn informed_entities(&self) -> impl Iterator<Item = &proto::EntitySelector> {
        self.alert().into_iter().flat_map(|alert| &alert.informed_entity)
    }
}

/// Formats a time as in messages.
pub fn format_rfc3339_utc(at: UnixMillis) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(timestamp) => timestamp.to_string(),
        Err(_) => Timestamp::UNIX_EPOCH.to_string(),
    }
}

impl Serialize for FeedStatusRecord {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut record = serializer.serialize_struct("FeedRecord", 5)?;
        record.serialize_field("state", self.state.as_str())?;
        record.serialize_field("reason", &self.reason)?;
        record.serialize_field("since", &format_rfc3339_utc(self.since))?;
        match self.state_before_pause {
            Some(state) => record.serialize_field("state_before_pause", state.as_str())?,
            None => record.skip_field("state_before_pause")?,
        }
        match self.unreliable_since {
            Some(at) => record.serialize_field("unreliable_since", &format_rfc3339_utc(at))?,
            None => record.skip_field("unreliable_since")?,
        }
        record.end()
    }
}

impl Serialize for DatasetRecord {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut record = serializer.serialize_struct("DatasetRecord", 7)?;
        record.serialize_field("version", &self.version)?;
        record.serialize_field("feed_version", &self.feed_version)?;
        record
            .serialize_field("service_start", &self.service.map(|(first, _)| first.to_string()))?;
        record.serialize_field("service_end", &self.service.map(|(_, last)| last.to_string()))?;
        record.serialize_field("stops", &self.stops)?;
        record.serialize_field("routes", &self.routes)?;
        record.serialize_field("trips", &self.trips)?;
        record.end()
    }
}

/// Returns a feed's status as a record.
pub fn build_feed_status_record(feed: &FeedId, record: FeedStatusRecord) -> Record {
    Record::new_without_source(
        feed.clone(),
        SmolStr::new(feed.as_str()),
        RecordBody::Feed(Box::new(record)),
    )
}

/// Returns the status of a feed that has not been polled yet.
pub fn build_unpolled_feed_record(feed: &FeedId, now: UnixMillis) -> Record {
    let reason = "has not been polled yet".to_owned();
    let state = FeedState::Unknown;
    let record = FeedStatusRecord {
        state,
        reason,
        since: now,
        state_before_pause: None,
        unreliable_since: None,
    };
    build_feed_status_record(feed, record)
}
