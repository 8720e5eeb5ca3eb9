//! Renders the flame graph as SVG: one element per frame, which clips its name and shows the rest in a tooltip.

use maud::{Markup, PreEscaped, html};

use super::super::symbolized_profile::SymbolizedProfile;
use super::{FlameFrame, csp_hash_source, format_percent, layout_frames};

/// Height of a frame, in pixels.
const FRAME_HEIGHT: usize = 17;
/// Width of a standalone image, in pixels.
const WIDTH: usize = 1_200;
/// Number of colors, as in `flame.css`.
const COLORS: u64 = 6;

const STYLE: &str = include_str!("picture.css");

/// Renders a standalone SVG image.
pub(crate) fn render_svg(recorded: &SymbolizedProfile) -> String {
    let graph = render_graph(recorded, Some(STYLE));
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", graph.into_string())
}

/// Returns the content security policy of the standalone image: only its own style.
pub(crate) fn standalone_svg_csp() -> String {
    format!("default-src 'none'; style-src {}; frame-ancestors 'none'", csp_hash_source(STYLE))
}

/// Renders the graph, with an embedded style if it is a standalone image.
pub(super) fn render_graph(recorded: &SymbolizedProfile, style: Option<&str>) -> Markup {
    let frames = layout_frames(recorded);
    let samples = recorded.sample_count();
    let rows = frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(1);
    let height = rows * FRAME_HEIGHT;
    html! {
        svg id="chart" xmlns="http://www.w3.org/2000/svg" width=[style.map(|_| WIDTH)] height=(height)
            data-samples=(samples) role="group" aria-label="Flame graph, the root on top" {
            @if let Some(style) = style {
                style { (PreEscaped(style)) }
            }
            @for frame in &frames {
                (render_frame(frame, samples))
            }
        }
    }
}

fn render_frame(frame: &FlameFrame, samples: u64) -> Markup {
    let share = |n: u64| format!("{:.3}%", n as f64 * 100.0 / samples.max(1) as f64);
    html! {
        svg.f x=(share(frame.start)) y=(frame.depth * FRAME_HEIGHT) width=(share(frame.count))
            height=(FRAME_HEIGHT - 1) data-s=(frame.start) data-n=(frame.count) data-d=(frame.depth) {
            title { (frame_tooltip(frame, samples)) }
            rect.{ "c" (frame_color_class(frame)) } width="100%" height="100%" {}
            text x="3" y="12" { (frame.name) }
        }
    }
}

fn frame_tooltip(frame: &FlameFrame, samples: u64) -> String {
    let FlameFrame { name, count, own, .. } = frame;
    let all = format_percent(*count, samples);
    match own {
        0 => format!("{name}: {count} samples, {all}"),
        own => {
            format!(
                "{name}: {count} samples, {all}; {own} in itself, {}",
                format_percent(*own, samples)
            )
        }
    }
}

/// Returns the color class of a frame: one for threads, one for stages, and one of several for a function's package.
fn frame_color_class(frame: &FlameFrame) -> String {
    match frame.depth {
        0 => "t".to_owned(),
        1 => "s".to_owned(),
        _ => {
            let package = frame.name.trim_start_matches(['<', '&']);
            let package = package.split(':').next().unwrap_or_default();
            (xxhash_rust::xxh3::xxh3_64(package.as_bytes()) % COLORS).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::symbolized_profile::tests::example_profile;
    use super::*;

    #[test]
    fn frames_have_the_width_of_their_share_and_an_escaped_name() {
        let svg = render_svg(&example_profile());
        assert_eq!(svg.matches("class=\"f\"").count(), 8);
        assert!(svg.contains("x=\"0.000%\" y=\"34\" width=\"70.000%\""), "{svg}");
        assert!(
            svg.contains("<title>work: 7 samples, 70.0 %; 1 in itself, 10.0 %</title>"),
            "{svg}"
        );
        assert!(svg.contains("a&lt;b;c</text>") && !svg.contains("a<b"), "{svg}");
        assert!(svg.contains("@media (prefers-color-scheme: dark)"));
    }

    #[test]
    fn the_content_security_policy_matches_the_svg() {
        let svg = render_svg(&example_profile());
        let style = svg.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        // XML escapes must not change the style.
        assert!(!style.contains(['&', '<']), "{style}");
        assert!(standalone_svg_csp().contains(&format!("style-src {};", csp_hash_source(style))));
        assert!(!standalone_svg_csp().contains("unsafe") && !svg.contains("<script"));
    }

    #[test]
    fn an_empty_profile_is_a_valid_svg() {
        let mut recorded = example_profile();
        recorded.stacks.clear();
        let svg = render_svg(&recorded);
        assert!(svg.contains("height=\"17\"") && !svg.contains("class=\"f\""), "{svg}");
    }
}
