//! Tests of journeys of several producers.

use super::*;

fn journey_xml(source: &str, name: &str, stop: &str) -> String {
    format!(
        "<EstimatedVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>\
         <DataFrameRef>2026-11-21</DataFrameRef><DatedVehicleJourneyRef>{name}\
         </DatedVehicleJourneyRef></FramedVehicleJourneyRef>{source}<EstimatedCalls><EstimatedCall>\
         <StopPointRef>{stop}</StopPointRef></EstimatedCall></EstimatedCalls>\
         </EstimatedVehicleJourney>"
    )
}

fn timetables(journeys: &[String]) -> String {
    format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame>{}\
         </EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>",
        journeys.concat()
    )
}

/// Returns the ids of entities and of their trips.
fn named(deliveries: &str) -> Vec<(String, String)> {
    let mut out = normalized(deliveries, &SiriIdMapping::Same);
    out.remove_earlier_duplicates();
    let names = out.entities.iter().map(|it| {
        let (trip, _) = it.trip_and_part().unwrap();
        (it.entity.id.clone(), trip.trip_id.to_string())
    });
    names.collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = expected.iter().map(|(id, trip)| ((*id).to_owned(), (*trip).to_owned()));
    owned.collect()
}

const A: &str = "<DataSource>A</DataSource>";
const B: &str = "<DataSource>B</DataSource>";

#[test]
fn journeys_of_two_producers_with_one_id_are_distinct() {
    let both = pairs(&[("journey:7:20261121", "7"), ("journey:B:7:20261121", "B:7")]);
    assert_eq!(named(&timetables(&[journey_xml(A, "7", "S"), journey_xml(B, "7", "T")])), both);
    // The order does not matter.
    let mut reversed = named(&timetables(&[journey_xml(B, "7", "T"), journey_xml(A, "7", "S")]));
    reversed.reverse();
    assert_eq!(reversed, both);
    let by_line = |line: &str| journey_xml("", "7", "S").replace(">L<", &format!(">{line}<"));
    assert_eq!(named(&timetables(&[by_line("A:Line:1"), by_line("B:Line:1")])), both);
}

#[test]
fn ids_of_a_single_producer_are_unchanged() {
    let without_other = |journeys: &[String]| -> Vec<String> {
        named(&timetables(journeys)).into_iter().map(|(_, trip)| trip).collect()
    };
    assert_eq!(without_other(&[journey_xml(B, "7", "S")]), ["7"]);
    assert_eq!(without_other(&[journey_xml(A, "7", "S"), journey_xml(B, "8", "S")]), ["7", "8"]);
    assert_eq!(
        without_other(&[journey_xml(A, "7", "S"), journey_xml(A, "7", "T")]),
        ["7"],
        "the later one is used"
    );
    assert_eq!(
        without_other(&[journey_xml("", "7", "S"), journey_xml(B, "7", "T")]),
        ["7"],
        "a missing producer does not distinguish them"
    );
    let own = "B:ServiceJourney:7";
    assert_eq!(
        without_other(&[journey_xml(A, own, "S"), journey_xml(B, own, "T")]),
        [own],
        "the id contains its producer"
    );
}

#[test]
fn journeys_with_one_id_are_distinct_if_any_mark_differs() {
    let operator =
        |name: &str| journey_xml(&format!("<OperatorRef>{name}</OperatorRef>"), "7", "S");
    let line = |line: &str| journey_xml("", "7", "S").replace(">L<", &format!(">{line}<"));
    let frame = |frame: &str| journey_xml("", "7", "S").replace("2026-11-21", frame);
    for (journeys, expected) in [
        ([operator("A"), operator("B")], ["7", "B:7"]),
        ([operator("B"), operator("A")], ["B:7", "7"]),
        ([line("1"), line("2")], ["7", "2:7"]),
        ([frame("night"), frame("day")], ["night:7", "7"]),
        // The form of the name shows that it is unique; two journeys in one message are distinct all the same.
        (
            [operator("A"), operator("B")].map(|it| it.replace(">7<", ">X:SJ:7<")),
            ["X:SJ:7", "B:X:SJ:7"],
        ),
    ] {
        let entities = named(&timetables(&journeys));
        let trips: Vec<&str> = entities.iter().map(|(_, trip)| trip.as_str()).collect();
        assert_eq!(trips, expected, "{journeys:?}");
        assert_ne!(entities[0].0, entities[1].0);
    }
    // One mark may distinguish some of them, and another the rest.
    let both = |name: &str, on: &str| operator(name).replace(">L<", &format!(">{on}<"));
    let three = named(&timetables(&[both("A", "1"), both("B", "1"), both("B", "2")]));
    let trips: Vec<&str> = three.iter().map(|(_, trip)| trip.as_str()).collect();
    assert_eq!(trips, ["7", "B:7", "2:B:7"]);
}

