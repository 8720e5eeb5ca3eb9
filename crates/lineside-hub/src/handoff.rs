//! Handoff of a hub's state to the hub of the next process: the logs of its rooms, and their positions.
//!
//! A clean stop [seals](Hub::stop_app_publishing) the hub, so that nothing more is published, and exports the logs of
//! all rooms with a public name. A start restores them before the first subscription. A client that returns with a
//! position of the previous process is then treated as if there had been only one process. Listeners and presence are
//! not handed over.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::{Clock, Sleep, UnixMillis};

use crate::limits::{CLOCK_HEAD_START, HANDOFF_ROOMS_MAX};
use crate::room::RoomLogTail;
use crate::{
    ChannelResolveError, ChannelRoom, EncodedChannelName, Epoch, Hub, NonDataContent, Position,
    Publication, PublicationExtras, RoomKey,
};

/// A room's log, without the state of its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffRoomLog {
    /// The room's public name.
    pub channel: EncodedChannelName,
    /// The epoch of the room's sequence.
    pub epoch: Epoch,
    /// The log holds all publications after this offset.
    pub floor: u64,
    /// The size of the channel's state when it was last read, in bytes: its log may be larger by that much.
    pub state_bytes: usize,
    /// The publications, oldest first, with rising offsets.
    pub publications: Vec<HandoffPublication>,
}

/// One entry of a room's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffPublication {
    /// The publication's position in the sequence.
    pub offset: u64,
    /// The time since it was published.
    pub age: Duration,
    /// The published data.
    pub data: Bytes,
    /// The metadata published with it.
    pub extras: PublicationExtras,
}

/// The exported logs, within a size limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffRoomLogs {
    /// The rooms, by group, kind and id.
    pub rooms: Vec<HandoffRoomLog>,
    /// The number of older publications that were left out because newer ones reached the limit.
    pub n_omitted: usize,
}

impl Hub {
    /// Stops publishing into `app/…` permanently; everything published before is in the logs.
    pub fn stop_app_publishing(&self) {
        *self.app_publish_lock().write() = true;
    }

    /// Returns the logs of the rooms that have a public name and satisfy `is_included`: of all of them together, the
    /// newest publications up to `bytes_max`.
    pub fn export_room_logs(
        &self,
        bytes_max: usize,
        is_included: impl Fn(&EncodedChannelName, RoomKey) -> bool,
    ) -> HandoffRoomLogs {
        let now = self.clock().monotonic();
        let mut rooms = self.all_rooms();
        rooms.sort_by_key(|room| room.key());
        let rooms = rooms.iter().filter(|room| !room.key().is_hidden_from_clients());
        let rooms =
            rooms.filter(|room| is_included(room.channel(), room.key())).take(HANDOFF_ROOMS_MAX);
        let mut rooms: Vec<HandoffRoomLog> =
            rooms.filter_map(|room| room.export_room_log(now)).collect();
        let n_omitted = drop_oldest_publications(&mut rooms, bytes_max);
        HandoffRoomLogs { rooms, n_omitted }
    }

    /// Restores a log that was exported `away` ago. Call this before the first subscription. Returns false if there is
    /// no place for its room.
    ///
    /// # Errors
    /// Returns an error if there is no such channel or feed any more.
    pub fn restore_room_log(
        &self,
        handoff: HandoffRoomLog,
        away: Duration,
    ) -> Result<bool, ChannelResolveError> {
        let key = self.resolve_room_key(&handoff.channel)?;
        let Some(room) = self.get_or_create_room(&handoff.channel, key) else { return Ok(false) };
        if *room.channel() != handoff.channel {
            return Ok(false);
        }
        let now = self.clock().monotonic();
        room.restore_exported_log(handoff, away, now, self.config());
        Ok(true)
    }

    /// Continues a group's sequence at `position`, which each of its rooms reached in the previous process.
    pub fn continue_group_sequence_at(&self, group: u32, position: Position) {
        let mut batch = self.open_publish_batch();
        batch.mark_group_published_up_to(group, position);
        batch.finish_and_signal_listeners();
    }
}

/// Drops the oldest publications of all rooms until at most `bytes_max` are left; returns the number dropped.
fn drop_oldest_publications(rooms: &mut [HandoffRoomLog], bytes_max: usize) -> usize {
    let mut by_age: BTreeMap<Duration, usize> = BTreeMap::new();
    for publication in rooms.iter().flat_map(|room| &room.publications) {
        *by_age.entry(publication.age).or_default() += publication.byte_size();
    }
    let mut bytes = 0;
    let fits = |bytes: &mut usize, more: usize| {
        *bytes += more;
        *bytes <= bytes_max
    };
    let Some((&oldest, _)) = by_age.iter().find(|(_, more)| !fits(&mut bytes, **more)) else {
        return 0;
    };
    let mut n_omitted = 0;
    for room in rooms {
        // Offsets rise with time, so the dropped publications are the first of the room.
        let newest = room.publications.iter().rposition(|it| it.age >= oldest);
        if let Some(newest) = newest {
            room.floor = room.publications[newest].offset;
            n_omitted += room.publications.drain(..=newest).count();
        }
    }
    n_omitted
}

impl HandoffPublication {
    fn from_publication(publication: &Publication, now: Duration) -> Self {
        Self {
            offset: publication.offset,
            age: now.saturating_sub(publication.at),
            data: publication.payload.data().clone(),
            extras: publication.extras().clone(),
        }
    }

    fn byte_size(&self) -> usize {
        self.data.len() + self.extras.byte_size()
    }

    pub(crate) fn into_publication(self, away: Duration, now: Duration) -> Arc<Publication> {
        let at = now.saturating_sub(self.age).saturating_sub(away);
        let note: Option<NonDataContent> = self.extras.into_non_data_content();
        Publication::with_non_data_content(self.offset, self.data, note, at)
    }
}

impl ChannelRoom {
    /// Returns the room's log; `None` before the room's first epoch.
    fn export_room_log(&self, now: Duration) -> Option<HandoffRoomLog> {
        let RoomLogTail { position, floor, state_bytes, publications } =
            self.read_log_tail_after(0);
        let publications =
            publications.iter().map(|it| HandoffPublication::from_publication(it, now)).collect();
        Some(HandoffRoomLog {
            channel: self.channel().clone(),
            epoch: position?.epoch,
            floor,
            state_bytes,
            publications,
        })
    }
}

/// A clock whose monotonic time has a head start, so that publications of an earlier process have a time too.
pub(crate) struct HeadStartClock(pub(crate) Arc<dyn Clock>);

impl Clock for HeadStartClock {
    fn monotonic(&self) -> Duration {
        self.0.monotonic() + CLOCK_HEAD_START
    }

    fn wall_time(&self) -> UnixMillis {
        self.0.wall_time()
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep {
        self.0.sleep_until(deadline.saturating_sub(CLOCK_HEAD_START))
    }
}

impl fmt::Debug for HeadStartClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
