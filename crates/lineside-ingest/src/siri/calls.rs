//! The calls of a journey: what the timetable aims at, what an update expects, and what of that is over.

use lineside_formats::{
    gtfs::{StopTime, Timetable},
    gtfs_rt::proto::{
        TripUpdate,
        trip_update::{
            StopTimeEvent, StopTimeUpdate,
            stop_time_update::{
                ScheduleRelationship, StopTimeProperties, stop_time_properties::DropOffPickupType,
            },
        },
    },
    siri::{ArrivalBoardingActivity, Call, CallStatus, DepartureBoardingActivity, StopAssignment},
};
use smol_str::SmolStr;

use super::{INACCURATE_SECONDS, ON_TIME_SECONDS, delay_of, moment, terms, texts};
use crate::normalize::{Run, event_time, given};

/// Arrival and departure, Unix seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) arrival: Option<i64>,
    pub(super) departure: Option<i64>,
}

/// A call before it is told.
#[derive(Clone, Debug)]
pub(super) struct Planned<'a> {
    /// The stop of the plan.
    pub(super) stop_id: Option<&'a str>,
    /// GTFS `stop_sequence`, where it is known.
    pub(super) sequence: Option<u32>,
    pub(super) aimed: Times,
    pub(super) expected: Times,
    is_skipped: bool,
    headsign: Option<&'a str>,
    /// `pickup_type` and `drop_off_type` are "not available".
    no_boarding: bool,
    no_alighting: bool,
    /// What the update says of this very call.
    said: Option<&'a StopTimeUpdate>,
}

impl Planned<'_> {
    /// When the vehicle is through with the call as far as is known.
    fn through(&self) -> Option<i64> {
        self.expected.departure.or(self.expected.arrival)
    }

    fn aimed_through(&self) -> Option<i64> {
        self.aimed.departure.or(self.aimed.arrival)
    }
}

/// The calls of a run that the timetable holds, with what an update says of them. Delays are carried on to the calls
/// after them, never to those before.
pub(super) fn of_run<'a>(run: Run<'a>, update: Option<&'a TripUpdate>) -> Vec<Planned<'a>> {
    let mut said = update.into_iter().flat_map(|update| run.aligned(update)).peekable();
    let mut carried = update
        .filter(|update| update.stop_time_update.is_empty())
        .and_then(|update| update.delay.map(i64::from));
    let n = run.timetable.stop_times(run.trip).len();
    let calls = run.calls().map(|(at, call)| {
        let own = said.next_if(|(number, _)| *number == at).map(|(_, own)| own);
        let aimed = Times { arrival: run.arrival(&call), departure: run.departure(&call) };
        let expected = expected(aimed, own, at + 1 == n, &mut carried);
        planned(run.timetable, &call, aimed, expected, own)
    });
    calls.collect()
}

fn planned<'a>(
    timetable: &'a Timetable,
    call: &StopTime<'a>,
    aimed: Times,
    expected: Times,
    own: Option<&'a StopTimeUpdate>,
) -> Planned<'a> {
    let properties = own.and_then(|own| own.stop_time_properties.as_ref());
    Planned {
        stop_id: Some(timetable.stop(call.stop).id),
        sequence: Some(call.stop_sequence),
        aimed,
        expected,
        is_skipped: own.is_some_and(is_skipped),
        headsign: properties.and_then(|own| given(&own.stop_headsign)).or(call.headsign),
        no_boarding: refuses(properties.and_then(|own| own.pickup_type), call.pickup),
        no_alighting: refuses(properties.and_then(|own| own.drop_off_type), call.drop_off),
        said: own,
    }
}

/// GTFS: `pickup_type` and `drop_off_type` that let nobody in or out.
const NOT_AVAILABLE: u8 = 1;

fn refuses(said: Option<i32>, planned: u8) -> bool {
    match said {
        Some(said) => said == DropOffPickupType::None as i32,
        None => planned == NOT_AVAILABLE,
    }
}

