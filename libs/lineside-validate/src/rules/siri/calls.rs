//! The calls of a journey, in their order.

use lineside_formats::siri::{Call, Time, VehicleJourney};

use super::{
    kinds,
    look::{Look, text},
};
use crate::notice::{Kind, Sample};

/// How much earlier an expected or actual time may be than the one before, in milliseconds: they are rounded, each in its own way.
const ROUNDED_MS: i64 = 60_000;

/// A call, and which of its journey it is.
struct Place<'a> {
    id: Option<&'a str>,
    at: usize,
    call: &'a Call,
}

impl Place<'_> {
    fn say(&self, look: &mut Look<'_>, kind: &'static Kind, fill: impl FnOnce(&mut Sample)) {
        look.say(kind, self.id, |sample| {
            sample
                .put("call", self.at + 1)
                .put("stopPointRef", self.call.stop_point_ref.as_deref());
            fill(sample);
        });
    }
}

/// What the call before left behind.
#[derive(Default)]
struct Before {
    order: Option<u32>,
    aimed: Option<i64>,
    expected: Option<i64>,
}

/// Looks at all calls of a journey.
pub(super) fn look(look: &mut Look<'_>, journey: &VehicleJourney, id: Option<&str>) {
    let is_estimated = look.delivery == super::ESTIMATED;
    let calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let monitored = journey.previous_calls.iter().chain(journey.monitored_call.as_deref());
    let all = calls.chain(monitored.chain(&journey.onward_calls));
    let mut before = Before::default();
    for (at, call) in all.enumerate() {
        let place = Place { id, at, call };
        let has_stop = call.stop_point_ref.is_some() || call.unread.has("StopPointRef");
        if is_estimated && !has_stop {
            look.say(&kinds::MISSING, id, |sample| {
                sample.put("element", "StopPointRef").put("call", at + 1);
            });
        }
        order(look, &place, &mut before);
        let is_cancelled = call.cancellation == Some(true) || journey.cancellation == Some(true);
        if is_cancelled {
            // Whatever is said of its times, nothing comes.
            if call.actual_departure_time.is_some() || call.actual_arrival_time.is_some() {
                place.say(look, &kinds::CANCELLED_BUT_SEEN, |_| {});
            }
            continue;
        }
        if is_estimated && !journey.unread.has("Cancellation") {
            let is_extra = journey.extra_journey == Some(true);
            are_there(look, &place, is_extra || journey.unread.has("ExtraJourney"));
        }
        within(look, &place);
        along(look, &place, &mut before);
    }
}

fn order(look: &mut Look<'_>, place: &Place<'_>, before: &mut Before) {
    let Some(order) = place.call.order else { return };
    if let Some(earlier) = before.order
        && order <= earlier
    {
        place.say(look, &kinds::ORDER, |sample| {
            sample.put("order", order).put("orderBefore", earlier);
        });
    }
    before.order = Some(order);
}

/// Times are told; aimed ones by the timetable, which has neither extra journeys nor extra calls.
fn are_there(look: &mut Look<'_>, place: &Place<'_>, is_extra: bool) {
    let call = place.call;
    // Nobody knows what cannot be read.
    let unread = |element: &str| call.unread.has(element);
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
        place.say(look, &kinds::NO_TIMES, |_| {});
    } else if !is_aimed && !is_extra && call.extra_call != Some(true) {
        place.say(look, &kinds::NOT_AIMED, |_| {});
    }
}

/// Arrival comes before departure.
fn within(look: &mut Look<'_>, place: &Place<'_>) {
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
            place.say(look, &kinds::BEFORE_ARRIVAL, |sample| {
                sample.put("element", element).put("time", text(departure.as_millis()));
                sample.put("before", text(arrival.as_millis()));
            });
        }
    }
}

/// A call comes after the one before it.
fn along(look: &mut Look<'_>, place: &Place<'_>, before: &mut Before) {
    let call = place.call;
    let aimed = [call.aimed_arrival_time, call.aimed_departure_time];
    let arrival = call.actual_arrival_time.or(call.expected_arrival_time);
    let departure = call.actual_departure_time.or(call.expected_departure_time);
    let ways = [
        (aimed, &mut before.aimed, 0, &kinds::AIMED_BACKWARDS),
        ([arrival, departure], &mut before.expected, ROUNDED_MS, &kinds::EXPECTED_BACKWARDS),
    ];
    for (times, earlier, slack, kind) in ways {
        let millis = |time: Option<Time>| time.map(Time::as_millis);
        let (first, last) =
            (millis(times[0]).or(millis(times[1])), millis(times[1]).or(millis(times[0])));
        if let (Some(first), Some(earlier)) = (first, *earlier)
            && first.saturating_add(slack) < earlier
        {
            place.say(look, kind, |sample| {
                sample.put("time", text(first)).put("before", text(earlier));
            });
        }
        *earlier = last.or(*earlier);
    }
}
