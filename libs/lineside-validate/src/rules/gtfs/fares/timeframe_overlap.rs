//! Timeframes of one group and service that hold at the same time.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{self, Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::Timeframes], check };

static KIND: Kind = Kind {
    code: "timeframe_overlap",
    severity: Severity::Error,
    fields: &[
        ("prevCsvRowNumber", "The line of the one that begins first."),
        ("prevEndTime", "When it ends."),
        ("currCsvRowNumber", "The line of the one that begins before that."),
        ("currStartTime", "When it begins."),
        ("timeframeGroupId", "The group of both."),
        ("serviceId", "The service of both."),
    ],
    page: include_str!("timeframe_overlap.md"),
};

/// O(n log n): each is compared with the one that begins before it.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Timeframes);
    let (groups, services) = (table.texts("timeframe_group_id"), table.texts("service_id"));
    let (starts, ends) = (table.numbers("start_time"), table.numbers("end_time"));
    let key = |row: u32| (groups.code(row), services.code(row));
    // Without times they hold all day; as empty spans, they overlap with nothing here.
    let span = |row: u32| (starts.get_or(row, 0), ends.get_or(row, 0));
    let mut rows: Vec<u32> = table.rows().collect();
    rows.sort_by_key(|&row| (key(row), span(row)));
    for pair in rows.windows(2) {
        let &[previous, row] = pair else { continue };
        let (end, start) = (span(previous).1, span(row).0);
        if key(previous) == key(row) && start < end {
            out.add(&KIND, |sample| {
                sample.put("prevCsvRowNumber", table.line(previous));
                sample.put("prevEndTime", gtfs::time_text(end));
                sample.put("currCsvRowNumber", table.line(row));
                sample.put("currStartTime", gtfs::time_text(start));
                sample.put("timeframeGroupId", groups.get(row));
                sample.put("serviceId", services.get(row));
            });
        }
    }
}
