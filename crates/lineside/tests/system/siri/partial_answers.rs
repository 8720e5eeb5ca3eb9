//! Answers in parts that end, and the details that existing clients rely on.

use std::collections::BTreeSet;
use std::io::Read as _;

use super::*;

/// Returns the vehicles in an answer, and true if more follow.
fn vehicle_names(delivery: &ServiceDelivery) -> (Vec<String>, bool) {
    let all = delivery.vehicle_monitorings.iter().flat_map(|it| &it.vehicle_activities);
    let names = all.map(|it| it.vehicle_monitoring_ref.as_deref().unwrap().to_owned());
    (names.collect(), delivery.more_data == Some(true))
}

#[tokio::test]
async fn posting_until_more_data_is_false_returns_all_vehicles() {
    let in_all =
        vehicle_names(&fetch_delivery("/siri/rest/vm?datasetId=city-vehicles").await).0.len();
    assert!(in_all > 10, "{in_all}");
    let request = "<MaximumVehicles>10</MaximumVehicles>";
    let in_xml = plain(&format!(
        "<ServiceRequest><RequestorRef>page by page</RequestorRef>\
         <VehicleMonitoringRequest>{request}</VehicleMonitoringRequest></ServiceRequest>"
    ));
    let info = "<ServiceRequestInfo><siri:RequestorRef>page by page</siri:RequestorRef>\
                </ServiceRequestInfo>";
    let in_soap = in_envelope(
        "GetVehicleMonitoring",
        info,
        "<siri:MaximumVehicles>10</siri:MaximumVehicles>",
    );
    for (body, is_soap) in [(&in_xml, false), (&in_soap, true)] {
        let part = async || {
            let response = posted("/siri/services?DatasetId=city-vehicles", body).await;
            vehicle_names(&delivery(message(&response.bytes().await.unwrap())))
        };
        let mut all_names = BTreeSet::new();
        let mut parts = 0;
        loop {
            let (names, has_more) = part().await;
            assert!(names.len() <= 10);
            all_names.extend(names);
            parts += 1;
            // Vehicles that move meanwhile are repeated, so there may be a few more parts.
            assert!(parts < in_all, "{parts} parts of {in_all} vehicles");
            if !has_more {
                break;
            }
        }
        assert!(all_names.len() + 5 >= in_all, "{} of {in_all}", all_names.len());
        // In an envelope the next request starts again.
        if is_soap {
            assert_eq!(part().await.0.len(), 10);
        }
    }
}

#[tokio::test]
async fn posted_timetables_without_a_requestor_are_whole() {
    let body = plain("<ServiceRequest><EstimatedTimetableRequest/></ServiceRequest>");
    let response = posted("/siri/services?DatasetId=city", &body).await;
    let posted = delivery(message(&response.bytes().await.unwrap()));
    let fetched = fetch_delivery("/siri/rest/et?datasetId=city").await;
    let (n_posted, n_fetched) = (journeys(&posted).len(), journeys(&fetched).len());
    assert_ne!(posted.more_data, Some(true));
    // Some trips begin or end between the two requests.
    assert!(
        n_posted > 10 && n_posted.abs_diff(n_fetched) <= n_fetched / 5,
        "{n_posted} of {n_fetched}"
    );
}

#[tokio::test]
async fn a_maximum_of_zero_vehicles_is_refused() {
    let request = "<MaximumVehicles>0</MaximumVehicles>";
    let named = plain(&format!(
        "<ServiceRequest><RequestorRef>none at all</RequestorRef>\
         <VehicleMonitoringRequest>{request}</VehicleMonitoringRequest></ServiceRequest>"
    ));
    let response = posted("/siri/services", &named).await;
    let delivered_part = delivery(message(&response.bytes().await.unwrap()));
    assert_eq!((delivered_part.status, delivered_part.more_data), (Some(false), None));
    assert!(delivered_part.vehicle_monitorings[0].head.error_condition.is_some());
    let rest = get(&format!("{}/siri/rest/vm?requestorId=none&maxSize=0", shared_demo())).await;
    assert_eq!(rest.status(), 400);
}

#[tokio::test]
async fn a_posted_request_is_filtered_by_its_address_and_compressed() {
    let body = plain("<ServiceRequest><VehicleMonitoringRequest/></ServiceRequest>");
    let url = format!("{}/siri/services", shared_demo());
    let post = |query: &str, coding: &'static str| {
        let request = client().post(format!("{url}{query}")).body(body.clone());
        request.header("accept-encoding", coding).send()
    };
    let coded = post("", "gzip").await.unwrap();
    assert_eq!(header(&coded, "content-encoding"), "gzip");
    let other = post("?DatasetId=city-trips", "identity").await.unwrap();
    let other = delivery(message(&other.bytes().await.unwrap()));
    assert!(vehicle_names(&other).0.is_empty());
    let unknown = post("?datasetid=town", "identity").await.unwrap();
    let unknown = delivery(message(&unknown.bytes().await.unwrap()));
    let head = &unknown.vehicle_monitorings[0].head;
    let kind = head.error_condition.as_ref().and_then(|it| it.kind.as_deref());
    assert_eq!(kind, Some("InvalidDataReferencesError"));
}

