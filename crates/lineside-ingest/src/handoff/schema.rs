//! The messages in the frames. They contain no URL, header or parameter of a source, so no secret.

use bytes::Bytes;
use prost::Message;

use crate::record::{RentalVehicle, Station};

/// The writer of the file and the time of writing.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeadProto {
    /// The program's version.
    #[prost(string, tag = "1")]
    pub(crate) program: String,
    /// Unix milliseconds.
    #[prost(int64, tag = "2")]
    pub(crate) at: i64,
}

/// A network at its last revision. Its feeds follow.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NetworkProto {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(uint64, tag = "2")]
    pub(crate) epoch: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) revision: u64,
    #[prost(int64, tag = "4")]
    pub(crate) at: i64,
    #[prost(int64, tag = "5")]
    pub(crate) board_at: i64,
    #[prost(uint64, tag = "6")]
    pub(crate) timestamp: u64,
    /// The time at which the schedule's bytes were fetched, if there is a schedule.
    #[prost(int64, optional, tag = "7")]
    pub(crate) dataset_at: Option<i64>,
    /// Digest of every record as published to subscribers.
    #[prost(bytes = "bytes", tag = "8")]
    pub(crate) digest: Bytes,
}

/// A feed of the preceding network. Its snapshot and chunks follow.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FeedProto {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) state: String,
    #[prost(string, tag = "3")]
    pub(crate) reason: String,
    #[prost(int64, tag = "4")]
    pub(crate) since: i64,
    /// The header of the last message.
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub(crate) header: Option<Bytes>,
    #[prost(uint64, tag = "6")]
    pub(crate) timestamp: u64,
    #[prost(int64, tag = "7")]
    pub(crate) message_time: i64,
    #[prost(int64, optional, tag = "8")]
    pub(crate) last_success: Option<i64>,
    #[prost(int64, optional, tag = "9")]
    pub(crate) data_time: Option<i64>,
    #[prost(uint64, tag = "10")]
    pub(crate) entities: u64,
    /// The detected format.
    #[prost(string, optional, tag = "11")]
    pub(crate) format: Option<String>,
    /// Metadata of the last good bytes, which are a frame of their own.
    #[prost(message, optional, tag = "12")]
    pub(crate) snapshot: Option<SnapshotProto>,
    #[prost(string, optional, tag = "13")]
    pub(crate) state_before_pause: Option<String>,
    /// The time since which the data are unreliable.
    #[prost(int64, optional, tag = "14")]
    pub(crate) unreliable_since: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotProto {
    #[prost(string, tag = "1")]
    pub(crate) format: String,
    #[prost(string, tag = "2")]
    pub(crate) content_type: String,
    #[prost(string, tag = "3")]
    pub(crate) file_name: String,
    #[prost(int64, tag = "4")]
    pub(crate) fetched_at: i64,
    #[prost(int64, optional, tag = "5")]
    pub(crate) last_modified: Option<i64>,
}

/// Some of a feed's records, entity slots and other entities.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FeedChunkProto {
    #[prost(message, repeated, tag = "1")]
    pub(crate) items: Vec<RecordProto>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) slots: Vec<EntitySlotProto>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) others: Vec<OtherEntityProto>,
}

/// A record.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RecordProto {
    #[prost(uint32, tag = "1")]
    pub(crate) kind: u32,
    #[prost(string, tag = "2")]
    pub(crate) id: String,
    /// The entity's bytes; absent if they are those of the preceding record.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) raw: Option<Bytes>,
    /// The encoded protobuf message.
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) body: Bytes,
    #[prost(message, optional, tag = "5")]
    pub(crate) join: Option<TimetableJoinProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimetableJoinProto {
    #[prost(string, optional, tag = "1")]
    pub(crate) route_id: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(crate) route_short_name: Option<String>,
    #[prost(uint32, optional, tag = "3")]
    pub(crate) route_color: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    pub(crate) route_text_color: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub(crate) route_type: Option<u32>,
    #[prost(string, optional, tag = "6")]
    pub(crate) headsign: Option<String>,
    #[prost(int32, optional, tag = "7")]
    pub(crate) delay: Option<i32>,
    #[prost(string, optional, tag = "8")]
    pub(crate) next_stop_id: Option<String>,
    #[prost(string, optional, tag = "9")]
    pub(crate) next_stop_name: Option<String>,
    #[prost(uint32, optional, tag = "10")]
    pub(crate) direction_id: Option<u32>,
}

