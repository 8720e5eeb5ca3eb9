//! A writer of replies: several in one frame, no frame large.

use std::collections::VecDeque;
use std::mem;

use bytes::{BufMut as _, Bytes, BytesMut};
use lineside_hub::ClientDelivery;

use super::limits::{FRAME_BYTES, OUTBOX_BYTES};
use crate::centrifuge::{ProtocolFormat, Reply, push};
use crate::websocket::{DEFLATE_BYTES_MIN, Deflater, frame};

pub(super) struct ReplyWriter<'a> {
    format: ProtocolFormat,
    /// Set if compression was negotiated.
    deflater: Option<&'a mut Deflater>,
    frames: &'a mut VecDeque<Bytes>,
    /// The bytes in the frames.
    bytes: usize,
    payload: BytesMut,
    /// Deliveries that were pulled for a reply but did not fit. Bound: one per channel in the reply.
    pub(super) after_reply: Vec<ClientDelivery>,
}

impl<'a> ReplyWriter<'a> {
    pub(super) fn new(
        format: ProtocolFormat,
        deflater: Option<&'a mut Deflater>,
        frames: &'a mut VecDeque<Bytes>,
    ) -> Self {
        let bytes = frames.iter().map(Bytes::len).sum();
        let payload = BytesMut::new();
        Self { format, deflater, frames, bytes, payload, after_reply: Vec::new() }
    }

    pub(super) fn append_reply(&mut self, reply: &Reply) {
        if self.payload.len() >= FRAME_BYTES {
            self.flush_replies_as_frame();
        }
        reply.append_to_message(self.format, &mut self.payload);
    }

    /// Adds a frame after the replies.
    pub(super) fn push_frame_after_replies(&mut self, pieces: push::FramePieces) {
        self.flush_replies_as_frame();
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        for piece in pieces {
            self.bytes += piece.len();
            self.frames.push_back(piece);
        }
    }

    pub(super) fn deflater(&mut self) -> Option<&mut Deflater> {
        self.deflater.as_deref_mut()
    }

    /// Returns true if the socket must accept some replies before there are more.
    pub(super) fn must_wait_for_socket(&self) -> bool {
        self.bytes + self.payload.len() >= OUTBOX_BYTES
    }

    pub(super) fn flush_last_frame(mut self) {
        self.flush_replies_as_frame();
    }

    fn flush_replies_as_frame(&mut self) {
        let payload = mem::take(&mut self.payload);
        if payload.is_empty() {
            return;
        }
        let mut frame = frame::new_frame_buffer(payload.len());
        let deflater = self.deflater.as_mut().filter(|_| payload.len() >= DEFLATE_BYTES_MIN);
        let compressed = deflater.is_some();
        match deflater {
            Some(deflater) => deflater.deflate_message(&payload, &mut frame),
            None => frame.put_slice(&payload),
        }
        let frame = frame::prepend_frame_head(frame, push::frame_opcode(self.format), compressed);
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }
}
