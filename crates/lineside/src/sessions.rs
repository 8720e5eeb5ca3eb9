//! What serves the sessions of clients: the threads that own their sockets, and the service of all WebSockets.

use std::sync::Arc;

use anyhow::Context as _;
use lineside_config::Config;
use lineside_http::auth::TokenAuthorizer;
use lineside_hub::{Hub, SessionLimits};
use lineside_sync::RealClock;
use lineside_wire::auth::Authorizer;
use lineside_wire::centrifuge::{CentrifugeService, ClientLimits};
use lineside_wire::partition::{PartitionSet, PartitionSetConfig};

/// Threads that read and encode states for sessions.
const STATE_WORKERS: usize = 2;

/// Returns the state shared by all WebSockets.
pub(crate) fn centrifuge_service(
    hub: &Arc<Hub>,
    authorizer: &Arc<TokenAuthorizer>,
    config: &Config,
) -> CentrifugeService {
    CentrifugeService {
        hub: Arc::clone(hub),
        authorizer: Arc::<TokenAuthorizer>::clone(authorizer),
        limits: ClientLimits {
            message_bytes_max: config.limits.max_message_size,
            session: SessionLimits { channels_max: config.limits.channels_per_session },
            ..ClientLimits::default()
        },
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// Starts the threads that own the sockets of sessions.
pub(crate) fn start_partitions(
    hub: &Arc<Hub>,
    authorizer: &Arc<TokenAuthorizer>,
    seed: u64,
) -> anyhow::Result<PartitionSet> {
    let threads = PartitionSetConfig {
        partitions: std::thread::available_parallelism().map_or(1, usize::from),
        workers: STATE_WORKERS,
    };
    let authorizer: Arc<dyn Authorizer> = Arc::<TokenAuthorizer>::clone(authorizer);
    PartitionSet::start_threads(hub, &authorizer, Arc::new(RealClock::new()), threads, seed)
        .context("cannot start the threads for sessions")
}
