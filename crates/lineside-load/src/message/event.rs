//! Parses a line of an event stream: `data: {"channel","epoch","offset"?,"data"}`; other lines are ignored.

use super::{
    MessageWithGap, PublicationData, ServerMessage, UnreadableMessage, parse_leading_number,
    split_quoted,
};

pub(super) fn parse_event_line(
    line: MessageWithGap<'_>,
) -> Result<ServerMessage<'_>, UnreadableMessage> {
    let Some(event) = line.part_before_gap().strip_prefix(b"data: ") else {
        return Ok(ServerMessage::Ignored);
    };
    parse_publication(event).ok_or(UnreadableMessage)
}

fn parse_publication(event: &[u8]) -> Option<ServerMessage<'_>> {
    let (channel, rest) = split_quoted(event.strip_prefix(b"{\"channel\":")?)?;
    let (_, mut rest) = split_quoted(rest.strip_prefix(b",\"epoch\":")?)?;
    let mut offset = None;
    if let Some(after) = rest.strip_prefix(b",\"offset\":") {
        offset = Some(parse_leading_number(after)?);
        rest = &after[after.iter().take_while(|byte| byte.is_ascii_digit()).count()..];
    }
    let data = PublicationData::parse_publication_data(rest.strip_prefix(b",\"data\":")?);
    Some(ServerMessage::Publication { channel, offset, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<ServerMessage<'_>, UnreadableMessage> {
        parse_event_line(MessageWithGap { bytes: line.as_bytes(), dropped: 0 })
    }

    #[test]
    fn channel_offset_and_time_of_an_event_are_parsed() {
        let line = r#"data: {"channel":"feed/city","epoch":"0k3v9xq2","offset":57,"data":{"at":9,"changes":[]}}"#;
        let data = PublicationData { at_millis: Some(9), ..PublicationData::default() };
        assert_eq!(
            said(line),
            Ok(ServerMessage::Publication { channel: b"feed/city", offset: Some(57), data })
        );
        let part = r#"data: {"channel":"feed/city","epoch":"0","data":{"at":9,"state":{"part":1,"parts":2}}}"#;
        let data = PublicationData { state: Some((1, 2)), ..data };
        assert_eq!(
            said(part),
            Ok(ServerMessage::Publication { channel: b"feed/city", offset: None, data })
        );
    }

    #[test]
    fn lines_that_are_not_events_are_ignored() {
        for line in ["", ":", ": slow", "id: city@0:57", "retry: 2000"] {
            assert_eq!(said(line), Ok(ServerMessage::Ignored));
        }
        assert_eq!(said("data: hello"), Err(UnreadableMessage));
        assert_eq!(said("data: {\"channel\":\"a\",\"epoch\":\"0\"}"), Err(UnreadableMessage));
    }
}
