//! What rooms without a state do besides: append at their own next offset, and tell what they keep.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::Cursor;

use super::Room;
use crate::publication::Publication;
use crate::{HubConfig, Note, Position};

impl Room {
    /// Appends at the room's own next offset. Says whether it is the room's first change in this batch, and
    /// where it was appended; `None` when the room has been closed.
    pub(crate) fn append_next(
        &self,
        data: Bytes,
        note: Option<Note>,
        now: Duration,
        batch: u64,
        config: &HubConfig,
    ) -> (bool, Option<Position>) {
        self.change(|log| {
            let Some(epoch) = log.epoch.filter(|_| !log.closed) else { return (false, None) };
            let first = log.enter_batch(batch);
            let offset = log.ring.top().saturating_add(1);
            log.push(offset, Publication::noted(offset, data, note, now), now, config);
            (first, Some(Position { epoch, offset }))
        })
    }

    /// What its ring holds after an offset, oldest first, and where the room is. Takes time and an
    /// `Arc` for each.
    pub(crate) fn kept_after(&self, offset: u64) -> (Option<Position>, Vec<Arc<Publication>>) {
        let mut entries = Vec::new();
        let log = self.log.lock();
        let mut cursor = Cursor::at(offset.max(log.ring.floor()));
        let _whole = log.ring.take_after(&mut cursor, usize::MAX, &mut entries);
        let top = log.epoch.map(|epoch| Position { epoch, offset: log.ring.top() });
        drop(log);
        (top, entries.into_iter().map(|entry| entry.item).collect())
    }
}
