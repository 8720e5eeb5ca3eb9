//! Departure boards: the schedule of a stop joined with the trip updates of its trips.
//!
//! A board is a pure function of a network's state and a time, so it can be reproduced from the same state.

use std::{
    collections::{BTreeMap, HashSet, btree_map::Entry},
    sync::Arc,
    time::Duration,
};

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{ScheduledDeparture, StopIdx, Timetable, TripIdx},
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
    normalize::{
        CallForecast, ScheduledRun, TripKey, clamp_to_i32, format_gtfs_date,
        is_cancelled_extra_trip, is_extra_trip, nonempty_text, nonzero_seconds,
    },
    record::{Departure, DepartureStatus, Record, RecordBody},
};

mod best_update;

pub(crate) use best_update::{find_run_update, is_superseded};

/// Returns the next departures from a stop, or from all stops of a station, in time order: at most `limit`, within
/// `horizon`, including those of the last minute. `None` if there is no such stop.
///
/// `now` is the present of the network's data ([`Network::now`](crate::NetworkProto::now)).
pub fn departures(
    state: &NetworkState,
    stop_id: &str,
    now: UnixMillis,
    limit: usize,
    horizon: Duration,
) -> Option<Vec<Departure>> {
    departures_from(state, stop_id, now, now, limit, horizon)
}

/// Returns the departures from `from` on, like [`departures()`]. The age of predictions is still judged by `now`.
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
    let (now, from) = (now.unix_seconds(), from.unix_seconds());
    let look = DepartureSearch { state, dataset, stop, now, from, horizon };
    let mut departures = look.list_scheduled_departures();
    departures.extend(look.list_extra_departures());
    departures.retain(|departure| look.is_in_window(departure.departure_time()));
    departures
        .sort_by(|a, b| a.departure_time().cmp(&b.departure_time()).then_with(|| a.id.cmp(&b.id)));
    // A feed may replace a trip that another feed still reports, or give several calls the same number.
    let mut ids = HashSet::new();
    departures.retain(|departure| ids.insert(departure.id.clone()));
    departures.truncate(limit);
    Some(departures)
}

/// Returns the records of a stop's channel.
pub(crate) fn list_board_records(state: &NetworkState, stop_id: &str) -> Vec<Arc<Record>> {
    let Some(dataset) = &state.dataset else { return Vec::new() };
    let now = UnixMillis::from_seconds(state.board_at);
    let departures = departures(state, stop_id, now, BOARD_DEPARTURES, BOARD_HORIZON);
    let records = departures.into_iter().flatten().map(|departure| {
        let id = departure.id.clone();
        Arc::new(Record::new_local(
            dataset.feed.clone(),
            id,
            RecordBody::Departure(Box::new(departure)),
        ))
    });
    // Names of a kilobyte would make a board too large for a message.
    records.filter(|record| record.bytes_max() <= BOARD_RECORD_BYTES_MAX).collect()
}

/// Returns the stop properties of a trip update for a scheduled call.
fn find_stop_properties<'u>(
    run: ScheduledRun<'_>,
    call: &ScheduledDeparture,
    update: &'u TripUpdate,
) -> Option<&'u StopTimeProperties> {
    if update.stop_time_update.iter().all(|it| it.stop_time_properties.is_none()) {
        return None;
    }
    let (_, stop_time) =
        run.aligned_updates(update).find(|&(at, _)| at == call.stop_time_index as usize)?;
    stop_time.stop_time_properties.as_ref()
}

/// Returns true if an update has calls and all of them are after `call`.
fn starts_after_call(run: ScheduledRun<'_>, update: &TripUpdate, call: usize) -> bool {
    run.aligned_updates(update).next().is_some_and(|(first, _)| first > call)
}

/// A search for the departures of one stop.
struct DepartureSearch<'a> {
    state: &'a NetworkState,
    dataset: &'a Dataset,
    stop: StopIdx,
    /// The time by which ages are judged, in Unix seconds.
    now: i64,
    /// The time from which departures are shown, in Unix seconds.
    from: i64,
    horizon: Duration,
}

/// A trip update of a run.
pub(crate) struct RunUpdate<'a> {
    pub(crate) feed: &'a FeedId,
    pub(crate) update: &'a TripUpdate,
    pub(crate) made_at: i64,
    /// The timestamp of the feed's message, if present: the age of everything in the message.
    pub(crate) message_at: Option<i64>,
}

impl RunUpdate<'_> {
    /// Returns true if the message is too old at `now`, in Unix seconds, for its times to be shown.
    pub(crate) fn is_out_of_date(&self, now: i64) -> bool {
        let most = i64::try_from(BOARD_STALE_MAX.as_secs()).unwrap_or(i64::MAX);
        self.message_at.is_some_and(|at| now.saturating_sub(at) > most)
    }

    /// Returns the precedence among updates of the same run: the greatest wins.
    fn precedence_key(&self, now: i64) -> impl Ord + use<> {
        (!self.is_out_of_date(now), !is_delay_only(self.update), self.made_at)
    }
}

