//! Tests of vehicles and the data about their journeys.

use super::*;

#[test]
fn fields_without_place_in_a_monitored_call_are_on_its_journey() {
    let mut world = world();
    let mut full = update("T18", 20, 120);
    let call = &mut trip_update_mut(&mut full).stop_time_update[0];
    call.set_departure_occupancy_status(OccupancyStatus::Full);
    call.departure.as_mut().unwrap().uncertainty = Some(600);
    world.apply("city-trips", vec![full]);
    let visits = visits(&world, "B", &RecordFilter::default());
    let is_on_trip = |visit: &&MonitoredStopVisit| {
        let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
        journey.journey_ref().unwrap() == "T18"
    };
    let visit = visits.iter().find(is_on_trip).unwrap();
    let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
    assert_eq!(journey.occupancy, Some(Occupancy::Full));
    assert_eq!(journey.prediction_inaccurate, Some(true));
    let call = journey.monitored_call.as_ref().unwrap();
    assert_eq!((call.occupancy, call.prediction_inaccurate), (None, None));
}

#[test]
fn a_vehicle_has_its_next_call() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 20, 120)]);
    let mut entity = vehicle("4/1", Some("T18"), 48.87, 2.34, EIGHT);
    let on = entity.vehicle.as_mut().unwrap();
    on.current_stop_sequence = Some(20);
    on.set_current_status(VehicleStopStatus::IncomingAt);
    on.set_occupancy_status(OccupancyStatus::FewSeatsAvailable);
    on.set_congestion_level(CongestionLevel::Congestion);
    let position = on.position.as_mut().unwrap();
    (position.bearing, position.speed) = (Some(90.5), Some(12.4));
    world.apply("city-vehicles", vec![entity]);
    let activity = activity(&world);
    assert_eq!(after(activity.recorded_at_time), Some(0));
    assert_eq!(after(activity.valid_until_time), Some(300));
    assert_eq!(activity.vehicle_monitoring_ref.as_deref(), Some("4/1"));
    let journey = activity.monitored_vehicle_journey.unwrap();
    assert_eq!(journey.vehicle_ref.as_deref(), Some("4/1"));
    let coordinates = journey.vehicle_location.unwrap();
    assert_eq!((coordinates.latitude, coordinates.longitude), (Some(48.87), Some(2.34)));
    assert_eq!((journey.bearing, journey.velocity), (Some(90.5), Some(12.0)));
    assert_eq!(journey.delay, Some(DurationSeconds(120)));
    assert_eq!(journey.occupancy, Some(Occupancy::FewSeatsAvailable));
    assert_eq!(journey.in_congestion, Some(true));
    assert_eq!(journey.line_ref.as_deref(), Some("R1"));
    let call = journey.monitored_call.unwrap();
    assert_eq!(call.stop_point_ref.as_deref(), Some("B"));
    assert_eq!((call.order, call.vehicle_at_stop), (Some(2), Some(false)));
    assert_eq!(after(call.expected_arrival_time), Some(420));
}

#[test]
fn a_vehicle_without_details_has_few_fields() {
    let mut world = world();
    world.apply("city-vehicles", vec![vehicle("7", None, 48.87, 2.34, EIGHT)]);
    let journey = activity(&world).monitored_vehicle_journey.unwrap();
    assert_eq!((journey.delay, journey.velocity, journey.bearing), (None, None, None));
    assert_eq!((journey.monitored_call, journey.framed_vehicle_journey_ref), (None, None));
}
