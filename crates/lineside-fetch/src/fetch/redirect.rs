//! Redirects, followed one by one: each hop takes its own permit from its host's rate limit.
//!
//! Secrets are sent only to the origin that the operator configured. A host of the public internet may lead only to
//! hosts of the public internet, even by its own name, which is resolved again for each request. The bytes of another
//! host are never shown as the feed's.

use http::{StatusCode, header};
use reqwest::Response;

use super::{SourceRequest, client::HttpClient, http::HttpFetcher, token::AccessToken};
use crate::{
    fetch_failure::{FailureCode, FetchError},
    limits::REDIRECTS_MAX,
    rate_limit::RateLimitPermit,
    source::url_host,
};

impl HttpFetcher {
    /// Sends the request and follows redirects until a final reply begins.
    ///
    /// # Errors
    /// Returns an error if a host cannot or must not be reached, or if there are too many redirects.
    pub(super) async fn follow_redirects(
        &mut self,
        permit: RateLimitPermit,
        token: Option<&AccessToken>,
    ) -> Result<(Response, RateLimitPermit), FetchError> {
        let mut permit = permit;
        let mut url = self.url.clone();
        let first_reach = HttpClient::initial_allowed_hosts(&self.config);
        let mut own_reach = self.public_reach.unwrap_or(first_reach);
        let mut reach = own_reach;
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_to_url(&url, token, reach).await?;
            let is_other = url_host(&url) != url_host(&self.url);
            self.redirected_host = url_host(&url).filter(|_| is_other);
            let next_reach =
                self.shared.client.allowed_hosts_after_response(&response, reach).await;
            if url.origin() == self.url.origin() && next_reach != own_reach {
                own_reach = next_reach;
                self.public_reach = Some(next_reach);
            }
            let location = response.headers().get(header::LOCATION);
            let next = match location.and_then(|location| location.to_str().ok()) {
                Some(location) if self.is_redirect_followed(response.status()) => {
                    url.join(location).ok()
                }
                _ => return Ok((response, permit)),
            };
            match next {
                Some(next) if matches!(next.scheme(), "http" | "https") => url = next,
                _ => return Ok((response, permit)),
            }
            let is_own = url.origin() == self.url.origin();
            // A redirect back to the feed's own origin is as trusted as the operator's URL.
            reach = if is_own { own_reach } else { next_reach };
            // The next host may have its own limit, so this permit is released first.
            drop((response, permit));
            permit = self.wait_for_rate_limit_permit(&url).await;
        }
        Err(FetchError::new(
            FailureCode::Http(StatusCode::FOUND.as_u16()),
            format!("more than {REDIRECTS_MAX} redirects"),
        ))
    }

    /// Returns true if a redirect with this status is followed. A POST is sent again only if the status requires it.
    fn is_redirect_followed(&self, status: StatusCode) -> bool {
        match self.request {
            SourceRequest::Post(_) => matches!(status.as_u16(), 307 | 308),
            _ => matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308),
        }
    }
}
