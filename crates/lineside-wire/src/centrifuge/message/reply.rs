//! Messages from servers.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

use super::{EmptyMessage, raw, server_subs};

/// A message from a server: a reply with the command's id, a push without one, or an empty message as a ping.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// The command's id; 0 for a push or a ping.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// The reason why the command was refused.
    #[prost(message, optional, tag = "2")]
    pub error: Option<ReplyError>,
    /// A push, which no command asked for.
    #[prost(message, optional, tag = "4")]
    pub push: Option<Push>,
    /// The reply to a connect.
    #[prost(message, optional, tag = "5")]
    pub connect: Option<ConnectResult>,
    /// The reply to a subscribe.
    #[prost(message, optional, tag = "6")]
    pub subscribe: Option<SubscribeResult>,
    /// The reply to an unsubscribe.
    #[prost(message, optional, tag = "7")]
    pub unsubscribe: Option<EmptyMessage>,
    /// The reply to a publish.
    #[prost(message, optional, tag = "8")]
    pub publish: Option<EmptyMessage>,
    /// The reply to a presence.
    #[prost(message, optional, tag = "9")]
    pub presence: Option<PresenceResult>,
    /// The reply to a presence_stats.
    #[prost(message, optional, tag = "10")]
    pub presence_stats: Option<PresenceStatsResult>,
    /// The reply to a history.
    #[prost(message, optional, tag = "11")]
    pub history: Option<HistoryResult>,
    /// The reply to a ping.
    #[prost(message, optional, tag = "12")]
    pub ping: Option<EmptyMessage>,
    /// The reply to a refresh.
    #[prost(message, optional, tag = "14")]
    pub refresh: Option<RefreshResult>,
    /// The reply to a sub_refresh.
    #[prost(message, optional, tag = "15")]
    pub sub_refresh: Option<SubRefreshResult>,
}

/// The reason why a command was refused.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ReplyError {
    /// The code; see [`codes::ERRORS`](crate::codes::ERRORS).
    #[prost(uint32, tag = "1")]
    pub code: u32,
    /// A text for logs.
    #[prost(string, tag = "2")]
    pub message: String,
    /// True if the client should retry later.
    #[prost(bool, tag = "3")]
    pub temporary: bool,
}

/// A message about a channel that no command asked for.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Push {
    /// The channel.
    #[prost(string, tag = "2")]
    pub channel: String,
    /// A publication.
    #[prost(message, optional, tag = "4")]
    #[serde(rename = "pub")]
    pub publication: Option<Publication>,
    /// A client has joined.
    #[prost(message, optional, tag = "5")]
    pub join: Option<JoinLeave>,
    /// A client has left.
    #[prost(message, optional, tag = "6")]
    pub leave: Option<JoinLeave>,
    /// The subscription has ended.
    #[prost(message, optional, tag = "7")]
    pub unsubscribe: Option<UnsubscribePush>,
    /// The server has subscribed the client.
    #[prost(message, optional, tag = "9")]
    pub subscribe: Option<SubscribePush>,
    /// The expiry of the connection has changed.
    #[prost(message, optional, tag = "12")]
    pub refresh: Option<SubRefreshResult>,
}

/// The public data of a client.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ClientInfo {
    /// The user; empty for an anonymous client.
    #[prost(string, tag = "1")]
    pub user: String,
    /// The connection's id.
    #[prost(string, tag = "2")]
    pub client: String,
    /// The information in the connection's token.
    #[prost(bytes = "bytes", tag = "3")]
    #[serde(with = "raw")]
    pub conn_info: Bytes,
    /// The information in the subscription's token.
    #[prost(bytes = "bytes", tag = "4")]
    #[serde(with = "raw")]
    pub chan_info: Bytes,
}

/// A publication.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Publication {
    /// The data.
    #[prost(bytes = "bytes", tag = "4")]
    #[serde(with = "raw")]
    pub data: Bytes,
    /// The publishing client, if there is one.
    #[prost(message, optional, tag = "5")]
    pub info: Option<ClientInfo>,
    /// The position after the publication; 0 if it does not change the position.
    #[prost(uint64, tag = "6")]
    pub offset: u64,
    /// The publisher's tags.
    #[prost(btree_map = "string, string", tag = "7")]
    pub tags: BTreeMap<String, String>,
    /// The offset's epoch, if it may differ from that at the start of the subscription.
    #[prost(string, tag = "14")]
    pub epoch: String,
}

/// A client has joined or left.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct JoinLeave {
    /// The client.
    #[prost(message, optional, tag = "1")]
    pub info: Option<ClientInfo>,
}

