//! Hidden channels of a session: the joins and leaves of its channels, and orders for its user.
//!
//! Each has its own room, so joins and leaves take no offsets from the channel, and cost nothing for sessions that did
//! not ask for them. A reader that such a room has overtaken continues at the current top: delivery of each entry is
//! not guaranteed.

use super::{Session, SubscribeError};
use crate::EncodedChannelName;

impl Session {
    /// Delivers the channel's joins and leaves from now on, while the session is subscribed to it.
    ///
    /// # Errors
    /// Returns an error if the session gets them already, or if the node has its largest number of rooms.
    pub fn subscribe_to_joins_and_leaves(
        &mut self,
        channel: &EncodedChannelName,
    ) -> Result<(), SubscribeError> {
        self.subscribe(&channel.joins_and_leaves_channel(), None).map(drop)
    }

    /// Delivers orders for all sessions of the user from now on.
    ///
    /// # Errors
    /// Returns an error if the session gets them already, or if the node has its largest number of rooms.
    pub fn subscribe_to_user_orders(&mut self, user: &str) -> Result<(), SubscribeError> {
        self.subscribe(&EncodedChannelName::user_orders_channel(user), None).map(drop)
    }

    /// Stops the delivery of the user's orders; returns false if there was none.
    pub fn unsubscribe_from_user_orders(&mut self, user: &str) -> bool {
        self.unsubscribe(&EncodedChannelName::user_orders_channel(user))
    }

    /// Stops the delivery of the channel's joins and leaves; returns false if there was none.
    pub fn unsubscribe_from_joins_and_leaves(&mut self, channel: &EncodedChannelName) -> bool {
        self.hub.find_namespace(channel).is_some()
            && self.unsubscribe(&channel.joins_and_leaves_channel())
    }
}
