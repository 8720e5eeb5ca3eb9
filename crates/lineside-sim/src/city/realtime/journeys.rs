//! Predictions as SIRI estimated timetables, from the same courses as the trip updates, not from the trip updates.

use lineside_formats::siri::{
    CallStatus, DurationSeconds, FramedVehicleJourneyRef, LanguageText, SiriCall, SiriTime,
    VehicleJourney,
};
use lineside_sync::UnixMillis;

use super::courses::SimulatedRunTimes;
use super::predictions::{CallPrediction, ScheduledAndExpectedTime};
use super::runs::{ServiceDayWithDisruptions, TripRun, TripRunKind};
use super::to_unix_seconds;
use crate::city::City;
use crate::network::TransportMode;

/// The data source, which SIRI requires.
pub(crate) const SOURCE: &str = "lindhaven";
/// The seconds from which a call is early or late.
const LATE_FROM: i64 = 60;

impl City {
    /// Returns the journeys with predictions at an instant, in a fixed order.
    pub fn siri_estimated_journeys(&self, now: UnixMillis) -> Vec<VehicleJourney> {
        let now = to_unix_seconds(now);
        let mut course = SimulatedRunTimes::default();
        let mut journeys = Vec::new();
        for at in self.service_days_at(now) {
            for run in self.list_relevant_runs_at(&at) {
                let journey = if self.is_run_cancelled(&run, &at.events) {
                    self.cancelled_journey(&run, &at)
                } else {
                    self.estimated_journey(&run, &at, now, &mut course)
                };
                journeys.extend(journey);
            }
        }
        journeys
    }

    fn cancelled_journey(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
    ) -> Option<VehicleJourney> {
        let since = self.cancellation_published_since(run, at)?;
        Some(VehicleJourney {
            recorded_at_time: siri_time(since),
            cancellation: Some(true),
            ..self.journey_without_calls(run, at)
        })
    }

    fn estimated_journey(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
        now: i64,
        course: &mut SimulatedRunTimes,
    ) -> Option<VehicleJourney> {
        let status = self.published_run_status(run, at, now, course)?;
        let calls = self.predict_remaining_calls(run, at, course, &status);
        let vehicle = status.has_vehicle.then(|| self.vehicle_descriptor(run).id).flatten();
        Some(VehicleJourney {
            recorded_at_time: siri_time(
                self.city_time().instant_on_day(at.day, status.since) as i64
            ),
            monitored: Some(status.has_vehicle),
            vehicle_ref: vehicle.map(Into::into),
            estimated_calls: calls.iter().map(|call| self.siri_estimated_call(run, call)).collect(),
            is_complete_stop_sequence: Some(calls.first().is_some_and(|call| call.call == 0)),
            ..self.journey_without_calls(run, at)
        })
    }

    /// Returns a journey with the references and descriptions of a run.
    pub(super) fn journey_without_calls(
        &self,
        run: &TripRun,
        at: &ServiceDayWithDisruptions,
    ) -> VehicleJourney {
        let pattern = &self.network().patterns[run.trip.pattern as usize];
        let route = &self.network().routes[pattern.route as usize];
        let last = pattern.calls.len() - 1;
        let start = self.city_time().instant_on_day(at.day, f64::from(run.trip.start)) as i64;
        let end = start + i64::from(self.timetable().trip_duration(&run.trip));
        let is_extra = run.kind == TripRunKind::Added;
        let id = self.run_trip_id(run);
        // A journey outside the timetable has no day, but a unique code.
        let framed = (!is_extra).then(|| FramedVehicleJourneyRef {
            data_frame_ref: Some(self.city_time().calendar_date(at.day).to_string().into()),
            dated_vehicle_journey_ref: Some(id.clone().into()),
        });
        VehicleJourney {
            line_ref: Some(route.id.clone().into()),
            direction_ref: Some(pattern.direction.to_string().into()),
            framed_vehicle_journey_ref: framed,
            estimated_vehicle_journey_code: is_extra.then(|| id.into()),
            extra_journey: is_extra.then_some(true),
            vehicle_modes: vec![siri_mode_name(route.mode).into()],
            published_line_names: vec![siri_text(&route.short_name)],
            origin_ref: Some(self.call_stop_id(run, 0).into()),
            origin_names: vec![siri_text(self.call_stop_name(run, 0))],
            destination_ref: Some(self.call_stop_id(run, last).into()),
            destination_names: vec![siri_text(self.call_stop_name(run, last))],
            operator_ref: Some(crate::city::gtfs::agency_id_of_mode(route.mode).into()),
            headway_service: matches!(run.kind, TripRunKind::Headway { .. }).then_some(true),
            origin_aimed_departure_time: siri_time(start),
            destination_aimed_arrival_time: siri_time(end),
            data_source: Some(SOURCE.into()),
            ..VehicleJourney::default()
        }
    }

