//! Redaction: displayable text of a reply's first bytes without the feed's secrets.

use std::fmt;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use percent_encoding::percent_decode_str;

use crate::{
    feed_config::FeedConfig,
    limits::REPLY_HEAD_BYTES,
    source::{Secret, SourceLocation},
};

/// Bytes per character of the longest known escape.
const ESCAPE_BYTES_MAX: usize = 12;
/// Minimum length of a redacted secret: a shorter text would match everywhere.
const SECRET_CHARS_MIN: usize = 4;

/// Secrets that a producer may echo and that must be redacted. Never printed itself.
#[derive(Default)]
pub struct SecretRedactor {
    /// The secrets and their encodings as a whole, longest first.
    forms: Vec<String>,
    /// The secrets themselves.
    plain: Vec<String>,
}

impl fmt::Debug for SecretRedactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl SecretRedactor {
    /// Collects all secrets that `feed` sends, including its tokens.
    pub fn for_feed(feed: &FeedConfig, tokens: &[&Secret]) -> SecretRedactor {
        let mut plain: Vec<String> =
            feed.query.iter().map(|(_, value)| value.reveal().to_owned()).collect();
        for (_, value) in &feed.headers {
            plain.extend(header_value_words(value.reveal()).map(str::to_owned));
        }
        plain.extend(tokens.iter().map(|token| token.reveal().to_owned()));
        if let Some(basic) = &feed.basic {
            plain.push(STANDARD.encode(format!("{}:{}", basic.user, basic.password.reveal())));
            plain.push(basic.password.reveal().to_owned());
        }
        plain.extend(feed.oauth2.as_ref().map(|oauth2| oauth2.client_secret.reveal().to_owned()));
        let requestor = feed.siri.as_ref().and_then(|siri| siri.requestor_ref.as_ref());
        plain.extend(requestor.map(|it| it.reveal().to_owned()));
        if let SourceLocation::Http(url) = &feed.url {
            if let Some(password) = url.password() {
                // The password is sent decoded, but a producer may echo the URL as written.
                plain.push(password.to_owned());
                let (user, password) = (percent_decode(url.username()), percent_decode(password));
                plain.push(STANDARD.encode(format!("{user}:{password}")));
                plain.push(password);
            }
            let keys = url
                .query_pairs()
                .filter(|(name, _)| SourceLocation::is_secret_query_parameter(name));
            plain.extend(keys.map(|(_, value)| value.into_owned()));
        }
        let encoded: Vec<String> = plain.iter().flat_map(|text| secret_encodings(text)).collect();
        plain.retain(|text| text.len() >= SECRET_CHARS_MIN);
        let mut forms: Vec<String> = plain.iter().cloned().chain(encoded).collect();
        forms.retain(|text| text.len() >= SECRET_CHARS_MIN);
        // Longest first: otherwise part of a longer form would remain.
        forms.sort_unstable_by(|one, other| (other.len(), one).cmp(&(one.len(), other)));
        forms.dedup();
        SecretRedactor { forms, plain }
    }

    /// Returns true if a text contains a secret.
    pub(super) fn contains_secret(&self, text: &str) -> bool {
        (0..text.len()).any(|at| self.leading_secret_length(&text.as_bytes()[at..]) > 0)
    }

    /// Returns the number of bytes to read so that no secret is cut at the end of the shown part.
    pub(super) fn bytes_needed_to_redact(&self) -> usize {
        let longest = self.plain.iter().map(String::len).max().unwrap_or(0);
        REPLY_HEAD_BYTES + longest * ESCAPE_BYTES_MAX
    }

    /// Returns the first of `bytes` as text with secrets redacted and without characters that move surrounding text.
    pub fn redact_reply_prefix(&self, bytes: &[u8]) -> String {
        self.redact_prefix_up_to(bytes, REPLY_HEAD_BYTES)
    }

    /// Redacts like [`redact_reply_prefix`](Self::redact_reply_prefix), with at most `max` bytes.
    pub fn redact_prefix_up_to(&self, bytes: &[u8], max: usize) -> String {
        let mut redacted = Vec::new();
        let mut hidden_until = 0;
        for (at, byte) in bytes.iter().enumerate().take(max) {
            let n_hidden = self.leading_secret_length(&bytes[at..]);
            if n_hidden > 0 && at >= hidden_until {
                redacted.extend_from_slice(b"***");
            }
            hidden_until = hidden_until.max(at + n_hidden);
            if at >= hidden_until {
                redacted.push(*byte);
            }
        }
        let text = String::from_utf8_lossy(&redacted);
        let mut shown = String::new();
        for c in text.chars().filter(|c| *c != '\r') {
            let c = if is_safe_to_display(c) { c } else { char::REPLACEMENT_CHARACTER };
            if shown.len() + c.len_utf8() > max {
                break;
            }
            shown.push(c);
        }
        shown
    }

