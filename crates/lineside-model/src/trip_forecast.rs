//! Predictions for single calls of a trip: stop time updates aligned with the timetable's calls, with delays propagated
//! to later calls (GTFS-Realtime reference, "Stop Time Updates").

use jiff::civil::Date;
use lineside_formats::{
    gtfs::{StopTime, Timetable, TripIdx},
    gtfs_rt::proto::{
        TripUpdate,
        trip_update::{StopTimeEvent, StopTimeUpdate, stop_time_update::ScheduleRelationship},
    },
};

use crate::trip_identity::text_if_nonempty;

/// A trip on a service date, or one run of a frequency-based trip, with its times as Unix seconds.
#[derive(Clone, Copy, Debug)]
pub struct ScheduledRun<'a> {
    pub timetable: &'a Timetable,
    pub trip: TripIdx,
    /// The Unix second from which the calls' times count.
    zero: i64,
}

/// The prediction for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForecast {
    /// There is no prediction.
    Unknown,
    Skipped,
    /// The departure in Unix seconds, and its delay in seconds.
    Predicted {
        departure: i64,
        delay: i32,
    },
}

impl<'a> ScheduledRun<'a> {
    /// Creates the run on a service date; `start_time` is that of a frequency-based trip, in seconds after noon minus
    /// 12 h.
    pub fn new(
        timetable: &'a Timetable,
        trip: TripIdx,
        date: Date,
        start_time: Option<i32>,
    ) -> ScheduledRun<'a> {
        let start = timetable.trip_start_time(trip);
        let shift = match (start_time, start) {
            (Some(run), Some(start)) => i64::from(run) - i64::from(start),
            _ => 0,
        };
        ScheduledRun { timetable, trip, zero: timetable.service_time_to_unix(date, 0) + shift }
    }

    /// Creates the run that a descriptor names by GTFS date and time.
    pub fn from_descriptor(
        timetable: &'a Timetable,
        trip: TripIdx,
        start_date: &str,
        start_time: &str,
    ) -> Option<ScheduledRun<'a>> {
        let date = parse_gtfs_date(start_date)?;
        let repeated = timetable.trip(trip).has_frequencies;
        let start = parse_gtfs_time(start_time).filter(|_| repeated);
        Some(ScheduledRun::new(timetable, trip, date, start))
    }

    /// Returns the calls with their indexes.
    pub fn calls_with_indexes(&self) -> impl Iterator<Item = (usize, StopTime<'a>)> + use<'a> {
        self.timetable.trip_stop_times(self.trip).enumerate()
    }

    /// Returns the scheduled departure (else arrival) of a call, in Unix seconds.
    pub fn scheduled_departure(&self, call: &StopTime<'_>) -> Option<i64> {
        Some(self.zero + i64::from(call.departure.or(call.arrival)?))
    }

    /// Returns the scheduled arrival (else departure) of a call, in Unix seconds.
    pub fn scheduled_arrival(&self, call: &StopTime<'_>) -> Option<i64> {
        Some(self.zero + i64::from(call.arrival.or(call.departure)?))
    }

    /// Returns the prediction of `update` for the call at `index`.
    pub fn forecast_call(&self, update: &TripUpdate, index: usize) -> CallForecast {
        let Some(call) = self.timetable.trip_stop_time(self.trip, index) else {
            return CallForecast::Unknown;
        };
        let Some(scheduled) = self.scheduled_departure(&call) else { return CallForecast::Unknown };
        let predicted = |departure: i64| CallForecast::Predicted {
            departure,
            delay: saturate_to_i32(departure.saturating_sub(scheduled)),
        };
        let mut carried = match update.stop_time_update.is_empty() {
            true => update.delay.map(i64::from),
            false => None,
        };
        for (at, stop_time) in self.match_updates_to_calls(update) {
            if at > index {
                break;
            }
            let known = match stop_time.schedule_relationship() {
                ScheduleRelationship::Skipped if at == index => return CallForecast::Skipped,
                // A skipped stop says nothing about later stops.
                ScheduleRelationship::Skipped => continue,
                ScheduleRelationship::NoData => None,
                _ => self.delay_from_update(at, stop_time).or(carried),
            };
            carried = known;
        }
        carried.map_or(CallForecast::Unknown, |delay| predicted(scheduled.saturating_add(delay)))
    }

    /// Returns the predictions of `update` for all calls in order, each with the call's own stop time update:
    /// [`forecast_call`](Self::forecast_call) for all calls in one pass.
    pub fn forecast_calls<'u>(
        self,
        update: &'u TripUpdate,
    ) -> impl Iterator<Item = (CallForecast, Option<&'u StopTimeUpdate>)> + use<'a, 'u> {
        let mut aligned = self.match_updates_to_calls(update).peekable();
        let mut carried =
            update.delay.map(i64::from).filter(|_| update.stop_time_update.is_empty());
        self.calls_with_indexes().map(move |(index, call)| {
            let own = aligned.next_if(|(at, _)| *at == index).map(|(_, own)| own);
            let relationship = own.map(StopTimeUpdate::schedule_relationship);
            let scheduled = self.scheduled_departure(&call);
            match (own, relationship) {
                (_, Some(ScheduleRelationship::Skipped)) if scheduled.is_some() => {
                    return (CallForecast::Skipped, own);
                }
                (_, Some(ScheduleRelationship::Skipped)) => return (CallForecast::Unknown, own),
                (_, Some(ScheduleRelationship::NoData)) => carried = None,
                (Some(own), _) => carried = self.delay_from_update(index, own).or(carried),
                (None, _) => {}
            }
            let forecast = carried.zip(scheduled).map(|(delay, scheduled)| {
                let departure = scheduled.saturating_add(delay);
                CallForecast::Predicted {
                    departure,
                    delay: saturate_to_i32(departure.saturating_sub(scheduled)),
                }
            });
            (forecast.unwrap_or(CallForecast::Unknown), own)
        })
    }

    /// Returns the stop time updates with the indexes of their calls, in order; those that match no call are skipped.
    pub fn match_updates_to_calls<'u>(
        &self,
        update: &'u TripUpdate,
    ) -> impl Iterator<Item = (usize, &'u StopTimeUpdate)> + use<'a, 'u> {
        let (timetable, trip) = (self.timetable, self.trip);
        let n_calls = timetable.trip_stop_times(trip).len();
        let mut next = 0;
        update.stop_time_update.iter().filter_map(move |stop_time| {
            let fits = |call: &StopTime<'_>| match (
                stop_time.stop_sequence,
                text_if_nonempty(&stop_time.stop_id),
            ) {
                (Some(sequence), _) => call.stop_sequence == sequence,
                (None, Some(stop)) => timetable.stop(call.stop).id == stop,
                (None, None) => false,
            };
            let found = (next..n_calls)
                .find(|&at| timetable.trip_stop_time(trip, at).is_some_and(|call| fits(&call)))?;
            next = found + 1;
            Some((found, stop_time))
        })
    }

    /// Returns the delay in seconds that a stop time update gives for its own call, from its departure, else from its
    /// arrival.
    pub fn delay_from_update(&self, at: usize, stop_time: &StopTimeUpdate) -> Option<i64> {
        let call = self.timetable.trip_stop_time(self.trip, at)?;
        let departs = stop_time.departure.as_ref();
        let arrives = stop_time.arrival.as_ref();
        let by_departure =
            departs.and_then(|event| predicted_event_delay(event, self.scheduled_departure(&call)));
        by_departure.or_else(|| {
            arrives.and_then(|event| predicted_event_delay(event, self.scheduled_arrival(&call)))
        })
    }

    /// Returns the predicted departure from a call by `stop_time`, in Unix seconds.
    pub fn predicted_departure(&self, at: usize, stop_time: &StopTimeUpdate) -> Option<i64> {
        let call = self.timetable.trip_stop_time(self.trip, at)?;
        Some(
            self.scheduled_departure(&call)?.saturating_add(self.delay_from_update(at, stop_time)?),
        )
    }
}

