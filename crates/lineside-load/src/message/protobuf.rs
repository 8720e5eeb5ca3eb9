//! Parses the protobuf form of the Centrifuge client protocol, as far as a receiver needs it.
//!
//! Each message is prefixed by its length. Field numbers are those of the protocol's public definitions.

use std::ops::Range;

use super::{MessageWithGap, PublicationData, ServerMessage, UnreadableMessage};
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

/// Returns the range of the first message in `bytes`, including its length prefix, and the start of the next.
pub(super) fn find_next_protobuf_message(
    bytes: &[u8],
    dropped: usize,
) -> Result<Option<(Range<usize>, usize)>, UnreadableMessage> {
    let mut reader = GappedFieldReader { bytes, dropped: 0, at: 0 };
    let Some(length) = reader.read_varint() else {
        return if bytes.len() < 10 { Ok(None) } else { Err(UnreadableMessage) };
    };
    let end = usize::try_from(length)
        .ok()
        .and_then(|length| reader.at.checked_add(length)?.checked_sub(dropped));
    let end = end.filter(|end| *end >= reader.at).ok_or(UnreadableMessage)?;
    // The gap counts from the beginning of the length prefix, so the prefix remains part of the message.
    Ok((end <= bytes.len()).then_some((0..end, end)))
}

pub(super) fn parse_protobuf_message(
    message: MessageWithGap<'_>,
) -> Result<ServerMessage<'_>, UnreadableMessage> {
    let mut reader = GappedFieldReader { bytes: message.bytes, dropped: message.dropped, at: 0 };
    let length = reader.read_varint().ok_or(UnreadableMessage)?;
    parse_reply(&mut reader, length).ok_or(UnreadableMessage)
}

fn parse_reply<'a>(reader: &mut GappedFieldReader<'a>, length: u64) -> Option<ServerMessage<'a>> {
    let end = reader.end_position(length)?;
    let (mut command, mut message) = (0, None);
    while reader.at < end {
        let (field, value) = reader.read_field()?;
        match (field, value) {
            (reply::ID, ProtobufFieldValue::Number(id)) => command = u32::try_from(id).ok()?,
            (reply::PUSH, ProtobufFieldValue::Length(length)) => return parse_push(reader, length),
            (reply::ERROR, ProtobufFieldValue::Length(length)) => {
                let code = reader.find_number_field(length, reply::ERROR_CODE)?.unwrap_or_default();
                message = Some(ServerMessage::Refused { command, code: u32::try_from(code).ok()? });
            }
            (reply::CONNECT, ProtobufFieldValue::Length(length)) => {
                reader.skip_bytes(length)?;
                message = Some(ServerMessage::Connected);
            }
            (reply::SUBSCRIBE, ProtobufFieldValue::Length(length)) => {
                let offset = reader.find_number_field(length, reply::SUBSCRIBE_OFFSET)?;
                message = Some(ServerMessage::Subscribed { command, offset });
            }
            (_, ProtobufFieldValue::Length(length)) => reader.skip_bytes(length)?,
            (_, ProtobufFieldValue::Number(_)) => {}
        }
    }
    // An empty reply is a ping.
    Some(message.unwrap_or(if length == 0 { ServerMessage::Ping } else { ServerMessage::Ignored }))
}

fn parse_push<'a>(reader: &mut GappedFieldReader<'a>, length: u64) -> Option<ServerMessage<'a>> {
    let end = reader.end_position(length)?;
    let (mut channel, mut message) = (&[][..], ServerMessage::Ignored);
    while reader.at < end {
        let (field, value) = reader.read_field()?;
        match (field, value) {
            (push::CHANNEL, ProtobufFieldValue::Length(length)) => {
                channel = reader.take_bytes(length)?
            }
            (push::PUBLICATION, ProtobufFieldValue::Length(length)) => {
                message = parse_publication(channel, reader, length)?;
            }
            (push::UNSUBSCRIBE, ProtobufFieldValue::Length(length)) => {
                let code =
                    reader.find_number_field(length, push::UNSUBSCRIBE_CODE)?.unwrap_or_default();
                message = ServerMessage::Unsubscribed { code: u32::try_from(code).ok()? };
            }
            (push::DISCONNECT, ProtobufFieldValue::Length(length)) => {
                let code =
                    reader.find_number_field(length, push::DISCONNECT_CODE)?.unwrap_or_default();
                message = ServerMessage::Disconnected { code: u32::try_from(code).ok()? };
            }
            (_, ProtobufFieldValue::Length(length)) => reader.skip_bytes(length)?,
            (_, ProtobufFieldValue::Number(_)) => {}
        }
    }
    Some(message)
}

