//! A representation and the reply it becomes: validators, freshness, coding, 304.
//!
//! What the server makes itself goes through here: each body has a strong `ETag` of its own bytes, the time it stays
//! fresh, `Last-Modified` where one is known, and an answer to both validators. Producers' last good bytes go through
//! `prepared`, a map's archive through `map_files`.

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

/// How long after its time a change may come to be served, and the length of a second of HTTP's dates.
const SETTLING: Duration = Duration::from_secs(2);

/// What a client said about the representation it wants: which coding, and what it already has.
#[derive(Debug)]
pub(crate) struct ReplyPreferences {
    coding: ContentCoding,
    if_match: Vec<HeaderValue>,
    if_none_match: Vec<HeaderValue>,
    if_modified_since: Option<UnixMillis>,
    range: Option<HeaderValue>,
    if_range: Option<HeaderValue>,
    /// It asked for more than the head.
    takes_body: bool,
}

impl ReplyPreferences {
    fn from_headers(method: &Method, headers: &HeaderMap) -> Self {
        let since = headers.get(header::IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        // Only GET has parts (RFC 9110 §14.2).
        let range = headers.get(header::RANGE).filter(|_| method == Method::GET).cloned();
        Self {
            coding: encoding::negotiate_coding(headers),
            if_match: headers.get_all(header::IF_MATCH).iter().cloned().collect(),
            if_none_match: headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect(),
            if_modified_since: since.and_then(parse_http_date),
            if_range: headers.get(header::IF_RANGE).filter(|_| range.is_some()).cloned(),
            range,
            takes_body: method != Method::HEAD,
        }
    }

    /// Whether the body goes out.
    pub(super) fn wants_body(&self) -> bool {
        self.takes_body
    }

    /// The coding that is liked best.
    pub(super) fn coding(&self) -> ContentCoding {
        self.coding
    }

    /// The part that is asked for.
    pub(super) fn range(&self) -> Option<&HeaderValue> {
        self.range.as_ref()
    }

    /// What the whole must still be for a part to be of use.
    pub(super) fn if_range(&self) -> Option<&HeaderValue> {
        self.if_range.as_ref()
    }

    /// Checks `If-Match` against the tags of all codings of the bytes (RFC 9110 §13.1.1).
    ///
    /// # Errors
    /// If the client wants another version than the one that is served.
    pub(super) fn check_match<'a>(
        &self,
        mut tags: impl Iterator<Item = &'a HeaderValue>,
    ) -> Result<(), Refusal> {
        let texts = self.if_match.iter().filter_map(|value| value.to_str().ok());
        let wanted: Vec<&str> = texts.flat_map(|text| text.split(',')).map(str::trim).collect();
        let fits = self.if_match.is_empty()
            || wanted.contains(&"*")
            || tags.any(|tag| wanted.iter().any(|wanted| *tag == *wanted));
        if fits { Ok(()) } else { Err(Refusal::PreconditionFailed) }
    }

    /// The tag of what the client holds, if that is one of `tags`; `*` stands for the first.
    /// `If-Modified-ChannelPosition` counts only without `If-None-Match` (RFC 9110 §13.1.3).
    pub(super) fn matching_tag<'a>(
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
        let held = texts.flat_map(|text| text.split(','));
        held.map(|tag| tag.trim().trim_start_matches("W/")).find_map(|held| match held {
            "*" => Some(tags[0]),
            _ => tags.into_iter().find(|tag| *tag == held),
        })
    }
}

impl<S: Sync> FromRequestParts<S> for ReplyPreferences {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self::from_headers(&parts.method, &parts.headers))
    }
}

/// One body and what is known about it.
#[derive(Debug)]
pub(crate) struct Representation {
    content_type: HeaderValue,
    body: Bytes,
    hash: u128,
    /// When it changed, which `If-Modified-ChannelPosition` is compared with.
    modified: Option<UnixMillis>,
    /// What `Last-Modified` says: earlier, where a further change could have the same date.
    dated: Option<UnixMillis>,
    fresh_for: Duration,
    /// Whether it is for this client alone.
    is_private: bool,
    /// Made for this reply: the next client will see another, so the coded body is not worth keeping.
    is_passing: bool,
    more: HeaderMap,
}

