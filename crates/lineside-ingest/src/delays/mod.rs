//! Which trips are late: what the records of a network say of each trip, for all of it, for a line, or for a stop.
//!
//! A trip counts while it runs and from two hours before it starts; one that is cancelled and has no times counts on its
//! day. How it stands is told by the trip update alone: its delay at the stop that comes next, or at the stop that is asked
//! for. Early is never late. A trip that is under way by the timetable, or leaves the stop that is asked for, and that no
//! feed tells of, counts as one of which nothing is known. Nothing here judges whether a feed is to be believed; whoever asks
//! names the feeds that are.

mod count;
mod scheduled_only;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::{civil::Date, tz::TimeZone};
use lineside_formats::{
    gtfs::{StopIdx, Timetable},
    gtfs_rt::proto::{
        TripUpdate, trip_descriptor::ScheduleRelationship, trip_update::StopTimeUpdate,
    },
};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

pub use count::{DelayClass, DelayCounts, classify_delays};

use crate::{
    config::FeedId,
    departures::{departures, is_delay_only},
    limits::{BOARD_HORIZON, BOARD_LINGER, DELAYS_OF_STOP_MAX},
    network::{FeedSlice, NetworkState},
    normalize::{
        ScheduledRun, TripKey, is_extra_trip, nonempty_text, nonzero_seconds, parse_gtfs_date,
    },
    record::{Departure, DepartureStatus, Record},
};

/// How a trip stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripDelayStatus {
    /// It runs so many seconds behind the timetable; negative is early.
    Behind(i32),
    /// It does not run, or does not stop where it is asked for.
    Cancelled,
    /// It is spoken of, and nothing is said of its times.
    Unknown,
    /// Only the timetable knows of it.
    Untold,
}

/// One trip, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripDelay {
    /// The feed that says so; of what only the timetable knows, its own.
    pub feed: FeedId,
    /// `trip_id`, as far as it is known.
    pub trip_id: SmolStr,
    /// `start_date`, as far as it is known.
    pub start_date: SmolStr,
    /// `start_time`, as far as it is known.
    pub start_time: SmolStr,
    /// Its route.
    pub route_id: Option<SmolStr>,
    /// The route's short name, else its long one.
    pub route_short_name: Option<SmolStr>,
    /// Red, green, blue.
    pub route_color: Option<[u8; 3]>,
    /// GTFS `route_type`.
    pub route_type: Option<u16>,
    /// Where it is headed.
    pub headsign: Option<SmolStr>,
    /// The stop that comes next, or the one that is asked for.
    pub stop_id: Option<SmolStr>,
    /// Its name.
    pub stop_name: Option<SmolStr>,
    /// When it should leave the stop that is asked for, Unix seconds.
    pub scheduled: Option<i64>,
    /// When it should leave its first stop, Unix seconds, where no stop is asked for: by this people know which one it is.
    pub begins: Option<i64>,
    /// The name of that stop.
    pub first_stop_name: Option<SmolStr>,
    /// How it stands.
    pub standing: TripDelayStatus,
    /// Whether nothing more is told of it than how late its vehicle is.
    pub is_mere_delay: bool,
}

impl TripDelay {
    /// Which run it is, if its feed says so.
    fn trip_key(&self) -> Option<TripKey<'_>> {
        let TripDelay { trip_id, start_date, start_time, .. } = self;
        (!trip_id.is_empty()).then_some(TripKey { trip_id, start_date, start_time })
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct DelayQuery<'a> {
    /// The feeds that are to be believed.
    pub feeds: &'a [FeedId],
    /// Only trips of this route.
    pub route: Option<&'a str>,
    /// Only trips that leave this stop or station within two hours, as they stand there.
    pub stop: Option<&'a str>,
    /// Of what only the timetable knows, trips of all lines; else of those lines that the feeds tell of.
    pub all_lines: bool,
}

impl DelayQuery<'_> {
    fn includes_feed(&self, feed: &FeedId) -> bool {
        self.feeds.contains(feed)
    }
}

/// The trips of one feed, made once per state of the feed.
#[derive(Debug, Default)]
pub(crate) struct FeedDelays {
    trips: Vec<Arc<TripDelay>>,
    /// All lines that are told of, also those of whose trips none counts now.
    by_route: HashMap<SmolStr, Vec<u32>>,
}

