//! The HTTP server of the city's feeds, which behaves like a real producer, faults included.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use lineside_http::{AdmissionControl, ConnectionLimits, serve_listener as serve_http};
use lineside_quality::shutdown::Shutdown;
use lineside_sim::{FeedOrigin, OriginReply, ReplyBody};
use lineside_sync::Clock;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Largest number of connections: the server's own, and some for manual requests.
const CONNECTIONS_MAX: usize = 64;
/// Largest SIRI request, in bytes.
const REQUEST_BYTES_MAX: usize = 256 * 1024;

#[derive(Clone)]
struct DemoProducer {
    origin: Arc<FeedOrigin>,
    clock: Arc<dyn Clock>,
}

/// Longest time that a client may read nothing of a reply.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves the city's feeds on a free port of this machine.
pub(super) async fn start_feed_server(
    origin: Arc<FeedOrigin>,
    clock: Arc<dyn Clock>,
    shutdown: Shutdown,
) -> anyhow::Result<(SocketAddr, JoinHandle<()>)> {
    let any_port = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let listener =
        TcpListener::bind(any_port).await.context("cannot open a port for the city's feeds")?;
    let address = listener.local_addr().context("the listener has no address")?;
    origin.set_base_url(&format!("http://{address}/"));
    let router = Router::new()
        .route("/{*path}", get(handle_feed_request).post(handle_siri_request))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(DemoProducer { origin, clock });
    let limits = ConnectionLimits {
        total: CONNECTIONS_MAX,
        per_address: CONNECTIONS_MAX,
        unsent_bytes: usize::MAX,
        send_timeout: SEND_TIMEOUT,
    };
    let admission = Arc::new(AdmissionControl::new(limits));
    Ok((address, tokio::spawn(serve_http(listener, router, admission, None, shutdown))))
}

async fn handle_feed_request(
    State(producer): State<DemoProducer>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (tag, since) = (text(header::IF_NONE_MATCH), text(header::IF_MODIFIED_SINCE));
    respond_on_blocking_thread(move || {
        let now = producer.clock.wall_time();
        producer.origin.respond_to_path(&path, now, tag.as_deref(), since.as_deref())
    })
    .await
}

/// Handles a SIRI message posted to a feed.
async fn handle_siri_request(
    State(producer): State<DemoProducer>,
    Path(path): Path<String>,
    body: Bytes,
) -> Response {
    respond_on_blocking_thread(move || {
        producer.origin.answer_siri_message(&path, producer.clock.wall_time(), &body)
    })
    .await
}

/// Computes a reply on a blocking thread: advancing the city takes milliseconds, too long for the socket threads.
async fn respond_on_blocking_thread(
    produce_reply: impl FnOnce() -> Option<OriginReply> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(produce_reply).await {
        Ok(Some(reply)) => build_response(reply).await,
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn build_response(reply: OriginReply) -> Response {
    let body = match reply.body {
        ReplyBody::Bytes(bytes) => bytes,
        // Ends when the client disconnects, or with the server.
        ReplyBody::Hang => std::future::pending().await,
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
