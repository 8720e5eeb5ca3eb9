//! The accept loop: sockets in, requests to the router, everything bounded.
//!
//! It is our own, because `axum::serve` has no limit on connections, heads or silence. A client
//! beyond a limit is told so at once instead of being kept waiting.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use lineside_wire::partition::{Newcomer, Partitions};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::admission::{Admission, Place};
use super::limits;
use super::takeover::{self, Connection, Door, Leaving, Watched};
use super::tls::Tls;
use crate::patience::{pause, within};
use crate::shutdown::Shutdown;

/// What a client beyond the limit gets, without its request having been read.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\naccess-control-allow-origin: *\r\n\
    retry-after: 5\r\nconnection: close\r\ncontent-length: 122\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\
    \"code\":\"overloaded\",\"detail\":\"too many connections here\"}";

/// What a listener for the outside has beside its router.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Who takes connections that become sessions.
    pub(crate) partitions: Arc<Partitions>,
    /// What connections are encrypted with, if they are.
    pub(crate) tls: Option<Arc<Tls>>,
}

/// Serves `router` on `listener`, and hands sessions to the partitions, until `shutdown` closes; then requests under way get a moment to
/// end, and the rest is dropped.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    admission: Arc<Admission>,
    sessions: Option<Sessions>,
    shutdown: Shutdown,
) {
    let refusal = takeover::refusal().await;
    let server = Server::new(router, admission, sessions, refusal, shutdown.clone());
    let connections = TaskTracker::new();
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.closing() => break,
        };
        match accepted {
            Ok((socket, peer)) => server.take(socket, peer, &connections, &graceful),
            Err(error) => after_failed_accept(&error).await,
        }
    }
    drop(listener);
    connections.close();
    let all_ended = async {
        graceful.shutdown().await;
        connections.wait().await;
    };
    if within(limits::CLOSE_TIMEOUT, all_ended).await.is_none() {
        tracing::debug!(connections = connections.len(), "closing connections that did not end");
    }
    server.cut.cancel();
    connections.wait().await;
}

/// A connection that broke before we took it says nothing about the next one; want of file
/// descriptors passes only with time.
async fn after_failed_accept(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "cannot accept a connection");
        pause(limits::ACCEPT_PAUSE).await;
    }
}

/// Whether the client speaks HTTP/2 at once. Looked at here and not by hyper, which would wait for the
/// first bytes without end.
async fn begins_as_http2(socket: &TcpStream) -> io::Result<bool> {
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
        // A part of the preface: what is peeked at stays readable, so only time brings the rest.
        pause(limits::PREFACE_PAUSE).await;
    }
}

struct Server {
    router: Router,
    http1: http1::Builder,
    http2: auto::Builder<TokioExecutor>,
    admission: Arc<Admission>,
    partitions: Option<Arc<Partitions>>,
    tls: Option<Arc<Tls>>,
    /// For connections that no partition can take.
    refusal: Bytes,
    shutdown: Shutdown,
    /// Ends connections that go on after everything else has ended.
    cut: CancellationToken,
}

