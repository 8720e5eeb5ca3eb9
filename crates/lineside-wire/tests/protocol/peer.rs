//! A test client, from its commands to its content, with the server's side of its connection.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use lineside_hub::{
    EncodedChannelName, Hub, NewsListener, PartitionListener, SessionLimits, WorkerPool,
};
use lineside_wire::auth::{Authorizer, ClientIdentity, RefusalCode, SubscribeGrant};
use lineside_wire::centrifuge::message::*;
use lineside_wire::centrifuge::{
    CentrifugeConnection, CentrifugeService, ClientHandler, ClientLimits, Command, CommandRequest,
    ConnectionClose, ProtocolFormat, ReceiveOutcome, Reply, ThreadCodecs,
};
use lineside_wire::codes;
use lineside_wire::websocket::frame::Opcode;
use lineside_wire::websocket::{EndpointRole, Inflater, WebSocketEvent, WebSocketReader, frame};
use parking_lot::Mutex;
use serde_json::Value;

pub(crate) const FORMATS: [ProtocolFormat; 2] = [ProtocolFormat::Json, ProtocolFormat::Protobuf];

/// An authorizer whose tokens are words: `ann`, `ann until 60`, `ann in app/x,app/y`; `forged` is invalid.
#[derive(Debug, Default)]
pub(crate) struct TokenAuthorizer {
    pub(crate) checked: Mutex<BTreeSet<String>>,
}

impl Authorizer for TokenAuthorizer {
    fn is_token_known(&self, token: &str) -> bool {
        self.checked.lock().contains(token)
    }

    fn verify_and_cache_token(&self, token: &str) {
        self.checked.lock().insert(token.into());
    }

    fn authorize_connect(&self, token: Option<&str>) -> Result<ClientIdentity, RefusalCode> {
        let Some(token) = token else { return Ok(ClientIdentity::default()) };
        let mut words = token.split(' ');
        let user = words.next().unwrap_or_default();
        if user == "forged" {
            return Err(&codes::UNAUTHORIZED);
        }
        let info = Bytes::from(format!("{{\"name\":\"{user}\"}}"));
        let mut identity = ClientIdentity { user: user.into(), info, ..ClientIdentity::default() };
        while let (Some(word), Some(value)) = (words.next(), words.next()) {
            match word {
                "until" => identity.expires = value.parse().ok(),
                _ => {
                    identity.channels = value
                        .split(',')
                        .map(|it| EncodedChannelName::parse_channel_name(it).expect("a channel"))
                        .collect()
                }
            }
        }
        Ok(identity)
    }

    fn authorize_subscribe(
        &self,
        identity: &ClientIdentity,
        channel: &EncodedChannelName,
        token: Option<&str>,
    ) -> Result<SubscribeGrant, RefusalCode> {
        let name = channel.as_str();
        let is_not_named = name.starts_with("app/closed/") && !identity.channels.contains(channel);
        if name.starts_with("ops/") || is_not_named {
            return Err(&codes::PERMISSION_DENIED);
        }
        let expires = token.and_then(|token| token.strip_prefix("until ")?.parse().ok());
        Ok(SubscribeGrant { expires, info: Bytes::new() })
    }

    fn authorize_publish(
        &self,
        identity: &ClientIdentity,
        _: &EncodedChannelName,
    ) -> Result<(), RefusalCode> {
        if identity.user.is_empty() { Err(&codes::PERMISSION_DENIED) } else { Ok(()) }
    }
}

/// A partition's signals, and its workers' jobs.
#[derive(Default)]
struct PartitionWorkers(Mutex<VecDeque<Box<dyn FnOnce() + Send>>>);

impl NewsListener for PartitionWorkers {
    fn signal_news(&self) {}
}

impl WorkerPool for PartitionWorkers {
    fn submit_job(&self, job: Box<dyn FnOnce() + Send>) {
        self.0.lock().push_back(job);
    }
}

/// The kind of session: with its own listener, or of a partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SessionKind {
    Direct,
    Partition,
}

/// A client's content of one channel.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct ChannelContent {
    pub(crate) epoch: String,
    pub(crate) offset: u64,
    pub(crate) records: BTreeMap<String, Value>,
    building: BTreeMap<String, Value>,
    pub(crate) states: usize,
    pub(crate) gaps: usize,
}

