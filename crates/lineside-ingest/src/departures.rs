//! Departures: what the schedule says about a stop, joined with what trip updates say about its trips.
//!
//! A pure function of a network's state and a moment, so that a board can be told again from the same state.

use std::{
    collections::{BTreeMap, HashSet, btree_map::Entry},
    sync::Arc,
    time::Duration,
};

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{Scheduled, StopIdx, Timetable, TripIdx},
    gtfs_rt::proto::{
        TripUpdate,
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeUpdate, stop_time_update, stop_time_update::StopTimeProperties},
    },
};
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, format_smolstr};

use crate::{
    config::FeedId,
    dataset::Dataset,
    limits::{
        BOARD_DEPARTURES, BOARD_EARLY_MAX, BOARD_HORIZON, BOARD_LATE_MAX, BOARD_LINGER,
        BOARD_RECORD_BYTES_MAX, BOARD_SCHEDULED_MAX, BOARD_STALE_MAX,
    },
    network::NetworkState,
    normalize::{Forecast, Run, TripKey, clamp, given, gtfs_date, is_extra, is_extra_off, seconds},
    record::{Body, Departure, DepartureStatus, Record},
};

mod best_update;

pub(crate) use best_update::{is_superseded, said_of};

/// The next departures from a stop, or from all stops of a station, the soonest first: at most `limit`, within
/// `horizon`, and those that left no longer than a minute ago. `None` if there is no such stop.
///
/// `now` is the present of the network's data ([`Network::now`](crate::Network::now)).
pub fn departures(
    state: &NetworkState,
    stop_id: &str,
    now: UnixMillis,
    limit: usize,
    horizon: Duration,
) -> Option<Vec<Departure>> {
    departures_from(state, stop_id, now, now, limit, horizon)
}

/// The departures from `from` on, as [`departures()`] gives them from now on. The age of predictions is still judged by
/// `now`.
pub fn departures_from(
    state: &NetworkState,
    stop_id: &str,
    now: UnixMillis,
    from: UnixMillis,
    limit: usize,
    horizon: Duration,
) -> Option<Vec<Departure>> {
    let dataset = state.dataset.as_ref()?;
    let stop = dataset.timetable.find_stop(stop_id)?;
    let (now, from) = (now.seconds(), from.seconds());
    let look = Look { state, dataset, stop, now, from, horizon };
    let mut departures = look.scheduled();
    departures.extend(look.extra());
    departures.retain(|departure| look.shows(departure.leaves()));
    departures.sort_by(|a, b| a.leaves().cmp(&b.leaves()).then_with(|| a.id.cmp(&b.id)));
    // A feed may have a trip replaced that another one still tells of, or number calls alike.
    let mut ids = HashSet::new();
    departures.retain(|departure| ids.insert(departure.id.clone()));
    departures.truncate(limit);
    Some(departures)
}

/// The records of a stop's channel.
pub(crate) fn board(state: &NetworkState, stop_id: &str) -> Vec<Arc<Record>> {
    let Some(dataset) = &state.dataset else { return Vec::new() };
    let now = UnixMillis::from_seconds(state.board_at);
    let departures = departures(state, stop_id, now, BOARD_DEPARTURES, BOARD_HORIZON);
    let records = departures.into_iter().flatten().map(|departure| {
        let id = departure.id.clone();
        Arc::new(Record::made_here(dataset.feed.clone(), id, Body::Departure(Box::new(departure))))
    });
    // Names of a kilobyte would make a board that fits no message.
    records.filter(|record| record.bytes_max() <= BOARD_RECORD_BYTES_MAX).collect()
}

/// What a trip update has of its own for a scheduled call.
fn properties_of<'u>(
    run: Run<'_>,
    call: &Scheduled,
    update: &'u TripUpdate,
) -> Option<&'u StopTimeProperties> {
    if update.stop_time_update.iter().all(|it| it.stop_time_properties.is_none()) {
        return None;
    }
    let (_, stop_time) =
        run.aligned(update).find(|&(at, _)| at == call.stop_time_index as usize)?;
    stop_time.stop_time_properties.as_ref()
}

