//! Tables of transfers, pathways, demand-responsive services, feed information and the like.

use super::{AllowedNumberSign, FieldKind, FieldPresence, FileSpec, new_field_spec, new_file_spec};

const REQUIRED: FieldPresence = FieldPresence::Required;
const CONDITIONAL: FieldPresence = FieldPresence::Conditional;
const RECOMMENDED: FieldPresence = FieldPresence::Recommended;
const OPTIONAL: FieldPresence = FieldPresence::Optional;

pub(super) static TRANSFERS: FileSpec = new_file_spec(
    "transfers.txt",
    OPTIONAL,
    &["from_stop_id", "to_stop_id", "from_trip_id", "to_trip_id", "from_route_id", "to_route_id"],
    &[
        new_field_spec("from_stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        new_field_spec("to_stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        new_field_spec("from_route_id", FieldKind::Ref(&["routes.route_id"]), OPTIONAL),
        new_field_spec("to_route_id", FieldKind::Ref(&["routes.route_id"]), OPTIONAL),
        new_field_spec("from_trip_id", FieldKind::Ref(&["trips.trip_id"]), CONDITIONAL),
        new_field_spec("to_trip_id", FieldKind::Ref(&["trips.trip_id"]), CONDITIONAL),
        new_field_spec("transfer_type", FieldKind::Enum(&[0, 1, 2, 3, 4, 5]), CONDITIONAL)
            .with_required_column(),
        new_field_spec(
            "min_transfer_time",
            FieldKind::Integer(AllowedNumberSign::NonNegative),
            OPTIONAL,
        ),
    ],
);

pub(super) static PATHWAYS: FileSpec = new_file_spec(
    "pathways.txt",
    OPTIONAL,
    &["pathway_id"],
    &[
        new_field_spec("pathway_id", FieldKind::Id, REQUIRED),
        new_field_spec("from_stop_id", FieldKind::Ref(&["stops.stop_id"]), REQUIRED),
        new_field_spec("to_stop_id", FieldKind::Ref(&["stops.stop_id"]), REQUIRED),
        new_field_spec("pathway_mode", FieldKind::Enum(&[1, 2, 3, 4, 5, 6, 7]), REQUIRED),
        new_field_spec("is_bidirectional", FieldKind::Enum(&[0, 1]), REQUIRED),
        new_field_spec("length", FieldKind::Float(AllowedNumberSign::NonNegative), OPTIONAL),
        new_field_spec("traversal_time", FieldKind::Integer(AllowedNumberSign::Positive), OPTIONAL),
        new_field_spec("stair_count", FieldKind::Integer(AllowedNumberSign::NonZero), OPTIONAL),
        new_field_spec("max_slope", FieldKind::Float(AllowedNumberSign::Any), OPTIONAL),
        new_field_spec("min_width", FieldKind::Float(AllowedNumberSign::Positive), OPTIONAL),
        new_field_spec("signposted_as", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
        new_field_spec("reversed_signposted_as", FieldKind::Text, OPTIONAL)
            .with_recommended_mixed_case(),
    ],
);

pub(super) static LEVELS: FileSpec = new_file_spec(
    "levels.txt",
    CONDITIONAL,
    &["level_id"],
    &[
        new_field_spec("level_id", FieldKind::Id, REQUIRED),
        new_field_spec("level_index", FieldKind::Float(AllowedNumberSign::Any), REQUIRED),
        new_field_spec("level_name", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
    ],
);

pub(super) static LOCATION_GROUPS: FileSpec = new_file_spec(
    "location_groups.txt",
    OPTIONAL,
    &["location_group_id"],
    &[
        new_field_spec("location_group_id", FieldKind::Id, REQUIRED),
        new_field_spec("location_group_name", FieldKind::Text, OPTIONAL)
            .with_recommended_mixed_case(),
    ],
);

pub(super) static LOCATION_GROUP_STOPS: FileSpec = new_file_spec(
    "location_group_stops.txt",
    OPTIONAL,
    &[],
    &[
        new_field_spec(
            "location_group_id",
            FieldKind::Ref(&["location_groups.location_group_id"]),
            REQUIRED,
        ),
        new_field_spec("stop_id", FieldKind::Ref(&["stops.stop_id"]), REQUIRED),
    ],
);

pub(super) static BOOKING_RULES: FileSpec = new_file_spec(
    "booking_rules.txt",
    OPTIONAL,
    &["booking_rule_id"],
    &[
        new_field_spec("booking_rule_id", FieldKind::Id, REQUIRED),
        new_field_spec("booking_type", FieldKind::Enum(&[0, 1, 2]), REQUIRED),
        new_field_spec(
            "prior_notice_duration_min",
            FieldKind::Integer(AllowedNumberSign::Any),
            CONDITIONAL,
        ),
        new_field_spec(
            "prior_notice_duration_max",
            FieldKind::Integer(AllowedNumberSign::Any),
            CONDITIONAL,
        ),
        new_field_spec(
            "prior_notice_last_day",
            FieldKind::Integer(AllowedNumberSign::Any),
            CONDITIONAL,
        ),
        new_field_spec("prior_notice_last_time", FieldKind::Time, CONDITIONAL),
        new_field_spec(
            "prior_notice_start_day",
            FieldKind::Integer(AllowedNumberSign::Any),
            CONDITIONAL,
        ),
        new_field_spec("prior_notice_start_time", FieldKind::Time, CONDITIONAL),
        new_field_spec(
            "prior_notice_service_id",
            FieldKind::Ref(&["calendar.service_id"]),
            CONDITIONAL,
        ),
        new_field_spec("message", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
        new_field_spec("pickup_message", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
        new_field_spec("drop_off_message", FieldKind::Text, OPTIONAL).with_recommended_mixed_case(),
        new_field_spec("phone_number", FieldKind::Phone, OPTIONAL),
        new_field_spec("info_url", FieldKind::Url, OPTIONAL),
        new_field_spec("booking_url", FieldKind::Url, OPTIONAL),
    ],
);

pub(super) static TRANSLATIONS: FileSpec = new_file_spec(
    "translations.txt",
    OPTIONAL,
    &["table_name", "field_name", "language", "record_id", "record_sub_id", "field_value"],
    &[
        new_field_spec("table_name", FieldKind::Text, REQUIRED),
        new_field_spec("field_name", FieldKind::Text, REQUIRED),
        new_field_spec("language", FieldKind::Language, REQUIRED),
        new_field_spec("translation", FieldKind::Text, REQUIRED),
        new_field_spec("record_id", FieldKind::Id, CONDITIONAL),
        new_field_spec("record_sub_id", FieldKind::Id, CONDITIONAL),
        new_field_spec("field_value", FieldKind::Text, CONDITIONAL),
    ],
);

pub(super) static FEED_INFO: FileSpec = new_file_spec(
    "feed_info.txt",
    CONDITIONAL,
    &[],
    &[
        new_field_spec("feed_publisher_name", FieldKind::Text, REQUIRED),
        new_field_spec("feed_publisher_url", FieldKind::Url, REQUIRED),
        new_field_spec("feed_lang", FieldKind::Language, REQUIRED),
        new_field_spec("default_lang", FieldKind::Language, OPTIONAL),
        new_field_spec("feed_start_date", FieldKind::Date, RECOMMENDED),
        new_field_spec("feed_end_date", FieldKind::Date, RECOMMENDED),
        new_field_spec("feed_version", FieldKind::Text, RECOMMENDED),
        new_field_spec("feed_contact_email", FieldKind::Email, OPTIONAL),
        new_field_spec("feed_contact_url", FieldKind::Url, OPTIONAL),
    ],
);

pub(super) static ATTRIBUTIONS: FileSpec = new_file_spec(
    "attributions.txt",
    OPTIONAL,
    &["attribution_id"],
    &[
        new_field_spec("attribution_id", FieldKind::Id, OPTIONAL),
        new_field_spec("agency_id", FieldKind::Ref(&["agency.agency_id"]), OPTIONAL),
        new_field_spec("route_id", FieldKind::Ref(&["routes.route_id"]), OPTIONAL),
        new_field_spec("trip_id", FieldKind::Ref(&["trips.trip_id"]), OPTIONAL),
        new_field_spec("organization_name", FieldKind::Text, REQUIRED),
        new_field_spec("is_producer", FieldKind::Enum(&[0, 1]), OPTIONAL),
        new_field_spec("is_operator", FieldKind::Enum(&[0, 1]), OPTIONAL),
        new_field_spec("is_authority", FieldKind::Enum(&[0, 1]), OPTIONAL),
        new_field_spec("attribution_url", FieldKind::Url, OPTIONAL),
        new_field_spec("attribution_email", FieldKind::Email, OPTIONAL),
        new_field_spec("attribution_phone", FieldKind::Phone, OPTIONAL),
    ],
);