#[test]
fn journeys_without_an_id_are_distinct_too() {
    let nameless = |source: &str| {
        let journey = journey_xml(source, "7", "S");
        let (before, rest) = journey.split_once("<FramedVehicleJourneyRef>").unwrap();
        let (_, after) = rest.split_once("</FramedVehicleJourneyRef>").unwrap();
        format!("{before}{after}")
    };
    let operator = |name: &str| nameless(&format!("<OperatorRef>{name}</OperatorRef>"));
    for [one, other] in [[nameless(A), nameless(B)], [operator("A"), operator("B")]] {
        let mut out = normalized(&timetables(&[one, other]), &SiriIdMapping::Same);
        out.remove_earlier_duplicates();
        let ids: Vec<&str> = out.entities.iter().map(|it| it.entity.id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{ids:?}");
        assert!(ids[1].starts_with("journey:B:"), "{ids:?}");
    }
}

#[test]
fn the_producer_ref_distinguishes_journeys_of_one_message() {
    let delivery = |producer: &str| {
        format!(
            "<ServiceDelivery><ProducerRef>{producer}</ProducerRef>{}</ServiceDelivery>",
            timetables(&[journey_xml("", "7", "S")])
        )
    };
    let text = format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\">{}{}</Siri>",
        delivery("A"),
        delivery("B")
    );
    let (message, _) =
        siri::decode_siri_message(text.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .unwrap();
    let zone = &TimeZone::UTC;
    let rules = MappingRules { ids: &SiriIdMapping::Same, has_vehicle_delays: false, zone };
    let mut out = normalize_message(&message, rules);
    out.remove_earlier_duplicates();
    let trips = out.entities.iter().map(|it| it.trip_and_part().unwrap().0.trip_id);
    assert_eq!(trips.collect::<Vec<_>>(), ["7", "B:7"]);
}

#[test]
fn shortened_netex_ids_are_distinguished_by_their_codespace() {
    let both = [journey_xml("", "A:SJ:7", "S"), journey_xml("", "B:SJ:7", "T")];
    let out = normalized(&timetables(&both), &SiriIdMapping::Netex);
    let trips = out.entities.iter().map(|it| it.trip_and_part().unwrap().0.trip_id);
    assert_eq!(trips.collect::<Vec<_>>(), ["7", "B:7"]);
}

#[test]
fn a_vehicle_refers_to_the_trip_of_its_producer() {
    let vehicle = |source: &str| {
        format!(
            "<VehicleActivity><MonitoredVehicleJourney><LineRef>L</LineRef><FramedVehicleJourneyRef>\
             <DataFrameRef>2026-11-21</DataFrameRef><DatedVehicleJourneyRef>7\
             </DatedVehicleJourneyRef></FramedVehicleJourneyRef>{source}<VehicleRef>1</VehicleRef>\
             </MonitoredVehicleJourney></VehicleActivity>"
        )
    };
    let vehicles = format!(
        "<VehicleMonitoringDelivery>{}{}</VehicleMonitoringDelivery>",
        vehicle(A),
        vehicle(B)
    );
    let both = timetables(&[journey_xml(A, "7", "S"), journey_xml(B, "7", "T")]);
    let names = named(&format!("{vehicles}{both}"));
    assert_eq!(names[2..], pairs(&[("vehicle:A:1", "7"), ("vehicle:B:1", "B:7")]));
    assert_eq!(named(&vehicles)[1].1, "7", "without timetables the plain id is free");
}
