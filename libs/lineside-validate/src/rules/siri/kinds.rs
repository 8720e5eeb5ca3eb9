//! The kinds of notices about a message, with one page each.

use super::super::NoticeFieldDescription;

const DELIVERY: NoticeFieldDescription = ("delivery", "The service of the delivery.");
const ID: NoticeFieldDescription =
    ("id", "The producer's id of the journey, vehicle, visit or situation.");
const ELEMENT: NoticeFieldDescription = ("element", "The element.");
const STOP: NoticeFieldDescription = ("stopPointRef", "The stop of the call.");
const CALL: NoticeFieldDescription = ("call", "The position of the call in the journey, from 1.");
const TIME: NoticeFieldDescription = ("time", "The time, as RFC 3339.");
const BEFORE: NoticeFieldDescription = ("before", "The compared time, as RFC 3339.");
const LONGITUDE: NoticeFieldDescription = ("longitude", "The longitude, in degrees.");
const LATITUDE: NoticeFieldDescription = ("latitude", "The latitude, in degrees.");

kinds! {
    NO_DELIVERY "no_delivery" Warning [("payload", "The type of the message.")];
    REFUSED "refused_by_producer" Error [("reason", "The producer's text.")];
    FAILED "delivery_failed" Warning [DELIVERY, ("reason", "The producer's text.")];
    MISSING "missing_element" Error [DELIVERY, ID, ELEMENT, CALL];
    IN_FUTURE "time_in_future" Warning [DELIVERY, ID, ELEMENT, TIME, BEFORE];
    EXPIRED "expired_on_arrival" Warning [DELIVERY, ID, ELEMENT, TIME, BEFORE];
    DUPLICATE_JOURNEY "duplicate_journey" Error [DELIVERY, ID];
    DUPLICATE_VEHICLE "duplicate_vehicle" Warning [DELIVERY, ID];
    DUPLICATE_SITUATION "duplicate_situation" Error [DELIVERY, ID];

    NO_CALLS "journey_without_calls" Warning [DELIVERY, ID];
    NO_DATA "extra_journey_without_calls" Error [DELIVERY, ID];
    ORDER "call_order_not_rising" Error [
        DELIVERY, ID, CALL, STOP, ("order", "The order of the call."),
        ("orderBefore", "The order of the previous call.")
    ];
    NO_TIMES "call_without_times" Warning [DELIVERY, ID, CALL, STOP];
    NOT_AIMED "call_without_aimed_time" Warning [DELIVERY, ID, CALL, STOP];
    BEFORE_ARRIVAL "departure_before_arrival" Error [DELIVERY, ID, CALL, STOP, ELEMENT, TIME, BEFORE];
    AIMED_BACKWARDS "aimed_times_run_backwards" Error [DELIVERY, ID, CALL, STOP, TIME, BEFORE];
    EXPECTED_BACKWARDS "expected_times_run_backwards" Warning [DELIVERY, ID, CALL, STOP, TIME, BEFORE];
    CANCELLED_BUT_SEEN "cancelled_journey_with_actual_times" Warning [DELIVERY, ID, CALL, STOP];

    NO_LOCATION "vehicle_without_location" Warning [DELIVERY, ID];
    NO_VEHICLE "vehicle_without_ref" Warning [DELIVERY, ID];
    OUT_OF_RANGE "location_out_of_range" Error [DELIVERY, ID, LONGITUDE, LATITUDE];
    NEAR_ORIGIN "location_near_origin" Error [DELIVERY, ID, LONGITUDE, LATITUDE];
    BEARING "bearing_out_of_range" Warning [DELIVERY, ID, ("bearing", "The bearing, in degrees.")];

    PERIOD "period_out_of_order" Error [DELIVERY, ID, ELEMENT, TIME, BEFORE];
    NO_TEXT "situation_without_text" Warning [DELIVERY, ID];
    NOTHING_AFFECTED "situation_affects_nothing" Warning [DELIVERY, ID];
    NEVER_ENDS "closed_situation_without_end" Warning [DELIVERY, ID];
}
