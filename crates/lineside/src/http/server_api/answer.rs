//! An answer: `result` or `error`, with the codes that clients are told too.

use std::fmt::Display;

use axum::Json;
use axum::response::{IntoResponse, Response};
use lineside_hub::{BadChannel, Channel, HistoryError, PresenceError, PublishError, ResolveError};
use lineside_wire::centrifuge::codes::{self, ErrorCode};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::errors::Refusal;

/// What every method replies: one of the two.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ApiReply<T> {
    /// It was done.
    Result(T),
    /// It was not.
    Error(ApiError),
}

/// Why a call was not answered as asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct ApiError {
    /// Centrifugo's number.
    code: u32,
    /// What is wrong, in words.
    message: Box<str>,
}

impl ApiError {
    pub(super) fn bad_request(detail: impl Display) -> Self {
        Self::with_detail(&codes::BAD_REQUEST, detail)
    }

    fn not_app_channel() -> Self {
        Self::with_detail(&codes::PERMISSION_DENIED, "only channels that begin with app/")
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

impl From<BadChannel> for ApiError {
    fn from(error: BadChannel) -> Self {
        Self::bad_request(error)
    }
}

impl From<PublishError> for ApiError {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::NotApp => Self::not_app_channel(),
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
            HistoryError::Unresolved(ResolveError::BadChannel(error)) => error.into(),
            HistoryError::Unresolved(ResolveError::UnknownFeed | ResolveError::UnknownItem(_)) => {
                Self::not_app_channel()
            }
            HistoryError::NotKept => (&codes::NOT_AVAILABLE).into(),
            HistoryError::OtherEpoch => (&codes::UNRECOVERABLE_POSITION).into(),
            HistoryError::TooManyRooms => (&codes::TOO_MANY_REQUESTS).into(),
        }
    }
}

/// A channel that the server API reaches.
pub(super) fn parse_app_channel(name: &str) -> Result<Channel, ApiError> {
    let channel = Channel::parse_name(name)?;
    if name.starts_with(lineside_hub::APP_PREFIX) {
        Ok(channel)
    } else {
        Err(ApiError::not_app_channel())
    }
}

/// What a handler gives.
pub(super) type Answered<T> = Result<Json<ApiReply<T>>, CallRefusal>;

pub(super) fn wrap_result<T>(result: Result<T, ApiError>) -> Answered<T> {
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

/// A call that was not even begun.
#[derive(Debug)]
pub(super) enum CallRefusal {
    /// As all others are refused.
    Plainly(Refusal),
    /// In the words of this API.
    Call(ApiError),
}

impl From<Refusal> for CallRefusal {
    fn from(refusal: Refusal) -> Self {
        Self::Plainly(refusal)
    }
}

impl From<ApiError> for CallRefusal {
    fn from(error: ApiError) -> Self {
        Self::Call(error)
    }
}

impl IntoResponse for CallRefusal {
    fn into_response(self) -> Response {
        match self {
            Self::Plainly(refusal) => refusal.into_response(),
            Self::Call(error) => Json(ApiReply::<()>::Error(error)).into_response(),
        }
    }
}