impl FeedDelays {
    fn from_slice(slice: &FeedSlice, timetable: Option<&Timetable>) -> FeedDelays {
        let header = slice.header.as_ref().and_then(|header| nonzero_seconds(header.timestamp));
        let at = header.or(i64::try_from(slice.timestamp).ok()).unwrap_or_default();
        let mut made = FeedDelays::default();
        let records = slice.tables.trip_updates.records();
        for record in records {
            let trip = trip_delay_at(record, timetable, at);
            if let Some(route) = &record.join.route_id {
                let number = u32::try_from(made.trips.len()).unwrap_or(u32::MAX);
                let of_route = made.by_route.entry(route.clone()).or_default();
                of_route.extend(trip.is_some().then_some(number));
            }
            made.trips.extend(trip.map(Arc::new));
        }
        made
    }

    fn delays_by_route(&self, route: &str) -> impl Iterator<Item = &Arc<TripDelay>> {
        let numbers = self.by_route.get(route).map_or(&[][..], Vec::as_slice);
        numbers.iter().filter_map(|&number| self.trips.get(number as usize))
    }
}

impl NetworkState {
    /// The trips of a selection: those that its feeds tell of, and those that only the timetable knows, of the network or a
    /// line those under way. Of what is told it costs a clone of a pointer for each; the first call at a state of a feed looks
    /// at all of its trips, and the first in a minute for what is under way. Of a stop it costs as much as its board. `now` is
    /// the present of the network's data.
    pub fn trip_delays(&self, selection: DelayQuery<'_>, now: UnixMillis) -> Vec<Arc<TripDelay>> {
        if let Some(stop) = selection.stop {
            return self.trip_delays_at_stop(stop, selection, now);
        }
        let mut trips = self.reported_trip_delays(selection);
        trips.extend(self.scheduled_only_trips(selection, now));
        trips
    }

    /// The trips of the network or of a line that the feeds of a selection tell of.
    pub fn reported_trip_delays(&self, selection: DelayQuery<'_>) -> Vec<Arc<TripDelay>> {
        let mut trips = Vec::new();
        for slice in self.feeds.iter().filter(|slice| selection.includes_feed(&slice.id)) {
            let made = self.feed_delays(slice);
            match selection.route {
                Some(route) => merge_trip_delays(&mut trips, made.delays_by_route(route)),
                None => merge_trip_delays(&mut trips, made.trips.iter()),
            }
        }
        trips
    }

    fn trip_delays_at_stop(
        &self,
        stop: &str,
        selection: DelayQuery<'_>,
        now: UnixMillis,
    ) -> Vec<Arc<TripDelay>> {
        let board = departures(self, stop, now, DELAYS_OF_STOP_MAX, BOARD_HORIZON);
        let board = board.into_iter().flatten().filter(|departure| {
            let counts = match departure.status {
                DepartureStatus::Scheduled => {
                    self.counts_as_scheduled_only(selection, departure, now)
                }
                _ => selection.includes_feed(&departure.source),
            };
            counts && selection.route.is_none_or(|route| route == departure.route_id)
        });
        board.map(|departure| Arc::new(delay_at_stop(departure))).collect()
    }

    /// The trips of one feed.
    fn feed_delays<'a>(&'a self, slice: &'a FeedSlice) -> &'a FeedDelays {
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        slice.cache.delays.get_or_init(|| FeedDelays::from_slice(slice, timetable))
    }

    /// Whether a feed says anything of trips.
    pub fn reports_trips(&self, feed: &str) -> bool {
        let slice = self.find_feed_slice(feed);
        slice.is_some_and(|slice| !slice.tables.trip_updates.records().is_empty())
    }

    /// How many records a feed has.
    pub fn feed_record_count(&self, feed: &str) -> usize {
        self.find_feed_slice(feed).map_or(0, |slice| slice.record_count())
    }
}

