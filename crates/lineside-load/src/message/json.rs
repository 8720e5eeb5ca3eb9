//! The JSON form of the Centrifuge client protocol, as far as a receiver needs it.

use super::{Data, Message, Said, Unreadable, number, number_after, quoted};

const OFFSET: &[u8] = b"\"offset\":";
/// Within so many bytes of a push's end its offset stands, after data of any length.
const END_BYTES: usize = 128;

pub(super) fn read(message: Message<'_>) -> Result<Said<'_>, Unreadable> {
    let head = message.head();
    if let Some(push) = head.strip_prefix(b"{\"push\":{") {
        return read_push(push, message).ok_or(Unreadable);
    }
    match head {
        b"{}" => Ok(Said::Ping),
        b"" => Ok(Said::Aside),
        _ => read_reply(head.strip_prefix(b"{\"id\":").ok_or(Unreadable)?).ok_or(Unreadable),
    }
}

fn read_reply(reply: &[u8]) -> Option<Said<'_>> {
    let command = u32::try_from(number(reply)?).ok()?;
    let result = &reply[memchr::memchr(b',', reply)? + 1..];
    if result.starts_with(b"\"error\":") {
        let code = u32::try_from(number_after(b"\"code\":", result)?).ok()?;
        return Some(Said::Refused { command, code });
    }
    if result.starts_with(b"\"connect\":") {
        return Some(Said::Connected);
    }
    if result.starts_with(b"\"subscribe\":") {
        return Some(Said::Subscribed { command, offset: number_after(OFFSET, result) });
    }
    Some(Said::Aside)
}

fn read_push<'a>(push: &'a [u8], whole: Message<'a>) -> Option<Said<'a>> {
    let code =
        |rest: &[u8]| number_after(b"\"code\":", rest).and_then(|code| u32::try_from(code).ok());
    if let Some(disconnect) = push.strip_prefix(b"\"disconnect\":") {
        return Some(Said::Disconnected { code: code(disconnect)? });
    }
    let (channel, rest) = quoted(push.strip_prefix(b"\"channel\":")?)?;
    if let Some(publication) = rest.strip_prefix(b",\"pub\":{") {
        return read_publication(channel, publication, whole);
    }
    if let Some(unsubscribe) = rest.strip_prefix(b",\"unsubscribe\":") {
        return Some(Said::Unsubscribed { code: code(unsubscribe)? });
    }
    Some(Said::Aside)
}

/// The offset stands before the data or after them; there, only what comes after them is looked at from the end.
fn read_publication<'a>(
    channel: &'a [u8],
    publication: &'a [u8],
    whole: Message<'a>,
) -> Option<Said<'a>> {
    let (mut offset, mut rest) = (None, publication);
    if let Some(after) = rest.strip_prefix(OFFSET) {
        offset = Some(number(after)?);
        rest = &after[memchr::memchr(b',', after)? + 1..];
    }
    let data = Data::read(rest.strip_prefix(b"\"data\":")?);
    if offset.is_none() {
        let end = &whole.bytes[whole.bytes.len().saturating_sub(END_BYTES)..];
        offset =
            memchr::memmem::rfind(end, OFFSET).and_then(|at| number(&end[at + OFFSET.len()..]));
    }
    Some(Said::Publication { channel, offset, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Said<'_>, Unreadable> {
        read(Message { bytes: line.as_bytes(), dropped: 0 })
    }

    #[test]
    fn a_publication_says_its_channel_its_offset_and_its_time() {
        let data = Data { ours: Some((3, 99)), ..Data::default() };
        let expected = Ok(Said::Publication { channel: b"app/load/1", offset: Some(12), data });
        for line in [
            r#"{"push":{"channel":"app/load/1","pub":{"data":{"load":3,"sent":99,"tail":"..."},"offset":12}}}"#,
            r#"{"push":{"channel":"app/load/1","pub":{"offset":12,"data":{"load":3,"sent":99}}}}"#,
        ] {
            assert_eq!(said(line), expected);
        }
        let without = r#"{"push":{"channel":"a","pub":{"data":{}}}}"#;
        assert_eq!(
            said(without),
            Ok(Said::Publication { channel: b"a", offset: None, data: Data::default() })
        );
    }

    #[test]
    fn replies_and_other_pushes_are_told_apart() {
        let subscribed =
            r#"{"id":2,"subscribe":{"recoverable":true,"epoch":"x","offset":5,"positioned":true}}"#;
        assert_eq!(said(subscribed), Ok(Said::Subscribed { command: 2, offset: Some(5) }));
        assert_eq!(
            said(r#"{"id":3,"subscribe":{}}"#),
            Ok(Said::Subscribed { command: 3, offset: None })
        );
        assert_eq!(said(r#"{"id":1,"connect":{"client":"c","ping":25}}"#), Ok(Said::Connected));
        assert_eq!(
            said(r#"{"id":2,"error":{"code":102,"message":"no"}}"#),
            Ok(Said::Refused { command: 2, code: 102 })
        );
        assert_eq!(
            said(r#"{"push":{"channel":"a","unsubscribe":{"code":2500}}}"#),
            Ok(Said::Unsubscribed { code: 2500 })
        );
        assert_eq!(
            said(r#"{"push":{"disconnect":{"code":3001,"reason":"shutdown"}}}"#),
            Ok(Said::Disconnected { code: 3001 })
        );
        assert_eq!(said(r#"{"push":{"channel":"a","join":{}}}"#), Ok(Said::Aside));
        assert_eq!(said("{}"), Ok(Said::Ping));
        assert_eq!(said("nonsense"), Err(Unreadable));
    }
}
