//! Tests of the entity store with messages made here.

use jiff::tz::TimeZone;
use lineside_formats::siri::{self, MessageLimits};

use super::*;
use crate::{
    normalize::{SiriRules, normalize_siri},
    source::SiriIds,
};

/// The time of the messages, 12:00 on 21 November 2026 in UTC.
const NOON: i64 = 1_795_262_400;
const HOUR: i64 = 3_600;

/// Stores the entities of an answer, like the poller.
fn take(held: &mut EntityStore, deliveries: &str) {
    let text = format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>{deliveries}\
         </ServiceDelivery></Siri>"
    );
    let (message, problems) =
        siri::decode_message(text.as_bytes(), &TimeZone::UTC, &MessageLimits::default()).unwrap();
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    let zone = &TimeZone::UTC;
    let rules = SiriRules { ids: &SiriIds::Same, vehicles_tell_delays: false, zone };
    let mut normalized = normalize_siri(&message, rules);
    normalized.keep_last_duplicates();
    held.begin_answer();
    for entity in normalized.entities {
        let raw = RawEntity::from_entity(&entity.entity, 0);
        let until = entity.expires_at(NOON);
        assert_ne!(held.put_entity(entity, raw, until), PutOutcome::NoRoom);
    }
    normalized.cancelled.iter().for_each(|it| held.apply_cancellation(it));
}

fn framed(id: &str) -> String {
    format!(
        "<DataFrameRef>2026-11-21</DataFrameRef><DatedVehicleJourneyRef>{id}\
         </DatedVehicleJourneyRef>"
    )
}

fn journey(id: &str, inside: &str) -> String {
    format!(
        "<EstimatedVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>{}\
         </FramedVehicleJourneyRef>{inside}</EstimatedVehicleJourney>",
        framed(id)
    )
}

fn timetables(frames: &[String]) -> String {
    let frame = |journeys: &String| {
        format!("<EstimatedJourneyVersionFrame>{journeys}</EstimatedJourneyVersionFrame>")
    };
    let frames: String = frames.iter().map(frame).collect();
    format!("<EstimatedTimetableDelivery>{frames}</EstimatedTimetableDelivery>")
}

fn expected(stop: &str, minute: u8) -> String {
    format!(
        "<EstimatedCalls><EstimatedCall><StopPointRef>{stop}</StopPointRef>\
         <ExpectedDepartureTime>2026-11-21T12:{minute}:00Z</ExpectedDepartureTime>\
         </EstimatedCall></EstimatedCalls>"
    )
}

/// Returns a visit of journey J at a monitored stop, with a call at `call` at an aimed minute.
fn visit(item: &str, stop: &str, call: &str, minute: u8, late: u8) -> String {
    let item = match item {
        "" => String::new(),
        item => format!("<ItemIdentifier>{item}</ItemIdentifier>"),
    };
    format!(
        "<MonitoredStopVisit>{item}<MonitoringRef>{stop}</MonitoringRef>\
         <MonitoredVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>{}\
         </FramedVehicleJourneyRef><MonitoredCall><StopPointRef>{call}</StopPointRef>\
         <AimedDepartureTime>2026-11-21T12:{minute}:00Z</AimedDepartureTime>\
         <ExpectedDepartureTime>2026-11-21T12:{minute}:{late:02}Z</ExpectedDepartureTime>\
         </MonitoredCall></MonitoredVehicleJourney></MonitoredStopVisit>",
        framed("J")
    )
}

fn visits(inside: &str) -> String {
    format!("<StopMonitoringDelivery>{inside}</StopMonitoringDelivery>")
}

/// Returns the cancellation of a visit of journey J.
fn cancelled(inside: &str) -> String {
    visits(&format!(
        "<MonitoredStopVisitCancellation>{inside}<VehicleJourneyRef>{}</VehicleJourneyRef>\
         </MonitoredStopVisitCancellation>",
        framed("J")
    ))
}

fn ids(held: &EntityStore) -> Vec<String> {
    held.list_raw_entities().iter().map(|raw| raw.entity_id().to_owned()).collect()
}

