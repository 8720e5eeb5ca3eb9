//! Who may do what: asked by connections, answered by the program, which knows tokens and configuration.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use lineside_hub::Channel;

use crate::centrifuge::codes::ErrorCode;

/// Who a connection is, as its token says; all of it empty for nobody in particular.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The user.
    pub user: Arc<str>,
    /// What others may know of it, as JSON; empty if nothing.
    pub info: Bytes,
    /// When the token expires, in seconds since 1970.
    pub expires: Option<i64>,
    /// Channels that the server subscribes the connection to.
    pub channels: Vec<Channel>,
}

/// That a connection may listen to a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelGrant {
    /// Until when, in seconds since 1970.
    pub expires: Option<i64>,
    /// What others in the channel may know of it beside the [identity's](ClientIdentity::info), as JSON; empty if nothing.
    pub info: Bytes,
}

/// Why not: one of [`codes`](crate::centrifuge::codes).
pub type Refusal = &'static ErrorCode;

/// Decides who comes in and what they may do.
///
/// Called on the threads that serve connections. What takes long, the check of a signature, is done once per token
/// and elsewhere: a connection asks [`is_known`](Self::is_token_known), has [`check`](Self::check_token) called by a worker where
/// it is not, and only then asks the rest. A token that has been forgotten in between is checked on the spot.
pub trait Authorizer: Debug + Send + Sync + 'static {
    /// Whether it is quick to say what this token is worth: its signature has been checked, or it is none.
    fn is_token_known(&self, token: &str) -> bool;

    /// Checks a token and remembers the outcome, good or bad. Takes long.
    fn check_token(&self, token: &str);

    /// Who comes with this token, or without one.
    ///
    /// # Errors
    /// When the token is not valid or expired, or one is wanted.
    fn authorize_connect(&self, token: Option<&str>) -> Result<ClientIdentity, Refusal>;

    /// Whether a connection may listen to a channel, with a token for just that or without.
    ///
    /// # Errors
    /// When it may not, or the token is not valid, of another user or channel, or expired.
    fn authorize_subscribe(
        &self,
        who: &ClientIdentity,
        channel: &Channel,
        token: Option<&str>,
    ) -> Result<ChannelGrant, Refusal>;

    /// Whether a connection may publish into a channel.
    ///
    /// # Errors
    /// When it may not.
    fn authorize_publish(&self, who: &ClientIdentity, channel: &Channel) -> Result<(), Refusal>;
}
