//! The waker of a partition that sleeps in its poller.

use std::io;
use std::sync::Arc;
use std::task::Wake;

use lineside_hub::NewsListener;
use mio::{Poll, Token};
use parking_lot::Mutex;

/// The poller's token of the waker.
pub(super) const WAKER_TOKEN: Token = Token(usize::MAX);

/// Wakes a partition that sleeps in its poller.
#[derive(Debug)]
pub(super) struct PartitionWaker(mio::Waker);

impl PartitionWaker {
    pub(super) fn new(poll: &Poll) -> io::Result<Self> {
        mio::Waker::new(poll.registry(), WAKER_TOKEN).map(Self)
    }

    pub(super) fn wake_partition_poller(&self) {
        // Fails only if the poller is gone, and with it the partition.
        _ = self.0.wake();
    }
}

impl NewsListener for PartitionWaker {
    fn signal_news(&self) {
        self.wake_partition_poller();
    }
}

impl Wake for PartitionWaker {
    fn wake(self: Arc<Self>) {
        self.wake_partition_poller();
    }
}

/// The workers' reports of checked tokens.
pub(super) struct CheckedTokens {
    /// The rows, with the connections' ids, because a row may have been reused. Bound: each row once.
    rows: Mutex<Vec<(u32, Arc<str>)>>,
    partition_waker: Arc<PartitionWaker>,
}

impl CheckedTokens {
    pub(super) fn new(partition_waker: Arc<PartitionWaker>) -> Self {
        Self { rows: Mutex::default(), partition_waker }
    }

    /// Returns the reports since the last call.
    pub(super) fn take_checked_tokens(&self) -> Vec<(u32, Arc<str>)> {
        std::mem::take(&mut *self.rows.lock())
    }

    pub(super) fn report_checked_token(&self, row: u32, id: Arc<str>) {
        self.rows.lock().push((row, id));
        self.partition_waker.wake_partition_poller();
    }
}