/// Adds the trips of a further feed. One that another feed tells of too, as vehicles do beside estimates, counts once, and
/// what tells of calls or of the whole trip before what tells no more than how late its vehicle is, as on boards.
fn merge_trip_delays<'a>(
    trips: &mut Vec<Arc<TripDelay>>,
    further: impl Iterator<Item = &'a Arc<TripDelay>>,
) {
    let mut known: HashMap<SmolStr, Vec<usize>> = HashMap::new();
    for (number, trip) in trips.iter().enumerate().filter(|(_, trip)| !trip.trip_id.is_empty()) {
        known.entry(trip.trip_id.clone()).or_default().push(number);
    }
    for trip in further {
        let runs = known.get(&trip.trip_id).map_or(&[][..], Vec::as_slice);
        let is_it = |&&number: &&usize| {
            let other = trips[number].trip_key();
            trip.trip_key().zip(other).is_some_and(|(own, other)| own.may_be_same_run(other))
        };
        match runs.iter().find(is_it) {
            None => trips.push(Arc::clone(trip)),
            Some(&number) if trips[number].is_mere_delay && !trip.is_mere_delay => {
                trips[number] = Arc::clone(trip);
            }
            Some(_) => {}
        }
    }
}

/// How a trip stands at `at`, Unix seconds; none if it is over, or not near yet, or taken out of the timetable.
fn trip_delay_at(record: &Record, timetable: Option<&Timetable>, at: i64) -> Option<TripDelay> {
    let update = record.trip_update()?;
    let standing = match (update.trip.schedule_relationship(), record.join.delay) {
        (ScheduleRelationship::Deleted, _) => return None,
        (ScheduleRelationship::Canceled, _) => TripDelayStatus::Cancelled,
        (_, Some(delay)) => TripDelayStatus::Behind(delay),
        (_, None) => TripDelayStatus::Unknown,
    };
    let run = trip_span(update, timetable);
    let span = run.or_else(|| {
        // What does not run has no delay that would show that it is of now.
        (standing == TripDelayStatus::Cancelled)
            .then(|| service_day_span(update, timetable))
            .flatten()
    });
    if let Some((first, last)) = span {
        let late = match standing {
            TripDelayStatus::Behind(delay) => i64::from(delay.max(0)),
            TripDelayStatus::Cancelled | TripDelayStatus::Unknown | TripDelayStatus::Untold => 0,
        };
        let is_over = last.saturating_add(late) < at - whole_seconds(BOARD_LINGER);
        if is_over || first > at.saturating_add(whole_seconds(BOARD_HORIZON)) {
            return None;
        }
    }
    let beginning = FirstDeparture::from_update(update, timetable);
    let join = &record.join;
    let text = |text: &Option<String>| nonempty_text(text).map(SmolStr::new).unwrap_or_default();
    Some(TripDelay {
        feed: record.feed.clone(),
        trip_id: text(&update.trip.trip_id),
        start_date: text(&update.trip.start_date),
        start_time: text(&update.trip.start_time),
        route_id: join.route_id.clone(),
        route_short_name: join.route_short_name.clone(),
        route_color: join.route_color,
        route_type: join.route_type,
        headsign: join.headsign.clone(),
        stop_id: join.next_stop_id.clone(),
        stop_name: join.next_stop_name.clone(),
        scheduled: None,
        begins: beginning.at,
        first_stop_name: beginning.stop_name,
        standing,
        is_mere_delay: is_delay_only(update),
    })
}

/// When a trip begins and ends, Unix seconds: by the timetable, else as it is announced.
fn trip_span(update: &TripUpdate, timetable: Option<&Timetable>) -> Option<(i64, i64)> {
    let scheduled = || {
        let (timetable, key) = (timetable?, TripKey::from_descriptor(&update.trip)?);
        let trip = timetable.find_trip(key.trip_id).filter(|_| !is_extra_trip(&update.trip))?;
        let run = ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)?;
        let first = timetable.stop_time(trip, 0)?;
        let last = timetable.stop_times(trip).last()?;
        Some((run.scheduled_departure(&first)?, run.scheduled_arrival(&last)?))
    };
    let announced = || {
        let mut times = update.stop_time_update.iter().filter_map(announced_time);
        let first = times.next()?;
        Some((first, times.next_back().unwrap_or(first)))
    };
    scheduled().or_else(announced)
}

/// Where and when a trip should leave its first stop, as far as that is known.
#[derive(Default)]
struct FirstDeparture {
    at: Option<i64>,
    stop_name: Option<SmolStr>,
}

