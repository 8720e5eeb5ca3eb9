//! Fares, in both versions, and the areas and networks that they refer to.

use super::{FileSpec, Kind, Presence, Sign, field, file};

const REQUIRED: Presence = Presence::Required;
const CONDITIONAL: Presence = Presence::Conditional;
const OPTIONAL: Presence = Presence::Optional;

pub(super) static FARE_ATTRIBUTES: FileSpec = file(
    "fare_attributes.txt",
    OPTIONAL,
    &["fare_id"],
    &[
        field("fare_id", Kind::Id, REQUIRED),
        field("price", Kind::Float(Sign::NonNegative), REQUIRED),
        field("currency_type", Kind::Currency, REQUIRED),
        field("payment_method", Kind::Enum(&[0, 1]), REQUIRED),
        field("transfers", Kind::Enum(&[0, 1, 2]), CONDITIONAL),
        field("agency_id", Kind::Ref(&["agency.agency_id"]), CONDITIONAL),
        field("transfer_duration", Kind::Integer(Sign::NonNegative), OPTIONAL),
    ],
);

pub(super) static FARE_RULES: FileSpec = file(
    "fare_rules.txt",
    OPTIONAL,
    &["fare_id", "route_id", "origin_id", "destination_id", "contains_id"],
    &[
        field("fare_id", Kind::Ref(&["fare_attributes.fare_id"]), REQUIRED),
        field("route_id", Kind::Ref(&["routes.route_id"]), OPTIONAL),
        field("origin_id", Kind::Ref(&["stops.zone_id"]), OPTIONAL),
        field("destination_id", Kind::Ref(&["stops.zone_id"]), OPTIONAL),
        field("contains_id", Kind::Ref(&["stops.zone_id"]), OPTIONAL),
    ],
);

pub(super) static TIMEFRAMES: FileSpec = file(
    "timeframes.txt",
    OPTIONAL,
    &["timeframe_group_id", "start_time", "end_time", "service_id"],
    &[
        field("timeframe_group_id", Kind::Id, REQUIRED),
        field("start_time", Kind::LocalTime, CONDITIONAL),
        field("end_time", Kind::LocalTime, CONDITIONAL),
        field(
            "service_id",
            Kind::Ref(&["calendar.service_id", "calendar_dates.service_id"]),
            REQUIRED,
        ),
    ],
);

pub(super) static RIDER_CATEGORIES: FileSpec = file(
    "rider_categories.txt",
    OPTIONAL,
    &["rider_category_id"],
    &[
        field("rider_category_id", Kind::Id, REQUIRED),
        field("rider_category_name", Kind::Text, REQUIRED),
        field("is_default_fare_category", Kind::Enum(&[0, 1]), CONDITIONAL).column_required(),
        field("eligibility_url", Kind::Url, OPTIONAL),
    ],
);

pub(super) static FARE_MEDIA: FileSpec = file(
    "fare_media.txt",
    OPTIONAL,
    &["fare_media_id"],
    &[
        field("fare_media_id", Kind::Id, REQUIRED),
        field("fare_media_name", Kind::Text, OPTIONAL),
        field("fare_media_type", Kind::Enum(&[0, 1, 2, 3, 4]), REQUIRED),
    ],
);

pub(super) static FARE_PRODUCTS: FileSpec = file(
    "fare_products.txt",
    OPTIONAL,
    &["fare_product_id", "rider_category_id", "fare_media_id"],
    &[
        field("fare_product_id", Kind::Id, REQUIRED),
        field("fare_product_name", Kind::Text, OPTIONAL),
        field("rider_category_id", Kind::Ref(&["rider_categories.rider_category_id"]), OPTIONAL),
        field("fare_media_id", Kind::Ref(&["fare_media.fare_media_id"]), OPTIONAL),
        field("amount", Kind::Amount, REQUIRED),
        field("currency", Kind::Currency, REQUIRED),
    ],
);

