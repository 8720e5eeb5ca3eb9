//! A room's state, encoded once and shared.
//!
//! One reader at a time reads from the source. Other readers continue with their other rooms and are signaled when the
//! state is there. A partition's sessions never read themselves: a worker does it for them. The state is cached and
//! served, together with the ring's later entries, until the ring no longer reaches back to it.

use std::sync::Arc;
use std::time::Duration;

use super::{ChannelRoom, RoomLog};
use crate::limits::STATE_READ_ATTEMPTS;
use crate::listener::{ListenerHandle, WorkerPool};
use crate::publication::FramedPayload;
use crate::{ChannelState, ChannelStateSource, Epoch, Hub, Position};

/// The state of a channel at one position, in parts that are sent one by one.
#[derive(Debug)]
pub struct EncodedState {
    position: Position,
    parts: Box<[FramedPayload]>,
    bytes: usize,
}

impl EncodedState {
    fn new(position: Position, state: ChannelState) -> Arc<Self> {
        let mut parts: Box<[FramedPayload]> =
            state.parts.into_iter().map(FramedPayload::new).collect();
        if parts.is_empty() {
            parts = Box::new([FramedPayload::default()]);
        }
        let bytes = parts.iter().map(|part| part.data().len()).sum();
        Arc::new(Self { position, parts, bytes })
    }

    /// Returns the position of a client that has all parts.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Returns the parts, at least one.
    pub fn parts(&self) -> &[FramedPayload] {
        &self.parts
    }

    /// Returns the bytes of all parts, without frames.
    pub fn byte_size(&self) -> usize {
        self.bytes
    }
}

/// A state to deliver, and its relation to the reader's position when it was taken.
#[derive(Debug)]
pub(crate) struct DeliverableState {
    pub(crate) state: Arc<EncodedState>,
    /// True if the ring has overtaken the reader's position.
    pub(crate) lost: bool,
    /// True if the reader's position is of another epoch.
    pub(crate) other_epoch: bool,
}

