//! One connection's side of the protocol: messages in, frames out, and the session in between.
//!
//! It owns no socket and no timer. Whoever does hands in what was received, writes what stands in `out`, pulls
//! deliveries while the socket takes them, and looks in when something is due. What is not finished waits here: the
//! rest of a message whose replies the socket has not taken, or a command whose token a worker checks.

mod connect;
mod limits;
mod meter;
mod out;
mod requests;
mod subscribe;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::{Channel, Delivery, Ended, Hub, Member, Membership, Session};

pub use self::limits::{ClientLimits, PING_INTERVAL, REPLY_BYTES_MAX, REPLY_PUBLICATIONS_MAX};

use self::meter::Meter;
use self::out::Out;
use super::message::{Reply, ReplyError};
use super::{BadCommand, Codecs, Command, Commands, Format, Request, codes, push};
use crate::gate::{Gate, Identity, Refusal};
use crate::websocket::{Deflater, ReadError, frame};

/// What all connections of a node share.
#[derive(Clone, Debug)]
pub struct Service {
    /// Where sessions are.
    pub hub: Arc<Hub>,
    /// Who may do what.
    pub gate: Arc<dyn Gate>,
    /// What one connection may do.
    pub limits: ClientLimits,
    /// What clients are told of the server.
    pub version: &'static str,
}

/// Why a connection is to be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// The close code.
    pub code: u16,
    /// The close reason.
    pub reason: Cow<'static, str>,
}

impl Close {
    /// The last frame that the server sends.
    pub fn frame(&self) -> Bytes {
        frame::close(self.code, &self.reason)
    }
}

impl From<&'static codes::Disconnect> for Close {
    fn from(disconnect: &'static codes::Disconnect) -> Self {
        Self { code: disconnect.code, reason: Cow::Borrowed(disconnect.reason) }
    }
}

impl From<ReadError> for Close {
    fn from(error: ReadError) -> Self {
        Self { code: error.close_code(), reason: error.to_string().into() }
    }
}

impl From<BadCommand> for Close {
    fn from(_: BadCommand) -> Self {
        Self::from(&codes::BAD_MESSAGE)
    }
}

/// How it goes on after something was received.
#[derive(Clone, PartialEq, Eq)]
pub enum Flow {
    /// More may be received.
    Ready,
    /// There are more replies than a socket is given at once: to be resumed when `out` has been written, and nothing
    /// received until then.
    Full,
    /// To be resumed when a worker has had [`Gate::check`] look at this token, and nothing received until then.
    Check(Box<str>),
    /// It is over.
    Close(Close),
}

/// One client.
pub struct Client {
    service: Arc<Service>,
    session: Session,
    format: Format,
    deflate: bool,
    /// The connection's name, unlike any other's.
    id: Arc<str>,
    opened: Duration,
    joined: Option<Box<Joined>>,
    meter: Meter,
    put_off: Option<Box<PutOff>>,
    /// By when a ping is to be answered.
    pong_due: Option<Duration>,
    closing: Option<Close>,
}

/// A client that has said who it is.
struct Joined {
    who: Identity,
    /// When it is closed unless its token is refreshed.
    expires: Option<Duration>,
    /// Subscriptions that are more than that. Bound: the session's.
    marked: Vec<Marked>,
}

/// A subscription that is counted, or ends by itself.
struct Marked {
    channel: Channel,
    _membership: Option<Membership>,
    expires: Option<Duration>,
}

/// What waits. Bound: one message.
struct PutOff {
    /// Its token is being checked.
    command: Option<Command>,
    rest: Commands<'static>,
}

