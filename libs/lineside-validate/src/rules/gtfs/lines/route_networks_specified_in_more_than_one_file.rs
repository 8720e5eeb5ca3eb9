//! Check of networks that are defined both in `routes.txt` and in files of their own.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Routes, GtfsFile::RouteNetworks, GtfsFile::Networks],
    check: check_route_networks,
};

static KIND: NoticeKind = NoticeKind {
    code: "route_networks_specified_in_more_than_one_file",
    severity: Severity::Error,
    fields: &[
        ("fieldName", "The field that names networks."),
        ("fileNameA", "The file with that field."),
        ("fileNameB", "The other file that names networks."),
    ],
    page: include_str!("route_networks_specified_in_more_than_one_file.md"),
};

/// O(1): the presence of the column counts, not its values.
fn check_route_networks(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let routes = feed.table(GtfsFile::Routes);
    if !routes.has_column("network_id") {
        return;
    }
    for file in [GtfsFile::RouteNetworks, GtfsFile::Networks] {
        if feed.table(file).is_file_present() {
            out.count_notice_with_sample(&KIND, |sample| {
                sample
                    .set_field("fieldName", "network_id")
                    .set_field("fileNameA", routes.file_name());
                sample.set_field("fileNameB", file.file_name());
            });
        }
    }
}
