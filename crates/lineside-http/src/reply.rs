//! A representation and its reply: validators, freshness, content coding, 304.
//!
//! Every reply that the server generates goes through here: each body has a strong `ETag` of its own bytes, its
//! freshness lifetime, `Last-Modified` if known, and an answer to both validators. Producers' last good bytes go
//! through `prepared_replies`, a map's archive through `map_files`.

use std::convert::Infallible;
use std::time::{Duration, UNIX_EPOCH};

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use lineside_sync::UnixMillis;
use xxhash_rust::xxh3::xxh3_128;

use super::encoding::{self, ContentCoding};
use super::errors::Refusal;
use crate::app::App;

/// Longest time from a change to the first reply that has it, plus the resolution of HTTP dates.
const SETTLING: Duration = Duration::from_secs(2);

/// The request headers that select a representation: accepted codings, conditions and range.
#[derive(Debug)]
pub struct ReplyPreferences {
    coding: ContentCoding,
    if_match: Vec<HeaderValue>,
    if_none_match: Vec<HeaderValue>,
    if_modified_since: Option<UnixMillis>,
    range: Option<HeaderValue>,
    if_range: Option<HeaderValue>,
    /// True unless the request is a HEAD.
    has_body: bool,
}

impl ReplyPreferences {
    fn from_headers(method: &Method, headers: &HeaderMap) -> Self {
        let since = headers.get(header::IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        // Ranges apply to GET only (RFC 9110 §14.2).
        let range = headers.get(header::RANGE).filter(|_| method == Method::GET).cloned();
        Self {
            coding: encoding::negotiate_coding(headers),
            if_match: headers.get_all(header::IF_MATCH).iter().cloned().collect(),
            if_none_match: headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect(),
            if_modified_since: since.and_then(parse_http_date),
            if_range: headers.get(header::IF_RANGE).filter(|_| range.is_some()).cloned(),
            range,
            has_body: method != Method::HEAD,
        }
    }

    /// Returns true if the body is sent.
    pub fn has_reply_body(&self) -> bool {
        self.has_body
    }

    /// Returns the preferred coding.
    pub fn preferred_coding(&self) -> ContentCoding {
        self.coding
    }

    /// Returns the `Range` header.
    pub fn range_header(&self) -> Option<&HeaderValue> {
        self.range.as_ref()
    }

    /// Returns the `If-Range` header of a range request.
    pub fn if_range_header(&self) -> Option<&HeaderValue> {
        self.if_range.as_ref()
    }

    /// Checks `If-Match` against the entity tags of all codings of the bytes (RFC 9110 §13.1.1).
    ///
    /// # Errors
    /// Returns [`Refusal::PreconditionFailed`] if the client wants another version than the current one.
    pub fn check_if_match<'a>(
        &self,
        mut tags: impl Iterator<Item = &'a HeaderValue>,
    ) -> Result<(), Refusal> {
        let texts = self.if_match.iter().filter_map(|value| value.to_str().ok());
        let requested_tags: Vec<&str> =
            texts.flat_map(|text| text.split(',')).map(str::trim).collect();
        let fits = self.if_match.is_empty()
            || requested_tags.contains(&"*")
            || tags.any(|tag| requested_tags.iter().any(|requested_tag| *tag == *requested_tag));
        if fits { Ok(()) } else { Err(Refusal::PreconditionFailed) }
    }

    /// Returns the tag among `tags` that the client already has; `*` matches the first. `If-Modified-Since` counts only
    /// without `If-None-Match` (RFC 9110 §13.1.3).
    pub fn matching_tag<'a>(
        &self,
        tags: [&'a HeaderValue; 2],
        modified: Option<UnixMillis>,
    ) -> Option<&'a HeaderValue> {
        if self.if_none_match.is_empty() {
            let since = self.if_modified_since?;
            // HTTP dates have whole seconds.
            return (modified?.unix_seconds() <= since.unix_seconds()).then_some(tags[0]);
        }
        let texts = self.if_none_match.iter().filter_map(|value| value.to_str().ok());
        let tag_list = texts.flat_map(|text| text.split(','));
        tag_list.map(|tag| tag.trim().trim_start_matches("W/")).find_map(
            |tag_text| match tag_text {
                "*" => Some(tags[0]),
                _ => tags.into_iter().find(|tag| *tag == tag_text),
            },
        )
    }
}

impl<S: Sync> FromRequestParts<S> for ReplyPreferences {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::from_headers(&parts.method, &parts.headers))
    }
}

/// A body and its metadata.
#[derive(Debug)]
pub struct Representation {
    content_type: HeaderValue,
    body: Bytes,
    hash: u128,
    /// Time of the last change, compared with `If-Modified-Since`.
    modified: Option<UnixMillis>,
    /// The value of `Last-Modified`: earlier than `modified` if a further change could have the same date.
    last_modified: Option<UnixMillis>,
    fresh_for: Duration,
    /// True if only this client may see the body.
    is_private: bool,
    /// True if the body is made for this reply only, so its compressed form is not worth caching.
    is_single_use: bool,
    extra_headers: HeaderMap,
}

