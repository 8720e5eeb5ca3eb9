//! Check of route colors with too little contrast to their text.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[], check: check_color_contrast };

static KIND: NoticeKind = NoticeKind {
    code: "route_color_contrast",
    severity: Severity::Warning,
    fields: &[
        ("routeId", "The route."),
        ("csvRowNumber", "The line of the row."),
        ("routeColor", "Its color."),
        ("routeTextColor", "The color of the text."),
    ],
    page: include_str!("route_color_contrast.md"),
};

/// The smallest difference in luma, of 255. (W3C once recommended 125; the reference validator
/// accepts this.)
const LUMA_DIFFERENCE_MIN: i32 = 72;

/// O(n). Routes with only one of the two colors are skipped.
fn check_color_contrast(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::Routes);
    let (colors, text_colors) =
        (table.number_column("route_color"), table.number_column("route_text_color"));
    for row in table.row_numbers() {
        let (Some(color), Some(text)) = (colors.get(row), text_colors.get(row)) else { continue };
        if (color_luma(color) - color_luma(text)).abs() < LUMA_DIFFERENCE_MIN {
            out.count_notice_with_sample(&KIND, |sample| {
                sample.set_field("routeId", table.text_column("route_id").get(row));
                sample.set_field("csvRowNumber", table.line_number(row));
                sample.set_field("routeColor", format!("#{color:06X}"));
                sample.set_field("routeTextColor", format!("#{text:06X}"));
            });
        }
    }
}

/// Returns the luma of a color from 0 to 255 (ITU-R BT.601, with weights of two decimals), rounded
/// down.
fn color_luma(color: i32) -> i32 {
    let [_, red, green, blue] = color.to_be_bytes().map(f64::from);
    (0.30 * red + 0.59 * green + 0.11 * blue) as i32
}
