//! What one feed is configured to be.

mod external_program;
mod request_rate;

use std::{fmt, sync::Arc, time::Duration};

use lineside_formats::{Format, gtfs_rt, may_be_schedule, siri, sniff_format};
use smol_str::SmolStr;

use crate::{
    limits::{BODY_BYTES_MAX_DEFAULT, FEED_ID_CHARS_MAX, GBFS_TTL_USUAL},
    source::{BasicAuth, OAuth2Client, Secret, SiriSource, SourceLocation},
};

pub use external_program::ExternalProgram;
pub use request_rate::{InvalidRate, RequestRate};

/// The name of a feed in URLs, channels and metrics: 1 to 64 of `A-Z a-z 0-9 . _ -`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FeedId(SmolStr);

impl FeedId {
    /// Checks and keeps a name.
    ///
    /// # Errors
    /// The text, with what is wrong with it.
    pub fn new(text: &str) -> Result<FeedId, BadFeedId> {
        let fault = if text.is_empty() {
            "is empty"
        } else if text.len() > FEED_ID_CHARS_MAX {
            "is longer than 64 characters"
        } else if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) {
            "may only hold letters, digits, '.', '_' and '-'"
        } else if text.bytes().all(|b| b == b'.') {
            "may not be dots alone"
        } else {
            return Ok(FeedId(SmolStr::new(text)));
        };
        Err(BadFeedId { text: text.chars().take(FEED_ID_CHARS_MAX).collect(), fault })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FeedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.as_str(), f)
    }
}

impl AsRef<str> for FeedId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl serde::Serialize for FeedId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A text that is no feed id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the feed id {text:?} {fault}")]
pub struct BadFeedId {
    text: String,
    fault: &'static str,
}

/// One feed as configured. Only the id and the address are needed; see [`FeedConfig::new`].
#[derive(Clone, Debug, PartialEq)]
pub struct FeedConfig {
    /// Its name, unique in the catalog.
    pub id: FeedId,
    /// Where it is polled.
    pub url: SourceLocation,
    /// What it is; told from its content where absent.
    pub format: Option<Format>,
    /// What makes that of what its producer sends; it is then the converter's own `to`.
    pub converter: Option<Arc<FormatConverter>>,
    /// A name for people.
    pub name: Option<String>,
    /// Who publishes it.
    pub publisher: Option<String>,
    /// Under which licence.
    pub licence: Option<String>,
    /// What it is about, such as `bus` or `rail`.
    pub theme: Option<String>,
    /// A sentence or two about it for people.
    pub description: Option<String>,
    /// The schedule feed that it belongs to.
    pub static_feed: Option<FeedId>,
    /// Headers of each request; the values are shown nowhere.
    pub headers: Vec<(String, Secret)>,
    /// Parameters added to the address; the values are shown nowhere.
    pub query: Vec<(String, Secret)>,
    /// The user and password of each request.
    pub basic: Option<BasicAuth>,
    /// Where it gets a token for its requests.
    pub oauth2: Option<OAuth2Client>,
    /// How its producer is asked if it is SIRI; by a plain GET where absent.
    pub siri: Option<Arc<SiriSource>>,
    /// How often it is polled; by its format where absent.
    pub poll: Option<Duration>,
    /// How long a reply is taken as fresh in any case: the feed is not asked sooner, whatever `poll` and its producer
    /// say.
    pub ttl: Option<Duration>,
    /// How often its producer may be asked, by all feeds of the same host and credential together.
    pub rate: Option<RequestRate>,
    /// Whether its host is never asked twice at a time, by whatever feeds.
    pub serial: bool,
    /// How long connecting and the first byte may take, and each further piece.
    pub timeout: Duration,
    /// Largest body, also once inflated.
    pub max_bytes: u64,
    /// Age past which the last good bytes are no longer served; for ever where absent.
    pub max_age: Option<Duration>,
    /// Age of the data past which the feed is called late.
    pub late_after: Duration,
    /// How far behind the timetable a trip is called late; where absent, as its network says.
    pub trip_late_after: Option<Duration>,
    /// Headers of replies with its bytes, beside or instead of the usual ones.
    pub reply_headers: Vec<(http::HeaderName, http::HeaderValue)>,
    /// Whether its source is left alone until further notice; what came of it goes on being served.
    pub paused: bool,
    /// Whether a stranger named its address: then nothing but hosts of the public internet is asked.
    pub public_only: bool,
}

impl FeedConfig {
    /// The largest body that is read, also once inflated: a format that takes less is asked for no more.
    pub(crate) fn body_bytes_max(&self) -> u64 {
        let promised = self.configured_format().filter(|_| self.converter.is_none());
        let decoded_max = promised.and_then(decoded_bytes_max);
        decoded_max.map_or(self.max_bytes, |decoded_max| self.max_bytes.min(decoded_max))
    }

