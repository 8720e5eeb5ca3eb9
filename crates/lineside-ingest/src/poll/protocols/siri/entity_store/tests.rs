//! Tests of the entity store with messages made here.

use jiff::tz::TimeZone;
use lineside_formats::siri::{self, MessageLimits};

use super::*;
use crate::{
    normalize::{SiriRules, normalize_siri},
    source::SiriIdMapping,
};

/// The time of the messages, 12:00 on 21 November 2026 in UTC.
const NOON: i64 = 1_795_262_400;
const HOUR: i64 = 3_600;

/// Stores the entities of an answer, like the poller.
fn take(store: &mut EntityStore, deliveries: &str) {
    let text = format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\"><ServiceDelivery>{deliveries}\
         </ServiceDelivery></Siri>"
    );
    let (message, problems) =
        siri::decode_siri_message(text.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .unwrap();
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    let zone = &TimeZone::UTC;
    let rules = SiriRules { ids: &SiriIdMapping::Same, has_vehicle_delays: false, zone };
    let mut normalized = normalize_siri(&message, rules);
    normalized.remove_earlier_duplicates();
    store.start_next_answer();
    for entity in normalized.entities {
        let raw = EncodedEntity::from_decoded_entity(&entity.entity, 0);
        let until = entity.expires_at(NOON);
        assert_ne!(store.store_entity(entity, raw, until), StoreEntityOutcome::Full);
    }
    normalized.cancelled.iter().for_each(|it| store.remove_cancelled_entity(it));
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

fn ids(store: &EntityStore) -> Vec<String> {
    store.list_raw_entities().iter().map(|raw| raw.entity_id().to_owned()).collect()
}

/// Returns the stop and delay of the calls of all trip updates.
fn calls(store: &EntityStore) -> Vec<(String, Option<i32>)> {
    let updates = store
        .list_raw_entities()
        .into_iter()
        .filter_map(|raw| raw.decode_entity().unwrap().trip_update);
    let calls = updates.flat_map(|update| update.stop_time_update);
    let delay_of = |departure: lineside_formats::gtfs_rt::proto::trip_update::StopTimeEvent| {
        departure.delay.or(departure.time.map(|at| i32::try_from(at - NOON).unwrap()))
    };
    calls.map(|call| (call.stop_id.unwrap(), call.departure.and_then(delay_of))).collect()
}

fn call(stop: &str, delay: i32) -> (String, Option<i32>) {
    (stop.to_owned(), Some(delay))
}

/// Stores a complete answer.
fn take_whole(store: &mut EntityStore, deliveries: &str) {
    store.begin_full_refresh();
    take(store, deliveries);
    store.remove_not_repeated();
}

#[test]
fn a_full_answer_replaces_the_previous_one_after_its_last_page() {
    let mut store = EntityStore::default();
    let timetable_xml = |ids: &str| {
        timetables(&[ids.chars().map(|id| journey(&id.to_string(), "")).collect::<String>()])
    };
    take_whole(&mut store, &timetable_xml("ab"));
    store.begin_full_refresh();
    take(&mut store, &timetable_xml("b"));
    assert_eq!(ids(&store).len(), 2, "an entity stays until the last page");
    take(&mut store, &timetable_xml("c"));
    assert_eq!(store.share_repeated_in_refresh(), 2.0 / 3.0);
    assert!(store.remove_not_repeated());
    assert_eq!(ids(&store), ["journey:b:20261121", "journey:c:20261121"]);
}

#[test]
fn a_repeated_journey_is_stored_once_and_replaced_later() {
    let mut store = EntityStore::default();
    take(
        &mut store,
        &timetables(&[journey("J", &expected("A", 10)), journey("J", &expected("A", 11))]),
    );
    assert_eq!(calls(&store), [call("A", 660)], "the later value is used");
    take(&mut store, &timetables(&[journey("J", &expected("A", 12))]));
    assert_eq!(calls(&store), [call("A", 720)]);
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
    let mut store = EntityStore::default();
    take(&mut store, &timetables(&[unnamed("X", 10) + &unnamed("Y", 11)]));
    assert_eq!(calls(&store), [call("A", 600), call("A", 660)]);
    take(&mut store, &timetables(&[unnamed("Y", 15)]));
    assert_eq!(calls(&store), [call("A", 600), call("A", 900)]);
}

#[test]
fn an_entity_that_is_never_cancelled_expires() {
    let day_ends = NOON + 12 * HOUR;
    let undated = "<EstimatedVehicleJourney><LineRef>L</LineRef><DatedVehicleJourneyRef>U\
                   </DatedVehicleJourneyRef></EstimatedVehicleJourney>";
    for (xml, until) in [
        (timetables(&[journey("J", &expected("A", 10))]), NOON + 600 + 600),
        (timetables(&[journey("J", "<Cancellation>true</Cancellation>")]), day_ends + 36 * HOUR),
        (timetables(&[undated.to_owned()]), NOON + 24 * HOUR),
    ] {
        let mut store = EntityStore::default();
        take(&mut store, &xml);
        assert!(!store.remove_expired(until) && ids(&store).len() == 1, "{xml}");
        assert!(store.remove_expired(until + 1) && ids(&store).is_empty(), "{xml}");
        assert!(store.trips.is_empty());
    }
}

#[test]
fn stop_visits_never_replace_an_estimated_timetable() {
    let mut store = EntityStore::default();
    let timetable = timetables(&[journey("J", &expected("far", 40))]);
    take(&mut store, &timetable);
    take(&mut store, &visits(&visit("1", "A", "A", 10, 30)));
    assert_eq!(calls(&store), [call("far", 2_400)]);
    let mut other_way = EntityStore::default();
    take(&mut other_way, &visits(&visit("1", "A", "A", 10, 30)));
    assert_eq!(calls(&other_way), [call("A", 30)]);
    take(&mut other_way, &timetable);
    assert_eq!(calls(&other_way), [call("far", 2_400)]);
}

#[test]
fn visits_are_merged_within_an_answer_only() {
    let mut store = EntityStore::default();
    take(&mut store, &visits(&visit("1", "A", "A", 10, 30)));
    take(&mut store, &visits(&visit("2", "B", "B", 20, 40)));
    assert_eq!(calls(&store), [call("A", 30), call("B", 40)]);
    take_whole(&mut store, &visits(&visit("2", "B", "B", 20, 50)));
    assert_eq!(calls(&store), [call("B", 50)]);
}

#[test]
fn cancelling_a_visit_by_id_removes_its_call() {
    let mut store = EntityStore::default();
    // The monitored stop has platforms, and the journey calls at one of them.
    take(&mut store, &visits(&(visit("1", "A", "A2", 10, 30) + &visit("2", "B", "B1", 20, 40))));
    take(&mut store, &cancelled("<ItemRef>unknown</ItemRef><MonitoringRef>C</MonitoringRef>"));
    assert_eq!(calls(&store), [call("A2", 30), call("B1", 40)]);
    take(&mut store, &cancelled("<ItemRef>1</ItemRef><MonitoringRef>A</MonitoringRef>"));
    assert_eq!(calls(&store), [call("B1", 40)]);
    take(&mut store, &cancelled("<ItemRef>2</ItemRef>"));
    assert!(ids(&store).is_empty() && store.visits.is_empty() && store.trips.is_empty());
}

#[test]
fn cancelling_an_unnamed_visit_by_stop_removes_its_call_only() {
    let mut store = EntityStore::default();
    take(&mut store, &timetables(&[journey("other", "")]));
    take(&mut store, &visits(&(visit("", "A", "A2", 10, 30) + &visit("", "B", "B1", 20, 40))));
    assert_eq!(
        calls(&store),
        [call("A2", 30), call("B1", 40)],
        "both visits belong to one journey"
    );
    take(&mut store, &visits(&visit("", "B", "B1", 20, 45)));
    assert_eq!(calls(&store), [call("A2", 30), call("B1", 45)]);
    take(&mut store, &cancelled("<MonitoringRef>A</MonitoringRef>"));
    assert_eq!(calls(&store), [call("B1", 45)]);
    take(&mut store, &cancelled(""));
    assert_eq!(ids(&store), ["journey:other:20261121"]);
}

#[test]
fn a_journey_may_call_twice_at_a_stop() {
    let mut store = EntityStore::default();
    take(&mut store, &visits(&(visit("1", "A", "A", 10, 30) + &visit("2", "A", "A", 50, 40))));
    assert_eq!(calls(&store), [call("A", 30), call("A", 40)]);
    take(&mut store, &visits(&visit("2", "A", "A", 50, 45)));
    assert_eq!(calls(&store), [call("A", 30), call("A", 45)]);
    take(&mut store, &cancelled("<ItemRef>1</ItemRef>"));
    assert_eq!(calls(&store), [call("A", 45)]);
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
    let vehicle_xml =
        |inside: &str| format!("<VehicleMonitoringDelivery>{inside}</VehicleMonitoringDelivery>");
    let cancellation_xml = |inside: &str| {
        vehicle_xml(&format!("<VehicleActivityCancellation>{inside}</VehicleActivityCancellation>"))
    };
    let mut store = EntityStore::default();
    take(&mut store, &vehicle_xml(&activities));
    take(&mut store, &cancellation_xml("<ItemRef>unknown</ItemRef>"));
    assert_eq!(ids(&store), ["vehicle:a", "vehicle:b", "vehicle:c"]);
    take(&mut store, &cancellation_xml("<ItemRef>a</ItemRef>"));
    take(
        &mut store,
        &cancellation_xml("<ItemRef>x</ItemRef><VehicleMonitoringRef>b</VehicleMonitoringRef>"),
    );
    assert_eq!(ids(&store), ["vehicle:c"]);
    let journey =
        format!("<ItemRef>y</ItemRef><VehicleJourneyRef>{}</VehicleJourneyRef>", framed("3"));
    take(&mut store, &cancellation_xml(&journey));
    assert!(ids(&store).is_empty());
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
    let vehicle_xml =
        |inside: &str| format!("<VehicleMonitoringDelivery>{inside}</VehicleMonitoringDelivery>");
    let cancellation_xml = |inside: &str| {
        vehicle_xml(&format!("<VehicleActivityCancellation>{inside}</VehicleActivityCancellation>"))
    };
    let mut store = EntityStore::default();
    take(&mut store, &vehicle_xml(&[activity("A", "1"), activity("B", "2")].concat()));
    let named = "<ItemRef>x</ItemRef><VehicleMonitoringRef>7</VehicleMonitoringRef>";
    take(&mut store, &cancellation_xml(named));
    take(&mut store, &cancellation_xml("<ItemRef>one</ItemRef>"));
    assert_eq!(
        ids(&store),
        ["vehicle:A:7", "vehicle:B:7"],
        "an ambiguous cancellation removes nothing"
    );
    let with_journey = format!("{named}<VehicleJourneyRef>{}</VehicleJourneyRef>", framed("2"));
    take(&mut store, &cancellation_xml(&with_journey));
    assert_eq!(ids(&store), ["vehicle:A:7"]);
    take(&mut store, &cancellation_xml("<ItemRef>one</ItemRef>"));
    assert!(ids(&store).is_empty(), "the cancellation is no longer ambiguous");
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
    let mut store = EntityStore::default();
    take(&mut store, &timetables(&[["2026-11-20", "2026-11-22", "any"].map(dated).concat()]));
    let find_by_trip = |store: &EntityStore, date: Option<&str>, part| {
        let trip = TripRef { trip_id: "J".into(), start_date: date.map(SmolStr::new) };
        store.find_entity_of_trip(&trip, part).map(|id| id.to_string())
    };
    let journey = DescribedTripPart::Journey;
    assert_eq!(
        find_by_trip(&store, Some("20261122"), journey).as_deref(),
        Some("journey:J:20261122")
    );
    assert_eq!(find_by_trip(&store, Some("20261121"), journey).as_deref(), Some("journey:J"));
    assert!(
        find_by_trip(&store, None, journey).is_some()
            && find_by_trip(&store, None, DescribedTripPart::Vehicle).is_none()
    );
    take_whole(&mut store, &timetables(&[dated("2026-11-20")]));
    assert_eq!(find_by_trip(&store, Some("20261121"), journey), None);
    assert_eq!(find_by_trip(&store, None, journey).as_deref(), Some("journey:J:20261120"));
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
    let mut store = EntityStore::default();
    for part in 0..8 {
        let days = (part * 10_000..(part + 1) * 10_000).map(dated);
        take(&mut store, &timetables(&[days.collect::<String>()]));
    }
    assert_eq!(store.list_raw_entities().len(), 80_000);
    take_whole(&mut store, &timetables(&[dated(7)]));
    assert_eq!(ids(&store), ["journey:J:10000108"]);
}

#[test]
fn journeys_of_two_producers_in_two_deliveries_are_distinct() {
    let mut store = EntityStore::default();
    let timetable_xml = |source: &str, stop: &str| {
        let inside = format!("<DataSource>{source}</DataSource>{}", expected(stop, 10));
        timetables(&[journey("7", &inside)])
    };
    let trips = |store: &EntityStore| -> Vec<String> {
        let entities =
            store.list_raw_entities().into_iter().map(|raw| raw.decode_entity().unwrap());
        entities.map(|it| it.trip_update.unwrap().trip.trip_id.unwrap()).collect()
    };
    take(&mut store, &timetable_xml("B", "T"));
    assert_eq!(trips(&store), ["7"], "a single journey has its plain id");
    take(&mut store, &timetable_xml("A", "S"));
    assert_eq!(trips(&store), ["7", "A:7"]);
    for _ in 0..2 {
        take(&mut store, &timetable_xml("A", "S"));
        take(&mut store, &timetable_xml("B", "T"));
        assert_eq!(trips(&store), ["7", "A:7"], "each journey replaces its own entity");
    }
    // A journey keeps its prefixed name after the other one is gone.
    store.begin_full_refresh();
    take(&mut store, &timetable_xml("A", "S"));
    store.remove_not_repeated();
    assert_eq!(trips(&store), ["A:7"]);
    take(&mut store, &timetable_xml("A", "S"));
    assert_eq!(trips(&store), ["A:7"]);
}

#[test]
fn journeys_keep_their_ids_when_others_arrive() {
    let journey_xml = |operator: &str, line: &str, name: &str| {
        let inside = format!("<OperatorRef>{operator}</OperatorRef>{}", expected("S", 10));
        journey(name, &inside).replace(">L<", &format!(">{line}<"))
    };
    let (a, b, c) =
        (journey_xml("A", "L", "7"), journey_xml("B", "L", "7"), journey_xml("B", "M", "7"));
    let mut store = EntityStore::default();
    take_whole(&mut store, &timetables(std::slice::from_ref(&b)));
    assert_eq!(ids(&store), ["journey:7:20261121"], "a single journey has its plain id");
    let all = ["journey:7:20261121", "journey:A:7:20261121"];
    for journeys in [[a.clone(), b.clone()], [b.clone(), a.clone()], [a.clone(), b.clone()]] {
        take_whole(&mut store, &timetables(&[journeys.concat()]));
        assert_eq!(ids(&store), all, "the first journey keeps the plain id");
    }
    for it in [&a, &b, &c, &c, &a] {
        take(&mut store, &timetables(std::slice::from_ref(it)));
    }
    assert_eq!(ids(&store), [all[0], all[1], "journey:M:7:20261121"]);
}

#[test]
fn a_unique_id_is_one_journey_even_if_its_operator_changes() {
    let journey_xml = |operator: &str, minute: u8| {
        let inside = format!("<OperatorRef>{operator}</OperatorRef>{}", expected("S", minute));
        journey("X:ServiceJourney:7", &inside)
    };
    let mut store = EntityStore::default();
    take(&mut store, &timetables(&[journey_xml("A", 10)]));
    take(&mut store, &timetables(&[journey_xml("B", 11)]));
    assert_eq!(calls(&store), [call("S", 11 * 60)]);
    // Two journeys in one answer are distinct.
    take(&mut store, &timetables(&[journey_xml("A", 12) + &journey_xml("B", 13)]));
    assert_eq!(store.list_raw_entities().len(), 2);
}
