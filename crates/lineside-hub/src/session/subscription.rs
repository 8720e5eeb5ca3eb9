//! One cursor: what a session holds of one channel, and what it needs next.

use std::sync::Arc;
use std::time::Duration;

use super::listen_mode::ListenMode;
use super::run_cache::PublicationRun;
use super::{Delivery, SubscriptionEnd};
use crate::limits::GAPS_MAX;
use crate::partition_listener::SlotId;
use crate::room::NextPublication;
use crate::{EncodedState, Hub, Position, Room};

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) room: Arc<Room>,
    /// Where it sits, if its session is a partition's.
    pub(super) chair: Option<SlotId>,
    pub(super) sequence: usize,
    /// It waits for its turn among those with news.
    pub(super) noted: bool,
    /// When it began.
    since: Duration,
    /// What the client holds, or honestly claimed to hold; `None` before its first state. While it is
    /// given a state again, what it held before.
    cursor: Option<Position>,
    /// The claim was not accepted: the state to come makes up for what was missed.
    refused: bool,
    phase: SubscriptionPhase,
    /// States given because the ring had overtaken the cursor, since the top was last reached.
    gaps: u8,
}

#[derive(Debug)]
enum SubscriptionPhase {
    /// Needs the state.
    Wanting,
    /// Is being given this state.
    Stating { state: Arc<EncodedState>, part: usize, gap: bool },
    /// Is given what comes. At `seen`, if there, nothing had.
    Following { seen: Option<u64> },
}

/// What a subscription builds upon.
#[derive(Clone, Copy, Debug)]
pub(super) enum StartPoint {
    Nothing,
    Covered(Position),
    /// Where the room is: for one without a state.
    Now(Option<Position>),
    /// A position that is not covered; nowhere when it was no honest one.
    Refused(Position),
}

pub(super) enum DeliveryStep {
    Nothing,
    Deliver(Delivery),
    End(SubscriptionEnd),
}

impl Subscription {
    pub(super) fn new(
        room: Arc<Room>,
        chair: Option<SlotId>,
        sequence: usize,
        since: Duration,
        from: StartPoint,
    ) -> Self {
        let (cursor, refused) = match from {
            StartPoint::Nothing => (None, false),
            StartPoint::Covered(position) => (Some(position), false),
            StartPoint::Now(position) => (position, false),
            StartPoint::Refused(position) => (Some(position), true),
        };
        let phase = match from {
            StartPoint::Covered(_) | StartPoint::Now(_) => {
                SubscriptionPhase::Following { seen: None }
            }
            StartPoint::Nothing | StartPoint::Refused(_) => SubscriptionPhase::Wanting,
        };
        Self { room, chair, sequence, noted: false, since, cursor, refused, phase, gaps: 0 }
    }

    /// Whether a state is under way to the client, or needed.
    pub(super) fn wants_state(&self) -> bool {
        !matches!(self.phase, SubscriptionPhase::Following { .. })
    }

    /// Whether its room holds nothing that it has not been given. One load.
    pub(super) fn is_at_top(&self) -> bool {
        matches!(self.phase, SubscriptionPhase::Following { seen: Some(seen) } if seen == self.room.log_version())
    }

    pub(super) fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    /// Takes the cursor up to a position that is known to hold nothing more for this channel.
    /// Says whether that moved it.
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

    /// Its room, and where it is there, if something may have come since.
    pub(super) fn pending_from(&self) -> Option<(&Arc<Room>, Position)> {
        let may_go_on = !self.wants_state() && !self.is_at_top() && !self.room.key().is_hidden();
        self.cursor.filter(|_| may_go_on).map(|cursor| (&self.room, cursor))
    }

    /// Goes on to the end of what follows where it stands.
    pub(super) fn take_run(&mut self, run: &PublicationRun, hub: &Hub) {
        if let Some(cursor) = &mut self.cursor {
            cursor.offset = run.to;
        }
        if run.seen.is_some() {
            self.gaps = 0;
        }
        self.phase = SubscriptionPhase::Following { seen: run.seen };
        self.measure_delivery_time(hub, &run.appended);
        hub.counters().deliveries.add(run.appended.len() as u64);
    }