    /// The largest body that begins so: without a promised format, real time is bounded once its first bytes show it.
    pub(crate) fn body_bytes_max_for(&self, head: &[u8]) -> u64 {
        if self.configured_format().is_some() || self.converter.is_some() || may_be_schedule(head) {
            return self.body_bytes_max();
        }
        match sniff_format(head).and_then(decoded_bytes_max) {
            Some(decoded_max) => self.max_bytes.min(decoded_max),
            None => self.max_bytes,
        }
    }

    /// A feed with the documented defaults: 15 s timeout, late after 5 min, the poll of its format.
    pub fn new(id: FeedId, url: SourceLocation) -> FeedConfig {
        FeedConfig {
            id,
            url,
            format: None,
            converter: None,
            name: None,
            publisher: None,
            licence: None,
            theme: None,
            description: None,
            static_feed: None,
            headers: Vec::new(),
            query: Vec::new(),
            basic: None,
            oauth2: None,
            siri: None,
            poll: None,
            ttl: None,
            rate: None,
            serial: false,
            timeout: Duration::from_secs(15),
            max_bytes: BODY_BYTES_MAX_DEFAULT,
            max_age: None,
            late_after: Duration::from_secs(5 * 60),
            trip_late_after: None,
            reply_headers: Vec::new(),
            paused: false,
            public_only: false,
        }
    }

    /// Whether it is asked for the same bytes as `other` says.
    pub(crate) fn has_same_source(&self, other: &FeedConfig) -> bool {
        let siri = |config: &FeedConfig| config.siri.clone().unwrap_or_default();
        let asks_alike = siri(self).has_same_requests(&siri(other));
        self.url == other.url && self.query == other.query && asks_alike
    }

    /// Whether it is a recording that is played.
    pub(crate) fn is_recording(&self) -> bool {
        matches!(self.url, SourceLocation::Replay { .. })
    }

    /// Whether its bytes go out with the same headers as `other` says.
    pub(crate) fn has_same_headers(&self, other: &FeedConfig) -> bool {
        self.licence == other.licence && self.reply_headers == other.reply_headers
    }

    /// The name for people: the configured one, else the id.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// What it has to be, as configured.
    pub fn configured_format(&self) -> Option<Format> {
        self.format.or(self.siri.as_ref().map(|_| Format::Siri))
    }

    /// How often a feed of `format` is polled unless the configuration says otherwise.
    pub fn poll_interval(&self, format: Option<Format>) -> Duration {
        self.poll.unwrap_or(match self.configured_format().or(format) {
            Some(Format::Gtfs | Format::Netex) => Duration::from_secs(60 * 60),
            Some(Format::GtfsRt) => Duration::from_secs(15),
            Some(Format::Siri) => Duration::from_secs(30),
            // A file of a system asks by its own word.
            Some(Format::Gbfs) => GBFS_TTL_USUAL,
            // Until its content tells, a feed is asked as often as one of real time.
            None => Duration::from_secs(15),
            Some(_) => Duration::from_secs(5 * 60),
        })
    }
}

/// The largest body that the decoder of a format takes, where it takes less than feeds may have.
fn decoded_bytes_max(format: Format) -> Option<u64> {
    match format {
        Format::Siri => Some(siri::MessageLimits::default().body_bytes as u64),
        Format::GtfsRt => Some(gtfs_rt::FeedMessageLimits::default().body_bytes as u64),
        _ => None,
    }
}

/// What turns a format that is not read here into one that is: a program of the operator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatConverter {
    /// What a producer sends, by the operator's name for it.
    pub from: SmolStr,
    /// What comes out.
    pub to: Format,
    /// What does it.
    pub program: ExternalProgram,
}

/// A feed's configuration, shared.
pub(crate) type SharedConfig = Arc<FeedConfig>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_id_is_a_plain_segment() {
        for good in ["city", "SNCF-ter.gtfs_rt", "a", &"x".repeat(64)] {
            assert_eq!(FeedId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "a/b", "é", "a b", "..", &"x".repeat(65)] {
            FeedId::new(bad).unwrap_err();
        }
    }

    #[test]
    fn polls_default_by_format() {
        let location = SourceLocation::parse("feed.zip").unwrap();
        let mut config = FeedConfig::new(FeedId::new("a").unwrap(), location);
        assert_eq!(config.poll_interval(Some(Format::Gtfs)), Duration::from_secs(3600));
        assert_eq!(config.poll_interval(Some(Format::Netex)), Duration::from_secs(3600));
        assert_eq!(config.poll_interval(Some(Format::GtfsRt)), Duration::from_secs(15));
        assert_eq!(config.poll_interval(Some(Format::Raw)), Duration::from_secs(300));
        config.poll = Some(Duration::from_secs(2));
        assert_eq!(config.poll_interval(Some(Format::Gtfs)), Duration::from_secs(2));
    }
}