impl Server {
    fn new(
        router: Router,
        admission: Arc<Admission>,
        sessions: Option<Sessions>,
        refusal: Bytes,
        shutdown: Shutdown,
    ) -> Self {
        let (partitions, tls) = match sessions {
            Some(Sessions { partitions, tls }) => (Some(partitions), tls),
            None => (None, None),
        };
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HEAD_TIMEOUT)
            .max_headers(limits::HEADERS_MAX)
            .max_buf_size(limits::HEAD_BYTES_MAX);
        let mut http2 = auto::Builder::new(TokioExecutor::new()).http2_only();
        http2
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(limits::HEAD_TIMEOUT)
            .max_concurrent_streams(limits::STREAMS_PER_CONNECTION_MAX)
            .max_header_list_size(limits::HEAD_BYTES_MAX as u32);
        Self {
            router,
            http1,
            http2,
            admission,
            partitions,
            tls,
            refusal,
            shutdown,
            cut: CancellationToken::new(),
        }
    }

    fn take(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        connections: &TaskTracker,
        graceful: &GracefulShutdown,
    ) {
        let Some(place) = self.admission.admit(peer.ip()) else {
            self.refuse(socket, connections);
            return;
        };
        // Events are small and must go out at once.
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(%error, "a socket without TCP_NODELAY");
        }
        let http1 = Http1 {
            builder: self.http1.clone(),
            router: self.router.clone(),
            partitions: self.partitions.clone(),
            refusal: self.refusal.clone(),
            shutdown: self.shutdown.clone(),
        };
        let http2 = Http2 { builder: self.http2.clone(), watcher: graceful.watcher() };
        let cut = self.cut.clone();
        let Some(tls) = &self.tls else {
            let connection = async move {
                match within(limits::HEAD_TIMEOUT, begins_as_http2(&socket)).await {
                    Some(Ok(true)) => http2.drive(socket, http1.router, place).await,
                    Some(Ok(false)) => {
                        drop(http2);
                        http1.drive(socket, place).await;
                    }
                    Some(Err(_)) | None => {}
                }
            };
            connections.spawn(async move { cut.run_until_cancelled(connection).await });
            return;
        };
        let accepting = tls.acceptor().accept(socket);
        // Much larger than a connection without it, and soon over.
        let connection = Box::pin(async move {
            let socket = match within(limits::HEAD_TIMEOUT, accepting).await {
                Some(Ok(socket)) => Box::new(socket),
                Some(Err(error)) => return tell_of_end(Some(error)),
                None => return,
            };
            if socket.get_ref().1.alpn_protocol() == Some(b"h2") {
                http2.drive(socket, http1.router, place).await;
            } else {
                drop(http2);
                http1.drive(socket, place).await;
            }
        });
        connections.spawn(async move { cut.run_until_cancelled(connection).await });
    }

    fn refuse(&self, mut socket: TcpStream, connections: &TaskTracker) {
        // Who expects TLS could not read it.
        let Some(place) = self.admission.goodbye().filter(|_| self.tls.is_none()) else { return };
        connections.spawn(async move {
            let tell = async {
                // Its request is read, unlooked at: closing over unread bytes would reset the
                // connection before the client has read why.
                let mut request = [0; 4096];
                _ = socket.read(&mut request).await;
                _ = socket.write_all(REFUSAL).await;
                _ = socket.shutdown().await;
            };
            within(limits::REFUSAL_TIMEOUT, tell).await;
            drop(place);
        });
    }
}

/// What serves one connection of HTTP/1, until it ends or goes to a partition.
struct Http1 {
    builder: http1::Builder,
    router: Router,
    partitions: Option<Arc<Partitions>>,
    refusal: Bytes,
    shutdown: Shutdown,
}

impl Http1 {
    async fn drive(self, socket: impl Connection, place: Place) {
        let Self { builder, router, partitions, refusal, shutdown } = self;
        let door = Door::new();
        let opened = door.clone();
        let service = service_fn(move |request: http::Request<Incoming>| {
            let (router, door) = (router.clone(), opened.clone());
            Box::pin(async move {
                let Ok(response) = router.oneshot(request.map(Body::new)).await;
                Ok::<_, Infallible>(door.pass(response).await)
            })
        });
        let io = TokioIo::new(Watched::new(socket, door.clone()));
        let mut connection = builder.serve_connection(io, service);
        let mut closing = pin!(shutdown.closing());
        let mut is_closing = false;
        let ended = poll_fn(|cx| {
            if !is_closing && closing.as_mut().poll(cx).is_ready() {
                is_closing = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            match Pin::new(&mut connection).poll(cx) {
                Poll::Ready(ended) => Poll::Ready(Some(ended)),
                Poll::Pending if door.is_open() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        if let Some(ended) = ended.await {
            return tell_of_end(ended.err());
        }
        let parts = connection.into_parts();
        let Some(Leaving { head, asks }) = door.take() else { return };
        let (socket, tls) = match parts.io.into_inner().into_inner().take_apart() {
            Ok(apart) => apart,
            Err(error) => return tell_of_end(Some(error)),
        };
        let unread = parts.read_buf;
        let place = Box::new(place);
        let newcomer = Newcomer { socket, tls, unread, head, refusal, asks, place };
        let newcomer = Box::new(newcomer);
        let adopted = match partitions {
            Some(partitions) => partitions.adopt(newcomer),
            None => Err(newcomer),
        };
        if let Err(newcomer) = adopted
            && newcomer.tls.is_none()
        {
            // It fits into the socket's buffer; a client that is gone needs no reply.
            _ = io::Write::write(&mut &newcomer.socket, &newcomer.refusal);
        }
    }
}

/// What serves one connection of HTTP/2, until it ends.
struct Http2 {
    builder: auto::Builder<TokioExecutor>,
    watcher: Watcher,
}

impl Http2 {
    async fn drive(
        self,
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        router: Router,
        place: Place,
    ) {
        let service = router.map_request(|request: http::Request<Incoming>| request.map(Body::new));
        let service = TowerToHyperService::new(service);
        let connection = self.builder.serve_connection(TokioIo::new(socket), service);
        tell_of_end(self.watcher.watch(connection.into_owned()).await.err());
        drop(place);
    }
}

fn tell_of_end(error: Option<impl fmt::Display>) {
    if let Some(error) = error {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_is_a_whole_reply() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["code"], "overloaded");
    }
}
