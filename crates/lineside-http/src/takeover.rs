//! The takeover of a connection: a handler requests a transport, and the socket moves from HTTP to a partition with its
//! reply's head, its unread bytes and its permit.
//!
//! hyper never gets the reply: while it waits for one, the socket is taken back. Only an HTTP/1 connection can move; on
//! HTTP/2 many requests share it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};

use axum::response::{IntoResponse, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use http::response::Parts;
use http::{HeaderValue, header};
use lineside_model::MemoryFile;
use lineside_wire::partition::TransportRequest;
use lineside_wire::sse::SseOpenError;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::ServerConnection;
use tokio_rustls::server::TlsStream;

use super::errors::Refusal;
use super::limits;
use super::sendfile::{self, FileBackedBody};
use crate::http_date::current_http_date;

/// The transport that a response's connection changes to; in the response's extensions.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionTakeover(Arc<dyn TransportRequest>);

impl ConnectionTakeover {
    /// Builds a reply after which the connection belongs to a partition.
    pub(crate) fn build_takeover_reply(
        head: impl IntoResponse,
        transport_request: impl TransportRequest + 'static,
    ) -> Response {
        let mut response = head.into_response();
        response.extensions_mut().insert(Self(Arc::new(transport_request)));
        response
    }
}

/// Returns true if the connection of a reply leaves HTTP.
pub(crate) fn is_takeover(response: &Response) -> bool {
    response.extensions().get::<ConnectionTakeover>().is_some()
}

/// Returns the refusal for an address that has reached its limit of connections.
pub(crate) fn overloaded_reply() -> Response {
    Refusal::Channels(SseOpenError::Overloaded).into_response()
}

/// A reply that was withheld from hyper.
#[derive(Debug)]
pub(crate) struct WithheldTakeoverReply {
    pub head: Bytes,
    pub transport_request: Arc<dyn TransportRequest>,
}

/// The state shared by a connection's service, driver and socket: the service leaves a reply for the driver here, and
/// the socket its flush state.
#[derive(Debug, Clone)]
pub(crate) struct TakeoverSlot(Arc<TakeoverState>);

#[derive(Debug)]
struct TakeoverState {
    pending_reply: Mutex<Option<WithheldTakeoverReply>>,
    /// True if all bytes written to the socket were flushed.
    is_flushed: AtomicBool,
    /// The memory file of the current reply's body, if any.
    body_file: Mutex<Option<Arc<MemoryFile>>>,
}

impl TakeoverSlot {
    pub(crate) fn new() -> Self {
        let inside = TakeoverState {
            pending_reply: Mutex::new(None),
            is_flushed: AtomicBool::new(true),
            body_file: Mutex::new(None),
        };
        Self(Arc::new(inside))
    }

    /// Returns a response, unless its connection changes its transport: then this future never completes.
    pub(crate) async fn pass_or_withhold_response(self, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        let Some(ConnectionTakeover(transport_request)) = parts.extensions.remove() else {
            *self.0.body_file.lock() =
                parts.extensions.remove::<FileBackedBody>().map(|file| file.0);
            return Response::from_parts(parts, body);
        };
        // The router set the length of the empty body.
        parts.headers.remove(header::CONTENT_LENGTH);
        *self.0.pending_reply.lock() =
            Some(WithheldTakeoverReply { head: encode_response_head(&parts), transport_request });
        std::future::pending().await
    }

    /// Returns true if a takeover reply waits and all earlier replies are flushed.
    pub(crate) fn is_ready_for_takeover(&self) -> bool {
        self.0.is_flushed.load(Relaxed) && self.0.pending_reply.lock().is_some()
    }

    pub(crate) fn take_withheld_reply(&self) -> Option<WithheldTakeoverReply> {
        self.0.pending_reply.lock().take()
    }
}

/// Encodes a reply's head. The connection closes after the body.
fn encode_response_head(parts: &Parts) -> Bytes {
    let mut head = BytesMut::with_capacity(512);
    head.put_slice(b"HTTP/1.1 ");
    head.put_slice(parts.status.as_str().as_bytes());
    head.put_u8(b' ');
    head.put_slice(parts.status.canonical_reason().unwrap_or_default().as_bytes());
    head.put_slice(b"\r\n");
    for (name, value) in &parts.headers {
        append_header(&mut head, name.as_str(), value.as_bytes());
    }
    if !parts.headers.contains_key(header::CONNECTION) {
        append_header(&mut head, "connection", b"close");
    }
    if !parts.headers.contains_key(header::DATE) {
        append_header(&mut head, "date", current_http_date().as_bytes());
    }
    head.put_slice(b"\r\n");
    head.freeze()
}

fn append_header(head: &mut BytesMut, name: &str, value: &[u8]) {
    head.put_slice(name.as_bytes());
    head.put_slice(b": ");
    head.put_slice(value);
    head.put_slice(b"\r\n");
}

/// Returns a complete reply for a connection that comes when the node is full.
pub(crate) async fn overloaded_refusal_bytes() -> Bytes {
    let (mut parts, body) = overloaded_reply().into_parts();
    let body = axum::body::to_bytes(body, limits::PAGE_BYTES_MAX).await.unwrap_or_default();
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    parts.headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    [encode_response_head(&parts), body].concat().into()
}

/// A socket that carries HTTP and can be handed over.
pub(crate) trait HttpSocket: AsyncRead + AsyncWrite + Unpin + Send {
    /// Splits into the TCP socket and its TLS session, if any.
    fn into_parts(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)>;

    fn tcp_stream(&self) -> &TcpStream;

    /// Returns the number of bytes in the kernel that the peer has not acknowledged.
    fn unacknowledged_bytes(&self) -> u64 {
        sendfile::unacknowledged_bytes(self.tcp_stream())
    }

    /// Writes pieces of which some may lie in this file.
    fn poll_write_file(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        _file: &MemoryFile,
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write_vectored(cx, pieces)
    }
}

impl HttpSocket for TcpStream {
    fn into_parts(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)> {
        Ok((self.into_std()?, None))
    }

    fn tcp_stream(&self) -> &TcpStream {
        self
    }

    fn poll_write_file(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        file: &MemoryFile,
    ) -> Poll<io::Result<usize>> {
        sendfile::poll_write(self, cx, pieces, file)
    }
}

impl HttpSocket for Box<TlsStream<TcpStream>> {
    fn into_parts(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)> {
        let (socket, tls) = (*self).into_inner();
        Ok((socket.into_std()?, Some(Box::new(tls))))
    }

    fn tcp_stream(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// A socket that records in the slot if all written bytes were flushed.
#[derive(Debug)]
pub(crate) struct FlushTrackingSocket<C> {
    socket: C,
    takeover_slot: TakeoverSlot,
}

impl<C> FlushTrackingSocket<C> {
    pub(crate) fn new(socket: C, takeover_slot: TakeoverSlot) -> Self {
        Self { socket, takeover_slot }
    }

    pub(crate) fn into_inner(self) -> C {
        self.socket
    }
}

impl<C: HttpSocket> AsyncRead for FlushTrackingSocket<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<C: HttpSocket> AsyncWrite for FlushTrackingSocket<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.takeover_slot.0.is_flushed.store(false, Relaxed);
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.takeover_slot.0.is_flushed.store(false, Relaxed);
        let this = &mut *self;
        match &*this.takeover_slot.0.body_file.lock() {
            Some(file) => this.socket.poll_write_file(cx, pieces, file),
            None => Pin::new(&mut this.socket).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(cx);
        // hyper flushes when its own buffer is empty.
        if flushed.is_ready() {
            self.takeover_slot.0.is_flushed.store(true, Relaxed);
            // An idle connection must not hold the bytes of an outdated version.
            self.takeover_slot.0.body_file.lock().take();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