/// Returns the stop and delay of the calls of all trip updates.
fn calls(held: &EntityStore) -> Vec<(String, Option<i32>)> {
    let updates = held
        .list_raw_entities()
        .into_iter()
        .filter_map(|raw| raw.decode_entity().unwrap().trip_update);
    let calls = updates.flat_map(|update| update.stop_time_update);
    let of = |departure: lineside_formats::gtfs_rt::proto::trip_update::StopTimeEvent| {
        departure.delay.or(departure.time.map(|at| i32::try_from(at - NOON).unwrap()))
    };
    calls.map(|call| (call.stop_id.unwrap(), call.departure.and_then(of))).collect()
}

fn call(stop: &str, delay: i32) -> (String, Option<i32>) {
    (stop.to_owned(), Some(delay))
}

/// Stores a complete answer.
fn take_whole(held: &mut EntityStore, deliveries: &str) {
    held.begin_full_refresh();
    take(held, deliveries);
    held.remove_unseen();
}

#[test]
fn a_full_answer_replaces_the_previous_one_after_its_last_page() {
    let mut held = EntityStore::default();
    let of = |ids: &str| {
        timetables(&[ids.chars().map(|id| journey(&id.to_string(), "")).collect::<String>()])
    };
    take_whole(&mut held, &of("ab"));
    held.begin_full_refresh();
    take(&mut held, &of("b"));
    assert_eq!(ids(&held).len(), 2, "an entity stays until the last page");
    take(&mut held, &of("c"));
    assert_eq!(held.share_seen(), 2.0 / 3.0);
    assert!(held.remove_unseen());
    assert_eq!(ids(&held), ["journey:b:20261121", "journey:c:20261121"]);
}

#[test]
fn a_repeated_journey_is_stored_once_and_replaced_later() {
    let mut held = EntityStore::default();
    take(
        &mut held,
        &timetables(&[journey("J", &expected("A", 10)), journey("J", &expected("A", 11))]),
    );
    assert_eq!(calls(&held), [call("A", 660)], "the later value is used");
    take(&mut held, &timetables(&[journey("J", &expected("A", 12))]));
    assert_eq!(calls(&held), [call("A", 720)]);
}

#[test]
fn unnamed_journeys_are_identified_by_their_stable_fields() {
    let unnamed = |destination: &str, minute| {
        format!(
            "<EstimatedVehicleJourney><LineRef>L</LineRef><DestinationRef>{destination}\
             </DestinationRef><OriginAimedDepartureTime>2026-11-21T12:00:00Z\
             </OriginAimedDepartureTime>{}</EstimatedVehicleJourney>",
            expected("A", minute)
        )
    };
    let mut held = EntityStore::default();
    take(&mut held, &timetables(&[unnamed("X", 10) + &unnamed("Y", 11)]));
    assert_eq!(calls(&held), [call("A", 600), call("A", 660)]);
    take(&mut held, &timetables(&[unnamed("Y", 15)]));
    assert_eq!(calls(&held), [call("A", 600), call("A", 900)]);
}

#[test]
fn an_entity_that_is_never_cancelled_expires() {
    let day_ends = NOON + 12 * HOUR;
    let undated = "<EstimatedVehicleJourney><LineRef>L</LineRef><DatedVehicleJourneyRef>U\
                   </DatedVehicleJourneyRef></EstimatedVehicleJourney>";
    for (said, until) in [
        (timetables(&[journey("J", &expected("A", 10))]), NOON + 600 + 600),
        (timetables(&[journey("J", "<Cancellation>true</Cancellation>")]), day_ends + 36 * HOUR),
        (timetables(&[undated.to_owned()]), NOON + 24 * HOUR),
    ] {
        let mut held = EntityStore::default();
        take(&mut held, &said);
        assert!(!held.remove_expired(until) && ids(&held).len() == 1, "{said}");
        assert!(held.remove_expired(until + 1) && ids(&held).is_empty(), "{said}");
        assert!(held.trips.is_empty());
    }
}

