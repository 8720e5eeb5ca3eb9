//! Tests of SIRI output for passengers if the feed differs from the timetable.

use jiff::tz::TimeZone;
use lineside_formats::{
    gtfs_rt::proto::{
        FeedEntity, TripDescriptor,
        trip_descriptor::ScheduleRelationship,
        trip_update::{
            StopTimeEvent, StopTimeUpdate, stop_time_update, stop_time_update::StopTimeProperties,
        },
    },
    gtfs_rt::{FeedMessageLimits as RtLimits, decode_feed_message as decode_gtfs_rt},
    siri::{MessageLimits, SiriCall, VehicleJourney, decode_siri_message},
};
use lineside_ingest::siri_to_gtfs_rt;
use lineside_model::{
    DelayQuery, DepartureStatus, NetworkState, SiriIdMapping,
    exports::{ExportedEntityKinds, get_gtfs_rt_export, get_gtfs_rt_json_export},
    siri_output::{
        ConsumerReadPosition, EncodedSiriElements, RecordFilter, SiriOutput, VisitQuery,
        find_stop_visits, select_new_records, select_records_after,
    },
};

use crate::support::*;

pub(crate) fn world() -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world
}

fn journeys(state: &NetworkState) -> Vec<VehicleJourney> {
    let mut elements = EncodedSiriElements::default();
    let all = RecordFilter::default();
    for record in
        select_new_records(state, SiriOutput::EstimatedTimetable, &all, EIGHT, 0, usize::MAX)
            .records
    {
        elements.encode_record(state, record);
    }
    elements.journeys
}

/// Returns the call of a journey's next visit at station C.
pub(crate) fn monitored_call(world: &World, journey: &str) -> Option<SiriCall> {
    let filter = RecordFilter::default();
    let visits = VisitQuery {
        stop_id: "C",
        monitoring_ref: "C",
        from: world.now(),
        preview: minutes(15),
        filter: &filter,
        destination: None,
        visits_max: 40,
        visits_per_line_min: 0,
        limit: 40,
    };
    let visits = find_stop_visits(&world.network.state(), &visits, world.now())?;
    let journeys = visits.into_iter().filter_map(|visit| visit.monitored_vehicle_journey);
    let mut its = journeys.filter(|it| it.journey_ref().is_some_and(|id| id == journey));
    Some(*its.next()?.monitored_call?)
}

