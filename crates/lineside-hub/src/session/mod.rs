//! A client's side: cursors in rooms, pulled by whoever owns the socket.
//!
//! Nothing is pushed into a session and nothing waits in it: it is told that there is something, and
//! takes one delivery at a time, rooms in turn. A session that does not pull keeps its cursors and
//! costs nobody anything.

mod delivery;
mod sequence;
mod subscription;

use std::fmt;
use std::sync::Arc;

use lineside_sync::fanout;

pub use self::delivery::{Delivery, Ended, SubscribeError, Subscribed};

use self::sequence::Sequences;
use self::subscription::{From, Step, Subscription};
use crate::listener::Signal;
use crate::room::Claim;
use crate::{Channel, Epoch, Hub, Listener, Position, ResolveError, Room, RoomKey, SessionLimits};

/// A client's subscriptions. Dropping it leaves all rooms.
pub struct Session {
    hub: Arc<Hub>,
    signal: Arc<Signal>,
    limits: SessionLimits,
    /// Bound: `SessionLimits::channels_max`.
    subscriptions: Vec<Subscription>,
    sequences: Sequences,
    /// Whose turn it is.
    turn: usize,
}

impl Session {
    pub(crate) fn new(
        hub: Arc<Hub>,
        number: u64,
        listener: Arc<dyn Listener>,
        limits: SessionLimits,
    ) -> Self {
        hub.counters().sessions.add(1);
        let signal = Signal::new(number, listener);
        Self {
            hub,
            signal,
            limits,
            subscriptions: Vec::new(),
            sequences: Sequences::default(),
            turn: 0,
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
        if self.subscriptions.iter().any(|subscription| subscription.room.channel() == channel) {
            return Err(SubscribeError::AlreadySubscribed);
        }
        if self.subscriptions.len() >= self.limits.channels_max {
            return Err(SubscribeError::TooManyChannels);
        }
        let key = self.hub.source().resolve(channel)?;
        let room = self.enter(channel, key)?;
        let now = match self.settle(&room) {
            Ok(now) => now,
            Err(error) => {
                self.leave(&room);
                return Err(error);
            }
        };
        // Whoever holds nothing misses nothing.
        let from = from.filter(|from| from.offset > 0);
        let from = match from.map(|from| (room.judge(from, now), from)) {
            None => From::Nothing,
            Some((Claim::Covered, from)) => From::Covered(from),
            Some((Claim::Gone, from)) => From::Refused(Some(from)),
            // Not to be listed again: one day it would pass for true.
            Some((Claim::Ahead, _)) => From::Refused(None),
        };
        let name = self.hub.source().sequence_name(channel, key);
        let interest = (!key.counts_by_itself()).then(|| self.hub.group(key.group));
        let sequence = self.sequences.enter(&name, interest, from);
        let position = match from {
            From::Covered(position) => position,
            _ => Position { epoch: room.epoch().unwrap_or(Epoch::from_bits(0)), offset: 0 },
        };
        let recovered = matches!(from, From::Covered(_));
        let since = self.hub.clock().monotonic();
        self.subscriptions.push(Subscription::new(room, sequence, since, from));
        let counters = self.hub.counters();
        counters.subscriptions.add(1);
        if recovered {
            counters.resumed.increment();
        }
        Ok(Subscribed { recovered, position })
    }

    /// Stops listening; false when it did not listen.
    pub fn unsubscribe(&mut self, channel: &Channel) -> bool {
        let index = self
            .subscriptions
            .iter()
            .position(|subscription| subscription.room.channel() == channel);
        if let Some(index) = index {
            self.end(index);
        }
        index.is_some()
    }

    /// How many channels it listens to.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    /// The next thing to send, or `None` when there is nothing now: the listener is then signaled once
    /// there is. To be called until it says `None`; until then no signal comes.
    pub fn next_delivery(&mut self) -> Option<Delivery> {
        loop {
            self.sequences.mark();
            if let Some(delivery) = self.scan() {
                return Some(delivery);
            }
            if !self.signal.take() {
                self.sequences.raise(&mut self.subscriptions);
                return None;
            }
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
        self.sequences.held(&self.subscriptions)
    }

    fn enter(&self, channel: &Channel, key: RoomKey) -> Result<Arc<Room>, SubscribeError> {
        loop {
            let room = self.hub.enter(channel, key).ok_or(SubscribeError::TooManyRooms)?;
            if room.channel() != channel {
                return Err(SubscribeError::KeyTaken);
            }
            if room.join(&self.signal) {
                return Ok(room);
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

    fn scan(&mut self) -> Option<Delivery> {
        let n = self.subscriptions.len();
        for _ in 0..n {
            let index = self.turn % self.subscriptions.len();
            self.turn = index + 1;
            let subscription = &mut self.subscriptions[index];
            match subscription.step(&self.hub, &self.signal) {
                Step::Nothing => {}
                Step::Deliver(delivery) => {
                    self.sequences.touch(subscription.sequence);
                    self.hub.counters().deliveries.increment();
                    return Some(delivery);
                }
                Step::End(why) => {
                    let channel = subscription.room.channel().clone();
                    self.end(index);
                    return Some(Delivery::Ended { channel, why });
                }
            }
        }
        None
    }

    fn end(&mut self, index: usize) {
        let subscription = self.subscriptions.swap_remove(index);
        self.sequences.leave(subscription.sequence);
        self.leave(&subscription.room);
        self.hub.counters().subscriptions.subtract(1);
    }

    fn leave(&self, room: &Room) {
        room.leave(&self.signal, self.hub.clock().monotonic());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        while !self.subscriptions.is_empty() {
            self.end(self.subscriptions.len() - 1);
        }
        self.hub.counters().sessions.subtract(1);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("number", &self.signal.number())
            .field("subscriptions", &self.subscriptions.len())
            .finish_non_exhaustive()
    }
}
