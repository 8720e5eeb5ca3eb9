//! Requests to the thread that writes the database.

use std::sync::mpsc::SyncSender;

use lineside_model::{
    CacheValidators, FeedId, FeedState, PollRecord, ServedContentFreshness, SnapshotKey,
};
use lineside_sync::UnixMillis;

use crate::{
    blob_hash::BlobHash,
    tables::{
        delays::DelayCountRow, notification::NotificationRow, reports::ReportRow,
        snapshots::SnapshotRow,
    },
};

#[derive(Debug)]
pub(crate) enum WriteRequest {
    /// A poll has ended.
    Poll { feed: FeedId, poll: PollRecord },
    /// A feed was paused and serves this content.
    Pause { feed: FeedId, at: UnixMillis, serving: ServedContentFreshness },
    /// The state of a feed changed.
    State { feed: FeedId, state: FeedState, reason: String, since: UnixMillis },
    /// Saved snapshots, whose blobs are on the disk. The reply has the replaced blobs. A failure is not retried,
    /// because newer bytes may arrive in the meantime.
    Snapshots { rows: Vec<SnapshotRow>, reply: SyncSender<Result<Vec<BlobHash>, String>> },
    /// The source has confirmed a snapshot.
    Confirmed { key: SnapshotKey, at: UnixMillis, validators: CacheValidators },
    /// A file that its system no longer has.
    Forgotten(SnapshotKey),
    /// All configured feeds.
    Feeds(Vec<FeedId>),
    /// A notification to a target, or its delivery.
    Notification(NotificationRow),
    /// A report on a version of a feed's data.
    Report(ReportRow),
    /// Delay counts of a quarter of an hour.
    Delays(Vec<DelayCountRow>),
    /// Notifies the sender once all earlier requests are on the disk.
    Flush(SyncSender<()>),
}

impl WriteRequest {
    /// Returns true if the request has to survive a power cut, and not only a crash of the process.
    pub(crate) fn must_be_durable(&self) -> bool {
        matches!(
            self,
            WriteRequest::State { .. }
                | WriteRequest::Snapshots { .. }
                | WriteRequest::Notification(_)
                | WriteRequest::Report(_)
                | WriteRequest::Flush(_)
        )
    }
}
