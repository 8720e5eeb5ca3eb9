//! Spawns the tasks of ingestion.

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Spawns tasks and stops all of them.
#[derive(Clone, Debug)]
pub(crate) struct TaskSpawner {
    pub(crate) stop: CancellationToken,
    pub(crate) tracker: TaskTracker,
}
