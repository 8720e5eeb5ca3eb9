//! One session: its connection and the state of its parser.

use bytes::BytesMut;

use super::stream::SocketStream;
use crate::clock::MonotonicNanos;
use crate::framing::{ControlFrame, PayloadFraming};
use crate::limits::{HEAD_BYTES, TAIL_BYTES};

/// The progress of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionPhase {
    /// The socket is not connected, or the request is not written.
    Opening,
    /// The request is written.
    Requested,
    /// The server has accepted; the state of some channels has not arrived yet.
    Accepted,
    /// The state of every channel has arrived.
    Ready,
}

/// A session. Its size is at most 200 bytes, checked below; boxes exist only during an unfinished message.
pub(crate) struct SessionRow {
    pub(crate) stream: SocketStream,
    pub(crate) framing: PayloadFraming,
    pub(crate) phase: SessionPhase,
    /// Number of channels whose state has not arrived.
    pub(crate) waits_for: u32,
    /// Time at which the connection was opened.
    pub(crate) opened: MonotonicNanos,
    pub(crate) has_state: bool,
    pub(crate) unfinished: Option<UnfinishedMessage>,
    /// Bytes that the socket has not accepted: at most one request, or a first message, and pongs.
    pub(crate) to_write: BytesMut,
}

const _: () = assert!(size_of::<Option<SessionRow>>() <= 200);

impl SessionRow {
    pub(crate) fn new(
        stream: SocketStream,
        opened: MonotonicNanos,
        request: BytesMut,
        channels: u32,
    ) -> Self {
        Self {
            stream,
            framing: PayloadFraming::Plain,
            phase: SessionPhase::Opening,
            waits_for: channels,
            opened,
            has_state: false,
            unfinished: None,
            to_write: request,
        }
    }

    /// Removes the framing of `bytes[from..to]` and moves the payload to `into`. Returns the end of the payload.
    pub(crate) fn unframe_payload(
        &mut self,
        bytes: &mut [u8],
        from: usize,
        to: usize,
        into: usize,
        controls: &mut Vec<ControlFrame>,
    ) -> Result<usize, crate::framing::FramingError> {
        match &mut self.framing {
            PayloadFraming::Plain => {
                bytes.copy_within(from..to, into);
                Ok(into + to - from)
            }
            PayloadFraming::Chunked(chunked) => chunked.move_chunk_contents(bytes, from, to, into),
            PayloadFraming::Frames(frames) => {
                frames.move_frame_payloads(bytes, from, to, into, controls)
            }
        }
    }
}

/// The stored part of an unfinished message: its first [`HEAD_BYTES`] and, if it is longer than these and
/// [`TAIL_BYTES`], its last ones.
pub(crate) struct UnfinishedMessage(Box<StoredMessageEnds>);

struct StoredMessageEnds {
    length: usize,
    dropped: usize,
    bytes: [u8; UnfinishedMessage::BYTES_MAX],
}

impl UnfinishedMessage {
    pub(crate) const BYTES_MAX: usize = HEAD_BYTES + TAIL_BYTES;

    pub(crate) fn new() -> Self {
        Self(Box::new(StoredMessageEnds { length: 0, dropped: 0, bytes: [0; Self::BYTES_MAX] }))
    }

    pub(crate) fn stored_bytes(&self) -> &[u8] {
        &self.0.bytes[..self.0.length]
    }

    pub(crate) fn dropped_bytes(&self) -> usize {
        self.0.dropped
    }

    /// Stores the received part of a message, of which `dropped` bytes were dropped before.
    pub(crate) fn store_message_ends(&mut self, message: &[u8], dropped: usize) {
        let more = message.len().saturating_sub(Self::BYTES_MAX);
        let pieces = &mut *self.0;
        pieces.dropped = dropped + more;
        pieces.length = message.len() - more;
        let head = HEAD_BYTES.min(message.len());
        pieces.bytes[..head].copy_from_slice(&message[..head]);
        pieces.bytes[head..pieces.length].copy_from_slice(&message[head + more..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_message_are_stored() {
        let message: Vec<u8> = (0..10_000_u32).map(|n| (n % 251) as u8).collect();
        for step in [1, 7, 1_000, 1_280, 1_281, 9_999, 10_000] {
            let mut unfinished = UnfinishedMessage::new();
            for piece in message.chunks(step) {
                let so_far = [unfinished.stored_bytes(), piece].concat();
                let dropped = unfinished.dropped_bytes();
                unfinished.store_message_ends(&so_far, dropped);
            }
            assert_eq!(
                unfinished.stored_bytes().len() + unfinished.dropped_bytes(),
                message.len(),
                "{step}"
            );
            assert_eq!(unfinished.stored_bytes()[..HEAD_BYTES], message[..HEAD_BYTES]);
            assert_eq!(unfinished.stored_bytes()[HEAD_BYTES..], message[10_000 - TAIL_BYTES..]);
        }
    }
}
