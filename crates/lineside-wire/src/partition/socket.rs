//! The socket of a connection, with or without TLS.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::Shutdown;

use bytes::{Buf as _, Bytes};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use rustls::ServerConnection;

#[cfg(target_os = "linux")]
use super::limits::NOT_SENT_BYTES;
use super::limits::{PIECES_MAX, TLS_BUFFER_BYTES};

#[derive(Debug)]
pub(super) struct ConnectionSocket {
    stream: TcpStream,
    /// Bound: a record or two in each direction; an idle connection holds only its keys.
    tls: Option<Box<ServerConnection>>,
}

impl ConnectionSocket {
    /// Takes a socket that was accepted elsewhere, after its TLS handshake; it must be non-blocking.
    pub(super) fn new(stream: std::net::TcpStream, mut tls: Option<Box<ServerConnection>>) -> Self {
        if let Some(tls) = &mut tls {
            tls.set_buffer_limit(Some(TLS_BUFFER_BYTES));
        }
        // A system without this option shows a reader's lag later.
        #[cfg(target_os = "linux")]
        drop(socket2::SockRef::from(&stream).set_tcp_notsent_lowat(NOT_SENT_BYTES));
        Self { stream: TcpStream::from_std(stream), tls }
    }

    /// Registers the socket for readable and writable events, edge-triggered.
    pub(super) fn register_socket(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.stream, token, Interest::READABLE | Interest::WRITABLE)
    }

    /// Returns true if the previous owner may have read and decrypted input that is still buffered.
    pub(super) fn may_have_buffered_input(&self) -> bool {
        self.tls.is_some()
    }

    /// Reads the available bytes, as many as fit; 0 at the end of the stream. Fewer than fit means that there are no
    /// more.
    pub(super) fn read_bytes(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Self { stream, tls } = self;
        let Some(tls) = tls else { return retry_interrupted(|| stream.read(into)) };
        let mut n = 0;
        while n < into.len() {
            match tls.reader().read(&mut into[n..]) {
                // The peer has ended the stream; return 0 only after all bytes before it.
                Ok(0) => break,
                Ok(more) => n += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match retry_interrupted(|| tls.read_tls(stream)) {
                        // The peer closed without a TLS close_notify: treated as over plain TCP.
                        Ok(0) => break,
                        Ok(_) => {
                            tls.process_new_packets().map_err(io::Error::other)?;
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock && n > 0 => break,
                        Err(error) => return Err(error),
                    }
                }
                Err(_) => break,
            }
        }
        Ok(n)
    }

    /// Writes as much of the pieces as the socket accepts, and cuts it off. Returns the number of bytes.
    pub(super) fn write_pieces(&mut self, pieces: &mut Vec<Bytes>) -> io::Result<usize> {
        let written = match &mut self.tls {
            Some(tls) => {
                // Encrypts nothing while the socket has not accepted the earlier records: output that lags stays
                // shared.
                send_encrypted_bytes(tls, &mut self.stream)?;
                write_vectored_pieces(pieces, |slices| tls.writer().write_vectored(slices))?
            }
            None => match &pieces[..] {
                [one] => retry_interrupted(|| self.stream.write(one))?,
                many => write_vectored_pieces(many, |slices| {
                    retry_interrupted(|| self.stream.write_vectored(slices))
                })?,
            },
        };
        remove_written_bytes(pieces, written);
        Ok(written)
    }

    /// Sends the encrypted bytes that the socket has not accepted yet.
    pub(super) fn flush_tls(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| send_encrypted_bytes(tls, &mut self.stream))
    }

    /// Shuts down the write side.
    pub(super) fn shutdown_write(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // If the socket accepts no more, the TCP shutdown informs the peer.
            _ = send_encrypted_bytes(tls, &mut self.stream);
        }
        // A broken connection needs no shutdown.
        _ = self.stream.shutdown(Shutdown::Write);
    }
}

fn send_encrypted_bytes(tls: &mut ServerConnection, stream: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        if retry_interrupted(|| tls.write_tls(stream))? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

fn write_vectored_pieces(
    pieces: &[Bytes],
    write: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut slices = [IoSlice::new(&[]); PIECES_MAX];
    let n = pieces.len().min(PIECES_MAX);
    for (slice, piece) in slices.iter_mut().zip(pieces) {
        *slice = IoSlice::new(piece);
    }
    write(&slices[..n])
}

fn retry_interrupted(mut step: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match step() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Cuts `bytes` bytes off the front.
fn remove_written_bytes(pieces: &mut Vec<Bytes>, mut bytes: usize) {
    let mut whole = 0;
    for piece in pieces.iter_mut() {
        if piece.len() > bytes {
            piece.advance(bytes);
            break;
        }
        bytes -= piece.len();
        whole += 1;
    }
    pieces.drain(..whole);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cut_front_removes_exactly_the_written_bytes(
            texts in prop::collection::vec("[a-z]{0,5}", 0..8),
            bytes in 0_usize..50,
        ) {
            let all = texts.concat();
            let bytes = bytes.min(all.len());
            let mut pieces: Vec<Bytes> = texts.into_iter().map(Bytes::from).collect();
            remove_written_bytes(&mut pieces, bytes);
            prop_assert_eq!(pieces.concat(), &all.as_bytes()[bytes..]);
        }
    }
}
