//! Tables of fares, in both versions, and of the areas and networks to which fares refer.

use super::{AllowedNumberSign, FieldKind, FieldPresence, FileSpec, new_field_spec, new_file_spec};

const REQUIRED: FieldPresence = FieldPresence::Required;
const CONDITIONAL: FieldPresence = FieldPresence::Conditional;
const OPTIONAL: FieldPresence = FieldPresence::Optional;

pub(super) static FARE_ATTRIBUTES: FileSpec = new_file_spec(
    "fare_attributes.txt",
    OPTIONAL,
    &["fare_id"],
    &[
        new_field_spec("fare_id", FieldKind::Id, REQUIRED),
        new_field_spec("price", FieldKind::Float(AllowedNumberSign::NonNegative), REQUIRED),
        new_field_spec("currency_type", FieldKind::Currency, REQUIRED),
        new_field_spec("payment_method", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("transfers", FieldKind::Enum(&[0, 1, 2]), CONDITIONAL),
        new_field_spec("agency_id", FieldKind::Ref(&["agency.agency_id"]), CONDITIONAL),
        new_field_spec(
            "transfer_duration",
            FieldKind::Integer(AllowedNumberSign::NonNegative),
            OPTIONAL,
        ),
    ],
);

pub(super) static FARE_RULES: FileSpec = new_file_spec(
    "fare_rules.txt",
    OPTIONAL,
    &["fare_id", "route_id", "origin_id", "destination_id", "contains_id"],
    &[
        new_field_spec("fare_id", FieldKind::Ref(&["fare_attributes.fare_id"]), REQUIRED),
        new_field_spec("route_id", FieldKind::Ref(&["routes.route_id"]), OPTIONAL),
        new_field_spec("origin_id", FieldKind::Ref(&["stops.zone_id"]), OPTIONAL),
        new_field_spec("destination_id", FieldKind::Ref(&["stops.zone_id"]), OPTIONAL),
        new_field_spec("contains_id", FieldKind::Ref(&["stops.zone_id"]), OPTIONAL),
    ],
);

pub(super) static TIMEFRAMES: FileSpec = new_file_spec(
    "timeframes.txt",
    OPTIONAL,
    &["timeframe_group_id", "start_time", "end_time", "service_id"],
    &[
        new_field_spec("timeframe_group_id", FieldKind::Id, REQUIRED),
        new_field_spec("start_time", FieldKind::LocalTime, CONDITIONAL),
        new_field_spec("end_time", FieldKind::LocalTime, CONDITIONAL),
        new_field_spec(
            "service_id",
            FieldKind::Ref(&["calendar.service_id", "calendar_dates.service_id"]),
            REQUIRED,
        ),
    ],
);

pub(super) static RIDER_CATEGORIES: FileSpec = new_file_spec(
    "rider_categories.txt",
    OPTIONAL,
    &["rider_category_id"],
    &[
        new_field_spec("rider_category_id", FieldKind::Id, REQUIRED),
        new_field_spec("rider_category_name", FieldKind::Text, REQUIRED),
        new_field_spec("is_default_fare_category", FieldKind::Enum(&[0, 1]), CONDITIONAL)
            .with_required_column(),
        new_field_spec("eligibility_url", FieldKind::Url, OPTIONAL),
    ],
);

pub(super) static FARE_MEDIA: FileSpec = new_file_spec(
    "fare_media.txt",
    OPTIONAL,
    &["fare_media_id"],
    &[
        new_field_spec("fare_media_id", FieldKind::Id, REQUIRED),
        new_field_spec("fare_media_name", FieldKind::Text, OPTIONAL),
        new_field_spec("fare_media_type", FieldKind::Enum(&[0, 1, 2, 3, 4]), REQUIRED),
    ],
);

pub(super) static FARE_PRODUCTS: FileSpec = new_file_spec(
    "fare_products.txt",
    OPTIONAL,
    &["fare_product_id", "rider_category_id", "fare_media_id"],
    &[
        new_field_spec("fare_product_id", FieldKind::Id, REQUIRED),
        new_field_spec("fare_product_name", FieldKind::Text, OPTIONAL),
        new_field_spec(
            "rider_category_id",
            FieldKind::Ref(&["rider_categories.rider_category_id"]),
            OPTIONAL,
        ),
        new_field_spec("fare_media_id", FieldKind::Ref(&["fare_media.fare_media_id"]), OPTIONAL),
        new_field_spec("amount", FieldKind::Amount, REQUIRED),
        new_field_spec("currency", FieldKind::Currency, REQUIRED),
    ],
);

pub(super) static FARE_LEG_RULES: FileSpec = new_file_spec(
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
        new_field_spec("leg_group_id", FieldKind::Id, OPTIONAL),
        new_field_spec(
            "network_id",
            FieldKind::Ref(&["routes.network_id", "networks.network_id"]),
            OPTIONAL,
        ),
        new_field_spec("from_area_id", FieldKind::Ref(&["areas.area_id"]), OPTIONAL),
        new_field_spec("to_area_id", FieldKind::Ref(&["areas.area_id"]), OPTIONAL),
        new_field_spec(
            "from_timeframe_group_id",
            FieldKind::Ref(&["timeframes.timeframe_group_id"]),
            OPTIONAL,
        ),
        new_field_spec(
            "to_timeframe_group_id",
            FieldKind::Ref(&["timeframes.timeframe_group_id"]),
            OPTIONAL,
        ),
        new_field_spec(
            "fare_product_id",
            FieldKind::Ref(&["fare_products.fare_product_id"]),
            REQUIRED,
        ),
        new_field_spec(
            "rule_priority",
            FieldKind::Integer(AllowedNumberSign::NonNegative),
            OPTIONAL,
        ),
    ],
);

