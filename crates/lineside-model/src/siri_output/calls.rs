//! The calls of a journey: aimed times from the timetable, expected times from an update, and the calls that are over.

use std::ops::Range;

use lineside_formats::{
    gtfs::{StopIdx, StopTime, Timetable},
    gtfs_rt::proto::{
        TripUpdate,
        trip_update::{
            StopTimeEvent, StopTimeUpdate,
            stop_time_update::{
                ScheduleRelationship, StopTimeProperties, stop_time_properties::DropOffPickupType,
            },
        },
    },
    siri::{
        ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, SiriCall, SiriTime,
        StopAssignment,
    },
};
use smol_str::SmolStr;

use super::{
    INACCURATE_SECONDS, ON_TIME_SECONDS, delay_seconds_between, terms, text_without_language,
    to_siri_time,
};
use crate::trip_forecast::{ScheduledRun, predicted_event_time};
use crate::trip_identity::text_if_nonempty;

mod order;

pub(super) use order::{
    adjust_decreasing_times, are_sequences_increasing, clear_past_predictions, count_past_calls,
};

/// Arrival and departure in Unix seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StopCallTimes {
    pub(super) arrival: Option<i64>,
    pub(super) departure: Option<i64>,
}

/// A call before it is encoded.
#[derive(Clone, Debug)]
pub(super) struct CallToEncode<'a> {
    /// The scheduled stop.
    pub(super) stop_id: Option<&'a str>,
    /// GTFS `stop_sequence`, if known.
    pub(super) sequence: Option<u32>,
    pub(super) aimed: StopCallTimes,
    /// True if there is no planned departure, so that the aimed one equals the expected one.
    is_aimed_as_expected: bool,
    pub(super) expected: StopCallTimes,
    /// Adjusted times of events without a prediction, so that the times of the journey never decrease. See
    /// [`adjust_decreasing_times`].
    propagated: StopCallTimes,
    is_skipped: bool,
    /// True if the schedule contains the journey, but not this call.
    is_extra: bool,
    headsign: Option<&'a str>,
    /// `pickup_type` is "not available", and for `no_alighting` `drop_off_type`.
    is_boarding_denied: bool,
    is_alighting_denied: bool,
    update: Option<&'a StopTimeUpdate>,
}

impl CallToEncode<'_> {
    /// Returns the time at which the vehicle completes the call, if predicted.
    fn expected_completion_time(&self) -> Option<i64> {
        self.expected.departure.or(self.expected.arrival)
    }

    fn aimed_completion_time(&self) -> Option<i64> {
        self.aimed.departure.or(self.aimed.arrival)
    }

    /// Returns the departure planned by a timetable or the feed, not one that only equals the expected departure.
    pub(super) fn independent_aimed_departure(&self) -> Option<i64> {
        self.aimed.departure.filter(|_| !self.is_aimed_as_expected)
    }

    /// Returns the expected arrival, else the expected departure.
    fn expected_arrival_or_departure(&self) -> Option<i64> {
        self.expected.arrival.or(self.expected.departure)
    }

    /// Returns the expected delay from this call on, in seconds.
    fn delay_seconds(&self) -> Option<i64> {
        let (expected, aimed) = (self.expected, self.aimed);
        let departure = delay_seconds_between(expected.departure, aimed.departure);
        departure.or_else(|| delay_seconds_between(expected.arrival, aimed.arrival)).map(i64::from)
    }
}

