//! Requests from clients. Fields without a value are left out of the JSON form, as in the protobuf form.
//!
//! Tokens are never printed: the holder of a token can act as its user.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{EmptyMessage, raw};

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A message from a client: one of the requests, or none for a pong.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::centrifuge) struct CommandMessage {
    #[prost(uint32, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub(in crate::centrifuge) id: u32,
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) connect: Option<ConnectRequest>,
    #[prost(message, optional, tag = "5")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) subscribe: Option<SubscribeRequest>,
    #[prost(message, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) unsubscribe: Option<ChannelRequest>,
    #[prost(message, optional, tag = "7")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) publish: Option<PublishRequest>,
    #[prost(message, optional, tag = "8")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) presence: Option<ChannelRequest>,
    #[prost(message, optional, tag = "9")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) presence_stats: Option<ChannelRequest>,
    #[prost(message, optional, tag = "10")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) history: Option<HistoryRequest>,
    #[prost(message, optional, tag = "11")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) ping: Option<EmptyMessage>,
    #[prost(message, optional, tag = "12")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) send: Option<EmptyMessage>,
    #[prost(message, optional, tag = "13")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) rpc: Option<EmptyMessage>,
    #[prost(message, optional, tag = "14")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) refresh: Option<RefreshRequest>,
    #[prost(message, optional, tag = "15")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::centrifuge) sub_refresh: Option<SubRefreshRequest>,
}

/// A request to connect.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[prost(skip_debug)]
#[serde(default)]
pub struct ConnectRequest {
    /// The token; empty for an anonymous client.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub token: String,
    /// The positions on channels that the server subscribes the client to.
    #[prost(btree_map = "string, message", tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub subs: BTreeMap<String, ResumePoint>,
    /// The kind of client, such as `js`.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// The client's version.
    #[prost(string, tag = "5")]
    #[serde(skip_serializing_if = "is_default")]
    pub version: String,
}

/// A client's position on a channel.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ResumePoint {
    /// True if the client has a position.
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub recover: bool,
    /// The epoch.
    #[prost(string, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    /// The offset.
    #[prost(uint64, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
}

/// A request to subscribe to a channel.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[prost(skip_debug)]
#[serde(default)]
pub struct SubscribeRequest {
    /// The channel.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub channel: String,
    /// The token for the channel; empty without one.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub token: String,
    /// True if the client has a position.
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub recover: bool,
    /// The position's epoch.
    #[prost(string, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    /// The position's offset.
    #[prost(uint64, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    /// True if the client wants joins and leaves.
    #[prost(bool, tag = "11")]
    #[serde(skip_serializing_if = "is_default")]
    pub join_leave: bool,
}

/// A request with only a channel.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelRequest {
    /// The channel.
    #[prost(string, tag = "1")]
    pub channel: String,
}

/// A request to publish.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishRequest {
    /// The channel.
    #[prost(string, tag = "1")]
    pub channel: String,
    /// The data.
    #[prost(bytes = "bytes", tag = "2")]
    #[serde(with = "raw", skip_serializing_if = "Bytes::is_empty")]
    pub data: Bytes,
}

/// A request for recent publications.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryRequest {
    /// The channel.
    #[prost(string, tag = "1")]
    pub channel: String,
    /// The largest number of publications; 0 for the position only, negative for all.
    #[prost(int32, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub limit: i32,
    /// Limits the result to publications after this position, or before it if `reverse` is set.
    #[prost(message, optional, tag = "8")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<StreamPosition>,
    /// True for newest first.
    #[prost(bool, tag = "9")]
    #[serde(skip_serializing_if = "is_default")]
    pub reverse: bool,
}

/// A position with its epoch as text.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamPosition {
    /// The offset in the epoch.
    #[prost(uint64, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    /// The epoch.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
}

/// A request to replace the connection's token.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[prost(skip_debug)]
#[serde(default)]
pub struct RefreshRequest {
    /// The token.
    #[prost(string, tag = "1")]
    pub token: String,
}

/// A request to replace a channel's token.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
#[prost(skip_debug)]
#[serde(default)]
pub struct SubRefreshRequest {
    /// The channel.
    #[prost(string, tag = "1")]
    pub channel: String,
    /// The token.
    #[prost(string, tag = "2")]
    pub token: String,
}

/// Replaces a token in debug output.
struct RedactedToken<'a>(&'a str);

impl fmt::Debug for RedactedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "hidden" })
    }
}

impl fmt::Debug for ConnectRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, subs, name, version } = self;
        f.debug_struct("ConnectRequest")
            .field("token", &RedactedToken(token))
            .field("subs", subs)
            .field("name", name)
            .field("version", version)
            .finish()
    }
}

impl fmt::Debug for SubscribeRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, token, recover, epoch, offset, join_leave } = self;
        f.debug_struct("SubscribeRequest")
            .field("channel", channel)
            .field("token", &RedactedToken(token))
            .field("recover", recover)
            .field("epoch", epoch)
            .field("offset", offset)
            .field("join_leave", join_leave)
            .finish()
    }
}

impl fmt::Debug for RefreshRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefreshRequest").field("token", &RedactedToken(&self.token)).finish()
    }
}

impl fmt::Debug for SubRefreshRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, token } = self;
        f.debug_struct("SubRefreshRequest")
            .field("channel", channel)
            .field("token", &RedactedToken(token))
            .finish()
    }
}
