//! Requests other than authentication and subscriptions.

use std::collections::BTreeMap;
use std::time::Duration;

use lineside_hub::{
    EncodedChannelName, HistoryError, HistoryQuery as Asked, Position, PresenceError,
    PublicationExtras, PublishError,
};
use prost::Message as _;
use serde_json::value::RawValue;

use super::ClientHandler;
use super::limits::{PRESENCE_PAGE, REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX};
use super::reply_writer::ReplyWriter;
use super::subscribe::{ReplyBudget, parse_channel_name, refusal_for_resolve_error};
use crate::auth::RefusalCode;
use crate::centrifuge::message::{
    EmptyMessage, HistoryRequest, HistoryResult, PresenceResult, PresenceStatsResult,
    PublishRequest, Reply, StreamPosition,
};
use crate::centrifuge::{CommandRequest, push};
use crate::codes;

impl ClientHandler {
    pub(super) fn answer_non_connect_request(
        &mut self,
        request: CommandRequest,
        now: Duration,
        out: &mut ReplyWriter<'_>,
    ) -> Result<Reply, RefusalCode> {
        match request {
            CommandRequest::Subscribe(request) => self.handle_subscribe(request, now, out),
            CommandRequest::Unsubscribe(request) => self.handle_unsubscribe(&request.channel),
            CommandRequest::Publish(request) => self.handle_publish(request),
            CommandRequest::Presence(request) => self.handle_presence(&request.channel),
            CommandRequest::PresenceStats(request) => self.handle_presence_stats(&request.channel),
            CommandRequest::History(request) => self.handle_history(&request),
            CommandRequest::Ping => Ok(Reply { ping: Some(EmptyMessage {}), ..Reply::default() }),
            CommandRequest::Refresh(request) => self.handle_refresh(&request, now),
            CommandRequest::SubRefresh(request) => self.handle_sub_refresh(&request, now),
            CommandRequest::Rpc => Err(&codes::NOT_AVAILABLE),
            CommandRequest::Connect(_)
            | CommandRequest::Send
            | CommandRequest::Pong
            | CommandRequest::Unknown => Err(&codes::METHOD_NOT_FOUND),
        }
    }

    fn handle_publish(&self, request: PublishRequest) -> Result<Reply, RefusalCode> {
        let channel = parse_channel_name(&request.channel)?;
        let identity = self.identity().ok_or(&codes::UNAUTHORIZED)?;
        self.service.authorizer.authorize_publish(identity, &channel)?;
        if serde_json::from_slice::<&RawValue>(&request.data).is_err() {
            return Err(&codes::BAD_REQUEST);
        }
        let publisher = Some(self.own_presence_data(Default::default()));
        let extras = PublicationExtras { publisher, ..PublicationExtras::default() };
        match self.service.hub.publish_to_app_channel(&channel, request.data, extras) {
            Ok(_) => Ok(Reply { publish: Some(EmptyMessage {}), ..Reply::default() }),
            Err(PublishError::NotApp) => Err(&codes::PERMISSION_DENIED),
            Err(PublishError::TooLarge) => Err(&codes::LIMIT_EXCEEDED),
            Err(PublishError::TooManyRooms | PublishError::Stopping) => {
                Err(&codes::TOO_MANY_REQUESTS)
            }
            Err(PublishError::KeyTaken) => Err(&codes::INTERNAL),
        }
    }

    /// Parses the channel, and checks that the client is subscribed to it or may subscribe.
    fn parse_and_authorize_channel(&self, name: &str) -> Result<EncodedChannelName, RefusalCode> {
        let channel = parse_channel_name(name)?;
        if !self.is_subscribed_to(&channel) {
            let identity = self.identity().ok_or(&codes::UNAUTHORIZED)?;
            self.service.authorizer.authorize_subscribe(identity, &channel, None)?;
        }
        Ok(channel)
    }

    fn handle_presence(&self, name: &str) -> Result<Reply, RefusalCode> {
        let channel = self.parse_and_authorize_channel(name)?;
        let mut presence = BTreeMap::new();
        let (mut from, mut bytes) = (Some(0), 0);
        while let Some(page_begin) = from.filter(|_| bytes < REPLY_BYTES_MAX) {
            let page = self
                .service
                .hub
                .presence_page(&channel, page_begin, PRESENCE_PAGE)
                .map_err(refusal_for_presence_error)?;
            for member in page.members {
                let info = push::to_client_info(&member);
                bytes += info.encoded_len() + info.client.len();
                if bytes > REPLY_BYTES_MAX {
                    break;
                }
                presence.insert(info.client.clone(), info);
            }
            from = page.next;
        }
        let presence = Some(PresenceResult { presence });
        Ok(Reply { presence, ..Reply::default() })
    }

    fn handle_presence_stats(&self, name: &str) -> Result<Reply, RefusalCode> {
        let channel = self.parse_and_authorize_channel(name)?;
        let stats =
            self.service.hub.presence_stats(&channel).map_err(refusal_for_presence_error)?;
        let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        let presence_stats = Some(PresenceStatsResult {
            num_clients: count(stats.clients),
            num_users: count(stats.users),
        });
        Ok(Reply { presence_stats, ..Reply::default() })
    }

    fn handle_history(&self, request: &HistoryRequest) -> Result<Reply, RefusalCode> {
        let channel = self.parse_and_authorize_channel(&request.channel)?;
        let hub = &self.service.hub;
        let position_only = Asked { limit: 0, since: None, reverse: false };
        let since = match &request.since {
            None => None,
            Some(StreamPosition { offset, epoch }) => {
                // An empty epoch means the current one.
                let epoch = if epoch.is_empty() {
                    let now = hub
                        .read_history(&channel, position_only)
                        .map_err(refusal_for_history_error)?;
                    now.position.epoch
                } else {
                    epoch.parse().map_err(|_| &codes::UNRECOVERABLE_POSITION)?
                };
                Some(Position { epoch, offset: *offset })
            }
        };
        let limit = usize::try_from(request.limit).unwrap_or(REPLY_PUBLICATIONS_MAX);
        let limit = limit.min(REPLY_PUBLICATIONS_MAX);
        let query = Asked { limit, since, reverse: request.reverse };
        let history = hub.read_history(&channel, query).map_err(refusal_for_history_error)?;
        let mut budget = ReplyBudget::default();
        let mut publications = Vec::new();
        for publication in &history.publications {
            let entry = push::to_reply_publication(publication);
            // At least one publication is always included; otherwise no client could get past it.
            if !budget.count_publication_if_it_fits(&entry) && !publications.is_empty() {
                break;
            }
            publications.push(entry);
        }
        let Position { epoch, offset } = history.position;
        let history = HistoryResult { publications, epoch: epoch.to_string(), offset };
        Ok(Reply { history: Some(history), ..Reply::default() })
    }
}

fn refusal_for_presence_error(error: PresenceError) -> RefusalCode {
    match error {
        PresenceError::PresenceDisabled => &codes::NOT_AVAILABLE,
        PresenceError::Full => &codes::TOO_MANY_REQUESTS,
    }
}

fn refusal_for_history_error(error: HistoryError) -> RefusalCode {
    match error {
        HistoryError::Unresolved(error) => refusal_for_resolve_error(error),
        HistoryError::HistoryDisabled => &codes::NOT_AVAILABLE,
        HistoryError::OtherEpoch => &codes::UNRECOVERABLE_POSITION,
        HistoryError::TooManyRooms => &codes::TOO_MANY_REQUESTS,
    }
}
