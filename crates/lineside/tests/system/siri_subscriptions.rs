//! SIRI subscriptions: the deliveries to a consumer from its subscription to its end.

mod update_policy;

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use jiff::tz::TimeZone;
use lineside::{Config, RunningServer};
use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;
use lineside_formats::siri::{
    MessageLimits, MessagePayload, MonitoredStopVisit, ResponseStatus, ServiceDelivery,
    SiriMessage, decode_xml_message, is_soap_envelope,
};
use lineside_testkit::{wait_for, wait_for_metric, wait_until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::http::{client, get};
use crate::support::process::ServerProcess;
use crate::support::producer::Producer;
use crate::support::timetable::{Lines, message as message_of, now};
use crate::support::town::good;
use crate::support::{admin, schema, serve, shared_demo};

/// A consumer that accepts or refuses deliveries.
#[derive(Clone, Default)]
struct Consumer {
    bodies: Arc<Mutex<Vec<String>>>,
    /// The head of each request, in lower case.
    heads: Arc<Mutex<Vec<String>>>,
    is_refusing: bool,
}

impl Consumer {
    async fn start(&self) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/consumer", listener.local_addr().unwrap());
        let consumer = self.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let consumer = consumer.clone();
                tokio::spawn(async move { consumer.take(socket).await });
            }
        });
        url
    }

    /// Reads the requests of a connection until its end.
    async fn take(&self, mut socket: TcpStream) {
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match socket.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
            let head = String::from_utf8(head).unwrap().to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let mut body = vec![0; length.split("\r\n").next().unwrap().parse().unwrap()];
            if socket.read_exact(&mut body).await.is_err() {
                return;
            }
            self.heads.lock().unwrap().push(head);
            self.bodies.lock().unwrap().push(String::from_utf8(body).unwrap());
            let status = if self.is_refusing { "404 Not Found" } else { "200 OK" };
            let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
            if socket.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn messages(&self) -> Vec<SiriMessage> {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().map(|body| message(body.as_bytes())).collect()
    }

    /// Returns the received bodies with their numbers.
    fn named_bodies(&self) -> Vec<(String, String)> {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().enumerate().map(|(at, body)| (at.to_string(), body.clone())).collect()
    }

    fn deliveries(&self) -> Vec<ServiceDelivery> {
        let messages = self.messages().into_iter().flat_map(|message| message.payloads);
        let deliveries = messages.filter_map(|payload| match payload {
            MessagePayload::ServiceDelivery(delivery) => Some(delivery),
            _ => None,
        });
        deliveries.collect()
    }
}

fn message(body: &[u8]) -> SiriMessage {
    let (message, problems) =
        decode_xml_message(body, &TimeZone::UTC, &MessageLimits::default()).unwrap();
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    message
}

/// Starts a server that polls the shared city. `keys` may allow private consumers.
async fn server(keys: &str) -> (RunningServer, String) {
    let city = shared_demo();
    let feed = |id: &str| {
        format!("[[feed]]\nid = {id:?}\nurl = \"{city}/gtfs-rt/{id}.pb\"\npoll = \"1s\"\n")
    };
    let feeds = feed("city-vehicles") + &feed("city-trips");
    let toml = format!("[server]\nlisten = \"127.0.0.1:0\"\n{keys}\n{}{feeds}", admin::table());
    let config = Config::parse(Path::new("lineside.toml"), &toml);
    let running = serve(config.unwrap_or_else(|errors| panic!("{errors}"))).await;
    let url = format!("http://{}", running.listen_address());
    wait_until("there are vehicles", async || {
        let reply = get(&format!("{url}/siri/rest/vm")).await.text().await.unwrap();
        reply.contains("<VehicleActivity>")
    })
    .await;
    (running, url)
}

async fn post(server: &str, body: &str, headers: &[(&str, &str)]) -> SiriMessage {
    post_by(&client(), server, body, headers).await
}

async fn post_by(
    client: &reqwest::Client,
    server: &str,
    body: &str,
    headers: &[(&str, &str)],
) -> SiriMessage {
    let mut request = client.post(format!("{server}/siri/subscribe")).body(body.to_owned());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    message(&response.bytes().await.unwrap())
}

