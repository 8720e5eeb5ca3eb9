//! Recent publications by idempotency key.

use std::time::Duration;

use lineside_hub::PublishError;
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};
use serde::Serialize;
use utoipa::ToSchema;

/// Limits on remembered idempotency keys.
const IDEMPOTENCY_LIMITS: CacheLimits =
    CacheLimits { entries: 100_000, weight: 64 << 20, age: Some(Duration::from_secs(300)) };

/// Recent publications by channel and idempotency key, so that none is made twice.
pub struct IdempotencyCache(
    pub LoadingCache<(Box<str>, Box<str>), Option<PublishedPosition>, PublishError>,
);

impl Default for IdempotencyCache {
    fn default() -> Self {
        Self(LoadingCache::new(IDEMPOTENCY_LIMITS, |(channel, key), _| {
            channel.len() + key.len() + 128
        }))
    }
}

impl std::fmt::Debug for IdempotencyCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdempotencyCache").field("keys", &self.0.len()).finish()
    }
}

impl IdempotencyCache {
    /// Evicts expired keys. `now` is the clock's monotonic time.
    pub fn evict_expired(&self, now: Duration) {
        self.0.remove_aged_entries(now);
    }
}

/// A position in a channel.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PublishedPosition {
    /// The offset.
    pub offset: u64,
    /// The epoch that the offset belongs to.
    pub epoch: String,
}
