//! An upload in transfer: counts the received bytes, and can abort the transfer.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Minimum rate of an upload while others are refused, in bytes per second.
const CROWDED_RATE_MIN: u64 = 32 << 10;
/// Age from which the minimum rate applies.
const CROWDED_AGE_MIN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub struct UploadTransfer {
    bytes: AtomicU64,
    cancelled: CancellationToken,
}

impl UploadTransfer {
    /// Counts received bytes.
    pub fn count_received_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns the bytes per second, if the upload has run for `age` and is slow enough to be aborted for another.
    pub(super) fn rate_if_slow(&self, age: Duration) -> Option<u64> {
        let rate = self.bytes.load(Relaxed) / age.as_secs().max(1);
        (age >= CROWDED_AGE_MIN && rate < CROWDED_RATE_MIN).then_some(rate)
    }

    /// Aborts the transfer, because others wait.
    pub(super) fn abort_transfer(&self) {
        self.cancelled.cancel();
    }

    /// Awaits the transfer; returns `None` if it is aborted.
    pub async fn run_until_aborted<F: Future>(&self, coming: F) -> Option<F::Output> {
        self.cancelled.run_until_cancelled(coming).await
    }
}

/// Writes a file and counts its bytes.
#[derive(Debug)]
pub(super) struct ByteCountingWriter<W> {
    pub(super) file: W,
    pub(super) transfer: Arc<UploadTransfer>,
}

impl<W: Write> Write for ByteCountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.transfer.count_received_bytes(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
