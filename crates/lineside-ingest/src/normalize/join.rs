//! The timetable join: route, direction, headsign, next stop and delay of a record.
//!
//! The join depends only on the records and the timetable, never on the time of computation, so that the same content
//! always yields the same record.

use lineside_formats::{
    gtfs::{StopIdx, Timetable, TripIdx},
    gtfs_rt::proto::{
        TripDescriptor, TripUpdate, VehiclePosition, trip_descriptor,
        trip_update::{StopTimeUpdate, stop_time_update},
        vehicle_position::VehicleStopStatus,
    },
};
use smol_str::SmolStr;

use super::NormalizeContext;
use crate::record::TimetableJoin;
use crate::trip_forecast::{CallForecast, ScheduledRun, saturate_to_i32};
use crate::trip_identity::{TripKey, text_if_nonempty, timestamp_if_nonzero};

/// Returns the join of an alert, which names its routes and stops itself.
pub(crate) fn alert_timetable_join() -> TimetableJoin {
    TimetableJoin::default()
}

/// Returns the join of a trip update: its next call is the first one not over at the time of the update.
pub(crate) fn trip_update_timetable_join(
    update: &TripUpdate,
    context: NormalizeContext<'_>,
) -> TimetableJoin {
    let (mut join, trip) = join_route_and_headsign(Some(&update.trip), context.timetable);
    if let Some(own) =
        update.trip_properties.as_ref().and_then(|own| text_if_nonempty(&own.trip_headsign))
    {
        join.headsign = Some(SmolStr::new(own));
    }
    if join.headsign.is_none() {
        join.headsign = last_stop_name(update, context.timetable);
    }
    if is_cancelled_trip(&update.trip) {
        return join;
    }
    let at = timestamp_if_nonzero(update.timestamp).unwrap_or(context.message_time);
    let run = find_run(context.timetable, trip, Some(&update.trip));
    let next = match run {
        Some(run) => find_next_call(run, update, at),
        None => find_next_call_in_update(update, at),
    };
    if let Some((stop, delay)) = next {
        join.delay = delay;
        set_next_stop_by_id(&mut join, context.timetable, stop);
    } else if update.stop_time_update.is_empty() {
        join.delay = update.delay;
    }
    join
}

/// Returns the join of a vehicle; `update` is the trip update of the same run, if there is one.
pub(crate) fn vehicle_timetable_join(
    vehicle: &VehiclePosition,
    update: Option<&TripUpdate>,
    context: NormalizeContext<'_>,
) -> TimetableJoin {
    let trip = vehicle.trip.as_ref();
    let (mut join, idx) = join_route_and_headsign(trip, context.timetable);
    if join.headsign.is_none() {
        join.headsign = update.and_then(|update| last_stop_name(update, context.timetable));
    }
    if trip.is_some_and(is_cancelled_trip) {
        return join;
    }
    let at = timestamp_if_nonzero(vehicle.timestamp).unwrap_or(context.message_time);
    let Some(run) = find_run(context.timetable, idx, trip) else {
        let unmatched = update.and_then(|update| find_next_call_in_update(update, at));
        let stop = text_if_nonempty(&vehicle.stop_id).map(SmolStr::new);
        join.delay = unmatched.as_ref().and_then(|(_, delay)| *delay);
        if let Some(stop) = stop.or(unmatched.map(|(stop, _)| stop)) {
            set_next_stop_by_id(&mut join, context.timetable, stop);
        }
        return join;
    };
    match find_current_call(run, vehicle) {
        Some(call) => {
            let forecast = update.map(|update| run.forecast_call(update, call));
            let departure = match forecast {
                Some(CallForecast::Predicted { departure, .. }) => Some(departure),
                _ => scheduled_departure(run, call),
            };
            let is_stopped = vehicle.current_status() == VehicleStopStatus::StoppedAt;
            // A vehicle that waits for its departure is still at this call.
            let has_served = is_stopped && departure.is_none_or(|departure| departure <= at);
            let following =
                has_served.then(|| run.timetable.trip_stop_time(run.trip, call + 1)).flatten();
            if let Some(stop_time) =
                following.or_else(|| run.timetable.trip_stop_time(run.trip, call))
            {
                set_next_stop(&mut join, run.timetable, stop_time.stop);
            }
            if let Some(CallForecast::Predicted { delay, .. }) = forecast {
                join.delay = Some(delay);
            }
        }
        None => {
            if let Some((stop, delay)) = update.and_then(|update| find_next_call(run, update, at)) {
                join.delay = delay;
                set_next_stop_by_id(&mut join, context.timetable, stop);
            }
        }
    }
    if join.delay.is_none() {
        join.delay = update.and_then(|update| update.delay);
    }
    join
}

fn is_cancelled_trip(trip: &TripDescriptor) -> bool {
    use trip_descriptor::ScheduleRelationship::{Canceled, Deleted};
    matches!(trip.schedule_relationship(), Canceled | Deleted)
}

