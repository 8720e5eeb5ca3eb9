//! HTTP fetching: conditional requests with limits on size and time. `redirect.rs` follows redirects.

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use lineside_sync::{Clock, UnixMillis};
use reqwest::{RequestBuilder, Response};
use url::Url;

use super::ErrorBodyReader;
use super::{
    FetchOutcome, FetchedBody, SharedFetchContext, SourceRequest,
    advice::parse_poll_advice,
    client::{self, AllowedHosts},
    inflate::BodyCollector,
    permit_waits::PermitWaitTimer,
    redact::SecretRedactor,
    spool::BodyStreamWriter,
    token::{AccessToken, TokenRequestContext, TokenSource},
};
use crate::{
    feed_config::SharedFeedConfig,
    fetch_failure::{FailureCode, FetchError, FetchPhase, root_cause},
    limits::{BODY_RATE_MIN, FETCH_TIME_MAX, PROBE_BYTES, REPLY_HEAD_TIME_MAX},
    poll_schedule::PollAdvice,
    rate_limit::RateLimitPermit,
    snapshot_store::CacheValidators,
    source::Secret,
};

/// Fetches one URL.
#[derive(Debug)]
pub struct HttpFetcher {
    pub(super) url: Url,
    pub(super) request: SourceRequest,
    pub(super) config: SharedFeedConfig,
    pub(super) shared: SharedFetchContext,
    /// The source of access tokens.
    tokens: Option<Arc<TokenSource>>,
    /// The tokens sent in the last fetch: a producer may echo them, even after they were renewed.
    sent: Vec<Arc<AccessToken>>,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    /// The advice of the last reply about the next request.
    advice: PollAdvice,
    /// The time that the last fetch waited for rate limit permits.
    waits: Arc<PermitWaitTimer>,
    /// The destination of the next body, if not memory.
    spool: Option<BodyStreamWriter>,
    /// The host of the last reply, if a redirect led to another host than the feed's.
    pub(super) redirected_host: Option<String>,
    /// The reach of requests to the feed's own origin, once a public host has answered there.
    pub(super) public_reach: Option<AllowedHosts>,
    /// Reads the bodies of error replies, if the feed's protocol defines them.
    pub(super) error_bodies: Option<ErrorBodyReader>,
}

impl HttpFetcher {
    pub(super) fn new(
        url: Url,
        config: SharedFeedConfig,
        shared: SharedFetchContext,
    ) -> HttpFetcher {
        let mut url = url;
        if !config.query.is_empty() {
            let secrets = config.query.iter().map(|(name, value)| (name.as_str(), value.reveal()));
            url.query_pairs_mut().extend_pairs(secrets);
        }
        let tokens =
            config.oauth2.as_ref().map(|oauth2| shared.tokens.token_source_for_client(oauth2));
        let (sent, etag, last_modified, advice) = (Vec::new(), None, None, PollAdvice::default());
        let waits = Arc::default();
        let question = SourceRequest::Plain;
        HttpFetcher {
            url,
            request: question,
            config,
            shared,
            tokens,
            sent,
            etag,
            last_modified,
            advice,
            waits,
            spool: None,
            redirected_host: None,
            public_reach: None,
            error_bodies: None,
        }
    }

    /// Streams the next body into `spool`; the body that the fetch returns is only its end.
    pub(super) fn stream_next_body_into(&mut self, spool: BodyStreamWriter) {
        self.spool = Some(spool);
    }

    /// Applies another configuration of the same URL.
    pub(super) fn reconfigure(&mut self, config: SharedFeedConfig, shared: &SharedFetchContext) {
        self.tokens =
            config.oauth2.as_ref().map(|oauth2| shared.tokens.token_source_for_client(oauth2));
        self.config = config;
    }

    pub(super) fn permit_wait_time(&self) -> Duration {
        self.waits.total_wait(self.shared.clock.monotonic())
    }

    pub(super) fn last_poll_advice(&self) -> PollAdvice {
        self.advice
    }

    pub(super) fn forget_validators(&mut self) {
        self.etag = None;
        self.last_modified = None;
    }

