//! The picture of a badge.

use maud::{Markup, html};

/// The backgrounds of the two halves: white text on each has a contrast of at least 4.5:1.
pub(super) const BACKGROUND: &str = "#3a4651";
pub(super) const BAD: &str = "#a3231b";
pub(super) const GOOD: &str = "#17693f";
/// The height of a badge, and the width of a letter: wide enough for the widest of the usual fonts.
pub(super) const HEIGHT: usize = 22;
pub(super) const LETTER: usize = 7;
pub(super) const PADDING: usize = 9;
pub(super) const UNKNOWN: &str = "#5b6770";

/// Draws a badge with a label, and a value on a coloured background.
pub(super) fn draw_badge(label: &str, badge_label: &str, title: &str, ground: &str) -> Markup {
    let width = |text: &str| text.chars().count() * LETTER + 2 * PADDING;
    let (left, right) = (width(label), width(badge_label));
    let middle = HEIGHT * 2 / 3 + 1;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(left + right) height=(HEIGHT) role="img" aria-label=(format!("{label}: {badge_label}")) {
            title { (title) }
            clipPath id="round" { rect width=(left + right) height=(HEIGHT) rx="4" {} }
            g clip-path="url(#round)" {
                rect width=(left) height=(HEIGHT) fill=(BACKGROUND) {}
                rect x=(left) width=(right) height=(HEIGHT) fill=(ground) {}
            }
            g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="12" {
                text x=(left / 2) y=(middle) textLength=(left - 2 * PADDING) lengthAdjust="spacingAndGlyphs" { (label) }
                text x=(left + right / 2) y=(middle) textLength=(right - 2 * PADDING) lengthAdjust="spacingAndGlyphs" { (badge_label) }
            }
        }
    }
}
