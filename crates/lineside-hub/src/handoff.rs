//! What a hub leaves to the one that comes after it, in another process: its logs, and where each of them is.
//!
//! A clean stop [seals](Hub::stop_app_publishing) the hub, so that nothing is published any more, and takes the logs of all rooms that
//! have a public name. A start puts them back before anybody subscribes, and whoever comes back with a position of the
//! process before is judged as if there had been one process only. Who listened and who was present is not kept.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::{Clock, Sleep, UnixMillis};

use crate::limits::{CLOCK_HEAD_START, KEPT_ROOMS_MAX};
use crate::room::RoomTail;
use crate::{
    Channel, Epoch, Hub, Position, Publication, PublicationExtras, PublicationNote, ResolveError,
    Room, RoomKey,
};

/// A room's log, without anything of the process that it was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffRoom {
    /// The room's public name.
    pub channel: Channel,
    /// The life of its sequence.
    pub epoch: Epoch,
    /// The log holds everything that came after this offset.
    pub floor: u64,
    /// How large the channel's state was when last read: its log may be larger by that.
    pub state_bytes: usize,
    /// Oldest first; offsets rise.
    pub publications: Vec<HandoffPublication>,
}

/// One entry of a room's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffPublication {
    /// Its place in the sequence.
    pub offset: u64,
    /// How long ago it was published.
    pub age: Duration,
    /// What was published.
    pub data: Bytes,
    /// What came with it.
    pub extras: PublicationExtras,
}

/// Logs, as far as there was place for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandoffRooms {
    /// By group, kind and id.
    pub rooms: Vec<HandoffRoom>,
    /// Publications that were left out because the newer ones took the place.
    pub left_out: usize,
}

impl Hub {
    /// From here on nothing can be published into `app/…`; what was published is in the logs for good.
    pub fn stop_app_publishing(&self) {
        *self.app_publish_lock().write() = true;
    }

    /// The logs of those rooms that have a public name and that `is_kept`: of all of them together the newest
    /// publications, as many as take `bytes_max`.
    pub fn export_rooms(
        &self,
        bytes_max: usize,
        is_kept: impl Fn(&Channel, RoomKey) -> bool,
    ) -> HandoffRooms {
        let now = self.clock().monotonic();
        let mut rooms = self.all_rooms();
        rooms.sort_by_key(|room| room.key());
        let rooms = rooms.iter().filter(|room| !room.key().is_hidden());
        let rooms = rooms.filter(|room| is_kept(room.channel(), room.key())).take(KEPT_ROOMS_MAX);
        let mut rooms: Vec<HandoffRoom> = rooms.filter_map(|room| room.export_log(now)).collect();
        let left_out = drop_oldest_publications(&mut rooms, bytes_max);
        HandoffRooms { rooms, left_out }
    }

    /// Puts a log back that was taken `away` ago. To be called before anybody subscribes. False where there is no place
    /// for its room.
    ///
    /// # Errors
    /// When there is no such channel or feed any more.
    pub fn restore_room(&self, kept: HandoffRoom, away: Duration) -> Result<bool, ResolveError> {
        let key = self.resolve_channel(&kept.channel)?;
        let Some(room) = self.enter_room(&kept.channel, key) else { return Ok(false) };
        if *room.channel() != kept.channel {
            return Ok(false);
        }
        let now = self.clock().monotonic();
        room.restore_log(kept, away, now, self.config());
        Ok(true)
    }

    /// Says that a group's sequence goes on at `position`, which each of its rooms was brought to in the process before.
    pub fn resume_group_at(&self, group: u32, position: Position) {
        let mut batch = self.open_batch();
        batch.mark_group_reached(group, position);
        batch.finish();
    }
}

/// Drops the oldest publications of all rooms until at most `bytes_max` are left, and says how many.
fn drop_oldest_publications(rooms: &mut [HandoffRoom], bytes_max: usize) -> usize {
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
    let mut left_out = 0;
    for room in rooms {
        // Offsets rise with time, so what goes is the beginning.
        let newest = room.publications.iter().rposition(|it| it.age >= oldest);
        if let Some(newest) = newest {
            room.floor = room.publications[newest].offset;
            left_out += room.publications.drain(..=newest).count();
        }
    }
    left_out
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
        let note: Option<PublicationNote> = self.extras.into_note();
        Publication::with_note(self.offset, self.data, note, at)
    }
}

impl Room {
    /// Its log; `None` while it has no life yet.
    fn export_log(&self, now: Duration) -> Option<HandoffRoom> {
        let RoomTail { position, floor, state_bytes, publications } = self.read_tail_after(0);
        let publications =
            publications.iter().map(|it| HandoffPublication::from_publication(it, now)).collect();
        Some(HandoffRoom {
            channel: self.channel().clone(),
            epoch: position?.epoch,
            floor,
            state_bytes,
            publications,
        })
    }
}

/// A clock whose monotonic time has begun long ago, so that what was published before the process began has a time, too.
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
