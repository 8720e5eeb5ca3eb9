//! Tests of SIRI calls by the Nordic profile: of extra journeys, and of journeys that end early.

use std::{fs, path::Path};

use jiff::tz::TimeZone;
use lineside_formats::{
    gtfs_rt::proto::{
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeEvent, StopTimeUpdate, stop_time_update},
    },
    siri::{
        ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, MessageLimits, SiriCall,
        VehicleJourney, decode_siri_message,
    },
};
use lineside_ingest::siri_to_gtfs_rt;
use lineside_model::{
    SiriIdMapping,
    siri_output::{EncodedSiriElements, RecordFilter, SiriOutput, select_new_records},
};

use crate::{
    siri_out::{added, monitored_call, only_journey, world},
    support::*,
};

/// Returns the cancelled parts of a call: the call, its arrival, its departure, alighting, boarding.
fn cancelled(call: &SiriCall) -> [bool; 5] {
    [
        call.cancellation == Some(true),
        call.arrival_status == Some(CallStatus::Cancelled),
        call.departure_status == Some(CallStatus::Cancelled),
        call.arrival_boarding_activity == Some(ArrivalBoardingActivity::NoAlighting),
        call.departure_boarding_activity == Some(DepartureBoardingActivity::NoBoarding),
    ]
}

fn skipped(sequence: u32) -> StopTimeUpdate {
    let mut call = StopTimeUpdate { stop_sequence: Some(sequence), ..Default::default() };
    call.set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
    call
}

#[test]
fn a_journey_that_ends_early_has_no_boarding_at_its_end() {
    let (yes, no) = (true, false);
    let cancellations = |skip: &[u32]| -> Vec<[bool; 5]> {
        let mut world = world();
        let mut entity = update("T18", 10, 60);
        let calls = &mut entity.trip_update.as_mut().unwrap().stop_time_update;
        calls.extend(skip.iter().map(|sequence| skipped(*sequence)));
        world.apply("city-trips", vec![entity]);
        let journey = only_journey(&world);
        let all = journey.recorded_calls.iter().chain(&journey.estimated_calls);
        all.map(cancelled).collect()
    };
    let served = [no; 5];
    // The last call has no departure.
    assert_eq!(
        cancellations(&[30, 40]),
        [served, [no, no, yes, no, yes], [yes; 5], [yes, yes, no, yes, no]]
    );
    assert_eq!(cancellations(&[30]), [served, served, [yes; 5], served]);
}

#[test]
fn a_shortened_journey_keeps_the_departure_time_at_its_end() {
    let mut world = world();
    let mut entity = update("T18", 10, 60);
    let calls = &mut entity.trip_update.as_mut().unwrap().stop_time_update;
    calls.extend([skipped(30), skipped(40)]);
    world.apply("city-trips", vec![entity]);
    let end = &only_journey(&world).estimated_calls[1];
    let expected = end.expected_departure_time.map(|it| it.as_seconds() - EIGHT);
    assert_eq!((expected, end.actual_departure_time), (Some(360), None));
}

/// Returns the journeys of a message after a round trip through GTFS-Realtime.
fn convert_back(xml: &[u8]) -> Vec<VehicleJourney> {
    let (message, _) = decode_siri_message(xml, &TimeZone::UTC, &MessageLimits::default()).unwrap();
    let (message, ..) = siri_to_gtfs_rt(&message, &SiriIdMapping::Same, None, &TimeZone::UTC);
    let mut world = World::new();
    world.apply("city-trips", message.entity);
    let state = world.network.state();
    let mut elements = EncodedSiriElements::default();
    let all = RecordFilter::default();
    for record in
        select_new_records(&state, SiriOutput::EstimatedTimetable, &all, EIGHT, 0, usize::MAX)
            .records
    {
        elements.encode_record(&state, record);
    }
    elements.journeys
}

