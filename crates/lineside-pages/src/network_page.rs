//! Common parts of the pages of stops and lines: the network of an address, and notices about its data.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_http::app::App;
use lineside_http::delay_replies::has_only_alerts;
use lineside_http::{Refusal, lookup};
use lineside_ingest::{Feed, Network};
use lineside_model::{Dataset, NetworkState, Record};
use maud::{Markup, html};

use super::layout::{self, PageLayout};
use super::{icons, states, words};

/// Returns the network of a feed, and its schedule.
///
/// # Errors
///
/// Returns an error if the feed does not exist or has no schedule; [`Refusal::NoData`] if the schedule has not been
/// read yet.
pub(super) fn find_network_and_schedule(
    app: &App,
    feed: &str,
) -> Result<(Arc<Network>, Arc<Dataset>), Refusal> {
    let network = lookup::find_network(app, feed)?;
    let dataset = lookup::find_schedule_dataset(app, feed, &network)?;
    Ok((network, dataset))
}

/// Returns the page as a response that depends on the reader's language.
pub(super) fn reply_with_localized_page(page: &PageLayout<'_>, body: &Markup) -> Response {
    let mut reply = layout::reply_with_page(StatusCode::OK, page.render_document(body));
    let vary = HeaderValue::from_static("Accept-Encoding, Accept-Language");
    reply.headers_mut().insert(header::VARY, vary);
    reply
}

/// Returns the last service day of a network's timetable, if it is past.
pub(super) fn ended_timetable_last_day(network: &Network) -> Option<Date> {
    let window = network.first_feed()?.service_date_range()?;
    Some(window.end_if_passed(network.data_time_now())?.last_day)
}

/// Renders a notice if the network's timetable has ended, has not begun, or ends within days. The page's script shows
/// the first once the timetable ends.
pub(super) fn render_timetable_validity_notice(network: &Network) -> Markup {
    let window = network.first_feed().and_then(|feed| feed.service_date_range());
    let now = network.data_time_now();
    html! {
        @if let Some(window) = window {
            @let end = html! { time datetime=(window.end) { (words::format_day(window.end)) } };
            @if window.end_if_passed(now).is_some() {
                div.alert.trouble data-expired-of=(network.id()) {
                    (icons::expired())
                    h2 { "This timetable ended on " (end) "." }
                }
            }
            @if let Some(days) = window.days_until_start(now).filter(|days| *days > 0) {
                p.note data-starts-of=(network.id()) data-days-until-start=(days) {
                    "This timetable is not yet valid: service starts on "
                    time datetime=(window.start) { (words::format_day(window.start)) } ", "
                    @match days { 1 => "tomorrow", days => { "in " (days) " days" } }
                    "."
                }
            } @else if let Some(days) = window.days_left_if_soon(now) {
                p.note data-ends-of=(network.id()) data-days-left=(days) {
                    "This timetable ends on " (end) ", "
                    @match days { 0 => "today", 1 => "tomorrow", days => { "in " (days) " days" } }
                    "."
                }
            }
        }
    }
}

/// Returns the real-time feeds of a network that have one of these records, or may get one: a feed without any records
/// is included unless it is known to report only alerts.
pub(super) fn find_realtime_feeds_of_records<'a>(
    app: &App,
    network: &Network,
    state: &NetworkState,
    records: impl Iterator<Item = &'a Arc<Record>>,
) -> Vec<Arc<Feed>> {
    let present: BTreeSet<&str> = records.map(|record| record.feed.as_str()).collect();
    let mut feeds = network.realtime_feeds();
    feeds.retain(|feed| {
        let id = feed.id().as_str();
        present.contains(id) || (state.feed_record_count(id) == 0 && !has_only_alerts(app, feed))
    });
    feeds
}

/// Renders the banner for riders if live data of one of the feeds are unreliable, with each of these feeds and its
/// state under *Details*. It has the time of the first of them. The page's script updates it (`web/plain/states.js`).
/// `what` is missing, such as "live times"; `instead` says what the page shows, or is empty.
pub(super) fn render_unreliable_data_banner(
    app: &App,
    feeds: &[Arc<Feed>],
    zone: &TimeZone,
    what: &str,
    instead: &str,
) -> Markup {
    let statuses: Vec<_> = feeds.iter().map(|feed| (feed, feed.status())).collect();
    let first = statuses.iter().filter_map(|(_, status)| status.unreliable_since).min();
    // The other times on the page of a recording are those of the recording.
    let recorded_now = feeds.iter().find_map(|feed| feed.network().replayed_time_now());
    let last_data = statuses.iter().filter_map(|(_, status)| status.data_time).max();
    let since = recorded_now.and(last_data).or(first).unwrap_or_else(|| app.now()).unix_seconds();
    let now = recorded_now.unwrap_or_else(|| app.now()).unix_seconds();
    html! {
        @if !feeds.is_empty() {
            div.alert.trouble data-trouble=(what) data-zone=(zone.iana_name().unwrap_or("UTC")) hidden[first.is_none()] {
                (icons::warning())
                h2 {
                    "No reliable " (what) " since "
                    time data-trouble-since=[recorded_now.is_none().then_some("")] datetime=(words::format_rfc3339(since, zone)) { (words::format_clock_or_day(since, now, zone)) }
                    "."
                }
                @if !instead.is_empty() { p { (instead) } }
                details.alert-details {
                    summary { "Details" }
                    @for (feed, status) in &statuses {
                        @let id = feed.id().as_str();
                        @let since = status.unreliable_since.map(|at| words::format_rfc3339(at.unix_seconds(), zone));
                        p data-trouble-of=(id) data-since=[since] hidden[status.unreliable_since.is_none()] {
                            (feed.config().display_name()) ": " (states::render_live_state(id, status.state)) " " span data-reason-of=(id) { (status.reason) }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the banner of pages with times; `has_times`: the page shows some.
pub(super) fn render_unreliable_times_banner(
    app: &App,
    feeds: &[Arc<Feed>],
    zone: &TimeZone,
    has_times: bool,
) -> Markup {
    let instead = if has_times { "Times below are from the timetable or out of date." } else { "" };
    render_unreliable_data_banner(app, feeds, zone, "live times", instead)
}
