//! The last good bytes of a feed, with the data that readers prepared from them.

use std::{
    any::Any,
    sync::{Arc, OnceLock},
};

use crate::{
    feed_config::{FeedConfig, SharedFeedConfig},
    memfd::MemoryFile,
    snapshot::FeedBodySnapshot,
};

/// The last good bytes and the data that readers prepared from them, which are replaced together.
#[derive(Debug)]
pub struct ServedSnapshot {
    snapshot: Arc<FeedBodySnapshot>,
    memory_file: Option<Arc<MemoryFile>>,
    config: SharedFeedConfig,
    prepared_reply: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl ServedSnapshot {
    /// Stores the bytes, in a memory file if they are large.
    pub fn new(snapshot: FeedBodySnapshot, config: SharedFeedConfig) -> Self {
        let memory_file = MemoryFile::new(&snapshot.bytes);
        let bytes =
            memory_file.as_ref().map_or_else(|| snapshot.bytes.clone(), MemoryFile::shared_bytes);
        let snapshot = Arc::new(FeedBodySnapshot { bytes, ..snapshot });
        Self { snapshot, memory_file, config, prepared_reply: OnceLock::new() }
    }

    /// Returns the bytes and their metadata.
    pub fn snapshot(&self) -> &Arc<FeedBodySnapshot> {
        &self.snapshot
    }

    /// Returns the memory file that holds the bytes, if there is one.
    pub fn memory_file(&self) -> Option<&Arc<MemoryFile>> {
        self.memory_file.as_ref()
    }

    /// Returns the configuration by which the bytes are served.
    pub fn config(&self) -> &FeedConfig {
        &self.config
    }

    pub fn shared_config(&self) -> &SharedFeedConfig {
        &self.config
    }

    /// Returns the bytes with another configuration, without the prepared data.
    pub fn with_other_config(&self, config: SharedFeedConfig) -> ServedSnapshot {
        let (snapshot, memory_file) = (Arc::clone(&self.snapshot), self.memory_file.clone());
        ServedSnapshot { snapshot, memory_file, config, prepared_reply: OnceLock::new() }
    }

    /// Returns the prepared data, if there are any of this type.
    pub fn find_prepared_data<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.prepared_reply.get()?.downcast_ref()
    }

    /// Returns the data that `make` prepares from the bytes once for all readers; `None` if data of another type were
    /// prepared before. `make` must be quick: concurrent readers wait for it.
    pub fn get_or_prepare_data<T: Any + Send + Sync>(
        &self,
        make: impl FnOnce(&Arc<FeedBodySnapshot>) -> T,
    ) -> Option<&T> {
        let ready = self.prepared_reply.get_or_init(|| Box::new(make(&self.snapshot)));
        ready.downcast_ref()
    }
}
