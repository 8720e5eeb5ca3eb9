//! Running trips of a route that no vehicle reports, with their predicted next stop.

use std::collections::HashMap;

use lineside_formats::{gtfs::Timetable, gtfs_rt::proto::TripUpdate};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{
    config::FeedId,
    network::NetworkState,
    normalize::{
        CallForecast, ScheduledRun, TripKey, event_time, is_extra_trip, nonempty_text,
        parse_gtfs_date,
    },
    record::{Record, RecordKind},
};

/// A trip that has begun and has not ended, by its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveTrip {
    /// The feed that predicts the trip's times.
    pub feed: FeedId,
    /// The entity id of the trip update.
    pub id: SmolStr,
    /// The headsign.
    pub headsign: Option<SmolStr>,
    /// GTFS `direction_id` from the timetable, else from the feed.
    pub direction: Option<u32>,
    /// Seconds behind the timetable at the next stop, if known.
    pub delay: Option<i32>,
    /// The next stop of the trip.
    pub next_stop_id: SmolStr,
    /// Predicted departure from the next stop, or arrival if it is the last stop, in Unix seconds.
    pub next_at: i64,
}

/// A stop call with its predicted time.
#[derive(Clone, Debug)]
struct PredictedCall {
    stop_id: SmolStr,
    /// Predicted departure in Unix seconds; `None` if there is no prediction.
    at: Option<i64>,
    delay: Option<i32>,
}

impl NetworkState {
    /// Returns the trips of a route that run at `now` (the present of the network's data) and have no vehicle record,
    /// at most `most`, ordered by the time at their next stop. Visits each call of each trip of the route.
    pub fn active_trips<'a>(
        &'a self,
        route: &'a str,
        now: UnixMillis,
        most: usize,
    ) -> Vec<ActiveTrip> {
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        let has_vehicle = |key: TripKey<'_>| {
            self.records_by_trip(key.trip_id)
                .filter(|record| record.kind == RecordKind::Vehicle)
                .any(|record| {
                    record
                        .trip_descriptor()
                        .and_then(TripKey::from_descriptor)
                        .is_some_and(|it| it.may_be_same_run(key))
                })
        };
        let records =
            self.records_by_route(route).filter(|record| record.kind == RecordKind::TripUpdate);
        // A trip reported by several feeds counts once.
        let mut told: HashMap<&str, Vec<TripKey<'_>>> = HashMap::new();
        let mut is_new = |key: TripKey<'a>| {
            let runs = told.entry(key.trip_id).or_default();
            let is_new = !runs.iter().any(|run| run.may_be_same_run(key));
            runs.extend(is_new.then_some(key));
            is_new
        };
        let mut trips: Vec<ActiveTrip> = records
            .filter(|record| {
                let key = record.trip_descriptor().and_then(TripKey::from_descriptor);
                key.is_none_or(|key| !has_vehicle(key) && is_new(key))
            })
            .filter_map(|record| find_active_trip(record, timetable, now.unix_seconds()))
            .collect();
        trips.sort_by(|a, b| (a.next_at, &a.id).cmp(&(b.next_at, &b.id)));
        trips.truncate(most);
        trips
    }
}

/// Returns the expected position of a record's trip at `now`, in Unix seconds; `None` if the trip has not begun, has
/// ended or does not run.
fn find_active_trip(
    record: &Record,
    timetable: Option<&Timetable>,
    now: i64,
) -> Option<ActiveTrip> {
    use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship::{
        Canceled, Deleted,
    };
    let update = record.trip_update()?;
    if matches!(update.trip.schedule_relationship(), Canceled | Deleted) {
        return None;
    }
    let run = find_scheduled_run(update, timetable);
    let (calls, begins) = match run {
        Some(run) => (
            predict_scheduled_calls(run, update),
            run.numbered_calls().next().and_then(|(_, it)| run.scheduled_departure(&it)),
        ),
        None => (list_announced_calls(update), None),
    };
    let is_ahead = |call: &PredictedCall| call.at.is_some_and(|at| at >= now);
    let next = calls.iter().position(is_ahead)?;
    // Predictions of past calls have mostly been dropped by now; the timetable also shows that the trip has begun.
    let has_left = match calls[..next].iter().rev().find_map(|call| call.at) {
        Some(left) => left < now,
        None => next > 0 && begins.is_some_and(|begins| begins <= now),
    };
    if !has_left {
        return None;
    }
    let PredictedCall { stop_id, at, delay } = calls.get(next)?.clone();
    let direction = run.and_then(|run| run.timetable.trip(run.trip).direction).map(u32::from);
    Some(ActiveTrip {
        feed: record.feed.clone(),
        id: record.id.clone(),
        headsign: record.join.headsign.clone(),
        direction: direction.or(update.trip.direction_id),
        delay,
        next_stop_id: stop_id,
        next_at: at?,
    })
}

/// Returns the scheduled run that a trip update refers to.
fn find_scheduled_run<'a>(
    update: &TripUpdate,
    timetable: Option<&'a Timetable>,
) -> Option<ScheduledRun<'a>> {
    let (timetable, key) = (timetable?, TripKey::from_descriptor(&update.trip)?);
    let trip = timetable.find_trip(key.trip_id).filter(|_| !is_extra_trip(&update.trip))?;
    parse_gtfs_date(key.start_date)?;
    ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)
}

/// Returns the calls of a scheduled run with their predictions, without skipped calls.
fn predict_scheduled_calls(run: ScheduledRun<'_>, update: &TripUpdate) -> Vec<PredictedCall> {
    let call = |(index, call): (usize, lineside_formats::gtfs::StopTime<'_>)| {
        let (at, delay) = match run.forecast_call(update, index) {
            CallForecast::Skipped => return None,
            CallForecast::Unknown => (None, None),
            CallForecast::Predicted { departure, delay } => (Some(departure), Some(delay)),
        };
        Some(PredictedCall { stop_id: run.timetable.stop(call.stop).id.into(), at, delay })
    };
    run.numbered_calls().filter_map(call).collect()
}

/// Returns the announced calls of a trip that is not in the timetable.
fn list_announced_calls(update: &TripUpdate) -> Vec<PredictedCall> {
    let calls = update.stop_time_update.iter();
    let call = |call: &lineside_formats::gtfs_rt::proto::trip_update::StopTimeUpdate| {
        let event = call.departure.as_ref().or(call.arrival.as_ref());
        let stop_id = SmolStr::new(nonempty_text(&call.stop_id)?);
        Some(PredictedCall {
            stop_id,
            at: event.and_then(|event| event_time(event, None)),
            delay: None,
        })
    };
    calls.filter_map(call).collect()
}
