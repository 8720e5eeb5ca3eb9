//! A feed's last good bytes as replies: each coding with its entity tag and headers, prepared once per version of the
//! bytes and dropped with them.
//!
//! Replies share these bodies: a reply copies no body, and takes no lock once a coding is prepared. Bodies of a version
//! that is no longer served are counted for as long as clients have not read them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use lineside_config::times::format_rfc3339;
use lineside_gbfs::WritableGbfsVersion;
use lineside_ingest::Feed;
use lineside_model::{
    FailureCode, FeedBodySnapshot, FeedConfig, FeedStatus, MemoryFile, ServedSnapshot,
};
use smol_str::SmolStr;
use tokio::sync::{Mutex, OnceCell};
use url::Url;

use super::encoding::{self, ContentCoding};
use super::errors::Refusal;
use super::ranges::{self, RangeRequest};
use super::reply::{ReplyPreferences, entity_tag, format_http_date};
use super::sendfile::FileBackedBody;
use super::shared_bytes::{SharedBodyCounter, SharedBodyMarker};
use super::{limits, lookup};
use crate::app::App;
use crate::reply::producer_bytes_csp;

/// The file name and media type under which the bytes are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DownloadView {
    /// The producer's name and media type.
    AsSent,
    /// A schedule to be saved, as a zip named after the feed.
    Schedule,
}

const VIEWS: usize = 2;

/// The replies of one version of a feed's bytes.
#[derive(Debug)]
pub(crate) struct PreparedReplies {
    snapshot: Arc<FeedBodySnapshot>,
    plain: PreparedBody,
    views: [DownloadViewHeaders; VIEWS],
    bodies: [OnceCell<PreparedBody>; ContentCoding::COUNT],
    tags: [HeaderValue; ContentCoding::COUNT],
    modified: Option<HeaderValue>,
    /// True if the modification date is a strong validator: a client with this date surely has these bytes.
    is_date_strong: bool,
    /// For a file of a GBFS system: its conversions to each served version, one for each group of languages that share
    /// it.
    conversions: [Mutex<Vec<Arc<ConvertedFile>>>; WritableGbfsVersion::ALL.len()],
}

/// A body, and the memory file that it lies in, if any.
#[derive(Debug, Clone)]
struct PreparedBody {
    bytes: Bytes,
    memory_file: Option<Arc<MemoryFile>>,
    shared: Arc<SharedBodyCounter>,
}

impl PreparedBody {
    fn new(bytes: Bytes, memory_file: Option<Arc<MemoryFile>>) -> Self {
        let shared = SharedBodyCounter::for_feed(bytes.len());
        Self { bytes, memory_file, shared }
    }

    fn with_memfd(bytes: Bytes) -> Self {
        match MemoryFile::new(&bytes) {
            Some(memory_file) => Self::new(memory_file.shared_bytes(), Some(memory_file)),
            None => Self::new(bytes, None),
        }
    }
}

impl Drop for PreparedReplies {
    fn drop(&mut self) {
        let prepared = self.bodies.iter().filter_map(OnceCell::get);
        prepared.chain([&self.plain]).for_each(|body| body.shared.mark_released_by_holder());
    }
}

impl IntoResponse for PreparedBody {
    fn into_response(self) -> Response {
        let mut response = self.bytes.into_response();
        response.extensions_mut().insert(SharedBodyMarker(self.shared));
        if let Some(memory_file) = self.memory_file {
            response.extensions_mut().insert(FileBackedBody(memory_file));
        }
        response
    }
}

#[derive(Debug)]
struct DownloadViewHeaders {
    content_type: HeaderValue,
    /// The headers of every reply with bytes, in all codings.
    common: HeaderMap,
    is_worth_compressing: bool,
    whole: [OnceLock<HeaderMap>; ContentCoding::COUNT],
}

impl PreparedReplies {
    /// Returns the prepared replies of a feed's bytes.
    pub(crate) fn for_snapshot(
        served: &ServedSnapshot,
        config: &FeedConfig,
    ) -> Result<Arc<Self>, Refusal> {
        let make = |snapshot: &Arc<FeedBodySnapshot>| {
            Arc::new(Self::new(Arc::clone(snapshot), served.memory_file().cloned(), config))
        };
        let ready = served.get_or_prepare_data(make);
        ready.cloned().ok_or(Refusal::Internal)
    }

