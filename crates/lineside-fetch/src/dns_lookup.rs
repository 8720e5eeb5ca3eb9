//! Marks the time in which a request waits for its host's address, so that a timeout can name the phase.

use std::{
    future::Future,
    sync::{Arc, atomic::AtomicBool},
};

tokio::task_local! {
    static IS_LOOKING_UP: Arc<AtomicBool>;
}

/// Runs a request; resolvers within it set `marker` while they look an address up.
pub async fn run_with_dns_lookup_marker<T>(
    marker: Arc<AtomicBool>,
    request: impl Future<Output = T>,
) -> T {
    IS_LOOKING_UP.scope(marker, request).await
}

/// Returns the marker of the current request; outside of a request one that is never read.
pub fn current_dns_lookup_marker() -> Arc<AtomicBool> {
    IS_LOOKING_UP.try_with(Arc::clone).unwrap_or_default()
}
