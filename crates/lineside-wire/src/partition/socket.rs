//! A row's socket.

use std::io::{self, IoSlice, Read as _, Write as _};
use std::net::Shutdown;

use bytes::{Buf as _, Bytes};
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::limits::PIECES_MAX;

#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
}

impl Socket {
    /// Takes a socket that somebody else accepted; it must not block.
    pub(super) fn new(stream: std::net::TcpStream) -> Self {
        Self { stream: TcpStream::from_std(stream) }
    }

    /// Has the system tell of it, both ways, at each change.
    pub(super) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.stream, token, Interest::READABLE | Interest::WRITABLE)
    }

    /// What can be read at once; 0 at its end.
    pub(super) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        retried(|| self.stream.read(into))
    }

    /// Writes as many of the pieces as the socket takes, and cuts them off. How many bytes that were.
    pub(super) fn write(&mut self, pieces: &mut Vec<Bytes>) -> io::Result<usize> {
        let written = match &pieces[..] {
            [] => 0,
            [one] => retried(|| self.stream.write(one))?,
            many => {
                let mut slices = [IoSlice::new(&[]); PIECES_MAX];
                let n = many.len().min(PIECES_MAX);
                for (slice, piece) in slices.iter_mut().zip(many) {
                    *slice = IoSlice::new(piece);
                }
                retried(|| self.stream.write_vectored(&slices[..n]))?
            }
        };
        cut(pieces, written);
        Ok(written)
    }

    /// Says that nothing more will be written.
    pub(super) fn finish(&mut self) {
        // One that is broken already needs no end.
        _ = self.stream.shutdown(Shutdown::Write);
    }
}

fn retried(mut step: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match step() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Takes so many bytes off the front.
fn cut(pieces: &mut Vec<Bytes>, mut bytes: usize) {
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
            cut(&mut pieces, bytes);
            prop_assert_eq!(pieces.concat(), &all.as_bytes()[bytes..]);
        }
    }
}
