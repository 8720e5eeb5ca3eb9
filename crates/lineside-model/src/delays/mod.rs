//! Trip delays in a network, on a route or at a stop, as the network's records report them.
//!
//! A trip counts while it runs and from two hours before it starts; a cancelled trip without times counts on its
//! service day. Its status comes from the trip update alone: the delay at the next stop, or at the requested stop.
//! Early is never late. A trip that runs by the timetable, or leaves the requested stop, and that no feed reports has
//! an unknown status. Nothing here judges whether a feed is reliable; the caller names the reliable feeds.

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

pub use count::{DelayCounts, DelayHistogramClass, group_trips_by_delay};

use crate::{
    departures::{is_delay_only, list_next_departures},
    feed_id::FeedId,
    limits::{BOARD_HORIZON, BOARD_LINGER, STOP_DELAYS_MAX},
    network_state::{FeedStateInNetwork, NetworkState},
    record::{Departure, DepartureStatus, Record},
    trip_forecast::{ScheduledRun, parse_gtfs_date},
    trip_identity::{TripKey, is_extra_trip, text_if_nonempty, timestamp_if_nonzero},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripDelayStatus {
    /// The trip runs this many seconds behind the timetable; negative if early.
    Delayed(i32),
    /// The trip does not run or skips the requested stop.
    Cancelled,
    /// A feed reports the trip, but no times.
    Unknown,
    /// Only the timetable knows the trip.
    ScheduledOnly,
}

/// A trip and its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripDelay {
    /// The feed that reports the trip; the timetable's feed if none does.
    pub feed: FeedId,
    /// `trip_id`; empty if unknown.
    pub trip_id: SmolStr,
    /// `start_date`; empty if unknown.
    pub start_date: SmolStr,
    /// `start_time`; empty if unknown.
    pub start_time: SmolStr,
    pub route_id: Option<SmolStr>,
    /// The route's short name, else its long one.
    pub route_short_name: Option<SmolStr>,
    /// Red, green and blue.
    pub route_color: Option<[u8; 3]>,
    /// GTFS `route_type`.
    pub route_type: Option<u16>,
    pub headsign: Option<SmolStr>,
    /// The next stop, or the requested one.
    pub stop_id: Option<SmolStr>,
    pub stop_name: Option<SmolStr>,
    /// Scheduled departure from the requested stop, in Unix seconds.
    pub scheduled: Option<i64>,
    /// Scheduled departure from the first stop, in Unix seconds, if no stop is requested: people recognise the trip by
    /// it.
    pub begins_at: Option<i64>,
    pub first_stop_name: Option<SmolStr>,
    pub status: TripDelayStatus,
    /// True if the feed reports nothing but the delay of the vehicle.
    pub is_delay_only: bool,
}

impl TripDelay {
    /// Returns the key of the run, if the feed reports a trip id.
    fn trip_key(&self) -> Option<TripKey<'_>> {
        let TripDelay { trip_id, start_date, start_time, .. } = self;
        (!trip_id.is_empty()).then_some(TripKey { trip_id, start_date, start_time })
    }
}

/// A query for trip delays.
#[derive(Clone, Copy, Debug)]
pub struct DelayQuery<'a> {
    /// The feeds that are reliable.
    pub feeds: &'a [FeedId],
    /// Only trips of this route.
    pub route: Option<&'a str>,
    /// Only trips that leave this stop or station within two hours, with their status there.
    pub stop: Option<&'a str>,
    /// True to include scheduled-only trips of all routes; false for those of routes that the feeds report.
    pub all_lines: bool,
}

impl DelayQuery<'_> {
    fn includes_feed(&self, feed: &FeedId) -> bool {
        self.feeds.contains(feed)
    }
}

/// The trips of one feed, computed once per state of the feed.
#[derive(Debug, Default)]
pub struct FeedDelays {
    trips: Vec<Arc<TripDelay>>,
    /// Indexes of counted trips by route, with all routes that the feed reports, even if no trip of them counts now.
    by_route: HashMap<SmolStr, Vec<u32>>,
}

impl FeedDelays {
    fn from_slice(slice: &FeedStateInNetwork, timetable: Option<&Timetable>) -> FeedDelays {
        let header =
            slice.header.as_ref().and_then(|header| timestamp_if_nonzero(header.timestamp));
        let at = header.or(i64::try_from(slice.timestamp).ok()).unwrap_or_default();
        let mut delays_of_feed = FeedDelays::default();
        let records = slice.tables.trip_updates.records();
        for record in records {
            let trip = trip_delay_at(record, timetable, at);
            if let Some(route) = &record.join.route_id {
                let number = u32::try_from(delays_of_feed.trips.len()).unwrap_or(u32::MAX);
                let route_delays = delays_of_feed.by_route.entry(route.clone()).or_default();
                route_delays.extend(trip.is_some().then_some(number));
            }
            delays_of_feed.trips.extend(trip.map(Arc::new));
        }
        delays_of_feed
    }