fn in_minutes(minutes: i64) -> jiff::Timestamp {
    jiff::Timestamp::now() + jiff::SignedDuration::from_mins(minutes)
}

fn plain(content: &str) -> String {
    format!(r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0">{content}</Siri>"#)
}

fn subscription_xml(service: &str, id: &str, ends: &str) -> String {
    format!(
        "<{service}SubscriptionRequest><SubscriptionIdentifier>{id}</SubscriptionIdentifier>\
         <InitialTerminationTime>{ends}</InitialTerminationTime>\
         <{service}Request/></{service}SubscriptionRequest>"
    )
}

fn subscription(address: &str, requests_xml: &str) -> String {
    plain(&format!(
        "<SubscriptionRequest><RequestorRef>me</RequestorRef>{address}\
         <SubscriptionContext><HeartbeatInterval>PT30S</HeartbeatInterval></SubscriptionContext>\
         {requests_xml}</SubscriptionRequest>"
    ))
}

fn at(url: &str) -> String {
    format!("<ConsumerAddress>{url}</ConsumerAddress>")
}

fn statuses(message: SiriMessage) -> Vec<ResponseStatus> {
    match <[MessagePayload; 1]>::try_from(message.payloads) {
        Ok([MessagePayload::SubscriptionResponse(response)]) => response.response_statuses,
        Ok([MessagePayload::TerminateSubscriptionResponse(response)]) => {
            response.termination_response_statuses
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_subscriber_receives_a_heartbeat_all_data_and_then_changes() {
    let (running, server) = server("allow_private_subscribers = true").await;
    let consumer = Consumer::default();
    let address = consumer.start().await;
    let requests_xml =
        subscription_xml("VehicleMonitoring", "vehicles", &in_minutes(10).to_string());
    let answer = statuses(post(&server, &subscription(&at(&address), &requests_xml), &[]).await);
    assert_eq!(answer[0].status, Some(true), "{answer:?}");
    assert_eq!(answer[0].subscription_ref.as_deref(), Some("vehicles"));
    assert!(answer[0].valid_until.is_some());
    let changes = wait_for("changes are delivered", async || {
        let deliveries = consumer.deliveries();
        if deliveries.len() > 1 { Ok(deliveries) } else { Err(deliveries.len()) }
    });
    let deliveries = changes.await;
    let first = consumer.messages().remove(0);
    assert!(matches!(&first.payloads[..], [MessagePayload::HeartbeatNotification(_)]), "{first:?}");
    for delivery in &deliveries {
        let [vehicles] = &delivery.vehicle_monitorings[..] else { panic!("{delivery:?}") };
        assert_eq!(vehicles.head.subscriber_ref.as_deref(), Some("me"));
        assert_eq!(vehicles.head.subscription_ref.as_deref(), Some("vehicles"));
        assert!(!vehicles.vehicle_activities.is_empty());
    }
    schema::hold("what a subscriber is sent", &consumer.named_bodies());
    wait_for_metric(&server, "lineside_siri_subscriptions 1").await;
    let end = plain(
        "<TerminateSubscriptionRequest><RequestorRef>me</RequestorRef>\
         <SubscriptionRef>vehicles</SubscriptionRef><SubscriptionRef>others</SubscriptionRef>\
         </TerminateSubscriptionRequest>",
    );
    let answer = statuses(post(&server, &end, &[]).await);
    let ended: Vec<_> = answer.iter().map(|status| status.status).collect();
    assert_eq!(ended, [Some(true), Some(false)]);
    wait_for_metric(&server, "lineside_siri_subscriptions 0").await;
    running.shut_down().await;
}

/// Starts a server with a town's schedule and its trips, which allows private consumers.
async fn town(folder: &Path) -> (ServerProcess, Lines, Producer) {
    let schedule = folder.join("town");
    let lines = Lines::write(&schedule);
    let producer = Producer::start(good(&message_of(now(), vec![lines.behind("a1", 0)]))).await;
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\nallow_private_subscribers = true\n\
         [[feed]]\nid = \"town\"\nurl = {:?}\n\
         [[feed]]\nid = \"town-trips\"\nurl = {:?}\nstatic = \"town\"\npoll = \"1s\"\n",
        schedule.to_str().unwrap(),
        producer.url("/tu.pb"),
    );
    let server = ServerProcess::serving(folder, text);
    let url = format!("{}/api/v1/stops/town/S/departures", server.url);
    wait_until("the board has live times", async || {
        let reply = get(&url).await;
        reply.status() == 200 && reply.text().await.unwrap().contains("\"realtime\"")
    })
    .await;
    (server, lines, producer)
}

#[tokio::test]
async fn changed_visits_are_delivered_and_removed_ones_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let (server, lines, producer) = town(folder.path()).await;
    let consumer = Consumer::default();
    let address = consumer.start().await;
    let requests_xml = subscription_xml("StopMonitoring", "stop", &in_minutes(10).to_string())
        .replace(
            "<StopMonitoringRequest/>",
            "<StopMonitoringRequest><PreviewInterval>PT1H</PreviewInterval>\
         <MonitoringRef>S</MonitoringRef></StopMonitoringRequest>",
        );
    let answer =
        statuses(post(&server.url, &subscription(&at(&address), &requests_xml), &[]).await);
    assert_eq!(answer[0].status, Some(true), "{answer:?}");
    let stops = || {
        let all = consumer.deliveries().into_iter().flat_map(|it| it.stop_monitorings);
        all.collect::<Vec<_>>()
    };
    let first = wait_for("all visits are delivered", async || stops().into_iter().next().ok_or(()));
    let first = first.await;
    assert_eq!(first.head.subscription_ref.as_deref(), Some("stop"));
    assert!(first.monitored_stop_visits.len() > 8, "{first:?}");
    let trip = |visit: &MonitoredStopVisit| {
        let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
        journey.journey_ref().unwrap().to_string()
    };
    let mut deleted = lines.behind("a3", 0);
    let deleted_trip = &mut deleted.trip_update.as_mut().unwrap().trip;
    deleted_trip.set_schedule_relationship(ScheduleRelationship::Deleted);
    producer.set(good(&message_of(now(), vec![lines.behind("a1", 400), deleted])));
    wait_until("the change and the removals are delivered", async || {
        let new_visits = stops().split_off(1);
        let visits = new_visits.iter().flat_map(|stop| &stop.monitored_stop_visits);
        let mut late = visits.filter(|visit| trip(visit) == "a1").filter_map(|visit| {
            let journey = visit.monitored_vehicle_journey.as_ref()?;
            let call = journey.monitored_call.as_ref()?;
            let expected = call.expected_departure_time?.as_seconds();
            Some(expected - call.aimed_departure_time?.as_seconds())
        });
        let mut removed = new_visits.iter().flat_map(|stop| &stop.cancellations);
        late.any(|late| late == 400)
            && removed.any(|it| it.item_ref.as_ref().is_some_and(|id| id.contains("a3:")))
    })
    .await;
    let others = stops().split_off(1);
    let others = others.iter().flat_map(|stop| &stop.monitored_stop_visits);
    assert!(others.map(trip).all(|trip| trip != "b3"), "an unchanged visit is not delivered again");
    schema::hold("visits that a subscriber is told", &consumer.named_bodies());
}

#[tokio::test]
async fn a_soap_subscription_is_delivered_in_soap_until_it_expires() {
    let (running, server) = server("").await;
    let consumer = Consumer::default();
    let address = consumer.start().await;
    // Only an admin may use a private address.
    // Late enough for a delivery before the end.
    let ends = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(40);
    let body = format!(
        r#"<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>
        <sw:Subscribe xmlns:sw="http://wsdl.siri.org.uk" xmlns:siri="http://www.siri.org.uk/siri">
        <SubscriptionRequestInfo><siri:RequestorRef>me</siri:RequestorRef>
        <siri:ConsumerAddress>{address}</siri:ConsumerAddress></SubscriptionRequestInfo>
        <Request version="2.0"><siri:EstimatedTimetableSubscriptionRequest>
        <siri:SubscriptionIdentifier>journeys</siri:SubscriptionIdentifier>
        <siri:InitialTerminationTime>{ends}</siri:InitialTerminationTime>
        </siri:EstimatedTimetableSubscriptionRequest></Request><RequestExtension/>
        </sw:Subscribe></S:Body></S:Envelope>"#
    );
    let refused = statuses(post(&server, &body, &[]).await);
    let error = refused[0].error_condition.as_ref().unwrap();
    assert_eq!(error.kind.as_deref(), Some("AccessNotAllowedError"));
    let answer = statuses(post(&server, &body, &[admin::BEARER]).await);
    assert_eq!(answer[0].status, Some(true), "{answer:?}");
    wait_until("journeys are delivered", async || !consumer.deliveries().is_empty()).await;
    for body in consumer.bodies.lock().unwrap().iter() {
        assert!(is_soap_envelope(body.as_bytes()), "{body}");
        assert!(body.contains("<sw:Notify"), "{body}");
    }
    for head in consumer.heads.lock().unwrap().iter() {
        assert!(head.contains("soapaction: \"\"\r\n"), "{head}");
    }
    schema::hold("what a subscriber is sent in envelopes", &consumer.named_bodies());
    wait_for_metric(&server, "lineside_siri_subscriptions 0").await;
    running.shut_down().await;
}

#[tokio::test]
async fn a_host_that_refuses_the_heartbeat_receives_no_data() {
    let (running, server) = server("allow_private_subscribers = true").await;
    let other_client = Consumer { is_refusing: true, ..Consumer::default() };
    let address = other_client.start().await;
    let requests_xml = subscription_xml("VehicleMonitoring", "v", &in_minutes(10).to_string());
    post(&server, &subscription(&at(&address), &requests_xml), &[]).await;
    wait_until("it is tried again", async || other_client.messages().len() > 1).await;
    assert!(other_client.deliveries().is_empty());
    // The same name is the same subscription.
    post(&server, &subscription(&at(&address), &requests_xml), &[]).await;
    wait_for_metric(&server, "lineside_siri_subscriptions 1").await;
    let all = plain(
        "<TerminateSubscriptionRequest><RequestorRef>me</RequestorRef><All/></TerminateSubscriptionRequest>",
    );
    assert_eq!(statuses(post(&server, &all, &[]).await).len(), 1);
    wait_for_metric(&server, "lineside_siri_subscriptions 0").await;
    running.shut_down().await;
}

#[tokio::test]
async fn another_client_cannot_end_or_replace_a_subscription() {
    let (running, server) = server("allow_private_subscribers = true").await;
    let consumer = Consumer::default();
    let address = consumer.start().await;
    let requests_xml = subscription_xml("VehicleMonitoring", "v", &in_minutes(10).to_string());
    post(&server, &subscription(&at(&address), &requests_xml), &[]).await;
    wait_until("a delivery arrives", async || !consumer.deliveries().is_empty()).await;
    let other_client = reqwest::Client::builder().local_address(IpAddr::from([127, 0, 0, 2]));
    let other_client = other_client.build().unwrap();
    let all = plain(
        "<TerminateSubscriptionRequest><RequestorRef>me</RequestorRef><All/></TerminateSubscriptionRequest>",
    );
    let named = all.replace("<All/>", "<SubscriptionRef>v</SubscriptionRef>");
    assert!(statuses(post_by(&other_client, &server, &all, &[]).await).is_empty());
    let [status] = &statuses(post_by(&other_client, &server, &named, &[]).await)[..] else {
        panic!("one")
    };
    let kind = |status: &ResponseStatus| {
        status.error_condition.as_ref().and_then(|it| it.kind.clone()).unwrap_or_default()
    };
    assert_eq!(kind(status), "UnknownSubscriptionError");
    let other = Consumer::default();
    let other_address = at(&other.start().await);
    let subscribed_elsewhere = subscription(&other_address, &requests_xml);
    let [status] = &statuses(post_by(&client(), &server, &subscribed_elsewhere, &[]).await)[..]
    else {
        panic!("one")
    };
    assert_eq!(kind(status), "AccessNotAllowedError", "what is its own for another consumer");
    // Names belong to their consumer: another client has its own subscription of the same name.
    let [status] = &statuses(post_by(&other_client, &server, &subscribed_elsewhere, &[]).await)[..]
    else {
        panic!("one")
    };
    assert_eq!(status.status, Some(true), "{status:?}");
    wait_until("the other subscriber gets a delivery", async || !other.deliveries().is_empty())
        .await;
    wait_for_metric(&server, "lineside_siri_subscriptions 2").await;
    let before = consumer.messages().len();
    wait_until("the subscriber still gets messages", async || consumer.messages().len() > before)
        .await;
    let ended = statuses(post_by(&other_client, &server, &all, &[admin::BEARER]).await);
    assert_eq!((ended.len(), ended[0].status), (1, Some(true)));
    wait_for_metric(&server, "lineside_siri_subscriptions 0").await;
    running.shut_down().await;
}

#[tokio::test]
async fn every_requested_subscription_has_a_status_even_beyond_the_limit() {
    let server = shared_demo();
    let later = in_minutes(7 * 24 * 60).to_string();
    let requests_xml: String =
        (0..22).map(|n| subscription_xml("VehicleMonitoring", &n.to_string(), &later)).collect();
    let body = subscription(&at("http://127.0.0.1:9/"), &requests_xml);
    let answer = statuses(post(&server, &body, &[]).await);
    let kinds: Vec<_> = answer
        .iter()
        .map(|status| status.error_condition.as_ref().unwrap().kind.clone().unwrap())
        .collect();
    assert_eq!(kinds.len(), 22);
    assert!(kinds[..20].iter().all(|kind| kind == "AccessNotAllowedError"), "{kinds:?}");
    assert!(kinds[20..].iter().all(|kind| kind == "AllowedResourceUsageExceededError"));
}

#[tokio::test]
async fn incomplete_subscription_requests_are_refused() {
    let server = shared_demo();
    // The city's clock runs ahead of ours, the more the longer other tests have run.
    let later = in_minutes(7 * 24 * 60).to_string();
    let public = at("https://consumer.example/siri");
    for (address, requests_xml, error) in [
        ("", subscription_xml("VehicleMonitoring", "a", &later), "OtherError"),
        (&at("nowhere"), subscription_xml("VehicleMonitoring", "a", &later), "OtherError"),
        (
            &at("http://127.0.0.1:9/"),
            subscription_xml("VehicleMonitoring", "a", &later),
            "AccessNotAllowedError",
        ),
        (&at("http://10.0.0.1/"), subscription_xml("SituationExchange", "a", &later), "AccessNotAllowedError"),
        (&public, subscription_xml("EstimatedTimetable", "", &later), "OtherError"),
        (&public, subscription_xml("EstimatedTimetable", "a", ""), "OtherError"),
        (&public, subscription_xml("EstimatedTimetable", "a", "2020-01-01T00:00:00Z"), "OtherError"),
        (&public, subscription_xml("StopMonitoring", "a", &later), "OtherError"),
        (
            &public,
            subscription_xml("StopMonitoring", "a", &later).replace(
                "<StopMonitoringRequest/>",
                "<StopMonitoringRequest><MonitoringRef>city:nowhere</MonitoringRef></StopMonitoringRequest>",
            ),
            "InvalidDataReferencesError",
        ),
        (
            &public,
            subscription_xml("VehicleMonitoring", "a", &later).replace(
                "<VehicleMonitoringRequest/>",
                "<VehicleMonitoringRequest><LineRef>nope</LineRef></VehicleMonitoringRequest>",
            ),
            "InvalidDataReferencesError",
        ),
    ] {
        let body = subscription(address, &requests_xml);
        let [status] = &statuses(post(&server, &body, &[]).await)[..] else { panic!("one") };
        assert_eq!(status.status, Some(false), "{body}");
        let condition = status.error_condition.as_ref().unwrap();
        assert_eq!(condition.kind.as_deref(), Some(error), "{body}");
    }
}
