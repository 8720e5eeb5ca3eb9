//! One connection's side of the protocol: messages in, frames out, and the session in between.
//!
//! It owns no socket and no timer. Whoever does hands in what was received, writes what stands in `out`, pulls
//! deliveries while the socket takes them, and looks in when something is due. What is not finished waits here: the
//! rest of a message whose replies the socket has not taken, or a command whose token a worker checks.

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
use lineside_hub::{Channel, Delivery, Hub, Membership, PresenceMember, Session, SubscriptionEnd};

pub use self::limits::{ClientLimits, PING_INTERVAL, REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX};

use self::meter::CommandMeter;
use self::reply_writer::ReplyWriter;
use super::message::{Reply, ReplyError};
use super::{
    BadCommand, Command, CommandReader, CommandRequest, ProtocolFormat, ThreadCodecs, codes, push,
};
use crate::auth::{Authorizer, ClientIdentity, Refusal};
use crate::websocket::{Deflater, ReadError, frame};

/// What all connections of a node share.
#[derive(Clone, Debug)]
pub struct CentrifugeService {
    /// Where sessions are.
    pub hub: Arc<Hub>,
    /// Who may do what.
    pub gate: Arc<dyn Authorizer>,
    /// What one connection may do.
    pub limits: ClientLimits,
    /// What clients are told of the server.
    pub version: &'static str,
}

/// Why a connection is to be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionClose {
    /// The close code.
    pub code: u16,
    /// The close reason.
    pub reason: Cow<'static, str>,
}

impl ConnectionClose {
    /// The last frame that the server sends.
    pub fn close_frame(&self) -> Bytes {
        frame::encode_close(self.code, &self.reason)
    }
}

impl From<&'static codes::DisconnectCode> for ConnectionClose {
    fn from(disconnect: &'static codes::DisconnectCode) -> Self {
        Self { code: disconnect.code, reason: Cow::Borrowed(disconnect.reason) }
    }
}

impl From<ReadError> for ConnectionClose {
    fn from(error: ReadError) -> Self {
        Self { code: error.close_code(), reason: error.to_string().into() }
    }
}

impl From<BadCommand> for ConnectionClose {
    fn from(_: BadCommand) -> Self {
        Self::from(&codes::BAD_MESSAGE)
    }
}

/// How it goes on after something was received.
#[derive(Clone, PartialEq, Eq)]
pub enum ReceiveOutcome {
    /// More may be received.
    Ready,
    /// There are more replies than a socket is given at once: to be resumed when `out` has been written, and nothing
    /// received until then.
    Full,
    /// To be resumed when a worker has had [`Authorizer::check`] look at this token, and nothing received until then.
    Check(Box<str>),
    /// It is over.
    Close(ConnectionClose),
}

/// One client.
pub struct ClientHandler {
    service: Arc<CentrifugeService>,
    session: Session,
    format: ProtocolFormat,
    deflate: bool,
    /// The connection's name, unlike any other's.
    id: Arc<str>,
    opened: Duration,
    joined: Option<Box<ConnectedClient>>,
    meter: CommandMeter,
    put_off: Option<Box<DeferredCommands>>,
    /// By when a ping is to be answered.
    pong_due: Option<Duration>,
    closing: Option<ConnectionClose>,
}

/// A client that has said who it is.
struct ConnectedClient {
    who: ClientIdentity,
    /// When it is closed unless its token is refreshed.
    expires: Option<Duration>,
    /// Subscriptions that are more than that. Bound: the session's.
    marked: Vec<TrackedSubscription>,
}

/// A subscription that is counted, or ends by itself.
struct TrackedSubscription {
    channel: Channel,
    _membership: Option<Membership>,
    expires: Option<Duration>,
}

/// What waits. Bound: one message.
struct DeferredCommands {
    /// Its token is being checked.
    command: Option<Command>,
    rest: CommandReader<'static>,
}

impl ClientHandler {
    /// A client that has said nothing yet, at this moment. `id` is to be random, so that no two are alike.
    pub fn new(
        service: Arc<CentrifugeService>,
        session: Session,
        format: ProtocolFormat,
        deflate: bool,
        id: u128,
        now: Duration,
    ) -> Self {
        let meter = CommandMeter::new(now);
        Self {
            service,
            session,
            format,
            deflate,
            id: format!("{id:032x}").into(),
            opened: now,
            joined: None,
            meter,
            put_off: None,
            pong_due: None,
            closing: None,
        }
    }

    /// Its session.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// What it may do.
    pub fn client_limits(&self) -> &ClientLimits {
        &self.service.limits
    }

    /// The connection's name.
    pub fn client_id(&self) -> &Arc<str> {
        &self.id
    }

    /// Who it is, once it has said so.
    pub fn identity(&self) -> Option<&ClientIdentity> {
        self.joined.as_ref().map(|joined| &joined.who)
    }