impl Representation {
    /// A body of a kind, which may be asked again at once.
    pub(crate) fn new(content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let hash = xxh3_128(&body);
        Self::with_hash(content_type, body, hash)
    }

    /// A body whose hash (XXH3, 128 bits) is known.
    pub(crate) fn with_hash(content_type: HeaderValue, body: Bytes, hash: u128) -> Self {
        let (is_private, is_passing) = (false, false);
        let (fresh_for, more) = (Duration::ZERO, HeaderMap::new());
        let (modified, dated) = (None, None);
        Self { content_type, body, hash, modified, dated, fresh_for, is_private, is_passing, more }
    }

    /// A value as JSON.
    pub(crate) fn from_json(value: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(value).expect("our own replies always serialize");
        Self::new(HeaderValue::from_static("application/json"), body)
    }

    /// When it last changed, by our own clock.
    ///
    /// HTTP dates have whole seconds, and a change takes a moment from its time to the first reply that has it. So
    /// `Last-Modified` is never later than [`SETTLING`] ago, while `If-Modified-ChannelPosition` is compared with the time itself: a
    /// client that comes back with the date of a reply is never told wrongly that nothing has changed since.
    pub(crate) fn modified_at(mut self, at: Option<UnixMillis>, now: UnixMillis) -> Self {
        self.modified = at;
        self.dated = at.map(|at| at.min(now - SETTLING));
        self
    }

    /// When it last changed, as its producer says.
    pub(crate) fn modified_by_producer(mut self, at: Option<UnixMillis>) -> Self {
        self.modified = at;
        self.dated = at;
        self
    }

    /// How long it need not be asked for again.
    pub(crate) fn fresh_for(mut self, fresh_for: Duration) -> Self {
        self.fresh_for = fresh_for;
        self
    }

    /// For this client alone, as what only admins may see: no cache keeps it, the client's own included.
    pub(crate) fn private(mut self) -> Self {
        self.is_private = true;
        self
    }

    /// Made for one reply, as a page is; its coded form is not kept for others.
    pub(crate) fn single_use(mut self) -> Self {
        self.is_passing = true;
        self
    }

