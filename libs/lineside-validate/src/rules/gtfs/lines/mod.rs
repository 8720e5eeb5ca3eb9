//! Rules about agencies, routes, feed information and translations.

mod agency_consistency;
mod attribution_without_role;
mod duplicate_route_name;
mod feed_info;
mod feed_info_lang_and_agency_lang_mismatch;
mod route_color_contrast;
mod route_names;
mod route_networks_specified_in_more_than_one_file;
mod same_route_and_agency_url;
mod translations;

use super::GtfsRule;

/// The rules of this family.
pub(super) static RULES: &[&GtfsRule] = &[
    &translations::RULE,
    &route_names::RULE,
    &route_color_contrast::RULE,
    &duplicate_route_name::RULE,
    &same_route_and_agency_url::RULE,
    &agency_consistency::AGENCIES,
    &agency_consistency::ROUTES,
    &agency_consistency::FARES,
    &feed_info::RULE,
    &feed_info_lang_and_agency_lang_mismatch::RULE,
    &attribution_without_role::RULE,
    &route_networks_specified_in_more_than_one_file::RULE,
];