/// Returns the predicted time of an event in Unix seconds; a time takes precedence over a delay.
pub fn predicted_event_time(event: &StopTimeEvent, scheduled: Option<i64>) -> Option<i64> {
    let time = event.time.filter(|&time| time > 0);
    time.or_else(|| Some(scheduled?.saturating_add(i64::from(event.delay?))))
}

/// Returns the predicted delay of an event; a time takes precedence over a delay, as the specification requires.
fn predicted_event_delay(event: &StopTimeEvent, scheduled: Option<i64>) -> Option<i64> {
    match (event.time.filter(|&time| time > 0), scheduled) {
        (Some(time), Some(scheduled)) => Some(time.saturating_sub(scheduled)),
        _ => event.delay.map(i64::from),
    }
}

/// Converts seconds to an `i32`, saturating.
pub fn saturate_to_i32(seconds: i64) -> i32 {
    seconds.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Parses a GTFS date (`YYYYMMDD`).
pub fn parse_gtfs_date(text: &str) -> Option<Date> {
    if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<i16>().ok();
    Date::new(part(0..4)?, i8::try_from(part(4..6)?).ok()?, i8::try_from(part(6..8)?).ok()?).ok()
}

/// Parses `HH:MM:SS`, where hours may exceed 24, as seconds.
pub fn parse_gtfs_time(text: &str) -> Option<i32> {
    let mut parts = text.split(':').map(|part| part.parse::<i32>().ok().filter(|part| *part >= 0));
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && hours < 1000).then(|| hours * 3600 + minutes * 60 + seconds)
}
