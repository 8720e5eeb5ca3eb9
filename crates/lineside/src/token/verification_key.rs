//! What signatures are checked with. One algorithm, fixed by the key, whatever a token names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Map, Value};

use super::claims::RawClaims;
use super::{TokenClaims, TokenError};
use crate::config::TokenKey;

/// A key, and what a token signed with it has to say besides.
pub(crate) struct VerificationKey {
    key: DecodingKey,
    validation: Validation,
}

impl VerificationKey {
    /// `None` when the public key is none in PEM, or of another sort than RSA or P-256.
    pub(crate) fn new(key: &TokenKey) -> Option<Self> {
        let (key, algorithm) = match key {
            TokenKey::Hmac(secret) => {
                (DecodingKey::from_secret(secret.reveal().as_bytes()), Algorithm::HS256)
            }
            TokenKey::PublicKey(pem) => parse_public_key(pem.reveal().as_bytes())?,
        };
        let mut validation = Validation::new(algorithm);
        // Times are compared with the clock that we are handed.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        Some(Self { key, validation })
    }

    /// Tokens have to be from this issuer, for this audience.
    pub(super) fn with_expected(mut self, issuer: Option<&str>, audience: Option<&str>) -> Self {
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

    /// What a token says, if its signature is good. Takes some ten microseconds.
    pub(super) fn decode_token(&self, token: &str) -> Result<TokenClaims, TokenError> {
        if has_critical_extensions(token) {
            return Err(TokenError::Invalid);
        }
        let decoded = jsonwebtoken::decode::<RawClaims>(token, &self.key, &self.validation);
        let written = decoded.map_err(|_| TokenError::Invalid)?;
        TokenClaims::try_from(written.claims)
    }
}

/// Whether a token's header names extensions that have to be understood (`crit`, RFC 7515 §4.1.11). None is known here.
fn has_critical_extensions(token: &str) -> bool {
    let head = token.split('.').next().and_then(|head| URL_SAFE_NO_PAD.decode(head).ok());
    let head = head.and_then(|head| serde_json::from_slice::<Map<String, Value>>(&head).ok());
    // One that cannot be read here is refused with its signature.
    head.is_some_and(|head| head.contains_key("crit"))
}

fn parse_public_key(pem: &[u8]) -> Option<(DecodingKey, Algorithm)> {
    // Which of the two it is stands in the key itself; each reader refuses the other's.
    let rsa = DecodingKey::from_rsa_pem(pem).map(|key| (key, Algorithm::RS256));
    rsa.or_else(|_| DecodingKey::from_ec_pem(pem).map(|key| (key, Algorithm::ES256))).ok()
}
