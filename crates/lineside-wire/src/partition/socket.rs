//! A row's socket, with or without TLS.

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
    /// Bound: a record or two each way; one that is idle holds its keys.
    tls: Option<Box<ServerConnection>>,
}

impl ConnectionSocket {
    /// Takes a socket that somebody else accepted, and shook hands on; it must not block.
    pub(super) fn new(stream: std::net::TcpStream, mut tls: Option<Box<ServerConnection>>) -> Self {
        if let Some(tls) = &mut tls {
            tls.set_buffer_limit(Some(TLS_BUFFER_BYTES));
        }
        // A system without it tells of a reader's lag later.
        #[cfg(target_os = "linux")]
        drop(socket2::SockRef::from(&stream).set_tcp_notsent_lowat(NOT_SENT_BYTES));
        Self { stream: TcpStream::from_std(stream), tls }
    }

    /// Has the system tell of it, both ways, at each change.
    pub(super) fn register_socket(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.stream, token, Interest::READABLE | Interest::WRITABLE)
    }

    /// Whether something may have been read from it, and decrypted, by whoever had it before.
    pub(super) fn may_have_buffered(&self) -> bool {
        self.tls.is_some()
    }

    /// What can be read at once, as much as fits; 0 at its end. Less than fits means that there is no more.
    pub(super) fn read_bytes(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Self { stream, tls } = self;
        let Some(tls) = tls else { return retry_interrupted(|| stream.read(into)) };
        let mut n = 0;
        while n < into.len() {
            match tls.reader().read(&mut into[n..]) {
                // Its end was said, and is told once all before it has been.
                Ok(0) => break,
                Ok(more) => n += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match retry_interrupted(|| tls.read_tls(stream)) {
                        // Ended without a word: as over plain TCP.
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

    /// Writes as many of the pieces as the socket takes, and cuts them off. How many bytes that were.
    pub(super) fn write_pieces(&mut self, pieces: &mut Vec<Bytes>) -> io::Result<usize> {
        let written = match &mut self.tls {
            Some(tls) => {
                // No record is made that nobody takes: what lags stays whole and shared.
                send_tls(tls, &mut self.stream)?;
                write_gathered(pieces, |slices| tls.writer().write_vectored(slices))?
            }
            None => match &pieces[..] {
                [one] => retry_interrupted(|| self.stream.write(one))?,
                many => write_gathered(many, |slices| {
                    retry_interrupted(|| self.stream.write_vectored(slices))
                })?,
            },
        };
        cut_front(pieces, written);
        Ok(written)
    }

    /// Sends what was written and encrypted, and not yet taken.
    pub(super) fn flush_tls(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| send_tls(tls, &mut self.stream))
    }

    /// Says that nothing more will be written.
    pub(super) fn shutdown_write(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // One that takes nothing more hears it from TCP.
            _ = send_tls(tls, &mut self.stream);
        }
        // One that is broken already needs no end.
        _ = self.stream.shutdown(Shutdown::Write);
    }
}

fn send_tls(tls: &mut ServerConnection, stream: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        if retry_interrupted(|| tls.write_tls(stream))? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

fn write_gathered(
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

/// Takes so many bytes off the front.
fn cut_front(pieces: &mut Vec<Bytes>, mut bytes: usize) {
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
        fn what_is_cut_off_is_what_was_written(
            texts in prop::collection::vec("[a-z]{0,5}", 0..8),
            bytes in 0_usize..50,
        ) {
            let all = texts.concat();
            let bytes = bytes.min(all.len());
            let mut pieces: Vec<Bytes> = texts.into_iter().map(Bytes::from).collect();
            cut_front(&mut pieces, bytes);
            prop_assert_eq!(pieces.concat(), &all.as_bytes()[bytes..]);
        }
    }
}
