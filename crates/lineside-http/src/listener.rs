//! The accept loop: passes sockets to the router, with limits on everything.
//!
//! It replaces `axum::serve`, which has no limit on connections, request heads or idle time. A client beyond a limit is
//! refused at once instead of waiting.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use bytes::Bytes;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulShutdown;
use lineside_quality::shutdown::Shutdown;
use lineside_sync::real_time::{run_with_timeout, sleep_real_time};
use lineside_sync::stage::{self, ThreadWorkStage};
use lineside_wire::partition::PartitionSet;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::admission::{AdmissionControl, ConnectionPermit};
use super::connection::{
    Http1Connection, Http2Connection, ProxiedClientResolver, log_connection_end,
};
use super::limits;
use super::proxies::{PeerAddress, TrustedProxies};
use super::takeover;
use super::tls::ServerTls;
use super::unsent::ConnectionSendLimits;
use crate::app::App;

/// Reply to a client beyond the limit, sent without parsing its request.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\naccess-control-allow-origin: *\r\n\
    retry-after: 5\r\nconnection: close\r\ncontent-length: 122\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\
    \"code\":\"overloaded\",\"detail\":\"too many connections here\"}";

/// The state of a public listener besides its router.
#[derive(Debug)]
pub struct ListenerContext {
    /// The partitions that adopt connections which become sessions.
    pub partitions: Arc<PartitionSet>,
    /// The TLS configuration; `None` for plain HTTP.
    pub tls: Option<Arc<ServerTls>>,
    /// The proxies that are trusted to forward a client's address.
    pub proxies: TrustedProxies,
}

impl ListenerContext {
    /// Returns the context of a server's public listener.
    pub fn for_app(app: &App, tls: Option<Arc<ServerTls>>) -> Self {
        let partitions = Arc::clone(app.partitions());
        Self { partitions, tls, proxies: app.trusted_proxies().clone() }
    }
}

/// Serves `router` on `listener`, and hands sessions to the partitions, until `shutdown` closes. Then running requests
/// have up to [`limits::CLOSE_TIMEOUT`] to end, and the rest is dropped.
pub async fn serve_listener(
    listener: TcpListener,
    router: Router,
    admission: Arc<AdmissionControl>,
    sessions: Option<ListenerContext>,
    shutdown: Shutdown,
) {
    let refusal = takeover::overloaded_refusal_bytes().await;
    let server = HttpServer::new(router, admission, sessions, refusal, shutdown.clone());
    let connections = TaskTracker::new();
    let graceful = GracefulShutdown::new();
    let mut in_a_row = 0_u32;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.wait_until_closing() => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                server.accept_socket(socket, peer, &connections, &graceful);
                in_a_row = (in_a_row + 1) % limits::ACCEPT_BATCH_MAX;
                if in_a_row == 0 {
                    tokio::task::yield_now().await;
                }
            }
            Err(error) => wait_after_accept_error(&error).await,
        }
    }
    drop(listener);
    connections.close();
    let all_ended = async {
        graceful.shutdown().await;
        connections.wait().await;
    };
    if run_with_timeout(limits::CLOSE_TIMEOUT, all_ended).await.is_none() {
        tracing::debug!(
            connections = connections.len(),
            "closing connections that did not end in time"
        );
    }
    server.cut.cancel();
    connections.wait().await;
}

/// Pauses after an error that only time resolves, such as a lack of file descriptors. A connection that broke before it
/// was accepted says nothing about the next one.
async fn wait_after_accept_error(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "cannot accept a connection");
        sleep_real_time(limits::ACCEPT_PAUSE).await;
    }
}

/// Returns true if the client starts with the HTTP/2 preface. hyper would wait for the first bytes without a timeout,
/// so this function peeks at them instead.
async fn starts_with_http2_preface(socket: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut first = [0; PREFACE.len()];
    loop {
        let seen = socket.peek(&mut first).await?;
        if seen == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !PREFACE.starts_with(&first[..seen]) || seen == PREFACE.len() {
            return Ok(seen == PREFACE.len() && first == PREFACE);
        }
        // Only a part of the preface: peeked bytes stay readable, so readiness cannot signal the rest.
        sleep_real_time(limits::PREFACE_PAUSE).await;
    }
}

struct HttpServer {
    router: Router,
    http1: http1::Builder,
    admission: Arc<AdmissionControl>,
    partitions: Option<Arc<PartitionSet>>,
    tls: Option<Arc<ServerTls>>,
    proxies: TrustedProxies,
    /// Reply to connections that no partition can adopt.
    refusal: Bytes,
    shutdown: Shutdown,
    /// Ends connections that continue after the close timeout.
    cut: CancellationToken,
}

