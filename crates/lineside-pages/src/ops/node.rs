//! The tiles of the server itself: the current value of each gauge, and its plot over a range of time.

use std::num::NonZero;
use std::thread::available_parallelism;

use jiff::tz::TimeZone;
use lineside_http::app::App;
use lineside_http::ops::{DashboardSnapshot, GAUGES};
use lineside_sync::UnixMillis;
use maud::{Markup, html};
use serde_json::json;

use super::range::TileRange;
use crate::words;

/// The size of a plot in its own units; the style sheet stretches it.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 30.0;
/// A latency above this is shown as too high, in seconds.
const LATENCY_HIGH: f64 = 1.0;
/// Queued connections from which the server counts as overloaded.
const QUEUE_HIGH: f64 = 10.0;
/// A threshold is drawn if it is at most this multiple of the greatest value.
const THRESHOLD_DRAWN: f64 = 2.0;

/// A gauge of the node, in the order of `NodeSample::gauge_values`; `web/plain/ops.js` uses the same names.
struct NodeGauge {
    name: &'static str,
    title: &'static str,
    format_value: fn(f64) -> String,
    /// The meaning of values above the threshold; its value is [`gauge_threshold`].
    threshold_text: Option<&'static str>,
}

const fn new_node_gauge(
    name: &'static str,
    title: &'static str,
    format_value: fn(f64) -> String,
) -> NodeGauge {
    NodeGauge { name, title, format_value, threshold_text: None }
}

const ALL: [NodeGauge; GAUGES] = [
    NodeGauge {
        threshold_text: Some("limit"),
        ..new_node_gauge("connections", "Connections", format_whole)
    },
    new_node_gauge("subscriptions", "Subscriptions", format_whole),
    new_node_gauge("deliveries", "Deliveries", format_rate),
    NodeGauge {
        threshold_text: Some("high from"),
        ..new_node_gauge("delivery_p99", "Delivery latency (p99)", words::format_short_duration)
    },
    new_node_gauge("requests", "Requests", format_rate),
    new_node_gauge("memory", "Memory", format_byte_size),
    NodeGauge { threshold_text: Some("max"), ..new_node_gauge("cpu", "CPU", format_cores) },
    NodeGauge {
        threshold_text: Some("overloaded from"),
        ..new_node_gauge("mailboxes", "Connections queued", format_whole)
    },
];

/// Returns the value from which a gauge is shown as too high.
fn gauge_threshold(app: &App, name: &str) -> Option<f64> {
    match name {
        "connections" => Some(app.max_connections() as f64),
        "delivery_p99" => Some(LATENCY_HIGH),
        "cpu" => Some(available_parallelism().map_or(1, NonZero::get) as f64),
        "mailboxes" => Some(QUEUE_HIGH),
        _ => None,
    }
}

fn format_whole(value: f64) -> String {
    words::format_number(value.round() as u64)
}

fn format_rate(value: f64) -> String {
    if value < 100.0 { format!("{value:.1} / s") } else { format!("{} / s", format_whole(value)) }
}

fn format_byte_size(value: f64) -> String {
    words::format_bytes(value as u64)
}

fn format_cores(value: f64) -> String {
    if value < 1.0 { words::format_percent(value) } else { format!("{value:.1} cores") }
}

/// A value of a gauge over a range: the time, the mean, and the maximum.
type GaugePoint = (UnixMillis, f64, f64);

/// Returns the values of all gauges over a range.
fn gauge_points(
    app: &App,
    board: &DashboardSnapshot,
    range: TileRange,
) -> [Vec<GaugePoint>; GAUGES] {
    let mut points: [Vec<GaugePoint>; GAUGES] = Default::default();
    let Some((length_ms, step)) = range.minutes_and_step().map(|(n, step)| (n * 60_000, step))
    else {
        for (at, sample) in board.recent_samples() {
            for (list, value) in points.iter_mut().zip(sample.gauge_values()) {
                list.extend(value.map(|value| (at, value, value)));
            }
        }
        return points;
    };
    let from = UnixMillis(board.at.0 - length_ms);
    for (at, spread) in
        app.ops_dashboard().with_load_history(|history| history.summaries_in_steps(from, step))
    {
        for (list, value) in points.iter_mut().zip(spread) {
            // A step may have begun before the range.
            list.extend(value.map(|it| (UnixMillis(at.0.max(from.0)), it.mean, it.max)));
        }
    }
    points
}

