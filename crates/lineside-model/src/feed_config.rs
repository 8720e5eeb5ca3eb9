//! The configuration of one feed.

mod external_program;
mod request_rate;

use std::{sync::Arc, time::Duration};

use lineside_formats::{Format, may_be_schedule, sniff_format};
use smol_str::SmolStr;

use crate::{
    feed_id::FeedId,
    limits::BODY_BYTES_MAX_DEFAULT,
    source::{BasicAuth, OAuth2Client, Secret, SiriSourceSettings, SourceLocation},
};

pub use self::external_program::{
    ExternalProgram, INPUT_PLACEHOLDER, OUTPUT_PLACEHOLDER, executable_search_path,
};
pub use self::request_rate::{InvalidRate, RequestRate};

/// The poll interval until the format of a feed is detected: that of the fastest formats.
const UNKNOWN_FORMAT_POLL_INTERVAL: Duration = Duration::from_secs(15);

/// The configuration of a feed. Only the id and the URL are required; see [`FeedConfig::new`].
#[derive(Clone, Debug, PartialEq)]
pub struct FeedConfig {
    /// The feed's id, unique in the catalog.
    pub id: FeedId,
    /// The source from which the feed is polled.
    pub url: SourceLocation,
    /// The format; detected from the content if absent.
    pub format: Option<Format>,
    /// The converter that turns the producer's format into `format`, which then equals the converter's `to`.
    pub converter: Option<Arc<FormatConverter>>,
    /// The display name.
    pub name: Option<String>,
    pub publisher: Option<String>,
    pub licence: Option<String>,
    /// The theme, such as `bus` or `rail`.
    pub theme: Option<String>,
    /// A description of a sentence or two.
    pub description: Option<String>,
    /// The schedule feed that this feed belongs to.
    pub static_feed: Option<FeedId>,
    /// Headers of each request; the values are never shown.
    pub headers: Vec<(String, Secret)>,
    /// Parameters added to the URL; the values are never shown.
    pub query: Vec<(String, Secret)>,
    /// The user and password of each request.
    pub basic: Option<BasicAuth>,
    /// The OAuth 2 client that obtains tokens for requests.
    pub oauth2: Option<OAuth2Client>,
    /// The SIRI request settings; a SIRI feed without them is polled with a plain GET.
    pub siri: Option<Arc<SiriSourceSettings>>,
    /// The poll interval; a default of the format if absent.
    pub poll: Option<Duration>,
    /// The minimum time for which a reply counts as fresh: the feed is not polled sooner, whatever `poll` and its
    /// producer say.
    pub ttl: Option<Duration>,
    /// The rate limit of requests, shared by all feeds with the same host and credential.
    pub rate: Option<RequestRate>,
    /// The most requests to the host at a time, for all feeds together; unlimited if absent.
    pub max_concurrent_requests: Option<usize>,
    /// The timeout for connecting, for the first byte and for each further piece.
    pub timeout: Duration,
    /// The maximum size of a body in bytes, also after decompression.
    pub max_bytes: u64,
    /// The age past which the last good bytes are no longer served; unlimited if absent.
    pub max_age: Option<Duration>,
    /// The age of the data past which the feed is late.
    pub late_after: Duration,
    /// The delay from which a trip is late; the network's setting if absent.
    pub trip_late_after: Option<Duration>,
    /// Headers added to replies with the feed's bytes, or replacing the usual ones.
    pub reply_headers: Vec<(http::HeaderName, http::HeaderValue)>,
    /// True if the source is not polled until further notice; the last content is still served.
    pub paused: bool,
    /// True if an untrusted user supplied the URL: then only hosts of the public internet are contacted.
    pub public_only: bool,
}

impl FeedConfig {
    /// Returns the maximum body size, also after decompression: no more than the decoder of the configured format
    /// accepts.
    pub fn body_bytes_max(&self) -> u64 {
        let promised = self.configured_format().filter(|_| self.converter.is_none());
        let decoded_max = promised.and_then(Format::max_body_bytes);
        decoded_max.map_or(self.max_bytes, |decoded_max| self.max_bytes.min(decoded_max))
    }

    /// Returns the maximum size of a body with this beginning: without a configured format, realtime bodies get the
    /// limit of the detected format.
    pub fn body_bytes_max_by_beginning(&self, head: &[u8]) -> u64 {
        if self.configured_format().is_some() || self.converter.is_some() || may_be_schedule(head) {
            return self.body_bytes_max();
        }
        match sniff_format(head).and_then(Format::max_body_bytes) {
            Some(decoded_max) => self.max_bytes.min(decoded_max),
            None => self.max_bytes,
        }
    }

    /// Creates a feed with the documented defaults: 15 s timeout, late after 5 min, the poll interval of its format.
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
            max_concurrent_requests: None,
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

    /// Returns true if both configurations request the same bytes.
    pub fn has_same_source(&self, other: &FeedConfig) -> bool {
        let siri = |config: &FeedConfig| config.siri.clone().unwrap_or_default();
        let has_same_request_settings = siri(self).has_same_requests(&siri(other));
        self.url == other.url && self.query == other.query && has_same_request_settings
    }

    /// Returns true if the source is a recording that is replayed.
    pub fn is_replay(&self) -> bool {
        matches!(self.url, SourceLocation::Replay { .. })
    }

    /// Returns true if both configurations serve the bytes with the same headers.
    pub fn has_same_reply_headers(&self, other: &FeedConfig) -> bool {
        self.licence == other.licence && self.reply_headers == other.reply_headers
    }

    /// Returns the display name: the configured one, else the id.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// Returns the configured format, which SIRI request settings imply.
    pub fn configured_format(&self) -> Option<Format> {
        self.format.or(self.siri.as_ref().map(|_| Format::Siri))
    }

    /// Returns the poll interval of a feed of `format`: the configured one, else the format's default.
    pub fn poll_interval(&self, format: Option<Format>) -> Duration {
        let format = self.configured_format().or(format);
        self.poll
            .unwrap_or(format.map_or(UNKNOWN_FORMAT_POLL_INTERVAL, Format::default_poll_interval))
    }
}

/// An external program that converts an unsupported format into a supported one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatConverter {
    /// The operator's name of the source format.
    pub from: SmolStr,
    /// The resulting format.
    pub to: Format,
    /// The program to run.
    pub program: ExternalProgram,
}

/// The shared configuration of a feed.
pub type SharedFeedConfig = Arc<FeedConfig>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_id_is_a_valid_path_segment() {
        for good in ["city", "SNCF-ter.gtfs_rt", "a", &"x".repeat(64)] {
            assert_eq!(FeedId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "a/b", "é", "a b", "..", &"x".repeat(65)] {
            FeedId::new(bad).unwrap_err();
        }
    }

    #[test]
    fn the_default_poll_interval_depends_on_the_format() {
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
