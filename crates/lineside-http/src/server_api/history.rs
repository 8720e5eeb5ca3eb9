//! `history`: the recent publications of a channel.

use std::collections::BTreeMap;

use axum::extract::State;
use lineside_hub::{HistoryQuery, Position, Publication};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{ApiError, ApiReply, CallResult, into_call_result, parse_app_channel};
use super::call::ApiCall;
use super::presence::ClientInfo;
use crate::app::App;
use crate::errors::Problem;
use crate::limits::HISTORY_BYTES_MAX;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_history))
}

#[derive(Deserialize, ToSchema)]
struct HistoryCall {
    /// The channel.
    channel: String,
    /// Largest number of publications; -1 for all; 0, the default, returns only the position.
    #[serde(default)]
    limit: i64,
    /// Returns only publications after this position, or in reverse before it.
    since: Option<ChannelPosition>,
    /// Newest first.
    #[serde(default)]
    reverse: bool,
}

/// A position in a channel.
#[derive(Deserialize, ToSchema)]
struct ChannelPosition {
    /// The offset.
    #[serde(default)]
    offset: u64,
    /// The epoch that the offset belongs to.
    #[serde(default)]
    epoch: String,
}

/// Recent publications of a channel, and its current position.
#[derive(Debug, Serialize, ToSchema)]
struct HistoryResult {
    /// The publications, as many as fit into 16 MiB.
    publications: Vec<PublicationItem>,
    /// The newest offset.
    offset: u64,
    /// The epoch of the offsets.
    epoch: String,
}

/// A publication.
#[derive(Debug, Serialize, ToSchema)]
struct PublicationItem {
    /// The data.
    #[schema(value_type = Object)]
    data: Option<Box<RawValue>>,
    /// Its offset.
    offset: u64,
    /// The client that published it; absent if the server API did.
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<ClientInfo>,
    /// The publisher's tags.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<Box<str>, Box<str>>,
}

impl From<&Publication> for PublicationItem {
    fn from(publication: &Publication) -> Self {
        let extras = publication.extras();
        Self {
            data: serde_json::from_slice(publication.payload.data()).ok(),
            offset: publication.offset,
            info: extras.publisher.as_deref().map(ClientInfo::from),
            tags: extras.tags.iter().cloned().collect(),
        }
    }
}

/// Returns the recent publications of a channel
#[utoipa::path(
    post, path = "/api/history", tag = "server API", request_body = HistoryCall,
    responses(
        (status = 200, description = "`result` or `error`", body = ApiReply<HistoryResult>),
        (status = 401, description = "`no_key`", body = Problem)
    )
)]
async fn get_history(
    State(app): State<App>,
    call: ApiCall<HistoryCall>,
) -> CallResult<HistoryResult> {
    let ApiCall(HistoryCall { channel, limit, since, reverse }) = call;
    into_call_result(parse_app_channel(&channel).and_then(|channel| {
        let since = since.map(ChannelPosition::parse_position).transpose()?;
        // A negative limit means all.
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let request = HistoryQuery { limit, since, reverse };
        let history = app.hub().read_history(&channel, request).map_err(ApiError::from)?;
        let mut bytes = 0;
        let fits = |publication: &&std::sync::Arc<Publication>| {
            bytes += publication.payload.data().len();
            bytes <= HISTORY_BYTES_MAX
        };
        let publications = history.publications.iter().take_while(fits);
        Ok(HistoryResult {
            publications: publications.map(|publication| (&**publication).into()).collect(),
            offset: history.position.offset,
            epoch: history.position.epoch.to_string(),
        })
    }))
}

impl ChannelPosition {
    fn parse_position(self) -> Result<Position, ApiError> {
        let epoch = self.epoch.parse();
        let epoch = epoch.map_err(|_| ApiError::bad_request("since.epoch: invalid epoch"))?;
        Ok(Position { epoch, offset: self.offset })
    }
}
