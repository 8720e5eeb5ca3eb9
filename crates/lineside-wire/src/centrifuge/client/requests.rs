//! What a client asks besides who it is and what it listens to.

use std::collections::BTreeMap;
use std::time::Duration;

use lineside_hub::{
    Channel, Extras, HistoryError, HistoryRequest as Asked, Position, PresenceError, PublishError,
};
use prost::Message as _;
use serde_json::value::RawValue;

use super::Client;
use super::limits::{PRESENCE_PAGE, REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX};
use super::out::Out;
use super::subscribe::{Budget, parse, refusal_of_name};
use crate::centrifuge::message::{
    Empty, HistoryRequest, HistoryResult, PresenceResult, PresenceStatsResult, PublishRequest,
    Reply, StreamPosition,
};
use crate::centrifuge::{Request, codes, push};
use crate::gate::Refusal;

impl Client {
    pub(super) fn answer_joined(
        &mut self,
        request: Request,
        now: Duration,
        out: &mut Out<'_>,
    ) -> Result<Reply, Refusal> {
        match request {
            Request::Subscribe(request) => self.subscribe(request, now, out),
            Request::Unsubscribe(request) => self.unsubscribe(&request.channel),
            Request::Publish(request) => self.publish(request),
            Request::Presence(request) => self.presence(&request.channel),
            Request::PresenceStats(request) => self.presence_stats(&request.channel),
            Request::History(request) => self.history(&request),
            Request::Ping => Ok(Reply { ping: Some(Empty {}), ..Reply::default() }),
            Request::Refresh(request) => self.refresh(&request, now),
            Request::SubRefresh(request) => self.sub_refresh(&request, now),
            Request::Rpc => Err(&codes::NOT_AVAILABLE),
            Request::Connect(_) | Request::Send | Request::Pong | Request::Unknown => {
                Err(&codes::METHOD_NOT_FOUND)
            }
        }
    }

    fn publish(&self, request: PublishRequest) -> Result<Reply, Refusal> {
        let channel = parse(&request.channel)?;
        let who = self.identity().ok_or(&codes::UNAUTHORIZED)?;
        self.service.gate.publish(who, &channel)?;
        if serde_json::from_slice::<&RawValue>(&request.data).is_err() {
            return Err(&codes::BAD_REQUEST);
        }
        let publisher = Some(self.member(Default::default()));
        let extras = Extras { publisher, ..Extras::default() };
        match self.service.hub.publish_app(&channel, request.data, extras) {
            Ok(_) => Ok(Reply { publish: Some(Empty {}), ..Reply::default() }),
            Err(PublishError::NotApp) => Err(&codes::PERMISSION_DENIED),
            Err(PublishError::TooLarge) => Err(&codes::LIMIT_EXCEEDED),
            Err(PublishError::TooManyRooms | PublishError::Stopping) => {
                Err(&codes::TOO_MANY_REQUESTS)
            }
            Err(PublishError::KeyTaken) => Err(&codes::INTERNAL),
        }
    }

    /// Who listens to a channel, or might, may also ask about it.
    fn askable(&self, name: &str) -> Result<Channel, Refusal> {
        let channel = parse(name)?;
        if !self.listens_to(&channel) {
            let who = self.identity().ok_or(&codes::UNAUTHORIZED)?;
            self.service.gate.subscribe(who, &channel, None)?;
        }
        Ok(channel)
    }

    fn presence(&self, name: &str) -> Result<Reply, Refusal> {
        let channel = self.askable(name)?;
        let mut presence = BTreeMap::new();
        let (mut from, mut bytes) = (Some(0), 0);
        while let Some(page_begin) = from.filter(|_| bytes < REPLY_BYTES_MAX) {
            let page = self
                .service
                .hub
                .presence_page(&channel, page_begin, PRESENCE_PAGE)
                .map_err(refusal_of_presence)?;
            for member in page.members {
                let info = push::client_info(&member);
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

    fn presence_stats(&self, name: &str) -> Result<Reply, Refusal> {
        let channel = self.askable(name)?;
        let stats = self.service.hub.presence_stats(&channel).map_err(refusal_of_presence)?;
        let count = |it: usize| u32::try_from(it).unwrap_or(u32::MAX);
        let presence_stats = Some(PresenceStatsResult {
            num_clients: count(stats.clients),
            num_users: count(stats.users),
        });
        Ok(Reply { presence_stats, ..Reply::default() })
    }

    fn history(&self, request: &HistoryRequest) -> Result<Reply, Refusal> {
        let channel = self.askable(&request.channel)?;
        let hub = &self.service.hub;
        let position_only = Asked { limit: 0, since: None, reverse: false };
        let since = match &request.since {
            None => None,
            Some(StreamPosition { offset, epoch }) => {
                // Without an epoch the present one is meant.
                let epoch = if epoch.is_empty() {
                    let now = hub.history(&channel, position_only).map_err(refusal_of_history)?;
                    now.position.epoch
                } else {
                    epoch.parse().map_err(|_| &codes::UNRECOVERABLE_POSITION)?
                };
                Some(Position { epoch, offset: *offset })
            }
        };
        let limit = usize::try_from(request.limit).unwrap_or(REPLY_PUBLICATIONS_MAX);
        let limit = limit.min(REPLY_PUBLICATIONS_MAX);
        let asked = Asked { limit, since, reverse: request.reverse };
        let history = hub.history(&channel, asked).map_err(refusal_of_history)?;
        let mut budget = Budget::default();
        let mut publications = Vec::new();
        for publication in &history.publications {
            let entry = push::in_reply(publication);
            // One is always told, or nobody could ever get past it.
            if !budget.take(&entry) && !publications.is_empty() {
                break;
            }
            publications.push(entry);
        }
        let Position { epoch, offset } = history.position;
        let history = HistoryResult { publications, epoch: epoch.to_string(), offset };
        Ok(Reply { history: Some(history), ..Reply::default() })
    }
}

fn refusal_of_presence(error: PresenceError) -> Refusal {
    match error {
        PresenceError::NotKept => &codes::NOT_AVAILABLE,
        PresenceError::Full => &codes::TOO_MANY_REQUESTS,
    }
}

fn refusal_of_history(error: HistoryError) -> Refusal {
    match error {
        HistoryError::Unresolved(error) => refusal_of_name(error),
        HistoryError::NotKept => &codes::NOT_AVAILABLE,
        HistoryError::OtherEpoch => &codes::UNRECOVERABLE_POSITION,
        HistoryError::TooManyRooms => &codes::TOO_MANY_REQUESTS,
    }
}
