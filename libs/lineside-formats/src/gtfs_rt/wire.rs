//! Steps over the fields of one protobuf message without decoding them (protobuf.dev, "Encoding").
//!
//! prost only decodes whole messages and does not report the position of a fault. This module reports it, and
//! distinguishes truncated bytes from malformed ones.

use std::fmt;

/// Deepest nesting of groups that is followed; protobuf's own limit for messages.
const GROUP_DEPTH_MAX: usize = 100;
/// Protobuf's own limit on any length.
const LENGTH_MAX: u64 = i32::MAX as u64;
/// Bytes of the longest variable-length integer.
const VARINT_BYTES_MAX: usize = 10;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProtobufField<'a> {
    pub(super) number: u32,
    pub(super) value: ProtobufValue<'a>,
}

/// The value of a field, as far as the encoding determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtobufValue<'a> {
    Varint(u64),
    /// A text, a message or a packed list.
    Bytes(&'a [u8]),
    /// 32 or 64 bits, or a group.
    Other,
}

/// The fault that ends the iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProtobufFault {
    /// The bytes end inside a field.
    Truncated,
    /// The bytes are not protobuf.
    Malformed(&'static str),
}

impl fmt::Display for ProtobufFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProtobufFault::Truncated => f.write_str("it is truncated in the middle of a field"),
            ProtobufFault::Malformed(what) => f.write_str(what),
        }
    }
}

/// An iterator over the fields of a message. It ends after a fault.
#[derive(Clone, Debug)]
pub(super) struct ProtobufFields<'a> {
    rest: &'a [u8],
}

impl<'a> ProtobufFields<'a> {
    pub(super) fn new(message: &'a [u8]) -> ProtobufFields<'a> {
        ProtobufFields { rest: message }
    }

    #[inline]
    fn next_field(&mut self) -> Result<ProtobufField<'a>, ProtobufFault> {
        let (number, wire_type) = self.read_field_key()?;
        let value = match wire_type {
            0 => ProtobufValue::Varint(self.read_varint()?),
            1 => self.take_bytes(8).map(|_| ProtobufValue::Other)?,
            2 => ProtobufValue::Bytes(self.read_length_delimited()?),
            3 => self.skip_group(number).map(|()| ProtobufValue::Other)?,
            4 => return Err(ProtobufFault::Malformed("a group ends without a start")),
            5 => self.take_bytes(4).map(|_| ProtobufValue::Other)?,
            _ => return Err(ProtobufFault::Malformed("a field has an invalid wire type")),
        };
        Ok(ProtobufField { number, value })
    }

    fn read_field_key(&mut self) -> Result<(u32, u8), ProtobufFault> {
        let key = u32::try_from(self.read_varint()?)
            .map_err(|_| ProtobufFault::Malformed("a field number is out of range"))?;
        match key >> 3 {
            0 => Err(ProtobufFault::Malformed("a field has the number 0")),
            number => Ok((number, (key & 7) as u8)),
        }
    }

