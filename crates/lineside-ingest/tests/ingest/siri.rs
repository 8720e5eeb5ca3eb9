//! What SIRI says of a network: every record once, with what is known of it and nothing else.

use jiff::tz::TimeZone;
use lineside_formats::{
    gtfs_rt::proto::{
        self, FeedEntity, TripUpdate, alert,
        trip_descriptor::ScheduleRelationship,
        trip_update::{
            StopTimeEvent, StopTimeUpdate,
            stop_time_update::{self, StopTimeProperties},
        },
        vehicle_position::{CongestionLevel, OccupancyStatus, VehicleStopStatus},
    },
    siri::{
        Call, CallStatus, DeliveryHead, EstimatedJourneyVersionFrame, EstimatedTimetableDelivery,
        Limits, Message, MonitoredStopVisit, Occupancy, Payload, Progress, PtSituationElement,
        Seconds, ServiceDelivery, Severity, SituationExchangeDelivery, StopMonitoringDelivery,
        Time, VehicleActivity, VehicleJourney, VehicleMonitoringDelivery, decode_xml, encode_xml,
    },
};
use lineside_ingest::{
    DepartureStatus, NetworkState,
    siri::{
        Elements, Ref, RefFault, RefKind, Service, Visits, Wanted, lines, resolve, select,
        stop_points, stop_visits,
    },
};
use lineside_sync::UnixMillis;

use crate::{golden::golden, support::*};

fn world() -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world
}

fn elements(state: &NetworkState, service: Service) -> Elements {
    let mut elements = Elements::default();
    for record in select(state, service, &Wanted::default(), EIGHT, 0, usize::MAX).records {
        elements.push(state, record);
    }
    elements
}

fn journeys(world: &World) -> Vec<VehicleJourney> {
    elements(&world.network.state(), Service::EstimatedTimetable).journeys
}

fn journey(world: &World) -> VehicleJourney {
    let [journey] = &journeys(world)[..] else { panic!("one journey") };
    journey.clone()
}

fn activity(world: &World) -> VehicleActivity {
    let activities = elements(&world.network.state(), Service::VehicleMonitoring).activities;
    let [activity] = &activities[..] else { panic!("one activity") };
    activity.clone()
}

fn situation(world: &World) -> PtSituationElement {
    let situations = elements(&world.network.state(), Service::SituationExchange).situations;
    let [situation] = &situations[..] else { panic!("one situation") };
    situation.clone()
}

fn visits(world: &World, stop_id: &str, wanted: &Wanted) -> Vec<MonitoredStopVisit> {
    let visits = Visits {
        stop_id,
        monitoring_ref: stop_id,
        from: world.now(),
        preview: minutes(60),
        wanted,
        destination: None,
        most: 40,
        least_per_line: 0,
        limit: 40,
    };
    stop_visits(&world.network.state(), &visits, world.now()).unwrap()
}

fn said(entity: &mut FeedEntity) -> &mut TripUpdate {
    entity.trip_update.as_mut().unwrap()
}

/// Seconds after eight; nothing where nothing is said.
fn after(time: Option<Time>) -> Option<i64> {
    time.map(|time| time.as_seconds() - EIGHT)
}

fn arrivals(calls: &[Call]) -> Vec<(Option<i64>, Option<i64>)> {
    let times = |call: &Call| (after(call.aimed_arrival_time), after(call.expected_arrival_time));
    calls.iter().map(times).collect()
}

fn departures(calls: &[Call]) -> Vec<(Option<i64>, Option<i64>)> {
    let times =
        |call: &Call| (after(call.aimed_departure_time), after(call.expected_departure_time));
    calls.iter().map(times).collect()
}

fn refs(calls: &[Call]) -> Vec<&str> {
    calls.iter().map(|call| call.stop_point_ref.as_deref().unwrap()).collect()
}

fn line(id: &str) -> Wanted {
    Wanted { lines: vec![Ref { feed: None, id: id.into() }], ..Wanted::default() }
}

#[test]
fn a_journey_has_the_plan_and_what_is_expected_of_it() {
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
    // Where a journey begins nothing arrives, where it ends nothing departs. A delay is not carried back.
    let late = |at: i64| (Some(at), Some(at + 120));
    assert_eq!(arrivals(calls), [(None, None), late(300), late(600), late(900)]);
    assert_eq!(departures(calls), [(Some(0), None), late(300), late(600), (None, None)]);
    assert_eq!(calls[0].departure_status, Some(CallStatus::NoReport));
    assert_eq!(calls[1].departure_status, Some(CallStatus::Delayed));
    assert_eq!(calls[0].departure_platform_names[0].value, "1");
    assert_eq!(calls[1].destination_displays[0].value, "Airport");
}

