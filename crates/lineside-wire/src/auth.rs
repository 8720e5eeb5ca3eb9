//! Authorization: asked by connections, answered by the program, which knows tokens and configuration.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use lineside_hub::EncodedChannelName;

use crate::codes::ErrorCode;

/// The identity of a connection, from its token; all fields are empty for an anonymous connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientIdentity {
    pub user: Arc<str>,
    /// Information that others may see, as JSON; empty if none.
    pub info: Bytes,
    /// The expiry of the token, in seconds since 1970.
    pub expires: Option<i64>,
    /// The channels that the server subscribes the connection to.
    pub channels: Vec<EncodedChannelName>,
}

/// The permission to subscribe to a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscribeGrant {
    /// The expiry of the permission, in seconds since 1970.
    pub expires: Option<i64>,
    /// Information that others in the channel may see, in addition to the [identity's](ClientIdentity::info), as JSON;
    /// empty if none.
    pub info: Bytes,
}

/// The reason for a refusal: one of [`codes`](crate::codes).
pub type RefusalCode = &'static ErrorCode;

/// Decides which connections are accepted and what they may do.
///
/// Called on the threads that serve connections. The slow part, the check of a signature, is done once per token on
/// another thread: a connection calls [`is_token_known`](Self::is_token_known), lets a worker call
/// [`verify_and_cache_token`](Self::verify_and_cache_token) if it returns false, and only then calls the other methods. If the token
/// was evicted in between, they check it themselves.
pub trait Authorizer: Debug + Send + Sync + 'static {
    /// Returns true if the other methods are fast for this token: its signature has been checked, or it is not a
    /// token.
    fn is_token_known(&self, token: &str) -> bool;

    /// Checks a token and remembers the result, valid or not. Slow.
    fn verify_and_cache_token(&self, token: &str);

    /// Returns the identity of a connection with this token, or without one.
    ///
    /// # Errors
    /// Returns an error if the token is invalid or expired, or if a token is required.
    fn authorize_connect(&self, token: Option<&str>) -> Result<ClientIdentity, RefusalCode>;

    /// Returns the permission to subscribe to a channel, with a token for the channel or without one.
    ///
    /// # Errors
    /// Returns an error if it is not permitted, or if the token is invalid, expired, or of another user or channel.
    fn authorize_subscribe(
        &self,
        identity: &ClientIdentity,
        channel: &EncodedChannelName,
        token: Option<&str>,
    ) -> Result<SubscribeGrant, RefusalCode>;

    /// Checks that a connection may publish into a channel.
    ///
    /// # Errors
    /// Returns an error if it may not.
    fn authorize_publish(
        &self,
        identity: &ClientIdentity,
        channel: &EncodedChannelName,
    ) -> Result<(), RefusalCode>;
}
