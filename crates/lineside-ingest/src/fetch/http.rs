//! HTTP: conditional requests with bounds on size and time. `redirect.rs` follows redirects.

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use jiff::tz::TimeZone;
use lineside_formats::{Format, siri};
use lineside_sync::{Clock, UnixMillis};
use reqwest::{RequestBuilder, Response};
use url::Url;

use super::{
    Body, Failure, FailureCode, Fetched, Phase, Question, Sources,
    advice::advice,
    client::{self, Reach},
    failure::root_cause,
    inflate::Collector,
    shown::Hidden,
    spool::Spool,
    token::{Asker, Token, TokenSource},
    waits::Waits,
};
use crate::{
    budget::Turn,
    config::SharedConfig,
    limits::{BODY_RATE_MIN, FETCH_TIME_MAX, PROBE_BYTES, REPLY_HEAD_TIME_MAX},
    normalize::siri_refusal,
    saved::Validators,
    schedule::Advice,
    source::Secret,
};

/// Fetches one address.
#[derive(Debug)]
pub(crate) struct HttpFetcher {
    pub(super) url: Url,
    pub(super) question: Question,
    pub(super) config: SharedConfig,
    pub(super) shared: Sources,
    /// Where its tokens come from.
    tokens: Option<Arc<TokenSource>>,
    /// The tokens that it has shown in its last fetch: a producer may repeat them, also once they are renewed.
    sent: Vec<Arc<Token>>,
    etag: Option<HeaderValue>,
    last_modified: Option<HeaderValue>,
    /// What the last reply said about the next request.
    advice: Advice,
    /// What the last fetch waited for turns.
    waits: Arc<Waits>,
    /// Where the next body goes instead of into memory.
    spool: Option<Spool>,
    /// Whether the last reply came from another host than the feed's, by a redirect.
    pub(super) other_host: Option<String>,
    /// How far requests to the feed's own origin may reach since a public host answered there.
    pub(super) public_reach: Option<Reach>,
}

impl HttpFetcher {
    pub(super) fn new(url: Url, config: SharedConfig, shared: Sources) -> HttpFetcher {
        let mut url = url;
        if !config.query.is_empty() {
            let secrets = config.query.iter().map(|(name, value)| (name.as_str(), value.reveal()));
            url.query_pairs_mut().extend_pairs(secrets);
        }
        let tokens = config.oauth2.as_ref().map(|oauth2| shared.tokens.of(oauth2));
        let (sent, etag, last_modified, advice) = (Vec::new(), None, None, Advice::default());
        let waits = Arc::default();
        let question = Question::Plain;
        HttpFetcher {
            url,
            question,
            config,
            shared,
            tokens,
            sent,
            etag,
            last_modified,
            advice,
            waits,
            spool: None,
            other_host: None,
            public_reach: None,
        }
    }

    /// Lets the next body go elsewhere, piece by piece; what the fetch then gives as the body is only its end.
    pub(super) fn spool_to(&mut self, spool: Spool) {
        self.spool = Some(spool);
    }

    /// The same address under another configuration.
    pub(super) fn go_on(&mut self, config: SharedConfig, shared: &Sources) {
        self.tokens = config.oauth2.as_ref().map(|oauth2| shared.tokens.of(oauth2));
        self.config = config;
    }

    pub(super) fn waited(&self) -> Duration {
        self.waits.until(self.shared.clock.monotonic())
    }

    pub(super) fn advice(&self) -> Advice {
        self.advice
    }

    pub(super) fn forget(&mut self) {
        self.etag = None;
        self.last_modified = None;
    }

    pub(super) fn validators(&self) -> Validators {
        let bytes = |value: &Option<HeaderValue>| value.as_ref().map(|it| it.as_bytes().to_vec());
        Validators { etag: bytes(&self.etag), last_modified: bytes(&self.last_modified) }
    }

    pub(super) fn remember(&mut self, validators: &Validators) {
        let header = |bytes: &Option<Vec<u8>>| HeaderValue::from_bytes(bytes.as_deref()?).ok();
        self.etag = header(&validators.etag);
        self.last_modified = header(&validators.last_modified);
    }

    /// The first bytes of a reply, without the feed's secrets. Empty for a reply of another host: a redirect must not
    /// publish what only this machine can read there.
    pub(super) fn shown(&self, bytes: &[u8], key: Option<&Secret>) -> String {
        if self.other_host.is_some() { String::new() } else { self.hidden(key).show(bytes) }
    }

    /// The host that the last reply came from, if it is not the feed's.
    pub(super) fn other_host(&self) -> Option<&str> {
        self.other_host.as_deref()
    }

