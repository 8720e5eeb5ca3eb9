//! A trip on a service date: its scheduled calls, joined with the predictions of trip updates.
//!
//! A pure function of a network's state and a time, like [`list_next_departures`](crate::list_next_departures).

use std::sync::Arc;

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{StopIdx, StopTime, Timetable, TripIdx},
    gtfs_rt::proto::{
        TripUpdate,
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeEvent, StopTimeUpdate, stop_time_update},
    },
};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{
    departures::{TripRunUpdate, find_best_run_update, format_gtfs_time},
    feed_id::FeedId,
    limits::TRIP_CALLS_MAX,
    network_state::NetworkState,
    record::{DepartureStatus, Record, RecordKind},
    service_date::nearest_service_date,
    trip_forecast::{
        CallForecast, ScheduledRun, parse_gtfs_date, parse_gtfs_time, saturate_to_i32,
    },
    trip_identity::{
        TripKey, format_gtfs_date, is_cancelled_extra_trip, is_extra_trip, text_if_nonempty,
    },
};

/// The run of a trip to find.
#[derive(Clone, Copy, Debug)]
pub struct TripRunQuery<'a> {
    /// `trip_id`.
    pub trip_id: &'a str,
    /// The service date; if absent, the date of the run nearest to now.
    pub date: Option<Date>,
    /// The start of a run of `frequencies.txt`, in seconds after noon minus 12 h.
    pub start_time: Option<i32>,
}

/// The reason why a trip cannot be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripNotFound {
    /// Neither the timetable nor a realtime feed has the trip.
    UnknownTrip,
    /// The trip exists but does not run on the date.
    NotOnDate,
}

/// A trip on a service date.
#[derive(Clone, Debug)]
pub struct TripRun {
    /// `trip_id`.
    pub trip_id: SmolStr,
    /// The service date, if known: a realtime feed may omit it for an added trip.
    pub date: Option<Date>,
    /// The start of a run of `frequencies.txt` as `HH:MM:SS`, else empty.
    pub start_time: SmolStr,
    /// `route_id`, if known.
    pub route_id: Option<SmolStr>,
    /// The trip's headsign, else the name of its last stop.
    pub headsign: Option<SmolStr>,
    /// True if the timetable contains the trip as shown here.
    pub is_scheduled: bool,
    /// True if the whole trip is cancelled.
    pub is_cancelled: bool,
    /// The realtime feed whose predictions are shown.
    pub source: Option<FeedId>,
    /// The calls in order, at most [`TRIP_CALLS_MAX`].
    pub calls: Vec<TripCall>,
    /// The number of further calls.
    pub n_omitted_calls: usize,
    pub vehicle: Option<Arc<Record>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripCall {
    /// `stop_id` of the stop or platform of the call.
    pub stop_id: SmolStr,
    /// The stop in the timetable.
    pub stop: Option<StopIdx>,
    /// The platform code.
    pub platform: Option<SmolStr>,
    /// The code of the scheduled platform, if the call was moved to another one.
    pub scheduled_platform: Option<SmolStr>,
    /// Scheduled arrival in Unix seconds.
    pub arrival: Option<i64>,
    /// Scheduled departure (else arrival) in Unix seconds.
    pub scheduled: Option<i64>,
    /// Predicted departure (else arrival) in Unix seconds.
    pub expected: Option<i64>,
    /// Seconds behind the timetable; negative if early.
    pub delay: Option<i32>,
    pub status: DepartureStatus,
}

impl TripCall {
    /// Returns the predicted time, else the scheduled one, in Unix seconds.
    pub fn best_known_time(&self) -> Option<i64> {
        self.expected.or(self.scheduled)
    }
}

impl NetworkState {
    /// Finds the trip of a query as of `now`, the present of the network's data.
    ///
    /// # Errors
    /// Returns [`TripNotFound`] if the trip is unknown or does not run on the date.
    pub fn find_trip_run(
        &self,
        query: TripRunQuery<'_>,
        now: UnixMillis,
    ) -> Result<TripRun, TripNotFound> {
        let now = now.unix_seconds();
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        let scheduled = timetable.and_then(|it| Some((it, it.find_trip(query.trip_id)?)));
        let Some((timetable, trip)) = scheduled else {
            return self.find_extra_trip_run(query, timetable);
        };
        let date = query.date.unwrap_or_else(|| nearest_service_date(timetable, trip, now));
        let start = query.start_time.filter(|_| timetable.trip(trip).has_frequencies);
        let (start_date, start_time) =
            (format_gtfs_date(date), start.map_or_else(SmolStr::default, format_gtfs_time));
        let key =
            TripKey { trip_id: query.trip_id, start_date: &start_date, start_time: &start_time };
        // Boards do the same: a cancellation remains valid, outdated predictions do not.
        let run_update = find_best_run_update(self, key, now)
            .filter(|said| !said.is_out_of_date(now) || is_trip_cancelled(said.update));
        if let Some(run_update) =
            run_update.as_ref().filter(|run_update| is_extra_trip(&run_update.update.trip))
        {
            return Ok(self.build_extra_trip_run(
                run_update.update,
                run_update.feed,
                Some(timetable),
            ));
        }
        if !timetable.is_service_active(timetable.trip(trip).service, date) {
            let has_date = TripRunQuery { date: Some(date), ..query };
            return self
                .find_extra_trip_run(has_date, Some(timetable))
                .map_err(|_| TripNotFound::NotOnDate);
        }
        let run = ScheduledRun::new(timetable, trip, date, start);
        let mut shown =
            build_scheduled_trip_run(run, trip, date, start_time.clone(), run_update.as_ref());
        shown.vehicle = self.find_vehicle_of_trip(key);
        Ok(shown)
    }

