//! Transfers, pathways, demand-responsive services, and what the feed says about itself.

use super::{FileSpec, Kind, Presence, Sign, field, file};

const REQUIRED: Presence = Presence::Required;
const CONDITIONAL: Presence = Presence::Conditional;
const RECOMMENDED: Presence = Presence::Recommended;
const OPTIONAL: Presence = Presence::Optional;

pub(super) static TRANSFERS: FileSpec = file(
    "transfers.txt",
    OPTIONAL,
    &["from_stop_id", "to_stop_id", "from_trip_id", "to_trip_id", "from_route_id", "to_route_id"],
    &[
        field("from_stop_id", Kind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field("to_stop_id", Kind::Ref(&["stops.stop_id"]), CONDITIONAL),
        field("from_route_id", Kind::Ref(&["routes.route_id"]), OPTIONAL),
        field("to_route_id", Kind::Ref(&["routes.route_id"]), OPTIONAL),
        field("from_trip_id", Kind::Ref(&["trips.trip_id"]), CONDITIONAL),
        field("to_trip_id", Kind::Ref(&["trips.trip_id"]), CONDITIONAL),
        field("transfer_type", Kind::Enum(&[0, 1, 2, 3, 4, 5]), CONDITIONAL).column_required(),
        field("min_transfer_time", Kind::Integer(Sign::NonNegative), OPTIONAL),
    ],
);

pub(super) static PATHWAYS: FileSpec = file(
    "pathways.txt",
    OPTIONAL,
    &["pathway_id"],
    &[
        field("pathway_id", Kind::Id, REQUIRED),
        field("from_stop_id", Kind::Ref(&["stops.stop_id"]), REQUIRED),
        field("to_stop_id", Kind::Ref(&["stops.stop_id"]), REQUIRED),
        field("pathway_mode", Kind::Enum(&[1, 2, 3, 4, 5, 6, 7]), REQUIRED),
        field("is_bidirectional", Kind::Enum(&[0, 1]), REQUIRED),
        field("length", Kind::Float(Sign::NonNegative), OPTIONAL),
        field("traversal_time", Kind::Integer(Sign::Positive), OPTIONAL),
        field("stair_count", Kind::Integer(Sign::NonZero), OPTIONAL),
        field("max_slope", Kind::Float(Sign::Any), OPTIONAL),
        field("min_width", Kind::Float(Sign::Positive), OPTIONAL),
        field("signposted_as", Kind::Text, OPTIONAL).mixed_case(),
        field("reversed_signposted_as", Kind::Text, OPTIONAL).mixed_case(),
    ],
);

pub(super) static LEVELS: FileSpec = file(
    "levels.txt",
    CONDITIONAL,
    &["level_id"],
    &[
        field("level_id", Kind::Id, REQUIRED),
        field("level_index", Kind::Float(Sign::Any), REQUIRED),
        field("level_name", Kind::Text, OPTIONAL).mixed_case(),
    ],
);

pub(super) static LOCATION_GROUPS: FileSpec = file(
    "location_groups.txt",
    OPTIONAL,
    &["location_group_id"],
    &[
        field("location_group_id", Kind::Id, REQUIRED),
        field("location_group_name", Kind::Text, OPTIONAL).mixed_case(),
    ],
);

pub(super) static LOCATION_GROUP_STOPS: FileSpec = file(
    "location_group_stops.txt",
    OPTIONAL,
    &[],
    &[
        field("location_group_id", Kind::Ref(&["location_groups.location_group_id"]), REQUIRED),
        field("stop_id", Kind::Ref(&["stops.stop_id"]), REQUIRED),
    ],
);

pub(super) static BOOKING_RULES: FileSpec = file(
    "booking_rules.txt",
    OPTIONAL,
    &["booking_rule_id"],
    &[
        field("booking_rule_id", Kind::Id, REQUIRED),
        field("booking_type", Kind::Enum(&[0, 1, 2]), REQUIRED),
        field("prior_notice_duration_min", Kind::Integer(Sign::Any), CONDITIONAL),
        field("prior_notice_duration_max", Kind::Integer(Sign::Any), CONDITIONAL),
        field("prior_notice_last_day", Kind::Integer(Sign::Any), CONDITIONAL),
        field("prior_notice_last_time", Kind::Time, CONDITIONAL),
        field("prior_notice_start_day", Kind::Integer(Sign::Any), CONDITIONAL),
        field("prior_notice_start_time", Kind::Time, CONDITIONAL),
        field("prior_notice_service_id", Kind::Ref(&["calendar.service_id"]), CONDITIONAL),
        field("message", Kind::Text, OPTIONAL).mixed_case(),
        field("pickup_message", Kind::Text, OPTIONAL).mixed_case(),
        field("drop_off_message", Kind::Text, OPTIONAL).mixed_case(),
        field("phone_number", Kind::Phone, OPTIONAL),
        field("info_url", Kind::Url, OPTIONAL),
        field("booking_url", Kind::Url, OPTIONAL),
    ],
);

pub(super) static TRANSLATIONS: FileSpec = file(
    "translations.txt",
    OPTIONAL,
    &["table_name", "field_name", "language", "record_id", "record_sub_id", "field_value"],
    &[
        field("table_name", Kind::Text, REQUIRED),
        field("field_name", Kind::Text, REQUIRED),
        field("language", Kind::Language, REQUIRED),
        field("translation", Kind::Text, REQUIRED),
        field("record_id", Kind::Id, CONDITIONAL),
        field("record_sub_id", Kind::Id, CONDITIONAL),
        field("field_value", Kind::Text, CONDITIONAL),
    ],
);

pub(super) static FEED_INFO: FileSpec = file(
    "feed_info.txt",
    CONDITIONAL,
    &[],
    &[
        field("feed_publisher_name", Kind::Text, REQUIRED),
        field("feed_publisher_url", Kind::Url, REQUIRED),
        field("feed_lang", Kind::Language, REQUIRED),
        field("default_lang", Kind::Language, OPTIONAL),
        field("feed_start_date", Kind::Date, RECOMMENDED),
        field("feed_end_date", Kind::Date, RECOMMENDED),
        field("feed_version", Kind::Text, RECOMMENDED),
        field("feed_contact_email", Kind::Email, OPTIONAL),
        field("feed_contact_url", Kind::Url, OPTIONAL),
    ],
);

pub(super) static ATTRIBUTIONS: FileSpec = file(
    "attributions.txt",
    OPTIONAL,
    &["attribution_id"],
    &[
        field("attribution_id", Kind::Id, OPTIONAL),
        field("agency_id", Kind::Ref(&["agency.agency_id"]), OPTIONAL),
        field("route_id", Kind::Ref(&["routes.route_id"]), OPTIONAL),
        field("trip_id", Kind::Ref(&["trips.trip_id"]), OPTIONAL),
        field("organization_name", Kind::Text, REQUIRED),
        field("is_producer", Kind::Enum(&[0, 1]), OPTIONAL),
        field("is_operator", Kind::Enum(&[0, 1]), OPTIONAL),
        field("is_authority", Kind::Enum(&[0, 1]), OPTIONAL),
        field("attribution_url", Kind::Url, OPTIONAL),
        field("attribution_email", Kind::Email, OPTIONAL),
        field("attribution_phone", Kind::Phone, OPTIONAL),
    ],
);
