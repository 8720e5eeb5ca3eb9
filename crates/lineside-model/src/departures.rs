//! Departure boards: the schedule of a stop joined with the trip updates of its trips.
//!
//! A board is a pure function of a network's state and a time, so it can be reproduced from the same state.

use std::{collections::HashSet, sync::Arc, time::Duration};

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{ScheduledDeparture, StopIdx, Timetable, TripIdx},
    gtfs_rt::proto::{
        TripUpdate, trip_descriptor::ScheduleRelationship,
        trip_update::stop_time_update::StopTimeProperties,
    },
};
use lineside_sync::UnixMillis;
use smol_str::{SmolStr, format_smolstr};

use crate::{
    dataset::Dataset,
    feed_id::FeedId,
    limits::{
        BOARD_DEPARTURES, BOARD_EARLY_MAX, BOARD_HORIZON, BOARD_LATE_MAX, BOARD_LINGER,
        BOARD_RECORD_BYTES_MAX, BOARD_SCHEDULED_MAX, BOARD_STALE_MAX,
    },
    network_state::{FeedStateInNetwork, NetworkState},
    record::{Departure, DepartureStatus, Record, RecordBody},
    trip_forecast::{CallForecast, ScheduledRun},
    trip_identity::{TripKey, format_gtfs_date, text_if_nonempty, timestamp_if_nonzero},
};

mod announced;
mod best_update;
mod live_only;

pub use best_update::{find_best_run_update, has_better_update_elsewhere};

/// Returns the next departures from a stop, or from all stops of a station, in time order: at most `limit`, within
/// `horizon`, including those of the last minute. `None` if there is no such stop.
///
/// `now` is the present of the network's data: the recorded time during a replay.
pub fn list_next_departures(
    state: &NetworkState,
    stop_id: &str,
    now: UnixMillis,
    limit: usize,
    horizon: Duration,
) -> Option<Vec<Departure>> {
    list_departures_from(state, stop_id, now, now, limit, horizon)
}

/// Returns the departures from `from` on, like [`list_next_departures`]. The age of predictions is still judged by
/// `now`.
pub fn list_departures_from(
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
    let search = DepartureSearch { state, dataset, stop, now, from, horizon };
    let mut departures = search.list_scheduled_departures();
    search.remove_likely_duplicate_departures(&mut departures);
    departures.extend(search.list_extra_trip_departures());
    departures.extend(search.list_unmatched_trip_departures());
    departures
        .retain(|departure| search.is_in_board_window(departure.expected_or_scheduled_time()));
    departures.sort_by(|a, b| {
        a.expected_or_scheduled_time()
            .cmp(&b.expected_or_scheduled_time())
            .then_with(|| a.id.cmp(&b.id))
    });
    // A feed may replace a trip that another feed still reports, or give several calls the same number.
    let mut ids = HashSet::new();
    departures.retain(|departure| ids.insert(departure.id.clone()));
    departures.truncate(limit);
    Some(departures)
}

/// Returns the records of a stop's channel.
pub fn list_stop_channel_records(state: &NetworkState, stop_id: &str) -> Vec<Arc<Record>> {
    let Some(dataset) = &state.dataset else { return Vec::new() };
    let now = UnixMillis::from_seconds(state.board_at);
    let departures = list_next_departures(state, stop_id, now, BOARD_DEPARTURES, BOARD_HORIZON);
    let records = departures.into_iter().flatten().map(|departure| {
        let id = departure.id.clone();
        Arc::new(Record::new_without_source(
            dataset.feed.clone(),
            id,
            RecordBody::Departure(Box::new(departure)),
        ))
    });
    // Names of a kilobyte would make a board too large for a message.
    records.filter(|record| record.upsert_json_bytes_max() <= BOARD_RECORD_BYTES_MAX).collect()
}

fn find_stop_time_properties<'u>(
    run: ScheduledRun<'_>,
    call: &ScheduledDeparture,
    update: &'u TripUpdate,
) -> Option<&'u StopTimeProperties> {
    if update.stop_time_update.iter().all(|it| it.stop_time_properties.is_none()) {
        return None;
    }
    let (_, stop_time) =
        run.match_updates_to_calls(update).find(|&(at, _)| at == call.stop_time_index as usize)?;
    stop_time.stop_time_properties.as_ref()
}