    fn siri_estimated_call(&self, run: &TripRun, call: &CallPrediction) -> SiriCall {
        let last = self.network().patterns[run.trip.pattern as usize].calls.len() - 1;
        // A journey outside the timetable has no planned times.
        let is_planned = run.kind != TripRunKind::Added;
        let (arrival, departure) = call.scheduled;
        let aimed = |is: bool, at: i64| siri_time(at).filter(|_| is && is_planned);
        let status = |time: Option<ScheduledAndExpectedTime>| {
            time.filter(|_| is_planned).map(siri_call_status)
        };
        SiriCall {
            order: Some(call.call as u32 + 1),
            cancellation: call.skipped.then_some(true),
            aimed_arrival_time: aimed(call.call > 0, arrival),
            expected_arrival_time: call.arrival.and_then(|told| siri_time(told.expected)),
            arrival_status: status(call.arrival),
            aimed_departure_time: aimed(call.call < last, departure),
            expected_departure_time: call.departure.and_then(|told| siri_time(told.expected)),
            departure_status: status(call.departure),
            ..self.call_without_times(run, call.call)
        }
    }

    /// Returns a call of a run with only its place.
    pub(super) fn call_without_times(&self, run: &TripRun, call: usize) -> SiriCall {
        SiriCall {
            stop_point_ref: Some(self.call_stop_id(run, call).into()),
            visit_number: Some(self.call_visit_number(run, call)),
            stop_point_names: vec![siri_text(self.call_stop_name(run, call))],
            ..SiriCall::default()
        }
    }

    /// Returns the ordinal of a call among the run's calls at its stop, from 1.
    fn call_visit_number(&self, run: &TripRun, call: usize) -> u32 {
        let calls = &self.network().patterns[run.trip.pattern as usize].calls;
        let n_earlier = calls[..call].iter().filter(|it| it.stop == calls[call].stop).count();
        n_earlier as u32 + 1
    }

    pub(super) fn call_stop_name(&self, run: &TripRun, call: usize) -> &str {
        let call = self.network().patterns[run.trip.pattern as usize].calls[call];
        let stop = &self.network().stops[call.stop as usize];
        &self.network().places[stop.place as usize].name
    }
}

/// Returns a delay in seconds in SIRI form.
pub(super) fn siri_delay(seconds: f64) -> DurationSeconds {
    DurationSeconds(seconds.round() as i32)
}

/// Returns a SIRI time from Unix seconds.
pub(crate) fn siri_time(seconds: i64) -> Option<SiriTime> {
    SiriTime::from_millis(seconds.saturating_mul(1_000))
}

/// Returns a text in the default language.
pub(super) fn siri_text(text: &str) -> LanguageText {
    LanguageText { lang: None, value: text.into() }
}

fn siri_call_status(time: ScheduledAndExpectedTime) -> CallStatus {
    match time.expected - time.scheduled {
        late if late >= LATE_FROM => CallStatus::Delayed,
        early if early <= -LATE_FROM => CallStatus::Early,
        _ => CallStatus::OnTime,
    }
}

fn siri_mode_name(mode: TransportMode) -> &'static str {
    match mode {
        TransportMode::Rail => "rail",
        TransportMode::Metro => "metro",
        TransportMode::Tram => "tram",
        TransportMode::Bus => "bus",
        TransportMode::Ferry => "ferry",
    }
}