    /// Finds a trip that only realtime feeds have.
    fn find_extra_trip_run(
        &self,
        query: TripRunQuery<'_>,
        timetable: Option<&Timetable>,
    ) -> Result<TripRun, TripNotFound> {
        let date = query.date.map(format_gtfs_date);
        let is_on_date = |update: &TripUpdate| {
            let start_date = text_if_nonempty(&update.trip.start_date);
            let start = text_if_nonempty(&update.trip.start_time).and_then(parse_gtfs_time);
            date.as_deref()
                .zip(start_date)
                .is_none_or(|(requested_date, start_date)| requested_date == start_date)
                && query.start_time.zip(start).is_none_or(|(wanted, start)| wanted == start)
        };
        let extra = self.feeds.iter().flat_map(|feed| {
            let records = feed.tables.trip_updates.extra_trip_records();
            let named = feed.tables.trip_updates.records_by_trip(query.trip_id);
            records.chain(named).filter_map(move |record| Some((&feed.id, record.trip_update()?)))
        });
        let mut found = Err(TripNotFound::UnknownTrip);
        for (feed, update) in
            extra.filter(|(_, update)| is_update_of_added_trip(update, query.trip_id))
        {
            if is_on_date(update) {
                return Ok(self.build_extra_trip_run(update, feed, timetable));
            }
            found = Err(TripNotFound::NotOnDate);
        }
        found
    }

    /// Builds a trip from the calls that a trip update announces.
    fn build_extra_trip_run(
        &self,
        update: &TripUpdate,
        feed: &FeedId,
        timetable: Option<&Timetable>,
    ) -> TripRun {
        let is_cancelled = is_cancelled_extra_trip(update) || is_trip_cancelled(update);
        let calls = update.stop_time_update.iter();
        let calls: Vec<TripCall> = calls
            .take(TRIP_CALLS_MAX)
            .map(|call| build_extra_trip_call(call, timetable, is_cancelled))
            .collect();
        let own = update.trip_properties.as_ref();
        let last = calls.last().and_then(|call| Some(timetable?.stop(call.stop?).name));
        let headsign = own.and_then(|own| text_if_nonempty(&own.trip_headsign)).or(last);
        let trip_id = own
            .and_then(|own| text_if_nonempty(&own.trip_id))
            .or(text_if_nonempty(&update.trip.trip_id));
        TripRun {
            trip_id: trip_id.map(SmolStr::new).unwrap_or_default(),
            date: text_if_nonempty(&update.trip.start_date).and_then(parse_gtfs_date),
            start_time: text_if_nonempty(&update.trip.start_time)
                .map(SmolStr::new)
                .unwrap_or_default(),
            route_id: text_if_nonempty(&update.trip.route_id).map(SmolStr::new),
            headsign: headsign.filter(|name| !name.is_empty()).map(SmolStr::new),
            is_scheduled: false,
            is_cancelled,
            source: Some(feed.clone()),
            n_omitted_calls: update.stop_time_update.len().saturating_sub(calls.len()),
            calls,
            vehicle: TripKey::from_descriptor(&update.trip)
                .and_then(|key| self.find_vehicle_of_trip(key)),
        }
    }

