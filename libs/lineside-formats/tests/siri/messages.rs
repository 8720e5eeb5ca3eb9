//! The content of messages, field by field, and the equivalence of all formats.

use lineside_formats::siri::*;
use smol_str::SmolStr;

use super::{journeys, read_sound};

const ESTIMATED_TIMETABLE: &str = include_str!("estimated_timetable.xml");
const VEHICLE_MONITORING: &str = include_str!("vehicle_monitoring.xml");
const STOP_MONITORING: &str = include_str!("stop_monitoring.xml");
const SITUATIONS: &str = include_str!("situations.xml");

fn only_delivery(text: &str) -> ServiceDelivery {
    let message = read_sound(text);
    let mut deliveries = message.service_deliveries();
    let delivery = deliveries.next().unwrap().clone();
    assert!(deliveries.next().is_none());
    delivery
}

fn text(value: &str) -> LanguageText {
    LanguageText { lang: None, value: value.into() }
}

fn text_in(lang: &str, value: &str) -> LanguageText {
    LanguageText { lang: Some(lang.into()), value: value.into() }
}

fn time(time: Option<SiriTime>) -> String {
    time.map(|time| time.to_string()).unwrap_or_default()
}

#[test]
fn journeys_of_an_estimated_timetable_are_read() {
    let delivery = only_delivery(ESTIMATED_TIMETABLE);
    assert_eq!(delivery.more_data, Some(true));
    assert_eq!(time(delivery.response_timestamp), "2026-11-21T19:25:00.25Z");
    let timetable = &delivery.estimated_timetables[0];
    assert_eq!(timetable.head.version.as_deref(), Some("2.0"));
    let [journey, extra] = &timetable.estimated_journeys().collect::<Vec<_>>()[..] else {
        panic!("two journeys")
    };
    assert_eq!(journey.line_ref.as_deref(), Some("TWN:Line:1"));
    assert_eq!(journey.journey_ref().unwrap(), "TWN:ServiceJourney:1-1001");
    assert_eq!(journey.vehicle_feature_refs, [SmolStr::new("lowFloor"), SmolStr::new("wifi")]);
    assert_eq!(journey.occupancy, Some(Occupancy::ManySeatsAvailable));
    assert_eq!((journey.monitored, journey.prediction_inaccurate), (Some(true), Some(false)));
    assert_eq!(journey.is_complete_stop_sequence, Some(true));
    assert_eq!(extra.journey_ref().unwrap(), "extra-7");
    assert_eq!((extra.extra_journey, extra.cancellation), (Some(true), Some(true)));
}

#[test]
fn calls_of_an_estimated_timetable_are_read() {
    let delivery = only_delivery(ESTIMATED_TIMETABLE);
    let journey = delivery.estimated_timetables[0].estimated_journeys().next().unwrap();
    let [recorded] = &journey.recorded_calls[..] else { panic!("one recorded call") };
    assert_eq!(time(recorded.actual_departure_time), "2026-11-21T19:21:05Z");
    assert_eq!(recorded.departure_platform_names, [text("1")]);
    let [extra, cancelled] = &journey.estimated_calls[..] else { panic!("two estimated calls") };
    assert_eq!((extra.order, extra.visit_number), (Some(2), Some(1)));
    assert_eq!(extra.stop_point_names, [text_in("nb", "Torget & rådhuset")]);
    assert_eq!((extra.extra_call, extra.cancellation), (Some(true), Some(false)));
    assert_eq!(extra.destination_displays, [text_in("nb", "Havna"), text_in("en", "Harbor")]);
    assert_eq!(time(extra.aimed_arrival_time), "2026-11-21T19:30:00Z");
    assert_eq!(time(extra.expected_arrival_time), "2026-11-21T19:32:30Z");
    assert_eq!(extra.arrival_status, Some(CallStatus::Delayed));
    assert_eq!(extra.departure_boarding_activity, Some(DepartureBoardingActivity::Boarding));
    let quays = &extra.arrival_stop_assignments[0];
    assert_eq!(quays.aimed_quay_ref.as_deref(), Some("TWN:Quay:2"));
    assert_eq!(quays.expected_quay_ref.as_deref(), Some("TWN:Quay:3"));
    assert_eq!(cancelled.cancellation, Some(true));
    assert_eq!(cancelled.arrival_status, Some(CallStatus::Cancelled));
}