fn parse_publication<'a>(
    channel: &'a [u8],
    reader: &mut GappedFieldReader<'a>,
    length: u64,
) -> Option<ServerMessage<'a>> {
    let end = reader.end_position(length)?;
    let (mut offset, mut data) = (None, PublicationData::default());
    while reader.at < end {
        match reader.read_field()? {
            (push::PUBLICATION_DATA, ProtobufFieldValue::Length(length)) => {
                data = PublicationData::parse_publication_data(reader.peek_bytes(length));
                reader.skip_bytes(length)?;
            }
            (push::PUBLICATION_OFFSET, ProtobufFieldValue::Number(number)) => offset = Some(number),
            (_, ProtobufFieldValue::Length(length)) => reader.skip_bytes(length)?,
            (_, ProtobufFieldValue::Number(_)) => {}
        }
    }
    Some(ServerMessage::Publication { channel, offset, data })
}

enum ProtobufFieldValue {
    Number(u64),
    /// A value of that many bytes follows.
    Length(u64),
}

/// Reads fields in order; positions count as if no bytes were missing.
struct GappedFieldReader<'a> {
    bytes: &'a [u8],
    dropped: usize,
    at: usize,
}

impl<'a> GappedFieldReader<'a> {
    /// Returns the index of a position in the available bytes; `None` in the gap.
    fn available_byte_index(&self, at: usize) -> Option<usize> {
        if self.dropped == 0 || at < HEAD_BYTES {
            return Some(at);
        }
        at.checked_sub(self.dropped).filter(|index| *index >= HEAD_BYTES)
    }

    fn total_length_with_gap(&self) -> usize {
        self.bytes.len() + self.dropped
    }

