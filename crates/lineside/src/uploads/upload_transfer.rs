//! A file on its way here: how much of it has come, and the word to give it up.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How fast a file has to come, in bytes per second, while others find no place for theirs.
const CROWDED_RATE_MIN: u64 = 32 << 10;
/// How long a file may take to begin.
const CROWDED_AGE_MIN: Duration = Duration::from_secs(5);

/// A file on its way here.
#[derive(Debug, Default)]
pub(crate) struct UploadTransfer {
    bytes: AtomicU64,
    given_up: CancellationToken,
}

impl UploadTransfer {
    /// So much more of it has come.
    pub(crate) fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Its bytes per second, if it came for `age` and is slow enough to make way for another.
    pub(super) fn rate_if_slow(&self, age: Duration) -> Option<u64> {
        let rate = self.bytes.load(Relaxed) / age.as_secs().max(1);
        (age >= CROWDED_AGE_MIN && rate < CROWDED_RATE_MIN).then_some(rate)
    }

    /// Gives it up, because others wait.
    pub(super) fn abort_transfer(&self) {
        self.given_up.cancel();
    }

    /// What it comes to; none if it is given up.
    pub(crate) async fn receive_or_abort<F: Future>(&self, coming: F) -> Option<F::Output> {
        self.given_up.run_until_cancelled(coming).await
    }
}

/// Writes a file as it comes.
#[derive(Debug)]
pub(super) struct TransferWriter<W> {
    pub(super) file: W,
    pub(super) arrival: Arc<UploadTransfer>,
}

impl<W: Write> Write for TransferWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.arrival.add_bytes(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