#[test]
fn siri_lite_json_is_read_like_the_xml() {
    let mut json = read_sound(include_str!("estimated_timetable.json"));
    let xml = read_sound(ESTIMATED_TIMETABLE);
    let MessagePayload::ServiceDelivery(delivery) = &mut json.payloads[0] else {
        panic!("a delivery")
    };
    let modes = &mut delivery.estimated_timetables[0].frames[0].estimated_vehicle_journeys[0];
    // The only term here that is not an enumeration, in the capitals of another library.
    assert_eq!(modes.vehicle_modes, ["TRAM"]);
    modes.vehicle_modes = vec!["tram".into()];
    assert_eq!(json, xml);
}

#[test]
fn vehicle_activities_are_read() {
    let delivery = only_delivery(VEHICLE_MONITORING);
    let vehicles = &delivery.vehicle_monitorings[0];
    let activity = &vehicles.vehicle_activities[0];
    assert_eq!(time(activity.valid_until_time), "2026-11-21T19:34:58Z");
    let progress = activity.progress_between_stops.as_ref().unwrap();
    assert_eq!((progress.link_distance, progress.percentage), (Some(850.5), Some(40.0)));
    let journey = activity.monitored_vehicle_journey.as_ref().unwrap();
    let place = journey.vehicle_location.as_ref().unwrap();
    assert_eq!((place.latitude, place.longitude), (Some(59.9139), Some(10.7522)));
    assert_eq!((journey.bearing, journey.velocity), (Some(123.5), Some(12.0)));
    assert_eq!(journey.delay, Some(DurationSeconds(-90)));
    assert_eq!(journey.vehicle_ref.as_deref(), Some("tram 12"));
    assert_eq!(journey.previous_calls[0].stop_point_ref.as_deref(), Some("TWN:Quay:1"));
    assert_eq!(journey.monitored_call.as_ref().unwrap().vehicle_at_stop, Some(false));
    assert_eq!(journey.onward_calls[0].number_of_stops_away, Some(2));
    let cancellation = &vehicles.cancellations[0];
    assert_eq!(cancellation.item_ref.as_deref(), Some("item 0"));
    assert_eq!(cancellation.reasons, [text("Back in the depot")]);
}

#[test]
fn stop_visits_are_read() {
    let delivery = only_delivery(STOP_MONITORING);
    let stop = &delivery.stop_monitorings[0];
    assert_eq!(stop.monitoring_refs, ["TWN:Quay:2"]);
    let visit = &stop.monitored_stop_visits[0];
    assert_eq!(visit.item_identifier.as_deref(), Some("visit 1"));
    let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
    assert_eq!(journey.vias[0].place_names, [text("Bridge")]);
    assert_eq!(journey.train_number_refs, ["1001"]);
    let call = journey.monitored_call.as_ref().unwrap();
    assert_eq!(time(call.actual_arrival_time), "2026-11-21T19:31:00Z");
    assert_eq!(call.arrival_status, Some(CallStatus::Arrived));
    assert_eq!(stop.cancellations[0].item_ref.as_deref(), Some("visit 0"));
}

