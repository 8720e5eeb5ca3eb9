//! Who is in a channel, counted exactly and told in pages.
//!
//! A subscriber enters with what others may know of it, and leaves when its [`Membership`] is dropped. To
//! enter, to leave and to count cost the same however full the channel is. Where a namespace wants it, comings
//! and goings are told to the channel's listeners at each [tick](Hub::publish_presence_changes), and a client that left and came
//! back in between has done neither.

mod members;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use self::members::ChannelMembers;
use crate::{Channel, Hub, PublicationNote};

/// What others may know of a subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresenceMember {
    /// The connection's id, unlike any other's.
    pub client: Arc<str>,
    /// Whose connection it is; empty without a token that says so.
    pub user: Arc<str>,
    /// What the connection's token says of it, as JSON; empty if nothing.
    pub connection_info: Bytes,
    /// What the channel's token says of it, as JSON; empty if nothing.
    pub channel_info: Bytes,
}

impl PresenceMember {
    pub(crate) fn byte_size(&self) -> usize {
        self.client.len() + self.user.len() + self.connection_info.len() + self.channel_info.len()
    }
}

/// How many are in a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PresenceStats {
    /// Subscribed connections.
    pub clients: usize,
    /// Users, each counted once; those without a name are one.
    pub users: usize,
}

/// Some of those who are in a channel.
#[derive(Clone, Debug, Default)]
pub struct PresencePage {
    /// In no particular order.
    pub members: Vec<Arc<PresenceMember>>,
    /// Where the next page begins, if there is one. Who is there throughout is on one page exactly; who comes or
    /// goes meanwhile may be on none.
    pub next: Option<u32>,
}

/// Why it cannot be known who is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PresenceError {
    /// The channel's namespace does not count its subscribers, or it is no `app/…`.
    #[error("nobody counts who is in this channel")]
    NotKept,
    /// The node counts as many as it may; later there may be place.
    #[error("too many are present on this node")]
    Full,
}

/// Stands for one subscriber in one channel; dropped, it has left.
#[must_use]
pub struct Membership {
    members: Arc<ChannelMembers>,
    slot: u32,
}

impl Drop for Membership {
    fn drop(&mut self) {
        ChannelMembers::remove_member(&self.members, self.slot);
    }
}

impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Membership({} of {})", self.slot, self.members.channel())
    }
}

/// All channels in which somebody is.
#[derive(Debug)]
pub(crate) struct PresenceRegistry {
    /// Bound: one for each member at most.
    channels: papaya::HashMap<Channel, Arc<ChannelMembers>>,
    common: Arc<PresenceShared>,
}

/// What all channels share.
#[derive(Debug)]
pub(super) struct PresenceShared {
    /// Channels with something to tell, or with nobody left. Bound: each once.
    dirty: Mutex<Vec<Arc<ChannelMembers>>>,
    present: AtomicUsize,
    present_max: usize,
}

impl PresenceRegistry {
    pub(crate) fn new(present_max: usize) -> Self {
        let common =
            PresenceShared { dirty: Mutex::default(), present: AtomicUsize::new(0), present_max };
        Self { channels: papaya::HashMap::new(), common: Arc::new(common) }
    }

    pub(crate) fn present_count(&self) -> usize {
        self.common.present.load(Ordering::Relaxed)
    }

    fn find_channel(&self, channel: &Channel) -> Option<Arc<ChannelMembers>> {
        self.channels.pin().get(channel).cloned()
    }

    fn enter_channel(
        &self,
        channel: &Channel,
        member: Arc<PresenceMember>,
        told: bool,
    ) -> Option<Membership> {
        loop {
            let members = self.channels.pin();
            let members = members.get_or_insert_with(channel.clone(), || {
                Arc::new(ChannelMembers::new(channel.clone(), told, self.common.clone()))
            });
            // One that has just been closed is on its way out of the table.
            match ChannelMembers::enter_member(members, &member) {
                members::EnterOutcome::Slot(slot) => {
                    return Some(Membership { members: members.clone(), slot });
                }
                members::EnterOutcome::Full => return None,
                members::EnterOutcome::Closed => std::hint::spin_loop(),
            }
        }
    }
}

impl Hub {
    /// Counts a subscriber as present, until what is returned is dropped.
    ///
    /// # Errors
    /// When nobody counts there, or too many are counted.
    pub fn enter_presence(
        &self,
        channel: &Channel,
        member: Arc<PresenceMember>,
    ) -> Result<Membership, PresenceError> {
        let namespace = self.namespaces().find_namespace(channel);
        let namespace = namespace.filter(|it| it.presence || it.join_leave);
        let told = namespace.ok_or(PresenceError::NotKept)?.join_leave;
        self.presence_registry().enter_channel(channel, member, told).ok_or_else(|| {
            self.counters().refused_presence.increment();
            PresenceError::Full
        })
    }

    /// How many are in the channel.
    ///
    /// # Errors
    /// When nobody counts there.
    pub fn presence_stats(&self, channel: &Channel) -> Result<PresenceStats, PresenceError> {
        self.check_presence(channel)?;
        Ok(self
            .presence_registry()
            .find_channel(channel)
            .map(|members| members.presence_stats())
            .unwrap_or_default())
    }

    /// At most `limit` of those who are in the channel: the first ones, or those from where an earlier page
    /// ended. Takes time for each of them.
    ///
    /// # Errors
    /// When nobody counts there.
    pub fn presence_page(
        &self,
        channel: &Channel,
        from: u32,
        limit: usize,
    ) -> Result<PresencePage, PresenceError> {
        self.check_presence(channel)?;
        let members = self.presence_registry().find_channel(channel);
        Ok(members.map(|members| members.presence_page(from, limit)).unwrap_or_default())
    }

    /// Tells listeners who came and went since the last tick. To be called a few times a second; costs
    /// nothing where nobody did.
    pub fn publish_presence_changes(&self) {
        let dirty = std::mem::take(&mut *self.presence_registry().common.dirty.lock());
        if dirty.is_empty() {
            return;
        }
        let mut batch = self.open_batch();
        for members in dirty {
            let (changes, dropped) = ChannelMembers::take_changes(&members);
            self.counters().member_changes.add(changes.len() as u64);
            self.counters().member_changes_dropped.add(dropped);
            let heard_in = members.channel().members_channel();
            for (joined, member) in changes {
                let channel = members.channel().clone();
                let note = PublicationNote::Member { channel, joined, member };
                Self::publish_note(&mut batch, self, &heard_in, note);
            }
            if members.close_if_empty() {
                self.presence_registry().channels.pin().remove(members.channel());
            }
        }
    }

    fn check_presence(&self, channel: &Channel) -> Result<(), PresenceError> {
        let kept =
            self.namespaces().find_namespace(channel).is_some_and(|namespace| namespace.presence);
        if kept { Ok(()) } else { Err(PresenceError::NotKept) }
    }
}