#[test]
fn a_platform_of_the_feed_replaces_the_planned_one() {
    let mut world = world();
    let mut moved = update("T18", 10, 0);
    let calls = &mut moved.trip_update.as_mut().unwrap().stop_time_update;
    let platform = StopTimeProperties { platform: Some("7".into()), ..Default::default() };
    calls[0].stop_time_properties = Some(platform.clone());
    // The same with another stop, whose own platform is 2.
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

/// Returns a trip announced to leave its first stop on time, at minutes after eight.
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
fn a_journey_without_a_date_gets_the_day_of_its_planned_calls() {
    let mut world = world();
    // At eight, the evening and night runs of the day before are nearer.
    let evening = announced("T95", (20 * 60 + 50) - 8 * 60);
    let mut night = announced("late", (24 * 60 + 10) - 8 * 60);
    night.id = "night".into();
    let unreported = update("T94", 10, 60);
    world.apply("city-trips", vec![evening, night, unreported]);
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
    // Only the report's time determines the date of this trip.
    assert!(days.contains(&day("T94", "20260303", 60)), "{days:?}");
}

#[test]
fn a_cancelled_extra_journey_keeps_its_id_and_its_board_entry() {
    let call = |stop: &str, event: &str, minute: u8| {
        let aimed = format!("<Aimed{event}Time>2026-03-04T07:{minute:02}:00Z</Aimed{event}Time>");
        format!("<EstimatedCall><StopPointRef>{stop}</StopPointRef>{aimed}</EstimatedCall>")
    };
    let convert_journey = |inside: &str| {
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
        let limits = MessageLimits::default();
        let (message, _) = decode_siri_message(text.as_bytes(), &TimeZone::UTC, &limits).unwrap();
        siri_to_gtfs_rt(&message, &SiriIdMapping::Same, None, &TimeZone::UTC).0.entity
    };
    let mut world = world();
    for (inside, is_cancelled, status) in [
        ("", None, DepartureStatus::Realtime),
        ("<Cancellation>true</Cancellation>", Some(true), DepartureStatus::Cancelled),
    ] {
        world.apply("city-trips", convert_journey(inside));
        let state = world.network.state();
        let [journey] = &journeys(&state)[..] else { panic!("expected one journey") };
        assert_eq!(journey.estimated_vehicle_journey_code.as_deref(), Some("X"));
        assert_eq!((journey.extra_journey, journey.cancellation), (Some(true), is_cancelled));
        let aimed = journey.estimated_calls[0].aimed_departure_time.map(|it| it.as_seconds());
        assert_eq!(aimed, Some(EIGHT + 5 * 60));
        let board = next_departures(&world.network, "C", EIGHT, 40).unwrap();
        let row = board.iter().find(|row| row.trip_id == "X").unwrap();
        assert_eq!((row.status, row.scheduled), (status, Some(EIGHT + 5 * 60)), "{row:?}");
        assert_eq!(row.expected.is_none(), is_cancelled.is_some(), "{row:?}");
        assert!(monitored_call(&world, "X").is_some(), "the visit has a monitored call");
    }
    // A cancelled trip is listed for as long as passengers may wait for it.
    let feeds = [feed("city-trips")];
    let all = DelayQuery { feeds: &feeds, route: None, stop: None, all_lines: false };
    let count_delays = |world: &World| world.network.state().reported_trip_delays(all).len();
    assert_eq!(count_delays(&world), 1);
    world.clock.advance_time(minutes(25));
    world.apply("city-trips", convert_journey("<Cancellation>true</Cancellation>"));
    assert_eq!(count_delays(&world), 0);
}

#[test]
fn a_journey_entering_the_preview_interval_is_a_change() {
    let mut world = world();
    let trips = ["T18", "T21", "T22", "T23", "T24"];
    let updates = || trips.map(|trip| update(trip, 10, 0)).to_vec();
    world.apply("city-trips", updates());
    let filter = RecordFilter { preview: Some(minutes(30)), ..RecordFilter::default() };
    let select = |world: &World, before: ConsumerReadPosition, records_max| {
        let (state, now) = (world.network.state(), world.now().unix_seconds());
        let journeys = SiriOutput::EstimatedTimetable;
        let selection = select_records_after(&state, journeys, &filter, now, before, records_max);
        let ids = selection.records.iter().map(|it| it.id.split(':').next().unwrap().to_owned());
        let before = ConsumerReadPosition { number: selection.up_to, horizon: selection.horizon };
        (ids.collect::<Vec<_>>(), before, selection.has_more)
    };
    // Trips leave every ten minutes; at eight, two of the five within half an hour.
    let (first, before, _) = select(&world, ConsumerReadPosition::default(), 9);
    assert_eq!(first, ["T18", "T21"]);
    assert_eq!(select(&world, before, 9).0, [""; 0]);
    world.clock.advance_time(minutes(20));
    // Identical updates are no change.
    world.apply("city-trips", updates());
    let (near, after, has_more) = select(&world, before, 9);
    assert_eq!((near, has_more), (vec!["T22".to_owned(), "T23".to_owned()], false));
    assert_eq!(select(&world, after, 9).0, [""; 0]);
    // One after the other, along with the changed one.
    let mut changed = updates();
    changed[0] = update("T18", 10, 120);
    world.apply("city-trips", changed);
    let mut before = before;
    for expected in ["T22", "T23", "T18"] {
        assert_eq!(select(&world, before, 0), (Vec::new(), before, true));
        let (ids, next, has_more) = select(&world, before, 1);
        assert_eq!((ids, has_more), (vec![expected.to_owned()], expected != "T18"));
        before = next;
    }
    assert_eq!(select(&world, before, 1).0, [""; 0]);
}

/// Returns the calls of trip T18, scheduled at C1, B, D and A from eight on, when it is replaced by `calls` with
/// minutes after eight: stops, and marks for extra and skipped ones.
fn replaced(now: i64, calls: &[(&str, i64)]) -> Vec<(String, bool, bool)> {
    let mut world = world();
    world.clock.advance_time(minutes(now.unsigned_abs()));
    let mut entity = update("T18", 10, 0);
    let trip_update = entity.trip_update.as_mut().unwrap();
    trip_update.trip.start_date = Some("20260304".into());
    trip_update.trip.set_schedule_relationship(ScheduleRelationship::Replacement);
    let call = |&(stop, at): &(&str, i64)| {
        let event = StopTimeEvent { time: Some(EIGHT + at * 60), ..Default::default() };
        let stop_id = Some(stop.to_owned());
        StopTimeUpdate { stop_id, departure: Some(event), ..Default::default() }
    };
    trip_update.stop_time_update = calls.iter().map(call).collect();
    world.apply("city-trips", vec![entity]);
    let [journey] = &journeys(&world.network.state())[..] else { panic!("expected one journey") };
    assert_eq!(journey.is_complete_stop_sequence, Some(true));
    let calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let orders = calls.clone().map(|call| call.order);
    assert!(orders.eq((1..).map(Some).take(calls.clone().count())));
    let describe_call = |call: &SiriCall| {
        let stop = call.stop_point_ref.as_ref().unwrap().to_string();
        (stop, call.extra_call == Some(true), call.cancellation == Some(true))
    };
    calls.map(describe_call).collect()
}

#[test]
fn extra_calls_are_marked_and_missing_planned_calls_cancelled() {
    let check = |now, calls: &[(&str, i64)], expected: &[&str]| {
        let descriptions: Vec<String> = replaced(now, calls)
            .into_iter()
            .map(|(stop, is_extra, is_cancelled)| match (is_extra, is_cancelled) {
                (true, _) => format!("+{stop}"),
                (false, true) => format!("-{stop}"),
                (false, false) => stop,
            })
            .collect();
        assert_eq!(descriptions, expected);
    };
    check(0, &[("C1", 0), ("B", 5), ("D", 10), ("A", 15)], &["C1", "B", "D", "A"]);
    check(0, &[("C1", 0), ("B", 5), ("N", 8), ("D", 10), ("A", 15)], &["C1", "B", "+N", "D", "A"]);
    check(0, &[("C1", 0), ("N", 8), ("A", 15)], &["C1", "+N", "-B", "-D", "A"]);
    // A stop visited twice has one extra visit, chosen so that most of the schedule is matched.
    check(0, &[("C1", 0), ("A", 3), ("B", 5), ("D", 10), ("A", 15)], &["C1", "+A", "B", "D", "A"]);
    // Another platform of the station is the same call.
    check(0, &[("C2", 0), ("B", 5), ("D", 10)], &["C2", "B", "D", "-A"]);
    // Past calls are dropped by producers, not skipped by the vehicle.
    check(7, &[("N", 8), ("D", 10), ("A", 15)], &["+N", "D", "A"]);
}

/// Returns a trip update without calls, with the vehicle's delay only.
fn mere_delay(trip_id: &str, seconds: i32) -> FeedEntity {
    let mut entity = update(trip_id, 10, 0);
    let trip_update = entity.trip_update.as_mut().unwrap();
    trip_update.stop_time_update.clear();
    trip_update.delay = Some(seconds);
    entity
}

/// Returns the only journey of a state.
pub(crate) fn only_journey(world: &World) -> VehicleJourney {
    let mut all = journeys(&world.network.state());
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// Returns the actual, expected or aimed times of a call in seconds after eight: arrival, then departure.
fn times(call: &SiriCall) -> Vec<i64> {
    let arrival =
        call.actual_arrival_time.or(call.expected_arrival_time).or(call.aimed_arrival_time);
    let departure =
        call.actual_departure_time.or(call.expected_departure_time).or(call.aimed_departure_time);
    arrival.into_iter().chain(departure).map(|it| it.as_seconds() - EIGHT).collect()
}

fn all_times(journey: &VehicleJourney) -> Vec<i64> {
    journey.recorded_calls.iter().chain(&journey.estimated_calls).flat_map(times).collect()
}

#[test]
fn a_journey_in_two_feeds_is_written_once_from_the_estimate() {
    let mut world = world();
    let mut estimated = update("T18", 20, 60);
    estimated.id = "et".into();
    world.apply("city-trips", vec![estimated]);
    let mut both = vehicle("1", Some("T18"), 48.87, 2.34, EIGHT);
    both.trip_update = mere_delay("T18", 240).trip_update;
    world.apply("city-vehicles", vec![both, mere_delay("T21", 30)]);
    let state = world.network.state();
    let find_journeys = |datasets: &[&str]| {
        let datasets = datasets.iter().map(|it| (*it).into()).collect();
        let filter = RecordFilter { datasets, ..RecordFilter::default() };
        let found = select_new_records(
            &state,
            SiriOutput::EstimatedTimetable,
            &filter,
            EIGHT,
            0,
            usize::MAX,
        );
        let names = found.records.iter().map(|it| format!("{} {}", it.feed.as_str(), &it.id[..3]));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    assert_eq!(find_journeys(&[]), ["city-trips T18", "city-vehicles T21"]);
    assert_eq!(find_journeys(&["city"]), ["city-trips T18", "city-vehicles T21"]);
    // A feed requested alone is published alone.
    assert_eq!(find_journeys(&["city-vehicles"]), ["city-vehicles T18", "city-vehicles T21"]);
    for part in [ExportedEntityKinds::TripUpdates, ExportedEntityKinds::All] {
        let export = get_gtfs_rt_export(&state, "city", part).unwrap();
        let (message, _) = decode_gtfs_rt(export.bytes, &RtLimits::default()).unwrap();
        let updates = message.entity.iter().filter_map(|it| it.trip_update.as_ref());
        let mut trips: Vec<(String, usize)> = updates
            .map(|it| (it.trip.trip_id.clone().unwrap(), it.stop_time_update.len()))
            .collect();
        trips.sort();
        assert_eq!(trips, [("T18".to_owned(), 1), ("T21".to_owned(), 0)], "{part:?}");
        let vehicles = message.entity.iter().filter(|it| it.vehicle.is_some()).count();
        assert_eq!(vehicles, usize::from(part == ExportedEntityKinds::All));
    }
}

#[test]
fn a_trip_delay_applies_to_later_calls_only() {
    let mut world = world();
    world.clock.advance_time(minutes(8));
    world.apply("city-trips", vec![mere_delay("T18", 60)]);
    let journey = only_journey(&world);
    let (past, next) = (&journey.recorded_calls, &journey.estimated_calls);
    assert_eq!((past.len(), next.len()), (2, 2));
    for call in past {
        assert_eq!((call.actual_arrival_time, call.actual_departure_time), (None, None));
        assert_eq!((call.arrival_status, call.departure_status), (None, None));
    }
    assert_eq!(times(&next[0]), [660, 660]);
    assert_eq!(next[1].expected_arrival_time.map(|it| it.as_seconds()), Some(EIGHT + 960));
}

#[test]
fn call_times_never_decrease() {
    // An early vehicle has passed B (scheduled at 300), and its producer reports D (600) only.
    let mut early = world();
    early.clock.advance_time(minutes(4));
    early.apply("city-trips", vec![update("T18", 30, -310)]);
    let journey = only_journey(&early);
    assert_eq!((journey.recorded_calls.len(), journey.estimated_calls.len()), (2, 2));
    assert!(journey.recorded_calls.iter().all(|it| it.actual_departure_time.is_none()));
    assert!(all_times(&journey).is_sorted(), "{:?}", all_times(&journey));
    // A late vehicle skips D: the delay is propagated across it.
    let mut late = world();
    let mut entity = update("T18", 10, 400);
    let calls = &mut entity.trip_update.as_mut().unwrap().stop_time_update;
    let mut left_out = StopTimeUpdate { stop_sequence: Some(30), ..Default::default() };
    left_out.set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
    calls.push(left_out);
    late.apply("city-trips", vec![entity]);
    let journey = only_journey(&late);
    let left_out = &journey.estimated_calls[2];
    assert_eq!((left_out.cancellation, times(left_out)), (Some(true), vec![1_000, 1_000]));
    assert!(left_out.expected_arrival_time.is_some());
    assert!(all_times(&journey).is_sorted(), "{:?}", all_times(&journey));
    // It skips its first stop: no delay precedes that.
    let mut entity = update("T18", 20, 400);
    let calls = &mut entity.trip_update.as_mut().unwrap().stop_time_update;
    let mut first = StopTimeUpdate { stop_sequence: Some(10), ..Default::default() };
    first.set_schedule_relationship(stop_time_update::ScheduleRelationship::Skipped);
    calls.insert(0, first);
    let mut late = world();
    late.apply("city-trips", vec![entity]);
    let journey = only_journey(&late);
    let first = &journey.estimated_calls[0];
    assert_eq!((first.cancellation, times(first)), (Some(true), vec![400]));
    assert!(first.expected_departure_time.is_some());
}

/// Encodes a running added trip with these remaining calls: stop, `stop_sequence`, arrival in seconds after eight.
pub(crate) fn added(calls: &[(&str, Option<u32>, i64)]) -> VehicleJourney {
    let mut world = world();
    let mut entity = update("X", 10, 0);
    let trip_update = entity.trip_update.as_mut().unwrap();
    trip_update.trip.start_date = Some("20260304".into());
    trip_update.trip.start_time = Some("07:50:00".into());
    trip_update.trip.route_id = Some("R1".into());
    trip_update.trip.set_schedule_relationship(ScheduleRelationship::Added);
    let call = |&(stop, sequence, at): &(&str, Option<u32>, i64)| {
        let event = |at| Some(StopTimeEvent { time: Some(EIGHT + at), ..Default::default() });
        StopTimeUpdate {
            stop_id: Some(stop.into()),
            stop_sequence: sequence,
            arrival: event(at),
            departure: event(at + 20),
            ..Default::default()
        }
    };
    trip_update.stop_time_update = calls.iter().map(call).collect();
    world.apply("city-trips", vec![entity]);
    only_journey(&world)
}

#[test]
fn a_running_extra_journey_has_its_start_and_remaining_calls() {
    let journey = added(&[("B", Some(6), 100), ("A", Some(8), 400)]);
    let began = journey.origin_aimed_departure_time.map(|it| it.as_seconds() - EIGHT);
    assert_eq!((journey.extra_journey, began), (Some(true), Some(-600)));
    assert_eq!((journey.is_complete_stop_sequence, journey.origin_ref), (Some(false), None));
    let orders: Vec<_> = journey.estimated_calls.iter().map(|it| it.order).collect();
    assert_eq!(orders, [Some(6), Some(8)]);
    assert_eq!(times(&journey.estimated_calls[0]), [100, 120]);
    assert_eq!(times(&journey.estimated_calls[1]), [400]);
    let last = added(&[("A", Some(8), 400)]);
    assert_eq!(times(&last.estimated_calls[0]), [400]);
    // No call is missing.
    let whole = added(&[("C1", Some(1), 0), ("A", Some(2), 400)]);
    assert_eq!(whole.is_complete_stop_sequence, Some(true));
    assert_eq!(whole.origin_ref.as_deref(), Some("C1"));
    assert_eq!(times(&whole.estimated_calls[0]), [20]);
}

#[test]
fn gtfs_realtime_json_has_no_private_fields() {
    let mut world = world();
    let mut moved = update("T18", 10, 0);
    let calls = &mut moved.trip_update.as_mut().unwrap().stop_time_update;
    let platform = StopTimeProperties { platform: Some("7".into()), ..Default::default() };
    calls[0].stop_time_properties = Some(platform);
    // A journey after midnight that its producer names by the next day.
    let named = || Some("20260305".to_owned());
    moved.trip_update.as_mut().unwrap().trip.named_start_date = named();
    let mut seen = vehicle("1", Some("T18"), 48.87, 2.34, EIGHT);
    seen.vehicle.as_mut().unwrap().trip.as_mut().unwrap().named_start_date = named();
    let mut late_alert = alert("a", None, None, "Late");
    let trip = TripDescriptor { named_start_date: named(), ..trip("T18") };
    late_alert.alert.as_mut().unwrap().informed_entity[0].trip = Some(trip);
    world.apply("city-trips", vec![moved, seen, late_alert]);
    let state = world.network.state();
    let raw = get_gtfs_rt_export(&state, "city-trips", ExportedEntityKinds::All).unwrap();
    let (message, _) = decode_gtfs_rt(raw.bytes, &RtLimits::default()).unwrap();
    let trips = message.entity.iter().filter_map(|it| it.trip_update.as_ref());
    assert!(trips.map(|it| &it.trip.named_start_date).any(Option::is_some));
    let export = get_gtfs_rt_json_export(&state, "city-trips", ExportedEntityKinds::All).unwrap();
    let text = std::str::from_utf8(&export.bytes).unwrap();
    for name in ["platform", "stop_time_properties", "named_start_date"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
}