    fn read_varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.available_byte_index(self.at)?)?;
            self.at += 1;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn read_field(&mut self) -> Option<(u64, ProtobufFieldValue)> {
        let key = self.read_varint()?;
        let value = match key & 7 {
            0 => ProtobufFieldValue::Number(self.read_varint()?),
            1 => self.skip_fixed_width_field(8)?,
            LENGTH_DELIMITED => ProtobufFieldValue::Length(self.read_varint()?),
            5 => self.skip_fixed_width_field(4)?,
            _ => return None,
        };
        Some((key >> 3, value))
    }

    fn skip_fixed_width_field(&mut self, bytes: u64) -> Option<ProtobufFieldValue> {
        self.skip_bytes(bytes)?;
        Some(ProtobufFieldValue::Number(0))
    }

    fn end_position(&self, length: u64) -> Option<usize> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        (end <= self.total_length_with_gap()).then_some(end)
    }

    fn skip_bytes(&mut self, length: u64) -> Option<()> {
        self.at = self.end_position(length)?;
        Some(())
    }

    fn take_bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (from, end) = (self.available_byte_index(self.at)?, self.end_position(length)?);
        self.at = end;
        self.bytes.get(from..from + usize::try_from(length).ok()?)
    }

    /// Returns the available part of the next bytes, up to the gap.
    fn peek_bytes(&self, length: u64) -> &'a [u8] {
        let Some(from) = self.available_byte_index(self.at) else { return &[] };
        let hole =
            if self.dropped > 0 && from < HEAD_BYTES { HEAD_BYTES } else { self.bytes.len() };
        let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(from);
        self.bytes.get(from..end.min(hole)).unwrap_or_default()
    }

    /// Returns the number in a field of a nested message.
    fn find_number_field(&mut self, length: u64, wanted: u64) -> Option<Option<u64>> {
        let end = self.end_position(length)?;
        let mut found = None;
        while self.at < end {
            match self.read_field()? {
                (field, ProtobufFieldValue::Number(number)) if field == wanted => {
                    found = Some(number)
                }
                (_, ProtobufFieldValue::Number(_)) => {}
                (_, ProtobufFieldValue::Length(length)) => self.skip_bytes(length)?,
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
    fn said(message: &[u8], expected: ServerMessage<'_>) {
        assert_eq!(
            find_next_protobuf_message(message, 0),
            Ok(Some((0..message.len(), message.len())))
        );
        assert_eq!(
            parse_protobuf_message(MessageWithGap { bytes: message, dropped: 0 }),
            Ok(expected)
        );
    }

    #[test]
    fn channel_offset_and_time_of_a_publication_are_parsed() {
        let data = PublicationData { ours: Some((3, 99)), ..PublicationData::default() };
        let expected =
            ServerMessage::Publication { channel: b"app/load/1", offset: Some(300), data };
        said(&publication(b"{\"load\":3,\"sent\":99}", 300), expected);
    }

    #[test]
    fn a_long_publication_is_read_from_both_ends() {
        let mut own = Vec::new();
        super::super::write_own_publication_data(3, 99, 60_000, &mut own);
        let whole = publication(&own, 300);
        let dropped = whole.len() - HEAD_BYTES - 256;
        let pieces = [&whole[..HEAD_BYTES], &whole[HEAD_BYTES + dropped..]].concat();
        assert_eq!(
            find_next_protobuf_message(&pieces, dropped),
            Ok(Some((0..pieces.len(), pieces.len())))
        );
        assert_eq!(find_next_protobuf_message(&pieces[..pieces.len() - 1], dropped), Ok(None));
        let data = PublicationData { ours: Some((3, 99)), ..PublicationData::default() };
        let expected =
            ServerMessage::Publication { channel: b"app/load/1", offset: Some(300), data };
        assert_eq!(
            parse_protobuf_message(MessageWithGap { bytes: &pieces, dropped }),
            Ok(expected)
        );
    }

    #[test]
    fn replies_and_other_pushes_are_distinguished() {
        let id = number_field(reply::ID, 2);
        let reply = |field, body: &[u8]| message(&[id.clone(), bytes_field(field, body)].concat());
        let subscribed =
            [bytes_field(4, b"epoch"), number_field(reply::SUBSCRIBE_OFFSET, 5)].concat();
        said(
            &reply(reply::SUBSCRIBE, &subscribed),
            ServerMessage::Subscribed { command: 2, offset: Some(5) },
        );
        said(&reply(reply::SUBSCRIBE, b""), ServerMessage::Subscribed { command: 2, offset: None });
        said(&reply(reply::CONNECT, &bytes_field(1, b"client")), ServerMessage::Connected);
        said(
            &reply(reply::ERROR, &number_field(1, 102)),
            ServerMessage::Refused { command: 2, code: 102 },
        );
        let push =
            |field, body: &[u8]| message(&bytes_field(reply::PUSH, &bytes_field(field, body)));
        said(
            &push(push::UNSUBSCRIBE, &number_field(2, 2500)),
            ServerMessage::Unsubscribed { code: 2500 },
        );
        said(
            &push(push::DISCONNECT, &number_field(1, 3001)),
            ServerMessage::Disconnected { code: 3001 },
        );
        said(&push(5, b""), ServerMessage::Ignored);
        said(&[0], ServerMessage::Ping);
    }

    #[test]
    fn a_partial_message_waits_and_a_malformed_one_is_an_error() {
        let whole = publication(b"{}", 1);
        for end in 0..whole.len() {
            assert_eq!(find_next_protobuf_message(&whole[..end], 0), Ok(None), "{end}");
        }
        assert_eq!(find_next_protobuf_message(&[0xFF; 10], 0), Err(UnreadableMessage));
        // The sum of this length and any position overflows.
        let longest = [&[0xFF; 9][..], &[1]].concat();
        assert_eq!(find_next_protobuf_message(&longest, 0), Err(UnreadableMessage));
        for bytes in [&[2, 0xFF, 0xFF][..], &[1, 0x22], &[2, 0x22, 9], &[1, 0x07]] {
            assert_eq!(
                parse_protobuf_message(MessageWithGap { bytes, dropped: 0 }),
                Err(UnreadableMessage),
                "{bytes:?}"
            );
        }
    }
}
