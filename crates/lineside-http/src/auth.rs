//! Authorization of clients, by their tokens and the namespaces of channels.
//!
//! Transit channels are open to every connection, `ops/…` to admins unless it is public. In `app/…` the namespace
//! decides, or a token: a connection token that lists the channel, or a channel token.

use std::sync::Arc;
use std::time::Duration;

use lineside_hub::{AccessPolicy, EncodedChannelName, Hub};
use lineside_quality::ops_channels::is_dashboard_channel;
use lineside_sync::{Clock, UnixMillis};
use lineside_wire::auth::{self, ClientIdentity, RefusalCode, SubscribeGrant};
use lineside_wire::codes;

use crate::token::{TokenError, TokenVerifier};

/// The reason why a client is denied access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccessDenied {
    /// A token is missing or invalid.
    #[error("a valid token is required")]
    Unauthorized,
    /// The token has expired; a new one may be valid.
    #[error("the token has expired")]
    Expired,
    /// The client has no permission.
    #[error("this client has no permission")]
    Forbidden,
}

impl From<TokenError> for AccessDenied {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Invalid => Self::Unauthorized,
            TokenError::Expired => Self::Expired,
        }
    }
}

/// Checks the permissions of clients, by their tokens and the namespaces.
#[derive(Debug)]
pub struct TokenAuthorizer {
    hub: Arc<Hub>,
    clock: Arc<dyn Clock>,
    /// Without a verifier all clients are anonymous.
    verifier: Option<TokenVerifier>,
    anonymous: bool,
    /// True if `ops/…` is open to all clients.
    public_ops: bool,
}

impl TokenAuthorizer {
    pub fn new(config: &lineside_config::Config, hub: &Arc<Hub>, clock: &Arc<dyn Clock>) -> Self {
        let token = config.token.as_ref();
        Self {
            hub: Arc::clone(hub),
            clock: Arc::clone(clock),
            verifier: token.and_then(TokenVerifier::new),
            anonymous: token.is_none_or(|token| token.anonymous),
            public_ops: config.admin.public_ops,
        }
    }

    /// Returns the client that a connection token identifies.
    ///
    /// # Errors
    /// Returns an error if the token is invalid, or missing although one is required.
    pub fn identify_client(&self, token: Option<&str>) -> Result<ClientIdentity, AccessDenied> {
        let token = token.filter(|token| !token.is_empty());
        match (&self.verifier, token) {
            (Some(verifier), Some(token)) => {
                let claims = verifier.verify_token(token, self.current_time())?;
                // A channel token does not authorize a connection.
                if claims.channel.is_some() {
                    return Err(AccessDenied::Unauthorized);
                }
                Ok(ClientIdentity {
                    user: claims.user.clone(),
                    info: claims.info.clone(),
                    expires: claims.expires,
                    channels: claims.channels.clone(),
                })
            }
            (Some(_), None) if !self.anonymous => Err(AccessDenied::Unauthorized),
            _ => Ok(ClientIdentity::default()),
        }
    }

    /// Checks that a client may subscribe; returns the claims of the channel token, if there is one.
    ///
    /// # Errors
    /// Returns an error if the client may not subscribe, or if the token is not valid for this client and channel.
    pub fn authorize_subscribe(
        &self,
        client: &ClientIdentity,
        channel: &EncodedChannelName,
        token: Option<&str>,
    ) -> Result<SubscribeGrant, AccessDenied> {
        let Some(subscribe) = self.subscribe_policy(channel) else {
            return Ok(SubscribeGrant::default());
        };
        if let (Some(verifier), Some(token)) = (&self.verifier, token.filter(|it| !it.is_empty())) {
            let claims = verifier.verify_token(token, self.current_time())?;
            if claims.channel.as_deref() != Some(channel.as_str()) || claims.user != client.user {
                return Err(AccessDenied::Unauthorized);
            }
            return Ok(SubscribeGrant { expires: claims.expires, info: claims.info.clone() });
        }
        if client.channels.contains(channel) || subscribe.allows_user(&client.user) {
            return Ok(SubscribeGrant::default());
        }
        Err(self.choose_denial(subscribe, client))
    }

    /// Returns the clients that may subscribe without a channel token; `None` if all may.
    fn subscribe_policy(&self, channel: &EncodedChannelName) -> Option<AccessPolicy> {
        if is_dashboard_channel(channel) {
            return (!self.public_ops).then_some(AccessPolicy::Nobody);
        }
        self.hub.find_namespace(channel).map(|namespace| namespace.subscribe)
    }

    /// Checks that a client may publish.
    ///
    /// # Errors
    /// Returns an error if it may not.
    fn authorize_publish(
        &self,
        client: &ClientIdentity,
        channel: &EncodedChannelName,
    ) -> Result<(), AccessDenied> {
        let publish =
            self.hub.find_namespace(channel).map_or(AccessPolicy::Nobody, |it| it.publish);
        if publish.allows_user(&client.user) {
            Ok(())
        } else {
            Err(self.choose_denial(publish, client))
        }
    }

    /// Evicts old results of token checks.
    pub fn evict_old_tokens(&self, now: Duration) {
        if let Some(verifier) = &self.verifier {
            verifier.evict_old_tokens(now);
        }
    }

    fn current_time(&self) -> UnixMillis {
        self.clock.wall_time()
    }

    /// Returns `Unauthorized` if a token would grant access, else `Forbidden`.
    fn choose_denial(&self, policy: AccessPolicy, client: &ClientIdentity) -> AccessDenied {
        let would_help =
            policy == AccessPolicy::Users && client.user.is_empty() && self.verifier.is_some();
        if would_help { AccessDenied::Unauthorized } else { AccessDenied::Forbidden }
    }
}

impl From<AccessDenied> for RefusalCode {
    fn from(why: AccessDenied) -> Self {
        match why {
            AccessDenied::Unauthorized => &codes::UNAUTHORIZED,
            AccessDenied::Expired => &codes::TOKEN_EXPIRED,
            AccessDenied::Forbidden => &codes::PERMISSION_DENIED,
        }
    }
}

/// The checks for connections of the Centrifuge protocol.
impl auth::Authorizer for TokenAuthorizer {
    fn is_token_known(&self, token: &str) -> bool {
        self.verifier.as_ref().is_none_or(|verifier| verifier.is_result_cached(token))
    }

    fn verify_and_cache_token(&self, token: &str) {
        if let Some(verifier) = &self.verifier {
            // The verifier caches the result, valid or not.
            let _outcome = verifier.verify_token(token, self.current_time());
        }
    }

    fn authorize_connect(&self, token: Option<&str>) -> Result<ClientIdentity, RefusalCode> {
        Ok(self.identify_client(token)?)
    }

    fn authorize_subscribe(
        &self,
        client: &ClientIdentity,
        channel: &EncodedChannelName,
        token: Option<&str>,
    ) -> Result<SubscribeGrant, RefusalCode> {
        Ok(self.authorize_subscribe(client, channel, token)?)
    }

    fn authorize_publish(
        &self,
        client: &ClientIdentity,
        channel: &EncodedChannelName,
    ) -> Result<(), RefusalCode> {
        Ok(self.authorize_publish(client, channel)?)
    }
}

#[cfg(test)]
mod tests;
