//! Frequencies of one trip at the same time.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File, time_text},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::Frequencies], check };

static KIND: Kind = Kind {
    code: "overlapping_frequency",
    severity: Severity::Error,
    fields: &[
        ("prevCsvRowNumber", "The line of the row that begins first."),
        ("prevEndTime", "When it ends."),
        ("currCsvRowNumber", "The line of the row that begins before that."),
        ("currStartTime", "When it begins."),
        ("tripId", "The trip."),
    ],
    page: include_str!("overlapping_frequency.md"),
};

/// O(n log n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Frequencies);
    let (starts, ends) = (table.numbers("start_time"), table.numbers("end_time"));
    let (headways, ids) = (table.numbers("headway_secs"), table.texts("trip_id"));
    let mut sorted = Vec::new();
    for (code, rows) in feed.groups(File::Frequencies, "trip_id").iter() {
        sorted.clear();
        sorted.extend(rows.iter().filter_map(|&row| {
            Some((starts.get(row)?, ends.get(row)?, headways.get_or(row, 0), row))
        }));
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            let [(_, end, _, one), (start, _, _, other)] = *pair else { continue };
            if start < end {
                out.add(&KIND, |sample| {
                    sample.put("prevCsvRowNumber", table.line(one));
                    sample.put("prevEndTime", time_text(end));
                    sample.put("currCsvRowNumber", table.line(other));
                    sample.put("currStartTime", time_text(start)).put("tripId", ids.text(code));
                });
            }
        }
    }
}
