//! The system as a whole: its files, who runs it, what it costs, what its customers are told.

use Version::{V1_0, V1_1, V2_0, V2_1, V2_2, V2_3, V3_0, V3_1};

use crate::rules::gbfs::{
    field::{AMOUNT, COUNT, Field, Is, Of, may, must},
    version::Version,
};

/// From 3.0 on there is one list; before that, one for each language, which is looked at by itself.
pub(super) const DISCOVERY: &[Field] = &[
    must("feeds", Is::List(1)).from(V3_0),
    must("feeds[]", Is::Object).from(V3_0),
    must("feeds[].name", Is::Text).from(V3_0),
    must("feeds[].url", Is::Url).from(V3_0),
    may("*", Is::Object).to(V2_3),
    must("*.feeds", Is::List(1)).to(V2_3),
    must("*.feeds[]", Is::Object).to(V2_3),
    must("*.feeds[].name", Is::Text).to(V2_3),
    must("*.feeds[].url", Is::Url).to(V2_3),
];

pub(super) const VERSIONS: &[Field] = &[
    must("versions", Is::List(0)),
    must("versions[]", Is::Object),
    must("versions[].version", Is::VersionNumber),
    must("versions[].url", Is::Url),
];

pub(super) const MANIFEST: &[Field] = &[
    must("datasets", Is::List(0)),
    must("datasets[]", Is::Object),
    must("datasets[].system_id", Is::Key(Of::Dataset)),
    must("datasets[].versions", Is::List(0)),
    must("datasets[].versions[]", Is::Object),
    must("datasets[].versions[].version", Is::VersionNumber),
    must("datasets[].versions[].url", Is::Url),
    may("datasets[].area", Is::Area).from(V3_1),
    may("datasets[].country_code", Is::Country).from(V3_1),
];

pub(super) const INFORMATION: &[Field] = &[
    must("system_id", Is::Text),
    must("language", Is::Language).to(V2_3),
    must("languages", Is::List(0)).from(V3_0),
    must("languages[]", Is::Language).from(V3_0),
    must("name", Is::Text).to(V2_3),
    must("name", Is::Texts).from(V3_0),
    must("opening_hours", Is::Text).from(V3_0),
    may("short_name", Is::Text).to(V2_3),
    may("short_name", Is::Texts).from(V3_0),
    may("operator", Is::Text).to(V2_3),
    may("operator", Is::Texts).from(V3_0),
    may("url", Is::Text).to(V1_0),
    may("url", Is::Url).from(V1_1),
    may("purchase_url", Is::Text).to(V1_0),
    may("purchase_url", Is::Url).from(V1_1),
    may("start_date", Is::Date),
    may("termination_date", Is::Date).from(V3_0),
    may("phone_number", Is::Text).to(V2_3),
    may("phone_number", Is::Phone).from(V3_0),
    may("email", Is::Text).to(V1_0),
    may("email", Is::Mail).from(V1_1),
    may("feed_contact_email", Is::Mail).from(V1_1).to(V2_3),
    must("feed_contact_email", Is::Mail).from(V3_0),
    may("manifest_url", Is::Url).from(V3_0),
    must("timezone", Is::Zone),
    may("license_id", Is::Text).from(V3_0),
    may("license_url", Is::Text).to(V1_0),
    may("license_url", Is::Url).from(V1_1),
    may("attribution_organization_name", Is::Texts).from(V3_0),
    may("attribution_url", Is::Url).from(V3_0),
    may("brand_assets", Is::Object).from(V2_3),
    must("brand_assets.brand_last_modified", Is::Date).from(V2_3),
    may("brand_assets.brand_terms_url", Is::Url).from(V2_3),
    must("brand_assets.brand_image_url", Is::Url).from(V2_3),
    may("brand_assets.brand_image_url_dark", Is::Url).from(V2_3),
    may("brand_assets.color", Is::Color).from(V2_3),
    may("terms_url", Is::Url).from(V2_3).to(V2_3),
    may("terms_url", Is::Urls).from(V3_0),
    may("terms_last_updated", Is::Date).from(V2_3),
    may("privacy_url", Is::Url).from(V2_3).to(V2_3),
    may("privacy_url", Is::Urls).from(V3_0),
    may("privacy_last_updated", Is::Date).from(V2_3),
    may("rental_apps", Is::Object).from(V1_1),
    may("rental_apps.android", Is::Object).from(V1_1),
    must("rental_apps.android.store_uri", Is::Url).from(V1_1),
    must("rental_apps.android.discovery_uri", Is::Url).from(V1_1),
    may("rental_apps.ios", Is::Object).from(V1_1),
    must("rental_apps.ios.store_uri", Is::Url).from(V1_1),
    must("rental_apps.ios.discovery_uri", Is::Url).from(V1_1),
];

pub(super) const REGIONS: &[Field] = &[
    must("regions", Is::List(0)),
    must("regions[]", Is::Object),
    must("regions[].region_id", Is::Key(Of::Region)),
    must("regions[].name", Is::Text).to(V2_3),
    must("regions[].name", Is::Texts).from(V3_0),
];