impl Representation {
    /// Creates a representation that is stale at once.
    pub fn new(content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let hash = xxh3_128(&body);
        Self::with_hash(content_type, body, hash)
    }

    /// Creates a representation whose hash (XXH3, 128 bits) is known.
    pub fn with_hash(content_type: HeaderValue, body: Bytes, hash: u128) -> Self {
        let (is_private, is_passing) = (false, false);
        let (fresh_for, more) = (Duration::ZERO, HeaderMap::new());
        let (modified, dated) = (None, None);
        Self {
            content_type,
            body,
            hash,
            modified,
            last_modified: dated,
            fresh_for,
            is_private,
            is_single_use: is_passing,
            extra_headers: more,
        }
    }

    /// Creates a representation of a value as JSON.
    pub fn from_json(value: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(value).expect("replies always serialize");
        Self::new(HeaderValue::from_static("application/json"), body)
    }

    /// Sets the time of the last change, by this server's clock.
    ///
    /// HTTP dates have whole seconds, and a change takes a moment from its time to the first reply that has it. So
    /// `Last-Modified` is never later than [`SETTLING`] ago, while `If-Modified-Since` is compared with the time
    /// itself: a client that returns the date of a reply never misses a change.
    pub fn with_modified_time(mut self, at: Option<UnixMillis>, now: UnixMillis) -> Self {
        self.modified = at;
        self.last_modified = at.map(|at| at.min(now - SETTLING));
        self
    }

    /// Sets the time of the last change, as its producer gives it.
    pub fn with_producer_modified_time(mut self, at: Option<UnixMillis>) -> Self {
        self.modified = at;
        self.last_modified = at;
        self
    }

    /// Sets the time for which caches may reuse the reply.
    pub fn with_freshness(mut self, fresh_for: Duration) -> Self {
        self.fresh_for = fresh_for;
        self
    }

    /// Marks a body for this client alone, such as one for admins: no cache stores it, not even the client's.
    pub fn mark_no_store(mut self) -> Self {
        self.is_private = true;
        self
    }

    /// Marks a body made for one reply, such as a page: its compressed form is not cached.
    pub fn mark_single_use(mut self) -> Self {
        self.is_single_use = true;
        self
    }

    /// Adds a header.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.extra_headers.insert(name, value);
        self
    }

    /// Builds the reply to a client: the body, or 304 if the client has it.
    pub async fn into_reply(self, preferences: &ReplyPreferences, app: &App) -> Response {
        let coding = if encoding::is_worth_compressing(&self.content_type, &self.body) {
            preferences.coding
        } else {
            ContentCoding::Identity
        };
        let tags = ContentCoding::ALL.map(|coding| entity_tag(self.hash, coding));
        if let Err(refusal) = preferences.check_if_match(tags.iter()) {
            return refusal.into_response();
        }
        if let Some(tag) = self.find_current_client_tag(preferences, coding) {
            return (StatusCode::NOT_MODIFIED, self.build_headers(tag)).into_response();
        }
        let mut headers = self.build_headers(entity_tag(self.hash, coding));
        headers.insert(header::CONTENT_TYPE, self.content_type.clone());
        let mut shared = None;
        let body = match coding.content_encoding_value() {
            None => self.body,
            Some(name) => {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
                if self.is_single_use {
                    encoding::encode_body(&self.body, coding).await
                } else {
                    let (body, shared_body) = app
                        .compressed_bodies()
                        .encode_with_cache(self.hash, &self.body, coding)
                        .await;
                    shared = Some(shared_body);
                    body
                }
            }
        };
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        let mut response = (headers, body).into_response();
        if let Some(shared) = shared {
            response.extensions_mut().insert(shared);
        }
        response
    }

    /// Returns the tag of the client's copy if that is current.
    fn find_current_client_tag(
        &self,
        preferences: &ReplyPreferences,
        coding: ContentCoding,
    ) -> Option<HeaderValue> {
        let (coded, plain) =
            (entity_tag(self.hash, coding), entity_tag(self.hash, ContentCoding::Identity));
        preferences.matching_tag([&coded, &plain], self.modified).cloned()
    }

    fn build_headers(&self, tag: HeaderValue) -> HeaderMap {
        let mut headers = self.extra_headers.clone();
        headers.insert(header::ETAG, tag);
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        let cache = match self.is_private {
            true => HeaderValue::from_static("no-store"),
            false => HeaderValue::try_from(format!("public, max-age={}", self.fresh_for.as_secs()))
                .expect("a number is a valid header value"),
        };
        headers.insert(header::CACHE_CONTROL, cache);
        if let Some(modified) = self.last_modified.and_then(format_http_date) {
            headers.insert(header::LAST_MODIFIED, modified);
        }
        headers
    }
}

