//! Subscriptions to channels.

use std::time::Duration;

use lineside_hub::{
    BadChannelName, ChannelResolveError, ClientDelivery, EncodedChannelName, Epoch, Position,
    PresenceError, PresenceMembership, SubscribeError,
};
use prost::Message as _;

use super::limits::{REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX};
use super::reply_writer::ReplyWriter;
use super::{ClientHandler, TrackedSubscription};
use crate::auth::{RefusalCode, SubscribeGrant};
use crate::centrifuge::message::{
    Publication, Reply, ResumePoint, SubRefreshRequest, SubRefreshResult, SubscribeRequest,
    SubscribeResult,
};
use crate::centrifuge::push;
use crate::codes;

/// The remaining capacity of a reply.
pub(super) struct ReplyBudget {
    publications: usize,
    bytes: usize,
}

impl Default for ReplyBudget {
    fn default() -> Self {
        Self { publications: REPLY_PUBLICATIONS_MAX, bytes: REPLY_BYTES_MAX }
    }
}

impl ReplyBudget {
    pub(super) fn is_budget_used_up(&self) -> bool {
        self.publications == 0 || self.bytes == 0
    }

    /// Counts the publication if it fits; returns false otherwise.
    pub(super) fn count_publication_if_it_fits(&mut self, publication: &Publication) -> bool {
        let bytes = publication.encoded_len();
        let fits = self.publications > 0 && bytes <= self.bytes;
        if fits {
            self.publications -= 1;
            self.bytes -= bytes;
        } else {
            self.bytes = 0;
        }
        fits
    }
}

/// Returns the error reply to a refused subscription.
pub(super) fn refusal_for_subscribe_error(error: SubscribeError) -> RefusalCode {
    match error {
        SubscribeError::Unresolved(error) => refusal_for_resolve_error(error),
        SubscribeError::AlreadySubscribed => &codes::ALREADY_SUBSCRIBED,
        SubscribeError::TooManyChannels => &codes::LIMIT_EXCEEDED,
        SubscribeError::TooManyRooms => &codes::TOO_MANY_REQUESTS,
        SubscribeError::KeyTaken => &codes::INTERNAL,
    }
}

pub(super) fn refusal_for_resolve_error(error: ChannelResolveError) -> RefusalCode {
    match error {
        ChannelResolveError::UnknownFeed
        | ChannelResolveError::UnknownItem(_)
        | ChannelResolveError::BadChannel(BadChannelName::UnknownForm) => &codes::UNKNOWN_CHANNEL,
        ChannelResolveError::BadChannel(_) => &codes::BAD_REQUEST,
    }
}

pub(super) fn parse_channel_name(name: &str) -> Result<EncodedChannelName, RefusalCode> {
    EncodedChannelName::parse_channel_name(name)
        .map_err(|error| refusal_for_resolve_error(error.into()))
}

impl ClientHandler {
    pub(super) fn handle_subscribe(
        &mut self,
        request: SubscribeRequest,
        now: Duration,
        out: &mut ReplyWriter<'_>,
    ) -> Result<Reply, RefusalCode> {
        let channel = parse_channel_name(&request.channel)?;
        let grant = self.authorize_channel_subscription(&channel, &request.token)?;
        let SubscribeRequest { recover, epoch, offset, join_leave, .. } = request;
        let resume = ResumePoint { recover, epoch, offset };
        let mut budget = ReplyBudget::default();
        let result = self.subscribe_and_take_missed(
            &channel,
            &resume,
            &grant,
            join_leave,
            now,
            &mut budget,
            out,
        )?;
        Ok(Reply { subscribe: Some(result), ..Reply::default() })
    }

    fn authorize_channel_subscription(
        &self,
        channel: &EncodedChannelName,
        token: &str,
    ) -> Result<SubscribeGrant, RefusalCode> {
        let token = Some(token).filter(|token| !token.is_empty());
        let identity = self.identity().ok_or(&codes::UNAUTHORIZED)?;
        self.service.authorizer.authorize_subscribe(identity, channel, token)
    }

