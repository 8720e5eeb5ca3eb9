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
use lineside_ingest::Sealed;
use lineside_wire::partition::Asks;
use lineside_wire::sse::OpenError;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::rustls::ServerConnection;
use tokio_rustls::server::TlsStream;

use super::errors::Refusal;
use super::limits;
use super::sending::{self, FromFile};
use crate::patience::http_date;

/// In a response's extensions: what its connection becomes. Taken once.
#[derive(Debug, Clone)]
pub(super) struct Takeover(Arc<Mutex<Option<Asks>>>);

impl Takeover {
    /// A reply after which the connection belongs to a partition.
    pub(super) fn reply(head: impl IntoResponse, asks: Asks) -> Response {
        let mut response = head.into_response();
        response.extensions_mut().insert(Self(Arc::new(Mutex::new(Some(asks)))));
        response
    }
}

/// Whether a reply means that its connection leaves.
pub(super) fn is_one(response: &Response) -> bool {
    response.extensions().get::<Takeover>().is_some()
}

/// What the next connection of an address beyond its limit is told.
pub(super) fn overloaded() -> Response {
    Refusal::Channels(OpenError::Overloaded).into_response()
}

/// A reply that was not given to hyper.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) head: Bytes,
    pub(super) asks: Asks,
}

/// Where a connection's service leaves such a reply for the connection's driver, and its socket what it knows.
#[derive(Debug, Clone)]
pub(super) struct Door(Arc<Inside>);

#[derive(Debug)]
struct Inside {
    leaving: Mutex<Option<Leaving>>,
    /// Everything that was written to the socket has been taken.
    is_flushed: AtomicBool,
    /// What the reply under way is sent from, if that is a file.
    file: Mutex<Option<Arc<Sealed>>>,
}

impl Door {
    pub(super) fn new() -> Self {
        let inside = Inside {
            leaving: Mutex::new(None),
            is_flushed: AtomicBool::new(true),
            file: Mutex::new(None),
        };
        Self(Arc::new(inside))
    }

    /// Gives a reply back, unless its connection is to leave: then it never ends.
    pub(super) async fn pass(self, response: Response) -> Response {
        let (mut parts, body) = response.into_parts();
        let asks = parts.extensions.get::<Takeover>().and_then(|takeover| takeover.0.lock().take());
        let Some(asks) = asks else {
            *self.0.file.lock() = parts.extensions.remove::<FromFile>().map(|file| file.0);
            return Response::from_parts(parts, body);
        };
        // The router measured the body that there is not.
        parts.headers.remove(header::CONTENT_LENGTH);
        *self.0.leaving.lock() = Some(Leaving { head: head(&parts), asks });
        std::future::pending().await
    }

    /// Whether the connection can leave: it is to, and replies before have been taken whole.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_flushed.load(Relaxed) && self.0.leaving.lock().is_some()
    }

    pub(super) fn take(&self) -> Option<Leaving> {
        self.0.leaving.lock().take()
    }
}

/// A reply's head as it goes over the wire. The connection ends with what follows it.
fn head(parts: &Parts) -> Bytes {
    let mut head = BytesMut::with_capacity(512);
    head.put_slice(b"HTTP/1.1 ");
    head.put_slice(parts.status.as_str().as_bytes());
    head.put_u8(b' ');
    head.put_slice(parts.status.canonical_reason().unwrap_or_default().as_bytes());
    head.put_slice(b"\r\n");
    for (name, value) in &parts.headers {
        put_header(&mut head, name.as_str(), value.as_bytes());
    }
    if !parts.headers.contains_key(header::CONNECTION) {
        put_header(&mut head, "connection", b"close");
    }
    if !parts.headers.contains_key(header::DATE) {
        put_header(&mut head, "date", http_date().as_bytes());
    }
    head.put_slice(b"\r\n");
    head.freeze()
}

fn put_header(head: &mut BytesMut, name: &str, value: &[u8]) {
    head.put_slice(name.as_bytes());
    head.put_slice(b": ");
    head.put_slice(value);
    head.put_slice(b"\r\n");
}

/// A whole reply to one who comes when the node turns out to be full.
pub(super) async fn refusal() -> Bytes {
    let (mut parts, body) = overloaded().into_parts();
    let body = axum::body::to_bytes(body, limits::PAGE_BYTES_MAX).await.unwrap_or_default();
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    parts.headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    [head(&parts), body].concat().into()
}

/// What HTTP is spoken over, and what of it can be given away.
pub(super) trait Connection: AsyncRead + AsyncWrite + Unpin + Send {
    /// The socket, and what encrypts it.
    fn take_apart(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)>;

    /// The socket.
    fn tcp(&self) -> &TcpStream;

    /// Bytes that the kernel holds until the other end has acknowledged them.
    fn unacknowledged(&self) -> u64 {
        sending::unacknowledged(self.tcp())
    }

    /// Writes pieces of which some may lie in this file.
    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        _file: &Sealed,
    ) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write_vectored(cx, pieces)
    }
}

impl Connection for TcpStream {
    fn take_apart(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)> {
        Ok((self.into_std()?, None))
    }

    fn tcp(&self) -> &TcpStream {
        self
    }

    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        file: &Sealed,
    ) -> Poll<io::Result<usize>> {
        sending::poll_write(self, cx, pieces, file)
    }
}

impl Connection for Box<TlsStream<TcpStream>> {
    fn take_apart(self) -> io::Result<(std::net::TcpStream, Option<Box<ServerConnection>>)> {
        let (socket, tls) = (*self).into_inner();
        Ok((socket.into_std()?, Some(Box::new(tls))))
    }

    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// A connection that tells the door whether everything that was written to it has been taken.
#[derive(Debug)]
pub(super) struct Watched<C> {
    socket: C,
    door: Door,
}

impl<C> Watched<C> {
    pub(super) fn new(socket: C, door: Door) -> Self {
        Self { socket, door }
    }

    pub(super) fn into_inner(self) -> C {
        self.socket
    }
}

impl<C: Connection> AsyncRead for Watched<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, into)
    }
}

impl<C: Connection> AsyncWrite for Watched<C> {
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
            Some(file) => this.socket.poll_write_from(cx, pieces, file),
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
