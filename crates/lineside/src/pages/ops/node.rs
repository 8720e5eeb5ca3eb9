//! The node's own figures: as they are, and as they were in the last minutes.

use std::collections::BTreeMap;

use lineside_ingest::FeedState;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use crate::ops::{Board, Sample};
use crate::pages::words;

/// The picture of the last minutes: its size in units of its own, which the style sheet stretches.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 30.0;
/// How far back it goes.
const SPAN_MS: f64 = 5.0 * 60.0 * 1_000.0;

/// A figure of the node; `web/plain/ops.js` knows them by the same words.
struct Gauge {
    word: &'static str,
    title: &'static str,
    value: fn(&Sample) -> Option<f64>,
    words: fn(f64) -> String,
}

const GAUGES: [Gauge; 8] = [
    Gauge {
        word: "connections",
        title: "Connections",
        value: |it| Some(it.connections as f64),
        words: whole,
    },
    Gauge {
        word: "subscriptions",
        title: "Subscriptions",
        value: |it| Some(it.subscriptions as f64),
        words: whole,
    },
    Gauge {
        word: "deliveries",
        title: "Deliveries",
        value: |it| Some(it.deliveries),
        words: per_second,
    },
    Gauge {
        word: "delivery_p99",
        title: "Publish to socket, 99 of 100",
        value: |it| it.delivery_p99,
        words: words::duration,
    },
    Gauge { word: "requests", title: "Requests", value: |it| Some(it.requests), words: per_second },
    Gauge {
        word: "memory",
        title: "Memory",
        value: |it| it.memory.map(|bytes| bytes as f64),
        words: in_bytes,
    },
    Gauge { word: "cpu", title: "CPU", value: |it| it.cpu, words: cores },
    Gauge {
        word: "mailboxes",
        title: "Waiting in mailboxes",
        value: |it| Some(it.mailboxes as f64),
        words: whole,
    },
];

fn whole(value: f64) -> String {
    words::number(value.round() as u64)
}

fn per_second(value: f64) -> String {
    if value < 100.0 { format!("{value:.1} / s") } else { format!("{} / s", whole(value)) }
}

fn in_bytes(value: f64) -> String {
    words::bytes(value as u64)
}

fn cores(value: f64) -> String {
    format!("{} of a core", words::share(value))
}

/// How many feeds are how.
pub(super) fn tally(board: &Board) -> String {
    let mut states: BTreeMap<FeedState, u64> = BTreeMap::new();
    for row in &board.feeds {
        *states.entry(row.figures.state).or_default() += 1;
    }
    if states.is_empty() {
        return "No feed is configured yet.".to_owned();
    }
    let counts: Vec<String> =
        states.iter().map(|(state, n)| format!("{} {state}", words::number(*n))).collect();
    format!("{}: {}", words::count(board.feeds.len() as u64, "feed", "feeds"), counts.join(", "))
}

pub(super) fn gauges(board: &Board) -> Markup {
    html! {
        section.gauges aria-label="This server in the last five minutes" {
            @for gauge in GAUGES { (one(&gauge, board)) }
        }
    }
}

fn one(gauge: &Gauge, board: &Board) -> Markup {
    let values: Vec<(UnixMillis, f64)> =
        board.samples().filter_map(|(at, sample)| Some((at, (gauge.value)(sample)?))).collect();
    let most = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let last = board.samples().next_back().and_then(|(_, sample)| (gauge.value)(sample));
    html! {
        div.gauge data-gauge=(gauge.word) {
            h2.small.soft { (gauge.title) }
            p.gauge-now.numeric { (last.map_or_else(|| "–".to_owned(), gauge.words)) }
            svg.spark viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true" {
                polyline points=(points(&values, board.at, most)) {}
            }
            p.gauge-most.small.soft { "at most " span { ((gauge.words)(most)) } }
        }
    }
}

/// A line through all values, in time from left to right; nothing stands at the bottom.
fn points(values: &[(UnixMillis, f64)], now: UnixMillis, most: f64) -> String {
    let most = most.max(f64::MIN_POSITIVE);
    let point = |(at, value): &(UnixMillis, f64)| {
        let x = WIDTH * (1.0 - (now.0 - at.0) as f64 / SPAN_MS);
        let y = HEIGHT - 1.0 - (HEIGHT - 2.0) * (value / most);
        format!("{x:.1},{y:.1}")
    };
    values.iter().map(point).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_ends_at_the_right_and_its_greatest_stands_at_the_top() {
        let now = UnixMillis(1_000_000);
        let values = [(UnixMillis(now.0 - 150_000), 4.0), (now, 0.0)];
        assert_eq!(points(&values, now, 4.0), "60.0,1.0 120.0,29.0");
        assert_eq!(points(&[(now, 0.0)], now, 0.0), "120.0,29.0");
        assert_eq!(points(&[], now, 0.0), "");
    }
}
