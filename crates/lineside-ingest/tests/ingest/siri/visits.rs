//! Tests of stop visits, compared with the boards of the same stops.

use super::*;

#[test]
fn visits_exist_with_and_without_real_time_data() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 20, 120)]);
    let visits = visits(&world, "D", &RecordFilter::default());
    let call = |at: usize| {
        let journey = visits[at].monitored_vehicle_journey.as_ref().unwrap();
        (journey, journey.monitored_call.as_ref().unwrap())
    };
    let (journey, late) = call(1);
    assert_eq!(journey.journey_ref().unwrap(), "T18");
    assert_eq!(journey.monitored, Some(true));
    assert_eq!(after(late.aimed_departure_time), Some(600));
    assert_eq!(after(late.expected_departure_time), Some(720));
    let (journey, planned) = call(2);
    assert_eq!(journey.journey_ref().unwrap(), "T19");
    assert_eq!(journey.monitored, Some(false));
    assert_eq!(journey.data_source.as_deref(), Some("city"));
    assert_eq!(after(planned.aimed_departure_time), Some(1200));
    assert_eq!(planned.expected_departure_time, None);
    assert_eq!(planned.departure_status, Some(CallStatus::NoReport));
    let framed = journey.framed_vehicle_journey_ref.as_ref().unwrap();
    assert_eq!(framed.data_frame_ref.as_deref(), Some("2026-03-04"));
    assert_eq!(visits[1].item_identifier.as_deref(), Some("city:T18:20260304::30"));
}

#[test]
fn a_visit_keeps_its_id_when_its_feed_changes() {
    let mut world = world();
    let names = |world: &World| -> Vec<_> {
        let visits = visits(world, "D", &RecordFilter::default());
        visits.iter().map(|visit| visit.item_identifier.clone().unwrap()).collect()
    };
    let source = |world: &World| {
        let visits = visits(world, "D", &RecordFilter::default());
        visits[1].monitored_vehicle_journey.as_ref().unwrap().data_source.clone().unwrap()
    };
    let planned = names(&world);
    assert_eq!(source(&world), "city");
    world.apply("city-trips", vec![update("T18", 20, 30)]);
    assert_eq!((source(&world).as_str(), names(&world)), ("city-trips", planned.clone()));
    world.apply("city-trips", Vec::new());
    world.apply("city-vehicles", vec![update("T18", 20, 60)]);
    assert_eq!((source(&world).as_str(), names(&world)), ("city-vehicles", planned));
}

#[test]
fn visits_of_repeated_trips_have_the_times_of_their_run() {
    let world = world();
    let visits = visits(&world, "C1", &line("RF"));
    let aimed: Vec<_> = visits
        .iter()
        .map(|visit| {
            let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
            after(journey.monitored_call.as_ref().unwrap().aimed_departure_time)
        })
        .collect();
    assert_eq!(aimed, [Some(0), Some(1800), Some(3600)]);
}

