//! A follower's side of one network: it applies publications in order, requests those it missed, and publishes nothing
//! until it has them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::NodeContext;
use super::assembly::PartAssembly;
use super::limits::{ASK_AGAIN, EARLY_BYTES_MAX, EARLY_PUBLICATIONS_MAX};
use super::message::{CatchUpRequest, MessageBody, MessagePart, MessageRecipient, NetworkHead};
use crate::{Epoch, Position};

#[derive(Debug)]
pub(super) struct NetworkFollower {
    network: Arc<str>,
    /// The highest known term; 0 if none is known.
    term: u64,
    /// The node that owns the network in this term, and its epoch; `None` until a message of the owner arrives.
    owner: Option<(Arc<str>, Epoch)>,
    /// The revision of this term's epoch that the replica has.
    held: Option<u64>,
    /// The highest revision that this node should have: it is behind while it has less.
    owed: u64,
    /// Incomplete changes, and changes that build on a revision not applied yet, by that revision. Bound:
    /// [`EARLY_PUBLICATIONS_MAX`], [`EARLY_BYTES_MAX`].
    early: BTreeMap<u64, EarlyChanges>,
    early_bytes: usize,
    /// The state that is being received.
    state: Option<IncomingState>,
    /// True if the next changes cannot be read: only a state helps.
    is_stuck: bool,
    /// The time of the last request, or of the last answer to one.
    asked: Option<Duration>,
}

#[derive(Debug)]
struct EarlyChanges {
    revision: u64,
    parts: PartAssembly,
}

#[derive(Debug)]
struct IncomingState {
    edition: u64,
    revision: u64,
    parts: PartAssembly,
}

impl NetworkFollower {
    /// Creates a follower that knows only the term.
    pub(super) fn new(network: Arc<str>, term: u64) -> Self {
        Self {
            network,
            term,
            owner: None,
            held: None,
            owed: 0,
            early: BTreeMap::new(),
            early_bytes: 0,
            state: None,
            is_stuck: false,
            asked: None,
        }
    }

    pub(super) fn known_term(&self) -> u64 {
        self.term
    }

    /// Returns the network's head on this node, once it has data of the term.
    pub(super) fn current_head(&self) -> Option<NetworkHead> {
        let (_, epoch) = self.owner.as_ref()?;
        let at = Position { epoch: *epoch, offset: self.held? };
        Some(NetworkHead { network: self.network.clone(), term: self.term, at })
    }

    /// Returns true if the follower knows that it has missed changes, or has no data at all.
    pub(super) fn is_behind(&self) -> bool {
        self.held.is_none_or(|held| held < self.owed)
    }

    /// Records a term, whose owner is still unknown.
    pub(super) fn learn_term(&mut self, term: u64) {
        if term > self.term {
            *self = Self::new(self.network.clone(), term);
        }
    }

    /// Handles the owner's heartbeat, which states its revision.
    pub(super) fn hear_heartbeat(
        &mut self,
        from: &Arc<str>,
        head: &NetworkHead,
        outside: &mut NodeContext<'_>,
    ) {
        if self.accept_owner(from, head, outside) {
            self.owed = self.owed.max(head.at.offset);
            self.request_if_behind(outside);
        }
    }

    pub(super) fn take_changes(
        &mut self,
        from: &Arc<str>,
        head: &NetworkHead,
        previous: u64,
        part: MessagePart,
        outside: &mut NodeContext<'_>,
    ) {
        let revision = head.at.offset;
        if !self.accept_message(from, head, previous < revision && part.is_sound(), outside) {
            return;
        }
        self.owed = self.owed.max(previous);
        if self.store_part(previous, revision, part) {
            self.apply_complete(outside);
        }
        self.request_if_behind(outside);
    }

    pub(super) fn take_state(
        &mut self,
        from: &Arc<str>,
        head: &NetworkHead,
        edition: u64,
        part: MessagePart,
        outside: &mut NodeContext<'_>,
    ) {
        let revision = head.at.offset;
        if !self.accept_message(from, head, part.is_sound(), outside) {
            return;
        }
        if self.state.as_ref().is_some_and(|coming| edition < coming.edition) {
            outside.metrics.repeated_total += 1;
            return;
        }
        let mut coming = match self.state.take() {
            Some(coming) if coming.edition == edition => coming,
            _ => IncomingState { edition, revision, parts: PartAssembly::new(part.count) },
        };
        if coming.parts.add_part(part) {
            self.asked = Some(outside.now);
        }
        if !coming.parts.is_complete() {
            self.state = Some(coming);
            return;
        }
        match outside.replica.replace_state(&self.network, head.at, &coming.parts.into_parts()) {
            Ok(()) => {
                outside.metrics.states_taken_total += 1;
                self.held = Some(revision);
                self.is_stuck = false;
                self.apply_complete(outside);
                self.request_if_behind(outside);
            }
            Err(_) => outside.metrics.unreadable_total += 1,
        }
    }

