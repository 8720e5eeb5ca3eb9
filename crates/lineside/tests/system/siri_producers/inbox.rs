//! An inbox under floods and forgeries: it stays within its limits and accepts the producer.

use http::StatusCode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;
use crate::support::http::get_json;

/// Number of posts of one kind, and number of concurrent senders.
const POSTS: usize = 100;
const SENDERS: usize = 4;
/// Capacity of an inbox, as in docs/operate/siri.md.
const ROOM: u64 = 128 << 20;

/// Starts a server with a subscribed feed, and returns the address that the producer received.
async fn subscribed(producer: &Producer) -> (RunningServer, String, String) {
    let (running, url) = server(&format!(
        "id = \"s\"\nurl = {:?}\nsiri = {{ services = [\"vm\"], mode = \"subscribe\" }}\n",
        producer.url("/siri")
    ))
    .await;
    wait_until("it has subscribed", async || !producer.requests().is_empty()).await;
    let request = producer.requests().remove(0);
    let (_, address) = request.split_once("<ConsumerAddress>https://me.example").unwrap();
    let path = address.split('<').next().unwrap().to_owned();
    (running, url, path)
}

/// Returns a metric of the feed's inbox.
async fn counted(url: &str, name: &str) -> u64 {
    let metrics = get(&format!("{url}/metrics")).await.text().await.unwrap();
    let line = format!("lineside_ingest_inbox_{name}{{feed=\"s\"}} ");
    let value = metrics.lines().find_map(|it| it.strip_prefix(line.as_str()));
    value.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

async fn post(address: &str, body: String) -> StatusCode {
    client().post(address).body(body).send().await.unwrap().status()
}

/// Posts from several senders, and returns all statuses.
async fn flood(address: String, body: String) -> Vec<StatusCode> {
    let senders = (0..SENDERS).map(|_| {
        let (address, body) = (address.clone(), body.clone());
        tokio::spawn(async move {
            let client = client();
            let mut statuses = Vec::new();
            for _ in 0..POSTS {
                let sent = client.post(&address).body(body.clone()).send().await;
                statuses.push(sent.unwrap().status());
            }
            statuses
        })
    });
    let mut all = Vec::new();
    for sender in senders.collect::<Vec<_>>() {
        all.extend(sender.await.unwrap());
    }
    all
}

/// Begins a post with this head, and sends this part of its body.
async fn begin_request(url: &str, path: &str, head: &str, body: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    // In one write: closing a socket with unread data resets the connection and loses the reply.
    let head = format!("POST {path} HTTP/1.1\r\nhost: a\r\n{head}\r\n\r\n");
    socket.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
    socket
}

async fn status(mut socket: TcpStream) -> u16 {
    let mut head = [0; 12];
    socket.read_exact(&mut head).await.unwrap();
    std::str::from_utf8(&head[9..]).unwrap().parse().unwrap()
}

#[tokio::test]
async fn forged_deliveries_do_not_block_the_producer() {
    let agreed =
        xml("<SubscriptionResponse><ResponseStatus><Status>true</Status></ResponseStatus>\
         </SubscriptionResponse>");
    let producer = Producer::start(xml_answer(&agreed)).await;
    let (running, url, path) = subscribed(&producer).await;
    let address = format!("{url}{path}");
    assert_eq!(post(&address, vehicle("V")).await, 200);
    wait_until("the vehicle is known", async || vehicles(&url).await == ["V"]).await;
    // With false keys, to unknown feeds, and on unknown subscriptions.
    let other =
        xml("<SubscriptionTerminatedNotification><SubscriptionRef>another</SubscriptionRef>\
                     </SubscriptionTerminatedNotification>");
    let floods = [
        (address.replace("key=", "key=0"), vehicle("FORGED")),
        (format!("{url}/siri/inbox/s"), vehicle("FORGED")),
        (format!("{url}/siri/inbox/none?key=x"), "x".repeat(500)),
        (address.clone(), other),
        (address.clone(), "<Siri><ServiceDelivery>".to_owned()),
    ];
    let floods = floods.map(|(address, body)| {
        let has_key = address.ends_with(&path);
        (has_key, tokio::spawn(flood(address, body)))
    });
    // Meanwhile the producer delivers, and retries after a refusal.
    wait_until("its delivery is taken", async || post(&address, vehicle("W")).await == 200).await;
    assert!(counted(&url, "bytes").await <= ROOM);
    for (has_key, flood) in floods {
        let statuses = flood.await.unwrap();
        assert_eq!(statuses.len(), POSTS * SENDERS);
        let may_be: &[u16] = if has_key { &[200, 503] } else { &[404] };
        let others = statuses.iter().find(|it| !may_be.contains(&it.as_u16()));
        assert_eq!(others, None, "with the key: {has_key}");
    }
    wait_until("both vehicles are known", async || {
        let mut known = vehicles(&url).await;
        known.sort();
        known == ["V", "W"]
    })
    .await;
    wait_until("nothing is held any more", async || counted(&url, "bytes").await == 0).await;
    running.shut_down().await;
}

#[tokio::test]
async fn a_delivery_containing_its_key_is_refused_and_the_key_not_shown() {
    let agreed =
        xml("<SubscriptionResponse><ResponseStatus><Status>true</Status></ResponseStatus>\
         </SubscriptionResponse>");
    let producer = Producer::start(xml_answer(&agreed)).await;
    let (running, url, path) = subscribed(&producer).await;
    let address = format!("{url}{path}");
    let key = path.split_once("key=").unwrap().1;
    assert_eq!(post(&address, vehicle("V")).await, 200);
    wait_until("the vehicle is known", async || vehicles(&url).await == ["V"]).await;
    assert_eq!(post(&address, vehicle(&format!("to {path}"))).await, 200);
    let feed = format!("{url}/api/v1/feeds/s");
    wait_until("it is refused", async || get_json(&feed).await["last_error"]["code"] == "refused")
        .await;
    for path in ["/api/v1/feeds/s", "/api/v1/vehicles", "/feeds/s", "/gtfs-rt/s.json", "/proxy/s"] {
        let shown = get(&format!("{url}{path}")).await.text().await.unwrap();
        assert!(!shown.contains(key), "{path}: {shown}");
    }
    assert_eq!(vehicles(&url).await, ["V"]);
    running.shut_down().await;
}

#[tokio::test]
async fn large_and_slow_bodies_are_limited_to_the_inbox_capacity() {
    let agreed =
        xml("<SubscriptionResponse><ResponseStatus><Status>true</Status></ResponseStatus>\
         </SubscriptionResponse>");
    let producer = Producer::start(xml_answer(&agreed)).await;
    let (running, url, path) = subscribed(&producer).await;
    let forged = path.replace("key=", "key=0");
    let large = format!("content-length: {}", 60 << 20);
    // A client without the key is refused before its body is read.
    assert_eq!(status(begin_request(&url, &forged, &large, b"<Siri").await).await, 404);
    assert_eq!(counted(&url, "bytes").await, 0);
    assert_eq!(
        status(begin_request(&url, &path, "content-length: 99999999999", b"").await).await,
        400
    );
    let packed = "content-encoding: gzip\r\ncontent-length: 10";
    assert_eq!(status(begin_request(&url, &path, packed, b"0123456789").await).await, 400);
    // Two slow clients leave no capacity for a third, and enough for small bodies.
    let first = begin_request(&url, &path, &large, b"<Siri").await;
    let second = begin_request(&url, &path, &large, b"<Siri").await;
    wait_until("both are coming in", async || counted(&url, "bytes").await == 120 << 20).await;
    let refused = counted(&url, "refused_total").await;
    assert_eq!(status(begin_request(&url, &path, &large, b"<Siri").await).await, 503);
    assert_eq!(counted(&url, "refused_total").await, refused + 1);
    assert_eq!(post(&format!("{url}{path}"), vehicle("V")).await, 200);
    wait_until("the vehicle is known", async || vehicles(&url).await == ["V"]).await;
    // The server does not wait for them, and their capacity is free again.
    drop(first);
    assert_eq!(status(second).await, 400);
    wait_until("nothing is held any more", async || counted(&url, "bytes").await == 0).await;
    assert_eq!(vehicles(&url).await, ["V"]);
    running.shut_down().await;
}
