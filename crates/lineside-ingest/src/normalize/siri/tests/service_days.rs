//! Tests of the service day of journeys after midnight, whatever date their producer uses.

use lineside_testkit::TestSchedule;

use super::*;
use lineside_model::trip_matching::{UnmatchedReason, count_matched_trips};

/// `night` runs on Saturdays, `daily` every day, `morning` on Sundays; the first two begin at ten past midnight.
fn timetable() -> Timetable {
    let year = ["20260101", "20261231"];
    TestSchedule::new("Europe/Oslo")
        .stop("S", "Here", 59.9, 10.7)
        .stop("T", "There", 59.8, 10.7)
        .route("L", "1", 3)
        .service("SA", "0000010", year)
        .trip("night", "S 24:10, T 24:30")
        .service("D", "1111111", year)
        .trip("daily", "S 24:10, T 24:30")
        .service("SU", "0000001", year)
        .trip("morning", "S 00:10, T 00:30")
        .timetable()
}

fn framed(name: &str, date: &str) -> String {
    format!(
        "<LineRef>L</LineRef><FramedVehicleJourneyRef><DataFrameRef>{date}</DataFrameRef>\
         <DatedVehicleJourneyRef>{name}</DatedVehicleJourneyRef></FramedVehicleJourneyRef>"
    )
}

fn journey(name: &str, date: &str, inside: &str) -> SiriMessage {
    message(&format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>{}\
         {inside}</EstimatedVehicleJourney></EstimatedJourneyVersionFrame>\
         </EstimatedTimetableDelivery>",
        framed(name, date)
    ))
}

fn call(stop: &str, aimed: &str) -> String {
    format!(
        "<EstimatedCalls><EstimatedCall><StopPointRef>{stop}</StopPointRef>\
         <AimedDepartureTime>{aimed}+01:00</AimedDepartureTime></EstimatedCall></EstimatedCalls>"
    )
}

/// Returns the entity of a message with one, and the number of dates reported as moved.
fn accept_times(message: &SiriMessage) -> (lineside_formats::gtfs_rt::proto::FeedEntity, u64) {
    let timetable = timetable();
    let zone = timetable.timezone();
    let (out, ..) = siri_to_gtfs_rt(message, &SiriIdMapping::Same, Some(&timetable), zone);
    let counts = count_matched_trips(&out.entity, &timetable);
    let moved = counts.reasons().find(|(reason, _)| *reason == UnmatchedReason::DayBefore);
    let [entity] = &out.entity[..] else { panic!("{} entities", out.entity.len()) };
    (entity.clone(), moved.map_or(0, |(_, found)| found.count))
}

/// 22 November 2026 is a Sunday.
#[test]
fn planned_times_correct_a_calendar_date_to_the_service_day() {
    const SATURDAY: &str = "20261121";
    const SUNDAY: &str = "20261122";
    let at_ten_past = call("S", "2026-11-22T00:10:00");
    let cancelled = "<OriginAimedDepartureTime>2026-11-22T00:10:00+01:00</OriginAimedDepartureTime>\
                     <Cancellation>true</Cancellation>";
    let unplanned = "<EstimatedCalls><EstimatedCall><StopPointRef>S</StopPointRef>\
                     <ExpectedDepartureTime>2026-11-22T00:10:00+01:00</ExpectedDepartureTime>\
                     </EstimatedCall></EstimatedCalls>";
    for (name, date, inside, expected) in [
        ("night", "2026-11-22", at_ten_past.as_str(), SATURDAY),
        ("night", "2026-11-22", &call("T", "2026-11-22T00:35:00"), SATURDAY),
        ("night", "2026-11-22", cancelled, SATURDAY),
        // A trip with the same name runs on the named date, too, but is another one.
        ("daily", "2026-11-22", &at_ten_past, SATURDAY),
        ("daily", "2026-11-22", &call("S", "2026-11-23T00:10:00"), SUNDAY),
        // The producer uses service days like the schedule.
        ("night", "2026-11-21", &at_ten_past, SATURDAY),
        ("morning", "2026-11-22", &at_ten_past, SUNDAY),
        // The time is too different, missing, or the trip is not in the timetable.
        ("night", "2026-11-22", &call("S", "2026-11-22T00:16:00"), SUNDAY),
        ("night", "2026-11-22", unplanned, SUNDAY),
        ("night", "2026-11-22", "", SUNDAY),
        ("other", "2026-11-22", &at_ten_past, SUNDAY),
    ] {
        let (entity, moved) = accept_times(&journey(name, date, inside));
        let trip = &entity.trip_update.as_ref().unwrap().trip;
        let named = date.replace('-', "");
        assert_eq!(trip.start_date.as_deref(), Some(expected), "{name} {date} {inside}");
        let is_moved = named != expected;
        assert_eq!(trip.named_start_date, is_moved.then_some(named.clone()), "{name} {inside}");
        assert_eq!(moved, u64::from(is_moved), "the report counts the change");
        assert_eq!(entity.id, format!("journey:{name}:{named}"), "the id has the date as named");
    }
}

#[test]
fn a_vehicle_is_on_the_trip_of_its_service_day() {
    let vehicle = |starts: &str| {
        message(&format!(
            "<VehicleMonitoringDelivery><VehicleActivity><MonitoredVehicleJourney>{}\
             <OriginAimedDepartureTime>{starts}+01:00</OriginAimedDepartureTime>\
             <VehicleRef>1</VehicleRef></MonitoredVehicleJourney></VehicleActivity>\
             </VehicleMonitoringDelivery>",
            framed("daily", "2026-11-22")
        ))
    };
    for (starts, expected) in
        [("2026-11-22T00:10:00", "20261121"), ("2026-11-23T00:10:00", "20261122")]
    {
        let (entity, moved) = accept_times(&vehicle(starts));
        let trip = entity.vehicle.unwrap().trip.unwrap();
        assert_eq!(trip.start_date.as_deref(), Some(expected), "{starts}");
        assert_eq!(moved, u64::from(expected == "20261121"));
    }
}
