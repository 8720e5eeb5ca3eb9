//! What riders are told by way of SIRI, where the feed says otherwise than the timetable.

use jiff::tz::TimeZone;
use lineside_formats::{
    gtfs_rt::proto::{
        FeedEntity,
        trip_descriptor::ScheduleRelationship,
        trip_update::{StopTimeEvent, StopTimeUpdate, stop_time_update::StopTimeProperties},
    },
    siri::{Call, Limits, VehicleJourney, decode},
};
use lineside_ingest::{
    DepartureStatus, NetworkState, Selection, SiriIds,
    siri::{Before, Elements, Service, Visits, Wanted, select, select_after, stop_visits},
    siri_to_gtfs_rt,
};

use crate::support::*;

fn world() -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world
}

fn journeys(state: &NetworkState) -> Vec<VehicleJourney> {
    let mut elements = Elements::default();
    let all = Wanted::default();
    for record in select(state, Service::EstimatedTimetable, &all, EIGHT, 0, usize::MAX).records {
        elements.push(state, record);
    }
    elements.journeys
}

/// The call at station C of the next visit that a journey makes.
fn monitored_call(world: &World, journey: &str) -> Option<Call> {
    let wanted = Wanted::default();
    let visits = Visits {
        stop_id: "C",
        monitoring_ref: "C",
        from: world.now(),
        preview: minutes(15),
        wanted: &wanted,
        destination: None,
        most: 40,
        least_per_line: 0,
        limit: 40,
    };
    let visits = stop_visits(&world.network.state(), &visits, world.now())?;
    let journeys = visits.into_iter().filter_map(|visit| visit.monitored_vehicle_journey);
    let mut its = journeys.filter(|it| it.journey_ref().is_some_and(|id| id == journey));
    Some(*its.next()?.monitored_call?)
}

#[test]
fn a_platform_that_the_feed_names_goes_before_the_planned_one() {
    let mut world = world();
    let mut moved = update("T18", 10, 0);
    let calls = &mut moved.trip_update.as_mut().unwrap().stop_time_update;
    let platform = StopTimeProperties { platform: Some("7".into()), ..Default::default() };
    calls[0].stop_time_properties = Some(platform.clone());
    // Also where its stop is another one, whose own platform is 2.
    let mut both = update("T20", 10, 0);
    let calls = &mut both.trip_update.as_mut().unwrap().stop_time_update;
    let assigned = StopTimeProperties { assigned_stop_id: Some("C2".into()), ..platform };
    calls[0].stop_time_properties = Some(assigned);
    world.apply("city-trips", vec![moved, both, update("T22", 10, 0)]);
    let state = world.network.state();
    let platforms: Vec<String> = journeys(&state)
        .iter()
        .map(|it| it.estimated_calls[0].departure_platform_names[0].value.to_string())
        .collect();
    assert_eq!(platforms, ["7", "7", "1"]);
    let call = monitored_call(&world, "T18").unwrap();
    assert_eq!(call.departure_platform_names[0].value, "7");
}

/// A trip that is announced to leave its first stop as planned, so many minutes after eight.
fn announced(trip_id: &str, after_eight: i64) -> FeedEntity {
    let mut entity = update(trip_id, 10, 0);
    let call = &mut entity.trip_update.as_mut().unwrap().stop_time_update[0];
    let at = Some(EIGHT + after_eight * 60);
    let event = StopTimeEvent { time: at, scheduled_time: at, ..Default::default() };
    (call.stop_sequence, call.stop_id) = (None, Some("C1".into()));
    (call.arrival, call.departure) = (None, Some(event));
    entity
}

#[test]
fn a_journey_without_a_date_is_of_the_day_that_its_calls_are_planned_on() {
    let mut world = world();
    // At eight, the runs of the evening and of the night before are nearer.
    let evening = announced("T95", (20 * 60 + 50) - 8 * 60);
    let mut night = announced("late", (24 * 60 + 10) - 8 * 60);
    night.id = "night".into();
    let unsaid = update("T94", 10, 60);
    world.apply("city-trips", vec![evening, night, unsaid]);
    let state = world.network.state();
    let days: Vec<(String, String, Option<i32>)> = state
        .trip_updates()
        .map(|record| {
            let trip = record.trip_update().unwrap().trip.clone();
            (trip.trip_id.unwrap(), trip.start_date.unwrap(), record.join.delay)
        })
        .collect();
    let day = |trip: &str, date: &str, delay| (trip.to_owned(), date.to_owned(), Some(delay));
    assert!(days.contains(&day("T95", "20260304", 0)), "{days:?}");
    assert!(days.contains(&day("late", "20260304", 0)), "{days:?}");
    // Of this one nothing says when it is, but when that was told.
    assert!(days.contains(&day("T94", "20260303", 60)), "{days:?}");
}

