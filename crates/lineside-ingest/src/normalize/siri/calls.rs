//! Mapping of SIRI calls to stop time updates.

use lineside_formats::{
    gtfs_rt::proto::trip_update::{
        StopTimeEvent, StopTimeUpdate,
        stop_time_update::{
            ScheduleRelationship, StopTimeProperties, stop_time_properties::DropOffPickupType,
        },
    },
    siri::{
        ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, SiriCall, SiriTime,
        StopAssignment,
    },
};
use smol_str::SmolStr;

use super::{IdKind, SiriIdMapping, first_nonempty_text, terms, to_unix_seconds};
use crate::trip_forecast::saturate_to_i32;

/// The rules for mapping a journey's calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallMapper<'a> {
    pub(super) ids: &'a SiriIdMapping,
    /// True if the schedule does not contain the calls, so that their aimed times are all that is known.
    pub(super) is_unscheduled: bool,
    /// True if the journey does not run, whatever its calls say.
    pub(super) is_cancelled: bool,
}

impl CallMapper<'_> {
    /// Maps a call to a stop time update; `None` without a stop.
    pub(super) fn map_to_stop_time_update(
        self,
        call: &SiriCall,
        is_past: bool,
    ) -> Option<StopTimeUpdate> {
        let quays = CallQuays::from_call(call);
        let stop = quays.planned.or(call.stop_point_ref.as_ref())?;
        let stop_id = self.ids.map_to_schedule_id(IdKind::Stop, stop);
        let expected = quays.expected.or(call.stop_point_ref.as_ref());
        let assigned = expected.map(|quay| self.ids.map_to_schedule_id(IdKind::Stop, quay));
        let assigned = assigned.filter(|assigned| *assigned != stop_id);
        let mut update = StopTimeUpdate {
            stop_id: Some(stop_id.into()),
            stop_time_properties: stop_time_properties(call, assigned),
            departure_occupancy_status: call_occupancy(call),
            ..StopTimeUpdate::default()
        };
        if self.is_cancelled || is_call_skipped(call) {
            update.schedule_relationship = Some(ScheduleRelationship::Skipped as i32);
            // A board that lists cancelled trips needs their scheduled times.
            if self.is_unscheduled {
                update.arrival = event_at_aimed_time(call.aimed_arrival_time);
                update.departure = event_at_aimed_time(call.aimed_departure_time);
            }
            return Some(update);
        }
        update.arrival = self.map_arrival(call, is_past);
        update.departure = self.map_departure(call, is_past);
        if update.arrival.is_none() && update.departure.is_none() {
            update.schedule_relationship = Some(ScheduleRelationship::NoData as i32);
        }
        Some(update)
    }

    fn map_arrival(self, call: &SiriCall, is_past: bool) -> Option<StopTimeEvent> {
        let is_as_planned = matches!(
            call.arrival_status,
            Some(CallStatus::OnTime | CallStatus::Arrived) if !is_past || call.actual_arrival_time.is_some()
        );
        let times = CallEventTimes {
            aimed: call.aimed_arrival_time,
            expected: call.expected_arrival_time.or(call.latest_expected_arrival_time),
            actual: call.actual_arrival_time,
            is_as_planned,
        };
        self.map_event(times, call.arrival_status)
    }

    fn map_departure(self, call: &SiriCall, is_past: bool) -> Option<StopTimeEvent> {
        let is_as_planned = call.departure_status == Some(CallStatus::OnTime) && !is_past;
        let expected = call.expected_departure_time;
        let times = CallEventTimes {
            aimed: call.aimed_departure_time,
            expected: expected.or(call.provisional_expected_departure_time),
            actual: call.actual_departure_time,
            is_as_planned,
        };
        self.map_event(times, call.departure_status)
    }

    fn map_event(self, times: CallEventTimes, status: Option<CallStatus>) -> Option<StopTimeEvent> {
        if status == Some(CallStatus::NoReport) && times.actual.is_none() && !self.is_unscheduled {
            return None;
        }
        let aimed = to_unix_seconds(times.aimed);
        let planned = aimed.filter(|_| times.is_as_planned || self.is_unscheduled);
        let time = to_unix_seconds(times.actual).or(to_unix_seconds(times.expected)).or(planned)?;
        Some(StopTimeEvent {
            time: Some(time),
            delay: aimed.map(|aimed| saturate_to_i32(time.saturating_sub(aimed))),
            scheduled_time: aimed,
            // A past event is certain.
            uncertainty: times.actual.map(|_| 0),
        })
    }
}

