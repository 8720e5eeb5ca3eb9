//! Recognizes web pages and gzip streams by their first bytes, so that decoders can say what arrived instead of data.

/// Bytes of a body that are searched for the start of a web page.
const HTML_SEARCH_BYTES: usize = 1_024;

/// Returns true if `body` begins like a web page, which portals send in place of data when they fail.
pub fn looks_like_html(body: &[u8]) -> bool {
    let start = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body).trim_ascii_start();
    let mut start = start.get(..HTML_SEARCH_BYTES).unwrap_or(start);
    while let Some(after) = start.strip_prefix(b"<!--") {
        let end = after.windows(3).position(|mark| mark == b"-->").map_or(after.len(), |at| at + 3);
        start = after[end..].trim_ascii_start();
    }
    let begins =
        |mark: &[u8]| start.len() >= mark.len() && start[..mark.len()].eq_ignore_ascii_case(mark);
    begins(b"<!doctype html")
        || begins(b"<html")
        || begins(b"<head")
        || begins(b"<body")
        || begins(b"<title")
}

/// Returns true if `body` begins like a gzip stream.
#[cfg(any(feature = "gtfs", feature = "gtfs-rt", feature = "siri"))]
pub(crate) fn looks_like_gzip(body: &[u8]) -> bool {
    body.starts_with(b"\x1F\x8B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_pages_are_recognized() {
        assert!(looks_like_html(b"<!DOCTYPE html><html></html>"));
        assert!(looks_like_html(b"\xEF\xBB\xBF\n  <HTML lang=en>"));
        assert!(looks_like_html(b"<!-- portal -->\n<html>"));
        assert!(!looks_like_html(b"<?xml version=\"1.0\"?><Siri/>"));
        assert!(!looks_like_html(b"<!-- never closed"));
        assert!(!looks_like_html(b"\x0A\x05\x0A\x032.0"));
    }
}
