//! The parts of the server that its background tasks and its handlers share.

use std::sync::Arc;

use arc_swap::ArcSwap;
use lineside_hub::Hub;
use lineside_ingest::Ingest;
use lineside_store::Store;
use lineside_sync::{Clock, UnixMillis};

use crate::archive_reader::ArchiveReader;
use crate::config::Config;
use crate::external_validators::ExternalValidators;
use crate::notification_counts::NotificationCounts;
use crate::reports::LatestReports;
use crate::shutdown::Shutdown;

/// A handle on the shared parts that is cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ServerContext(Arc<ContextParts>);

/// The parts of a [`ServerContext`].
#[derive(Debug)]
pub(crate) struct ContextParts {
    /// The feeds and their data.
    pub(crate) ingest: Arc<Ingest>,
    /// The configuration in force.
    pub(crate) config: Arc<ArcSwap<Config>>,
    /// The clock of the data; the wall clock unless a demo runs faster.
    pub(crate) clock: Arc<dyn Clock>,
    /// Start of the server, on that clock.
    pub(crate) started: UnixMillis,
    /// The state of the shutdown.
    pub(crate) shutdown: Shutdown,
    /// The store on disk, if there is a data folder.
    pub(crate) store: Option<Arc<Store>>,
    /// The latest validation reports on feeds.
    pub(crate) reports: Arc<LatestReports>,
    /// The operator's own validators, with their results.
    pub(crate) external_validators: ExternalValidators,
    /// Counts of sent notifications.
    pub(crate) notification_counts: Arc<NotificationCounts>,
    /// The reader of the archive, which limits concurrent reads.
    pub(crate) archive_reader: ArchiveReader,
}

impl ServerContext {
    pub(crate) fn new(parts: ContextParts) -> Self {
        Self(Arc::new(parts))
    }

    /// Returns the feeds and their data.
    pub(crate) fn ingest(&self) -> &Arc<Ingest> {
        &self.0.ingest
    }

    /// Returns the hub with the rooms of all channels.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        self.0.ingest.hub()
    }

    /// Returns the configuration in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        self.0.config.load_full()
    }

    /// Returns the clock of the data, which may differ from the wall clock.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Returns the current time of the data's clock.
    pub(crate) fn now(&self) -> UnixMillis {
        self.0.clock.wall_time()
    }

    /// Returns the start of the server, on the data's clock.
    pub(crate) fn started_at(&self) -> UnixMillis {
        self.0.started
    }

    /// Returns the state of the shutdown.
    pub(crate) fn shutdown(&self) -> &Shutdown {
        &self.0.shutdown
    }

    /// Returns the store on disk, if there is a data folder.
    pub(crate) fn store(&self) -> Option<&Arc<Store>> {
        self.0.store.as_ref()
    }

    /// Returns the latest validation reports on feeds.
    pub(crate) fn reports(&self) -> &Arc<LatestReports> {
        &self.0.reports
    }

    /// Returns the operator's own validators, with their results.
    pub(crate) fn external_validators(&self) -> &ExternalValidators {
        &self.0.external_validators
    }

    /// Returns the counts of sent notifications.
    pub(crate) fn notification_counts(&self) -> &Arc<NotificationCounts> {
        &self.0.notification_counts
    }

    /// Returns the reader of the archive.
    pub(crate) fn archive_reader(&self) -> &ArchiveReader {
        &self.0.archive_reader
    }
}
