//! `/events`: changes as they happen, as server-sent events.
//!
//! Over HTTP/1 the connection moves to a partition. Over HTTP/2 the stream is a body that pulls from its session when
//! the connection can take more. In both cases a slow client slows only itself, and a stopping server ends its streams
//! one by one over the drain time, so that their clients do not all reconnect to another server at once.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use http_body::Frame;
use lineside_sync::real_time::sleep_real_time;
use lineside_wire::partition::ConnectionCloseReason;
use lineside_wire::sse::{self, SseRequest, SseStream};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::errors::{Problem, Refusal};
use super::parameters::QueryParameters;
use super::proxies::PeerAddress;
use super::reader_auth;
use super::takeover::ConnectionTakeover;
use crate::app::App;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(stream_events))
}

/// Streams the changes of channels as they happen
///
/// First the state of each channel, in parts, then its changes. `Last-Event-ID`, or `last_event_id` for clients that
/// cannot set headers, resumes a broken stream.
#[utoipa::path(
    get, path = "/events", tag = "changes",
    params(
        ("channel" = Vec<String>, Query, description = "A channel such as `feed/city` or \
            `route/city/4`; at most 64. An id's `/ + # % : ,` and spaces are percent-encoded in \
            the channel, and the channel once more in the query"),
        ("last_event_id" = Option<String>, Query, description = "The id of the last event received"),
        ("Last-Event-ID" = Option<String>, Header, description = "The same, as sent by browsers"),
        ("token" = Option<String>, Query, description = "The client's token, if one is required; better in `Authorization: Bearer`")
    ),
    responses(
        (status = 200, description = "An endless stream of events", content_type = "text/event-stream", body = String),
        (status = 400, description = "`bad_channel` or `too_many_channels`", body = Problem),
        (status = 401, description = "`unauthorized`, `token_expired` or `not_admin`", body = Problem),
        (status = 403, description = "`permission_denied`", body = Problem),
        (status = 404, description = "`unknown_feed`, `unknown_stop`, `unknown_route` or `unknown_trip`", body = Problem),
        (status = 429, description = "`too_many_attempts`", body = Problem),
        (status = 503, description = "`overloaded` or `shutting_down`", body = Problem)
    )
)]
async fn stream_events(
    State(app): State<App>,
    method: Method,
    version: Version,
    headers: HeaderMap,
    peer: PeerAddress,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    if app.shutdown().is_draining() {
        return Err(Refusal::ShuttingDown);
    }
    let channels: Vec<&str> = parameters.values_of("channel").collect();
    let reader = reader_auth::authorize_reader(&app, &headers, peer, &parameters, &channels)?;
    // A browser that reconnects sends the header along with the original address: the header is newer.
    let resumed = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let resumed = resumed.or_else(|| parameters.find_value("last_event_id"));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Stops nginx from buffering events.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    // A connection of HTTP/1 serves nothing but its stream and moves to a partition; over HTTP/2 the stream is one of
    // many.
    if version <= Version::HTTP_11 && method == Method::GET {
        sse::check_channels_exist(app.hub(), &channels)?;
        let channels = channels.into_iter().map(Into::into).collect();
        let last_event_id = resumed.map(Into::into);
        return Ok(ConnectionTakeover::build_takeover_reply(
            headers,
            SseRequest { channels, last_event_id, reader },
        ));
    }
    let stream = SseStream::open_stream(app.hub(), &channels, resumed, &reader, fastrand::u64(..))?;
    Ok((headers, Body::new(EventStreamBody::new(stream, app))).into_response())
}

type BoxedWaitFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An event stream as a response body.
struct EventStreamBody {
    stream: SseStream,
    app: App,
    /// Completes when a stopping server ends this stream.
    shutdown: BoxedWaitFuture,
    closed_by: ConnectionCloseReason,
}

impl EventStreamBody {
    fn new(stream: SseStream, app: App) -> Self {
        let shutdown = app.shutdown().clone();
        let shutdown_signal = Box::pin(async move {
            shutdown.wait_until_draining().await;
            sleep_real_time(random_drain_delay(shutdown.drain_duration())).await;
        });
        Self { stream, app, shutdown: shutdown_signal, closed_by: ConnectionCloseReason::Client }
    }
}

/// Returns a random time within the first nine tenths of the drain time.
fn random_drain_delay(drain: Duration) -> Duration {
    drain.mul_f64(fastrand::f64() * 0.9)
}

impl http_body::Body for EventStreamBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.shutdown.as_mut().poll(cx).is_ready() {
            self.closed_by = ConnectionCloseReason::Shutdown;
            return Poll::Ready(None);
        }
        let bytes = ready!(Pin::new(&mut self.stream).poll_next(cx));
        if bytes.is_none() {
            self.closed_by = self.stream.close_reason().unwrap_or(ConnectionCloseReason::Slow);
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Drop for EventStreamBody {
    fn drop(&mut self) {
        self.app.http_metrics().count_closed_stream(self.closed_by);
    }
}
