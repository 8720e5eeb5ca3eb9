//! What servers send.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

use super::{EmptyMessage, raw, server_subs};

/// What a server sends: an answer with the command's id, a push without, or nothing for a ping.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Reply {
    /// The command's id; 0 for a push or a ping.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Why the command was refused.
    #[prost(message, optional, tag = "2")]
    pub error: Option<ReplyError>,
    /// What no command asked for.
    #[prost(message, optional, tag = "4")]
    pub push: Option<Push>,
    /// To a connect.
    #[prost(message, optional, tag = "5")]
    pub connect: Option<ConnectResult>,
    /// To a subscribe.
    #[prost(message, optional, tag = "6")]
    pub subscribe: Option<SubscribeResult>,
    /// To an unsubscribe.
    #[prost(message, optional, tag = "7")]
    pub unsubscribe: Option<EmptyMessage>,
    /// To a publish.
    #[prost(message, optional, tag = "8")]
    pub publish: Option<EmptyMessage>,
    /// To a presence.
    #[prost(message, optional, tag = "9")]
    pub presence: Option<PresenceResult>,
    /// To a presence_stats.
    #[prost(message, optional, tag = "10")]
    pub presence_stats: Option<PresenceStatsResult>,
    /// To a history.
    #[prost(message, optional, tag = "11")]
    pub history: Option<HistoryResult>,
    /// To a ping.
    #[prost(message, optional, tag = "12")]
    pub ping: Option<EmptyMessage>,
    /// To a refresh.
    #[prost(message, optional, tag = "14")]
    pub refresh: Option<RefreshResult>,
    /// To a sub_refresh.
    #[prost(message, optional, tag = "15")]
    pub sub_refresh: Option<SubRefreshResult>,
}

/// Why a command was refused.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ReplyError {
    /// See [`codes::ERRORS`](crate::centrifuge::codes::ERRORS).
    #[prost(uint32, tag = "1")]
    pub code: u32,
    /// For whoever reads logs.
    #[prost(string, tag = "2")]
    pub message: String,
    /// Whether to try again.
    #[prost(bool, tag = "3")]
    pub temporary: bool,
}

/// Something about a channel that no command asked for.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Push {
    /// Which channel.
    #[prost(string, tag = "2")]
    pub channel: String,
    /// A publication.
    #[prost(message, optional, tag = "4")]
    #[serde(rename = "pub")]
    pub publication: Option<Publication>,
    /// Somebody came.
    #[prost(message, optional, tag = "5")]
    pub join: Option<JoinLeave>,
    /// Somebody left.
    #[prost(message, optional, tag = "6")]
    pub leave: Option<JoinLeave>,
    /// The subscription is over.
    #[prost(message, optional, tag = "7")]
    pub unsubscribe: Option<UnsubscribePush>,
    /// A subscription that the server made.
    #[prost(message, optional, tag = "9")]
    pub subscribe: Option<SubscribePush>,
    /// When the connection expires has changed.
    #[prost(message, optional, tag = "12")]
    pub refresh: Option<SubRefreshResult>,
}

/// Who somebody is.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ClientInfo {
    /// The user; empty for nobody in particular.
    #[prost(string, tag = "1")]
    pub user: String,
    /// The connection.
    #[prost(string, tag = "2")]
    pub client: String,
    /// What the connection's token says.
    #[prost(bytes = "bytes", tag = "3")]
    #[serde(with = "raw")]
    pub conn_info: Bytes,
    /// What the subscription's token says.
    #[prost(bytes = "bytes", tag = "4")]
    #[serde(with = "raw")]
    pub chan_info: Bytes,
}

/// Something published.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Publication {
    /// What.
    #[prost(bytes = "bytes", tag = "4")]
    #[serde(with = "raw")]
    pub data: Bytes,
    /// By which client, if by one.
    #[prost(message, optional, tag = "5")]
    pub info: Option<ClientInfo>,
    /// Where one is with it; 0 where that says nothing.
    #[prost(uint64, tag = "6")]
    pub offset: u64,
    /// What the publisher labelled it with.
    #[prost(btree_map = "string, string", tag = "7")]
    pub tags: BTreeMap<String, String>,
    /// The offset's epoch, where it may be another than the subscription began with.
    #[prost(string, tag = "14")]
    pub epoch: String,
}

/// Somebody came or left.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct JoinLeave {
    /// Who.
    #[prost(message, optional, tag = "1")]
    pub info: Option<ClientInfo>,
}

