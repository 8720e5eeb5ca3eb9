//! Tables of transfers, pathways, demand-responsive services, feed information and the like.

use super::{FieldKind, FieldPresence, FileSpec, NumberSign, field_spec, file_spec};

const REQUIRED: FieldPresence = FieldPresence::Required;
const CONDITIONAL: FieldPresence = FieldPresence::Conditional;
const RECOMMENDED: FieldPresence = FieldPresence::Recommended;
const OPTIONAL: FieldPresence = FieldPresence::Optional;

pub(super) static TRANSFERS: FileSpec = file_spec(
    "transfers.txt",
    OPTIONAL,
    &["from_stop_id", "to_stop_id", "from_trip_id", "to_trip_id", "from_route_id", "to_route_id"],
    &[
        field_spec("from_stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field_spec("to_stop_id", FieldKind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field_spec("from_route_id", FieldKind::Ref(&["routes.route_id"]), OPTIONAL),
        field_spec("to_route_id", FieldKind::Ref(&["routes.route_id"]), OPTIONAL),
        field_spec("from_trip_id", FieldKind::Ref(&["trips.trip_id"]), CONDITIONAL),
        field_spec("to_trip_id", FieldKind::Ref(&["trips.trip_id"]), CONDITIONAL),
        field_spec("transfer_type", FieldKind::Enum(&[0, 1, 2, 3, 4, 5]), CONDITIONAL)
            .with_required_column(),
        field_spec("min_transfer_time", FieldKind::Integer(NumberSign::NonNegative), OPTIONAL),
    ],
);

pub(super) static PATHWAYS: FileSpec = file_spec(
    "pathways.txt",
    OPTIONAL,
    &["pathway_id"],
    &[
        field_spec("pathway_id", FieldKind::Id, REQUIRED),
        field_spec("from_stop_id", FieldKind::Ref(&["stops.stop_id"]), REQUIRED),
        field_spec("to_stop_id", FieldKind::Ref(&["stops.stop_id"]), REQUIRED),
        field_spec("pathway_mode", FieldKind::Enum(&[1, 2, 3, 4, 5, 6, 7]), REQUIRED),
        field_spec("is_bidirectional", FieldKind::Enum(&[0, 1]), REQUIRED),
        field_spec("length", FieldKind::Float(NumberSign::NonNegative), OPTIONAL),
        field_spec("traversal_time", FieldKind::Integer(NumberSign::Positive), OPTIONAL),
        field_spec("stair_count", FieldKind::Integer(NumberSign::NonZero), OPTIONAL),
        field_spec("max_slope", FieldKind::Float(NumberSign::Any), OPTIONAL),
        field_spec("min_width", FieldKind::Float(NumberSign::Positive), OPTIONAL),
        field_spec("signposted_as", FieldKind::Text, OPTIONAL).with_mixed_case(),
        field_spec("reversed_signposted_as", FieldKind::Text, OPTIONAL).with_mixed_case(),
    ],
);

pub(super) static LEVELS: FileSpec = file_spec(
    "levels.txt",
    CONDITIONAL,
    &["level_id"],
    &[
        field_spec("level_id", FieldKind::Id, REQUIRED),
        field_spec("level_index", FieldKind::Float(NumberSign::Any), REQUIRED),
        field_spec("level_name", FieldKind::Text, OPTIONAL).with_mixed_case(),
    ],
);

pub(super) static LOCATION_GROUPS: FileSpec = file_spec(
    "location_groups.txt",
    OPTIONAL,
    &["location_group_id"],
    &[
        field_spec("location_group_id", FieldKind::Id, REQUIRED),
        field_spec("location_group_name", FieldKind::Text, OPTIONAL).with_mixed_case(),
    ],
);

pub(super) static LOCATION_GROUP_STOPS: FileSpec = file_spec(
    "location_group_stops.txt",
    OPTIONAL,
    &[],
    &[
        field_spec(
            "location_group_id",
            FieldKind::Ref(&["location_groups.location_group_id"]),
            REQUIRED,
        ),
        field_spec("stop_id", FieldKind::Ref(&["stops.stop_id"]), REQUIRED),
    ],
);

pub(super) static BOOKING_RULES: FileSpec = file_spec(
    "booking_rules.txt",
    OPTIONAL,
    &["booking_rule_id"],
    &[
        field_spec("booking_rule_id", FieldKind::Id, REQUIRED),
        field_spec("booking_type", FieldKind::Enum(&[0, 1, 2]), REQUIRED),
        field_spec("prior_notice_duration_min", FieldKind::Integer(NumberSign::Any), CONDITIONAL),
        field_spec("prior_notice_duration_max", FieldKind::Integer(NumberSign::Any), CONDITIONAL),
        field_spec("prior_notice_last_day", FieldKind::Integer(NumberSign::Any), CONDITIONAL),
        field_spec("prior_notice_last_time", FieldKind::Time, CONDITIONAL),
        field_spec("prior_notice_start_day", FieldKind::Integer(NumberSign::Any), CONDITIONAL),
        field_spec("prior_notice_start_time", FieldKind::Time, CONDITIONAL),
        field_spec(
            "prior_notice_service_id",
            FieldKind::Ref(&["calendar.service_id"]),
            CONDITIONAL,
        ),
        field_spec("message", FieldKind::Text, OPTIONAL).with_mixed_case(),
        field_spec("pickup_message", FieldKind::Text, OPTIONAL).with_mixed_case(),
        field_spec("drop_off_message", FieldKind::Text, OPTIONAL).with_mixed_case(),
        field_spec("phone_number", FieldKind::Phone, OPTIONAL),
        field_spec("info_url", FieldKind::Url, OPTIONAL),
        field_spec("booking_url", FieldKind::Url, OPTIONAL),
    ],
);

pub(super) static TRANSLATIONS: FileSpec = file_spec(
    "translations.txt",
    OPTIONAL,
    &["table_name", "field_name", "language", "record_id", "record_sub_id", "field_value"],
    &[
        field_spec("table_name", FieldKind::Text, REQUIRED),
        field_spec("field_name", FieldKind::Text, REQUIRED),
        field_spec("language", FieldKind::Language, REQUIRED),
        field_spec("translation", FieldKind::Text, REQUIRED),
        field_spec("record_id", FieldKind::Id, CONDITIONAL),
        field_spec("record_sub_id", FieldKind::Id, CONDITIONAL),
        field_spec("field_value", FieldKind::Text, CONDITIONAL),
    ],
);

pub(super) static FEED_INFO: FileSpec = file_spec(
    "feed_info.txt",
    CONDITIONAL,
    &[],
    &[
        field_spec("feed_publisher_name", FieldKind::Text, REQUIRED),
        field_spec("feed_publisher_url", FieldKind::Url, REQUIRED),
        field_spec("feed_lang", FieldKind::Language, REQUIRED),
        field_spec("default_lang", FieldKind::Language, OPTIONAL),
        field_spec("feed_start_date", FieldKind::Date, RECOMMENDED),
        field_spec("feed_end_date", FieldKind::Date, RECOMMENDED),
        field_spec("feed_version", FieldKind::Text, RECOMMENDED),
        field_spec("feed_contact_email", FieldKind::Email, OPTIONAL),
        field_spec("feed_contact_url", FieldKind::Url, OPTIONAL),
    ],
);

pub(super) static ATTRIBUTIONS: FileSpec = file_spec(
    "attributions.txt",
    OPTIONAL,
    &["attribution_id"],
    &[
        field_spec("attribution_id", FieldKind::Id, OPTIONAL),
        field_spec("agency_id", FieldKind::Ref(&["agency.agency_id"]), OPTIONAL),
        field_spec("route_id", FieldKind::Ref(&["routes.route_id"]), OPTIONAL),
        field_spec("trip_id", FieldKind::Ref(&["trips.trip_id"]), OPTIONAL),
        field_spec("organization_name", FieldKind::Text, REQUIRED),
        field_spec("is_producer", FieldKind::Enum(&[0, 1]), OPTIONAL),
        field_spec("is_operator", FieldKind::Enum(&[0, 1]), OPTIONAL),
        field_spec("is_authority", FieldKind::Enum(&[0, 1]), OPTIONAL),
        field_spec("attribution_url", FieldKind::Url, OPTIONAL),
        field_spec("attribution_email", FieldKind::Email, OPTIONAL),
        field_spec("attribution_phone", FieldKind::Phone, OPTIONAL),
    ],
);
