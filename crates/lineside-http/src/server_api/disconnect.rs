//! `disconnect`: closes the connections of a user.

use axum::extract::State;
use lineside_hub::DisconnectOrder;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{ApiError, ApiReply, CallResult, into_call_result};
use super::call::ApiCall;
use crate::app::App;
use crate::errors::Problem;

/// Default close code and reason: clients do not reconnect by themselves after it.
const FORCED: (u16, &str) = (3503, "force disconnect");
/// Close codes that an operator may use: those up to 3999 belong to the protocol, the others to the operator.
const CODES: std::ops::RangeInclusive<u16> = 3000..=4999;
/// Longest reason that fits into a close frame, in bytes.
const REASON_BYTES_MAX: usize = 123;
/// Largest number of connections on one call's whitelist.
const WHITELIST_MAX: usize = 1_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(disconnect_user))
}

#[derive(Deserialize, ToSchema)]
struct DisconnectCall {
    /// The user whose connections are closed.
    user: String,
    /// Closes only the connection with this id.
    #[serde(default)]
    client: String,
    /// Ids of connections that stay open.
    #[serde(default)]
    whitelist: Vec<String>,
    /// The close code and reason sent to the clients.
    disconnect: Option<DisconnectReason>,
}

/// The close code and reason of a connection.
#[derive(Deserialize, ToSchema)]
struct DisconnectReason {
    /// 3000 to 4999; after 3500 to 3999 and 4500 to 4999 clients do not reconnect by themselves.
    code: u16,
    /// The reason, at most 123 bytes.
    #[serde(default)]
    reason: String,
}

/// An empty result.
#[derive(Debug, Serialize, ToSchema)]
struct DisconnectResult {}

/// Closes the connections of a user
///
/// This closes WebSockets, and event streams unless `client` is given. A stream's client reconnects by itself as long
/// as its token is valid.
#[utoipa::path(
    post, path = "/api/disconnect", tag = "server API", request_body = DisconnectCall,
    responses(
        (status = 200, description = "`result` or `error`", body = ApiReply<DisconnectResult>),
        (status = 401, description = "`no_key`", body = Problem)
    )
)]
async fn disconnect_user(
    State(app): State<App>,
    call: ApiCall<DisconnectCall>,
) -> CallResult<DisconnectResult> {
    let ApiCall(call) = call;
    into_call_result(call.into_disconnect_order().map(|(user, order)| {
        app.hub().disconnect_user(&user, order);
        DisconnectResult {}
    }))
}

impl DisconnectCall {
    fn into_disconnect_order(self) -> Result<(String, DisconnectOrder), ApiError> {
        let (code, reason) = match self.disconnect {
            Some(DisconnectReason { code, reason }) => (code, reason),
            None => (FORCED.0, FORCED.1.to_owned()),
        };
        let wrong = if self.user.is_empty() {
            "user is missing"
        } else if !CODES.contains(&code) {
            "disconnect.code: expected 3000 to 4999"
        } else if reason.len() > REASON_BYTES_MAX {
            "disconnect.reason: expected at most 123 bytes"
        } else if self.whitelist.len() > WHITELIST_MAX {
            "whitelist: expected at most 1,000 ids"
        } else {
            let order = DisconnectOrder {
                client: Some(self.client).filter(|id| !id.is_empty()).map(Into::into),
                except: self.whitelist.into_iter().map(Into::into).collect(),
                code,
                reason: reason.into(),
            };
            return Ok((self.user, order));
        };
        Err(ApiError::bad_request(wrong))
    }
}