/// A subscription is over.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct UnsubscribePush {
    /// See [`codes::UNSUBSCRIBES`](crate::centrifuge::codes::UNSUBSCRIBES).
    #[prost(uint32, tag = "2")]
    pub code: u32,
    /// For whoever reads logs.
    #[prost(string, tag = "3")]
    pub reason: String,
}

/// A subscription that the server made.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubscribePush {
    /// Whether one may come back with a position.
    #[prost(bool, tag = "1")]
    pub recoverable: bool,
    /// The position's epoch.
    #[prost(string, tag = "4")]
    pub epoch: String,
    /// The position's offset.
    #[prost(uint64, tag = "5")]
    pub offset: u64,
    /// Whether publications carry offsets.
    #[prost(bool, tag = "6")]
    pub positioned: bool,
}

/// The answer to a connect.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ConnectResult {
    /// The connection's name.
    #[prost(string, tag = "1")]
    pub client: String,
    /// The server's version.
    #[prost(string, tag = "2")]
    pub version: String,
    /// Whether the token expires.
    #[prost(bool, tag = "3")]
    pub expires: bool,
    /// In how many seconds.
    #[prost(uint32, tag = "4")]
    pub ttl: u32,
    /// Subscriptions that the server made.
    #[prost(message, repeated, tag = "6")]
    #[serde(deserialize_with = "server_subs::deserialize")]
    pub subs: Vec<ServerSub>,
    /// How often the server pings, in seconds.
    #[prost(uint32, tag = "7")]
    pub ping: u32,
    /// Whether pings are to be answered.
    #[prost(bool, tag = "8")]
    pub pong: bool,
}

/// A subscription that the server made: an entry of a map, spelt out. As a map's value a result of nothing but defaults
/// would be left out, and the JavaScript client takes a value that is left out for none at all.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ServerSub {
    /// To what.
    #[prost(string, tag = "1")]
    pub channel: String,
    /// As if the client had asked.
    #[prost(message, required, tag = "2")]
    pub result: SubscribeResult,
}

/// The answer to a subscribe.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubscribeResult {
    /// Whether the subscription expires.
    #[prost(bool, tag = "1")]
    pub expires: bool,
    /// In how many seconds.
    #[prost(uint32, tag = "2")]
    pub ttl: u32,
    /// Whether one may come back with a position.
    #[prost(bool, tag = "3")]
    pub recoverable: bool,
    /// The position's epoch.
    #[prost(string, tag = "6")]
    pub epoch: String,
    /// What was missed.
    #[prost(message, repeated, tag = "7")]
    pub publications: Vec<Publication>,
    /// Whether what was missed could be given.
    #[prost(bool, tag = "8")]
    pub recovered: bool,
    /// What the client holds, without the publications here.
    #[prost(uint64, tag = "9")]
    pub offset: u64,
    /// Whether publications carry offsets.
    #[prost(bool, tag = "10")]
    pub positioned: bool,
    /// Whether a position was asked for.
    #[prost(bool, tag = "12")]
    pub was_recovering: bool,
}

/// The answer to a presence.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct PresenceResult {
    /// Who is there, by connection.
    #[prost(btree_map = "string, message", tag = "1")]
    pub presence: BTreeMap<String, ClientInfo>,
}

/// The answer to a presence_stats.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct PresenceStatsResult {
    /// Connections.
    #[prost(uint32, tag = "1")]
    pub num_clients: u32,
    /// Users; those who are nobody in particular count as one.
    #[prost(uint32, tag = "2")]
    pub num_users: u32,
}

/// The answer to a history.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct HistoryResult {
    /// What was published.
    #[prost(message, repeated, tag = "1")]
    pub publications: Vec<Publication>,
    /// The present epoch.
    #[prost(string, tag = "2")]
    pub epoch: String,
    /// The present offset.
    #[prost(uint64, tag = "3")]
    pub offset: u64,
}

/// The answer to a refresh.
#[derive(Clone, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct RefreshResult {
    /// The connection's name.
    #[prost(string, tag = "1")]
    pub client: String,
    /// The server's version.
    #[prost(string, tag = "2")]
    pub version: String,
    /// Whether the new token expires.
    #[prost(bool, tag = "3")]
    pub expires: bool,
    /// In how many seconds.
    #[prost(uint32, tag = "4")]
    pub ttl: u32,
}

/// The answer to a sub_refresh.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubRefreshResult {
    /// Whether the new token expires.
    #[prost(bool, tag = "1")]
    pub expires: bool,
    /// In how many seconds.
    #[prost(uint32, tag = "2")]
    pub ttl: u32,
}