/// Returns the calls of a scheduled run with the data of an update. Delays are propagated to later calls, never to
/// earlier ones.
pub(super) fn calls_of_scheduled_run<'a>(
    run: ScheduledRun<'a>,
    update: Option<&'a TripUpdate>,
) -> Vec<CallToEncode<'a>> {
    let mut call_updates =
        update.into_iter().flat_map(|update| run.match_updates_to_calls(update)).peekable();
    let mut carried = update
        .filter(|update| update.stop_time_update.is_empty())
        .and_then(|update| update.delay.map(i64::from));
    let n = run.timetable.trip_stop_times(run.trip).len();
    let calls = run.calls_with_indexes().map(|(at, call)| {
        let own = call_updates.next_if(|(number, _)| *number == at).map(|(_, own)| own);
        let aimed = StopCallTimes {
            arrival: run.scheduled_arrival(&call),
            departure: run.scheduled_departure(&call),
        };
        let expected = compute_expected_times(aimed, own, at + 1 == n, &mut carried);
        build_call_to_encode(run.timetable, &call, aimed, expected, own)
    });
    calls.collect()
}

fn build_call_to_encode<'a>(
    timetable: &'a Timetable,
    call: &StopTime<'a>,
    aimed: StopCallTimes,
    expected: StopCallTimes,
    own: Option<&'a StopTimeUpdate>,
) -> CallToEncode<'a> {
    let properties = own.and_then(|own| own.stop_time_properties.as_ref());
    CallToEncode {
        stop_id: Some(timetable.stop(call.stop).id),
        sequence: Some(call.stop_sequence),
        aimed,
        is_aimed_as_expected: false,
        expected,
        propagated: StopCallTimes::default(),
        is_skipped: own.is_some_and(is_call_skipped),
        is_extra: false,
        headsign: properties.and_then(|own| text_if_nonempty(&own.stop_headsign)).or(call.headsign),
        is_boarding_denied: is_boarding_or_alighting_denied(
            properties.and_then(|own| own.pickup_type),
            call.pickup,
        ),
        is_alighting_denied: is_boarding_or_alighting_denied(
            properties.and_then(|own| own.drop_off_type),
            call.drop_off,
        ),
        update: own,
    }
}

/// GTFS: a `pickup_type` or `drop_off_type` that does not allow boarding or alighting.
const NOT_AVAILABLE: u8 = 1;

fn is_boarding_or_alighting_denied(reported_type: Option<i32>, planned: u8) -> bool {
    match reported_type {
        Some(reported_type) => reported_type == DropOffPickupType::None as i32,
        None => planned == NOT_AVAILABLE,
    }
}

/// Returns the expected times of a call, and updates the delay that is propagated from it.
fn compute_expected_times(
    aimed: StopCallTimes,
    own: Option<&StopTimeUpdate>,
    is_last: bool,
    carried: &mut Option<i64>,
) -> StopCallTimes {
    let late = |aimed: Option<i64>, delay: Option<i64>| Some(aimed?.saturating_add(delay?));
    let Some(own) = own else {
        let (arrival, departure) = (late(aimed.arrival, *carried), late(aimed.departure, *carried));
        return StopCallTimes { arrival, departure };
    };
    match own.schedule_relationship() {
        // A skipped stop says nothing about later stops.
        ScheduleRelationship::Skipped => return StopCallTimes::default(),
        ScheduleRelationship::NoData => {
            *carried = None;
            return StopCallTimes::default();
        }
        _ => {}
    }
    let time = |event: &Option<StopTimeEvent>, aimed| {
        event.as_ref().and_then(|event| predicted_event_time(event, aimed))
    };
    let expected = StopCallTimes {
        arrival: time(&own.arrival, aimed.arrival),
        departure: time(&own.departure, aimed.departure),
    };
    let delays = StopCallTimes {
        arrival: delay_seconds_between(expected.arrival, aimed.arrival).map(i64::from),
        departure: delay_seconds_between(expected.departure, aimed.departure).map(i64::from),
    };
    // Some producers give only a departure for the last call.
    let at_end = if is_last { delays.departure } else { None };
    let before = *carried;
    *carried = delays.departure.or(delays.arrival).or(before);
    // A vehicle that makes up time arrives no later than it departs.
    let arrival = late(aimed.arrival, at_end.or(before));
    let arrival = arrival.map(|time| expected.departure.map_or(time, |departs| time.min(departs)));
    StopCallTimes {
        arrival: expected.arrival.or(arrival),
        departure: expected.departure.or_else(|| late(aimed.departure, *carried)),
    }
}