    pub(super) fn cache_validators(&self) -> CacheValidators {
        let bytes = |value: &Option<HeaderValue>| value.as_ref().map(|it| it.as_bytes().to_vec());
        CacheValidators { etag: bytes(&self.etag), last_modified: bytes(&self.last_modified) }
    }

    pub(super) fn set_cache_validators(&mut self, validators: &CacheValidators) {
        let header = |bytes: &Option<Vec<u8>>| HeaderValue::from_bytes(bytes.as_deref()?).ok();
        self.etag = header(&validators.etag);
        self.last_modified = header(&validators.last_modified);
    }

    /// Returns the first bytes of a reply with the feed's secrets redacted. Empty for a reply of another host: a
    /// redirect must not publish content that only this machine can read there.
    pub(super) fn redacted_body_start(&self, bytes: &[u8], key: Option<&Secret>) -> String {
        if self.redirected_host.is_some() {
            String::new()
        } else {
            self.reply_redactor(key).redact_reply_prefix(bytes)
        }
    }

    /// Returns the host of the last reply, if it is not the feed's.
    pub(super) fn redirected_host(&self) -> Option<&str> {
        self.redirected_host.as_deref()
    }

    fn reply_redactor(&self, key: Option<&Secret>) -> SecretRedactor {
        let posted = match &self.request {
            SourceRequest::Post(post) => post.secret.as_ref(),
            _ => None,
        };
        let tokens: Vec<&Secret> =
            self.sent.iter().map(|token| &token.text).chain(posted).chain(key).collect();
        SecretRedactor::for_feed(&self.config, &tokens)
    }

    pub(super) async fn fetch_url(
        &mut self,
        permit: RateLimitPermit,
        question: SourceRequest,
    ) -> Result<FetchOutcome, FetchError> {
        self.request = question;
        self.advice = PollAdvice::default();
        let (clock, waits) = (Arc::clone(&self.shared.clock), Arc::new(PermitWaitTimer::default()));
        self.waits = Arc::clone(&waits);
        let fetching = self.send_and_read_response(permit);
        let fetched = waits
            .wait_with_timeout_excluding_permits(
                &clock,
                FETCH_TIME_MAX,
                "the complete response",
                fetching,
            )
            .await;
        // Earlier phases have set their own.
        fetched.map_err(|failure| failure.with_phase(FetchPhase::Body))?
    }

    async fn send_and_read_response(
        &mut self,
        permit: RateLimitPermit,
    ) -> Result<FetchOutcome, FetchError> {
        // The permit is held until the last byte of the reply.
        let (response, _permit) = self.send_with_access_token(permit).await?;
        let status = response.status();
        self.advice = parse_poll_advice(status, response.headers(), self.shared.clock.wall_time());
        if status == StatusCode::NOT_MODIFIED
            && (self.etag.is_some() || self.last_modified.is_some())
        {
            return Ok(FetchOutcome::NotModified);
        }
        if status == StatusCode::NO_CONTENT {
            return Ok(FetchOutcome::Empty(status.as_u16()));
        }
        if status != StatusCode::OK {
            let answer = self.read_error_response(response).await;
            if answer.is_ok() {
                self.forget_validators();
            }
            return answer;
        }
        let headers = response.headers().clone();
        let (bytes, is_empty) = self.read_response_body(response).await?;
        if is_empty {
            return Ok(FetchOutcome::Empty(status.as_u16()));
        }
        if !matches!(self.request, SourceRequest::Plain) {
            self.forget_validators();
            return Ok(FetchOutcome::Body(self.build_fetched_body(&headers, status, bytes)));
        }
        self.etag = headers.get(header::ETAG).cloned();
        self.last_modified = headers.get(header::LAST_MODIFIED).cloned();
        Ok(FetchOutcome::Body(self.build_fetched_body(&headers, status, bytes)))
    }

