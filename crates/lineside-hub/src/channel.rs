//! Channel names: segments separated by `/`, with exactly one spelling for each name.
//!
//! In a segment the characters `/ + # % : ,`, space and control characters are percent-encoded in upper-case hex. No
//! other character may be, so two names are the same channel exactly if their bytes are equal.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::limits::CHANNEL_BYTES_MAX;

/// A well-formed public name, such as `vehicle/city-vehicles/4%2F1`; cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodedChannelName(Arc<str>);

/// The reason why a name is not a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadChannelName {
    /// The name is longer than [`CHANNEL_BYTES_MAX`].
    #[error("the channel name is longer than {CHANNEL_BYTES_MAX} bytes")]
    TooLong,
    /// The name has no `/`, or an empty segment.
    #[error("the channel name needs at least two segments, and no segment may be empty")]
    EmptySegment,
    /// A character that must be percent-encoded is not, or one that must not be encoded is.
    #[error(
        "a channel name must percent-encode `/ + # % : ,`, space and control characters, in \
        upper-case hex, and no other character"
    )]
    Spelling,
    /// The name is well-formed, but this server has no channels of its form.
    #[error("the channel type does not exist")]
    UnknownForm,
    /// The name is well-formed, but one of its segments is invalid; contains the reason.
    #[error("{0}")]
    Segment(&'static str),
}

impl EncodedChannelName {
    /// Parses a name as a client writes it.
    ///
    /// # Errors
    /// Returns an error if the name is too long, has an empty segment, or has another spelling than the one allowed.
    ///
    /// ```
    /// use lineside_hub::{BadChannelName, EncodedChannelName};
    /// assert!(EncodedChannelName::parse_channel_name("vehicle/city-vehicles/4%2F1").is_ok());
    /// assert_eq!(EncodedChannelName::parse_channel_name("vehicle/city-vehicles/4%2f1"), Err(BadChannelName::Spelling));
    /// ```
    pub fn parse_channel_name(name: &str) -> Result<Self, BadChannelName> {
        if name.len() > CHANNEL_BYTES_MAX {
            return Err(BadChannelName::TooLong);
        }
        let mut segments = 0;
        for segment in name.split('/') {
            decode_segment(segment)?;
            segments += 1;
        }
        if segments < 2 { Err(BadChannelName::EmptySegment) } else { Ok(Self(name.into())) }
    }

    /// Creates the name from decoded segments: `["vehicle", "city-vehicles", "4/1"]`.
    ///
    /// # Errors
    /// Returns an error if there are fewer than two segments, if one is empty, or if the whole name is too long.
    pub fn from_segments<'a>(
        segments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, BadChannelName> {
        let mut name = String::new();
        for (n, segment) in segments.into_iter().enumerate() {
            if n > 0 {
                name.push('/');
            }
            name.push_str(&encode_segment(segment));
        }
        Self::parse_channel_name(&name)
    }

    /// Creates a name that no client can spell: `prefix` ends with a colon.
    pub(crate) fn new_internal_name(prefix: &str, rest: &str) -> Self {
        Self([prefix, rest].concat().into())
    }

    /// Returns the encoded name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the decoded segments, at least two.
    pub fn decoded_segments(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.split('/').map(|segment| decode_segment(segment).unwrap_or(Cow::Borrowed(segment)))
    }
}

impl fmt::Debug for EncodedChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for EncodedChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn must_char_be_encoded(c: char) -> bool {
    matches!(c, '/' | '+' | '#' | '%' | ':' | ',' | ' ') || c.is_control()
}

/// Encodes an id as a segment of a channel name; borrows if nothing needs encoding.
pub fn encode_segment(id: &str) -> Cow<'_, str> {
    if !id.contains(must_char_be_encoded) {
        return Cow::Borrowed(id);
    }
    let mut encoded = String::with_capacity(id.len() + 8);
    for c in id.chars() {
        if must_char_be_encoded(c) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(encoded, "%{byte:02X}");
            }
        } else {
            encoded.push(c);
        }
    }
    Cow::Owned(encoded)
}

/// Decodes a segment; borrows if nothing was encoded.
///
/// # Errors
/// Returns an error if the segment is empty or not spelled as by [`encode_segment`].
pub fn decode_segment(segment: &str) -> Result<Cow<'_, str>, BadChannelName> {
    if segment.is_empty() {
        return Err(BadChannelName::EmptySegment);
    }
    if !segment.contains(must_char_be_encoded) {
        return Ok(Cow::Borrowed(segment));
    }
    let decoded = percent_decode(segment).ok_or(BadChannelName::Spelling)?;
    // Each id has one spelling: a segment that does not encode back to itself is another one.
    if encode_segment(&decoded) == segment {
        Ok(Cow::Owned(decoded))
    } else {
        Err(BadChannelName::Spelling)
    }
}

fn percent_decode(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            parse_hex_digit(rest.next()?)? << 4 | parse_hex_digit(rest.next()?)?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

fn parse_hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reserved_characters_are_encoded() {
        assert_eq!(
            encode_segment("a/b+c#d%e:f,g h\ti\u{85}"),
            "a%2Fb%2Bc%23d%25e%3Af%2Cg%20h%09i%C2%85"
        );
        assert!(matches!(encode_segment("é-ü.@\"'&?"), Cow::Borrowed(_)));
    }

    #[test]
    fn noncanonical_spellings_are_refused() {
        let spellings = [
            "feed/a b",
            "feed/a+b",
            "feed/%41",
            "feed/%2f",
            "feed/%C3%A9",
            "feed/%",
            "feed/%2",
            "feed/%zz",
        ];
        for name in spellings {
            assert_eq!(
                EncodedChannelName::parse_channel_name(name),
                Err(BadChannelName::Spelling),
                "{name}"
            );
        }
        for name in ["", "feed", "/feed", "feed/", "a//b", "/"] {
            assert_eq!(
                EncodedChannelName::parse_channel_name(name),
                Err(BadChannelName::EmptySegment),
                "{name}"
            );
        }
        let long = format!("feed/{}", "x".repeat(CHANNEL_BYTES_MAX));
        assert_eq!(EncodedChannelName::parse_channel_name(&long), Err(BadChannelName::TooLong));
    }

    proptest! {
        #[test]
        fn any_id_round_trips_through_its_segment(id in ".{1,40}") {
            let encoded = encode_segment(&id).into_owned();
            prop_assert_eq!(decode_segment(&encoded).expect("decodes"), id.as_str());
            let channel = EncodedChannelName::from_segments(["trip", "city", &id]).expect("a channel");
            let segments: Vec<_> = channel.decoded_segments().collect();
            prop_assert_eq!(segments, ["trip", "city", &id]);
        }

        #[test]
        fn a_channel_name_is_the_only_spelling_of_its_segments(name in "[a%/25F:é ]{1,12}") {
            if let Ok(channel) = EncodedChannelName::parse_channel_name(&name) {
                let segments: Vec<String> = channel.decoded_segments().map(Cow::into_owned).collect();
                let rebuilt = EncodedChannelName::from_segments(segments.iter().map(String::as_str));
                prop_assert_eq!(rebuilt, Ok(channel));
            }
        }
    }
}
