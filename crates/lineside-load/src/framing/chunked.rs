//! Decodes HTTP/1.1 chunks (RFC 9112 §7.1).

use super::FramingError;

/// The position of a connection within a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChunkDecoder {
    /// At or in the digits of a size.
    #[default]
    Begin,
    Size(u32),
    /// After the digits, before the end of the line.
    Extension(u32),
    Data(u32),
    /// The line break after the data.
    After,
}

/// Largest accepted chunk, in bytes.
const CHUNK_BYTES_MAX: u32 = 1 << 28;

impl ChunkDecoder {
    /// Moves the content of the chunks in `bytes[from..to]` to `into`, and returns its end. `into` must not be after
    /// `from`.
    pub(crate) fn move_chunk_contents(
        &mut self,
        bytes: &mut [u8],
        mut from: usize,
        to: usize,
        mut into: usize,
    ) -> Result<usize, FramingError> {
        while from < to {
            if let Self::Data(left) = *self {
                let length = (to - from).min(left as usize);
                bytes.copy_within(from..from + length, into);
                (from, into) = (from + length, into + length);
                *self = match left - length as u32 {
                    0 => Self::After,
                    left => Self::Data(left),
                };
                continue;
            }
            *self = self.advance_chunk_state(bytes[from])?;
            from += 1;
        }
        Ok(into)
    }

    fn advance_chunk_state(self, byte: u8) -> Result<Self, FramingError> {
        let digit = char::from(byte).to_digit(16);
        Ok(match (self, byte, digit) {
            (Self::Begin, _, Some(digit)) => Self::Size(digit),
            (Self::Size(size), _, Some(digit)) if size < CHUNK_BYTES_MAX >> 4 => {
                Self::Size((size << 4) | digit)
            }
            (Self::Size(0) | Self::Extension(0), b'\n', _) => return Err(FramingError::Ended),
            (Self::Size(size) | Self::Extension(size), b'\n', _) => Self::Data(size),
            (Self::Size(size), b'\r' | b';' | b' ', _) | (Self::Extension(size), _, _) => {
                Self::Extension(size)
            }
            (Self::After, b'\r', _) => Self::After,
            (Self::After, b'\n', _) => Self::Begin,
            _ => return Err(FramingError::ChunkSize),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `wire` in pieces of `step` bytes, as a connection delivers them.
    fn read(wire: &[u8], step: usize) -> Result<Vec<u8>, FramingError> {
        let mut state = ChunkDecoder::default();
        let mut read = Vec::new();
        for piece in wire.chunks(step) {
            let mut bytes = [b"..", piece].concat();
            let to = bytes.len();
            let end = state.move_chunk_contents(&mut bytes, 2, to, 1)?;
            read.extend_from_slice(&bytes[1..end]);
        }
        Ok(read)
    }

    #[test]
    fn chunks_are_decoded_from_any_pieces() {
        let wire = b"5\r\nhello\r\n1b;name=value\r\n, this is a longer chunk \r\n\r\n2\r\n!\n\r\n";
        for step in 1..=wire.len() {
            assert_eq!(
                read(wire, step).as_deref(),
                Ok(&b"hello, this is a longer chunk \r\n!\n"[..]),
                "{step}"
            );
        }
    }

    #[test]
    fn the_end_and_malformed_chunks_are_errors() {
        assert_eq!(read(b"1\r\na\r\n0\r\n\r\n", 3), Err(FramingError::Ended));
        assert_eq!(read(b"x\r\n", 3), Err(FramingError::ChunkSize));
        assert_eq!(read(b"fffffffff\r\n", 30), Err(FramingError::ChunkSize));
        assert_eq!(read(b"1\r\nab\r\n", 30), Err(FramingError::ChunkSize));
    }
}
