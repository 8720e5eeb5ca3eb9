//! Shapes of one point, which are no lines.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[File::Shapes], check };

static KIND: Kind = Kind {
    code: "single_shape_point",
    severity: Severity::Warning,
    fields: &[("shapeId", "The shape."), ("csvRowNumber", "The line of its point.")],
    page: include_str!("single_shape_point.md"),
};

/// O(shapes).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let shapes = feed.table(File::Shapes);
    let ids = shapes.texts("shape_id");
    for (shape, rows) in feed.groups(File::Shapes, "shape_id").iter() {
        if let [row] = rows {
            out.add(&KIND, |sample| {
                sample.put("shapeId", ids.text(shape)).put("csvRowNumber", shapes.line(*row));
            });
        }
    }
}