/// The end of a subscription.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct UnsubscribePush {
    /// The code; see [`codes::UNSUBSCRIBES`](crate::codes::UNSUBSCRIBES).
    #[prost(uint32, tag = "2")]
    pub code: u32,
    /// A text for logs.
    #[prost(string, tag = "3")]
    pub reason: String,
}

/// A subscription that the server made.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubscribePush {
    /// True if the client may resume from a position.
    #[prost(bool, tag = "1")]
    pub recoverable: bool,
    /// The position's epoch.
    #[prost(string, tag = "4")]
    pub epoch: String,
    /// The position's offset.
    #[prost(uint64, tag = "5")]
    pub offset: u64,
    /// True if publications carry offsets.
    #[prost(bool, tag = "6")]
    pub positioned: bool,
}

/// The answer to a connect.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ConnectResult {
    /// The connection's id.
    #[prost(string, tag = "1")]
    pub client: String,
    /// The server's version.
    #[prost(string, tag = "2")]
    pub version: String,
    /// True if the token expires.
    #[prost(bool, tag = "3")]
    pub expires: bool,
    /// The seconds until the token expires.
    #[prost(uint32, tag = "4")]
    pub ttl: u32,
    /// Subscriptions that the server made.
    #[prost(message, repeated, tag = "6")]
    #[serde(deserialize_with = "server_subs::deserialize")]
    pub subs: Vec<ServerSub>,
    /// The interval of the server's pings, in seconds.
    #[prost(uint32, tag = "7")]
    pub ping: u32,
    /// True if pings must be answered.
    #[prost(bool, tag = "8")]
    pub pong: bool,
}

/// A subscription that the server made: an entry of a map, spelled out. As a map's value, a result with only default
/// values would be left out, and the JavaScript client ignores an entry without a value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServerSub {
    #[prost(string, tag = "1")]
    pub channel: String,
    /// The result, as for a subscribe of the client.
    #[prost(message, required, tag = "2")]
    pub result: SubscribeResult,
}

/// The answer to a subscribe.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubscribeResult {
    /// True if the subscription expires.
    #[prost(bool, tag = "1")]
    pub expires: bool,
    /// The seconds until the subscription expires.
    #[prost(uint32, tag = "2")]
    pub ttl: u32,
    /// True if the client may resume from a position.
    #[prost(bool, tag = "3")]
    pub recoverable: bool,
    /// The position's epoch.
    #[prost(string, tag = "6")]
    pub epoch: String,
    /// The missed publications.
    #[prost(message, repeated, tag = "7")]
    pub publications: Vec<Publication>,
    /// True if all missed publications could be sent.
    #[prost(bool, tag = "8")]
    pub recovered: bool,
    /// The client's offset before these publications.
    #[prost(uint64, tag = "9")]
    pub offset: u64,
    /// True if publications carry offsets.
    #[prost(bool, tag = "10")]
    pub positioned: bool,
    /// True if the client asked to resume.
    #[prost(bool, tag = "12")]
    pub was_recovering: bool,
}

/// The answer to a presence.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct PresenceResult {
    /// The members, by connection.
    #[prost(btree_map = "string, message", tag = "1")]
    pub presence: BTreeMap<String, ClientInfo>,
}

/// The answer to a presence_stats.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct PresenceStatsResult {
    /// The number of connections.
    #[prost(uint32, tag = "1")]
    pub num_clients: u32,
    /// The number of users; anonymous clients count as one.
    #[prost(uint32, tag = "2")]
    pub num_users: u32,
}

/// The answer to a history.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct HistoryResult {
    /// The publications.
    #[prost(message, repeated, tag = "1")]
    pub publications: Vec<Publication>,
    /// The current epoch.
    #[prost(string, tag = "2")]
    pub epoch: String,
    /// The current offset.
    #[prost(uint64, tag = "3")]
    pub offset: u64,
}

/// The answer to a refresh.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct RefreshResult {
    /// The connection's id.
    #[prost(string, tag = "1")]
    pub client: String,
    /// The server's version.
    #[prost(string, tag = "2")]
    pub version: String,
    /// True if the new token expires.
    #[prost(bool, tag = "3")]
    pub expires: bool,
    /// The seconds until the new token expires.
    #[prost(uint32, tag = "4")]
    pub ttl: u32,
}

/// The answer to a sub_refresh.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubRefreshResult {
    /// True if the new token expires.
    #[prost(bool, tag = "1")]
    pub expires: bool,
    /// The seconds until the new token expires.
    #[prost(uint32, tag = "2")]
    pub ttl: u32,
}