    fn find_vehicle_of_trip(&self, key: TripKey<'_>) -> Option<Arc<Record>> {
        let vehicles = self
            .realtime_records_by_trip(key.trip_id)
            .filter(|record| record.kind == RecordKind::Vehicle);
        let is_its = |record: &&Arc<Record>| {
            record
                .trip_descriptor()
                .and_then(TripKey::from_descriptor)
                .is_some_and(|other| other.may_be_same_run(key))
        };
        vehicles.into_iter().find(is_its).cloned()
    }
}

/// Returns true if a trip update is about an added trip with this id.
fn is_update_of_added_trip(update: &TripUpdate, trip_id: &str) -> bool {
    let own = update.trip_properties.as_ref().and_then(|own| text_if_nonempty(&own.trip_id));
    own.or(text_if_nonempty(&update.trip.trip_id)) == Some(trip_id)
}

fn build_scheduled_trip_run(
    run: ScheduledRun<'_>,
    trip: TripIdx,
    date: Date,
    start_time: SmolStr,
    run_update: Option<&TripRunUpdate<'_>>,
) -> TripRun {
    let timetable = run.timetable;
    let row = timetable.trip(trip);
    let is_cancelled = run_update.is_some_and(|run_update| is_trip_cancelled(run_update.update));
    let n_calls = timetable.trip_stop_times(trip).len();
    let update = run_update.map(|run_update| run_update.update).filter(|_| !is_cancelled);
    let mut forecasts = update.map(|update| run.forecast_calls(update)).into_iter().flatten();
    let calls = run.calls_with_indexes().take(TRIP_CALLS_MAX).map(|(_, call)| {
        let mut shown = build_scheduled_call(run, &call);
        if is_cancelled {
            shown.status = DepartureStatus::Cancelled;
        } else if let Some((forecast, own)) = forecasts.next() {
            apply_forecast(&mut shown, forecast);
            if let Some(own) = own {
                apply_assigned_platform(&mut shown, own, Some(timetable));
            }
        }
        shown
    });
    let calls: Vec<TripCall> = calls.collect();
    let last = timetable.trip_stop_times(trip).last().map(|call| timetable.stop(call.stop).name);
    let headsign = row.headsign.filter(|name| !name.is_empty()).or(last);
    TripRun {
        trip_id: SmolStr::new(row.id),
        date: Some(date),
        start_time,
        route_id: Some(SmolStr::new(timetable.route(row.route).id)),
        headsign: headsign.filter(|name| !name.is_empty()).map(SmolStr::new),
        is_scheduled: true,
        is_cancelled,
        source: run_update.map(|run_update| run_update.feed.clone()),
        n_omitted_calls: n_calls.saturating_sub(calls.len()),
        calls,
        vehicle: None,
    }
}

/// Returns true if an update says that the whole trip does not run.
fn is_trip_cancelled(update: &TripUpdate) -> bool {
    let relationship = update.trip.schedule_relationship();
    matches!(relationship, ScheduleRelationship::Canceled | ScheduleRelationship::Deleted)
}

/// Returns a call of the timetable.
fn build_scheduled_call(run: ScheduledRun<'_>, call: &StopTime<'_>) -> TripCall {
    let stop = run.timetable.stop(call.stop);
    TripCall {
        stop_id: SmolStr::new(stop.id),
        stop: Some(call.stop),
        platform: stop.platform_code.map(SmolStr::new),
        scheduled_platform: None,
        arrival: run.scheduled_arrival(call),
        scheduled: run.scheduled_departure(call),
        expected: None,
        delay: None,
        status: DepartureStatus::Scheduled,
    }
}

fn apply_forecast(shown: &mut TripCall, forecast: CallForecast) {
    match forecast {
        CallForecast::Unknown => {}
        CallForecast::Skipped => shown.status = DepartureStatus::Skipped,
        CallForecast::Predicted { departure, delay } => {
            shown.status = DepartureStatus::Realtime;
            shown.expected = Some(departure);
            shown.delay = Some(delay);
        }
    }
}

/// Returns a call of an added trip.
fn build_extra_trip_call(
    call: &StopTimeUpdate,
    timetable: Option<&Timetable>,
    is_cancelled: bool,
) -> TripCall {
    let stop_id = text_if_nonempty(&call.stop_id).unwrap_or_default();
    let stop = timetable.and_then(|timetable| timetable.find_stop(stop_id));
    let event = call.departure.as_ref().or(call.arrival.as_ref());
    let expected = event.and_then(|event| event.time).filter(|time| *time > 0);
    let delay = event.and_then(|event| event.delay).map(i64::from);
    let announced = |event: Option<&StopTimeEvent>| event.and_then(|event| event.scheduled_time);
    let is_skipped =
        call.schedule_relationship() == stop_time_update::ScheduleRelationship::Skipped;
    let scheduled = announced(event).or_else(|| Some(expected?.saturating_sub(delay?)));
    // A call that is not served has only its scheduled time.
    let scheduled = scheduled.or(expected.filter(|_| is_cancelled || is_skipped));
    let status = match expected {
        _ if is_cancelled => DepartureStatus::Cancelled,
        _ if is_skipped => DepartureStatus::Skipped,
        Some(_) => DepartureStatus::Realtime,
        None => DepartureStatus::Scheduled,
    };
    let expected = expected.filter(|_| status == DepartureStatus::Realtime);
    let mut shown = TripCall {
        stop_id: SmolStr::new(stop_id),
        stop,
        platform: stop.and_then(|stop| platform_code(timetable?, stop)),
        scheduled_platform: None,
        arrival: announced(call.arrival.as_ref()),
        scheduled,
        expected,
        delay: expected
            .zip(scheduled)
            .map(|(expected, planned)| saturate_to_i32(expected - planned)),
        status,
    };
    apply_assigned_platform(&mut shown, call, timetable);
    shown
}

/// Replaces the scheduled platform by the one assigned to a call.
fn apply_assigned_platform(
    shown: &mut TripCall,
    call: &StopTimeUpdate,
    timetable: Option<&Timetable>,
) {
    let Some(properties) = &call.stop_time_properties else { return };
    let before = shown.platform.clone();
    let assigned = text_if_nonempty(&properties.assigned_stop_id);
    let assigned = timetable.and_then(|it| Some((it, it.find_stop(assigned?)?)));
    if let Some((timetable, stop)) = assigned {
        shown.stop_id = SmolStr::new(timetable.stop(stop).id);
        shown.stop = Some(stop);
        shown.platform = platform_code(timetable, stop);
    }
    if let Some(name) = text_if_nonempty(&properties.platform) {
        shown.platform = Some(SmolStr::new(name));
    }
    shown.scheduled_platform = before.filter(|before| shown.platform.as_ref() != Some(before));
}

fn platform_code(timetable: &Timetable, stop: StopIdx) -> Option<SmolStr> {
    timetable.stop(stop).platform_code.map(SmolStr::new)
}

#[cfg(test)]
mod tests {
    use lineside_formats::Problems;
    use lineside_testkit::TestSchedule;