/// Renders the tiles over a range of time.
pub(super) fn render_tiles(app: &App, board: &DashboardSnapshot, range: TileRange) -> Markup {
    let points = gauge_points(app, board, range);
    let last = board
        .recent_samples()
        .next_back()
        .map(|(_, sample)| sample.gauge_values())
        .unwrap_or_default();
    html! {
        @for ((gauge, points), now) in ALL.iter().zip(&points).zip(last) {
            (render_tile(gauge, points, now, gauge_threshold(app, gauge.name), (board.at, range)))
        }
    }
}

fn render_tile(
    gauge: &NodeGauge,
    points: &[GaugePoint],
    now: Option<f64>,
    threshold: Option<f64>,
    (at, range): (UnixMillis, TileRange),
) -> Markup {
    let peak = points.iter().map(|(_, _, max)| *max).fold(0.0, f64::max);
    let drawn = threshold.filter(|it| *it <= peak * THRESHOLD_DRAWN);
    let top = drawn.map_or(peak, |threshold| threshold.max(peak));
    let is_exceeded = threshold.zip(now).is_some_and(|(threshold, now)| now >= threshold);
    let values: Vec<_> = points.iter().map(|(at, mean, _)| json!([at.0, mean])).collect();
    let gauge_points: Vec<(UnixMillis, f64)> =
        points.iter().map(|(at, mean, _)| (*at, *mean)).collect();
    let y = drawn.map_or(0.0, |it| HEIGHT - 1.0 - (HEIGHT - 2.0) * it / top);
    html! {
        div.gauge data-gauge=(gauge.name) data-over[is_exceeded] data-threshold=[threshold] {
            h3.small.soft { (gauge.title) }
            p.gauge-now.numeric { (now.map_or_else(|| "–".to_owned(), gauge.format_value)) }
            div.plot {
                span.plot-top.numeric aria-hidden="true" { ((gauge.format_value)(top)) }
                svg.spark viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true"
                    data-points=(json!(values)) {
                    @if threshold.is_some() {
                        line.threshold x1="0" x2=(WIDTH) y1=(y) y2=(y) visibility=[drawn.is_none().then_some("hidden")] {}
                    }
                    polyline points=(polyline_points(&gauge_points, at, top, range.length_ms())) {}
                }
                span.plot-value.numeric hidden {}
            }
            p.plot-axis.small.soft aria-hidden="true" { span { (range.describe_start(at)) } span { "now" } }
            p.gauge-most.small.soft {
                "peak " span { ((gauge.format_value)(peak).replace("< ", "under ")) }
                @if let Some((threshold, said)) = threshold.zip(gauge.threshold_text) {
                    " · " (said) " " ((gauge.format_value)(threshold))
                }
            }
        }
    }
}

/// Returns a line through all values, with time from left to right; the top is the greatest value.
fn polyline_points(
    values: &[(UnixMillis, f64)],
    now: UnixMillis,
    top: f64,
    length_ms: i64,
) -> String {
    let top = top.max(f64::MIN_POSITIVE);
    let point = |(at, value): &(UnixMillis, f64)| {
        let x = WIDTH * (1.0 - (now.0 - at.0) as f64 / length_ms as f64);
        let y = HEIGHT - 1.0 - (HEIGHT - 2.0) * (value / top);
        format!("{x:.1},{y:.1}")
    };
    values.iter().map(point).collect::<Vec<_>>().join(" ")
}

/// Describes the beginning of the records, if a range reaches further back.
pub(super) fn describe_records_start(
    app: &App,
    now: UnixMillis,
    range: TileRange,
) -> Option<String> {
    let since =
        app.ops_dashboard().with_load_history(lineside_http::ops::LoadHistory::oldest_time)?;
    let is_short = now.0 - since.0 < range.length_ms() && range.minutes_and_step().is_some();
    let text = words::format_time_without_zone(since.unix_seconds(), &TimeZone::UTC);
    is_short.then(|| format!("Recorded since the server started, {text}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_ends_at_the_right_with_its_maximum_at_the_top() {
        let now = UnixMillis(1_000_000);
        let values = [(UnixMillis(now.0 - 150_000), 4.0), (now, 0.0)];
        assert_eq!(polyline_points(&values, now, 4.0, 300_000), "60.0,1.0 120.0,29.0");
        assert_eq!(polyline_points(&[(now, 0.0)], now, 0.0, 300_000), "120.0,29.0");
        assert_eq!(polyline_points(&[], now, 0.0, 300_000), "");
    }
}
