//! JSON that others have written and that goes out as it is.

use bytes::Bytes;
use serde_json::value::RawValue;

/// The same JSON on one line; `None` when it is none, or in another encoding than UTF-8. A raw line break can
/// only stand between tokens, where a space does as well; in what is sent it would end a message.
pub(crate) fn to_single_line(data: Vec<u8>) -> Option<Bytes> {
    serde_json::from_slice::<&RawValue>(&data).ok()?;
    Some(replace_line_breaks(data))
}

/// As [`to_single_line`], for what was read as JSON already.
pub(crate) fn raw_to_single_line(raw: &RawValue) -> Bytes {
    replace_line_breaks(raw.get().as_bytes().to_vec())
}

fn replace_line_breaks(mut data: Vec<u8>) -> Bytes {
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
    fn json_comes_out_on_one_line_and_nothing_else_comes_out() {
        let line = to_single_line(b"{\r\n \"a\": \"\\n\"\n}".to_vec());
        assert_eq!(line.as_deref(), Some(&b"{   \"a\": \"\\n\" }"[..]));
        for bytes in [&b""[..], b"{", b"1 2", b"\"\xff\"", b"nul"] {
            assert_eq!(to_single_line(bytes.to_vec()), None, "{bytes:?}");
        }
    }
}
