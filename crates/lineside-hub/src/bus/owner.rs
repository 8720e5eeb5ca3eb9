//! An owner's side of one network: it sends each publication once to all nodes, retains the last ones for followers
//! that missed some, and answers their requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::{Ring, RingBounds, RingCursor, RingItem};

use super::NodeContext;
use super::limits::{LOG_AGE, LOG_BYTES_MAX, LOG_PUBLICATIONS_MAX, PARTS_MAX, STATE_LINGER};
use super::message::{
    CatchUpRequest, MessageBody, MessageRecipient, NetworkHead, number_parts, split_pieces,
};
use crate::Position;

#[derive(Debug)]
pub(super) struct NetworkOwner {
    head: NetworkHead,
    /// The last publications, by the revision that each leads to.
    log: Ring<LoggedChange>,
    /// A state that was sent, as long as the log continues from it.
    state: Option<CachedState>,
    /// The number of states read so far.
    editions: u64,
}

#[derive(Debug)]
struct LoggedChange {
    previous: u64,
    parts: Vec<Bytes>,
    at: Duration,
}

#[derive(Debug)]
struct CachedState {
    edition: u64,
    revision: u64,
    parts: Vec<Bytes>,
    used: Duration,
}

impl RingItem for LoggedChange {
    fn byte_size(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum::<usize>() + size_of::<Self>()
    }

    fn created_at(&self) -> Duration {
        self.at
    }
}

impl NetworkOwner {
    pub(super) fn new(head: NetworkHead) -> Self {
        Self { log: Ring::new(head.at.offset), head, state: None, editions: 0 }
    }

    pub(super) fn current_head(&self) -> &NetworkHead {
        &self.head
    }

    /// Returns true if `at` is in this term and after the last publication.
    pub(super) fn is_next_position(&self, at: Position) -> bool {
        at.epoch == self.head.at.epoch && at.offset > self.head.at.offset
    }

    /// Sends the changes that lead to `revision` to all nodes.
    pub(super) fn publish_changes(
        &mut self,
        revision: u64,
        pieces: Vec<Bytes>,
        context: &mut NodeContext<'_>,
    ) {
        let (previous, parts) = (self.head.at.offset, split_pieces(pieces));
        self.head.at.offset = revision;
        context.metrics.published_total += 1;
        if parts.len() > PARTS_MAX {
            // The heartbeat tells the followers that they are behind, and they will get a state because the log is
            // empty.
            self.log.restart_from(revision);
            return;
        }
        let logged = LoggedChange { previous, parts, at: context.now };
        self.send_change(revision, &logged, &MessageRecipient::All, context);
        self.log.start_batch();
        self.log.push(revision, Arc::new(logged), ring_bounds(context.now));
        self.drop_uncovered_state();
    }

    /// Sends a follower the publications that it has missed, or the state.
    pub(super) fn answer_follower(
        &mut self,
        from: &Arc<str>,
        request: &CatchUpRequest,
        context: &mut NodeContext<'_>,
    ) {
        context.metrics.answers_total += 1;
        let to = MessageRecipient::One(from.clone());
        match request.position.filter(|held| !request.is_stuck && self.can_resume_from(*held)) {
            Some(position) => self.send_changes_after(position.offset, &to, context),
            None => self.send_state(request, &to, context),
        }
    }

    /// Drops log entries and a cached state that are too old.
    pub(super) fn trim_log(&mut self, now: Duration) {
        self.log.trim_to_bounds(ring_bounds(now));
        self.drop_uncovered_state();
        self.state.take_if(|state| now.saturating_sub(state.used) >= STATE_LINGER);
    }

    fn can_resume_from(&self, position: Position) -> bool {
        let follows = |revision| match self.log.first_after(revision) {
            Some((next, _)) => next.item.previous == revision,
            None => revision >= self.head.at.offset,
        };
        position.epoch == self.head.at.epoch
            && self.log.covers_offset(position.offset)
            && follows(position.offset)
    }

    fn send_changes_after(
        &self,
        revision: u64,
        to: &MessageRecipient,
        context: &mut NodeContext<'_>,
    ) {
        let mut missed = Vec::new();
        let _whole =
            self.log.take_after(&mut RingCursor::at_offset(revision), usize::MAX, &mut missed);
        for entry in &missed {
            self.send_change(entry.offset, &entry.item, to, context);
        }
    }

    fn send_change(
        &self,
        revision: u64,
        logged: &LoggedChange,
        to: &MessageRecipient,
        context: &mut NodeContext<'_>,
    ) {
        for part in number_parts(&logged.parts, 0) {
            let (head, previous) = (self.head_at(revision), logged.previous);
            context.send_body(to.clone(), MessageBody::Changes { head, previous, part });
        }
    }

    fn send_state(
        &mut self,
        request: &CatchUpRequest,
        to: &MessageRecipient,
        context: &mut NodeContext<'_>,
    ) {
        let known_revision =
            request.position.filter(|_| request.is_stuck).map_or(0, |held| held.offset);
        self.state.take_if(|state| request.is_stuck && state.revision <= known_revision);
        if self.state.is_none() {
            self.state = self.read_state(context);
        }
        let Some(state) = &mut self.state else { return };
        state.used = context.now;
        let first = match request.unfinished {
            Some((edition, first)) if edition == state.edition => first as usize,
            _ => 0,
        };
        context.metrics.states_sent_total += 1;
        let (edition, revision, parts) = (state.edition, state.revision, state.parts.clone());
        for part in number_parts(&parts, first) {
            context.send_body(
                to.clone(),
                MessageBody::State { head: self.head_at(revision), edition, part },
            );
        }
        self.send_changes_after(revision, to, context);
    }

    fn read_state(&mut self, context: &mut NodeContext<'_>) -> Option<CachedState> {
        let state = context.replica.network_state(&self.head.network)?;
        // The network's writer swaps first and publishes afterwards, so the state may be ahead of the last publication
        // but never behind.
        if state.at.epoch != self.head.at.epoch || state.at.offset < self.head.at.offset {
            return None;
        }
        let parts = split_pieces(state.pieces);
        if parts.len() > PARTS_MAX {
            context.metrics.states_too_large_total += 1;
            return None;
        }
        self.editions += 1;
        Some(CachedState {
            edition: self.editions,
            revision: state.at.offset,
            parts,
            used: context.now,
        })
    }

    fn drop_uncovered_state(&mut self) {
        self.state.take_if(|state| !self.log.covers_offset(state.revision));
    }

    fn head_at(&self, offset: u64) -> NetworkHead {
        NetworkHead { at: Position { offset, ..self.head.at }, ..self.head.clone() }
    }
}

fn ring_bounds(now: Duration) -> RingBounds {
    RingBounds {
        entries: LOG_PUBLICATIONS_MAX,
        bytes: LOG_BYTES_MAX,
        since: now.saturating_sub(LOG_AGE),
    }
}
