//! SIRI for consumers that request it: SIRI Lite, the Nordic form, and POST requests.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use lineside_formats::siri::{
    self, MessageLimits, MessagePayload, ServiceDelivery, SiriMessage, SiriTime, VehicleJourney,
    decode_json_message, decode_xml_message,
};
use lineside_testkit::{wait_for, wait_until};
use reqwest::Response;
use serde_json::Value;

use crate::support::http::{client, get, get_json, get_with, header, problem, send};
use crate::support::process::ServerProcess;
use crate::support::shared_demo;
use crate::support::timetable::Lines;

mod partial_answers;

/// Decodes the message in a body, and asserts that it has no problems.
fn message(body: &[u8]) -> SiriMessage {
    let is_json = body.starts_with(b"{");
    let decode = if is_json { decode_json_message } else { decode_xml_message };
    let (message, problems) = decode(body, &TimeZone::UTC, &MessageLimits::default())
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body)));
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    message
}

fn delivery(message: SiriMessage) -> ServiceDelivery {
    match <[MessagePayload; 1]>::try_from(message.payloads) {
        Ok([MessagePayload::ServiceDelivery(delivery)]) => delivery,
        other => panic!("{other:?}"),
    }
}

async fn fetch_delivery(path: &str) -> ServiceDelivery {
    let response = get(&format!("{}{path}", shared_demo())).await;
    assert_eq!(response.status(), 200, "{path}");
    delivery(message(&response.bytes().await.unwrap()))
}

async fn posted(path: &str, body: &str) -> Response {
    let url = format!("{}{path}", shared_demo());
    let request = client().post(&url).header("content-type", "text/xml").body(body.to_owned());
    request.send().await.unwrap()
}

fn journeys(delivery: &ServiceDelivery) -> Vec<&VehicleJourney> {
    delivery.estimated_timetables.iter().flat_map(|it| it.estimated_journeys()).collect()
}

/// Returns the trip updates of the state, by trip.
async fn updates_by_trip() -> HashMap<String, Value> {
    let url = format!("{}/api/v1/state?channel=feed/city-trips", shared_demo());
    let state = get_json(&url).await;
    let changes = state["changes"].as_array().unwrap().iter();
    let updates = changes.filter(|change| change["kind"] == "trip_update");
    let trip = |change: &Value| change["record"]["trip"]["trip_id"].as_str().unwrap().to_owned();
    updates.map(|change| (trip(change), change["record"].clone())).collect()
}

/// Returns the delay of a journey at a future stop, in seconds.
fn delay_at(journey: &VehicleJourney, stop: &str) -> Option<i64> {
    let call =
        journey.estimated_calls.iter().find(|it| it.stop_point_ref.as_deref() == Some(stop))?;
    let late = |expected: Option<SiriTime>, aimed: Option<SiriTime>| {
        Some(expected?.as_seconds() - aimed?.as_seconds())
    };
    late(call.expected_departure_time, call.aimed_departure_time)
        .or_else(|| late(call.expected_arrival_time, call.aimed_arrival_time))
}

/// Returns true if a journey was made from this record.
fn is_journey_of(journey: &VehicleJourney, record: &Value) -> bool {
    let made_at = record["timestamp"].as_i64();
    made_at
        .or_else(|| record["timestamp"].as_str()?.parse().ok())
        .is_some_and(|made_at| journey.recorded_at_time.map(SiriTime::as_seconds) == Some(made_at))
}

#[tokio::test]
async fn siri_journeys_have_the_delays_of_the_state() {
    // The city changes between two requests, so only journeys of the same record are compared.
    let compared = wait_for("enough journeys are compared", async || {
        let delivery = fetch_delivery("/siri/rest/et?datasetId=city-trips&maxSize=3000").await;
        let updates = updates_by_trip().await;
        let mut compared = 0;
        for journey in journeys(&delivery) {
            let record = journey.journey_ref().and_then(|trip| updates.get(trip.as_str()));
            let Some(record) = record.filter(|record| is_journey_of(journey, record)) else {
                continue;
            };
            let lineside = &record["lineside"];
            let (stop, delay) = (lineside["next_stop_id"].as_str(), lineside["delay"].as_i64());
            let found = stop.and_then(|stop| delay_at(journey, stop));
            if let (Some(found), Some(delay)) = (found, delay) {
                assert_eq!(found, delay, "{journey:?}");
                compared += 1;
            }
        }
        if compared >= 10 { Ok(compared) } else { Err(compared) }
    });
    assert!(compared.await >= 10);
}

