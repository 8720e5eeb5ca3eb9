//! What a session hears beside its channels: who comes and goes there, and what concerns its user.
//!
//! Each is a room of its own that nobody can name, so comings and goings take no offsets from the channel, and
//! cost nothing to who did not ask for them. A reader that such a room has overtaken goes on from now: nobody
//! is promised each of them.

use super::{Session, SubscribeError};
use crate::Channel;

impl Session {
    /// Is told from now on who comes to the channel and who leaves it, as long as the session listens there.
    ///
    /// # Errors
    /// When it is told already, or the node has as many rooms as it may.
    pub fn subscribe_members(&mut self, channel: &Channel) -> Result<(), SubscribeError> {
        self.subscribe(&channel.members_channel(), None).map(drop)
    }

    /// Is told from now on what concerns all sessions of the user.
    ///
    /// # Errors
    /// When it is told already, or the node has as many rooms as it may.
    pub fn subscribe_user(&mut self, user: &str) -> Result<(), SubscribeError> {
        self.subscribe(&Channel::for_user(user), None).map(drop)
    }

    /// Whether it was told.
    pub fn unsubscribe_user(&mut self, user: &str) -> bool {
        self.unsubscribe(&Channel::for_user(user))
    }

    /// Whether it was told.
    pub fn unsubscribe_members(&mut self, channel: &Channel) -> bool {
        self.hub.find_namespace(channel).is_some() && self.unsubscribe(&channel.members_channel())
    }
}