/// Joins route, direction and headsign.
fn join_route_and_headsign(
    trip: Option<&TripDescriptor>,
    timetable: Option<&Timetable>,
) -> (TimetableJoin, Option<TripIdx>) {
    let mut join = TimetableJoin::default();
    let Some(descriptor) = trip else { return (join, None) };
    let named_route = text_if_nonempty(&descriptor.route_id);
    let Some(timetable) = timetable else {
        join.route_id = named_route.map(SmolStr::new);
        return (join, None);
    };
    let trip = text_if_nonempty(&descriptor.trip_id).and_then(|id| timetable.find_trip(id));
    let route = match trip {
        Some(trip) => Some(timetable.trip(trip).route),
        None => named_route.and_then(|id| timetable.find_route(id)),
    };
    match route {
        Some(route) => {
            let route = timetable.route(route);
            join.route_id = Some(SmolStr::new(route.id));
            join.route_short_name = Some(SmolStr::new(route.display_name()));
            join.route_color = route.color;
            join.route_text_color = route.text_color;
            join.route_type = Some(route.kind);
        }
        None => join.route_id = named_route.map(SmolStr::new),
    }
    if let Some(trip) = trip {
        join.direction_id = timetable.trip(trip).direction;
        let headsign = timetable.trip(trip).headsign.filter(|headsign| !headsign.is_empty());
        let last =
            || timetable.trip_stop_times(trip).last().map(|call| timetable.stop(call.stop).name);
        join.headsign = headsign.or_else(last).filter(|name| !name.is_empty()).map(SmolStr::new);
    }
    (join, trip)
}

fn find_run<'a>(
    timetable: Option<&'a Timetable>,
    trip: Option<TripIdx>,
    descriptor: Option<&TripDescriptor>,
) -> Option<ScheduledRun<'a>> {
    let key = TripKey::from_descriptor(descriptor?)?;
    ScheduledRun::from_descriptor(timetable?, trip?, key.start_date, key.start_time)
}

/// Returns the index of the call at which a vehicle is or to which it is heading.
fn find_current_call(run: ScheduledRun<'_>, vehicle: &VehiclePosition) -> Option<usize> {
    let by_sequence = vehicle.current_stop_sequence.and_then(|sequence| {
        run.calls_with_indexes().find(|(_, call)| call.stop_sequence == sequence).map(|(at, _)| at)
    });
    by_sequence.or_else(|| {
        let stop = run.timetable.find_stop(text_if_nonempty(&vehicle.stop_id)?)?;
        run.calls_with_indexes().find(|(_, call)| call.stop == stop).map(|(at, _)| at)
    })
}

fn scheduled_departure(run: ScheduledRun<'_>, call: usize) -> Option<i64> {
    run.scheduled_departure(&run.timetable.trip_stop_time(run.trip, call)?)
}

/// Returns the stop and delay of the first call that is not over at `at`.
fn find_next_call(
    run: ScheduledRun<'_>,
    update: &TripUpdate,
    at: i64,
) -> Option<(SmolStr, Option<i32>)> {
    let calls =
        run.match_updates_to_calls(update).filter(|(_, stop_time)| is_call_served(stop_time));
    let expected = calls.filter_map(|(call, stop_time)| {
        Some((
            call,
            run.predicted_departure(call, stop_time)?,
            run.delay_from_update(call, stop_time)?,
        ))
    });
    let mut last = None;
    for (call, expected, delay) in expected {
        last = Some((call, delay));
        if expected >= at {
            break;
        }
    }
    let (call, delay) = last?;
    let stop = run.timetable.trip_stop_time(run.trip, call)?.stop;
    Some((SmolStr::new(run.timetable.stop(stop).id), Some(saturate_to_i32(delay))))
}

/// Returns the stop and delay of the next call of a trip that is not in the timetable, from the update alone.
fn find_next_call_in_update(update: &TripUpdate, at: i64) -> Option<(SmolStr, Option<i32>)> {
    let served = || update.stop_time_update.iter().filter(|stop_time| is_call_served(stop_time));
    let time = |stop_time: &StopTimeUpdate| {
        let departs = stop_time.departure.as_ref().and_then(|event| event.time);
        departs.or_else(|| stop_time.arrival.as_ref().and_then(|event| event.time))
    };
    let next = served().find(|stop_time| time(stop_time).is_some_and(|time| time >= at));
    let next = next.or_else(|| served().next_back())?;
    let departs = next.departure.as_ref().and_then(|event| event.delay);
    let delay = departs.or_else(|| next.arrival.as_ref().and_then(|event| event.delay));
    Some((SmolStr::new(text_if_nonempty(&next.stop_id)?), delay))
}

fn is_call_served(stop_time: &StopTimeUpdate) -> bool {
    stop_time.schedule_relationship() != stop_time_update::ScheduleRelationship::Skipped
}

/// Returns the name of the last stop, the headsign of a trip without one.
fn last_stop_name(update: &TripUpdate, timetable: Option<&Timetable>) -> Option<SmolStr> {
    let timetable = timetable?;
    let last = update.stop_time_update.last()?;
    let name = timetable.stop(timetable.find_stop(text_if_nonempty(&last.stop_id)?)?).name;
    (!name.is_empty()).then(|| SmolStr::new(name))
}

fn set_next_stop_by_id(join: &mut TimetableJoin, timetable: Option<&Timetable>, id: SmolStr) {
    match timetable.and_then(|timetable| Some((timetable, timetable.find_stop(&id)?))) {
        Some((timetable, stop)) => set_next_stop(join, timetable, stop),
        None => join.next_stop_id = Some(id),
    }
}

fn set_next_stop(join: &mut TimetableJoin, timetable: &Timetable, stop: StopIdx) {
    let stop = timetable.stop(stop);
    join.next_stop_id = Some(SmolStr::new(stop.id));
    join.next_stop_name = (!stop.name.is_empty()).then(|| SmolStr::new(stop.name));
}
