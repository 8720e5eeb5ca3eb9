//! The kinds of notices about a system, with one page each.

use super::super::NoticeFieldDescription;

const FILE: NoticeFieldDescription = (
    "filename",
    "The file; the name of a file in another language begins with the language, as in \
    `fr/system_information.json`.",
);
const PATH: NoticeFieldDescription = ("path", "The JSON pointer to the position in the file.");
const VALUE: NoticeFieldDescription = ("value", "The value.");
const EXPECTED: NoticeFieldDescription = ("expected", "The allowed values.");
const REASON: NoticeFieldDescription = ("reason", "A description of the fault.");
const BECAUSE: NoticeFieldDescription =
    ("because", "The condition that requires it, if it is not always required.");

kinds! {
    MALFORMED_JSON "malformed_json" Error [FILE, REASON];
    MISSING_FILE "missing_required_file" Error [FILE, BECAUSE];
    UNREACHABLE_FILE "unreachable_file" Error [FILE, REASON];
    UNKNOWN_VERSION "unknown_version" Error [FILE, VALUE];
    MIXED_VERSIONS "mixed_versions" Error [
        FILE, VALUE, ("systemVersion", "The version of the discovery file.")
    ];
    DUPLICATE_FILE "duplicate_file" Error [FILE, PATH, VALUE];

    MISSING_FIELD "missing_required_field" Error [FILE, PATH, BECAUSE];
    UNEXPECTED_TYPE "unexpected_type" Error [FILE, PATH, VALUE, EXPECTED];
    UNEXPECTED_WORD "unexpected_enum_value" Error [FILE, PATH, VALUE, EXPECTED];
    OUT_OF_RANGE "number_out_of_range" Error [FILE, PATH, VALUE, EXPECTED];
    SHORT_LIST "empty_list" Error [FILE, PATH];
    EMPTY_VALUE "empty_value" Warning [FILE, PATH];
    INVALID_URL "invalid_url" Error [FILE, PATH, VALUE];
    INVALID_MAIL "invalid_email" Error [FILE, PATH, VALUE];
    INVALID_PHONE "invalid_phone_number" Error [FILE, PATH, VALUE];
    INVALID_LANGUAGE "invalid_language_code" Error [FILE, PATH, VALUE];
    INVALID_ZONE "invalid_timezone" Error [FILE, PATH, VALUE];
    INVALID_TIMESTAMP "invalid_timestamp" Error [FILE, PATH, VALUE, EXPECTED];
    INVALID_DATE "invalid_date" Error [FILE, PATH, VALUE];
    INVALID_TIME "invalid_time" Error [FILE, PATH, VALUE];
    INVALID_COUNTRY "invalid_country_code" Error [FILE, PATH, VALUE];
    INVALID_CURRENCY "invalid_currency" Error [FILE, PATH, VALUE];
    INVALID_COLOR "invalid_color" Error [FILE, PATH, VALUE];
    INVALID_AREA "invalid_area" Error [FILE, PATH, REASON];
    CROSSING_AREA "self_crossing_area" Warning [FILE, PATH, REASON];
    CONFLICTING_FIELDS "conflicting_fields" Error [
        FILE, PATH, ("fields", "The fields that exclude each other.")
    ];

    DUPLICATE_ID "duplicate_id" Error [FILE, PATH, VALUE];
    UNKNOWN_STATION "unknown_station_id" Error [FILE, PATH, VALUE];
    UNKNOWN_TYPE "unknown_vehicle_type_id" Error [FILE, PATH, VALUE];
    UNKNOWN_PLAN "unknown_pricing_plan_id" Error [FILE, PATH, VALUE];
    UNKNOWN_REGION "unknown_region_id" Error [FILE, PATH, VALUE];
    STATION_WITHOUT_STATUS "station_without_status" Warning [
        FILE, ("stationId", "The station.")
    ];

    COUNT_UNLIKE_SUM "count_unlike_sum" Warning [
        FILE, PATH, ("count", "The count in the file."), ("sum", "The sum of the parts.")
    ];
    OVER_CAPACITY "station_over_capacity" Warning [
        FILE, PATH, ("count", "The number of vehicles at the station."), ("capacity", "The capacity of the station.")
    ];
    NOT_INSTALLED "renting_while_not_installed" Warning [FILE, PATH];
    NEAR_ORIGIN "point_near_origin" Error [FILE, PATH, ("lat", "The latitude."), ("lon", "The longitude.")];
    FAR_AWAY "point_far_from_system" Warning [
        FILE, PATH, ("lat", "The latitude."), ("lon", "The longitude."),
        ("distanceKm", "The distance from the center of the system, in kilometers.")
    ];
    KEPT_ID "vehicle_id_kept_after_move" Warning [
        FILE, PATH, VALUE, ("distance", "The distance from the previous position, in meters.")
    ];
    OUT_OF_ORDER "times_out_of_order" Error [
        FILE, PATH, ("start", "The start."), ("end", "The end.")
    ];
    IN_FUTURE "time_in_future" Warning [
        FILE, PATH, VALUE, ("ahead", "The difference from the current time, in seconds.")
    ];
    OUTDATED "outdated_file" Warning [
        FILE, ("age", "The age of the file, in seconds."), ("ttl", "The `ttl` of the file, in seconds.")
    ];
}
