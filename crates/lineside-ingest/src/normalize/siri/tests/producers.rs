//! What becomes of journeys of several producers.

use super::*;

fn of(source: &str, name: &str, stop: &str) -> String {
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

/// The ids of entities, and of the trips that they tell of.
fn named(deliveries: &str) -> Vec<(String, String)> {
    let mut out = normalized(deliveries, &SiriIds::Same);
    out.keep_last();
    let names = out.entities.iter().map(|it| {
        let (trip, _) = it.trip().unwrap();
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
fn journeys_of_two_producers_with_one_name_are_two() {
    let both = pairs(&[("journey:7:20261121", "7"), ("journey:B:7:20261121", "B:7")]);
    assert_eq!(named(&timetables(&[of(A, "7", "S"), of(B, "7", "T")])), both);
    // Whatever their order.
    let mut reversed = named(&timetables(&[of(B, "7", "T"), of(A, "7", "S")]));
    reversed.reverse();
    assert_eq!(reversed, both);
    let by_line = |line: &str| of("", "7", "S").replace(">L<", &format!(">{line}<"));
    assert_eq!(named(&timetables(&[by_line("A:Line:1"), by_line("B:Line:1")])), both);
}

#[test]
fn one_producer_has_the_ids_that_it_gives() {
    let alone = |journeys: &[String]| -> Vec<String> {
        named(&timetables(journeys)).into_iter().map(|(_, trip)| trip).collect()
    };
    assert_eq!(alone(&[of(B, "7", "S")]), ["7"]);
    assert_eq!(alone(&[of(A, "7", "S"), of(B, "8", "S")]), ["7", "8"]);
    assert_eq!(alone(&[of(A, "7", "S"), of(A, "7", "T")]), ["7"], "the later one counts");
    assert_eq!(alone(&[of("", "7", "S"), of(B, "7", "T")]), ["7"], "nothing says that they differ");
    let operator = |name: &str| format!("<OperatorRef>{name}</OperatorRef>");
    assert_eq!(alone(&[of(&operator("A"), "7", "S"), of(&operator("B"), "7", "T")]), ["7"]);
    let own = "B:ServiceJourney:7";
    assert_eq!(alone(&[of(A, own, "S"), of(B, own, "T")]), [own], "the name says whose it is");
}

#[test]
fn a_vehicle_runs_the_trip_of_its_producer() {
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
    let both = timetables(&[of(A, "7", "S"), of(B, "7", "T")]);
    let names = named(&format!("{vehicles}{both}"));
    assert_eq!(names[2..], pairs(&[("vehicle:A:1", "7"), ("vehicle:B:1", "B:7")]));
    assert_eq!(named(&vehicles)[1].1, "7", "without timetables none has the name before it");
}
