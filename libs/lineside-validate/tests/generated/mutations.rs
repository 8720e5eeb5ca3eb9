//! Changes that introduce a fault into a schedule, each with the expected code and other codes that may come with it.

use super::made::{GeneratedFeed, stop_id};

/// A code, the others that may come with it, and the change.
type Mutation = (&'static str, &'static [&'static str], fn(&mut GeneratedFeed));

pub(crate) const MUTATIONS: &[Mutation] = &[
    // Files, rows and cells.
    ("missing_recommended_file", &[], |feed| {
        feed.drop_file("translations.txt");
        feed.drop_file("feed_info.txt");
    }),
    ("missing_required_file", &[], |feed| feed.drop_file("agency.txt")),
    ("missing_calendar_and_calendar_date_files", &["foreign_key_violation"], |feed| {
        feed.drop_file("calendar.txt");
        feed.drop_file("calendar_dates.txt");
    }),
    ("unknown_file", &[], |feed| feed.push("notes.txt", &[("note", "x")])),
    ("unknown_column", &[], |feed| feed.set("stops.txt", 0, "stop_colour", "red")),
    ("duplicated_column", &[], |feed| {
        feed.rename("attributions.txt", "attribution_url", "attribution_email");
    }),
    ("empty_column_name", &[], |feed| feed.rename("attributions.txt", "attribution_url", "")),
    ("empty_file", &[], |feed| {
        feed.drop_file("attributions.txt");
        feed.append("attributions.txt", "");
    }),
    ("empty_row", &[], |feed| feed.append("attributions.txt", " \n")),
    ("invalid_row_length", &[], |feed| feed.append("attributions.txt", "x,y\n")),
    ("new_line_in_value", &[], |feed| {
        feed.set("attributions.txt", 0, "organization_name", "\"North\nLines\"");
    }),
    ("leading_or_trailing_whitespaces", &[], |feed| {
        feed.set("attributions.txt", 0, "organization_name", "\" North Lines\"");
    }),
    ("invalid_character", &[], |feed| {
        feed.set("attributions.txt", 0, "organization_name", "North \u{FFFD}");
    }),
    ("invalid_color", &[], |feed| feed.set("routes.txt", 0, "route_color", "blue")),
    ("invalid_currency", &[], |feed| {
        feed.set("fare_attributes.txt", 0, "currency_type", "XQQ");
    }),
    ("invalid_date", &[], |feed| feed.set("calendar_dates.txt", 0, "date", "2026-12-24")),
    ("invalid_email", &[], |feed| {
        feed.set("attributions.txt", 0, "attribution_email", "nobody");
    }),
    ("invalid_url", &[], |feed| {
        feed.set("attributions.txt", 0, "attribution_url", "north");
    }),
    ("invalid_float", &[], |feed| feed.set("pathways.txt", 0, "length", "long")),
    ("invalid_integer", &[], |feed| feed.set("pathways.txt", 0, "traversal_time", "1.5")),
    ("invalid_language_code", &[], |feed| {
        feed.set("translations.txt", 0, "language", "n");
    }),
    ("invalid_time", &[], |feed| feed.set("frequencies.txt", 0, "start_time", "6 o'clock")),
    ("invalid_timezone", &[], |feed| {
        feed.set_where("agency.txt", ("agency_id", "A1"), "agency_timezone", "Oslo");
    }),
    ("missing_required_column", &[], |feed| {
        feed.rename("attributions.txt", "organization_name", "attribution_phone");
    }),
    ("missing_required_field", &[], |feed| {
        feed.set("attributions.txt", 0, "organization_name", "");
    }),
    ("missing_recommended_field", &[], |feed| feed.set("feed_info.txt", 0, "feed_version", "")),
    ("non_ascii_or_non_printable_char", &[], |feed| {
        feed.set("attributions.txt", 0, "attribution_id", "Ä1");
    }),
    ("number_out_of_range", &[], |feed| feed.set("pathways.txt", 0, "length", "-1")),
    ("unexpected_enum_value", &[], |feed| {
        feed.set("attributions.txt", 0, "is_operator", "7");
    }),
    ("duplicate_key", &[], |feed| feed.set("pathways.txt", 1, "pathway_id", "W1")),
    ("foreign_key_violation", &[], |feed| {
        feed.set("fare_rules.txt", 0, "route_id", "nowhere");
    }),
    ("mixed_case_recommended_field", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "S0_1"), "stop_name", "mill road one");
    }),
    ("more_than_one_entity", &[], |feed| {
        feed.push(
            "feed_info.txt",
            &[
                ("feed_publisher_name", "South Lines"),
                ("feed_publisher_url", "https://south.example"),
                ("feed_lang", "en"),
                ("feed_start_date", "20260101"),
                ("feed_end_date", "20261231"),
                ("feed_version", "7"),
                ("feed_contact_email", "data@south.example"),
            ],
        );
    }),
    ("point_near_origin", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_lat", "0.1");
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_lon", "0.1");
    }),
    ("point_near_pole", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_lat", "89.9");
    }),
    ("start_and_end_range_out_of_order", &[], |feed| {
        feed.set("frequencies.txt", 1, "end_time", "07:00:00");
    }),
    ("start_and_end_range_equal", &[], |feed| {
        feed.set("frequencies.txt", 1, "end_time", "08:00:00");
    }),
    ("overlapping_frequency", &[], |feed| {
        feed.set("frequencies.txt", 1, "start_time", "07:00:00");
    }),
    // Fares.
    ("invalid_currency_amount", &[], |feed| feed.set("fare_products.txt", 0, "amount", "39")),
    ("duplicate_fare_media", &[], |feed| {
        feed.set("fare_media.txt", 1, "fare_media_name", "Card");
        feed.set("fare_media.txt", 1, "fare_media_type", "2");
    }),
    ("fare_product_with_multiple_default_rider_categories", &[], |feed| {
        feed.set("rider_categories.txt", 1, "is_default_fare_category", "1");
    }),
    ("fare_transfer_rule_duration_limit_type_without_duration_limit", &[], |feed| {
        feed.set("fare_transfer_rules.txt", 0, "duration_limit", "");
    }),
    ("fare_transfer_rule_duration_limit_without_type", &[], |feed| {
        feed.set("fare_transfer_rules.txt", 0, "duration_limit_type", "");
    }),
    ("fare_transfer_rule_with_forbidden_transfer_count", &[], |feed| {
        feed.set("fare_transfer_rules.txt", 0, "transfer_count", "1");
    }),
    ("fare_transfer_rule_without_transfer_count", &[], |feed| {
        feed.set("fare_transfer_rules.txt", 0, "to_leg_group_id", "LN1");
    }),
    ("fare_transfer_rule_invalid_transfer_count", &[], |feed| {
        feed.set("fare_transfer_rules.txt", 0, "to_leg_group_id", "LN1");
        feed.set("fare_transfer_rules.txt", 0, "transfer_count", "0");
    }),
    ("timeframe_only_start_or_end_time_specified", &[], |feed| {
        feed.set("timeframes.txt", 0, "start_time", "");
    }),
    ("timeframe_overlap", &[], |feed| feed.set("timeframes.txt", 0, "end_time", "13:00:00")),
    ("timeframe_start_or_end_time_greater_than_twenty_four_hours", &[], |feed| {
        feed.set("timeframes.txt", 1, "end_time", "25:00:00");
    }),
    // Routes and agencies.
    ("attribution_without_role", &[], |feed| feed.set("attributions.txt", 0, "is_producer", "")),
    ("duplicate_route_name", &[], |feed| {
        feed.set("routes.txt", 1, "route_short_name", "1");
        feed.set("routes.txt", 1, "route_long_name", "Harbour and Hill East");
    }),
    ("feed_info_lang_and_agency_lang_mismatch", &[], |feed| {
        feed.set("feed_info.txt", 0, "feed_lang", "nb");
    }),
    ("inconsistent_agency_lang", &["feed_info_lang_and_agency_lang_mismatch"], |feed| {
        second_agency(feed, "nb", "Europe/Oslo");
    }),
    ("inconsistent_agency_timezone", &[], |feed| second_agency(feed, "en", "Europe/Paris")),
    ("missing_required_agency_id", &["foreign_key_violation"], |feed| {
        second_agency(feed, "en", "Europe/Oslo");
        feed.set("agency.txt", 0, "agency_id", "");
    }),
    ("missing_feed_contact_email_and_url", &[], |feed| {
        feed.set("feed_info.txt", 0, "feed_contact_email", "");
    }),
    ("missing_feed_info_date", &["missing_recommended_field"], |feed| {
        feed.set("feed_info.txt", 0, "feed_end_date", "");
    }),
    ("route_both_short_and_long_name_missing", &[], |feed| {
        feed.set("routes.txt", 0, "route_short_name", "");
        feed.set("routes.txt", 0, "route_long_name", "");
    }),
    ("route_color_contrast", &[], |feed| {
        feed.set("routes.txt", 0, "route_text_color", "003367");
    }),
    ("route_long_name_contains_short_name", &[], |feed| {
        feed.set("routes.txt", 0, "route_long_name", "1 Harbour and Hill");
    }),
    ("route_short_name_too_long", &[], |feed| {
        feed.set("routes.txt", 0, "route_short_name", "The Northern Line");
    }),
    ("same_name_and_description_for_route", &[], |feed| {
        feed.set("routes.txt", 0, "route_desc", "Harbour and Hill East");
    }),
    ("same_route_and_agency_url", &[], |feed| {
        feed.set("routes.txt", 0, "route_url", "https://north.example");
    }),
    ("route_networks_specified_in_more_than_one_file", &[], |feed| {
        feed.set("routes.txt", 0, "network_id", "N1");
    }),
    ("translation_foreign_key_violation", &[], |feed| {
        feed.set("translations.txt", 0, "record_id", "nowhere");
    }),
    ("translation_unexpected_value", &[], |feed| {
        feed.set("translations.txt", 0, "field_value", "Harbour Gate");
    }),
    ("translation_unknown_table_name", &[], |feed| {
        feed.set("translations.txt", 0, "table_name", "halts");
    }),
    // Stops, pathways and transfers.
    ("missing_stop_name", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "S0_1"), "stop_name", "");
    }),
    ("stop_without_location", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_lat", "");
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_lon", "");
    }),
    ("stop_without_zone_id", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "S0_1"), "zone_id", "");
    }),
    ("stop_without_stop_time", &[], |feed| {
        feed.push("stops.txt", &stop("S9", "Quarry", "59.95", "10.7"));
    }),
    ("unused_station", &[], |feed| {
        feed.push("stops.txt", &stop("ST9", "Quarry Station", "59.95", "10.7"));
        feed.set_where("stops.txt", ("stop_id", "ST9"), "location_type", "1");
    }),
    ("same_name_and_description_for_stop", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_desc", "Harbour Gate");
    }),
    ("same_stop_and_agency_url", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_url", "https://north.example");
    }),
    ("same_stop_and_route_url", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_url", "https://north.example/1");
        feed.set("routes.txt", 0, "route_url", "https://north.example/1");
    }),
    ("station_with_parent_station", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "ST"), "parent_station", "E1");
    }),
    ("wrong_parent_location_type", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "P0"), "parent_station", "E1");
    }),
    ("location_without_parent_station", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "parent_station", "");
    }),
    (
        "location_with_unexpected_stop_time",
        &["stop_too_far_from_shape_using_user_distance"],
        |feed| {
            feed.set("stop_times.txt", 1, "stop_id", "ST");
        },
    ),
    ("platform_without_parent_station", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "S0_1"), "platform_code", "A");
    }),
    ("bidirectional_exit_gate", &[], |feed| feed.set("pathways.txt", 0, "pathway_mode", "7")),
    ("pathway_loop", &[], |feed| {
        let cells = [("pathway_id", "W3"), ("from_stop_id", "P0"), ("to_stop_id", "P0")];
        feed.push("pathways.txt", &cells);
        feed.set("pathways.txt", 2, "pathway_mode", "1");
        feed.set("pathways.txt", 2, "is_bidirectional", "1");
    }),
    ("pathway_to_wrong_location_type", &["pathway_unreachable_location"], |feed| {
        feed.set("pathways.txt", 0, "from_stop_id", "ST");
    }),
    ("pathway_unreachable_location", &[], |feed| {
        feed.set("pathways.txt", 1, "to_stop_id", "P0");
    }),
    ("missing_level_id", &[], |feed| {
        feed.set("pathways.txt", 0, "pathway_mode", "5");
        feed.set_where("stops.txt", ("stop_id", "P0"), "level_id", "");
    }),
    ("transfer_distance_too_large", &["transfer_with_invalid_stop_location_type"], |feed| {
        feed.set_where("stops.txt", ("stop_id", "E1"), "stop_lat", "60.5");
        feed.set("transfers.txt", 0, "to_stop_id", "E1");
    }),
    // Services, trips and stop times.
    ("expired_calendar", &[], |feed| {
        feed.push("calendar.txt", &[("service_id", "W9")]);
        for day in ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] {
            feed.set("calendar.txt", 2, day, "1");
        }
        feed.set("calendar.txt", 2, "start_date", "20260101");
        feed.set("calendar.txt", 2, "end_date", "20260301");
    }),
    ("service_has_no_active_day_of_the_week", &[], |feed| {
        feed.push("calendar.txt", &[("service_id", "W9")]);
        for day in ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] {
            feed.set("calendar.txt", 2, day, "0");
        }
        feed.set("calendar.txt", 2, "start_date", "20260101");
        feed.set("calendar.txt", 2, "end_date", "20261231");
    }),
    ("feed_expiration_date7_days", &["service_window_outside_feed_period"], |feed| {
        feed.set("feed_info.txt", 0, "feed_end_date", "20260618");
    }),
    ("feed_expiration_date30_days", &["service_window_outside_feed_period"], |feed| {
        feed.set("feed_info.txt", 0, "feed_end_date", "20260701");
    }),
    ("future_feed", &["service_window_outside_feed_period"], |feed| {
        feed.set("feed_info.txt", 0, "feed_start_date", "20260801");
    }),
    ("unused_trip", &["unusable_trip"], |feed| {
        let cells = [("route_id", "R0"), ("service_id", "W1"), ("trip_id", "T9")];
        feed.push("trips.txt", &cells);
    }),
    ("unusable_trip", &[], |feed| {
        let cells = [("route_id", "R0"), ("service_id", "W1"), ("trip_id", "T9")];
        feed.push("trips.txt", &cells);
        feed.push(
            "stop_times.txt",
            &[
                ("trip_id", "T9"),
                ("arrival_time", "08:00:00"),
                ("departure_time", "08:00:00"),
                ("stop_id", &stop_id(0, 1)),
                ("stop_sequence", "1"),
                ("timepoint", "1"),
            ],
        );
    }),
    (
        "decreasing_or_equal_stop_time_distance",
        &["stop_too_far_from_shape_using_user_distance"],
        |feed| {
            feed.set("stop_times.txt", 2, "shape_dist_traveled", "1");
        },
    ),
    ("stop_time_with_arrival_before_previous_departure_time", &[], |feed| {
        feed.set("stop_times.txt", 1, "arrival_time", "05:00:00");
    }),
    ("stop_time_with_only_arrival_or_departure_time", &[], |feed| {
        feed.set("stop_times.txt", 1, "arrival_time", "");
        feed.set("stop_times.txt", 1, "timepoint", "0");
    }),
    ("stop_time_timepoint_without_times", &[], |feed| {
        feed.set("stop_times.txt", 1, "arrival_time", "");
        feed.set("stop_times.txt", 1, "departure_time", "");
    }),
    ("missing_trip_edge", &[], |feed| {
        feed.set("stop_times.txt", 0, "arrival_time", "");
        feed.set("stop_times.txt", 0, "departure_time", "");
        feed.set("stop_times.txt", 0, "timepoint", "0");
    }),
    ("missing_timepoint_value", &[], |feed| feed.set("stop_times.txt", 0, "timepoint", "")),
    ("block_trips_with_overlapping_stop_times", &[], |feed| {
        for trip in ["T0_0_0", "T0_1_0", "T1_0_0", "T1_1_0"] {
            feed.set_where("trips.txt", ("trip_id", trip), "block_id", "BL1");
            feed.set_where("trips.txt", ("trip_id", trip), "service_id", "W1");
        }
    }),
    ("trip_headsign_matches_intermediate_stop", &[], |feed| {
        feed.set_where("trips.txt", ("trip_id", "T0_0_0"), "trip_headsign", "Mill Road 01");
    }),
    // Shapes.
    ("single_shape_point", &["unused_shape"], |feed| feed.push("shapes.txt", &point("H9", 0))),
    ("unused_shape", &[], |feed| {
        feed.push("shapes.txt", &point("H9", 0));
        feed.push("shapes.txt", &point("H9", 1));
    }),
    ("decreasing_shape_distance", &["stop_too_far_from_shape_using_user_distance"], |feed| {
        feed.set("shapes.txt", 2, "shape_dist_traveled", "1");
    }),
    ("stop_too_far_from_shape", &[], |feed| {
        feed.set_where("stops.txt", ("stop_id", "S0_1"), "stop_lon", "10.71");
    }),
    ("fast_travel_between_consecutive_stops", &[], |feed| {
        for column in ["arrival_time", "departure_time"] {
            feed.set("stop_times.txt", 0, column, "05:58:00");
            feed.set("stop_times.txt", 1, column, "05:58:10");
        }
    }),
    // Demand-responsive trips.
    ("forbidden_pickup_type", &[], |feed| flexible(feed, "pickup_type", "3")),
    ("forbidden_drop_off_type", &[], |feed| flexible(feed, "drop_off_type", "0")),
    ("forbidden_arrival_or_departure_time", &[], |feed| {
        flexible(feed, "arrival_time", "09:00:00");
        flexible(feed, "departure_time", "09:00:00");
        flexible(feed, "timepoint", "1");
    }),
    ("invalid_pickup_drop_off_window", &[], |feed| {
        flexible(feed, "end_pickup_drop_off_window", "07:00:00");
    }),
    ("missing_pickup_or_drop_off_window", &[], |feed| {
        flexible(feed, "end_pickup_drop_off_window", "");
    }),
    ("missing_pickup_drop_off_booking_rule_id", &[], |feed| {
        flexible(feed, "pickup_booking_rule_id", "");
    }),
    ("forbidden_shape_dist_traveled", &[], |feed| flexible(feed, "shape_dist_traveled", "1")),
    ("missing_prior_notice_duration_min", &[], |feed| {
        feed.set("booking_rules.txt", 0, "prior_notice_duration_min", "");
    }),
    ("forbidden_same_day_booking_field_value", &[], |feed| {
        feed.set("booking_rules.txt", 0, "prior_notice_last_day", "1");
    }),
    ("forbidden_real_time_booking_field_value", &[], |feed| {
        feed.set("booking_rules.txt", 0, "booking_type", "0");
    }),
    ("missing_prior_notice_last_day", &[], |feed| {
        feed.set("booking_rules.txt", 0, "booking_type", "2");
        feed.set("booking_rules.txt", 0, "prior_notice_duration_min", "");
        feed.set("booking_rules.txt", 0, "prior_notice_last_time", "12:00:00");
    }),
];

fn second_agency(feed: &mut GeneratedFeed, lang: &str, zone: &str) {
    feed.push(
        "agency.txt",
        &[
            ("agency_id", "A2"),
            ("agency_name", "South Lines"),
            ("agency_url", "https://south.example"),
            ("agency_timezone", zone),
            ("agency_lang", lang),
        ],
    );
}

fn stop<'a>(id: &'a str, name: &'a str, lat: &'a str, lon: &'a str) -> [(&'a str, &'a str); 5] {
    [("stop_id", id), ("stop_name", name), ("stop_lat", lat), ("stop_lon", lon), ("zone_id", "Z1")]
}

fn point(shape: &str, at: usize) -> [(&str, &str); 4] {
    let (lat, sequence) = if at == 0 { ("59.9", "0") } else { ("59.95", "1") };
    [
        ("shape_id", shape),
        ("shape_pt_lat", lat),
        ("shape_pt_lon", "10.7"),
        ("shape_pt_sequence", sequence),
    ]
}

/// Changes the first stop time of the demand-responsive trip.
fn flexible(feed: &mut GeneratedFeed, column: &str, cell: &str) {
    feed.set_where("stop_times.txt", ("location_group_id", "LG1"), column, cell);
}
