//! Tokens: who a client is, as the operator's back end has signed it.
//!
//! JSON web tokens with the claims of Centrifugo's, so that what issues them for one serves the other. The
//! configuration settles the algorithm, not the token. A signature is checked once and remembered for a while;
//! the times in a token are looked at each time it is shown.

mod claims;
mod verification_key;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::Channel;
use lineside_sync::UnixMillis;
use lineside_sync::loading_cache::{CacheLimits, LoadingCache};

pub(crate) use self::verification_key::VerificationKey;

use crate::config;

/// Longest token; more is not looked at.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Longest user id.
const USER_BYTES_MAX: usize = 256;
/// What a token may say about a connection, or about it in a channel, for others to see.
const INFO_BYTES_MAX: usize = 3 * 1024;
/// Checked tokens that are remembered, what they may weigh together, and for how long.
const REMEMBERED: CacheLimits =
    CacheLimits { entries: 100_000, weight: 32 << 20, age: Some(Duration::from_secs(600)) };
/// The same for tokens that were refused: apart, so that they push no good ones out.
const REFUSED: CacheLimits =
    CacheLimits { entries: 10_000, weight: 8 << 20, age: Some(Duration::from_secs(600)) };
/// What a remembered token takes beside its texts.
const REMEMBERED_OVERHEAD: usize = 256;

/// Why a token is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    /// It is no token, signed by somebody else or otherwise, for somebody else, or says what cannot be.
    #[error("not a valid token")]
    Invalid,
    /// It was good once.
    #[error("the token has expired")]
    Expired,
}

/// What a token says, once its signature is known to be good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TokenClaims {
    /// Whose it is; empty for nobody in particular.
    pub(crate) user: Arc<str>,
    /// What others may know, as JSON; empty if nothing.
    pub(crate) info: Bytes,
    /// Until when a connection made with it holds, in seconds since 1970.
    pub(crate) expires: Option<i64>,
    /// Channels that the connection is subscribed to from the start.
    pub(crate) channels: Vec<Channel>,
    /// The one channel that it is for; none in a token for a connection.
    pub(crate) channel: Option<Box<str>>,
    /// Good until, in seconds since 1970.
    exp: Option<i64>,
    /// Good from, in seconds since 1970.
    nbf: Option<i64>,
}

impl TokenClaims {
    fn size_in_bytes(&self) -> usize {
        let channels = self.channels.iter().map(|name| name.as_str().len() + 32).sum::<usize>();
        let channel = self.channel.as_ref().map_or(0, |name| name.len());
        self.user.len() + self.info.len() + channels + channel + REMEMBERED_OVERHEAD
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

/// Checks tokens by one key.
pub(crate) struct TokenVerifier {
    keys: VerificationKey,
    remembered: LoadingCache<Arc<str>, Arc<TokenClaims>>,
    refused: LoadingCache<Arc<str>, ()>,
}

impl TokenVerifier {
    /// `None` when the key is none; the configuration has told why.
    pub(crate) fn new(config: &config::TokenConfig) -> Option<Self> {
        let keys = VerificationKey::new(&config.key)?;
        let keys = keys.with_expected(config.issuer.as_deref(), config.audience.as_deref());
        let weigh =
            |token: &Arc<str>, claims: &Arc<TokenClaims>| token.len() + claims.size_in_bytes();
        let remembered = LoadingCache::new(REMEMBERED, weigh);
        let refused =
            LoadingCache::new(REFUSED, |token: &Arc<str>, ()| token.len() + REMEMBERED_OVERHEAD);
        Some(Self { keys, remembered, refused })
    }

    /// What the token says, if it is good now.
    ///
    /// # Errors
    /// When it is not.
    pub(crate) fn verify(
        &self,
        token: &str,
        now: UnixMillis,
    ) -> Result<Arc<TokenClaims>, TokenError> {
        if token.len() > TOKEN_BYTES_MAX || self.refused.pin().get(token).is_some() {
            return Err(TokenError::Invalid);
        }
        let known = self.remembered.pin().get(token).cloned();
        if let Some(claims) = known {
            return claims.ensure_valid_at(now);
        }
        match self.keys.decode_token(token) {
            Ok(claims) => {
                let claims = Arc::new(claims);
                self.remembered.insert(token.into(), claims.clone());
                claims.ensure_valid_at(now)
            }
            Err(error) => {
                self.refused.insert(token.into(), ());
                Err(error)
            }
        }
    }

    /// Whether [`verify`](Self::verify) answers without checking a signature.
    pub(crate) fn is_verified(&self, token: &str) -> bool {
        token.is_empty()
            || token.len() > TOKEN_BYTES_MAX
            || self.remembered.pin().get(token).is_some()
            || self.refused.pin().get(token).is_some()
    }

    /// Forgets what was checked long ago.
    pub(crate) fn evict_old_tokens(&self, now: Duration) {
        self.remembered.sweep_aged(now);
        self.refused.sweep_aged(now);
    }
}

impl std::fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Verifier")
            .field("remembered", &self.remembered.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
