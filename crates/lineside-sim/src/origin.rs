//! The city as a producer of feeds: what it answers to a request for each of them, well or faulty.
//!
//! HTTP is the caller's: this knows statuses, headers and bytes, and no sockets. A fault changes the answer and
//! nothing else, so once it is over everything is as if it had never been.

use std::io::Cursor;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use lineside_formats::gtfs_rt::proto;
use lineside_sync::UnixMillis;
use parking_lot::Mutex;
use prost::Message as _;
use xxhash_rust::xxh3::xxh3_64;

use crate::city::City;
use crate::faults::{Fault, FaultPlan, Faults};
use crate::gtfs::{FOREIGN, Variant};

/// A feed with old timestamps is so many seconds old.
const SKEW_SECONDS: i64 = 40 * 60;
/// An old schedule is so many days old: it has no service any more.
const SKEW_DAYS: i32 = 420;
/// Alerts are written anew this often; positions and predictions every second.
const ALERTS_EVERY: i64 = 15;

/// The feeds of the city.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FeedId {
    /// The schedule, a GTFS zip.
    City,
    /// Vehicle positions.
    Vehicles,
    /// Trip updates.
    Trips,
    /// Alerts.
    Alerts,
}

impl FeedId {
    /// All of them, the schedule first.
    pub const ALL: [Self; 4] = [Self::City, Self::Vehicles, Self::Trips, Self::Alerts];

    /// Its id in configurations, channels and faults.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::City => "city",
            Self::Vehicles => "city-vehicles",
            Self::Trips => "city-trips",
            Self::Alerts => "city-alerts",
        }
    }

    /// The feed with an id.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feed| feed.as_str() == id)
    }

    /// The name of its file, for a URL to end with.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::City => "gtfs.zip",
            Self::Vehicles => "vehicle-positions.pb",
            Self::Trips => "trip-updates.pb",
            Self::Alerts => "alerts.pb",
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::City => "application/zip",
            _ => "application/x-protobuf",
        }
    }
}

/// What is answered to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// What follows them.
    pub body: Body,
}

/// The body of a [`Reply`].
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// These bytes, perhaps none.
    Bytes(Bytes),
    /// Nothing is ever sent, not even the head; the connection stays open.
    Hang,
}

/// A feed's bytes with their validators.
#[derive(Clone, Debug)]
struct Edition {
    bytes: Bytes,
    etag: String,
    modified: Timestamp,
}

/// Answers requests for a city's feeds.
#[derive(Debug)]
pub struct Origin {
    city: Arc<City>,
    faults: Faults,
    /// The schedule as it is, old, and with ids of its own; each made when first asked for.
    schedules: [OnceLock<Edition>; 3],
    latest: Mutex<[Option<Latest>; FeedId::ALL.len()]>,
}

/// The last edition of a real-time feed, with what it was made for.
#[derive(Debug)]
struct Latest {
    seconds: i64,
    fault: Option<Fault>,
    edition: Edition,
}

impl Origin {
    /// An origin whose scripted faults count from the city's start.
    #[must_use]
    pub fn new(city: Arc<City>, plan: FaultPlan) -> Self {
        let faults = Faults::new(city.start(), plan);
        Self { city, faults, schedules: Default::default(), latest: Mutex::default() }
    }

    /// The city behind it.
    #[must_use]
    pub fn city(&self) -> &Arc<City> {
        &self.city
    }

    /// The faults, to be looked at and switched.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Answers a GET for a feed, given the request's conditional headers.
    ///
    /// Takes a few milliseconds for a real-time feed that nobody has asked for in this second, and up to seconds for
    /// the first request of the schedule of a large city.
    #[must_use]
    pub fn respond(
        &self,
        feed: FeedId,
        now: UnixMillis,
        if_none_match: Option<&str>,
        if_modified_since: Option<&str>,
    ) -> Reply {
        let fault = self.faults.active(feed, now);
        match fault {
            Some(Fault::Hang) => Reply { status: 200, headers: Vec::new(), body: Body::Hang },
            Some(Fault::Http500) => {
                plain(500, "text/plain", Bytes::from_static(b"internal server error\n"))
            }
            Some(Fault::Html) => {
                plain(200, "text/html; charset=utf-8", Bytes::from_static(MAINTENANCE))
            }
            Some(Fault::Empty) => plain(200, feed.content_type(), Bytes::new()),
            Some(Fault::Truncate) => {
                let bytes = self.edition(feed, now, None).bytes;
                plain(200, feed.content_type(), bytes.slice(..bytes.len() * 3 / 5))
            }
            None | Some(Fault::Skew | Fault::Ids) => {
                conditional(feed, self.edition(feed, now, fault), if_none_match, if_modified_since)
            }
        }
    }

