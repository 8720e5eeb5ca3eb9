//! What pages of a stop and of a line have in common: the network that an address names, and how its data are.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use lineside_ingest::{Dataset, Feed, Network};
use maud::{Markup, html};

use super::layout::{self, Page};
use super::{icons, states};
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

/// What the network is called, which goes by the id of its schedule.
pub(super) fn name(app: &App, network: &Network) -> String {
    let id = network.id().as_str();
    let feed = app.ingest().feed(id);
    feed.map_or_else(|| id.to_owned(), |feed| feed.config().display_name().to_owned())
}

/// That what a feed tells of is not to be trusted as it stands; shown and hidden by the page's script as its state changes.
/// `what` it tells of, such as "Live times".
pub(super) fn trouble(feed: &Feed, what: &str) -> Markup {
    let status = feed.status();
    let id = feed.id().as_str();
    html! {
        div.alert.trouble data-trouble-of=(id) hidden[!states::misleads_riders(status.state)] {
            (icons::warning())
            h2 { (what) " are not up to date: " (states::sign(id, status.state)) }
            p { (feed.config().display_name()) ": " span data-reason-of=(id) { (status.reason) } }
        }
    }
}
