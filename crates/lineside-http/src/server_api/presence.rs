//! `presence` and `presence_stats`: the clients in a channel, and their number.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use lineside_hub::PresenceMember;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{ApiError, ApiReply, CallResult, into_call_result, parse_app_channel};
use super::call::ApiCall;
use crate::app::App;
use crate::errors::Problem;
use crate::limits::MEMBERS_MAX;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_presence)).routes(routes!(get_presence_stats))
}

#[derive(Deserialize, ToSchema)]
struct PresenceCall {
    /// The channel.
    channel: String,
    /// Largest number of clients in the reply; 10,000 is the maximum and the default.
    limit: Option<usize>,
    /// The `next` of the previous page.
    #[serde(default)]
    from: u32,
}

#[derive(Deserialize, ToSchema)]
struct PresenceStatsCall {
    /// The channel.
    channel: String,
}

/// The clients in a channel.
#[derive(Debug, Serialize, ToSchema)]
struct PresenceResult {
    /// Clients by the ids of their connections.
    presence: BTreeMap<Box<str>, ClientInfo>,
    /// Start of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u32>,
}

/// A client, as visible to others.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClientInfo {
    /// The connection's id.
    client: Box<str>,
    /// The user; empty for an anonymous client.
    user: Box<str>,
    /// The `info` of the connection's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    conn_info: Option<Box<RawValue>>,
    /// The `info` of the channel's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    chan_info: Option<Box<RawValue>>,
}

/// The number of clients in a channel.
#[derive(Debug, Serialize, ToSchema)]
struct PresenceStatsResult {
    /// Number of connections.
    num_clients: usize,
    /// Number of users, each counted once.
    num_users: usize,
}

impl From<&PresenceMember> for ClientInfo {
    fn from(member: &PresenceMember) -> Self {
        let raw = |bytes: &[u8]| serde_json::from_slice(bytes).ok();
        Self {
            client: (*member.client).into(),
            user: (*member.user).into(),
            conn_info: raw(&member.connection_info),
            chan_info: raw(&member.channel_info),
        }
    }
}

/// Lists the clients in a channel
#[utoipa::path(
    post, path = "/api/presence", tag = "server API", request_body = PresenceCall,
    responses(
        (status = 200, description = "`result` or `error`", body = ApiReply<PresenceResult>),
        (status = 401, description = "`no_key`", body = Problem)
    )
)]
async fn get_presence(
    State(app): State<App>,
    call: ApiCall<PresenceCall>,
) -> CallResult<PresenceResult> {
    let ApiCall(PresenceCall { channel, limit, from }) = call;
    let limit = limit.unwrap_or(MEMBERS_MAX).clamp(1, MEMBERS_MAX);
    into_call_result(parse_app_channel(&channel).and_then(|channel| {
        let page = app.hub().presence_page(&channel, from, limit).map_err(ApiError::from)?;
        let client = |member: &Arc<PresenceMember>| ((*member.client).into(), (&**member).into());
        let presence = page.members.iter().map(client).collect();
        Ok(PresenceResult { presence, next: page.next })
    }))
}

/// Counts the clients in a channel
#[utoipa::path(
    post, path = "/api/presence_stats", tag = "server API", request_body = PresenceStatsCall,
    responses(
        (status = 200, description = "`result` or `error`", body = ApiReply<PresenceStatsResult>),
        (status = 401, description = "`no_key`", body = Problem)
    )
)]
async fn get_presence_stats(
    State(app): State<App>,
    call: ApiCall<PresenceStatsCall>,
) -> CallResult<PresenceStatsResult> {
    let ApiCall(PresenceStatsCall { channel }) = call;
    into_call_result(parse_app_channel(&channel).and_then(|channel| {
        let stats = app.hub().presence_stats(&channel).map_err(ApiError::from)?;
        Ok(PresenceStatsResult { num_clients: stats.clients, num_users: stats.users })
    }))
}
