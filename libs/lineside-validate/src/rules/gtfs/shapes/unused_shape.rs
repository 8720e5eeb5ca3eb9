//! Shapes that no trip follows.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::Trips, File::Shapes], check };

static KIND: Kind = Kind {
    code: "unused_shape",
    severity: Severity::Warning,
    fields: &[("shapeId", "The shape."), ("csvRowNumber", "The line of its first row.")],
    page: include_str!("unused_shape.md"),
};

/// O(shapes).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let shapes = feed.table(File::Shapes);
    let ids = shapes.texts("shape_id");
    let trips = feed.link(File::Shapes, "shape_id", File::Trips, "shape_id");
    for (shape, rows) in feed.groups(File::Shapes, "shape_id").iter() {
        if trips.row(shape).is_some() {
            continue;
        }
        out.add(&KIND, |sample| {
            // The first of the file, which need not be the first of the shape.
            let row = rows.iter().copied().min().unwrap_or_default();
            sample.put("shapeId", ids.text(shape)).put("csvRowNumber", shapes.line(row));
        });
    }
}