#[test]
fn a_minimum_of_visits_per_line_can_be_requested() {
    let world = world();
    let state = world.network.state();
    let all = RecordFilter::default();
    let list_visits = |visits_max, least_per_line| {
        let visits = VisitQuery {
            stop_id: "C1",
            monitoring_ref: "C1",
            from: world.now(),
            preview: minutes(60),
            filter: &all,
            destination: None,
            visits_max,
            visits_per_line_min: least_per_line,
            limit: 5,
        };
        let visits = find_stop_visits(&state, &visits, world.now()).unwrap();
        let line = |visit: &MonitoredStopVisit| {
            visit.monitored_vehicle_journey.as_ref().unwrap().line_ref.clone().unwrap()
        };
        visits.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(list_visits(2, 0).len(), 2);
    let mut lines = list_visits(1, 1);
    lines.sort();
    assert_eq!(lines, ["R1", "R2", "RF"]);
    assert_eq!(list_visits(1, usize::MAX).len(), 5, "the number of visits is limited");
    let nowhere = VisitQuery {
        stop_id: "nowhere",
        monitoring_ref: "nowhere",
        from: world.now(),
        preview: minutes(60),
        filter: &all,
        destination: None,
        visits_max: 1,
        visits_per_line_min: 0,
        limit: 1,
    };
    assert!(find_stop_visits(&state, &nowhere, world.now()).is_none());
}

#[test]
fn visits_of_a_later_start_have_the_age_of_the_data() {
    let mut world = world();
    world.apply("city-trips", vec![update("T21", 10, 120)]);
    world.clock.advance_time(minutes(1));
    let state = world.network.state();
    let all = RecordFilter::default();
    let visits = VisitQuery {
        stop_id: "C",
        monitoring_ref: "C",
        from: world.now() + minutes(25),
        preview: minutes(60),
        filter: &all,
        destination: None,
        visits_max: 40,
        visits_per_line_min: 0,
        limit: 40,
    };
    let visits = find_stop_visits(&state, &visits, world.now()).unwrap();
    let late = visits.iter().find(|visit| {
        let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
        journey.journey_ref().is_some_and(|trip| trip == "T21")
    });
    let late = late.unwrap();
    assert_eq!(after(late.recorded_at_time), Some(0));
    let journey = late.monitored_vehicle_journey.as_ref().unwrap();
    let expected = journey.monitored_call.as_ref().unwrap().expected_departure_time;
    assert_eq!(after(expected), Some(1_800 + 120));
}

/// Checks that SIRI contains everything that each board shows, even if the data are old.
#[test]
fn expected_departures_are_those_of_the_boards() {
    for age in [0, 19, 21] {
        expected_after(minutes(age));
    }
}

fn expected_after(age: std::time::Duration) {
    let mut world = world();
    let updates = (0..100).map(|n| {
        let sequence = [10, 20, 30][n % 3];
        update(&format!("T{n}"), sequence, (n as i32 * 37) % 600 - 120)
    });
    let off = |n: usize, relationship| {
        let mut entity = update(&format!("T{n}"), 10, 60);
        trip_update_mut(&mut entity).trip.set_schedule_relationship(relationship);
        entity
    };
    let updates = updates.collect::<Vec<_>>().into_iter().enumerate().map(|(n, entity)| match n {
        22 => off(22, ScheduleRelationship::Canceled),
        24 => off(24, ScheduleRelationship::Deleted),
        _ => entity,
    });
    world.apply("city-trips", updates.collect());
    world.clock.advance_time(age);
    let journeys = journeys(&world);
    assert_eq!(journeys.len(), 100);
    for stop in ["C", "C1", "B", "D"] {
        let board = next_departures(&world.network, stop, world.now().unix_seconds(), 40).unwrap();
        let visits = visits(&world, stop, &RecordFilter::default());
        assert!(visits.len() > 3, "{age:?} {stop}");
        for (visit, departure) in visits.iter().zip(&board) {
            let id = visit.item_identifier.as_deref().unwrap();
            assert_eq!(id, format!("city:{}", departure.id));
            let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
            let call = journey.monitored_call.as_ref().unwrap();
            let expected = call.expected_departure_time.or(call.actual_departure_time);
            let expected = expected.map(SiriTime::as_seconds);
            assert_eq!(expected, departure.expected, "{age:?} {departure:?}");
            let is_cancelled = departure.status == DepartureStatus::Cancelled;
            assert_eq!(call.departure_status == Some(CallStatus::Cancelled), is_cancelled);
            let old = departure.age.map_or(0, |age| i64::try_from(age).unwrap());
            let recorded = visit.recorded_at_time.unwrap().as_seconds();
            assert_eq!(recorded, world.now().unix_seconds() - old);
        }
    }
    if age > minutes(0) {
        return;
    }
    let mut n = 0;
    for stop in ["C1", "B", "D"] {
        for departure in next_departures(&world.network, stop, EIGHT, 40).unwrap() {
            let journey = journeys.iter().find(|it| it.journey_ref() == Some(&departure.trip_id));
            let Some(journey) = journey else { continue };
            let mut calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
            let call = calls.find(|call| call.stop_point_ref.as_deref() == Some(stop)).unwrap();
            let expected = call.expected_departure_time.or(call.actual_departure_time);
            assert_eq!(expected.map(SiriTime::as_seconds), departure.expected, "{departure:?}");
            n += 1;
        }
    }
    assert!(n > 30, "{n}");
}
