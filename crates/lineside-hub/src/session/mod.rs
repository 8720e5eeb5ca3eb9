//! Sessions: a client's cursors in rooms, pulled by the owner of the socket.
//!
//! Nothing is pushed into a session and nothing queues in it. It is signaled that there is news, and takes one
//! delivery at a time, rooms in turn. A session that does not pull keeps its cursors and costs the others nothing.

mod extra_channels;
mod delivery;
mod run_cache;
mod sequence;
mod listen_mode;
mod subscription;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use lineside_sync::fanout;

pub use self::delivery::{ClientDelivery, SubscribeError, SubscribeOutcome, SubscriptionEndReason};
pub use self::run_cache::{JoinedPublicationsCache, PublicationToFrame};

use self::listen_mode::SessionListenMode;
use self::sequence::ClientSequencePositions;
use self::subscription::{DeliveryStep, Subscription, SubscriptionStart};
use crate::listener::SessionSignal;
use crate::partition_listener::{PartitionSlotId, SessionPartitionMembership};
use crate::room::ClaimedPositionStatus;
use crate::{
    ChannelResolveError, ChannelRoom, EncodedChannelName, Epoch, Hub, NewsListener, Position,
    RoomKey, SessionLimits,
};

/// A room that a session has joined.
struct JoinedRoom {
    room: Arc<ChannelRoom>,
    slot: Option<PartitionSlotId>,
    /// The source's position in the room's sequence; `None` if the room has its own sequence.
    now: Option<Position>,
}

/// A client's subscriptions. Dropping the session leaves all rooms.
pub struct Session {
    hub: Arc<Hub>,
    listen_mode: SessionListenMode,
    limits: SessionLimits,
    /// The subscriptions by number; free numbers are reused. Bound: `SessionLimits::channels_max`.
    subscriptions: Vec<Option<Subscription>>,
    sequences: ClientSequencePositions,
    /// The next subscription in turn, for a session that scans all.
    next_subscription: usize,
    /// The subscriptions with news, in turn, for a session of a partition. Bound: each once.
    ready: VecDeque<u32>,
}

impl Session {
    /// Creates a session with its own listener.
    pub(crate) fn with_listener(
        hub: Arc<Hub>,
        number: u64,
        listener: Arc<dyn NewsListener>,
        limits: SessionLimits,
    ) -> Self {
        Self::new(hub, SessionListenMode::Direct(SessionSignal::new(number, listener)), limits)
    }

    /// Creates a session of a partition.
    pub(crate) fn new_in_partition(
        hub: Arc<Hub>,
        member: SessionPartitionMembership,
        limits: SessionLimits,
    ) -> Self {
        Self::new(hub, SessionListenMode::Partition(member), limits)
    }

    fn new(hub: Arc<Hub>, listen_mode: SessionListenMode, limits: SessionLimits) -> Self {
        hub.counters().sessions.add(1);
        Self {
            hub,
            listen_mode,
            limits,
            subscriptions: Vec::new(),
            sequences: ClientSequencePositions::default(),
            next_subscription: 0,
            ready: VecDeque::new(),
        }
    }