#[test]
fn stop_visits_never_replace_an_estimated_timetable() {
    let mut held = EntityStore::default();
    let timetable = timetables(&[journey("J", &expected("far", 40))]);
    take(&mut held, &timetable);
    take(&mut held, &visits(&visit("1", "A", "A", 10, 30)));
    assert_eq!(calls(&held), [call("far", 2_400)]);
    let mut other_way = EntityStore::default();
    take(&mut other_way, &visits(&visit("1", "A", "A", 10, 30)));
    assert_eq!(calls(&other_way), [call("A", 30)]);
    take(&mut other_way, &timetable);
    assert_eq!(calls(&other_way), [call("far", 2_400)]);
}

#[test]
fn visits_are_merged_within_an_answer_only() {
    let mut held = EntityStore::default();
    take(&mut held, &visits(&visit("1", "A", "A", 10, 30)));
    take(&mut held, &visits(&visit("2", "B", "B", 20, 40)));
    assert_eq!(calls(&held), [call("A", 30), call("B", 40)]);
    take_whole(&mut held, &visits(&visit("2", "B", "B", 20, 50)));
    assert_eq!(calls(&held), [call("B", 50)]);
}

#[test]
fn cancelling_a_visit_by_id_removes_its_call() {
    let mut held = EntityStore::default();
    // The monitored stop has platforms, and the journey calls at one of them.
    take(&mut held, &visits(&(visit("1", "A", "A2", 10, 30) + &visit("2", "B", "B1", 20, 40))));
    take(&mut held, &cancelled("<ItemRef>unknown</ItemRef><MonitoringRef>C</MonitoringRef>"));
    assert_eq!(calls(&held), [call("A2", 30), call("B1", 40)]);
    take(&mut held, &cancelled("<ItemRef>1</ItemRef><MonitoringRef>A</MonitoringRef>"));
    assert_eq!(calls(&held), [call("B1", 40)]);
    take(&mut held, &cancelled("<ItemRef>2</ItemRef>"));
    assert!(ids(&held).is_empty() && held.visits.is_empty() && held.trips.is_empty());
}

#[test]
fn cancelling_an_unnamed_visit_by_stop_removes_its_call_only() {
    let mut held = EntityStore::default();
    take(&mut held, &timetables(&[journey("other", "")]));
    take(&mut held, &visits(&(visit("", "A", "A2", 10, 30) + &visit("", "B", "B1", 20, 40))));
    assert_eq!(calls(&held), [call("A2", 30), call("B1", 40)], "both visits belong to one journey");
    take(&mut held, &visits(&visit("", "B", "B1", 20, 45)));
    assert_eq!(calls(&held), [call("A2", 30), call("B1", 45)]);
    take(&mut held, &cancelled("<MonitoringRef>A</MonitoringRef>"));
    assert_eq!(calls(&held), [call("B1", 45)]);
    take(&mut held, &cancelled(""));
    assert_eq!(ids(&held), ["journey:other:20261121"]);
}

#[test]
fn a_journey_may_call_twice_at_a_stop() {
    let mut held = EntityStore::default();
    take(&mut held, &visits(&(visit("1", "A", "A", 10, 30) + &visit("2", "A", "A", 50, 40))));
    assert_eq!(calls(&held), [call("A", 30), call("A", 40)]);
    take(&mut held, &visits(&visit("2", "A", "A", 50, 45)));
    assert_eq!(calls(&held), [call("A", 30), call("A", 45)]);
    take(&mut held, &cancelled("<ItemRef>1</ItemRef>"));
    assert_eq!(calls(&held), [call("A", 45)]);
}

