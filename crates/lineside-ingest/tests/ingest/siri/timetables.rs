//! Tests of journeys in estimated timetables.

use super::*;

#[test]
fn a_journey_has_aimed_and_expected_times() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 20, 120)]);
    let journey = journey(&world);
    assert_eq!(journey.line_ref.as_deref(), Some("R1"));
    let framed = journey.framed_vehicle_journey_ref.as_ref().unwrap();
    assert_eq!(framed.data_frame_ref.as_deref(), Some("2026-03-04"));
    assert_eq!(framed.dated_vehicle_journey_ref.as_deref(), Some("T18"));
    assert_eq!(journey.published_line_names[0].value, "12");
    assert_eq!(journey.vehicle_modes, ["tram"]);
    assert_eq!(journey.operator_ref.as_deref(), Some("a"));
    assert_eq!(journey.data_source.as_deref(), Some("city-trips"));
    assert_eq!(journey.origin_ref.as_deref(), Some("C1"));
    assert_eq!(journey.destination_ref.as_deref(), Some("A"));
    assert_eq!(journey.destination_names[0].value, "Airport");
    assert_eq!((journey.extra_journey, journey.cancellation), (None, None));
    assert_eq!((journey.monitored, journey.is_complete_stop_sequence), (Some(true), Some(true)));
    assert!(journey.recorded_calls.is_empty());
    let calls = &journey.estimated_calls;
    assert_eq!(refs(calls), ["C1", "B", "D", "A"]);
    assert_eq!(calls.iter().map(|call| call.order).collect::<Vec<_>>(), [1, 2, 3, 4].map(Some));
    // A journey has no arrival at its first stop and no departure at its last. Delays are not propagated back.
    let late = |at: i64| (Some(at), Some(at + 120));
    assert_eq!(arrivals(calls), [(None, None), late(300), late(600), late(900)]);
    assert_eq!(departures(calls), [(Some(0), None), late(300), late(600), (None, None)]);
    assert_eq!(calls[0].departure_status, Some(CallStatus::NoReport));
    assert_eq!(calls[1].departure_status, Some(CallStatus::Delayed));
    assert_eq!(calls[0].departure_platform_names[0].value, "1");
    assert_eq!(calls[1].destination_displays[0].value, "Airport");
}

#[test]
fn a_call_is_early_or_late_from_one_minute_on() {
    for (delay, expected) in [
        (59, CallStatus::OnTime),
        (60, CallStatus::Delayed),
        (-59, CallStatus::OnTime),
        (-60, CallStatus::Early),
    ] {
        let mut world = world();
        world.apply("city-trips", vec![update("T18", 20, delay)]);
        assert_eq!(journey(&world).estimated_calls[2].arrival_status, Some(expected), "{delay}");
    }
}

#[test]
fn past_calls_are_recorded_calls() {
    let mut world = world();
    world.clock.advance_time(minutes(8));
    world.apply("city-trips", vec![update("T18", 20, 120)]);
    let journey = journey(&world);
    // At 08:08 the vehicle has left the second stop at 08:07; its departure from the first stop, whose time has passed,
    // was not reported.
    assert_eq!(refs(&journey.recorded_calls), ["C1", "B"]);
    assert_eq!(refs(&journey.estimated_calls), ["D", "A"]);
    let [first, second] = &journey.recorded_calls[..] else { panic!("expected two calls") };
    assert_eq!(after(first.aimed_departure_time), Some(0));
    assert_eq!((first.actual_departure_time, first.expected_departure_time), (None, None));
    assert_eq!(after(second.actual_departure_time), Some(420));
    assert_eq!(second.expected_departure_time, None);
    assert_eq!(second.arrival_status, Some(CallStatus::Arrived));
    assert_eq!(second.departure_status, Some(CallStatus::Departed));
}

#[test]
fn a_trip_without_predictions_has_aimed_times_only() {
    let mut world = world();
    let mut silent = update("T18", 10, 0);
    trip_update_mut(&mut silent).stop_time_update[0]
        .set_schedule_relationship(stop_time_update::ScheduleRelationship::NoData);
    world.apply("city-trips", vec![silent]);
    let journey = journey(&world);
    assert_eq!(journey.monitored, None);
    assert!(journey.estimated_calls.iter().all(|call| call.expected_departure_time.is_none()));
    assert!(departures(&journey.estimated_calls[..3]).iter().all(|(aimed, _)| aimed.is_some()));
}

#[test]
fn cancelled_journeys_and_calls_have_no_expected_times() {
    let mut world = world();
    let mut off = update("T18", 10, 60);
    trip_update_mut(&mut off).trip.set_schedule_relationship(ScheduleRelationship::Canceled);
    let mut skips = update("T20", 20, 60);
    let mut skipped = StopTimeUpdate { stop_sequence: Some(30), ..Default::default() };
    skipped.set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
    trip_update_mut(&mut skips).stop_time_update.push(skipped);
    world.apply("city-trips", vec![off, skips]);
    let journeys = journeys(&world);
    let [off, skips] = &journeys[..] else { panic!("expected two journeys") };
    assert_eq!(off.cancellation, Some(true));
    assert_eq!(off.estimated_calls.len(), 4);
    for call in &off.estimated_calls {
        assert_eq!((call.cancellation, call.expected_departure_time), (Some(true), None));
    }
    assert_eq!(off.estimated_calls[1].arrival_status, Some(CallStatus::Cancelled));
    assert_eq!(skips.cancellation, None);
    let cancelled: Vec<_> = skips.estimated_calls.iter().map(|call| call.cancellation).collect();
    assert_eq!(cancelled, [None, None, Some(true), None]);
    // The stop after the skipped one is as late as the one before.
    let last = skips.estimated_calls.last().unwrap();
    assert_eq!(last.expected_arrival_time.map(SiriTime::as_seconds), Some(EIGHT + 1200 + 900 + 60));
}

