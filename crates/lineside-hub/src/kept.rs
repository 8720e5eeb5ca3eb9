//! What a hub leaves to the one that comes after it, in another process: its logs, and where each of them is.
//!
//! A clean stop [seals](Hub::seal) the hub, so that nothing is published any more, and takes the logs of all rooms that
//! have a public name. A start puts them back before anybody subscribes, and whoever comes back with a position of the
//! process before is judged as if there had been one process only. Who listened and who was present is not kept.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::{Clock, Sleep, UnixMillis};

use crate::limits::{CLOCK_HEAD_START, KEPT_ROOMS_MAX};
use crate::room::Tail;
use crate::{
    Channel, Epoch, Extras, Hub, Note, Position, Publication, ResolveError, Room, RoomKey,
};

/// A room's log, without anything of the process that it was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRoom {
    /// The room's public name.
    pub channel: Channel,
    /// The life of its sequence.
    pub epoch: Epoch,
    /// The log holds everything that came after this offset.
    pub floor: u64,
    /// How large the channel's state was when last read: its log may be larger by that.
    pub state_bytes: usize,
    /// Oldest first; offsets rise.
    pub publications: Vec<KeptPublication>,
}

/// One entry of a room's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPublication {
    /// Its place in the sequence.
    pub offset: u64,
    /// How long ago it was published.
    pub age: Duration,
    /// What was published.
    pub data: Bytes,
    /// What came with it.
    pub extras: Extras,
}

/// Logs, as far as there was place for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptRooms {
    /// By group, kind and id.
    pub rooms: Vec<KeptRoom>,
    /// Publications that were left out because the newer ones took the place.
    pub left_out: usize,
}

impl Hub {
    /// From here on nothing can be published into `app/…`; what was published is in the logs for good.
    pub fn seal(&self) {
        *self.sealed().write() = true;
    }

    /// The logs of those rooms that have a public name and that `is_kept`: of all of them together the newest
    /// publications, as many as take `bytes_max`.
    pub fn kept_rooms(
        &self,
        bytes_max: usize,
        is_kept: impl Fn(&Channel, RoomKey) -> bool,
    ) -> KeptRooms {
        let now = self.clock().monotonic();
        let mut rooms = self.all_rooms();
        rooms.sort_by_key(|room| room.key());
        let rooms = rooms.iter().filter(|room| !room.key().is_hidden());
        let rooms = rooms.filter(|room| is_kept(room.channel(), room.key())).take(KEPT_ROOMS_MAX);
        let mut rooms: Vec<KeptRoom> = rooms.filter_map(|room| room.kept(now)).collect();
        let left_out = leave_out_oldest(&mut rooms, bytes_max);
        KeptRooms { rooms, left_out }
    }

    /// Puts a log back that was taken `away` ago. To be called before anybody subscribes. False where there is no place
    /// for its room.
    ///
    /// # Errors
    /// When there is no such channel or feed any more.
    pub fn restore_room(&self, kept: KeptRoom, away: Duration) -> Result<bool, ResolveError> {
        let key = self.resolve(&kept.channel)?;
        let Some(room) = self.enter(&kept.channel, key) else { return Ok(false) };
        if *room.channel() != kept.channel {
            return Ok(false);
        }
        let now = self.clock().monotonic();
        room.restore(kept, away, now, self.config());
        Ok(true)
    }

    /// Says that a group's sequence goes on at `position`, which each of its rooms was brought to in the process before.
    pub fn continue_at(&self, group: u32, position: Position) {
        let mut batch = self.batch();
        batch.reach(group, position);
        batch.finish();
    }
}

/// Drops the oldest publications of all rooms until at most `bytes_max` are left, and says how many.
fn leave_out_oldest(rooms: &mut [KeptRoom], bytes_max: usize) -> usize {
    let mut by_age: BTreeMap<Duration, usize> = BTreeMap::new();
    for publication in rooms.iter().flat_map(|room| &room.publications) {
        *by_age.entry(publication.age).or_default() += publication.bytes();
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

impl KeptPublication {
    fn of(publication: &Publication, now: Duration) -> Self {
        Self {
            offset: publication.offset,
            age: now.saturating_sub(publication.at),
            data: publication.payload.data().clone(),
            extras: publication.extras().clone(),
        }
    }

    fn bytes(&self) -> usize {
        self.data.len() + self.extras.bytes()
    }

    pub(crate) fn into_publication(self, away: Duration, now: Duration) -> Arc<Publication> {
        let at = now.saturating_sub(self.age).saturating_sub(away);
        let note: Option<Note> = self.extras.into_note();
        Publication::noted(self.offset, self.data, note, at)
    }
}

impl Room {
    /// Its log; `None` while it has no life yet.
    fn kept(&self, now: Duration) -> Option<KeptRoom> {
        let Tail { position, floor, state_bytes, publications } = self.kept_after(0);
        let publications = publications.iter().map(|it| KeptPublication::of(it, now)).collect();
        Some(KeptRoom {
            channel: self.channel().clone(),
            epoch: position?.epoch,
            floor,
            state_bytes,
            publications,
        })
    }
}

/// A clock whose monotonic time has begun long ago, so that what was published before the process began has a time, too.
pub(crate) struct HeadStart(pub(crate) Arc<dyn Clock>);

impl Clock for HeadStart {
    fn monotonic(&self) -> Duration {
        self.0.monotonic() + CLOCK_HEAD_START
    }

    fn wall(&self) -> UnixMillis {
        self.0.wall()
    }

    fn sleep_until(&self, deadline: Duration) -> Sleep {
        self.0.sleep_until(deadline.saturating_sub(CLOCK_HEAD_START))
    }
}

impl fmt::Debug for HeadStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
