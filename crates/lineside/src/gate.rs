//! What clients may: who they are by their tokens, and what the namespaces let them do.
//!
//! Transit channels are open to every connection, `ops/…` to admins unless all may look. In `app/…` the namespace decides, or a token: one for the
//! connection that lists the channel, or one for the channel.

use std::sync::Arc;
use std::time::Duration;

use lineside_hub::{Channel, Hub, Who};
use lineside_sync::{Clock, UnixMillis};
use lineside_wire::centrifuge::codes;
use lineside_wire::gate::{self, Grant, Identity, Refusal};

use crate::config;
use crate::ops::is_ops;
use crate::token::{TokenError, Verifier};

/// Why a client may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    /// A token is needed, or the one shown is not good.
    #[error("a valid token is needed")]
    Unauthorized,
    /// The token was good once: a new one may be.
    #[error("the token has expired")]
    Expired,
    /// Not for this client.
    #[error("not for this client")]
    Forbidden,
}

impl From<TokenError> for Denied {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Invalid => Self::Unauthorized,
            TokenError::Expired => Self::Expired,
        }
    }
}

/// Decides who may what.
#[derive(Debug)]
pub(crate) struct Gate {
    hub: Arc<Hub>,
    clock: Arc<dyn Clock>,
    /// Without it nobody is asked who they are.
    verifier: Option<Verifier>,
    anonymous: bool,
    /// Whether `ops/…` is for everybody.
    public_ops: bool,
}

impl Gate {
    pub(crate) fn new(config: &config::Config, hub: &Arc<Hub>, clock: &Arc<dyn Clock>) -> Self {
        let token = config.token.as_ref();
        Self {
            hub: Arc::clone(hub),
            clock: Arc::clone(clock),
            verifier: token.and_then(Verifier::new),
            anonymous: token.is_none_or(|token| token.anonymous),
            public_ops: config.admin.public_ops,
        }
    }

    /// Who shows this token for a connection.
    ///
    /// # Errors
    /// When it is not good, or missing where one is needed.
    pub(crate) fn identify(&self, token: Option<&str>) -> Result<Identity, Denied> {
        let token = token.filter(|token| !token.is_empty());
        match (&self.verifier, token) {
            (Some(verifier), Some(token)) => {
                let claims = verifier.verify(token, self.now())?;
                // A token for one channel says nothing of who may connect.
                if claims.channel.is_some() {
                    return Err(Denied::Unauthorized);
                }
                Ok(Identity {
                    user: claims.user.clone(),
                    info: claims.info.clone(),
                    expires: claims.expires,
                    channels: claims.channels.clone(),
                })
            }
            (Some(_), None) if !self.anonymous => Err(Denied::Unauthorized),
            _ => Ok(Identity::default()),
        }
    }

    /// Whether a client may subscribe; with what a token for the channel says, if one was shown.
    ///
    /// # Errors
    /// When it may not, or the token is not good for this client and channel.
    pub(crate) fn may_subscribe(
        &self,
        who: &Identity,
        channel: &Channel,
        token: Option<&str>,
    ) -> Result<Grant, Denied> {
        let Some(subscribe) = self.subscribers(channel) else { return Ok(Grant::default()) };
        if let (Some(verifier), Some(token)) = (&self.verifier, token.filter(|it| !it.is_empty())) {
            let claims = verifier.verify(token, self.now())?;
            if claims.channel.as_deref() != Some(channel.as_str()) || claims.user != who.user {
                return Err(Denied::Unauthorized);
            }
            return Ok(Grant { expires: claims.expires, info: claims.info.clone() });
        }
        if who.channels.contains(channel) || subscribe.includes(&who.user) {
            return Ok(Grant::default());
        }
        Err(self.denied(subscribe, who))
    }

    /// Who may subscribe without a token for the channel; `None` where nobody is asked.
    fn subscribers(&self, channel: &Channel) -> Option<Who> {
        if is_ops(channel) {
            return (!self.public_ops).then_some(Who::Nobody);
        }
        self.hub.namespace(channel).map(|namespace| namespace.subscribe)
    }

    /// Whether a client may publish.
    ///
    /// # Errors
    /// When it may not.
    fn may_publish(&self, who: &Identity, channel: &Channel) -> Result<(), Denied> {
        let publish = self.hub.namespace(channel).map_or(Who::Nobody, |it| it.publish);
        if publish.includes(&who.user) { Ok(()) } else { Err(self.denied(publish, who)) }
    }

    /// Forgets tokens that were checked long ago.
    pub(crate) fn sweep(&self, now: Duration) {
        if let Some(verifier) = &self.verifier {
            verifier.sweep(now);
        }
    }

    fn now(&self) -> UnixMillis {
        self.clock.wall()
    }

    /// Where a token would help, it is asked for.
    fn denied(&self, who: Who, client: &Identity) -> Denied {
        let would_help = who == Who::Users && client.user.is_empty() && self.verifier.is_some();
        if would_help { Denied::Unauthorized } else { Denied::Forbidden }
    }
}

impl From<Denied> for Refusal {
    fn from(why: Denied) -> Self {
        match why {
            Denied::Unauthorized => &codes::UNAUTHORIZED,
            Denied::Expired => &codes::TOKEN_EXPIRED,
            Denied::Forbidden => &codes::PERMISSION_DENIED,
        }
    }
}

/// What the connections of the Centrifuge protocol ask.
impl gate::Gate for Gate {
    fn is_known(&self, token: &str) -> bool {
        self.verifier.as_ref().is_none_or(|verifier| verifier.is_known(token))
    }

    fn check(&self, token: &str) {
        if let Some(verifier) = &self.verifier {
            // Remembered, good or bad.
            let _outcome = verifier.verify(token, self.now());
        }
    }

    fn connect(&self, token: Option<&str>) -> Result<Identity, Refusal> {
        Ok(self.identify(token)?)
    }

    fn subscribe(
        &self,
        who: &Identity,
        channel: &Channel,
        token: Option<&str>,
    ) -> Result<Grant, Refusal> {
        Ok(self.may_subscribe(who, channel, token)?)
    }

    fn publish(&self, who: &Identity, channel: &Channel) -> Result<(), Refusal> {
        Ok(self.may_publish(who, channel)?)
    }
}

#[cfg(test)]
mod tests;
