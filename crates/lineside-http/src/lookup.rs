//! Lookup of the feed, network or schedule that an address names, and of its freshness.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::StatusCode;
use http_body::Body as _;
use lineside_formats::Format;
use lineside_ingest::{Feed, Network};
use lineside_model::{Dataset, FeedBodySnapshot, FeedStatus, NetworkState, ServedSnapshot};

use super::blocking::run_blocking;
use super::errors::Refusal;
use super::reply::ReplyPreferences;
use crate::app::App;

/// Finds the feed with this id.
pub fn find_feed(app: &App, id: &str) -> Result<Arc<Feed>, Refusal> {
    app.ingest().find_feed(id).ok_or_else(|| Refusal::UnknownFeed(shorten_id(id)))
}

/// Finds the network that the feed with this id belongs to.
pub fn find_network(app: &App, id: &str) -> Result<Arc<Network>, Refusal> {
    app.ingest().find_network_of_feed(id).ok_or_else(|| Refusal::UnknownNetwork(shorten_id(id)))
}

/// Returns the last good bytes of a feed, unless there are none or they are older than its `max_age`.
pub fn find_served_snapshot(
    app: &App,
    feed: &Feed,
    status: &FeedStatus,
) -> Result<Arc<ServedSnapshot>, Refusal> {
    check_snapshot_servable(app, feed, status, feed.served_snapshot())
}

/// Returns the last good bytes as [`find_served_snapshot`] does, but as the producer sent them.
pub fn find_original_snapshot(
    app: &App,
    feed: &Feed,
    status: &FeedStatus,
) -> Result<Arc<ServedSnapshot>, Refusal> {
    check_snapshot_servable(app, feed, status, feed.producer_snapshot())
}

fn check_snapshot_servable(
    app: &App,
    feed: &Feed,
    status: &FeedStatus,
    served: Option<Arc<ServedSnapshot>>,
) -> Result<Arc<ServedSnapshot>, Refusal> {
    let id = || feed.config().id.to_string();
    let Some(served) = served else {
        return Err(Refusal::NoData { feed: id(), reason: status.reason.clone() });
    };
    match feed.config().max_age {
        Some(max_age) if snapshot_age(app, status, served.snapshot()) > max_age => {
            Err(Refusal::Stale { feed: id(), reason: status.reason.clone() })
        }
        _ => Ok(served),
    }
}

/// Counts a reply with this feed's bytes in the feed's metrics.
pub fn count_feed_reply(
    feed: &Feed,
    preferences: &ReplyPreferences,
    reply: Result<Response, Refusal>,
) -> Result<Response, Refusal> {
    let status = reply.as_ref().ok().map(Response::status);
    let length = reply.as_ref().ok().and_then(|reply| reply.body().size_hint().exact());
    let bytes = length.filter(|_| preferences.has_reply_body()).unwrap_or_default();
    feed.metrics().count_http_reply(bytes, status == Some(StatusCode::NOT_MODIFIED));
    reply
}

/// Returns the time since the producer last sent or confirmed the bytes.
pub fn snapshot_age(app: &App, status: &FeedStatus, snapshot: &FeedBodySnapshot) -> Duration {
    app.now().duration_since(status.last_success.unwrap_or(snapshot.fetched_at))
}

/// Finds the feed with this id, unless its bytes are only passed on: such a feed does not have what is `expected`.
pub fn find_decoded_feed(
    app: &App,
    id: &str,
    expected: &'static str,
) -> Result<Arc<Feed>, Refusal> {
    let feed = find_feed(app, id)?;
    match feed.format() {
        Some(format) if format.is_raw() || format.is_shared_mobility() => {
            Err(wrong_format_refusal(id, format, expected))
        }
        _ => Ok(feed),
    }
}

