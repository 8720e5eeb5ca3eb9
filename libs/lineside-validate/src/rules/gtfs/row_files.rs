//! The file of the line numbers in notices that do not name a file, as in the reference validator.

use crate::{gtfs::GtfsFile, notice::NoticeKind};

/// Names of fields with a line number in such a file.
const LINES: [&str; 5] =
    ["csvRowNumber", "csvRowNumber1", "csvRowNumber2", "currCsvRowNumber", "prevCsvRowNumber"];
/// Names of fields that contain the file.
const FILES: [&str; 3] = ["filename", "childFilename", "file"];

/// Prefixes of codes with their file; the first match counts.
const BY_CODE: &[(&str, GtfsFile)] = &[
    ("attribution_", GtfsFile::Attributions),
    ("bidirectional_exit_gate", GtfsFile::Pathways),
    ("decreasing_or_equal_stop_time_distance", GtfsFile::StopTimes),
    ("decreasing_shape_distance", GtfsFile::Shapes),
    ("duplicate_fare_media", GtfsFile::FareMedia),
    ("duplicate_route_name", GtfsFile::Routes),
    ("equal_shape_distance_", GtfsFile::Shapes),
    ("fare_product_", GtfsFile::FareProducts),
    ("fare_transfer_rule_", GtfsFile::FareTransferRules),
    ("fast_travel_", GtfsFile::StopTimes),
    ("feed_expiration_", GtfsFile::FeedInfo),
    ("feed_info_lang_", GtfsFile::Agency),
    ("forbidden_arrival_or_departure_time", GtfsFile::StopTimes),
    ("forbidden_drop_off_type", GtfsFile::StopTimes),
    ("forbidden_geography_id", GtfsFile::StopTimes),
    ("forbidden_pickup_type", GtfsFile::StopTimes),
    ("forbidden_prior_", GtfsFile::BookingRules),
    ("forbidden_real_time_", GtfsFile::BookingRules),
    ("forbidden_same_day_", GtfsFile::BookingRules),
    ("forbidden_shape_dist_traveled", GtfsFile::StopTimes),
    ("inconsistent_route_type_for_in_seat_transfer", GtfsFile::Transfers),
    ("inconsistent_agency_", GtfsFile::Agency),
    ("invalid_pickup_drop_off_window", GtfsFile::StopTimes),
    ("invalid_prior_notice_", GtfsFile::BookingRules),
    ("location_with_unexpected_stop_time", GtfsFile::Stops),
    ("location_without_parent_station", GtfsFile::Stops),
    ("missing_bike_allowance", GtfsFile::Trips),
    ("missing_feed_", GtfsFile::FeedInfo),
    ("missing_level_id", GtfsFile::Stops),
    ("missing_pickup_", GtfsFile::StopTimes),
    ("missing_prior_notice_", GtfsFile::BookingRules),
    ("missing_stop_name", GtfsFile::Stops),
    ("missing_stop_times_record", GtfsFile::StopTimes),
    ("missing_timepoint_value", GtfsFile::StopTimes),
    ("missing_trip_edge", GtfsFile::StopTimes),
    ("overlapping_frequency", GtfsFile::Frequencies),
    ("pathway_dangling_generic_node", GtfsFile::Stops),
    ("pathway_unreachable_location", GtfsFile::Stops),
    ("pathway_", GtfsFile::Pathways),
    ("platform_without_parent_station", GtfsFile::Stops),
    ("prior_notice_", GtfsFile::BookingRules),
    ("route_", GtfsFile::Routes),
    ("same_name_and_description_for_route", GtfsFile::Routes),
    ("same_name_and_description_for_stop", GtfsFile::Stops),
    ("service_has_no_active_day_", GtfsFile::Calendar),
    ("single_shape_point", GtfsFile::Shapes),
    ("station_with_parent_station", GtfsFile::Stops),
    ("stop_access_", GtfsFile::Stops),
    ("stop_time_", GtfsFile::StopTimes),
    ("stop_without_", GtfsFile::Stops),
    ("timeframe_", GtfsFile::Timeframes),
    ("transfer_", GtfsFile::Transfers),
    ("translation_", GtfsFile::Translations),
    ("trip_headsign_", GtfsFile::Trips),
    ("unusable_trip", GtfsFile::Trips),
    ("unused_shape", GtfsFile::Shapes),
    ("unused_station", GtfsFile::Stops),
    ("unused_trip", GtfsFile::Trips),
    ("wrong_parent_location_type", GtfsFile::Stops),
];

/// Returns the file of the line numbers in a kind's notices, if the notices do not name it and it
/// is always the same.
pub fn file_of_notice_line_numbers(kind: &NoticeKind) -> Option<GtfsFile> {
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
    use crate::rules::gtfs::schedule_notice_kinds;

    #[test]
    fn every_notice_with_a_line_has_a_known_file() {
        let tells = |kind: &NoticeKind, names: &[&str]| {
            kind.fields.iter().any(|(field, _)| names.contains(field))
        };
        // The line of this kind is in one of two files.
        let is_one = |kind: &&NoticeKind| kind.code != "expired_calendar";
        let lines =
            schedule_notice_kinds().filter(|kind| tells(kind, &LINES) && !tells(kind, &FILES));
        let lines = lines.filter(is_one);
        let unknown = lines.filter(|kind| file_of_notice_line_numbers(kind).is_none());
        let unknown: Vec<&str> = unknown.map(|kind| kind.code).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn every_entry_by_code_applies_to_a_notice() {
        for (at, (code, _)) in BY_CODE.iter().enumerate() {
            let first = |kind: &&NoticeKind| {
                let found = BY_CODE.iter().position(|(code, _)| kind.code.starts_with(code));
                found == Some(at) && file_of_notice_line_numbers(kind).is_some()
            };
            assert!(schedule_notice_kinds().any(|kind| first(&kind)), "{code}");
        }
    }
}
