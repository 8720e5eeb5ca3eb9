//! Clients that come, listen, publish, leave and return at random, for a chosen time: clients that stay miss nothing,
//! and the server does not grow.
//!
//! `LINESIDE_SOAK_SECONDS` is the duration, `LINESIDE_SOAK_SEED` the seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use super::socket::{Socket, TEXT, connect, frame};
use super::{BackEnd, WAIT_MAX, client_address, eventually, start};
use crate::support::events::Stream;
use crate::support::process::{ServerProcess, Usage};

const SECONDS_DEFAULT: u64 = 40;
const CHANNELS: u64 = 16;
/// Number of clients on each transport that stay from beginning to end, and of those that come and go.
const PERMANENT_CLIENTS: u64 = 32;
const ROAMING_CLIENTS: u64 = 150;
/// Time between two publications of the back end.
const PAUSE: Duration = Duration::from_millis(25);
/// Number of memory samples.
const SAMPLES: u32 = 40;
/// Allowed growth of memory after the warm-up, as a part and in bytes: an allocator's reserves vary.
const GROWTH_PART: f64 = 0.15;
const GROWTH_BYTES: u64 = 16 << 20;
/// Number of descriptors that a server may open once and retain.
const DESCRIPTOR_GROWTH_MAX: usize = 4;
/// The last publication of a channel.
const LAST: &str = "last";

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, and not {text:?}")))
}

fn channel(n: u64) -> String {
    format!("app/met/{}", n % CHANNELS)
}

/// The state that all clients share.
struct Soak {
    address: String,
    url: String,
    is_stopped: AtomicBool,
    /// Counters that prove the activity.
    visits: AtomicU64,
    resumed: AtomicU64,
}

/// Receives all publications of a channel to the last one; returns their number.
async fn read_websocket(soak: Arc<Soak>, channel: String) -> u64 {
    let mut socket = Socket::open(&soak.address).await.unwrap();
    let subscribe = json!({"id": 2, "subscribe": {"channel": channel}});
    socket.send(&[json!({"id": 1, "connect": {}}), subscribe]).await.unwrap();
    let (mut offset, mut n_messages) = (None, 0);
    while let Some(message) = socket.next().await {
        if message["id"] == 2 {
            offset = Some(message["subscribe"]["offset"].as_u64().unwrap_or(0));
        }
        let publication = &message["push"]["pub"];
        if publication.is_object() {
            n_messages += 1;
            let expected = offset.map(|offset: u64| offset + 1);
            offset = publication["offset"].as_u64();
            assert_eq!(offset, expected, "{channel}: {message}");
            if publication["data"] == LAST {
                return n_messages;
            }
        }
    }
    panic!("{channel}: cut off after {n_messages} publications with {:?}", socket.closed);
}

/// Receives all publications of a channel as server-sent events; returns their number.
async fn read_event_stream(soak: Arc<Soak>, channel: String) -> u64 {
    let mut stream = Stream::open(&soak.url, &format!("channel={channel}")).await;
    let (mut last, mut n_messages) = (None, 0);
    while let Some(event) = stream.next().await {
        let offset = event.data["offset"].as_u64().unwrap();
        assert!(last.is_none_or(|last| offset == last + 1), "{channel}: {offset} after {last:?}");
        (last, n_messages) = (Some(offset), n_messages + 1);
        if event.data["data"] == LAST {
            return n_messages;
        }
    }
    panic!("{channel}: cut off after {n_messages} publications");
}

/// A client that comes and goes, each time in another way.
struct RoamingClient {
    random: fastrand::Rng,
    soak: Arc<Soak>,
    /// The last channel and its position when the client left.
    left_at: Option<(String, Value)>,
}

impl RoamingClient {
    async fn wander(mut self) {
        while !self.soak.is_stopped.load(Relaxed) {
            // A busy server may refuse, and the client tries again.
            _ = match self.random.u8(..10) {
                0 => self.stay_silent().await,
                1..4 => self.read_a_stream().await,
                _ => self.visit().await,
            };
            self.soak.visits.fetch_add(1, Relaxed);
            self.rest(300).await;
        }
    }

    async fn rest(&mut self, millis_max: u64) {
        tokio::time::sleep(Duration::from_millis(self.random.u64(..millis_max))).await;
    }

