//! Where trips of a line should be by the times that are predicted of them, where no vehicle tells where it is.

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
    /// The feed that predicts its times.
    pub feed: FeedId,
    /// The id of its trip update.
    pub id: SmolStr,
    /// Where it is headed.
    pub headsign: Option<SmolStr>,
    /// GTFS `direction_id`: of the timetable, else as the feed says.
    pub direction: Option<u32>,
    /// Seconds behind the timetable at the next stop, as far as that is known.
    pub delay: Option<i32>,
    /// The stop that it comes to next.
    pub next_stop_id: SmolStr,
    /// When it leaves there, at the last stop when it arrives, Unix seconds.
    pub next_at: i64,
}

/// A call as it is predicted.
#[derive(Clone, Debug)]
struct PredictedCall {
    stop_id: SmolStr,
    /// None where nothing is predicted.
    at: Option<i64>,
    delay: Option<i32>,
}

impl NetworkState {
    /// The trips of a line that are under way at `now`, the present of the network's data, and that no vehicle runs which
    /// tells of itself. At most `most`, the soonest at their next stop first. Looks at each call of each trip of the line.
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
        // What several feeds tell of counts once.
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

/// Where the trip of a record should be at `now`, Unix seconds; none if it has not begun, has ended or does not run.
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
    // What is said of the calls before has mostly been dropped by then; that it has begun the timetable tells, too.
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

/// The run of the timetable that an update is about.
fn find_scheduled_run<'a>(
    update: &TripUpdate,
    timetable: Option<&'a Timetable>,
) -> Option<ScheduledRun<'a>> {
    let (timetable, key) = (timetable?, TripKey::from_descriptor(&update.trip)?);
    let trip = timetable.find_trip(key.trip_id).filter(|_| !is_extra_trip(&update.trip))?;
    parse_gtfs_date(key.start_date)?;
    ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)
}

/// The calls of a run with what is predicted of them; those that are left out are not among them.
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

/// The calls of a trip that the timetable does not have, as they are announced.
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
