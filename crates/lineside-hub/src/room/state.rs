//! A room's state, encoded once and shared.
//!
//! One reader at a time asks the source; others go on with their other rooms and are told when the state is there. A
//! partition's sessions never ask themselves: a worker does it for them. What was read is kept and served, with the
//! ring's entries after it, until the ring no longer reaches back to it.

use std::sync::Arc;
use std::time::Duration;

use super::{Room, RoomLog};
use crate::limits::STATE_READ_ATTEMPTS;
use crate::listener::{ListenerHandle, WorkerPool};
use crate::publication::FramedPayload;
use crate::{Epoch, Hub, Position, RoomState, StateSource};

/// How things were at one position, in parts that are sent one by one.
#[derive(Debug)]
pub struct EncodedState {
    position: Position,
    parts: Box<[FramedPayload]>,
    bytes: usize,
}

impl EncodedState {
    fn new(position: Position, state: RoomState) -> Arc<Self> {
        let mut parts: Box<[FramedPayload]> =
            state.parts.into_iter().map(FramedPayload::new).collect();
        if parts.is_empty() {
            parts = Box::new([FramedPayload::default()]);
        }
        let bytes = parts.iter().map(|part| part.data().len()).sum();
        Arc::new(Self { position, parts, bytes })
    }

    /// What a client holds once it has all parts.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The parts, at least one.
    pub fn parts(&self) -> &[FramedPayload] {
        &self.parts
    }

    /// Bytes of all parts, frames not counted.
    pub fn byte_size(&self) -> usize {
        self.bytes
    }
}

/// A state to deliver, judged at the moment it was taken.
#[derive(Debug)]
pub(crate) struct DeliverableState {
    pub(crate) state: Arc<EncodedState>,
    /// What the reader held has been overtaken.
    pub(crate) lost: bool,
    /// What the reader held is of another life.
    pub(crate) other_epoch: bool,
}