    pub(super) fn run_due_work(&mut self, outside: &mut NodeContext<'_>) {
        self.request_if_behind(outside);
    }

    /// Returns true if the message is from the owner, readable and new.
    fn accept_message(
        &mut self,
        from: &Arc<str>,
        head: &NetworkHead,
        is_sound: bool,
        outside: &mut NodeContext<'_>,
    ) -> bool {
        if !self.accept_owner(from, head, outside) {
            return false;
        }
        let is_held = self.held.is_some_and(|held| head.at.offset <= held);
        if !is_sound {
            outside.metrics.refused_total += 1;
        } else if is_held {
            outside.metrics.repeated_total += 1;
        }
        is_sound && !is_held
    }

    /// Returns true if `from` is the owner in the highest known term. A higher term resets the follower.
    fn accept_owner(
        &mut self,
        from: &Arc<str>,
        head: &NetworkHead,
        outside: &mut NodeContext<'_>,
    ) -> bool {
        let outdated = head.term.cmp(&self.term) == Ordering::Less || head.term == 0;
        if outdated {
            outside.metrics.refused_total += 1;
            let (network, term) = (self.network.clone(), self.term);
            outside.send_body(
                MessageRecipient::One(from.clone()),
                MessageBody::Outdated { network, term },
            );
            return false;
        }
        self.learn_term(head.term);
        let (owner, epoch) = self.owner.get_or_insert_with(|| (from.clone(), head.at.epoch));
        let is_owners = owner == from && *epoch == head.at.epoch;
        if !is_owners {
            outside.metrics.refused_total += 1;
        }
        is_owners
    }

    /// Stores a part; returns false if there is no room for it or it is already stored.
    fn store_part(&mut self, previous: u64, revision: u64, part: MessagePart) -> bool {
        let is_next = self.held == Some(previous);
        let is_full = self.early.len() >= EARLY_PUBLICATIONS_MAX
            || self.early_bytes + part.data.len() > EARLY_BYTES_MAX;
        if is_full && !is_next {
            return false;
        }
        let bytes = part.data.len();
        let early = self
            .early
            .entry(previous)
            .or_insert_with(|| EarlyChanges { revision, parts: PartAssembly::new(part.count) });
        let added = early.revision == revision && early.parts.add_part(part);
        if added {
            self.early_bytes += bytes;
        }
        added
    }

    /// Applies all complete changes that build on the current revision.
    fn apply_complete(&mut self, outside: &mut NodeContext<'_>) {
        let Some((_, epoch)) = self.owner else { return };
        while let Some(held) = self.held {
            self.drop_before_revision(held);
            let Some(next) = self.early.first_entry() else { return };
            if *next.key() != held || !next.get().parts.is_complete() {
                return;
            }
            let EarlyChanges { revision, parts } = next.remove();
            self.early_bytes -= parts.byte_size();
            let at = Position { epoch, offset: revision };
            if outside.replica.apply_changes(&self.network, held, at, &parts.into_parts()).is_err()
            {
                outside.metrics.unreadable_total += 1;
                self.is_stuck = true;
                self.owed = self.owed.max(revision);
                return;
            }
            outside.metrics.applied_total += 1;
            self.held = Some(revision);
            self.is_stuck = false;
            // The answer is arriving, so the timeout restarts. Publications sent to all nodes meanwhile are not the
            // answer: they build on later revisions and wait in `early`.
            self.asked = self.asked.map(|_| outside.now);
            self.state.take_if(|coming| coming.revision <= revision);
        }
    }

    fn drop_before_revision(&mut self, held: u64) {
        while let Some(first) = self.early.first_entry().filter(|first| *first.key() < held) {
            self.early_bytes -= first.remove().parts.byte_size();
        }
    }

    /// Sends a request to the owner, once per [`ASK_AGAIN`] without an answer.
    fn request_if_behind(&mut self, outside: &mut NodeContext<'_>) {
        if !self.is_behind() {
            self.asked = None;
            return;
        }
        let Some((owner, epoch)) = &self.owner else { return };
        if self.asked.is_some_and(|asked| outside.now.saturating_sub(asked) < ASK_AGAIN) {
            return;
        }
        self.asked = Some(outside.now);
        outside.metrics.asked_total += 1;
        let ask = CatchUpRequest {
            network: self.network.clone(),
            term: self.term,
            held: self.held.map(|offset| Position { epoch: *epoch, offset }),
            is_stuck: self.is_stuck,
            unfinished: self.state.as_ref().map(|it| (it.edition, it.parts.first_missing_part())),
        };
        outside.send_body(MessageRecipient::One(owner.clone()), MessageBody::Ask(ask));
    }
}