    async fn stay_silent(&mut self) -> std::io::Result<()> {
        let mut stream = connect(&self.soak.address, None).await?;
        let request = b"GET /events?channel=app/met/1 HTTP/1.1\r\n";
        stream.write_all(&request[..self.random.usize(..request.len())]).await?;
        self.rest(500).await;
        Ok(())
    }

    async fn read_a_stream(&mut self) -> std::io::Result<()> {
        let mut stream = connect(&self.soak.address, None).await?;
        let names: Vec<String> =
            (0..self.random.u64(1..4)).map(|_| format!("channel={}", self.any())).collect();
        let request = format!("GET /events?{} HTTP/1.1\r\nHost: x\r\n\r\n", names.join("&"));
        stream.write_all(request.as_bytes()).await?;
        let duration = Duration::from_millis(self.random.u64(..1_500));
        let mut bytes = vec![0; 4_096];
        let read = async { while !matches!(stream.read(&mut bytes).await, Ok(0) | Err(_)) {} };
        _ = tokio::time::timeout(duration, read).await;
        if self.random.bool() {
            stream.set_zero_linger()?;
        }
        Ok(())
    }

    fn any(&mut self) -> String {
        channel(self.random.u64(..CHANNELS))
    }

    async fn visit(&mut self) -> std::io::Result<()> {
        let mut socket = Socket::open(&self.soak.address).await?;
        let mut commands = vec![json!({"id": 1, "connect": {}})];
        let (name, subscribe) = match self.left_at.take() {
            Some((name, position)) => {
                let Value::Object(mut subscribe) = position else { unreachable!("an object") };
                subscribe.insert("channel".into(), name.clone().into());
                subscribe.insert("recover".into(), true.into());
                (name, Value::Object(subscribe))
            }
            None => {
                let name = self.any();
                (name.clone(), json!({"channel": name, "join_leave": self.random.bool()}))
            }
        };
        commands.push(json!({"id": 2, "subscribe": subscribe}));
        for id in 0..self.random.u64(..6) {
            let channel = self.any();
            commands.push(match self.random.u8(..6) {
                0 => json!({"id": 3 + id, "presence": {"channel": name}}),
                1 => json!({"id": 3 + id, "history": {"channel": name, "limit": 10}}),
                2 => json!({"id": 3 + id, "publish": {"channel": name, "data": {"by": "visitor"}}}),
                3 => json!({"id": 3 + id, "unsubscribe": {"channel": channel}}),
                _ => json!({"id": 3 + id, "subscribe": {"channel": channel}}),
            });
        }
        socket.send(&commands).await?;
        self.listen(&mut socket, &name).await;
        self.leave(socket).await
    }

    /// Listens for a while, and remembers the position of the channel.
    async fn listen(&mut self, socket: &mut Socket, name: &str) {
        let duration = Duration::from_millis(self.random.u64(..2_000));
        let (mut position, mut recovered) = (json!({}), false);
        let listen = async {
            while let Some(message) = socket.next().await {
                let subscribed = &message["subscribe"];
                if message["id"] == 2 && subscribed.is_object() {
                    recovered = subscribed["recovered"] == true;
                    position = json!({
                        "epoch": subscribed["epoch"],
                        "offset": subscribed["offset"].as_u64().unwrap_or(0),
                    });
                }
                let push = &message["push"];
                if push["channel"] == name && push["pub"].is_object() {
                    position["offset"] = push["pub"]["offset"].clone();
                }
            }
        };
        _ = tokio::time::timeout(duration, listen).await;
        self.soak.resumed.fetch_add(u64::from(recovered), Relaxed);
        if position["epoch"].is_string() && self.random.bool() {
            self.left_at = Some((name.to_owned(), position));
        }
    }

    async fn leave(&mut self, mut socket: Socket) -> std::io::Result<()> {
        match self.random.u8(..4) {
            0 => socket.send_frame(0x88, &1000_u16.to_be_bytes()).await,
            1 => socket.stream.set_zero_linger(),
            2 => {
                let half = frame(0x80 | TEXT, b"{\"id\":99,\"ping\":{}}");
                let end = self.random.usize(1..half.len());
                socket.stream.write_all(&half[..end]).await
            }
            _ => Ok(()),
        }
    }
}