fn is_call_skipped(own: &StopTimeUpdate) -> bool {
    own.schedule_relationship() == ScheduleRelationship::Skipped
}

/// Returns the calls of a journey that only its update knows. If `is_added`, a missing aimed time is set to the
/// expected one: the journey has no other plan, and SIRI consumers need an aimed time.
pub(super) fn calls_of_unscheduled_update(
    update: &TripUpdate,
    is_added: bool,
) -> Vec<CallToEncode<'_>> {
    let calls = update.stop_time_update.iter().map(|own| {
        let planned = |event: &Option<StopTimeEvent>| {
            let event = event.as_ref()?;
            let by_delay = || Some(event.time?.saturating_sub(i64::from(event.delay?)));
            event.scheduled_time.or_else(by_delay)
        };
        let aimed = |event: &Option<StopTimeEvent>| {
            let expected = || event.as_ref()?.time.filter(|_| is_added);
            planned(event).or_else(expected)
        };
        let is_aimed_as_expected = planned(&own.departure).is_none();
        let aimed =
            StopCallTimes { arrival: aimed(&own.arrival), departure: aimed(&own.departure) };
        let is_known = !is_call_skipped(own);
        let expected = |event: &Option<StopTimeEvent>, aimed| {
            event.as_ref().filter(|_| is_known).and_then(|event| predicted_event_time(event, aimed))
        };
        let properties = own.stop_time_properties.as_ref();
        CallToEncode {
            stop_id: text_if_nonempty(&own.stop_id),
            sequence: own.stop_sequence,
            aimed,
            is_aimed_as_expected,
            expected: StopCallTimes {
                arrival: expected(&own.arrival, aimed.arrival),
                departure: expected(&own.departure, aimed.departure),
            },
            propagated: StopCallTimes::default(),
            is_skipped: is_call_skipped(own),
            is_extra: false,
            headsign: properties.and_then(|own| text_if_nonempty(&own.stop_headsign)),
            is_boarding_denied: is_boarding_or_alighting_denied(
                properties.and_then(|own| own.pickup_type),
                0,
            ),
            is_alighting_denied: is_boarding_or_alighting_denied(
                properties.and_then(|own| own.drop_off_type),
                0,
            ),
            update: Some(own),
        }
    });
    calls.collect()
}

/// Merges the calls of a modified journey with the scheduled ones: calls that are not in the schedule become extra, and
/// missing scheduled calls are added as skipped. Past calls, at `at` in Unix seconds, before the first reported one are
/// left out: they may have been served, and producers drop past calls.
pub(super) fn merge_with_scheduled_calls<'a>(
    run: ScheduledRun<'a>,
    reported: Vec<CallToEncode<'a>>,
    at: i64,
) -> Vec<CallToEncode<'a>> {
    let plan: Vec<StopTime<'a>> = run.calls_with_indexes().map(|(_, call)| call).collect();
    let Some(positions) = match_calls_to_schedule(run.timetable, &plan, &reported) else {
        return reported;
    };
    let left_out = |range: Range<usize>| {
        let calls = plan.get(range).unwrap_or_default().iter();
        calls.map(move |call| {
            let aimed = StopCallTimes {
                arrival: run.scheduled_arrival(call),
                departure: run.scheduled_departure(call),
            };
            let call =
                build_call_to_encode(run.timetable, call, aimed, StopCallTimes::default(), None);
            CallToEncode { is_skipped: true, ..call }
        })
    };
    let is_past =
        |call: &CallToEncode<'_>| call.aimed_completion_time().is_some_and(|time| time < at);
    let mut calls: Vec<CallToEncode<'a>> = Vec::with_capacity(reported.len());
    let mut next = 0;
    for (call, position) in reported.into_iter().zip(positions) {
        if let Some(position) = position {
            let before = left_out(next..position);
            calls.extend(before.filter(|call| next > 0 || !is_past(call)));
            next = position + 1;
        }
        calls.push(CallToEncode { is_extra: position.is_none(), ..call });
    }
    calls.extend(left_out(next..plan.len()).filter(|call| next > 0 || !is_past(call)));
    calls
}

