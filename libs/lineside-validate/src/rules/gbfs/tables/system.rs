//! The fields of system-wide files: discovery, information, hours, regions, pricing and alerts.

use GbfsVersion::{V1_0, V1_1, V2_0, V2_1, V2_2, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{
        AMOUNT, COUNT, GbfsFieldRule, GbfsFieldType, RecordIdKind, optional_field, required_field,
    },
    version::GbfsVersion,
};

/// From 3.0 on, discovery is one list. Before, each language has a list, which is checked by
/// itself.
pub(super) const DISCOVERY: &[GbfsFieldRule] = &[
    required_field("feeds", GbfsFieldType::List(1)).since_version(V3_0),
    required_field("feeds[]", GbfsFieldType::Object).since_version(V3_0),
    required_field("feeds[].name", GbfsFieldType::Text).since_version(V3_0),
    required_field("feeds[].url", GbfsFieldType::Url).since_version(V3_0),
    optional_field("*", GbfsFieldType::Object).until_version(V2_3),
    required_field("*.feeds", GbfsFieldType::List(1)).until_version(V2_3),
    required_field("*.feeds[]", GbfsFieldType::Object).until_version(V2_3),
    required_field("*.feeds[].name", GbfsFieldType::Text).until_version(V2_3),
    required_field("*.feeds[].url", GbfsFieldType::Url).until_version(V2_3),
];

pub(super) const VERSIONS: &[GbfsFieldRule] = &[
    required_field("versions", GbfsFieldType::List(0)),
    required_field("versions[]", GbfsFieldType::Object),
    required_field("versions[].version", GbfsFieldType::VersionNumber),
    required_field("versions[].url", GbfsFieldType::Url),
];

pub(super) const MANIFEST: &[GbfsFieldRule] = &[
    required_field("datasets", GbfsFieldType::List(0)),
    required_field("datasets[]", GbfsFieldType::Object),
    required_field("datasets[].system_id", GbfsFieldType::Key(RecordIdKind::Dataset)),
    required_field("datasets[].versions", GbfsFieldType::List(0)),
    required_field("datasets[].versions[]", GbfsFieldType::Object),
    required_field("datasets[].versions[].version", GbfsFieldType::VersionNumber),
    required_field("datasets[].versions[].url", GbfsFieldType::Url),
    optional_field("datasets[].area", GbfsFieldType::Area).since_version(V3_1),
    optional_field("datasets[].country_code", GbfsFieldType::Country).since_version(V3_1),
];