#[test]
fn a_call_is_early_late_or_on_time_by_a_minute() {
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
fn what_is_over_when_the_data_were_made_is_recorded() {
    let mut world = world();
    world.clock.advance(minutes(8));
    world.apply("city-trips", vec![update("T18", 20, 120)]);
    let journey = journey(&world);
    // At 08:08 it has left the second stop at 08:07; that it left the first, whose time has passed, nobody said when.
    assert_eq!(refs(&journey.recorded_calls), ["C1", "B"]);
    assert_eq!(refs(&journey.estimated_calls), ["D", "A"]);
    let [first, second] = &journey.recorded_calls[..] else { panic!("two calls") };
    assert_eq!(after(first.aimed_departure_time), Some(0));
    assert_eq!((first.actual_departure_time, first.expected_departure_time), (None, None));
    assert_eq!(after(second.actual_departure_time), Some(420));
    assert_eq!(second.expected_departure_time, None);
    assert_eq!(second.arrival_status, Some(CallStatus::Arrived));
    assert_eq!(second.departure_status, Some(CallStatus::Departed));
}

#[test]
fn a_trip_of_which_nothing_is_predicted_has_only_its_plan() {
    let mut world = world();
    let mut silent = update("T18", 10, 0);
    said(&mut silent).stop_time_update[0]
        .set_schedule_relationship(stop_time_update::ScheduleRelationship::NoData);
    world.apply("city-trips", vec![silent]);
    let journey = journey(&world);
    assert_eq!(journey.monitored, None);
    assert!(journey.estimated_calls.iter().all(|call| call.expected_departure_time.is_none()));
    assert!(departures(&journey.estimated_calls[..3]).iter().all(|(aimed, _)| aimed.is_some()));
}

#[test]
fn cancelled_journeys_and_calls_say_so_and_expect_nothing() {
    let mut world = world();
    let mut off = update("T18", 10, 60);
    said(&mut off).trip.set_schedule_relationship(ScheduleRelationship::Canceled);
    let mut skips = update("T20", 20, 60);
    let mut skipped = StopTimeUpdate { stop_sequence: Some(30), ..Default::default() };
    skipped.set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
    said(&mut skips).stop_time_update.push(skipped);
    world.apply("city-trips", vec![off, skips]);
    let journeys = journeys(&world);
    let [off, skips] = &journeys[..] else { panic!("two journeys") };
    assert_eq!(off.cancellation, Some(true));
    assert_eq!(off.estimated_calls.len(), 4);
    for call in &off.estimated_calls {
        assert_eq!((call.cancellation, call.expected_departure_time), (Some(true), None));
    }
    assert_eq!(off.estimated_calls[1].arrival_status, Some(CallStatus::Cancelled));
    assert_eq!(skips.cancellation, None);
    let cancelled: Vec<_> = skips.estimated_calls.iter().map(|call| call.cancellation).collect();
    assert_eq!(cancelled, [None, None, Some(true), None]);
    // The stop after the one that is left out is as late as the one before.
    let last = skips.estimated_calls.last().unwrap();
    assert_eq!(last.expected_arrival_time.map(Time::as_seconds), Some(EIGHT + 1200 + 900 + 60));
}

#[test]
fn another_platform_is_expected_beside_the_planned_one() {
    let mut world = world();
    let mut moved = update("T18", 10, 0);
    said(&mut moved).stop_time_update[0].stop_time_properties =
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
fn a_run_by_headway_says_so_and_which_one_it_is() {
    let mut world = world();
    let mut ferry = update("F0", 1, 60);
    said(&mut ferry).trip.start_date = Some("20260304".into());
    said(&mut ferry).trip.start_time = Some("08:30:00".into());
    world.apply("city-trips", vec![ferry, update("T18", 20, 120)]);
    let journeys = journeys(&world);
    let of = |trip| journeys.iter().find(|it| it.journey_ref().unwrap() == trip).unwrap();
    assert_eq!(of("F0").headway_service, Some(true));
    assert_eq!(after(of("F0").origin_aimed_departure_time), Some(30 * 60));
    assert_eq!(of("T18").headway_service, None);
}

#[test]
fn an_extra_journey_has_a_code_and_its_own_calls() {
    let mut world = world();
    let mut extra = update("extra", 1, 0);
    let update = said(&mut extra);
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
    // For the end of the journey nobody planned a time, so none is made up.
    assert_eq!(arrivals(&journey.estimated_calls)[2], (None, Some(600)));
    assert_eq!(journey.estimated_calls[2].arrival_status, None);
}

#[test]
fn without_a_timetable_what_the_feed_says_is_told() {
    let mut world = World::new();
    let mut unknown = update("T18", 20, 120);
    said(&mut unknown).trip.route_id = Some("R1".into());
    said(&mut unknown).trip.start_date = Some("20260304".into());
    said(&mut unknown).stop_time_update[0].stop_id = Some("B".into());
    world.apply("city-trips", vec![unknown]);
    let journey = journey(&world);
    assert_eq!(journey.line_ref.as_deref(), Some("R1"));
    assert_eq!(journey.journey_ref().unwrap(), "T18");
    assert_eq!(journey.is_complete_stop_sequence, Some(false));
    // The schema wants the name of a direction.
    assert_eq!(journey.direction_ref.as_deref(), Some("unknown"));
    // A delay of a time that is not known is not a time.
    assert_eq!(arrivals(&journey.estimated_calls), [(None, None)]);
}

#[test]
fn what_has_no_day_and_what_has_no_stop_is_told_as_the_schema_can() {
    let mut world = World::new();
    let mut unknown = update("T18", 20, 120);
    said(&mut unknown).trip.route_id = Some("R1".into());
    world.apply("city-trips", vec![unknown]);
    let journey = journey(&world);
    assert_eq!(journey.framed_vehicle_journey_ref, None);
    assert_eq!(journey.dated_vehicle_journey_ref.as_deref(), Some("T18"));
    // Of the stop only the number in the journey is known.
    assert!(journey.estimated_calls.is_empty() && journey.recorded_calls.is_empty());
    world.apply("city-vehicles", vec![vehicle("7", Some("T18"), 48.87, 2.34, EIGHT)]);
    let monitored = activity(&world).monitored_vehicle_journey.unwrap();
    assert_eq!(monitored.framed_vehicle_journey_ref, None);
    assert_eq!(monitored.vehicle_journey_ref.as_deref(), Some("T18"));
}

#[test]
fn what_a_monitored_call_has_no_place_for_is_said_of_its_journey() {
    let mut world = world();
    let mut full = update("T18", 20, 120);
    let call = &mut said(&mut full).stop_time_update[0];
    call.set_departure_occupancy_status(OccupancyStatus::Full);
    call.departure.as_mut().unwrap().uncertainty = Some(600);
    world.apply("city-trips", vec![full]);
    let visits = visits(&world, "B", &Wanted::default());
    let of_trip = |visit: &&MonitoredStopVisit| {
        let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
        journey.journey_ref().unwrap() == "T18"
    };
    let visit = visits.iter().find(of_trip).unwrap();
    let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
    assert_eq!(journey.occupancy, Some(Occupancy::Full));
    assert_eq!(journey.prediction_inaccurate, Some(true));
    let call = journey.monitored_call.as_ref().unwrap();
    assert_eq!((call.occupancy, call.prediction_inaccurate), (None, None));
}

#[test]
fn a_vehicle_is_told_with_the_call_that_it_heads_for() {
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
    let place = journey.vehicle_location.unwrap();
    assert_eq!((place.latitude, place.longitude), (Some(48.87), Some(2.34)));
    assert_eq!((journey.bearing, journey.velocity), (Some(90.5), Some(12.0)));
    assert_eq!(journey.delay, Some(Seconds(120)));
    assert_eq!(journey.occupancy, Some(Occupancy::FewSeatsAvailable));
    assert_eq!(journey.in_congestion, Some(true));
    assert_eq!(journey.line_ref.as_deref(), Some("R1"));
    let call = journey.monitored_call.unwrap();
    assert_eq!(call.stop_point_ref.as_deref(), Some("B"));
    assert_eq!((call.order, call.vehicle_at_stop), (Some(2), Some(false)));
    assert_eq!(after(call.expected_arrival_time), Some(420));
}

#[test]
fn a_vehicle_of_which_little_is_known_says_little() {
    let mut world = world();
    world.apply("city-vehicles", vec![vehicle("7", None, 48.87, 2.34, EIGHT)]);
    let journey = activity(&world).monitored_vehicle_journey.unwrap();
    assert_eq!((journey.delay, journey.velocity, journey.bearing), (None, None, None));
    assert_eq!((journey.monitored_call, journey.framed_vehicle_journey_ref), (None, None));
}

fn works() -> FeedEntity {
    let mut entity = alert("works", Some("R1"), Some("B"), "Track \"works\"");
    let alert = entity.alert.as_mut().unwrap();
    let german = proto::translated_string::Translation {
        text: "Bauarbeiten".into(),
        language: Some("de".into()),
    };
    alert.header_text.as_mut().unwrap().translation.push(german);
    let period = |start, end| proto::TimeRange { start, end };
    let eight = EIGHT as u64;
    alert.active_period =
        vec![period(Some(eight - 3600), Some(eight + 3600)), period(Some(eight + 86_400), None)];
    alert.set_cause(alert::Cause::Construction);
    alert.set_effect(alert::Effect::Detour);
    alert.set_severity_level(alert::SeverityLevel::Severe);
    let page = proto::translated_string::Translation {
        text: "https://a.example/works".into(),
        language: Some("en".into()),
    };
    alert.url = Some(proto::TranslatedString { translation: vec![page] });
    let stop = |id: &str| proto::EntitySelector { stop_id: Some(id.into()), ..Default::default() };
    alert.informed_entity.extend([
        stop("C"),
        stop("C1"),
        proto::EntitySelector { agency_id: Some("a".into()), ..Default::default() },
        proto::EntitySelector { trip: Some(trip("T18")), ..Default::default() },
        proto::EntitySelector { route_type: Some(4), ..Default::default() },
        proto::EntitySelector {
            route_id: Some("R1".into()),
            direction_id: Some(1),
            ..Default::default()
        },
    ]);
    entity
}

#[test]
fn a_situation_has_all_periods_languages_and_whom_it_affects() {
    let mut world = world();
    world.apply("city-alerts", vec![works()]);
    let situation = situation(&world);
    assert_eq!(situation.situation_number.as_deref(), Some("works"));
    assert_eq!(situation.participant_ref.as_deref(), Some("city-alerts"));
    assert_eq!(after(situation.creation_time), Some(-3600));
    let periods: Vec<_> = situation
        .validity_periods
        .iter()
        .map(|period| (after(period.start_time), after(period.end_time)))
        .collect();
    assert_eq!(periods, [(Some(-3600), Some(3600)), (Some(86_400), None)]);
    assert_eq!(situation.severity, Some(Severity::Severe));
    assert_eq!(situation.equipment_reason.as_deref(), Some("constructionWork"));
    assert_eq!(situation.report_type.as_deref(), Some("general"));
    let texts: Vec<_> =
        situation.summaries.iter().map(|it| (it.lang.as_deref(), it.value.as_str())).collect();
    assert_eq!(texts, [(None, "Track \"works\""), (Some("de"), "Bauarbeiten")]);
    assert_eq!(situation.info_links[0].uri.as_deref(), Some("https://a.example/works"));
    assert_eq!(situation.consequences[0].conditions, ["diverted"]);
    let affects = situation.affects.unwrap();
    assert_eq!(affects.stop_places[0].place_names[0].value, "Central");
    assert_eq!(affects.stop_points[0].stop_point_ref.as_deref(), Some("C1"));
    assert_eq!(affects.operators.unwrap().affected_operators[0].operator_ref.as_deref(), Some("a"));
    assert_eq!(affects.vehicle_journeys[0].vehicle_journey_refs, ["T18"]);
    let [ferries, lines] = &affects.networks[..] else { panic!("two networks") };
    assert_eq!((ferries.vehicle_mode.as_deref(), ferries.all_lines.0), (Some("ferry"), true));
    let [line] = &lines.affected_lines[..] else { panic!("one line, though it is named twice") };
    assert_eq!(line.published_line_names[0].value, "12");
    assert_eq!(line.directions[0].direction_ref.as_deref(), Some("1"));
    assert_eq!(line.routes[0].stop_points[0].stop_point_ref.as_deref(), Some("B"));
}

#[test]
fn who_knows_of_alerts_is_told_for_a_while_which_are_closed() {
    let mut world = world();
    let told = |world: &World, after: u64, wanted: &Wanted| {
        let state = world.network.state();
        let service = Service::SituationExchange;
        let selection = select(&state, service, wanted, EIGHT, after, usize::MAX);
        let mut elements = Elements::default();
        selection.records.iter().for_each(|record| elements.push(&state, record));
        let told = elements.situations.iter().map(|it| {
            (it.situation_number.clone().unwrap(), it.progress == Some(Progress::Closed))
        });
        (told.collect::<Vec<_>>(), selection.up_to)
    };
    let all = Wanted::default();
    let one = |id: &str| alert(id, Some("R1"), Some("B"), id);
    world.apply("city-alerts", vec![one("a"), one("b")]);
    let (first, at) = told(&world, 0, &all);
    assert_eq!(first, [("a".into(), false), ("b".into(), false)]);
    world.clock.advance(minutes(1));
    world.apply("city-alerts", vec![one("b")]);
    let (news, then) = told(&world, at, &all);
    assert_eq!((news, then > at), (vec![("a".into(), true)], true));
    assert!(told(&world, then, &all).0.is_empty());
    assert_eq!(told(&world, 0, &all).0, [("b".into(), false)], "who knows nothing need not hear");
    let stop =
        |id: &str| Wanted { stops: vec![Ref { feed: None, id: id.into() }], ..Wanted::default() };
    assert_eq!(told(&world, at, &stop("B")).0.len(), 1);
    assert!(told(&world, at, &stop("D")).0.is_empty());
    // It ends when it was gone.
    let state = world.network.state();
    let service = Service::SituationExchange;
    let mut elements = Elements::default();
    elements.push(&state, select(&state, service, &all, EIGHT, at, 1).records[0]);
    let periods = &elements.situations[0].validity_periods;
    assert_eq!(after(periods[0].end_time), Some(60));
    // What comes back is open again, and what is gone for long is forgotten.
    world.apply("city-alerts", vec![one("a"), one("b")]);
    assert_eq!(told(&world, then, &all).0, [("a".into(), false)]);
    world.apply("city-alerts", vec![one("a")]);
    assert_eq!(told(&world, at, &all).0, [("a".into(), false), ("b".into(), true)]);
    world.clock.advance(minutes(11));
    world.apply("city-alerts", vec![]);
    assert_eq!(told(&world, at, &all).0, [("a".into(), true)]);
}

#[test]
fn an_alert_without_periods_holds_from_now_on() {
    let mut world = world();
    world.apply("city-alerts", vec![alert("a", None, None, "Hello")]);
    let situation = situation(&world);
    assert_eq!(after(situation.creation_time), Some(0));
    assert_eq!(after(situation.validity_periods[0].start_time), Some(0));
    assert_eq!((situation.severity, situation.affects), (None, None));
}

#[test]
fn visits_come_with_and_without_real_time() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 20, 120)]);
    let visits = visits(&world, "D", &Wanted::default());
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
fn a_visit_keeps_its_name_whoever_tells_of_it() {
    let mut world = world();
    let names = |world: &World| -> Vec<_> {
        let visits = visits(world, "D", &Wanted::default());
        visits.iter().map(|visit| visit.item_identifier.clone().unwrap()).collect()
    };
    let source = |world: &World| {
        let visits = visits(world, "D", &Wanted::default());
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
fn visits_are_counted_by_line_where_that_is_asked() {
    let world = world();
    let state = world.network.state();
    let all = Wanted::default();
    let ask = |most, least_per_line| {
        let visits = Visits {
            stop_id: "C1",
            monitoring_ref: "C1",
            from: world.now(),
            preview: minutes(60),
            wanted: &all,
            destination: None,
            most,
            least_per_line,
            limit: 5,
        };
        let visits = stop_visits(&state, &visits, world.now()).unwrap();
        let line = |visit: &MonitoredStopVisit| {
            visit.monitored_vehicle_journey.as_ref().unwrap().line_ref.clone().unwrap()
        };
        visits.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(ask(2, 0).len(), 2);
    let mut lines = ask(1, 1);
    lines.sort();
    assert_eq!(lines, ["R1", "R2", "RF"]);
    assert_eq!(ask(1, usize::MAX).len(), 5, "there is a bound whatever is asked");
    let nowhere = Visits {
        stop_id: "nowhere",
        monitoring_ref: "nowhere",
        from: world.now(),
        preview: minutes(60),
        wanted: &all,
        destination: None,
        most: 1,
        least_per_line: 0,
        limit: 1,
    };
    assert!(stop_visits(&state, &nowhere, world.now()).is_none());
}

#[test]
fn who_was_told_hears_only_of_what_changed_since_in_as_many_parts_as_it_takes() {
    let mut world = world();
    let service = Service::EstimatedTimetable;
    let updates = |delay| (18..24).map(|n| update(&format!("T{n}"), 20, delay)).collect::<Vec<_>>();
    world.apply("city-trips", updates(60));
    let told = |world: &World, after: u64, most: usize| {
        let state = world.network.state();
        let selection = select(&state, service, &Wanted::default(), EIGHT, after, most);
        let ids: Vec<String> = selection.records.iter().map(|it| it.id.to_string()).collect();
        (ids, selection.up_to, selection.has_more)
    };
    let (mut all, mut at, mut has_more) = told(&world, 0, 4);
    assert!(has_more);
    while has_more {
        let (more, up_to, still) = told(&world, at, 4);
        assert!(up_to > at);
        (at, has_more) = (up_to, still);
        all.extend(more);
    }
    all.sort();
    assert_eq!(all.len(), 6);
    all.dedup();
    assert_eq!(all.len(), 6);
    assert_eq!(told(&world, at, 4), (vec![], at, false));
    // The same again is no news; another delay of one is.
    world.apply("city-trips", updates(60));
    assert_eq!(told(&world, at, 4), (vec![], at, false));
    let mut some = updates(60);
    some[2] = update("T20", 20, 90);
    world.apply("city-trips", some);
    let (changed, up_to, has_more) = told(&world, at, 4);
    assert_eq!((changed, has_more), (vec!["T20:20260304:".to_owned()], false));
    assert!(up_to > at);
}

#[test]
fn what_is_not_wanted_is_not_told() {
    let mut world = world();
    world.apply("city-trips", vec![update("T18", 20, 60), update("T19", 20, 60)]);
    world.apply("city-alerts", vec![works(), alert("other", Some("R2"), None, "Other")]);
    let count = |service, wanted: &Wanted| {
        let state = world.network.state();
        select(&state, service, wanted, EIGHT, 0, usize::MAX).records.len()
    };
    let it = |id: &str| vec![Ref { feed: Some("city".into()), id: id.into() }];
    let journeys = Service::EstimatedTimetable;
    assert_eq!(count(journeys, &line("R1")), 1);
    assert_eq!(count(journeys, &Wanted { operators: it("a"), ..Wanted::default() }), 2);
    assert_eq!(count(journeys, &Wanted { operators: it("b"), ..Wanted::default() }), 0);
    assert_eq!(count(journeys, &Wanted { vehicles: it("1"), ..Wanted::default() }), 0);
    assert_eq!(count(journeys, &Wanted { direction: Some("1".into()), ..Wanted::default() }), 0);
    let soon = |minutes_| Wanted { preview: Some(minutes(minutes_)), ..Wanted::default() };
    assert_eq!((count(journeys, &soon(5)), count(journeys, &soon(10))), (1, 2));
    let of = |datasets: &[&str], excluded: &[&str]| Wanted {
        datasets: datasets.iter().map(|id| (*id).into()).collect(),
        excluded: excluded.iter().map(|id| (*id).into()).collect(),
        ..Wanted::default()
    };
    assert_eq!(count(journeys, &of(&["city"], &[])), 2);
    assert_eq!(count(journeys, &of(&["city-trips"], &[])), 2);
    assert_eq!(count(journeys, &of(&["city-alerts"], &[])), 0);
    assert_eq!(count(journeys, &of(&[], &["city-trips"])), 0);
    assert_eq!(count(journeys, &of(&[], &["city"])), 0);
    let alerts = Service::SituationExchange;
    assert_eq!(count(alerts, &line("R2")), 1);
    assert_eq!(count(alerts, &Wanted { stops: it("C1"), ..Wanted::default() }), 1);
    assert_eq!(count(alerts, &Wanted { stops: it("A"), ..Wanted::default() }), 0);
}

#[test]
fn a_reference_is_to_what_one_network_has_or_names_its_feed() {
    let (one, other) = (world(), World::new());
    let states = [one.network.state(), other.network.state()];
    let ask = |n: usize, kind, text: &str| resolve(states[..n].iter().map(|it| &**it), kind, text);
    let city = |id: &str| Ok(Ref { feed: Some("city".into()), id: id.into() });
    assert_eq!(ask(1, RefKind::Line, "R1"), city("R1"));
    assert_eq!(ask(1, RefKind::Line, "city:R1"), city("R1"));
    assert_eq!(ask(1, RefKind::Stop, "nowhere"), Err(RefFault::Unknown));
    assert_eq!(ask(1, RefKind::Stop, "city:nowhere"), Err(RefFault::Unknown));
    assert_eq!(ask(1, RefKind::Operator, "a"), city("a"));
    assert_eq!(ask(1, RefKind::Stop, "town:C"), Err(RefFault::Unknown));
    // A network without a timetable may come to know the line.
    assert_eq!(ask(2, RefKind::Line, "R9"), Ok(Ref { feed: None, id: "R9".into() }));
    let mut twin = World::new();
    twin.writer.apply_dataset(dataset(1), twin.now());
    let states = [one.network.state(), twin.network.state()];
    let both = resolve(states.iter().map(|it| &**it), RefKind::Line, "R1");
    assert_eq!(both, Err(RefFault::Ambiguous(vec!["city".into(), "city".into()])));
}

#[test]
fn lines_and_stops_can_be_discovered() {
    let world = world();
    let state = world.network.state();
    let all = Wanted::default();
    let found: Vec<_> = lines(&state, &all).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].line_names[0].value, "12");
    assert_eq!(found[0].destinations[0].destination_ref.as_deref(), Some("A"));
    let stops: Vec<_> = stop_points(&state, &all).collect();
    let station = stops.iter().find(|it| it.stop_point_ref.as_deref() == Some("C")).unwrap();
    assert_eq!(station.lines, ["R1", "R2", "RF"]);
    let platform = stops.iter().find(|it| it.stop_point_ref.as_deref() == Some("C1")).unwrap();
    assert_eq!(platform.stop_area_ref.as_deref(), Some("C"));
    let ferry = line("RF");
    let mut names: Vec<_> =
        stop_points(&state, &ferry).filter_map(|it| it.stop_point_ref).collect();
    names.sort();
    assert_eq!(names, ["A", "C", "C1"]);
}

#[test]
fn visits_from_later_on_are_as_old_as_what_is_said_is_now() {
    let mut world = world();
    world.apply("city-trips", vec![update("T21", 10, 120)]);
    world.clock.advance(minutes(1));
    let state = world.network.state();
    let all = Wanted::default();
    let visits = Visits {
        stop_id: "C",
        monitoring_ref: "C",
        from: world.now() + minutes(25),
        preview: minutes(60),
        wanted: &all,
        destination: None,
        most: 40,
        least_per_line: 0,
        limit: 40,
    };
    let visits = stop_visits(&state, &visits, world.now()).unwrap();
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

/// What every board says, SIRI says too, also when what it is made from has grown old.
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
        said(&mut entity).trip.set_schedule_relationship(relationship);
        entity
    };
    let updates = updates.collect::<Vec<_>>().into_iter().enumerate().map(|(n, entity)| match n {
        22 => off(22, ScheduleRelationship::Canceled),
        24 => off(24, ScheduleRelationship::Deleted),
        _ => entity,
    });
    world.apply("city-trips", updates.collect());
    world.clock.advance(age);
    let journeys = journeys(&world);
    assert_eq!(journeys.len(), 100);
    for stop in ["C", "C1", "B", "D"] {
        let board = world.network.departures(stop, world.now().seconds(), 40).unwrap();
        let visits = visits(&world, stop, &Wanted::default());
        assert!(visits.len() > 3, "{age:?} {stop}");
        for (visit, departure) in visits.iter().zip(&board) {
            let id = visit.item_identifier.as_deref().unwrap();
            assert_eq!(id, format!("city:{}", departure.id));
            let journey = visit.monitored_vehicle_journey.as_ref().unwrap();
            let call = journey.monitored_call.as_ref().unwrap();
            let expected = call.expected_departure_time.or(call.actual_departure_time);
            let expected = expected.map(Time::as_seconds);
            assert_eq!(expected, departure.expected, "{age:?} {departure:?}");
            let is_off = departure.status == DepartureStatus::Cancelled;
            assert_eq!(call.departure_status == Some(CallStatus::Cancelled), is_off);
            let old = departure.age.map_or(0, |age| i64::try_from(age).unwrap());
            let recorded = visit.recorded_at_time.unwrap().as_seconds();
            assert_eq!(recorded, world.now().seconds() - old);
        }
    }
    if age > minutes(0) {
        return;
    }
    let mut n = 0;
    for stop in ["C1", "B", "D"] {
        for departure in world.network.departures(stop, EIGHT, 40).unwrap() {
            let journey = journeys.iter().find(|it| it.journey_ref() == Some(&departure.trip_id));
            let Some(journey) = journey else { continue };
            let mut calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
            let call = calls.find(|call| call.stop_point_ref.as_deref() == Some(stop)).unwrap();
            let expected = call.expected_departure_time.or(call.actual_departure_time);
            assert_eq!(expected.map(Time::as_seconds), departure.expected, "{departure:?}");
            n += 1;
        }
    }
    assert!(n > 30, "{n}");
}