    fn build_fetched_body(
        &self,
        headers: &HeaderMap,
        status: StatusCode,
        bytes: Bytes,
    ) -> FetchedBody {
        FetchedBody {
            bytes,
            status: Some(status.as_u16()),
            content_type: header_text(headers, header::CONTENT_TYPE),
            last_modified: header_text(headers, header::LAST_MODIFIED)
                .as_deref()
                .and_then(parse_http_date),
            file_name: self.config.url.last_path_segment().map(str::to_owned),
        }
    }

    /// Sends the request with its access token until the reply's head arrives. A rejected token is renewed once.
    async fn send_with_access_token(
        &mut self,
        permit: RateLimitPermit,
    ) -> Result<(Response, RateLimitPermit), FetchError> {
        self.sent.clear();
        let Some(tokens) = self.tokens.clone() else {
            return self.follow_redirects(permit, None).await;
        };
        let cached_token = tokens.cached_token(self.shared.clock.monotonic());
        let (token, permit) = match cached_token {
            Some(token) => (token, permit),
            None => {
                // The token endpoint may be on the host that the permit is for.
                permit.return_unused();
                self.get_token_and_permit(&tokens, None).await?
            }
        };
        self.sent.push(Arc::clone(&token));
        let (response, permit) = self.follow_redirects(permit, Some(&token)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok((response, permit));
        }
        drop((response, permit));
        let (token, permit) = self.get_token_and_permit(&tokens, Some(&token)).await?;
        self.sent.push(Arc::clone(&token));
        self.follow_redirects(permit, Some(&token)).await
    }

    /// Gets a token, then a permit for the request that uses it. The caller must hold no permit: the token endpoint may
    /// be on the same host.
    async fn get_token_and_permit(
        &self,
        tokens: &TokenSource,
        refused: Option<&Arc<AccessToken>>,
    ) -> Result<(Arc<AccessToken>, RateLimitPermit), FetchError> {
        let requester =
            TokenRequestContext { shared: &self.shared, feed: &self.config, waits: &self.waits };
        let token = tokens.get_or_request_token(refused, requester).await?;
        Ok((token, self.wait_for_rate_limit_permit(&self.url).await))
    }

    pub(super) async fn wait_for_rate_limit_permit(&self, url: &Url) -> RateLimitPermit {
        let permit = self.shared.wait_for_rate_limit_permit(&self.config, url);
        self.waits.measure_permit_wait(&*self.shared.clock, permit).await
    }