pub(super) static FARE_LEG_RULES: FileSpec = file(
    "fare_leg_rules.txt",
    OPTIONAL,
    &[
        "network_id",
        "from_area_id",
        "to_area_id",
        "from_timeframe_group_id",
        "to_timeframe_group_id",
        "fare_product_id",
    ],
    &[
        field("leg_group_id", Kind::Id, OPTIONAL),
        field("network_id", Kind::Ref(&["routes.network_id", "networks.network_id"]), OPTIONAL),
        field("from_area_id", Kind::Ref(&["areas.area_id"]), OPTIONAL),
        field("to_area_id", Kind::Ref(&["areas.area_id"]), OPTIONAL),
        field("from_timeframe_group_id", Kind::Ref(&["timeframes.timeframe_group_id"]), OPTIONAL),
        field("to_timeframe_group_id", Kind::Ref(&["timeframes.timeframe_group_id"]), OPTIONAL),
        field("fare_product_id", Kind::Ref(&["fare_products.fare_product_id"]), REQUIRED),
        field("rule_priority", Kind::Integer(Sign::NonNegative), OPTIONAL),
    ],
);

pub(super) static FARE_LEG_JOIN_RULES: FileSpec = file(
    "fare_leg_join_rules.txt",
    OPTIONAL,
    &[],
    &[
        field(
            "from_network_id",
            Kind::Ref(&["routes.network_id", "networks.network_id"]),
            REQUIRED,
        ),
        field("to_network_id", Kind::Ref(&["routes.network_id", "networks.network_id"]), REQUIRED),
        field("from_stop_id", Kind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field("to_stop_id", Kind::Ref(&["stops.stop_id"]), CONDITIONAL),
    ],
);

pub(super) static FARE_TRANSFER_RULES: FileSpec = file(
    "fare_transfer_rules.txt",
    OPTIONAL,
    &[
        "from_leg_group_id",
        "to_leg_group_id",
        "fare_product_id",
        "transfer_count",
        "duration_limit",
    ],
    &[
        field("from_leg_group_id", Kind::Ref(&["fare_leg_rules.leg_group_id"]), OPTIONAL),
        field("to_leg_group_id", Kind::Ref(&["fare_leg_rules.leg_group_id"]), OPTIONAL),
        // -1, or above zero; what else stands there has a rule of its own.
        field("transfer_count", Kind::Integer(Sign::Any), CONDITIONAL),
        field("duration_limit", Kind::Integer(Sign::Positive), OPTIONAL),
        field("duration_limit_type", Kind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        field("fare_transfer_type", Kind::Enum(&[0, 1, 2]), REQUIRED),
        field("fare_product_id", Kind::Ref(&["fare_products.fare_product_id"]), OPTIONAL),
    ],
);

pub(super) static AREAS: FileSpec = file(
    "areas.txt",
    OPTIONAL,
    &["area_id"],
    &[field("area_id", Kind::Id, REQUIRED), field("area_name", Kind::Text, OPTIONAL)],
);

pub(super) static STOP_AREAS: FileSpec = file(
    "stop_areas.txt",
    OPTIONAL,
    &["area_id", "stop_id"],
    &[
        field("area_id", Kind::Ref(&["areas.area_id"]), REQUIRED),
        field("stop_id", Kind::Ref(&["stops.stop_id"]), REQUIRED),
    ],
);

pub(super) static NETWORKS: FileSpec = file(
    "networks.txt",
    CONDITIONAL,
    &["network_id"],
    &[
        field("network_id", Kind::Id, REQUIRED),
        field("network_name", Kind::Text, OPTIONAL).mixed_case(),
    ],
);

pub(super) static ROUTE_NETWORKS: FileSpec = file(
    "route_networks.txt",
    CONDITIONAL,
    &["route_id"],
    &[
        field("network_id", Kind::Ref(&["networks.network_id"]), REQUIRED),
        field("route_id", Kind::Ref(&["routes.route_id"]), REQUIRED),
    ],
);
