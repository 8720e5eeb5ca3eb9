//! One connection's side of the protocol: messages in, frames out, and the session in between.
//!
//! A handler owns no socket and no timer. Its owner passes in received messages, writes the frames in `out`, pulls
//! deliveries while the socket accepts them, and calls the handler when something is due. Unfinished work waits here:
//! the rest of a message whose replies the socket has not accepted, or a command whose token a worker checks.

mod connect;
mod limits;
mod meter;
mod reply_writer;
mod requests;
mod subscribe;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{
    ClientDelivery, EncodedChannelName, Hub, PresenceMember, PresenceMembership, Session,
    SubscriptionEndReason,
};

pub use self::limits::{ClientLimits, PING_INTERVAL, REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX};

use self::meter::CommandRateLimiter;
use self::reply_writer::ReplyWriter;
use super::message::{Reply, ReplyError};
use super::{
    Command, CommandReadError, CommandReader, CommandRequest, ProtocolFormat, ThreadCodecs, push,
};
use crate::auth::{Authorizer, ClientIdentity, RefusalCode};
use crate::codes;
use crate::websocket::{Deflater, WebSocketReadError, frame};

/// The state shared by all connections of a node.
#[derive(Clone, Debug)]
pub struct CentrifugeService {
    /// The hub with the sessions.
    pub hub: Arc<Hub>,
    /// The authorizer of all connections.
    pub authorizer: Arc<dyn Authorizer>,
    /// The limits of one connection.
    pub limits: ClientLimits,
    /// The server's version, as sent to clients.
    pub version: &'static str,
}

/// The reason for closing a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionClose {
    pub code: u16,
    pub reason: Cow<'static, str>,
}

impl ConnectionClose {
    /// Returns the last frame that the server sends.
    pub fn encoded_close_frame(&self) -> Bytes {
        frame::encode_close_frame(self.code, &self.reason)
    }
}

impl From<&'static codes::DisconnectCode> for ConnectionClose {
    fn from(disconnect: &'static codes::DisconnectCode) -> Self {
        Self { code: disconnect.code, reason: Cow::Borrowed(disconnect.reason) }
    }
}

impl From<WebSocketReadError> for ConnectionClose {
    fn from(error: WebSocketReadError) -> Self {
        Self { code: error.close_code(), reason: error.to_string().into() }
    }
}

impl From<CommandReadError> for ConnectionClose {
    fn from(_: CommandReadError) -> Self {
        Self::from(&codes::BAD_MESSAGE)
    }
}

/// The state of the connection after input was processed.
#[derive(Clone, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// More input may be received.
    Ready,
    /// More replies are pending than the socket may be given at once: resume when `out` has been written, and receive
    /// nothing until then.
    Full,
    /// Resume after a worker has called [`Authorizer::verify_and_cache_token`] with this token, and receive nothing
    /// until then.
    Check(Box<str>),
    /// The connection must be closed.
    Close(ConnectionClose),
}

pub struct ClientHandler {
    service: Arc<CentrifugeService>,
    session: Session,
    format: ProtocolFormat,
    deflate: bool,
    /// The connection's unique id.
    id: Arc<str>,
    opened_at: Duration,
    connected_client: Option<Box<ConnectedClient>>,
    meter: CommandRateLimiter,
    deferred: Option<Box<DeferredCommands>>,
    /// The time by which a ping must be answered.
    pong_due: Option<Duration>,
    closing: Option<ConnectionClose>,
}

struct ConnectedClient {
    identity: ClientIdentity,
    /// The time at which the connection is closed unless its token is refreshed.
    expires: Option<Duration>,
    /// Subscriptions with presence or an expiry. Bound: the session's subscriptions.
    tracked_subscriptions: Vec<TrackedSubscription>,
}

/// A subscription that counts as present, or expires.
struct TrackedSubscription {
    channel: EncodedChannelName,
    _membership: Option<PresenceMembership>,
    expires: Option<Duration>,
}

/// Unfinished input. Bound: one message.
struct DeferredCommands {
    /// The command whose token is being checked.
    command: Option<Command>,
    rest: CommandReader<'static>,
}

