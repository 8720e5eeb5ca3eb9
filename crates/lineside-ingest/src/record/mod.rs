//! Records: one normalized thing of one feed, with what the timetable adds to it.
//!
//! A record never changes; a change is another record under the same key. Its JSON is made when somebody first needs
//! it and then shared by all channels that carry it.

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
pub(crate) use encode::encode_removal;
pub(crate) use gbfs_records::Place;
pub use gbfs_records::{RentalVehicle, Station};
pub(crate) use join::HexColor;
pub use join::TimetableJoin;
pub use removal_reason::RemovalReason;

use crate::{
    config::FeedId,
    status::{FeedState, FeedStatus},
};

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// Where a vehicle is.
    Vehicle,
    /// How a trip runs.
    TripUpdate,
    /// Something to tell passengers.
    Alert,
    /// A departure from a stop.
    Departure,
    /// The schedule in use.
    Dataset,
    /// How a feed is doing.
    Feed,
    /// A station of a GBFS system.
    Station,
}

impl RecordKind {
    /// The word for it in messages.
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

/// What a record says: the specification's own message where there is one.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "most records are vehicles; a box would cost each an allocation"
)]
pub enum RecordBody {
    /// GTFS-Realtime, `start_date` filled in where the feed leaves it out.
    Vehicle(proto::VehiclePosition),
    /// GTFS-Realtime, `start_date` filled in where the feed leaves it out.
    TripUpdate(Box<proto::TripUpdate>),
    /// GTFS-Realtime.
    Alert(Box<proto::Alert>),
    /// A departure.
    Departure(Box<Departure>),
    /// A schedule.
    Dataset(Box<DatasetRecord>),
    /// A feed's state.
    Feed(Box<FeedRecord>),
    /// A station of a GBFS system.
    Station(Box<Station>),
    /// A vehicle of a GBFS system: of the kind of vehicles too.
    RentalVehicle(Box<RentalVehicle>),
}

/// The state of a feed, as every state of a channel holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedRecord {
    /// The state.
    pub state: FeedState,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: UnixMillis,
    /// The state before an admin paused the feed; `None` unless it is paused.
    pub state_before_pause: Option<FeedState>,
    /// Since when people have had no reliable live data; `None` while they are reliable.
    pub unreliable_since: Option<UnixMillis>,
}

impl FeedRecord {
    /// What a status says to subscribers.
    pub(crate) fn from_status(status: &FeedStatus) -> FeedRecord {
        FeedRecord {
            state: status.state,
            reason: status.reason.clone(),
            since: status.since,
            state_before_pause: status.state_before_pause,
            unreliable_since: status.unreliable_since,
        }
    }
}

/// The schedule that a network is joined with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetRecord {
    /// Hash of its bytes, in hexadecimal.
    pub version: SmolStr,
    /// `feed_version`.
    pub feed_version: Option<String>,
    /// First and last service date.
    pub service: Option<(jiff::civil::Date, jiff::civil::Date)>,
    /// Its number of stops.
    pub stops: usize,
    /// Its number of routes.
    pub routes: usize,
    /// Its number of trips.
    pub trips: usize,
}

/// One normalized thing of one feed.
#[derive(Debug)]
pub struct Record {
    /// The feed that says it.
    pub feed: FeedId,
    /// What it is about.
    pub kind: RecordKind,
    /// Its id among the feed's records of that kind (docs/protocol/messages.md).
    pub id: SmolStr,
    /// The GTFS-Realtime entity that it came in, extensions and all; empty for records that Lineside makes.
    pub raw: Bytes,
    /// What it says.
    pub body: RecordBody,
    /// What the timetable adds.
    pub join: TimetableJoin,
    /// Its number among all records of this process, from 1. A later record of the same thing has a higher one.
    pub(crate) number: u64,
    /// Upper bound of its bytes in a message.
    bytes_max: usize,
    encoded: OnceLock<EncodedRecord>,
}

#[derive(Debug)]
struct EncodedRecord {
    upsert: Bytes,
    json: Bytes,
}