    /// Subscribes to a channel, from a position if the client has one. Pull afterwards: the listener is not signaled
    /// for existing content.
    ///
    /// # Errors
    /// Returns an error if the channel is unknown or subscribed already, or if a limit is reached.
    pub fn subscribe(
        &mut self,
        channel: &EncodedChannelName,
        from: Option<Position>,
    ) -> Result<SubscribeOutcome, SubscribeError> {
        if self.find_subscription(channel).is_some() {
            return Err(SubscribeError::AlreadySubscribed);
        }
        let key = self.hub.resolve_room_key(channel)?;
        if !key.is_hidden_from_clients() && self.subscription_count() >= self.limits.channels_max {
            return Err(SubscribeError::TooManyChannels);
        }
        let free = self.subscriptions.iter().position(Option::is_none);
        let number = free.unwrap_or(self.subscriptions.len());
        let JoinedRoom { room, slot, now } =
            self.join_room_and_set_position(channel, key, number as u32)?;
        let key = room.key();
        let now_is_enough = !key.has_source_state();
        // A client at offset 0 has nothing and so misses nothing. On a channel without a state, offset 0 is a valid
        // start.
        let from = from.filter(|from| from.offset > 0 || now_is_enough);
        let from = match from.map(|from| (room.compare_claimed_position(from, now), from)) {
            Some((ClaimedPositionStatus::Covered, from)) => SubscriptionStart::Covered(from),
            _ if now_is_enough => SubscriptionStart::Now(room.newest_position()),
            None => SubscriptionStart::Nothing,
            Some((ClaimedPositionStatus::Gone, from)) => SubscriptionStart::Refused(from),
            // This position must not be listed again: the sequence may reach it later, and it would then seem valid.
            Some((ClaimedPositionStatus::Ahead, _)) => {
                SubscriptionStart::Refused(Position::INVALID)
            }
        };
        let name = self.hub.sequence_name_for_key(channel, key);
        let interest = (!key.has_own_sequence()).then(|| self.hub.get_or_create_group(key.group));
        let sequence = self.sequences.add_channel_to_sequence(&name, interest, from);
        let position = match from {
            SubscriptionStart::Covered(position) | SubscriptionStart::Now(Some(position)) => {
                position
            }
            _ => Position { epoch: room.current_epoch().unwrap_or(Epoch::from_bits(0)), offset: 0 },
        };
        let recovered = matches!(from, SubscriptionStart::Covered(_));
        let since = self.hub.clock().monotonic();
        room.increment_subscriber_count();
        let subscription = Subscription::new(room, slot, sequence, since, from);
        match self.subscriptions.get_mut(number) {
            Some(free) => *free = Some(subscription),
            None => self.subscriptions.push(Some(subscription)),
        }
        self.mark_subscription_has_news(number as u32);
        let counters = self.hub.counters();
        counters.subscriptions.add(1);
        if recovered {
            counters.resumed.increment();
        }
        Ok(SubscribeOutcome { recovered, position })
    }

    /// Unsubscribes from a channel; returns false if the session was not subscribed.
    pub fn unsubscribe(&mut self, channel: &EncodedChannelName) -> bool {
        let number = self.find_subscription(channel);
        if let Some(number) = number {
            self.remove_subscription(number);
            self.unsubscribe_from_joins_and_leaves(channel);
        }
        number.is_some()
    }

    /// Returns the number of subscribed channels.
    pub fn subscription_count(&self) -> usize {
        self.subscribed_channels().count()
    }

    /// Returns the subscribed channels.
    pub fn subscribed_channels(&self) -> impl Iterator<Item = &EncodedChannelName> {
        let named = |it: &&Subscription| !it.room.key().is_hidden_from_clients();
        self.subscriptions.iter().flatten().filter(named).map(|it| it.room.channel())
    }

    /// Notes that a subscription may have news. Call this for each slot of the session that the
    /// [`PartitionListener`](crate::PartitionListener) names. Does nothing for a session with its own listener.
    pub fn mark_subscription_has_news(&mut self, subscription: u32) {
        if let SessionListenMode::Direct(_) = self.listen_mode {
            return;
        }
        if let Some(Some(it)) = self.subscriptions.get_mut(subscription as usize)
            && !it.is_queued
        {
            it.is_queued = true;
            self.ready.push_back(subscription);
        }
    }

    /// Returns true if a delivery may be part of a state. Call this between deliveries, to limit the number of states
    /// in transfer.
    pub fn is_receiving_state(&self) -> bool {
        let ready_subscriptions =
            self.ready.iter().filter_map(|number| self.subscriptions.get(*number as usize));
        ready_subscriptions.flatten().any(Subscription::is_needing_or_sending_state)
    }

    /// Returns the next delivery, or `None` if there is none now: the listener is then signaled when there is. Call
    /// this until it returns `None`; until then no signal comes.
    pub fn next_delivery(&mut self) -> Option<ClientDelivery> {
        match self.listen_mode {
            SessionListenMode::Direct(_) => self.next_delivery_scanning_all(),
            SessionListenMode::Partition(_) => self.next_delivery_from_noted(),
        }
    }

