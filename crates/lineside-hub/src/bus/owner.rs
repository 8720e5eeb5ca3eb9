//! An owner's side of one network: it sends each publication once to all nodes, retains the last ones for followers
//! that missed some, and answers their requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_sync::ring::{Ring, RingBounds, RingCursor, RingItem};

use super::NodeCallContext;
use super::limits::{LOG_AGE, LOG_BYTES_MAX, LOG_PUBLICATIONS_MAX, PARTS_MAX, STATE_LINGER};
use super::message::{
    CatchUpRequest, MessageBody, MessageRecipient, NetworkPosition, numbered_parts_from,
    split_oversized_pieces,
};
use crate::Position;

#[derive(Debug)]
pub(super) struct NetworkOwner {
    head: NetworkPosition,
    /// The last publications, by the revision that each leads to.
    log: Ring<LoggedPublication>,
    /// A state that was sent, as long as the log continues from it.
    state: Option<CachedNetworkState>,
    /// The number of states read so far.
    editions: u64,
}

#[derive(Debug)]
struct LoggedPublication {
    previous: u64,
    parts: Vec<Bytes>,
    at: Duration,
}

#[derive(Debug)]
struct CachedNetworkState {
    edition: u64,
    revision: u64,
    parts: Vec<Bytes>,
    used: Duration,
}

impl RingItem for LoggedPublication {
    fn byte_size(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum::<usize>() + size_of::<Self>()
    }

    fn created_at(&self) -> Duration {
        self.at
    }
}

impl NetworkOwner {
    pub(super) fn new(head: NetworkPosition) -> Self {
        Self { log: Ring::new(head.at.offset), head, state: None, editions: 0 }
    }

    pub(super) fn network_position(&self) -> &NetworkPosition {
        &self.head
    }

    /// Returns true if `at` is in this term and after the last publication.
    pub(super) fn is_next_position(&self, at: Position) -> bool {
        at.epoch == self.head.at.epoch && at.offset > self.head.at.offset
    }

    /// Sends the changes that lead to `revision` to all nodes.
    pub(super) fn send_changes_to_all_nodes(
        &mut self,
        revision: u64,
        pieces: Vec<Bytes>,
        context: &mut NodeCallContext<'_>,
    ) {
        let (previous, parts) = (self.head.at.offset, split_oversized_pieces(pieces));
        self.head.at.offset = revision;
        context.metrics.published_total += 1;
        if parts.len() > PARTS_MAX {
            // The heartbeat tells the followers that they are behind, and they will get a state because the log is
            // empty.
            self.log.restart_sequence_from(revision);
            return;
        }
        let logged = LoggedPublication { previous, parts, at: context.now };
        self.send_change_parts(revision, &logged, &MessageRecipient::All, context);
        self.log.start_batch();
        self.log.push(revision, Arc::new(logged), log_bounds(context.now));
        self.drop_state_older_than_log();
    }

    /// Sends a follower the publications that it has missed, or the state.
    pub(super) fn send_missed_data_to_follower(
        &mut self,
        from: &Arc<str>,
        request: &CatchUpRequest,
        context: &mut NodeCallContext<'_>,
    ) {
        context.metrics.answers_total += 1;
        let to = MessageRecipient::One(from.clone());
        match request
            .position
            .filter(|held| !request.is_stuck && self.does_log_reach_back_to(*held))
        {
            Some(position) => self.send_changes_after(position.offset, &to, context),
            None => self.send_state(request, &to, context),
        }
    }

    /// Drops log entries and a cached state that are too old.
    pub(super) fn drop_old_log_and_state(&mut self, now: Duration) {
        self.log.trim_to_bounds(log_bounds(now));
        self.drop_state_older_than_log();
        self.state.take_if(|state| now.saturating_sub(state.used) >= STATE_LINGER);
    }

    fn does_log_reach_back_to(&self, position: Position) -> bool {
        let follows = |revision| match self.log.first_entry_after(revision) {
            Some((next, _)) => next.item.previous == revision,
            None => revision >= self.head.at.offset,
        };
        position.epoch == self.head.at.epoch
            && self.log.holds_all_entries_after(position.offset)
            && follows(position.offset)
    }

    fn send_changes_after(
        &self,
        revision: u64,
        to: &MessageRecipient,
        context: &mut NodeCallContext<'_>,
    ) {
        let mut missed = Vec::new();
        let _whole = self.log.take_entries_after(
            &mut RingCursor::cursor_at_offset(revision),
            usize::MAX,
            &mut missed,
        );
        for entry in &missed {
            self.send_change_parts(entry.offset, &entry.item, to, context);
        }
    }

    fn send_change_parts(
        &self,
        revision: u64,
        logged: &LoggedPublication,
        to: &MessageRecipient,
        context: &mut NodeCallContext<'_>,
    ) {
        for part in numbered_parts_from(&logged.parts, 0) {
            let (head, previous) = (self.network_position_at(revision), logged.previous);
            context.send_message_body(to.clone(), MessageBody::Changes { head, previous, part });
        }
    }

    fn send_state(
        &mut self,
        request: &CatchUpRequest,
        to: &MessageRecipient,
        context: &mut NodeCallContext<'_>,
    ) {
        let known_revision =
            request.position.filter(|_| request.is_stuck).map_or(0, |held| held.offset);
        self.state.take_if(|state| request.is_stuck && state.revision <= known_revision);
        if self.state.is_none() {
            self.state = self.read_state_for_cache(context);
        }
        let Some(state) = &mut self.state else { return };
        state.used = context.now;
        let first = match request.unfinished {
            Some((edition, first)) if edition == state.edition => first as usize,
            _ => 0,
        };
        context.metrics.states_sent_total += 1;
        let (edition, revision, parts) = (state.edition, state.revision, state.parts.clone());
        for part in numbered_parts_from(&parts, first) {
            context.send_message_body(
                to.clone(),
                MessageBody::State { head: self.network_position_at(revision), edition, part },
            );
        }
        self.send_changes_after(revision, to, context);
    }

    fn read_state_for_cache(
        &mut self,
        context: &mut NodeCallContext<'_>,
    ) -> Option<CachedNetworkState> {
        let state = context.replica.current_network_state(&self.head.network)?;
        // The network's writer swaps first and publishes afterwards, so the state may be ahead of the last publication
        // but never behind.
        if state.at.epoch != self.head.at.epoch || state.at.offset < self.head.at.offset {
            return None;
        }
        let parts = split_oversized_pieces(state.pieces);
        if parts.len() > PARTS_MAX {
            context.metrics.states_too_large_total += 1;
            return None;
        }
        self.editions += 1;
        Some(CachedNetworkState {
            edition: self.editions,
            revision: state.at.offset,
            parts,
            used: context.now,
        })
    }

    fn drop_state_older_than_log(&mut self) {
        self.state.take_if(|state| !self.log.holds_all_entries_after(state.revision));
    }

    fn network_position_at(&self, offset: u64) -> NetworkPosition {
        NetworkPosition { at: Position { offset, ..self.head.at }, ..self.head.clone() }
    }
}

fn log_bounds(now: Duration) -> RingBounds {
    RingBounds {
        entries: LOG_PUBLICATIONS_MAX,
        bytes: LOG_BYTES_MAX,
        since: now.saturating_sub(LOG_AGE),
    }
}
