//! Parses the head of an HTTP response: its status and the framing of its body.

/// The meaning of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionResponse {
    /// The stream begins; `chunked` states its framing.
    Stream { chunked: bool },
    /// The connection is upgraded to WebSocket.
    Upgraded,
    /// Any other response, as a text.
    Refused(String),
}

/// Parses a head without its final empty line. `rest` is the received part of the body.
pub(crate) fn parse_response_head(head: &[u8], rest: &[u8]) -> SessionResponse {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |wanted: &str| {
        let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim())
    };
    match status.split(' ').nth(1) {
        Some("101") => SessionResponse::Upgraded,
        Some("200")
            if header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) =>
        {
            let chunked = header("transfer-encoding")
                .is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
            SessionResponse::Stream { chunked }
        }
        _ => SessionResponse::Refused(describe_refusal(status, header("retry-after"), rest)),
    }
}

fn describe_refusal(status: &str, retry_after: Option<&str>, body: &[u8]) -> String {
    let status = status.split_once(' ').map_or(status, |(_, status)| status);
    let mut text = format!("the server answered {status}");
    if let Some(detail) = parse_problem_detail(body) {
        text = format!("{text}: {detail}");
    }
    if let Some(seconds) = retry_after {
        text = format!("{text} (retry after {seconds} s)");
    }
    text
}

/// Returns the text of a problem response.
fn parse_problem_detail(body: &[u8]) -> Option<String> {
    let start = memchr::memchr(b'{', body)?;
    let mut values =
        serde_json::Deserializer::from_slice(&body[start..]).into_iter::<serde_json::Value>();
    let problem = values.next()?.ok()?;
    Some(problem.get("detail").or_else(|| problem.get("title"))?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_classified_by_status_and_headers() {
        let stream =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked";
        assert_eq!(parse_response_head(stream, b""), SessionResponse::Stream { chunked: true });
        let plain = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream;charset=utf-8";
        assert_eq!(parse_response_head(plain, b""), SessionResponse::Stream { chunked: false });
        assert_eq!(
            parse_response_head(b"HTTP/1.1 101 Switching Protocols", b""),
            SessionResponse::Upgraded
        );
    }

    #[test]
    fn a_refusal_includes_its_reason() {
        let head = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 3";
        let body = b"2a\r\n{\"title\":\"Overloaded\",\"detail\":\"this node is full\"}\r\n";
        let SessionResponse::Refused(why) = parse_response_head(head, body) else {
            panic!("a 503 is a refusal")
        };
        assert_eq!(
            why,
            "the server answered 503 Service Unavailable: this node is full (retry after 3 s)"
        );
        assert_eq!(
            parse_response_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html", b""),
            SessionResponse::Refused("the server answered 200 OK".to_owned())
        );
        assert!(matches!(parse_response_head(b"\xff", b""), SessionResponse::Refused(_)));
    }
}