    fn new(
        snapshot: Arc<FeedBodySnapshot>,
        memory_file: Option<Arc<MemoryFile>>,
        config: &FeedConfig,
    ) -> Self {
        let modified = snapshot.modified_at();
        let tags = ContentCoding::ALL.map(|coding| entity_tag(snapshot.hash, coding));
        let bodies = <[OnceCell<PreparedBody>; ContentCoding::COUNT]>::default();
        let modified_header = format_http_date(modified);
        let chosen = &config.reply_headers;
        let its_kind = chosen.iter().find(|(name, _)| *name == header::CONTENT_TYPE);
        let heads = |default_type: HeaderValue, disposition: HeaderValue| {
            let content_type = its_kind.map_or(default_type, |(_, kind)| kind.clone());
            let mut common = HeaderMap::new();
            common.insert(header::CONTENT_DISPOSITION, disposition);
            common.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            common.extend(modified_header.clone().map(|date| (header::LAST_MODIFIED, date)));
            common.extend(producer_reply_headers(config));
            DownloadViewHeaders {
                is_worth_compressing: encoding::is_worth_compressing(
                    &content_type,
                    &snapshot.bytes,
                ),
                content_type,
                common,
                whole: Default::default(),
            }
        };
        let as_sent = HeaderValue::try_from(snapshot.content_type.as_str())
            .unwrap_or(HeaderValue::from_static("application/octet-stream"));
        let zip = HeaderValue::try_from(format!("attachment; filename=\"{}.zip\"", config.id))
            .expect("a feed's id is a valid header value");
        let views = [
            heads(as_sent, content_disposition(&snapshot.file_name)),
            heads(HeaderValue::from_static("application/zip"), zip),
        ];
        let is_date_strong = modified.unix_seconds() < snapshot.fetched_at.unix_seconds();
        let conversions = Default::default();
        let modified = modified_header;
        let plain = PreparedBody::new(snapshot.bytes.clone(), memory_file);
        Self { views, bodies, tags, modified, is_date_strong, conversions, plain, snapshot }
    }

    /// Returns the conversions of a GBFS file to that version; empty until the first one is made.
    pub(crate) fn converted_files(
        &self,
        version: WritableGbfsVersion,
    ) -> &Mutex<Vec<Arc<ConvertedFile>>> {
        &self.conversions[usize::from(version == WritableGbfsVersion::Three)]
    }

    /// Builds the reply that a client prefers. `freshness` has the headers that are valid only now.
    pub(crate) async fn build_reply(
        self: &Arc<Self>,
        view: DownloadView,
        preferences: &ReplyPreferences,
        freshness: HeaderMap,
    ) -> Result<Response, Refusal> {
        let heads = &self.views[view as usize];
        let coding = if heads.is_worth_compressing {
            preferences.preferred_coding()
        } else {
            ContentCoding::Identity
        };
        preferences.check_if_match(self.tags.iter())?;
        let tags = [&self.tags[coding as usize], &self.tags[ContentCoding::Identity as usize]];
        if let Some(tag) = preferences.matching_tag(tags, Some(self.snapshot.modified_at())) {
            let mut headers = freshness;
            headers.insert(header::ETAG, tag.clone());
            headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            headers.extend(self.modified.clone().map(|date| (header::LAST_MODIFIED, date)));
            return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
        }
        match self.requested_range(preferences) {
            RangeRequest::Whole => {}
            RangeRequest::NotSatisfiable => {
                return Err(Refusal::BadRange { length: self.snapshot.bytes.len() });
            }
            RangeRequest::Part { first, last } => {
                return Ok(self.range_reply(heads, first, last, freshness));
            }
        }
        let body = self.encoded_body(coding).await?;
        let mut headers = self.whole_body_headers(heads, coding, body.bytes.len()).clone();
        headers.extend(freshness);
        Ok((headers, body).into_response())
    }

    /// Returns the requested range; ranges are always of the plain bytes. A range with an `If-Range` that does not
    /// match is a request for the whole body.
    fn requested_range(&self, preferences: &ReplyPreferences) -> RangeRequest {
        let Some(range) = preferences.range_header() else { return RangeRequest::Whole };
        if let Some(condition) = preferences.if_range_header() {
            let is_tag = *condition == self.tags[ContentCoding::Identity as usize];
            let is_date = self.is_date_strong && self.modified.as_ref() == Some(condition);
            if !is_tag && !is_date {
                return RangeRequest::Whole;
            }
        }
        ranges::parse_range(range, self.snapshot.bytes.len())
    }

    fn range_reply(
        &self,
        heads: &DownloadViewHeaders,
        first: usize,
        last: usize,
        freshness: HeaderMap,
    ) -> Response {
        let length = self.snapshot.bytes.len();
        let bytes = self.snapshot.bytes.slice(first..=last);
        let mut headers = self.whole_body_headers(heads, ContentCoding::Identity, length).clone();
        let content_range = HeaderValue::try_from(format!("bytes {first}-{last}/{length}"));
        headers.insert(
            header::CONTENT_RANGE,
            content_range.expect("a number is a valid header value"),
        );
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        headers.extend(freshness);
        let part = PreparedBody { bytes, ..self.plain.clone() };
        (StatusCode::PARTIAL_CONTENT, headers, part).into_response()
    }