#[test]
fn situations_are_read() {
    let delivery = only_delivery(SITUATIONS);
    let situation = &delivery.situation_exchanges[0].situations[0];
    assert_eq!(situation.participant_ref.as_deref(), Some("TWN"));
    assert_eq!(situation.situation_number.as_deref(), Some("TWN:SituationNumber:7"));
    assert_eq!(situation.version.as_deref(), Some("2"));
    assert_eq!(situation.related_to_refs[0].related_as.as_deref(), Some("supersedes"));
    assert_eq!(situation.progress, Some(SituationProgress::Open));
    let [period, open] = &situation.validity_periods[..] else { panic!("two periods") };
    assert_eq!(time(period.end_time), "2026-11-22T03:00:00Z");
    assert_eq!((time(open.start_time), open.end_time), ("2026-11-23T07:00:00Z".into(), None));
    assert_eq!(situation.alert_cause.as_deref(), Some("constructionWork"));
    assert_eq!(situation.undefined_reason, PresenceFlag(true));
    assert_eq!((situation.severity, situation.priority), (Some(Severity::Severe), Some(2)));
    let summaries = [text_in("no", "Torget er stengt"), text_in("en", "The market is closed")];
    assert_eq!(situation.summaries, summaries);
    let link = &situation.info_links[0];
    assert_eq!(link.uri.as_deref(), Some("https://town.example/works?a=1&b=2"));
    let consequence = &situation.consequences[0];
    assert_eq!(consequence.conditions, ["diverted"]);
    assert_eq!(consequence.severity, Some(Severity::Slight));
    assert_eq!(consequence.blocking.as_ref().unwrap().journey_planner, Some(true));
    assert_eq!(consequence.delays.as_ref().unwrap().delay, Some(DurationSeconds(300)));
}

#[test]
fn the_affected_scope_of_a_situation_is_read() {
    let delivery = only_delivery(SITUATIONS);
    let affects = delivery.situation_exchanges[0].situations[0].affects.clone().unwrap();
    assert_eq!(affects.operators.unwrap().all_operators, PresenceFlag(true));
    let network = &affects.networks[0];
    assert_eq!(network.network_ref.as_deref(), Some("TWN:Network:1"));
    let line = &network.affected_lines[0];
    assert_eq!(line.line_ref.as_deref(), Some("TWN:Line:1"));
    let stop = &line.routes[0].stop_points[0];
    assert_eq!(stop.stop_conditions, ["exceptionalStop", "destination"]);
    let section = line.sections[0].indirect_section_ref.as_ref().unwrap();
    assert_eq!(section.last_quay_ref.as_deref(), Some("TWN:Quay:4"));
    assert_eq!(affects.stop_points[0].stop_point_ref.as_deref(), Some("TWN:Quay:2"));
    assert_eq!(affects.stop_places[0].stop_place_ref.as_deref(), Some("TWN:StopPlace:1"));
    let journey = &affects.vehicle_journeys[0];
    assert_eq!(journey.vehicle_journey_refs, ["TWN:ServiceJourney:1-1002"]);
    let framed = journey.framed_vehicle_journey_ref.as_ref().unwrap();
    assert_eq!(framed.data_frame_ref.as_deref(), Some("2026-11-21"));
}

#[test]
fn publishing_actions_of_the_swiss_profile_are_read() {
    let delivery = only_delivery(SITUATIONS);
    let action = &delivery.situation_exchanges[0].situations[0].publishing_actions[0];
    let scope = action.publish_at_scope.as_ref().unwrap();
    assert_eq!(scope.affects.as_ref().unwrap().networks[0].all_lines, PresenceFlag(true));
    let information = &action.passenger_information_actions[0];
    assert_eq!(information.perspectives, ["line"]);
    let content = &information.textual_contents[0];
    let summaries = [text_in("de", "Markt gesperrt"), text_in("fr", "Marché fermé")];
    assert_eq!(content.summary_texts, summaries);
    assert_eq!(content.reason_texts, [text_in("de", "Bauarbeiten")]);
}

