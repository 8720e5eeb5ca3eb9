//! Check of a file about the whole feed with several rows.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::FeedInfo], check: check_single_entity };

static KIND: NoticeKind = NoticeKind {
    code: "more_than_one_entity",
    severity: Severity::Warning,
    fields: &[("filename", "The file."), ("entityCount", "The number of rows.")],
    page: include_str!("more_than_one_entity.md"),
};

fn check_single_entity(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FeedInfo);
    if table.len() > 1 {
        out.count_notice_with_sample(&KIND, |sample| {
            sample.set_field("filename", table.file_name()).set_field("entityCount", table.len());
        });
    }
}