    fn hidden(&self, key: Option<&Secret>) -> Hidden {
        let posted = match &self.question {
            Question::Post(post) => post.secret.as_ref(),
            _ => None,
        };
        let tokens: Vec<&Secret> =
            self.sent.iter().map(|token| &token.text).chain(posted).chain(key).collect();
        Hidden::of(&self.config, &tokens)
    }

    pub(super) async fn fetch(
        &mut self,
        turn: Turn,
        question: Question,
    ) -> Result<Fetched, Failure> {
        self.question = question;
        self.advice = Advice::default();
        let (clock, waits) = (Arc::clone(&self.shared.clock), Arc::new(Waits::default()));
        self.waits = Arc::clone(&waits);
        let fetching = self.fetch_once(turn);
        let fetched = waits.within(&clock, FETCH_TIME_MAX, "the whole fetch", fetching).await;
        // Everything before the body ends sooner.
        fetched.map_err(|failure| failure.in_phase(Phase::Body))?
    }

    async fn fetch_once(&mut self, turn: Turn) -> Result<Fetched, Failure> {
        // The turn ends with the last byte of the reply.
        let (response, _turn) = self.send(turn).await?;
        let status = response.status();
        self.advice = advice(status, response.headers(), self.shared.clock.wall());
        if status == StatusCode::NOT_MODIFIED
            && (self.etag.is_some() || self.last_modified.is_some())
        {
            return Ok(Fetched::NotModified);
        }
        if status == StatusCode::NO_CONTENT {
            return Ok(Fetched::Nothing(status.as_u16()));
        }
        if status != StatusCode::OK {
            let answer = self.refused(response).await;
            if answer.is_ok() {
                self.forget();
            }
            return answer;
        }
        let headers = response.headers().clone();
        let (bytes, is_empty) = self.read(response).await?;
        if is_empty {
            return Ok(Fetched::Nothing(status.as_u16()));
        }
        if !matches!(self.question, Question::Plain) {
            self.forget();
            return Ok(Fetched::Body(self.body(&headers, status, bytes)));
        }
        self.etag = headers.get(header::ETAG).cloned();
        self.last_modified = headers.get(header::LAST_MODIFIED).cloned();
        Ok(Fetched::Body(self.body(&headers, status, bytes)))
    }

    fn body(&self, headers: &HeaderMap, status: StatusCode, bytes: Bytes) -> Body {
        Body {
            bytes,
            status: Some(status.as_u16()),
            content_type: text(headers, header::CONTENT_TYPE),
            last_modified: text(headers, header::LAST_MODIFIED).as_deref().and_then(parse_date),
            file_name: self.config.url.file_name().map(str::to_owned),
        }
    }

    /// Sends the request with all that its producer wants to be shown, until an answer begins. A token that is refused
    /// is renewed once.
    async fn send(&mut self, turn: Turn) -> Result<(Response, Turn), Failure> {
        self.sent.clear();
        let Some(tokens) = self.tokens.clone() else { return self.follow(turn, None).await };
        let held = tokens.find_held(self.shared.clock.monotonic());
        let (token, turn) = match held {
            Some(token) => (token, turn),
            None => {
                // Whoever gives it out may be the host of the turn.
                turn.give_back();
                self.renew(&tokens, None).await?
            }
        };
        self.sent.push(Arc::clone(&token));
        let (response, turn) = self.follow(turn, Some(&token)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok((response, turn));
        }
        drop((response, turn));
        let (token, turn) = self.renew(&tokens, Some(&token)).await?;
        self.sent.push(Arc::clone(&token));
        self.follow(turn, Some(&token)).await
    }

    /// Gets a token, and then a turn to show it in. There must be none before: whoever gives tokens out may be the same
    /// host.
    async fn renew(
        &self,
        tokens: &TokenSource,
        refused: Option<&Arc<Token>>,
    ) -> Result<(Arc<Token>, Turn), Failure> {
        let asker = Asker { shared: &self.shared, feed: &self.config, waits: &self.waits };
        let token = tokens.get(refused, asker).await?;
        Ok((token, self.turn_at(&self.url).await))
    }

    pub(super) async fn turn_at(&self, url: &Url) -> Turn {
        let turn = self.shared.turn_at(&self.config, url);
        self.waits.during(&*self.shared.clock, turn).await
    }