    /// Returns the bytes in this coding. The first request starts the compression, which continues for the others if
    /// its client leaves.
    async fn encoded_body(
        self: &Arc<Self>,
        coding: ContentCoding,
    ) -> Result<PreparedBody, Refusal> {
        if coding == ContentCoding::Identity {
            return Ok(self.plain.clone());
        }
        if let Some(body) = self.bodies[coding as usize].get() {
            return Ok(body.clone());
        }
        let all = Arc::clone(self);
        let making = tokio::spawn(async move {
            let make = async || {
                PreparedBody::with_memfd(encoding::encode_body(&all.snapshot.bytes, coding).await)
            };
            all.bodies[coding as usize].get_or_init(make).await.clone()
        });
        making.await.map_err(|error| {
            tracing::error!(%error, "a body could not be compressed");
            Refusal::Internal
        })
    }

    fn whole_body_headers<'a>(
        &self,
        heads: &'a DownloadViewHeaders,
        coding: ContentCoding,
        length: usize,
    ) -> &'a HeaderMap {
        heads.whole[coding as usize].get_or_init(|| {
            let mut headers = heads.common.clone();
            headers.insert(header::CONTENT_TYPE, heads.content_type.clone());
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
            headers.insert(header::ETAG, self.tags[coding as usize].clone());
            headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            if let Some(name) = coding.content_encoding_value() {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
            }
            headers
        })
    }
}

/// Returns the headers of every reply with a producer's bytes: the content security policy, the licence, and the
/// operator's reply headers except the media type.
pub(crate) fn producer_reply_headers(config: &FeedConfig) -> HeaderMap {
    let (policy, nothing) = producer_bytes_csp();
    let mut headers = HeaderMap::from_iter([(policy, nothing)]);
    let licence = config.licence.as_deref().and_then(licence_link_header);
    headers.extend(licence.map(|link| (header::LINK, link)));
    let chosen = config.reply_headers.iter().filter(|(name, _)| *name != header::CONTENT_TYPE);
    for (name, value) in chosen {
        headers.insert(name.clone(), value.clone());
    }
    headers
}

/// Returns the number of compressed bodies of a feed's last good bytes, and their total size in bytes.
pub fn compressed_count_and_bytes(served: &ServedSnapshot) -> (usize, usize) {
    let ready = served.find_prepared_data::<Arc<PreparedReplies>>();
    let bodies = ready.into_iter().flat_map(|ready| ready.bodies.iter().filter_map(OnceCell::get));
    bodies.fold((0, 0), |(n, bytes), body| (n + 1, bytes + body.bytes.len()))
}

/// Returns `Cache-Control` for bytes that a cache may use for `fresh_for`, and on errors for `good_for`, from now on.
/// The reply's `Age` is `age`.
///
/// A cache counts from the reply's age (RFC 9111 §4.2), and counts the use on errors from the end of freshness (RFC
/// 5861 §4).
pub(crate) fn cache_control_header(
    age: Duration,
    fresh_for: Duration,
    good_for: Duration,
) -> HeaderValue {
    let fresh = fresh_for.as_secs();
    let (until, beyond) = (age.as_secs() + fresh, good_for.as_secs().saturating_sub(fresh));
    HeaderValue::try_from(format!("public, max-age={until}, stale-if-error={beyond}"))
        .expect("a number is a valid header value")
}

/// Returns `Content-Disposition` with the producer's own name of the file.
fn content_disposition(name: &str) -> HeaderValue {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._- ".contains(c) { c } else { '_' })
        .collect();
    HeaderValue::try_from(format!("inline; filename=\"{plain}\""))
        .expect("a quoted tag is a valid header value")
}

/// Returns the licence as a link, if the operator gave its address (RFC 8288, RFC 4946).
fn licence_link_header(licence: &str) -> Option<HeaderValue> {
    let url = Url::parse(licence).ok().filter(|url| ["http", "https"].contains(&url.scheme()))?;
    // The parser escapes angle brackets in an address.
    HeaderValue::try_from(format!("<{url}>; rel=\"license\"")).ok()
}

/// A file of a system converted to one version.
#[derive(Debug)]
pub(crate) struct ConvertedFile {
    /// Hash of all inputs of the conversion.
    pub input_hash: u128,
    pub language: Option<SmolStr>,
    pub body: Bytes,
}

