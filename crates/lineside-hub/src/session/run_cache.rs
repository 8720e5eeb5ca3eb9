//! Publications that many sessions are sent alike, joined once for all of them.
//!
//! Who keeps up with a room stands where all others stand who keep up with it. So what comes next for one of them
//! comes next for all, and a partition that is some publications behind would give each of its sockets the same
//! pieces one by one. Here the first to come by joins them, and those who stand at the same place take the whole.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::limits::{RUN_BYTES_MAX, RUNS_BYTES_MAX, RUNS_KEPT};
use crate::{Channel, Position, Publication, Room};

/// What the sessions of one partition were sent last, for the others of them.
///
/// *What it promises*: a run that is found here and reached to the end of its room holds all that the partition has been
/// told of, because those from before are not looked at. So who is given it has all there is until the partition is told
/// of more.
///
/// *Bound*: some runs, each of some bytes; what sockets have not taken of older ones counts, too, and where that is
/// too much nothing is joined.
#[derive(Default)]
pub struct RunCache {
    /// The newest first.
    kept: VecDeque<PublicationRun>,
    /// Bytes of all that was joined and is still held by anybody.
    alive: Arc<AtomicUsize>,
    /// Publications on their way into a run, kept from one to the next.
    publications: Vec<Arc<Publication>>,
}

/// One publication as it is to be framed.
#[derive(Clone, Copy, Debug)]
pub struct FrameInput<'a> {
    /// Where it was published.
    pub channel: &'a Channel,
    /// Of the sequence that the channel's offsets belong to; as [`Session::held_positions`](super::Session::held_positions) names it.
    pub sequence: &'a str,
    /// Where a client is that has it.
    pub position: Position,
    /// What is framed, and holds its frames.
    pub publication: &'a Publication,
}

/// What follows `from` in a room, in frames of one kind.
pub(super) struct PublicationRun {
    room: Arc<Room>,
    from: Position,
    slot: usize,
    /// What the partition had heard then.
    heard: u64,
    /// The last offset in it.
    pub(super) to: u64,
    /// The room's version when this was all there was.
    pub(super) seen: Option<u64>,
    pub(super) bytes: Bytes,
    /// When each of them was appended.
    pub(super) appended: Vec<Duration>,
}

/// Bytes that are counted as long as somebody holds them.
struct TrackedBytes {
    bytes: Vec<u8>,
    alive: Arc<AtomicUsize>,
}

impl RunCache {
    /// Lets go of what is kept, before the partition goes to sleep.
    pub fn clear(&mut self) {
        self.kept.clear();
    }

    /// The run that follows `from` in the room, joined if nobody was sent it since something was `heard`. `None` where
    /// there is no publication, or something else comes first.
    pub(super) fn find_or_build_run(
        &mut self,
        room: &Arc<Room>,
        from: Position,
        (slot, heard): (usize, u64),
        frame: impl FnMut(Position, &Publication) -> Bytes,
    ) -> Option<&PublicationRun> {
        let is_it = |run: &PublicationRun| {
            run.from == from
                && (run.slot, run.heard) == (slot, heard)
                && Arc::ptr_eq(&run.room, room)
        };
        let place = match self.kept.iter().position(is_it) {
            Some(place) => place,
            None => {
                let run = self.build_run(room, from, (slot, heard), frame)?;
                self.kept.truncate(RUNS_KEPT - 1);
                self.kept.push_front(run);
                0
            }
        };
        self.kept.get(place)
    }

    fn build_run(
        &mut self,
        room: &Arc<Room>,
        from: Position,
        (slot, heard): (usize, u64),
        mut frame: impl FnMut(Position, &Publication) -> Bytes,
    ) -> Option<PublicationRun> {
        let left = RUNS_BYTES_MAX.saturating_sub(self.alive.load(Ordering::Relaxed));
        // Nothing is copied of one alone.
        let most = if left < RUN_BYTES_MAX { 0 } else { RUN_BYTES_MAX };
        let mut publications = std::mem::take(&mut self.publications);
        let seen = room.collect_run(from, most, &mut publications);
        let frames = publications
            .iter()
            .map(|it| frame(Position { offset: it.offset, epoch: from.epoch }, it));
        let run = seen.zip(publications.last()).map(|(seen, last)| PublicationRun {
            room: room.clone(),
            from,
            slot,
            heard,
            to: last.offset,
            seen,
            bytes: self.join_frames(frames),
            appended: publications.iter().map(|it| it.at).collect(),
        });
        publications.clear();
        self.publications = publications;
        run
    }

    fn join_frames(&self, frames: impl ExactSizeIterator<Item = Bytes>) -> Bytes {
        if frames.len() == 1 {
            return frames.into_iter().next().unwrap_or_default();
        }
        let mut bytes = Vec::new();
        frames.for_each(|frame| bytes.extend_from_slice(&frame));
        self.alive.fetch_add(bytes.capacity(), Ordering::Relaxed);
        Bytes::from_owner(TrackedBytes { bytes, alive: self.alive.clone() })
    }
}

impl AsRef<[u8]> for TrackedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for TrackedBytes {
    fn drop(&mut self) {
        self.alive.fetch_sub(self.bytes.capacity(), Ordering::Relaxed);
    }
}

impl fmt::Debug for RunCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs")
            .field("kept", &self.kept.len())
            .field("bytes", &self.alive.load(Ordering::Relaxed))
            .finish()
    }
}