pub(super) const PLANS: &[Field] = &[
    must("plans", Is::List(0)),
    must("plans[]", Is::Object),
    must("plans[].plan_id", Is::Key(Of::Plan)),
    may("plans[].url", Is::Text).to(V1_0),
    may("plans[].url", Is::Url).from(V1_1),
    must("plans[].name", Is::Text).to(V2_3),
    must("plans[].name", Is::Texts).from(V3_0),
    must("plans[].currency", Is::Currency),
    must("plans[].price", AMOUNT),
    must("plans[].is_taxable", Is::Flag),
    must("plans[].description", Is::Text).to(V2_3),
    must("plans[].description", Is::Texts).from(V3_0),
    may("plans[].per_km_pricing", Is::List(0)).from(V2_2),
    may("plans[].per_km_pricing[]", Is::Object).from(V2_2),
    must("plans[].per_km_pricing[].start", COUNT).from(V2_2),
    must("plans[].per_km_pricing[].rate", Is::Number(f64::MIN, f64::MAX)).from(V2_2),
    must("plans[].per_km_pricing[].interval", COUNT).from(V2_2),
    may("plans[].per_km_pricing[].end", COUNT).from(V2_2),
    may("plans[].per_min_pricing", Is::List(0)).from(V2_2),
    may("plans[].per_min_pricing[]", Is::Object).from(V2_2),
    must("plans[].per_min_pricing[].start", COUNT).from(V2_2),
    must("plans[].per_min_pricing[].rate", Is::Number(f64::MIN, f64::MAX)).from(V2_2),
    must("plans[].per_min_pricing[].interval", COUNT).from(V2_2),
    may("plans[].per_min_pricing[].end", COUNT).from(V2_2),
    may("plans[].surge_pricing", Is::Flag).from(V2_2),
    may("plans[].reservation_price_per_min", AMOUNT).from(V3_1),
    may("plans[].reservation_price_flat_rate", AMOUNT).from(V3_1),
    may("plans[].fare_capping", Is::Object).from(V3_1),
    must("plans[].fare_capping.duration", COUNT).from(V3_1),
    must("plans[].fare_capping.price", AMOUNT).from(V3_1),
];

const USERS: Is = Is::Word(&["member", "nonmember"]);
const DAYS: Is = Is::Word(&["mon", "tue", "wed", "thu", "fri", "sat", "sun"]);

pub(super) const HOURS: &[Field] = &[
    must("rental_hours", Is::List(0)),
    must("rental_hours[]", Is::Object),
    must("rental_hours[].user_types", Is::List(1)).from(V1_1),
    may("rental_hours[].user_types[]", USERS).from(V1_1),
    must("rental_hours[].days", Is::List(1)),
    may("rental_hours[].days[]", DAYS),
    must("rental_hours[].start_time", Is::Time),
    must("rental_hours[].end_time", Is::Time),
];

pub(super) const CALENDAR: &[Field] = &[
    must("calendars", Is::List(0)),
    must("calendars[]", Is::Object),
    must("calendars[].start_month", Is::Whole(1, 12)),
    must("calendars[].start_day", Is::Whole(1, 31)),
    may("calendars[].start_year", Is::Whole(1_000, 9_999)),
    must("calendars[].end_month", Is::Whole(1, 12)),
    must("calendars[].end_day", Is::Whole(1, 31)),
    may("calendars[].end_year", Is::Whole(1_000, 9_999)),
];

const ALERT_BEFORE: Is = Is::Word(&["SYSTEM_CLOSURE", "STATION_CLOSURE", "STATION_MOVE", "OTHER"]);
const ALERT: Is = Is::Word(&["system_closure", "station_closure", "station_move", "other"]);

/// Stations and regions of alerts are texts: what is closed for good has left the other files.
pub(super) const ALERTS: &[Field] = &[
    must("alerts", Is::List(0)),
    must("alerts[]", Is::Object),
    must("alerts[].alert_id", Is::Key(Of::Alert)),
    must("alerts[].type", ALERT_BEFORE).to(V2_0),
    must("alerts[].type", ALERT).from(V2_1),
    may("alerts[].times", Is::List(0)),
    may("alerts[].times[]", Is::Object),
    may("alerts[].times[].start", Is::Instant),
    may("alerts[].times[].end", Is::Instant),
    may("alerts[].station_ids", Is::List(0)),
    may("alerts[].station_ids[]", Is::Text),
    may("alerts[].region_ids", Is::List(0)),
    may("alerts[].region_ids[]", Is::Text),
    may("alerts[].url", Is::Text).to(V1_0),
    may("alerts[].url", Is::Url).from(V1_1).to(V2_3),
    may("alerts[].url", Is::Urls).from(V3_0),
    must("alerts[].summary", Is::Text).to(V2_3),
    must("alerts[].summary", Is::Texts).from(V3_0),
    may("alerts[].description", Is::Text).to(V2_3),
    may("alerts[].description", Is::Texts).from(V3_0),
    may("alerts[].last_updated", Is::Instant),
];
