//! The protobuf form of the Centrifuge client protocol, as far as a receiver needs it.
//!
//! Messages follow one another, each after its length. Field numbers are those of the protocol's public definitions.

use std::ops::Range;

use super::{Data, Message, Said, Unreadable};
use crate::limits::HEAD_BYTES;

const LENGTH_DELIMITED: u64 = 2;

mod reply {
    pub(super) const ID: u64 = 1;
    pub(super) const ERROR: u64 = 2;
    pub(super) const PUSH: u64 = 4;
    pub(super) const CONNECT: u64 = 5;
    pub(super) const SUBSCRIBE: u64 = 6;
    pub(super) const ERROR_CODE: u64 = 1;
    pub(super) const SUBSCRIBE_OFFSET: u64 = 9;
}

mod push {
    pub(super) const CHANNEL: u64 = 2;
    pub(super) const PUBLICATION: u64 = 4;
    pub(super) const UNSUBSCRIBE: u64 = 7;
    pub(super) const DISCONNECT: u64 = 11;
    pub(super) const PUBLICATION_DATA: u64 = 4;
    pub(super) const PUBLICATION_OFFSET: u64 = 6;
    pub(super) const UNSUBSCRIBE_CODE: u64 = 2;
    pub(super) const DISCONNECT_CODE: u64 = 1;
}

/// The first whole message in `bytes`, without its length, and where the next one begins.
pub(super) fn next(
    bytes: &[u8],
    dropped: usize,
) -> Result<Option<(Range<usize>, usize)>, Unreadable> {
    let mut reader = Reader { bytes, dropped: 0, at: 0 };
    let Some(length) = reader.varint() else {
        return if bytes.len() < 10 { Ok(None) } else { Err(Unreadable) };
    };
    let end = usize::try_from(length)
        .ok()
        .and_then(|length| reader.at.checked_add(length)?.checked_sub(dropped));
    let end = end.filter(|end| *end >= reader.at).ok_or(Unreadable)?;
    // The hole is counted from the beginning of the length, so that stays with the message.
    Ok((end <= bytes.len()).then_some((0..end, end)))
}

pub(super) fn read(message: Message<'_>) -> Result<Said<'_>, Unreadable> {
    let mut reader = Reader { bytes: message.bytes, dropped: message.dropped, at: 0 };
    let length = reader.varint().ok_or(Unreadable)?;
    read_reply(&mut reader, length).ok_or(Unreadable)
}

fn read_reply<'a>(reader: &mut Reader<'a>, length: u64) -> Option<Said<'a>> {
    let end = reader.end_of(length)?;
    let (mut command, mut said) = (0, None);
    while reader.at < end {
        let (field, value) = reader.field()?;
        match (field, value) {
            (reply::ID, Value::Number(id)) => command = u32::try_from(id).ok()?,
            (reply::PUSH, Value::Length(length)) => return read_push(reader, length),
            (reply::ERROR, Value::Length(length)) => {
                let code = reader.numbers(length, reply::ERROR_CODE)?.unwrap_or_default();
                said = Some(Said::Refused { command, code: u32::try_from(code).ok()? });
            }
            (reply::CONNECT, Value::Length(length)) => {
                reader.skip(length)?;
                said = Some(Said::Connected);
            }
            (reply::SUBSCRIBE, Value::Length(length)) => {
                let offset = reader.numbers(length, reply::SUBSCRIBE_OFFSET)?;
                said = Some(Said::Subscribed { command, offset });
            }
            (_, Value::Length(length)) => reader.skip(length)?,
            (_, Value::Number(_)) => {}
        }
    }
    // Nothing at all is a ping.
    Some(said.unwrap_or(if length == 0 { Said::Ping } else { Said::Aside }))
}