/// Returns true if an update contains nothing but a delay, as vehicles report for their journeys besides estimates.
pub(crate) fn is_delay_only(update: &TripUpdate) -> bool {
    update.stop_time_update.is_empty()
        && update.delay.is_some()
        && update.trip.schedule_relationship() == ScheduleRelationship::Scheduled
}

impl DepartureSearch<'_> {
    fn timetable(&self) -> &Timetable {
        &self.dataset.timetable
    }

    fn is_in_window(&self, leaves: i64) -> bool {
        let from = self.from.saturating_sub(BOARD_LINGER.as_secs() as i64);
        (from..=self.from.saturating_add(self.horizon.as_secs() as i64)).contains(&leaves)
    }

    /// Lists the scheduled departures. Late ones are found by their scheduled times, so the search begins earlier.
    fn list_scheduled_departures(&self) -> Vec<Departure> {
        let from = self.from.saturating_sub(BOARD_LATE_MAX.as_secs() as i64);
        let ahead = self.horizon.saturating_add(BOARD_EARLY_MAX).as_secs() as i64;
        let until = self.from.saturating_add(ahead);
        let shown_from = self.from.saturating_sub(BOARD_LINGER.as_secs() as i64);
        let find =
            |from, until| self.timetable().departures(self.stop, from, until, BOARD_SCHEDULED_MAX);
        let mut calls = find(from, until);
        if calls.len() == BOARD_SCHEDULED_MAX {
            // However many runs are over, upcoming ones must not be cut off.
            calls = find(from, shown_from - 1);
            calls.extend(find(shown_from, until));
        }
        calls.iter().filter_map(|call| self.build_scheduled_departure(call)).collect()
    }

    fn build_scheduled_departure(&self, call: &ScheduledDeparture) -> Option<Departure> {
        let timetable = self.timetable();
        let trip = timetable.trip(call.trip);
        // Most calls have no update and are over or far ahead: skip them early.
        if !self.is_in_window(call.departure) && !self.has_update_for_trip(trip.id) {
            return None;
        }
        let date = format_gtfs_date(call.service_date);
        let time = call.start_time.map_or_else(SmolStr::default, format_gtfs_time);
        let key = TripKey { trip_id: trip.id, start_date: &date, start_time: &time };
        let said = find_run_update(self.state, key, self.now);
        let mut departure = self.scheduled_only_departure(call.trip, call.stop, call.departure);
        departure.id = format_smolstr!("{}:{date}:{time}:{}", trip.id, call.stop_sequence);
        departure.stop_sequence = call.stop_sequence;
        let calls_headsign = timetable
            .stop_time(call.trip, call.stop_time_index as usize)
            .and_then(|stop_time| stop_time.headsign);
        if let Some(headsign) = calls_headsign.filter(|headsign| !headsign.is_empty()) {
            departure.headsign = Some(SmolStr::new(headsign));
        }
        if let Some(said) = said {
            self.apply_update(&mut departure, call, &said)?;
        }
        Some(departure)
    }

    /// Applies a trip update to a scheduled departure; `None` if the departure must not be shown.
    fn apply_update(
        &self,
        departure: &mut Departure,
        call: &ScheduledDeparture,
        said: &RunUpdate<'_>,
    ) -> Option<()> {
        departure.source = said.feed.clone();
        departure.age = Some(u64::try_from(self.now - said.made_at).unwrap_or(0));
        match said.update.trip.schedule_relationship() {
            ScheduleRelationship::Deleted => return None,
            // An outdated replacement is not shown, so the scheduled departure returns.
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
        let run = self.run_for_trip(call.trip, call.service_date, call.start_time);
        match run.forecast_call(said.update, call.stop_time_index as usize) {
            CallForecast::Predicted { .. } | CallForecast::Unknown
                if said.is_out_of_date(self.now) =>
            {
                departure.source = self.dataset.feed.clone();
                departure.age = None;
                return Some(());
            }
            // A producer may drop a past call: the update then begins after it. (GTFS-Realtime, "Trip updates": early
            // departures stay until their scheduled time.)
            CallForecast::Unknown
                if call.departure <= self.from
                    && starts_after_call(run, said.update, call.stop_time_index as usize) =>
            {
                return None;
            }
            CallForecast::Unknown => {
                departure.source = self.dataset.feed.clone();
                departure.age = None;
            }
            CallForecast::Skipped => departure.status = DepartureStatus::Skipped,
            CallForecast::Predicted { departure: expected, delay } => {
                departure.status = DepartureStatus::Realtime;
                departure.expected = Some(expected);
                departure.delay = Some(delay);
            }
        }
        if let Some(properties) = find_stop_properties(run, call, said.update) {
            let scheduled = departure.platform.clone();
            self.apply_platform(departure, properties);
            departure.scheduled_platform =
                scheduled.filter(|scheduled| departure.platform.as_ref() != Some(scheduled));
        }
        Some(())
    }

    /// Applies the platform that a trip update assigns to a call, by its stop or by its name.
    fn apply_platform(&self, departure: &mut Departure, properties: &StopTimeProperties) {
        let assigned = nonempty_text(&properties.assigned_stop_id);
        if let Some(stop) = assigned.and_then(|id| self.timetable().find_stop(id)) {
            departure.stop_id = SmolStr::new(self.timetable().stop(stop).id);
            departure.platform = self.platform_code(stop);
        }
        if let Some(name) = nonempty_text(&properties.platform) {
            departure.platform = Some(SmolStr::new(name));
        }
    }

    fn run_for_trip(&self, trip: TripIdx, date: Date, start_time: Option<i32>) -> ScheduledRun<'_> {
        ScheduledRun::new(self.timetable(), trip, date, start_time)
    }

    /// Returns true if any feed has an update for a trip, on any date.
    fn has_update_for_trip(&self, trip_id: &str) -> bool {
        self.state
            .feeds
            .iter()
            .any(|feed| feed.tables.trip_updates.records_by_trip(trip_id).next().is_some())
    }

    /// Lists the departures of trips that are not in the schedule.
    fn list_extra_departures(&self) -> Vec<Departure> {
        let here = self.timetable().stop_and_descendants(self.stop);
        let mut departures = Vec::new();
        for (id, said) in self.find_extra_updates() {
            self.push_extra_departures(&said, &id, &here, &mut departures);
        }
        departures
    }

    /// Returns the updates of trips that are not in the schedule, by the prefix of their departures' ids. If several
    /// feeds report a trip, the [best](find_run_update) update wins.
    fn find_extra_updates(&self) -> BTreeMap<SmolStr, RunUpdate<'_>> {
        let mut all = BTreeMap::new();
        for feed in &self.state.feeds {
            let header = feed.header.as_ref().and_then(|header| nonzero_seconds(header.timestamp));
            for record in feed.tables.trip_updates.extra_trips() {
                let Some(update) =
                    record.trip_update().filter(|update| self.is_extra_update(update))
                else {
                    continue;
                };
                let made_at = nonzero_seconds(update.timestamp).or(header).unwrap_or(self.now);
                let said = RunUpdate { feed: &feed.id, update, made_at, message_at: header };
                if said.is_out_of_date(self.now) {
                    continue;
                }
                // A trip without a key cannot equal one of another feed, even if their entity ids match.
                let id = match TripKey::from_descriptor(&update.trip) {
                    Some(_) => record.id.clone(),
                    None => format_smolstr!("{}:{}", feed.id, record.id),
                };
                match all.entry(id) {
                    Entry::Vacant(place) => _ = place.insert(said),
                    Entry::Occupied(mut known) => {
                        if said.precedence_key(self.now) >= known.get().precedence_key(self.now) {
                            known.insert(said);
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns true if an update is about a trip that is not, or not in this form, in the schedule.
    fn is_extra_update(&self, update: &TripUpdate) -> bool {
        let is_known = || {
            nonempty_text(&update.trip.trip_id)
                .is_some_and(|id| self.timetable().find_trip(id).is_some())
        };
        is_extra_trip(&update.trip) || (is_cancelled_extra_trip(update) && !is_known())
    }

    /// Adds an extra trip's calls at this stop; its last call is no departure.
    fn push_extra_departures(
        &self,
        said: &RunUpdate<'_>,
        id: &str,
        here: &[StopIdx],
        departures: &mut Vec<Departure>,
    ) {
        let calls = &said.update.stop_time_update;
        let Some((_, departing)) = calls.split_last() else { return };
        for (at, stop_time) in (1..).zip(departing) {
            let timetable = self.timetable();
            let named = stop_time.stop_time_properties.as_ref();
            let named = named
                .and_then(|it| nonempty_text(&it.assigned_stop_id))
                .or(nonempty_text(&stop_time.stop_id));
            let Some(stop) = named.and_then(|id| timetable.find_stop(id)) else { continue };
            let Some(expected) = predicted_event_time(stop_time).filter(|_| here.contains(&stop))
            else {
                continue;
            };
            let delay = stop_time.departure.as_ref().and_then(|event| event.delay);
            let announced = stop_time.departure.as_ref().and_then(|event| event.scheduled_time);
            let scheduled = announced.unwrap_or_else(|| expected - i64::from(delay.unwrap_or(0)));
            let trip =
                nonempty_text(&said.update.trip.trip_id).and_then(|id| timetable.find_trip(id));
            let mut departure = match trip {
                Some(trip) => self.scheduled_only_departure(trip, stop, scheduled),
                None => self.unscheduled_departure(said.update, stop, scheduled),
            };
            if let Some(properties) = &stop_time.stop_time_properties {
                self.apply_platform(&mut departure, properties);
            }
            if let Some(own) = said.update.trip_properties.as_ref() {
                let own_id = nonempty_text(&own.trip_id).map(SmolStr::new);
                departure.trip_id = own_id.unwrap_or(departure.trip_id);
                departure.headsign =
                    nonempty_text(&own.trip_headsign).map(SmolStr::new).or(departure.headsign);
            }
            let sequence = stop_time.stop_sequence.unwrap_or(at);
            departure.id = format_smolstr!("{id}:{sequence}");
            departure.stop_sequence = sequence;
            departure.source = said.feed.clone();
            departure.age = Some(u64::try_from(self.now - said.made_at).unwrap_or(0));
            let is_off = is_cancelled_extra_trip(said.update);
            departure.expected = (!is_off).then_some(expected);
            departure.delay = (!is_off).then(|| clamp_to_i32(expected - scheduled));
            departure.status = match stop_time.schedule_relationship() {
                _ if is_off => DepartureStatus::Cancelled,
                stop_time_update::ScheduleRelationship::Skipped => DepartureStatus::Skipped,
                _ => DepartureStatus::Realtime,
            };
            departures.push(departure);
        }
    }

    /// Returns a departure of a scheduled trip before any update is applied.
    fn scheduled_only_departure(&self, trip: TripIdx, stop: StopIdx, scheduled: i64) -> Departure {
        let timetable = self.timetable();
        let trip = timetable.trip(trip);
        let route = timetable.route(trip.route);
        let headsign = trip.headsign.filter(|headsign| !headsign.is_empty());
        let last =
            || timetable.stop_times(trip.idx).last().map(|call| timetable.stop(call.stop).name);
        Departure {
            trip_id: SmolStr::new(trip.id),
            route_id: SmolStr::new(route.id),
            route_short_name: SmolStr::new(route.display_name()),
            route_color: route.color,
            route_text_color: route.text_color,
            route_type: route.kind,
            headsign: headsign.or_else(last).filter(|name| !name.is_empty()).map(SmolStr::new),
            ..self.empty_departure(stop, scheduled)
        }
    }

    /// Returns a departure of a trip that only its update knows.
    fn unscheduled_departure(
        &self,
        update: &TripUpdate,
        stop: StopIdx,
        scheduled: i64,
    ) -> Departure {
        let timetable = self.timetable();
        let route_id = nonempty_text(&update.trip.route_id).unwrap_or_default();
        let route = timetable.find_route(route_id).map(|route| timetable.route(route));
        let last = update.stop_time_update.last().and_then(|last| nonempty_text(&last.stop_id));
        let last =
            last.and_then(|id| timetable.find_stop(id)).map(|stop| timetable.stop(stop).name);
        Departure {
            trip_id: SmolStr::new(nonempty_text(&update.trip.trip_id).unwrap_or_default()),
            route_id: SmolStr::new(route_id),
            route_short_name: SmolStr::new(route.map_or(route_id, |route| route.display_name())),
            route_color: route.and_then(|route| route.color),
            route_text_color: route.and_then(|route| route.text_color),
            route_type: route.map_or(BUS, |route| route.kind),
            headsign: last.filter(|name| !name.is_empty()).map(SmolStr::new),
            status: DepartureStatus::Realtime,
            ..self.empty_departure(stop, scheduled)
        }
    }

    /// Returns a departure from a stop without trip data.
    fn empty_departure(&self, stop: StopIdx, scheduled: i64) -> Departure {
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
            platform: self.platform_code(stop),
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

    fn platform_code(&self, stop: StopIdx) -> Option<SmolStr> {
        self.timetable().stop(stop).platform_code.map(SmolStr::new)
    }
}

/// `route_type` of a trip without a known route: short-notice additions are mostly buses.
const BUS: u16 = 3;

fn predicted_event_time(stop_time: &StopTimeUpdate) -> Option<i64> {
    let departs = stop_time.departure.as_ref().and_then(|event| event.time);
    departs.or_else(|| stop_time.arrival.as_ref().and_then(|event| event.time))
}

/// Formats seconds of the service day as `HH:MM:SS`.
pub(crate) fn format_gtfs_time(seconds: i32) -> SmolStr {
    format_smolstr!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
