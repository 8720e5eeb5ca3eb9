//! Route badges: the route's color with a readable label.
//!
//! The color is an attribute of a shape, not a style: the pages' content security policy allows only the one style
//! sheet, so a feed's text can never become a style.

use maud::{Markup, html};

use super::words::shorten_name;

/// The color of a route without one.
const DEFAULT_COLOR: [u8; 3] = [0x5b, 0x67, 0x70];

/// The least contrast of readable text (WCAG 2, AA).
const CONTRAST_MIN: f64 = 4.5;
/// Colors on which white text has at least this contrast count as dark.
const CONTRAST_DARK: f64 = 3.0;

/// Longer labels may not fit into their badge, so they are also its title.
const LABEL_FITS_CHARS: usize = 16;

/// Renders a badge with this label, on the feed's color.
pub(super) fn render_route_badge(label: &str, color: Option<[u8; 3]>) -> Markup {
    let (background, reads_white) = pick_colors(color);
    let label = shorten_name(label);
    let title = (label.chars().count() > LABEL_FITS_CHARS).then_some(label);
    html! {
        span.badge.on-dark[reads_white].on-light[!reads_white] title=[title] {
            svg aria-hidden="true" { rect width="100%" height="100%" fill=(background); }
            (label)
        }
    }
}

/// Returns the background as `#rrggbb`, and true if its text is white and not black. Colors of middle brightness are
/// darkened until white text is readable on them. The feed's own text color is often unreadable and is not used.
fn pick_colors(color: Option<[u8; 3]>) -> (String, bool) {
    let own = color.unwrap_or(DEFAULT_COLOR);
    let is_dark = white_contrast(own) >= CONTRAST_DARK;
    let is_readable = |rgb: &[u8; 3]| !is_dark || white_contrast(*rgb) >= CONTRAST_MIN;
    let [r, g, b] =
        (0..=100).rev().map(|percent| darken_color(own, percent)).find(is_readable).unwrap_or(own);
    (format!("#{r:02x}{g:02x}{b:02x}"), is_dark)
}

/// Returns a color with this percentage of its brightness.
fn darken_color(rgb: [u8; 3], percent: u16) -> [u8; 3] {
    rgb.map(|channel| u8::try_from(u16::from(channel) * percent / 100).unwrap_or(channel))
}

/// Returns the contrast of white text on a color, after WCAG 2.
fn white_contrast(rgb: [u8; 3]) -> f64 {
    1.05 / (relative_luminance(rgb) + 0.05)
}

/// Returns the relative luminance after WCAG 2.
fn relative_luminance(rgb: [u8; 3]) -> f64 {
    let [r, g, b] = rgb.map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses six hexadecimal digits, with or without `#`.
    fn parse_color(text: &str) -> Option<[u8; 3]> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 6)?;
        let [_, r, g, b] = value.to_be_bytes();
        Some([r, g, b])
    }

    #[test]
    fn label_colors_have_the_contrast_rule_of_the_browser() {
        let cases = crate::words::tests::load_cases();
        for case in cases["badge"].as_array().expect("a list of cases") {
            let (background, reads_white) = pick_colors(case[0].as_str().and_then(parse_color));
            assert_eq!(Some(background.as_str()), case[1].as_str());
            let text = if reads_white { "#ffffff" } else { "#000000" };
            assert_eq!(Some(text), case[2].as_str(), "on {background}");
        }
    }

    #[test]
    fn a_label_is_escaped() {
        let markup = render_route_badge("<b>7</b>", None).into_string();
        assert!(markup.contains("&lt;b&gt;7&lt;/b&gt;"), "{markup}");
    }
}