impl Record {
    /// A record; nothing is encoded yet.
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
        let bytes_max = size::upsert_bytes_max(&feed, &id, &body, &join);
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Relaxed) + 1;
        Record { feed, kind, id, raw, body, join, number, bytes_max, encoded: OnceLock::new() }
    }

    /// A record that the feed did not send: its state, a departure, a dataset.
    pub(crate) fn new_local(feed: FeedId, id: SmolStr, body: RecordBody) -> Record {
        Record::new(feed, id, Bytes::new(), body, TimetableJoin::default())
    }

    /// The record as JSON: the body's own fields, then `lineside`. Made once.
    pub fn json(&self) -> &Bytes {
        &self.encode_once().json
    }

    /// The change that brings this record, as JSON. Made once.
    pub(crate) fn upsert_json(&self) -> &Bytes {
        &self.encode_once().upsert
    }

    fn encode_once(&self) -> &EncodedRecord {
        self.encoded.get_or_init(|| {
            let (mut upsert, json) = encode::encode_upsert(self);
            upsert.shrink_to_fit();
            let upsert = Bytes::from(upsert);
            let json = upsert.slice(json);
            EncodedRecord { upsert, json }
        })
    }

    /// Upper bound of the bytes that its upsert takes in a message, known without encoding it.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Whether both say the same, whatever bytes they came in.
    pub(crate) fn content_eq(&self, other: &Record) -> bool {
        self.join == other.join && self.body == other.body
    }

    /// The vehicle's position message, if this is one.
    pub fn vehicle(&self) -> Option<&proto::VehiclePosition> {
        match &self.body {
            RecordBody::Vehicle(vehicle) => Some(vehicle),
            _ => None,
        }
    }

    /// The trip update, if this is one.
    pub fn trip_update(&self) -> Option<&proto::TripUpdate> {
        match &self.body {
            RecordBody::TripUpdate(update) => Some(update),
            _ => None,
        }
    }

    /// The alert, if this is one.
    pub fn alert(&self) -> Option<&proto::Alert> {
        match &self.body {
            RecordBody::Alert(alert) => Some(alert),
            _ => None,
        }
    }

    /// The station, if this is one.
    pub fn station(&self) -> Option<&Station> {
        match &self.body {
            RecordBody::Station(station) => Some(station),
            _ => None,
        }
    }

    /// The vehicle of a GBFS system, if this is one.
    pub fn rental_vehicle(&self) -> Option<&RentalVehicle> {
        match &self.body {
            RecordBody::RentalVehicle(vehicle) => Some(vehicle),
            _ => None,
        }
    }

    /// The trip that the record speaks of.
    pub fn trip_descriptor(&self) -> Option<&proto::TripDescriptor> {
        match &self.body {
            RecordBody::Vehicle(vehicle) => vehicle.trip.as_ref(),
            RecordBody::TripUpdate(update) => Some(&update.trip),
            _ => None,
        }
    }

    /// Latitude and longitude in degrees, where a vehicle or a station has a position. One that cannot be right was a
    /// problem of its entity and is not here.
    pub fn position(&self) -> Option<(f64, f64)> {
        match &self.body {
            RecordBody::Station(station) => return station.place,
            RecordBody::RentalVehicle(vehicle) => return vehicle.place,
            _ => {}
        }
        let position = self.vehicle()?.position.as_ref()?;
        Some((f64::from(position.latitude), f64::from(position.longitude)))
    }

    /// The trip ids that the record is about; an alert may name several.
    pub(crate) fn trip_ids(&self) -> impl Iterator<Item = &str> {
        let own = self.trip_descriptor().and_then(|trip| trip.trip_id.as_deref());
        let informed =
            self.informed_entities().filter_map(|entity| entity.trip.as_ref()?.trip_id.as_deref());
        own.into_iter().chain(informed).filter(|id| !id.is_empty())
    }

    /// The route ids that the record is about; an alert may name several, also twice.
    pub(crate) fn route_ids(&self) -> impl Iterator<Item = &str> {
        let own = self.join.route_id.as_deref();
        let informed = self.informed_entities().filter_map(|entity| {
            let of_trip = entity.trip.as_ref().and_then(|trip| trip.route_id.as_deref());
            entity.route_id.as_deref().or(of_trip)
        });
        own.into_iter().chain(informed).filter(|id| !id.is_empty())
    }

    fn informed_entities(&self) -> impl Iterator<Item = &proto::EntitySelector> {
        self.alert().into_iter().flat_map(|alert| &alert.informed_entity)
    }
}

/// A time as messages write it.
pub(crate) fn format_rfc3339(at: UnixMillis) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(timestamp) => timestamp.to_string(),
        Err(_) => Timestamp::UNIX_EPOCH.to_string(),
    }
}

impl Serialize for FeedRecord {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut record = serializer.serialize_struct("FeedRecord", 5)?;
        record.serialize_field("state", self.state.as_str())?;
        record.serialize_field("reason", &self.reason)?;
        record.serialize_field("since", &format_rfc3339(self.since))?;
        match self.state_before_pause {
            Some(state) => record.serialize_field("state_before_pause", state.as_str())?,
            None => record.skip_field("state_before_pause")?,
        }
        match self.unreliable_since {
            Some(at) => record.serialize_field("unreliable_since", &format_rfc3339(at))?,
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
