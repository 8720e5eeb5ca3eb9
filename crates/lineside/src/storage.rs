//! Storage of polls and states of feeds: in the data folder if there is one, else in memory.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use lineside_config::Config;
use lineside_model::{MemoryArchive, MemorySnapshotStore, PollArchive, SnapshotStore};
use lineside_store::{RetentionPolicy, Store, StoreError};
use lineside_sync::Clock;

/// Name of the database file in the data folder.
const FILE: &str = "lineside.db";

#[derive(Debug)]
pub(crate) struct ServerStorage {
    /// Polls and states of feeds.
    pub(crate) archive: Arc<dyn PollArchive>,
    /// Last good bytes of feeds.
    pub(crate) snapshots: Arc<dyn SnapshotStore>,
    /// The store behind both, if it is on disk.
    pub(crate) store: Option<Arc<Store>>,
}

impl ServerStorage {
    /// Opens the database, or falls back to memory: serving matters more than history.
    ///
    /// # Errors
    /// Returns an error if a newer version of the program wrote the file: after a downgrade the server must not
    /// silently start without it.
    pub(crate) async fn open_or_in_memory(
        config: &Config,
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let Some(folder) = config.server.data_dir.clone() else {
            return Ok(Self::in_memory(clock));
        };
        let retention = RetentionPolicy {
            availability: config.retention.availability,
            versions: config.retention.versions,
            versions_age: config.retention.versions_age,
            reports: config.retention.reports,
        };
        let own_clock = Arc::clone(clock);
        let open = move || open_database_file(&folder, own_clock, retention);
        match tokio::task::spawn_blocking(open).await.context("a task of the start crashed")? {
            Ok(store) => {
                let store = Arc::new(store);
                let archive = Arc::<Store>::clone(&store);
                let snapshots = Arc::<Store>::clone(&store);
                Ok(Self { archive, snapshots, store: Some(store) })
            }
            Err(error @ StoreError::Newer { .. }) => Err(error.into()),
            Err(error) => {
                tracing::error!(
                    "{error}. Until the next start, the history of polls is only in memory, last good bytes are not stored, and admins' overrides do not apply: removed feeds are public, and paused sources are polled"
                );
                Ok(Self::in_memory(clock))
            }
        }
    }

    fn in_memory(clock: &Arc<dyn Clock>) -> Self {
        Self {
            archive: Arc::new(MemoryArchive::new(Arc::clone(clock))),
            snapshots: Arc::new(MemorySnapshotStore::default()),
            store: None,
        }
    }
}

fn open_database_file(
    folder: &Path,
    clock: Arc<dyn Clock>,
    retention: RetentionPolicy,
) -> Result<Store, StoreError> {
    Store::open(&folder.join(FILE), clock, retention)
}

#[cfg(test)]
mod tests {
    use lineside_sync::RealClock;

    use super::*;

    fn config(folder: Option<&Path>) -> Config {
        let mut config = Config::default();
        config.server.data_dir = folder.map(Path::to_owned);
        config
    }

    fn clock() -> Arc<dyn Clock> {
        Arc::new(RealClock::new())
    }

    #[tokio::test]
    async fn storage_is_in_memory_without_a_folder_and_in_a_file_with_one() {
        assert!(
            ServerStorage::open_or_in_memory(&config(None), &clock())
                .await
                .unwrap()
                .store
                .is_none()
        );
        let folder = tempfile::tempdir().unwrap();
        let storage =
            ServerStorage::open_or_in_memory(&config(Some(folder.path())), &clock()).await.unwrap();
        assert_eq!(storage.store.unwrap().database_path(), folder.path().join(FILE));
    }

    #[tokio::test]
    async fn a_damaged_file_does_not_prevent_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        std::fs::write(&file, "not a database, and long enough for a header. ".repeat(99)).unwrap();
        let storage =
            ServerStorage::open_or_in_memory(&config(Some(folder.path())), &clock()).await.unwrap();
        assert!(storage.store.is_none());
        assert!(file.exists());
    }
}
