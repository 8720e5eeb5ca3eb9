//! The city as a producer of feeds: its answers to requests, with or without faults.
//!
//! The caller handles HTTP: this module knows statuses, headers and bytes, but no sockets. A fault changes only the
//! answer, so it leaves no trace once it is over.

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

use crate::bikes::BikeShareFile;
use crate::city::City;
use crate::city::gtfs::{FOREIGN, FaultyScheduleOptions};
use crate::city_feed::CityFeed;
use crate::faults::{FaultControl, FaultPlan, FeedFault};
use crate::origin_reply::{OriginReply, ReplyBody};
use crate::siri::{self, CityAtTimeWithFault, SiriDelivery, SiriFeedKind, SiriSubscriptionStore};

/// The age of a feed with old timestamps, in seconds.
const SKEW_SECONDS: i64 = 40 * 60;
/// The age of an old schedule, in days, so that it has no service left.
const SKEW_DAYS: i32 = 420;
/// Seconds between two editions of the alerts; positions and predictions change every second.
const ALERTS_EVERY: i64 = 15;

/// A feed's bytes with their HTTP validators.
#[derive(Clone, Debug)]
struct FeedBytesWithValidators {
    bytes: Bytes,
    etag: String,
    modified: Timestamp,
}

/// A producer that answers requests for a city's feeds.
#[derive(Debug)]
pub struct FeedOrigin {
    city: Arc<City>,
    faults: FaultControl,
    /// The schedule as it is, old, and with foreign ids; each made at the first request.
    schedules: [OnceLock<FeedBytesWithValidators>; 3],
    latest: Mutex<[Option<LatestRealtimeEdition>; CityFeed::ALL.len()]>,
    subscriptions: SiriSubscriptionStore,
    /// Its URL, with a trailing slash: some feeds refer to their other files by absolute URLs.
    base: OnceLock<String>,
}

/// The last edition of a real-time feed, with its time and fault.
#[derive(Debug)]
struct LatestRealtimeEdition {
    seconds: i64,
    fault: Option<FeedFault>,
    edition: FeedBytesWithValidators,
}

impl FeedOrigin {
    /// Creates an origin whose scripted faults count from the city's start.
    #[must_use]
    pub fn new(city: Arc<City>, plan: FaultPlan) -> Self {
        let faults = FaultControl::new(city.start_instant(), plan);
        Self {
            city,
            faults,
            schedules: Default::default(),
            latest: Mutex::default(),
            subscriptions: SiriSubscriptionStore::default(),
            base: OnceLock::new(),
        }
    }

    /// Sets the URL of the origin, with a trailing slash. Only the first call has an effect.
    pub fn set_base_url(&self, base: &str) {
        self.base.get_or_init(|| base.to_owned());
    }

    #[must_use]
    pub fn city(&self) -> &Arc<City> {
        &self.city
    }

    /// Returns the faults, to be read and switched.
    #[must_use]
    pub fn fault_control(&self) -> &FaultControl {
        &self.faults
    }

    /// Answers a GET for a feed, given the request's conditional headers.
    ///
    /// Takes a few milliseconds for the first request of a real-time feed within a second, and up to seconds for the
    /// first request of the schedule of a large city.
    #[must_use]
    pub fn respond_to_feed(
        &self,
        feed: CityFeed,
        now: UnixMillis,
        if_none_match: Option<&str>,
        if_modified_since: Option<&str>,
    ) -> OriginReply {
        self.respond_with_file(
            feed,
            BikeShareFile::Discovery,
            now,
            if_none_match,
            if_modified_since,
        )
    }

    /// Answers a GET for a path from [`CityFeed::file_name`], or for a file that a feed refers to; `None` if there is
    /// no such file.
    #[must_use]
    pub fn respond_to_path(
        &self,
        path: &str,
        now: UnixMillis,
        if_none_match: Option<&str>,
        if_modified_since: Option<&str>,
    ) -> Option<OriginReply> {
        let (feed, file) = CityFeed::find_feed_and_file_by_path(path)?;
        Some(self.respond_with_file(feed, file, now, if_none_match, if_modified_since))
    }