/// Encodes decoded messages and decodes them again.
#[test]
fn messages_round_trip_in_every_encoding() {
    for text in [ESTIMATED_TIMETABLE, VEHICLE_MONITORING, STOP_MONITORING, SITUATIONS] {
        let message = read_sound(text);
        let plain = encode_xml(&message);
        assert_eq!(read_sound(&plain), message);
        assert_eq!(read_sound(&encode_json(&message)), message);
        let inside = SiriMessage { version: None, ..message.clone() };
        assert_eq!(read_sound(&encode_soap(&inside, SoapMessageKind::Answer)), inside);
        // Every element of the message occurs in the encoded one.
        let names = |text: &str| {
            let mut names: Vec<String> = text
                .split('<')
                .filter(|tag| tag.starts_with(|it: char| it.is_ascii_alphabetic()))
                .map(|tag| tag.split([' ', '>', '/']).next().unwrap().to_owned())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(&plain), names(text));
    }
}

#[test]
fn json_is_written_in_the_siri_lite_form() {
    let call = SiriCall {
        stop_point_ref: Some("Q:1".into()),
        order: Some(3),
        stop_point_names: vec![text("A \"B\""), text_in("fr", "é")],
        cancellation: Some(true),
        aimed_arrival_time: SiriTime::from_millis(1_700_000_000_000),
        arrival_platform_names: vec![text("7")],
        ..SiriCall::default()
    };
    let framed = FramedVehicleJourneyRef {
        data_frame_ref: Some("2023-11-14".into()),
        dated_vehicle_journey_ref: Some("J:1".into()),
    };
    let journey = VehicleJourney {
        framed_vehicle_journey_ref: Some(framed),
        dated_vehicle_journey_ref: Some("J:2".into()),
        estimated_calls: vec![call],
        ..VehicleJourney::default()
    };
    let frame = EstimatedJourneyVersionFrame {
        estimated_vehicle_journeys: vec![journey],
        ..EstimatedJourneyVersionFrame::default()
    };
    let timetable = EstimatedTimetableDelivery { frames: vec![frame], ..Default::default() };
    let delivery =
        ServiceDelivery { estimated_timetables: vec![timetable], ..ServiceDelivery::default() };
    let message =
        SiriMessage { version: None, payloads: vec![MessagePayload::ServiceDelivery(delivery)] };
    let expected = r#"{"Siri":{"version":"2.0","ServiceDelivery":{"EstimatedTimetableDelivery":[{"#
        .to_owned()
        + r#""EstimatedJourneyVersionFrame":[{"EstimatedVehicleJourney":[{"FramedVehicleJourneyRef":{"DataFrameRef":{"value":"2023-11-14"},"DatedVehicleJourneyRef":"J:1"},"DatedVehicleJourneyRef":{"value":"J:2"},"EstimatedCalls":{"EstimatedCall":[{"#
        + r#""StopPointRef":{"value":"Q:1"},"Order":3,"StopPointName":[{"value":"A \"B\""},{"value":"é","lang":"fr"}],"#
        + r#""Cancellation":true,"AimedArrivalTime":"2023-11-14T22:13:20.000Z","ArrivalPlatformName":{"value":"7"}}]}}]}]}]}}}"#;
    assert_eq!(encode_json(&message), expected);
}

#[test]
fn a_message_in_a_soap_envelope_is_read() {
    let delivery = only_delivery(include_str!("soap.xml"));
    assert_eq!(delivery.producer_ref.as_deref(), Some("town"));
    assert_eq!(delivery.response_message_identifier.as_deref(), Some("answer 7"));
    let stop = &delivery.stop_monitorings[0];
    assert_eq!(stop.head.version.as_deref(), Some("2.0:FR-IDF-2.4"));
    assert_eq!(stop.head.status, Some(true));
}

#[test]
fn a_soap_envelope_is_written_in_the_form_of_the_french_profile() {
    let text = include_str!("soap.xml");
    let message = read_sound(text);
    let written = encode_soap(&message, SoapMessageKind::Answer);
    // Without the declaration, the empty header and white space it equals the original message.
    let tags = |text: &str| {
        let lines = text.lines().map(str::trim).collect::<String>();
        lines.replace("<S:Header/>", "").split_once("?>").unwrap().1.to_owned()
    };
    assert_eq!(tags(&written), tags(text));
    let notification = encode_soap(&message, SoapMessageKind::Notification);
    assert!(notification.contains("<sw:NotifyStopMonitoring "), "{notification}");
    assert!(notification.contains("<Notification><siri:StopMonitoringDelivery version="));
    assert_eq!(read_sound(&notification), message);
}