fn read_push<'a>(reader: &mut Reader<'a>, length: u64) -> Option<Said<'a>> {
    let end = reader.end_of(length)?;
    let (mut channel, mut said) = (&[][..], Said::Aside);
    while reader.at < end {
        let (field, value) = reader.field()?;
        match (field, value) {
            (push::CHANNEL, Value::Length(length)) => channel = reader.take(length)?,
            (push::PUBLICATION, Value::Length(length)) => {
                said = read_publication(channel, reader, length)?;
            }
            (push::UNSUBSCRIBE, Value::Length(length)) => {
                let code = reader.numbers(length, push::UNSUBSCRIBE_CODE)?.unwrap_or_default();
                said = Said::Unsubscribed { code: u32::try_from(code).ok()? };
            }
            (push::DISCONNECT, Value::Length(length)) => {
                let code = reader.numbers(length, push::DISCONNECT_CODE)?.unwrap_or_default();
                said = Said::Disconnected { code: u32::try_from(code).ok()? };
            }
            (_, Value::Length(length)) => reader.skip(length)?,
            (_, Value::Number(_)) => {}
        }
    }
    Some(said)
}

fn read_publication<'a>(
    channel: &'a [u8],
    reader: &mut Reader<'a>,
    length: u64,
) -> Option<Said<'a>> {
    let end = reader.end_of(length)?;
    let (mut offset, mut data) = (None, Data::default());
    while reader.at < end {
        match reader.field()? {
            (push::PUBLICATION_DATA, Value::Length(length)) => {
                data = Data::read(reader.beginning(length));
                reader.skip(length)?;
            }
            (push::PUBLICATION_OFFSET, Value::Number(number)) => offset = Some(number),
            (_, Value::Length(length)) => reader.skip(length)?,
            (_, Value::Number(_)) => {}
        }
    }
    Some(Said::Publication { channel, offset, data })
}

enum Value {
    Number(u64),
    /// So many bytes follow.
    Length(u64),
}

