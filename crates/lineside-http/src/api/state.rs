//! The state of a channel in one message: the records that a new subscriber would receive first.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use lineside_hub::{ChannelResolveError, ChannelStateSource as _, EncodedChannelName};
use lineside_quality::ops_channels::is_dashboard_channel;
use lineside_sync::UnixMillis;
use lineside_wire::sse::SseOpenError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::blocking::run_blocking;
use crate::errors::{Problem, Refusal};
use crate::lookup;
use crate::parameters::QueryParameters;
use crate::proxies::PeerAddress;
use crate::reader_auth;
use crate::reply::{ReplyPreferences, Representation};

/// Header with the position from which a client can subscribe after reading a state.
const POSITION: HeaderName = HeaderName::from_static("lineside-position");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_channel_state)).routes(routes!(get_feed_state))
}

/// The state of a channel, as one message.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelStateMessage<'a> {
    /// The channel.
    channel: &'a str,
    /// The epoch of its sequence; absent if the channel has a sequence of its own and no subscribers.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<String>,
    /// The offset of its sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// Time at which Lineside received the data, in milliseconds since 1970.
    at: i64,
    /// Always part 1 of 1.
    state: PartPosition,
    /// All records of the channel, as upserts.
    #[schema(value_type = Vec<Object>)]
    changes: Vec<&'a RawValue>,
}

/// The number of a part, and the count of parts.
#[derive(Debug, Serialize, ToSchema)]
struct PartPosition {
    part: u32,
    parts: u32,
}

/// A part of a state as a room stores it.
#[derive(Deserialize)]
struct EncodedStatePart<'a> {
    at: i64,
    #[serde(borrow)]
    changes: Vec<&'a RawValue>,
}

/// Returns the state of a channel
///
/// Pass `Lineside-Position` to `/events` as `last_event_id` to receive the changes after this state.
#[utoipa::path(
    get, path = "/api/v1/state", tag = "changes",
    params(
        ("channel" = String, Query, description = "A channel such as `feed/city`"),
        ("token" = Option<String>, Query, description = "The client's token, if one is required; better in `Authorization: Bearer`")
    ),
    responses(
        (status = 200, description = "The state", body = ChannelStateMessage),
        (status = 400, description = "`bad_channel`", body = Problem),
        (status = 401, description = "`not_admin`, for a channel of `ops/`", body = Problem),
        (status = 404, description = "`unknown_feed`, `unknown_stop`, `unknown_route` or `unknown_trip`", body = Problem)
    )
)]
async fn get_channel_state(
    State(app): State<App>,
    headers: HeaderMap,
    peer: PeerAddress,
    parameters: QueryParameters,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let name = parameters.find_value("channel").ok_or(SseOpenError::NoChannel)?;
    if EncodedChannelName::parse_channel_name(name)
        .is_ok_and(|channel| is_dashboard_channel(&channel))
    {
        reader_auth::authorize_reader(&app, &headers, peer, &parameters, &[name])?;
        return Ok(build_channel_state(&app, name)
            .await?
            .mark_no_store()
            .into_reply(&preferences, &app)
            .await);
    }
    Ok(build_channel_state(&app, name).await?.into_reply(&preferences, &app).await)
}

/// Returns the state of a feed's own channel, `feed/<id>`
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}/state", tag = "changes",
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The state", body = ChannelStateMessage),
        (status = 404, description = "`unknown_feed`", body = Problem)
    )
)]
async fn get_feed_state(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?;
    let reply = build_channel_state(&app, &format!("feed/{}", feed.config().id)).await?;
    Ok(reply.into_reply(&preferences, &app).await)
}

async fn build_channel_state(app: &App, name: &str) -> Result<Representation, Refusal> {
    let refused = |error: ChannelResolveError| match error {
        ChannelResolveError::BadChannel(why) => {
            SseOpenError::BadChannel { name: lookup::shorten_id(name).into(), why }
        }
        ChannelResolveError::UnknownFeed => {
            SseOpenError::UnknownFeed { name: lookup::shorten_id(name).into() }
        }
        ChannelResolveError::UnknownItem(code) => {
            SseOpenError::UnknownItem { name: lookup::shorten_id(name).into(), code }
        }
    };
    let channel =
        EncodedChannelName::parse_channel_name(name).map_err(|why| refused(why.into()))?;
    let source = Arc::clone(app.ingest());
    let key = source.resolve_channel(&channel).map_err(refused)?;
    let now = app.now();
    let read = run_blocking(move || {
        let state = source.read_state(&channel, key);
        let body = join_state_parts(channel.as_str(), &state);
        let reply =
            Representation::from_json(&body).with_modified_time(Some(UnixMillis(body.at)), now);
        let name = source.sequence_name(&channel, key);
        (reply, state.position.map(|position| format!("{name}@{position}")))
    });
    let (mut reply, position) = read.await?;
    if let Some(position) = position {
        // A channel name with characters outside ASCII is not a valid header value; the state is sent without a
        // position.
        if let Ok(position) = HeaderValue::try_from(position) {
            reply = reply.with_header(POSITION, position);
        }
    }
    Ok(reply)
}

fn join_state_parts<'a>(
    channel: &'a str,
    state: &'a lineside_hub::ChannelState,
) -> ChannelStateMessage<'a> {
    let parts = state
        .parts
        .iter()
        .filter_map(|part: &Bytes| serde_json::from_slice::<EncodedStatePart<'_>>(part).ok());
    let (mut at, mut changes) = (0, Vec::new());
    for part in parts {
        at = part.at;
        changes.extend(part.changes);
    }
    ChannelStateMessage {
        channel,
        epoch: state.position.map(|position| position.epoch.to_string()),
        offset: state.position.map(|position| position.offset),
        at,
        state: PartPosition { part: 1, parts: 1 },
        changes,
    }
}