#[test]
fn requests_and_answers_of_several_services_share_one_soap_element() {
    let element = |xml: &str, name: &str| {
        let (_, rest) = xml.split_once(&format!("<S:Body><sw:{name} ")).unwrap();
        let (_, inside) = rest.split_once('>').unwrap();
        inside.split_once(&format!("</sw:{name}></S:Body>")).unwrap().0.to_owned()
    };
    let check = |written: &str, name: &str, body: &str, message: &SiriMessage| {
        assert_eq!(soap_operation(written.as_bytes()).as_deref(), Some(name));
        let inside = element(written, name);
        // It contains all fields, those about the message first.
        assert!(inside.starts_with(&format!("<{body}><siri:")), "{inside}");
        assert!(inside.ends_with(&format!("</{body}>")), "{inside}");
        assert_eq!(inside.matches(&format!("<{body}>")).count(), 1, "{inside}");
        assert_eq!(&read_sound(written), message);
    };
    let answer = read_sound(include_str!("soap.xml"));
    let written = encode_soap(&answer, SoapMessageKind::SiriServiceAnswer);
    check(&written, "GetSiriServiceResponse", "Answer", &answer);
    assert!(!written.contains("Info>") && !written.contains("Extension"), "{written}");
    // There is no other answer for two services.
    let mut both = answer.clone();
    let Some(MessagePayload::ServiceDelivery(delivery)) = both.payloads.first_mut() else {
        panic!()
    };
    delivery.vehicle_monitorings.push(Default::default());
    delivery.more_data = Some(true);
    check(&encode_soap(&both, SoapMessageKind::Answer), "GetSiriServiceResponse", "Answer", &both);
    let request = read_sound(
        "<Siri xmlns='http://www.siri.org.uk/siri'><ServiceRequest><RequestorRef>me</RequestorRef>\
         <StopMonitoringRequest><MonitoringRef>1</MonitoringRef></StopMonitoringRequest>\
         <VehicleMonitoringRequest/></ServiceRequest></Siri>",
    );
    let written = encode_soap(&request, SoapMessageKind::Answer);
    check(&written, "GetSiriService", "Request", &request);
    // Only an envelope has an operation.
    let header = "<Envelope><Header><Body><No/></Body></Header><Body><a:Foo/></Body></Envelope>";
    assert_eq!(soap_operation(header.as_bytes()).as_deref(), Some("Foo"));
    for text in ["", "{}", "<Siri><Body><Foo/></Body></Siri>", "<Envelope/>", "<Envelope><Body>"] {
        assert_eq!(soap_operation(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn siri_is_recognized_by_its_beginning() {
    for text in
        [ESTIMATED_TIMETABLE, include_str!("soap.xml"), include_str!("estimated_timetable.json")]
    {
        assert!(looks_like_siri(text.as_bytes()));
    }
    for text in ["", "<rss/>", "{}", "Siri", "{\"header\": {}}"] {
        assert!(!looks_like_siri(text.as_bytes()), "{text}");
    }
}

#[test]
fn subscription_responses_and_notifications_are_read() {
    let siri = |inside: &str| {
        let text = format!(r#"<Siri xmlns="http://www.siri.org.uk/siri">{inside}</Siri>"#);
        let message = read_sound(&text);
        assert_eq!(message.payloads.len(), 1);
        message.payloads[0].clone()
    };
    let heartbeat = siri(
        "<HeartbeatNotification><RequestTimestamp>2026-11-21T19:25:00Z</RequestTimestamp>\
         <ProducerRef>town</ProducerRef><Status>1</Status>\
         <ServiceStartedTime>2026-11-20T00:00:00Z</ServiceStartedTime></HeartbeatNotification>",
    );
    let MessagePayload::HeartbeatNotification(heartbeat) = heartbeat else {
        panic!("{heartbeat:?}")
    };
    assert_eq!(heartbeat.status, Some(true));
    assert_eq!(time(heartbeat.service_started_time), "2026-11-20T00:00:00Z");

    let response = siri(
        "<SubscriptionResponse><ResponseStatus><SubscriptionRef>1</SubscriptionRef><Status>true</Status>\
         </ResponseStatus><ResponseStatus><SubscriptionRef>2</SubscriptionRef><Status>false</Status>\
         <ErrorCondition><NoInfoForTopicError/><Description>No such line</Description></ErrorCondition>\
         </ResponseStatus></SubscriptionResponse>",
    );
    let MessagePayload::SubscriptionResponse(response) = response else { panic!("{response:?}") };
    let [good, bad] = &response.response_statuses[..] else { panic!("two") };
    assert_eq!((good.status, bad.status), (Some(true), Some(false)));
    let condition = bad.error_condition.as_ref().unwrap();
    assert_eq!(condition.kind.as_deref(), Some("NoInfoForTopicError"));
    assert_eq!(condition.description.as_deref(), Some("No such line"));

    let ended = siri(
        "<SubscriptionTerminatedNotification><SubscriptionRef>1</SubscriptionRef><ErrorCondition>\
         <OtherError number='123'><ErrorText>Restart</ErrorText></OtherError></ErrorCondition>\
         </SubscriptionTerminatedNotification>",
    );
    let MessagePayload::SubscriptionTerminatedNotification(ended) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(ended.subscription_refs, ["1"]);
    let condition = ended.error_condition.unwrap();
    assert_eq!(condition.number.as_deref(), Some("123"));
    assert_eq!(condition.text.as_deref(), Some("Restart"));

    let ready =
        siri("<DataReadyNotification><ProducerRef>town</ProducerRef></DataReadyNotification>");
    assert!(matches!(ready, MessagePayload::DataReadyNotification(_)), "{ready:?}");
    let supply = siri("<DataSupplyRequest><ConsumerRef>us</ConsumerRef></DataSupplyRequest>");
    let MessagePayload::DataSupplyRequest(supply) = supply else { panic!("{supply:?}") };
    assert_eq!(supply.consumer_ref.as_deref(), Some("us"));
    let other = siri("<CapabilitiesRequest><RequestorRef>us</RequestorRef></CapabilitiesRequest>");
    assert_eq!(other, MessagePayload::Other("CapabilitiesRequest".into()));
}

#[test]
fn requests_are_written_plain_and_in_a_soap_envelope() {
    let request = StopMonitoringRequest {
        version: Some("2.0:FR-IDF-2.4".into()),
        monitoring_ref: Some("TWN:Quay:2".into()),
        maximum_stop_visits: Some(5),
        ..StopMonitoringRequest::default()
    };
    let request = ServiceRequest {
        requestor_ref: Some("opendata".into()),
        message_identifier: Some("question 7".into()),
        stop_monitorings: vec![request],
        ..ServiceRequest::default()
    };
    let message =
        SiriMessage { version: None, payloads: vec![MessagePayload::ServiceRequest(request)] };
    let plain = encode_xml(&message);
    let expected = "<ServiceRequest><RequestorRef>opendata</RequestorRef>\
        <MessageIdentifier>question 7</MessageIdentifier>\
        <StopMonitoringRequest version=\"2.0:FR-IDF-2.4\"><MonitoringRef>TWN:Quay:2</MonitoringRef>\
        <MaximumStopVisits>5</MaximumStopVisits></StopMonitoringRequest></ServiceRequest>";
    assert!(plain.contains(expected), "{plain}");
    assert_eq!(read_sound(&plain).payloads, message.payloads);
    let soap = encode_soap(&message, SoapMessageKind::Answer);
    let expected = "<ServiceRequestInfo><siri:RequestorRef>opendata</siri:RequestorRef>\
        <siri:MessageIdentifier>question 7</siri:MessageIdentifier></ServiceRequestInfo>\
        <Request version=\"2.0:FR-IDF-2.4\"><siri:MonitoringRef>TWN:Quay:2</siri:MonitoringRef>\
        <siri:MaximumStopVisits>5</siri:MaximumStopVisits></Request><RequestExtension/></sw:GetStopMonitoring>";
    assert!(soap.contains(expected), "{soap}");
    assert_eq!(read_sound(&soap), message);
}

#[test]
fn subscription_and_termination_requests_round_trip() {
    let text = r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0"><SubscriptionRequest>
        <Address>https://us.example/inbox</Address><RequestorRef>us</RequestorRef>
        <SubscriptionContext><HeartbeatInterval>PT1M</HeartbeatInterval></SubscriptionContext>
        <EstimatedTimetableSubscriptionRequest><SubscriberRef>us</SubscriberRef>
        <SubscriptionIdentifier>1</SubscriptionIdentifier>
        <InitialTerminationTime>2026-11-22T00:00:00Z</InitialTerminationTime>
        <EstimatedTimetableRequest version="2.0"><Lines><LineDirection><LineRef>1</LineRef></LineDirection></Lines>
        </EstimatedTimetableRequest><ChangeBeforeUpdates>PT30S</ChangeBeforeUpdates>
        </EstimatedTimetableSubscriptionRequest></SubscriptionRequest></Siri>"#;
    let message = read_sound(text);
    let [MessagePayload::SubscriptionRequest(request)] = &message.payloads[..] else {
        panic!("one")
    };
    let context = request.subscription_context.as_ref().unwrap();
    assert_eq!(context.heartbeat_interval, Some(DurationSeconds(60)));
    let subscription = &request.estimated_timetables[0];
    assert_eq!(subscription.change_before_updates, Some(DurationSeconds(30)));
    let lines = &subscription.request.as_ref().unwrap().lines;
    assert_eq!(lines[0].line_ref.as_deref(), Some("1"));
    assert_eq!(read_sound(&encode_xml(&message)), message);

    let end = TerminateSubscriptionRequest { all: PresenceFlag(true), ..Default::default() };
    let payloads = vec![MessagePayload::TerminateSubscriptionRequest(end)];
    let message = SiriMessage { version: None, payloads };
    assert!(encode_xml(&message).contains("<TerminateSubscriptionRequest><All/></Term"));
    assert_eq!(read_sound(&encode_soap(&message, SoapMessageKind::Answer)), message);
}

#[test]
fn soap_faults_are_read() {
    let fault = |inside: &str| {
        let text = format!(
            "<e:Envelope xmlns:e='http://www.w3.org/2003/05/soap-envelope'><e:Body><e:Fault>{inside}</e:Fault>\
             </e:Body></e:Envelope>"
        );
        let message = read_sound(&text);
        let [MessagePayload::Fault(fault)] = &message.payloads[..] else { panic!("{message:?}") };
        fault.clone()
    };
    let old = fault(
        "<faultcode>e:Server</faultcode><faultstring>No</faultstring><detail><WSErrorConditionElement>\
         <AccessNotAllowedError number='0'><ErrorText>Who are you?</ErrorText></AccessNotAllowedError>\
         </WSErrorConditionElement></detail>",
    );
    assert_eq!((old.code.as_deref(), old.reason.as_deref()), (Some("e:Server"), Some("No")));
    let condition = old.error_condition.unwrap();
    assert_eq!(condition.kind.as_deref(), Some("AccessNotAllowedError"));
    assert_eq!(condition.text.as_deref(), Some("Who are you?"));
    let new = fault(
        "<e:Code><e:Value>e:Receiver</e:Value></e:Code>\
         <e:Reason><e:Text xml:lang='en'>Down</e:Text></e:Reason>",
    );
    assert_eq!((new.code.as_deref(), new.reason.as_deref()), (Some("e:Receiver"), Some("Down")));
}

#[test]
fn more_data_is_read_from_the_message_or_a_single_delivery() {
    let more = |text: &str| read_sound(text).has_more_data();
    assert!(more(ESTIMATED_TIMETABLE));
    assert!(!more(SITUATIONS));
    assert!(more(&super::delivery(
        "<SituationExchangeDelivery><MoreData>true</MoreData></SituationExchangeDelivery>"
    )));
}

#[test]
fn extensions_of_a_producer_are_ignored() {
    let text = journeys(
        "<EstimatedVehicleJourney><LineRef>1</LineRef><Extensions><LineRef>2</LineRef>\
         <RecordedCalls><RecordedCall/></RecordedCalls></Extensions></EstimatedVehicleJourney>",
    );
    let delivery = only_delivery(&text);
    let journey = delivery.estimated_timetables[0].estimated_journeys().next().unwrap();
    assert_eq!(journey.line_ref.as_deref(), Some("1"));
    assert!(journey.recorded_calls.is_empty());
}

/// Lists of lines and stops are messages of their own, plain and in an envelope.
#[test]
fn line_and_stop_discovery_answers_are_read() {
    let plain = r#"<Siri xmlns="http://www.siri.org.uk/siri" version="2.0"><LinesDelivery version="2.0">
        <ResponseTimestamp>2026-11-21T19:25:00Z</ResponseTimestamp><Status>true</Status>
        <AnnotatedLineRef><LineRef>L:1</LineRef><LineName xml:lang="fr">Ligne 1</LineName><Monitored>true</Monitored>
        <Destinations><Destination><DestinationRef>S:9</DestinationRef><PlaceName>Port</PlaceName></Destination></Destinations>
        <Directions><Direction><DirectionRef>0</DirectionRef></Direction></Directions></AnnotatedLineRef>
        </LinesDelivery></Siri>"#;
    let message = read_sound(plain);
    let [MessagePayload::LinesDelivery(lines)] = &message.payloads[..] else { panic!("lines") };
    assert_eq!((lines.head.version.as_deref(), lines.head.status), (Some("2.0"), Some(true)));
    let line = &lines.annotated_line_refs[0];
    assert_eq!((line.line_ref.as_deref(), line.monitored), (Some("L:1"), Some(true)));
    assert_eq!(line.line_names, [text_in("fr", "Ligne 1")]);
    assert_eq!(line.destinations[0].destination_ref.as_deref(), Some("S:9"));
    assert_eq!(line.directions[0].direction_ref.as_deref(), Some("0"));

    let soap = r#"<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>
        <sw:StopPointsDiscoveryResponse xmlns:sw="http://wsdl.siri.org.uk" xmlns:siri="http://www.siri.org.uk/siri">
        <Answer version="2.0"><siri:Status>true</siri:Status><siri:AnnotatedStopPointRef>
        <siri:StopPointRef>S:1</siri:StopPointRef><siri:StopName>Gare</siri:StopName>
        <siri:Lines><siri:LineRef>L:1</siri:LineRef><siri:LineRef>L:2</siri:LineRef></siri:Lines>
        <siri:Location><siri:Longitude>2.5</siri:Longitude><siri:Latitude>48.5</siri:Latitude></siri:Location>
        </siri:AnnotatedStopPointRef></Answer><AnswerExtension/></sw:StopPointsDiscoveryResponse></S:Body></S:Envelope>"#;
    let message = read_sound(soap);
    let [MessagePayload::StopPointsDelivery(stops)] = &message.payloads[..] else {
        panic!("stops")
    };
    assert_eq!(stops.head.version.as_deref(), Some("2.0"));
    let stop = &stops.annotated_stop_point_refs[0];
    assert_eq!(stop.stop_names, [text("Gare")]);
    assert_eq!(stop.lines, ["L:1", "L:2"]);
    assert_eq!(stop.location.as_ref().and_then(|it| it.latitude), Some(48.5));
    assert!(is_soap_envelope(soap.as_bytes()) && !is_soap_envelope(plain.as_bytes()));
    assert!(!is_soap_envelope(b"") && !is_soap_envelope(b"{\"Envelope\":1}"));
}