    fn trip_delays_of_route(&self, route: &str) -> impl Iterator<Item = &Arc<TripDelay>> {
        let numbers = self.by_route.get(route).map_or(&[][..], Vec::as_slice);
        numbers.iter().filter_map(|&number| self.trips.get(number as usize))
    }
}

impl NetworkState {
    /// Returns the trips of a selection: those that its feeds report and those that only the timetable knows; for the
    /// network or a route the running ones. A reported trip costs a pointer clone; the first call per feed state visits
    /// all trips of the feed, and the first call in a minute lists the running trips. For a stop, the cost is that of
    /// its board. `now` is the present of the network's data.
    pub fn trip_delays(&self, selection: DelayQuery<'_>, now: UnixMillis) -> Vec<Arc<TripDelay>> {
        if let Some(stop) = selection.stop {
            return self.trip_delays_at_stop(stop, selection, now);
        }
        let mut trips = self.reported_trip_delays(selection);
        trips.extend(self.scheduled_only_trips(selection, now));
        trips
    }

    /// Returns the trips of the network or of a route that the feeds of a selection report.
    pub fn reported_trip_delays(&self, selection: DelayQuery<'_>) -> Vec<Arc<TripDelay>> {
        let mut trips = Vec::new();
        for slice in self.feeds.iter().filter(|slice| selection.includes_feed(&slice.id)) {
            let delays_of_feed = self.feed_delays(slice);
            match selection.route {
                Some(route) => {
                    merge_trip_delays(&mut trips, delays_of_feed.trip_delays_of_route(route))
                }
                None => merge_trip_delays(&mut trips, delays_of_feed.trips.iter()),
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
        let board = list_next_departures(self, stop, now, STOP_DELAYS_MAX, BOARD_HORIZON);
        let board = board.into_iter().flatten().filter(|departure| {
            let counts = match departure.status {
                DepartureStatus::Scheduled => {
                    self.counts_as_scheduled_only(selection, departure, now)
                }
                _ => selection.includes_feed(&departure.source),
            };
            counts && selection.route.is_none_or(|route| route == departure.route_id)
        });
        board.map(|departure| Arc::new(trip_delay_from_departure(departure))).collect()
    }

    /// Returns the trips of one feed.
    fn feed_delays<'a>(&'a self, slice: &'a FeedStateInNetwork) -> &'a FeedDelays {
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        slice.cache.get_or_init(|| FeedDelays::from_slice(slice, timetable))
    }

    /// Returns true if a feed has trip updates.
    pub fn has_trip_updates(&self, feed: &str) -> bool {
        let slice = self.find_feed_slice(feed);
        slice.is_some_and(|slice| !slice.tables.trip_updates.records().is_empty())
    }

    /// Returns the number of records of a feed.
    pub fn feed_record_count(&self, feed: &str) -> usize {
        self.find_feed_slice(feed).map_or(0, |slice| slice.record_count())
    }
}

/// Adds the trips of another feed. A trip that several feeds report, as vehicles do besides estimates, counts once; as
/// on boards, an update of calls or of the whole trip takes precedence over one with only the vehicle's delay.
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
        let is_match = |&&number: &&usize| {
            let other = trips[number].trip_key();
            trip.trip_key().zip(other).is_some_and(|(own, other)| own.may_be_same_run(other))
        };
        match runs.iter().find(is_match) {
            None => trips.push(Arc::clone(trip)),
            Some(&number) if trips[number].is_delay_only && !trip.is_delay_only => {
                trips[number] = Arc::clone(trip);
            }
            Some(_) => {}
        }
    }
}

/// Returns the status of a trip at `at`, in Unix seconds; `None` if the trip is over, too far ahead or deleted from the
/// timetable.
fn trip_delay_at(record: &Record, timetable: Option<&Timetable>, at: i64) -> Option<TripDelay> {
    let update = record.trip_update()?;
    let status = match (update.trip.schedule_relationship(), record.join.delay) {
        (ScheduleRelationship::Deleted, _) => return None,
        (ScheduleRelationship::Canceled, _) => TripDelayStatus::Cancelled,
        (_, Some(delay)) => TripDelayStatus::Delayed(delay),
        (_, None) => TripDelayStatus::Unknown,
    };
    let run = trip_start_and_end(update, timetable);
    let span = run.or_else(|| {
        // A cancelled trip has no delay that would show that it belongs to the present.
        (status == TripDelayStatus::Cancelled)
            .then(|| service_day_start_and_end(update, timetable))
            .flatten()
    });
    if let Some((first, last)) = span {
        let late = match status {
            TripDelayStatus::Delayed(delay) => i64::from(delay.max(0)),
            TripDelayStatus::Cancelled
            | TripDelayStatus::Unknown
            | TripDelayStatus::ScheduledOnly => 0,
        };
        let is_past = last.saturating_add(late) < at - whole_seconds(BOARD_LINGER);
        if is_past || first > at.saturating_add(whole_seconds(BOARD_HORIZON)) {
            return None;
        }
    }
    let beginning = FirstDeparture::from_update(update, timetable);
    let join = &record.join;
    let text = |text: &Option<String>| text_if_nonempty(text).map(SmolStr::new).unwrap_or_default();
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
        begins_at: beginning.at,
        first_stop_name: beginning.stop_name,
        status,
        is_delay_only: is_delay_only(update),
    })
}