    /// One more header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.more.insert(name, value);
        self
    }

    /// The reply to what a client wants: the body, or word that it has it already.
    pub(crate) async fn into_reply(self, wants: &ReplyPreferences, app: &App) -> Response {
        let coding = if encoding::is_worth_compressing(&self.content_type, &self.body) {
            wants.coding
        } else {
            ContentCoding::Identity
        };
        let tags = ContentCoding::ALL.map(|coding| entity_tag(self.hash, coding));
        if let Err(refusal) = wants.check_match(tags.iter()) {
            return refusal.into_response();
        }
        if let Some(held) = self.matched_tag(wants, coding) {
            return (StatusCode::NOT_MODIFIED, self.build_headers(held)).into_response();
        }
        let mut headers = self.build_headers(entity_tag(self.hash, coding));
        headers.insert(header::CONTENT_TYPE, self.content_type.clone());
        let mut shared = None;
        let body = match coding.header_name() {
            None => self.body,
            Some(name) => {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
                if self.is_passing {
                    encoding::encode_body(&self.body, coding).await
                } else {
                    let (body, kept) =
                        app.compressed_bodies().encode_cached(self.hash, &self.body, coding).await;
                    shared = Some(kept);
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

    /// The tag of what the client holds, if that is still good.
    fn matched_tag(&self, wants: &ReplyPreferences, coding: ContentCoding) -> Option<HeaderValue> {
        let (coded, plain) =
            (entity_tag(self.hash, coding), entity_tag(self.hash, ContentCoding::Identity));
        wants.matching_tag([&coded, &plain], self.modified).cloned()
    }

    fn build_headers(&self, tag: HeaderValue) -> HeaderMap {
        let mut headers = self.more.clone();
        headers.insert(header::ETAG, tag);
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        let cache = match self.is_private {
            true => HeaderValue::from_static("no-store"),
            false => HeaderValue::try_from(format!("public, max-age={}", self.fresh_for.as_secs()))
                .expect("a number is a header value"),
        };
        headers.insert(header::CACHE_CONTROL, cache);
        if let Some(modified) = self.dated.and_then(format_http_date) {
            headers.insert(header::LAST_MODIFIED, modified);
        }
        headers
    }
}

/// The tag of a body's representation: a coded body is another one (RFC 9110 §8.8.3.3).
pub(super) fn entity_tag(hash: u128, coding: ContentCoding) -> HeaderValue {
    let tag = match coding.header_name() {
        None => format!("\"{hash:032x}\""),
        Some(name) => format!("\"{hash:032x}-{name}\""),
    };
    HeaderValue::try_from(tag).expect("a tag holds letters, digits and a dash")
}

/// The time as HTTP writes it; none before 1970.
pub(super) fn format_http_date(at: UnixMillis) -> Option<HeaderValue> {
    let since_epoch = Duration::from_millis(u64::try_from(at.0).ok()?);
    let time = UNIX_EPOCH.checked_add(since_epoch)?;
    HeaderValue::try_from(httpdate::fmt_http_date(time)).ok()
}

fn parse_http_date(text: &str) -> Option<UnixMillis> {
    let time = httpdate::parse_http_date(text).ok()?;
    let since_epoch = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since_epoch.as_millis()).ok().map(UnixMillis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn representation(modified: i64, now: i64) -> Representation {
        let kind = HeaderValue::from_static("text/plain");
        Representation::new(kind, "a stop").modified_at(Some(UnixMillis(modified)), UnixMillis(now))
    }

    fn since(millis: i64) -> ReplyPreferences {
        let mut headers = HeaderMap::new();
        let date = format_http_date(UnixMillis(millis)).unwrap();
        headers.insert(header::IF_MODIFIED_SINCE, date);
        ReplyPreferences::from_headers(&Method::GET, &headers)
    }

    #[test]
    fn a_change_within_the_present_second_is_not_missed_by_its_date() {
        // Asked at 10.2 s, right after a change; another change follows at 10.7 s, and is asked for at once or later.
        let first = representation(10_100, 10_200);
        let told =
            first.build_headers(HeaderValue::from_static("\"x\""))[header::LAST_MODIFIED].clone();
        assert_eq!(told, format_http_date(UnixMillis(8_000)).unwrap());
        for now in [10_800, 12_000, 60_000] {
            let second = representation(10_700, now);
            assert_eq!(second.matched_tag(&since(8_000), ContentCoding::Identity), None);
            assert!(second.matched_tag(&since(10_000), ContentCoding::Identity).is_some());
        }
    }

    #[test]
    fn a_change_that_is_served_a_moment_later_is_not_missed() {
        // Changes of 10.8 s and 10.95 s; the reply at 11.0 s has only the first.
        let first = representation(10_800, 11_000);
        let told = first.dated.unwrap();
        assert_eq!(
            representation(10_950, 11_100).matched_tag(&since(told.0), ContentCoding::Identity),
            None
        );
    }

    #[test]
    fn another_version_than_the_one_that_is_wanted_is_refused() {
        let it = representation(1_000, 20_000);
        let tags = ContentCoding::ALL.map(|coding| entity_tag(it.hash, coding));
        let check = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_MATCH, HeaderValue::from_str(text).unwrap());
            ReplyPreferences::from_headers(&Method::GET, &headers).check_match(tags.iter())
        };
        let own = tags[2].to_str().unwrap();
        for good in ["*", own, &format!("\"other\", {own}")] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["\"other\"", &format!("W/{own}"), ""] {
            assert_eq!(check(bad), Err(Refusal::PreconditionFailed), "{bad}");
        }
        assert_eq!(since(0).check_match(tags.iter()), Ok(()));
    }

    #[test]
    fn a_tag_decides_alone() {
        let it = representation(1_000, 20_000);
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MODIFIED_SINCE, format_http_date(UnixMillis(50_000)).unwrap());
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"other\""));
        assert_eq!(
            it.matched_tag(
                &ReplyPreferences::from_headers(&Method::GET, &headers),
                ContentCoding::Identity
            ),
            None
        );
    }

    #[test]
    fn a_plain_body_is_still_good_for_who_takes_coded_ones_now() {
        let it = representation(1_000, 20_000);
        let mut headers = HeaderMap::new();
        let plain = entity_tag(it.hash, ContentCoding::Identity);
        headers.insert(header::IF_NONE_MATCH, plain.clone());
        assert_eq!(
            it.matched_tag(
                &ReplyPreferences::from_headers(&Method::GET, &headers),
                ContentCoding::Zstd
            ),
            Some(plain)
        );
    }
}
