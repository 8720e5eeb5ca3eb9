//! Running trips of a route that no vehicle reports, with their predicted next stop.

use std::{collections::HashMap, sync::Arc};

use lineside_formats::{
    gtfs::Timetable,
    gtfs_rt::proto::{TripDescriptor, TripUpdate},
};
use lineside_sync::UnixMillis;
use smol_str::SmolStr;

use crate::{
    feed_id::FeedId,
    network_state::NetworkState,
    record::{Record, RecordKind},
    trip_forecast::{CallForecast, ScheduledRun, predicted_event_time},
    trip_identity::{TripKey, text_if_nonempty},
    trip_phase::{TripPhase, announced_trip_start, find_scheduled_run, scheduled_run_start},
};

/// A trip that has begun and has not ended, by its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveTripWithoutVehicle {
    /// The feed that predicts the trip's times.
    pub feed: FeedId,
    /// The entity id of the trip update.
    pub id: SmolStr,
    /// The trip's ids in its feed.
    pub run: TripRunId,
    pub headsign: Option<SmolStr>,
    /// GTFS `direction_id` from the timetable, else from the feed.
    pub direction: Option<u32>,
    /// Seconds behind the timetable at the next stop, if known.
    pub delay: Option<i32>,
    pub next_stop_id: SmolStr,
    /// Predicted departure from the next stop, or arrival if it is the last stop, in Unix seconds.
    pub next_at: i64,
}

/// The ids of a trip on a service date, as its feed states them; empty where it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TripRunId {
    /// GTFS `trip_id`.
    pub trip_id: SmolStr,
    /// The service date as `YYYYMMDD`.
    pub start_date: SmolStr,
    /// The start time as `HH:MM:SS`.
    pub start_time: SmolStr,
}

impl TripRunId {
    fn from_descriptor(trip: &TripDescriptor) -> Self {
        let text = |value: &Option<String>| SmolStr::new(value.as_deref().unwrap_or_default());
        Self {
            trip_id: text(&trip.trip_id),
            start_date: text(&trip.start_date),
            start_time: text(&trip.start_time),
        }
    }
}

/// A trip that a feed announces, that the timetable does not have and that has not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpcomingExtraTrip {
    pub feed: FeedId,
    /// The trip's ids in its feed.
    pub run: TripRunId,
    pub headsign: Option<SmolStr>,
    pub first_stop_id: SmolStr,
    /// The departure from the first announced stop, Unix seconds.
    pub starts_at: i64,
}

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
    pub fn active_trips_without_vehicle<'a>(
        &'a self,
        route: &'a str,
        now: UnixMillis,
        trips_max: usize,
    ) -> Vec<ActiveTripWithoutVehicle> {
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        let tells_more =
            |vehicle: &Record| vehicle.position().is_some() || has_vehicle_id_or_label(vehicle);
        let records = self.trip_updates_without_vehicle(route, tells_more).into_iter();
        let mut trips: Vec<ActiveTripWithoutVehicle> = records
            .filter_map(|record| find_active_trip(record, timetable, now.unix_seconds()))
            .collect();
        trips.sort_by(|a, b| (a.next_at, &a.id).cmp(&(b.next_at, &b.id)));
        trips.truncate(trips_max);
        trips
    }

    /// Returns the announced trips of a route that the timetable does not have and that start after `now`, the present
    /// of the network's data: at most `most`, the soonest first. Visits each call of each trip of the route.
    pub fn upcoming_extra_trips(
        &self,
        route: &str,
        now: UnixMillis,
        most: usize,
    ) -> Vec<UpcomingExtraTrip> {
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        let is_shown = |vehicle: &Record| vehicle.position().is_some();
        let records = self.trip_updates_without_vehicle(route, is_shown).into_iter();
        let mut trips: Vec<UpcomingExtraTrip> = records
            .filter_map(|record| find_upcoming_extra_trip(record, timetable, now.unix_seconds()))
            .collect();
        trips.sort_by(|a, b| {
            let key = |trip: &UpcomingExtraTrip| (trip.starts_at, trip.headsign.clone());
            key(a).cmp(&key(b))
        });
        trips.truncate(most);
        trips
    }

    /// Returns the vehicles of a route that report no position and run as far as is known. A vehicle without an id or
    /// label is left out if a trip update has times of its trip, because it adds nothing to them.
    pub fn vehicles_without_position<'a>(
        &'a self,
        route: &'a str,
        now: UnixMillis,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        let vehicles = self
            .realtime_records_by_route(route)
            .filter(|record| record.kind == RecordKind::Vehicle && record.position().is_none());
        vehicles.filter(move |vehicle| {
            let key = vehicle.trip_descriptor().and_then(TripKey::from_descriptor);
            let is_predicted = || {
                key.is_some_and(|key| {
                    self.records_of_run(RecordKind::TripUpdate, key).next().is_some()
                })
            };
            (has_vehicle_id_or_label(vehicle) || !is_predicted())
                && self.find_trip_phase(vehicle, now).is_none_or(|it| it == TripPhase::UnderWay)
        })
    }

    fn records_of_run<'a>(
        &'a self,
        kind: RecordKind,
        key: TripKey<'a>,
    ) -> impl Iterator<Item = &'a Arc<Record>> {
        self.realtime_records_by_trip(key.trip_id).filter(move |record| {
            let other = record.trip_descriptor().and_then(TripKey::from_descriptor);
            record.kind == kind && other.is_some_and(|other| other.may_be_same_run(key))
        })
    }

    /// Returns the trip updates of a route whose trip has no such vehicle; the first of several updates of one trip.
    fn trip_updates_without_vehicle<'a>(
        &'a self,
        route: &'a str,
        is_vehicle_shown: impl Fn(&Record) -> bool,
    ) -> Vec<&'a Record> {
        let has_vehicle = |key| {
            self.records_of_run(RecordKind::Vehicle, key).any(|record| is_vehicle_shown(record))
        };
        let records = self
            .realtime_records_by_route(route)
            .filter(|record| record.kind == RecordKind::TripUpdate);
        // A trip reported by several feeds counts once.
        let mut reported: HashMap<&str, Vec<TripKey<'_>>> = HashMap::new();
        let mut is_new = |key: TripKey<'a>| {
            let runs = reported.entry(key.trip_id).or_default();
            let is_new = !runs.iter().any(|run| run.may_be_same_run(key));
            runs.extend(is_new.then_some(key));
            is_new
        };
        let unplaced = records.map(|record| &**record).filter(|record| {
            let key = record.trip_descriptor().and_then(TripKey::from_descriptor);
            key.is_none_or(|key| !has_vehicle(key) && is_new(key))
        });
        unplaced.collect()
    }
}