    /// Sends the request to one address. `reach` limits which hosts may answer.
    pub(super) async fn send_to(
        &self,
        url: &Url,
        token: Option<&Token>,
        reach: Reach,
    ) -> Result<Response, Failure> {
        let is_own = url.origin() == self.url.origin();
        let mut url = url.clone();
        // An address to which the producer leads has no user of ours.
        let own_user = is_own.then(|| client::take_user(&mut self.url.clone())).flatten();
        let user = if is_own { client::take_user(&mut url).or(own_user) } else { None };
        if let Question::Parameter(name, value) = &self.question
            && is_own
        {
            url.query_pairs_mut().append_pair(name, value);
        }
        let mut request = match &self.question {
            Question::Post(post) if is_own => {
                self.shared.client.post(&self.config, &url, post, reach).await?
            }
            _ => self.shared.client.get(self.config.timeout, &url, reach).await?,
        };
        request = request.header(header::ACCEPT_ENCODING, "gzip");
        if let Some((user, password)) = user {
            request = request.basic_auth(user, password);
        }
        if is_own {
            request = self.with_credentials(request, token)?;
        }
        if !matches!(self.question, Question::Plain) {
            return self.within("the answer", client::send(request)).await?;
        }
        if let Some(etag) = &self.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        if let Some(date) = &self.last_modified {
            request = request.header(header::IF_MODIFIED_SINCE, date);
        }
        self.within("the answer", client::send(request)).await?
    }

    fn with_credentials(
        &self,
        request: RequestBuilder,
        token: Option<&Token>,
    ) -> Result<RequestBuilder, Failure> {
        let mut request = request.headers(self.secret_headers()?);
        if let Some(basic) = &self.config.basic {
            request = request.basic_auth(&basic.user, Some(basic.password.reveal()));
        }
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, token.header.clone());
        }
        Ok(request)
    }

    fn secret_headers(&self) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.config.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).ok();
            let value = HeaderValue::from_str(value.reveal()).ok();
            let (Some(header), Some(mut value)) = (header, value) else {
                let detail = format!("the configured header {name:?} cannot be sent");
                return Err(Failure::new(FailureCode::Connect, detail));
            };
            value.set_sensitive(true);
            headers.append(header, value);
        }
        Ok(headers)
    }

    /// A reply whose status says that it is no data: why that is, with the little of it that says so. One exception is an
    /// answer in SIRI, which SOAP has its producers send with status 500 when they refuse.
    async fn refused(&self, response: Response) -> Result<Fetched, Failure> {
        let (status, headers) = (response.status(), response.headers().clone());
        let code = FailureCode::Http(status.as_u16());
        let hidden = self.hidden(None);
        let is_siri = self.config.promised() == Some(Format::Siri);
        let may_answer = is_siri && status == StatusCode::INTERNAL_SERVER_ERROR;
        let short = REPLY_HEAD_TIME_MAX.min(self.config.timeout);
        let (enough, limit) = match may_answer {
            true => (usize::MAX, self.config.timeout),
            false if is_siri => (FAULT_BYTES_MAX, short),
            false => (hidden.bytes_looked_at(), short),
        };
        let mut response = response;
        let mut collector =
            Collector::new(is_gzip(&response).unwrap_or(false), self.config.body_bytes_max());
        let reading = async {
            while collector.head().len() < enough {
                match response.chunk().await {
                    Ok(Some(piece)) if collector.take(&piece).is_ok() => {}
                    Ok(None) => return true,
                    _ => return false,
                }
            }
            false
        };
        // Whatever comes late or broken is left out: the status has said it.
        let read = within(&self.shared.clock, limit, "the body", reading).await;
        let taken = collector.taken();
        let (body, is_whole) = match collector.finish() {
            Ok(body) => (body, matches!(read, Ok(true))),
            Err(_) => (collector.head().to_vec(), false),
        };
        if may_answer && is_whole && is_answer(&body) {
            return Ok(Fetched::Body(self.body(&headers, status, body.into())));
        }
        let why = why_refused(&body).filter(|_| is_siri && self.other_host.is_none());
        let why = why.map(|why| format!(": {}", hidden.show(why.as_bytes()))).unwrap_or_default();
        let detail = format!("the answer was {status}{why}");
        let head = self.shown(&body, None);
        Err(Failure::new(code, detail).of_reply(Some(status.as_u16()), taken, Some(head)))
    }

    /// Reads a body, and tells whether it is empty. Where it is spooled, the last of it is given.
    async fn read(&mut self, response: Response) -> Result<(Bytes, bool), Failure> {
        let mut response = response;
        let mut spool = self.spool.take();
        let status = response.status().as_u16();
        let max = self.config.body_bytes_max();
        if response.content_length().is_some_and(|length| length > max) {
            return Err(Failure::too_large(max).of_reply(Some(status), 0, None));
        }
        let gzip = is_gzip(&response).map_err(|failure| failure.of_reply(Some(status), 0, None))?;
        let mut collector = Collector::new(gzip, max);
        let outcome = self.collect(&mut response, &mut collector, spool.as_mut()).await;
        let finished = outcome.and_then(|()| {
            let rest = collector.finish()?;
            spool.as_mut().map_or(Ok(()), |spool| spool.take(&rest))?;
            Ok((Bytes::from(rest), collector.taken()))
        });
        let finished = finished.map(|(rest, taken)| {
            let is_empty = rest.is_empty() && (spool.is_none() || taken == 0);
            (rest, is_empty)
        });
        finished.map_err(|failure| {
            let head = self.shown(collector.head(), None);
            failure.of_reply(Some(status), collector.taken(), Some(head))
        })
    }

    async fn collect(
        &self,
        response: &mut Response,
        collector: &mut Collector,
        mut spool: Option<&mut Spool>,
    ) -> Result<(), Failure> {
        let began = self.shared.clock.monotonic();
        let mut is_probed = false;
        loop {
            let piece = self.within("more of the body", response.chunk()).await;
            match piece.map_err(|failure| failure.in_phase(Phase::Body))? {
                Ok(Some(piece)) => {
                    collector.take(&piece)?;
                    if !is_probed && collector.head().len() >= PROBE_BYTES {
                        is_probed = true;
                        collector.lower_max(self.config.body_bytes_max_for(collector.head()));
                    }
                    self.check_pace(began, collector.taken())?;
                    if let Some(spool) = spool.as_deref_mut() {
                        spool.take(&collector.drain())?;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    let cause = root_cause(&error.without_url());
                    let detail = format!("the body broke off: {cause}");
                    return Err(Failure::new(FailureCode::Truncated, detail));
                }
            }
        }
    }

    /// A body that takes longer than the timeout has to come at a least rate: one that drips would be served as fresh for
    /// minutes without an end.
    fn check_pace(&self, began: Duration, taken: u64) -> Result<(), Failure> {
        let elapsed = self.shared.clock.monotonic().saturating_sub(began);
        let least = elapsed.as_millis().saturating_mul(BODY_RATE_MIN) / 1000;
        if elapsed <= self.config.timeout || u128::from(taken) >= least {
            return Ok(());
        }
        let detail = format!("the body comes slower than {BODY_RATE_MIN} bytes per second");
        Err(Failure::new(FailureCode::Timeout, detail).in_phase(Phase::Body))
    }

    /// Waits for `future` no longer than the feed's timeout.
    async fn within<T>(&self, what: &str, future: impl Future<Output = T>) -> Result<T, Failure> {
        within(&self.shared.clock, self.config.timeout, what, future).await
    }
}

