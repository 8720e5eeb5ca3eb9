//! A client's side: cursors in rooms, pulled by whoever owns the socket.
//!
//! Nothing is pushed into a session and nothing waits in it: it is told that there is something, and
//! takes one delivery at a time, rooms in turn. A session that does not pull keeps its cursors and
//! costs nobody anything.

mod beside;
mod delivery;
mod run;
mod sequence;
mod side;
mod subscription;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use lineside_sync::fanout;

pub use self::delivery::{Delivery, Ended, SubscribeError, Subscribed};
pub use self::run::{Framing, Runs};

use self::sequence::Sequences;
use self::side::Side;
use self::subscription::{From, Step, Subscription};
use crate::audience::{Chair, Member};
use crate::listener::Signal;
use crate::room::Claim;
use crate::{Channel, Epoch, Hub, Listener, Position, ResolveError, Room, RoomKey, SessionLimits};

/// A room that a session sits in.
struct Entered {
    room: Arc<Room>,
    chair: Option<Chair>,
    /// Where its sequence is; `None` where it counts by itself.
    now: Option<Position>,
}

/// A client's subscriptions. Dropping it leaves all rooms.
pub struct Session {
    hub: Arc<Hub>,
    side: Side,
    limits: SessionLimits,
    /// By number; a number that is free is taken again. Bound: `SessionLimits::channels_max`.
    subscriptions: Vec<Option<Subscription>>,
    sequences: Sequences,
    /// Whose turn it is, where all are looked at.
    turn: usize,
    /// Those with news, in turn, where the partition says which. Bound: each once.
    news: VecDeque<u32>,
}

impl Session {
    /// A session that has a listener of its own.
    pub(crate) fn alone(
        hub: Arc<Hub>,
        number: u64,
        listener: Arc<dyn Listener>,
        limits: SessionLimits,
    ) -> Self {
        Self::new(hub, Side::Alone(Signal::new(number, listener)), limits)
    }

    /// A session of a partition.
    pub(crate) fn seated(hub: Arc<Hub>, member: Member, limits: SessionLimits) -> Self {
        Self::new(hub, Side::Seated(member), limits)
    }

    fn new(hub: Arc<Hub>, side: Side, limits: SessionLimits) -> Self {
        hub.counters().sessions.add(1);
        Self {
            hub,
            side,
            limits,
            subscriptions: Vec::new(),
            sequences: Sequences::default(),
            turn: 0,
            news: VecDeque::new(),
        }
    }

    /// Listens to a channel, from a position if the client holds one. Then pull: the listener is not
    /// signaled for what is there already.
    ///
    /// # Errors
    /// When the channel is unknown or listened to already, or a limit is reached.
    pub fn subscribe(
        &mut self,
        channel: &Channel,
        from: Option<Position>,
    ) -> Result<Subscribed, SubscribeError> {
        if self.find(channel).is_some() {
            return Err(SubscribeError::AlreadySubscribed);
        }
        let key = self.hub.resolve(channel)?;
        if !key.is_hidden() && self.subscriptions() >= self.limits.channels_max {
            return Err(SubscribeError::TooManyChannels);
        }
        let free = self.subscriptions.iter().position(Option::is_none);
        let number = free.unwrap_or(self.subscriptions.len());
        let Entered { room, chair, now } = self.enter_settled(channel, key, number as u32)?;
        let key = room.key();
        let now_is_enough = !key.has_state();
        // Whoever holds nothing misses nothing; where there is no state, nothing is the beginning.
        let from = from.filter(|from| from.offset > 0 || now_is_enough);
        let from = match from.map(|from| (room.judge(from, now), from)) {
            Some((Claim::Covered, from)) => From::Covered(from),
            _ if now_is_enough => From::Now(room.top()),
            None => From::Nothing,
            Some((Claim::Gone, from)) => From::Refused(from),
            // Not to be listed again: one day it would pass for true.
            Some((Claim::Ahead, _)) => From::Refused(Position::NOWHERE),
        };
        let name = self.hub.sequence_name_of(channel, key);
        let interest = (!key.counts_by_itself()).then(|| self.hub.group(key.group));
        let sequence = self.sequences.enter(&name, interest, from);
        let position = match from {
            From::Covered(position) | From::Now(Some(position)) => position,
            _ => Position { epoch: room.epoch().unwrap_or(Epoch::from_bits(0)), offset: 0 },
        };
        let recovered = matches!(from, From::Covered(_));
        let since = self.hub.clock().monotonic();
        room.count_subscriber();
        let subscription = Subscription::new(room, chair, sequence, since, from);
        match self.subscriptions.get_mut(number) {
            Some(free) => *free = Some(subscription),
            None => self.subscriptions.push(Some(subscription)),
        }
        self.note(number as u32);
        let counters = self.hub.counters();
        counters.subscriptions.add(1);
        if recovered {
            counters.resumed.increment();
        }
        Ok(Subscribed { recovered, position })
    }