    fn edition(&self, feed: FeedId, now: UnixMillis, fault: Option<Fault>) -> Edition {
        if feed == FeedId::City {
            return self.schedule(fault);
        }
        let every = if feed == FeedId::Alerts { ALERTS_EVERY } else { 1 };
        let seconds = now.seconds().div_euclid(every) * every;
        let mut latest = self.latest.lock();
        if let Some(last) = &latest[feed as usize]
            && (last.seconds, last.fault) == (seconds, fault)
        {
            return last.edition.clone();
        }
        let edition = self.real_time(feed, seconds, fault);
        latest[feed as usize] = Some(Latest { seconds, fault, edition: edition.clone() });
        edition
    }

    fn schedule(&self, fault: Option<Fault>) -> Edition {
        let (place, variant) = match fault {
            Some(Fault::Skew) => (1, Variant { days_old: SKEW_DAYS, foreign_ids: false }),
            Some(Fault::Ids) => (2, Variant { days_old: 0, foreign_ids: true }),
            _ => (0, Variant::default()),
        };
        let make = || {
            let written = self.city.write_gtfs_variant(Cursor::new(Vec::new()), variant);
            let bytes = written
                .expect("memory takes every write and the zip stays below its limits")
                .into_inner();
            let age = i64::from(variant.days_old) * 86_400;
            edition(bytes.into(), self.city.start().seconds() - age)
        };
        self.schedules[place].get_or_init(make).clone()
    }

    fn real_time(&self, feed: FeedId, seconds: i64, fault: Option<Fault>) -> Edition {
        let seconds = if fault == Some(Fault::Skew) { seconds - SKEW_SECONDS } else { seconds };
        let at = UnixMillis::from_seconds(seconds);
        let mut message = match feed {
            FeedId::Vehicles | FeedId::City => self.city.vehicle_positions(at),
            FeedId::Trips => self.city.trip_updates(at),
            FeedId::Alerts => self.city.alerts(at),
        };
        if fault == Some(Fault::Ids) {
            make_foreign(&mut message);
        }
        edition(message.encode_to_vec().into(), seconds)
    }
}

fn edition(bytes: Bytes, modified: i64) -> Edition {
    let etag = format!("\"{:016x}\"", xxh3_64(&bytes));
    Edition { bytes, etag, modified: Timestamp::from_second(modified).unwrap_or_default() }
}

fn plain(status: u16, content_type: &str, bytes: Bytes) -> Reply {
    Reply {
        status,
        headers: vec![("content-type", content_type.to_owned())],
        body: Body::Bytes(bytes),
    }
}

/// 304 where the client has this edition already (RFC 9110: If-None-Match decides alone where it is given).
fn conditional(
    feed: FeedId,
    edition: Edition,
    if_none_match: Option<&str>,
    if_modified_since: Option<&str>,
) -> Reply {
    let known = match (if_none_match, if_modified_since) {
        (Some(tags), _) => tags.split(',').any(|tag| {
            let tag = tag.trim();
            tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == edition.etag
        }),
        (None, Some(date)) => {
            DateTimeParser::new().parse_timestamp(date).is_ok_and(|since| edition.modified <= since)
        }
        (None, None) => false,
    };
    let mut headers = vec![("etag", edition.etag), ("cache-control", "no-cache".to_owned())];
    // A timestamp between the years 1 and 9999 always has an HTTP date.
    if let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&edition.modified) {
        headers.push(("last-modified", date));
    }
    if known {
        return Reply { status: 304, headers, body: Body::Bytes(Bytes::new()) };
    }
    headers.push(("content-type", feed.content_type().to_owned()));
    Reply { status: 200, headers, body: Body::Bytes(edition.bytes) }
}

/// Gives every trip, route and stop an id that the schedule does not have.
fn make_foreign(message: &mut proto::FeedMessage) {
    let foreign = |id: &mut Option<String>| {
        if let Some(id) = id {
            id.insert_str(0, FOREIGN);
        }
    };
    let trip = |trip: &mut proto::TripDescriptor| {
        foreign(&mut trip.trip_id);
        foreign(&mut trip.route_id);
    };
    for entity in &mut message.entity {
        if let Some(vehicle) = &mut entity.vehicle {
            vehicle.trip.as_mut().map(trip);
            foreign(&mut vehicle.stop_id);
        }
        if let Some(update) = &mut entity.trip_update {
            trip(&mut update.trip);
            update.stop_time_update.iter_mut().for_each(|update| foreign(&mut update.stop_id));
        }
        for selector in entity.alert.iter_mut().flat_map(|alert| &mut alert.informed_entity) {
            foreign(&mut selector.route_id);
            foreign(&mut selector.stop_id);
            selector.trip.as_mut().map(trip);
        }
    }
}

const MAINTENANCE: &[u8] = b"<!doctype html>\n<html lang=\"en\"><head><title>Maintenance</title></head>\n\
    <body><h1>We will be back soon</h1><p>Our data service is being maintained.</p></body></html>\n";