#[test]
fn a_changed_platform_is_given_with_the_planned_one() {
    let mut world = world();
    let mut moved = update("T18", 10, 0);
    trip_update_mut(&mut moved).stop_time_update[0].stop_time_properties =
        Some(StopTimeProperties { assigned_stop_id: Some("C2".into()), ..Default::default() });
    world.apply("city-trips", vec![moved]);
    let call = &journey(&world).estimated_calls[0];
    assert_eq!(call.stop_point_ref.as_deref(), Some("C2"));
    assert_eq!(call.departure_platform_names[0].value, "2");
    let quays = &call.departure_stop_assignments[0];
    assert_eq!(quays.aimed_quay_ref.as_deref(), Some("C1"));
    assert_eq!(quays.expected_quay_ref.as_deref(), Some("C2"));
}

#[test]
fn a_headway_run_is_marked_with_its_start_time() {
    let mut world = world();
    let mut ferry = update("F0", 1, 60);
    trip_update_mut(&mut ferry).trip.start_date = Some("20260304".into());
    trip_update_mut(&mut ferry).trip.start_time = Some("08:30:00".into());
    world.apply("city-trips", vec![ferry, update("T18", 20, 120)]);
    let journeys = journeys(&world);
    let find_journey = |trip| journeys.iter().find(|it| it.journey_ref().unwrap() == trip).unwrap();
    assert_eq!(find_journey("F0").headway_service, Some(true));
    assert_eq!(after(find_journey("F0").origin_aimed_departure_time), Some(30 * 60));
    assert_eq!(find_journey("T18").headway_service, None);
}

#[test]
fn an_extra_journey_has_a_code_and_its_own_calls() {
    let mut world = world();
    let mut extra = update("extra", 1, 0);
    let update = trip_update_mut(&mut extra);
    update.trip.set_schedule_relationship(ScheduleRelationship::Added);
    update.trip.route_id = Some("R1".into());
    let event = |time, delay, scheduled_time| {
        Some(StopTimeEvent { time, delay, scheduled_time, ..Default::default() })
    };
    let call = |stop: &str, event| StopTimeUpdate {
        stop_id: Some(stop.into()),
        arrival: event,
        departure: event,
        ..Default::default()
    };
    update.stop_time_update = vec![
        call("C2", event(Some(EIGHT + 60), Some(30), None)),
        call("B", event(Some(EIGHT + 300), None, Some(EIGHT + 200))),
        call("A", event(Some(EIGHT + 600), None, None)),
    ];
    world.apply("city-trips", vec![extra]);
    let journey = journey(&world);
    assert_eq!(journey.extra_journey, Some(true));
    assert_eq!(journey.estimated_vehicle_journey_code.as_deref(), Some("extra"));
    assert_eq!(journey.framed_vehicle_journey_ref, None);
    assert_eq!(journey.line_ref.as_deref(), Some("R1"));
    assert_eq!(
        departures(&journey.estimated_calls),
        [(Some(30), Some(60)), (Some(200), Some(300)), (None, None)]
    );
    // No time is planned for the end of the journey, so the aimed time equals the expected one.
    assert_eq!(arrivals(&journey.estimated_calls)[2], (Some(600), Some(600)));
    assert_eq!(journey.estimated_calls[2].arrival_status, Some(CallStatus::OnTime));
}

#[test]
fn without_a_timetable_a_journey_has_the_data_of_the_feed() {
    let mut world = World::new();
    let mut unknown = update("T18", 20, 120);
    trip_update_mut(&mut unknown).trip.route_id = Some("R1".into());
    trip_update_mut(&mut unknown).trip.start_date = Some("20260304".into());
    trip_update_mut(&mut unknown).stop_time_update[0].stop_id = Some("B".into());
    world.apply("city-trips", vec![unknown]);
    let journey = journey(&world);
    assert_eq!(journey.line_ref.as_deref(), Some("R1"));
    assert_eq!(journey.journey_ref().unwrap(), "T18");
    assert_eq!(journey.is_complete_stop_sequence, Some(false));
    // The schema requires the name of a direction.
    assert_eq!(journey.direction_ref.as_deref(), Some("unknown"));
    // A delay without a scheduled time does not give a time.
    assert_eq!(arrivals(&journey.estimated_calls), [(None, None)]);
}

#[test]
fn missing_dates_and_stops_still_follow_the_schema() {
    let mut world = World::new();
    let mut unknown = update("T18", 20, 120);
    trip_update_mut(&mut unknown).trip.route_id = Some("R1".into());
    world.apply("city-trips", vec![unknown]);
    let journey = journey(&world);
    assert_eq!(journey.framed_vehicle_journey_ref, None);
    assert_eq!(journey.dated_vehicle_journey_ref.as_deref(), Some("T18"));
    // Only the stop's number within the journey is known.
    assert!(journey.estimated_calls.is_empty() && journey.recorded_calls.is_empty());
    world.apply("city-vehicles", vec![vehicle("7", Some("T18"), 48.87, 2.34, EIGHT)]);
    let monitored = activity(&world).monitored_vehicle_journey.unwrap();
    assert_eq!(monitored.framed_vehicle_journey_ref, None);
    assert_eq!(monitored.vehicle_journey_ref.as_deref(), Some("T18"));
}