#[tokio::test]
async fn siri_vehicles_are_those_of_the_state() {
    let found = wait_for("all vehicles are delivered", async || {
        let delivery = fetch_delivery("/siri/2.0/vehicle-monitoring.json").await;
        let vehicles = get_json(&format!("{}/geojson/city/vehicles.geojson", shared_demo())).await;
        let n_vehicles = delivery.vehicle_monitorings[0].vehicle_activities.len();
        let known = vehicles["features"].as_array().unwrap().len();
        if n_vehicles == known && n_vehicles > 0 { Ok(delivery) } else { Err((n_vehicles, known)) }
    });
    for activity in &found.await.vehicle_monitorings[0].vehicle_activities {
        let journey = activity.monitored_vehicle_journey.as_ref().unwrap();
        let coordinates = journey.vehicle_location.as_ref().unwrap();
        assert!(coordinates.latitude.is_some() && coordinates.longitude.is_some());
        assert!(activity.valid_until_time > activity.recorded_at_time);
    }
}

#[tokio::test]
async fn siri_lite_has_the_same_content_in_json_and_xml() {
    for service in ["lines-discovery", "stoppoints-discovery"] {
        let url = format!("{}/siri/2.0/{service}", shared_demo());
        let json = get(&format!("{url}.json")).await.bytes().await.unwrap();
        let xml = get(&format!("{url}.xml")).await.bytes().await.unwrap();
        let (mut json, mut xml) = (message(&json), message(&xml));
        for payload in json.payloads.iter_mut().chain(&mut xml.payloads) {
            // The responses have different timestamps.
            match payload {
                MessagePayload::LinesDelivery(lines) => {
                    assert!(!lines.annotated_line_refs.is_empty());
                    lines.head.response_timestamp = None;
                }
                MessagePayload::StopPointsDelivery(stops) => {
                    assert!(!stops.annotated_stop_point_refs.is_empty());
                    stops.head.response_timestamp = None;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(json, xml, "{service}");
    }
}

/// Returns a stop of the city with departures in the near future.
async fn a_stop() -> String {
    let found = wait_for("a stop has departures", async || {
        let vehicles = fetch_delivery("/siri/rest/vm").await;
        let activities = &vehicles.vehicle_monitorings[0].vehicle_activities;
        let calls = activities.iter().filter_map(|activity| {
            activity.monitored_vehicle_journey.as_ref()?.monitored_call.as_ref()
        });
        let stops: Vec<String> =
            calls.filter_map(|call| Some(call.stop_point_ref.as_ref()?.to_string())).collect();
        for stop in &stops {
            let url = format!("{}/api/v1/stops/city/{stop}/departures", shared_demo());
            let departures = get_json(&url).await;
            if departures["items"].as_array().is_some_and(|items| items.len() > 5) {
                return Ok(stop.clone());
            }
        }
        Err(stops)
    });
    found.await
}

#[tokio::test]
async fn stop_monitoring_has_the_departures_of_the_board() {
    let stop = a_stop().await;
    for monitoring_ref in [stop.clone(), format!("city:{stop}")] {
        let path = format!("/siri/2.0/stop-monitoring.json?monitoringref={monitoring_ref}");
        let delivery = fetch_delivery(&path).await;
        let [stop_monitoring] = &delivery.stop_monitorings[..] else { panic!("one delivery") };
        assert_eq!(stop_monitoring.monitoring_refs, [monitoring_ref.as_str()]);
        let visits = &stop_monitoring.monitored_stop_visits;
        assert!(visits.len() > 2);
        let times: Vec<_> = visits
            .iter()
            .map(|visit| {
                let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
                let call = journey.monitored_call.as_ref().unwrap();
                call.expected_departure_time.or(call.aimed_departure_time).unwrap()
            })
            .collect();
        assert!(times.is_sorted());
        let few = fetch_delivery(&format!("{path}&MaximumStopVisits=2&PreviewInterval=PT2H")).await;
        assert_eq!(few.stop_monitorings[0].monitored_stop_visits.len(), 2);
        let line = visits[0].monitored_vehicle_journey.as_ref().unwrap().line_ref.clone().unwrap();
        let line_visits = fetch_delivery(&format!("{path}&LineRef={line}")).await;
        for visit in &line_visits.stop_monitorings[0].monitored_stop_visits {
            let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
            assert_eq!(journey.line_ref.as_ref(), Some(&line));
        }
    }
}

#[tokio::test]
async fn failed_requests_have_siri_error_conditions() {
    for (path, error) in [
        ("/siri/2.0/stop-monitoring.json", "OtherError"),
        ("/siri/2.0/stop-monitoring.xml?MonitoringRef=nowhere", "InvalidDataReferencesError"),
        ("/siri/2.0/stop-monitoring.xml?MonitoringRef=city:nowhere", "InvalidDataReferencesError"),
        ("/siri/2.0/estimated-timetables.xml?LineRef=nowhere", "InvalidDataReferencesError"),
        ("/siri/2.0/estimated-timetables.json?PreviewInterval=30", "OtherError"),
        ("/siri/2.0/stop-monitoring.json?MonitoringRef=x&StartTime=soon", "OtherError"),
        ("/siri/2.0/vehicle-monitoring.json?DatasetId=town", "InvalidDataReferencesError"),
        ("/siri/rest/et?maxSize=0", "OtherError"),
        ("/siri/rest/et?maxSize=many", "OtherError"),
        ("/siri/rest/sx?requestorId=a&datasetId=town", "InvalidDataReferencesError"),
    ] {
        let response = get(&format!("{}{path}", shared_demo())).await;
        assert_eq!(response.status(), 400, "{path}");
        let delivery = delivery(message(&response.bytes().await.unwrap()));
        assert_eq!(delivery.status, Some(false));
        let heads = delivery.estimated_timetables.iter().map(|it| &it.head);
        let heads = heads
            .chain(delivery.vehicle_monitorings.iter().map(|it| &it.head))
            .chain(delivery.situation_exchanges.iter().map(|it| &it.head))
            .chain(delivery.stop_monitorings.iter().map(|it| &it.head));
        let conditions: Vec<_> = heads.filter_map(|head| head.error_condition.as_ref()).collect();
        assert_eq!(conditions.len(), 1, "{path}");
        assert_eq!(conditions[0].kind.as_deref(), Some(error), "{path}");
        assert!(conditions[0].text.as_ref().is_some_and(|text| !text.is_empty()));
    }
    for path in ["/siri/2.0/general-message.json", "/siri/2.0/vehicle-monitoring", "/siri/rest/sm"]
    {
        let (status, _, problem) = problem(&format!("{}{path}", shared_demo())).await;
        assert_eq!((status, problem["code"].as_str()), (404, Some("not_found")), "{path}");
    }
}

#[tokio::test]
async fn the_dataset_id_selects_the_network_of_an_ambiguous_id() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n".to_owned();
    for id in ["town", "twin"] {
        Lines::write(&folder.path().join(id));
        let path = folder.path().join(id);
        text += &format!("[[feed]]\nid = \"{id}\"\nurl = {:?}\n", path.to_str().unwrap());
    }
    let server = ServerProcess::serving(folder.path(), text);
    let fetch_delivery = async |path: &str| {
        let reply = get(&format!("{}/siri/2.0/{path}", server.url)).await;
        (reply.status().as_u16(), delivery(message(&reply.bytes().await.unwrap())))
    };
    wait_until("both networks are known", async || {
        let (status, delivery) = fetch_delivery("estimated-timetables.xml?LineRef=A").await;
        let error = delivery.estimated_timetables.first();
        let error = error.and_then(|it| it.head.error_condition.as_ref());
        let error_text = error.and_then(|it| it.text.as_deref());
        status == 400 && error_text.is_some_and(|text| text.contains("use town:A or twin:A"))
    })
    .await;
    for path in [
        "estimated-timetables.xml?LineRef=A&DatasetId=twin",
        "estimated-timetables.xml?LineRef=twin:A&DatasetId=twin",
        "stop-monitoring.xml?MonitoringRef=S&LineRef=A&DatasetId=twin",
    ] {
        assert_eq!(fetch_delivery(path).await.0, 200, "{path}");
    }
    let (_, found) = fetch_delivery("stop-monitoring.xml?MonitoringRef=S&DatasetId=twin").await;
    let visits = found.stop_monitorings.iter().flat_map(|it| &it.monitored_stop_visits);
    let names: Vec<_> = visits.filter_map(|visit| visit.item_identifier.as_deref()).collect();
    assert!(names.iter().all(|name| name.starts_with("twin:")), "{names:?}");
    // An id that the requested networks lack belongs to another network, which is then left out.
    let (status, found) =
        fetch_delivery("estimated-timetables.xml?LineRef=town:A&DatasetId=twin").await;
    assert_eq!((status, journeys(&found).len()), (200, 0));
}

#[tokio::test]
async fn siri_answers_have_etags_caching_and_content_coding() {
    let url = format!("{}/siri/2.0/stoppoints-discovery.json", shared_demo());
    wait_for("the answer stays the same between two requests", async || {
        let first = get(&url).await;
        let tag = header(&first, "etag").to_owned();
        assert!(tag.starts_with('"') && header(&first, "cache-control").contains("max-age="));
        let coded = get_with(&url, &[("accept-encoding", "gzip")]).await;
        assert_eq!(header(&coded, "content-encoding"), "gzip");
        let second = get_with(&url, &[("if-none-match", &tag)]).await;
        if second.status() == 304 { Ok(()) } else { Err(second.status()) }
    })
    .await;
}

#[tokio::test]
async fn a_repeated_request_returns_only_changes() {
    let path = "/siri/rest/vm?datasetId=city-vehicles&requestorId=again";
    let first = fetch_delivery(path).await;
    let all = first.vehicle_monitorings[0].vehicle_activities.len();
    assert!(all > 1);
    // Anyone who knows the name could take its changes, so answers that others may read omit it.
    assert!(!format!("{:?}", first.request_message_ref).contains("again"));
    // A HEAD request delivers nothing, so it does not consume changes.
    let url = format!("{}{path}", shared_demo());
    let head = send(reqwest::Method::HEAD, &url, &[]).await;
    assert_eq!((head.status().as_u16(), header(&head, "cache-control")), (200, "no-store"));
    // Vehicles move, so at some point an answer contains some of them but not all.
    let mut last = HashMap::new();
    wait_for("only changed vehicles are delivered", async || {
        let more = fetch_delivery(path).await;
        let activities = &more.vehicle_monitorings[0].vehicle_activities;
        for activity in activities {
            let vehicle = activity.vehicle_monitoring_ref.clone().unwrap();
            let at = activity.recorded_at_time.unwrap();
            let before = last.insert(vehicle, at);
            assert!(before.is_none_or(|before| before <= at));
        }
        if activities.is_empty() || activities.len() >= all {
            Err(activities.len())
        } else {
            Ok(())
        }
    })
    .await;
    // Another name starts with the whole state.
    let other = fetch_delivery("/siri/rest/vm?datasetId=city-vehicles&requestorId=other").await;
    assert!(other.vehicle_monitorings[0].vehicle_activities.len() > 1);
}

#[tokio::test]
async fn remaining_records_come_with_the_next_answer() {
    let all = fetch_delivery("/siri/rest/sx").await.situation_exchanges[0].situations.len();
    let journeys_in_all = journeys(&fetch_delivery("/siri/rest/et?maxSize=3000").await).len();
    assert!(all > 0 && journeys_in_all > 5);
    let path = "/siri/rest/et?requestorId=slowly&maxSize=5";
    let mut ids = Vec::new();
    loop {
        let delivery = fetch_delivery(path).await;
        let now: Vec<String> = journeys(&delivery)
            .iter()
            .map(|journey| journey.journey_ref().unwrap().to_string())
            .collect();
        assert!(now.len() <= 5);
        ids.extend(now);
        if delivery.more_data != Some(true) || ids.len() > 10 * journeys_in_all {
            break;
        }
    }
    ids.sort();
    ids.dedup();
    assert!(ids.len() + 5 >= journeys_in_all, "{} of {journeys_in_all}", ids.len());
    // Without a name there is no next part: an answer is complete or limited as requested, and never announces more.
    let few = fetch_delivery("/siri/rest/et?maxSize=5").await;
    assert_eq!((few.more_data, journeys(&few).len()), (None, 5));
    for path in ["/siri/rest/et", "/siri/rest/vm", "/siri/2.0/estimated-timetables.json"] {
        assert_eq!(fetch_delivery(path).await.more_data, None, "{path}");
    }
}

#[tokio::test]
async fn the_nordic_addresses_return_xml_unless_json_is_requested() {
    let url = format!("{}/siri/rest/sx", shared_demo());
    for (accept, kind) in [
        ("*/*", "application/xml"),
        ("application/json", "application/json"),
        ("application/xml, application/json;q=0.5", "application/xml"),
    ] {
        let response = get_with(&url, &[("accept", accept)]).await;
        assert_eq!(header(&response, "content-type"), kind, "{accept}");
        assert_eq!(header(&response, "vary"), "Accept-Encoding, Accept", "{accept}");
        delivery(message(&response.bytes().await.unwrap()));
    }
}

const ENVELOPE: &str =
    r#"<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>"#;
const NAMESPACES: &str =
    r#"xmlns:sw="http://wsdl.siri.org.uk" xmlns:siri="http://www.siri.org.uk/siri""#;

/// Returns a request in the envelope of the French profile.
fn in_envelope(name: &str, info: &str, request: &str) -> String {
    format!(
        "{ENVELOPE}<sw:{name} {NAMESPACES}>{info}<Request version=\"2.0\">{request}</Request>\
         <RequestExtension/></sw:{name}></S:Body></S:Envelope>"
    )
}

fn plain(content: &str) -> String {
    format!(r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0">{content}</Siri>"#)
}

async fn answer(body: &str, kind: &str) -> (String, SiriMessage) {
    let response = posted("/siri/services", body).await;
    assert_eq!(response.status(), 200);
    assert_eq!(header(&response, "content-type"), kind);
    let text = response.text().await.unwrap();
    let message = message(text.as_bytes());
    (text, message)
}

#[tokio::test]
async fn soap_requests_are_answered_in_soap() {
    let stop = a_stop().await;
    let info = "<ServiceRequestInfo><siri:RequestTimestamp>2026-11-21T19:25:00Z</siri:RequestTimestamp>\
                <siri:RequestorRef>me</siri:RequestorRef>\
                <siri:MessageIdentifier>question 7</siri:MessageIdentifier></ServiceRequestInfo>";
    let request = format!("<siri:MonitoringRef>{stop}</siri:MonitoringRef>");
    let body = in_envelope("GetStopMonitoring", info, &request);
    let (text, message) = answer(&body, "text/xml; charset=utf-8").await;
    assert!(text.contains("<sw:GetStopMonitoringResponse"), "{text}");
    let delivery = delivery(message);
    assert_eq!(delivery.request_message_ref.as_deref(), Some("question 7"));
    assert!(!delivery.stop_monitorings[0].monitored_stop_visits.is_empty());

    for (name, response) in [
        ("GetEstimatedTimetable", "GetEstimatedTimetableResponse"),
        ("GetVehicleMonitoring", "GetVehicleMonitoringResponse"),
        ("GetSituationExchange", "GetSituationExchangeResponse"),
    ] {
        let (text, _) = answer(&in_envelope(name, info, ""), "text/xml; charset=utf-8").await;
        assert!(text.contains(&format!("<sw:{response}")), "{text}");
    }

    let who = "<siri:MessageIdentifier>question 8</siri:MessageIdentifier>";
    let body = in_envelope("CheckStatus", "", who);
    let (_, message) = answer(&body, "text/xml; charset=utf-8").await;
    let [MessagePayload::CheckStatusResponse(status)] = &message.payloads[..] else {
        panic!("a status")
    };
    assert_eq!(
        (status.status, status.request_message_ref.as_deref()),
        (Some(true), Some("question 8"))
    );
    assert!(status.service_started_time.is_some());

    let body = in_envelope("LinesDiscovery", "", who);
    let (text, message) = answer(&body, "text/xml; charset=utf-8").await;
    assert!(text.contains("<sw:LinesDiscoveryResponse"));
    let [MessagePayload::LinesDelivery(lines)] = &message.payloads[..] else { panic!("lines") };
    assert!(!lines.annotated_line_refs.is_empty());
}

#[tokio::test]
async fn a_soap_get_siri_service_request_is_answered_for_its_services() {
    let stop = a_stop().await;
    let request = format!("<siri:MonitoringRef>{stop}</siri:MonitoringRef>");
    let situations_request = format!(
        "<siri:MessageIdentifier>question 9</siri:MessageIdentifier>\
         <siri:StopMonitoringRequest version=\"2.0\">{request}</siri:StopMonitoringRequest>"
    );
    let two_services_request =
        format!("{situations_request}<siri:SituationExchangeRequest version=\"2.0\"/>");
    for (filter_xml, n_situations) in [(&situations_request, 0), (&two_services_request, 1)] {
        let body = in_envelope("GetSiriService", "", filter_xml).replace("<RequestExtension/>", "");
        let (text, message) = answer(&body, "text/xml; charset=utf-8").await;
        assert!(text.contains("<sw:GetSiriServiceResponse"), "{text}");
        assert!(text.contains("><Answer><siri:ResponseTimestamp>"), "{text}");
        assert!(!text.contains("ServiceDeliveryInfo"), "{text}");
        let delivery = delivery(message);
        assert_eq!(delivery.request_message_ref.as_deref(), Some("question 9"));
        assert_eq!(delivery.stop_monitorings.len(), 1);
        assert_eq!(delivery.situation_exchanges.len(), n_situations);
    }
}

#[tokio::test]
async fn unsupported_soap_operations_are_answered_with_a_fault() {
    for (address, name) in [
        ("/siri/services", "GetGeneralMessage"),
        ("/siri/services", "GetFoo"),
        ("/siri/services", "Subscribe"),
        ("/siri/services", "GetSiriService"),
        ("/siri/subscribe", "CheckStatus"),
    ] {
        let response = posted(address, &in_envelope(name, "", "")).await;
        assert_eq!(response.status(), 500, "{name}");
        let text = response.text().await.unwrap();
        assert!(text.contains("<S:Fault><faultcode>S:Client"), "{name}: {text}");
    }
}

#[tokio::test]
async fn plain_requests_for_several_services_are_answered_in_one_delivery() {
    let stop = a_stop().await;
    let body = plain(&format!(
        "<ServiceRequest><RequestorRef>several</RequestorRef><MessageIdentifier>m1</MessageIdentifier>\
         <EstimatedTimetableRequest/><VehicleMonitoringRequest><MaximumVehicles>2</MaximumVehicles>\
         </VehicleMonitoringRequest><SituationExchangeRequest/>\
         <StopMonitoringRequest><MonitoringRef>{stop}</MonitoringRef></StopMonitoringRequest>\
         <StopMonitoringRequest><MonitoringRef>nowhere</MonitoringRef></StopMonitoringRequest>\
         </ServiceRequest>"
    ));
    let (_, message) = answer(&body, "application/xml").await;
    let delivery = delivery(message);
    assert_eq!(delivery.request_message_ref.as_deref(), Some("m1"));
    assert!(!journeys(&delivery).is_empty());
    assert_eq!(delivery.vehicle_monitorings[0].vehicle_activities.len(), 2);
    assert!(!delivery.situation_exchanges[0].situations.is_empty());
    let [known, unknown] = &delivery.stop_monitorings[..] else { panic!("two deliveries") };
    assert!(!known.monitored_stop_visits.is_empty());
    assert_eq!(unknown.head.status, Some(false));

    let body = plain("<StopPointsRequest/>");
    let (_, message) = answer(&body, "application/xml").await;
    assert!(matches!(&message.payloads[..], [MessagePayload::StopPointsDelivery(_)]));
}

#[tokio::test]
async fn an_unreadable_soap_request_is_answered_with_a_fault() {
    let broken = format!("{ENVELOPE}<sw:Nothing xmlns:sw=\"http://wsdl.siri.org.uk\"></S:Body>");
    let response = posted("/siri/services", &broken).await;
    assert_eq!(response.status(), 500);
    let fault = message(&response.bytes().await.unwrap());
    assert!(matches!(&fault.payloads[..], [MessagePayload::Fault(_)]), "{fault:?}");
    let time =
        plain("<CheckStatusRequest><RequestTimestamp>soon</RequestTimestamp></CheckStatusRequest>");
    let large = plain(&format!("<CheckStatusRequest>{}</CheckStatusRequest>", " ".repeat(300_000)));
    for body in ["", "nonsense", "<html></html>", "<Siri/>", &time, &large] {
        let response = posted("/siri/services", body).await;
        assert_eq!(response.status(), 400, "{}", &body[..body.len().min(100)]);
        let delivery = delivery(message(&response.bytes().await.unwrap()));
        assert_eq!(delivery.status, Some(false));
        let text = delivery.error_condition.unwrap().text.unwrap();
        assert!(text.starts_with("the request "), "{text}");
    }
    let hello = plain("<HeartbeatNotification><Status>true</Status></HeartbeatNotification>");
    let (_, message) = answer(&hello, "application/xml").await;
    let condition = delivery(message).error_condition.unwrap();
    assert_eq!(condition.kind.as_deref(), Some("CapabilityNotSupportedError"));
    assert!(siri::looks_like_siri(plain("").as_bytes()));
}
