//! Credentials of a feed, besides headers and parameters.

use std::fmt;

use url::Url;

use super::Secret;

/// A user and a password, sent with each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicAuth {
    /// The user, without a colon.
    pub user: String,
    pub password: Secret,
}

/// An OAuth 2 client with the client credentials grant (RFC 6749, section 4.4).
#[derive(Clone, PartialEq, Eq)]
pub struct OAuth2Client {
    /// The URL of the token endpoint.
    pub token_url: Url,
    pub client_id: String,
    pub client_secret: Secret,
    /// The requested scope.
    pub scope: Option<String>,
    /// The audience of the token, which some token endpoints require.
    pub audience: Option<String>,
}

/// Omits the URL, which may contain a password.
impl fmt::Debug for OAuth2Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth2Client")
            .field("token_host", &self.token_url.host_str())
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
