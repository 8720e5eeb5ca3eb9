//! Check of shapes that no trip uses.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::Trips, GtfsFile::Shapes],
    check: check_unused_shapes,
};

static KIND: NoticeKind = NoticeKind {
    code: "unused_shape",
    severity: Severity::Warning,
    fields: &[("shapeId", "The shape."), ("csvRowNumber", "The line of its first row.")],
    page: include_str!("unused_shape.md"),
};

/// O(shapes).
fn check_unused_shapes(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let shapes = feed.table(GtfsFile::Shapes);
    let ids = shapes.text_column("shape_id");
    let trips =
        feed.rows_referenced_by_field(GtfsFile::Shapes, "shape_id", GtfsFile::Trips, "shape_id");
    for (shape, rows) in feed.rows_grouped_by_field(GtfsFile::Shapes, "shape_id").iter() {
        if trips.row_referenced_by_code(shape).is_some() {
            continue;
        }
        out.count_notice_with_sample(&KIND, |sample| {
            // The first row in the file, which need not be the first point of the shape.
            let row = rows.iter().copied().min().unwrap_or_default();
            sample
                .set_field("shapeId", ids.text_of_code(shape))
                .set_field("csvRowNumber", shapes.line_number(row));
        });
    }
}