#[test]
fn an_extra_journey_that_is_cancelled_keeps_its_name_and_its_place_on_boards() {
    let call = |stop: &str, event: &str, minute: u8| {
        let aimed = format!("<Aimed{event}Time>2026-03-04T07:{minute:02}:00Z</Aimed{event}Time>");
        format!("<EstimatedCall><StopPointRef>{stop}</StopPointRef>{aimed}</EstimatedCall>")
    };
    let told = |inside: &str| {
        let text = format!(
            "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>\
             <EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
             <LineRef>R1</LineRef><EstimatedVehicleJourneyCode>X</EstimatedVehicleJourneyCode>\
             <ExtraJourney>true</ExtraJourney>{inside}<EstimatedCalls>{}{}</EstimatedCalls>\
             </EstimatedVehicleJourney></EstimatedJourneyVersionFrame>\
             </EstimatedTimetableDelivery></ServiceDelivery></Siri>",
            call("C1", "Departure", 5),
            call("A", "Arrival", 20),
        );
        let limits = Limits::default();
        let (message, _) = decode(text.as_bytes(), &TimeZone::UTC, &limits).unwrap();
        siri_to_gtfs_rt(&message, &SiriIds::Same, None, &TimeZone::UTC).0.entity
    };
    let mut world = world();
    for (inside, is_off, status) in [
        ("", None, DepartureStatus::Realtime),
        ("<Cancellation>true</Cancellation>", Some(true), DepartureStatus::Cancelled),
    ] {
        world.apply("city-trips", told(inside));
        let state = world.network.state();
        let [journey] = &journeys(&state)[..] else { panic!("one journey") };
        assert_eq!(journey.estimated_vehicle_journey_code.as_deref(), Some("X"));
        assert_eq!((journey.extra_journey, journey.cancellation), (Some(true), is_off));
        let aimed = journey.estimated_calls[0].aimed_departure_time.map(|it| it.as_seconds());
        assert_eq!(aimed, Some(EIGHT + 5 * 60));
        let board = world.network.departures("C", EIGHT, 40).unwrap();
        let row = board.iter().find(|row| row.trip_id == "X").unwrap();
        assert_eq!((row.status, row.scheduled), (status, EIGHT + 5 * 60), "{row:?}");
        assert_eq!(row.expected.is_none(), is_off.is_some(), "{row:?}");
        assert!(monitored_call(&world, "X").is_some(), "its visit says at which call it is");
    }
    // What does not run is told as late as nobody waits for it any more, and no longer.
    let feeds = [feed("city-trips")];
    let all = Selection { feeds: &feeds, route: None, stop: None, all_lines: false };
    let standings = |world: &World| world.network.state().told_standings(all).len();
    assert_eq!(standings(&world), 1);
    world.clock.advance(minutes(25));
    world.apply("city-trips", told("<Cancellation>true</Cancellation>"));
    assert_eq!(standings(&world), 0);
}

