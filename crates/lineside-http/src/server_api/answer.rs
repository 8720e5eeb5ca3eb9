//! Replies of the server API: `result` or `error`, with the error codes of the client protocol.

use std::fmt::Display;

use axum::Json;
use axum::response::{IntoResponse, Response};
use lineside_hub::{
    BadChannelName, ChannelResolveError, EncodedChannelName, HistoryError, PresenceError,
    PublishError,
};
use lineside_wire::codes::{self, ErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

use crate::errors::Refusal;

/// The reply of a server API method.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ApiReply<T> {
    /// The result of a successful call.
    Result(T),
    /// The error of a failed call.
    Error(ApiError),
}

/// The error of a server API call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct ApiError {
    /// Centrifugo's error code.
    code: u32,
    /// The error in words.
    message: Box<str>,
}

impl ApiError {
    pub(super) fn bad_request(detail: impl Display) -> Self {
        Self::with_detail(&codes::BAD_REQUEST, detail)
    }

    fn not_app_channel_error() -> Self {
        Self::with_detail(&codes::PERMISSION_DENIED, "expected a channel that begins with app/")
    }

    fn with_detail(error: &ErrorCode, detail: impl Display) -> Self {
        Self { code: error.code, message: format!("{}: {detail}", error.text).into() }
    }
}

impl From<&ErrorCode> for ApiError {
    fn from(error: &ErrorCode) -> Self {
        Self { code: error.code, message: error.text.into() }
    }
}

impl From<BadChannelName> for ApiError {
    fn from(error: BadChannelName) -> Self {
        Self::bad_request(error)
    }
}

impl From<PublishError> for ApiError {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::NotApp => Self::not_app_channel_error(),
            PublishError::TooLarge => Self::bad_request(error),
            PublishError::TooManyRooms | PublishError::KeyTaken | PublishError::Stopping => {
                (&codes::TOO_MANY_REQUESTS).into()
            }
        }
    }
}

impl From<PresenceError> for ApiError {
    fn from(_: PresenceError) -> Self {
        (&codes::NOT_AVAILABLE).into()
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Unresolved(ChannelResolveError::BadChannel(error)) => error.into(),
            HistoryError::Unresolved(
                ChannelResolveError::UnknownFeed | ChannelResolveError::UnknownItem(_),
            ) => Self::not_app_channel_error(),
            HistoryError::HistoryDisabled => (&codes::NOT_AVAILABLE).into(),
            HistoryError::OtherEpoch => (&codes::UNRECOVERABLE_POSITION).into(),
            HistoryError::TooManyRooms => (&codes::TOO_MANY_REQUESTS).into(),
        }
    }
}

/// Parses the name of an `app/` channel, the only kind that the server API may use.
pub(super) fn parse_app_channel(name: &str) -> Result<EncodedChannelName, ApiError> {
    let channel = EncodedChannelName::parse_channel_name(name)?;
    if name.starts_with(lineside_hub::APP_PREFIX) {
        Ok(channel)
    } else {
        Err(ApiError::not_app_channel_error())
    }
}

/// The reply of a handler.
pub(super) type CallResult<T> = Result<Json<ApiReply<T>>, CallRefusal>;

pub(super) fn into_call_result<T>(result: Result<T, ApiError>) -> CallResult<T> {
    Ok(Json(result.into()))
}

impl<T> From<Result<T, ApiError>> for ApiReply<T> {
    fn from(result: Result<T, ApiError>) -> Self {
        match result {
            Ok(result) => Self::Result(result),
            Err(error) => Self::Error(error),
        }
    }
}

/// A call that failed before its handler ran.
#[derive(Debug)]
pub(super) enum CallRefusal {
    /// A refusal as on all other addresses.
    Http(Refusal),
    /// An error in the format of this API.
    Api(ApiError),
}

impl From<Refusal> for CallRefusal {
    fn from(refusal: Refusal) -> Self {
        Self::Http(refusal)
    }
}

impl From<ApiError> for CallRefusal {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl IntoResponse for CallRefusal {
    fn into_response(self) -> Response {
        match self {
            Self::Http(refusal) => refusal.into_response(),
            Self::Api(error) => Json(ApiReply::<()>::Error(error)).into_response(),
        }
    }
}
