//! Renders a report as a graph of latencies and deliveries over time.

use std::fmt::Write as _;

use super::{LoadTestReport, QuantileSummary, ReportSlice};

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 776.0;
/// The two panels: latencies above, deliveries below.
const LATENCY: (f64, f64) = (76.0, 306.0);
const COUNT: (f64, f64) = (346.0, 416.0);

/// Colors come in pairs for light and dark mode; each line has its own dash pattern.
const STYLE: &str = "
  svg { color-scheme: light dark; --paper: light-dark(#f6f5f1, #0f151b); --ink: light-dark(#16202a, #e8edf2);
    --ink-2: light-dark(#4d5b68, #a9b6c2); --rule: light-dark(#e0ddd6, #2a3642);
    --p50: light-dark(#17693f, #6fd39c); --p99: light-dark(#0b5a87, #7cc7f2); --last: light-dark(#a3231b, #ff9d93); }
  text { font: 13px system-ui, sans-serif; fill: var(--ink-2); font-variant-numeric: tabular-nums; }
  .title { font-size: 17px; font-weight: 650; fill: var(--ink); }
  .ground { fill: var(--paper); } .rule { stroke: var(--rule); fill: none; } .bar { fill: var(--p99); opacity: 0.6; }
  .p50, .p99, .last { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
  .p50 { stroke: var(--p50); } .p99 { stroke: var(--p99); stroke-dasharray: 7 4; } .last { stroke: var(--last); stroke-dasharray: 1 5; }
";

impl LoadTestReport {
    /// Renders the report as SVG, for light and dark mode.
    #[must_use]
    pub fn render_svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-labelledby=\"title\">\n\
             <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n"
        );
        let title =
            format!("{} sessions over {} at {}", self.sessions, self.transport, self.server);
        _ = writeln!(
            svg,
            "<text class=\"title\" id=\"title\" x=\"24\" y=\"34\">{}</text>",
            escape_xml(&title)
        );
        self.draw_legend(&mut svg);
        self.draw_latencies(&mut svg);
        self.draw_delivery_counts(&mut svg);
        self.draw_time_axis(&mut svg);
        svg + "</svg>\n"
    }

    fn draw_legend(&self, svg: &mut String) {
        let lines = [("p50", "median"), ("p99", "99 of 100"), ("last", "last session")];
        for (n, (class, words)) in lines.iter().enumerate() {
            let x = 24.0 + 130.0 * n as f64;
            _ = writeln!(
                svg,
                "<path class=\"{class}\" d=\"M{x} 52h34\"/><text x=\"{}\" y=\"56\">{words}</text>",
                x + 42.0
            );
        }
    }

    fn draw_latencies(&self, svg: &mut String) {
        let known = || self.slices.iter().filter_map(|slice| slice.latency_ms);
        let lowest = known().map(|latency| latency.p50).fold(f64::INFINITY, f64::min);
        let highest = known().map(|latency| latency.last).fold(0.0, f64::max);
        let scale = LogScale::for_range(lowest.max(0.01), highest);
        for decade in scale.decade_values() {
            let y = scale.y_position(decade);
            draw_grid_line(svg, y, &format!("{decade} ms"));
        }
        let mut line = |class: &str, figure: fn(QuantileSummary) -> f64| {
            let points = self.slices.iter().map(|slice| {
                slice
                    .latency_ms
                    .map(|latency| (self.slice_midpoint(slice), scale.y_position(figure(latency))))
            });
            _ = writeln!(svg, "<path class=\"{class}\" d=\"{}\"/>", build_svg_path(points));
        };
        line("last", |latency| latency.last);
        line("p99", |latency| latency.p99);
        line("p50", |latency| latency.p50);
    }

    fn draw_delivery_counts(&self, svg: &mut String) {
        let (top, bottom) = COUNT;
        let per_second = |slice: &ReportSlice| slice.deliveries as f64 / self.slice_seconds();
        let highest = self.slices.iter().map(per_second).fold(0.0, f64::max);
        draw_grid_line(svg, bottom, "0");
        draw_grid_line(svg, top, &format_abbreviated(highest));
        _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{}\">deliveries a second</text>", top - 8.0);
        let width = (RIGHT - LEFT) / self.slices.len().max(1) as f64;
        for slice in self.slices.iter().filter(|slice| slice.deliveries > 0) {
            let height = (bottom - top) * per_second(slice) / highest;
            let x = self.slice_midpoint(slice) - width / 2.0;
            _ = writeln!(
                svg,
                "<rect class=\"bar\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
                bottom - height,
                (width - 1.0).max(0.5)
            );
        }
    }

    fn draw_time_axis(&self, svg: &mut String) {
        let y = COUNT.1 + 22.0;
        _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{y}\">0 s</text>");
        _ = writeln!(
            svg,
            "<text x=\"{RIGHT}\" y=\"{y}\" text-anchor=\"end\">{:.1} s</text>",
            self.run_duration_seconds()
        );
    }

    fn run_duration_seconds(&self) -> f64 {
        self.slices.last().map_or(1.0, |slice| slice.until_seconds)
    }

    /// Returns the duration of a slice in seconds.
    fn slice_seconds(&self) -> f64 {
        self.run_duration_seconds() / self.slices.len().max(1) as f64
    }

    fn slice_midpoint(&self, slice: &ReportSlice) -> f64 {
        LEFT + (RIGHT - LEFT) * (slice.until_seconds - self.slice_seconds() / 2.0)
            / self.run_duration_seconds()
    }
}

/// A logarithmic scale with base ten.
struct LogScale {
    min_exponent: i32,
    max_exponent: i32,
}

impl LogScale {
    fn for_range(lowest: f64, highest: f64) -> Self {
        let lowest = if lowest.is_finite() { lowest.log10().floor() as i32 } else { 0 };
        let max_exponent = if highest > 0.0 { highest.log10().ceil() as i32 } else { 1 };
        Self { min_exponent: lowest, max_exponent: max_exponent.max(lowest + 1) }
    }

    fn decade_values(&self) -> impl Iterator<Item = f64> {
        (self.min_exponent..=self.max_exponent).map(|power| 10.0_f64.powi(power))
    }

    fn y_position(&self, value: f64) -> f64 {
        let (top, bottom) = LATENCY;
        let within = (value.max(1e-9).log10() - f64::from(self.min_exponent))
            / f64::from(self.max_exponent - self.min_exponent);
        bottom - (bottom - top) * within.clamp(0.0, 1.0)
    }
}

fn draw_grid_line(svg: &mut String, y: f64, label: &str) {
    _ = writeln!(svg, "<path class=\"rule\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
    _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
        LEFT - 8.0,
        y + 4.0
    );
}

/// Builds a path through the existing points; an isolated point is a short line.
fn build_svg_path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let points: Vec<Option<(f64, f64)>> = points.collect();
    let mut path = String::new();
    for stretch in points.split(Option::is_none) {
        for (n, (x, y)) in stretch.iter().flatten().enumerate() {
            _ = match (n, stretch.len()) {
                (_, 1) => write!(path, "M{:.1} {y:.1}h6", x - 3.0),
                (0, _) => write!(path, "M{x:.1} {y:.1}"),
                _ => write!(path, "L{x:.1} {y:.1}"),
            };
        }
    }
    path
}

