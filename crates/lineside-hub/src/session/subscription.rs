//! A subscription: a session's cursor in one channel, and its next step.

use std::sync::Arc;
use std::time::Duration;

use super::listen_mode::SessionListenMode;
use super::run_cache::JoinedPublications;
use super::{ClientDelivery, SubscriptionEndReason};
use crate::limits::GAPS_MAX;
use crate::partition_listener::PartitionSlotId;
use crate::room::NextPublication;
use crate::{ChannelRoom, EncodedState, Hub, Position};

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) room: Arc<ChannelRoom>,
    /// The subscription's slot, if the session belongs to a partition.
    pub(super) slot: Option<PartitionSlotId>,
    pub(super) sequence: usize,
    /// True while it is in the queue of subscriptions with news.
    pub(super) is_queued: bool,
    /// The time at which it began.
    since: Duration,
    /// The client's position, or the one that it validly claimed; `None` before the first state. While the client gets
    /// a state again, its position before.
    cursor: Option<Position>,
    /// True if the claim was refused: the next state makes up for what was missed.
    refused: bool,
    phase: SubscriptionPhase,
    /// The number of states sent because the ring had overtaken the cursor, since the top was last reached.
    gaps: u8,
}

#[derive(Debug)]
enum SubscriptionPhase {
    NeedsState,
    SendingState {
        state: Arc<EncodedState>,
        part: usize,
        gap: bool,
    },
    /// The subscription sends publications; at version `seen`, if set, there were none left.
    Following {
        seen: Option<u64>,
    },
}

/// The start of a subscription.
#[derive(Clone, Copy, Debug)]
pub(super) enum SubscriptionStart {
    Nothing,
    Covered(Position),
    /// The room's current position: for a room without a state.
    Now(Option<Position>),
    /// A position that is not covered; `NOWHERE` if the claim was ahead of the sequence.
    Refused(Position),
}

pub(super) enum DeliveryStep {
    Nothing,
    Deliver(ClientDelivery),
    End(SubscriptionEndReason),
}

impl Subscription {
    pub(super) fn new(
        room: Arc<ChannelRoom>,
        slot: Option<PartitionSlotId>,
        sequence: usize,
        since: Duration,
        from: SubscriptionStart,
    ) -> Self {
        let (cursor, refused) = match from {
            SubscriptionStart::Nothing => (None, false),
            SubscriptionStart::Covered(position) => (Some(position), false),
            SubscriptionStart::Now(position) => (position, false),
            SubscriptionStart::Refused(position) => (Some(position), true),
        };
        let phase = match from {
            SubscriptionStart::Covered(_) | SubscriptionStart::Now(_) => {
                SubscriptionPhase::Following { seen: None }
            }
            SubscriptionStart::Nothing | SubscriptionStart::Refused(_) => {
                SubscriptionPhase::NeedsState
            }
        };
        Self { room, slot, sequence, is_queued: false, since, cursor, refused, phase, gaps: 0 }
    }

    /// Returns true if a state is being sent or needed.
    pub(super) fn is_needing_or_sending_state(&self) -> bool {
        !matches!(self.phase, SubscriptionPhase::Following { .. })
    }

    /// Returns true if the room has nothing more for this subscription. One load.
    pub(super) fn has_read_newest_publication(&self) -> bool {
        matches!(self.phase, SubscriptionPhase::Following { seen: Some(seen) } if seen == self.room.log_version())
    }

    pub(super) fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    /// Raises the cursor to a position up to which the channel has nothing more. Returns true if the cursor moved.
    pub(super) fn raise_cursor(&mut self, to: Position) -> bool {
        match (&mut self.cursor, &self.phase) {
            (Some(cursor), SubscriptionPhase::Following { .. })
                if cursor.epoch == to.epoch && cursor.offset < to.offset =>
            {
                cursor.offset = to.offset;
                true
            }
            _ => false,
        }
    }

    /// Returns the room and the cursor, if the room may have new publications.
    pub(super) fn room_and_cursor_if_pending(&self) -> Option<(&Arc<ChannelRoom>, Position)> {
        let may_go_on = !self.is_needing_or_sending_state()
            && !self.has_read_newest_publication()
            && !self.room.key().is_hidden_from_clients();
        self.cursor.filter(|_| may_go_on).map(|cursor| (&self.room, cursor))
    }

    /// Moves the cursor to the end of a run that starts at it.
    pub(super) fn advance_past_publications(&mut self, run: &JoinedPublications, hub: &Hub) {
        if let Some(cursor) = &mut self.cursor {
            cursor.offset = run.to;
        }
        if run.seen.is_some() {
            self.gaps = 0;
        }
        self.phase = SubscriptionPhase::Following { seen: run.seen };
        self.record_delivery_times(hub, &run.appended);
        hub.counters().deliveries.add(run.appended.len() as u64);
    }

