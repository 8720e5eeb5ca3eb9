//! A room's state, encoded once and shared.
//!
//! One reader at a time asks the source; others go on with their other rooms and are told when the state is there. A
//! partition's sessions never ask themselves: a worker does it for them. What was read is kept and served, with the
//! ring's entries after it, until the ring no longer reaches back to it.

use std::sync::Arc;
use std::time::Duration;

use super::{Log, Room};
use crate::limits::STATE_READ_ATTEMPTS;
use crate::listener::{Ear, Workers};
use crate::publication::Payload;
use crate::{Epoch, Hub, Position, State, StateSource};

/// How things were at one position, in parts that are sent one by one.
#[derive(Debug)]
pub struct EncodedState {
    position: Position,
    parts: Box<[Payload]>,
    bytes: usize,
}

impl EncodedState {
    fn new(position: Position, state: State) -> Arc<Self> {
        let mut parts: Box<[Payload]> = state.parts.into_iter().map(Payload::new).collect();
        if parts.is_empty() {
            parts = Box::new([Payload::default()]);
        }
        let bytes = parts.iter().map(|part| part.data().len()).sum();
        Arc::new(Self { position, parts, bytes })
    }

    /// What a client holds once it has all parts.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The parts, at least one.
    pub fn parts(&self) -> &[Payload] {
        &self.parts
    }

    /// Bytes of all parts, frames not counted.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A state to deliver, judged at the moment it was taken.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) state: Arc<EncodedState>,
    /// What the reader held has been overtaken.
    pub(crate) lost: bool,
    /// What the reader held is of another life.
    pub(crate) other_epoch: bool,
}

impl Room {
    /// The state for a reader that holds `held`, or `None` while somebody else reads it: then `ear` is told at
    /// the end.
    pub(crate) fn take_state(
        &self,
        source: &dyn StateSource,
        held: Option<Position>,
        ear: &Ear,
        now: Duration,
    ) -> Option<Taken> {
        for attempt in 1.. {
            let begun = match self.begin_read(held, ear, false, now) {
                Begin::Ready(taken) => return Some(taken),
                Begin::Wait => return None,
                Begin::Read(begun) => begun,
            };
            let reading = Reading { room: self };
            let state = self.read(source);
            let last = if attempt == STATE_READ_ATTEMPTS { Last::Taken } else { Last::No };
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
    pub(crate) fn ask_state(
        self: &Arc<Self>,
        hub: &Arc<Hub>,
        workers: &dyn Workers,
        held: Option<Position>,
        ear: &Ear,
        now: Duration,
    ) -> Option<Taken> {
        match self.begin_read(held, ear, true, now) {
            Begin::Ready(taken) => Some(taken),
            Begin::Wait => None,
            Begin::Read(begun) => {
                let (room, hub) = (self.clone(), hub.clone());
                let job = Reader { begun: Some(begun), room, hub };
                workers.run(Box::new(move || job.read()));
                None
            }
        }
    }

    fn read(&self, source: &dyn StateSource) -> State {
        self.counters.states_encoded.increment();
        source.read_state(&self.channel, self.key)
    }

    /// Begins to read, if nobody does. Then, or if the reader itself only `asks` for it, it is told at the end.
    fn begin_read(&self, held: Option<Position>, ear: &Ear, asks: bool, now: Duration) -> Begin {
        let mut log = self.log.lock();
        if let Some(state) = log.state.clone() {
            log.state_used = now;
            return Begin::Ready(log.weigh(state, held));
        }
        if log.reading || asks {
            log.waiters.insert(ear.clone());
        }
        if log.reading {
            return Begin::Wait;
        }
        log.reading = true;
        Begin::Read(Begun { epoch: log.epoch, top: log.ring.top() })
    }

    /// For another attempt of the same read.
    fn read_again(&self) -> Begun {
        let log = self.log.lock();
        Begun { epoch: log.epoch, top: log.ring.top() }
    }

    /// Keeps what was read. `None` when it is of no use any more, unless this is the last attempt.
    fn end_read(
        &self,
        begun: Begun,
        state: State,
        held: Option<Position>,
        now: Duration,
        last: Last,
    ) -> Option<Taken> {
        let (taken, woken) = self.change(|log| {
            let position = match state.position.filter(|_| !self.key.counts_by_itself()) {
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
                log.renew(position);
                woken.extend(log.listeners.iter().cloned());
            }
            let state = EncodedState::new(position, state);
            log.state_bytes_last = state.bytes();
            let covered = log.epoch == Some(position.epoch) && log.ring.covers(position.offset);
            // Nobody would let go of it in a room that is closed.
            if (covered || last == Last::Kept) && !log.closed {
                log.state = Some(state.clone());
                log.state_used = now;
            }
            ((covered || last != Last::No).then(|| log.weigh(state, held)), woken)
        });
        woken.iter().for_each(Ear::notify);
        taken
    }
}

impl Log {
    fn weigh(&self, state: Arc<EncodedState>, held: Option<Position>) -> Taken {
        let other_epoch = held.is_some_and(|held| held.epoch != state.position.epoch);
        let lost = !other_epoch && held.is_some_and(|held| self.ring.has_lost(held.offset));
        Taken { state, lost, other_epoch }
    }
}

enum Begin {
    Ready(Taken),
    Wait,
    Read(Begun),
}

/// What was so when a read began.
struct Begun {
    epoch: Option<Epoch>,
    top: u64,
}

/// Whether this is the last attempt at reading a state, and what then becomes of one that is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    No,
    /// Who read it takes it.
    Taken,
    /// It is kept until the next publication, for those who wait for it.
    Kept,
}

/// A read on a worker's thread. Dropped undone, it ends the read, and who waits asks again.
struct Reader {
    begun: Option<Begun>,
    room: Arc<Room>,
    hub: Arc<Hub>,
}

impl Reader {
    fn read(mut self) {
        let room = &*self.room;
        for attempt in 1..=STATE_READ_ATTEMPTS {
            let begun = match self.begun.take() {
                Some(begun) => begun,
                None => room.read_again(),
            };
            let state = room.read(self.hub.source());
            let last = if attempt == STATE_READ_ATTEMPTS { Last::Kept } else { Last::No };
            let now = self.hub.clock().monotonic();
            if room.end_read(begun, state, None, now, last).is_some() {
                return;
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        drop(Reading { room: &self.room });
    }
}

/// Ends a read however it ends, so that a source that panics leaves nobody waiting for ever.
struct Reading<'a> {
    room: &'a Room,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let waiters = {
            let mut log = self.room.log.lock();
            log.reading = false;
            std::mem::take(&mut log.waiters)
        };
        waiters.iter().for_each(Ear::notify);
    }
}