pub(super) const INFORMATION: &[GbfsFieldRule] = &[
    required_field("system_id", GbfsFieldType::Text),
    required_field("language", GbfsFieldType::Language).until_version(V2_3),
    required_field("languages", GbfsFieldType::List(0)).since_version(V3_0),
    required_field("languages[]", GbfsFieldType::Language).since_version(V3_0),
    required_field("name", GbfsFieldType::Text).until_version(V2_3),
    required_field("name", GbfsFieldType::Texts).since_version(V3_0),
    required_field("opening_hours", GbfsFieldType::Text).since_version(V3_0),
    optional_field("short_name", GbfsFieldType::Text).until_version(V2_3),
    optional_field("short_name", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("operator", GbfsFieldType::Text).until_version(V2_3),
    optional_field("operator", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("url", GbfsFieldType::Text).until_version(V1_0),
    optional_field("url", GbfsFieldType::Url).since_version(V1_1),
    optional_field("purchase_url", GbfsFieldType::Text).until_version(V1_0),
    optional_field("purchase_url", GbfsFieldType::Url).since_version(V1_1),
    optional_field("start_date", GbfsFieldType::Date),
    optional_field("termination_date", GbfsFieldType::Date).since_version(V3_0),
    optional_field("phone_number", GbfsFieldType::Text).until_version(V2_3),
    optional_field("phone_number", GbfsFieldType::Phone).since_version(V3_0),
    optional_field("email", GbfsFieldType::Text).until_version(V1_0),
    optional_field("email", GbfsFieldType::Mail).since_version(V1_1),
    optional_field("feed_contact_email", GbfsFieldType::Mail)
        .since_version(V1_1)
        .until_version(V2_3),
    required_field("feed_contact_email", GbfsFieldType::Mail).since_version(V3_0),
    optional_field("manifest_url", GbfsFieldType::Url).since_version(V3_0),
    required_field("timezone", GbfsFieldType::Zone),
    optional_field("license_id", GbfsFieldType::Text).since_version(V3_0),
    optional_field("license_url", GbfsFieldType::Text).until_version(V1_0),
    optional_field("license_url", GbfsFieldType::Url).since_version(V1_1),
    optional_field("attribution_organization_name", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("attribution_url", GbfsFieldType::Url).since_version(V3_0),
    optional_field("brand_assets", GbfsFieldType::Object).since_version(V2_3),
    required_field("brand_assets.brand_last_modified", GbfsFieldType::Date).since_version(V2_3),
    optional_field("brand_assets.brand_terms_url", GbfsFieldType::Url).since_version(V2_3),
    required_field("brand_assets.brand_image_url", GbfsFieldType::Url).since_version(V2_3),
    optional_field("brand_assets.brand_image_url_dark", GbfsFieldType::Url).since_version(V2_3),
    optional_field("brand_assets.color", GbfsFieldType::Color).since_version(V2_3),
    optional_field("terms_url", GbfsFieldType::Url).since_version(V2_3).until_version(V2_3),
    optional_field("terms_url", GbfsFieldType::Urls).since_version(V3_0),
    optional_field("terms_last_updated", GbfsFieldType::Date).since_version(V2_3),
    optional_field("privacy_url", GbfsFieldType::Url).since_version(V2_3).until_version(V2_3),
    optional_field("privacy_url", GbfsFieldType::Urls).since_version(V3_0),
    optional_field("privacy_last_updated", GbfsFieldType::Date).since_version(V2_3),
    optional_field("rental_apps", GbfsFieldType::Object).since_version(V1_1),
    optional_field("rental_apps.android", GbfsFieldType::Object).since_version(V1_1),
    required_field("rental_apps.android.store_uri", GbfsFieldType::Url).since_version(V1_1),
    required_field("rental_apps.android.discovery_uri", GbfsFieldType::Url).since_version(V1_1),
    optional_field("rental_apps.ios", GbfsFieldType::Object).since_version(V1_1),
    required_field("rental_apps.ios.store_uri", GbfsFieldType::Url).since_version(V1_1),
    required_field("rental_apps.ios.discovery_uri", GbfsFieldType::Url).since_version(V1_1),
];

pub(super) const REGIONS: &[GbfsFieldRule] = &[
    required_field("regions", GbfsFieldType::List(0)),
    required_field("regions[]", GbfsFieldType::Object),
    required_field("regions[].region_id", GbfsFieldType::Key(RecordIdKind::Region)),
    required_field("regions[].name", GbfsFieldType::Text).until_version(V2_3),
    required_field("regions[].name", GbfsFieldType::Texts).since_version(V3_0),
];

pub(super) const PLANS: &[GbfsFieldRule] = &[
    required_field("plans", GbfsFieldType::List(0)),
    required_field("plans[]", GbfsFieldType::Object),
    required_field("plans[].plan_id", GbfsFieldType::Key(RecordIdKind::Plan)),
    optional_field("plans[].url", GbfsFieldType::Text).until_version(V1_0),
    optional_field("plans[].url", GbfsFieldType::Url).since_version(V1_1),
    required_field("plans[].name", GbfsFieldType::Text).until_version(V2_3),
    required_field("plans[].name", GbfsFieldType::Texts).since_version(V3_0),
    required_field("plans[].currency", GbfsFieldType::Currency),
    required_field("plans[].price", AMOUNT),
    required_field("plans[].is_taxable", GbfsFieldType::Flag),
    required_field("plans[].description", GbfsFieldType::Text).until_version(V2_3),
    required_field("plans[].description", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("plans[].per_km_pricing", GbfsFieldType::List(0)).since_version(V2_2),
    optional_field("plans[].per_km_pricing[]", GbfsFieldType::Object).since_version(V2_2),
    required_field("plans[].per_km_pricing[].start", COUNT).since_version(V2_2),
    required_field("plans[].per_km_pricing[].rate", GbfsFieldType::Number(f64::MIN, f64::MAX))
        .since_version(V2_2),
    required_field("plans[].per_km_pricing[].interval", COUNT).since_version(V2_2),
    optional_field("plans[].per_km_pricing[].end", COUNT).since_version(V2_2),
    optional_field("plans[].per_min_pricing", GbfsFieldType::List(0)).since_version(V2_2),
    optional_field("plans[].per_min_pricing[]", GbfsFieldType::Object).since_version(V2_2),
    required_field("plans[].per_min_pricing[].start", COUNT).since_version(V2_2),
    required_field("plans[].per_min_pricing[].rate", GbfsFieldType::Number(f64::MIN, f64::MAX))
        .since_version(V2_2),
    required_field("plans[].per_min_pricing[].interval", COUNT).since_version(V2_2),
    optional_field("plans[].per_min_pricing[].end", COUNT).since_version(V2_2),
    optional_field("plans[].surge_pricing", GbfsFieldType::Flag).since_version(V2_2),
    optional_field("plans[].reservation_price_per_min", AMOUNT).since_version(V3_1),
    optional_field("plans[].reservation_price_flat_rate", AMOUNT).since_version(V3_1),
    optional_field("plans[].fare_capping", GbfsFieldType::Object).since_version(V3_1),
    required_field("plans[].fare_capping.duration", COUNT).since_version(V3_1),
    required_field("plans[].fare_capping.price", AMOUNT).since_version(V3_1),
];

const USERS: GbfsFieldType = GbfsFieldType::Word(&["member", "nonmember"]);
const DAYS: GbfsFieldType = GbfsFieldType::Word(&["mon", "tue", "wed", "thu", "fri", "sat", "sun"]);

pub(super) const HOURS: &[GbfsFieldRule] = &[
    required_field("rental_hours", GbfsFieldType::List(0)),
    required_field("rental_hours[]", GbfsFieldType::Object),
    required_field("rental_hours[].user_types", GbfsFieldType::List(1)).since_version(V1_1),
    optional_field("rental_hours[].user_types[]", USERS).since_version(V1_1),
    required_field("rental_hours[].days", GbfsFieldType::List(1)),
    optional_field("rental_hours[].days[]", DAYS),
    required_field("rental_hours[].start_time", GbfsFieldType::Time),
    required_field("rental_hours[].end_time", GbfsFieldType::Time),
];

pub(super) const CALENDAR: &[GbfsFieldRule] = &[
    required_field("calendars", GbfsFieldType::List(0)),
    required_field("calendars[]", GbfsFieldType::Object),
    required_field("calendars[].start_month", GbfsFieldType::Whole(1, 12)),
    required_field("calendars[].start_day", GbfsFieldType::Whole(1, 31)),
    optional_field("calendars[].start_year", GbfsFieldType::Whole(1_000, 9_999)),
    required_field("calendars[].end_month", GbfsFieldType::Whole(1, 12)),
    required_field("calendars[].end_day", GbfsFieldType::Whole(1, 31)),
    optional_field("calendars[].end_year", GbfsFieldType::Whole(1_000, 9_999)),
];

const ALERT_BEFORE: GbfsFieldType =
    GbfsFieldType::Word(&["SYSTEM_CLOSURE", "STATION_CLOSURE", "STATION_MOVE", "OTHER"]);
const ALERT: GbfsFieldType =
    GbfsFieldType::Word(&["system_closure", "station_closure", "station_move", "other"]);

/// Stations and regions of alerts are plain texts: closed ones have already left the other files.
pub(super) const ALERTS: &[GbfsFieldRule] = &[
    required_field("alerts", GbfsFieldType::List(0)),
    required_field("alerts[]", GbfsFieldType::Object),
    required_field("alerts[].alert_id", GbfsFieldType::Key(RecordIdKind::Alert)),
    required_field("alerts[].type", ALERT_BEFORE).until_version(V2_0),
    required_field("alerts[].type", ALERT).since_version(V2_1),
    optional_field("alerts[].times", GbfsFieldType::List(0)),
    optional_field("alerts[].times[]", GbfsFieldType::Object),
    optional_field("alerts[].times[].start", GbfsFieldType::Instant),
    optional_field("alerts[].times[].end", GbfsFieldType::Instant),
    optional_field("alerts[].station_ids", GbfsFieldType::List(0)),
    optional_field("alerts[].station_ids[]", GbfsFieldType::Text),
    optional_field("alerts[].region_ids", GbfsFieldType::List(0)),
    optional_field("alerts[].region_ids[]", GbfsFieldType::Text),
    optional_field("alerts[].url", GbfsFieldType::Text).until_version(V1_0),
    optional_field("alerts[].url", GbfsFieldType::Url).since_version(V1_1).until_version(V2_3),
    optional_field("alerts[].url", GbfsFieldType::Urls).since_version(V3_0),
    required_field("alerts[].summary", GbfsFieldType::Text).until_version(V2_3),
    required_field("alerts[].summary", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("alerts[].description", GbfsFieldType::Text).until_version(V2_3),
    optional_field("alerts[].description", GbfsFieldType::Texts).since_version(V3_0),
    optional_field("alerts[].last_updated", GbfsFieldType::Instant),
];