/// What is expected of a call, and the delay that is carried on from it.
fn expected(
    aimed: Times,
    own: Option<&StopTimeUpdate>,
    is_last: bool,
    carried: &mut Option<i64>,
) -> Times {
    let late = |aimed: Option<i64>, delay: Option<i64>| Some(aimed?.saturating_add(delay?));
    let Some(own) = own else {
        let (arrival, departure) = (late(aimed.arrival, *carried), late(aimed.departure, *carried));
        return Times { arrival, departure };
    };
    match own.schedule_relationship() {
        // A stop that is left out says nothing about the stops after it.
        ScheduleRelationship::Skipped => return Times::default(),
        ScheduleRelationship::NoData => {
            *carried = None;
            return Times::default();
        }
        _ => {}
    }
    let time = |event: &Option<StopTimeEvent>, aimed| {
        event.as_ref().and_then(|event| event_time(event, aimed))
    };
    let said = Times {
        arrival: time(&own.arrival, aimed.arrival),
        departure: time(&own.departure, aimed.departure),
    };
    let delays = Times {
        arrival: delay_of(said.arrival, aimed.arrival).map(i64::from),
        departure: delay_of(said.departure, aimed.departure).map(i64::from),
    };
    // Where a journey ends some producers give a departure only.
    let at_end = if is_last { delays.departure } else { None };
    let before = *carried;
    *carried = delays.departure.or(delays.arrival).or(before);
    Times {
        arrival: said.arrival.or_else(|| late(aimed.arrival, at_end.or(before))),
        departure: said.departure.or_else(|| late(aimed.departure, *carried)),
    }
}

fn is_skipped(own: &StopTimeUpdate) -> bool {
    own.schedule_relationship() == ScheduleRelationship::Skipped
}

/// The calls of a journey that only its update knows.
pub(super) fn of_update(update: &TripUpdate) -> Vec<Planned<'_>> {
    let calls = update.stop_time_update.iter().map(|own| {
        let aimed = |event: &Option<StopTimeEvent>| {
            let event = event.as_ref()?;
            let by_delay = || Some(event.time?.saturating_sub(i64::from(event.delay?)));
            event.scheduled_time.or_else(by_delay)
        };
        let aimed = Times { arrival: aimed(&own.arrival), departure: aimed(&own.departure) };
        let is_known = !is_skipped(own);
        let expected = |event: &Option<StopTimeEvent>, aimed| {
            event.as_ref().filter(|_| is_known).and_then(|event| event_time(event, aimed))
        };
        let properties = own.stop_time_properties.as_ref();
        Planned {
            stop_id: given(&own.stop_id),
            sequence: own.stop_sequence,
            aimed,
            expected: Times {
                arrival: expected(&own.arrival, aimed.arrival),
                departure: expected(&own.departure, aimed.departure),
            },
            is_skipped: is_skipped(own),
            headsign: properties.and_then(|own| given(&own.stop_headsign)),
            no_boarding: refuses(properties.and_then(|own| own.pickup_type), 0),
            no_alighting: refuses(properties.and_then(|own| own.drop_off_type), 0),
            said: Some(own),
        }
    });
    calls.collect()
}

/// How many of the calls are over at a moment: all up to the last one of which that is known. What lies before the
/// first prediction is over if its time by the timetable is, because producers leave out what is.
pub(super) fn n_over(calls: &[Planned<'_>], at: i64) -> usize {
    let is_before = |time: Option<i64>| time.is_some_and(|time| time < at);
    let known = calls.iter().rposition(|call| is_before(call.through()));
    let known = known.map_or(0, |last| last + 1);
    let first = calls.iter().position(|call| call.through().is_some()).unwrap_or(0);
    let unsaid = calls[..first].iter().take_while(|call| is_before(call.aimed_through())).count();
    known.max(unsaid)
}

/// How the calls of one journey are told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Telling<'a> {
    pub(super) timetable: Option<&'a Timetable>,
    /// The data's own time, Unix seconds.
    pub(super) at: i64,
    /// Whether the journey does not run.
    pub(super) is_off: bool,
    /// Where the journey is headed, where its calls do not say otherwise.
    pub(super) headsign: Option<&'a str>,
}