impl ChannelContent {
    /// Applies the reply's position, then its publications, as a client does.
    fn subscribed(&mut self, result: &SubscribeResult) {
        self.epoch.clone_from(&result.epoch);
        self.offset = result.offset;
        result.publications.iter().for_each(|it| self.publication(it));
    }

    fn publication(&mut self, publication: &Publication) {
        if publication.offset > 0 {
            self.offset = publication.offset;
        }
        if !publication.epoch.is_empty() {
            self.epoch.clone_from(&publication.epoch);
        }
        let data: Value = serde_json::from_slice(&publication.data).expect("JSON");
        let Some(changes) = data["changes"].as_array() else { return };
        self.gaps += usize::from(data["gap"] == true && data["state"]["part"] == 1);
        let is_state = data["state"].is_object();
        if data["state"]["part"] == 1 {
            self.building.clear();
            self.states += 1;
        }
        let records = if is_state { &mut self.building } else { &mut self.records };
        for change in changes {
            let id = change["id"].to_string();
            if change["op"] == "upsert" {
                records.insert(id, change["record"].clone());
            } else {
                records.remove(&id);
            }
        }
        if is_state && data["state"]["part"] == data["state"]["parts"] {
            self.records = std::mem::take(&mut self.building);
        }
    }
}

/// Both ends of a connection.
pub(crate) struct Peer {
    pub(crate) connection: CentrifugeConnection,
    pub(crate) authorizer: Arc<TokenAuthorizer>,
    hub: Arc<Hub>,
    listener: Option<PartitionListener>,
    workers: Arc<PartitionWorkers>,
    format: ProtocolFormat,
    codecs: ThreadCodecs,
    reader: WebSocketReader,
    last_id: u32,
    /// The channels, by the id of the command that subscribed to them.
    requested_channels: BTreeMap<u32, String>,
    /// The size of the pieces in which the server gets input, in bytes.
    pub(crate) piece: usize,
    pub(crate) contents: BTreeMap<String, ChannelContent>,
    /// Pushes, which no [`ask`](Self::ask) requested.
    pub(crate) pushes: Vec<Push>,
    pub(crate) pings: usize,
    pub(crate) closed: Option<ConnectionClose>,
    pub(crate) largest_frame: usize,
    pub(crate) waits: usize,
}

impl Peer {
    pub(crate) fn new(hub: &Arc<Hub>, format: ProtocolFormat, deflate: bool) -> Self {
        Self::open(hub, format, deflate, ClientLimits::default(), SessionKind::Direct)
    }

    pub(crate) fn on(
        hub: &Arc<Hub>,
        format: ProtocolFormat,
        deflate: bool,
        kind: SessionKind,
    ) -> Self {
        Self::open(hub, format, deflate, ClientLimits::default(), kind)
    }

    pub(crate) fn with_limits(
        hub: &Arc<Hub>,
        format: ProtocolFormat,
        deflate: bool,
        limits: ClientLimits,
    ) -> Self {
        Self::open(hub, format, deflate, limits, SessionKind::Direct)
    }

    fn open(
        hub: &Arc<Hub>,
        format: ProtocolFormat,
        deflate: bool,
        limits: ClientLimits,
        kind: SessionKind,
    ) -> Self {
        let workers = Arc::new(PartitionWorkers::default());
        let listener = (kind == SessionKind::Partition)
            .then(|| PartitionListener::new(hub, workers.clone(), workers.clone()));
        let authorizer = Arc::new(TokenAuthorizer::default());
        let service = CentrifugeService {
            hub: hub.clone(),
            authorizer: authorizer.clone(),
            limits,
            version: "test",
        };
        let session_limits = SessionLimits { channels_max: 512 };
        let session = match &listener {
            Some(listener) => listener.open_session(0, session_limits),
            None => hub.open_session(workers.clone(), session_limits),
        };
        let now = service.hub.clock().monotonic();
        let id = fastrand::u128(..);
        let client = ClientHandler::new(Arc::new(service), session, format, deflate, id, now);
        Self {
            connection: CentrifugeConnection::new(client, deflate),
            authorizer,
            hub: hub.clone(),
            listener,
            workers,
            format,
            codecs: ThreadCodecs::default(),
            reader: WebSocketReader::new(EndpointRole::Client, 1 << 20, deflate),
            last_id: 0,
            requested_channels: BTreeMap::new(),
            piece: usize::MAX,
            contents: BTreeMap::new(),
            pushes: Vec::new(),
            pings: 0,
            closed: None,
            largest_frame: 0,
            waits: 0,
        }
    }

