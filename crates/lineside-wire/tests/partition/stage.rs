//! A hub with two networks, partitions that serve it, and client sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lineside_hub::{
    BadChannelName, ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName,
    Epoch, Hub, HubConfig, Position, RoomKey,
};
use lineside_sync::{SimulatedClock, UnixMillis};
use lineside_wire::auth::{Authorizer, ClientIdentity, RefusalCode, SubscribeGrant};
use lineside_wire::centrifuge::{
    CentrifugeService, ClientLimits, ProtocolFormat, WebSocketRequest,
};
use lineside_wire::partition::limits::COALESCE;
use lineside_wire::partition::{
    PartitionSet, PartitionSetConfig, PendingConnection, TransportRequest,
};
use lineside_wire::sse::{SseRequest, SseSubscriber};
use parking_lot::Mutex;

use crate::peer::Peer;

/// The time within which an expected event must happen.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// An authorizer that permits everything.
#[derive(Debug)]
struct Open;

/// The token on which the authorizer panics.
pub(crate) const FAULT: &str = "fault";

impl Authorizer for Open {
    fn is_token_known(&self, _: &str) -> bool {
        true
    }

    fn verify_and_cache_token(&self, _: &str) {}

    fn authorize_connect(&self, _: Option<&str>) -> Result<ClientIdentity, RefusalCode> {
        Ok(ClientIdentity::default())
    }

    fn authorize_subscribe(
        &self,
        _: &ClientIdentity,
        _: &EncodedChannelName,
        token: Option<&str>,
    ) -> Result<SubscribeGrant, RefusalCode> {
        assert_ne!(token, Some(FAULT), "intended panic of the partition");
        Ok(SubscribeGrant::default())
    }

    fn authorize_publish(
        &self,
        _: &ClientIdentity,
        _: &EncodedChannelName,
    ) -> Result<(), RefusalCode> {
        Ok(())
    }
}

/// The networks `feed/1` and `feed/2`: the offset of each, and the size of its state.
struct Networks(Mutex<[(u64, usize); 2]>);

fn key(network: u32) -> RoomKey {
    RoomKey { group: network, kind: 1, id: 0 }
}

fn at(offset: u64) -> Position {
    Position { epoch: Epoch::from_bits(7), offset }
}

impl ChannelStateSource for Networks {
    fn resolve_channel(
        &self,
        channel: &EncodedChannelName,
    ) -> Result<RoomKey, ChannelResolveError> {
        match channel.as_str() {
            "feed/1" => Ok(key(1)),
            "feed/2" => Ok(key(2)),
            name if name.starts_with("feed/") => Err(ChannelResolveError::UnknownFeed),
            _ => Err(BadChannelName::UnknownForm.into()),
        }
    }

    fn sequence_name(&self, _: &EncodedChannelName, key: RoomKey) -> String {
        key.group.to_string()
    }

    fn current_position(&self, _: &EncodedChannelName, key: RoomKey) -> Option<Position> {
        Some(at(self.0.lock()[key.group as usize - 1].0))
    }

    fn read_state(&self, _: &EncodedChannelName, key: RoomKey) -> ChannelState {
        const PART: usize = 100_000;
        let (offset, bytes) = self.0.lock()[key.group as usize - 1];
        let n = bytes.div_ceil(PART).max(1);
        let part = |part: usize| {
            let filling = "x".repeat(bytes.min(PART));
            let text = format!(
                r#"{{"at":0,"state":{{"part":{part},"parts":{n}}},"filling":"{filling}","changes":[]}}"#
            );
            Bytes::from(text)
        };
        ChannelState { position: Some(at(offset)), parts: (1..=n).map(part).collect() }
    }
}

/// A client's end of a socket. While it waits, the server's clock advances, because a room that is behind starts its
/// next pass only after some time.
pub(crate) struct ClientSocket {
    pub(crate) socket: TcpStream,
    clock: SimulatedClock,
}

impl Read for ClientSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let begun = Instant::now();
        loop {
            match self.socket.read(into) {
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < TIMEOUT =>
                {
                    self.clock.advance_time(COALESCE);
                }
                done => return done,
            }
        }
    }
}

