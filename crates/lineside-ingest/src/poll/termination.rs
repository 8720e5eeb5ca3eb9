//! Ending the relation to a producer, such as a subscription, when polling ends or the source changes.

use std::{sync::Arc, time::Duration};

use lineside_sync::Clock;

use super::FeedPoller;
use crate::{
    fetch::{FetchOutcome, SourceFetcher, SourceRequest},
    fetch_failure::FetchError,
    rate_limit::RateLimitBucket,
};

/// Maximum time for sending the request.
const TERMINATION_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The request that ends the relation to a producer that is no longer the feed's.
#[derive(Debug)]
pub(super) struct PreviousSourceTermination {
    pub(super) fetcher: SourceFetcher,
    pub(super) rate_limit_bucket: RateLimitBucket,
    pub(super) request: SourceRequest,
}

impl FeedPoller {
    /// Ends the relation to the producer, and to the previous one.
    pub(super) async fn terminate_subscriptions(&mut self) {
        self.terminate_previous_source().await;
        let Some(request) = self.protocol.termination_request(&self.polled) else { return };
        self.protocol.mark_termination_sent();
        let polled = &mut self.polled;
        send_termination_request(
            &mut polled.fetcher,
            &self.rate_limit_bucket,
            request,
            &polled.clock,
        )
        .await;
    }

    /// Ends the relation to the previous producer.
    pub(super) async fn terminate_previous_source(&mut self) {
        if let Some(PreviousSourceTermination { mut fetcher, rate_limit_bucket, request }) =
            self.pending_termination.take()
        {
            send_termination_request(&mut fetcher, &rate_limit_bucket, request, &self.polled.clock)
                .await;
        }
    }
}

/// Sends the request within a time limit. Its outcome does not matter: the subscription expires by itself.
async fn send_termination_request(
    fetcher: &mut SourceFetcher,
    bucket: &RateLimitBucket,
    request: SourceRequest,
    clock: &Arc<dyn Clock>,
) {
    let send_request = async {
        let now = clock.monotonic();
        let permit = bucket.reserve_request_time(now, now).wait_for_permit(Arc::clone(clock)).await;
        let _: Result<FetchOutcome, FetchError> = fetcher.fetch_source(permit, request).await;
    };
    tokio::select! {
        biased;
        () = send_request => {}
        () = clock.sleep(TERMINATION_TIMEOUT) => {}
    }
}