    /// Sends the commands in one message and returns the replies.
    pub(crate) fn ask_all(
        &mut self,
        requests: impl IntoIterator<Item = CommandRequest>,
    ) -> Vec<Reply> {
        let mut message = BytesMut::new();
        let first = self.last_id + 1;
        let mut wanted = 0;
        for request in requests {
            let answered = !matches!(request, CommandRequest::Pong | CommandRequest::Send);
            self.last_id += u32::from(answered);
            wanted += usize::from(answered);
            let id = if answered { self.last_id } else { 0 };
            if let CommandRequest::Subscribe(request) = &request {
                self.requested_channels.insert(id, request.channel.clone());
            }
            Command { id, request }.append_to_message(self.format, &mut message).expect("JSON");
        }
        let mut bytes = BytesMut::new();
        let opcode = match self.format {
            ProtocolFormat::Json => Opcode::Text,
            ProtocolFormat::Protobuf => Opcode::Binary,
        };
        frame::write_masked_frame(&mut bytes, opcode, false, &message, [1, 2, 3, 4]);
        let replies = self.send(&bytes);
        if self.closed.is_none() {
            let ids: Vec<u32> = replies.iter().map(|reply| reply.id).collect();
            let expected: Vec<u32> = (first..first + wanted as u32).collect();
            assert_eq!(ids, expected, "each command gets its reply, in order");
        }
        replies
    }

    pub(crate) fn ask(&mut self, request: CommandRequest) -> Reply {
        self.ask_all([request]).pop().unwrap_or_default()
    }

    pub(crate) fn connect(&mut self, token: &str) -> Reply {
        let request = ConnectRequest { token: token.into(), ..ConnectRequest::default() };
        self.ask(CommandRequest::Connect(request))
    }

    /// Subscribes to the channels in one message, each from its position.
    pub(crate) fn subscribe_all(&mut self, channels: &[&str]) -> Vec<Reply> {
        let requests: Vec<_> =
            channels.iter().map(|channel| self.subscribe_request(channel)).collect();
        self.ask_all(requests)
    }

    pub(crate) fn subscribe(&mut self, channel: &str) -> Reply {
        self.subscribe_all(&[channel]).pop().unwrap_or_default()
    }

    pub(crate) fn subscribe_request(&self, channel: &str) -> CommandRequest {
        let content = self.contents.get(channel);
        CommandRequest::Subscribe(SubscribeRequest {
            channel: channel.into(),
            recover: content.is_some(),
            epoch: content.map(|held| held.epoch.clone()).unwrap_or_default(),
            offset: content.map_or(0, |held| held.offset),
            join_leave: true,
            ..SubscribeRequest::default()
        })
    }