/// Maximum number of compared pairs of calls: a larger journey is encoded as reported.
const COMPARED_MAX: usize = 100_000;

/// Returns the index of the scheduled call for each reported one, for as many as possible; calls at different platforms
/// of a station are equal. Takes time and memory for each pair.
fn match_calls_to_schedule(
    timetable: &Timetable,
    plan: &[StopTime<'_>],
    reported: &[CallToEncode<'_>],
) -> Option<Vec<Option<usize>>> {
    if plan.len().saturating_mul(reported.len()) > COMPARED_MAX {
        return None;
    }
    let station_of = |stop: StopIdx| timetable.stop(stop).parent.unwrap_or(stop);
    let planned: Vec<StopIdx> = plan.iter().map(|call| station_of(call.stop)).collect();
    let find = |call: &CallToEncode<'_>| timetable.find_stop(call.stop_id?).map(station_of);
    let reported: Vec<Option<StopIdx>> = reported.iter().map(find).collect();
    // For each reported call, and after the last one: the number of equal calls from there on, by scheduled call.
    let mut rest = vec![vec![0_usize; planned.len() + 1]];
    for reported_stop in reported.iter().rev() {
        let after = rest.last().cloned().unwrap_or_default();
        let mut row = after.clone();
        for (number, planned) in planned.iter().enumerate().rev() {
            row[number] = match *reported_stop == Some(*planned) {
                true => after[number + 1] + 1,
                false => after[number].max(row[number + 1]),
            };
        }
        rest.push(row);
    }
    let mut next = 0;
    let positions = reported.iter().zip(rest.iter().rev()).map(|(reported_stop, row)| {
        let is_match =
            |number: usize| planned.get(number).is_some_and(|it| *reported_stop == Some(*it));
        // Skip scheduled calls that can be skipped without loss.
        while next < planned.len() && !is_match(next) && row[next + 1] == row[next] {
            next += 1;
        }
        is_match(next).then(|| {
            next += 1;
            next - 1
        })
    });
    Some(positions.collect())
}

/// Encodes the calls of a journey.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallEncoder<'a> {
    pub(super) timetable: Option<&'a Timetable>,
    /// The timestamp of the data, in Unix seconds.
    pub(super) at: i64,
    /// True if the journey does not run.
    pub(super) is_cancelled: bool,
    /// The journey's headsign, for calls without their own.
    pub(super) headsign: Option<&'a str>,
    /// True if calls before the first one are missing.
    pub(super) is_truncated: bool,
    /// True if `Order` is the `stop_sequence`; else calls are counted from 1.
    pub(super) is_numbered: bool,
}

impl CallEncoder<'_> {
    /// Encodes the call at `index` as past or future.
    pub(super) fn encode_call(
        &self,
        calls: &[CallToEncode<'_>],
        index: usize,
        is_past: bool,
    ) -> SiriCall {
        let planned = &calls[index];
        let (is_first, is_last) = self.detect_first_and_last_call(calls, index);
        let visits = calls[..=index].iter().filter(|call| call.stop_id == planned.stop_id).count();
        let number = |n: usize| u32::try_from(n).ok();
        let assigned =
            assigned_stop_id(planned).filter(|assigned| Some(*assigned) != planned.stop_id);
        let stop_id = assigned.or(planned.stop_id);
        let stop = stop_id.and_then(|id| {
            let timetable = self.timetable?;
            Some(timetable.stop(timetable.find_stop(id)?))
        });
        let is_cancelled = self.is_cancelled || planned.is_skipped;
        let is_end = !is_cancelled && is_last_before_skipped(calls, index);
        let mut call = SiriCall {
            stop_point_ref: stop_id.map(SmolStr::new),
            visit_number: number(visits),
            order: planned.sequence.filter(|_| self.is_numbered).or_else(|| number(index + 1)),
            stop_point_names: text_without_language(stop.map(|stop| stop.name)),
            extra_call: planned.is_extra.then_some(true),
            cancellation: is_cancelled.then_some(true),
            prediction_inaccurate: has_large_uncertainty(planned).then_some(true),
            occupancy: planned
                .update
                .and_then(|own| own.departure_occupancy_status.map(|_| own))
                .and_then(|own| terms::map_occupancy(own.departure_occupancy_status())),
            destination_displays: text_without_language(planned.headsign.or(self.headsign)),
            ..SiriCall::default()
        };
        // The platform name in the update takes precedence over that of the scheduled stop.
        let platform = assigned_platform_name(planned).or(stop.and_then(|stop| stop.platform_code));
        let platform = text_without_language(platform);
        let assignment = assigned.map(|assigned| StopAssignment {
            aimed_quay_ref: planned.stop_id.map(SmolStr::new),
            expected_quay_ref: Some(SmolStr::new(assigned)),
            ..StopAssignment::default()
        });
        if !is_first {
            self.put_arrival(&mut call, planned, is_cancelled, is_past);
            call.arrival_platform_names.clone_from(&platform);
            call.arrival_stop_assignments = assignment.iter().cloned().collect();
        }
        if !is_last {
            self.put_departure(&mut call, planned, is_cancelled, is_past);
            if is_end {
                mark_departure_cancelled(&mut call);
            }
            // In past calls the schema has these elsewhere, where no consumer needs them.
            if !is_past {
                call.departure_platform_names = platform;
            }
            call.departure_stop_assignments = assignment.into_iter().collect();
        }
        call
    }

    /// Returns true if the journey begins with the call, which has no arrival, and true if it ends there.
    fn detect_first_and_last_call(&self, calls: &[CallToEncode<'_>], index: usize) -> (bool, bool) {
        let CallToEncode { aimed, expected, .. } = &calls[index];
        let arrives = aimed.arrival.or(expected.arrival).is_some();
        let departs = aimed.departure.or(expected.departure).is_some();
        let is_only = calls.len() == 1;
        let is_first = index == 0 && !is_only && !self.is_truncated && (departs || !arrives);
        let is_last =
            index + 1 == calls.len() && (!is_only || self.is_truncated) && (arrives || !departs);
        (is_first, is_last)
    }

    fn put_arrival(
        &self,
        call: &mut SiriCall,
        planned: &CallToEncode<'_>,
        is_cancelled: bool,
        is_past: bool,
    ) {
        let (aimed, expected) = (planned.aimed.arrival, planned.expected.arrival);
        let expected = expected.filter(|_| !is_cancelled);
        call.aimed_arrival_time = aimed.and_then(to_siri_time);
        call.expected_arrival_time = self.format_propagated_time(planned.propagated.arrival);
        let time_field = match is_past {
            true => &mut call.actual_arrival_time,
            false => &mut call.expected_arrival_time,
        };
        *time_field = expected.and_then(to_siri_time).or(*time_field);
        let is_past_or_due = is_past || expected.is_some_and(|expected| expected < self.at);
        call.arrival_status = match call_time_status(aimed, expected, is_cancelled) {
            // Nobody reports the times of past calls.
            Some(CallStatus::NoReport) if is_past => None,
            status @ Some(CallStatus::Cancelled | CallStatus::NoReport) => status,
            _ if is_past_or_due => Some(CallStatus::Arrived),
            status => status,
        };
        let closed = planned.is_alighting_denied || is_cancelled;
        call.arrival_boarding_activity = closed.then_some(ArrivalBoardingActivity::NoAlighting);
    }

    fn put_departure(
        &self,
        call: &mut SiriCall,
        planned: &CallToEncode<'_>,
        is_cancelled: bool,
        is_past: bool,
    ) {
        let (aimed, expected) = (planned.aimed.departure, planned.expected.departure);
        let expected = expected.filter(|_| !is_cancelled);
        call.aimed_departure_time = aimed.and_then(to_siri_time);
        call.expected_departure_time = self.format_propagated_time(planned.propagated.departure);
        let time_field = match is_past {
            true => &mut call.actual_departure_time,
            false => &mut call.expected_departure_time,
        };
        *time_field = expected.and_then(to_siri_time).or(*time_field);
        call.departure_status = match call_time_status(aimed, expected, is_cancelled) {
            Some(CallStatus::NoReport) if is_past => None,
            status @ Some(CallStatus::Cancelled | CallStatus::NoReport) => status,
            _ if is_past => Some(CallStatus::Departed),
            status => status,
        };
        let closed = planned.is_boarding_denied || is_cancelled;
        call.departure_boarding_activity = closed.then_some(DepartureBoardingActivity::NoBoarding);
    }

    /// Formats an adjusted time; a journey that does not run has none.
    fn format_propagated_time(&self, time: Option<i64>) -> Option<SiriTime> {
        time.filter(|_| !self.is_cancelled).and_then(to_siri_time)
    }
}

/// Returns true if a call is served and all later calls are skipped, so that the vehicle ends there.
fn is_last_before_skipped(calls: &[CallToEncode<'_>], index: usize) -> bool {
    let after = calls.get(index + 1..).unwrap_or_default();
    !calls[index].is_skipped && !after.is_empty() && after.iter().all(|call| call.is_skipped)
}

/// Marks the departure of the call where a shortened journey ends as cancelled. Its time stays as an expected one, as
/// in the examples of the Nordic profile: consumers compare it with neighbouring times.
fn mark_departure_cancelled(call: &mut SiriCall) {
    let time = call.actual_departure_time.take();
    call.expected_departure_time = call.expected_departure_time.or(time);
    call.departure_status = Some(CallStatus::Cancelled);
    call.departure_boarding_activity = Some(DepartureBoardingActivity::NoBoarding);
}

/// Returns the stop that an update assigns to a call instead of the scheduled one.
fn assigned_stop_id<'a>(planned: &CallToEncode<'a>) -> Option<&'a str> {
    let properties: &StopTimeProperties = planned.update?.stop_time_properties.as_ref()?;
    text_if_nonempty(&properties.assigned_stop_id)
}

/// Returns the platform that an update names for a call.
fn assigned_platform_name<'a>(planned: &CallToEncode<'a>) -> Option<&'a str> {
    let properties: &StopTimeProperties = planned.update?.stop_time_properties.as_ref()?;
    text_if_nonempty(&properties.platform)
}

fn has_large_uncertainty(planned: &CallToEncode<'_>) -> bool {
    let events = planned.update.into_iter().flat_map(|own| [&own.arrival, &own.departure]);
    events.flatten().any(|event| event.uncertainty.is_some_and(|it| it >= INACCURATE_SECONDS))
}

/// Returns the status of a call's time: "no report" without an expected time, and `None` without an aimed time.
fn call_time_status(
    aimed: Option<i64>,
    expected: Option<i64>,
    is_cancelled: bool,
) -> Option<CallStatus> {
    if is_cancelled {
        return Some(CallStatus::Cancelled);
    }
    if expected.is_none() {
        return Some(CallStatus::NoReport);
    }
    Some(match i64::from(delay_seconds_between(expected, aimed)?) {
        ON_TIME_SECONDS.. => CallStatus::Delayed,
        ..=EARLY_SECONDS => CallStatus::Early,
        _ => CallStatus::OnTime,
    })
}

const EARLY_SECONDS: i64 = -ON_TIME_SECONDS;