impl Write for ClientSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

pub(crate) struct Stage {
    pub(crate) hub: Arc<Hub>,
    /// The clock of the sockets' deadlines.
    pub(crate) clock: SimulatedClock,
    pub(crate) partitions: PartitionSet,
    service: Arc<CentrifugeService>,
    networks: Arc<Networks>,
    listener: TcpListener,
}

impl Stage {
    pub(crate) fn new(state_bytes: usize) -> Self {
        let networks = Arc::new(Networks(Mutex::new([(0, state_bytes), (0, 0)])));
        let clock = SimulatedClock::new(UnixMillis(0));
        let hub = Hub::new(HubConfig::default(), networks.clone(), Arc::new(clock.clone()), 1);
        let authorizer: Arc<dyn Authorizer> = Arc::new(Open);
        let service = Arc::new(CentrifugeService {
            hub: hub.clone(),
            authorizer: authorizer.clone(),
            limits: ClientLimits::default(),
            version: "test",
        });
        let config = PartitionSetConfig { partitions: 2, workers: 1 };
        let partitions =
            PartitionSet::start_threads(&hub, &authorizer, Arc::new(clock.clone()), config, 1)
                .expect("threads");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        Self { hub, clock, partitions, service, networks, listener }
    }

    /// Opens a connection with a transport; `head` comes first.
    pub(crate) fn connect(
        &self,
        transport: impl TransportRequest + 'static,
        head: &'static [u8],
    ) -> ClientSocket {
        let address = self.listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).expect("a connection");
        client.set_read_timeout(Some(TIMEOUT / 200)).expect("a timeout");
        let (socket, _) = self.listener.accept().expect("the other end");
        socket.set_nonblocking(true).expect("non-blocking");
        let pending = PendingConnection {
            socket,
            tls: None,
            unread: Bytes::new(),
            head: Bytes::from_static(head),
            refusal: Bytes::from_static(b"full"),
            transport: Arc::new(transport),
            permit: Box::new(()),
        };
        self.partitions
            .hand_to_next_partition(Box::new(pending))
            .expect("a partition with free slots");
        ClientSocket { socket: client, clock: self.clock.clone() }
    }

    /// Opens a WebSocket client that has sent nothing yet.
    pub(crate) fn websocket(&self) -> Peer {
        let service = self.service.clone();
        Peer::new(self.connect(
            WebSocketRequest { service, format: ProtocolFormat::Json, deflate: false },
            b"",
        ))
    }

    /// Opens a client that is subscribed to a network and has its state.
    pub(crate) fn listener(&self, network: u32) -> Peer {
        let mut peer = self.websocket();
        peer.connect();
        peer.subscribe(&format!("feed/{network}"));
        peer
    }

    /// Opens an event stream, as raw bytes.
    pub(crate) fn events(&self, network: u32, reader: SseSubscriber) -> ClientSocket {
        let channels = vec![format!("feed/{network}").into()];
        self.connect(SseRequest { channels, last_event_id: None, reader }, b"head\r\n\r\n")
    }

    /// Publishes `bytes` bytes in a network; returns the offset.
    pub(crate) fn publish(&self, network: u32, bytes: usize) -> u64 {
        let offset = {
            let mut networks = self.networks.0.lock();
            let network = &mut networks[network as usize - 1];
            network.0 += 1;
            network.0
        };
        let mut batch = self.hub.open_publish_batch();
        if let Some(room) = self.hub.find_room(key(network)) {
            let filling = "y".repeat(bytes);
            let text = format!(r#"{{"at":0,"filling":"{filling}","changes":[]}}"#);
            batch.append_publication(&room, Some(at(offset)), text.into());
        }
        batch.mark_group_published_up_to(network, at(offset));
        batch.finish_and_signal_listeners();
        // Rooms that are behind wait for time to pass.
        self.clock.advance_time(COALESCE);
        offset
    }
}

/// Waits until `condition` returns true.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < TIMEOUT, "{what}: this did not happen within {TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