impl Client {
    /// A client that has said nothing yet, at this moment. `id` is to be random, so that no two are alike.
    pub fn new(
        service: Arc<Service>,
        session: Session,
        format: Format,
        deflate: bool,
        id: u128,
        now: Duration,
    ) -> Self {
        let meter = Meter::new(now);
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
    pub fn limits(&self) -> &ClientLimits {
        &self.service.limits
    }

    /// The connection's name.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Who it is, once it has said so.
    pub fn identity(&self) -> Option<&Identity> {
        self.joined.as_ref().map(|joined| &joined.who)
    }

    /// Whether it waits to be resumed.
    pub fn is_put_off(&self) -> bool {
        self.put_off.is_some()
    }

    /// Why it is to be closed, where a delivery said so.
    pub fn closing(&self) -> Option<&Close> {
        self.closing.as_ref()
    }

    /// Takes a message; replies are added to `out`.
    pub fn receive(
        &mut self,
        message: &[u8],
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> Flow {
        let commands = Commands::new(self.format, message);
        self.run(None, commands, now, deflater, out)
    }

    /// Goes on where [`receive`](Self::receive) or this stopped short.
    pub fn resume(
        &mut self,
        now: Duration,
        deflater: &mut Deflater,
        out: &mut VecDeque<Bytes>,
    ) -> Flow {
        match self.put_off.take() {
            Some(put_off) => self.run(put_off.command, put_off.rest, now, deflater, out),
            None => Flow::Ready,
        }
    }

    /// Counts something else that was received, of so many bytes. An error when that is too much.
    pub(super) fn charge(&mut self, bytes: usize, now: Duration) -> Result<(), Close> {
        if self.meter.take(bytes, now, &self.service.limits) {
            Ok(())
        } else {
            Err(Close::from(&codes::FLOOD))
        }
    }

    /// Adds the pieces of the next delivery's frame, or of those of several; false when there is none now, or none
    /// any more because the connection is [`closing`](Self::closing).
    pub fn next(&mut self, into: &mut Vec<Bytes>, codecs: &mut Codecs) -> bool {
        while self.closing.is_none() {
            if let Some(run) = self.next_run(codecs) {
                into.push(run);
                return true;
            }
            let Some(delivery) = self.session.next_delivery() else { return false };
            let deflater = self.deflate.then_some(&mut codecs.deflater);
            if let Some(pieces) = self.encode(&delivery, deflater) {
                into.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
                return true;
            }
        }
        false
    }

    /// The publications that come next, framed as for all who speak alike.
    fn next_run(&mut self, codecs: &mut Codecs) -> Option<Bytes> {
        let Self { session, format, deflate, .. } = self;
        let Codecs { runs, deflater, .. } = codecs;
        session.next_run(push::slot(*format, *deflate), runs, |it| {
            let deflater = deflate.then_some(&mut *deflater);
            push::publication_frame(it.channel, it.publication, *format, deflater)
        })
    }

    /// The delivery as a frame; `None` where it ends the connection, or is not for it.
    fn encode(
        &mut self,
        delivery: &Delivery,
        deflater: Option<&mut Deflater>,
    ) -> Option<push::Pieces> {
        match delivery {
            Delivery::Ended { why: Ended::Slow, .. } => {
                self.closing = Some(Close::from(&codes::SLOW));
                None
            }
            Delivery::Ended { channel, why: why @ (Ended::Lost | Ended::Over) } => {
                self.forget(channel);
                let code = match why {
                    Ended::Over => &codes::FEED_CHANGED,
                    _ => &codes::INSUFFICIENT_STATE,
                };
                let end = push::unsubscribe(channel, code, self.format);
                Some([end, Bytes::new(), Bytes::new()])
            }
            Delivery::Disconnect { order, .. } => {
                if order.concerns(&self.id) {
                    let reason = Cow::Owned(order.reason.as_ref().into());
                    self.closing = Some(Close { code: order.code, reason });
                }
                None
            }
            other => push::encode(other, self.format, deflater),
        }
    }

    /// Adds a ping, to be answered in time. Nothing for one that has not connected yet.
    pub fn ping(&mut self, now: Duration, out: &mut VecDeque<Bytes>) {
        if self.joined.is_some() {
            out.push_back(push::ping(self.format));
            self.pong_due.get_or_insert(now + self.service.limits.pong_within);
        }
    }

    /// When something is due that [`look_in`](Self::look_in) sees to.
    pub fn next_due(&self) -> Option<Duration> {
        let subscriptions = self.joined.iter().flat_map(|joined| &joined.marked);
        let expiry = self.joined.as_ref().and_then(|joined| joined.expires);
        let due = self.connect_due().into_iter().chain(self.pong_due).chain(expiry);
        due.chain(subscriptions.filter_map(|it| it.expires)).min()
    }

    /// Sees to what is due: subscriptions that expire, and a connection that is to end. An end is said in `out`.
    pub fn look_in(&mut self, now: Duration, out: &mut VecDeque<Bytes>) -> Option<Close> {
        let is_due = |due: Option<Duration>| due.is_some_and(|due| due <= now);
        if is_due(self.connect_due()) {
            return Some(Close::from(&codes::BAD_MESSAGE));
        }
        if is_due(self.pong_due) {
            return Some(Close::from(&codes::NO_PONG));
        }
        let joined = self.joined.as_ref()?;
        if is_due(joined.expires) {
            return Some(Close::from(&codes::EXPIRED));
        }
        let expired = joined.marked.iter().filter(|it| is_due(it.expires));
        for channel in expired.map(|it| it.channel.clone()).collect::<Vec<_>>() {
            self.session.unsubscribe(&channel);
            self.forget(&channel);
            out.push_back(push::unsubscribe(&channel, &codes::SUBSCRIPTION_EXPIRED, self.format));
        }
        None
    }

    /// By when it has to say who it is. While its token is checked it is not its turn.
    fn connect_due(&self) -> Option<Duration> {
        let waits = self.joined.is_none() && self.put_off.is_none();
        waits.then(|| self.opened + self.service.limits.connect_within)
    }

    fn run(
        &mut self,
        first: Option<Command>,
        mut commands: Commands<'_>,
        now: Duration,
        deflater: &mut Deflater,
        frames: &mut VecDeque<Bytes>,
    ) -> Flow {
        let mut out = Out::new(self.format, self.deflate.then_some(deflater), frames);
        let flow = self.answer_all(first, &mut commands, now, &mut out);
        out.finish();
        match flow {
            Ok(Flow::Full) => {
                let rest = commands.into_owned();
                self.put_off = Some(Box::new(PutOff { command: None, rest }));
                Flow::Full
            }
            Ok(Flow::Check(token)) => {
                if let Some(put_off) = &mut self.put_off {
                    put_off.rest = commands.into_owned();
                }
                Flow::Check(token)
            }
            Ok(flow) => flow,
            Err(close) => Flow::Close(close),
        }
    }

    fn answer_all(
        &mut self,
        first: Option<Command>,
        commands: &mut Commands<'_>,
        now: Duration,
        out: &mut Out<'_>,
    ) -> Result<Flow, Close> {
        if let Some(command) = first {
            self.answer(command, now, out)?;
        }
        loop {
            if commands.bytes_left() == 0 {
                return Ok(Flow::Ready);
            }
            if out.is_full() {
                return Ok(Flow::Full);
            }
            let before = commands.bytes_left();
            let Some(command) = commands.next() else { return Ok(Flow::Ready) };
            self.charge(before - commands.bytes_left(), now)?;
            let command = command?;
            if let Some(token) = self.unknown_token(&command) {
                let rest = Commands::new(self.format, Vec::new());
                self.put_off = Some(Box::new(PutOff { command: Some(command), rest }));
                return Ok(Flow::Check(token));
            }
            self.answer(command, now, out)?;
        }
    }

    /// The command's token, if it has one that takes long to check.
    fn unknown_token(&self, command: &Command) -> Option<Box<str>> {
        let token = match &command.request {
            Request::Connect(request) => &request.token,
            Request::Subscribe(request) => &request.token,
            Request::Refresh(request) => &request.token,
            Request::SubRefresh(request) => &request.token,
            _ => return None,
        };
        (!token.is_empty() && !self.service.gate.is_known(token)).then(|| token.as_str().into())
    }

    fn answer(&mut self, command: Command, now: Duration, out: &mut Out<'_>) -> Result<(), Close> {
        let Command { id, request } = command;
        let answered = match (request, self.joined.is_some()) {
            (Request::Connect(request), false) => self.connect(&request, now, out),
            // Who it is comes first, and once.
            (_, false) | (Request::Connect(_), true) => {
                return Err(Close::from(&codes::BAD_MESSAGE));
            }
            (Request::Pong, true) => {
                self.pong_due = None;
                return Ok(());
            }
            // Nobody listens to what a client merely sends.
            (Request::Send, true) => return Ok(()),
            (request, true) => self.answer_joined(request, now, out),
        };
        let reply = match answered {
            Ok(reply) => Reply { id, ..reply },
            Err(refusal) => refused(id, refusal),
        };
        out.reply(&reply);
        for delivery in std::mem::take(&mut out.after_reply) {
            if let Some(pieces) = self.encode(&delivery, out.deflater()) {
                out.push(pieces);
            }
        }
        Ok(())
    }

    /// As others see it in a channel.
    fn member(&self, channel_info: Bytes) -> Arc<Member> {
        let who = self.identity();
        Arc::new(Member {
            client: self.id.clone(),
            user: who.map(|who| who.user.clone()).unwrap_or_default(),
            connection_info: who.map(|who| who.info.clone()).unwrap_or_default(),
            channel_info,
        })
    }

    /// Drops what is more than the subscription itself.
    fn forget(&mut self, channel: &Channel) {
        if let Some(joined) = &mut self.joined {
            joined.marked.retain(|it| it.channel != *channel);
        }
    }

    fn listens_to(&self, channel: &Channel) -> bool {
        self.session.channels().any(|it| it == channel)
    }
}

fn refused(id: u32, refusal: Refusal) -> Reply {
    let codes::ErrorCode { code, text, temporary, .. } = *refusal;
    let error = ReplyError { code, message: text.into(), temporary };
    Reply { id, error: Some(error), ..Reply::default() }
}

/// Tokens are nobody else's business.
impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("Ready"),
            Self::Full => f.write_str("Full"),
            Self::Check(_) => f.write_str("Check(…)"),
            Self::Close(close) => f.debug_tuple("Close").field(close).finish(),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id)
            .field("session", &self.session)
            .field("closing", &self.closing)
            .finish_non_exhaustive()
    }
}
