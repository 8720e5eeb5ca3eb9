//! The parts of the server that its background tasks and its handlers share.

use std::sync::Arc;

use arc_swap::ArcSwap;
use lineside_config::Config;
use lineside_hub::Hub;
use lineside_ingest::Ingest;
use lineside_store::Store;
use lineside_sync::{Clock, UnixMillis};

use crate::archive_reader::ArchiveReader;
use crate::external_validators::ExternalValidatorReports;
use crate::notification_counts::NotificationCounts;
use crate::reports::LatestValidationReports;
use crate::shutdown::Shutdown;

/// A handle on the shared parts that is cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerContext(Arc<ServerContextParts>);

/// The parts of a [`ServerContext`].
#[derive(Debug)]
pub struct ServerContextParts {
    /// The feeds and their data.
    pub ingest: Arc<Ingest>,
    /// The configuration in force.
    pub config: Arc<ArcSwap<Config>>,
    /// The clock of the data; the wall clock unless a demo runs faster.
    pub clock: Arc<dyn Clock>,
    /// Start of the server, on that clock.
    pub started: UnixMillis,
    /// The state of the shutdown.
    pub shutdown: Shutdown,
    /// The store on disk, if there is a data folder.
    pub store: Option<Arc<Store>>,
    /// The latest validation reports on feeds.
    pub reports: Arc<LatestValidationReports>,
    /// The operator's own validators, with their results.
    pub external_validators: ExternalValidatorReports,
    /// Counts of sent notifications.
    pub notification_counts: Arc<NotificationCounts>,
    /// The reader of the archive, which limits concurrent reads.
    pub archive_reader: ArchiveReader,
}

impl ServerContext {
    pub fn new(parts: ServerContextParts) -> Self {
        Self(Arc::new(parts))
    }

    /// Returns the feeds and their data.
    pub fn ingest(&self) -> &Arc<Ingest> {
        &self.0.ingest
    }

    /// Returns the hub with the rooms of all channels.
    pub fn hub(&self) -> &Arc<Hub> {
        self.0.ingest.hub()
    }

    /// Returns the configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.0.config.load_full()
    }

    /// Returns the clock of the data, which may differ from the wall clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Returns the current time of the data's clock.
    pub fn wall_time_now(&self) -> UnixMillis {
        self.0.clock.wall_time()
    }

    /// Returns the start of the server, on the data's clock.
    pub fn started_at(&self) -> UnixMillis {
        self.0.started
    }

    /// Returns the state of the shutdown.
    pub fn shutdown(&self) -> &Shutdown {
        &self.0.shutdown
    }

    /// Returns the store on disk, if there is a data folder.
    pub fn database_store(&self) -> Option<&Arc<Store>> {
        self.0.store.as_ref()
    }

    /// Returns the latest validation reports on feeds.
    pub fn latest_validation_reports(&self) -> &Arc<LatestValidationReports> {
        &self.0.reports
    }

    /// Returns the operator's own validators, with their results.
    pub fn external_validators(&self) -> &ExternalValidatorReports {
        &self.0.external_validators
    }

    /// Returns the counts of sent notifications.
    pub fn notification_counts(&self) -> &Arc<NotificationCounts> {
        &self.0.notification_counts
    }

    pub fn archive_reader(&self) -> &ArchiveReader {
        &self.0.archive_reader
    }
}