impl Room {
    /// The state for a reader that holds `held`, or `None` while somebody else reads it: then `ear` is told at
    /// the end.
    pub(crate) fn read_state_now(
        &self,
        source: &dyn StateSource,
        held: Option<Position>,
        ear: &ListenerHandle,
        now: Duration,
    ) -> Option<DeliverableState> {
        for attempt in 1.. {
            let begun = match self.begin_read(held, ear, false, now) {
                ReadStart::Ready(taken) => return Some(taken),
                ReadStart::Wait => return None,
                ReadStart::Read(begun) => begun,
            };
            let reading = StateReadGuard { room: self };
            let state = self.read_source_state(source);
            let last =
                if attempt == STATE_READ_ATTEMPTS { LastAttempt::Taken } else { LastAttempt::No };
            let taken = self.end_read(begun, state, held, now, last);
            drop(reading);
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// The state, if it is there. Otherwise a worker reads it, unless one does already, and `ear` is told when
    /// it has.
    pub(crate) fn request_state(
        self: &Arc<Self>,
        hub: &Arc<Hub>,
        workers: &dyn WorkerPool,
        held: Option<Position>,
        ear: &ListenerHandle,
        now: Duration,
    ) -> Option<DeliverableState> {
        match self.begin_read(held, ear, true, now) {
            ReadStart::Ready(taken) => Some(taken),
            ReadStart::Wait => None,
            ReadStart::Read(begun) => {
                let (room, hub) = (self.clone(), hub.clone());
                let job = StateReadJob { begun: Some(begun), room, hub };
                workers.run_job(Box::new(move || job.run_read()));
                None
            }
        }
    }

    fn read_source_state(&self, source: &dyn StateSource) -> RoomState {
        self.counters.states_encoded.increment();
        source.read_state(&self.channel, self.key)
    }

    /// Begins to read, if nobody does. Then, or if the reader itself only `asks` for it, it is told at the end.
    fn begin_read(
        &self,
        held: Option<Position>,
        ear: &ListenerHandle,
        asks: bool,
        now: Duration,
    ) -> ReadStart {
        let mut log = self.log.lock();
        if let Some(state) = log.state.clone() {
            log.state_used = now;
            return ReadStart::Ready(log.judge_state(state, held));
        }
        if log.reading || asks {
            log.waiters.insert(ear.clone());
        }
        if log.reading {
            return ReadStart::Wait;
        }
        log.reading = true;
        ReadStart::Read(ReadBaseline { epoch: log.epoch, top: log.ring.top_offset() })
    }

    /// For another attempt of the same read.
    fn restart_read(&self) -> ReadBaseline {
        let log = self.log.lock();
        ReadBaseline { epoch: log.epoch, top: log.ring.top_offset() }
    }

    /// Keeps what was read. `None` when it is of no use any more, unless this is the last attempt.
    fn end_read(
        &self,
        begun: ReadBaseline,
        state: RoomState,
        held: Option<Position>,
        now: Duration,
        last: LastAttempt,
    ) -> Option<DeliverableState> {
        let (taken, woken) = self.change_log(|log| {
            let position = match state.position.filter(|_| !self.key.has_own_sequence()) {
                Some(position) => position,
                // What the source holds is at least as new as the room's top was before the read.
                None => match begun.epoch.or(log.epoch) {
                    Some(epoch) => Position { epoch, offset: begun.top },
                    None => return (None, Vec::new()),
                },
            };
            let mut woken = Vec::new();
            // Where the room's epoch stood still, the source is the one ahead. Otherwise a new life
            // began meanwhile, and what was read is of the old one: nothing covers it.
            if log.epoch == begun.epoch && log.epoch != Some(position.epoch) {
                log.begin_epoch(position);
                woken.extend(log.listeners.iter().cloned());
            }
            let state = EncodedState::new(position, state);
            log.state_bytes_last = state.byte_size();
            let covered =
                log.epoch == Some(position.epoch) && log.ring.covers_offset(position.offset);
            // Nobody would let go of it in a room that is closed.
            if (covered || last == LastAttempt::Kept) && !log.closed {
                log.state = Some(state.clone());
                log.state_used = now;
            }
            ((covered || last != LastAttempt::No).then(|| log.judge_state(state, held)), woken)
        });
        woken.iter().for_each(ListenerHandle::notify_listener);
        taken
    }
}

impl RoomLog {
    fn judge_state(&self, state: Arc<EncodedState>, held: Option<Position>) -> DeliverableState {
        let other_epoch = held.is_some_and(|held| held.epoch != state.position.epoch);
        let lost = !other_epoch && held.is_some_and(|held| self.ring.has_lost_entries(held.offset));
        DeliverableState { state, lost, other_epoch }
    }
}

enum ReadStart {
    Ready(DeliverableState),
    Wait,
    Read(ReadBaseline),
}

/// What was so when a read began.
struct ReadBaseline {
    epoch: Option<Epoch>,
    top: u64,
}

/// Whether this is the last attempt at reading a state, and what then becomes of one that is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastAttempt {
    No,
    /// Who read it takes it.
    Taken,
    /// It is kept until the next publication, for those who wait for it.
    Kept,
}

/// A read on a worker's thread. Dropped undone, it ends the read, and who waits asks again.
struct StateReadJob {
    begun: Option<ReadBaseline>,
    room: Arc<Room>,
    hub: Arc<Hub>,
}

impl StateReadJob {
    fn run_read(mut self) {
        let room = &*self.room;
        for attempt in 1..=STATE_READ_ATTEMPTS {
            let begun = match self.begun.take() {
                Some(begun) => begun,
                None => room.restart_read(),
            };
            let state = room.read_source_state(self.hub.state_source());
            let last =
                if attempt == STATE_READ_ATTEMPTS { LastAttempt::Kept } else { LastAttempt::No };
            let now = self.hub.clock().monotonic();
            if room.end_read(begun, state, None, now, last).is_some() {
                return;
            }
        }
    }
}

impl Drop for StateReadJob {
    fn drop(&mut self) {
        drop(StateReadGuard { room: &self.room });
    }
}

/// Ends a read however it ends, so that a source that panics leaves nobody waiting for ever.
struct StateReadGuard<'a> {
    room: &'a Room,
}

impl Drop for StateReadGuard<'_> {
    fn drop(&mut self) {
        let waiters = {
            let mut log = self.room.log.lock();
            log.reading = false;
            std::mem::take(&mut log.waiters)
        };
        waiters.iter().for_each(ListenerHandle::notify_listener);
    }
}