    fn respond_with_file(
        &self,
        feed: CityFeed,
        file: BikeShareFile,
        now: UnixMillis,
        if_none_match: Option<&str>,
        if_modified_since: Option<&str>,
    ) -> OriginReply {
        let fault = self.faults.active_fault(feed, now);
        match fault {
            None | Some(FeedFault::Skew | FeedFault::Ids) => {
                let edition = self.current_feed_edition(feed, file, now, fault);
                conditional_reply(feed, edition, if_none_match, if_modified_since)
            }
            Some(fault) => {
                let whole = || self.current_feed_edition(feed, file, now, None).bytes;
                reply_with_fault(fault, feed.content_type(), whole)
            }
        }
    }

    /// Answers a SIRI message posted to a path; `None` if the path accepts no messages. The message may ask for any
    /// service; the faults are those of the path's feed.
    #[must_use]
    pub fn answer_siri_message(
        &self,
        path: &str,
        now: UnixMillis,
        body: &[u8],
    ) -> Option<OriginReply> {
        let (feed, _) = CityFeed::find_feed_and_file_by_path(path)?;
        let posted_to = feed.siri_service()?;
        let fault = self.faults.active_fault(feed, now);
        let answer = || {
            siri::answer_siri_message(
                self.city_scene_with_fault(fault, now),
                &self.subscriptions,
                posted_to,
                body,
            )
        };
        Some(match fault {
            None | Some(FeedFault::Skew | FeedFault::Ids) => answer(),
            Some(fault) => reply_with_fault(fault, siri::XML, || match answer().body {
                ReplyBody::Bytes(bytes) => bytes,
                ReplyBody::Hang => Bytes::new(),
            }),
        })
    }

    /// Returns the deliveries to be posted to subscribers. Their outcomes must be
    /// [reported](Self::record_delivery_outcome).
    #[must_use]
    pub fn list_due_siri_deliveries(&self, now: UnixMillis) -> Vec<SiriDelivery> {
        let fault_at = |feed_kind: SiriFeedKind| {
            let feed =
                CityFeed::ALL.into_iter().find(|feed| feed.siri_service() == Some(feed_kind));
            feed.and_then(|feed| self.faults.active_fault(feed, now))
        };
        // Other faults than old data and foreign ids suppress the delivery.
        self.subscriptions.due_deliveries(now, |feed_kind| match fault_at(feed_kind) {
            fault @ (None | Some(FeedFault::Skew | FeedFault::Ids)) => {
                Some(self.city_scene_with_fault(fault, now))
            }
            Some(_) => None,
        })
    }

    /// Records the outcome of a delivery: true if the consumer accepted it.
    pub fn record_delivery_outcome(&self, delivery: &SiriDelivery, is_taken: bool) {
        self.subscriptions.record_delivery_outcome(delivery, is_taken);
    }