fn message(delivery: ServiceDelivery) -> Message {
    Message { version: Some("2.0".into()), payloads: vec![Payload::ServiceDelivery(delivery)] }
}

/// What a delivery of one service begins with.
fn head() -> DeliveryHead {
    DeliveryHead {
        version: Some("2.0".into()),
        response_timestamp: Time::from_millis(UnixMillis::from_seconds(EIGHT + 480).0),
        status: Some(true),
        ..DeliveryHead::default()
    }
}

/// The message, an element a line, after a look that it reads as it was meant. It is what the schema of SIRI wants, which
/// the tests of the whole server hold it against.
fn told(name: &str, delivery: ServiceDelivery) {
    let response_timestamp = head().response_timestamp;
    let message = message(ServiceDelivery { response_timestamp, ..delivery });
    let text = encode_xml(&message);
    let (read, problems) = decode_xml(text.as_bytes(), &TimeZone::UTC, &Limits::default()).unwrap();
    assert_eq!(problems.total(), 0, "{:?}", problems.kept());
    assert_eq!(read, message);
    golden(name, &(text.replace("><", ">\n<") + "\n"));
}

#[test]
fn one_of_each_as_xml() {
    let mut world = world();
    world.clock.advance(minutes(8));
    let mut late = update("T18", 20, 120);
    said(&mut late).stop_time_update[0].departure.as_mut().unwrap().uncertainty = Some(600);
    world.apply("city-trips", vec![late]);
    // The schema takes no other ids than names of XML.
    let mut on = vehicle("4-1", Some("T18"), 48.87, 2.34, EIGHT + 470);
    on.vehicle.as_mut().unwrap().current_stop_sequence = Some(30);
    world.apply("city-vehicles", vec![on]);
    world.apply("city-alerts", vec![works()]);
    let state = world.network.state();
    let frames = vec![EstimatedJourneyVersionFrame {
        recorded_at_time: Time::from_millis(UnixMillis::from_seconds(EIGHT).0),
        version_ref: None,
        estimated_vehicle_journeys: journeys(&world),
    }];
    let timetable = EstimatedTimetableDelivery { head: head(), frames };
    told(
        "siri-et.xml",
        ServiceDelivery { estimated_timetables: vec![timetable], ..Default::default() },
    );
    let vehicle_activities = elements(&state, Service::VehicleMonitoring).activities;
    let vehicles =
        VehicleMonitoringDelivery { head: head(), vehicle_activities, ..Default::default() };
    told(
        "siri-vm.xml",
        ServiceDelivery { vehicle_monitorings: vec![vehicles], ..Default::default() },
    );
    let situations = elements(&state, Service::SituationExchange).situations;
    let situations = SituationExchangeDelivery { head: head(), situations };
    told(
        "siri-sx.xml",
        ServiceDelivery { situation_exchanges: vec![situations], ..Default::default() },
    );
    let mut monitored_stop_visits = visits(&world, "C", &Wanted::default());
    monitored_stop_visits.truncate(2);
    let visits =
        StopMonitoringDelivery { head: head(), monitored_stop_visits, ..Default::default() };
    told("siri-sm.xml", ServiceDelivery { stop_monitorings: vec![visits], ..Default::default() });
}