#[test]
fn partial_cancellations_match_the_nordic_profile_examples() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/siri/entur-profile");
    if !root.is_dir() {
        eprintln!("skipped: no examples at {}", root.display());
        return;
    }
    for name in ["last-stops", "last-stops-after-departure"] {
        let path = root.join(format!("et-siri-et-partial-cancellation-{name}.xml"));
        let xml = fs::read(&path).unwrap();
        let (example, _) =
            decode_siri_message(&xml, &TimeZone::UTC, &MessageLimits::default()).unwrap();
        let delivery = example.service_deliveries().next().unwrap();
        let example = delivery.estimated_timetables[0].estimated_journeys().next().unwrap();
        let converted = convert_back(&xml);
        let calls = |journey: &VehicleJourney| -> Vec<(Option<u32>, [bool; 5])> {
            let all = journey.recorded_calls.iter().chain(&journey.estimated_calls);
            all.map(|call| (call.order, cancelled(call))).collect()
        };
        assert_eq!(calls(&converted[0]), calls(example), "{name}");
    }
}

#[test]
fn an_extra_journey_without_aimed_times_uses_expected_times() {
    let journey = added(&[("C1", Some(10), 0), ("B", Some(20), 100), ("A", Some(30), 400)]);
    for call in &journey.estimated_calls {
        assert_eq!(call.aimed_arrival_time, call.expected_arrival_time);
        assert_eq!(call.aimed_departure_time, call.expected_departure_time);
        assert!(call.aimed_arrival_time.or(call.aimed_departure_time).is_some());
    }
    // The numbers increase by ten, so the first one is that of the first call.
    assert_eq!(journey.is_complete_stop_sequence, Some(true));
    assert_eq!(journey.origin_ref.as_deref(), Some("C1"));
    // A first number of twice the step means that a call is missing.
    let cut = added(&[("B", Some(20), 100), ("A", Some(30), 400)]);
    assert_eq!((cut.is_complete_stop_sequence, cut.origin_ref), (Some(false), None));
}

#[test]
fn calls_of_an_extra_journey_have_one_order_in_every_service() {
    let mut world = world();
    let event = |at| Some(StopTimeEvent { time: Some(EIGHT + at), ..Default::default() });
    let call = |stop: &str, sequence, at| StopTimeUpdate {
        stop_id: Some(stop.into()),
        stop_sequence: Some(sequence),
        arrival: event(at),
        departure: event(at + 20),
        ..Default::default()
    };
    let mut entity = update("X", 10, 0);
    let trip_update = entity.trip_update.as_mut().unwrap();
    trip_update.trip.start_date = Some("20260304".into());
    trip_update.trip.start_time = Some("07:50:00".into());
    trip_update.trip.route_id = Some("R1".into());
    trip_update.trip.set_schedule_relationship(ScheduleRelationship::Added);
    trip_update.stop_time_update = vec![call("C1", 6, 100), call("A", 7, 400)];
    let mut on_it = vehicle("1", Some("X"), 48.87, 2.34, EIGHT);
    let on_trip = trip_update.trip.clone();
    on_it.vehicle.as_mut().unwrap().trip = Some(on_trip);
    on_it.vehicle.as_mut().unwrap().current_stop_sequence = Some(6);
    let mut headway = update("F0", 2, 0);
    let trip_update = headway.trip_update.as_mut().unwrap();
    trip_update.trip.set_schedule_relationship(ScheduleRelationship::Unscheduled);
    trip_update.stop_time_update = vec![call("A", 2, 300)];
    world.apply("city-trips", vec![entity, headway]);
    world.apply("city-vehicles", vec![on_it]);
    let state = world.network.state();
    let mut elements = EncodedSiriElements::default();
    let all = RecordFilter::default();
    for service in [SiriOutput::EstimatedTimetable, SiriOutput::VehicleMonitoring] {
        for record in select_new_records(&state, service, &all, EIGHT, 0, usize::MAX).records {
            elements.encode_record(&state, record);
        }
    }
    let orders = |id: &str| -> Vec<Option<u32>> {
        let journeys = elements.journeys.iter();
        let mut its = journeys.filter(|it| it.journey_ref().is_some_and(|name| name == id));
        its.next().unwrap().estimated_calls.iter().map(|call| call.order).collect()
    };
    assert_eq!(orders("X"), [Some(6), Some(7)]);
    assert_eq!(orders("F0"), [Some(2)]);
    let activity = elements.activities[0].monitored_vehicle_journey.as_ref().unwrap();
    assert_eq!(activity.monitored_call.as_ref().unwrap().order, Some(6));
    assert_eq!(monitored_call(&world, "X").unwrap().order, Some(6));
}
