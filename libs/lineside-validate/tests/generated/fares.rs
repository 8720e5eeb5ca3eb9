//! The fares of a generated schedule, in both versions of GTFS fares.

use super::made::GeneratedFeed;

pub(crate) fn fares(feed: &mut GeneratedFeed) {
    feed.push(
        "fare_attributes.txt",
        &[
            ("fare_id", "F1"),
            ("price", "39"),
            ("currency_type", "NOK"),
            ("payment_method", "0"),
            ("transfers", "1"),
            ("agency_id", "A1"),
        ],
    );
    feed.push("fare_rules.txt", &[("fare_id", "F1"), ("route_id", "R0"), ("origin_id", "Z1")]);
}

pub(crate) fn fares_v2(feed: &mut GeneratedFeed) {
    for (from, to) in [("00:00:00", "12:00:00"), ("12:00:00", "24:00:00")] {
        feed.push(
            "timeframes.txt",
            &[
                ("timeframe_group_id", "G1"),
                ("start_time", from),
                ("end_time", to),
                ("service_id", "W1"),
            ],
        );
    }
    for (id, name, is_default) in [("C1", "Adult", "1"), ("C2", "Child", "0")] {
        feed.push(
            "rider_categories.txt",
            &[
                ("rider_category_id", id),
                ("rider_category_name", name),
                ("is_default_fare_category", is_default),
            ],
        );
    }
    for (id, name, kind) in [("M1", "Card", "2"), ("M2", "App", "4")] {
        let cells = [("fare_media_id", id), ("fare_media_name", name), ("fare_media_type", kind)];
        feed.push("fare_media.txt", &cells);
    }
    for (category, amount) in [("C1", "39.00"), ("C2", "20.00")] {
        feed.push(
            "fare_products.txt",
            &[
                ("fare_product_id", "FP1"),
                ("fare_product_name", "Single"),
                ("rider_category_id", category),
                ("fare_media_id", "M1"),
                ("amount", amount),
                ("currency", "NOK"),
            ],
        );
    }
    leg_rules(feed);
}

/// Adds the product of each leg, and the price of a transfer between two.
fn leg_rules(feed: &mut GeneratedFeed) {
    for (network, route) in [("N1", "R0"), ("N2", "R1")] {
        let name = if network == "N1" { "Inner Lines" } else { "Outer Lines" };
        feed.push("networks.txt", &[("network_id", network), ("network_name", name)]);
        feed.push("route_networks.txt", &[("network_id", network), ("route_id", route)]);
        feed.push(
            "fare_leg_rules.txt",
            &[
                ("leg_group_id", &format!("L{network}")),
                ("network_id", network),
                ("from_area_id", "AR1"),
                ("fare_product_id", "FP1"),
            ],
        );
    }
    feed.push("areas.txt", &[("area_id", "AR1"), ("area_name", "Harbour")]);
    feed.push("stop_areas.txt", &[("area_id", "AR1"), ("stop_id", "P0")]);
    feed.push("fare_leg_join_rules.txt", &[("from_network_id", "N1"), ("to_network_id", "N2")]);
    feed.push(
        "fare_transfer_rules.txt",
        &[
            ("from_leg_group_id", "LN1"),
            ("to_leg_group_id", "LN2"),
            ("transfer_count", ""),
            ("duration_limit", "3600"),
            ("duration_limit_type", "1"),
            ("fare_transfer_type", "0"),
        ],
    );
}
