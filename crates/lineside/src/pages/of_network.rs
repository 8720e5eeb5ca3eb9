//! What pages of a stop and of a line have in common: the network that an address names, and how its data are.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lineside_ingest::{Dataset, Feed, Network};
use maud::{Markup, html};

use super::layout::{self, Page};
use super::{icons, states, words};
use crate::app::App;
use crate::http::{Refusal, found};

/// The network of a feed, and its schedule.
///
/// # Errors
/// If there is no such feed, or no schedule that it could be of; [`Refusal::NoData`] while the schedule was not read yet.
pub(super) fn named(app: &App, feed: &str) -> Result<(Arc<Network>, Arc<Dataset>), Refusal> {
    let network = found::network(app, feed)?;
    let dataset = found::dataset(app, feed, &network)?;
    Ok((network, dataset))
}

/// The page, of which a reader of another language is given another.
pub(super) fn reply(page: &Page<'_>, body: &Markup) -> Response {
    let mut reply = layout::reply(StatusCode::OK, page.render(body));
    let vary = HeaderValue::from_static("Accept-Encoding, Accept-Language");
    reply.headers_mut().insert(header::VARY, vary);
    reply
}

/// What the network is called: what the configured names of its feeds have in common before a colon, else the name of
/// its schedule, else the schedule's only agency, else its id.
pub(super) fn name(app: &App, network: &Network) -> String {
    let names: Vec<String> =
        network.feeds().iter().filter_map(|feed| feed.config().name.clone()).collect();
    if let Some(shared) = shared_prefix(&names) {
        return shared.to_owned();
    }
    let id = network.id().as_str();
    let schedule = app.ingest().feed(id);
    let configured = schedule.and_then(|feed| feed.config().name.clone());
    configured.or_else(|| only_agency(network)).unwrap_or_else(|| id.to_owned())
}

/// The text before ": " where several names begin with the same.
fn shared_prefix(names: &[String]) -> Option<&str> {
    let (prefix, _) = names.first()?.split_once(": ")?;
    let is_shared = |name: &String| name.split_once(": ").is_some_and(|(own, _)| own == prefix);
    (names.len() > 1 && names.iter().all(is_shared)).then_some(prefix)
}

fn only_agency(network: &Network) -> Option<String> {
    let timetable = network.timetable()?;
    let mut agencies = timetable.agencies();
    let first = agencies.next().filter(|agency| !agency.name.is_empty())?;
    agencies.next().is_none().then(|| first.name.to_owned())
}

/// The last service day of a network's timetable, if that is past.
pub(super) fn last_service_day(app: &App, network: &Network) -> Option<Date> {
    let window = app.ingest().feed(network.id().as_str())?.service_window()?;
    Some(window.ended(network.now())?.last_day)
}

/// That the network's timetable has ended: then there are no departures. Shown by the page's script once it ends.
pub(super) fn timetable_ended(app: &App, network: &Network) -> Markup {
    let feed = app.ingest().feed(network.id().as_str());
    let window = feed.as_ref().and_then(|feed| feed.service_window());
    html! {
        @if let Some(window) = window {
            div.alert.trouble data-expired-of=(network.id()) hidden[window.ended(network.now()).is_none()] {
                (icons::expired())
                h2 { "This timetable ended on " time datetime=(window.end) { (window.end.strftime("%-d %B %Y")) } "." }
            }
        }
    }
}

/// The banner for riders while a feed's live data are missing or old, with the feed's state behind *Details*. The page's script
/// shows and hides it as the state changes (`web/plain/trouble.js`). `what` is missing, such as "Live times"; `instead` says
/// what the page shows.
pub(super) fn trouble(feed: &Feed, zone: &TimeZone, now: i64, what: &str, instead: &str) -> Markup {
    let status = feed.status();
    let id = feed.id().as_str();
    let since = status.since.seconds();
    html! {
        div.alert.trouble data-trouble-of=(id) hidden[!states::misleads_riders(status.state)] {
            (icons::warning())
            h2 {
                (what) " have been missing since "
                time data-trouble-since="" datetime=(words::rfc3339(since, zone)) { (words::clock_or_day(since, now, zone)) }
                "."
            }
            p { (instead) }
            details.alert-details {
                summary { "Details" }
                p { (feed.config().display_name()) ": " (states::sign(id, status.state)) " " span data-reason-of=(id) { (status.reason) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_of_one_network_share_the_name_before_the_colon() {
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let shared = names(&["Lindhaven: timetable", "Lindhaven: alerts"]);
        assert_eq!(shared_prefix(&shared), Some("Lindhaven"));
        assert_eq!(shared_prefix(&names(&["Lindhaven: timetable"])), None);
        assert_eq!(shared_prefix(&names(&["North: timetable", "South: alerts"])), None);
        assert_eq!(shared_prefix(&names(&["North", "North: alerts"])), None);
        assert_eq!(shared_prefix(&[]), None);
    }
}