    /// Subscribes to the channel and returns the client's position. The reply contains the missed publications as far
    /// as they fit.
    #[expect(clippy::too_many_arguments, reason = "a subscription needs all these parameters")]
    pub(super) fn subscribe_and_take_missed(
        &mut self,
        channel: &EncodedChannelName,
        resume: &ResumePoint,
        grant: &SubscribeGrant,
        wants_members: bool,
        now: Duration,
        budget: &mut ReplyBudget,
        out: &mut ReplyWriter<'_>,
    ) -> Result<SubscribeResult, RefusalCode> {
        let (expires, ttl) = self.expiry_and_ttl(grant.expires)?;
        let namespace = self.service.hub.find_namespace(channel);
        let has_history = namespace.is_none_or(|it| it.history.is_some());
        let counts = namespace.is_some_and(|it| it.presence || it.join_leave);
        let tells = namespace.is_some_and(|it| it.join_leave) && wants_members;
        // An invalid epoch becomes one that never existed, so it is never covered.
        let claim = (has_history && resume.recover).then(|| Position {
            epoch: resume.epoch.parse().unwrap_or(Epoch::from_bits(0)),
            offset: resume.offset,
        });
        let subscribed =
            self.session.subscribe(channel, claim).map_err(refusal_for_subscribe_error)?;
        let membership = match self.count_presence_and_follow_members(channel, grant, counts, tells)
        {
            Ok(membership) => membership,
            Err(refusal) => {
                self.session.unsubscribe(channel);
                return Err(refusal);
            }
        };
        if membership.is_some() || expires.is_some() {
            let expires = expires.map(|it| now + it + self.service.limits.expired_delay);
            let tracked =
                TrackedSubscription { channel: channel.clone(), _membership: membership, expires };
            if let Some(client) = &mut self.connected_client {
                client.tracked_subscriptions.push(tracked);
            }
        }
        let recovered = subscribed.recovered && claim.is_some();
        let publications = if recovered {
            self.take_missed_publications(channel, budget, out)
        } else {
            Vec::new()
        };
        Ok(SubscribeResult {
            expires: expires.is_some(),
            ttl,
            recoverable: has_history,
            epoch: if has_history { subscribed.position.epoch.to_string() } else { String::new() },
            publications,
            recovered,
            offset: if has_history { subscribed.position.offset } else { 0 },
            positioned: has_history,
            was_recovering: claim.is_some(),
        })
    }

    /// Counts the client as present, and subscribes it to joins and leaves.
    fn count_presence_and_follow_members(
        &mut self,
        channel: &EncodedChannelName,
        grant: &SubscribeGrant,
        counts: bool,
        tells: bool,
    ) -> Result<Option<PresenceMembership>, RefusalCode> {
        if tells {
            self.session
                .subscribe_to_joins_and_leaves(channel)
                .map_err(refusal_for_subscribe_error)?;
        }
        if !counts {
            return Ok(None);
        }
        let member = self.own_presence_data(grant.info.clone());
        match self.service.hub.count_as_present(channel, member) {
            Ok(membership) => Ok(Some(membership)),
            Err(PresenceError::PresenceDisabled) => Ok(None),
            Err(PresenceError::Full) => Err(&codes::TOO_MANY_REQUESTS),
        }
    }

    /// Returns the missed publications as far as they fit. Deliveries that were pulled but do not fit are sent after
    /// the reply.
    fn take_missed_publications(
        &mut self,
        channel: &EncodedChannelName,
        budget: &mut ReplyBudget,
        out: &mut ReplyWriter<'_>,
    ) -> Vec<Publication> {
        let mut missed = Vec::new();
        while !budget.is_budget_used_up() {
            match self.session.next_channel_delivery(channel) {
                None => break,
                Some(ClientDelivery::Publication { publication, channel, epoch }) => {
                    let entry = push::to_reply_publication(&publication);
                    if budget.count_publication_if_it_fits(&entry) {
                        missed.push(entry);
                    } else {
                        let delivery = ClientDelivery::Publication { publication, channel, epoch };
                        out.after_reply.push(delivery);
                    }
                }
                Some(other) => {
                    out.after_reply.push(other);
                    break;
                }
            }
        }
        missed
    }

    /// Accepts a new token for a channel.
    pub(super) fn handle_sub_refresh(
        &mut self,
        request: &SubRefreshRequest,
        now: Duration,
    ) -> Result<Reply, RefusalCode> {
        let channel = parse_channel_name(&request.channel)?;
        if !self.is_subscribed_to(&channel) {
            return Err(&codes::PERMISSION_DENIED);
        }
        let grant = self.authorize_channel_subscription(&channel, &request.token)?;
        let (expires, ttl) = self.expiry_and_ttl(grant.expires)?;
        let due = expires.map(|it| now + it + self.service.limits.expired_delay);
        if let Some(client) = &mut self.connected_client {
            match client.tracked_subscriptions.iter_mut().find(|it| it.channel == channel) {
                Some(tracked) => tracked.expires = due,
                None if due.is_some() => {
                    let tracked = TrackedSubscription { channel, _membership: None, expires: due };
                    client.tracked_subscriptions.push(tracked);
                }
                None => {}
            }
        }
        let result = SubRefreshResult { expires: expires.is_some(), ttl };
        Ok(Reply { sub_refresh: Some(result), ..Reply::default() })
    }

    pub(super) fn handle_unsubscribe(&mut self, channel: &str) -> Result<Reply, RefusalCode> {
        let channel = parse_channel_name(channel)?;
        self.session.unsubscribe(&channel);
        self.drop_channel_presence_and_expiry(&channel);
        Ok(Reply { unsubscribe: Some(Default::default()), ..Reply::default() })
    }
}
