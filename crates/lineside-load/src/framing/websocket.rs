//! WebSocket frames (RFC 6455 §5) as a client reads them.
//!
//! The reader of lineside-wire gives whole messages. Here ten thousand sessions may each be in the middle of a large
//! one, of which only its ends are wanted: so frames are taken away as the bytes come, and nothing is gathered.

use super::BadFraming;

const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xA;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

/// Longest frame that is believed.
const FRAME_BYTES_MAX: u64 = 1 << 32;

/// Where in a frame a connection is.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    state: State,
    first: u8,
    /// A control frame that is not whole yet.
    control: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    First,
    Second,
    Length {
        bytes_left: u8,
        length: u64,
    },
    Payload(u64),
}

/// A whole control frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Ping(Vec<u8>),
    Pong,
    /// The server closes, with its code.
    Close(Option<u16>),
}

impl Frames {
    /// Moves the payload of the data frames in `bytes[from..to]` together from `into` on, and says where it then
    /// ends. After the last frame of a text message it writes a line break, so that messages are lines; `into` must
    /// therefore be before `from`.
    pub(crate) fn take_away(
        &mut self,
        bytes: &mut [u8],
        mut from: usize,
        to: usize,
        mut into: usize,
        controls: &mut Vec<Control>,
    ) -> Result<usize, BadFraming> {
        while from < to {
            if let State::Payload(left) = self.state {
                let length = (to - from).min(usize::try_from(left).unwrap_or(usize::MAX));
                if self.is_control() {
                    let control = self.control.get_or_insert_default();
                    control.extend_from_slice(&bytes[from..from + length]);
                } else {
                    bytes.copy_within(from..from + length, into);
                    into += length;
                }
                from += length;
                self.state = State::Payload(left - length as u64);
            } else {
                self.state = self.after(bytes[from])?;
                from += 1;
            }
            if self.state == State::Payload(0) {
                into = self.end_frame(bytes, into, controls);
            }
        }
        Ok(into)
    }

    fn is_control(&self) -> bool {
        self.first & CLOSE != 0
    }

    fn after(&mut self, byte: u8) -> Result<State, BadFraming> {
        Ok(match self.state {
            State::First => {
                // Whether a continuation goes on with text shows in how the message ends: keep what it began with.
                let opcode = byte & 0x0F;
                let known = matches!(opcode, 0 | TEXT | BINARY | CLOSE | PING | PONG);
                if byte & 0x70 != 0 || !known {
                    return Err(BadFraming::FrameHead);
                }
                self.first = if opcode == 0 { (byte & FINAL) | (self.first & 0x0F) } else { byte };
                State::Second
            }
            State::Second if byte & MASKED != 0 => return Err(BadFraming::FrameHead),
            State::Second if self.is_control() && byte > 125 => {
                return Err(BadFraming::FrameLength);
            }
            State::Second => match byte {
                126 => State::Length { bytes_left: 2, length: 0 },
                127 => State::Length { bytes_left: 8, length: 0 },
                length => State::Payload(u64::from(length)),
            },
            State::Length { bytes_left, length } => {
                let length = (length << 8) | u64::from(byte);
                if length > FRAME_BYTES_MAX {
                    return Err(BadFraming::FrameLength);
                }
                match bytes_left {
                    1 => State::Payload(length),
                    more => State::Length { bytes_left: more - 1, length },
                }
            }
            State::Payload(_) => self.state,
        })
    }

    fn end_frame(&mut self, bytes: &mut [u8], into: usize, controls: &mut Vec<Control>) -> usize {
        self.state = State::First;
        if self.is_control() {
            let payload = self.control.take().unwrap_or_default();
            controls.push(match self.first & 0x0F {
                PING => Control::Ping(payload),
                PONG => Control::Pong,
                _ => Control::Close(payload.first_chunk().map(|code| u16::from_be_bytes(*code))),
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
        frame::write_head(&mut frame, Opcode::Text, false, payload.len());
        frame[0] = first;
        [frame, payload.to_vec()].concat()
    }

    fn read(wire: &[u8], step: usize) -> Result<(Vec<u8>, Vec<Control>), BadFraming> {
        let (mut frames, mut read, mut controls) = (Frames::default(), Vec::new(), Vec::new());
        for piece in wire.chunks(step) {
            let mut bytes = [b"....", piece].concat();
            let to = bytes.len();
            let end = frames.take_away(&mut bytes, 4, to, 3, &mut controls)?;
            read.extend_from_slice(&bytes[3..end]);
        }
        Ok((read, controls))
    }

    #[test]
    fn text_messages_become_lines_however_they_are_cut() {
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
            Control::Ping(b"are you there".to_vec()),
            Control::Pong,
            Control::Close(Some(3001)),
        ];
        for step in 1..=wire.len() {
            assert_eq!(read(&wire, step), Ok((lines.clone(), controls.clone())), "{step}");
        }
    }

    #[test]
    fn binary_messages_stay_as_they_are() {
        let wire = [server_frame(0x82, b"\x01\x02"), server_frame(0x82, &[7; 70_000])].concat();
        let (read, _) = read(&wire, 1_000).expect("frames");
        assert_eq!(read.len(), 70_002);
    }

    #[test]
    fn what_no_server_may_send_is_told() {
        let mut masked = BytesMut::new();
        frame::write_masked(&mut masked, Opcode::Text, false, b"x", [1, 2, 3, 4]);
        assert_eq!(read(&masked, 9), Err(BadFraming::FrameHead));
        assert_eq!(read(&[0xC1, 1, 0], 9), Err(BadFraming::FrameHead));
        assert_eq!(read(&[0x83, 1, 0], 9), Err(BadFraming::FrameHead));
        assert_eq!(read(&[0x89, 126, 0, 200], 9), Err(BadFraming::FrameLength));
        assert_eq!(read(&[0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0], 10), Err(BadFraming::FrameLength));
    }
}
