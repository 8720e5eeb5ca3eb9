//! Tables of the timetable: stops, routes, trips, stop times and calendars.

use super::{AllowedNumberSign, FieldKind, FieldPresence, FileSpec, new_field_spec, new_file_spec};

const REQUIRED: FieldPresence = FieldPresence::Required;
const CONDITIONAL: FieldPresence = FieldPresence::Conditional;
const OPTIONAL: FieldPresence = FieldPresence::Optional;

pub(super) static AGENCY: FileSpec = new_file_spec(
    "agency.txt",
    REQUIRED,
    &["agency_id"],
    &[
        new_field_spec("agency_id", FieldKind::Id, CONDITIONAL),
        new_field_spec("agency_name", FieldKind::Text, REQUIRED).with_recommended_mixed_case(),
        new_field_spec("agency_url", FieldKind::Url, REQUIRED),
        new_field_spec("agency_timezone", FieldKind::Timezone, REQUIRED),
        new_field_spec("agency_lang", FieldKind::Language, OPTIONAL),
        new_field_spec("agency_phone", FieldKind::Phone, OPTIONAL),
        new_field_spec("agency_fare_url", FieldKind::Url, OPTIONAL),
        new_field_spec("agency_email", FieldKind::Email, OPTIONAL),
        new_field_spec("cemv_support", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
    ],
);

pub(super) static STOPS: FileSpec = new_file_spec(
    "stops.txt",
    CONDITIONAL,
    &["stop_id"],
    &[
        new_field_spec("stop_id", FieldKind::Id, REQUIRED),
        new_field_spec("stop_code", FieldKind::Text, OPTIONAL),
        new_field_spec("stop_name", FieldKind::Text, CONDITIONAL).with_recommended_mixed_case(),
        new_field_spec("tts_stop_name", FieldKind::Text, OPTIONAL),
        new_field_spec("stop_desc", FieldKind::Text, OPTIONAL),
        new_field_spec("stop_lat", FieldKind::Latitude, CONDITIONAL),
        new_field_spec("stop_lon", FieldKind::Longitude, CONDITIONAL),
        new_field_spec("zone_id", FieldKind::Id, OPTIONAL),
        new_field_spec("stop_url", FieldKind::Url, OPTIONAL),
        new_field_spec("location_type", FieldKind::Enum(&[0, 1, 2, 3, 4]), OPTIONAL),
        new_field_spec("parent_station", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        new_field_spec("stop_timezone", FieldKind::Timezone, OPTIONAL),
        new_field_spec("wheelchair_boarding", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        new_field_spec("level_id", FieldKind::Ref(&["levels.level_id"]), OPTIONAL),
        new_field_spec("platform_code", FieldKind::Text, OPTIONAL),
        new_field_spec("stop_access", FieldKind::Enum(&[0, 1]), CONDITIONAL),
    ],
);

pub(super) static ROUTES: FileSpec = new_file_spec(
    "routes.txt",
    REQUIRED,
    &["route_id"],
    &[
        new_field_spec("route_id", FieldKind::Id, REQUIRED),
        new_field_spec("agency_id", FieldKind::Ref(&["agency.agency_id"]), CONDITIONAL),
        new_field_spec("route_short_name", FieldKind::Text, CONDITIONAL)
            .with_recommended_mixed_case(),
        new_field_spec("route_long_name", FieldKind::Text, CONDITIONAL)
            .with_recommended_mixed_case(),
        new_field_spec("route_desc", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
        new_field_spec("route_type", FieldKind::RouteType, REQUIRED),
        new_field_spec("route_url", FieldKind::Url, OPTIONAL),
        new_field_spec("route_color", FieldKind::Color, OPTIONAL),
        new_field_spec("route_text_color", FieldKind::Color, OPTIONAL),
        new_field_spec(
            "route_sort_order",
            FieldKind::Integer(AllowedNumberSign::NonNegative),
            OPTIONAL,
        ),
        new_field_spec("continuous_pickup", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        new_field_spec("continuous_drop_off", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        new_field_spec("network_id", FieldKind::Id, CONDITIONAL),
        new_field_spec("cemv_support", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
    ],
);

pub(super) static TRIPS: FileSpec = new_file_spec(
    "trips.txt",
    REQUIRED,
    &["trip_id"],
    &[
        new_field_spec("route_id", FieldKind::Ref(&["routes.route_id"]), REQUIRED),
        new_field_spec(
            "service_id",
            FieldKind::Ref(&["calendar.service_id", "calendar_dates.service_id"]),
            REQUIRED,
        ),
        new_field_spec("trip_id", FieldKind::Id, REQUIRED),
        new_field_spec("trip_headsign", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
        new_field_spec("trip_short_name", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
        new_field_spec("direction_id", FieldKind::Enum(&[0, 1]), OPTIONAL),
        new_field_spec("block_id", FieldKind::Id, OPTIONAL),
        new_field_spec("shape_id", FieldKind::Ref(&["shapes.shape_id"]), CONDITIONAL),
        new_field_spec("wheelchair_accessible", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        new_field_spec("bikes_allowed", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        new_field_spec("cars_allowed", FieldKind::Enum(&[0, 1, 2]), OPTIONAL),
        new_field_spec("safe_duration_factor", FieldKind::Float(AllowedNumberSign::Any), OPTIONAL),
        new_field_spec("safe_duration_offset", FieldKind::Float(AllowedNumberSign::Any), OPTIONAL),
    ],
);

pub(super) static STOP_TIMES: FileSpec = new_file_spec(
    "stop_times.txt",
    REQUIRED,
    &["trip_id", "stop_sequence"],
    &[
        new_field_spec("trip_id", FieldKind::Ref(&["trips.trip_id"]), REQUIRED),
        new_field_spec("arrival_time", FieldKind::Time, CONDITIONAL),
        new_field_spec("departure_time", FieldKind::Time, CONDITIONAL),
        new_field_spec("stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        new_field_spec(
            "location_group_id",
            FieldKind::Ref(&["location_groups.location_group_id"]),
            CONDITIONAL,
        ),
        new_field_spec("location_id", FieldKind::Ref(&["locations.id"]), CONDITIONAL),
        new_field_spec(
            "stop_sequence",
            FieldKind::Integer(AllowedNumberSign::NonNegative),
            REQUIRED,
        ),
        new_field_spec("stop_headsign", FieldKind::Text, OPTIONAL),
        new_field_spec("start_pickup_drop_off_window", FieldKind::Time, CONDITIONAL),
        new_field_spec("end_pickup_drop_off_window", FieldKind::Time, CONDITIONAL),
        new_field_spec("pickup_type", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        new_field_spec("drop_off_type", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        new_field_spec("continuous_pickup", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        new_field_spec("continuous_drop_off", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        new_field_spec(
            "shape_dist_traveled",
            FieldKind::Float(AllowedNumberSign::NonNegative),
            OPTIONAL,
        ),
        new_field_spec("timepoint", FieldKind::Enum(&[0, 1]), OPTIONAL),
        new_field_spec(
            "pickup_booking_rule_id",
            FieldKind::Ref(&["booking_rules.booking_rule_id"]),
            OPTIONAL,
        ),
        new_field_spec(
            "drop_off_booking_rule_id",
            FieldKind::Ref(&["booking_rules.booking_rule_id"]),
            OPTIONAL,
        ),
    ],
);

pub(super) static CALENDAR: FileSpec = new_file_spec(
    "calendar.txt",
    CONDITIONAL,
    &["service_id"],
    &[
        new_field_spec("service_id", FieldKind::Id, REQUIRED),
        new_field_spec("monday", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("tuesday", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("wednesday", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("thursday", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("friday", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("saturday", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("sunday", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("start_date", FieldKind::Date, REQUIRED),
        new_field_spec("end_date", FieldKind::Date, REQUIRED),
    ],
);

pub(super) static CALENDAR_DATES: FileSpec = new_file_spec(
    "calendar_dates.txt",
    CONDITIONAL,
    &["service_id", "date"],
    &[
        new_field_spec("service_id", FieldKind::Id, REQUIRED),
        new_field_spec("date", FieldKind::Date, REQUIRED),
        new_field_spec("exception_type", FieldKind::Enum(&[1, 2]), REQUIRED),
    ],
);

pub(super) static SHAPES: FileSpec = new_file_spec(
    "shapes.txt",
    OPTIONAL,
    &["shape_id", "shape_pt_sequence"],
    &[
        new_field_spec("shape_id", FieldKind::Id, REQUIRED),
        new_field_spec("shape_pt_lat", FieldKind::Latitude, REQUIRED),
        new_field_spec("shape_pt_lon", FieldKind::Longitude, REQUIRED),
        new_field_spec(
            "shape_pt_sequence",
            FieldKind::Integer(AllowedNumberSign::NonNegative),
            REQUIRED,
        ),
        new_field_spec(
            "shape_dist_traveled",
            FieldKind::Float(AllowedNumberSign::NonNegative),
            OPTIONAL,
        ),
    ],
);

pub(super) static FREQUENCIES: FileSpec = new_file_spec(
    "frequencies.txt",
    OPTIONAL,
    &["trip_id", "start_time"],
    &[
        new_field_spec("trip_id", FieldKind::Ref(&["trips.trip_id"]), REQUIRED),
        new_field_spec("start_time", FieldKind::Time, REQUIRED),
        new_field_spec("end_time", FieldKind::Time, REQUIRED),
        new_field_spec("headway_secs", FieldKind::Integer(AllowedNumberSign::Positive), REQUIRED),
        new_field_spec("exact_times", FieldKind::Enum(&[0, 1]), OPTIONAL),
    ],
);
