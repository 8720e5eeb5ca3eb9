//! Tests of extra journeys: their start, and the numbers and times of their calls.

use super::*;

/// Normalizes an extra journey with calls of these orders.
fn extra(inside: &str, orders: &[u32]) -> (String, TripUpdate) {
    let calls: String = orders
        .iter()
        .map(|order| {
            format!(
                "<EstimatedCall><StopPointRef>S{order}</StopPointRef><Order>{order}</Order>\
                 <ExpectedArrivalTime>2026-11-21T23:40:00Z</ExpectedArrivalTime></EstimatedCall>"
            )
        })
        .collect();
    let message = message(&format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
         <LineRef>L</LineRef><DirectionRef>0</DirectionRef>\
         <EstimatedVehicleJourneyCode>X</EstimatedVehicleJourneyCode>\
         <ExtraJourney>true</ExtraJourney>{inside}<EstimatedCalls>{calls}</EstimatedCalls>\
         </EstimatedVehicleJourney></EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>"
    ));
    let zone = &TimeZone::get("Europe/Paris").unwrap();
    let rules = MappingRules { ids: &SiriIdMapping::Same, has_vehicle_delays: false, zone };
    let entity = normalize_message(&message, rules).entities.remove(0).entity;
    (entity.id, entity.trip_update.unwrap())
}

fn starts(at: &str) -> String {
    format!("<OriginAimedDepartureTime>{at}</OriginAimedDepartureTime>")
}

#[test]
fn an_extra_journey_starts_at_its_local_origin_departure() {
    let off = "<Cancellation>true</Cancellation>";
    for (inside, date, time) in [
        (starts("2026-11-21T09:05:00Z"), Some("20261121"), Some("10:05:00")),
        (starts("2026-11-21T23:30:00Z"), Some("20261122"), Some("00:30:00")),
        (format!("{}{off}", starts("2026-11-21T09:05:00Z")), Some("20261121"), Some("10:05:00")),
        (String::new(), None, None),
    ] {
        let (id, update) = extra(&inside, &[1, 2]);
        let trip = &update.trip;
        assert_eq!((trip.start_date.as_deref(), trip.start_time.as_deref()), (date, time));
        assert_eq!(id, "journey:X", "the start does not change the id");
    }
}

#[test]
fn orders_of_an_extra_journey_are_kept_if_they_increase() {
    let sequences = |orders: &[u32]| -> Vec<Option<u32>> {
        extra("", orders).1.stop_time_update.iter().map(|call| call.stop_sequence).collect()
    };
    assert_eq!(sequences(&[6, 7]), [Some(6), Some(7)]);
    assert_eq!(sequences(&[1, 1]), [None, None]);
    assert_eq!(sequences(&[0, 1]), [None, None]);
}

#[test]
fn an_extra_journey_departs_from_its_last_call_at_its_arrival() {
    let (_, update) = extra("", &[1, 2]);
    let [first, last] = &update.stop_time_update[..] else { panic!("{update:?}") };
    assert!(last.arrival.is_some());
    assert_eq!(last.departure, last.arrival);
    assert_eq!(first.departure, None);
}
