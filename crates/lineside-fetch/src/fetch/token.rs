//! Access tokens by client credentials (RFC 6749 section 4.4): fetched once for all feeds of a client, cached until
//! shortly before they expire, and renewed when a producer rejects one.
//!
//! One request at a time goes to the token endpoint; concurrent callers wait for its outcome. A failure is cached
//! briefly, so that many feeds do not repeat the request one after the other.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use http::{HeaderValue, StatusCode, header};
use lineside_sync::Clock;
use reqwest::Response;
use serde::Deserialize;
use tokio::sync::Mutex;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::{
    SharedFetchContext, advice::parse_poll_advice as advice_of, client, http::wait_with_timeout,
    permit_waits::PermitWaitTimer,
};
use crate::{
    feed_config::FeedConfig,
    fetch_failure::{FailureCode, FetchError, FetchPhase},
    limits::{TOKEN_BYTES_MAX, TOKEN_LIFETIME_DEFAULT, TOKEN_RENEW_BEFORE_MAX, TOKEN_RETRY},
    poll_schedule::{PollAdvice, retry_delay},
    source::{OAuth2Client, Secret},
};

/// A token is renewed when this fraction of its lifetime remains, or [`TOKEN_RENEW_BEFORE_MAX`] if that is shorter.
const RENEW_BEFORE_DIVISOR: u32 = 10;
/// Maximum length of the error code in a token endpoint's refusal (RFC 6749 section 5.2).
const ERROR_CODE_CHARS_MAX: usize = 64;

pub(super) struct AccessToken {
    pub(super) header: HeaderValue,
    pub(super) text: Secret,
    /// The time at which the token is renewed, on the monotonic clock.
    until: Duration,
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("until", &self.until).finish_non_exhaustive()
    }
}

/// The token sources of all feeds. Bounded: one per feed.
#[derive(Debug, Default)]
pub(crate) struct TokenSourceRegistry(parking_lot::Mutex<Vec<Arc<TokenSource>>>);

impl TokenSourceRegistry {
    /// Returns the source that all feeds with this client share.
    pub(super) fn token_source_for_client(&self, oauth2: &OAuth2Client) -> Arc<TokenSource> {
        let mut sources = self.0.lock();
        // Drop the sources of feeds that were removed or reconfigured.
        sources.retain(|known| known.oauth2 == *oauth2 || Arc::strong_count(known) > 1);
        if let Some(known) = sources.iter().find(|known| known.oauth2 == *oauth2) {
            return Arc::clone(known);
        }
        let source = Arc::new(TokenSource {
            oauth2: oauth2.clone(),
            token: ArcSwapOption::empty(),
            failures: Mutex::default(),
            is_secret_in_body: AtomicBool::new(false),
        });
        sources.push(Arc::clone(&source));
        source
    }
}

/// An OAuth 2 client and its current token.
#[derive(Debug)]
pub(crate) struct TokenSource {
    oauth2: OAuth2Client,
    token: ArcSwapOption<AccessToken>,
    /// Locked during a token request.
    failures: Mutex<TokenFailures>,
    /// True if the server accepts the client's secret in the body instead of a header.
    is_secret_in_body: AtomicBool,
}

/// Consecutive failed token requests.
#[derive(Debug, Default)]
struct TokenFailures {
    in_a_row: u32,
    /// The last failure and the time until which it is returned without a new request.
    last: Option<(Duration, FetchError)>,
}

/// The context of a token request.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenRequestContext<'a> {
    pub(super) shared: &'a SharedFetchContext,
    /// The feed that needs the token.
    pub(super) feed: &'a FeedConfig,
    /// The wait time of the feed's fetch.
    pub(super) waits: &'a PermitWaitTimer,
}

impl TokenRequestContext<'_> {
    fn monotonic_now(&self) -> Duration {
        self.shared.clock.monotonic()
    }
}

impl TokenSource {
    /// Returns the cached token, unless it is due for renewal.
    pub(super) fn cached_token(&self, now: Duration) -> Option<Arc<AccessToken>> {
        self.token.load_full().filter(|token| now < token.until)
    }

