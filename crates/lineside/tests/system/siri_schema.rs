//! Validates every kind of SIRI answer against the SIRI schema, if [the schemas are available](crate::support::schema).

use std::path::Path;

use crate::support::http::{client, get};
use crate::support::{schema, shared_demo};

async fn fetch(path: &str) -> (String, String) {
    let response = get(&format!("{}{path}", shared_demo())).await;
    (path.to_owned(), response.text().await.unwrap())
}

async fn posted(name: &str, path: &str, body: &str) -> (String, String) {
    let request = client().post(format!("{}{path}", shared_demo())).body(body.to_owned());
    let text = request.send().await.unwrap().text().await.unwrap();
    assert!(text.contains("siri.org.uk"), "{name}: {text}");
    (name.to_owned(), text)
}

/// Returns a stop of the city that trams serve.
async fn a_stop() -> String {
    let (_, stops) = fetch("/siri/2.0/stoppoints-discovery.xml").await;
    let (_, rest) = stops.split_once("<StopPointRef>").unwrap();
    rest.split_once("</StopPointRef>").unwrap().0.to_owned()
}

#[test]
fn golden_siri_files_are_valid_by_the_schema() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lineside-ingest/tests/golden");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == "xml"));
    let messages: Vec<_> = files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    assert!(messages.len() >= 6, "{}", messages.len());
    schema::hold("what is kept", &messages);
}

#[tokio::test]
async fn every_kind_of_answer_is_valid_by_the_schema() {
    let stop = a_stop().await;
    let visits = format!(
        "<StopMonitoringRequest><MonitoringRef>{stop}</MonitoringRef></StopMonitoringRequest>\
         <StopMonitoringRequest><MonitoringRef>nowhere</MonitoringRef></StopMonitoringRequest>"
    );
    let request = |requests_xml: &str| {
        format!(
            "<ServiceRequest><RequestorRef>schema</RequestorRef>\
             <MessageIdentifier>m</MessageIdentifier>{requests_xml}</ServiceRequest>"
        )
    };
    let mut messages = Vec::new();
    for path in [
        "/siri/2.0/estimated-timetables.xml",
        "/siri/2.0/vehicle-monitoring.xml",
        "/siri/2.0/situation-exchange.xml",
        "/siri/2.0/lines-discovery.xml",
        "/siri/2.0/stoppoints-discovery.xml",
        "/siri/2.0/estimated-timetables.xml?LineRef=nowhere",
        "/siri/2.0/stop-monitoring.xml?MonitoringRef=nowhere",
        "/siri/2.0/lines-discovery.xml?DatasetId=nowhere",
        "/siri/rest/et?maxSize=5",
        "/siri/rest/vm?maxSize=5",
        "/siri/rest/sx?requestorId=schema",
        "/siri/rest/et?requestorId=schema&LineRef=nowhere",
    ] {
        messages.push(fetch(path).await);
    }
    let path = format!("/siri/2.0/stop-monitoring.xml?PreviewInterval=PT1H&MonitoringRef={stop}");
    messages.push(fetch(&path).await);
    for (name, content) in [
        ("vehicles", request("<VehicleMonitoringRequest/>")),
        ("journeys", request("<EstimatedTimetableRequest/><EstimatedTimetableRequest/>")),
        ("situations", request("<SituationExchangeRequest/>")),
        ("visits", request(&visits)),
        (
            "status",
            "<CheckStatusRequest><MessageIdentifier>a b</MessageIdentifier></CheckStatusRequest>"
                .to_owned(),
        ),
        (
            "lines",
            "<LinesRequest><MessageIdentifier>a</MessageIdentifier></LinesRequest>".to_owned(),
        ),
        ("stops", "<StopPointsRequest/>".to_owned()),
        ("nothing", "<ServiceRequest/>".to_owned()),
    ] {
        messages.push(posted(name, "/siri/services", &plain(&content)).await);
    }
    schema::hold("answers", &messages);
}