/// Finds the feed with this id if it is a real-time feed. A feed that belongs to a schedule is one, also before its
/// first poll succeeded.
pub fn find_realtime_feed(
    app: &App,
    id: &str,
    expected: &'static str,
) -> Result<Arc<Feed>, Refusal> {
    let feed = find_feed(app, id)?;
    match feed.format() {
        Some(format) if format.is_realtime() => Ok(feed),
        Some(format) => Err(wrong_format_refusal(id, format, expected)),
        None if feed.config().static_feed.is_some() => Ok(feed),
        None => Err(Refusal::NoData { feed: shorten_id(id), reason: feed.status().reason.clone() }),
    }
}

/// Finds the feed with this id, unless its format has nothing to show on a map.
pub fn find_feed_with_map_data(
    app: &App,
    id: &str,
    expected: &'static str,
) -> Result<Arc<Feed>, Refusal> {
    let feed = find_feed(app, id)?;
    match feed.format() {
        Some(format) if format.is_raw() => Err(wrong_format_refusal(id, format, expected)),
        _ => Ok(feed),
    }
}

/// Finds the feed with this id, if it is a GBFS system.
pub fn find_gbfs_system(app: &App, id: &str, expected: &'static str) -> Result<Arc<Feed>, Refusal> {
    let feed = find_feed(app, id)?;
    match feed.format() {
        Some(format) if format.is_shared_mobility() => Ok(feed),
        Some(format) => Err(wrong_format_refusal(id, format, expected)),
        None => Err(Refusal::NoData { feed: shorten_id(id), reason: feed.status().reason.clone() }),
    }
}

fn wrong_format_refusal(id: &str, is: Format, expected: &'static str) -> Refusal {
    Refusal::OtherFormat { feed: shorten_id(id), actual: is.as_str(), expected }
}

/// Runs `make` on a network's state for one of its feeds, off the socket threads because it takes a while.
pub async fn run_state_export<T: Send + 'static>(
    state: &Arc<NetworkState>,
    id: &str,
    make: impl FnOnce(&NetworkState, &str) -> Option<T> + Send + 'static,
) -> Result<T, Refusal> {
    let (state, owned_id) = (Arc::clone(state), id.to_owned());
    let export = run_blocking(move || make(&state, &owned_id)).await?;
    export.ok_or_else(|| Refusal::UnknownFeed(shorten_id(id)))
}

/// Returns the time until the feed's next poll: its data cannot change before.
pub fn time_until_next_poll(app: &App, status: &FeedStatus) -> Duration {
    status.next_poll.map_or(Duration::ZERO, |next| next.duration_since(app.now()))
}

/// Returns the shortest [`time_until_next_poll`] of a network's feeds.
pub fn time_until_network_poll(app: &App, network: &Network) -> Duration {
    let feeds = network.feeds();
    feeds.iter().map(|feed| time_until_next_poll(app, &feed.status())).min().unwrap_or_default()
}

/// Returns the schedule in use in the network of the feed with this id.
pub fn find_schedule_dataset(
    app: &App,
    id: &str,
    network: &Network,
) -> Result<Arc<Dataset>, Refusal> {
    if let Some(dataset) = network.dataset() {
        return Ok(dataset);
    }
    if let Some(refusal) = schedule_not_loaded_refusal(network) {
        return Err(refusal);
    }
    let named = find_feed(app, id)?;
    let feed = shorten_id(id);
    match named.format().filter(|format| !format.is_schedule()) {
        Some(format) => {
            Err(Refusal::OtherFormat { feed, actual: format.as_str(), expected: "schedule data" })
        }
        None => Err(Refusal::NoData { feed, reason: named.status().reason.clone() }),
    }
}

/// Returns a refusal if a network's schedule is not loaded yet, as after a start: its contents are unknown until then.
pub fn schedule_not_loaded_refusal(network: &Network) -> Option<Refusal> {
    let first = network.first_feed()?;
    let may_be_schedule = first.format().is_none_or(Format::is_schedule);
    let (feed, reason) = (first.id().to_string(), first.status().reason.clone());
    may_be_schedule.then_some(Refusal::NoData { feed, reason })
}

/// Shortens an id for a refusal's text.
pub fn shorten_id(id: &str) -> String {
    const CHARS_MAX: usize = 100;
    id.chars().take(CHARS_MAX).collect()
}
