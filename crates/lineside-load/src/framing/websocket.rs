//! Decodes WebSocket frames (RFC 6455 §5) as a client.
//!
//! The decoder of lineside-wire returns whole messages. Here ten thousand sessions may each be in the middle of a large
//! message of which only both ends are needed, so frames are removed as bytes arrive, without buffering.

use super::FramingError;

const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

/// Longest accepted frame, in bytes.
const FRAME_BYTES_MAX: u64 = 1 << 32;

/// The position of a connection within a frame.
#[derive(Debug, Default)]
pub(crate) struct FrameDecoder {
    state: FrameState,
    first: u8,
    /// An unfinished control frame.
    control: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FrameState {
    #[default]
    First,
    Second,
    Length {
        bytes_left: u8,
        length: u64,
    },
    Payload(u64),
}

/// A complete control frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ControlFrame {
    Ping(Vec<u8>),
    Pong,
    /// The server closes the connection, with this code.
    Close(Option<u16>),
}

impl FrameDecoder {
    /// Moves the payload of the data frames in `bytes[from..to]` to `into`, and returns its end. It appends a line
    /// break to each text message, so that messages are lines; `into` must therefore be before `from`.
    pub(crate) fn move_frame_payloads(
        &mut self,
        bytes: &mut [u8],
        mut from: usize,
        to: usize,
        mut into: usize,
        controls: &mut Vec<ControlFrame>,
    ) -> Result<usize, FramingError> {
        while from < to {
            if let FrameState::Payload(left) = self.state {
                let length = (to - from).min(usize::try_from(left).unwrap_or(usize::MAX));
                if self.is_control_frame() {
                    let control = self.control.get_or_insert_default();
                    control.extend_from_slice(&bytes[from..from + length]);
                } else {
                    bytes.copy_within(from..from + length, into);
                    into += length;
                }
                from += length;
                self.state = FrameState::Payload(left - length as u64);
            } else {
                self.state = self.advance_frame_state(bytes[from])?;
                from += 1;
            }
            if self.state == FrameState::Payload(0) {
                into = self.finish_frame(bytes, into, controls);
            }
        }
        Ok(into)
    }

    fn is_control_frame(&self) -> bool {
        self.first & CLOSE != 0
    }

    fn advance_frame_state(&mut self, byte: u8) -> Result<FrameState, FramingError> {
        Ok(match self.state {
            FrameState::First => {
                // The end of a message depends on its type, so a continuation keeps the opcode of the first frame.
                let opcode = byte & 0x0F;
                let known = matches!(opcode, 0 | TEXT | BINARY | CLOSE | PING | PONG);
                if byte & 0x70 != 0 || !known {
                    return Err(FramingError::FrameHead);
                }
                self.first = if opcode == 0 { (byte & FINAL) | (self.first & 0x0F) } else { byte };
                FrameState::Second
            }
            FrameState::Second if byte & MASKED != 0 => return Err(FramingError::FrameHead),
            FrameState::Second if self.is_control_frame() && byte > 125 => {
                return Err(FramingError::FrameLength);
            }
            FrameState::Second => match byte {
                126 => FrameState::Length { bytes_left: 2, length: 0 },
                127 => FrameState::Length { bytes_left: 8, length: 0 },
                length => FrameState::Payload(u64::from(length)),
            },
            FrameState::Length { bytes_left, length } => {
                let length = (length << 8) | u64::from(byte);
                if length > FRAME_BYTES_MAX {
                    return Err(FramingError::FrameLength);
                }
                match bytes_left {
                    1 => FrameState::Payload(length),
                    more => FrameState::Length { bytes_left: more - 1, length },
                }
            }
            FrameState::Payload(_) => self.state,
        })
    }

    fn finish_frame(
        &mut self,
        bytes: &mut [u8],
        into: usize,
        controls: &mut Vec<ControlFrame>,
    ) -> usize {
        self.state = FrameState::First;
        if self.is_control_frame() {
            let payload = self.control.take().unwrap_or_default();
            controls.push(match self.first & 0x0F {
                PING => ControlFrame::Ping(payload),
                PONG => ControlFrame::Pong,
                _ => {
                    ControlFrame::Close(payload.first_chunk().map(|code| u16::from_be_bytes(*code)))
                }
            });
            return into;
        }
        if self.first & 0x0F == TEXT && self.first & FINAL != 0 {
            bytes[into] = b'\n';
            return into + 1;
        }
        into
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use lineside_wire::websocket::frame::{self, Opcode};

    use super::*;

    fn server_frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        frame::write_frame_head(&mut frame, Opcode::Text, false, payload.len());
        frame[0] = first;
        [frame, payload.to_vec()].concat()
    }

    fn read(wire: &[u8], step: usize) -> Result<(Vec<u8>, Vec<ControlFrame>), FramingError> {
        let (mut frames, mut read, mut controls) =
            (FrameDecoder::default(), Vec::new(), Vec::new());
        for piece in wire.chunks(step) {
            let mut bytes = [b"....", piece].concat();
            let to = bytes.len();
            let end = frames.move_frame_payloads(&mut bytes, 4, to, 3, &mut controls)?;
            read.extend_from_slice(&bytes[3..end]);
        }
        Ok((read, controls))
    }

    #[test]
    fn text_messages_become_lines_from_any_pieces() {
        let long = [b'x'; 300];
        let wire = [
            server_frame(0x81, b"one"),
            server_frame(0x89, b"are you there"),
            server_frame(0x01, b"two, "),
            server_frame(0x80, b"continued"),
            server_frame(0x81, &long),
            server_frame(0x8A, b""),
            server_frame(0x88, &[0x0B, 0xB9]),
        ];
        let wire = wire.concat();
        let lines = [&b"one\ntwo, continued\n"[..], &long, b"\n"].concat();
        let controls = vec![
            ControlFrame::Ping(b"are you there".to_vec()),
            ControlFrame::Pong,
            ControlFrame::Close(Some(3001)),
        ];
        for step in 1..=wire.len() {
            assert_eq!(read(&wire, step), Ok((lines.clone(), controls.clone())), "{step}");
        }
    }

    #[test]
    fn binary_messages_are_unchanged() {
        let wire = [server_frame(0x82, b"\x01\x02"), server_frame(0x82, &[7; 70_000])].concat();
        let (read, _) = read(&wire, 1_000).expect("frames");
        assert_eq!(read.len(), 70_002);
    }

    #[test]
    fn frames_that_no_server_may_send_are_errors() {
        let mut masked = BytesMut::new();
        frame::write_masked_frame(&mut masked, Opcode::Text, false, b"x", [1, 2, 3, 4]);
        assert_eq!(read(&masked, 9), Err(FramingError::FrameHead));
        assert_eq!(read(&[0xC1, 1, 0], 9), Err(FramingError::FrameHead));
        assert_eq!(read(&[0x83, 1, 0], 9), Err(FramingError::FrameHead));
        assert_eq!(read(&[0x89, 126, 0, 200], 9), Err(FramingError::FrameLength));
        assert_eq!(read(&[0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0], 10), Err(FramingError::FrameLength));
    }
}