impl ChannelRoom {
    /// Returns the state for a reader at `reader_position`, or `None` while another reader reads it: `listener` is then
    /// signaled at the end.
    pub(crate) fn cached_or_read_state(
        &self,
        source: &dyn ChannelStateSource,
        reader_position: Option<Position>,
        listener: &ListenerHandle,
        now: Duration,
    ) -> Option<DeliverableState> {
        for attempt in 1.. {
            let baseline = match self.begin_state_read(reader_position, listener, false, now) {
                StateReadStart::Ready(taken) => return Some(taken),
                StateReadStart::Wait => return None,
                StateReadStart::Read(baseline) => baseline,
            };
            let reading = StateReadGuard { room: self };
            let state = self.read_source_state(source);
            let last = if attempt == STATE_READ_ATTEMPTS {
                StateReadAttemptKind::Uncached
            } else {
                StateReadAttemptKind::NotLast
            };
            let taken = self.end_state_read(baseline, state, reader_position, now, last);
            drop(reading);
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Returns the state, if it is cached. Otherwise a worker reads it, unless one does already, and `listener` is
    /// signaled at the end.
    pub(crate) fn cached_or_requested_state(
        self: &Arc<Self>,
        hub: &Arc<Hub>,
        workers: &dyn WorkerPool,
        reader_position: Option<Position>,
        listener: &ListenerHandle,
        now: Duration,
    ) -> Option<DeliverableState> {
        match self.begin_state_read(reader_position, listener, true, now) {
            StateReadStart::Ready(taken) => Some(taken),
            StateReadStart::Wait => None,
            StateReadStart::Read(baseline) => {
                let (room, hub) = (self.clone(), hub.clone());
                let job = StateReadJob { baseline: Some(baseline), room, hub };
                workers.submit_job(Box::new(move || job.run_state_read()));
                None
            }
        }
    }

    fn read_source_state(&self, source: &dyn ChannelStateSource) -> ChannelState {
        self.counters.states_encoded.increment();
        source.read_state(&self.channel, self.key)
    }

    /// Starts a read, unless one is in progress. If one is, or with `queue_reader`, `listener` is signaled at the
    /// end.
    fn begin_state_read(
        &self,
        reader_position: Option<Position>,
        listener: &ListenerHandle,
        queue_reader: bool,
        now: Duration,
    ) -> StateReadStart {
        let mut log = self.log.lock();
        if let Some(state) = log.state.clone() {
            log.state_used = now;
            return StateReadStart::Ready(log.relate_state_to_reader(state, reader_position));
        }
        if log.reading || queue_reader {
            log.waiters.insert(listener.clone());
        }
        if log.reading {
            return StateReadStart::Wait;
        }
        log.reading = true;
        StateReadStart::Read(StateReadBaseline { epoch: log.epoch, top: log.ring.newest_offset() })
    }

    /// Starts another attempt of a read.
    fn restart_state_read(&self) -> StateReadBaseline {
        let log = self.log.lock();
        StateReadBaseline { epoch: log.epoch, top: log.ring.newest_offset() }
    }

    /// Caches the state that was read. Returns `None` if the state is out of date, unless this is the last attempt.
    fn end_state_read(
        &self,
        baseline: StateReadBaseline,
        state: ChannelState,
        reader_position: Option<Position>,
        now: Duration,
        last: StateReadAttemptKind,
    ) -> Option<DeliverableState> {
        let (taken, woken) = self.change_log_and_count_bytes(|log| {
            let position = match state.position.filter(|_| !self.key.has_own_sequence()) {
                Some(position) => position,
                // The source's state is at least as new as the room's top was before the read.
                None => match baseline.epoch.or(log.epoch) {
                    Some(epoch) => Position { epoch, offset: baseline.top },
                    None => return (None, Vec::new()),
                },
            };
            let mut woken = Vec::new();
            // If the room's epoch has not changed, the source is ahead. Otherwise a new epoch began meanwhile, and the
            // state is of the old one, which nothing covers.
            if log.epoch == baseline.epoch && log.epoch != Some(position.epoch) {
                log.start_epoch_at(position);
                woken.extend(log.listeners.iter().cloned());
            }
            let state = EncodedState::new(position, state);
            log.state_bytes_last = state.byte_size();
            let covered = log.epoch == Some(position.epoch)
                && log.ring.holds_all_entries_after(position.offset);
            // A closed room would never drop the state.
            if (covered || last == StateReadAttemptKind::Cached) && !log.closed {
                log.state = Some(state.clone());
                log.state_used = now;
            }
            (
                (covered || last != StateReadAttemptKind::NotLast)
                    .then(|| log.relate_state_to_reader(state, reader_position)),
                woken,
            )
        });
        woken.iter().for_each(ListenerHandle::notify_listener);
        taken
    }
}

impl RoomLog {
    fn relate_state_to_reader(
        &self,
        state: Arc<EncodedState>,
        reader_position: Option<Position>,
    ) -> DeliverableState {
        let other_epoch = reader_position.is_some_and(|held| held.epoch != state.position.epoch);
        let lost = !other_epoch
            && reader_position.is_some_and(|held| self.ring.has_reader_lost_entries(held.offset));
        DeliverableState { state, lost, other_epoch }
    }
}

enum StateReadStart {
    Ready(DeliverableState),
    Wait,
    Read(StateReadBaseline),
}

/// The room's epoch and top at the start of a read.
struct StateReadBaseline {
    epoch: Option<Epoch>,
    top: u64,
}

/// The treatment of a state that is not covered: only the last attempt uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StateReadAttemptKind {
    NotLast,
    /// The last attempt: its reader takes the state.
    Uncached,
    /// The last attempt: the state is cached until the next publication, for the waiting readers.
    Cached,
}

/// A read on a worker's thread. If it is dropped before it runs, the read ends and the waiting readers ask again.
struct StateReadJob {
    baseline: Option<StateReadBaseline>,
    room: Arc<ChannelRoom>,
    hub: Arc<Hub>,
}

impl StateReadJob {
    fn run_state_read(mut self) {
        let room = &*self.room;
        for attempt in 1..=STATE_READ_ATTEMPTS {
            let baseline = match self.baseline.take() {
                Some(baseline) => baseline,
                None => room.restart_state_read(),
            };
            let state = room.read_source_state(self.hub.state_source());
            let last = if attempt == STATE_READ_ATTEMPTS {
                StateReadAttemptKind::Cached
            } else {
                StateReadAttemptKind::NotLast
            };
            let now = self.hub.clock().monotonic();
            if room.end_state_read(baseline, state, None, now, last).is_some() {
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

/// Ends a read when dropped, so that a panic of the source leaves no reader waiting forever.
struct StateReadGuard<'a> {
    room: &'a ChannelRoom,
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
