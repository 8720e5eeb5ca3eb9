//! The JSON that this crate writes itself: strings, and data that others have encoded.

use bytes::{Bytes, BytesMut};

/// Writes a string with quotes and escapes.
pub(crate) fn write_json_string(text: &str, into: &mut BytesMut) {
    into.extend_from_slice(b"\"");
    for c in text.chars() {
        match c {
            '"' => into.extend_from_slice(b"\\\""),
            '\\' => into.extend_from_slice(b"\\\\"),
            c if c < ' ' => into.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
            c => into.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    into.extend_from_slice(b"\"");
}

/// Returns the JSON on one line. A raw line break can only occur between tokens, where a space is equivalent; in an
/// event stream it would end the field. Empty data becomes `null`.
pub(crate) fn json_on_single_line(data: &Bytes) -> Bytes {
    if data.is_empty() {
        return Bytes::from_static(b"null");
    }
    if !data.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        return data.clone();
    }
    data.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn data_without_line_breaks_is_not_copied() {
        let data = Bytes::from_static(b"{\"at\":1}");
        assert_eq!(json_on_single_line(&data).as_ptr(), data.as_ptr());
        assert_eq!(
            &json_on_single_line(&Bytes::from_static(b"{\r\n\"at\":1\n}"))[..],
            b"{  \"at\":1 }"
        );
        assert_eq!(&json_on_single_line(&Bytes::new())[..], b"null");
    }

    proptest! {
        #[test]
        fn any_string_round_trips(text in any::<String>()) {
            let mut json = BytesMut::new();
            write_json_string(&text, &mut json);
            prop_assert_eq!(serde_json::from_slice::<String>(&json).expect("JSON"), text);
        }
    }
}
