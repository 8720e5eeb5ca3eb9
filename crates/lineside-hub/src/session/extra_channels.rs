//! Hidden channels of a session: the joins and leaves of its channels, and orders for its user.
//!
//! Each has its own room, so joins and leaves take no offsets from the channel, and cost nothing for sessions that did
//! not ask for them. A reader that such a room has overtaken continues at the current top: delivery of each entry is
//! not guaranteed.

use super::{Session, SubscribeError};
use crate::Channel;

impl Session {
    /// Delivers the channel's joins and leaves from now on, while the session is subscribed to it.
    ///
    /// # Errors
    /// Returns an error if the session gets them already, or if the node has its largest number of rooms.
    pub fn subscribe_members(&mut self, channel: &Channel) -> Result<(), SubscribeError> {
        self.subscribe(&channel.members_channel(), None).map(drop)
    }

    /// Delivers orders for all sessions of the user from now on.
    ///
    /// # Errors
    /// Returns an error if the session gets them already, or if the node has its largest number of rooms.
    pub fn subscribe_user(&mut self, user: &str) -> Result<(), SubscribeError> {
        self.subscribe(&Channel::for_user(user), None).map(drop)
    }

    /// Stops the delivery of the user's orders; returns false if there was none.
    pub fn unsubscribe_user(&mut self, user: &str) -> bool {
        self.unsubscribe(&Channel::for_user(user))
    }

    /// Stops the delivery of the channel's joins and leaves; returns false if there was none.
    pub fn unsubscribe_members(&mut self, channel: &Channel) -> bool {
        self.hub.find_namespace(channel).is_some() && self.unsubscribe(&channel.members_channel())
    }
}
