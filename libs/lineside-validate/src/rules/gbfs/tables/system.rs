//! The fields of system-wide files: discovery, information, hours, regions, pricing and alerts.

use SpecVersion::{V1_0, V1_1, V2_0, V2_1, V2_2, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{AMOUNT, COUNT, FieldRule, FieldType, RecordIdKind, optional_field, required_field},
    version::SpecVersion,
};

/// From 3.0 on, discovery is one list. Before, each language has a list, which is checked by
/// itself.
pub(super) const DISCOVERY: &[FieldRule] = &[
    required_field("feeds", FieldType::List(1)).since_version(V3_0),
    required_field("feeds[]", FieldType::Object).since_version(V3_0),
    required_field("feeds[].name", FieldType::Text).since_version(V3_0),
    required_field("feeds[].url", FieldType::Url).since_version(V3_0),
    optional_field("*", FieldType::Object).until_version(V2_3),
    required_field("*.feeds", FieldType::List(1)).until_version(V2_3),
    required_field("*.feeds[]", FieldType::Object).until_version(V2_3),
    required_field("*.feeds[].name", FieldType::Text).until_version(V2_3),
    required_field("*.feeds[].url", FieldType::Url).until_version(V2_3),
];

pub(super) const VERSIONS: &[FieldRule] = &[
    required_field("versions", FieldType::List(0)),
    required_field("versions[]", FieldType::Object),
    required_field("versions[].version", FieldType::VersionNumber),
    required_field("versions[].url", FieldType::Url),
];

pub(super) const MANIFEST: &[FieldRule] = &[
    required_field("datasets", FieldType::List(0)),
    required_field("datasets[]", FieldType::Object),
    required_field("datasets[].system_id", FieldType::Key(RecordIdKind::Dataset)),
    required_field("datasets[].versions", FieldType::List(0)),
    required_field("datasets[].versions[]", FieldType::Object),
    required_field("datasets[].versions[].version", FieldType::VersionNumber),
    required_field("datasets[].versions[].url", FieldType::Url),
    optional_field("datasets[].area", FieldType::Area).since_version(V3_1),
    optional_field("datasets[].country_code", FieldType::Country).since_version(V3_1),
];

pub(super) const INFORMATION: &[FieldRule] = &[
    required_field("system_id", FieldType::Text),
    required_field("language", FieldType::Language).until_version(V2_3),
    required_field("languages", FieldType::List(0)).since_version(V3_0),
    required_field("languages[]", FieldType::Language).since_version(V3_0),
    required_field("name", FieldType::Text).until_version(V2_3),
    required_field("name", FieldType::Texts).since_version(V3_0),
    required_field("opening_hours", FieldType::Text).since_version(V3_0),
    optional_field("short_name", FieldType::Text).until_version(V2_3),
    optional_field("short_name", FieldType::Texts).since_version(V3_0),
    optional_field("operator", FieldType::Text).until_version(V2_3),
    optional_field("operator", FieldType::Texts).since_version(V3_0),
    optional_field("url", FieldType::Text).until_version(V1_0),
    optional_field("url", FieldType::Url).since_version(V1_1),
    optional_field("purchase_url", FieldType::Text).until_version(V1_0),
    optional_field("purchase_url", FieldType::Url).since_version(V1_1),
    optional_field("start_date", FieldType::Date),
    optional_field("termination_date", FieldType::Date).since_version(V3_0),
    optional_field("phone_number", FieldType::Text).until_version(V2_3),
    optional_field("phone_number", FieldType::Phone).since_version(V3_0),
    optional_field("email", FieldType::Text).until_version(V1_0),
    optional_field("email", FieldType::Mail).since_version(V1_1),
    optional_field("feed_contact_email", FieldType::Mail).since_version(V1_1).until_version(V2_3),
    required_field("feed_contact_email", FieldType::Mail).since_version(V3_0),
    optional_field("manifest_url", FieldType::Url).since_version(V3_0),
    required_field("timezone", FieldType::Zone),
    optional_field("license_id", FieldType::Text).since_version(V3_0),
    optional_field("license_url", FieldType::Text).until_version(V1_0),
    optional_field("license_url", FieldType::Url).since_version(V1_1),
    optional_field("attribution_organization_name", FieldType::Texts).since_version(V3_0),
    optional_field("attribution_url", FieldType::Url).since_version(V3_0),
    optional_field("brand_assets", FieldType::Object).since_version(V2_3),
    required_field("brand_assets.brand_last_modified", FieldType::Date).since_version(V2_3),
    optional_field("brand_assets.brand_terms_url", FieldType::Url).since_version(V2_3),
    required_field("brand_assets.brand_image_url", FieldType::Url).since_version(V2_3),
    optional_field("brand_assets.brand_image_url_dark", FieldType::Url).since_version(V2_3),
    optional_field("brand_assets.color", FieldType::Color).since_version(V2_3),
    optional_field("terms_url", FieldType::Url).since_version(V2_3).until_version(V2_3),
    optional_field("terms_url", FieldType::Urls).since_version(V3_0),
    optional_field("terms_last_updated", FieldType::Date).since_version(V2_3),
    optional_field("privacy_url", FieldType::Url).since_version(V2_3).until_version(V2_3),
    optional_field("privacy_url", FieldType::Urls).since_version(V3_0),
    optional_field("privacy_last_updated", FieldType::Date).since_version(V2_3),
    optional_field("rental_apps", FieldType::Object).since_version(V1_1),
    optional_field("rental_apps.android", FieldType::Object).since_version(V1_1),
    required_field("rental_apps.android.store_uri", FieldType::Url).since_version(V1_1),
    required_field("rental_apps.android.discovery_uri", FieldType::Url).since_version(V1_1),
    optional_field("rental_apps.ios", FieldType::Object).since_version(V1_1),
    required_field("rental_apps.ios.store_uri", FieldType::Url).since_version(V1_1),
    required_field("rental_apps.ios.discovery_uri", FieldType::Url).since_version(V1_1),
];

