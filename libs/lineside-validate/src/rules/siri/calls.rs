//! Checks of the calls of a journey, in order.

use lineside_formats::siri::{SiriCall, SiriTime, VehicleJourney};

use super::{
    delivery_check::{SiriDeliveryCheck, format_millis_as_utc},
    kinds,
};
use crate::notice::{NoticeKind, NoticeSample};

/// The milliseconds by which an expected or actual time may be earlier than the one before: producers round each time
/// on its own.
const ROUNDED_MS: i64 = 60_000;

/// A call with its position in the journey.
struct CallPosition<'a> {
    id: Option<&'a str>,
    at: usize,
    call: &'a SiriCall,
}

impl CallPosition<'_> {
    fn report_call_notice(
        &self,
        check: &mut SiriDeliveryCheck<'_>,
        kind: &'static NoticeKind,
        fill: impl FnOnce(&mut NoticeSample),
    ) {
        check.report_record_notice(kind, self.id, |sample| {
            sample
                .set_field("call", self.at + 1)
                .set_field("stopPointRef", self.call.stop_point_ref.as_deref());
            fill(sample);
        });
    }
}

/// The order and times of the previous call.
#[derive(Default)]
struct PreviousCall {
    order: Option<u32>,
    aimed: Option<i64>,
    expected: Option<i64>,
}

pub(super) fn check_journey_calls(
    check: &mut SiriDeliveryCheck<'_>,
    journey: &VehicleJourney,
    id: Option<&str>,
) {
    let is_estimated = check.delivery == super::ESTIMATED;
    let calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let monitored = journey.previous_calls.iter().chain(journey.monitored_call.as_deref());
    let all = calls.chain(monitored.chain(&journey.onward_calls));
    let mut previous = PreviousCall::default();
    for (at, call) in all.enumerate() {
        let place = CallPosition { id, at, call };
        let has_stop =
            call.stop_point_ref.is_some() || call.unread.has_unreadable_element("StopPointRef");
        if is_estimated && !has_stop {
            check.report_record_notice(&kinds::MISSING, id, |sample| {
                sample.set_field("element", "StopPointRef").set_field("call", at + 1);
            });
        }
        check_call_order(check, &place, &mut previous);
        let is_cancelled = call.cancellation == Some(true) || journey.cancellation == Some(true);
        if is_cancelled {
            // The times do not matter: no vehicle calls here.
            if call.actual_departure_time.is_some() || call.actual_arrival_time.is_some() {
                place.report_call_notice(check, &kinds::CANCELLED_BUT_SEEN, |_| {});
            }
            continue;
        }
        if is_estimated && !journey.unread.has_unreadable_element("Cancellation") {
            let is_extra = journey.extra_journey == Some(true);
            check_call_has_times(
                check,
                &place,
                is_extra || journey.unread.has_unreadable_element("ExtraJourney"),
            );
        }
        check_departure_after_arrival(check, &place);
        check_times_after_previous(check, &place, &mut previous);
    }
}

fn check_call_order(
    check: &mut SiriDeliveryCheck<'_>,
    place: &CallPosition<'_>,
    previous: &mut PreviousCall,
) {
    let Some(order) = place.call.order else { return };
    if let Some(earlier) = previous.order
        && order <= earlier
    {
        place.report_call_notice(check, &kinds::ORDER, |sample| {
            sample.set_field("order", order).set_field("orderBefore", earlier);
        });
    }
    previous.order = Some(order);
}

/// Checks that a call has times. Aimed times come from the timetable, which has neither extra journeys nor extra calls.
fn check_call_has_times(
    check: &mut SiriDeliveryCheck<'_>,
    place: &CallPosition<'_>,
    is_extra: bool,
) {
    let call = place.call;
    // An unreadable element may be anything, so it is not reported.
    let unread = |element: &str| call.unread.has_unreadable_element(element);
    if unread("Cancellation") {
        return;
    }
    let is_aimed = call.aimed_arrival_time.or(call.aimed_departure_time).is_some()
        || unread("AimedArrivalTime")
        || unread("AimedDepartureTime");
    let is_expected = [
        (call.expected_arrival_time, "ExpectedArrivalTime"),
        (call.expected_departure_time, "ExpectedDepartureTime"),
        (call.actual_arrival_time, "ActualArrivalTime"),
        (call.actual_departure_time, "ActualDepartureTime"),
    ]
    .iter()
    .any(|(time, element)| time.is_some() || unread(element));
    let is_extra = is_extra || unread("ExtraCall");
    if !is_aimed && !is_expected {
        place.report_call_notice(check, &kinds::NO_TIMES, |_| {});
    } else if !is_aimed && !is_extra && call.extra_call != Some(true) {
        place.report_call_notice(check, &kinds::NOT_AIMED, |_| {});
    }
}

/// Checks that the departure does not precede the arrival.
fn check_departure_after_arrival(check: &mut SiriDeliveryCheck<'_>, place: &CallPosition<'_>) {
    let call = place.call;
    for (element, arrival, departure, slack) in [
        ("AimedDepartureTime", call.aimed_arrival_time, call.aimed_departure_time, 0),
        (
            "ExpectedDepartureTime",
            call.expected_arrival_time,
            call.expected_departure_time,
            ROUNDED_MS,
        ),
        ("ActualDepartureTime", call.actual_arrival_time, call.actual_departure_time, ROUNDED_MS),
    ] {
        if let (Some(arrival), Some(departure)) = (arrival, departure)
            && departure.as_millis().saturating_add(slack) < arrival.as_millis()
        {
            place.report_call_notice(check, &kinds::BEFORE_ARRIVAL, |sample| {
                sample
                    .set_field("element", element)
                    .set_field("time", format_millis_as_utc(departure.as_millis()));
                sample.set_field("before", format_millis_as_utc(arrival.as_millis()));
            });
        }
    }
}

/// Checks that a call does not precede the one before it.
fn check_times_after_previous(
    check: &mut SiriDeliveryCheck<'_>,
    place: &CallPosition<'_>,
    previous: &mut PreviousCall,
) {
    let call = place.call;
    let aimed = [call.aimed_arrival_time, call.aimed_departure_time];
    let arrival = call.actual_arrival_time.or(call.expected_arrival_time);
    let departure = call.actual_departure_time.or(call.expected_departure_time);
    let ways = [
        (aimed, &mut previous.aimed, 0, &kinds::AIMED_BACKWARDS),
        ([arrival, departure], &mut previous.expected, ROUNDED_MS, &kinds::EXPECTED_BACKWARDS),
    ];
    for (times, earlier, slack, kind) in ways {
        let millis = |time: Option<SiriTime>| time.map(SiriTime::as_millis);
        let (first, last) =
            (millis(times[0]).or(millis(times[1])), millis(times[1]).or(millis(times[0])));
        if let (Some(first), Some(earlier)) = (first, *earlier)
            && first.saturating_add(slack) < earlier
        {
            place.report_call_notice(check, kind, |sample| {
                sample
                    .set_field("time", format_millis_as_utc(first))
                    .set_field("before", format_millis_as_utc(earlier));
            });
        }
        *earlier = last.or(*earlier);
    }
}
