//! A million sessions in one room, in one process and without sockets: the memory of each, and the time of a
//! publication to all.

use std::collections::VecDeque;
use std::fmt;
use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::{Bytes, BytesMut};
use lineside_hub::{
    ChannelResolveError, ChannelState, ChannelStateSource, EncodedChannelName, Hub, HubConfig,
    NewsListener, PartitionListener, PublicationExtras, RoomKey, SessionLimits, WorkerPool,
};
use lineside_sync::RealClock;
use lineside_wire::auth::{Authorizer, ClientIdentity, RefusalCode, SubscribeGrant};
use lineside_wire::centrifuge::{
    CentrifugeConnection, CentrifugeService, ClientHandler, ClientLimits, ProtocolFormat,
    ThreadCodecs,
};
use lineside_wire::websocket::frame::{self, Opcode};
use serde::{Deserialize, Serialize};

use super::servers::PLAIN;
use super::{Bench, MILLION, Samples};
use crate::{process::memory, report::Row, rounds::timed};

const SESSIONS: usize = 1_000_000;
const SESSIONS_QUICK: usize = 20_000;
/// Publications whose median is reported.
const PUBLICATIONS: usize = 5;
const COMMANDS: &[u8] =
    b"{\"id\":1,\"connect\":{}}\n{\"id\":2,\"subscribe\":{\"channel\":\"app/load/1\"}}";

/// The result of a process.
#[derive(Serialize, Deserialize)]
struct Outcome {
    bytes: f64,
    /// Microseconds of a connect and subscribe.
    connect: f64,
    /// Milliseconds until the publish call returns, and until the last session has delivered its bytes.
    publisher: f64,
    last: f64,
}

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let sessions = bench.effort.size(SESSIONS_QUICK, SESSIONS);
    let mut samples = Samples::default();
    for _ in 0..bench.effort.rounds {
        let program = std::env::current_exe().context("this program is a file")?;
        let output = Command::new(program).args([MILLION, &sessions.to_string()]).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "a process of sessions failed: {said}");
        let Outcome { bytes, connect, publisher, last } = serde_json::from_slice(&output.stdout)?;
        samples.add("bytes", bytes);
        samples.add("connect", connect);
        samples.add("publisher", publisher);
        samples.add("last", last);
    }
    let room = format!("{sessions} sessions in one room, no sockets");
    let mut add = |what: &str, name, unit| {
        bench.report.add(Row::new(format!("{room}: {what}"), samples.median(name), unit));
    };
    add("each takes", "bytes", "B");
    add("connect and subscribe", "connect", "µs");
    add("the publisher goes on", "publisher", "ms");
    add("the last has 200 bytes", "last", "ms");
    Ok(())
}

/// Runs as the measured process.
pub(super) fn measure(sessions: usize) -> anyhow::Result<()> {
    let hub = Hub::new(HubConfig::default(), Arc::new(Nothing), Arc::new(RealClock::new()), 1);
    let mut audience = PartitionListener::new(&hub, Arc::new(Nothing), Arc::new(Nothing));
    let service = Arc::new(CentrifugeService {
        hub: Arc::clone(&hub),
        authorizer: Arc::new(Nothing),
        limits: ClientLimits::default(),
        version: "0",
    });
    let mut codecs = ThreadCodecs::default();
    let mut commands = BytesMut::new();
    frame::write_masked_frame(&mut commands, Opcode::Text, false, COMMANDS, [1, 2, 3, 4]);
    let before = memory("self", "VmRSS:")?;
    let mut rows: Vec<Box<CentrifugeConnection>> = Vec::with_capacity(sessions);
    let (connecting, connected) = timed(|| {
        for row in 0..sessions {
            rows.push(connect(&audience, &service, row, &commands, &mut codecs)?);
        }
        anyhow::Ok(())
    });
    connected?;
    let bytes = (memory("self", "VmRSS:")? - before) / sessions as f64;
    let channel = EncodedChannelName::parse_channel_name(PLAIN)?;
    let mut samples = Samples::default();
    for _ in 0..PUBLICATIONS {
        let start = Instant::now();
        hub.publish_to_app_channel(&channel, vec![b'1'; 200].into(), PublicationExtras::default())?;
        samples.add("publisher", millis(start.elapsed()));
        let written = tell(&mut audience, &mut rows, &mut codecs);
        samples.add("last", millis(start.elapsed()));
        ensure!(written == sessions, "{written} of {sessions} sessions had it");
    }
    let outcome = Outcome {
        bytes,
        connect: connecting.as_secs_f64() * 1e6 / sessions as f64,
        publisher: samples.median("publisher"),
        last: samples.median("last"),
    };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}

