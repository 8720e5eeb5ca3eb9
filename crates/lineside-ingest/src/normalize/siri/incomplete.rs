//! Journeys with extra calls whose other calls are incomplete: missing calls are taken from the timetable.
//!
//! A trip whose calls come from its update alone calls nowhere else. A producer that reports an extra call and its
//! neighbours, without declaring the sequence complete, does not mean that.

use lineside_formats::{
    gtfs::{StopTime, Timetable},
    gtfs_rt::proto::{
        TripUpdate,
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeEvent, StopTimeUpdate},
    },
    siri::VehicleJourney,
};

use super::{GRACE_SECONDS, SiriEntity};
use crate::trip_forecast::{CallForecast, ScheduledRun, predicted_event_time};
use crate::trip_identity::{TripKey, text_if_nonempty};

/// Returns the indexes of extra calls, if other calls may be missing.
pub(super) fn find_extra_calls_if_incomplete(
    journey: &VehicleJourney,
    update: &TripUpdate,
    is_extra: impl Iterator<Item = bool>,
) -> Vec<usize> {
    let is_replaced = update.trip.schedule_relationship() == ScheduleRelationship::Replacement;
    if !is_replaced || journey.is_complete_stop_sequence == Some(true) {
        return Vec::new();
    }
    is_extra.enumerate().filter_map(|(at, is_extra)| is_extra.then_some(at)).collect()
}

/// Inserts the timetable's calls among the reported ones if those may be incomplete. A trip unknown to the timetable is
/// unchanged.
pub(super) fn insert_missing_scheduled_calls(entity: &mut SiriEntity, timetable: &Timetable) {
    let extra = std::mem::take(&mut entity.extra_calls);
    let update = entity.entity.trip_update.as_mut().filter(|_| !extra.is_empty());
    let Some(update) = update else { return };
    let Some(run) = find_run(update, timetable) else { return };
    let reported = std::mem::take(&mut update.stop_time_update);
    let is_extra = |at: &usize| extra.binary_search(at).is_ok();
    let regular = reported.iter().enumerate().filter(|(at, _)| !is_extra(at));
    let regular = TripUpdate {
        trip: update.trip.clone(),
        stop_time_update: regular.map(|(_, call)| call.clone()).collect(),
        ..TripUpdate::default()
    };
    let mut merged = MergedJourneyCalls {
        run,
        regular: &regular,
        planned: run.calls_with_indexes().collect(),
        next: 0,
        calls: Vec::new(),
    };
    let last =
        run.calls_with_indexes().filter_map(|(_, call)| run.scheduled_departure(&call)).max();
    for (at, call) in reported.iter().enumerate() {
        if is_extra(&at) {
            let after = reported[at + 1..].iter().zip(at + 1..).filter(|(_, at)| !is_extra(at));
            let next =
                after.into_iter().find_map(|(call, _)| merged.find_matching_scheduled_call(call));
            merged.append_extra_call(call, next);
        } else {
            merged.append_regular_call(call);
        }
    }
    merged.append_scheduled_calls_until(usize::MAX);
    update.stop_time_update = merged.calls;
    let ends = last.map(|last| last.saturating_add(GRACE_SECONDS));
    // A journey without an end is retained for long anyway.
    entity.until = entity.until.map(|until| ends.map_or(until, |ends| until.max(ends)));
}

fn find_run<'a>(update: &TripUpdate, timetable: &'a Timetable) -> Option<ScheduledRun<'a>> {
    let key = TripKey::from_descriptor(&update.trip)?;
    let trip = timetable.find_trip(key.trip_id)?;
    // Only the start time identifies a run of a frequency-based trip.
    let is_named = !timetable.trip(trip).has_frequencies || !key.start_time.is_empty();
    ScheduledRun::from_descriptor(timetable, trip, key.start_date, key.start_time)
        .filter(|_| is_named)
}

/// Calls in the order of the journey, while they are merged.
struct MergedJourneyCalls<'a> {
    run: ScheduledRun<'a>,
    /// The reported calls that are in the timetable.
    regular: &'a TripUpdate,
    planned: Vec<(usize, StopTime<'a>)>,
    /// The index of the first scheduled call not added yet.
    next: usize,
    calls: Vec<StopTimeUpdate>,
}

