//! The key that verifies signatures. The key fixes one algorithm, whatever a token names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use lineside_config::TokenKey;
use lineside_config::client_access::parse_public_key;
use serde_json::{Map, Value};

use super::claims::RawClaims;
use super::{TokenClaims, TokenError};

/// A key, and the required issuer and audience.
pub(crate) struct VerificationKey {
    key: DecodingKey,
    validation: Validation,
}

impl VerificationKey {
    /// Creates the key; returns `None` if the public key is not PEM, or neither RSA nor P-256.
    pub(crate) fn new(key: &TokenKey) -> Option<Self> {
        let (key, algorithm) = match key {
            TokenKey::Hmac(secret) => {
                (DecodingKey::from_secret(secret.reveal().as_bytes()), Algorithm::HS256)
            }
            TokenKey::PublicKey(pem) => parse_public_key(pem.reveal().as_bytes())?,
        };
        let mut validation = Validation::new(algorithm);
        // The caller compares times with its own clock.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        Some(Self { key, validation })
    }

    /// Requires this issuer and this audience.
    pub(super) fn require_issuer_and_audience(
        mut self,
        issuer: Option<&str>,
        audience: Option<&str>,
    ) -> Self {
        if let Some(issuer) = issuer {
            self.validation.set_issuer(&[issuer]);
            self.validation.required_spec_claims.insert("iss".to_owned());
        }
        if let Some(audience) = audience {
            self.validation.set_audience(&[audience]);
            self.validation.validate_aud = true;
            self.validation.required_spec_claims.insert("aud".to_owned());
        }
        self
    }

    /// Returns the claims of a token if its signature is valid. Takes some ten microseconds.
    pub(super) fn decode_token(&self, token: &str) -> Result<TokenClaims, TokenError> {
        if has_critical_extensions(token) {
            return Err(TokenError::Invalid);
        }
        let decoded = jsonwebtoken::decode::<RawClaims>(token, &self.key, &self.validation);
        let written = decoded.map_err(|_| TokenError::Invalid)?;
        TokenClaims::try_from(written.claims)
    }
}

/// Returns true if a token's header names critical extensions (`crit`, RFC 7515 §4.1.11). None is supported.
fn has_critical_extensions(token: &str) -> bool {
    let head = token.split('.').next().and_then(|head| URL_SAFE_NO_PAD.decode(head).ok());
    let head = head.and_then(|head| serde_json::from_slice::<Map<String, Value>>(&head).ok());
    // An unreadable header fails the signature check.
    head.is_some_and(|head| head.contains_key("crit"))
}
