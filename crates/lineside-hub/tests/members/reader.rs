//! A client of an operator's channels, with checks of its deliveries.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lineside_hub::{
    ClientDelivery, EncodedChannelName, Hub, Position, PresenceMembership, Session, SessionLimits,
    SubscribeError, SubscriptionEndReason,
};

use crate::support::{Signaled, Violation};

/// The published data, by channel, epoch and offset.
pub(crate) type Said = HashMap<(String, String, u64), String>;

/// The joins (true) and leaves that were published, by channel.
pub(crate) type Told = BTreeMap<String, Vec<(bool, String)>>;

pub(crate) fn name(channel: &str) -> EncodedChannelName {
    EncodedChannelName::parse_channel_name(channel).expect("a channel")
}

/// A client's view of a channel.
#[derive(Debug)]
struct Subscription {
    at: Position,
    /// The index of the first join or leave that this client may still get.
    members: Option<usize>,
}

pub(crate) struct Reader {
    pub(crate) id: String,
    pub(crate) user: String,
    session: Option<(Session, Arc<Signaled>)>,
    /// True if it was signaled and has not read everything.
    awake: bool,
    subscriptions: BTreeMap<String, Subscription>,
    pub(crate) memberships: BTreeMap<String, PresenceMembership>,
    /// The positions on channels that it left.
    left_at: BTreeMap<String, Position>,
}

/// The outcome of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Recovered,
    Begun,
    Refused(SubscribeError),
}

impl Reader {
    pub(crate) fn new(id: usize, user: usize) -> Self {
        Self {
            id: format!("c{id}"),
            user: format!("u{user}"),
            session: None,
            awake: false,
            subscriptions: BTreeMap::new(),
            memberships: BTreeMap::new(),
            left_at: BTreeMap::new(),
        }
    }

    pub(crate) fn is_on(&self, channel: &str) -> bool {
        self.subscriptions.contains_key(channel)
    }

    pub(crate) fn channels(&self) -> Vec<String> {
        self.subscriptions.keys().cloned().collect()
    }

    pub(crate) fn connect(&mut self, hub: &Arc<Hub>, channels_max: usize) {
        self.disconnect();
        let listener = Arc::new(Signaled::default());
        let session = hub.open_session(listener.clone(), SessionLimits { channels_max });
        self.session = Some((session, listener));
    }

    pub(crate) fn disconnect(&mut self) {
        for channel in self.channels() {
            self.leave(&channel);
        }
        self.session = None;
    }

    /// Leaves the channel, but remembers the position.
    fn leave(&mut self, channel: &str) {
        self.memberships.remove(channel);
        if let Some(subscription) = self.subscriptions.remove(channel) {
            self.left_at.insert(channel.to_owned(), subscription.at);
        }
    }

    pub(crate) fn subscribe(
        &mut self,
        channel: &str,
        resumes: bool,
        channels_max: usize,
    ) -> Result<Option<Outcome>, Violation> {
        let Some((session, _)) = &mut self.session else { return Ok(None) };
        self.awake = true;
        let from = self.left_at.get(channel).copied().filter(|_| resumes);
        let previous_state = (self.subscriptions.len(), self.subscriptions.contains_key(channel));
        let outcome = match session.subscribe(&name(channel), from) {
            Ok(subscribed) => {
                if previous_state.0 >= channels_max || previous_state.1 {
                    return Err(format!(
                        "{channel} is channel number {} of the session, beyond the limit",
                        previous_state.0 + 1
                    ));
                }
                if subscribed.recovered && Some(subscribed.position) != from {
                    return Err(format!("{channel}: requested {from:?}, got {subscribed:?}"));
                }
                let subscription = Subscription { at: subscribed.position, members: None };
                self.subscriptions.insert(channel.to_owned(), subscription);
                if subscribed.recovered { Outcome::Recovered } else { Outcome::Begun }
            }
            Err(SubscribeError::TooManyChannels) if previous_state.0 < channels_max => {
                return Err(format!("the channel was refused after only {}", previous_state.0));
            }
            Err(SubscribeError::AlreadySubscribed) if !previous_state.1 => {
                return Err(format!("{channel} was not subscribed"));
            }
            Err(error) => Outcome::Refused(error),
        };
        Ok(Some(outcome))
    }

