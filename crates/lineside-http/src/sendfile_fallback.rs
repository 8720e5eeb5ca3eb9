//! The fallback without `sendfile`: all bodies are written in the same way.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use lineside_model::MemoryFile;
use tokio::net::TcpStream;

/// The memory file that holds a response's body; in the response's extensions.
#[derive(Debug, Clone)]
pub struct FileBackedBody(pub Arc<MemoryFile>);

/// Returns the number of unacknowledged bytes; always 0, because it is unknown on this system.
pub fn unacknowledged_bytes(_socket: &TcpStream) -> u64 {
    0
}

/// Writes some of the pieces.
pub fn poll_write(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    pieces: &[IoSlice<'_>],
    _file: &MemoryFile,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_write_ready(cx))?;
        match socket.try_write_vectored(pieces) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            written => return Poll::Ready(written),
        }
    }
}