#[tokio::test]
async fn every_kind_of_soap_answer_is_valid_by_the_schema() {
    let stop = a_stop().await;
    let any_services_request = format!(
        "<siri:StopMonitoringRequest><siri:MonitoringRef>{stop}</siri:MonitoringRef>\
         </siri:StopMonitoringRequest>"
    );
    let mut messages = Vec::new();
    for (name, content) in [
        ("GetEstimatedTimetable", String::new()),
        ("GetVehicleMonitoring", String::new()),
        ("GetSituationExchange", String::new()),
        ("GetStopMonitoring", format!("<siri:MonitoringRef>{stop}</siri:MonitoringRef>")),
        ("GetStopMonitoring", "<siri:MonitoringRef>nowhere</siri:MonitoringRef>".to_owned()),
        ("GetSiriService", any_services_request),
        ("GetSiriService", "<siri:SituationExchangeRequest/>".to_owned()),
        ("CheckStatus", "<siri:MessageIdentifier>a</siri:MessageIdentifier>".to_owned()),
        ("LinesDiscovery", String::new()),
        ("StopPointsDiscovery", String::new()),
    ] {
        messages.push(posted(name, "/siri/services", &enveloped(name, &content)).await);
    }
    schema::hold("answers in envelopes", &messages);
}

#[tokio::test]
async fn subscription_answers_are_valid_by_the_schema() {
    let request_xml = "<VehicleMonitoringSubscriptionRequest>\
                <SubscriptionIdentifier>a</SubscriptionIdentifier>\
                <InitialTerminationTime>2020-01-01T00:00:00Z</InitialTerminationTime>\
                <VehicleMonitoringRequest/></VehicleMonitoringSubscriptionRequest>";
    let subscribe = |requests_xml: &str| {
        format!(
            "<SubscriptionRequest><RequestorRef>me</RequestorRef>\
             <MessageIdentifier>m</MessageIdentifier>{requests_xml}</SubscriptionRequest>"
        )
    };
    let refs = "<SubscriptionRef>a</SubscriptionRef>".repeat(25);
    let end = format!(
        "<TerminateSubscriptionRequest><RequestorRef>me</RequestorRef>{refs}</TerminateSubscriptionRequest>"
    );
    let mut messages = Vec::new();
    for (name, content) in [
        ("refused", subscribe(request_xml)),
        ("too many", subscribe(&request_xml.repeat(25))),
        ("of no service", subscribe("")),
        ("the end", end),
        ("the end of all", "<TerminateSubscriptionRequest><RequestorRef>me</RequestorRef><All/></TerminateSubscriptionRequest>".to_owned()),
        ("no subscription", "<CheckStatusRequest/>".to_owned()),
    ] {
        messages.push(posted(name, "/siri/subscribe", &plain(&content)).await);
    }
    let request_xml = "<siri:VehicleMonitoringSubscriptionRequest>\
                <siri:SubscriptionIdentifier>a</siri:SubscriptionIdentifier>\
                </siri:VehicleMonitoringSubscriptionRequest>";
    let end = "<siri:SubscriberRef>me</siri:SubscriberRef>\
               <siri:SubscriptionRef>a</siri:SubscriptionRef>";
    for (name, content) in [("Subscribe", request_xml), ("DeleteSubscription", end)] {
        messages.push(posted(name, "/siri/subscribe", &enveloped(name, content)).await);
    }
    schema::hold("answers around subscriptions", &messages);
}

fn plain(content: &str) -> String {
    format!(r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0">{content}</Siri>"#)
}

fn enveloped(name: &str, request: &str) -> String {
    format!(
        r#"<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>
        <sw:{name} xmlns:sw="http://wsdl.siri.org.uk" xmlns:siri="http://www.siri.org.uk/siri">
        <Request version="2.0">{request}</Request><RequestExtension/></sw:{name}></S:Body></S:Envelope>"#
    )
}