/// Returns the entity tag of a body in a coding: each coding has its own (RFC 9110 §8.8.3.3).
pub fn entity_tag(hash: u128, coding: ContentCoding) -> HeaderValue {
    let tag = match coding.content_encoding_value() {
        None => format!("\"{hash:032x}\""),
        Some(name) => format!("\"{hash:032x}-{name}\""),
    };
    HeaderValue::try_from(tag).expect("a tag has only letters, digits and a dash")
}

/// Formats a time as an HTTP date; `None` before 1970.
pub fn format_http_date(at: UnixMillis) -> Option<HeaderValue> {
    let since_epoch = Duration::from_millis(u64::try_from(at.0).ok()?);
    let time = UNIX_EPOCH.checked_add(since_epoch)?;
    HeaderValue::try_from(httpdate::fmt_http_date(time)).ok()
}

fn parse_http_date(text: &str) -> Option<UnixMillis> {
    let time = httpdate::parse_http_date(text).ok()?;
    let since_epoch = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since_epoch.as_millis()).ok().map(UnixMillis)
}

/// Content security policy of a producer's bytes: opened as a page of this server, they may do nothing.
const PRODUCER_POLICY: &str = "default-src 'none'; sandbox";

/// Returns the policy for bytes that a producer made.
pub fn producer_bytes_csp() -> (HeaderName, HeaderValue) {
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PRODUCER_POLICY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn representation(modified: i64, now: i64) -> Representation {
        let kind = HeaderValue::from_static("text/plain");
        Representation::new(kind, "a stop")
            .with_modified_time(Some(UnixMillis(modified)), UnixMillis(now))
    }

    fn since(millis: i64) -> ReplyPreferences {
        let mut headers = HeaderMap::new();
        let date = format_http_date(UnixMillis(millis)).unwrap();
        headers.insert(header::IF_MODIFIED_SINCE, date);
        ReplyPreferences::from_headers(&Method::GET, &headers)
    }

    #[test]
    fn last_modified_does_not_hide_changes_within_the_current_second() {
        // A reply at 10.2 s, right after a change; another change follows at 10.7 s and is requested at once or later.
        let first = representation(10_100, 10_200);
        let last_modified =
            first.build_headers(HeaderValue::from_static("\"x\""))[header::LAST_MODIFIED].clone();
        assert_eq!(last_modified, format_http_date(UnixMillis(8_000)).unwrap());
        for now in [10_800, 12_000, 60_000] {
            let second = representation(10_700, now);
            assert_eq!(
                second.find_current_client_tag(&since(8_000), ContentCoding::Identity),
                None
            );
            assert!(
                second.find_current_client_tag(&since(10_000), ContentCoding::Identity).is_some()
            );
        }
    }

    #[test]
    fn last_modified_does_not_hide_a_change_after_the_reply() {
        // Changes at 10.8 s and 10.95 s; the reply at 11.0 s has only the first.
        let first = representation(10_800, 11_000);
        let last_modified = first.last_modified.unwrap();
        assert_eq!(
            representation(10_950, 11_100)
                .find_current_client_tag(&since(last_modified.0), ContentCoding::Identity),
            None
        );
    }

    #[test]
    fn if_match_refuses_another_version() {
        let it = representation(1_000, 20_000);
        let tags = ContentCoding::ALL.map(|coding| entity_tag(it.hash, coding));
        let check = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_MATCH, HeaderValue::from_str(text).unwrap());
            ReplyPreferences::from_headers(&Method::GET, &headers).check_if_match(tags.iter())
        };
        let own = tags[2].to_str().unwrap();
        for good in ["*", own, &format!("\"other\", {own}")] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["\"other\"", &format!("W/{own}"), ""] {
            assert_eq!(check(bad), Err(Refusal::PreconditionFailed), "{bad}");
        }
        assert_eq!(since(0).check_if_match(tags.iter()), Ok(()));
    }

    #[test]
    fn if_none_match_takes_precedence_over_if_modified_since() {
        let it = representation(1_000, 20_000);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MODIFIED_SINCE, format_http_date(UnixMillis(50_000)).unwrap());
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"other\""));
        assert_eq!(
            it.find_current_client_tag(
                &ReplyPreferences::from_headers(&Method::GET, &headers),
                ContentCoding::Identity
            ),
            None
        );
    }

    #[test]
    fn the_tag_of_the_plain_body_matches_if_a_coding_is_accepted() {
        let it = representation(1_000, 20_000);
        let mut headers = HeaderMap::new();
        let plain = entity_tag(it.hash, ContentCoding::Identity);
        headers.insert(header::IF_NONE_MATCH, plain.clone());
        assert_eq!(
            it.find_current_client_tag(
                &ReplyPreferences::from_headers(&Method::GET, &headers),
                ContentCoding::Zstd
            ),
            Some(plain)
        );
    }
}
