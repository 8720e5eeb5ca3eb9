//! The accept loop: sockets in, requests to the router, everything bounded.
//!
//! It is our own, because `axum::serve` has no limit on connections, heads or silence. A client
//! beyond a limit is told so at once instead of being kept waiting.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::admission::Admission;
use super::limits;
use crate::patience::{pause, within};
use crate::shutdown::Shutdown;

/// What a client beyond the limit gets, without its request having been read.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\naccess-control-allow-origin: *\r\n\
    retry-after: 5\r\nconnection: close\r\ncontent-length: 122\r\n\r\n\
    {\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\
    \"code\":\"overloaded\",\"detail\":\"too many connections here\"}";

/// Serves `router` on `listener` until `shutdown` closes; then requests under way get a moment to
/// end, and the rest is dropped.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    admission: Arc<Admission>,
    shutdown: Shutdown,
) {
    let server = Arc::new(Server::new(router, admission));
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
    if within(limits::CLOSE_TIMEOUT, graceful.shutdown()).await.is_none() {
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
    http1: auto::Builder<TokioExecutor>,
    http2: auto::Builder<TokioExecutor>,
    admission: Arc<Admission>,
    /// Ends connections that go on after everything else has ended.
    cut: CancellationToken,
}

impl Server {
    fn new(router: Router, admission: Arc<Admission>) -> Self {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits::HEAD_TIMEOUT)
            .max_headers(limits::HEADERS_MAX)
            .max_buf_size(limits::HEAD_BYTES_MAX);
        http.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(limits::HEAD_TIMEOUT)
            .max_concurrent_streams(limits::STREAMS_PER_CONNECTION_MAX)
            .max_header_list_size(limits::HEAD_BYTES_MAX as u32);
        Self {
            router,
            http1: http.clone().http1_only(),
            http2: http.http2_only(),
            admission,
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
        let service = self
            .router
            .clone()
            .map_request(|request: http::Request<Incoming>| request.map(Body::new));
        let service = TowerToHyperService::new(service);
        let (http1, http2) = (self.http1.clone(), self.http2.clone());
        let (watcher, cut) = (graceful.watcher(), self.cut.clone());
        let connection = async move {
            let http = match within(limits::HEAD_TIMEOUT, begins_as_http2(&socket)).await {
                Some(Ok(true)) => http2,
                Some(Ok(false)) => http1,
                Some(Err(_)) | None => return,
            };
            let connection = http.serve_connection(TokioIo::new(socket), service).into_owned();
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(%error, "a connection ended early");
            }
        };
        connections.spawn(async move {
            cut.run_until_cancelled(connection).await;
            drop(place);
        });
    }

    fn refuse(&self, mut socket: TcpStream, connections: &TaskTracker) {
        let Some(place) = self.admission.goodbye() else { return };
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