pub(super) static FARE_LEG_JOIN_RULES: FileSpec = new_file_spec(
    "fare_leg_join_rules.txt",
    OPTIONAL,
    &[],
    &[
        new_field_spec(
            "from_network_id",
            FieldKind::Ref(&["routes.network_id", "networks.network_id"]),
            REQUIRED,
        ),
        new_field_spec(
            "to_network_id",
            FieldKind::Ref(&["routes.network_id", "networks.network_id"]),
            REQUIRED,
        ),
        new_field_spec("from_stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        new_field_spec("to_stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
    ],
);

pub(super) static FARE_TRANSFER_RULES: FileSpec = new_file_spec(
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
        new_field_spec(
            "from_leg_group_id",
            FieldKind::Ref(&["fare_leg_rules.leg_group_id"]),
            OPTIONAL,
        ),
        new_field_spec(
            "to_leg_group_id",
            FieldKind::Ref(&["fare_leg_rules.leg_group_id"]),
            OPTIONAL,
        ),
        // Valid values are -1 and positive numbers; a separate rule checks the others.
        new_field_spec("transfer_count", FieldKind::Integer(AllowedNumberSign::Any), CONDITIONAL),
        new_field_spec("duration_limit", FieldKind::Integer(AllowedNumberSign::Positive), OPTIONAL),
        new_field_spec("duration_limit_type", FieldKind::Enum(&[0, 1, 2, 3]), CONDITIONAL),
        new_field_spec("fare_transfer_type", FieldKind::Enum(&[0, 1, 2]), REQUIRED),
        new_field_spec(
            "fare_product_id",
            FieldKind::Ref(&["fare_products.fare_product_id"]),
            OPTIONAL,
        ),
    ],
);

pub(super) static AREAS: FileSpec = new_file_spec(
    "areas.txt",
    OPTIONAL,
    &["area_id"],
    &[
        new_field_spec("area_id", FieldKind::Id, REQUIRED),
        new_field_spec("area_name", FieldKind::Text, OPTIONAL),
    ],
);

pub(super) static STOP_AREAS: FileSpec = new_file_spec(
    "stop_areas.txt",
    OPTIONAL,
    &["area_id", "stop_id"],
    &[
        new_field_spec("area_id", FieldKind::Ref(&["areas.area_id"]), REQUIRED),
        new_field_spec("stop_id", FieldKind::Ref(&["stops.stop_id"]), REQUIRED),
    ],
);

pub(super) static NETWORKS: FileSpec = new_file_spec(
    "networks.txt",
    CONDITIONAL,
    &["network_id"],
    &[
        new_field_spec("network_id", FieldKind::Id, REQUIRED),
        new_field_spec("network_name", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
    ],
);

pub(super) static ROUTE_NETWORKS: FileSpec = new_file_spec(
    "route_networks.txt",
    CONDITIONAL,
    &["route_id"],
    &[
        new_field_spec("network_id", FieldKind::Ref(&["networks.network_id"]), REQUIRED),
        new_field_spec("route_id", FieldKind::Ref(&["routes.route_id"]), REQUIRED),
    ],
);