fn connect(
    audience: &PartitionListener,
    service: &Arc<CentrifugeService>,
    row: usize,
    commands: &[u8],
    codecs: &mut ThreadCodecs,
) -> anyhow::Result<Box<CentrifugeConnection>> {
    let session = audience.open_session(u32::try_from(row)?, SessionLimits::default());
    let (service, now) = (Arc::clone(service), Duration::ZERO);
    let client =
        ClientHandler::new(service, session, ProtocolFormat::Json, false, row as u128, now);
    let mut connection = Box::new(CentrifugeConnection::new(client, false));
    let mut replies = VecDeque::new();
    connection.receive_bytes(&mut commands.to_vec(), now, codecs, &mut replies);
    let subscribed = connection.client().session().subscription_count() == 1;
    ensure!(subscribed, "a session did not get in: {replies:?}");
    give_away(&mut connection, codecs, &mut Vec::new());
    Ok(connection)
}

/// Runs one round of a partition: collects the rooms with news, their subscribers, and the bytes of each. Returns the
/// number of subscribers with bytes.
fn tell(
    audience: &mut PartitionListener,
    rows: &mut [Box<CentrifugeConnection>],
    codecs: &mut ThreadCodecs,
) -> usize {
    let (mut rooms, mut seats, mut pieces) = (Vec::new(), Vec::new(), Vec::new());
    audience.take_rooms_with_news(&mut rooms);
    rooms.iter().for_each(|room| audience.collect_room_subscriptions(*room, &mut seats));
    let mut written = 0;
    for seat in seats {
        let row = &mut rows[seat.row as usize];
        row.client().session().mark_subscription_has_news(seat.subscription);
        written += usize::from(give_away(row, codecs, &mut pieces));
    }
    written
}

/// Drops the bytes that a socket would be sent; returns true if there were any.
fn give_away(
    row: &mut CentrifugeConnection,
    codecs: &mut ThreadCodecs,
    pieces: &mut Vec<Bytes>,
) -> bool {
    let mut some = false;
    while row.client().next_delivery_frames(pieces, codecs) {
        some = true;
        pieces.drain(..).for_each(|piece| _ = black_box(piece));
    }
    some
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A source without feeds, a listener that needs no wake-up, workers without work, and an authorizer that admits
/// everyone.
struct Nothing;

impl fmt::Debug for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nothing")
    }
}

impl NewsListener for Nothing {
    fn signal_news(&self) {}
}

impl WorkerPool for Nothing {
    fn submit_job(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}

impl ChannelStateSource for Nothing {
    fn resolve_channel(&self, _: &EncodedChannelName) -> Result<RoomKey, ChannelResolveError> {
        Err(ChannelResolveError::UnknownFeed)
    }

    fn sequence_name(&self, channel: &EncodedChannelName, _: RoomKey) -> String {
        channel.as_str().to_owned()
    }

    fn current_position(
        &self,
        _: &EncodedChannelName,
        _: RoomKey,
    ) -> Option<lineside_hub::Position> {
        None
    }

    fn read_state(&self, _: &EncodedChannelName, _: RoomKey) -> ChannelState {
        ChannelState { position: None, parts: Vec::new() }
    }
}

impl Authorizer for Nothing {
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
        _: Option<&str>,
    ) -> Result<SubscribeGrant, RefusalCode> {
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
