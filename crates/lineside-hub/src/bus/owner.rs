//! An owner's side of one network: it says each publication once to all, keeps the last ones for those who missed
//! some, and answers them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::{Bounds, Cursor, Item, Ring};

use super::Outside;
use super::limits::{LOG_AGE, LOG_BYTES_MAX, LOG_PUBLICATIONS_MAX, PARTS_MAX, STATE_LINGER};
use super::message::{Ask, Body, Head, To, cut, numbered};
use crate::Position;

#[derive(Debug)]
pub(super) struct Owner {
    head: Head,
    /// The last publications, by the revision that each leads to.
    log: Ring<Logged>,
    /// A state that was sent, while the log goes on from it.
    state: Option<Stated>,
    /// States read so far.
    editions: u64,
}

#[derive(Debug)]
struct Logged {
    previous: u64,
    parts: Vec<Bytes>,
    at: Duration,
}

#[derive(Debug)]
struct Stated {
    edition: u64,
    revision: u64,
    parts: Vec<Bytes>,
    used: Duration,
}

impl Item for Logged {
    fn bytes(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum::<usize>() + size_of::<Self>()
    }

    fn at(&self) -> Duration {
        self.at
    }
}

impl Owner {
    pub(super) fn new(head: Head) -> Self {
        Self { log: Ring::new(head.at.offset), head, state: None, editions: 0 }
    }

    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    /// Whether a publication at this position would be the next, or a later one, of this term.
    pub(super) fn is_next(&self, at: Position) -> bool {
        at.epoch == self.head.at.epoch && at.offset > self.head.at.offset
    }

    /// Says to all what leads to `revision`.
    pub(super) fn publish(&mut self, revision: u64, pieces: Vec<Bytes>, outside: &mut Outside<'_>) {
        let (previous, parts) = (self.head.at.offset, cut(pieces));
        self.head.at.offset = revision;
        outside.metrics.published_total += 1;
        if parts.len() > PARTS_MAX {
            // The heartbeat tells them that they are behind, and the log does not help them.
            self.log.renew(revision);
            return;
        }
        let logged = Logged { previous, parts, at: outside.now };
        self.say(revision, &logged, &To::All, outside);
        self.log.start_batch();
        self.log.push(revision, Arc::new(logged), bounds(outside.now));
        self.forget_uncovered_state();
    }

    /// Gives a follower what it has missed, or the state.
    pub(super) fn answer(&mut self, from: &Arc<str>, ask: &Ask, outside: &mut Outside<'_>) {
        outside.metrics.answers_total += 1;
        let to = To::One(from.clone());
        match ask.held.filter(|held| !ask.is_stuck && self.can_go_on_from(*held)) {
            Some(held) => self.say_after(held.offset, &to, outside),
            None => self.say_state(ask, &to, outside),
        }
    }

    /// Drops what is too old.
    pub(super) fn tick(&mut self, now: Duration) {
        self.log.trim(bounds(now));
        self.forget_uncovered_state();
        self.state.take_if(|state| now.saturating_sub(state.used) >= STATE_LINGER);
    }

    fn can_go_on_from(&self, held: Position) -> bool {
        let follows = |revision| match self.log.after(revision) {
            Some((next, _)) => next.item.previous == revision,
            None => revision >= self.head.at.offset,
        };
        held.epoch == self.head.at.epoch && self.log.covers(held.offset) && follows(held.offset)
    }

    fn say_after(&self, revision: u64, to: &To, outside: &mut Outside<'_>) {
        let mut missed = Vec::new();
        let _whole = self.log.take_after(&mut Cursor::at(revision), usize::MAX, &mut missed);
        for entry in &missed {
            self.say(entry.offset, &entry.item, to, outside);
        }
    }

    fn say(&self, revision: u64, logged: &Logged, to: &To, outside: &mut Outside<'_>) {
        for part in numbered(&logged.parts, 0) {
            let (head, previous) = (self.head_at(revision), logged.previous);
            outside.send(to.clone(), Body::Changes { head, previous, part });
        }
    }

    fn say_state(&mut self, ask: &Ask, to: &To, outside: &mut Outside<'_>) {
        let held = ask.held.filter(|_| ask.is_stuck).map_or(0, |held| held.offset);
        self.state.take_if(|state| ask.is_stuck && state.revision <= held);
        if self.state.is_none() {
            self.state = self.read_state(outside);
        }
        let Some(state) = &mut self.state else { return };
        state.used = outside.now;
        let first = match ask.unfinished {
            Some((edition, first)) if edition == state.edition => first as usize,
            _ => 0,
        };
        outside.metrics.states_sent_total += 1;
        let (edition, revision, parts) = (state.edition, state.revision, state.parts.clone());
        for part in numbered(&parts, first) {
            outside.send(to.clone(), Body::State { head: self.head_at(revision), edition, part });
        }
        self.say_after(revision, to, outside);
    }

    fn read_state(&mut self, outside: &mut Outside<'_>) -> Option<Stated> {
        let state = outside.replica.state(&self.head.network)?;
        // Its writer swaps first and publishes afterwards, so it may be ahead of what was said; never behind.
        if state.at.epoch != self.head.at.epoch || state.at.offset < self.head.at.offset {
            return None;
        }
        let parts = cut(state.pieces);
        if parts.len() > PARTS_MAX {
            outside.metrics.states_too_large_total += 1;
            return None;
        }
        self.editions += 1;
        Some(Stated { edition: self.editions, revision: state.at.offset, parts, used: outside.now })
    }

    fn forget_uncovered_state(&mut self) {
        self.state.take_if(|state| !self.log.covers(state.revision));
    }

    fn head_at(&self, offset: u64) -> Head {
        Head { at: Position { offset, ..self.head.at }, ..self.head.clone() }
    }
}

fn bounds(now: Duration) -> Bounds {
    Bounds {
        entries: LOG_PUBLICATIONS_MAX,
        bytes: LOG_BYTES_MAX,
        since: now.saturating_sub(LOG_AGE),
    }
}