impl MergedJourneyCalls<'_> {
    /// Returns the index of the scheduled call that equals a reported one.
    fn find_matching_scheduled_call(&self, call: &StopTimeUpdate) -> Option<usize> {
        let stop = text_if_nonempty(&call.stop_id)?;
        let ahead = self.planned.get(self.next..)?;
        let found = ahead.iter().find(|(_, it)| self.run.timetable.stop(it.stop).id == stop);
        found.map(|(at, _)| *at)
    }

    fn append_regular_call(&mut self, call: &StopTimeUpdate) {
        if let Some(at) = self.find_matching_scheduled_call(call) {
            self.append_scheduled_calls_until(at);
            self.next = at + 1;
        }
        self.calls.push(call.clone());
    }

    /// Adds an extra call before the next reported scheduled call. Among the calls in between, its time decides.
    fn append_extra_call(&mut self, call: &StopTimeUpdate, next_reported: Option<usize>) {
        let event = call.departure.as_ref().or(call.arrival.as_ref());
        let time =
            event.and_then(|event| event.scheduled_time.or(predicted_event_time(event, None)));
        let before = |(_, planned): &&(usize, StopTime<'_>)| {
            let planned = self.run.scheduled_departure(planned);
            planned.zip(time).is_some_and(|(planned, time)| planned < time)
        };
        let ahead = self.planned.iter().skip(self.next).take_while(before).count();
        let until = self.next + ahead;
        self.append_scheduled_calls_until(
            next_reported.map_or(until, |next_reported| until.min(next_reported)),
        );
        self.calls.push(call.clone());
    }

    /// Adds the missing scheduled calls before `until`.
    fn append_scheduled_calls_until(&mut self, until: usize) {
        let until = until.min(self.planned.len());
        for at in self.next..until {
            let (_, call) = self.planned[at];
            self.calls.push(self.build_unreported_call(at, &call));
        }
        self.next = self.next.max(until);
    }

    /// Returns a scheduled call that is not reported, with the delay propagated from earlier calls.
    fn build_unreported_call(&self, at: usize, call: &StopTime<'_>) -> StopTimeUpdate {
        let delay = match self.run.forecast_call(self.regular, at) {
            CallForecast::Predicted { delay, .. } => Some(delay),
            CallForecast::Unknown | CallForecast::Skipped => None,
        };
        let event = |scheduled: Option<i64>| {
            let scheduled_time = scheduled?;
            let time = scheduled_time.saturating_add(i64::from(delay.unwrap_or(0)));
            Some(StopTimeEvent {
                time: Some(time),
                delay,
                scheduled_time: Some(scheduled_time),
                ..StopTimeEvent::default()
            })
        };
        StopTimeUpdate {
            stop_id: Some(self.run.timetable.stop(call.stop).id.to_owned()),
            arrival: event(self.run.scheduled_arrival(call)),
            departure: event(self.run.scheduled_departure(call)),
            ..StopTimeUpdate::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use lineside_formats::siri::{self, EstimatedTimetableDelivery};
    use lineside_testkit::TestSchedule;

    use super::{
        super::{MappingRules, SiriIdMapping, journeys},
        *,
    };

    /// 12:00 on 21 November 2026 in UTC.
    const NOON: i64 = 1_795_262_400;

    /// Returns a timetable with trip T: at A at noon, then at B, C and D at intervals of ten minutes.
    fn timetable() -> Timetable {
        TestSchedule::new("UTC")
            .stop("A", "A", 48.86, 2.34)
            .stop("B", "B", 48.87, 2.34)
            .stop("C", "C", 48.88, 2.34)
            .stop("D", "D", 48.89, 2.34)
            .route("R", "1", 3)
            .trip("T", "A 12:00, B 12:10, C 12:20, D 12:30")
            .timetable()
    }

    /// Returns a call that is a minute late; one at minute 0 has no time.
    fn call(stop: &str, minute: u8, is_extra: bool) -> String {
        let late = minute + 1;
        let times = format!(
            "<AimedDepartureTime>2026-11-21T12:{minute:02}:00Z</AimedDepartureTime>\
             <ExpectedDepartureTime>2026-11-21T12:{late:02}:00Z</ExpectedDepartureTime>"
        );
        let times = if minute == 0 { "" } else { &times };
        format!(
            "<EstimatedCall><StopPointRef>{stop}</StopPointRef><ExtraCall>{is_extra}</ExtraCall>\
             {times}</EstimatedCall>"
        )
    }

    /// Returns stops and minutes after noon of a journey with these calls.
    fn merged(trip: &str, calls: &[String], inside: &str) -> Vec<(String, Option<i64>)> {
        let text = format!(
            "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>\
             <EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
             <LineRef>R</LineRef><FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
             <DatedVehicleJourneyRef>{trip}</DatedVehicleJourneyRef></FramedVehicleJourneyRef>\
             <EstimatedCalls>{}</EstimatedCalls>{inside}</EstimatedVehicleJourney>\
             </EstimatedJourneyVersionFrame></EstimatedTimetableDelivery></ServiceDelivery></Siri>",
            calls.concat()
        );
        let (zone, limits) = (&TimeZone::UTC, siri::MessageLimits::default());
        let (message, _) = siri::decode_siri_message(text.as_bytes(), zone, &limits).unwrap();
        let deliveries: Vec<&EstimatedTimetableDelivery> =
            message.service_deliveries().flat_map(|it| &it.estimated_timetables).collect();
        let journey = &deliveries[0].frames[0].estimated_vehicle_journeys[0];
        let rules = MappingRules { ids: &SiriIdMapping::Same, has_vehicle_delays: false, zone };
        let mut entity = journeys::map_estimated_journey(journey, None, rules);
        insert_missing_scheduled_calls(&mut entity, &timetable());
        let update = entity.entity.trip_update.unwrap();
        let stop_and_minute = |call: StopTimeUpdate| {
            let time = call.departure.and_then(|event| event.time);
            (call.stop_id.unwrap(), time.map(|time| (time - NOON) / 60))
        };
        update.stop_time_update.into_iter().map(stop_and_minute).collect()
    }

    fn check(calls: &[String], expected: &[(&str, i64)]) {
        let expected: Vec<_> =
            expected.iter().map(|(stop, at)| ((*stop).to_owned(), Some(*at))).collect();
        assert_eq!(merged("T", calls, ""), expected);
    }

    #[test]
    fn an_extra_call_is_placed_by_its_neighbours_and_times() {
        let (b, x) = (call("B", 10, false), call("X", 25, true));
        let all = [("A", 0), ("B", 11), ("C", 21), ("X", 26), ("D", 31)];
        check(&[b.clone(), x.clone()], &all);
        // No call is reported before the extra one: the calls after it are as scheduled.
        check(std::slice::from_ref(&x), &[("A", 0), ("B", 10), ("C", 20), ("X", 26), ("D", 30)]);
        // A later reported call comes after it, whatever the times.
        check(&[x, b], &[("A", 0), ("X", 26), ("B", 11), ("C", 21), ("D", 31)]);
    }

    #[test]
    fn an_extra_call_without_a_time_follows_the_call_reported_before_it() {
        let calls = [call("B", 10, false), call("X", 0, true)];
        let stops: Vec<_> = merged("T", &calls, "").into_iter().map(|(stop, _)| stop).collect();
        assert_eq!(stops, ["A", "B", "X", "C", "D"]);
    }

    #[test]
    fn calls_are_not_filled_in_if_complete_or_without_a_schedule() {
        let calls = [call("B", 10, false), call("X", 25, true)];
        let expected = [("B".to_owned(), Some(11)), ("X".to_owned(), Some(26))];
        let complete = "<IsCompleteStopSequence>true</IsCompleteStopSequence>";
        assert_eq!(merged("T", &calls, complete), expected);
        assert_eq!(merged("unknown", &calls, ""), expected);
        // Without an extra call the schedule has the remaining calls anyway.
        assert_eq!(merged("T", &calls[..1], ""), expected[..1]);
    }
}
