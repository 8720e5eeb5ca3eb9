//! A file about the whole feed with several rows.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::FeedInfo], check };

static KIND: Kind = Kind {
    code: "more_than_one_entity",
    severity: Severity::Warning,
    fields: &[("filename", "The file."), ("entityCount", "How many rows it has.")],
    page: include_str!("more_than_one_entity.md"),
};

fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::FeedInfo);
    if table.len() > 1 {
        out.add(&KIND, |sample| {
            sample.put("filename", table.name()).put("entityCount", table.len());
        });
    }
}