    fn city_scene_with_fault(
        &self,
        fault: Option<FeedFault>,
        now: UnixMillis,
    ) -> CityAtTimeWithFault<'_> {
        let old = if fault == Some(FeedFault::Skew) { SKEW_SECONDS } else { 0 };
        let at = UnixMillis::from_seconds(now.unix_seconds() - old);
        CityAtTimeWithFault { city: &self.city, at, foreign: fault == Some(FeedFault::Ids) }
    }

    fn current_feed_edition(
        &self,
        feed: CityFeed,
        file: BikeShareFile,
        now: UnixMillis,
        fault: Option<FeedFault>,
    ) -> FeedBytesWithValidators {
        if feed.is_schedule() {
            return self.schedule_edition(fault);
        }
        if feed == CityFeed::Bikes {
            let CityAtTimeWithFault { city, at, foreign } = self.city_scene_with_fault(fault, now);
            let base = self.base.get().map_or("", String::as_str);
            let (bytes, modified) =
                city.encode_gbfs_file(file, &format!("{base}gbfs/"), at, foreign);
            return new_edition(bytes.into(), modified);
        }
        let every = match feed {
            CityFeed::Alerts | CityFeed::TwinSituations => ALERTS_EVERY,
            _ => 1,
        };
        let seconds = now.unix_seconds().div_euclid(every) * every;
        let mut latest = self.latest.lock();
        if let Some(last) = &latest[feed as usize]
            && (last.seconds, last.fault) == (seconds, fault)
        {
            return last.edition.clone();
        }
        let edition = self.realtime_edition(feed, seconds, fault);
        latest[feed as usize] =
            Some(LatestRealtimeEdition { seconds, fault, edition: edition.clone() });
        edition
    }

    fn schedule_edition(&self, fault: Option<FeedFault>) -> FeedBytesWithValidators {
        let (place, variant) = match fault {
            Some(FeedFault::Skew) => {
                (1, FaultyScheduleOptions { days_old: SKEW_DAYS, foreign_ids: false })
            }
            Some(FeedFault::Ids) => (2, FaultyScheduleOptions { days_old: 0, foreign_ids: true }),
            _ => (0, FaultyScheduleOptions::default()),
        };
        let make = || {
            let written = self.city.write_gtfs_variant(Cursor::new(Vec::new()), variant);
            let bytes = written
                .expect("writing to memory cannot fail, and the zip is below its limits")
                .into_inner();
            let age = i64::from(variant.days_old) * 86_400;
            new_edition(bytes.into(), self.city.start_instant().unix_seconds() - age)
        };
        self.schedules[place].get_or_init(make).clone()
    }

    fn realtime_edition(
        &self,
        feed: CityFeed,
        seconds: i64,
        fault: Option<FeedFault>,
    ) -> FeedBytesWithValidators {
        let scene = self.city_scene_with_fault(fault, UnixMillis::from_seconds(seconds));
        if let Some(service) = feed.siri_service() {
            return new_edition(
                siri::encode_service_as_xml(scene, service),
                scene.at.unix_seconds(),
            );
        }
        let mut message = match feed {
            CityFeed::Trips => self.city.trip_updates_feed(scene.at),
            CityFeed::Alerts => self.city.alerts_feed(scene.at),
            _ => self.city.vehicle_positions_feed(scene.at),
        };
        if scene.foreign {
            replace_with_unknown_ids(&mut message);
        }
        new_edition(message.encode_to_vec().into(), scene.at.unix_seconds())
    }
}

/// Returns the faulty answer; old data and foreign ids are already in the feed and change nothing here.
fn reply_with_fault(
    fault: FeedFault,
    content_type: &str,
    whole: impl FnOnce() -> Bytes,
) -> OriginReply {
    match fault {
        FeedFault::Hang => OriginReply { status: 200, headers: Vec::new(), body: ReplyBody::Hang },
        FeedFault::Http500 => {
            plain_reply(500, "text/plain", Bytes::from_static(b"internal server error\n"))
        }
        FeedFault::Html => {
            plain_reply(200, "text/html; charset=utf-8", Bytes::from_static(MAINTENANCE))
        }
        FeedFault::Empty => plain_reply(200, content_type, Bytes::new()),
        FeedFault::Truncate => {
            let bytes = whole();
            plain_reply(200, content_type, bytes.slice(..bytes.len() * 3 / 5))
        }
        FeedFault::Skew | FeedFault::Ids => plain_reply(200, content_type, whole()),
    }
}

fn new_edition(bytes: Bytes, modified: i64) -> FeedBytesWithValidators {
    let etag = format!("\"{:016x}\"", xxh3_64(&bytes));
    FeedBytesWithValidators {
        bytes,
        etag,
        modified: Timestamp::from_second(modified).unwrap_or_default(),
    }
}

fn plain_reply(status: u16, content_type: &str, bytes: Bytes) -> OriginReply {
    OriginReply {
        status,
        headers: vec![("content-type", content_type.to_owned())],
        body: ReplyBody::Bytes(bytes),
    }
}

/// Returns 304 if the client already has this edition (RFC 9110: If-None-Match takes precedence).
fn conditional_reply(
    feed: CityFeed,
    edition: FeedBytesWithValidators,
    if_none_match: Option<&str>,
    if_modified_since: Option<&str>,
) -> OriginReply {
    let is_unchanged = match (if_none_match, if_modified_since) {
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
    if is_unchanged {
        return OriginReply { status: 304, headers, body: ReplyBody::Bytes(Bytes::new()) };
    }
    headers.push(("content-type", feed.content_type().to_owned()));
    OriginReply { status: 200, headers, body: ReplyBody::Bytes(edition.bytes) }
}

/// Gives every trip, route and stop an id that the schedule does not have.
fn replace_with_unknown_ids(message: &mut proto::FeedMessage) {
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