    /// Nearly all keys and lengths have one byte; a separate path for these halves the time per field.
    #[inline]
    fn read_varint(&mut self) -> Result<u64, ProtobufFault> {
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.read_long_varint(),
        }
    }

    fn read_long_varint(&mut self) -> Result<u64, ProtobufFault> {
        let mut value = 0_u64;
        for (i, &byte) in self.rest.iter().take(VARINT_BYTES_MAX).enumerate() {
            value |= u64::from(byte & 0x7F) << (7 * i);
            if byte < 0x80 {
                // The tenth byte may only hold one bit.
                if i + 1 == VARINT_BYTES_MAX && byte > 1 {
                    break;
                }
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        if self.rest.len() < VARINT_BYTES_MAX {
            Err(ProtobufFault::Truncated)
        } else {
            Err(ProtobufFault::Malformed("an integer is longer than 64 bits"))
        }
    }

    fn read_length_delimited(&mut self) -> Result<&'a [u8], ProtobufFault> {
        match self.read_varint()? {
            // A length beyond any message is damage, not a truncated read.
            length if length > LENGTH_MAX => {
                Err(ProtobufFault::Malformed("a length exceeds 2 GiB"))
            }
            length => self.take_bytes(length as usize),
        }
    }

    fn take_bytes(&mut self, n: usize) -> Result<&'a [u8], ProtobufFault> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or(ProtobufFault::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn skip_group(&mut self, number: u32) -> Result<(), ProtobufFault> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            let (number, wire_type) = self.read_field_key()?;
            match wire_type {
                0 => self.read_varint().map(|_| ())?,
                1 => self.take_bytes(8).map(|_| ())?,
                2 => self.read_length_delimited().map(|_| ())?,
                3 if open.len() == GROUP_DEPTH_MAX => {
                    return Err(ProtobufFault::Malformed("groups are nested too deeply"));
                }
                3 => open.push(number),
                4 if number == innermost => {
                    open.pop();
                }
                4 => return Err(ProtobufFault::Malformed("a group ends without a start")),
                5 => self.take_bytes(4).map(|_| ())?,
                _ => {
                    return Err(ProtobufFault::Malformed("a field has an invalid wire type"));
                }
            }
        }
        Ok(())
    }
}

impl<'a> Iterator for ProtobufFields<'a> {
    type Item = Result<ProtobufField<'a>, ProtobufFault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.next_field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &[Result<(u32, ProtobufValue<'_>), ProtobufFault>]) {
        let found: Vec<_> =
            ProtobufFields::new(bytes).map(|field| field.map(|it| (it.number, it.value))).collect();
        assert_eq!(found, expected, "{bytes:02X?}");
    }

    #[test]
    fn every_wire_type_is_parsed_or_skipped() {
        check(b"", &[]);
        check(b"\x08\x96\x01", &[Ok((1, ProtobufValue::Varint(150)))]);
        check(
            b"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
            &[Ok((1, ProtobufValue::Varint(u64::MAX)))],
        );
        check(
            b"\x12\x02hi\x0A\x00",
            &[Ok((2, ProtobufValue::Bytes(b"hi"))), Ok((1, ProtobufValue::Bytes(b"")))],
        );
        check(
            b"\x0D....\x09........\x08\x01",
            &[
                Ok((1, ProtobufValue::Other)),
                Ok((1, ProtobufValue::Other)),
                Ok((1, ProtobufValue::Varint(1))),
            ],
        );
        check(
            b"\x0B\x13\x08\x01\x0A\x01x\x0D....\x09........\x14\x0C\x08\x02",
            &[Ok((1, ProtobufValue::Other)), Ok((1, ProtobufValue::Varint(2)))],
        );
        check(b"\xC2\x3E\x01x", &[Ok((1_000, ProtobufValue::Bytes(b"x")))]);
    }

    #[test]
    fn truncated_bytes_are_distinguished_from_malformed_bytes() {
        for cut in [&b"\x08"[..], b"\x08\x80", b"\x12\x05hi", b"\x0D...", b"\x0B\x08", b"\x80"] {
            check(cut, &[Err(ProtobufFault::Truncated)]);
        }
        for wrong in [
            &b"\x00\x01"[..],
            b"\x0C",
            b"\x0B\x14",
            b"\x0E",
            b"\x0F",
            b"\x0B\x0E",
            b"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02",
            b"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
            b"\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F",
            b"\xFF\xFF\xFF\xFF\xFF\x0F\x01",
        ] {
            let faults: Vec<_> = ProtobufFields::new(wrong).collect();
            assert!(
                matches!(faults[..], [Err(ProtobufFault::Malformed(_))]),
                "{wrong:02X?} {faults:?}"
            );
        }
    }

    #[test]
    fn deeply_nested_groups_are_refused_as_malformed() {
        let deep = vec![0x0B_u8; 1_000_000];
        let faults: Vec<_> = ProtobufFields::new(&deep).collect();
        assert_eq!(faults, [Err(ProtobufFault::Malformed("groups are nested too deeply"))]);
    }
}
