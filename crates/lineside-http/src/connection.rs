//! One HTTP connection: served until it ends, or until it becomes a session.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use lineside_quality::shutdown::Shutdown;
use lineside_sync::real_time::sleep_real_time;
use lineside_wire::partition::{PartitionSet, PendingConnection};
use parking_lot::Mutex;
use tower::ServiceExt as _;

use super::admission::{AdmissionControl, ConnectionPermit};
use super::frame_limit::FrameLimitedSocket;
use super::layers::AmbiguousHostMarker;
use super::limits;
use super::pace::{ReadRateCheckedSocket, SocketActivity};
use super::proxies::{PeerAddress, TrustedProxies};
use super::streams::Http2StreamExecutor;
use super::takeover::{self, FlushTrackingSocket, HttpSocket, TakeoverSlot, WithheldTakeoverReply};
use super::unsent::ConnectionSendLimits;
use crate::request_count::{UncountedRequest, copy_common_headers};

/// Serves one HTTP/1 connection until it ends or moves to a partition.
pub(crate) struct Http1Connection {
    pub builder: http1::Builder,
    pub router: Router,
    pub partitions: Option<Arc<PartitionSet>>,
    pub refusal: Bytes,
    pub shutdown: Shutdown,
    pub peer: PeerAddress,
    pub client: Option<ProxiedClientResolver>,
    pub bounds: ConnectionSendLimits,
}

/// Finds the client behind the proxy that made a connection.
#[derive(Clone)]
pub(crate) struct ProxiedClientResolver {
    pub proxy: IpAddr,
    pub proxies: TrustedProxies,
    pub admission: Arc<AdmissionControl>,
}

impl ProxiedClientResolver {
    fn client_address(&self, headers: &HeaderMap) -> IpAddr {
        self.proxies.forwarded_client(self.proxy, headers)
    }
}

/// Returns true if a request names exactly one host, or none before HTTP/1.1 (RFC 9112 §3.2).
fn has_single_host_header<B>(request: &http::Request<B>) -> bool {
    let count = request.headers().get_all(header::HOST).iter().take(2).count();
    count == 1 || count == 0 && request.version() < Version::HTTP_11
}