impl ClientHandler {
    /// Creates a client that has not connected yet; `now` is the current time. `id` must be random, so that it is
    /// unique.
    pub fn new(
        service: Arc<CentrifugeService>,
        session: Session,
        format: ProtocolFormat,
        deflate: bool,
        id: u128,
        now: Duration,
    ) -> Self {
        let meter = CommandRateLimiter::new(now);
        Self {
            service,
            session,
            format,
            deflate,
            id: format!("{id:032x}").into(),
            opened_at: now,
            connected_client: None,
            meter,
            deferred: None,
            pong_due: None,
            closing: None,
        }
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    pub fn client_limits(&self) -> &ClientLimits {
        &self.service.limits
    }

    /// Returns the connection's id.
    pub fn client_id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the client's identity; `None` before it has connected.
    pub fn identity(&self) -> Option<&ClientIdentity> {
        self.connected_client.as_ref().map(|joined| &joined.identity)
    }

    /// Returns true if the handler waits to be resumed.
    pub fn has_deferred_commands(&self) -> bool {
        self.deferred.is_some()
    }

    /// Returns the reason for closing the connection, if a delivery has caused one.
    pub fn pending_close(&self) -> Option<&ConnectionClose> {
        self.closing.as_ref()
    }

    /// Processes a message; adds replies to `out`.
    pub fn receive_message(
        &mut self,
        message: &[u8],
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        let commands = CommandReader::new(self.format, message);
        self.answer_commands_into_frames(None, commands, now, deflater, out)
    }

    /// Continues where [`receive_message`](Self::receive_message) or this method stopped.
    pub fn resume_deferred_commands(
        &mut self,
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        match self.deferred.take() {
            Some(deferred) => self.answer_commands_into_frames(
                deferred.command,
                deferred.rest,
                now,
                deflater,
                out,
            ),
            None => ReceiveOutcome::Ready,
        }
    }

    /// Counts other input of `bytes` bytes. Returns an error if it exceeds the limit.
    pub(super) fn count_input_within_limit(
        &mut self,
        bytes: usize,
        now: Duration,
    ) -> Result<(), ConnectionClose> {
        if self.meter.count_command_within_limit(bytes, now, &self.service.limits) {
            Ok(())
        } else {
            Err(ConnectionClose::from(&codes::FLOOD))
        }
    }

    /// Adds the pieces of the next delivery's frame, or of several deliveries' frames. Returns false if there is none
    /// now, or if the connection has a [pending close](Self::pending_close).
    pub fn next_delivery_frames(
        &mut self,
        into: &mut Vec<Bytes>,
        codecs: &mut ThreadCodecs,
    ) -> bool {
        while self.closing.is_none() {
            if let Some(run) = self.next_publication_frames(codecs) {
                into.push(run);
                return true;
            }
            let Some(delivery) = self.session.next_delivery() else { return false };
            let deflater = self.deflate.then_some(&mut codecs.deflater);
            if let Some(pieces) = self.encode_delivery_or_close(&delivery, deflater) {
                into.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
                return true;
            }
        }
        false
    }

    /// Returns the next publications as one run of frames, shared by all connections of equal format and compression.
    fn next_publication_frames(&mut self, codecs: &mut ThreadCodecs) -> Option<Bytes> {
        let Self { session, format, deflate, .. } = self;
        let ThreadCodecs { runs, deflater, .. } = codecs;
        session.next_joined_publications(
            push::frame_slot_for_format(*format, *deflate),
            runs,
            |it| {
                let deflater = deflate.then_some(&mut *deflater);
                push::encode_publication_frame(it.channel, it.publication, *format, deflater)
            },
        )
    }

    /// Returns the delivery's frame; `None` if the delivery ends the connection, or is not for this client.
    fn encode_delivery_or_close(
        &mut self,
        delivery: &ClientDelivery,
        deflater: Option<&mut Deflater>,
    ) -> Option<push::FramePieces> {
        match delivery {
            ClientDelivery::Ended { why: SubscriptionEndReason::Slow, .. } => {
                self.closing = Some(ConnectionClose::from(&codes::SLOW));
                None
            }
            ClientDelivery::Ended {
                channel,
                why: why @ (SubscriptionEndReason::Lost | SubscriptionEndReason::GroupEnded),
            } => {
                self.drop_channel_presence_and_expiry(channel);
                let code = match why {
                    SubscriptionEndReason::GroupEnded => &codes::FEED_CHANGED,
                    _ => &codes::INSUFFICIENT_STATE,
                };
                let end = push::encode_unsubscribe_frame(channel, code, self.format);
                Some([end, Bytes::new(), Bytes::new()])
            }
            ClientDelivery::Disconnect { order, .. } => {
                if order.applies_to_client(&self.id) {
                    let reason = Cow::Owned(order.reason.as_ref().into());
                    self.closing = Some(ConnectionClose { code: order.code, reason });
                }
                None
            }
            other => push::encode_delivery_frame(other, self.format, deflater),
        }
    }

    /// Adds a ping, which must be answered in time. Does nothing before the client has connected.
    pub fn queue_ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>) {
        if self.connected_client.is_some() {
            out.push_back(push::encode_ping_frame(self.format));
            self.pong_due.get_or_insert(now + self.service.limits.pong_within);
        }
    }

