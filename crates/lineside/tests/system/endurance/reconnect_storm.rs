//! All clients connect at once, twice: at the start, and after the server has disconnected them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::socket::Socket;
use super::{BackEnd, TOKEN, WAIT_MAX, client_address, eventually, start};

const CLIENTS: usize = 5_000;
const CHANNEL: &str = "app/kept/storm";
/// One of an operator's own close codes after which clients reconnect.
const CLOSE_RECONNECT: u16 = 4_000;

/// The counters that all clients share.
#[derive(Default)]
struct ClientCounts {
    /// Number of subscribed clients.
    connected: AtomicUsize,
    /// Number of connections that were closed with the code to reconnect.
    disconnected: AtomicUsize,
    /// Number of connections that were refused or broke before they were subscribed.
    refused: AtomicUsize,
}

/// The publications that a client has received.
struct PublishedRange {
    epoch: String,
    /// The first and the last offset.
    from: u64,
    to: u64,
}

/// Follows the channel and reconnects immediately after every disconnect, until the last publication.
async fn follow(address: String, sky: Arc<ClientCounts>, seed: u64) -> PublishedRange {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut given = None;
    loop {
        let Some(socket) = enter(&address, &given).await else {
            sky.refused.fetch_add(1, Relaxed);
            tokio::time::sleep(Duration::from_millis(random.u64(20..200))).await;
            continue;
        };
        if read(socket, &mut given, &sky).await {
            return given.expect("it was there");
        }
    }
}

/// Connects and subscribes in one message, like the stock clients.
async fn enter(address: &str, given: &Option<PublishedRange>) -> Option<Socket> {
    let mut socket = Socket::open(address).await.ok()?;
    let subscribe = match given {
        None => json!({"channel": CHANNEL}),
        Some(PublishedRange { epoch, to, .. }) => {
            json!({"channel": CHANNEL, "recover": true, "epoch": epoch, "offset": to})
        }
    };
    let connect = json!({"id": 1, "connect": {"token": TOKEN}});
    socket.send(&[connect, json!({"id": 2, "subscribe": subscribe})]).await.ok()?;
    Some(socket)
}

/// Reads to the end of the connection, or of the channel; returns true for the latter.
async fn read(mut socket: Socket, given: &mut Option<PublishedRange>, sky: &ClientCounts) -> bool {
    let mut is_present = false;
    let mut is_done = false;
    while let Some(message) = socket.next().await {
        if !message["error"].is_null() {
            assert_eq!(message["error"]["temporary"], true, "{message}");
            break;
        }
        if message["id"] == 2 {
            is_present = true;
            sky.connected.fetch_add(1, Relaxed);
            is_done = start_range(given, &message["subscribe"]);
        }
        let publication = &message["push"]["pub"];
        if publication.is_object() {
            is_done = take(given.as_mut().expect("a reply before it"), publication);
        }
        if is_done {
            break;
        }
    }
    if is_present {
        sky.connected.fetch_sub(1, Relaxed);
    } else {
        sky.refused.fetch_add(1, Relaxed);
    }
    sky.disconnected.fetch_add(usize::from(socket.closed == Some(CLOSE_RECONNECT)), Relaxed);
    is_done
}

/// A client with a position must receive exactly what it missed.
fn start_range(given: &mut Option<PublishedRange>, reply: &Value) -> bool {
    let epoch = reply["epoch"].as_str().expect("an epoch").to_owned();
    let Some(given) = given else {
        let offset = reply["offset"].as_u64().unwrap_or(0);
        *given = Some(PublishedRange { epoch, from: offset, to: offset });
        return false;
    };
    assert_eq!((&reply["recovered"], &epoch), (&json!(true), &given.epoch), "{reply}");
    let missed = reply["publications"].as_array().into_iter().flatten();
    missed.fold(false, |_, publication| take(given, publication))
}

/// Returns true if the publication was the last.
fn take(given: &mut PublishedRange, publication: &Value) -> bool {
    assert_eq!(publication["offset"], given.to + 1, "{publication}");
    given.to += 1;
    publication["data"]["last"] == true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconnect_of_all_clients_at_once_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "8MiB");
    let (address, back_end) = (client_address(&server), BackEnd::for_server(&server));
    let sky = Arc::new(ClientCounts::default());
    let mut clients = JoinSet::new();
    for seed in 0..CLIENTS {
        clients.spawn(follow(address.clone(), Arc::clone(&sky), seed as u64));
    }
    // A failed client reports its reason.
    let all_there = async |clients: &mut JoinSet<PublishedRange>| {
        if let Some(ended) = clients.try_join_next() {
            let PublishedRange { to, .. } = ended.unwrap();
            panic!("a client left at {to}");
        }
        sky.connected.load(Relaxed) == CLIENTS
    };
    // Rarely enough that the channel's history covers the longest wait.
    let publish = async || {
        tokio::time::sleep(Duration::from_millis(300)).await;
        back_end.publish(CHANNEL, &json!({"last": false})).await.unwrap();
    };
    eventually("all are there", async || {
        publish().await;
        all_there(&mut clients).await
    })
    .await;

    let order =
        json!({"user": "crowd", "disconnect": {"code": CLOSE_RECONNECT, "reason": "come back"}});
    back_end.call("disconnect", &order).await;
    eventually("all were let go", async || {
        publish().await;
        sky.disconnected.load(Relaxed) == CLIENTS
    })
    .await;
    eventually("all are back", async || {
        publish().await;
        all_there(&mut clients).await
    })
    .await;

    let last = back_end.publish(CHANNEL, &json!({"last": true})).await.unwrap();
    let ended =
        tokio::time::timeout(WAIT_MAX, clients.join_all()).await.expect("all have the last");
    assert_eq!(ended.len(), CLIENTS);
    // Each client received every offset from its first one, in order.
    assert!(ended.iter().all(|given| given.to == last && given.from < last));
    assert_eq!(sky.disconnected.load(Relaxed), CLIENTS);
    eventually("all are gone", async || back_end.metric("lineside_wire_connections").await == 0.0)
        .await;
    assert!(server.stop("-TERM").0.success());
}
