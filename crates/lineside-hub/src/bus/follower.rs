//! A follower's side of one network: it applies publications in order, requests those it missed, and publishes nothing
//! until it has them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::NodeCallContext;
use super::assembly::MessagePartAssembly;
use super::limits::{CATCH_UP_TIMEOUT, EARLY_BYTES_MAX, EARLY_PUBLICATIONS_MAX};
use super::message::{CatchUpRequest, MessageBody, MessagePart, MessageRecipient, NetworkPosition};
use crate::{Epoch, Position};

#[derive(Debug)]
pub(super) struct NetworkFollower {
    network: Arc<str>,
    /// The highest known term; 0 if none is known.
    term: u64,
    /// The node that owns the network in this term, and its epoch; `None` until a message of the owner arrives.
    owner: Option<(Arc<str>, Epoch)>,
    /// The revision of this term's epoch that the replica has.
    replica_revision: Option<u64>,
    /// The highest revision that this node should have: it is behind while it has less.
    expected_revision: u64,
    /// Incomplete changes, and changes that build on a revision not applied yet, by that revision. Bound:
    /// [`EARLY_PUBLICATIONS_MAX`], [`EARLY_BYTES_MAX`].
    early: BTreeMap<u64, OutOfOrderChanges>,
    early_bytes: usize,
    /// The state that is being received.
    state: Option<IncomingNetworkState>,
    /// True if the next changes cannot be read: only a state helps.
    is_stuck: bool,
    /// The time of the last request, or of the last answer to one.
    last_request: Option<Duration>,
}

#[derive(Debug)]
struct OutOfOrderChanges {
    revision: u64,
    parts: MessagePartAssembly,
}

#[derive(Debug)]
struct IncomingNetworkState {
    edition: u64,
    revision: u64,
    parts: MessagePartAssembly,
}

impl NetworkFollower {
    /// Creates a follower that knows only the term.
    pub(super) fn new(network: Arc<str>, term: u64) -> Self {
        Self {
            network,
            term,
            owner: None,
            replica_revision: None,
            expected_revision: 0,
            early: BTreeMap::new(),
            early_bytes: 0,
            state: None,
            is_stuck: false,
            last_request: None,
        }
    }

    pub(super) fn known_term(&self) -> u64 {
        self.term
    }

    /// Returns the network's head on this node, once it has data of the term.
    pub(super) fn network_position(&self) -> Option<NetworkPosition> {
        let (_, epoch) = self.owner.as_ref()?;
        let at = Position { epoch: *epoch, offset: self.replica_revision? };
        Some(NetworkPosition { network: self.network.clone(), term: self.term, at })
    }

    /// Returns true if the follower knows that it has missed changes, or has no data at all.
    pub(super) fn has_missed_changes(&self) -> bool {
        self.replica_revision.is_none_or(|held| held < self.expected_revision)
    }

    /// Records a term, whose owner is still unknown.
    pub(super) fn follow_higher_term(&mut self, term: u64) {
        if term > self.term {
            *self = Self::new(self.network.clone(), term);
        }
    }

    /// Handles the owner's heartbeat, which states its revision.
    pub(super) fn handle_owner_heartbeat(
        &mut self,
        from: &Arc<str>,
        head: &NetworkPosition,
        context: &mut NodeCallContext<'_>,
    ) {
        if self.accept_owner_of_highest_term(from, head, context) {
            self.expected_revision = self.expected_revision.max(head.at.offset);
            self.request_catch_up_if_behind(context);
        }
    }

    pub(super) fn receive_changes_part(
        &mut self,
        from: &Arc<str>,
        head: &NetworkPosition,
        previous: u64,
        part: MessagePart,
        context: &mut NodeCallContext<'_>,
    ) {
        let revision = head.at.offset;
        if !self.is_new_message_from_owner(
            from,
            head,
            previous < revision && part.is_valid_part(),
            context,
        ) {
            return;
        }
        self.expected_revision = self.expected_revision.max(previous);
        if self.store_early_part(previous, revision, part) {
            self.apply_complete_changes(context);
        }
        self.request_catch_up_if_behind(context);
    }

    pub(super) fn receive_state_part(
        &mut self,
        from: &Arc<str>,
        head: &NetworkPosition,
        edition: u64,
        part: MessagePart,
        context: &mut NodeCallContext<'_>,
    ) {
        let revision = head.at.offset;
        if !self.is_new_message_from_owner(from, head, part.is_valid_part(), context) {
            return;
        }
        if self.state.as_ref().is_some_and(|coming| edition < coming.edition) {
            context.metrics.repeated_total += 1;
            return;
        }
        let mut coming = match self.state.take() {
            Some(coming) if coming.edition == edition => coming,
            _ => IncomingNetworkState {
                edition,
                revision,
                parts: MessagePartAssembly::new(part.count),
            },
        };
        if coming.parts.add_part(part) {
            self.last_request = Some(context.now);
        }
        if !coming.parts.is_complete() {
            self.state = Some(coming);
            return;
        }
        match context.replica.replace_network_state(
            &self.network,
            head.at,
            &coming.parts.into_parts(),
        ) {
            Ok(()) => {
                context.metrics.states_received_total += 1;
                self.replica_revision = Some(revision);
                self.is_stuck = false;
                self.apply_complete_changes(context);
                self.request_catch_up_if_behind(context);
            }
            Err(_) => context.metrics.unreadable_total += 1,
        }
    }

