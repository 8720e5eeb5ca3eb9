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

use crate::bikes::BikesFile;
use crate::city::City;
use crate::faults::{Fault, FaultPlan, Faults};
use crate::gtfs::{FOREIGN, Variant};
use crate::siri::{self, Delivery, Scene, Service, Subscriptions};

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
    /// Bikes to share, GBFS 3.0.
    Bikes,
    /// The same schedule once more, for those who tell of it in SIRI.
    Twin,
    /// What the trip updates say, as estimated timetables of SIRI.
    TwinTimetables,
    /// The vehicle positions as vehicle monitoring of SIRI.
    TwinVehicles,
    /// The alerts as situations of SIRI.
    TwinSituations,
}

impl FeedId {
    /// All of them, the schedule first.
    pub const ALL: [Self; 9] = [
        Self::City,
        Self::Vehicles,
        Self::Trips,
        Self::Alerts,
        Self::Bikes,
        Self::Twin,
        Self::TwinTimetables,
        Self::TwinVehicles,
        Self::TwinSituations,
    ];

    /// Its id in configurations, channels and faults.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::City => "city",
            Self::Vehicles => "city-vehicles",
            Self::Trips => "city-trips",
            Self::Alerts => "city-alerts",
            Self::Bikes => "city-bikes",
            Self::Twin => "twin",
            Self::TwinTimetables => "twin-et",
            Self::TwinVehicles => "twin-vm",
            Self::TwinSituations => "twin-sx",
        }
    }

    /// The feed with an id.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feed| feed.as_str() == id)
    }

    /// The path of its file, for a URL to end with.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::City => "gtfs.zip",
            Self::Vehicles => "vehicle-positions.pb",
            Self::Trips => "trip-updates.pb",
            Self::Alerts => "alerts.pb",
            Self::Bikes => "gbfs/gbfs.json",
            Self::Twin => "siri/gtfs.zip",
            Self::TwinTimetables => "siri/et",
            Self::TwinVehicles => "siri/vm",
            Self::TwinSituations => "siri/sx",
        }
    }

    /// The feed whose file has a path, and which of its files that is.
    fn at(path: &str) -> Option<(Self, BikesFile)> {
        let whole = Self::ALL.into_iter().find(|feed| feed.file_name() == path);
        let of_bikes = || Some((Self::Bikes, BikesFile::parse(path.strip_prefix("gbfs/")?)?));
        whole.map(|feed| (feed, BikesFile::Discovery)).or_else(of_bikes)
    }

    /// What it is of SIRI, if it is.
    #[must_use]
    pub fn service(self) -> Option<Service> {
        match self {
            Self::TwinTimetables => Some(Service::Timetables),
            Self::TwinVehicles => Some(Service::Vehicles),
            Self::TwinSituations => Some(Service::Situations),
            _ => None,
        }
    }

    fn is_schedule(self) -> bool {
        matches!(self, Self::City | Self::Twin)
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::City | Self::Twin => "application/zip",
            Self::Bikes => "application/json",
            Self::TwinTimetables | Self::TwinVehicles | Self::TwinSituations => siri::XML,
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
    subscriptions: Subscriptions,
    /// Where it stands, with a slash at its end: some feeds name their other files by whole addresses.
    base: OnceLock<String>,
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
        Self {
            city,
            faults,
            schedules: Default::default(),
            latest: Mutex::default(),
            subscriptions: Subscriptions::default(),
            base: OnceLock::new(),
        }
    }

    /// Says at what address it stands, with a slash at its end. The first word counts.
    pub fn stands_at(&self, base: &str) {
        self.base.get_or_init(|| base.to_owned());
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
        self.respond_with(feed, BikesFile::Discovery, now, if_none_match, if_modified_since)
    }

    /// Answers a GET for a path as [`FeedId::file_name`] has it, or for a file that a feed names; none if there is nothing.
    #[must_use]
    pub fn respond_at(
        &self,
        path: &str,
        now: UnixMillis,
        if_none_match: Option<&str>,
        if_modified_since: Option<&str>,
    ) -> Option<Reply> {
        let (feed, file) = FeedId::at(path)?;
        Some(self.respond_with(feed, file, now, if_none_match, if_modified_since))
    }

    fn respond_with(
        &self,
        feed: FeedId,
        file: BikesFile,
        now: UnixMillis,
        if_none_match: Option<&str>,
        if_modified_since: Option<&str>,
    ) -> Reply {
        let fault = self.faults.active(feed, now);
        match fault {
            None | Some(Fault::Skew | Fault::Ids) => {
                let edition = self.edition(feed, file, now, fault);
                conditional(feed, edition, if_none_match, if_modified_since)
            }
            Some(fault) => {
                let whole = || self.edition(feed, file, now, None).bytes;
                broken(fault, feed.content_type(), whole)
            }
        }
    }

    /// Answers a message of SIRI that is posted to a path; none where nothing takes any. What it asks for is answered
    /// wherever it is posted, and the faults are those of the feed with that path.
    #[must_use]
    pub fn answer_at(&self, path: &str, now: UnixMillis, body: &[u8]) -> Option<Reply> {
        let (feed, _) = FeedId::at(path)?;
        let door = feed.service()?;
        let fault = self.faults.active(feed, now);
        let answer = || siri::answer(self.scene(fault, now), &self.subscriptions, door, body);
        Some(match fault {
            None | Some(Fault::Skew | Fault::Ids) => answer(),
            Some(fault) => broken(fault, siri::XML, || match answer().body {
                Body::Bytes(bytes) => bytes,
                Body::Hang => Bytes::new(),
            }),
        })
    }

    /// What is to be posted to those who subscribed. Whether it was taken is to be [told](Self::settle).
    #[must_use]
    pub fn deliveries(&self, now: UnixMillis) -> Vec<Delivery> {
        let fault_at = |door: Service| {
            let feed = FeedId::ALL.into_iter().find(|feed| feed.service() == Some(door));
            feed.and_then(|feed| self.faults.active(feed, now))
        };
        // Who fails in any other way than by old or foreign data brings nothing at all.
        self.subscriptions.due(now, |door| match fault_at(door) {
            fault @ (None | Some(Fault::Skew | Fault::Ids)) => Some(self.scene(fault, now)),
            Some(_) => None,
        })
    }

    /// Takes in whether a consumer took what it was brought.
    pub fn settle(&self, delivery: &Delivery, is_taken: bool) {
        self.subscriptions.settle(delivery, is_taken);
    }

    fn scene(&self, fault: Option<Fault>, now: UnixMillis) -> Scene<'_> {
        let old = if fault == Some(Fault::Skew) { SKEW_SECONDS } else { 0 };
        let at = UnixMillis::from_seconds(now.seconds() - old);
        Scene { city: &self.city, at, foreign: fault == Some(Fault::Ids) }
    }

    fn edition(
        &self,
        feed: FeedId,
        file: BikesFile,
        now: UnixMillis,
        fault: Option<Fault>,
    ) -> Edition {
        if feed.is_schedule() {
            return self.schedule(fault);
        }
        if feed == FeedId::Bikes {
            let Scene { city, at, foreign } = self.scene(fault, now);
            let base = self.base.get().map_or("", String::as_str);
            let (bytes, modified) = city.bikes_file(file, &format!("{base}gbfs/"), at, foreign);
            return edition(bytes.into(), modified);
        }
        let every = match feed {
            FeedId::Alerts | FeedId::TwinSituations => ALERTS_EVERY,
            _ => 1,
        };
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
        let scene = self.scene(fault, UnixMillis::from_seconds(seconds));
        if let Some(service) = feed.service() {
            return edition(siri::document(scene, service), scene.at.seconds());
        }
        let mut message = match feed {
            FeedId::Trips => self.city.trip_updates(scene.at),
            FeedId::Alerts => self.city.alerts(scene.at),
            _ => self.city.vehicle_positions(scene.at),
        };
        if scene.foreign {
            make_foreign(&mut message);
        }
        edition(message.encode_to_vec().into(), scene.at.seconds())
    }
}

/// What a fault makes of an answer; skew and foreign ids change what is in it, and nothing here.
fn broken(fault: Fault, content_type: &str, whole: impl FnOnce() -> Bytes) -> Reply {
    match fault {
        Fault::Hang => Reply { status: 200, headers: Vec::new(), body: Body::Hang },
        Fault::Http500 => plain(500, "text/plain", Bytes::from_static(b"internal server error\n")),
        Fault::Html => plain(200, "text/html; charset=utf-8", Bytes::from_static(MAINTENANCE)),
        Fault::Empty => plain(200, content_type, Bytes::new()),
        Fault::Truncate => {
            let bytes = whole();
            plain(200, content_type, bytes.slice(..bytes.len() * 3 / 5))
        }
        Fault::Skew | Fault::Ids => plain(200, content_type, whole()),
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