    /// Redacts bytes whose beginning was cut off: they may begin within a secret.
    pub fn redact_after_cut(&self, bytes: &[u8]) -> String {
        match self.cut_secret_length(bytes) {
            0 => self.redact_reply_prefix(bytes),
            n => format!("***{}", self.redact_reply_prefix(&bytes[n..])),
        }
    }

    /// Returns the number of leading bytes that end a secret begun earlier.
    fn cut_secret_length(&self, bytes: &[u8]) -> usize {
        let ends_with = |encoded: &String| {
            let longest = (encoded.len() - 1).min(bytes.len());
            let is_end = |&n: &usize| {
                encoded.as_bytes()[encoded.len() - n..].eq_ignore_ascii_case(&bytes[..n])
            };
            (SECRET_CHARS_MIN..=longest).rev().find(is_end)
        };
        let longest_form = self.forms.iter().filter_map(ends_with).max().unwrap_or(0);
        let ends = self.plain.iter().flat_map(|secret| secret_suffixes(secret));
        // The bytes may also begin within an escape.
        let is_escape_byte = |byte: &&u8| byte.is_ascii_alphanumeric() || b"#;".contains(byte);
        let n_cut = bytes.iter().take(ESCAPE_BYTES_MAX).take_while(is_escape_byte).count();
        ends.flat_map(|end| {
            (0..=n_cut).filter_map(move |cut| match escaped_secret_length(end, &bytes[cut..]) {
                0 => None,
                n => Some(cut + n),
            })
        })
        .fold(longest_form, usize::max)
    }

    /// Returns the number of leading bytes that belong to a secret, ignoring case. The bytes may end within it.
    fn leading_secret_length(&self, bytes: &[u8]) -> usize {
        let begins = |secret: &&String| {
            let n = secret.len().min(bytes.len());
            n >= SECRET_CHARS_MIN && secret.as_bytes()[..n].eq_ignore_ascii_case(&bytes[..n])
        };
        // The first match is the longest.
        let encoded =
            self.forms.iter().find(begins).map_or(0, |encoded| encoded.len().min(bytes.len()));
        self.plain
            .iter()
            .map(|secret| escaped_secret_length(secret, bytes))
            .fold(encoded, usize::max)
    }
}

/// Returns the proper suffixes of a secret that are long enough to be recognised, longest first.
fn secret_suffixes(secret: &str) -> impl Iterator<Item = &str> {
    let ends = secret.char_indices().skip(1).map(|(at, _)| &secret[at..]);
    ends.take_while(|end| end.len() >= SECRET_CHARS_MIN)
}

/// Returns the number of leading bytes that equal the secret, with each character plain or escaped in any way; 0 if
/// they differ. The bytes may end within the secret.
fn escaped_secret_length(secret: &str, bytes: &[u8]) -> usize {
    let mut at = 0;
    for (n, c) in secret.chars().enumerate() {
        let rest = &bytes[at..];
        match escaped_char_length(c, rest) {
            Some(length) => at += length,
            // The bytes may have been cut within an escape.
            None if n >= SECRET_CHARS_MIN && rest.len() < ESCAPE_BYTES_MAX => {
                let is_escape = rest.first().is_none_or(|byte| b"\\%&".contains(byte));
                return if is_escape { bytes.len() } else { 0 };
            }
            None => return 0,
        }
    }
    at
}

/// Returns the number of leading bytes that encode a character.
fn escaped_char_length(c: char, bytes: &[u8]) -> Option<usize> {
    let mut own = [0; 4];
    let own = c.encode_utf8(&mut own).as_bytes();
    let begins =
        |bytes: &[u8]| bytes.get(..own.len()).is_some_and(|bytes| bytes.eq_ignore_ascii_case(own));
    let is_own = |code: u32| char::from_u32(code).is_some_and(|it| it.eq_ignore_ascii_case(&c));
    let escaped = match bytes {
        [b'\\', b'u', code @ ..] => {
            code.get(..4).and_then(parse_hexadecimal).filter(|code| is_own(*code)).map(|_| 6)
        }
        [b'\\', rest @ ..] if begins(rest) => Some(1 + own.len()),
        [b'%', ..] => {
            let written = bytes.chunks_exact(3).take(own.len());
            let decoded: Vec<u8> = written
                .filter_map(|it| parse_hexadecimal(it.strip_prefix(b"%")?))
                .map(|it| it as u8)
                .collect();
            decoded.eq_ignore_ascii_case(own).then_some(3 * own.len())
        }
        [b'&', rest @ ..] => {
            let end = rest.iter().take(ESCAPE_BYTES_MAX).position(|byte| *byte == b';');
            end.filter(|end| is_html_entity_for(&rest[..*end], is_own, c)).map(|end| end + 2)
        }
        [b'+', ..] if c == ' ' => Some(1),
        _ => None,
    };
    escaped.or_else(|| begins(bytes).then_some(own.len()))
}

