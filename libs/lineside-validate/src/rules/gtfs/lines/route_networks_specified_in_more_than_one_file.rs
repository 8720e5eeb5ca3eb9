//! Networks of routes in two places.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[File::Routes, File::RouteNetworks, File::Networks],
    check,
};

static KIND: Kind = Kind {
    code: "route_networks_specified_in_more_than_one_file",
    severity: Severity::Error,
    fields: &[
        ("fieldName", "The field that names networks."),
        ("fileNameA", "The file with that field."),
        ("fileNameB", "The other file that names networks."),
    ],
    page: include_str!("route_networks_specified_in_more_than_one_file.md"),
};

/// O(1): the column counts, whatever stands in it.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let routes = feed.table(File::Routes);
    if !routes.has("network_id") {
        return;
    }
    for file in [File::RouteNetworks, File::Networks] {
        if feed.table(file).is_there() {
            out.add(&KIND, |sample| {
                sample.put("fieldName", "network_id").put("fileNameA", routes.name());
                sample.put("fileNameB", file.name());
            });
        }
    }
}