    use super::*;
    use crate::dataset::Dataset;

    fn timetable() -> Timetable {
        TestSchedule::new("UTC")
            .stop("s1", "First", 59.9, 10.7)
            .stop("s2", "Middle", 59.91, 10.71)
            .stop("s3", "Last", 59.92, 10.72)
            .route("r", "7", 0)
            .service("d", "1111100", ["20260101", "20261231"])
            .trip("t", "s1 08:00, s2 08:10/08:12, s3 08:20")
            .timetable()
    }

    fn update(calls: Vec<StopTimeUpdate>) -> TripUpdate {
        TripUpdate { stop_time_update: calls, ..TripUpdate::default() }
    }

    fn call(sequence: u32, delay: Option<i32>) -> StopTimeUpdate {
        let event = delay.map(|delay| StopTimeEvent { delay: Some(delay), ..Default::default() });
        let mut call = StopTimeUpdate {
            stop_sequence: Some(sequence),
            departure: event,
            ..StopTimeUpdate::default()
        };
        if delay.is_none() {
            call.set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
        }
        call
    }

    fn shown(update: &TripUpdate) -> TripRun {
        let timetable = timetable();
        let trip = timetable.find_trip("t").unwrap();
        let date = Date::constant(2026, 11, 23);
        let feed = FeedId::new("live").unwrap();
        let run_update = TripRunUpdate { feed: &feed, update, made_at: 0, message_at: None };
        let run = ScheduledRun::new(&timetable, trip, date, None);
        build_scheduled_trip_run(run, trip, date, SmolStr::default(), Some(&run_update))
    }

