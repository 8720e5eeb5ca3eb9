//! A route's text that cannot be read on its color.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule { kinds: &[&KIND], files: &[], check };

static KIND: Kind = Kind {
    code: "route_color_contrast",
    severity: Severity::Warning,
    fields: &[
        ("routeId", "The route."),
        ("csvRowNumber", "The line of the row."),
        ("routeColor", "Its color."),
        ("routeTextColor", "The color of text on it."),
    ],
    page: include_str!("route_color_contrast.md"),
};

/// How far apart two colors must be in brightness, of 255. (W3C once asked for 125; the reference
/// validator is content with this.)
const LUMA_DIFFERENCE_MIN: i32 = 72;

/// O(n). Routes that name only one of the two colors are let be.
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::Routes);
    let (colors, text_colors) = (table.numbers("route_color"), table.numbers("route_text_color"));
    for row in table.rows() {
        let (Some(color), Some(text)) = (colors.get(row), text_colors.get(row)) else { continue };
        if (luma(color) - luma(text)).abs() < LUMA_DIFFERENCE_MIN {
            out.add(&KIND, |sample| {
                sample.put("routeId", table.texts("route_id").get(row));
                sample.put("csvRowNumber", table.line(row));
                sample.put("routeColor", format!("#{color:06X}"));
                sample.put("routeTextColor", format!("#{text:06X}"));
            });
        }
    }
}

/// How bright a color is, from 0 to 255 (ITU-R BT.601, with weights of two decimals),
/// rounded down.
fn luma(color: i32) -> i32 {
    let [_, red, green, blue] = color.to_be_bytes().map(f64::from);
    (0.30 * red + 0.59 * green + 0.11 * blue) as i32
}
