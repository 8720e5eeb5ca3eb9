//! `presence` and `presence_stats`: who is in a channel, and how many.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use lineside_hub::PresenceMember;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{Answered, ApiError, ApiReply, parse_app_channel, wrap_result};
use super::call::ApiCall;
use crate::app::App;
use crate::http::errors::Problem;
use crate::http::limits::MEMBERS_MAX;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_presence)).routes(routes!(get_presence_stats))
}

#[derive(Deserialize, ToSchema)]
struct PresenceCall {
    /// The channel.
    channel: String,
    /// Most clients in the reply; 10,000 at most, which is the default.
    limit: Option<usize>,
    /// Where an earlier reply said that the next page begins.
    #[serde(default)]
    from: u32,
}

#[derive(Deserialize, ToSchema)]
struct PresenceStatsCall {
    /// The channel.
    channel: String,
}

/// Who is there.
#[derive(Debug, Serialize, ToSchema)]
struct PresenceResult {
    /// By the connections' ids.
    presence: BTreeMap<Box<str>, ClientInfo>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u32>,
}

/// A client, as others may know it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClientInfo {
    /// The connection's id.
    client: Box<str>,
    /// The user; empty for nobody in particular.
    user: Box<str>,
    /// What the connection's token says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    conn_info: Option<Box<RawValue>>,
    /// What the token for the channel says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    chan_info: Option<Box<RawValue>>,
}

/// How many are there.
#[derive(Debug, Serialize, ToSchema)]
struct PresenceStatsResult {
    /// Connections.
    num_clients: usize,
    /// Users, each counted once.
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

/// Who is in a channel
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
) -> Answered<PresenceResult> {
    let ApiCall(PresenceCall { channel, limit, from }) = call;
    let limit = limit.unwrap_or(MEMBERS_MAX).clamp(1, MEMBERS_MAX);
    wrap_result(parse_app_channel(&channel).and_then(|channel| {
        let page = app.hub().presence_page(&channel, from, limit).map_err(ApiError::from)?;
        let client = |member: &Arc<PresenceMember>| ((*member.client).into(), (&**member).into());
        let presence = page.members.iter().map(client).collect();
        Ok(PresenceResult { presence, next: page.next })
    }))
}

/// How many are in a channel
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
) -> Answered<PresenceStatsResult> {
    let ApiCall(PresenceStatsCall { channel }) = call;
    wrap_result(parse_app_channel(&channel).and_then(|channel| {
        let stats = app.hub().presence_stats(&channel).map_err(ApiError::from)?;
        Ok(PresenceStatsResult { num_clients: stats.clients, num_users: stats.users })
    }))
}