#[test]
fn a_vehicle_can_be_cancelled_by_each_of_its_references() {
    let activity = |vehicle: &str, trip: &str| {
        format!(
            "<VehicleActivity><MonitoredVehicleJourney><FramedVehicleJourneyRef>{}\
             </FramedVehicleJourneyRef><VehicleRef>{vehicle}</VehicleRef>\
             </MonitoredVehicleJourney></VehicleActivity>",
            framed(trip)
        )
    };
    let activities = [activity("a", "1"), activity("b", "2"), activity("c", "3")].concat();
    let of =
        |inside: &str| format!("<VehicleMonitoringDelivery>{inside}</VehicleMonitoringDelivery>");
    let over = |inside: &str| {
        of(&format!("<VehicleActivityCancellation>{inside}</VehicleActivityCancellation>"))
    };
    let mut held = EntityStore::default();
    take(&mut held, &of(&activities));
    take(&mut held, &over("<ItemRef>unknown</ItemRef>"));
    assert_eq!(ids(&held), ["vehicle:a", "vehicle:b", "vehicle:c"]);
    take(&mut held, &over("<ItemRef>a</ItemRef>"));
    take(&mut held, &over("<ItemRef>x</ItemRef><VehicleMonitoringRef>b</VehicleMonitoringRef>"));
    assert_eq!(ids(&held), ["vehicle:c"]);
    let journey =
        format!("<ItemRef>y</ItemRef><VehicleJourneyRef>{}</VehicleJourneyRef>", framed("3"));
    take(&mut held, &over(&journey));
    assert!(ids(&held).is_empty());
}

#[test]
fn of_vehicles_with_one_id_the_one_on_the_journey_is_cancelled() {
    let activity = |producer: &str, trip: &str| {
        format!(
            "<VehicleActivity><ItemIdentifier>one</ItemIdentifier><MonitoredVehicleJourney>\
             <FramedVehicleJourneyRef>{}</FramedVehicleJourneyRef>\
             <DataSource>{producer}</DataSource><VehicleRef>7</VehicleRef>\
             </MonitoredVehicleJourney></VehicleActivity>",
            framed(trip)
        )
    };
    let of =
        |inside: &str| format!("<VehicleMonitoringDelivery>{inside}</VehicleMonitoringDelivery>");
    let over = |inside: &str| {
        of(&format!("<VehicleActivityCancellation>{inside}</VehicleActivityCancellation>"))
    };
    let mut held = EntityStore::default();
    take(&mut held, &of(&[activity("A", "1"), activity("B", "2")].concat()));
    let named = "<ItemRef>x</ItemRef><VehicleMonitoringRef>7</VehicleMonitoringRef>";
    take(&mut held, &over(named));
    take(&mut held, &over("<ItemRef>one</ItemRef>"));
    assert_eq!(
        ids(&held),
        ["vehicle:A:7", "vehicle:B:7"],
        "an ambiguous cancellation removes nothing"
    );
    let of_journey = format!("{named}<VehicleJourneyRef>{}</VehicleJourneyRef>", framed("2"));
    take(&mut held, &over(&of_journey));
    assert_eq!(ids(&held), ["vehicle:A:7"]);
    take(&mut held, &over("<ItemRef>one</ItemRef>"));
    assert!(ids(&held).is_empty(), "the cancellation is no longer ambiguous");
}

#[test]
fn entities_of_a_trip_are_found_by_service_day() {
    let dated = |date: &str| {
        format!(
            "<EstimatedVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>\
             <DataFrameRef>{date}</DataFrameRef><DatedVehicleJourneyRef>J</DatedVehicleJourneyRef>\
             </FramedVehicleJourneyRef></EstimatedVehicleJourney>"
        )
    };
    let mut held = EntityStore::default();
    take(&mut held, &timetables(&[["2026-11-20", "2026-11-22", "any"].map(dated).concat()]));
    let of = |held: &EntityStore, date: Option<&str>, part| {
        let trip = TripRef { trip_id: "J".into(), start_date: date.map(SmolStr::new) };
        held.find_by_trip(&trip, part).map(|id| id.to_string())
    };
    let journey = TripPart::Journey;
    assert_eq!(of(&held, Some("20261122"), journey).as_deref(), Some("journey:J:20261122"));
    assert_eq!(of(&held, Some("20261121"), journey).as_deref(), Some("journey:J"));
    assert!(of(&held, None, journey).is_some() && of(&held, None, TripPart::Vehicle).is_none());
    take_whole(&mut held, &timetables(&[dated("2026-11-20")]));
    assert_eq!(of(&held, Some("20261121"), journey), None);
    assert_eq!(of(&held, None, journey).as_deref(), Some("journey:J:20261120"));
}

