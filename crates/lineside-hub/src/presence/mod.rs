//! Presence: the subscribers of a channel, counted exactly and listed in pages.
//!
//! A subscriber enters with its public data, and leaves when its [`Membership`] is dropped. Entering, leaving and
//! counting take constant time, however full the channel is. If the namespace asks for it, joins and leaves are
//! published to the channel's listeners at each [tick](Hub::publish_presence_changes); a client that left and returned
//! in between has done neither.

mod members;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use self::members::ChannelMembers;
use crate::{EncodedChannelName, Hub, NonDataContent};

/// The data of a subscriber that others may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresenceMember {
    /// The connection's unique id.
    pub client: Arc<str>,
    /// The user of the connection; empty without a token that names one.
    pub user: Arc<str>,
    /// The information in the connection's token, as JSON; empty if none.
    pub connection_info: Bytes,
    /// The information in the channel's token, as JSON; empty if none.
    pub channel_info: Bytes,
}

impl PresenceMember {
    pub(crate) fn byte_size(&self) -> usize {
        self.client.len() + self.user.len() + self.connection_info.len() + self.channel_info.len()
    }
}

/// The number of subscribers of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PresenceStats {
    /// Subscribed connections.
    pub clients: usize,
    /// Distinct users; all connections without a user count as one.
    pub users: usize,
}

/// A page of the subscribers of a channel.
#[derive(Clone, Debug, Default)]
pub struct PresencePage {
    /// The subscribers, in no particular order.
    pub members: Vec<Arc<PresenceMember>>,
    /// The start of the next page, if there is one. A subscriber that is present throughout is on exactly one page;
    /// one that joins or leaves meanwhile may be on none.
    pub next: Option<u32>,
}

/// The reason why presence is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PresenceError {
    /// The channel's namespace has no presence, or the channel is not in `app/…`.
    #[error("the channel has no presence")]
    PresenceDisabled,
    /// The node counts its largest number of subscribers; a later attempt may succeed.
    #[error("the node has reached its limit of present subscribers; retry later")]
    Full,
}

/// The presence of one subscriber in one channel; it leaves when this is dropped.
#[must_use]
pub struct PresenceMembership {
    members: Arc<ChannelMembers>,
    slot: u32,
}

impl Drop for PresenceMembership {
    fn drop(&mut self) {
        ChannelMembers::remove_member(&self.members, self.slot);
    }
}

impl fmt::Debug for PresenceMembership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Membership({} of {})", self.slot, self.members.channel())
    }
}

/// All channels with present subscribers.
#[derive(Debug)]
pub(crate) struct PresenceRegistry {
    /// Bound: one channel per present subscriber.
    channels: papaya::HashMap<EncodedChannelName, Arc<ChannelMembers>>,
    common: Arc<SharedPresenceState>,
}

/// The state shared by all channels.
#[derive(Debug)]
pub(super) struct SharedPresenceState {
    /// Channels with changes to publish, or without subscribers. Bound: each channel once.
    dirty: Mutex<Vec<Arc<ChannelMembers>>>,
    present: AtomicUsize,
    present_max: usize,
}

impl PresenceRegistry {
    pub(crate) fn new(present_max: usize) -> Self {
        let common = SharedPresenceState {
            dirty: Mutex::default(),
            present: AtomicUsize::new(0),
            present_max,
        };
        Self { channels: papaya::HashMap::new(), common: Arc::new(common) }
    }

    pub(crate) fn present_count(&self) -> usize {
        self.common.present.load(Ordering::Relaxed)
    }

    fn find_channel_members(&self, channel: &EncodedChannelName) -> Option<Arc<ChannelMembers>> {
        self.channels.pin().get(channel).cloned()
    }

    fn add_member_to_channel(
        &self,
        channel: &EncodedChannelName,
        member: Arc<PresenceMember>,
        publishes_changes: bool,
    ) -> Option<PresenceMembership> {
        loop {
            let members = self.channels.pin();
            let members = members.get_or_insert_with(channel.clone(), || {
                Arc::new(ChannelMembers::new(
                    channel.clone(),
                    publishes_changes,
                    self.common.clone(),
                ))
            });
            // A channel that has just been closed is being removed from the table: try again.
            match ChannelMembers::add_member(members, &member) {
                members::AddMemberOutcome::Slot(slot) => {
                    return Some(PresenceMembership { members: members.clone(), slot });
                }
                members::AddMemberOutcome::Full => return None,
                members::AddMemberOutcome::Closed => std::hint::spin_loop(),
            }
        }
    }
}

impl Hub {
    /// Counts a subscriber as present until the returned [`PresenceMembership`] is dropped.
    ///
    /// # Errors
    /// Returns an error if the channel does not count subscribers, or if too many are counted.
    pub fn count_as_present(
        &self,
        channel: &EncodedChannelName,
        member: Arc<PresenceMember>,
    ) -> Result<PresenceMembership, PresenceError> {
        let namespace = self.namespaces().find_namespace(channel);
        let namespace = namespace.filter(|it| it.presence || it.join_leave);
        let publishes_changes = namespace.ok_or(PresenceError::PresenceDisabled)?.join_leave;
        self.presence_registry()
            .add_member_to_channel(channel, member, publishes_changes)
            .ok_or_else(|| {
                self.counters().refused_presence.increment();
                PresenceError::Full
            })
    }

    /// Returns the number of subscribers of the channel.
    ///
    /// # Errors
    /// Returns an error if the channel does not count subscribers.
    pub fn presence_stats(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<PresenceStats, PresenceError> {
        self.ensure_presence_enabled(channel)?;
        Ok(self
            .presence_registry()
            .find_channel_members(channel)
            .map(|members| members.presence_stats())
            .unwrap_or_default())
    }

    /// Returns at most `limit` subscribers of the channel, from 0 or the start given by an earlier page. Linear in
    /// their number.
    ///
    /// # Errors
    /// Returns an error if the channel does not count subscribers.
    pub fn presence_page(
        &self,
        channel: &EncodedChannelName,
        from: u32,
        limit: usize,
    ) -> Result<PresencePage, PresenceError> {
        self.ensure_presence_enabled(channel)?;
        let members = self.presence_registry().find_channel_members(channel);
        Ok(members.map(|members| members.presence_page(from, limit)).unwrap_or_default())
    }

    /// Publishes the joins and leaves since the last tick to listeners. Call this a few times a second; costs nothing
    /// without changes.
    pub fn publish_presence_changes(&self) {
        let dirty = std::mem::take(&mut *self.presence_registry().common.dirty.lock());
        if dirty.is_empty() {
            return;
        }
        let mut batch = self.open_publish_batch();
        for members in dirty {
            let (changes, dropped) = ChannelMembers::take_changes_for_tick(&members);
            self.counters().member_changes.add(changes.len() as u64);
            self.counters().member_changes_dropped.add(dropped);
            let members_channel = members.channel().joins_and_leaves_channel();
            for (joined, member) in changes {
                let channel = members.channel().clone();
                let note = NonDataContent::Member { channel, joined, member };
                Self::publish_to_hidden_room(&mut batch, self, &members_channel, note);
            }
            if members.close_if_empty() {
                self.presence_registry().channels.pin().remove(members.channel());
            }
        }
    }

    fn ensure_presence_enabled(&self, channel: &EncodedChannelName) -> Result<(), PresenceError> {
        let is_enabled =
            self.namespaces().find_namespace(channel).is_some_and(|namespace| namespace.presence);
        if is_enabled { Ok(()) } else { Err(PresenceError::PresenceDisabled) }
    }
}