    /// Returns a token other than `refused`.
    ///
    /// # Errors
    /// Returns the failure of the token request, without secrets.
    pub(super) async fn get_or_request_token(
        &self,
        refused: Option<&Arc<AccessToken>>,
        requester: TokenRequestContext<'_>,
    ) -> Result<Arc<AccessToken>, FetchError> {
        let mut failures = requester
            .waits
            .measure_permit_wait(&*requester.shared.clock, self.failures.lock())
            .await;
        let cached_token = self.cached_token(requester.monotonic_now());
        if let Some(cached_token) = cached_token
            .filter(|cached_token| !refused.is_some_and(|it| Arc::ptr_eq(it, cached_token)))
        {
            return Ok(cached_token);
        }
        if let Some((until, failure)) = &failures.last
            && requester.monotonic_now() < *until
        {
            return Err(failure.clone());
        }
        let mut advice = PollAdvice::default();
        match self.request_token(requester, failures.in_a_row, &mut advice).await {
            Ok(token) => {
                *failures = TokenFailures::default();
                let token = Arc::new(token);
                self.token.store(Some(Arc::clone(&token)));
                Ok(token)
            }
            Err(failure) => {
                self.token.store(None);
                let host = self.oauth2.token_url.host_str().unwrap_or_default();
                let failure = failure
                    .with_detail_prefix(&format!("cannot get an access token from {host}: "));
                failures.in_a_row = failures.in_a_row.saturating_add(1);
                let wait = retry_delay(TOKEN_RETRY, failures.in_a_row, advice);
                failures.last = Some((requester.monotonic_now() + wait, failure.clone()));
                Err(failure)
            }
        }
    }

    /// Requests a token. Servers must accept the client's secret in a header, but some accept it only in the body.
    /// After both were rejected, each call tries one of them, alternating.
    async fn request_token(
        &self,
        requester: TokenRequestContext<'_>,
        failures: u32,
        advice: &mut PollAdvice,
    ) -> Result<AccessToken, FetchError> {
        let in_body = self.is_secret_in_body.load(Ordering::Relaxed);
        if failures > 0 {
            let in_body = in_body ^ (failures % 2 == 1);
            let token = self.request_token_once(in_body, requester, advice).await?;
            self.is_secret_in_body.store(in_body, Ordering::Relaxed);
            return Ok(token);
        }
        let first = self.request_token_once(in_body, requester, advice).await;
        let is_refused =
            |failure: &FetchError| matches!(failure.code, FailureCode::Http(400 | 401));
        match first {
            Err(failure) if is_refused(&failure) => {
                match self.request_token_once(!in_body, requester, advice).await {
                    Ok(token) => {
                        self.is_secret_in_body.store(!in_body, Ordering::Relaxed);
                        Ok(token)
                    }
                    Err(_) => Err(failure),
                }
            }
            other => other,
        }
    }

    async fn request_token_once(
        &self,
        in_body: bool,
        requester: TokenRequestContext<'_>,
        advice: &mut PollAdvice,
    ) -> Result<AccessToken, FetchError> {
        let OAuth2Client { token_url, client_id, client_secret, .. } = &self.oauth2;
        let (clock, limit) = (&requester.shared.clock, requester.feed.timeout);
        let mut request =
            requester.shared.client.client_with_timeout(limit)?.post(token_url.clone());
        if !in_body {
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            request = request.basic_auth(encoded(client_id), Some(encoded(client_secret.reveal())));
        }
        let request = request
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json")
            .body(self.encode_form(in_body));
        let permit = requester.shared.wait_for_rate_limit_permit(requester.feed, token_url);
        let _permit = requester.waits.measure_permit_wait(&**clock, permit).await;
        let began = requester.monotonic_now();
        let mut response =
            wait_with_timeout(clock, limit, "the response", client::send_request(request))
                .await??;
        let status = response.status();
        *advice = advice_of(status, response.headers(), clock.wall_time());
        let body = read_response(&mut response, (clock, limit)).await?;
        if status != StatusCode::OK {
            return Err(token_refusal_failure(status, &body));
        }
        parse_token_response(&body, began)
    }

    fn encode_form(&self, in_body: bool) -> String {
        let OAuth2Client { client_id, client_secret, scope, audience, .. } = &self.oauth2;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        for (name, value) in [("scope", scope), ("audience", audience)] {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        if in_body {
            form.append_pair("client_id", client_id);
            form.append_pair("client_secret", client_secret.reveal());
        }
        form.finish()
    }
}

async fn read_response(
    response: &mut Response,
    (clock, limit): (&Arc<dyn Clock>, Duration),
) -> Result<Vec<u8>, FetchError> {
    let mut body = Vec::new();
    loop {
        let piece =
            wait_with_timeout(clock, limit, "the next part of the response", response.chunk())
                .await?;
        let Ok(piece) = piece else {
            return Err(FetchError::new(FailureCode::Truncated, "reading the response failed"));
        };
        let Some(piece) = piece else { return Ok(body) };
        if body.len() + piece.len() > TOKEN_BYTES_MAX {
            return Err(FetchError::body_too_large(TOKEN_BYTES_MAX as u64));
        }
        body.extend_from_slice(&piece);
    }
}

/// The token endpoint's reply. Never printed.
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: Option<String>,
    expires_in: Option<TokenLifetime>,
}

