//! The tables that make up the timetable.

use super::{FileSpec, Kind, Presence, Sign, field, file};

const REQUIRED: Presence = Presence::Required;
const CONDITIONAL: Presence = Presence::Conditional;
const OPTIONAL: Presence = Presence::Optional;

pub(super) static AGENCY: FileSpec = file(
    "agency.txt",
    REQUIRED,
    &["agency_id"],
    &[
        field("agency_id", Kind::Id, CONDITIONAL),
        field("agency_name", Kind::Text, REQUIRED).mixed_case(),
        field("agency_url", Kind::Url, REQUIRED),
        field("agency_timezone", Kind::Timezone, REQUIRED),
        field("agency_lang", Kind::Language, OPTIONAL),
        field("agency_phone", Kind::Phone, OPTIONAL),
        field("agency_fare_url", Kind::Url, OPTIONAL),
        field("agency_email", Kind::Email, OPTIONAL),
        field("cemv_support", Kind::Enum(&[0, 1, 2]), OPTIONAL),
    ],
);

pub(super) static STOPS: FileSpec = file(
    "stops.txt",
    CONDITIONAL,
    &["stop_id"],
    &[
        field("stop_id", Kind::Id, REQUIRED),
        field("stop_code", Kind::Text, OPTIONAL),
        field("stop_name", Kind::Text, CONDITIONAL).mixed_case(),
        field("tts_stop_name", Kind::Text, OPTIONAL),
        field("stop_desc", Kind::Text, OPTIONAL),
        field("stop_lat", Kind::Latitude, CONDITIONAL),
        field("stop_lon", Kind::Longitude, CONDITIONAL),
        field("zone_id", Kind::Id, OPTIONAL),
        field("stop_url", Kind::Url, OPTIONAL),
        field("location_type", Kind::Enum(&[0, 1, 2, 3, 4]), OPTIONAL),
        field("parent_station", Kind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field("stop_timezone", Kind::Timezone, OPTIONAL),
        field("wheelchair_boarding", Kind::Enum(&[0, 1, 2]), OPTIONAL),
        field("level_id", Kind::Ref(&["levels.level_id"]), OPTIONAL),
        field("platform_code", Kind::Text, OPTIONAL),
        field("stop_access", Kind::Enum(&[0, 1]), CONDITIONAL),
    ],
);

pub(super) static ROUTES: FileSpec = file(
    "routes.txt",
    REQUIRED,
    &["route_id"],
    &[
        field("route_id", Kind::Id, REQUIRED),
        field("agency_id", Kind::Ref(&["agency.agency_id"]), CONDITIONAL),
        field("route_short_name", Kind::Text, CONDITIONAL).mixed_case(),
        field("route_long_name", Kind::Text, CONDITIONAL).mixed_case(),
        field("route_desc", Kind::Text, OPTIONAL).mixed_case(),
        field("route_type", Kind::RouteType, REQUIRED),
        field("route_url", Kind::Url, OPTIONAL),
        field("route_color", Kind::Color, OPTIONAL),
        field("route_text_color", Kind::Color, OPTIONAL),
        field("route_sort_order", Kind::Integer(Sign::NonNegative), OPTIONAL),
        field("continuous_pickup", Kind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field("continuous_drop_off", Kind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field("network_id", Kind::Id, CONDITIONAL),
        field("cemv_support", Kind::Enum(&[0, 1, 2]), OPTIONAL),
    ],
);

pub(super) static TRIPS: FileSpec = file(
    "trips.txt",
    REQUIRED,
    &["trip_id"],
    &[
        field("route_id", Kind::Ref(&["routes.route_id"]), REQUIRED),
        field(
            "service_id",
            Kind::Ref(&["calendar.service_id", "calendar_dates.service_id"]),
            REQUIRED,
        ),
        field("trip_id", Kind::Id, REQUIRED),
        field("trip_headsign", Kind::Text, OPTIONAL).mixed_case(),
        field("trip_short_name", Kind::Text, OPTIONAL).mixed_case(),
        field("direction_id", Kind::Enum(&[0, 1]), OPTIONAL),
        field("block_id", Kind::Id, OPTIONAL),
        field("shape_id", Kind::Ref(&["shapes.shape_id"]), CONDITIONAL),
        field("wheelchair_accessible", Kind::Enum(&[0, 1, 2]), OPTIONAL),
        field("bikes_allowed", Kind::Enum(&[0, 1, 2]), OPTIONAL),
        field("cars_allowed", Kind::Enum(&[0, 1, 2]), OPTIONAL),
        field("safe_duration_factor", Kind::Float(Sign::Any), OPTIONAL),
        field("safe_duration_offset", Kind::Float(Sign::Any), OPTIONAL),
    ],
);

pub(super) static STOP_TIMES: FileSpec = file(
    "stop_times.txt",
    REQUIRED,
    &["trip_id", "stop_sequence"],
    &[
        field("trip_id", Kind::Ref(&["trips.trip_id"]), REQUIRED),
        field("arrival_time", Kind::Time, CONDITIONAL),
        field("departure_time", Kind::Time, CONDITIONAL),
        field("stop_id", Kind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field("location_group_id", Kind::Ref(&["location_groups.location_group_id"]), CONDITIONAL),
        field("location_id", Kind::Ref(&["locations.id"]), CONDITIONAL),
        field("stop_sequence", Kind::Integer(Sign::NonNegative), REQUIRED),
        field("stop_headsign", Kind::Text, OPTIONAL),
        field("start_pickup_drop_off_window", Kind::Time, CONDITIONAL),
        field("end_pickup_drop_off_window", Kind::Time, CONDITIONAL),
        field("pickup_type", Kind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field("drop_off_type", Kind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field("continuous_pickup", Kind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field("continuous_drop_off", Kind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field("shape_dist_traveled", Kind::Float(Sign::NonNegative), OPTIONAL),
        field("timepoint", Kind::Enum(&[0, 1]), OPTIONAL),
        field("pickup_booking_rule_id", Kind::Ref(&["booking_rules.booking_rule_id"]), OPTIONAL),
        field("drop_off_booking_rule_id", Kind::Ref(&["booking_rules.booking_rule_id"]), OPTIONAL),
    ],
);

pub(super) static CALENDAR: FileSpec = file(
    "calendar.txt",
    CONDITIONAL,
    &["service_id"],
    &[
        field("service_id", Kind::Id, REQUIRED),
        field("monday", Kind::Enum(&[0, 1]), REQUIRED),
        field("tuesday", Kind::Enum(&[0, 1]), REQUIRED),
        field("wednesday", Kind::Enum(&[0, 1]), REQUIRED),
        field("thursday", Kind::Enum(&[0, 1]), REQUIRED),
        field("friday", Kind::Enum(&[0, 1]), REQUIRED),
        field("saturday", Kind::Enum(&[0, 1]), REQUIRED),
        field("sunday", Kind::Enum(&[0, 1]), REQUIRED),
        field("start_date", Kind::Date, REQUIRED),
        field("end_date", Kind::Date, REQUIRED),
    ],
);

pub(super) static CALENDAR_DATES: FileSpec = file(
    "calendar_dates.txt",
    CONDITIONAL,
    &["service_id", "date"],
    &[
        field("service_id", Kind::Id, REQUIRED),
        field("date", Kind::Date, REQUIRED),
        field("exception_type", Kind::Enum(&[1, 2]), REQUIRED),
    ],
);

pub(super) static SHAPES: FileSpec = file(
    "shapes.txt",
    OPTIONAL,
    &["shape_id", "shape_pt_sequence"],
    &[
        field("shape_id", Kind::Id, REQUIRED),
        field("shape_pt_lat", Kind::Latitude, REQUIRED),
        field("shape_pt_lon", Kind::Longitude, REQUIRED),
        field("shape_pt_sequence", Kind::Integer(Sign::NonNegative), REQUIRED),
        field("shape_dist_traveled", Kind::Float(Sign::NonNegative), OPTIONAL),
    ],
);

pub(super) static FREQUENCIES: FileSpec = file(
    "frequencies.txt",
    OPTIONAL,
    &["trip_id", "start_time"],
    &[
        field("trip_id", Kind::Ref(&["trips.trip_id"]), REQUIRED),
        field("start_time", Kind::Time, REQUIRED),
        field("end_time", Kind::Time, REQUIRED),
        field("headway_secs", Kind::Integer(Sign::Positive), REQUIRED),
        field("exact_times", Kind::Enum(&[0, 1]), OPTIONAL),
    ],
);