    /// Records the time since the publications were appended.
    fn record_delivery_times(&self, hub: &Hub, appended: &[Duration]) {
        let now = hub.clock().monotonic();
        // Publications from before the subscription are old because the client was away.
        for at in appended.iter().filter(|at| **at >= self.since) {
            hub.counters().delivery_time.record_duration(now.saturating_sub(*at));
        }
    }

    pub(super) fn take_delivery_step(
        &mut self,
        hub: &Arc<Hub>,
        listen_mode: &SessionListenMode,
    ) -> DeliveryStep {
        if let SubscriptionPhase::Following { seen } = self.phase {
            if seen == Some(self.room.log_version()) {
                return DeliveryStep::Nothing;
            }
            if self.room.has_ended() {
                return self.end_with_group(hub);
            }
            match self.read_next_publication(hub) {
                ReadPublicationStep::Step(step) => return step,
                ReadPublicationStep::NeedsState => self.phase = SubscriptionPhase::NeedsState,
            }
        }
        if self.room.has_ended() {
            return self.end_with_group(hub);
        }
        if let Some(end) = self.take_state_if_needed(hub, listen_mode) {
            return end;
        }
        self.next_state_part()
    }

    /// The group has ended, so the state or the publications would have no continuation.
    fn end_with_group(&self, hub: &Hub) -> DeliveryStep {
        hub.counters().ended_with_group.increment();
        DeliveryStep::End(SubscriptionEndReason::GroupEnded)
    }

    fn read_next_publication(&mut self, hub: &Hub) -> ReadPublicationStep {
        let has_state = self.room.key().has_source_state();
        let Some(cursor) = &mut self.cursor else { return ReadPublicationStep::NeedsState };
        match self.room.next_publication_after(*cursor) {
            NextPublication::Publication(publication, last) => {
                cursor.offset = publication.offset;
                if last.is_some() {
                    self.gaps = 0;
                }
                self.phase = SubscriptionPhase::Following { seen: last };
                let epoch = cursor.epoch;
                self.record_delivery_times(hub, &[publication.at]);
                let delivery = ClientDelivery::delivery_of_publication(
                    self.room.channel(),
                    epoch,
                    publication,
                );
                ReadPublicationStep::Step(DeliveryStep::Deliver(delivery))
            }
            NextPublication::Nothing(version) => {
                self.gaps = 0;
                self.phase = SubscriptionPhase::Following { seen: Some(version) };
                ReadPublicationStep::Step(DeliveryStep::Nothing)
            }
            NextPublication::NotCovered if !has_state => {
                ReadPublicationStep::Step(self.skip_missed_or_end(hub))
            }
            NextPublication::NotCovered => ReadPublicationStep::NeedsState,
        }
    }

    /// Handles missed entries in a room without a state to make up for them: a hidden room skips them, another ends
    /// the subscription.
    fn skip_missed_or_end(&mut self, hub: &Hub) -> DeliveryStep {
        if self.room.key().is_hidden_from_clients() {
            self.cursor = self.room.newest_position();
            self.phase = SubscriptionPhase::Following { seen: None };
            return DeliveryStep::Nothing;
        }
        hub.counters().ended_lost.increment();
        DeliveryStep::End(SubscriptionEndReason::Lost)
    }

    /// Takes the state if it is needed. Returns a step if there is no state yet, or if the subscription ends.
    fn take_state_if_needed(
        &mut self,
        hub: &Arc<Hub>,
        listen_mode: &SessionListenMode,
    ) -> Option<DeliveryStep> {
        let SubscriptionPhase::NeedsState = self.phase else { return None };
        let Some(taken) = listen_mode.request_room_state(hub, &self.room, self.slot, self.cursor)
        else {
            return Some(DeliveryStep::Nothing);
        };
        let counters = hub.counters();
        if self.refused {
            counters.gaps_resume.increment();
        } else if taken.other_epoch {
            counters.gaps_epoch.increment();
        } else if taken.lost {
            self.gaps += 1;
            if self.gaps >= GAPS_MAX {
                counters.ended_slow.increment();
                return Some(DeliveryStep::End(SubscriptionEndReason::Slow));
            }
            counters.gaps_slow.increment();
        }
        counters.states_started.increment();
        let gap = self.refused || taken.other_epoch || taken.lost;
        self.phase = SubscriptionPhase::SendingState { state: taken.state, part: 0, gap };
        None
    }

    fn next_state_part(&mut self) -> DeliveryStep {
        let SubscriptionPhase::SendingState { state, part, gap } = &mut self.phase else {
            return DeliveryStep::Nothing;
        };
        let delivery = ClientDelivery::State {
            channel: self.room.channel().clone(),
            state: state.clone(),
            part: *part,
            gap: *gap,
        };
        *part += 1;
        if *part == state.parts().len() {
            self.cursor = Some(state.position());
            self.refused = false;
            self.phase = SubscriptionPhase::Following { seen: None };
        }
        DeliveryStep::Deliver(delivery)
    }
}

enum ReadPublicationStep {
    Step(DeliveryStep),
    NeedsState,
}