/// Most bytes of an answer in which a producer of SIRI says why it gives nothing.
const FAULT_BYTES_MAX: usize = 64 << 10;

/// Whether a body says in SIRI, or in the words of SOAP, what the producer has to say. Of a long one how it begins counts.
fn is_answer(body: &[u8]) -> bool {
    if body.len() > FAULT_BYTES_MAX {
        return siri::looks_like_siri(body);
    }
    let decoded = siri::decode(body, &TimeZone::UTC, &siri::Limits::default());
    decoded.is_ok_and(|(message, _)| !message.payloads.is_empty())
}

/// What a producer of SIRI says of why it gives nothing.
fn why_refused(body: &[u8]) -> Option<String> {
    let (message, _) = siri::decode(body, &TimeZone::UTC, &siri::Limits::default()).ok()?;
    siri_refusal(&message)
}

/// Waits for `future` no longer than `limit`.
pub(super) async fn within<T>(
    clock: &Arc<dyn Clock>,
    limit: Duration,
    what: &str,
    future: impl Future<Output = T>,
) -> Result<T, Failure> {
    let deadline = clock.sleep_until(clock.monotonic() + limit);
    tokio::select! {
        biased;
        done = future => Ok(done),
        () = deadline => Err(too_late(what, limit)),
    }
}

pub(super) fn too_late(what: &str, limit: Duration) -> Failure {
    let detail = format!("{what} did not come within {} s", limit.as_secs_f32());
    Failure::new(FailureCode::Timeout, detail)
}

fn is_gzip(response: &Response) -> Result<bool, Failure> {
    let encoding = text(response.headers(), header::CONTENT_ENCODING).unwrap_or_default();
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(false),
        "gzip" | "x-gzip" => Ok(true),
        other => {
            let detail = format!("the body is encoded as {other:?}, which was not asked for");
            Err(Failure::new(FailureCode::Decode, detail))
        }
    }
}

pub(super) fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

pub(super) fn parse_date(text: &str) -> Option<UnixMillis> {
    let time = httpdate::parse_http_date(text).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(UnixMillis)
}
