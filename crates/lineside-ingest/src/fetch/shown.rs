//! The first bytes of a reply as text that is safe to show, without what the feed shows its producer.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use url::form_urlencoded::byte_serialize;

use crate::{config::FeedConfig, limits::REPLY_HEAD_BYTES, source::Location};

/// A text that is shorter hides nothing and would be found everywhere.
const SECRET_CHARS_MIN: usize = 4;

/// Texts that a producer may repeat and that nobody is to see. It is never printed itself.
#[derive(Default)]
pub(super) struct Hidden(Vec<String>);

impl Hidden {
    /// Everything secret that `feed` sends, and `token` if it has one.
    pub(super) fn of(feed: &FeedConfig, token: Option<&str>) -> Hidden {
        let pairs = feed.headers.iter().chain(&feed.query);
        let mut plain: Vec<String> = pairs.map(|(_, value)| value.reveal().to_owned()).collect();
        plain.extend(token.map(str::to_owned));
        if let Some(basic) = &feed.basic {
            plain.push(STANDARD.encode(format!("{}:{}", basic.user, basic.password.reveal())));
            plain.push(basic.password.reveal().to_owned());
        }
        plain.extend(feed.oauth2.as_ref().map(|oauth2| oauth2.client_secret.reveal().to_owned()));
        if let Location::Http(url) = &feed.url {
            if let Some(password) = url.password() {
                plain.push(password.to_owned());
                plain.push(STANDARD.encode(format!("{}:{password}", url.username())));
            }
            let keys = url.query_pairs().filter(|(name, _)| Location::is_secret_parameter(name));
            plain.extend(keys.map(|(_, value)| value.into_owned()));
        }
        let encoded: Vec<String> =
            plain.iter().map(|text| byte_serialize(text.as_bytes()).collect()).collect();
        let mut hidden = plain;
        hidden.extend(encoded);
        hidden.retain(|text| text.len() >= SECRET_CHARS_MIN);
        // The longest first, or a part of it would stay.
        hidden.sort_unstable_by_key(|text| std::cmp::Reverse(text.len()));
        hidden.dedup();
        Hidden(hidden)
    }

    /// How many bytes have to be looked at, so that no secret is cut in two at the end of those that are shown.
    pub(super) fn bytes_looked_at(&self) -> usize {
        REPLY_HEAD_BYTES + self.0.first().map_or(0, String::len)
    }

    /// The first of `bytes` as text: what is hidden replaced, and nothing in it that moves what stands around it.
    pub(super) fn show(&self, bytes: &[u8]) -> String {
        let bytes = &bytes[..bytes.len().min(self.bytes_looked_at())];
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for secret in &self.0 {
            text = text.replace(secret.as_str(), "***");
        }
        let mut shown = String::new();
        for c in text.chars().filter(|c| *c != '\r') {
            let c = if is_harmless(c) { c } else { char::REPLACEMENT_CHARACTER };
            if shown.len() + c.len_utf8() > REPLY_HEAD_BYTES {
                break;
            }
            shown.push(c);
        }
        shown
    }
}

/// Neither a control character nor one that turns the direction of writing.
fn is_harmless(c: char) -> bool {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(c.is_control() || turns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::FeedId,
        source::{Basic, Secret},
    };

    fn feed() -> FeedConfig {
        let url = "https://me:p4ss@a.example/x?api_key=inurl1&line=4";
        let mut feed = FeedConfig::new(FeedId::new("a").unwrap(), Location::parse(url).unwrap());
        feed.headers = vec![("x-key".to_owned(), Secret::new("inheader"))];
        feed.query = vec![("token".to_owned(), Secret::new("in query/+"))];
        feed.basic = Some(Basic { user: "ann".to_owned(), password: Secret::new("inbasic") });
        feed
    }

    #[test]
    fn what_a_producer_repeats_of_our_secrets_is_not_shown() {
        let hidden = Hidden::of(&feed(), Some("t0ken"));
        for secret in
            ["p4ss", "inurl1", "inheader", "in query/+", "in+query%2F%2B", "inbasic", "t0ken"]
        {
            let text = format!("wrong key: {secret}!");
            assert_eq!(hidden.show(text.as_bytes()), "wrong key: ***!", "{secret}");
        }
        let header = format!("authorization: Basic {}", STANDARD.encode("ann:inbasic"));
        assert_eq!(hidden.show(header.as_bytes()), "authorization: Basic ***");
    }

    #[test]
    fn a_secret_at_the_end_is_not_cut_into_what_is_shown() {
        let hidden = Hidden::of(&feed(), None);
        for at in REPLY_HEAD_BYTES - 12..REPLY_HEAD_BYTES + 2 {
            let text = format!("{}inheader and more", "x".repeat(at));
            assert!(!hidden.show(text.as_bytes()).contains("in"), "{at}");
        }
    }

    #[test]
    fn what_is_shown_is_short_and_does_no_harm() {
        let hidden = Hidden::of(&feed(), None);
        assert_eq!(hidden.show(b"a\x00b\x1b[31m\r\n\tc"), "a\u{fffd}b\u{fffd}[31m\n\tc");
        assert_eq!(hidden.show("x\u{202e}y".as_bytes()), "x\u{fffd}y");
        assert_eq!(hidden.show(&[0xff; 4_000]).len() / 3, REPLY_HEAD_BYTES / 3);
        assert_eq!(hidden.show(&[b'y'; 4_000]).len(), REPLY_HEAD_BYTES);
        assert_eq!(hidden.show(b""), "");
    }
}
