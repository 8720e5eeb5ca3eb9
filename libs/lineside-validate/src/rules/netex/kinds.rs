//! The kinds of notices about a publication, with one page each.

use super::super::NoticeFieldDescription;

const FILE: NoticeFieldDescription = ("filename", "The file.");
const ELEMENT: NoticeFieldDescription = ("element", "The kind of object.");
const ID: NoticeFieldDescription = ("id", "The id of the object.");
const CHILD: NoticeFieldDescription = ("missing", "The missing part.");
const CALL: NoticeFieldDescription = ("call", "The position of the call in the journey, from 1.");
const FROM: NoticeFieldDescription = ("from", "The first day.");
const TO: NoticeFieldDescription = ("to", "The last day.");
const LONGITUDE: NoticeFieldDescription = ("longitude", "The longitude, in degrees.");
const LATITUDE: NoticeFieldDescription = ("latitude", "The latitude, in degrees.");

kinds! {
    MISSING "missing_element" Error [FILE, ELEMENT, ID, CHILD];
    NOT_ADVISED "missing_recommended_element" Warning [FILE, ELEMENT, ID, CHILD];
    DUPLICATE "duplicate_id" Error [FILE, ELEMENT, ID, ("version", "The version of the object.")];
    UNRESOLVED "unresolved_reference" Error [
        FILE, ELEMENT, ("reference", "The id that does not exist."),
        ("count", "The number of references to it.")
    ];
    UNLIKE_PATTERN "passing_times_unlike_pattern" Error [
        FILE, ID, ("passingTimes", "The passing times of the journey."),
        ("pattern", "The pattern of the journey."), ("points", "The stop points of the pattern.")
    ];
    NO_TIME "passing_time_without_time" Error [FILE, ID, CALL];
    BEFORE_ARRIVAL "departure_before_arrival" Error [
        FILE, ID, CALL, ("arrival", "The time of arrival."), ("departure", "The time of departure.")
    ];
    BACKWARDS "passing_times_run_backwards" Error [
        FILE, ID, CALL, ("time", "The time of the call."), ("before", "The time of the previous call.")
    ];
    NO_OFFSET "missing_day_offset" Warning [
        FILE, ID, CALL, ("time", "The time of the call."), ("before", "The time of the previous call.")
    ];
    PERIOD "period_out_of_order" Error [FILE, ELEMENT, ID, FROM, TO];
    EXPIRED "publication_is_over" Warning [TO];
    UNASSIGNED "stop_point_without_assignment" Warning [
        ("reference", "The scheduled stop point."), ("count", "The number of references in patterns.")
    ];
    OUT_OF_RANGE "location_out_of_range" Error [FILE, ELEMENT, ID, LONGITUDE, LATITUDE];
    NEAR_ORIGIN "location_near_origin" Error [FILE, ELEMENT, ID, LONGITUDE, LATITUDE];
}