/// Reads fields in order; positions count as if nothing were missing.
struct Reader<'a> {
    bytes: &'a [u8],
    dropped: usize,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Where a position lies in the bytes that are there; `None` in the hole.
    fn index(&self, at: usize) -> Option<usize> {
        if self.dropped == 0 || at < HEAD_BYTES {
            return Some(at);
        }
        at.checked_sub(self.dropped).filter(|index| *index >= HEAD_BYTES)
    }

    fn length(&self) -> usize {
        self.bytes.len() + self.dropped
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.index(self.at)?)?;
            self.at += 1;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn field(&mut self) -> Option<(u64, Value)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => self.fixed(8)?,
            LENGTH_DELIMITED => Value::Length(self.varint()?),
            5 => self.fixed(4)?,
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn fixed(&mut self, bytes: u64) -> Option<Value> {
        self.skip(bytes)?;
        Some(Value::Number(0))
    }

    fn end_of(&self, length: u64) -> Option<usize> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        (end <= self.length()).then_some(end)
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        self.at = self.end_of(length)?;
        Some(())
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (from, end) = (self.index(self.at)?, self.end_of(length)?);
        self.at = end;
        self.bytes.get(from..from + usize::try_from(length).ok()?)
    }

    /// What is there of the next bytes, up to the hole.
    fn beginning(&self, length: u64) -> &'a [u8] {
        let Some(from) = self.index(self.at) else { return &[] };
        let hole =
            if self.dropped > 0 && from < HEAD_BYTES { HEAD_BYTES } else { self.bytes.len() };
        let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(from);
        self.bytes.get(from..end.min(hole)).unwrap_or_default()
    }

    /// The number in a field of a message within.
    fn numbers(&mut self, length: u64, wanted: u64) -> Option<Option<u64>> {
        let end = self.end_of(length)?;
        let mut found = None;
        while self.at < end {
            match self.field()? {
                (field, Value::Number(number)) if field == wanted => found = Some(number),
                (_, Value::Number(_)) => {}
                (_, Value::Length(length)) => self.skip(length)?,
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_field(field: u64, bytes: &[u8]) -> Vec<u8> {
        let mut written = Vec::new();
        write_varint((field << 3) | LENGTH_DELIMITED, &mut written);
        write_varint(bytes.len() as u64, &mut written);
        written.extend_from_slice(bytes);
        written
    }

    fn write_varint(mut value: u64, into: &mut Vec<u8>) {
        while value >= 0x80 {
            into.push(value as u8 | 0x80);
            value >>= 7;
        }
        into.push(value as u8);
    }

    fn number_field(field: u64, value: u64) -> Vec<u8> {
        let mut written = Vec::new();
        write_varint(field << 3, &mut written);
        write_varint(value, &mut written);
        written
    }

    fn message(body: &[u8]) -> Vec<u8> {
        let mut written = Vec::new();
        write_varint(body.len() as u64, &mut written);
        written.extend_from_slice(body);
        written
    }

    fn publication(data: &[u8], offset: u64) -> Vec<u8> {
        let publication = [
            bytes_field(push::PUBLICATION_DATA, data),
            number_field(push::PUBLICATION_OFFSET, offset),
        ]
        .concat();
        let push = [
            bytes_field(push::CHANNEL, b"app/load/1"),
            bytes_field(push::PUBLICATION, &publication),
        ]
        .concat();
        message(&bytes_field(reply::PUSH, &push))
    }

    #[track_caller]
    fn said(message: &[u8], expected: Said<'_>) {
        assert_eq!(next(message, 0), Ok(Some((0..message.len(), message.len()))));
        assert_eq!(read(Message { bytes: message, dropped: 0 }), Ok(expected));
    }

    #[test]
    fn a_publication_says_its_channel_its_offset_and_its_time() {
        let data = Data { ours: Some((3, 99)), ..Data::default() };
        let expected = Said::Publication { channel: b"app/load/1", offset: Some(300), data };
        said(&publication(b"{\"load\":3,\"sent\":99}", 300), expected);
    }

    #[test]
    fn a_long_one_is_read_from_its_two_ends() {
        let mut own = Vec::new();
        super::super::own_data(3, 99, 60_000, &mut own);
        let whole = publication(&own, 300);
        let dropped = whole.len() - HEAD_BYTES - 256;
        let pieces = [&whole[..HEAD_BYTES], &whole[HEAD_BYTES + dropped..]].concat();
        assert_eq!(next(&pieces, dropped), Ok(Some((0..pieces.len(), pieces.len()))));
        assert_eq!(next(&pieces[..pieces.len() - 1], dropped), Ok(None));
        let data = Data { ours: Some((3, 99)), ..Data::default() };
        let expected = Said::Publication { channel: b"app/load/1", offset: Some(300), data };
        assert_eq!(read(Message { bytes: &pieces, dropped }), Ok(expected));
    }

    #[test]
    fn replies_and_other_pushes_are_told_apart() {
        let id = number_field(reply::ID, 2);
        let reply = |field, body: &[u8]| message(&[id.clone(), bytes_field(field, body)].concat());
        let subscribed =
            [bytes_field(4, b"epoch"), number_field(reply::SUBSCRIBE_OFFSET, 5)].concat();
        said(
            &reply(reply::SUBSCRIBE, &subscribed),
            Said::Subscribed { command: 2, offset: Some(5) },
        );
        said(&reply(reply::SUBSCRIBE, b""), Said::Subscribed { command: 2, offset: None });
        said(&reply(reply::CONNECT, &bytes_field(1, b"client")), Said::Connected);
        said(&reply(reply::ERROR, &number_field(1, 102)), Said::Refused { command: 2, code: 102 });
        let push =
            |field, body: &[u8]| message(&bytes_field(reply::PUSH, &bytes_field(field, body)));
        said(&push(push::UNSUBSCRIBE, &number_field(2, 2500)), Said::Unsubscribed { code: 2500 });
        said(&push(push::DISCONNECT, &number_field(1, 3001)), Said::Disconnected { code: 3001 });
        said(&push(5, b""), Said::Aside);
        said(&[0], Said::Ping);
    }

    #[test]
    fn half_a_message_waits_and_nonsense_is_told() {
        let whole = publication(b"{}", 1);
        for end in 0..whole.len() {
            assert_eq!(next(&whole[..end], 0), Ok(None), "{end}");
        }
        assert_eq!(next(&[0xFF; 10], 0), Err(Unreadable));
        // A length that no position can be added to.
        let longest = [&[0xFF; 9][..], &[1]].concat();
        assert_eq!(next(&longest, 0), Err(Unreadable));
        for bytes in [&[2, 0xFF, 0xFF][..], &[1, 0x22], &[2, 0x22, 9], &[1, 0x07]] {
            assert_eq!(read(Message { bytes, dropped: 0 }), Err(Unreadable), "{bytes:?}");
        }
    }
}
