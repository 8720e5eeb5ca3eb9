//! Runs: publications that many sessions get, joined once for all of them.
//!
//! All sessions that keep up with a room are at the same position in it, so their next publications are equal. A
//! partition that is some publications behind would give each of its sockets the same pieces one by one. Instead the
//! first session joins them, and the other sessions at the same position take the whole.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::limits::{CACHED_RUNS_MAX, RUN_BYTES_MAX, RUNS_BYTES_MAX};
use crate::{ChannelRoom, EncodedChannelName, Position, Publication};

/// The last runs of one partition, shared by its sessions.
///
/// *Guarantee*: a run found here that reaches the end of its room has all publications that were signaled to the
/// partition, because runs from before the last signal are not used. So its receivers are up to date until the next
/// signal.
///
/// *Bound*: the number of runs, and their bytes, which include the bytes of older runs that sockets have not taken.
/// Beyond the bound nothing is joined.
#[derive(Default)]
pub struct JoinedPublicationsCache {
    /// The cached runs, newest first.
    runs: VecDeque<JoinedPublications>,
    /// The bytes of all runs that are still in use.
    bytes_in_use: Arc<AtomicUsize>,
    /// A buffer for the publications of a run, reused.
    publications: Vec<Arc<Publication>>,
}

/// One publication to be framed.
#[derive(Clone, Copy, Debug)]
pub struct PublicationToFrame<'a> {
    pub channel: &'a EncodedChannelName,
    /// The sequence of the channel's offsets, as named by
    /// [`Session::client_positions`](super::Session::client_positions).
    pub sequence: &'a str,
    /// The client's position after the publication.
    pub position: Position,
    /// The publication, which also stores its frames.
    pub publication: &'a Publication,
}

/// The publications after `from` in a room, in frames of one kind.
pub(super) struct JoinedPublications {
    room: Arc<ChannelRoom>,
    from: Position,
    slot: usize,
    /// The partition's signal count when the run was built.
    signal_count: u64,
    /// The last offset in the run.
    pub(super) to: u64,
    /// The room's version if the run reached its end.
    pub(super) seen: Option<u64>,
    pub(super) bytes: Bytes,
    /// The times at which the publications were appended.
    pub(super) appended: Vec<Duration>,
}

/// Bytes that are counted until the last holder drops them.
struct TrackedBytes {
    bytes: Vec<u8>,
    bytes_in_use: Arc<AtomicUsize>,
}

impl JoinedPublicationsCache {
    /// Drops the cached runs, before the partition goes to sleep.
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Returns the run after `from` in the room; builds one if none is cached for this signal count. Returns
    /// `None` if there is no publication, or if another kind of entry comes first.
    pub(super) fn find_or_join_publications(
        &mut self,
        room: &Arc<ChannelRoom>,
        from: Position,
        (slot, signal_count): (usize, u64),
        frame: impl FnMut(Position, &Publication) -> Bytes,
    ) -> Option<&JoinedPublications> {
        let is_it = |run: &JoinedPublications| {
            run.from == from
                && (run.slot, run.signal_count) == (slot, signal_count)
                && Arc::ptr_eq(&run.room, room)
        };
        let index = match self.runs.iter().position(is_it) {
            Some(index) => index,
            None => {
                let run = self.join_publications(room, from, (slot, signal_count), frame)?;
                self.runs.truncate(CACHED_RUNS_MAX - 1);
                self.runs.push_front(run);
                0
            }
        };
        self.runs.get(index)
    }

    fn join_publications(
        &mut self,
        room: &Arc<ChannelRoom>,
        from: Position,
        (slot, signal_count): (usize, u64),
        mut frame: impl FnMut(Position, &Publication) -> Bytes,
    ) -> Option<JoinedPublications> {
        let left = RUNS_BYTES_MAX.saturating_sub(self.bytes_in_use.load(Ordering::Relaxed));
        // A run of one publication is not copied.
        let bytes_max = if left < RUN_BYTES_MAX { 0 } else { RUN_BYTES_MAX };
        let mut publications = std::mem::take(&mut self.publications);
        let seen = room.collect_data_publications(from, bytes_max, &mut publications);
        let frames = publications
            .iter()
            .map(|it| frame(Position { offset: it.offset, epoch: from.epoch }, it));
        let run = seen.zip(publications.last()).map(|(seen, last)| JoinedPublications {
            room: room.clone(),
            from,
            slot,
            signal_count,
            to: last.offset,
            seen,
            bytes: self.join_publication_frames(frames),
            appended: publications.iter().map(|it| it.at).collect(),
        });
        publications.clear();
        self.publications = publications;
        run
    }

    fn join_publication_frames(&self, frames: impl ExactSizeIterator<Item = Bytes>) -> Bytes {
        if frames.len() == 1 {
            return frames.into_iter().next().unwrap_or_default();
        }
        let mut bytes = Vec::new();
        frames.for_each(|frame| bytes.extend_from_slice(&frame));
        self.bytes_in_use.fetch_add(bytes.capacity(), Ordering::Relaxed);
        Bytes::from_owner(TrackedBytes { bytes, bytes_in_use: self.bytes_in_use.clone() })
    }
}

impl AsRef<[u8]> for TrackedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for TrackedBytes {
    fn drop(&mut self) {
        self.bytes_in_use.fetch_sub(self.bytes.capacity(), Ordering::Relaxed);
    }
}

impl fmt::Debug for JoinedPublicationsCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCache")
            .field("kept", &self.runs.len())
            .field("bytes", &self.bytes_in_use.load(Ordering::Relaxed))
            .finish()
    }
}