/// The times of an arrival or a departure.
#[derive(Clone, Copy, Debug)]
struct CallEventTimes {
    aimed: Option<SiriTime>,
    expected: Option<SiriTime>,
    actual: Option<SiriTime>,
    /// True if the status says that the aimed time holds.
    is_as_planned: bool,
}

fn event_at_aimed_time(aimed: Option<SiriTime>) -> Option<StopTimeEvent> {
    let time = to_unix_seconds(aimed)?;
    Some(StopTimeEvent { time: Some(time), scheduled_time: Some(time), ..StopTimeEvent::default() })
}

/// The quays of a call, if aimed and expected quay are given.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallQuays<'a> {
    pub(super) planned: Option<&'a SmolStr>,
    pub(super) expected: Option<&'a SmolStr>,
}

impl<'a> CallQuays<'a> {
    pub(super) fn from_call(call: &'a SiriCall) -> CallQuays<'a> {
        let assignments =
            || call.departure_stop_assignments.iter().chain(&call.arrival_stop_assignments);
        let planned = assignments().find_map(|it| it.aimed_quay_ref.as_ref());
        let seen = |it: &'a StopAssignment| it.actual_quay_ref.as_ref();
        let expected = assignments().find_map(seen);
        let expected = expected.or(assignments().find_map(|it| it.expected_quay_ref.as_ref()));
        CallQuays { planned, expected }
    }
}

fn stop_time_properties(call: &SiriCall, assigned: Option<SmolStr>) -> Option<StopTimeProperties> {
    let platform = first_nonempty_text(&call.departure_platform_names)
        .or(first_nonempty_text(&call.arrival_platform_names));
    // A skipped call needs no further properties.
    let is_served = !is_call_skipped(call);
    let none = |is_none: bool| (is_none && is_served).then_some(DropOffPickupType::None as i32);
    let properties = StopTimeProperties {
        assigned_stop_id: assigned.map(Into::into),
        stop_headsign: first_nonempty_text(&call.destination_displays).map(str::to_owned),
        pickup_type: none(
            call.departure_boarding_activity == Some(DepartureBoardingActivity::NoBoarding),
        ),
        drop_off_type: none(
            call.arrival_boarding_activity == Some(ArrivalBoardingActivity::NoAlighting),
        ),
        platform: platform.map(str::to_owned),
    };
    (properties != StopTimeProperties::default()).then_some(properties)
}

fn call_occupancy(call: &SiriCall) -> Option<i32> {
    let forecast = || call.expected_departure_occupancies.iter().find_map(|it| it.occupancy_level);
    let occupancy = call.occupancy.or_else(forecast).and_then(terms::map_occupancy);
    occupancy.map(|occupancy| occupancy as i32)
}

/// Returns true if passengers can neither board nor alight: the call is cancelled, or the vehicle passes without
/// stopping.
pub(super) fn is_call_skipped(call: &SiriCall) -> bool {
    let cancelled = Some(CallStatus::Cancelled);
    let arrives = call.aimed_arrival_time.is_some() || call.arrival_status.is_some();
    let departs = call.aimed_departure_time.is_some() || call.departure_status.is_some();
    let is_passed = call.arrival_boarding_activity == Some(ArrivalBoardingActivity::PassThru)
        || call.departure_boarding_activity == Some(DepartureBoardingActivity::PassThru);
    // If only one half is cancelled, boarding or alighting is still possible.
    let is_out = (call.arrival_status == cancelled || !arrives)
        && (call.departure_status == cancelled || !departs)
        && (arrives || departs);
    call.cancellation == Some(true) || is_out || is_passed
}

/// Returns the latest time of a call, in Unix seconds.
pub(super) fn latest_time_of_call(call: &SiriCall) -> Option<i64> {
    let times = [
        call.aimed_arrival_time,
        call.expected_arrival_time,
        call.actual_arrival_time,
        call.aimed_departure_time,
        call.expected_departure_time,
        call.actual_departure_time,
    ];
    times.into_iter().filter_map(to_unix_seconds).max()
}
