//! Sending bodies from memory files with `sendfile`, so that the kernel copies nothing.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use lineside_model::MemoryFile;
use nix::libc;
use nix::sys::sendfile::sendfile64;
use nix::sys::socket::{MsgFlags, sendmsg};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// The memory file that holds a response's body; in the response's extensions.
#[derive(Debug, Clone)]
pub(crate) struct FileBackedBody(pub Arc<MemoryFile>);

/// Smaller pieces are written by `sendmsg`.
const PIECE_BYTES_MIN: usize = 16 << 10;
/// Larger files are copied for a client on this machine, which is often another proxy: it reads the pages of a file
/// that does not fit the nearer CPU caches more slowly than a fresh copy (docs/benchmarks.md, "Proxy").
const NEAR_BYTES_MAX: usize = 1 << 20;

/// Returns the number of bytes in the kernel's send queue that the peer has not acknowledged.
#[expect(unsafe_code, reason = "reading the length of a send queue needs ioctl")]
pub(crate) fn unacknowledged_bytes(socket: &TcpStream) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: TIOCOUTQ (SIOCOUTQ) writes one int through the pointer, and `bytes` outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if done == 0 { u64::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// Writes some of the pieces, those that lie in the file with `sendfile`.
pub(crate) fn poll_write(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    pieces: &[IoSlice<'_>],
    file: &MemoryFile,
) -> Poll<io::Result<usize>> {
    let found = find_file_piece(pieces, file).filter(|_| is_sendfile_worthwhile(socket, file));
    loop {
        ready!(socket.poll_write_ready(cx))?;
        let written = socket.try_io(Interest::WRITABLE, || match found {
            Some((before, piece, at)) => send_pieces_and_file(socket, before, piece, at, file),
            None => write_memory_pieces(socket, pieces, MsgFlags::empty()),
        });
        match written {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            written => return Poll::Ready(written),
        }
    }
}

/// Finds the first piece that lies in the file; returns the pieces before it, the piece, and its offset in the file.
fn find_file_piece<'a, 'b>(
    pieces: &'a [IoSlice<'b>],
    file: &MemoryFile,
) -> Option<(&'a [IoSlice<'b>], &'a [u8], usize)> {
    pieces.iter().enumerate().find_map(|(i, piece)| {
        let at = file.offset_of_slice(piece).filter(|_| piece.len() >= PIECE_BYTES_MIN)?;
        Some((&pieces[..i], &**piece, at))
    })
}

fn is_sendfile_worthwhile(socket: &TcpStream, file: &MemoryFile) -> bool {
    let is_near = |peer: SocketAddr| peer.ip().to_canonical().is_loopback();
    file.byte_length() <= NEAR_BYTES_MAX || !socket.peer_addr().is_ok_and(is_near)
}

/// Writes the pieces before the file's piece, and then as much of that piece as the socket takes.
fn send_pieces_and_file(
    socket: &TcpStream,
    before: &[IoSlice<'_>],
    piece: &[u8],
    at: usize,
    file: &MemoryFile,
) -> io::Result<usize> {
    let length: usize = before.iter().map(|piece| piece.len()).sum();
    if length > 0 {
        // `MSG_MORE` puts the bytes that follow into the same packet.
        let written =
            write_memory_pieces(socket, before, MsgFlags::from_bits_retain(libc::MSG_MORE))?;
        if written < length {
            return Ok(written);
        }
    }
    let mut at = libc::off64_t::try_from(at).map_err(io::Error::other)?;
    match sendfile64(socket.as_fd(), file.file(), Some(&mut at), piece.len()) {
        Ok(sent) => Ok(length + sent),
        Err(_) if length > 0 => Ok(length),
        Err(error) => Err(error.into()),
    }
}

fn write_memory_pieces(
    socket: &TcpStream,
    pieces: &[IoSlice<'_>],
    flags: MsgFlags,
) -> io::Result<usize> {
    let flags = flags | MsgFlags::MSG_NOSIGNAL;
    Ok(sendmsg::<()>(socket.as_raw_fd(), pieces, &[], flags, None)?)
}
