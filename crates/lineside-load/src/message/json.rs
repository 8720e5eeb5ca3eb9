//! Parses the JSON form of the Centrifuge client protocol, as far as a receiver needs it.

use super::{
    MessageWithGap, PublicationData, ServerMessage, UnreadableMessage, parse_leading_number,
    parse_number_after, split_quoted,
};

const OFFSET: &[u8] = b"\"offset\":";
/// Number of bytes at the end of a push that contain its offset if it follows the data.
const END_BYTES: usize = 128;

pub(super) fn parse_json_message(
    message: MessageWithGap<'_>,
) -> Result<ServerMessage<'_>, UnreadableMessage> {
    let head = message.part_before_gap();
    if let Some(push) = head.strip_prefix(b"{\"push\":{") {
        return parse_push(push, message).ok_or(UnreadableMessage);
    }
    match head {
        b"{}" => Ok(ServerMessage::Ping),
        b"" => Ok(ServerMessage::Ignored),
        _ => parse_reply(head.strip_prefix(b"{\"id\":").ok_or(UnreadableMessage)?)
            .ok_or(UnreadableMessage),
    }
}

fn parse_reply(reply: &[u8]) -> Option<ServerMessage<'_>> {
    let command = u32::try_from(parse_leading_number(reply)?).ok()?;
    let result = &reply[memchr::memchr(b',', reply)? + 1..];
    if result.starts_with(b"\"error\":") {
        let code = u32::try_from(parse_number_after(b"\"code\":", result)?).ok()?;
        return Some(ServerMessage::Refused { command, code });
    }
    if result.starts_with(b"\"connect\":") {
        return Some(ServerMessage::Connected);
    }
    if result.starts_with(b"\"subscribe\":") {
        return Some(ServerMessage::Subscribed {
            command,
            offset: parse_number_after(OFFSET, result),
        });
    }
    Some(ServerMessage::Ignored)
}

fn parse_push<'a>(push: &'a [u8], whole: MessageWithGap<'a>) -> Option<ServerMessage<'a>> {
    let code = |rest: &[u8]| {
        parse_number_after(b"\"code\":", rest).and_then(|code| u32::try_from(code).ok())
    };
    if let Some(disconnect) = push.strip_prefix(b"\"disconnect\":") {
        return Some(ServerMessage::Disconnected { code: code(disconnect)? });
    }
    let (channel, rest) = split_quoted(push.strip_prefix(b"\"channel\":")?)?;
    if let Some(publication) = rest.strip_prefix(b",\"pub\":{") {
        return parse_publication(channel, publication, whole);
    }
    if let Some(unsubscribe) = rest.strip_prefix(b",\"unsubscribe\":") {
        return Some(ServerMessage::Unsubscribed { code: code(unsubscribe)? });
    }
    Some(ServerMessage::Ignored)
}

/// Parses a publication. The offset precedes the data or follows them; in the latter case it is searched from the end.
fn parse_publication<'a>(
    channel: &'a [u8],
    publication: &'a [u8],
    whole: MessageWithGap<'a>,
) -> Option<ServerMessage<'a>> {
    let (mut offset, mut rest) = (None, publication);
    if let Some(after) = rest.strip_prefix(OFFSET) {
        offset = Some(parse_leading_number(after)?);
        rest = &after[memchr::memchr(b',', after)? + 1..];
    }
    let data = PublicationData::parse_publication_data(rest.strip_prefix(b"\"data\":")?);
    if offset.is_none() {
        let end = &whole.bytes[whole.bytes.len().saturating_sub(END_BYTES)..];
        offset = memchr::memmem::rfind(end, OFFSET)
            .and_then(|at| parse_leading_number(&end[at + OFFSET.len()..]));
    }
    Some(ServerMessage::Publication { channel, offset, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<ServerMessage<'_>, UnreadableMessage> {
        parse_json_message(MessageWithGap { bytes: line.as_bytes(), dropped: 0 })
    }

    #[test]
    fn channel_offset_and_time_of_a_publication_are_parsed() {
        let data = PublicationData { ours: Some((3, 99)), ..PublicationData::default() };
        let expected =
            Ok(ServerMessage::Publication { channel: b"app/load/1", offset: Some(12), data });
        for line in [
            r#"{"push":{"channel":"app/load/1","pub":{"data":{"load":3,"sent":99,"tail":"..."},"offset":12}}}"#,
            r#"{"push":{"channel":"app/load/1","pub":{"offset":12,"data":{"load":3,"sent":99}}}}"#,
        ] {
            assert_eq!(said(line), expected);
        }
        let without = r#"{"push":{"channel":"a","pub":{"data":{}}}}"#;
        assert_eq!(
            said(without),
            Ok(ServerMessage::Publication {
                channel: b"a",
                offset: None,
                data: PublicationData::default()
            })
        );
    }

    #[test]
    fn replies_and_other_pushes_are_distinguished() {
        let subscribed =
            r#"{"id":2,"subscribe":{"recoverable":true,"epoch":"x","offset":5,"positioned":true}}"#;
        assert_eq!(said(subscribed), Ok(ServerMessage::Subscribed { command: 2, offset: Some(5) }));
        assert_eq!(
            said(r#"{"id":3,"subscribe":{}}"#),
            Ok(ServerMessage::Subscribed { command: 3, offset: None })
        );
        assert_eq!(
            said(r#"{"id":1,"connect":{"client":"c","ping":25}}"#),
            Ok(ServerMessage::Connected)
        );
        assert_eq!(
            said(r#"{"id":2,"error":{"code":102,"message":"no"}}"#),
            Ok(ServerMessage::Refused { command: 2, code: 102 })
        );
        assert_eq!(
            said(r#"{"push":{"channel":"a","unsubscribe":{"code":2500}}}"#),
            Ok(ServerMessage::Unsubscribed { code: 2500 })
        );
        assert_eq!(
            said(r#"{"push":{"disconnect":{"code":3001,"reason":"shutdown"}}}"#),
            Ok(ServerMessage::Disconnected { code: 3001 })
        );
        assert_eq!(said(r#"{"push":{"channel":"a","join":{}}}"#), Ok(ServerMessage::Ignored));
        assert_eq!(said("{}"), Ok(ServerMessage::Ping));
        assert_eq!(said("nonsense"), Err(UnreadableMessage));
    }
}