impl HttpServer {
    fn new(
        router: Router,
        admission: Arc<AdmissionControl>,
        sessions: Option<ListenerContext>,
        refusal: Bytes,
        shutdown: Shutdown,
    ) -> Self {
        let (partitions, tls, proxies) = match sessions {
            Some(ListenerContext { partitions, tls, proxies }) => (Some(partitions), tls, proxies),
            None => (None, None, TrustedProxies::default()),
        };
        let mut http1 = http1::Builder::new();
        http1
            .auto_date_header(false)
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HEAD_TIMEOUT)
            .max_headers(limits::HEADERS_MAX)
            .max_buf_size(limits::HEAD_BYTES_MAX);
        Self {
            router,
            http1,
            admission,
            partitions,
            tls,
            proxies,
            refusal,
            shutdown,
            cut: CancellationToken::new(),
        }
    }

    fn accept_socket(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        connections: &TaskTracker,
        graceful: &GracefulShutdown,
    ) {
        let proxy = Some(peer.ip()).filter(|peer| self.proxies.is_trusted(*peer));
        let admitted = match proxy {
            Some(_) => self.admission.admit_proxy_connection(),
            None => self.admission.admit_client_connection(peer.ip()),
        };
        let Some(permit) = admitted else {
            self.refuse_connection(socket, connections);
            return;
        };
        // Events are small and must be sent at once.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY cannot be set");
        }
        let peer = PeerAddress(peer.ip());
        let bounds = match proxy {
            Some(_) => ConnectionSendLimits::for_proxy(&self.admission),
            None => ConnectionSendLimits::for_client(&self.admission, peer.0),
        };
        let client = proxy.map(|proxy| ProxiedClientResolver {
            proxy,
            proxies: self.proxies.clone(),
            admission: Arc::clone(&self.admission),
        });
        let http1 = Http1Connection {
            peer,
            builder: self.http1.clone(),
            router: self.router.clone(),
            partitions: self.partitions.clone(),
            refusal: self.refusal.clone(),
            shutdown: self.shutdown.clone(),
            client: client.clone(),
            bounds: bounds.clone(),
        };
        let http2 = Http2Connection { watcher: graceful.watcher(), peer, client, bounds };
        let served = self.serve_connection(socket, permit, http1, http2);
        let cut = self.cut.clone();
        let served = async move { cut.run_until_cancelled(served).await };
        connections.spawn(stage::run_in_stage(ThreadWorkStage::Http, served));
    }

    /// Serves a connection in its version of HTTP, with TLS or without.
    fn serve_connection(
        &self,
        socket: TcpStream,
        permit: ConnectionPermit,
        http1: Http1Connection,
        http2: Http2Connection,
    ) -> impl Future<Output = ()> + Send + 'static {
        let accepting = self.tls.as_ref().map(|tls| tls.acceptor().clone());
        async move {
            let Some(acceptor) = accepting else {
                return match run_with_timeout(
                    limits::HEAD_TIMEOUT,
                    starts_with_http2_preface(&socket),
                )
                .await
                {
                    Some(Ok(true)) => http2.serve_socket(socket, http1.router, permit).await,
                    Some(Ok(false)) => {
                        drop(http2);
                        http1.serve_socket(socket, permit).await;
                    }
                    Some(Err(_)) | None => {}
                };
            };
            // A handshake takes much more memory than the connection after it.
            let accepting =
                Box::pin(stage::run_in_stage(ThreadWorkStage::Handshake, acceptor.accept(socket)));
            let socket = match run_with_timeout(limits::HEAD_TIMEOUT, accepting).await {
                Some(Ok(socket)) => Box::new(socket),
                Some(Err(error)) => return log_connection_end(Some(error)),
                None => return,
            };
            if socket.get_ref().1.alpn_protocol() == Some(b"h2") {
                http2.serve_socket(socket, http1.router, permit).await;
            } else {
                drop(http2);
                http1.serve_socket(socket, permit).await;
            }
        }
    }

    fn refuse_connection(&self, mut socket: TcpStream, connections: &TaskTracker) {
        // A client that expects TLS could not read the refusal.
        let Some(permit) = self.admission.acquire_refusal_permit().filter(|_| self.tls.is_none())
        else {
            return;
        };
        connections.spawn(async move {
            let send_refusal = async {
                // The request is read and ignored: closing over unread bytes would reset the connection before the
                // client has read the refusal.
                let mut request = [0; 4096];
                _ = socket.read(&mut request).await;
                _ = socket.write_all(REFUSAL).await;
                _ = socket.shutdown().await;
            };
            run_with_timeout(limits::REFUSAL_TIMEOUT, send_refusal).await;
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prepared_refusal_is_a_complete_response() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["code"], "overloaded");
    }
}
