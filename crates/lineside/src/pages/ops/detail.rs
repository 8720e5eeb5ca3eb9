//! What a feed's row opens to: why it is as it is, and how long its source took.

use jiff::tz::TimeZone;
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
                a href=(format!("/feeds/{}", feed.id)) { "The feed's page" }
                " has its polls that failed, and whose fault it was."
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
        dt { "Holds" } dd { (words::count(feed.entities, one, many)) ", " (words::count(feed.problems, "problem", "problems")) }
        dt { "Fetches" } dd {
            (words::number(fetches.total)) ", of these " (words::number(fetches.failed)) " failed and "
            (words::number(fetches.not_modified)) " brought nothing new; " (words::bytes(fetches.bytes))
        }
        dt { "Readers" } dd {
            (requests) " (" (format!("{:.1}", served.rate)) " per second), of these " (words::number(served.not_modified))
            " had it already; " (words::bytes(served.bytes))
        }
        dt { "Cache" } dd {
            (words::count(feed.cache.representations as u64, "representation", "representations")) ", "
            (words::bytes(feed.cache.bytes as u64))
        }
        dt { "Subscribers" } dd { (words::number(feed.subscribers)) }
    }
}

fn since(since: Option<UnixMillis>, now: UnixMillis) -> String {
    since.map_or_else(String::new, |at| format!(", since {}", words::age((now.0 - at.0) / 1_000)))
}

fn moment(at: Option<UnixMillis>) -> Markup {
    html! {
        @match at {
            Some(at) => time datetime=(words::rfc3339(at.seconds(), &TimeZone::UTC)) { (words::moment(at.seconds(), &TimeZone::UTC)) },
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
            h3 { "How long the last " (words::count(n, "fetch", "fetches")) " took" }
            @match feed.fetches.took {
                Some(took) => p.small.soft {
                    "Half of them up to " (words::duration(took.p50)) ", 90 of 100 up to " (words::duration(took.p90))
                    ", 99 of 100 up to " (words::duration(took.p99)) ", at most " (words::duration(took.max))
                },
                None => p.small.soft { "Its source was not asked yet." },
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