fn format_abbreviated(number: f64) -> String {
    match number {
        large if large >= 1e6 => format!("{:.1} M", large / 1e6),
        middle if middle >= 1e4 => format!("{:.0} k", middle / 1e3),
        small => format!("{small:.0}"),
    }
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_covers_the_range_of_its_values() {
        let scale = LogScale::for_range(0.3, 173.0);
        assert_eq!(scale.decade_values().collect::<Vec<_>>(), [0.1, 1.0, 10.0, 100.0, 1_000.0]);
        assert!(
            (scale.y_position(0.1) - LATENCY.1).abs() < 0.01
                && (scale.y_position(1_000.0) - LATENCY.0).abs() < 0.01
        );
        assert_eq!(LogScale::for_range(f64::INFINITY, 0.0).decade_values().count(), 2);
    }

    #[test]
    fn a_line_is_interrupted_where_values_are_missing() {
        let points = [Some((1.0, 2.0)), Some((2.0, 3.0)), None, Some((4.0, 5.0))];
        assert_eq!(build_svg_path(points.into_iter()), "M1.0 2.0L2.0 3.0M1.0 5.0h6");
        assert_eq!(build_svg_path(std::iter::empty()), "");
    }

    #[test]
    fn text_is_escaped_in_the_svg() {
        assert_eq!(escape_xml("a<b>&c"), "a&lt;b&gt;&amp;c");
    }
}