    /// Gets joins and leaves from now on.
    pub(crate) fn follow_members(
        &mut self,
        channel: &str,
        published_changes: &Told,
    ) -> Option<SubscribeError> {
        let (session, _) = self.session.as_mut()?;
        let subscription = self.subscriptions.get_mut(channel)?;
        if let Err(error) = session.subscribe_to_joins_and_leaves(&name(channel)) {
            return Some(error);
        }
        subscription.members = Some(published_changes.get(channel).map_or(0, Vec::len));
        self.awake = true;
        None
    }

    pub(crate) fn unsubscribe(&mut self, channel: &str) -> Result<(), Violation> {
        let Some((session, _)) = &mut self.session else { return Ok(()) };
        let was_on = session.unsubscribe(&name(channel));
        if was_on != self.is_on(channel) {
            return Err(format!("{channel}: unsubscribe returned the wrong value {was_on}"));
        }
        self.leave(channel);
        Ok(())
    }

    /// Takes the next delivery and returns its description, if there is one. Deliveries that `hears` rejects are lost,
    /// as a fault.
    pub(crate) fn pull(
        &mut self,
        published_data: &Said,
        published_changes: &Told,
        hears: impl Fn(&ClientDelivery) -> bool,
    ) -> Result<Option<String>, Violation> {
        let Some((session, listener)) = &mut self.session else { return Ok(None) };
        self.awake |= listener.is_set();
        listener.clear();
        let Some(delivery) = session.next_delivery() else {
            self.awake = false;
            return Ok(None);
        };
        let channel = delivery.channel().as_str().to_owned();
        if !self.awake {
            return Err(format!("{channel}: a delivery arrived without a signal"));
        }
        if !hears(&delivery) {
            return Ok(Some(format!("{channel}: unheard")));
        }
        let Some(subscription) = self.subscriptions.get_mut(&channel) else {
            return Err(format!("{channel} is not subscribed"));
        };
        let line = match delivery {
            ClientDelivery::Publication { epoch, publication, .. } => {
                let at = Position { epoch, offset: publication.offset };
                let next = Position { offset: subscription.at.offset + 1, ..subscription.at };
                if at != next {
                    return Err(format!("{channel}: {at:?} after {:?}", subscription.at));
                }
                let text = published_data.get(&(channel.clone(), epoch.to_string(), at.offset));
                if text.map(String::as_bytes) != Some(&publication.payload.data()[..]) {
                    return Err(format!("{channel}: {at:?} has other data than published"));
                }
                subscription.at = at;
                format!("{channel}: {}", at.offset)
            }
            ClientDelivery::Member { joined, member, .. } => {
                let change = (joined, member.client.to_string());
                let Some(from) = subscription.members else {
                    return Err(format!("{channel}: unrequested change {change:?}"));
                };
                let rest = published_changes.get(&channel).map_or(&[][..], |told| &told[from..]);
                let Some(index) = rest.iter().position(|published| *published == change) else {
                    return Err(format!("{channel}: {change:?} is not among {rest:?}"));
                };
                subscription.members = Some(from + index + 1);
                format!("{channel}: {change:?}")
            }
            ClientDelivery::Ended { why: SubscriptionEndReason::Lost, .. } => {
                self.leave(&channel);
                self.left_at.remove(&channel);
                format!("{channel}: lost")
            }
            other => return Err(format!("{channel}: unexpected delivery {other:?}")),
        };
        Ok(Some(line))
    }

    /// Returns the next delivery without checks.
    pub(crate) fn hear(&mut self) -> Option<ClientDelivery> {
        self.session.as_mut()?.0.next_delivery()
    }

    /// Checks that a client that has read everything is at its channels' positions, and has got the last join or
    /// leave.
    pub(crate) fn check_drained(
        &self,
        last: &BTreeMap<String, Position>,
        published_changes: &Told,
    ) -> Result<(), Violation> {
        for (channel, subscription) in &self.subscriptions {
            if let Some(last) = last.get(channel)
                && subscription.at != *last
            {
                return Err(format!("{}: {channel} ends at {:?}", self.id, subscription.at));
            }
            let received = subscription.members;
            let published = published_changes.get(channel).map_or(0, Vec::len);
            if received.is_some_and(|heard| heard != published) {
                return Err(format!(
                    "{}: {channel} received {received:?} of {published} changes",
                    self.id
                ));
            }
        }
        Ok(())
    }
}
