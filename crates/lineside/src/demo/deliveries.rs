//! Deliveries of the demo city to the subscribers of its SIRI.

use std::sync::Arc;
use std::time::Duration;

use lineside_quality::shutdown::Shutdown;
use lineside_sim::{FeedOrigin, SiriDelivery};
use lineside_sync::Clock;
use tokio::task::JoinSet;

/// Interval of the checks for due deliveries, on the city's clock.
const EVERY: Duration = Duration::from_secs(2);
/// Timeout of a delivery.
const SEND_MAX: Duration = Duration::from_secs(10);

/// Posts due deliveries until the demo ends; the next check waits until all were accepted or failed.
pub(super) async fn post_siri_deliveries(
    origin: Arc<FeedOrigin>,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
) {
    let client = reqwest::Client::builder().timeout(SEND_MAX).no_proxy();
    let client = match client.redirect(reqwest::redirect::Policy::none()).build() {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "the city's SIRI subscriptions receive nothing: the HTTP client cannot be created");
            return;
        }
    };
    let mut next = clock.monotonic();
    loop {
        next += EVERY;
        tokio::select! {
            () = shutdown.wait_until_draining() => return,
            () = clock.sleep_until(next) => {}
        }
        next = clock.monotonic();
        let (task_origin, now) = (Arc::clone(&origin), clock.wall_time());
        let due =
            tokio::task::spawn_blocking(move || task_origin.list_due_siri_deliveries(now)).await;
        // Bounded: each subscription has at most one delivery in flight, and the number of subscriptions is limited.
        let mut deliveries = JoinSet::new();
        for delivery in due.unwrap_or_default() {
            deliveries.spawn(post_siri_delivery(client.clone(), Arc::clone(&origin), delivery));
        }
        tokio::select! {
            () = shutdown.wait_until_draining() => return,
            _ = deliveries.join_all() => {}
        }
    }
}

async fn post_siri_delivery(
    client: reqwest::Client,
    origin: Arc<FeedOrigin>,
    delivery: SiriDelivery,
) {
    let request = client.post(&delivery.address).header("content-type", "text/xml; charset=utf-8");
    let is_accepted = match request.body(delivery.body.clone()).send().await {
        Ok(reply) => reply.status().is_success(),
        Err(error) => {
            // The address contains the consumer's key.
            let error = error.without_url();
            tracing::debug!(%error, "a subscriber of the city did not accept a delivery");
            false
        }
    };
    origin.record_delivery_outcome(&delivery, is_accepted);
}
