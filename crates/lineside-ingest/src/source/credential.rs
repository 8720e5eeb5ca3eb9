//! How a feed shows its producer who it is, beyond headers and parameters.

use std::fmt;

use url::Url;

use super::Secret;

/// A user and a password, sent with each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuth {
    /// The user, without a colon.
    pub user: String,
    /// The password.
    pub password: Secret,
}

/// A client that gets its tokens by its own name (RFC 6749, section 4.4).
#[derive(Clone, PartialEq, Eq)]
pub struct OAuth2Client {
    /// Where tokens are given out.
    pub token_url: Url,
    /// The client's name there.
    pub client_id: String,
    /// What it shows there.
    pub client_secret: Secret,
    /// What the token is to be good for.
    pub scope: Option<String>,
    /// Whom the token is meant for; some who give tokens out want it.
    pub audience: Option<String>,
}

/// An address may hold a password.
impl fmt::Debug for OAuth2Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth2")
            .field("token_host", &self.token_url.host_str())
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
