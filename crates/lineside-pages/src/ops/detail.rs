//! The details below a feed's row: its state and counters, and the durations of its fetches.

use lineside_formats::Format;
use lineside_http::ops::{FETCH_BOUNDS_MS, FeedOverview};
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use crate::words;

pub(super) fn render_detail(feed: &FeedOverview, now: UnixMillis) -> Markup {
    html! {
        div.ops-detail data-detail=(feed.id) {
            dl.facts { (render_facts(feed, now)) }
            (render_histogram(feed))
            p.small {
                "See failed polls on the " a href=(format!("/feeds/{}", feed.id)) { "feed page" } ". "
                a href=(format!("/feeds/{}/incidents.atom", feed.id)) { "Incidents as Atom" }
            }
        }
    }
}

fn render_facts(feed: &FeedOverview, now: UnixMillis) -> Markup {
    let (fetches, served) = (&feed.fetches, &feed.served);
    let requests = words::format_count(served.total, "request", "requests");
    let (one, many) =
        if feed.format.and_then(Format::from_name).is_some_and(Format::is_shared_mobility) {
            ("file", "files")
        } else {
            ("record", "records")
        };
    html! {
        dt { "State" } dd { (feed.reason) (describe_since(feed.since, now)) }
        dt { "Last success" } dd { (render_utc_or_none_yet(feed.last_success)) }
        dt { "Data of" } dd { (render_utc_or_none_yet(feed.data_time)) }
        dt { "Next poll" } dd { (render_utc_or_none_yet(feed.next_poll)) }
        dt { "Contents" } dd { (words::format_count(feed.entities, one, many)) ", " (words::format_number(feed.problems)) " unreadable" }
        dt { "Fetches" } dd {
            (words::format_number(fetches.total)) ": " (words::format_number(fetches.failed)) " failed, "
            (words::format_number(fetches.not_modified)) " not modified (304); " (words::format_bytes(fetches.bytes)) " received"
        }
        dt { "Requests served" } dd {
            (requests) " (" (format!("{:.1}", served.rate)) " per second): " (words::format_number(served.not_modified))
            " not modified (304); " (words::format_bytes(served.bytes)) " sent"
        }
        @if let Some(times) = feed.amplification { dt { "Requests per fetch" } dd { (words::format_one_decimal(times)) } }
        dt { "Cache" } dd {
            (words::format_count(feed.cache.representations as u64, "representation", "representations")) ", "
            (words::format_bytes(feed.cache.bytes as u64))
        }
        dt { "Subscriptions" } dd { (words::format_number(feed.subscribers)) }
    }
}

fn describe_since(since: Option<UnixMillis>, now: UnixMillis) -> String {
    since.map_or_else(String::new, |at| {
        format!(", since {}", words::format_age((now.0 - at.0) / 1_000))
    })
}

fn render_utc_or_none_yet(at: Option<UnixMillis>) -> Markup {
    html! {
        @match at {
            Some(at) => { (super::render_utc(at)) },
            None => span.soft { "none yet" },
        }
    }
}

fn render_histogram(feed: &FeedOverview) -> Markup {
    let bars = &feed.fetches.histogram;
    let n: u64 = bars.iter().sum();
    let count_max = bars.iter().copied().max().unwrap_or_default().max(1);
    html! {
        div {
            h3 { "Duration of the last " (words::format_count(n, "fetch", "fetches")) }
            @match feed.fetches.took {
                Some(took) => p.small.soft {
                    "Median " (words::format_short_duration(took.p50)) " · p90 " (words::format_short_duration(took.p90))
                    " · p99 " (words::format_short_duration(took.p99)) " · max " (words::format_short_duration(took.max))
                },
                None => p.small.soft { "Not fetched yet." },
            }
            table.bars {
                thead.visually-hidden { tr { th scope="col" { "Up to" } th scope="col" { "Fetches" } } }
                tbody {
                    @for (n, count) in bars.iter().enumerate() {
                        tr {
                            th scope="row" { (describe_bar_limit(n)) }
                            td { span.bar style=(format!("inline-size: {:.1}%", 100.0 * *count as f64 / count_max as f64)) {} }
                            td.numeric { (words::format_number(*count)) }
                        }
                    }
                }
            }
        }
    }
}

/// Describes the upper bound of a histogram bar.
fn describe_bar_limit(bar: usize) -> String {
    match FETCH_BOUNDS_MS.get(bar) {
        Some(bound) => format!("≤ {}", words::format_short_duration(*bound as f64 / 1_000.0)),
        None => "longer".to_owned(),
    }
}