    /// Stops listening; false when it did not listen.
    pub fn unsubscribe(&mut self, channel: &Channel) -> bool {
        let number = self.find(channel);
        if let Some(number) = number {
            self.end(number);
            self.unsubscribe_members(channel);
        }
        number.is_some()
    }

    /// How many channels it listens to.
    pub fn subscriptions(&self) -> usize {
        self.channels().count()
    }

    /// The channels that it listens to.
    pub fn channels(&self) -> impl Iterator<Item = &Channel> {
        let named = |it: &&Subscription| !it.room.key().is_hidden();
        self.subscriptions.iter().flatten().filter(named).map(|it| it.room.channel())
    }

    /// Says that a subscription may have news: to be called for each seat that the session's
    /// [`Audience`](crate::Audience) names. A session with a listener of its own needs it not.
    pub fn note(&mut self, subscription: u32) {
        if let Side::Alone(_) = self.side {
            return;
        }
        if let Some(Some(it)) = self.subscriptions.get_mut(subscription as usize)
            && !it.noted
        {
            it.noted = true;
            self.news.push_back(subscription);
        }
    }

    /// Whether something to send may be part of a state. Asked between deliveries, by who limits how many
    /// states are under way.
    pub fn is_given_state(&self) -> bool {
        let noted = self.news.iter().filter_map(|number| self.subscriptions.get(*number as usize));
        noted.flatten().any(Subscription::wants_state)
    }

    /// The next thing to send, or `None` when there is nothing now: the listener is then signaled once
    /// there is. To be called until it says `None`; until then no signal comes.
    pub fn next_delivery(&mut self) -> Option<Delivery> {
        match self.side {
            Side::Alone(_) => self.next_of_all(),
            Side::Seated(_) => self.next_of_news(),
        }
    }