impl Telling<'_> {
    /// Call number `index`, as one that is over or to come.
    pub(super) fn call(&self, calls: &[Planned<'_>], index: usize, is_over: bool) -> Call {
        let planned = &calls[index];
        let (is_first, is_last) = (index == 0, index + 1 == calls.len());
        let visits = calls[..=index].iter().filter(|call| call.stop_id == planned.stop_id).count();
        let number = |n: usize| u32::try_from(n).ok();
        let assigned = assigned(planned).filter(|assigned| Some(*assigned) != planned.stop_id);
        let stop_id = assigned.or(planned.stop_id);
        let stop = stop_id.and_then(|id| {
            let timetable = self.timetable?;
            Some(timetable.stop(timetable.find_stop(id)?))
        });
        let is_off = self.is_off || planned.is_skipped;
        let mut call = Call {
            stop_point_ref: stop_id.map(SmolStr::new),
            visit_number: number(visits),
            order: number(index + 1),
            stop_point_names: texts(stop.map(|stop| stop.name)),
            cancellation: is_off.then_some(true),
            prediction_inaccurate: is_inaccurate(planned).then_some(true),
            occupancy: planned
                .said
                .and_then(|own| own.departure_occupancy_status.map(|_| own))
                .and_then(|own| terms::occupancy(own.departure_occupancy_status())),
            destination_displays: texts(planned.headsign.or(self.headsign)),
            ..Call::default()
        };
        let platform = texts(platform(planned).or(stop.and_then(|stop| stop.platform_code)));
        let assignment = assigned.map(|assigned| StopAssignment {
            aimed_quay_ref: planned.stop_id.map(SmolStr::new),
            expected_quay_ref: Some(SmolStr::new(assigned)),
            ..StopAssignment::default()
        });
        if !is_first {
            self.put_arrival(&mut call, planned, is_off, is_over);
            call.arrival_platform_names.clone_from(&platform);
            call.arrival_stop_assignments = assignment.iter().cloned().collect();
        }
        if !is_last {
            self.put_departure(&mut call, planned, is_off, is_over);
            // The schema has it elsewhere in calls that are over, of which nobody needs it.
            if !is_over {
                call.departure_platform_names = platform;
            }
            call.departure_stop_assignments = assignment.into_iter().collect();
        }
        call
    }

    fn put_arrival(&self, call: &mut Call, planned: &Planned<'_>, is_off: bool, is_over: bool) {
        let (aimed, expected) = (planned.aimed.arrival, planned.expected.arrival);
        let expected = expected.filter(|_| !is_off);
        call.aimed_arrival_time = aimed.and_then(moment);
        let place = match is_over {
            true => &mut call.actual_arrival_time,
            false => &mut call.expected_arrival_time,
        };
        *place = expected.and_then(moment);
        let is_there = is_over || expected.is_some_and(|expected| expected < self.at);
        call.arrival_status = match status(aimed, expected, is_off) {
            status @ Some(CallStatus::Cancelled | CallStatus::NoReport) => status,
            _ if is_there => Some(CallStatus::Arrived),
            status => status,
        };
        let closed = planned.no_alighting && !is_off;
        call.arrival_boarding_activity = closed.then_some(ArrivalBoardingActivity::NoAlighting);
    }

    fn put_departure(&self, call: &mut Call, planned: &Planned<'_>, is_off: bool, is_over: bool) {
        let (aimed, expected) = (planned.aimed.departure, planned.expected.departure);
        let expected = expected.filter(|_| !is_off);
        call.aimed_departure_time = aimed.and_then(moment);
        let place = match is_over {
            true => &mut call.actual_departure_time,
            false => &mut call.expected_departure_time,
        };
        *place = expected.and_then(moment);
        call.departure_status = match status(aimed, expected, is_off) {
            status @ Some(CallStatus::Cancelled | CallStatus::NoReport) => status,
            _ if is_over => Some(CallStatus::Departed),
            status => status,
        };
        let closed = planned.no_boarding && !is_off;
        call.departure_boarding_activity = closed.then_some(DepartureBoardingActivity::NoBoarding);
    }
}

/// The stop that an update assigns to a call instead of the planned one.
fn assigned<'a>(planned: &Planned<'a>) -> Option<&'a str> {
    let properties: &StopTimeProperties = planned.said?.stop_time_properties.as_ref()?;
    given(&properties.assigned_stop_id)
}

/// The platform that an update names.
fn platform<'a>(planned: &Planned<'a>) -> Option<&'a str> {
    given(&planned.said?.stop_time_properties.as_ref()?.platform)
}

fn is_inaccurate(planned: &Planned<'_>) -> bool {
    let events = planned.said.into_iter().flat_map(|own| [&own.arrival, &own.departure]);
    events.flatten().any(|event| event.uncertainty.is_some_and(|it| it >= INACCURATE_SECONDS))
}

/// How a time stands: nothing is reported where none is expected, and nothing compared where none is planned.
fn status(aimed: Option<i64>, expected: Option<i64>, is_off: bool) -> Option<CallStatus> {
    if is_off {
        return Some(CallStatus::Cancelled);
    }
    if expected.is_none() {
        return Some(CallStatus::NoReport);
    }
    Some(match i64::from(delay_of(expected, aimed)?) {
        ON_TIME_SECONDS.. => CallStatus::Delayed,
        ..=EARLY_SECONDS => CallStatus::Early,
        _ => CallStatus::OnTime,
    })
}

const EARLY_SECONDS: i64 = -ON_TIME_SECONDS;
