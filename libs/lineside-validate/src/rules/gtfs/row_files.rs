//! Which file the lines are in that notices tell without naming one, as the reference does.

use crate::{gtfs::File, notice::Kind};

/// Names of fields that hold a line of such a file.
const LINES: [&str; 5] =
    ["csvRowNumber", "csvRowNumber1", "csvRowNumber2", "currCsvRowNumber", "prevCsvRowNumber"];
/// Names of fields that say which file it is.
const FILES: [&str; 3] = ["filename", "childFilename", "file"];

/// What the codes begin with, and the file; the first that fits counts.
const BY_CODE: &[(&str, File)] = &[
    ("attribution_", File::Attributions),
    ("bidirectional_exit_gate", File::Pathways),
    ("decreasing_or_equal_stop_time_distance", File::StopTimes),
    ("decreasing_shape_distance", File::Shapes),
    ("duplicate_fare_media", File::FareMedia),
    ("duplicate_route_name", File::Routes),
    ("equal_shape_distance_", File::Shapes),
    ("fare_product_", File::FareProducts),
    ("fare_transfer_rule_", File::FareTransferRules),
    ("fast_travel_", File::StopTimes),
    ("feed_expiration_", File::FeedInfo),
    ("feed_info_lang_", File::Agency),
    ("forbidden_arrival_or_departure_time", File::StopTimes),
    ("forbidden_drop_off_type", File::StopTimes),
    ("forbidden_geography_id", File::StopTimes),
    ("forbidden_pickup_type", File::StopTimes),
    ("forbidden_prior_", File::BookingRules),
    ("forbidden_real_time_", File::BookingRules),
    ("forbidden_same_day_", File::BookingRules),
    ("forbidden_shape_dist_traveled", File::StopTimes),
    ("inconsistent_route_type_for_in_seat_transfer", File::Transfers),
    ("inconsistent_agency_", File::Agency),
    ("invalid_pickup_drop_off_window", File::StopTimes),
    ("invalid_prior_notice_", File::BookingRules),
    ("location_with_unexpected_stop_time", File::Stops),
    ("location_without_parent_station", File::Stops),
    ("missing_bike_allowance", File::Trips),
    ("missing_feed_", File::FeedInfo),
    ("missing_level_id", File::Stops),
    ("missing_pickup_", File::StopTimes),
    ("missing_prior_notice_", File::BookingRules),
    ("missing_stop_name", File::Stops),
    ("missing_stop_times_record", File::StopTimes),
    ("missing_timepoint_value", File::StopTimes),
    ("missing_trip_edge", File::StopTimes),
    ("overlapping_frequency", File::Frequencies),
    ("pathway_dangling_generic_node", File::Stops),
    ("pathway_unreachable_location", File::Stops),
    ("pathway_", File::Pathways),
    ("platform_without_parent_station", File::Stops),
    ("prior_notice_", File::BookingRules),
    ("route_", File::Routes),
    ("same_name_and_description_for_route", File::Routes),
    ("same_name_and_description_for_stop", File::Stops),
    ("service_has_no_active_day_", File::Calendar),
    ("single_shape_point", File::Shapes),
    ("station_with_parent_station", File::Stops),
    ("stop_access_", File::Stops),
    ("stop_time_", File::StopTimes),
    ("stop_without_", File::Stops),
    ("timeframe_", File::Timeframes),
    ("transfer_", File::Transfers),
    ("translation_", File::Translations),
    ("trip_headsign_", File::Trips),
    ("unusable_trip", File::Trips),
    ("unused_shape", File::Shapes),
    ("unused_station", File::Stops),
    ("unused_trip", File::Trips),
    ("wrong_parent_location_type", File::Stops),
];

/// The file of the lines in a kind's notices, where they do not say it and it is always the same.
pub fn file_of_lines(kind: &Kind) -> Option<File> {
    let has = |names: &[&str]| kind.fields.iter().any(|(field, _)| names.contains(field));
    if !has(&LINES) || has(&FILES) {
        return None;
    }
    let found = BY_CODE.iter().find(|(code, _)| kind.code.starts_with(code));
    found.map(|(_, file)| *file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::gtfs::kinds;

    #[test]
    fn each_line_is_in_a_file_that_is_known() {
        let tells = |kind: &Kind, names: &[&str]| {
            kind.fields.iter().any(|(field, _)| names.contains(field))
        };
        // Its line is in one of two files.
        let is_one = |kind: &&Kind| kind.code != "expired_calendar";
        let lines = kinds().filter(|kind| tells(kind, &LINES) && !tells(kind, &FILES));
        let lines = lines.filter(is_one);
        let unknown = lines.filter(|kind| file_of_lines(kind).is_none());
        let unknown: Vec<&str> = unknown.map(|kind| kind.code).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn what_is_said_of_a_code_is_of_use() {
        for (at, (code, _)) in BY_CODE.iter().enumerate() {
            let first = |kind: &&Kind| {
                let found = BY_CODE.iter().position(|(code, _)| kind.code.starts_with(code));
                found == Some(at) && file_of_lines(kind).is_some()
            };
            assert!(kinds().any(|kind| first(&kind)), "{code}");
        }
    }
}