impl Http1Connection {
    pub(crate) async fn serve_socket(self, socket: impl HttpSocket, permit: ConnectionPermit) {
        let Self { builder, router, partitions, refusal, shutdown, peer, client, bounds } = self;
        let (timeout, unsent) = (bounds.timeout, Arc::clone(bounds.unsent_budget()));
        let permit = Arc::new(Mutex::new(permit));
        let client = client.map(|client| (Arc::new(client), Arc::clone(&permit)));
        let takeover_slot = TakeoverSlot::new();
        let opened = takeover_slot.clone();
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let (router, takeover_slot) = (router.clone(), opened.clone());
            let client = client
                .clone()
                .map(|(behind, permit)| (behind.client_address(request.headers()), behind, permit));
            let bounds = bounds.clone();
            let owner = bounds
                .find_counted_address(|| client.as_ref().map_or(peer.0, |(client, ..)| *client));
            Box::pin(async move {
                if !has_single_host_header(&request) {
                    request.extensions_mut().insert(AmbiguousHostMarker);
                }
                let Ok(mut response) = router.oneshot(request.map(Body::new)).await;
                let count = UncountedRequest::take_from_response(&mut response);
                // A session counts for who is at its other end, not for the proxy between.
                if takeover::is_takeover(&response)
                    && let Some((address, behind, permit)) = client
                    && !behind.admission.assign_connection_to_client(&mut permit.lock(), address)
                {
                    response = copy_common_headers(response, takeover::overloaded_reply());
                } else {
                    response = takeover_slot.pass_or_withhold_response(response).await;
                }
                Ok::<_, Infallible>(bounds.limit_outgoing_reply(&owner, response, count))
            })
        });
        let socket = ReadRateCheckedSocket::new(socket, timeout, unsent);
        let io = TokioIo::new(FlushTrackingSocket::new(socket, takeover_slot.clone()));
        let mut connection = builder.serve_connection(io, service);
        let mut closing = pin!(shutdown.wait_until_closing());
        let mut is_closing = false;
        let ended = poll_fn(|cx| {
            if !is_closing && closing.as_mut().poll(cx).is_ready() {
                is_closing = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            match Pin::new(&mut connection).poll(cx) {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                Poll::Pending if takeover_slot.is_ready_for_takeover() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        if let Some(ended) = ended.await {
            return log_connection_end(ended.err());
        }
        let parts = connection.into_parts();
        let Some(WithheldTakeoverReply { head, transport_request }) =
            takeover_slot.take_withheld_reply()
        else {
            return;
        };
        let (socket, tls) = match parts.io.into_inner().into_inner().into_parts() {
            Ok(socket_parts) => socket_parts,
            Err(error) => return log_connection_end(Some(error)),
        };
        let (unread, permit) = (parts.read_buf, Box::new(permit));
        let pending = PendingConnection {
            socket,
            tls,
            unread,
            head,
            refusal,
            transport: transport_request,
            permit,
        };
        hand_over_to_partition(partitions.as_deref(), Box::new(pending));
    }
}

/// Serves one HTTP/2 connection until it ends.
pub(crate) struct Http2Connection {
    pub watcher: Watcher,
    pub peer: PeerAddress,
    pub client: Option<ProxiedClientResolver>,
    pub bounds: ConnectionSendLimits,
}

impl Http2Connection {
    pub(crate) async fn serve_socket(
        self,
        socket: impl HttpSocket + 'static,
        router: Router,
        permit: ConnectionPermit,
    ) {
        let Self { watcher, peer, client, bounds } = self;
        let socket =
            ReadRateCheckedSocket::new(socket, bounds.timeout, Arc::clone(bounds.unsent_budget()));
        let activity = Arc::clone(socket.socket_activity());
        let replies = bounds.clone();
        let service = service_fn(move |mut request: http::Request<Incoming>| {
            request.extensions_mut().insert(peer);
            let client =
                || client.as_ref().map_or(peer.0, |it| it.client_address(request.headers()));
            let (owner, replies) = (replies.find_counted_address(client), replies.clone());
            let router = router.clone();
            Box::pin(async move {
                let Ok(mut response) = router.oneshot(request.map(Body::new)).await;
                let count = UncountedRequest::take_from_response(&mut response);
                Ok::<_, Infallible>(replies.limit_outgoing_reply(&owner, response, count))
            })
        });
        let io = TokioIo::new(FrameLimitedSocket::new(socket));
        let connection = http2_builder(&bounds, &activity).serve_connection(io, service);
        tokio::select! {
            ended = watcher.watch(connection) => log_connection_end(ended.err()),
            () = wait_until_send_stalls(&bounds, &activity) => {
                log_connection_end(Some("its client does not read the rest of its replies"));
            }
        }
        drop(permit);
    }
}

fn http2_builder(
    bounds: &ConnectionSendLimits,
    activity: &Arc<SocketActivity>,
) -> http2::Builder<Http2StreamExecutor> {
    let (timeout, unsent) = (bounds.timeout, Arc::clone(bounds.unsent_budget()));
    let socket = Arc::clone(activity);
    let mut builder = http2::Builder::new(Http2StreamExecutor { timeout, unsent, socket });
    builder
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .keep_alive_interval(limits::HEAD_TIMEOUT)
        .max_concurrent_streams(limits::STREAMS_PER_CONNECTION_MAX)
        .max_send_buf_size(limits::STREAM_BUFFER_BYTES)
        .max_header_list_size(limits::HEAD_BYTES_MAX as u32);
    builder
}

/// Ends when bytes of replies have waited for the timeout although no stream is open: a client that shrinks its windows
/// again can leave such bytes behind.
async fn wait_until_send_stalls(bounds: &ConnectionSendLimits, activity: &SocketActivity) {
    let mut before = None;
    loop {
        sleep_real_time(bounds.timeout).await;
        let is_left =
            activity.open_stream_counter().load(Relaxed) == 0 && bounds.unsent_bytes() > 0;
        let now = is_left.then(|| (bounds.unsent_bytes(), activity.bytes_written()));
        if now.is_some() && now == before {
            return;
        }
        before = now;
    }
}

/// Hands the connection to a partition, or writes the refusal to it if no partition takes it.
fn hand_over_to_partition(partitions: Option<&PartitionSet>, pending: Box<PendingConnection>) {
    let adopted = match partitions {
        Some(partitions) => partitions.hand_to_next_partition(pending),
        None => Err(pending),
    };
    if let Err(pending) = adopted
        && pending.tls.is_none()
    {
        // The refusal fits into the socket's buffer; a client that has left needs no reply.
        _ = io::Write::write(&mut &pending.socket, &pending.refusal);
    }
}

pub(crate) fn log_connection_end(error: Option<impl fmt::Display>) {
    if let Some(error) = error {
        tracing::debug!(%error, "a connection ended early");
    }
}
