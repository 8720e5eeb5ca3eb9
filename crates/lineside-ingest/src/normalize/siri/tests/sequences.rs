//! Tests of stop sequences for trips that visit a stop more than once.

use lineside_formats::gtfs_rt::proto::FeedEntity;
use lineside_testkit::TestSchedule;

use super::*;

/// Trip `T` is circular: stop 1 is its first and its last; `E` continues to another stop.
fn timetable() -> Timetable {
    TestSchedule::new("UTC")
        .stop("1", "One", 59.9, 10.7)
        .stop("2", "Two", 59.8, 10.7)
        .stop("3", "Three", 59.7, 10.7)
        .route("L", "1", 3)
        .trip("T", "1 12:00 #10, 2 12:05 #20, 3 12:10 #30, 1 12:15 #40")
        .trip("E", "1 12:00 #10, 2 12:05 #20")
        .timetable()
}

const FRAMED: &str = "<FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
                      <DatedVehicleJourneyRef>T</DatedVehicleJourneyRef></FramedVehicleJourneyRef>";

fn aimed(minute: u8) -> String {
    format!("<AimedArrivalTime>2026-11-21T12:{minute:02}:00Z</AimedArrivalTime>")
}

fn call(stop: u8, inside: &str) -> String {
    format!("<EstimatedCall><StopPointRef>{stop}</StopPointRef>{inside}</EstimatedCall>")
}

fn estimated(name: &str, calls: &[String]) -> String {
    format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
         <LineRef>L</LineRef>{name}<EstimatedCalls>{}</EstimatedCalls></EstimatedVehicleJourney>\
         </EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>",
        calls.concat()
    )
}

fn converted(delivery: &str) -> FeedEntity {
    let (message, timetable) = (message(delivery), timetable());
    let (out, ..) =
        siri_to_gtfs_rt(&message, &SiriIdMapping::Same, Some(&timetable), &TimeZone::UTC);
    let [entity] = &out.entity[..] else { panic!("{} entities", out.entity.len()) };
    entity.clone()
}

fn sequences(delivery: &str) -> Vec<Option<u32>> {
    let update = converted(delivery).trip_update.unwrap();
    update.stop_time_update.iter().map(|call| call.stop_sequence).collect()
}

#[test]
fn stop_sequences_are_found_by_time_number_and_neighbours() {
    let order = |order: u8| format!("<Order>{order}</Order>");
    let visit = |number: u8| format!("<VisitNumber>{number}</VisitNumber>");
    let unnamed = "<DatedVehicleJourneyRef>T</DatedVehicleJourneyRef>";
    for (name, calls, expected) in [
        (FRAMED, vec![call(3, &aimed(10)), call(1, &aimed(15))], vec![Some(30), Some(40)]),
        // By the aimed time, even if it differs a little or there is no date.
        (FRAMED, vec![call(1, &aimed(15))], vec![Some(40)]),
        (FRAMED, vec![call(1, &aimed(2))], vec![Some(10)]),
        (unnamed, vec![call(1, &aimed(15))], vec![Some(40)]),
        // By the producer's numbers: the position of the call, its sequence in the schedule, or the visit number.
        (FRAMED, vec![call(1, &order(4))], vec![Some(40)]),
        (FRAMED, vec![call(1, &order(40))], vec![Some(40)]),
        (FRAMED, vec![call(1, &visit(2))], vec![Some(40)]),
        // By the neighbouring calls.
        (FRAMED, vec![call(3, ""), call(1, "")], vec![Some(30), Some(40)]),
        (FRAMED, vec![call(1, ""), call(2, "")], vec![Some(10), Some(20)]),
        // Many producers number each visit 1.
        (FRAMED, vec![call(1, &visit(1)), call(1, &visit(1))], vec![Some(10), Some(40)]),
        // Ambiguous.
        (FRAMED, vec![call(1, "")], vec![None]),
        (FRAMED, vec![call(1, &visit(3))], vec![None]),
        (FRAMED, vec![call(9, &aimed(15)), call(1, &aimed(15))], vec![None, Some(40)]),
    ] {
        assert_eq!(sequences(&estimated(name, &calls)), expected, "{name} {calls:?}");
    }
}

#[test]
fn trips_that_visit_each_stop_once_get_no_sequences() {
    let round = [call(1, &aimed(0)), call(2, &aimed(5))];
    assert_eq!(sequences(&estimated(FRAMED, &round)), [Some(10), Some(20)]);
    let other = FRAMED.replace(">T<", ">E<");
    assert_eq!(sequences(&estimated(&other, &round)), [None, None]);
    // The calls of an extra journey are not in the schedule.
    let extra = format!("{FRAMED}<ExtraJourney>true</ExtraJourney>");
    assert_eq!(sequences(&estimated(&extra, &round)), [None, None]);
}

#[test]
fn visits_and_vehicles_get_stop_sequences() {
    let delivery = format!(
        "<StopMonitoringDelivery><MonitoredStopVisit><MonitoringRef>1</MonitoringRef>\
         <MonitoredVehicleJourney><LineRef>L</LineRef>{FRAMED}<MonitoredCall>\
         <StopPointRef>1</StopPointRef>{}</MonitoredCall></MonitoredVehicleJourney>\
         </MonitoredStopVisit></StopMonitoringDelivery>",
        aimed(15)
    );
    assert_eq!(sequences(&delivery), [Some(40)]);
    // The sequence stays the same when later visits of the journey arrive.
    let mut visits = normalized(&delivery, &SiriIdMapping::Same);
    visits.complete_from_schedule(&timetable());
    let mut known = visits.entities.remove(0);
    let mut visits = normalized(&delivery.replace("12:15:00", "12:00:00"), &SiriIdMapping::Same);
    visits.complete_from_schedule(&timetable());
    known.merge_later_visit(visits.entities.remove(0));
    let calls = known.entity.trip_update.unwrap().stop_time_update;
    let calls: Vec<_> = calls.iter().map(|call| call.stop_sequence).collect();
    assert_eq!(calls, [Some(10), Some(40)]);
    let vehicle = |inside: &str| {
        let delivery = format!(
            "<VehicleMonitoringDelivery><VehicleActivity><MonitoredVehicleJourney>\
             <LineRef>L</LineRef>{FRAMED}<VehicleRef>7</VehicleRef><MonitoredCall>\
             <StopPointRef>1</StopPointRef>{inside}</MonitoredCall></MonitoredVehicleJourney>\
             </VehicleActivity></VehicleMonitoringDelivery>"
        );
        converted(&delivery).vehicle.unwrap().current_stop_sequence
    };
    assert_eq!((vehicle("<Order>4</Order>"), vehicle("")), (Some(40), None));
}

#[test]
fn order_is_reported_as_dropped_with_the_reason() {
    let delivery = estimated(FRAMED, &[call(1, "<VisitNumber>2</VisitNumber><Order>4</Order>")]);
    let message = message(&delivery);
    let why = |schedule: Option<&Timetable>| {
        let (.., losses) =
            siri_to_gtfs_rt(&message, &SiriIdMapping::Same, schedule, &TimeZone::UTC);
        let reason_for = |kind: &str| {
            let found = losses.iter().find(|it| it.kind == kind);
            found.map(|it| it.why.to_string()).unwrap_or_default()
        };
        [reason_for("VisitNumber"), reason_for("Order")]
    };
    assert_eq!(why(None), ["there is no schedule with stop sequences"; 2]);
    assert_eq!(why(Some(&timetable())), ["the schedule has it"; 2]);
}