/// Whether an update tells of calls, and all of them are after this one.
fn begins_after(run: Run<'_>, update: &TripUpdate, call: usize) -> bool {
    run.aligned(update).next().is_some_and(|(first, _)| first > call)
}

/// One look at one stop.
struct Look<'a> {
    state: &'a NetworkState,
    dataset: &'a Dataset,
    stop: StopIdx,
    /// By which it is judged how old things are, Unix seconds.
    now: i64,
    /// From when on departures are shown, Unix seconds.
    from: i64,
    horizon: Duration,
}

/// What the network's trip updates say about a run.
pub(crate) struct Said<'a> {
    pub(crate) feed: &'a FeedId,
    pub(crate) update: &'a TripUpdate,
    pub(crate) made_at: i64,
    /// When the feed's message was made, if it says so: as old as that is all that it says.
    pub(crate) message_at: Option<i64>,
}

impl Said<'_> {
    /// Whether it was said so long before `now`, Unix seconds, that its times are not to be shown any more.
    pub(crate) fn is_out_of_date(&self, now: i64) -> bool {
        let most = i64::try_from(BOARD_STALE_MAX.as_secs()).unwrap_or(i64::MAX);
        self.message_at.is_some_and(|at| now.saturating_sub(at) > most)
    }

    /// What counts for it beside what else is said about the same run: the larger, the more.
    fn weight(&self, now: i64) -> impl Ord + use<> {
        (!self.is_out_of_date(now), !is_mere_delay(self.update), self.made_at)
    }
}

/// Whether an update tells nothing but how late a vehicle is: what vehicles say of their journeys beside estimates.
pub(crate) fn is_mere_delay(update: &TripUpdate) -> bool {
    update.stop_time_update.is_empty()
        && update.delay.is_some()
        && update.trip.schedule_relationship() == ScheduleRelationship::Scheduled
}