#[tokio::test]
async fn vehicle_deliveries_have_a_validity_and_a_request_reference() {
    let unnamed = plain("<ServiceRequest><VehicleMonitoringRequest/></ServiceRequest>");
    let mut answers = vec![posted("/siri/services", &unnamed).await];
    for path in [
        "siri/2.0/vehicle-monitoring.xml",
        "siri/rest/vm",
        "siri/rest/vm?requestorId=which-request-it-answers",
    ] {
        answers.push(get(&format!("{}/{path}", shared_demo())).await);
    }
    for answer in answers {
        let text = answer.text().await.unwrap();
        assert!(text.contains("<VehicleMonitoringDelivery version=\"2.1\">"));
        let delivery = delivery(message(text.as_bytes()));
        let head = &delivery.vehicle_monitorings[0].head;
        assert!(head.valid_until > head.response_timestamp);
        assert!(head.shortest_possible_cycle.is_some() && head.request_message_ref.is_some());
    }
}

#[tokio::test]
async fn json_has_references_and_texts_as_objects_with_value() {
    let url = format!("{}/siri/2.0/estimated-timetables.json", shared_demo());
    let answer = get_json(&url).await;
    let timetable = &answer["Siri"]["ServiceDelivery"]["EstimatedTimetableDelivery"][0];
    let journey = &timetable["EstimatedJourneyVersionFrame"][0]["EstimatedVehicleJourney"][0];
    assert!(journey["LineRef"]["value"].is_string(), "{journey}");
    assert!(journey["OperatorRef"]["value"].is_string());
    assert!(journey["PublishedLineName"][0]["value"].is_string());
    let stops = get_json(&format!("{}/siri/2.0/stoppoints-discovery.json", shared_demo())).await;
    let stop = &stops["Siri"]["StopPointsDelivery"]["AnnotatedStopPointRef"][0];
    assert!(stop["StopPointRef"]["value"].is_string(), "{stop}");
}

#[tokio::test]
async fn many_requests_in_one_message_share_the_limit_of_one_answer() {
    let query_visits = |stop: &str, questions: usize| {
        let question = format!(
            "<StopMonitoringRequest><PreviewInterval>PT24H</PreviewInterval>\
             <MonitoringRef>{stop}</MonitoringRef><MaximumStopVisits>1</MaximumStopVisits>\
             <MinimumStopVisitsPerLine>4294967295</MinimumStopVisitsPerLine></StopMonitoringRequest>"
        );
        plain(&format!("<ServiceRequest>{}</ServiceRequest>", question.repeat(questions)))
    };
    let n_visits = |delivery: &ServiceDelivery| -> usize {
        delivery.stop_monitorings.iter().map(|it| it.monitored_stop_visits.len()).sum()
    };
    // A station of the city whose visits in a day fill an answer.
    let stops = get_json(&format!("{}/geojson/city/stops.geojson", shared_demo())).await;
    let stations = stops["features"].as_array().unwrap().iter();
    let stations = stations.filter(|stop| stop["properties"]["location_type"] == 1);
    let mut busiest = (0, a_stop().await);
    for station in stations.filter_map(|stop| stop["properties"]["stop_id"].as_str()) {
        let n = n_visits(&delivery(answer(&query_visits(station, 1), "application/xml").await.1));
        busiest = busiest.max((n, station.to_owned()));
    }
    let (one, stop) = busiest;
    assert!((60..=1_000).contains(&one), "{one}");
    let many = delivery(answer(&query_visits(&stop, 20), "application/xml").await.1);
    assert_eq!((many.stop_monitorings.len(), many.more_data), (20, None));
    assert!((1_000 - one..=1_000).contains(&n_visits(&many)), "{one} {}", n_visits(&many));
    let refused = many.stop_monitorings.iter().filter_map(|it| it.head.error_condition.as_ref());
    let kinds: Vec<_> = refused.filter_map(|it| it.kind.as_deref()).collect();
    assert!(!kinds.is_empty());
    assert!(kinds.iter().all(|kind| *kind == "AllowedResourceUsageExceededError"), "{kinds:?}");
}

#[tokio::test]
async fn compressed_answers_have_the_reference_of_their_request() {
    // A requestor that comes back is sent the changes only, which may be too few bytes to compress.
    for (requestor, identifier) in [("a", "first"), ("b", "second"), ("c", "first")] {
        let body = plain(&format!(
            "<ServiceRequest><RequestorRef>compressed {requestor}</RequestorRef>\
             <MessageIdentifier>{identifier}</MessageIdentifier><EstimatedTimetableRequest/>\
             </ServiceRequest>"
        ));
        let url = format!("{}/siri/services", shared_demo());
        let request = client().post(&url).header("content-type", "text/xml").body(body);
        let response = request.header("accept-encoding", "gzip").send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), header(&response, "content-encoding")),
            (200, "gzip")
        );
        let mut plain = Vec::new();
        let bytes = response.bytes().await.unwrap();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        let delivery = delivery(message(&plain));
        assert_eq!(delivery.request_message_ref.as_deref(), Some(identifier));
    }
}
