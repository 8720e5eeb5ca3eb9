//! Check of shapes with a single point.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[GtfsFile::Shapes], check: check_single_point_shapes };

static KIND: NoticeKind = NoticeKind {
    code: "single_shape_point",
    severity: Severity::Warning,
    fields: &[("shapeId", "The shape."), ("csvRowNumber", "The line of its point.")],
    page: include_str!("single_shape_point.md"),
};

/// O(shapes).
fn check_single_point_shapes(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let shapes = feed.table(GtfsFile::Shapes);
    let ids = shapes.text_column("shape_id");
    for (shape, rows) in feed.rows_grouped_by_field(GtfsFile::Shapes, "shape_id").iter() {
        if let [row] = rows {
            out.count_notice_with_sample(&KIND, |sample| {
                sample
                    .set_field("shapeId", ids.text_of_code(shape))
                    .set_field("csvRowNumber", shapes.line_number(*row));
            });
        }
    }
}
