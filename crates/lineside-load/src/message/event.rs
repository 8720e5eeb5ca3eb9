//! A line of an event stream: `data: {"channel","epoch","offset"?,"data"}`; ids, comments and the rest are no news.

use super::{Data, Message, Said, Unreadable, number, quoted};

pub(super) fn read(line: Message<'_>) -> Result<Said<'_>, Unreadable> {
    let Some(event) = line.head().strip_prefix(b"data: ") else { return Ok(Said::Aside) };
    publication(event).ok_or(Unreadable)
}

fn publication(event: &[u8]) -> Option<Said<'_>> {
    let (channel, rest) = quoted(event.strip_prefix(b"{\"channel\":")?)?;
    let (_, mut rest) = quoted(rest.strip_prefix(b",\"epoch\":")?)?;
    let mut offset = None;
    if let Some(after) = rest.strip_prefix(b",\"offset\":") {
        offset = Some(number(after)?);
        rest = &after[after.iter().take_while(|byte| byte.is_ascii_digit()).count()..];
    }
    let data = Data::read(rest.strip_prefix(b",\"data\":")?);
    Some(Said::Publication { channel, offset, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Said<'_>, Unreadable> {
        read(Message { bytes: line.as_bytes(), dropped: 0 })
    }

    #[test]
    fn an_event_says_its_channel_its_offset_and_its_time() {
        let line = r#"data: {"channel":"feed/city","epoch":"0k3v9xq2","offset":57,"data":{"at":9,"changes":[]}}"#;
        let data = Data { at_millis: Some(9), ..Data::default() };
        assert_eq!(
            said(line),
            Ok(Said::Publication { channel: b"feed/city", offset: Some(57), data })
        );
        let part = r#"data: {"channel":"feed/city","epoch":"0","data":{"at":9,"state":{"part":1,"parts":2}}}"#;
        let data = Data { state: Some((1, 2)), ..data };
        assert_eq!(said(part), Ok(Said::Publication { channel: b"feed/city", offset: None, data }));
    }

    #[test]
    fn what_is_no_event_is_no_news() {
        for line in ["", ":", ": slow", "id: city@0:57", "retry: 2000"] {
            assert_eq!(said(line), Ok(Said::Aside));
        }
        assert_eq!(said("data: hello"), Err(Unreadable));
        assert_eq!(said("data: {\"channel\":\"a\",\"epoch\":\"0\"}"), Err(Unreadable));
    }
}