    /// The publications that come next in the channel whose turn it is, as one piece of what `frame` makes of each.
    /// Sessions of a partition that stand at the same place share it through `runs`, which must be the partition's own;
    /// `slot` tells apart what is framed in different ways. `None` where something else comes next, or nothing: then
    /// [`next_delivery`](Self::next_delivery) is to be asked.
    pub fn next_run(
        &mut self,
        slot: usize,
        runs: &mut Runs,
        mut frame: impl FnMut(Framing<'_>) -> Bytes,
    ) -> Option<Bytes> {
        let Side::Seated(member) = &self.side else { return None };
        let number = *self.news.front()?;
        let subscription = self.subscriptions.get_mut(number as usize)?.as_mut()?;
        let (room, from) = subscription.stands_at()?;
        let sequence = self.sequences.name(subscription.sequence);
        let run = runs.after(room, from, (slot, member.heard()), |position, publication| {
            frame(Framing { channel: room.channel(), sequence, position, publication })
        })?;
        subscription.take(run, &self.hub);
        self.sequences.touch(subscription.sequence);
        self.news.pop_front();
        subscription.noted = run.seen.is_none();
        if subscription.noted {
            self.news.push_back(number);
        }
        Some(run.bytes.clone())
    }

    /// The next thing to send of one channel, out of turn: for a reply that carries what was missed.
    /// `None` when there is nothing now. All are then to be pulled as ever.
    pub fn next_delivery_of(&mut self, channel: &Channel) -> Option<Delivery> {
        let number = self.find(channel)?;
        match self.step(number) {
            Step::Nothing => None,
            Step::Deliver(delivery) => Some(delivery),
            Step::End(why) => self.ended(number, why),
        }
    }

    /// The positions that the client holds once it has everything delivered so far: for each sequence,
    /// by name, one that covers all its channels here. A client that comes back with it misses
    /// nothing, but may be given again what it has.
    ///
    /// A sequence is left out until each of its channels has its state; while one gets its state
    /// again, the position stays where that one was before. Once a subscription has ended it speaks
    /// for the remaining ones only.
    pub fn held(&mut self) -> impl Iterator<Item = (&str, Position)> {
        if let Side::Seated(_) = self.side {
            self.sequences.mark();
            let at_top = self.subscriptions.iter_mut().flatten().filter(|it| it.is_at_top());
            self.sequences.raise(at_top);
        }
        self.sequences.held(self.subscriptions.iter().flatten())
    }

    /// The name of the channel's sequence, as in [`held`](Self::held); `None` where it does not listen.
    pub fn sequence_of(&self, channel: &Channel) -> Option<&str> {
        let subscription = self.subscriptions.get(self.find(channel)?)?.as_ref()?;
        Some(self.sequences.name(subscription.sequence))
    }

    fn find(&self, channel: &Channel) -> Option<usize> {
        let listens =
            |it: &Option<Subscription>| it.as_ref().is_some_and(|it| it.room.channel() == channel);
        self.subscriptions.iter().position(listens)
    }

    fn enter(
        &self,
        channel: &Channel,
        key: RoomKey,
        number: u32,
    ) -> Result<(Arc<Room>, Option<Chair>), SubscribeError> {
        loop {
            let room = self.hub.enter(channel, key).ok_or_else(|| {
                let is_over = !key.counts_by_itself() && self.hub.group(key.group).is_over();
                if is_over {
                    ResolveError::UnknownFeed.into()
                } else {
                    SubscribeError::TooManyRooms
                }
            })?;
            if room.channel() != channel {
                return Err(SubscribeError::KeyTaken);
            }
            if let Some(chair) = self.side.join(&room, number) {
                return Ok((room, chair));
            }
        }
    }

    /// Enters the channel's room and tells it where its sequence is. A sequence that has just ended may go on under
    /// another group's number.
    fn enter_settled(
        &self,
        channel: &Channel,
        key: RoomKey,
        number: u32,
    ) -> Result<Entered, SubscribeError> {
        let mut key = key;
        loop {
            let entered = self.enter(channel, key, number).and_then(|(room, chair)| {
                let now = self.settle(&room);
                if now.is_err() {
                    self.side.leave(&room, chair, &self.hub);
                }
                Ok(Entered { now: now?, room, chair })
            });
            match entered {
                Err(error @ SubscribeError::Unresolved(_)) => {
                    let again = self.hub.resolve(channel)?;
                    if again == key {
                        return Err(error);
                    }
                    key = again;
                }
                done => return done,
            }
        }
    }

    /// Tells the room where its sequence is; `None` where it counts by itself.
    fn settle(&self, room: &Room) -> Result<Option<Position>, SubscribeError> {
        if room.key().counts_by_itself() {
            return Ok(None);
        }
        fanout::order();
        loop {
            let before = room.epoch();
            let position = self.hub.source().position(room.channel(), room.key());
            let Some(position) = position else {
                return Err(ResolveError::UnknownFeed.into());
            };
            if room.settle(before, position) {
                return Ok(Some(position));
            }
        }
    }

    /// Looks at all rooms, because its signal does not say which has something.
    fn next_of_all(&mut self) -> Option<Delivery> {
        loop {
            self.sequences.mark();
            if let Some(delivery) = self.scan() {
                return Some(delivery);
            }
            if !matches!(&self.side, Side::Alone(signal) if signal.take()) {
                self.sequences.raise(self.subscriptions.iter_mut().flatten());
                return None;
            }
        }
    }

    fn scan(&mut self) -> Option<Delivery> {
        let n = self.subscriptions.len();
        for _ in 0..n {
            let number = self.turn % n;
            self.turn = number + 1;
            match self.step(number) {
                Step::Nothing => {}
                Step::Deliver(delivery) => return Some(delivery),
                Step::End(why) => return self.ended(number, why),
            }
        }
        None
    }

    /// Looks at those that were noted. One that has been looked at in vain is noted again when there is
    /// something: the partition took its list before.
    fn next_of_news(&mut self) -> Option<Delivery> {
        while let Some(number) = self.news.pop_front() {
            match self.step(number as usize) {
                Step::Nothing => {
                    if let Some(it) = &mut self.subscriptions[number as usize] {
                        it.noted = false;
                    }
                }
                Step::Deliver(delivery) => {
                    self.news.push_back(number);
                    return Some(delivery);
                }
                Step::End(why) => return self.ended(number as usize, why),
            }
        }
        None
    }

    fn step(&mut self, number: usize) -> Step {
        let Some(subscription) = &mut self.subscriptions[number] else { return Step::Nothing };
        let step = subscription.step(&self.hub, &self.side);
        if let Step::Deliver(_) = step {
            self.sequences.touch(subscription.sequence);
            self.hub.counters().deliveries.increment();
        }
        step
    }

    fn ended(&mut self, number: usize, why: Ended) -> Option<Delivery> {
        let channel = self.end(number)?.room.channel().clone();
        self.unsubscribe_members(&channel);
        Some(Delivery::Ended { channel, why })
    }

    fn end(&mut self, number: usize) -> Option<Subscription> {
        let subscription = self.subscriptions.get_mut(number)?.take()?;
        self.news.retain(|it| *it != number as u32);
        self.sequences.leave(subscription.sequence);
        self.side.leave(&subscription.room, subscription.chair, &self.hub);
        self.hub.counters().subscriptions.subtract(1);
        subscription.room.discount_subscriber();
        Some(subscription)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        (0..self.subscriptions.len()).for_each(|number| drop(self.end(number)));
        self.hub.counters().sessions.subtract(1);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("subscriptions", &self.subscriptions())
            .finish_non_exhaustive()
    }
}