    /// Measures how long it took since these were appended.
    fn measure_delivery_time(&self, hub: &Hub, appended: &[Duration]) {
        let now = hub.clock().monotonic();
        // What was appended before is old because the client was away.
        for at in appended.iter().filter(|at| **at >= self.since) {
            hub.counters().delivery_time.record_duration(now.saturating_sub(*at));
        }
    }

    /// One step further, if there is one.
    pub(super) fn take_step(&mut self, hub: &Arc<Hub>, side: &ListenMode) -> DeliveryStep {
        if let SubscriptionPhase::Following { seen } = self.phase {
            if seen == Some(self.room.log_version()) {
                return DeliveryStep::Nothing;
            }
            if self.room.has_ended() {
                return self.end_as_over(hub);
            }
            match self.follow_room(hub) {
                FollowStep::Step(step) => return step,
                FollowStep::NeedsState => self.phase = SubscriptionPhase::Wanting,
            }
        }
        if self.room.has_ended() {
            return self.end_as_over(hub);
        }
        if let Some(end) = self.obtain_state(hub, side) {
            return end;
        }
        self.next_state_part()
    }

    /// What it waits for, or was just given, will not be gone on with.
    fn end_as_over(&self, hub: &Hub) -> DeliveryStep {
        hub.counters().ended_over.increment();
        DeliveryStep::End(SubscriptionEnd::Over)
    }

    fn follow_room(&mut self, hub: &Hub) -> FollowStep {
        let has_state = self.room.key().has_state();
        let Some(cursor) = &mut self.cursor else { return FollowStep::NeedsState };
        match self.room.find_next(*cursor) {
            NextPublication::Publication(publication, last) => {
                cursor.offset = publication.offset;
                if last.is_some() {
                    self.gaps = 0;
                }
                self.phase = SubscriptionPhase::Following { seen: last };
                let epoch = cursor.epoch;
                self.measure_delivery_time(hub, &[publication.at]);
                let delivery = Delivery::from_publication(self.room.channel(), epoch, publication);
                FollowStep::Step(DeliveryStep::Deliver(delivery))
            }
            NextPublication::Nothing(version) => {
                self.gaps = 0;
                self.phase = SubscriptionPhase::Following { seen: Some(version) };
                FollowStep::Step(DeliveryStep::Nothing)
            }
            NextPublication::NotCovered if !has_state => FollowStep::Step(self.skip_or_end(hub)),
            NextPublication::NotCovered => FollowStep::NeedsState,
        }
    }

    /// There is no state that could make up for what was missed.
    fn skip_or_end(&mut self, hub: &Hub) -> DeliveryStep {
        if self.room.key().is_hidden() {
            self.cursor = self.room.top_position();
            self.phase = SubscriptionPhase::Following { seen: None };
            return DeliveryStep::Nothing;
        }
        hub.counters().ended_lost.increment();
        DeliveryStep::End(SubscriptionEnd::Lost)
    }

    /// Gets hold of the state if it is wanted. Says so when there is none yet, or never will be.
    fn obtain_state(&mut self, hub: &Arc<Hub>, side: &ListenMode) -> Option<DeliveryStep> {
        let SubscriptionPhase::Wanting = self.phase else { return None };
        let Some(taken) = side.request_state(hub, &self.room, self.chair, self.cursor) else {
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
                return Some(DeliveryStep::End(SubscriptionEnd::Slow));
            }
            counters.gaps_slow.increment();
        }
        counters.states_begun.increment();
        let gap = self.refused || taken.other_epoch || taken.lost;
        self.phase = SubscriptionPhase::Stating { state: taken.state, part: 0, gap };
        None
    }

    fn next_state_part(&mut self) -> DeliveryStep {
        let SubscriptionPhase::Stating { state, part, gap } = &mut self.phase else {
            return DeliveryStep::Nothing;
        };
        let delivery = Delivery::State {
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

enum FollowStep {
    Step(DeliveryStep),
    NeedsState,
}
