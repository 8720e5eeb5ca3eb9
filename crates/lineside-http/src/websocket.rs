//! `/connection/websocket`: the Centrifuge client protocol, in JSON or protobuf.
//!
//! Only the handshake is HTTP; then the connection moves to a partition.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use lineside_wire::centrifuge::{ProtocolFormat, WebSocketRequest};
use lineside_wire::websocket::handshake::{self, HandshakeError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::errors::{Problem, Refusal};
use super::parameters::QueryParameters;
use super::takeover::ConnectionTakeover;
use crate::app::App;

/// Address of the Centrifuge protocol's WebSocket.
pub(crate) const PATH: &str = "/connection/websocket";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(open_websocket))
}

/// Opens a WebSocket for the changes of channels
///
/// It uses the Centrifuge client protocol, so any of its client libraries can connect. Messages are JSON, or protobuf
/// if the subprotocol is `centrifuge-protobuf` or the query asks for it.
#[utoipa::path(
    get, path = "/connection/websocket", tag = "changes",
    params(
        ("format" = Option<String>, Query, description = "`json` or `protobuf`, for clients that \
            cannot name a subprotocol")
    ),
    responses(
        (status = 101, description = "A WebSocket"),
        (status = 400, description = "`bad_handshake`: the detail names what is missing", body = Problem),
        (status = 426, description = "`bad_handshake`: not a WebSocket of version 13", body = Problem),
        (status = 503, description = "`overloaded` or `shutting_down`", body = Problem)
    )
)]
async fn open_websocket(
    State(app): State<App>,
    method: Method,
    version: Version,
    headers: HeaderMap,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    if app.shutdown().is_draining() {
        return Err(Refusal::ShuttingDown);
    }
    if version > Version::HTTP_11 {
        let detail = "WebSockets are only supported over HTTP/1.1";
        return Err(Refusal::Handshake(HandshakeError { status: 400, detail }));
    }
    let sent = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let accepted =
        handshake::check_handshake_request(method.as_str(), sent).map_err(Refusal::Handshake)?;
    let protobuf = parameters.find_value("format").filter(|format| *format == "protobuf");
    let format = accepted.format.unwrap_or(match protobuf {
        Some(_) => ProtocolFormat::Protobuf,
        None => ProtocolFormat::Json,
    });
    let mut reply = HeaderMap::new();
    for (name, value) in accepted.reply_headers() {
        let value = HeaderValue::from_str(value).map_err(|_| Refusal::Internal)?;
        reply.insert(HeaderName::from_static(name), value);
    }
    let (service, deflate) = (Arc::clone(app.centrifuge()), accepted.deflate);
    let head = (StatusCode::SWITCHING_PROTOCOLS, reply);
    Ok(ConnectionTakeover::build_takeover_reply(
        head,
        WebSocketRequest { service, format, deflate },
    ))
}