/// Returns true if a vehicle has an id or a label.
fn has_vehicle_id_or_label(record: &Record) -> bool {
    let named = record.vehicle().and_then(|vehicle| vehicle.vehicle.as_ref());
    named.is_some_and(|it| text_if_nonempty(&it.id).or(text_if_nonempty(&it.label)).is_some())
}

/// Returns the position of a record's trip among its calls at `now`, Unix seconds; `None` if the trip has not begun,
/// has ended or does not run.
fn find_active_trip(
    record: &Record,
    timetable: Option<&Timetable>,
    now: i64,
) -> Option<ActiveTripWithoutVehicle> {
    let update = record.trip_update().filter(|update| is_not_cancelled(update))?;
    let run = find_scheduled_run(update, timetable);
    let (calls, begins) = match run {
        Some(run) => (predict_scheduled_calls(run, update), scheduled_run_start(run)),
        None => (list_unscheduled_calls(update), announced_trip_start(update, timetable)),
    };
    let is_ahead = |call: &PredictedCall| call.at.is_some_and(|at| at >= now);
    let next = calls.iter().position(is_ahead)?;
    // Predictions of past calls have mostly been dropped by now; the timetable also shows that the trip has begun.
    let has_left = match calls[..next].iter().rev().find_map(|call| call.at) {
        Some(left) => left < now,
        // The first call of a trip without a timetable need not be its first stop.
        None => (next > 0 || run.is_none()) && begins.is_some_and(|begins| begins <= now),
    };
    if !has_left {
        return None;
    }
    let PredictedCall { stop_id, at, delay } = calls.get(next)?.clone();
    let direction = run.and_then(|run| run.timetable.trip(run.trip).direction).map(u32::from);
    Some(ActiveTripWithoutVehicle {
        feed: record.feed.clone(),
        id: record.id.clone(),
        run: TripRunId::from_descriptor(&update.trip),
        headsign: record.join.headsign.clone(),
        direction: direction.or(update.trip.direction_id),
        delay,
        next_stop_id: stop_id,
        next_at: at?,
    })
}

/// Returns the trip of a record if it has not started at `now`, Unix seconds, and the timetable does not have it.
fn find_upcoming_extra_trip(
    record: &Record,
    timetable: Option<&Timetable>,
    now: i64,
) -> Option<UpcomingExtraTrip> {
    let update = record.trip_update().filter(|update| is_not_cancelled(update))?;
    if find_scheduled_run(update, timetable).is_some()
        || announced_trip_start(update, timetable).is_some_and(|begins| begins <= now)
    {
        return None;
    }
    let first = list_unscheduled_calls(update).into_iter().next()?;
    Some(UpcomingExtraTrip {
        feed: record.feed.clone(),
        run: TripRunId::from_descriptor(&update.trip),
        headsign: record.join.headsign.clone(),
        first_stop_id: first.stop_id,
        starts_at: first.at.filter(|at| *at > now)?,
    })
}

fn is_not_cancelled(update: &TripUpdate) -> bool {
    use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship::{
        Canceled, Deleted,
    };
    !matches!(update.trip.schedule_relationship(), Canceled | Deleted)
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
    run.calls_with_indexes().filter_map(call).collect()
}

/// Returns the announced calls of a trip that is not in the timetable.
fn list_unscheduled_calls(update: &TripUpdate) -> Vec<PredictedCall> {
    let calls = update.stop_time_update.iter();
    let call = |call: &lineside_formats::gtfs_rt::proto::trip_update::StopTimeUpdate| {
        let event = call.departure.as_ref().or(call.arrival.as_ref());
        let stop_id = SmolStr::new(text_if_nonempty(&call.stop_id)?);
        Some(PredictedCall {
            stop_id,
            at: event.and_then(|event| predicted_event_time(event, None)),
            delay: None,
        })
    };
    calls.filter_map(call).collect()
}