impl FirstDeparture {
    /// By the timetable; of an extra trip as it is announced, if its first call is: many producers let go of calls that are over.
    fn from_update(update: &TripUpdate, timetable: Option<&Timetable>) -> Self {
        let Some(timetable) = timetable else { return Self::from_announced_calls(update, None) };
        let id = nonempty_text(&update.trip.trip_id).filter(|_| !is_extra_trip(&update.trip));
        let Some(trip) = id.and_then(|id| timetable.find_trip(id)) else {
            return Self::from_announced_calls(update, Some(timetable));
        };
        let Some(first) = timetable.stop_time(trip, 0) else { return Self::default() };
        let run = TripKey::from_descriptor(&update.trip).and_then(|key| {
            ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)
        });
        let at = run.and_then(|run| run.scheduled_departure(&first));
        Self { at, stop_name: stop_name(timetable, first.stop) }
    }

    fn from_announced_calls(update: &TripUpdate, timetable: Option<&Timetable>) -> Self {
        let first = update.stop_time_update.first();
        let is_first = |call: &&StopTimeUpdate| call.stop_sequence.is_some_and(|it| it <= 1);
        let Some(first) = first.filter(is_first) else { return Self::default() };
        let stop = timetable.and_then(|timetable| {
            stop_name(timetable, timetable.find_stop(nonempty_text(&first.stop_id)?)?)
        });
        Self { at: planned_departure(first), stop_name: stop }
    }
}

fn stop_name(timetable: &Timetable, stop: StopIdx) -> Option<SmolStr> {
    let name = timetable.stop(stop).name;
    (!name.is_empty()).then(|| SmolStr::new(name))
}

/// When an announced call should be left, late or not.
fn planned_departure(call: &StopTimeUpdate) -> Option<i64> {
    let event = call.departure.as_ref().or(call.arrival.as_ref())?;
    let behind = event.delay.map_or(0, i64::from);
    let expected = event.time.map(|time| time.saturating_sub(behind));
    event.scheduled_time.or(expected).filter(|&time| time > 0)
}

/// When a trip's day begins and ends where it is, Unix seconds; without a timetable by UTC.
fn service_day_span(update: &TripUpdate, timetable: Option<&Timetable>) -> Option<(i64, i64)> {
    let zone = timetable.map_or(TimeZone::UTC, |timetable| timetable.timezone().clone());
    let date = parse_gtfs_date(nonempty_text(&update.trip.start_date)?)?;
    let begins = |date: Date| {
        let midnight = date.to_zoned(zone.clone()).ok()?;
        Some(midnight.timestamp().as_second())
    };
    Some((begins(date)?, begins(date.tomorrow().ok()?)?))
}

fn announced_time(call: &StopTimeUpdate) -> Option<i64> {
    let time = |event: &Option<_>| {
        let event: &lineside_formats::gtfs_rt::proto::trip_update::StopTimeEvent =
            event.as_ref()?;
        event.time.filter(|&time| time > 0)
    };
    time(&call.departure).or_else(|| time(&call.arrival))
}

fn delay_at_stop(departure: Departure) -> TripDelay {
    let standing = match departure.status {
        DepartureStatus::Cancelled | DepartureStatus::Skipped => TripDelayStatus::Cancelled,
        DepartureStatus::Realtime => {
            departure.delay.map_or(TripDelayStatus::Unknown, TripDelayStatus::Behind)
        }
        DepartureStatus::Scheduled => TripDelayStatus::Untold,
    };
    // `<trip_id>:<start_date>:<start_time>:<stop_sequence>`: a date and a number hold no colon.
    let rest = departure.id.strip_prefix(departure.trip_id.as_str());
    let rest = rest.and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
    let (date, rest) = rest.split_once(':').unwrap_or_default();
    let (time, _) = rest.rsplit_once(':').unwrap_or_default();
    TripDelay {
        start_date: SmolStr::new(date),
        start_time: SmolStr::new(time),
        feed: departure.source,
        trip_id: departure.trip_id,
        route_id: Some(departure.route_id).filter(|id| !id.is_empty()),
        route_short_name: Some(departure.route_short_name).filter(|name| !name.is_empty()),
        route_color: departure.route_color,
        route_type: Some(departure.route_type),
        headsign: departure.headsign,
        stop_id: Some(departure.stop_id),
        stop_name: None,
        scheduled: Some(departure.scheduled),
        begins: None,
        first_stop_name: None,
        standing,
        // A board has chosen already whom it believes.
        is_mere_delay: false,
    }
}

fn whole_seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs()).unwrap_or(i64::MAX)
}
