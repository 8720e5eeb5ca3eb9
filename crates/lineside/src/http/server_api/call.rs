//! A call: the key first, then the body, then what it asks for.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use subtle::ConstantTimeEq as _;

use super::answer::{ApiError, Refused};
use crate::app::App;
use crate::http::errors::Refusal;
use crate::http::limits;
use crate::patience::within;

/// Where the key stands; `Authorization: apikey <key>` does as well.
const API_KEY: &str = "x-api-key";

/// A request that may be answered.
pub(super) struct Call<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for Call<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        if !is_known(request.headers(), app) {
            return Err(Refusal::NoKey.into());
        }
        let body = within(limits::CALL_TIMEOUT, Bytes::from_request(request, app)).await;
        let Some(Ok(body)) = body else {
            return Err(ApiError::bad_request("the body is too large or did not come").into());
        };
        match serde_json::from_slice(&body) {
            Ok(call) => Ok(Self(call)),
            Err(error) => Err(ApiError::bad_request(error).into()),
        }
    }
}

/// In a time that tells nothing of how much of the key was right.
fn is_known(headers: &HeaderMap, app: &App) -> bool {
    let Some(key) = &app.config().api.key else { return false };
    let shown = headers.get(API_KEY).map(http::HeaderValue::as_bytes);
    let shown =
        shown.or_else(|| headers.get(header::AUTHORIZATION)?.as_bytes().strip_prefix(b"apikey "));
    shown.is_some_and(|shown| key.reveal().as_bytes().ct_eq(shown).into())
}
