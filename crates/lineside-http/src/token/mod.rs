//! Tokens: the identity of a client, signed by the operator's back end.
//!
//! They are JSON web tokens with Centrifugo's claims, so that an issuer for Centrifugo works unchanged. The
//! configuration selects the algorithm, not the token. A signature is checked once and the result is cached; the times
//! of a token are checked at each use.

mod claims;
mod verification_key;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::EncodedChannelName;
use lineside_sync::UnixMillis;
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};

pub(crate) use self::verification_key::VerificationKey;

/// Longest token in bytes; longer ones are rejected unread.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Longest user id, in bytes.
const USER_BYTES_MAX: usize = 256;
/// Longest `info` of a token, in bytes: data about the client for others to see.
const INFO_BYTES_MAX: usize = 3 * 1024;
const VALID_TOKEN_LIMITS: CacheLimits =
    CacheLimits { entries: 100_000, weight: 32 << 20, age: Some(Duration::from_secs(600)) };
/// Cache limits of invalid tokens. They have a cache of their own, so that they evict no valid ones.
const REJECTED_TOKEN_LIMITS: CacheLimits =
    CacheLimits { entries: 10_000, weight: 8 << 20, age: Some(Duration::from_secs(600)) };
/// Bytes of a cache entry besides its texts.
const CACHE_ENTRY_OVERHEAD: usize = 256;

/// The reason why a token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Malformed, wrongly signed, for another audience or from another issuer, not yet valid, or with impossible
    /// claims.
    #[error("not a valid token")]
    Invalid,
    /// Valid once, but expired.
    #[error("the token has expired")]
    Expired,
}

/// The claims of a token with a valid signature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TokenClaims {
    /// The user; empty for an anonymous client.
    pub user: Arc<str>,
    /// Data about the client for others to see, as JSON; may be empty.
    pub info: Bytes,
    /// End of a connection made with the token, in seconds since 1970.
    pub expires: Option<i64>,
    /// Channels that the connection is subscribed to from the start.
    pub channels: Vec<EncodedChannelName>,
    /// The channel of a channel token; `None` in a connection token.
    pub channel: Option<Box<str>>,
    /// Expiry of the token, in seconds since 1970.
    exp: Option<i64>,
    /// Start of validity, in seconds since 1970.
    nbf: Option<i64>,
}

impl TokenClaims {
    fn size_in_bytes(&self) -> usize {
        let channels = self.channels.iter().map(|name| name.as_str().len() + 32).sum::<usize>();
        let channel = self.channel.as_ref().map_or(0, |name| name.len());
        self.user.len() + self.info.len() + channels + channel + CACHE_ENTRY_OVERHEAD
    }

    fn ensure_valid_at(self: Arc<Self>, now: UnixMillis) -> Result<Arc<Self>, TokenError> {
        let now = now.0 / 1_000;
        if self.exp.is_some_and(|exp| now >= exp) {
            return Err(TokenError::Expired);
        }
        if self.nbf.is_some_and(|nbf| now < nbf) {
            return Err(TokenError::Invalid);
        }
        Ok(self)
    }
}

/// Verifies tokens with one key, and caches the results.
pub(crate) struct TokenVerifier {
    keys: VerificationKey,
    valid_tokens: LoadingCache<Arc<str>, Arc<TokenClaims>>,
    rejected_tokens: LoadingCache<Arc<str>, ()>,
}

impl TokenVerifier {
    /// Returns `None` if the key is invalid, which the configuration has already reported.
    pub(crate) fn new(config: &lineside_config::TokenConfig) -> Option<Self> {
        let keys = VerificationKey::new(&config.key)?;
        let keys =
            keys.require_issuer_and_audience(config.issuer.as_deref(), config.audience.as_deref());
        let weigh =
            |token: &Arc<str>, claims: &Arc<TokenClaims>| token.len() + claims.size_in_bytes();
        let valid_tokens = LoadingCache::new(VALID_TOKEN_LIMITS, weigh);
        let refused = LoadingCache::new(REJECTED_TOKEN_LIMITS, |token: &Arc<str>, ()| {
            token.len() + CACHE_ENTRY_OVERHEAD
        });
        Some(Self { keys, valid_tokens, rejected_tokens: refused })
    }

    /// Returns the claims of a token, if it is valid at `now`.
    ///
    /// # Errors
    /// Returns an error if the token is invalid or has expired.
    pub(crate) fn verify_token(
        &self,
        token: &str,
        now: UnixMillis,
    ) -> Result<Arc<TokenClaims>, TokenError> {
        if token.len() > TOKEN_BYTES_MAX
            || self.rejected_tokens.pin_for_reading().get(token).is_some()
        {
            return Err(TokenError::Invalid);
        }
        let known = self.valid_tokens.pin_for_reading().get(token).cloned();
        if let Some(claims) = known {
            return claims.ensure_valid_at(now);
        }
        match self.keys.decode_token(token) {
            Ok(claims) => {
                let claims = Arc::new(claims);
                self.valid_tokens.insert(token.into(), claims.clone());
                claims.ensure_valid_at(now)
            }
            Err(error) => {
                self.rejected_tokens.insert(token.into(), ());
                Err(error)
            }
        }
    }

    /// Returns true if [`verify_token`](Self::verify) needs no signature check, because the result is cached or
    /// certain.
    pub(crate) fn is_result_cached(&self, token: &str) -> bool {
        token.is_empty()
            || token.len() > TOKEN_BYTES_MAX
            || self.valid_tokens.pin_for_reading().get(token).is_some()
            || self.rejected_tokens.pin_for_reading().get(token).is_some()
    }

    /// Evicts old results.
    pub(crate) fn evict_old_tokens(&self, now: Duration) {
        self.valid_tokens.remove_aged_entries(now);
        self.rejected_tokens.remove_aged_entries(now);
    }
}

impl std::fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenVerifier")
            .field("remembered", &self.valid_tokens.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
