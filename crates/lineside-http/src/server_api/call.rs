//! A server API call: checks the key first, then reads and parses the body.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use http::header;
use lineside_sync::real_time::run_with_timeout;
use serde::de::DeserializeOwned;

use super::answer::{ApiError, CallRefusal};
use crate::admin;
use crate::admin_auth::AdminSecretRejection;
use crate::app::App;
use crate::errors::Refusal;
use crate::limits;

/// Header with the key; `Authorization: apikey <key>` is accepted as well.
const API_KEY: &str = "x-api-key";

/// The parsed body of an authorized call.
pub(super) struct ApiCall<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for ApiCall<T> {
    type Rejection = CallRefusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, CallRefusal> {
        check_api_key(&request, app)?;
        let body = run_with_timeout(limits::CALL_TIMEOUT, Bytes::from_request(request, app)).await;
        let Some(Ok(body)) = body else {
            return Err(ApiError::bad_request("the body is too large or incomplete").into());
        };
        match serde_json::from_slice(&body) {
            Ok(call) => Ok(Self(call)),
            Err(error) => Err(ApiError::bad_request(error).into()),
        }
    }
}

/// Checks the API key of a call.
fn check_api_key(request: &Request, app: &App) -> Result<(), Refusal> {
    let headers = request.headers();
    let shown = headers.get(API_KEY).map(http::HeaderValue::as_bytes);
    let shown =
        shown.or_else(|| headers.get(header::AUTHORIZATION)?.as_bytes().strip_prefix(b"apikey "));
    let config = app.config();
    let (Some(key), Some(shown)) = (&config.api.key, shown) else { return Err(Refusal::NoKey) };
    let client = admin::client_address(app, headers, request.extensions());
    app.admin_auth().check_api_key(shown, key, client).map_err(|why| match why {
        AdminSecretRejection::Wrong => Refusal::NoKey,
        AdminSecretRejection::TooOften(wait) => Refusal::TooManyAttempts(wait),
    })
}