/// Reports if the bytes are the producer's current ones.
const STATUS: HeaderName = HeaderName::from_static("lineside-status");

/// Replies with a feed's last good bytes in the given view.
pub(crate) async fn reply_with_last_good_bytes(
    app: &App,
    feed: &Feed,
    preferences: &ReplyPreferences,
    view: DownloadView,
) -> Result<Response, Refusal> {
    let reply = async {
        let status = feed.status();
        let served = match view {
            DownloadView::AsSent => lookup::find_original_snapshot(app, feed, &status)?,
            DownloadView::Schedule => lookup::find_served_snapshot(app, feed, &status)?,
        };
        let freshness = freshness_headers(app, feed, &status, served.snapshot());
        PreparedReplies::for_snapshot(&served, served.config())?
            .build_reply(view, preferences, freshness)
            .await
    };
    lookup::count_feed_reply(feed, preferences, reply.await)
}

/// Returns the headers that are valid only now: `Cache-Control` and `Lineside-Status`, with `Age` if the bytes are not
/// the producer's latest.
pub(crate) fn freshness_headers(
    app: &App,
    feed: &Feed,
    status: &FeedStatus,
    snapshot: &FeedBodySnapshot,
) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(limits::REPLY_HEADERS);
    let age = lookup::snapshot_age(app, status, snapshot);
    let good_for = match feed.config().max_age {
        Some(max_age) => max_age.saturating_sub(age).min(limits::STALE_IF_ERROR_MAX),
        None => limits::STALE_IF_ERROR_MAX,
    };
    let fresh_for = lookup::time_until_next_poll(app, status).min(good_for);
    let cache = |age| (header::CACHE_CONTROL, cache_control_header(age, fresh_for, good_for));
    let (reason, since) = match &status.last_error {
        Some(failure) => (failure.code.to_string(), status.failing_since.unwrap_or(failure.at)),
        None if let Some(since) = status.empty_since => (FailureCode::Empty.to_string(), since),
        // After a restart it is unknown if the producer still serves the restored bytes.
        None if status.is_restored && age > feed.config().poll_interval(status.format) => {
            let confirmed_at = status.last_success.unwrap_or(snapshot.fetched_at);
            ("restart".to_owned(), confirmed_at)
        }
        None if feed.config().paused && age > feed.config().poll_interval(status.format) => {
            ("paused".to_owned(), status.last_success.unwrap_or(snapshot.fetched_at))
        }
        None => {
            headers.insert(STATUS, HeaderValue::from_static("fresh"));
            headers.extend([cache(Duration::ZERO)]);
            return headers;
        }
    };
    let since = format_rfc3339(since).unwrap_or_default();
    let status_text = format!("stale; reason={reason}; since={since}");
    let words =
        HeaderValue::try_from(status_text).expect("a code and a time are a valid header value");
    headers.insert(STATUS, words);
    headers.insert(header::AGE, HeaderValue::from(age.as_secs()));
    headers.extend([cache(age)]);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_control_lifetimes_include_the_age() {
        let cache_directives = |age, fresh, good| {
            let value = cache_control_header(
                Duration::from_secs(age),
                Duration::from_millis(fresh),
                Duration::from_secs(good),
            );
            value.to_str().unwrap().to_owned()
        };
        assert_eq!(cache_directives(0, 10_900, 60), "public, max-age=10, stale-if-error=50");
        assert_eq!(cache_directives(300, 10_000, 60), "public, max-age=310, stale-if-error=50");
        assert_eq!(cache_directives(300, 0, 0), "public, max-age=300, stale-if-error=0");
    }

    #[test]
    fn a_licence_is_linked_only_if_it_is_a_url() {
        let link =
            |licence| licence_link_header(licence).map(|link| link.to_str().unwrap().to_owned());
        let expect = "<https://example.org/licence>; rel=\"license\"";
        assert_eq!(link("https://example.org/licence").as_deref(), Some(expect));
        for words in ["CC-BY-4.0", "javascript:alert(1)", "", "licence.txt"] {
            assert_eq!(link(words), None, "{words}");
        }
        let odd = link("https://example.org/a>; rel=\"next\"?b>c#d>e\r\nx: y").unwrap();
        assert_eq!(odd.matches('>').count(), 1, "{odd}");
        assert!(odd.ends_with(">; rel=\"license\""), "{odd}");
    }

    #[test]
    fn a_file_name_cannot_leave_its_quotes() {
        let name = content_disposition("a\"; x=\"b\u{e9}/../c.zip");
        assert_eq!(name, "inline; filename=\"a__ x__b__.._c.zip\"");
    }
}