#[test]
fn a_journey_that_comes_near_is_told_to_who_asks_for_changes() {
    let mut world = world();
    let trips = ["T18", "T21", "T22", "T23", "T24"];
    let updates = || trips.map(|trip| update(trip, 10, 0)).to_vec();
    world.apply("city-trips", updates());
    let wanted = Wanted { preview: Some(minutes(30)), ..Wanted::default() };
    let told = |world: &World, before: Before, most| {
        let (state, now) = (world.network.state(), world.now().seconds());
        let journeys = Service::EstimatedTimetable;
        let told = select_after(&state, journeys, &wanted, now, before, most);
        let ids = told.records.iter().map(|it| it.id.split(':').next().unwrap().to_owned());
        let before = Before { number: told.up_to, horizon: told.horizon };
        (ids.collect::<Vec<_>>(), before, told.has_more)
    };
    // Trips leave every ten minutes; at eight, two of the five within half an hour.
    let (first, before, _) = told(&world, Before::default(), 9);
    assert_eq!(first, ["T18", "T21"]);
    assert_eq!(told(&world, before, 9).0, [""; 0]);
    world.clock.advance(minutes(20));
    // The same again is no change.
    world.apply("city-trips", updates());
    let (near, after, has_more) = told(&world, before, 9);
    assert_eq!((near, has_more), (vec!["T22".to_owned(), "T23".to_owned()], false));
    assert_eq!(told(&world, after, 9).0, [""; 0]);
    // One after the other, beside what has changed.
    let mut changed = updates();
    changed[0] = update("T18", 10, 120);
    world.apply("city-trips", changed);
    let mut before = before;
    for expected in ["T22", "T23", "T18"] {
        assert_eq!(told(&world, before, 0), (Vec::new(), before, true));
        let (ids, next, has_more) = told(&world, before, 1);
        assert_eq!((ids, has_more), (vec![expected.to_owned()], expected != "T18"));
        before = next;
    }
    assert_eq!(told(&world, before, 1).0, [""; 0]);
}

/// What is told of trip T18, which is planned at C1, B, D and A from eight on, when it runs so, with minutes after eight:
/// stops, and which of them are extra or left out.
fn replaced(now: i64, calls: &[(&str, i64)]) -> Vec<(String, bool, bool)> {
    let mut world = world();
    world.clock.advance(minutes(now.unsigned_abs()));
    let mut entity = update("T18", 10, 0);
    let said = entity.trip_update.as_mut().unwrap();
    said.trip.start_date = Some("20260304".into());
    said.trip.set_schedule_relationship(ScheduleRelationship::Replacement);
    let call = |&(stop, at): &(&str, i64)| {
        let event = StopTimeEvent { time: Some(EIGHT + at * 60), ..Default::default() };
        let stop_id = Some(stop.to_owned());
        StopTimeUpdate { stop_id, departure: Some(event), ..Default::default() }
    };
    said.stop_time_update = calls.iter().map(call).collect();
    world.apply("city-trips", vec![entity]);
    let [journey] = &journeys(&world.network.state())[..] else { panic!("one journey") };
    assert_eq!(journey.is_complete_stop_sequence, Some(true));
    let calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let orders = calls.clone().map(|call| call.order);
    assert!(orders.eq((1..).map(Some).take(calls.clone().count())));
    let of = |call: &Call| {
        let stop = call.stop_point_ref.as_ref().unwrap().to_string();
        (stop, call.extra_call == Some(true), call.cancellation == Some(true))
    };
    calls.map(of).collect()
}

#[test]
fn extra_calls_say_so_and_what_is_left_out_of_the_plan_is_cancelled() {
    let check = |now, calls: &[(&str, i64)], expected: &[&str]| {
        let told: Vec<String> = replaced(now, calls)
            .into_iter()
            .map(|(stop, is_extra, is_off)| match (is_extra, is_off) {
                (true, _) => format!("+{stop}"),
                (false, true) => format!("-{stop}"),
                (false, false) => stop,
            })
            .collect();
        assert_eq!(told, expected);
    };
    check(0, &[("C1", 0), ("B", 5), ("D", 10), ("A", 15)], &["C1", "B", "D", "A"]);
    check(0, &[("C1", 0), ("B", 5), ("N", 8), ("D", 10), ("A", 15)], &["C1", "B", "+N", "D", "A"]);
    check(0, &[("C1", 0), ("N", 8), ("A", 15)], &["C1", "+N", "-B", "-D", "A"]);
    // One that comes twice is extra where that leaves the most of the plan.
    check(0, &[("C1", 0), ("A", 3), ("B", 5), ("D", 10), ("A", 15)], &["C1", "+A", "B", "D", "A"]);
    // Another platform of the station is no other call.
    check(0, &[("C2", 0), ("B", 5), ("D", 10)], &["C2", "B", "D", "-A"]);
    // What is over is left out by producers, and was not left out by the vehicle.
    check(7, &[("N", 8), ("D", 10), ("A", 15)], &["+N", "D", "A"]);
}
