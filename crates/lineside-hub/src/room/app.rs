//! Rooms without a state: append at the room's own next offset. Also the export and restore of any room's log.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::{RingBounds, RingCursor};

use super::Room;
use crate::limits::RESTORED_ROOM_LINGER;
use crate::publication::Publication;
use crate::{HandoffRoom, HubConfig, Position, PublicationNote};

/// The past of a room.
pub(crate) struct RoomTail {
    /// The current position; `None` before the room's first epoch.
    pub(crate) position: Option<Position>,
    /// The log holds all publications after this offset.
    pub(crate) floor: u64,
    /// The size of the room's state when it was last read, in bytes.
    pub(crate) state_bytes: usize,
    /// The publications, oldest first.
    pub(crate) publications: Vec<Arc<Publication>>,
}

impl Room {
    /// Appends at the room's own next offset. Returns true if this is the room's first change in the batch, and the
    /// position; `None` if the room has been closed.
    pub(crate) fn append_at_next_offset(
        &self,
        data: Bytes,
        note: Option<PublicationNote>,
        now: Duration,
        batch: u64,
        config: &HubConfig,
    ) -> (bool, Option<Position>) {
        self.change_log(|log| {
            let Some(epoch) = log.epoch.filter(|_| !log.closed) else { return (false, None) };
            let first = log.enter_batch(batch);
            let offset = log.ring.top_offset().saturating_add(1);
            log.push(offset, Publication::with_note(offset, data, note, now), now, config);
            (first, Some(Position { epoch, offset }))
        })
    }

    /// Returns the ring's publications after an offset, oldest first, and the room's position. Linear in the
    /// publications, with an `Arc` clone for each.
    pub(crate) fn read_tail_after(&self, offset: u64) -> RoomTail {
        let mut entries = Vec::new();
        let log = self.log.lock();
        let floor = log.ring.floor_offset();
        let mut cursor = RingCursor::at_offset(offset.max(floor));
        let _whole = log.ring.take_after(&mut cursor, usize::MAX, &mut entries);
        let position = log.epoch.map(|epoch| Position { epoch, offset: log.ring.top_offset() });
        let state_bytes = log.state_bytes_last;
        drop(log);
        let publications = entries.into_iter().map(|entry| entry.item).collect();
        RoomTail { position, floor, state_bytes, publications }
    }

    /// Restores the channel's log, which was exported `away` ago.
    pub(crate) fn restore_log(
        &self,
        room_state: HandoffRoom,
        away: Duration,
        now: Duration,
        config: &HubConfig,
    ) {
        self.change_log(|log| {
            log.begin_epoch(Position { epoch: room_state.epoch, offset: room_state.floor });
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