/// Returns true if an update has calls and all of them are after `call`.
fn starts_after_call(run: ScheduledRun<'_>, update: &TripUpdate, call: usize) -> bool {
    run.match_updates_to_calls(update).next().is_some_and(|(first, _)| first > call)
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
#[derive(Debug)]
pub struct TripRunUpdate<'a> {
    pub feed: &'a FeedId,
    pub update: &'a TripUpdate,
    pub made_at: i64,
    /// The timestamp of the feed's message, if present: the age of everything in the message.
    pub message_at: Option<i64>,
}

impl<'a> TripRunUpdate<'a> {
    /// Wraps a feed's update. An update without a time is as old as its message, or made at `now`, Unix seconds, if
    /// that has none.
    pub fn new(feed: &'a FeedStateInNetwork, update: &'a TripUpdate, now: i64) -> Self {
        let message_at =
            feed.header.as_ref().and_then(|header| timestamp_if_nonzero(header.timestamp));
        let made_at = timestamp_if_nonzero(update.timestamp).or(message_at).unwrap_or(now);
        TripRunUpdate { feed: &feed.id, update, made_at, message_at }
    }

    /// Returns true if the message is too old at `now`, Unix seconds, for its times to be shown.
    pub fn is_out_of_date(&self, now: i64) -> bool {
        let age_max = i64::try_from(BOARD_STALE_MAX.as_secs()).unwrap_or(i64::MAX);
        self.message_at.is_some_and(|at| now.saturating_sub(at) > age_max)
    }

    /// Returns the precedence among updates of the same run: the greatest wins.
    fn precedence_key(&self, now: i64) -> impl Ord + use<> {
        (!self.is_out_of_date(now), !is_delay_only(self.update), self.made_at)
    }
}

/// Returns true if an update contains nothing but a delay, as vehicles report for their journeys besides estimates.
pub fn is_delay_only(update: &TripUpdate) -> bool {
    update.stop_time_update.is_empty()
        && update.delay.is_some()
        && update.trip.schedule_relationship() == ScheduleRelationship::Scheduled
}