    /// Returns the next time at which [`handle_passed_deadlines`](Self::handle_passed_deadlines) must be called.
    pub fn next_deadline(&self) -> Option<Duration> {
        let subscriptions =
            self.connected_client.iter().flat_map(|joined| &joined.tracked_subscriptions);
        let expiry = self.connected_client.as_ref().and_then(|joined| joined.expires);
        let due = self.connect_deadline().into_iter().chain(self.pong_due).chain(expiry);
        due.chain(subscriptions.filter_map(|it| it.expires)).min()
    }

    /// Handles due events: expired subscriptions and the end of the connection. Adds unsubscribe pushes to `out`.
    pub fn handle_passed_deadlines(
        &mut self,
        now: Duration,
        out: &mut VecDeque<Bytes>,
    ) -> Option<ConnectionClose> {
        let is_due = |due: Option<Duration>| due.is_some_and(|due| due <= now);
        if is_due(self.connect_deadline()) {
            return Some(ConnectionClose::from(&codes::BAD_MESSAGE));
        }
        if is_due(self.pong_due) {
            return Some(ConnectionClose::from(&codes::NO_PONG));
        }
        let client = self.connected_client.as_ref()?;
        if is_due(client.expires) {
            return Some(ConnectionClose::from(&codes::EXPIRED));
        }
        let expired = client.tracked_subscriptions.iter().filter(|it| is_due(it.expires));
        for channel in expired.map(|it| it.channel.clone()).collect::<Vec<_>>() {
            self.session.unsubscribe(&channel);
            self.drop_channel_presence_and_expiry(&channel);
            out.push_back(push::encode_unsubscribe_frame(
                &channel,
                &codes::SUBSCRIPTION_EXPIRED,
                self.format,
            ));
        }
        None
    }

    /// Returns the time by which the client must connect; `None` while its token is checked.
    fn connect_deadline(&self) -> Option<Duration> {
        let is_unconnected = self.connected_client.is_none() && self.deferred.is_none();
        is_unconnected.then(|| self.opened_at + self.service.limits.connect_within)
    }

    fn answer_commands_into_frames(
        &mut self,
        first: Option<Command>,
        mut commands: CommandReader<'_>,
        now: Duration,
        deflater: &mut Deflater,
        frames: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        let mut out = ReplyWriter::new(self.format, self.deflate.then_some(deflater), frames);
        let flow = self.answer_commands(first, &mut commands, now, &mut out);
        out.flush_last_frame();
        match flow {
            Ok(ReceiveOutcome::Full) => {
                let rest = commands.into_owned();
                self.deferred = Some(Box::new(DeferredCommands { command: None, rest }));
                ReceiveOutcome::Full
            }
            Ok(ReceiveOutcome::Check(token)) => {
                if let Some(deferred) = &mut self.deferred {
                    deferred.rest = commands.into_owned();
                }
                ReceiveOutcome::Check(token)
            }
            Ok(flow) => flow,
            Err(close) => ReceiveOutcome::Close(close),
        }
    }

