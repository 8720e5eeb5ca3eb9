//! Where bodies do not lie in files, all is written in the same way.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use lineside_ingest::Sealed;
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;

/// In a response's extensions: where its body lies.
#[derive(Debug, Clone)]
pub(super) struct FromFile(pub(super) Arc<Sealed>);

/// Bytes that the kernel holds for the other end; not known here.
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