impl DepartureSearch<'_> {
    fn timetable(&self) -> &Timetable {
        &self.dataset.timetable
    }

    fn is_in_board_window(&self, leaves: i64) -> bool {
        let from = self.from.saturating_sub(BOARD_LINGER.as_secs() as i64);
        (from..=self.from.saturating_add(self.horizon.as_secs() as i64)).contains(&leaves)
    }

    /// Lists the scheduled departures. Late ones are found by their scheduled times, so the search begins earlier.
    fn list_scheduled_departures(&self) -> Vec<Departure> {
        let from = self.from.saturating_sub(BOARD_LATE_MAX.as_secs() as i64);
        let ahead = self.horizon.saturating_add(BOARD_EARLY_MAX).as_secs() as i64;
        let until = self.from.saturating_add(ahead);
        let visible_from = self.from.saturating_sub(BOARD_LINGER.as_secs() as i64);
        let find = |from, until| {
            self.timetable().departures_from_stop(self.stop, from, until, BOARD_SCHEDULED_MAX)
        };
        let mut calls = find(from, until);
        if calls.len() == BOARD_SCHEDULED_MAX {
            // However many runs are over, upcoming ones must not be cut off.
            calls = find(from, visible_from - 1);
            calls.extend(find(visible_from, until));
        }
        calls.iter().filter_map(|call| self.build_scheduled_departure(call)).collect()
    }

    fn build_scheduled_departure(&self, call: &ScheduledDeparture) -> Option<Departure> {
        let timetable = self.timetable();
        let trip = timetable.trip(call.trip);
        // Most calls have no update and are over or far ahead: skip them early.
        if !self.is_in_board_window(call.departure) && !self.has_update_for_trip(trip.id) {
            return None;
        }
        let date = format_gtfs_date(call.service_date);
        let time = call.start_time.map_or_else(SmolStr::default, format_gtfs_time);
        let key = TripKey { trip_id: trip.id, start_date: &date, start_time: &time };
        let run_update = find_best_run_update(self.state, key, self.now);
        let mut departure =
            self.build_scheduled_only_departure(call.trip, call.stop, Some(call.departure));
        departure.id = format_smolstr!("{}:{date}:{time}:{}", trip.id, call.stop_sequence);
        departure.stop_sequence = Some(call.stop_sequence);
        let calls_headsign = timetable
            .trip_stop_time(call.trip, call.stop_time_index as usize)
            .and_then(|stop_time| stop_time.headsign);
        if let Some(headsign) = calls_headsign.filter(|headsign| !headsign.is_empty()) {
            departure.headsign = Some(SmolStr::new(headsign));
        }
        if let Some(run_update) = run_update {
            self.apply_trip_update(&mut departure, call, &run_update)?;
        }
        Some(departure)
    }

    /// Applies a trip update to a scheduled departure; `None` if the departure must not be shown.
    fn apply_trip_update(
        &self,
        departure: &mut Departure,
        call: &ScheduledDeparture,
        run_update: &TripRunUpdate<'_>,
    ) -> Option<()> {
        departure.source = run_update.feed.clone();
        departure.age = Some(u64::try_from(self.now - run_update.made_at).unwrap_or(0));
        match run_update.update.trip.schedule_relationship() {
            ScheduleRelationship::Deleted => return None,
            // An outdated replacement is not shown, so the scheduled departure returns.
            ScheduleRelationship::Replacement if run_update.is_out_of_date(self.now) => {
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
        let run = self.scheduled_run_of_trip(call.trip, call.service_date, call.start_time);
        match run.forecast_call(run_update.update, call.stop_time_index as usize) {
            CallForecast::Predicted { .. } | CallForecast::Unknown
                if run_update.is_out_of_date(self.now) =>
            {
                departure.source = self.dataset.feed.clone();
                departure.age = None;
                return Some(());
            }
            // A producer may drop a past call: the update then begins after it. (GTFS-Realtime, "Trip updates": early
            // departures stay until their scheduled time.)
            CallForecast::Unknown
                if call.departure <= self.from
                    && starts_after_call(run, run_update.update, call.stop_time_index as usize) =>
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
        if let Some(properties) = find_stop_time_properties(run, call, run_update.update) {
            let scheduled = departure.platform.clone();
            self.apply_assigned_platform(departure, properties);
            departure.scheduled_platform =
                scheduled.filter(|scheduled| departure.platform.as_ref() != Some(scheduled));
        }
        Some(())
    }

    /// Applies the platform that a trip update assigns to a call, by its stop or by its name.
    fn apply_assigned_platform(&self, departure: &mut Departure, properties: &StopTimeProperties) {
        let assigned = text_if_nonempty(&properties.assigned_stop_id);
        if let Some(stop) = assigned.and_then(|id| self.timetable().find_stop(id)) {
            departure.stop_id = SmolStr::new(self.timetable().stop(stop).id);
            departure.platform = self.platform_code(stop);
        }
        if let Some(name) = text_if_nonempty(&properties.platform) {
            departure.platform = Some(SmolStr::new(name));
        }
    }

    fn scheduled_run_of_trip(
        &self,
        trip: TripIdx,
        date: Date,
        start_time: Option<i32>,
    ) -> ScheduledRun<'_> {
        ScheduledRun::new(self.timetable(), trip, date, start_time)
    }

    /// Returns true if any feed has an update for a trip, on any date.
    fn has_update_for_trip(&self, trip_id: &str) -> bool {
        self.state
            .feeds
            .iter()
            .any(|feed| feed.tables.trip_updates.records_by_trip(trip_id).next().is_some())
    }

    /// Builds a departure of a known trip from the schedule alone.
    fn build_scheduled_only_departure(
        &self,
        trip: TripIdx,
        stop: StopIdx,
        scheduled: Option<i64>,
    ) -> Departure {
        let timetable = self.timetable();
        let trip = timetable.trip(trip);
        let route = timetable.route(trip.route);
        let headsign = trip.headsign.filter(|headsign| !headsign.is_empty());
        let last = || {
            timetable.trip_stop_times(trip.idx).last().map(|call| timetable.stop(call.stop).name)
        };
        Departure {
            trip_id: SmolStr::new(trip.id),
            route_id: SmolStr::new(route.id),
            route_short_name: SmolStr::new(route.display_name()),
            route_color: route.color,
            route_text_color: route.text_color,
            route_type: route.kind,
            headsign: headsign.or_else(last).filter(|name| !name.is_empty()).map(SmolStr::new),
            ..self.build_departure_without_trip(stop, scheduled)
        }
    }

    /// Builds a departure from a stop without a trip.
    fn build_departure_without_trip(&self, stop: StopIdx, scheduled: Option<i64>) -> Departure {
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
            stop_sequence: None,
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

/// Seconds of the service day as `HH:MM:SS`.
pub fn format_gtfs_time(seconds: i32) -> SmolStr {
    format_smolstr!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
