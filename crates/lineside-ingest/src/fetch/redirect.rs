//! Redirects, followed one by one: each hop takes its own turn at its host's rate limit.
//!
//! A feed's secrets go to the origin that the operator named and to no other. A host of the public internet leads to
//! hosts of the public internet only, also by its own name, which may be looked up again at each request. The bytes of
//! another host are not shown as this feed's.

use http::{StatusCode, header};
use reqwest::Response;

use super::{
    FailureCode, FetchError, SourceRequest, client::HttpClient, http::HttpFetcher,
    token::AccessToken,
};
use crate::{limits::REDIRECTS_MAX, rate_limit::RateLimitPermit, source::url_host};

impl HttpFetcher {
    /// Sends the request and follows redirects until an answer begins.
    ///
    /// # Errors
    /// If a host is not reached or not to be reached, or there are too many redirects.
    pub(super) async fn follow_redirects(
        &mut self,
        turn: RateLimitPermit,
        token: Option<&AccessToken>,
    ) -> Result<(Response, RateLimitPermit), FetchError> {
        let mut turn = turn;
        let mut url = self.url.clone();
        let first_reach = HttpClient::initial_reach(&self.config);
        let mut own_reach = self.public_reach.unwrap_or(first_reach);
        let mut reach = own_reach;
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_to_url(&url, token, reach).await?;
            let is_other = url_host(&url) != url_host(&self.url);
            self.other_host = url_host(&url).filter(|_| is_other);
            let next_reach = self.shared.client.reach_after(&response, reach).await;
            if url.origin() == self.url.origin() && next_reach != own_reach {
                own_reach = next_reach;
                self.public_reach = Some(next_reach);
            }
            let location = response.headers().get(header::LOCATION);
            let next = match location.and_then(|location| location.to_str().ok()) {
                Some(location) if self.is_redirect_followed(response.status()) => {
                    url.join(location).ok()
                }
                _ => return Ok((response, turn)),
            };
            match next {
                Some(next) if matches!(next.scheme(), "http" | "https") => url = next,
                _ => return Ok((response, turn)),
            }
            let is_own = url.origin() == self.url.origin();
            // What a public host of another name leads back to is as public as the operator's own address.
            reach = if is_own { own_reach } else { next_reach };
            // The next host may have its own limit, so the turn at this one ends first.
            drop((response, turn));
            turn = self.wait_for_permit(&url).await;
        }
        Err(FetchError::new(
            FailureCode::Http(StatusCode::FOUND.as_u16()),
            format!("more than {REDIRECTS_MAX} redirects"),
        ))
    }

    /// Whether a reply with this status is a redirect to follow. A body is sent to the host that the operator named, and
    /// only where the producer says that it is to be sent there again.
    fn is_redirect_followed(&self, status: StatusCode) -> bool {
        match self.question {
            SourceRequest::Post(_) => matches!(status.as_u16(), 307 | 308),
            _ => matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308),
        }
    }
}