    /// Whether it waits to be resumed.
    pub fn is_deferred(&self) -> bool {
        self.put_off.is_some()
    }

    /// Why it is to be closed, where a delivery said so.
    pub fn pending_close(&self) -> Option<&ConnectionClose> {
        self.closing.as_ref()
    }

    /// Takes a message; replies are added to `out`.
    pub fn receive_message(
        &mut self,
        message: &[u8],
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        let commands = CommandReader::new(self.format, message);
        self.run_commands(None, commands, now, deflater, out)
    }

    /// Goes on where [`receive`](Self::receive_message) or this stopped short.
    pub fn resume_commands(
        &mut self,
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        match self.put_off.take() {
            Some(put_off) => self.run_commands(put_off.command, put_off.rest, now, deflater, out),
            None => ReceiveOutcome::Ready,
        }
    }

    /// Counts something else that was received, of so many bytes. An error when that is too much.
    pub(super) fn charge_input(
        &mut self,
        bytes: usize,
        now: Duration,
    ) -> Result<(), ConnectionClose> {
        if self.meter.charge_command(bytes, now, &self.service.limits) {
            Ok(())
        } else {
            Err(ConnectionClose::from(&codes::FLOOD))
        }
    }

    /// Adds the pieces of the next delivery's frame, or of those of several; false when there is none now, or none
    /// any more because the connection is [`closing`](Self::closing).
    pub fn next_frames(&mut self, into: &mut Vec<Bytes>, codecs: &mut ThreadCodecs) -> bool {
        while self.closing.is_none() {
            if let Some(run) = self.next_run_frames(codecs) {
                into.push(run);
                return true;
            }
            let Some(delivery) = self.session.next_delivery() else { return false };
            let deflater = self.deflate.then_some(&mut codecs.deflater);
            if let Some(pieces) = self.encode_delivery(&delivery, deflater) {
                into.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
                return true;
            }
        }
        false
    }

    /// The publications that come next, framed as for all who speak alike.
    fn next_run_frames(&mut self, codecs: &mut ThreadCodecs) -> Option<Bytes> {
        let Self { session, format, deflate, .. } = self;
        let ThreadCodecs { runs, deflater, .. } = codecs;
        session.next_run(push::frame_slot(*format, *deflate), runs, |it| {
            let deflater = deflate.then_some(&mut *deflater);
            push::encode_publication(it.channel, it.publication, *format, deflater)
        })
    }

    /// The delivery as a frame; `None` where it ends the connection, or is not for it.
    fn encode_delivery(
        &mut self,
        delivery: &Delivery,
        deflater: Option<&mut Deflater>,
    ) -> Option<push::Pieces> {
        match delivery {
            Delivery::Ended { why: SubscriptionEnd::Slow, .. } => {
                self.closing = Some(ConnectionClose::from(&codes::SLOW));
                None
            }
            Delivery::Ended {
                channel,
                why: why @ (SubscriptionEnd::Lost | SubscriptionEnd::Over),
            } => {
                self.forget_channel(channel);
                let code = match why {
                    SubscriptionEnd::Over => &codes::FEED_CHANGED,
                    _ => &codes::INSUFFICIENT_STATE,
                };
                let end = push::encode_unsubscribe(channel, code, self.format);
                Some([end, Bytes::new(), Bytes::new()])
            }
            Delivery::Disconnect { order, .. } => {
                if order.applies_to_client(&self.id) {
                    let reason = Cow::Owned(order.reason.as_ref().into());
                    self.closing = Some(ConnectionClose { code: order.code, reason });
                }
                None
            }
            other => push::encode_delivery(other, self.format, deflater),
        }
    }