    pub(super) fn request_missed_changes(&mut self, context: &mut NodeCallContext<'_>) {
        self.request_catch_up_if_behind(context);
    }

    /// Returns true if the message is from the owner, readable and new.
    fn is_new_message_from_owner(
        &mut self,
        from: &Arc<str>,
        head: &NetworkPosition,
        is_sound: bool,
        context: &mut NodeCallContext<'_>,
    ) -> bool {
        if !self.accept_owner_of_highest_term(from, head, context) {
            return false;
        }
        let is_applied = self.replica_revision.is_some_and(|held| head.at.offset <= held);
        if !is_sound {
            context.metrics.refused_total += 1;
        } else if is_applied {
            context.metrics.repeated_total += 1;
        }
        is_sound && !is_applied
    }

    /// Returns true if `from` is the owner in the highest known term. A higher term resets the follower.
    fn accept_owner_of_highest_term(
        &mut self,
        from: &Arc<str>,
        head: &NetworkPosition,
        context: &mut NodeCallContext<'_>,
    ) -> bool {
        let outdated = head.term.cmp(&self.term) == Ordering::Less || head.term == 0;
        if outdated {
            context.metrics.refused_total += 1;
            let (network, term) = (self.network.clone(), self.term);
            context.send_message_body(
                MessageRecipient::One(from.clone()),
                MessageBody::Outdated { network, term },
            );
            return false;
        }
        self.follow_higher_term(head.term);
        let (owner, epoch) = self.owner.get_or_insert_with(|| (from.clone(), head.at.epoch));
        let is_owners = owner == from && *epoch == head.at.epoch;
        if !is_owners {
            context.metrics.refused_total += 1;
        }
        is_owners
    }

    /// Stores a part; returns false if there is no room for it or it is already stored.
    fn store_early_part(&mut self, previous: u64, revision: u64, part: MessagePart) -> bool {
        let is_next = self.replica_revision == Some(previous);
        let is_full = self.early.len() >= EARLY_PUBLICATIONS_MAX
            || self.early_bytes + part.data.len() > EARLY_BYTES_MAX;
        if is_full && !is_next {
            return false;
        }
        let bytes = part.data.len();
        let early = self.early.entry(previous).or_insert_with(|| OutOfOrderChanges {
            revision,
            parts: MessagePartAssembly::new(part.count),
        });
        let added = early.revision == revision && early.parts.add_part(part);
        if added {
            self.early_bytes += bytes;
        }
        added
    }

    /// Applies all complete changes that build on the current revision.
    fn apply_complete_changes(&mut self, context: &mut NodeCallContext<'_>) {
        let Some((_, epoch)) = self.owner else { return };
        while let Some(applied) = self.replica_revision {
            self.drop_changes_before_revision(applied);
            let Some(next) = self.early.first_entry() else { return };
            if *next.key() != applied || !next.get().parts.is_complete() {
                return;
            }
            let OutOfOrderChanges { revision, parts } = next.remove();
            self.early_bytes -= parts.byte_size();
            let at = Position { epoch, offset: revision };
            if context
                .replica
                .apply_network_changes(&self.network, applied, at, &parts.into_parts())
                .is_err()
            {
                context.metrics.unreadable_total += 1;
                self.is_stuck = true;
                self.expected_revision = self.expected_revision.max(revision);
                return;
            }
            context.metrics.applied_total += 1;
            self.replica_revision = Some(revision);
            self.is_stuck = false;
            // The answer is arriving, so the timeout restarts. Publications sent to all nodes meanwhile are not the
            // answer: they build on later revisions and wait in `early`.
            self.last_request = self.last_request.map(|_| context.now);
            self.state.take_if(|coming| coming.revision <= revision);
        }
    }

    fn drop_changes_before_revision(&mut self, revision: u64) {
        while let Some(first) = self.early.first_entry().filter(|first| *first.key() < revision) {
            self.early_bytes -= first.remove().parts.byte_size();
        }
    }

    /// Sends a request to the owner, once per [`ASK_AGAIN`] without an answer.
    fn request_catch_up_if_behind(&mut self, context: &mut NodeCallContext<'_>) {
        if !self.has_missed_changes() {
            self.last_request = None;
            return;
        }
        let Some((owner, epoch)) = &self.owner else { return };
        if self
            .last_request
            .is_some_and(|asked| context.now.saturating_sub(asked) < CATCH_UP_TIMEOUT)
        {
            return;
        }
        self.last_request = Some(context.now);
        context.metrics.catch_up_requests_total += 1;
        let request = CatchUpRequest {
            network: self.network.clone(),
            term: self.term,
            position: self.replica_revision.map(|offset| Position { epoch: *epoch, offset }),
            is_stuck: self.is_stuck,
            unfinished: self.state.as_ref().map(|it| (it.edition, it.parts.first_missing_part())),
        };
        context
            .send_message_body(MessageRecipient::One(owner.clone()), MessageBody::CatchUp(request));
    }
}
