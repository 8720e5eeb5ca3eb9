//! SIRI producers, from their sockets to boards and exports.

mod inbox;

use std::path::Path;

use lineside::{Config, RunningServer};
use lineside_testkit::{wait_for_feed, wait_for_feed_state, wait_until};
use serde_json::Value;

use crate::support::http::{assert_problem, client, get, refusal};
use crate::support::producer::{Answer, Producer, answer};
use crate::support::{schema, serve};

async fn server(feed: &str) -> (RunningServer, String) {
    let toml = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\npublic_url = \"https://me.example\"\n[[feed]]\n{feed}"
    );
    let config = Config::parse(Path::new("lineside.toml"), &toml);
    let running = serve(config.unwrap_or_else(|errors| panic!("{errors}"))).await;
    let url = format!("http://{}", running.listen_address());
    (running, url)
}

fn xml(inside: &str) -> String {
    format!("<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\">{inside}</Siri>")
}

fn vehicle(id: &str) -> String {
    xml(&format!(
        "<ServiceDelivery><ResponseTimestamp>{}</ResponseTimestamp><VehicleMonitoringDelivery>\
         <VehicleActivity><MonitoredVehicleJourney><LineRef>L</LineRef>\
         <VehicleRef>{id}</VehicleRef><VehicleLocation><Longitude>5.5</Longitude>\
         <Latitude>60.5</Latitude></VehicleLocation></MonitoredVehicleJourney></VehicleActivity>\
         </VehicleMonitoringDelivery></ServiceDelivery>",
        jiff::Timestamp::now()
    ))
}

fn xml_answer(body: &str) -> Answer {
    Answer::Bytes(answer("200 OK", &["content-type: text/xml"], body.as_bytes()))
}

async fn vehicles(url: &str) -> Vec<String> {
    // Before the first reply there is no message.
    let reply = get(&format!("{url}/gtfs-rt/s.json")).await.text().await.unwrap();
    let message: Value = serde_json::from_str(&reply).unwrap();
    let entities = message["entity"].as_array().cloned().unwrap_or_default();
    let id = |entity: &Value| entity["vehicle"]["vehicle"]["id"].as_str().map(str::to_owned);
    entities.iter().filter_map(id).collect()
}

#[tokio::test]
async fn a_siri_feed_is_shown_and_served_in_every_format() {
    let producer = Producer::start(xml_answer(&vehicle("V"))).await;
    let (running, url) = server(&format!(
        "id = \"s\"\nurl = {:?}\npoll = \"1s\"\nsiri = {{ services = [\"vm\"], envelope = \"soap\" }}\n",
        producer.url("/siri")
    ))
    .await;
    wait_until("the vehicle is known", async || vehicles(&url).await == ["V"]).await;
    let feed = wait_for_feed_state(&url, "s", "ok").await;
    assert_eq!((&feed["format"], &feed["entities"]), (&"siri".into(), &1.into()));
    let page = get(&format!("{url}/feeds/s")).await.text().await.unwrap();
    assert!(page.contains("SIRI") && page.contains("/gtfs-rt/s.pb"), "{page}");
    let bytes = get(&format!("{url}/proxy/s")).await.text().await.unwrap();
    assert!(bytes.contains("<VehicleActivity>"), "the producer's own: {bytes}");
    let out = get(&format!("{url}/siri/2.0/vehicle-monitoring.xml")).await.text().await.unwrap();
    assert!(out.contains("<VehicleRef>V</VehicleRef>"), "{out}");
    assert!(producer.requests()[0].contains("GetVehicleMonitoring"));
    running.shut_down().await;
}

#[tokio::test]
async fn only_deliveries_with_the_key_of_the_subscription_are_accepted() {
    let agreed =
        xml("<SubscriptionResponse><ResponseStatus><Status>true</Status></ResponseStatus>\
         </SubscriptionResponse>");
    let producer = Producer::start(xml_answer(&agreed)).await;
    let (running, url) = server(&format!(
        "id = \"s\"\nurl = {:?}\nsiri = {{ services = [\"vm\"], mode = \"subscribe\" }}\n",
        producer.url("/siri")
    ))
    .await;
    wait_until("it has subscribed", async || !producer.requests().is_empty()).await;
    let request = producer.requests().remove(0);
    let (_, address) = request.split_once("<ConsumerAddress>https://me.example").unwrap();
    let address = format!("{url}{}", address.split('<').next().unwrap());
    let post =
        async |address: &str, body: String| client().post(address).body(body).send().await.unwrap();
    let forged = address.replace("key=", "key=0");
    let bare = format!("{url}/siri/inbox/s");
    for wrong in [&forged, &bare, &format!("{url}/siri/inbox/t?key=")] {
        let reply = post(wrong, vehicle("FORGED")).await;
        assert_problem(404, "not_found", refusal(reply).await);
    }
    let twice = post(&format!("{address}&key=x"), vehicle("FORGED")).await;
    assert_problem(400, "bad_parameter", refusal(twice).await);
    assert_eq!(post(&address, vehicle("V")).await.status(), 200);
    wait_until("the vehicle is known", async || vehicles(&url).await == ["V"]).await;
    // Announced data is fetched.
    producer.set(xml_answer(&vehicle("W")));
    let ready = "<DataReadyNotification><RequestTimestamp>2026-11-21T12:00:00Z</RequestTimestamp>\
                 <MessageIdentifier>m7</MessageIdentifier></DataReadyNotification>";
    let reply = post(&address, xml(ready)).await.text().await.unwrap();
    assert!(
        reply.contains("<DataReadyAcknowledgement>")
            && reply.contains("<RequestMessageRef>m7</RequestMessageRef>")
            && reply.contains("<Status>true</Status>"),
        "{reply}"
    );
    schema::hold("what a producer is told", &[("acknowledgement".to_owned(), reply)]);
    wait_until("both vehicles are known", async || {
        let mut known = vehicles(&url).await;
        known.sort();
        known == ["V", "W"]
    })
    .await;
    assert!(producer.requests().iter().any(|request| request.contains("<DataSupplyRequest>")));
    assert_eq!(post(&address, "not SIRI".to_owned()).await.status(), 200);
    wait_for_feed(&url, "s", |feed| feed["last_error"]["code"] == "decode").await;
    assert_eq!(vehicles(&url).await.len(), 2, "what is known stays");
    let page = get(&format!("{url}/api/v1/feeds/s")).await.text().await.unwrap();
    assert!(!page.contains(forged.split("key=0").nth(1).unwrap()), "the key is shown nowhere");
    running.shut_down().await;
}