/// A station or a vehicle of a GBFS system.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GbfsRecordProto {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub(crate) information: Option<Bytes>,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(crate) status: Option<Bytes>,
    #[prost(double, optional, tag = "3")]
    pub(crate) lat: Option<f64>,
    #[prost(double, optional, tag = "4")]
    pub(crate) lon: Option<f64>,
    #[prost(uint32, tag = "5")]
    pub(crate) available: u32,
}

impl GbfsRecordProto {
    pub(crate) fn from_station(station: &Station) -> GbfsRecordProto {
        let (lat, lon) = station.coordinates.unzip();
        let (information, status) = (station.information.clone(), station.status.clone());
        GbfsRecordProto { information, status, lat, lon, available: station.available }
    }

    pub(crate) fn from_rental_vehicle(vehicle: &RentalVehicle) -> GbfsRecordProto {
        let (lat, lon) = vehicle.coordinates.unzip();
        let available = u32::from(vehicle.is_available);
        GbfsRecordProto {
            information: None,
            status: Some(vehicle.json.clone()),
            lat,
            lon,
            available,
        }
    }

    pub(crate) fn into_station(self) -> Station {
        let coordinates = self.lat.zip(self.lon);
        let GbfsRecordProto { information, status, available, .. } = self;
        Station { information, status, coordinates, available }
    }

    /// Converts to a vehicle; `None` without a status.
    pub(crate) fn into_rental_vehicle(self) -> Option<RentalVehicle> {
        let coordinates = self.lat.zip(self.lon);
        Some(RentalVehicle { json: self.status?, coordinates, is_available: self.available > 0 })
    }
}

/// An entity by its id, with the numbers of its records.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EntitySlotProto {
    #[prost(uint32, tag = "1")]
    pub(crate) group: u32,
    #[prost(string, tag = "2")]
    pub(crate) id: String,
    #[prost(fixed64, tag = "3")]
    pub(crate) hash: u64,
    #[prost(uint32, repeated, tag = "4")]
    pub(crate) items: Vec<u32>,
}

/// An entity without records.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OtherEntityProto {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(fixed64, tag = "2")]
    pub(crate) hash: u64,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) raw: Bytes,
}

/// A channel's log.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ChannelLogProto {
    #[prost(string, tag = "1")]
    pub(crate) channel: String,
    #[prost(uint64, tag = "2")]
    pub(crate) epoch: u64,
    #[prost(uint64, tag = "3")]
    pub(crate) floor: u64,
    #[prost(uint64, tag = "5")]
    pub(crate) state_bytes: u64,
    #[prost(message, repeated, tag = "4")]
    pub(crate) publications: Vec<PublicationProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PublicationProto {
    #[prost(uint64, tag = "1")]
    pub(crate) offset: u64,
    /// Nanoseconds.
    #[prost(uint64, tag = "2")]
    pub(crate) age: u64,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) data: Bytes,
    #[prost(message, optional, tag = "4")]
    pub(crate) publisher: Option<MemberProto>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) tags: Vec<TagProto>,
    #[prost(bool, tag = "6")]
    pub(crate) skip_history: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MemberProto {
    #[prost(string, tag = "1")]
    pub(crate) client: String,
    #[prost(string, tag = "2")]
    pub(crate) user: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) connection_info: Bytes,
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) channel_info: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TagProto {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}