    /// Sends the request to one URL. `reach` limits the hosts that may answer.
    pub(super) async fn send_to_url(
        &self,
        url: &Url,
        token: Option<&AccessToken>,
        reach: AllowedHosts,
    ) -> Result<Response, FetchError> {
        let is_own = url.origin() == self.url.origin();
        let mut url = url.clone();
        // A redirect to another origin gets no credentials.
        let own_user =
            is_own.then(|| client::take_url_credentials(&mut self.url.clone())).flatten();
        let user = if is_own { client::take_url_credentials(&mut url).or(own_user) } else { None };
        if let SourceRequest::Parameter(name, value) = &self.request
            && is_own
        {
            url.query_pairs_mut().append_pair(name, value);
        }
        let mut request = match &self.request {
            SourceRequest::Post(post) if is_own => {
                self.shared.client.build_post_request(&self.config, &url, post, reach).await?
            }
            _ => self.shared.client.build_get_request(self.config.timeout, &url, reach).await?,
        };
        request = request.header(header::ACCEPT_ENCODING, "gzip");
        if let Some((user, password)) = user {
            request = request.basic_auth(user, password);
        }
        if is_own {
            request = self.add_credentials(request, token)?;
        }
        if !matches!(self.request, SourceRequest::Plain) {
            return self
                .wait_with_feed_timeout("the response", client::send_request(request))
                .await?;
        }
        if let Some(etag) = &self.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = &self.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, date);
        }
        self.wait_with_feed_timeout("the response", client::send_request(request)).await?
    }

    fn add_credentials(
        &self,
        request: RequestBuilder,
        token: Option<&AccessToken>,
    ) -> Result<RequestBuilder, FetchError> {
        let mut request = request.headers(self.secret_headers()?);
        if let Some(basic) = &self.config.basic {
            request = request.basic_auth(&basic.user, Some(basic.password.reveal()));
        }
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, token.header.clone());
        }
        Ok(request)
    }

    fn secret_headers(&self) -> Result<HeaderMap, FetchError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.config.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).ok();
            let value = HeaderValue::from_str(value.reveal()).ok();
            let (Some(header), Some(mut value)) = (header, value) else {
                let detail = format!("the configured header {name:?} is invalid");
                return Err(FetchError::new(FailureCode::Connect, detail));
            };
            value.set_sensitive(true);
            headers.append(header, value);
        }
        Ok(headers)
    }

    /// Builds the failure of a reply with an error status, with the beginning of its body. A reply with status 500 is
    /// returned as a body if the feed's protocol sends answers so, as SOAP does.
    async fn read_error_response(&self, response: Response) -> Result<FetchOutcome, FetchError> {
        let (status, headers) = (response.status(), response.headers().clone());
        let code = FailureCode::Http(status.as_u16());
        let hidden = self.reply_redactor(None);
        let may_answer = self.error_bodies.is_some() && status == StatusCode::INTERNAL_SERVER_ERROR;
        let short = REPLY_HEAD_TIME_MAX.min(self.config.timeout);
        let (enough, limit) = match may_answer {
            true => (usize::MAX, self.config.timeout),
            false => {
                let max = self.error_bodies.map(|it| it.reason_bytes_max);
                (max.unwrap_or_else(|| hidden.bytes_needed_to_redact()), short)
            }
        };
        let mut response = response;
        let mut collector = BodyCollector::new(
            is_gzip_encoded(&response).unwrap_or(false),
            self.config.body_bytes_max(),
        );
        let reading = async {
            while collector.undrained_body_start().len() < enough {
                match response.chunk().await {
                    Ok(Some(piece)) if collector.push_piece(&piece).is_ok() => {}
                    Ok(None) => return true,
                    _ => return false,
                }
            }
            false
        };
        // A late or broken body is ignored: the status already reports the failure.
        let read = wait_with_timeout(&self.shared.clock, limit, "the body", reading).await;
        let n_received = collector.bytes_received();
        let (body, is_whole) = match collector.finish_and_take_body() {
            Ok(body) => (body, matches!(read, Ok(true))),
            Err(_) => (collector.undrained_body_start().to_vec(), false),
        };
        let is_answer =
            |reader: ErrorBodyReader| may_answer && is_whole && (reader.is_answer)(&body);
        if self.error_bodies.is_some_and(is_answer) {
            return Ok(FetchOutcome::Body(self.build_fetched_body(&headers, status, body.into())));
        }
        let reader = self.error_bodies.filter(|_| self.redirected_host.is_none());
        let why = reader.and_then(|reader| (reader.find_reason)(&body));
        let why = why
            .map(|why| format!(": {}", hidden.redact_reply_prefix(why.as_bytes())))
            .unwrap_or_default();
        let detail = format!("the server returned {status}{why}");
        let head = self.redacted_body_start(&body, None);
        Err(FetchError::new(code, detail).with_response(
            Some(status.as_u16()),
            n_received,
            Some(head),
        ))
    }

    /// Reads a body and returns it with true if it is empty. Of a spooled body only the end is returned.
    async fn read_response_body(
        &mut self,
        response: Response,
    ) -> Result<(Bytes, bool), FetchError> {
        let mut response = response;
        let mut spool = self.spool.take();
        let status = response.status().as_u16();
        let max = self.config.body_bytes_max();
        if response.content_length().is_some_and(|length| length > max) {
            return Err(FetchError::body_too_large(max).with_response(Some(status), 0, None));
        }
        let gzip = is_gzip_encoded(&response)
            .map_err(|failure| failure.with_response(Some(status), 0, None))?;
        let mut collector = BodyCollector::new(gzip, max);
        let outcome = self.collect_body_pieces(&mut response, &mut collector, spool.as_mut()).await;
        let finished = outcome.and_then(|()| {
            let rest = collector.finish_and_take_body()?;
            spool.as_mut().map_or(Ok(()), |spool| spool.write_piece(&rest))?;
            Ok((Bytes::from(rest), collector.bytes_received()))
        });
        let finished = finished.map(|(rest, n_received)| {
            let is_empty = rest.is_empty() && (spool.is_none() || n_received == 0);
            (rest, is_empty)
        });
        finished.map_err(|failure| {
            let head = self.redacted_body_start(collector.undrained_body_start(), None);
            failure.with_response(Some(status), collector.bytes_received(), Some(head))
        })
    }

    async fn collect_body_pieces(
        &self,
        response: &mut Response,
        collector: &mut BodyCollector,
        mut spool: Option<&mut BodyStreamWriter>,
    ) -> Result<(), FetchError> {
        let began = self.shared.clock.monotonic();
        let mut is_probed = false;
        loop {
            let piece =
                self.wait_with_feed_timeout("the next part of the body", response.chunk()).await;
            match piece.map_err(|failure| failure.with_phase(FetchPhase::Body))? {
                Ok(Some(piece)) => {
                    collector.push_piece(&piece)?;
                    if !is_probed && collector.undrained_body_start().len() >= PROBE_BYTES {
                        is_probed = true;
                        collector.lower_size_limit(
                            self.config
                                .body_bytes_max_by_beginning(collector.undrained_body_start()),
                        );
                    }
                    self.check_body_rate(began, collector.bytes_received())?;
                    if let Some(spool) = spool.as_deref_mut() {
                        spool.write_piece(&collector.take_collected_bytes())?;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    let cause = root_cause(&error.without_url());
                    let detail = format!("reading the body failed: {cause}");
                    return Err(FetchError::new(FailureCode::Truncated, detail));
                }
            }
        }
    }

    /// Fails if a body that takes longer than the timeout is slower than the minimum rate: a trickling body would be
    /// served as fresh for minutes.
    fn check_body_rate(&self, began: Duration, n_received: u64) -> Result<(), FetchError> {
        let elapsed = self.shared.clock.monotonic().saturating_sub(began);
        let bytes_min = elapsed.as_millis().saturating_mul(BODY_RATE_MIN) / 1000;
        if elapsed <= self.config.timeout || u128::from(n_received) >= bytes_min {
            return Ok(());
        }
        let detail = format!("the body arrives at less than {BODY_RATE_MIN} bytes per second");
        Err(FetchError::new(FailureCode::Timeout, detail).with_phase(FetchPhase::Body))
    }

    /// Waits for `future` at most for the feed's timeout.
    async fn wait_with_feed_timeout<T>(
        &self,
        what: &str,
        future: impl Future<Output = T>,
    ) -> Result<T, FetchError> {
        wait_with_timeout(&self.shared.clock, self.config.timeout, what, future).await
    }
}

/// Waits for `future` no longer than `limit`.
pub(super) async fn wait_with_timeout<T>(
    clock: &Arc<dyn Clock>,
    limit: Duration,
    what: &str,
    future: impl Future<Output = T>,
) -> Result<T, FetchError> {
    let deadline = clock.sleep_until(clock.monotonic() + limit);
    tokio::select! {
        biased;
        done = future => Ok(done),
        () = deadline => Err(timeout_failure(what, limit)),
    }
}

pub(super) fn timeout_failure(what: &str, limit: Duration) -> FetchError {
    let detail = format!("{what} did not arrive within {} s", limit.as_secs_f32());
    FetchError::new(FailureCode::Timeout, detail)
}

fn is_gzip_encoded(response: &Response) -> Result<bool, FetchError> {
    let encoding = header_text(response.headers(), header::CONTENT_ENCODING).unwrap_or_default();
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" => Ok(true),
        other => {
            let detail =
                format!("the body has the encoding {other:?}, but only gzip was requested");
            Err(FetchError::new(FailureCode::Decode, detail))
        }
    }
}

pub(super) fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

pub(super) fn parse_http_date(text: &str) -> Option<UnixMillis> {
    let time = httpdate::parse_http_date(text).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(UnixMillis)
}
