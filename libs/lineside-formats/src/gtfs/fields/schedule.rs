//! Tables of the timetable: stops, routes, trips, stop times and calendars.

use super::{FieldKind, FieldPresence, FileSpec, NumberSign, field_spec, file_spec};

const REQUIRED: FieldPresence = FieldPresence::Required;
const CONDITIONAL: FieldPresence = FieldPresence::Conditional;
const OPTIONAL: FieldPresence = FieldPresence::Optional;

pub(super) static AGENCY: FileSpec = file_spec(
    "agency.txt",
    REQUIRED,
    &["agency_id"],
    &[
        field_spec("agency_id", FieldKind::Id, CONDITIONAL),
        field_spec("agency_name", FieldKind::Text, REQUIRED).with_mixed_case(),
        field_spec("agency_url", FieldKind::Url, REQUIRED),
        field_spec("agency_timezone", FieldKind::Timezone, REQUIRED),
        field_spec("agency_lang", FieldKind::Language, OPTIONAL),
        field_spec("agency_phone", FieldKind::Phone, OPTIONAL),
        field_spec("agency_fare_url", FieldKind::Url, OPTIONAL),
        field_spec("agency_email", FieldKind::Email, OPTIONAL),
        field_spec("cemv_support", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
    ],
);

pub(super) static STOPS: FileSpec = file_spec(
    "stops.txt",
    CONDITIONAL,
    &["stop_id"],
    &[
        field_spec("stop_id", FieldKind::Id, REQUIRED),
        field_spec("stop_code", FieldKind::Text, OPTIONAL),
        field_spec("stop_name", FieldKind::Text, CONDITIONAL).with_mixed_case(),
        field_spec("tts_stop_name", FieldKind::Text, OPTIONAL),
        field_spec("stop_desc", FieldKind::Text, OPTIONAL),
        field_spec("stop_lat", FieldKind::Latitude, CONDITIONAL),
        field_spec("stop_lon", FieldKind::Longitude, CONDITIONAL),
        field_spec("zone_id", FieldKind::Id, OPTIONAL),
        field_spec("stop_url", FieldKind::Url, OPTIONAL),
        field_spec("location_type", FieldKind::Enum(&[0, 1, 2, 3, 4]), OPTIONAL),
        field_spec("parent_station", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field_spec("stop_timezone", FieldKind::Timezone, OPTIONAL),
        field_spec("wheelchair_boarding", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        field_spec("level_id", FieldKind::Ref(&["levels.level_id"]), OPTIONAL),
        field_spec("platform_code", FieldKind::Text, OPTIONAL),
        field_spec("stop_access", FieldKind::Enum(&[0, 1]), CONDITIONAL),
    ],
);

pub(super) static ROUTES: FileSpec = file_spec(
    "routes.txt",
    REQUIRED,
    &["route_id"],
    &[
        field_spec("route_id", FieldKind::Id, REQUIRED),
        field_spec("agency_id", FieldKind::Ref(&["agency.agency_id"]), CONDITIONAL),
        field_spec("route_short_name", FieldKind::Text, CONDITIONAL).with_mixed_case(),
        field_spec("route_long_name", FieldKind::Text, CONDITIONAL).with_mixed_case(),
        field_spec("route_desc", FieldKind::Text, OPTIONAL).with_mixed_case(),
        field_spec("route_type", FieldKind::RouteType, REQUIRED),
        field_spec("route_url", FieldKind::Url, OPTIONAL),
        field_spec("route_color", FieldKind::Color, OPTIONAL),
        field_spec("route_text_color", FieldKind::Color, OPTIONAL),
        field_spec("route_sort_order", FieldKind::Integer(NumberSign::NonNegative), OPTIONAL),
        field_spec("continuous_pickup", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field_spec("continuous_drop_off", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field_spec("network_id", FieldKind::Id, CONDITIONAL),
        field_spec("cemv_support", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
    ],
);

pub(super) static TRIPS: FileSpec = file_spec(
    "trips.txt",
    REQUIRED,
    &["trip_id"],
    &[
        field_spec("route_id", FieldKind::Ref(&["routes.route_id"]), REQUIRED),
        field_spec(
            "service_id",
            FieldKind::Ref(&["calendar.service_id", "calendar_dates.service_id"]),
            REQUIRED,
        ),
        field_spec("trip_id", FieldKind::Id, REQUIRED),
        field_spec("trip_headsign", FieldKind::Text, OPTIONAL).with_mixed_case(),
        field_spec("trip_short_name", FieldKind::Text, OPTIONAL).with_mixed_case(),
        field_spec("direction_id", FieldKind::Enum(&[0, 1]), OPTIONAL),
        field_spec("block_id", FieldKind::Id, OPTIONAL),
        field_spec("shape_id", FieldKind::Ref(&["shapes.shape_id"]), CONDITIONAL),
        field_spec("wheelchair_accessible", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        field_spec("bikes_allowed", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        field_spec("cars_allowed", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        field_spec("safe_duration_factor", FieldKind::Float(NumberSign::Any), OPTIONAL),
        field_spec("safe_duration_offset", FieldKind::Float(NumberSign::Any), OPTIONAL),
    ],
);

pub(super) static STOP_TIMES: FileSpec = file_spec(
    "stop_times.txt",
    REQUIRED,
    &["trip_id", "stop_sequence"],
    &[
        field_spec("trip_id", FieldKind::Ref(&["trips.trip_id"]), REQUIRED),
        field_spec("arrival_time", FieldKind::Time, CONDITIONAL),
        field_spec("departure_time", FieldKind::Time, CONDITIONAL),
        field_spec("stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field_spec(
            "location_group_id",
            FieldKind::Ref(&["location_groups.location_group_id"]),
            CONDITIONAL,
        ),
        field_spec("location_id", FieldKind::Ref(&["locations.id"]), CONDITIONAL),
        field_spec("stop_sequence", FieldKind::Integer(NumberSign::NonNegative), REQUIRED),
        field_spec("stop_headsign", FieldKind::Text, OPTIONAL),
        field_spec("start_pickup_drop_off_window", FieldKind::Time, CONDITIONAL),
        field_spec("end_pickup_drop_off_window", FieldKind::Time, CONDITIONAL),
        field_spec("pickup_type", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field_spec("drop_off_type", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field_spec("continuous_pickup", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field_spec("continuous_drop_off", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field_spec("shape_dist_traveled", FieldKind::Float(NumberSign::NonNegative), OPTIONAL),
        field_spec("timepoint", FieldKind::Enum(&[0, 1]), OPTIONAL),
        field_spec(
            "pickup_booking_rule_id",
            FieldKind::Ref(&["booking_rules.booking_rule_id"]),
            OPTIONAL,
        ),
        field_spec(
            "drop_off_booking_rule_id",
            FieldKind::Ref(&["booking_rules.booking_rule_id"]),
            OPTIONAL,
        ),
    ],
);

pub(super) static CALENDAR: FileSpec = file_spec(
    "calendar.txt",
    CONDITIONAL,
    &["service_id"],
    &[
        field_spec("service_id", FieldKind::Id, REQUIRED),
        field_spec("monday", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("tuesday", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("wednesday", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("thursday", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("friday", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("saturday", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("sunday", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("start_date", FieldKind::Date, REQUIRED),
        field_spec("end_date", FieldKind::Date, REQUIRED),
    ],
);

pub(super) static CALENDAR_DATES: FileSpec = file_spec(
    "calendar_dates.txt",
    CONDITIONAL,
    &["service_id", "date"],
    &[
        field_spec("service_id", FieldKind::Id, REQUIRED),
        field_spec("date", FieldKind::Date, REQUIRED),
        field_spec("exception_type", FieldKind::Enum(&[1, 2]), REQUIRED),
    ],
);

pub(super) static SHAPES: FileSpec = file_spec(
    "shapes.txt",
    OPTIONAL,
    &["shape_id", "shape_pt_sequence"],
    &[
        field_spec("shape_id", FieldKind::Id, REQUIRED),
        field_spec("shape_pt_lat", FieldKind::Latitude, REQUIRED),
        field_spec("shape_pt_lon", FieldKind::Longitude, REQUIRED),
        field_spec("shape_pt_sequence", FieldKind::Integer(NumberSign::NonNegative), REQUIRED),
        field_spec("shape_dist_traveled", FieldKind::Float(NumberSign::NonNegative), OPTIONAL),
    ],
);

pub(super) static FREQUENCIES: FileSpec = file_spec(
    "frequencies.txt",
    OPTIONAL,
    &["trip_id", "start_time"],
    &[
        field_spec("trip_id", FieldKind::Ref(&["trips.trip_id"]), REQUIRED),
        field_spec("start_time", FieldKind::Time, REQUIRED),
        field_spec("end_time", FieldKind::Time, REQUIRED),
        field_spec("headway_secs", FieldKind::Integer(NumberSign::Positive), REQUIRED),
        field_spec("exact_times", FieldKind::Enum(&[0, 1]), OPTIONAL),
    ],
);