/// A number of seconds, which some servers write as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenLifetime {
    Number(f64),
    Text(String),
}

fn parse_token_response(body: &[u8], now: Duration) -> Result<AccessToken, FetchError> {
    let refuse = |why: &str| FetchError::new(FailureCode::Decode, why);
    let granted: TokenResponse = serde_json::from_slice(body)
        .map_err(|_| refuse("the response is not JSON with an access_token"))?;
    if granted.token_type.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(refuse("the token_type is not Bearer"));
    }
    let header = HeaderValue::try_from(format!("Bearer {}", granted.access_token));
    let mut header =
        header.map_err(|_| refuse("the token contains characters that are invalid in a header"))?;
    header.set_sensitive(true);
    let seconds = match granted.expires_in {
        Some(TokenLifetime::Number(seconds)) => Some(seconds),
        Some(TokenLifetime::Text(text)) => text.trim().parse().ok(),
        None => None,
    };
    let life = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let life = life.unwrap_or(TOKEN_LIFETIME_DEFAULT);
    let renew_before = (life / RENEW_BEFORE_DIVISOR).min(TOKEN_RENEW_BEFORE_MAX);
    let until = now.saturating_add(life - renew_before);
    Ok(AccessToken { header, text: Secret::new(granted.access_token), until })
}

fn token_refusal_failure(status: StatusCode, body: &[u8]) -> FetchError {
    #[derive(Deserialize)]
    struct OAuthError {
        error: String,
    }
    let error_code = serde_json::from_slice::<OAuthError>(body).ok().map(|refused| refused.error);
    let is_word = |is_code: &String| {
        is_code.len() <= ERROR_CODE_CHARS_MAX
            && is_code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let message = match error_code.filter(is_word) {
        Some(word) => format!("the server returned {status}, {word}"),
        None => format!("the server returned {status}"),
    };
    FetchError::new(FailureCode::Http(status.as_u16()), message).with_phase(FetchPhase::Wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(body: &str) -> Result<u64, String> {
        let token = parse_token_response(body.as_bytes(), Duration::from_secs(1_000));
        token.map(|token| token.until.as_secs()).map_err(|failure| failure.detail)
    }

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        let granted = |expires: &str| format!("{{\"access_token\":\"abc\"{expires}}}");
        assert_eq!(until(&granted(",\"expires_in\":3600,\"token_type\":\"Bearer\"")), Ok(4_540));
        assert_eq!(until(&granted(",\"expires_in\":\"100\"")), Ok(1_090));
        assert_eq!(until(&granted("")), Ok(1_000 + 270));
        assert_eq!(until(&granted(",\"expires_in\":-1")), Ok(1_000 + 270));
        assert_eq!(until(&granted(",\"expires_in\":1e300")), Ok(1_000 + 270));
    }

    #[test]
    fn an_invalid_token_is_rejected_without_showing_it() {
        for (body, expected_message) in [
            ("", "access_token"),
            ("{\"token\":\"s3cret\"}", "access_token"),
            ("{\"access_token\":\"s3cret\\n\"}", "invalid in a header"),
            ("{\"access_token\":\"s3cret\",\"token_type\":\"mac\"}", "not Bearer"),
        ] {
            let error = until(body).unwrap_err();
            assert!(
                error.contains(expected_message) && !error.contains("s3cret"),
                "{body}: {error}"
            );
        }
    }

    #[test]
    fn a_refusal_shows_the_oauth_error_code_only() {
        let refusal_detail =
            |body: &str| token_refusal_failure(StatusCode::UNAUTHORIZED, body.as_bytes()).detail;
        assert!(
            refusal_detail("{\"error\":\"invalid_client\"}")
                .ends_with("401 Unauthorized, invalid_client")
        );
        for body in ["", "{\"error\":\"Your secret s3cret is bad\"}", "<html>"] {
            assert!(refusal_detail(body).ends_with("401 Unauthorized"), "{}", refusal_detail(body));
        }
    }
}
