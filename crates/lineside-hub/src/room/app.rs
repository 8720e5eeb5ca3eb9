//! Rooms without a state: append at the room's own next offset. Also the export and restore of any room's log.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::{RingBounds, RingCursor};

use super::ChannelRoom;
use crate::limits::RESTORED_ROOM_LINGER;
use crate::publication::Publication;
use crate::{HandoffRoomLog, HubConfig, NonDataContent, Position};

/// The past of a room.
pub(crate) struct RoomLogTail {
    /// The current position; `None` before the room's first epoch.
    pub(crate) position: Option<Position>,
    /// The log holds all publications after this offset.
    pub(crate) floor: u64,
    /// The size of the room's state when it was last read, in bytes.
    pub(crate) state_bytes: usize,
    /// The publications, oldest first.
    pub(crate) publications: Vec<Arc<Publication>>,
}

impl ChannelRoom {
    /// Appends at the room's own next offset. Returns true if this is the room's first change in the batch, and the
    /// position; `None` if the room has been closed.
    pub(crate) fn append_at_next_offset(
        &self,
        data: Bytes,
        note: Option<NonDataContent>,
        now: Duration,
        batch: u64,
        config: &HubConfig,
    ) -> (bool, Option<Position>) {
        self.change_log_and_count_bytes(|log| {
            let Some(epoch) = log.epoch.filter(|_| !log.closed) else { return (false, None) };
            let first = log.start_batch_once(batch);
            let offset = log.ring.newest_offset().saturating_add(1);
            log.push(
                offset,
                Publication::with_non_data_content(offset, data, note, now),
                now,
                config,
            );
            (first, Some(Position { epoch, offset }))
        })
    }

    /// Returns the ring's publications after an offset, oldest first, and the room's position. Linear in the
    /// publications, with an `Arc` clone for each.
    pub(crate) fn read_log_tail_after(&self, offset: u64) -> RoomLogTail {
        let mut entries = Vec::new();
        let log = self.log.lock();
        let floor = log.ring.oldest_covered_offset();
        let mut cursor = RingCursor::cursor_at_offset(offset.max(floor));
        let _whole = log.ring.take_entries_after(&mut cursor, usize::MAX, &mut entries);
        let position = log.epoch.map(|epoch| Position { epoch, offset: log.ring.newest_offset() });
        let state_bytes = log.state_bytes_last;
        drop(log);
        let publications = entries.into_iter().map(|entry| entry.item).collect();
        RoomLogTail { position, floor, state_bytes, publications }
    }

    /// Restores the channel's log, which was exported `away` ago.
    pub(crate) fn restore_exported_log(
        &self,
        room_state: HandoffRoomLog,
        away: Duration,
        now: Duration,
        config: &HubConfig,
    ) {
        self.change_log_and_count_bytes(|log| {
            log.start_epoch_at(Position { epoch: room_state.epoch, offset: room_state.floor });
            log.state_bytes_last = room_state.state_bytes;
            for publication in room_state.publications {
                let publication = publication.into_publication(away, now);
                log.ring.push(publication.offset, publication, RingBounds::NONE);
            }
            // The restored entries are not a batch of this process, which would have to reach all readers whole.
            log.ring.start_batch();
            log.trim_ring(now, config);
            log.quiet_since = now + RESTORED_ROOM_LINGER.saturating_sub(config.linger);
        });
    }
}