impl Look<'_> {
    fn timetable(&self) -> &Timetable {
        &self.dataset.timetable
    }

    fn shows(&self, leaves: i64) -> bool {
        let from = self.from.saturating_sub(BOARD_LINGER.as_secs() as i64);
        (from..=self.from.saturating_add(self.horizon.as_secs() as i64)).contains(&leaves)
    }

    /// The departures of the schedule. Late ones are looked for under their scheduled times, so the look goes back.
    fn scheduled(&self) -> Vec<Departure> {
        let from = self.from.saturating_sub(BOARD_LATE_MAX.as_secs() as i64);
        let ahead = self.horizon.saturating_add(BOARD_EARLY_MAX).as_secs() as i64;
        let until = self.from.saturating_add(ahead);
        let shown_from = self.from.saturating_sub(BOARD_LINGER.as_secs() as i64);
        let find =
            |from, until| self.timetable().departures(self.stop, from, until, BOARD_SCHEDULED_MAX);
        let mut calls = find(from, until);
        if calls.len() == BOARD_SCHEDULED_MAX {
            // However many runs are over, they leave room for those to come.
            calls = find(from, shown_from - 1);
            calls.extend(find(shown_from, until));
        }
        calls.iter().filter_map(|call| self.scheduled_departure(call)).collect()
    }

    fn scheduled_departure(&self, call: &Scheduled) -> Option<Departure> {
        let timetable = self.timetable();
        let trip = timetable.trip(call.trip);
        // Most calls have no update and are over or far ahead: nothing is built for them.
        if !self.shows(call.departure) && !self.is_said(trip.id) {
            return None;
        }
        let date = gtfs_date(call.service_date);
        let time = call.start_time.map_or_else(SmolStr::default, gtfs_time);
        let key = TripKey { trip_id: trip.id, start_date: &date, start_time: &time };
        let said = said_of(self.state, key, self.now);
        let mut departure = self.blank(call.trip, call.stop, call.departure);
        departure.id = format_smolstr!("{}:{date}:{time}:{}", trip.id, call.stop_sequence);
        departure.stop_sequence = call.stop_sequence;
        let calls_headsign = timetable
            .stop_time(call.trip, call.stop_time_index as usize)
            .and_then(|stop_time| stop_time.headsign);
        if let Some(headsign) = calls_headsign.filter(|headsign| !headsign.is_empty()) {
            departure.headsign = Some(SmolStr::new(headsign));
        }
        if let Some(said) = said {
            self.tell(&mut departure, call, &said)?;
        }
        Some(departure)
    }

    /// Puts into a scheduled departure what a trip update says; `None` if it is not to be shown.
    fn tell(&self, departure: &mut Departure, call: &Scheduled, said: &Said<'_>) -> Option<()> {
        departure.source = said.feed.clone();
        departure.age = Some(u64::try_from(self.now - said.made_at).unwrap_or(0));
        match said.update.trip.schedule_relationship() {
            ScheduleRelationship::Deleted => return None,
            // What replaces it goes when it is out of date, so the scheduled one comes back.
            ScheduleRelationship::Replacement if said.is_out_of_date(self.now) => {
                departure.source = self.dataset.feed.clone();
                departure.age = None;
                return Some(());
            }
            ScheduleRelationship::Replacement => return None,
            ScheduleRelationship::Canceled => {
                departure.status = DepartureStatus::Cancelled;
                return Some(());
            }
            _ => {}
        }
        let run = self.run(call.trip, call.service_date, call.start_time);
        match run.forecast(said.update, call.stop_time_index as usize) {
            Forecast::Predicted { .. } | Forecast::Unknown if said.is_out_of_date(self.now) => {
                departure.source = self.dataset.feed.clone();
                departure.age = None;
                return Some(());
            }
            // A producer may leave a call out that is over by the timetable, once it was made: what is told of
            // begins after it. (GTFS-Realtime, "Trip updates": those made early stay until their time.)
            Forecast::Unknown
                if call.departure <= self.from
                    && begins_after(run, said.update, call.stop_time_index as usize) =>
            {
                return None;
            }
            Forecast::Unknown => {
                departure.source = self.dataset.feed.clone();
                departure.age = None;
            }
            Forecast::Skipped => departure.status = DepartureStatus::Skipped,
            Forecast::Predicted { departure: expected, delay } => {
                departure.status = DepartureStatus::Realtime;
                departure.expected = Some(expected);
                departure.delay = Some(delay);
            }
        }
        if let Some(properties) = properties_of(run, call, said.update) {
            let scheduled = departure.platform.clone();
            self.put_platform(departure, properties);
            departure.scheduled_platform =
                scheduled.filter(|scheduled| departure.platform.as_ref() != Some(scheduled));
        }
        Some(())
    }

    /// The platform that a trip update has for a call instead of the scheduled one, by its stop or by its name.
    fn put_platform(&self, departure: &mut Departure, properties: &StopTimeProperties) {
        let assigned = given(&properties.assigned_stop_id);
        if let Some(stop) = assigned.and_then(|id| self.timetable().find_stop(id)) {
            departure.stop_id = SmolStr::new(self.timetable().stop(stop).id);
            departure.platform = self.platform(stop);
        }
        if let Some(name) = given(&properties.platform) {
            departure.platform = Some(SmolStr::new(name));
        }
    }

    fn run(&self, trip: TripIdx, date: Date, start_time: Option<i32>) -> Run<'_> {
        Run::new(self.timetable(), trip, date, start_time)
    }

    /// Whether anything is said about a trip, on whatever date.
    fn is_said(&self, trip_id: &str) -> bool {
        self.state
            .feeds
            .iter()
            .any(|feed| feed.tables.trip_updates.of_trip(trip_id).next().is_some())
    }

    /// Departures of trips that the schedule does not hold.
    fn extra(&self) -> Vec<Departure> {
        let here = self.timetable().stop_and_descendants(self.stop);
        let mut departures = Vec::new();
        for (id, said) in self.said_of_extra() {
            self.extra_departures(&said, &id, &here, &mut departures);
        }
        departures
    }

    /// What is said about trips that the schedule does not hold, by what their departures are called after: of one that
    /// several feeds tell of, what [counts](said_of) of it.
    fn said_of_extra(&self) -> BTreeMap<SmolStr, Said<'_>> {
        let mut all = BTreeMap::new();
        for feed in &self.state.feeds {
            let header = feed.header.as_ref().and_then(|header| seconds(header.timestamp));
            for record in feed.tables.trip_updates.extra_trips() {
                let Some(update) = record.trip_update().filter(|update| self.is_extra(update))
                else {
                    continue;
                };
                let made_at = seconds(update.timestamp).or(header).unwrap_or(self.now);
                let said = Said { feed: &feed.id, update, made_at, message_at: header };
                if said.is_out_of_date(self.now) {
                    continue;
                }
                // Without a name it is no other feed's, whatever their entities are called.
                let id = match TripKey::of(&update.trip) {
                    Some(_) => record.id.clone(),
                    None => format_smolstr!("{}:{}", feed.id, record.id),
                };
                match all.entry(id) {
                    Entry::Vacant(place) => _ = place.insert(said),
                    Entry::Occupied(mut known) => {
                        if said.weight(self.now) >= known.get().weight(self.now) {
                            known.insert(said);
                        }
                    }
                }
            }
        }
        all
    }

    /// Whether an update is of a trip that the schedule does not hold, or does not hold so.
    fn is_extra(&self, update: &TripUpdate) -> bool {
        let is_known = || {
            given(&update.trip.trip_id).is_some_and(|id| self.timetable().find_trip(id).is_some())
        };
        is_extra(&update.trip) || (is_extra_off(update) && !is_known())
    }

    /// An extra trip's calls here; its last call is no departure.
    fn extra_departures(
        &self,
        said: &Said<'_>,
        id: &str,
        here: &[StopIdx],
        departures: &mut Vec<Departure>,
    ) {
        let calls = &said.update.stop_time_update;
        let Some((_, departing)) = calls.split_last() else { return };
        for (at, stop_time) in (1..).zip(departing) {
            let timetable = self.timetable();
            let named = stop_time.stop_time_properties.as_ref();
            let named =
                named.and_then(|it| given(&it.assigned_stop_id)).or(given(&stop_time.stop_id));
            let Some(stop) = named.and_then(|id| timetable.find_stop(id)) else { continue };
            let Some(expected) = event_time(stop_time).filter(|_| here.contains(&stop)) else {
                continue;
            };
            let delay = stop_time.departure.as_ref().and_then(|event| event.delay);
            let announced = stop_time.departure.as_ref().and_then(|event| event.scheduled_time);
            let scheduled = announced.unwrap_or_else(|| expected - i64::from(delay.unwrap_or(0)));
            let trip = given(&said.update.trip.trip_id).and_then(|id| timetable.find_trip(id));
            let mut departure = match trip {
                Some(trip) => self.blank(trip, stop, scheduled),
                None => self.blank_unknown(said.update, stop, scheduled),
            };
            if let Some(properties) = &stop_time.stop_time_properties {
                self.put_platform(&mut departure, properties);
            }
            if let Some(own) = said.update.trip_properties.as_ref() {
                let own_id = given(&own.trip_id).map(SmolStr::new);
                departure.trip_id = own_id.unwrap_or(departure.trip_id);
                departure.headsign =
                    given(&own.trip_headsign).map(SmolStr::new).or(departure.headsign);
            }
            let sequence = stop_time.stop_sequence.unwrap_or(at);
            departure.id = format_smolstr!("{id}:{sequence}");
            departure.stop_sequence = sequence;
            departure.source = said.feed.clone();
            departure.age = Some(u64::try_from(self.now - said.made_at).unwrap_or(0));
            let is_off = is_extra_off(said.update);
            departure.expected = (!is_off).then_some(expected);
            departure.delay = (!is_off).then(|| clamp(expected - scheduled));
            departure.status = match stop_time.schedule_relationship() {
                _ if is_off => DepartureStatus::Cancelled,
                stop_time_update::ScheduleRelationship::Skipped => DepartureStatus::Skipped,
                _ => DepartureStatus::Realtime,
            };
            departures.push(departure);
        }
    }

    /// A departure of a known trip, of which only the schedule is known so far.
    fn blank(&self, trip: TripIdx, stop: StopIdx, scheduled: i64) -> Departure {
        let timetable = self.timetable();
        let trip = timetable.trip(trip);
        let route = timetable.route(trip.route);
        let headsign = trip.headsign.filter(|headsign| !headsign.is_empty());
        let last =
            || timetable.stop_times(trip.idx).last().map(|call| timetable.stop(call.stop).name);
        Departure {
            trip_id: SmolStr::new(trip.id),
            route_id: SmolStr::new(route.id),
            route_short_name: SmolStr::new(route.name()),
            route_color: route.color,
            route_text_color: route.text_color,
            route_type: route.kind,
            headsign: headsign.or_else(last).filter(|name| !name.is_empty()).map(SmolStr::new),
            ..self.unnamed(stop, scheduled)
        }
    }

    /// A departure of a trip that only its update knows.
    fn blank_unknown(&self, update: &TripUpdate, stop: StopIdx, scheduled: i64) -> Departure {
        let timetable = self.timetable();
        let route_id = given(&update.trip.route_id).unwrap_or_default();
        let route = timetable.find_route(route_id).map(|route| timetable.route(route));
        let last = update.stop_time_update.last().and_then(|last| given(&last.stop_id));
        let last =
            last.and_then(|id| timetable.find_stop(id)).map(|stop| timetable.stop(stop).name);
        Departure {
            trip_id: SmolStr::new(given(&update.trip.trip_id).unwrap_or_default()),
            route_id: SmolStr::new(route_id),
            route_short_name: SmolStr::new(route.map_or(route_id, |route| route.name())),
            route_color: route.and_then(|route| route.color),
            route_text_color: route.and_then(|route| route.text_color),
            route_type: route.map_or(BUS, |route| route.kind),
            headsign: last.filter(|name| !name.is_empty()).map(SmolStr::new),
            status: DepartureStatus::Realtime,
            ..self.unnamed(stop, scheduled)
        }
    }

    /// A departure from a stop, of which nobody has said yet what departs.
    fn unnamed(&self, stop: StopIdx, scheduled: i64) -> Departure {
        let timetable = self.timetable();
        Departure {
            id: SmolStr::default(),
            feed: self.dataset.feed.clone(),
            trip_id: SmolStr::default(),
            route_id: SmolStr::default(),
            route_short_name: SmolStr::default(),
            route_color: None,
            route_text_color: None,
            route_type: BUS,
            headsign: None,
            platform: self.platform(stop),
            scheduled_platform: None,
            stop_id: SmolStr::new(timetable.stop(stop).id),
            stop_sequence: 0,
            scheduled,
            expected: None,
            delay: None,
            status: DepartureStatus::Scheduled,
            source: self.dataset.feed.clone(),
            age: None,
            zone: timetable.timezone().clone(),
        }
    }

    fn platform(&self, stop: StopIdx) -> Option<SmolStr> {
        self.timetable().stop(stop).platform_code.map(SmolStr::new)
    }
}

/// `route_type` of a trip that names no known route: what is added at short notice is mostly a bus.
const BUS: u16 = 3;

fn event_time(stop_time: &StopTimeUpdate) -> Option<i64> {
    let departs = stop_time.departure.as_ref().and_then(|event| event.time);
    departs.or_else(|| stop_time.arrival.as_ref().and_then(|event| event.time))
}

/// Seconds of the service day as `HH:MM:SS`.
pub(crate) fn gtfs_time(seconds: i32) -> SmolStr {
    format_smolstr!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