/// Returns true if the name between `&` and `;` encodes a character.
fn is_html_entity_for(name: &[u8], is_own: impl Fn(u32) -> bool, c: char) -> bool {
    let code = match name {
        [b'#', b'x' | b'X', code @ ..] => parse_hexadecimal(code),
        [b'#', code @ ..] => str::from_utf8(code).ok().and_then(|code| code.parse().ok()),
        _ => None,
    };
    let named = match c {
        '&' => "amp",
        '<' => "lt",
        '>' => "gt",
        '"' => "quot",
        '\'' => "apos",
        _ => "",
    };
    code.is_some_and(is_own) || !named.is_empty() && name.eq_ignore_ascii_case(named.as_bytes())
}

fn parse_hexadecimal(digits: &[u8]) -> Option<u32> {
    let text = str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    u32::from_str_radix(text, 16).ok()
}

/// Returns the encodings of a secret as a whole. [`escaped_secret_length`] finds those that escape character by
/// character.
fn secret_encodings(secret: &str) -> [String; 4] {
    let bytes = secret.as_bytes();
    let hexadecimal = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let reversed = secret.chars().rev().collect();
    [STANDARD_NO_PAD.encode(bytes), URL_SAFE_NO_PAD.encode(bytes), hexadecimal, reversed]
}

/// Returns a header's value and its parts: producers echo the key of `Bearer <key>` or `token="<key>"` alone.
fn header_value_words(value: &str) -> impl Iterator<Item = &str> {
    let spaced = value.split_whitespace();
    let parts = value.split(|c: char| c.is_whitespace() || "=,;\"'".contains(c));
    std::iter::once(value).chain(spaced).chain(parts)
}

fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns false for control characters and characters that change the writing direction.
fn is_safe_to_display(c: char) -> bool {
    let char_class_changes =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(c.is_control() || char_class_changes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::feed_id::FeedId;
    use crate::source::BasicAuth;

    fn feed() -> FeedConfig {
        let url = "https://me:p4ss%2Fw0rd@a.example/x?api_key=inurl1&line=4";
        let mut feed =
            FeedConfig::new(FeedId::new("a").unwrap(), SourceLocation::parse(url).unwrap());
        feed.headers = vec![
            ("x-key".to_owned(), Secret::new("inheader")),
            ("authorization".to_owned(), Secret::new("Bearer kept=back")),
        ];
        feed.query = vec![("token".to_owned(), Secret::new("in query/+"))];
        feed.basic = Some(BasicAuth { user: "ann".to_owned(), password: Secret::new("inbasic") });
        feed
    }

    #[test]
    fn secrets_that_a_producer_echoes_are_redacted() {
        let hidden =
            SecretRedactor::for_feed(&feed(), &[&Secret::new("t0ken"), &Secret::new("before")]);
        for secret in [
            "p4ss/w0rd",
            "p4ss%2Fw0rd",
            "p4ss%2fw0rd",
            "inurl1",
            "inheader",
            "INHEADER",
            "Bearer kept=back",
            "kept=back",
            "back",
            "in query/+",
            "in+query%2F%2B",
            "inbasic",
            "t0ken",
            "before",
        ] {
            let text = format!("wrong key: {secret}!");
            assert_eq!(hidden.redact_reply_prefix(text.as_bytes()), "wrong key: ***!", "{secret}");
        }
        for pair in ["ann:inbasic", "me:p4ss/w0rd"] {
            let header = format!("authorization: Basic {}", STANDARD.encode(pair));
            assert_eq!(hidden.redact_reply_prefix(header.as_bytes()), "authorization: Basic ***");
        }
    }

    #[test]
    fn nested_and_overlapping_secrets_are_redacted_together() {
        let mut feed = feed();
        feed.query = ["abcdef", "cdefgh", "cdef"]
            .map(|value| ("key".to_owned(), Secret::new(value)))
            .to_vec();
        let hidden = SecretRedactor::for_feed(&feed, &[]);
        assert_eq!(hidden.redact_reply_prefix(b"xabcdefghy"), "x***y");
        assert_eq!(hidden.redact_reply_prefix(b"xcdefy abcdefcdef"), "x***y ******");
    }

    #[test]
    fn a_secret_cut_by_the_end_of_the_text_is_redacted() {
        let hidden = SecretRedactor::for_feed(&feed(), &[]);
        for at in REPLY_HEAD_BYTES - 12..REPLY_HEAD_BYTES + 2 {
            let text = format!("{}inheader and more", "x".repeat(at));
            assert!(!hidden.redact_reply_prefix(text.as_bytes()).contains("in"), "{at}");
            // A redacted secret before it shortens the shown text and must not reveal later bytes.
            let twice = format!("inheader{}", &text[8..]);
            assert!(!hidden.redact_reply_prefix(twice.as_bytes()).contains("in"), "{at}");
        }
    }

    #[test]
    fn a_truncated_secret_at_the_end_is_redacted() {
        let hidden = SecretRedactor::for_feed(&feed(), &[]);
        assert_eq!(hidden.redact_reply_prefix(b"wrong key: inhea"), "wrong key: ***");
        assert_eq!(
            hidden.redact_reply_prefix(b"wrong key: inh"),
            "wrong key: inh",
            "too short to be redacted"
        );
    }

    #[test]
    fn a_secret_that_began_before_the_text_is_redacted() {
        let hidden = SecretRedactor::for_feed(&feed(), &[]);
        assert_eq!(hidden.redact_after_cut(b"eader is wrong"), "*** is wrong");
        assert_eq!(hidden.redact_after_cut(b"ader and inheader"), "*** and ***");
        assert_eq!(hidden.redact_after_cut(b"der"), "der", "too short to be redacted");
        assert_eq!(hidden.redact_after_cut(b"inheader"), "***");
        assert_eq!(hidden.redact_after_cut(b""), "");
    }

    #[test]
    fn an_escaped_or_encoded_secret_is_redacted() {
        let mut feed = feed();
        feed.query = ["Se\"cr<et&'+/ x", "a/b+c=d"]
            .map(|value| ("key".to_owned(), Secret::new(value)))
            .to_vec();
        let hidden = SecretRedactor::for_feed(&feed, &[]);
        for text in [
            r#"Se\"cr<et&'+/ x"#,
            r#"Se\"cr<et&'+\/ x"#,
            r"Se\u0022cr\u003cet\u0026\u0027\u002B/ x",
            "Se&quot;cr&lt;et&amp;&#39;+/ x",
            "Se&#34;cr&lt;et&amp;&#x27;+/ x",
            "Se%22cr%3Cet%26%27%2B%2F%20x",
            r"a\/b+c=d",
            r"a/b\u002Bc=d",
            "YS9iK2M9ZA",
            "612f622b633d64",
            // Each character escaped in another way, and the secret reversed.
            r"&#x53;e%22\u0063r&lt;e\t&amp;'%2B/+x",
            "S&#101;&#34;cr%3cet&#x26;&apos;+\\/ x",
            "d=c+b/a",
        ] {
            let shown = hidden.redact_reply_prefix(format!("wrong key: {text}!").as_bytes());
            assert_eq!(shown, "wrong key: ***!", "{text}");
        }
    }

    #[test]
    fn the_rest_of_an_escaped_secret_is_redacted() {
        let mut feed = feed();
        feed.query = vec![("key".to_owned(), Secret::new("Se\"cr<et&'+/ x"))];
        let hidden = SecretRedactor::for_feed(&feed, &[]);
        for rest in [
            "cr&lt;et&amp;&#39;+/ x",
            r"u003cet\u0026'+\/ x",
            "3Cet%26%27%2B%2F%20x",
            "lt;et&amp;'+/ x",
            "%2B/+x",
        ] {
            assert_eq!(
                hidden.redact_after_cut(format!("{rest} is wrong").as_bytes()),
                "*** is wrong",
                "{rest}"
            );
        }
        assert_eq!(hidden.redact_after_cut(b"it is wrong"), "it is wrong");
    }

    proptest! {
        #[test]
        fn no_secret_is_ever_shown(
            pieces in proptest::collection::vec(
                prop_oneof!["[a-z ]{0,40}", Just("inheader".to_owned()), Just("s3cr3t".to_owned())],
                0..60,
            )
        ) {
            let shown = SecretRedactor::for_feed(&feed(), &[&Secret::new("s3cr3t")]).redact_reply_prefix(pieces.concat().as_bytes());
            prop_assert!(!shown.contains("inheader") && !shown.contains("s3cr"), "{shown}");
            prop_assert!(shown.len() <= REPLY_HEAD_BYTES);
        }
    }

    #[test]
    fn shown_text_is_short_and_has_no_control_characters() {
        let hidden = SecretRedactor::for_feed(&feed(), &[]);
        assert_eq!(
            hidden.redact_reply_prefix(b"a\x00b\x1b[31m\r\n\tc"),
            "a\u{fffd}b\u{fffd}[31m\n\tc"
        );
        assert_eq!(hidden.redact_reply_prefix("x\u{202e}y".as_bytes()), "x\u{fffd}y");
        assert_eq!(hidden.redact_reply_prefix(&[0xff; 4_000]).len() / 3, REPLY_HEAD_BYTES / 3);
        assert_eq!(hidden.redact_reply_prefix(&[b'y'; 4_000]).len(), REPLY_HEAD_BYTES);
        assert_eq!(hidden.redact_reply_prefix(b""), "");
    }
}