/// Returns the start and end of a trip in Unix seconds, from the timetable, else as announced.
fn trip_start_and_end(update: &TripUpdate, timetable: Option<&Timetable>) -> Option<(i64, i64)> {
    let scheduled = || {
        let (timetable, key) = (timetable?, TripKey::from_descriptor(&update.trip)?);
        let trip = timetable.find_trip(key.trip_id).filter(|_| !is_extra_trip(&update.trip))?;
        let run = ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)?;
        let first = timetable.trip_stop_time(trip, 0)?;
        let last = timetable.trip_stop_times(trip).last()?;
        Some((run.scheduled_departure(&first)?, run.scheduled_arrival(&last)?))
    };
    let announced = || {
        let mut times = update.stop_time_update.iter().filter_map(predicted_call_time);
        let first = times.next()?;
        Some((first, times.next_back().unwrap_or(first)))
    };
    scheduled().or_else(announced)
}

/// The scheduled departure of a trip from its first stop, as far as known.
#[derive(Default)]
struct FirstDeparture {
    at: Option<i64>,
    stop_name: Option<SmolStr>,
}

impl FirstDeparture {
    /// Takes the departure from the timetable, or for an extra trip from its first call if that is still announced:
    /// many producers drop past calls.
    fn from_update(update: &TripUpdate, timetable: Option<&Timetable>) -> Self {
        let Some(timetable) = timetable else { return Self::from_announced_calls(update, None) };
        let id = text_if_nonempty(&update.trip.trip_id).filter(|_| !is_extra_trip(&update.trip));
        let Some(trip) = id.and_then(|id| timetable.find_trip(id)) else {
            return Self::from_announced_calls(update, Some(timetable));
        };
        let Some(first) = timetable.trip_stop_time(trip, 0) else { return Self::default() };
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
            stop_name(timetable, timetable.find_stop(text_if_nonempty(&first.stop_id)?)?)
        });
        Self { at: scheduled_departure_of_call(first), stop_name: stop }
    }
}

fn stop_name(timetable: &Timetable, stop: StopIdx) -> Option<SmolStr> {
    let name = timetable.stop(stop).name;
    (!name.is_empty()).then(|| SmolStr::new(name))
}

/// Returns the scheduled departure of an announced call, in Unix seconds.
fn scheduled_departure_of_call(call: &StopTimeUpdate) -> Option<i64> {
    let event = call.departure.as_ref().or(call.arrival.as_ref())?;
    let behind = event.delay.map_or(0, i64::from);
    let expected = event.time.map(|time| time.saturating_sub(behind));
    event.scheduled_time.or(expected).filter(|&time| time > 0)
}

/// Returns the start and end of a trip's service day in local time (UTC without a timetable), in Unix seconds.
fn service_day_start_and_end(
    update: &TripUpdate,
    timetable: Option<&Timetable>,
) -> Option<(i64, i64)> {
    let zone = timetable.map_or(TimeZone::UTC, |timetable| timetable.timezone().clone());
    let date = parse_gtfs_date(text_if_nonempty(&update.trip.start_date)?)?;
    let begins = |date: Date| {
        let midnight = date.to_zoned(zone.clone()).ok()?;
        Some(midnight.timestamp().as_second())
    };
    Some((begins(date)?, begins(date.tomorrow().ok()?)?))
}

fn predicted_call_time(call: &StopTimeUpdate) -> Option<i64> {
    let time = |event: &Option<_>| {
        let event: &lineside_formats::gtfs_rt::proto::trip_update::StopTimeEvent =
            event.as_ref()?;
        event.time.filter(|&time| time > 0)
    };
    time(&call.departure).or_else(|| time(&call.arrival))
}

fn trip_delay_from_departure(departure: Departure) -> TripDelay {
    let status = match departure.status {
        DepartureStatus::Cancelled | DepartureStatus::Skipped => TripDelayStatus::Cancelled,
        DepartureStatus::Realtime => {
            departure.delay.map_or(TripDelayStatus::Unknown, TripDelayStatus::Delayed)
        }
        DepartureStatus::Scheduled => TripDelayStatus::ScheduledOnly,
    };
    // The id is `<trip_id>:<start_date>:<start_time>:<stop_sequence>`: date and sequence contain no colon.
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
        scheduled: departure.scheduled,
        begins_at: None,
        first_stop_name: None,
        status,
        // The board has already chosen the best update.
        is_delay_only: false,
    }
}

fn whole_seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs()).unwrap_or(i64::MAX)
}