    #[test]
    fn delays_propagate_beyond_a_skipped_call() {
        let run = shown(&update(vec![call(1, Some(120)), call(2, None)]));
        let call_states: Vec<_> = run.calls.iter().map(|call| (call.status, call.delay)).collect();
        use DepartureStatus::{Realtime, Skipped};
        assert_eq!(call_states, [(Realtime, Some(120)), (Skipped, None), (Realtime, Some(120))]);
        assert_eq!(run.calls[2].expected, run.calls[2].scheduled.map(|at| at + 120));
        assert_eq!(run.headsign.as_deref(), Some("Last"));
    }

    #[test]
    fn one_pass_forecasts_each_call_like_a_single_forecast() {
        let timetable = timetable();
        let trip = timetable.find_trip("t").unwrap();
        let run = ScheduledRun::new(&timetable, trip, Date::constant(2026, 11, 23), None);
        let all = [vec![], vec![call(2, Some(60))], vec![call(1, None), call(3, Some(-30))]];
        for calls in all {
            let update = TripUpdate { delay: Some(90), ..update(calls) };
            let from_single =
                (0..3).map(|index| run.forecast_call(&update, index)).collect::<Vec<_>>();
            let at_once: Vec<_> =
                run.forecast_calls(&update).map(|(forecast, _)| forecast).collect();
            assert_eq!(at_once, from_single, "{update:?}");
        }
    }

    #[test]
    fn a_cancelled_trip_has_no_predictions() {
        let mut update = update(vec![call(1, Some(120))]);
        update.trip.set_schedule_relationship(ScheduleRelationship::Canceled);
        let run = shown(&update);
        assert!(run.is_cancelled);
        assert!(run.calls.iter().all(|it| it.status == DepartureStatus::Cancelled));
        assert!(run.calls.iter().all(|it| it.expected.is_none()));
    }

    #[test]
    fn an_unknown_trip_differs_from_a_day_without_the_trip() {
        let feed = FeedId::new("town").unwrap();
        let now = UnixMillis::from_seconds(1_795_435_200);
        let dataset =
            Dataset::from_timetable(feed.clone(), timetable(), Problems::default(), 1, now);
        let dataset = Some(Arc::new(dataset));
        let state = NetworkState { dataset, ..NetworkState::new(&[feed], now) };
        let find_run = |trip_id, date| {
            state.find_trip_run(TripRunQuery { trip_id, date: Some(date), start_time: None }, now)
        };
        let (monday, sunday) = (Date::constant(2026, 11, 23), Date::constant(2026, 11, 22));
        assert_eq!(find_run("none", monday).err(), Some(TripNotFound::UnknownTrip));
        assert_eq!(find_run("t", sunday).err(), Some(TripNotFound::NotOnDate));
        let run = find_run("t", monday).unwrap();
        assert!(run.calls.iter().all(|call| call.status == DepartureStatus::Scheduled));
        assert_eq!((run.calls.len(), run.date), (3, Some(monday)));
    }
}
