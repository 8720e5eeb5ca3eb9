//! The phase of a trip by its known times: announced, running or ended. Some feeds report a vehicle for each trip that
//! they announce, long before the trip starts.

use lineside_formats::{gtfs::Timetable, gtfs_rt::proto::TripUpdate};
use lineside_sync::UnixMillis;

use crate::{
    departures::find_best_run_update,
    network_state::NetworkState,
    record::Record,
    trip_forecast::{
        CallForecast, ScheduledRun, parse_gtfs_date, parse_gtfs_time, predicted_event_time,
    },
    trip_identity::{TripKey, is_extra_trip, text_if_nonempty},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripPhase {
    /// Its first known time is still to come.
    Announced,
    /// It has started and has not ended.
    UnderWay,
    /// Its last known time has passed, or its feed announces no further call.
    Ended,
}

impl NetworkState {
    /// Returns the phase of a vehicle's trip at `now`, the present of the network's data; `None` if the trip has no
    /// update.
    pub fn find_trip_phase(&self, vehicle: &Record, now: UnixMillis) -> Option<TripPhase> {
        let descriptor = vehicle.trip_descriptor()?;
        let key = TripKey::from_descriptor(descriptor)?;
        let now = now.unix_seconds();
        let timetable = self.dataset.as_ref().map(|dataset| &*dataset.timetable);
        phase_from_update(find_best_run_update(self, key, now)?.update, timetable, now)
    }
}

pub fn find_scheduled_run<'a>(
    update: &TripUpdate,
    timetable: Option<&'a Timetable>,
) -> Option<ScheduledRun<'a>> {
    let (timetable, key) = (timetable?, TripKey::from_descriptor(&update.trip)?);
    let trip = timetable.find_trip(key.trip_id).filter(|_| !is_extra_trip(&update.trip))?;
    parse_gtfs_date(key.start_date)?;
    ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)
}

/// Returns the scheduled start of a run, Unix seconds.
pub fn scheduled_run_start(run: ScheduledRun<'_>) -> Option<i64> {
    run.calls_with_indexes().next().and_then(|(_, call)| run.scheduled_departure(&call))
}

/// Returns the start of a trip that the timetable does not have, Unix seconds, as its update states it. Producers drop
/// past calls, so the first remaining call may be later.
pub fn announced_trip_start(update: &TripUpdate, timetable: Option<&Timetable>) -> Option<i64> {
    let date = parse_gtfs_date(text_if_nonempty(&update.trip.start_date)?)?;
    let seconds = parse_gtfs_time(text_if_nonempty(&update.trip.start_time)?)?;
    Some(timetable?.service_time_to_unix(date, seconds))
}

fn phase_from_update(
    update: &TripUpdate,
    timetable: Option<&Timetable>,
    now: i64,
) -> Option<TripPhase> {
    let (begins, ends) = match find_scheduled_run(update, timetable) {
        Some(run) => (scheduled_run_start(run), predicted_run_end(run, update)),
        None if update.stop_time_update.is_empty() && update.delay.is_none() => {
            return Some(TripPhase::Ended);
        }
        None => {
            let mut times = update.stop_time_update.iter().filter_map(|call| {
                let event = call.departure.as_ref().or(call.arrival.as_ref());
                event.and_then(|event| predicted_event_time(event, None))
            });
            let first = times.next();
            let last = times.next_back().or(first);
            (announced_trip_start(update, timetable).or(first), last)
        }
    };
    match (begins, ends) {
        (Some(begins), _) if begins > now => Some(TripPhase::Announced),
        (_, Some(ends)) if ends < now => Some(TripPhase::Ended),
        (None, None) => None,
        _ => Some(TripPhase::UnderWay),
    }
}

/// Returns the predicted end of a run, Unix seconds, or the scheduled one.
fn predicted_run_end(run: ScheduledRun<'_>, update: &TripUpdate) -> Option<i64> {
    let (index, last) = run.calls_with_indexes().last()?;
    match run.forecast_call(update, index) {
        CallForecast::Predicted { departure, .. } => Some(departure),
        CallForecast::Skipped | CallForecast::Unknown => run.scheduled_arrival(&last),
    }
}