/// Removing an entity must not depend on the number of others: with a linear search this would take minutes.
#[test]
fn removing_many_days_of_a_journey_is_fast() {
    let dated = |n: u32| {
        let (year, month, day) = (1000 + n / 336, n / 28 % 12 + 1, n % 28 + 1);
        format!(
            "<EstimatedVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>\
             <DataFrameRef>{year}-{month:02}-{day:02}</DataFrameRef>\
             <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef>\
             </FramedVehicleJourneyRef></EstimatedVehicleJourney>"
        )
    };
    let mut held = EntityStore::default();
    for part in 0..8 {
        let days = (part * 10_000..(part + 1) * 10_000).map(dated);
        take(&mut held, &timetables(&[days.collect::<String>()]));
    }
    assert_eq!(held.list_raw_entities().len(), 80_000);
    take_whole(&mut held, &timetables(&[dated(7)]));
    assert_eq!(ids(&held), ["journey:J:10000108"]);
}

#[test]
fn journeys_of_two_producers_in_two_deliveries_are_distinct() {
    let mut held = EntityStore::default();
    let of = |source: &str, stop: &str| {
        let inside = format!("<DataSource>{source}</DataSource>{}", expected(stop, 10));
        timetables(&[journey("7", &inside)])
    };
    let trips = |held: &EntityStore| -> Vec<String> {
        let entities = held.list_raw_entities().into_iter().map(|raw| raw.decode_entity().unwrap());
        entities.map(|it| it.trip_update.unwrap().trip.trip_id.unwrap()).collect()
    };
    take(&mut held, &of("B", "T"));
    assert_eq!(trips(&held), ["7"], "a single journey has its plain id");
    take(&mut held, &of("A", "S"));
    assert_eq!(trips(&held), ["7", "A:7"]);
    for _ in 0..2 {
        take(&mut held, &of("A", "S"));
        take(&mut held, &of("B", "T"));
        assert_eq!(trips(&held), ["7", "A:7"], "each journey replaces its own entity");
    }
    // A journey keeps its prefixed name after the other one is gone.
    held.begin_full_refresh();
    take(&mut held, &of("A", "S"));
    held.remove_unseen();
    assert_eq!(trips(&held), ["A:7"]);
    take(&mut held, &of("A", "S"));
    assert_eq!(trips(&held), ["A:7"]);
}

#[test]
fn journeys_keep_their_ids_when_others_arrive() {
    let of = |operator: &str, line: &str, name: &str| {
        let inside = format!("<OperatorRef>{operator}</OperatorRef>{}", expected("S", 10));
        journey(name, &inside).replace(">L<", &format!(">{line}<"))
    };
    let (a, b, c) = (of("A", "L", "7"), of("B", "L", "7"), of("B", "M", "7"));
    let mut held = EntityStore::default();
    take_whole(&mut held, &timetables(std::slice::from_ref(&b)));
    assert_eq!(ids(&held), ["journey:7:20261121"], "a single journey has its plain id");
    let all = ["journey:7:20261121", "journey:A:7:20261121"];
    for journeys in [[a.clone(), b.clone()], [b.clone(), a.clone()], [a.clone(), b.clone()]] {
        take_whole(&mut held, &timetables(&[journeys.concat()]));
        assert_eq!(ids(&held), all, "the first journey keeps the plain id");
    }
    for it in [&a, &b, &c, &c, &a] {
        take(&mut held, &timetables(std::slice::from_ref(it)));
    }
    assert_eq!(ids(&held), [all[0], all[1], "journey:M:7:20261121"]);
}

#[test]
fn a_unique_id_is_one_journey_even_if_its_operator_changes() {
    let of = |operator: &str, minute: u8| {
        let inside = format!("<OperatorRef>{operator}</OperatorRef>{}", expected("S", minute));
        journey("X:ServiceJourney:7", &inside)
    };
    let mut held = EntityStore::default();
    take(&mut held, &timetables(&[of("A", 10)]));
    take(&mut held, &timetables(&[of("B", 11)]));
    assert_eq!(calls(&held), [call("S", 11 * 60)]);
    // Two journeys in one answer are distinct.
    take(&mut held, &timetables(&[of("A", 12) + &of("B", 13)]));
    assert_eq!(held.list_raw_entities().len(), 2);
}
