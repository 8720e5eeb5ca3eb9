//! Reads of the archive of polls, away from the threads that serve sockets.

use std::sync::Arc;

use lineside_model::{ArchiveError, PollArchive};
use lineside_sync::semaphore::Semaphore;

/// The largest number of concurrent reads: the archive has only a few connections, and a queue before them would only
/// grow.
const CONCURRENT_READS_MAX: u32 = 32;

/// Reads the archive on blocking threads. A read beyond the limit is refused at once.
#[derive(Debug)]
pub struct ArchiveReader {
    permits: Arc<Semaphore>,
    archive: Arc<dyn PollArchive>,
}

/// The reason why a read has no result.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveReadError {
    /// Too many reads run.
    #[error("too many requests read the archive")]
    Busy,
    /// The archive cannot be read.
    #[error(transparent)]
    Failed(#[from] ArchiveError),
    /// The read panicked.
    #[error("a read of the archive crashed")]
    Crashed,
}

impl ArchiveReader {
    pub fn new(archive: Arc<dyn PollArchive>) -> Self {
        Self { permits: Arc::new(Semaphore::new(CONCURRENT_READS_MAX)), archive }
    }

    /// Calls `read` with the archive.
    ///
    /// # Errors
    /// Returns an error if too many reads run, or if the archive cannot be read.
    pub async fn read<T, F>(&self, read: F) -> Result<T, ArchiveReadError>
    where
        T: Send + 'static,
        F: FnOnce(&dyn PollArchive) -> Result<T, ArchiveError> + Send + 'static,
    {
        let permit = self.permits.try_acquire_owned().ok_or(ArchiveReadError::Busy)?;
        let archive = Arc::clone(&self.archive);
        let work = move || {
            let _permit = permit;
            read(&*archive)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => Ok(result?),
            Err(error) => {
                tracing::error!(%error, "a read of the archive crashed");
                Err(ArchiveReadError::Crashed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lineside_model::MemoryArchive;
    use lineside_sync::RealClock;

    use super::*;

    #[tokio::test]
    async fn reads_beyond_the_limit_are_refused() {
        let reader = ArchiveReader::new(Arc::new(MemoryArchive::new(Arc::new(RealClock::new()))));
        let mut permits: Vec<_> =
            std::iter::from_fn(|| reader.permits.try_acquire_owned()).collect();
        assert_eq!(permits.len(), CONCURRENT_READS_MAX as usize);
        assert!(matches!(reader.read(|_| Ok(())).await, Err(ArchiveReadError::Busy)));
        permits.pop();
        assert!(reader.read(|_| Ok(())).await.is_ok());
    }
}
