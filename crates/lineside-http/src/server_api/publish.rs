//! `publish` and `broadcast`: publish data into one channel, or into many.

use std::collections::BTreeMap;

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use lineside_hub::{PublicationExtras, PublishBatch};
use lineside_quality::json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{ApiError, ApiReply, CallResult, into_call_result, parse_app_channel};
use super::call::ApiCall;
use crate::app::App;
use crate::errors::Problem;
use crate::idempotency::PublishedPosition;

/// Largest number of channels of one broadcast.
const CHANNELS_MAX: usize = 1_000;
/// Largest number of tags of one publication.
const TAGS_MAX: usize = 64;
/// Longest idempotency key, in bytes.
const KEY_BYTES_MAX: usize = 256;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(publish)).routes(routes!(broadcast))
}

/// The content of a publication, as received.
struct PublishContent {
    data: Option<Box<RawValue>>,
    b64data: Option<String>,
    skip_history: bool,
    tags: BTreeMap<String, String>,
    idempotency_key: String,
    version: u64,
}

// Defines a call with its target and content. The content's fields are repeated in each call, because serde would read
// a flattened struct through values, which preserve neither the order of keys nor all digits of a number.
macro_rules! call_with_content {
    ($call:ident, $(#[$about:meta])* $to:ident: $type:ty) => {
        #[derive(Deserialize, ToSchema)]
        struct $call {
            $(#[$about])*
            $to: $type,
            /// Any JSON.
            #[schema(value_type = Option<Object>)]
            data: Option<Box<RawValue>>,
            /// JSON in base 64, instead of `data`.
            b64data: Option<String>,
            /// Delivers the publication without adding it to the channel's history.
            #[serde(default)]
            skip_history: bool,
            /// Names and values for subscribers, at most 64.
            #[serde(default)]
            tags: BTreeMap<String, String>,
            /// A repeated call with the same key within five minutes publishes nothing.
            #[serde(default)]
            idempotency_key: String,
            /// Not supported: must be 0.
            #[serde(default)]
            version: u64,
        }

        impl $call {
            fn apart(self) -> ($type, PublishContent) {
                let Self { data, b64data, skip_history, tags, idempotency_key, version, .. } = self;
                let content = PublishContent { data, b64data, skip_history, tags, idempotency_key, version };
                (self.$to, content)
            }
        }
    };
}

call_with_content!(PublishCall,
    /// The channel.
    channel: String
);

call_with_content!(BroadcastCall,
    /// The channels, at most 1,000.
    channels: Vec<String>
);

/// The position of a publication.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
struct PublishResult {
    /// The position; absent if the channel has no subscribers and no history.
    #[serde(flatten)]
    place: Option<PublishedPosition>,
}

/// The results of a broadcast, by channel.
#[derive(Debug, Serialize, ToSchema)]
struct BroadcastResult {
    /// One reply per channel, in the order of the channels.
    responses: Vec<ApiReply<PublishResult>>,
}

/// A validated publication.
struct ValidPublication {
    data: Bytes,
    extras: PublicationExtras,
    key: Box<str>,
}

/// Publishes into a channel
#[utoipa::path(
    post, path = "/api/publish", tag = "server API", request_body = PublishCall,
    responses(
        (status = 200, description = "`result` or `error`", body = ApiReply<PublishResult>),
        (status = 401, description = "`no_key`", body = Problem)
    )
)]
async fn publish(State(app): State<App>, call: ApiCall<PublishCall>) -> CallResult<PublishResult> {
    let (channel, content) = call.0.apart();
    into_call_result(content.validate_content().and_then(|publication| {
        publish_to_channel(&app, &mut app.hub().open_publish_batch(), &channel, &publication)
    }))
}

/// Publishes the same data into many channels
#[utoipa::path(
    post, path = "/api/broadcast", tag = "server API", request_body = BroadcastCall,
    responses(
        (status = 200, description = "`result` or `error`", body = ApiReply<BroadcastResult>),
        (status = 401, description = "`no_key`", body = Problem)
    )
)]
async fn broadcast(
    State(app): State<App>,
    call: ApiCall<BroadcastCall>,
) -> CallResult<BroadcastResult> {
    let (channels, content) = call.0.apart();
    if channels.is_empty() || channels.len() > CHANNELS_MAX {
        let expected = format!("channels: expected 1 to {CHANNELS_MAX}");
        return into_call_result(Err(ApiError::bad_request(expected)));
    }
    into_call_result(content.validate_content().map(|publication| {
        let mut batch = app.hub().open_publish_batch();
        let mut publish =
            |channel: &String| publish_to_channel(&app, &mut batch, channel, &publication).into();
        BroadcastResult { responses: channels.iter().map(&mut publish).collect() }
    }))
}

fn publish_to_channel(
    app: &App,
    batch: &mut PublishBatch<'_>,
    channel: &str,
    publication: &ValidPublication,
) -> Result<PublishResult, ApiError> {
    let name = parse_app_channel(channel)?;
    let mut publish = || {
        let ValidPublication { data, extras, .. } = publication;
        let published = batch.publish_app(&name, data.clone(), extras.clone())?;
        Ok(published
            .position
            .map(|at| PublishedPosition { offset: at.offset, epoch: at.epoch.to_string() }))
    };
    let publish_result = if publication.key.is_empty() {
        publish()
    } else {
        let key = (channel.into(), publication.key.clone());
        app.idempotency_cache().0.get_or_load_blocking(key, publish)
    };
    Ok(PublishResult { place: publish_result? })
}

impl PublishContent {
    fn validate_content(self) -> Result<ValidPublication, ApiError> {
        if self.version != 0 {
            return Err(ApiError::bad_request("version is not supported"));
        }
        if self.tags.len() > TAGS_MAX || self.idempotency_key.len() > KEY_BYTES_MAX {
            let expected = format!(
                "expected at most {TAGS_MAX} tags and {KEY_BYTES_MAX} bytes of idempotency_key"
            );
            return Err(ApiError::bad_request(expected));
        }
        let data = match (self.data, self.b64data.as_deref()) {
            (_, Some(text)) if !text.is_empty() => {
                let decoded = STANDARD.decode(text).ok();
                decoded.and_then(json::json_to_single_line).ok_or_else(|| {
                    ApiError::bad_request("b64data: expected JSON, encoded as base64")
                })?
            }
            (Some(data), _) => json::raw_json_to_single_line(&data),
            (None, _) => return Err(ApiError::bad_request("data is missing")),
        };
        let tag = |(name, value): (String, String)| (name.into(), value.into());
        let extras = PublicationExtras {
            publisher: None,
            tags: self.tags.into_iter().map(tag).collect(),
            skip_history: self.skip_history,
        };
        Ok(ValidPublication { data, extras, key: self.idempotency_key.into() })
    }
}
