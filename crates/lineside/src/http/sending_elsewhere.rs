//! The fallback without `sendfile`: all bodies are written in the same way.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lineside_ingest::Sealed;
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;

/// The memory file that holds a response's body; in the response's extensions.
#[derive(Debug, Clone)]
pub(super) struct FromFile(pub(super) Arc<Sealed>);

/// Returns the number of unacknowledged bytes; always 0, because it is unknown on this system.
pub(super) fn unacknowledged(_socket: &TcpStream) -> u64 {
    0
}

/// Writes some of the pieces.
pub(super) fn poll_write(
    socket: &mut TcpStream,
    cx: &mut Context<'_>,
    pieces: &[IoSlice<'_>],
    _file: &Sealed,
) -> Poll<io::Result<usize>> {
    Pin::new(socket).poll_write_vectored(cx, pieces)
}