pub(super) const REGIONS: &[FieldRule] = &[
    required_field("regions", FieldType::List(0)),
    required_field("regions[]", FieldType::Object),
    required_field("regions[].region_id", FieldType::Key(RecordIdKind::Region)),
    required_field("regions[].name", FieldType::Text).until_version(V2_3),
    required_field("regions[].name", FieldType::Texts).since_version(V3_0),
];

pub(super) const PLANS: &[FieldRule] = &[
    required_field("plans", FieldType::List(0)),
    required_field("plans[]", FieldType::Object),
    required_field("plans[].plan_id", FieldType::Key(RecordIdKind::Plan)),
    optional_field("plans[].url", FieldType::Text).until_version(V1_0),
    optional_field("plans[].url", FieldType::Url).since_version(V1_1),
    required_field("plans[].name", FieldType::Text).until_version(V2_3),
    required_field("plans[].name", FieldType::Texts).since_version(V3_0),
    required_field("plans[].currency", FieldType::Currency),
    required_field("plans[].price", AMOUNT),
    required_field("plans[].is_taxable", FieldType::Flag),
    required_field("plans[].description", FieldType::Text).until_version(V2_3),
    required_field("plans[].description", FieldType::Texts).since_version(V3_0),
    optional_field("plans[].per_km_pricing", FieldType::List(0)).since_version(V2_2),
    optional_field("plans[].per_km_pricing[]", FieldType::Object).since_version(V2_2),
    required_field("plans[].per_km_pricing[].start", COUNT).since_version(V2_2),
    required_field("plans[].per_km_pricing[].rate", FieldType::Number(f64::MIN, f64::MAX))
        .since_version(V2_2),
    required_field("plans[].per_km_pricing[].interval", COUNT).since_version(V2_2),
    optional_field("plans[].per_km_pricing[].end", COUNT).since_version(V2_2),
    optional_field("plans[].per_min_pricing", FieldType::List(0)).since_version(V2_2),
    optional_field("plans[].per_min_pricing[]", FieldType::Object).since_version(V2_2),
    required_field("plans[].per_min_pricing[].start", COUNT).since_version(V2_2),
    required_field("plans[].per_min_pricing[].rate", FieldType::Number(f64::MIN, f64::MAX))
        .since_version(V2_2),
    required_field("plans[].per_min_pricing[].interval", COUNT).since_version(V2_2),
    optional_field("plans[].per_min_pricing[].end", COUNT).since_version(V2_2),
    optional_field("plans[].surge_pricing", FieldType::Flag).since_version(V2_2),
    optional_field("plans[].reservation_price_per_min", AMOUNT).since_version(V3_1),
    optional_field("plans[].reservation_price_flat_rate", AMOUNT).since_version(V3_1),
    optional_field("plans[].fare_capping", FieldType::Object).since_version(V3_1),
    required_field("plans[].fare_capping.duration", COUNT).since_version(V3_1),
    required_field("plans[].fare_capping.price", AMOUNT).since_version(V3_1),
];

