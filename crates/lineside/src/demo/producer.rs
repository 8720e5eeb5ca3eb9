//! The city's own door: its feeds over HTTP, as a real producer serves them, faults included.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use lineside_sim::{Body, FeedId, Origin, Reply};
use lineside_sync::Clock;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::http::{Admission, ConnectionLimits, serve as serve_http};
use crate::shutdown::Shutdown;

/// A producer with one client needs few connections; some for whoever looks by hand.
const CONNECTIONS_MAX: usize = 64;

#[derive(Clone)]
struct Producer {
    origin: Arc<Origin>,
    clock: Arc<dyn Clock>,
}

/// Serves the city's feeds on a free port of this machine.
pub(super) async fn serve(
    origin: Arc<Origin>,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
) -> anyhow::Result<(SocketAddr, JoinHandle<()>)> {
    let any_port = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let listener = TcpListener::bind(any_port).await.context("no port for the city's feeds")?;
    let address = listener.local_addr().context("a listener without an address")?;
    let router = Router::new().route("/{file}", get(feed)).with_state(Producer { origin, clock });
    let limits = ConnectionLimits { total: CONNECTIONS_MAX, per_address: CONNECTIONS_MAX };
    let admission = Arc::new(Admission::new(limits));
    Ok((address, tokio::spawn(serve_http(listener, router, admission, None, shutdown))))
}

async fn feed(
    State(producer): State<Producer>,
    Path(file): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(feed) = FeedId::ALL.into_iter().find(|feed| feed.file_name() == file) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (tag, since) = (text(header::IF_NONE_MATCH), text(header::IF_MODIFIED_SINCE));
    // The city moves when it is asked: milliseconds that the socket threads do not have.
    let answer = tokio::task::spawn_blocking(move || {
        let now = producer.clock.wall();
        producer.origin.respond(feed, now, tag.as_deref(), since.as_deref())
    });
    match answer.await {
        Ok(reply) => respond(reply).await,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn respond(reply: Reply) -> Response {
    let body = match reply.body {
        Body::Bytes(bytes) => bytes,
        // Ends when the client goes away, or with the server.
        Body::Hang => std::future::pending().await,
    };
    let mut response = body.into_response();
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().clear();
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}
