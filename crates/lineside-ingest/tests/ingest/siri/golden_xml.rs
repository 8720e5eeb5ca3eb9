//! Tests of deliveries as XML against golden files.

use super::*;

fn message(delivery: ServiceDelivery) -> SiriMessage {
    SiriMessage {
        version: Some("2.0".into()),
        payloads: vec![MessagePayload::ServiceDelivery(delivery)],
    }
}

fn head() -> CommonDeliveryFields {
    CommonDeliveryFields {
        version: Some("2.0".into()),
        response_timestamp: SiriTime::from_millis(UnixMillis::from_seconds(EIGHT + 480).0),
        status: Some(true),
        ..CommonDeliveryFields::default()
    }
}

/// Compares a message with its golden file, one element per line, after checking that decoding it yields the same
/// message. The tests of the whole server validate the files against the SIRI schema.
fn check_encoded(name: &str, delivery: ServiceDelivery) {
    let response_timestamp = head().response_timestamp;
    let message = message(ServiceDelivery { response_timestamp, ..delivery });
    let text = encode_xml(&message);
    let (read, problems) =
        decode_xml_message(text.as_bytes(), &TimeZone::UTC, &MessageLimits::default()).unwrap();
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    assert_eq!(read, message);
    golden(name, &(text.replace("><", ">\n<") + "\n"));
}

#[test]
fn each_service_matches_its_golden_xml() {
    let mut world = world();
    world.clock.advance_time(minutes(8));
    let mut late = update("T18", 20, 120);
    trip_update_mut(&mut late).stop_time_update[0].departure.as_mut().unwrap().uncertainty =
        Some(600);
    world.apply("city-trips", vec![late]);
    // The schema accepts only XML names as ids.
    let mut on = vehicle("4-1", Some("T18"), 48.87, 2.34, EIGHT + 470);
    on.vehicle.as_mut().unwrap().current_stop_sequence = Some(30);
    world.apply("city-vehicles", vec![on]);
    world.apply("city-alerts", vec![working_trip()]);
    let state = world.network.state();
    let frames = vec![EstimatedJourneyVersionFrame {
        recorded_at_time: SiriTime::from_millis(UnixMillis::from_seconds(EIGHT).0),
        version_ref: None,
        estimated_vehicle_journeys: journeys(&world),
    }];
    let timetable = EstimatedTimetableDelivery { head: head(), frames };
    check_encoded(
        "siri-et.xml",
        ServiceDelivery { estimated_timetables: vec![timetable], ..Default::default() },
    );
    let vehicle_activities = elements(&state, SiriOutput::VehicleMonitoring).activities;
    let vehicles =
        VehicleMonitoringDelivery { head: head(), vehicle_activities, ..Default::default() };
    check_encoded(
        "siri-vm.xml",
        ServiceDelivery { vehicle_monitorings: vec![vehicles], ..Default::default() },
    );
    let situations = elements(&state, SiriOutput::SituationExchange).situations;
    let situations = SituationExchangeDelivery { head: head(), situations };
    check_encoded(
        "siri-sx.xml",
        ServiceDelivery { situation_exchanges: vec![situations], ..Default::default() },
    );
    let mut monitored_stop_visits = visits(&world, "C", &RecordFilter::default());
    monitored_stop_visits.truncate(2);
    let visits =
        StopMonitoringDelivery { head: head(), monitored_stop_visits, ..Default::default() };
    check_encoded(
        "siri-sm.xml",
        ServiceDelivery { stop_monitorings: vec![visits], ..Default::default() },
    );
}