    /// Sends raw bytes; returns the replies.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Vec<Reply> {
        let mut replies = Vec::new();
        for piece in bytes.chunks(self.piece.min(bytes.len()).max(1)) {
            if self.closed.is_some() {
                break;
            }
            let mut piece = piece.to_vec();
            let mut out = VecDeque::new();
            let now = self.hub.clock().monotonic();
            let mut flow =
                self.connection.receive_bytes(&mut piece, now, &mut self.codecs, &mut out);
            loop {
                let written: Vec<Bytes> = out.drain(..).collect();
                replies.extend(self.read(&written.concat()));
                match flow {
                    ReceiveOutcome::Ready => break,
                    ReceiveOutcome::Full => self.waits += 1,
                    ReceiveOutcome::Check(token) => {
                        self.waits += 1;
                        assert!(
                            !self.authorizer.is_token_known(&token),
                            "each token is checked once"
                        );
                        self.authorizer.verify_and_cache_token(&token);
                    }
                    ReceiveOutcome::Close(close) => {
                        self.closed = Some(close);
                        break;
                    }
                }
                flow = self.connection.resume_receiving(now, &mut self.codecs, &mut out);
            }
        }
        replies
    }

    /// Takes at most `max` deliveries; returns their number.
    pub(crate) fn pull(&mut self, max: usize) -> usize {
        for taken in 0..max {
            self.turn();
            let mut pieces = Vec::new();
            if !self.connection.client().next_delivery_frames(&mut pieces, &mut self.codecs) {
                self.closed =
                    self.closed.take().or(self.connection.as_client().pending_close().cloned());
                return taken;
            }
            assert!(pieces.len() <= 3);
            let replies = self.read(&pieces.concat());
            assert!(replies.is_empty(), "a delivery is a push");
        }
        max
    }

    /// Runs a partition's turn: its workers' jobs, and the rooms with news.
    fn turn(&mut self) {
        let jobs = std::mem::take(&mut *self.workers.0.lock());
        jobs.into_iter().for_each(|job| job());
        let Some(listener) = &mut self.listener else { return };
        let (mut rooms, mut slots) = (Vec::new(), Vec::new());
        listener.take_rooms_with_news(&mut rooms);
        rooms.iter().for_each(|room| listener.collect_room_subscriptions(*room, &mut slots));
        for slot in slots {
            self.connection.client().session().mark_subscription_has_news(slot.subscription);
        }
    }

    /// Handles due events.
    pub(crate) fn look_in(&mut self) {
        let now = self.hub.clock().monotonic();
        let mut out = VecDeque::new();
        let closed = self.connection.handle_due(now, &mut out);
        self.closed = self.closed.take().or(closed);
        let bytes: Vec<Bytes> = out.into();
        assert!(self.read(&bytes.concat()).is_empty());
    }

    pub(crate) fn ping(&mut self) {
        let mut out = VecDeque::new();
        self.connection.client().queue_ping(self.hub.clock().monotonic(), &mut out);
        let bytes: Vec<Bytes> = out.into();
        assert!(self.read(&bytes.concat()).is_empty());
    }

    fn read(&mut self, bytes: &[u8]) -> Vec<Reply> {
        let mut bytes = bytes.to_vec();
        let mut input = bytes.as_mut_slice();
        let mut replies = Vec::new();
        let mut inflater = Inflater::default();
        while let Some(event) = self.reader.next_event(&mut input, &mut inflater) {
            let message = match event.expect("the server violates no protocol rule") {
                WebSocketEvent::Text(text) if self.format == ProtocolFormat::Json => {
                    text.into_owned().into_bytes()
                }
                WebSocketEvent::Binary(bytes) if self.format == ProtocolFormat::Protobuf => {
                    bytes.into_owned()
                }
                WebSocketEvent::Pong(_) => continue,
                event => panic!("{event:?}"),
            };
            self.largest_frame = self.largest_frame.max(message.len());
            for reply in Reply::read_replies_of_message(self.format, &message) {
                let reply = reply.expect("a reply");
                if reply == Reply::default() {
                    self.pings += 1;
                } else if let Some(push) = reply.push {
                    self.push(push);
                } else {
                    self.note(&reply);
                    replies.push(reply);
                }
            }
        }
        assert!(self.reader.is_between_messages(), "the server sends whole frames");
        replies
    }

    /// Applies the positions in a reply before anything that comes after it.
    fn note(&mut self, reply: &Reply) {
        let requested = self.requested_channels.get(&reply.id).cloned();
        if let (Some(channel), Some(result)) = (requested, &reply.subscribe) {
            self.contents.entry(channel).or_default().subscribed(result);
        }
        for sub in reply.connect.iter().flat_map(|connect| &connect.subs) {
            self.contents.entry(sub.channel.clone()).or_default().subscribed(&sub.result);
        }
    }

    fn push(&mut self, push: Push) {
        match (&push.publication, self.contents.get_mut(&push.channel)) {
            (Some(publication), Some(content)) => content.publication(publication),
            _ => self.pushes.push(push),
        }
    }

    /// Returns the client on a new connection, with its content.
    pub(crate) fn again(self) -> Self {
        let Self { hub, format, contents, piece, connection, listener, .. } = self;
        let kind = if listener.is_some() { SessionKind::Partition } else { SessionKind::Direct };
        drop(connection);
        Self { contents, piece, ..Self::on(&hub, format, true, kind) }
    }
}
