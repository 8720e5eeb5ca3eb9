//! One cursor: what a session holds of one channel, and what it needs next.

use std::sync::Arc;
use std::time::Duration;

use super::run::Run;
use super::side::Side;
use super::{Delivery, Ended};
use crate::audience::Chair;
use crate::limits::GAPS_MAX;
use crate::room::Look;
use crate::{EncodedState, Hub, Position, Room};

#[derive(Debug)]
pub(super) struct Subscription {
    pub(super) room: Arc<Room>,
    /// Where it sits, if its session is a partition's.
    pub(super) chair: Option<Chair>,
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
    phase: Phase,
    /// States given because the ring had overtaken the cursor, since the top was last reached.
    gaps: u8,
}

#[derive(Debug)]
enum Phase {
    /// Needs the state.
    Wanting,
    /// Is being given this state.
    Stating { state: Arc<EncodedState>, part: usize, gap: bool },
    /// Is given what comes. At `seen`, if there, nothing had.
    Following { seen: Option<u64> },
}

/// What a subscription builds upon.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    Nothing,
    Covered(Position),
    /// Where the room is: for one without a state.
    Now(Option<Position>),
    /// A position that is not covered; nowhere when it was no honest one.
    Refused(Position),
}

pub(super) enum Step {
    Nothing,
    Deliver(Delivery),
    End(Ended),
}

impl Subscription {
    pub(super) fn new(
        room: Arc<Room>,
        chair: Option<Chair>,
        sequence: usize,
        since: Duration,
        from: From,
    ) -> Self {
        let (cursor, refused) = match from {
            From::Nothing => (None, false),
            From::Covered(position) => (Some(position), false),
            From::Now(position) => (position, false),
            From::Refused(position) => (Some(position), true),
        };
        let phase = match from {
            From::Covered(_) | From::Now(_) => Phase::Following { seen: None },
            From::Nothing | From::Refused(_) => Phase::Wanting,
        };
        Self { room, chair, sequence, noted: false, since, cursor, refused, phase, gaps: 0 }
    }

    /// Whether a state is under way to the client, or needed.
    pub(super) fn wants_state(&self) -> bool {
        !matches!(self.phase, Phase::Following { .. })
    }

    /// Whether its room holds nothing that it has not been given. One load.
    pub(super) fn is_at_top(&self) -> bool {
        matches!(self.phase, Phase::Following { seen: Some(seen) } if seen == self.room.version())
    }

    pub(super) fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    /// Takes the cursor up to a position that is known to hold nothing more for this channel.
    /// Says whether that moved it.
    pub(super) fn raise(&mut self, to: Position) -> bool {
        match (&mut self.cursor, &self.phase) {
            (Some(cursor), Phase::Following { .. })
                if cursor.epoch == to.epoch && cursor.offset < to.offset =>
            {
                cursor.offset = to.offset;
                true
            }
            _ => false,
        }
    }

    /// Its room, and where it is there, if something may have come since.
    pub(super) fn stands_at(&self) -> Option<(&Arc<Room>, Position)> {
        let may_go_on = !self.wants_state() && !self.is_at_top() && !self.room.key().is_hidden();
        self.cursor.filter(|_| may_go_on).map(|cursor| (&self.room, cursor))
    }

    /// Goes on to the end of what follows where it stands.
    pub(super) fn take(&mut self, run: &Run, hub: &Hub) {
        if let Some(cursor) = &mut self.cursor {
            cursor.offset = run.to;
        }
        if run.seen.is_some() {
            self.gaps = 0;
        }
        self.phase = Phase::Following { seen: run.seen };
        self.measure(hub, &run.appended);
        hub.counters().deliveries.add(run.appended.len() as u64);
    }

    /// Measures how long it took since these were appended.
    fn measure(&self, hub: &Hub, appended: &[Duration]) {
        let now = hub.clock().monotonic();
        // What was appended before is old because the client was away.
        for at in appended.iter().filter(|at| **at >= self.since) {
            hub.counters().delivery_time.record_duration(now.saturating_sub(*at));
        }
    }

    /// One step further, if there is one.
    pub(super) fn step(&mut self, hub: &Arc<Hub>, side: &Side) -> Step {
        if let Phase::Following { seen } = self.phase {
            if seen == Some(self.room.version()) {
                return Step::Nothing;
            }
            if self.room.is_over() {
                return self.over(hub);
            }
            match self.follow(hub) {
                Follow::Step(step) => return step,
                Follow::NeedsState => self.phase = Phase::Wanting,
            }
        }
        if self.room.is_over() {
            return self.over(hub);
        }
        if let Some(end) = self.want_state(hub, side) {
            return end;
        }
        self.next_part()
    }

    /// What it waits for, or was just given, will not be gone on with.
    fn over(&self, hub: &Hub) -> Step {
        hub.counters().ended_over.increment();
        Step::End(Ended::Over)
    }

    fn follow(&mut self, hub: &Hub) -> Follow {
        let has_state = self.room.key().has_state();
        let Some(cursor) = &mut self.cursor else { return Follow::NeedsState };
        match self.room.look(*cursor) {
            Look::Publication(publication, last) => {
                cursor.offset = publication.offset;
                if last.is_some() {
                    self.gaps = 0;
                }
                self.phase = Phase::Following { seen: last };
                let epoch = cursor.epoch;
                self.measure(hub, &[publication.at]);
                let delivery = Delivery::of_publication(self.room.channel(), epoch, publication);
                Follow::Step(Step::Deliver(delivery))
            }
            Look::Nothing(version) => {
                self.gaps = 0;
                self.phase = Phase::Following { seen: Some(version) };
                Follow::Step(Step::Nothing)
            }
            Look::NotCovered if !has_state => Follow::Step(self.lose(hub)),
            Look::NotCovered => Follow::NeedsState,
        }
    }

    /// There is no state that could make up for what was missed.
    fn lose(&mut self, hub: &Hub) -> Step {
        if self.room.key().is_hidden() {
            self.cursor = self.room.top();
            self.phase = Phase::Following { seen: None };
            return Step::Nothing;
        }
        hub.counters().ended_lost.increment();
        Step::End(Ended::Lost)
    }

    /// Gets hold of the state if it is wanted. Says so when there is none yet, or never will be.
    fn want_state(&mut self, hub: &Arc<Hub>, side: &Side) -> Option<Step> {
        let Phase::Wanting = self.phase else { return None };
        let Some(taken) = side.state(hub, &self.room, self.chair, self.cursor) else {
            return Some(Step::Nothing);
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
                return Some(Step::End(Ended::Slow));
            }
            counters.gaps_slow.increment();
        }
        counters.states_begun.increment();
        let gap = self.refused || taken.other_epoch || taken.lost;
        self.phase = Phase::Stating { state: taken.state, part: 0, gap };
        None
    }

    fn next_part(&mut self) -> Step {
        let Phase::Stating { state, part, gap } = &mut self.phase else { return Step::Nothing };
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
            self.phase = Phase::Following { seen: None };
        }
        Step::Deliver(delivery)
    }
}

enum Follow {
    Step(Step),
    NeedsState,
}