/// Publishes into every channel in turn, and returns the memory samples.
async fn publish(server: &ServerProcess, back_end: &BackEnd, duration: Duration) -> Vec<Usage> {
    let started_at = Instant::now();
    let mut samples = Vec::new();
    for n in 0.. {
        back_end.publish(&channel(n), &json!({"number": n, "tail": "x".repeat(200)})).await;
        tokio::time::sleep(PAUSE).await;
        if started_at.elapsed() >= duration / SAMPLES * (samples.len() as u32 + 1) {
            samples.push(server.usage());
        }
        if samples.len() == SAMPLES as usize {
            break;
        }
    }
    samples
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_sessions_miss_nothing_and_memory_does_not_grow() {
    let seconds = number_from("LINESIDE_SOAK_SECONDS").unwrap_or(SECONDS_DEFAULT);
    let seed = number_from("LINESIDE_SOAK_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("LINESIDE_SOAK_SECONDS={seconds} LINESIDE_SOAK_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "4MiB");
    let back_end = BackEnd::for_server(&server);
    back_end.publish(&channel(0), &json!("the first")).await;
    let before = server.usage();

    let soak = Arc::new(Soak {
        address: client_address(&server),
        url: server.url.clone(),
        is_stopped: AtomicBool::new(false),
        visits: AtomicU64::new(0),
        resumed: AtomicU64::new(0),
    });
    let mut permanent_clients = JoinSet::new();
    for n in 0..PERMANENT_CLIENTS {
        permanent_clients.spawn(read_websocket(Arc::clone(&soak), channel(n)));
        permanent_clients.spawn(read_event_stream(Arc::clone(&soak), channel(n)));
    }
    eventually("all who stay are there", async || {
        back_end.metric("lineside_hub_subscriptions").await >= (2 * PERMANENT_CLIENTS) as f64
    })
    .await;
    let mut roaming_clients = JoinSet::new();
    for n in 0..ROAMING_CLIENTS {
        let random = fastrand::Rng::with_seed(seed.wrapping_add(n));
        let roaming_client = RoamingClient { random, soak: Arc::clone(&soak), left_at: None };
        roaming_clients.spawn(roaming_client.wander());
    }
    let samples = publish(&server, &back_end, Duration::from_secs(seconds)).await;
    soak.is_stopped.store(true, Relaxed);
    roaming_clients.join_all().await;

    for n in 0..CHANNELS {
        back_end.publish(&channel(n), &json!(LAST)).await;
    }
    let received_counts = tokio::time::timeout(WAIT_MAX, permanent_clients.join_all())
        .await
        .expect("all have the last");
    assert!(
        received_counts.iter().all(|received_count| *received_count > 1),
        "{received_counts:?}"
    );
    let [warm, end] = warm_and_end(&samples);
    println!("{} MiB resident after warm-up, {} MiB at the end", warm >> 20, end >> 20);
    let resident_max = warm + (warm as f64 * GROWTH_PART) as u64 + GROWTH_BYTES;
    assert!(end <= resident_max, "memory grew from {warm} to {end} bytes");
    let (visits, resumed) = (soak.visits.load(Relaxed), soak.resumed.load(Relaxed));
    println!("{visits} visits, {resumed} went on where they were");
    assert!(visits > ROAMING_CLIENTS && resumed > 0, "hardly anybody came: {visits}, {resumed}");
    eventually("no member is counted as present", async || {
        back_end.metric("lineside_hub_presence_members").await == 0.0
    })
    .await;
    eventually("every descriptor is given back", async || {
        server.usage().descriptors <= before.descriptors + DESCRIPTOR_GROWTH_MAX
    })
    .await;
    assert!(server.stop("-TERM").0.success());
}

/// Returns the maximum resident memory of a third of the time after the warm-up, and the minimum of the last third.
fn warm_and_end(samples: &[Usage]) -> [u64; 2] {
    let sixth = samples.len() / 6;
    let resident =
        |samples: &[Usage]| samples.iter().map(|usage| usage.resident).collect::<Vec<_>>();
    let warm = resident(&samples[sixth..3 * sixth]).into_iter().max().unwrap();
    [warm, resident(&samples[4 * sixth..]).into_iter().min().unwrap()]
}