const USERS: FieldType = FieldType::Word(&["member", "nonmember"]);
const DAYS: FieldType = FieldType::Word(&["mon", "tue", "wed", "thu", "fri", "sat", "sun"]);

pub(super) const HOURS: &[FieldRule] = &[
    required_field("rental_hours", FieldType::List(0)),
    required_field("rental_hours[]", FieldType::Object),
    required_field("rental_hours[].user_types", FieldType::List(1)).since_version(V1_1),
    optional_field("rental_hours[].user_types[]", USERS).since_version(V1_1),
    required_field("rental_hours[].days", FieldType::List(1)),
    optional_field("rental_hours[].days[]", DAYS),
    required_field("rental_hours[].start_time", FieldType::Time),
    required_field("rental_hours[].end_time", FieldType::Time),
];

pub(super) const CALENDAR: &[FieldRule] = &[
    required_field("calendars", FieldType::List(0)),
    required_field("calendars[]", FieldType::Object),
    required_field("calendars[].start_month", FieldType::Whole(1, 12)),
    required_field("calendars[].start_day", FieldType::Whole(1, 31)),
    optional_field("calendars[].start_year", FieldType::Whole(1_000, 9_999)),
    required_field("calendars[].end_month", FieldType::Whole(1, 12)),
    required_field("calendars[].end_day", FieldType::Whole(1, 31)),
    optional_field("calendars[].end_year", FieldType::Whole(1_000, 9_999)),
];

const ALERT_BEFORE: FieldType =
    FieldType::Word(&["SYSTEM_CLOSURE", "STATION_CLOSURE", "STATION_MOVE", "OTHER"]);
const ALERT: FieldType =
    FieldType::Word(&["system_closure", "station_closure", "station_move", "other"]);

/// Stations and regions of alerts are plain texts: closed ones have already left the other files.
pub(super) const ALERTS: &[FieldRule] = &[
    required_field("alerts", FieldType::List(0)),
    required_field("alerts[]", FieldType::Object),
    required_field("alerts[].alert_id", FieldType::Key(RecordIdKind::Alert)),
    required_field("alerts[].type", ALERT_BEFORE).until_version(V2_0),
    required_field("alerts[].type", ALERT).since_version(V2_1),
    optional_field("alerts[].times", FieldType::List(0)),
    optional_field("alerts[].times[]", FieldType::Object),
    optional_field("alerts[].times[].start", FieldType::Instant),
    optional_field("alerts[].times[].end", FieldType::Instant),
    optional_field("alerts[].station_ids", FieldType::List(0)),
    optional_field("alerts[].station_ids[]", FieldType::Text),
    optional_field("alerts[].region_ids", FieldType::List(0)),
    optional_field("alerts[].region_ids[]", FieldType::Text),
    optional_field("alerts[].url", FieldType::Text).until_version(V1_0),
    optional_field("alerts[].url", FieldType::Url).since_version(V1_1).until_version(V2_3),
    optional_field("alerts[].url", FieldType::Urls).since_version(V3_0),
    required_field("alerts[].summary", FieldType::Text).until_version(V2_3),
    required_field("alerts[].summary", FieldType::Texts).since_version(V3_0),
    optional_field("alerts[].description", FieldType::Text).until_version(V2_3),
    optional_field("alerts[].description", FieldType::Texts).since_version(V3_0),
    optional_field("alerts[].last_updated", FieldType::Instant),
];