    /// Returns the next publications of the channel in turn, as the joined results of `frame`. Sessions of a partition
    /// at the same position share them through `runs`, which must belong to the partition; `slot` distinguishes kinds
    /// of framing. Returns `None` if another kind of delivery comes next, or none: then call
    /// [`next_delivery`](Self::next_delivery).
    pub fn next_joined_publications(
        &mut self,
        slot: usize,
        runs: &mut JoinedPublicationsCache,
        mut frame: impl FnMut(PublicationToFrame<'_>) -> Bytes,
    ) -> Option<Bytes> {
        let SessionListenMode::Partition(member) = &self.listen_mode else { return None };
        let number = *self.ready.front()?;
        let subscription = self.subscriptions.get_mut(number as usize)?.as_mut()?;
        let (room, from) = subscription.room_and_cursor_if_pending()?;
        let sequence = self.sequences.sequence_name(subscription.sequence);
        let run = runs.find_or_join_publications(
            room,
            from,
            (slot, member.signal_count()),
            |position, publication| {
                frame(PublicationToFrame {
                    channel: room.channel(),
                    sequence,
                    position,
                    publication,
                })
            },
        )?;
        subscription.advance_past_publications(run, &self.hub);
        self.sequences.mark_sequence_changed(subscription.sequence);
        self.ready.pop_front();
        subscription.is_queued = run.seen.is_none();
        if subscription.is_queued {
            self.ready.push_back(number);
        }
        Some(run.bytes.clone())
    }

    /// Returns the next delivery of one channel, out of turn: for a reply that includes the missed publications.
    /// `None` if there is none now. All channels must then still be pulled as usual.
    pub fn next_channel_delivery(
        &mut self,
        channel: &EncodedChannelName,
    ) -> Option<ClientDelivery> {
        let number = self.find_subscription(channel)?;
        match self.take_subscription_step(number) {
            DeliveryStep::Nothing => None,
            DeliveryStep::Deliver(delivery) => Some(delivery),
            DeliveryStep::End(why) => self.end_subscription(number, why),
        }
    }

    /// Returns the client's positions after all deliveries so far: for each sequence, by name, one position that
    /// covers all its channels here. A client that returns with it misses nothing, but may get some publications
    /// again.
    ///
    /// A sequence is left out until each of its channels has its state. While a channel gets its state again, the
    /// position stays where the channel was before. After a subscription has ended, the position applies only to the
    /// remaining ones.
    pub fn client_positions(&mut self) -> impl Iterator<Item = (&str, Position)> {
        if let SessionListenMode::Partition(_) = self.listen_mode {
            self.sequences.record_published_positions();
            let at_top = self
                .subscriptions
                .iter_mut()
                .flatten()
                .filter(|it| it.has_read_newest_publication());
            self.sequences.raise_cursors_to_published(at_top);
        }
        self.sequences.client_positions(self.subscriptions.iter().flatten())
    }

    /// Returns the name of the channel's sequence, as in [`client_positions`](Self::client_positions); `None` if the
    /// session is not subscribed.
    pub fn sequence_name_of_channel(&self, channel: &EncodedChannelName) -> Option<&str> {
        let subscription = self.subscriptions.get(self.find_subscription(channel)?)?.as_ref()?;
        Some(self.sequences.sequence_name(subscription.sequence))
    }

    fn find_subscription(&self, channel: &EncodedChannelName) -> Option<usize> {
        let listens =
            |it: &Option<Subscription>| it.as_ref().is_some_and(|it| it.room.channel() == channel);
        self.subscriptions.iter().position(listens)
    }

    fn join_room_of_channel(
        &self,
        channel: &EncodedChannelName,
        key: RoomKey,
        number: u32,
    ) -> Result<(Arc<ChannelRoom>, Option<PartitionSlotId>), SubscribeError> {
        loop {
            let room = self.hub.get_or_create_room(channel, key).ok_or_else(|| {
                let has_ended = !key.has_own_sequence()
                    && self.hub.get_or_create_group(key.group).has_group_ended();
                if has_ended {
                    ChannelResolveError::UnknownFeed.into()
                } else {
                    SubscribeError::TooManyRooms
                }
            })?;
            if room.channel() != channel {
                return Err(SubscribeError::KeyTaken);
            }
            if let Some(slot) = self.listen_mode.join_room(&room, number) {
                return Ok((room, slot));
            }
        }
    }

    /// Joins the channel's room and sets the room's position from the source. A sequence that has just ended may
    /// continue under another group's number.
    fn join_room_and_set_position(
        &self,
        channel: &EncodedChannelName,
        key: RoomKey,
        number: u32,
    ) -> Result<JoinedRoom, SubscribeError> {
        let mut key = key;
        loop {
            let entered =
                self.join_room_of_channel(channel, key, number).and_then(|(room, slot)| {
                    let now = self.set_room_position_from_source(&room);
                    if now.is_err() {
                        self.listen_mode.leave_room(&room, slot, &self.hub);
                    }
                    Ok(JoinedRoom { now: now?, room, slot })
                });
            match entered {
                Err(error @ SubscribeError::Unresolved(_)) => {
                    let resolved = self.hub.resolve_room_key(channel)?;
                    if resolved == key {
                        return Err(error);
                    }
                    key = resolved;
                }
                done => return done,
            }
        }
    }

    /// Sets the room's position from the source; returns `None` if the room has its own sequence.
    fn set_room_position_from_source(
        &self,
        room: &ChannelRoom,
    ) -> Result<Option<Position>, SubscribeError> {
        if room.key().has_own_sequence() {
            return Ok(None);
        }
        fanout::fence_before_topic_lookup();
        loop {
            let previous_epoch = room.current_epoch();
            let position = self.hub.state_source().current_position(room.channel(), room.key());
            let Some(position) = position else {
                return Err(ChannelResolveError::UnknownFeed.into());
            };
            if room.set_position_from_source(previous_epoch, position) {
                return Ok(Some(position));
            }
        }
    }

    /// Looks at all rooms, because the session's signal does not name the room with news.
    fn next_delivery_scanning_all(&mut self) -> Option<ClientDelivery> {
        loop {
            self.sequences.record_published_positions();
            if let Some(delivery) = self.scan_subscriptions_in_turn() {
                return Some(delivery);
            }
            if !matches!(&self.listen_mode, SessionListenMode::Direct(signal) if signal.take_news_pending())
            {
                self.sequences.raise_cursors_to_published(self.subscriptions.iter_mut().flatten());
                return None;
            }
        }
    }

    fn scan_subscriptions_in_turn(&mut self) -> Option<ClientDelivery> {
        let n = self.subscriptions.len();
        for _ in 0..n {
            let number = self.next_subscription % n;
            self.next_subscription = number + 1;
            match self.take_subscription_step(number) {
                DeliveryStep::Nothing => {}
                DeliveryStep::Deliver(delivery) => return Some(delivery),
                DeliveryStep::End(why) => return self.end_subscription(number, why),
            }
        }
        None
    }

    /// Looks at the noted subscriptions. One without a delivery is noted again for later news, because the partition
    /// took its list before this look.
    fn next_delivery_from_noted(&mut self) -> Option<ClientDelivery> {
        while let Some(number) = self.ready.pop_front() {
            match self.take_subscription_step(number as usize) {
                DeliveryStep::Nothing => {
                    if let Some(it) = &mut self.subscriptions[number as usize] {
                        it.is_queued = false;
                    }
                }
                DeliveryStep::Deliver(delivery) => {
                    self.ready.push_back(number);
                    return Some(delivery);
                }
                DeliveryStep::End(why) => return self.end_subscription(number as usize, why),
            }
        }
        None
    }

    fn take_subscription_step(&mut self, number: usize) -> DeliveryStep {
        let Some(subscription) = &mut self.subscriptions[number] else {
            return DeliveryStep::Nothing;
        };
        let step = subscription.take_delivery_step(&self.hub, &self.listen_mode);
        if let DeliveryStep::Deliver(_) = step {
            self.sequences.mark_sequence_changed(subscription.sequence);
            self.hub.counters().deliveries.increment();
        }
        step
    }

    fn end_subscription(
        &mut self,
        number: usize,
        why: SubscriptionEndReason,
    ) -> Option<ClientDelivery> {
        let channel = self.remove_subscription(number)?.room.channel().clone();
        self.unsubscribe_from_joins_and_leaves(&channel);
        Some(ClientDelivery::Ended { channel, why })
    }

    fn remove_subscription(&mut self, number: usize) -> Option<Subscription> {
        let subscription = self.subscriptions.get_mut(number)?.take()?;
        self.ready.retain(|it| *it != number as u32);
        self.sequences.remove_channel_from_sequence(subscription.sequence);
        self.listen_mode.leave_room(&subscription.room, subscription.slot, &self.hub);
        self.hub.counters().subscriptions.subtract(1);
        subscription.room.decrement_subscriber_count();
        Some(subscription)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        (0..self.subscriptions.len()).for_each(|number| drop(self.remove_subscription(number)));
        self.hub.counters().sessions.subtract(1);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("subscriptions", &self.subscription_count())
            .finish_non_exhaustive()
    }
}
