//! Outgoing frames. A message is always one frame.

use bytes::{Buf as _, BufMut, Bytes, BytesMut};

use super::CONTROL_BYTES_MAX;

/// The longest head of a frame: two bytes, a length of eight, a mask of four.
pub const HEAD_BYTES_MAX: usize = 14;

/// The longest head without a mask.
const PLAIN_HEAD_BYTES_MAX: usize = 10;

/// A ping without payload, from a server.
pub const PING: Bytes = Bytes::from_static(&[FINAL | Opcode::Ping as u8, 0]);

const FINAL: u8 = 0x80;
/// The first reserved bit: the message is compressed (RFC 7692 §6).
const COMPRESSED: u8 = 0x40;
const MASKED: u8 = 0x80;

/// The type of a frame (RFC 6455 §5.2). Continuation frames are never written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// A text message.
    Text = 1,
    /// A binary message.
    Binary = 2,
    /// The end of the connection.
    Close = 8,
    /// A ping, which needs a pong.
    Ping = 9,
    /// The reply to a ping.
    Pong = 10,
}

/// Writes the head of a server's frame; `length` bytes of payload must follow.
pub fn write_frame_head(into: &mut impl BufMut, opcode: Opcode, compressed: bool, length: usize) {
    write_frame_head_with_mask(into, opcode, compressed, length, 0);
}

fn write_frame_head_with_mask(
    into: &mut impl BufMut,
    opcode: Opcode,
    compressed: bool,
    length: usize,
    masked: u8,
) {
    into.put_u8(FINAL | if compressed { COMPRESSED } else { 0 } | opcode as u8);
    match length {
        0..=125 => into.put_u8(masked | length as u8),
        126..=0xffff => {
            into.put_u8(masked | 126);
            into.put_u16(length as u16);
        }
        _ => {
            into.put_u8(masked | 127);
            into.put_u64(length as u64);
        }
    }
}

/// Creates the buffer of a server's frame with a single allocation: append the payload, then [`prepend_frame_head`]
/// puts the head before it.
pub fn new_frame_buffer(payload_bytes: usize) -> BytesMut {
    let mut frame = BytesMut::with_capacity(PLAIN_HEAD_BYTES_MAX + payload_bytes);
    frame.put_bytes(0, PLAIN_HEAD_BYTES_MAX);
    frame
}

/// Finishes a frame whose payload has been appended to the buffer of [`new_frame_buffer`].
pub fn prepend_frame_head(mut frame: BytesMut, opcode: Opcode, compressed: bool) -> Bytes {
    let length = frame.len().saturating_sub(PLAIN_HEAD_BYTES_MAX);
    frame.advance(PLAIN_HEAD_BYTES_MAX - frame_head_size(length));
    write_frame_head(&mut &mut frame[..], opcode, compressed, length);
    frame.freeze()
}

/// Returns the number of bytes that [`write_frame_head`] writes for a payload of this length.
pub fn frame_head_size(length: usize) -> usize {
    match length {
        0..=125 => 2,
        126..=0xffff => 4,
        _ => 10,
    }
}

/// Writes a client's frame. The mask must be unpredictable for the author of the payload.
pub fn write_masked_frame(
    into: &mut BytesMut,
    opcode: Opcode,
    compressed: bool,
    payload: &[u8],
    mask: [u8; 4],
) {
    into.reserve(HEAD_BYTES_MAX + payload.len());
    write_frame_head_with_mask(into, opcode, compressed, payload.len(), MASKED);
    into.put_slice(&mask);
    let begin = into.len();
    into.put_slice(payload);
    apply_mask(&mut into[begin..], mask, 0);
}

/// Writes a server's reply to a ping, with its payload.
pub fn write_pong_frame(into: &mut BytesMut, payload: &[u8]) {
    let payload = &payload[..payload.len().min(CONTROL_BYTES_MAX)];
    write_frame_head(into, Opcode::Pong, false, payload.len());
    into.put_slice(payload);
}

/// Returns a server's last frame. A reason that is too long is cut.
pub fn encode_close_frame(code: u16, reason: &str) -> Bytes {
    let payload = close_payload(code, reason);
    let mut frame = BytesMut::with_capacity(2 + payload.len());
    write_frame_head(&mut frame, Opcode::Close, false, payload.len());
    frame.put_slice(&payload);
    frame.freeze()
}

/// Returns the payload of a close frame.
fn close_payload(code: u16, reason: &str) -> Bytes {
    let end = reason.floor_char_boundary(CONTROL_BYTES_MAX - 2);
    let mut payload = BytesMut::with_capacity(2 + end);
    payload.put_u16(code);
    payload.put_slice(&reason.as_bytes()[..end]);
    payload.freeze()
}

/// Masks or unmasks a piece of a payload after its first `offset` bytes.
pub(super) fn apply_mask(bytes: &mut [u8], mask: [u8; 4], offset: usize) {
    let rotated = |n: usize| mask[(offset + n) % 4];
    let four = [rotated(0), rotated(1), rotated(2), rotated(3)];
    // Eight bytes at a time, so that the compiler can vectorize the loop.
    let eight = [four[0], four[1], four[2], four[3], four[0], four[1], four[2], four[3]];
    let wide = u64::from_ne_bytes(eight);
    let mut chunks = bytes.chunks_exact_mut(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        chunk.copy_from_slice(&(u64::from_ne_bytes(word) ^ wide).to_ne_bytes());
    }
    for (byte, mask) in chunks.into_remainder().iter_mut().zip(eight) {
        *byte ^= mask;
    }
}
