//! The details below a feed's row: its state and counters, and how long its fetches took.

use lineside_formats::Format;
use lineside_sync::UnixMillis;
use maud::{Markup, html};

use crate::ops::{FETCH_BOUNDS_MS, FeedFigures};
use crate::pages::words;

pub(super) fn of(feed: &FeedFigures, now: UnixMillis) -> Markup {
    html! {
        div.ops-detail data-detail=(feed.id) {
            dl.facts { (facts(feed, now)) }
            (histogram(feed))
            p.small {
                "See failed polls on the " a href=(format!("/feeds/{}", feed.id)) { "feed page" } ". "
                a href=(format!("/feeds/{}/incidents.atom", feed.id)) { "Incidents as Atom" }
            }
        }
    }
}

fn facts(feed: &FeedFigures, now: UnixMillis) -> Markup {
    let (fetches, served) = (&feed.fetches, &feed.served);
    let requests = words::count(served.total, "request", "requests");
    let (one, many) = if feed.format == Some(Format::Gbfs.as_str()) {
        ("file", "files")
    } else {
        ("record", "records")
    };
    html! {
        dt { "State" } dd { (feed.reason) (since(feed.since, now)) }
        dt { "Last success" } dd { (moment(feed.last_success)) }
        dt { "Data of" } dd { (moment(feed.data_time)) }
        dt { "Next poll" } dd { (moment(feed.next_poll)) }
        dt { "Contents" } dd { (words::count(feed.entities, one, many)) ", " (words::count(feed.problems, "problem", "problems")) }
        dt { "Fetches" } dd {
            (words::number(fetches.total)) ": " (words::number(fetches.failed)) " failed, "
            (words::number(fetches.not_modified)) " not modified (304); " (words::bytes(fetches.bytes)) " received"
        }
        dt { "Requests served" } dd {
            (requests) " (" (format!("{:.1}", served.rate)) " per second): " (words::number(served.not_modified))
            " not modified (304); " (words::bytes(served.bytes)) " sent"
        }
        dt { "Cache" } dd {
            (words::count(feed.cache.representations as u64, "representation", "representations")) ", "
            (words::bytes(feed.cache.bytes as u64))
        }
        dt { "Subscriptions" } dd { (words::number(feed.subscribers)) }
    }
}

fn since(since: Option<UnixMillis>, now: UnixMillis) -> String {
    since.map_or_else(String::new, |at| format!(", since {}", words::age((now.0 - at.0) / 1_000)))
}

fn moment(at: Option<UnixMillis>) -> Markup {
    html! {
        @match at {
            Some(at) => { (super::utc(at)) },
            None => span.soft { "none yet" },
        }
    }
}

fn histogram(feed: &FeedFigures) -> Markup {
    let bars = &feed.fetches.histogram;
    let n: u64 = bars.iter().sum();
    let most = bars.iter().copied().max().unwrap_or_default().max(1);
    html! {
        div {
            h3 { "Duration of the last " (words::count(n, "fetch", "fetches")) }
            @match feed.fetches.took {
                Some(took) => p.small.soft {
                    "Median " (words::duration(took.p50)) " · p90 " (words::duration(took.p90))
                    " · p99 " (words::duration(took.p99)) " · max " (words::duration(took.max))
                },
                None => p.small.soft { "Not fetched yet." },
            }
            table.bars {
                thead.visually-hidden { tr { th scope="col" { "Up to" } th scope="col" { "Fetches" } } }
                tbody {
                    @for (n, count) in bars.iter().enumerate() {
                        tr {
                            th scope="row" { (up_to(n)) }
                            td { span.bar style=(format!("inline-size: {:.1}%", 100.0 * *count as f64 / most as f64)) {} }
                            td.numeric { (words::number(*count)) }
                        }
                    }
                }
            }
        }
    }
}

/// Where the bar of this number ends.
fn up_to(bar: usize) -> String {
    match FETCH_BOUNDS_MS.get(bar) {
        Some(bound) => format!("≤ {}", words::duration(*bound as f64 / 1_000.0)),
        None => "longer".to_owned(),
    }
}
