//! How a socket leaves HTTP: a handler answers with what the connection is to become, and the connection goes
//! to a partition with its reply's head, its unread bytes and its place.
//!
//! hyper never learns of the reply: while it waits for one, its socket is taken back. Only a connection of
//! HTTP/1 can go; on HTTP/2 many requests share it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};

use axum::response::{IntoResponse, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use http::response::Parts;
use http::{HeaderValue, header};
use lineside_ingest::MemoryFile;
use lineside_wire::partition::TransportRequest;
use lineside_wire::sse::OpenError;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::ServerConnection;
use tokio_rustls::server::TlsStream;

use super::errors::Refusal;
use super::limits;
use super::sendfile::{self, FileBackedBody};
use crate::timeout::current_http_date;

/// In a response's extensions: what its connection becomes. Taken once.
#[derive(Debug, Clone)]
pub(super) struct ConnectionTakeover(Arc<Mutex<Option<TransportRequest>>>);

impl ConnectionTakeover {
    /// A reply after which the connection belongs to a partition.
    pub(super) fn build_reply(head: impl IntoResponse, asks: TransportRequest) -> Response {
        let mut response = head.into_response();
        response.extensions_mut().insert(Self(Arc::new(Mutex::new(Some(asks)))));
        response
    }
}

/// Whether a reply means that its connection leaves.
pub(super) fn is_takeover(response: &Response) -> bool {
    response.extensions().get::<ConnectionTakeover>().is_some()
}

/// What the next connection of an address beyond its limit is told.
pub(super) fn overloaded_reply() -> Response {
    Refusal::Channels(OpenError::Overloaded).into_response()
}

/// A reply that was not given to hyper.
#[derive(Debug)]
pub(super) struct TakeoverReply {
    pub(super) head: Bytes,
    pub(super) asks: TransportRequest,
}

/// Where a connection's service leaves such a reply for the connection's driver, and its socket what it knows.
#[derive(Debug, Clone)]
pub(super) struct TakeoverSlot(Arc<TakeoverState>);

#[derive(Debug)]
struct TakeoverState {
    leaving: Mutex<Option<TakeoverReply>>,
    /// Everything that was written to the socket has been taken.
    is_flushed: AtomicBool,
    /// What the reply under way is sent from, if that is a file.
    file: Mutex<Option<Arc<MemoryFile>>>,
}

impl TakeoverSlot {
    pub(super) fn new() -> Self {
        let inside = TakeoverState {
            leaving: Mutex::new(None),
            is_flushed: AtomicBool::new(true),
            file: Mutex::new(None),
        };
        Self(Arc::new(inside))
    }

    /// Gives a reply back, unless its connection is to leave: then it never ends.
    pub(super) async fn pass_response(self, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        let asks = parts
            .extensions
            .get::<ConnectionTakeover>()
            .and_then(|takeover| takeover.0.lock().take());
        let Some(asks) = asks else {
            *self.0.file.lock() = parts.extensions.remove::<FileBackedBody>().map(|file| file.0);
            return Response::from_parts(parts, body);
        };
        // The router measured the body that there is not.
        parts.headers.remove(header::CONTENT_LENGTH);
        *self.0.leaving.lock() = Some(TakeoverReply { head: encode_head(&parts), asks });
        std::future::pending().await
    }

    /// Whether the connection can leave: it is to, and replies before have been taken whole.
    pub(super) fn can_leave(&self) -> bool {
        self.0.is_flushed.load(Relaxed) && self.0.leaving.lock().is_some()
    }

    pub(super) fn take_reply(&self) -> Option<TakeoverReply> {
        self.0.leaving.lock().take()
    }
}

/// A reply's head as it goes over the wire. The connection ends with what follows it.
fn encode_head(parts: &Parts) -> Bytes {
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

/// A whole reply to one who comes when the node turns out to be full.
pub(super) async fn full_node_refusal() -> Bytes {
    let (mut parts, body) = overloaded_reply().into_parts();
    let body = axum::body::to_bytes(body, limits::PAGE_BYTES_MAX).await.unwrap_or_default();
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    parts.headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    [encode_head(&parts), body].concat().into()
}

/// What HTTP is spoken over, and what of it can be given away.
pub(super) trait HttpSocket: AsyncRead + AsyncWrite + Unpin + Send {
    /// The socket, and what encrypts it.
    fn into_parts(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)>;

    /// The socket.
    fn tcp_stream(&self) -> &TcpStream;

    /// Bytes that the kernel holds until the other end has acknowledged them.
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

/// A connection that tells the door whether everything that was written to it has been taken.
#[derive(Debug)]
pub(super) struct WatchedSocket<C> {
    socket: C,
    door: TakeoverSlot,
}

impl<C> WatchedSocket<C> {
    pub(super) fn new(socket: C, door: TakeoverSlot) -> Self {
        Self { socket, door }
    }

    pub(super) fn into_inner(self) -> C {
        self.socket
    }
}

impl<C: HttpSocket> AsyncRead for WatchedSocket<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<C: HttpSocket> AsyncWrite for WatchedSocket<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.door.0.is_flushed.store(false, Relaxed);
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.door.0.is_flushed.store(false, Relaxed);
        let this = &mut *self;
        match &*this.door.0.file.lock() {
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
            self.door.0.is_flushed.store(true, Relaxed);
            // A connection that is silent now must not hold bytes that are no longer the last.
            self.door.0.file.lock().take();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
