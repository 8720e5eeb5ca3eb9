//! Authentication of a client: connect and refresh.

use std::time::Duration;

use lineside_hub::{EncodedChannelName, SubscribeError};

use super::limits::PING_INTERVAL;
use super::reply_writer::ReplyWriter;
use super::subscribe::{ReplyBudget, refusal_for_subscribe_error};
use super::{ClientHandler, ConnectedClient};
use crate::auth::{ClientIdentity, RefusalCode, SubscribeGrant};
use crate::centrifuge::message::{
    ConnectRequest, ConnectResult, RefreshRequest, RefreshResult, Reply, ServerSub,
};
use crate::codes;

impl ClientHandler {
    /// Accepts the client, with the subscriptions that its token names. Subscriptions that fail are left out; if the
    /// node is too busy for one, the client must retry the whole connect.
    pub(super) fn handle_connect(
        &mut self,
        request: &ConnectRequest,
        now: Duration,
        out: &mut ReplyWriter<'_>,
    ) -> Result<Reply, RefusalCode> {
        let token = Some(request.token.as_str()).filter(|token| !token.is_empty());
        let identity = self.service.authorizer.authorize_connect(token)?;
        let (expires, ttl) = self.expiry_and_ttl(identity.expires)?;
        let channels = identity.channels.clone();
        let delay = self.service.limits.expired_delay;
        let client = ConnectedClient {
            identity,
            expires: expires.map(|it| now + it + delay),
            tracked_subscriptions: Vec::new(),
        };
        self.connected_client = Some(Box::new(client));
        match self.subscribe_to_token_channels(request, &channels, now, out) {
            Ok(subs) => {
                let connect = ConnectResult {
                    client: (*self.id).into(),
                    version: self.service.version.into(),
                    expires: expires.is_some(),
                    ttl,
                    subs,
                    ping: PING_INTERVAL.as_secs() as u32,
                    pong: true,
                };
                Ok(Reply { connect: Some(connect), ..Reply::default() })
            }
            Err(refusal) => {
                if let Some(client) = self.connected_client.take() {
                    self.session.unsubscribe_from_user_orders(&client.identity.user);
                }
                out.after_reply.clear();
                for channel in self.session.subscribed_channels().cloned().collect::<Vec<_>>() {
                    self.session.unsubscribe(&channel);
                }
                Err(refusal)
            }
        }
    }

    fn subscribe_to_token_channels(
        &mut self,
        request: &ConnectRequest,
        channels: &[EncodedChannelName],
        now: Duration,
        out: &mut ReplyWriter<'_>,
    ) -> Result<Vec<ServerSub>, RefusalCode> {
        if let Some(ClientIdentity { user, .. }) =
            self.identity().filter(|identity| !identity.user.is_empty())
        {
            let user = user.clone();
            match self.session.subscribe_to_user_orders(&user) {
                Ok(()) | Err(SubscribeError::AlreadySubscribed) => {}
                Err(error) => return Err(refusal_for_subscribe_error(error)),
            }
        }
        let mut budget = ReplyBudget::default();
        let mut subs = Vec::new();
        for channel in channels {
            let resume = request.subs.get(channel.as_str()).cloned().unwrap_or_default();
            let grant = SubscribeGrant::default();
            match self.subscribe_and_take_missed(
                channel,
                &resume,
                &grant,
                true,
                now,
                &mut budget,
                out,
            ) {
                Ok(result) => subs.push(ServerSub { channel: channel.as_str().into(), result }),
                Err(refusal) if refusal.temporary => return Err(refusal),
                Err(_) => {}
            }
        }
        Ok(subs)
    }

    /// Accepts a new token of the same user.
    pub(super) fn handle_refresh(
        &mut self,
        request: &RefreshRequest,
        now: Duration,
    ) -> Result<Reply, RefusalCode> {
        let fresh = self.service.authorizer.authorize_connect(Some(&request.token))?;
        let (expires, ttl) = self.expiry_and_ttl(fresh.expires)?;
        let delay = self.service.limits.expired_delay;
        let Some(client) =
            self.connected_client.as_mut().filter(|it| it.identity.user == fresh.user)
        else {
            return Err(&codes::UNAUTHORIZED);
        };
        client.expires = expires.map(|it| now + it + delay);
        client.identity.info = fresh.info;
        let refresh = RefreshResult {
            client: (*self.id).into(),
            version: self.service.version.into(),
            expires: expires.is_some(),
            ttl,
        };
        Ok(Reply { refresh: Some(refresh), ..Reply::default() })
    }

    /// Returns the time until a token expires, and the `ttl` in seconds for the client; `None` and 0 if it does not
    /// expire.
    pub(super) fn expiry_and_ttl(
        &self,
        at: Option<i64>,
    ) -> Result<(Option<Duration>, u32), RefusalCode> {
        let Some(at) = at else { return Ok((None, 0)) };
        let left = at.saturating_sub(self.service.hub.clock().wall_time().unix_seconds());
        let left = u32::try_from(left.min(u32::MAX.into())).unwrap_or(0);
        if left == 0 {
            return Err(&codes::TOKEN_EXPIRED);
        }
        Ok((Some(Duration::from_secs(left.into())), left))
    }
}