    fn answer_commands(
        &mut self,
        first: Option<Command>,
        commands: &mut CommandReader<'_>,
        now: Duration,
        out: &mut ReplyWriter<'_>,
    ) -> Result<ReceiveOutcome, ConnectionClose> {
        if let Some(command) = first {
            self.answer_command(command, now, out)?;
        }
        loop {
            if commands.unread_byte_count() == 0 {
                return Ok(ReceiveOutcome::Ready);
            }
            if out.must_wait_for_socket() {
                return Ok(ReceiveOutcome::Full);
            }
            let before = commands.unread_byte_count();
            let Some(command) = commands.next() else { return Ok(ReceiveOutcome::Ready) };
            self.count_input_within_limit(before - commands.unread_byte_count(), now)?;
            let command = command?;
            if let Some(token) = self.unchecked_token_of_command(&command) {
                let rest = CommandReader::new(self.format, Vec::new());
                self.deferred = Some(Box::new(DeferredCommands { command: Some(command), rest }));
                return Ok(ReceiveOutcome::Check(token));
            }
            self.answer_command(command, now, out)?;
        }
    }

    /// Returns the command's token, if it has one that is slow to check.
    fn unchecked_token_of_command(&self, command: &Command) -> Option<Box<str>> {
        let token = match &command.request {
            CommandRequest::Connect(request) => &request.token,
            CommandRequest::Subscribe(request) => &request.token,
            CommandRequest::Refresh(request) => &request.token,
            CommandRequest::SubRefresh(request) => &request.token,
            _ => return None,
        };
        (!token.is_empty() && !self.service.authorizer.is_token_known(token))
            .then(|| token.as_str().into())
    }

    fn answer_command(
        &mut self,
        command: Command,
        now: Duration,
        out: &mut ReplyWriter<'_>,
    ) -> Result<(), ConnectionClose> {
        let Command { id, request } = command;
        let answered = match (request, self.connected_client.is_some()) {
            (CommandRequest::Connect(request), false) => self.handle_connect(&request, now, out),
            // Connect must be the first command, and comes once.
            (_, false) | (CommandRequest::Connect(_), true) => {
                return Err(ConnectionClose::from(&codes::BAD_MESSAGE));
            }
            (CommandRequest::Pong, true) => {
                self.pong_due = None;
                return Ok(());
            }
            // The server ignores data that a client merely sends.
            (CommandRequest::Send, true) => return Ok(()),
            (request, true) => self.answer_non_connect_request(request, now, out),
        };
        let reply = match answered {
            Ok(reply) => Reply { id, ..reply },
            Err(refusal) => error_reply_for_refusal(id, refusal),
        };
        out.append_reply(&reply);
        for delivery in std::mem::take(&mut out.after_reply) {
            if let Some(pieces) = self.encode_delivery_or_close(&delivery, out.deflater()) {
                out.push_frame_after_replies(pieces);
            }
        }
        Ok(())
    }

    /// Returns the client's data as other members of a channel see them.
    fn own_presence_data(&self, channel_info: Bytes) -> Arc<PresenceMember> {
        let identity = self.identity();
        Arc::new(PresenceMember {
            client: self.id.clone(),
            user: identity.map(|who| who.user.clone()).unwrap_or_default(),
            connection_info: identity.map(|who| who.info.clone()).unwrap_or_default(),
            channel_info,
        })
    }

    /// Drops the channel's presence and expiry.
    fn drop_channel_presence_and_expiry(&mut self, channel: &EncodedChannelName) {
        if let Some(client) = &mut self.connected_client {
            client.tracked_subscriptions.retain(|it| it.channel != *channel);
        }
    }

    fn is_subscribed_to(&self, channel: &EncodedChannelName) -> bool {
        self.session.subscribed_channels().any(|it| it == channel)
    }
}

fn error_reply_for_refusal(id: u32, refusal: RefusalCode) -> Reply {
    let codes::ErrorCode { code, text, temporary, .. } = *refusal;
    let error = ReplyError { code, message: text.into(), temporary };
    Reply { id, error: Some(error), ..Reply::default() }
}

/// Hides the token.
impl fmt::Debug for ReceiveOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("Ready"),
            Self::Full => f.write_str("Full"),
            Self::Check(_) => f.write_str("Check(…)"),
            Self::Close(close) => f.debug_tuple("Close").field(close).finish(),
        }
    }
}

impl fmt::Debug for ClientHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientHandler")
            .field("id", &self.id)
            .field("session", &self.session)
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}