    /// Adds a ping, to be answered in time. Nothing for one that has not connected yet.
    pub fn send_ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>) {
        if self.joined.is_some() {
            out.push_back(push::encode_ping(self.format));
            self.pong_due.get_or_insert(now + self.service.limits.pong_within);
        }
    }

    /// When something is due that [`look_in`](Self::handle_due) sees to.
    pub fn next_due(&self) -> Option<Duration> {
        let subscriptions = self.joined.iter().flat_map(|joined| &joined.marked);
        let expiry = self.joined.as_ref().and_then(|joined| joined.expires);
        let due = self.connect_deadline().into_iter().chain(self.pong_due).chain(expiry);
        due.chain(subscriptions.filter_map(|it| it.expires)).min()
    }

    /// Sees to what is due: subscriptions that expire, and a connection that is to end. An end is said in `out`.
    pub fn handle_due(
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
        let joined = self.joined.as_ref()?;
        if is_due(joined.expires) {
            return Some(ConnectionClose::from(&codes::EXPIRED));
        }
        let expired = joined.marked.iter().filter(|it| is_due(it.expires));
        for channel in expired.map(|it| it.channel.clone()).collect::<Vec<_>>() {
            self.session.unsubscribe(&channel);
            self.forget_channel(&channel);
            out.push_back(push::encode_unsubscribe(
                &channel,
                &codes::SUBSCRIPTION_EXPIRED,
                self.format,
            ));
        }
        None
    }

    /// By when it has to say who it is. While its token is checked it is not its turn.
    fn connect_deadline(&self) -> Option<Duration> {
        let waits = self.joined.is_none() && self.put_off.is_none();
        waits.then(|| self.opened + self.service.limits.connect_within)
    }

    fn run_commands(
        &mut self,
        first: Option<Command>,
        mut commands: CommandReader<'_>,
        now: Duration,
        deflater: &mut Deflater,
        frames: &mut VecDeque<Bytes>,
    ) -> ReceiveOutcome {
        let mut out = ReplyWriter::new(self.format, self.deflate.then_some(deflater), frames);
        let flow = self.answer_commands(first, &mut commands, now, &mut out);
        out.finish_message();
        match flow {
            Ok(ReceiveOutcome::Full) => {
                let rest = commands.into_owned();
                self.put_off = Some(Box::new(DeferredCommands { command: None, rest }));
                ReceiveOutcome::Full
            }
            Ok(ReceiveOutcome::Check(token)) => {
                if let Some(put_off) = &mut self.put_off {
                    put_off.rest = commands.into_owned();
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
            if commands.remaining_bytes() == 0 {
                return Ok(ReceiveOutcome::Ready);
            }
            if out.is_full() {
                return Ok(ReceiveOutcome::Full);
            }
            let before = commands.remaining_bytes();
            let Some(command) = commands.next() else { return Ok(ReceiveOutcome::Ready) };
            self.charge_input(before - commands.remaining_bytes(), now)?;
            let command = command?;
            if let Some(token) = self.unchecked_token(&command) {
                let rest = CommandReader::new(self.format, Vec::new());
                self.put_off = Some(Box::new(DeferredCommands { command: Some(command), rest }));
                return Ok(ReceiveOutcome::Check(token));
            }
            self.answer_command(command, now, out)?;
        }
    }

    /// The command's token, if it has one that takes long to check.
    fn unchecked_token(&self, command: &Command) -> Option<Box<str>> {
        let token = match &command.request {
            CommandRequest::Connect(request) => &request.token,
            CommandRequest::Subscribe(request) => &request.token,
            CommandRequest::Refresh(request) => &request.token,
            CommandRequest::SubRefresh(request) => &request.token,
            _ => return None,
        };
        (!token.is_empty() && !self.service.gate.is_token_known(token))
            .then(|| token.as_str().into())
    }

    fn answer_command(
        &mut self,
        command: Command,
        now: Duration,
        out: &mut ReplyWriter<'_>,
    ) -> Result<(), ConnectionClose> {
        let Command { id, request } = command;
        let answered = match (request, self.joined.is_some()) {
            (CommandRequest::Connect(request), false) => self.handle_connect(&request, now, out),
            // Who it is comes first, and once.
            (_, false) | (CommandRequest::Connect(_), true) => {
                return Err(ConnectionClose::from(&codes::BAD_MESSAGE));
            }
            (CommandRequest::Pong, true) => {
                self.pong_due = None;
                return Ok(());
            }
            // Nobody listens to what a client merely sends.
            (CommandRequest::Send, true) => return Ok(()),
            (request, true) => self.answer_request(request, now, out),
        };
        let reply = match answered {
            Ok(reply) => Reply { id, ..reply },
            Err(refusal) => refusal_reply(id, refusal),
        };
        out.write_reply(&reply);
        for delivery in std::mem::take(&mut out.after_reply) {
            if let Some(pieces) = self.encode_delivery(&delivery, out.deflater()) {
                out.push_frame(pieces);
            }
        }
        Ok(())
    }

    /// As others see it in a channel.
    fn presence_member(&self, channel_info: Bytes) -> Arc<PresenceMember> {
        let who = self.identity();
        Arc::new(PresenceMember {
            client: self.id.clone(),
            user: who.map(|who| who.user.clone()).unwrap_or_default(),
            connection_info: who.map(|who| who.info.clone()).unwrap_or_default(),
            channel_info,
        })
    }

    /// Drops what is more than the subscription itself.
    fn forget_channel(&mut self, channel: &Channel) {
        if let Some(joined) = &mut self.joined {
            joined.marked.retain(|it| it.channel != *channel);
        }
    }

    fn is_subscribed_to(&self, channel: &Channel) -> bool {
        self.session.channels().any(|it| it == channel)
    }
}

fn refusal_reply(id: u32, refusal: Refusal) -> Reply {
    let codes::ErrorCode { code, text, temporary, .. } = *refusal;
    let error = ReplyError { code, message: text.into(), temporary };
    Reply { id, error: Some(error), ..Reply::default() }
}

/// Tokens are nobody else's business.
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
        f.debug_struct("Client")
            .field("id", &self.id)
            .field("session", &self.session)
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}
