//! Sanitizing of JSON from others that is passed on unchanged.

use bytes::Bytes;
use serde_json::value::RawValue;

/// Returns JSON on one line; `None` if the data are not JSON in UTF-8. A raw line break can occur only between tokens,
/// where a space is equivalent; in a stream it would end a message.
pub fn json_to_single_line(data: Vec<u8>) -> Option<Bytes> {
    serde_json::from_slice::<&RawValue>(&data).ok()?;
    Some(replace_line_breaks_by_spaces(data))
}

/// Returns valid JSON on one line, as [`json_to_single_line`] does.
pub fn raw_json_to_single_line(raw: &RawValue) -> Bytes {
    replace_line_breaks_by_spaces(raw.get().as_bytes().to_vec())
}

fn replace_line_breaks_by_spaces(mut data: Vec<u8>) -> Bytes {
    for byte in &mut data {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    data.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_reduced_to_one_line_and_invalid_json_is_refused() {
        let line = json_to_single_line(b"{\r\n \"a\": \"\\n\"\n}".to_vec());
        assert_eq!(line.as_deref(), Some(&b"{   \"a\": \"\\n\" }"[..]));
        for bytes in [&b""[..], b"{", b"1 2", b"\"\xff\"", b"nul"] {
            assert_eq!(json_to_single_line(bytes.to_vec()), None, "{bytes:?}");
        }
    }
}
