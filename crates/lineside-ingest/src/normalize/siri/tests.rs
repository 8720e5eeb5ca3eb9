//! Tests of SIRI normalization on small messages made here, and counts on real ones if a folder with them is next to
//! the repository.

mod extra;
mod producers;
mod sequences;
mod service_days;
mod situations;

use std::{collections::HashSet, fs, path::Path};

use jiff::tz::TimeZone;
use lineside_formats::{
    gtfs_rt::proto::{
        TripUpdate, VehiclePosition, trip_descriptor::ScheduleRelationship,
        trip_update::StopTimeUpdate, trip_update::stop_time_update,
        vehicle_position::OccupancyStatus,
    },
    siri::{self, MessageLimits},
};

use super::*;
use crate::limits::JOURNEY_VISITS_MAX;

fn message(deliveries: &str) -> SiriMessage {
    let text = format!(
        "<Siri xmlns=\"http://www.siri.org.uk/siri\" version=\"2.0\"><ServiceDelivery>\
         <ResponseTimestamp>2026-11-21T12:00:00Z</ResponseTimestamp>{deliveries}\
         </ServiceDelivery></Siri>"
    );
    let (message, problems) =
        siri::decode_siri_message(text.as_bytes(), &TimeZone::UTC, &MessageLimits::default())
            .unwrap();
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    message
}

fn normalized(deliveries: &str, ids: &SiriIdMapping) -> NormalizedMessage {
    normalize_message(
        &message(deliveries),
        MappingRules { ids, has_vehicle_delays: true, zone: &TimeZone::UTC },
    )
}

/// Normalizes a journey from an estimated timetable.
fn journey(inside: &str) -> TripUpdate {
    let deliveries = format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
         <RecordedAtTime>2026-11-21T11:59:00Z</RecordedAtTime>\
         <LineRef>L</LineRef><DirectionRef>0</DirectionRef><FramedVehicleJourneyRef>\
         <DataFrameRef>2026-11-21</DataFrameRef>\
         <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>{inside}\
         </EstimatedVehicleJourney></EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>"
    );
    let mut out = normalized(&deliveries, &SiriIdMapping::Same);
    assert_eq!(out.entities.len(), 1);
    out.entities.remove(0).entity.trip_update.unwrap()
}

fn call(inside: &str) -> StopTimeUpdate {
    let update = journey(&format!(
        "<EstimatedCalls><EstimatedCall><StopPointRef>S</StopPointRef>{inside}</EstimatedCall>\
         </EstimatedCalls>"
    ));
    update.stop_time_update.into_iter().next().unwrap()
}

#[test]
fn a_journey_maps_to_a_trip_update_with_times_and_delays() {
    let update = journey(
        "<VehicleRef>V</VehicleRef><RecordedCalls><RecordedCall>\
         <StopPointRef>A</StopPointRef><AimedDepartureTime>2026-11-21T11:50:00Z</AimedDepartureTime>\
         <ActualDepartureTime>2026-11-21T11:51:00Z</ActualDepartureTime></RecordedCall>\
         </RecordedCalls><EstimatedCalls><EstimatedCall><StopPointRef>B</StopPointRef>\
         <AimedArrivalTime>2026-11-21T12:05:00Z</AimedArrivalTime>\
         <ExpectedArrivalTime>2026-11-21T12:03:30Z</ExpectedArrivalTime></EstimatedCall>\
         </EstimatedCalls>",
    );
    let trip = &update.trip;
    assert_eq!(
        (trip.trip_id.as_deref(), trip.start_date.as_deref(), trip.route_id.as_deref()),
        (Some("J"), Some("20261121"), Some("L"))
    );
    assert_eq!((trip.direction_id, trip.schedule_relationship), (Some(0), None));
    assert_eq!(update.vehicle.unwrap().id.as_deref(), Some("V"));
    assert_eq!(update.timestamp, Some(1_795_262_340));
    let [left, ahead] = update.stop_time_update.as_slice() else { panic!("expected two calls") };
    let left = left.departure.unwrap();
    assert_eq!((left.delay, left.uncertainty), (Some(60), Some(0)));
    assert_eq!(left.time.zip(left.scheduled_time).map(|(time, aimed)| time - aimed), Some(60));
    let ahead = ahead.arrival.unwrap();
    assert_eq!((ahead.delay, ahead.uncertainty), (Some(-90), None));
}

#[test]
fn journeys_map_to_cancelled_added_and_changed_trips() {
    let relationship =
        |inside: &str| journey(inside).trip.schedule_relationship.map(|it| it.try_into().unwrap());
    let extra_call = "<EstimatedCalls><EstimatedCall><StopPointRef>S</StopPointRef>\
         <ExtraCall>true</ExtraCall></EstimatedCall></EstimatedCalls>";
    for (inside, expected) in [
        ("<Cancellation>true</Cancellation>", Some(ScheduleRelationship::Canceled)),
        ("<ExtraJourney>true</ExtraJourney>", Some(ScheduleRelationship::New)),
        (extra_call, Some(ScheduleRelationship::Replacement)),
        ("<Cancellation>false</Cancellation>", None),
    ] {
        assert_eq!(relationship(inside), expected, "{inside}");
    }
}

#[test]
fn an_extra_journey_without_expected_times_is_on_time() {
    let update = journey(
        "<ExtraJourney>true</ExtraJourney><EstimatedCalls><EstimatedCall>\
         <StopPointRef>S</StopPointRef><AimedDepartureTime>2026-11-21T12:05:00Z\
         </AimedDepartureTime></EstimatedCall></EstimatedCalls>",
    );
    assert_eq!(update.stop_time_update[0].departure.unwrap().delay, Some(0));
}

#[test]
fn a_planned_time_is_not_a_prediction() {
    let aimed = "<AimedDepartureTime>2026-11-21T12:05:00Z</AimedDepartureTime>";
    let no_data = stop_time_update::ScheduleRelationship::NoData;
    let known = call(aimed);
    assert_eq!((known.schedule_relationship(), known.departure), (no_data, None));
    let on_time = call(&format!("{aimed}<DepartureStatus>onTime</DepartureStatus>"));
    assert_eq!(on_time.departure.unwrap().delay, Some(0));
    let planned_only = call(&format!(
        "{aimed}<ExpectedDepartureTime>2026-11-21T12:06:00Z</ExpectedDepartureTime>\
         <DepartureStatus>noReport</DepartureStatus>"
    ));
    assert_eq!(planned_only.schedule_relationship(), no_data);
}

#[test]
fn a_call_is_skipped_only_without_boarding_and_alighting() {
    let skipped = stop_time_update::ScheduleRelationship::Skipped;
    let both = "<AimedArrivalTime>2026-11-21T12:04:00Z</AimedArrivalTime>\
                <ArrivalStatus>STATUS</ArrivalStatus>\
                <AimedDepartureTime>2026-11-21T12:05:00Z</AimedDepartureTime>\
                <DepartureStatus>cancelled</DepartureStatus>";
    for (inside, expected) in [
        ("<Cancellation>true</Cancellation>".to_owned(), true),
        ("<DepartureBoardingActivity>passThru</DepartureBoardingActivity>".to_owned(), true),
        (both.replace("STATUS", "cancelled"), true),
        (both.replace("STATUS", "onTime"), false),
    ] {
        assert_eq!(call(&inside).schedule_relationship() == skipped, expected, "{inside}");
    }
}

#[test]
fn platforms_occupancy_and_headsigns_are_mapped() {
    let call = call(
        "<Occupancy>fewSeatsAvailable</Occupancy><DestinationDisplay>North</DestinationDisplay>\
         <ExpectedDepartureTime>2026-11-21T12:05:00Z</ExpectedDepartureTime>\
         <DeparturePlatformName>7b</DeparturePlatformName>\
         <DepartureBoardingActivity>noBoarding</DepartureBoardingActivity>\
         <DepartureStopAssignment><AimedQuayRef>S1</AimedQuayRef>\
         <ExpectedQuayRef>S2</ExpectedQuayRef></DepartureStopAssignment>",
    );
    assert_eq!(call.stop_id.as_deref(), Some("S1"));
    assert_eq!(call.departure_occupancy_status, Some(OccupancyStatus::FewSeatsAvailable as i32));
    let properties = call.stop_time_properties.unwrap();
    assert_eq!(
        (
            properties.assigned_stop_id.as_deref(),
            properties.platform.as_deref(),
            properties.stop_headsign.as_deref(),
            properties.pickup_type
        ),
        (Some("S2"), Some("7b"), Some("North"), Some(1))
    );
}

#[test]
fn headway_runs_are_identified_by_their_local_start_time() {
    let run = |starts: &str| {
        format!(
            "<EstimatedVehicleJourney><LineRef>L</LineRef><DirectionRef>0</DirectionRef>\
             <FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
             <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>\
             <HeadwayService>true</HeadwayService>\
             <OriginAimedDepartureTime>{starts}</OriginAimedDepartureTime>\
             </EstimatedVehicleJourney>"
        )
    };
    let message = message(&format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame>{}{}\
         </EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>",
        run("2026-11-21T09:00:00Z"),
        run("2026-11-21T23:30:00Z")
    ));
    let zone = &TimeZone::get("Europe/Paris").unwrap();
    let rules = MappingRules { ids: &SiriIdMapping::Same, has_vehicle_delays: false, zone };
    let out = normalize_message(&message, rules);
    let named = |it: &SiriEntity| {
        let trip = it.entity.trip_update.as_ref().unwrap().trip.clone();
        (it.entity.id.clone(), trip.start_time.unwrap())
    };
    let named: Vec<_> = out.entities.iter().map(named).collect();
    let expected =
        [("journey:J:20261121:10:00:00", "10:00:00"), ("journey:J:20261121:24:30:00", "24:30:00")];
    assert_eq!(named, expected.map(|(id, time)| (id.to_owned(), time.to_owned())));
    assert_eq!(out.problems.total_count(), 0, "{:?}", out.problems.retained_problems());
}

fn vehicle(inside: &str, has_vehicle_delays: bool) -> (VehiclePosition, Option<TripUpdate>) {
    let message = message(&format!(
        "<VehicleMonitoringDelivery><VehicleActivity>\
         <RecordedAtTime>2026-11-21T11:59:00Z</RecordedAtTime><MonitoredVehicleJourney>\
         <LineRef>X:Line:L:LOC</LineRef><FramedVehicleJourneyRef><DataFrameRef>any</DataFrameRef>\
         <DatedVehicleJourneyRef>X:VehicleJourney::J:LOC</DatedVehicleJourneyRef>\
         </FramedVehicleJourneyRef>{inside}</MonitoredVehicleJourney></VehicleActivity>\
         </VehicleMonitoringDelivery>"
    ));
    let zone = &TimeZone::UTC;
    let mut out = normalize_message(
        &message,
        MappingRules { ids: &SiriIdMapping::Netex, has_vehicle_delays, zone },
    );
    let entity = out.entities.remove(0).entity;
    (entity.vehicle.unwrap(), entity.trip_update)
}

#[test]
fn a_vehicle_reports_its_delay_unless_a_timetable_does() {
    let inside = "<VehicleLocation><Longitude>5.5</Longitude><Latitude>60.25</Latitude>\
         </VehicleLocation><Bearing>90</Bearing><Occupancy>full</Occupancy><Delay>-PT30S</Delay>\
         <VehicleRef>V</VehicleRef><MonitoredCall><StopPointRef>X:Quay:S:LOC</StopPointRef>\
         <VehicleAtStop>true</VehicleAtStop></MonitoredCall>";
    let (position, update) = vehicle(inside, true);
    let coordinates = position.position.as_ref().unwrap();
    assert_eq!(
        (coordinates.latitude, coordinates.longitude, coordinates.bearing),
        (60.25, 5.5, Some(90.0))
    );
    assert_eq!((position.stop_id.as_deref(), position.current_status), (Some("S"), Some(1)));
    let trip = position.trip.as_ref().unwrap();
    assert_eq!(
        (trip.trip_id.as_deref(), trip.route_id.as_deref(), trip.start_date.as_deref()),
        (Some("J"), Some("L"), None)
    );
    let update = update.unwrap();
    assert_eq!((update.delay, update.stop_time_update.len()), (Some(-30), 0));
    assert_eq!(vehicle(inside, false).1, None, "the estimated timetable contains the delay");
}

#[test]
fn visits_of_a_journey_are_merged_into_one_trip_update() {
    let visit = |item: &str, stop: &str, minute: u8| {
        format!(
            "<MonitoredStopVisit><ItemIdentifier>{item}</ItemIdentifier>\
             <MonitoringRef>{stop}</MonitoringRef><MonitoredVehicleJourney><LineRef>L</LineRef>\
             <FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
             <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>\
             <MonitoredCall><StopPointRef>{stop}</StopPointRef>\
             <AimedDepartureTime>2026-11-21T12:{minute}:00Z</AimedDepartureTime>\
             <ExpectedDepartureTime>2026-11-21T12:{minute}:30Z</ExpectedDepartureTime>\
             </MonitoredCall></MonitoredVehicleJourney></MonitoredStopVisit>"
        )
    };
    let visits = visit("b", "B", 20) + &visit("a", "A", 10);
    let deliveries = format!("<StopMonitoringDelivery>{visits}</StopMonitoringDelivery>");
    let mut out = normalized(&deliveries, &SiriIdMapping::Same);
    assert_eq!(out.entities.len(), 1);
    let stops = |entity: &SiriEntity| {
        let calls = &entity.entity.trip_update.as_ref().unwrap().stop_time_update;
        calls.iter().map(|it| it.stop_id.clone().unwrap()).collect::<Vec<_>>()
    };
    let entity = &mut out.entities[0];
    assert_eq!(stops(entity), ["A", "B"], "visits are in the order of the journey");
    assert!(!entity.remove_visit_by_name("a"));
    assert_eq!(stops(entity), ["B"]);
    assert!(entity.remove_visit_by_name("b"), "the last visit is removed");
}

#[test]
fn a_cancelled_visit_does_not_cancel_its_journey() {
    for (xml, expected) in [
        ("", None),
        ("<ExtraJourney>true</ExtraJourney>", Some(ScheduleRelationship::New)),
        ("<Cancellation>true</Cancellation>", Some(ScheduleRelationship::Canceled)),
    ] {
        let visit = format!(
            "<StopMonitoringDelivery><MonitoredStopVisit><MonitoringRef>S</MonitoringRef>\
             <MonitoredVehicleJourney><FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
             <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>{xml}\
             <MonitoredCall><StopPointRef>S</StopPointRef><Cancellation>true</Cancellation>\
             <AimedDepartureTime>2026-11-21T12:30:00Z</AimedDepartureTime></MonitoredCall>\
             </MonitoredVehicleJourney></MonitoredStopVisit></StopMonitoringDelivery>"
        );
        let out = normalized(&visit, &SiriIdMapping::Same);
        let update = out.entities[0].entity.trip_update.as_ref().unwrap();
        let relationship =
            update.trip.schedule_relationship.map(|_| update.trip.schedule_relationship());
        assert_eq!(relationship, expected, "{xml}");
        let skipped = stop_time_update::ScheduleRelationship::Skipped;
        assert_eq!(update.stop_time_update[0].schedule_relationship(), skipped, "{xml}");
    }
}

#[test]
fn the_number_of_visits_per_journey_is_limited() {
    let visit = |n: usize| {
        format!(
            "<MonitoredStopVisit><ItemIdentifier>{n}</ItemIdentifier><MonitoringRef>S{n}</MonitoringRef>\
             <MonitoredVehicleJourney><FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
             <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>\
             <MonitoredCall><ExpectedDepartureTime>2026-11-21T12:30:00Z</ExpectedDepartureTime>\
             </MonitoredCall></MonitoredVehicleJourney></MonitoredStopVisit>"
        )
    };
    let visits: String = (0..2 * JOURNEY_VISITS_MAX).map(visit).collect();
    let mut out = normalized(
        &format!("<StopMonitoringDelivery>{visits}</StopMonitoringDelivery>"),
        &SiriIdMapping::Same,
    );
    let entity = &mut out.entities[0];
    let calls =
        |entity: &SiriEntity| entity.entity.trip_update.as_ref().unwrap().stop_time_update.len();
    assert_eq!(
        (calls(entity), entity.names_of_visits().count()),
        (JOURNEY_VISITS_MAX, JOURNEY_VISITS_MAX)
    );
    entity.remove_visit_by_name("7");
    assert_eq!(calls(entity), JOURNEY_VISITS_MAX - 1);
}

#[test]
fn a_file_uses_the_estimated_timetable_instead_of_visits() {
    let framed = "<FramedVehicleJourneyRef><DataFrameRef>2026-11-21</DataFrameRef>\
                  <DatedVehicleJourneyRef>J</DatedVehicleJourneyRef></FramedVehicleJourneyRef>";
    let message = message(&format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame><EstimatedVehicleJourney>\
         <LineRef>L</LineRef>{framed}</EstimatedVehicleJourney></EstimatedJourneyVersionFrame>\
         </EstimatedTimetableDelivery><StopMonitoringDelivery><MonitoredStopVisit>\
         <MonitoringRef>S</MonitoringRef><MonitoredVehicleJourney>{framed}\
         </MonitoredVehicleJourney></MonitoredStopVisit></StopMonitoringDelivery>"
    ));
    let (out, problems, _) = siri_to_gtfs_rt(&message, &SiriIdMapping::Same, None, &TimeZone::UTC);
    let ids: Vec<&str> = out.entity.iter().map(|it| it.id.as_str()).collect();
    assert_eq!((ids, problems.total_count()), (vec!["journey:J:20261121"], 0));
}

/// Returns the ids and labels of the vehicles of activities with these journeys.
fn named(journeys: &[&str]) -> Vec<(String, Option<String>)> {
    let activity = |inside: &&str| {
        format!(
            "<VehicleActivity><MonitoredVehicleJourney>{inside}</MonitoredVehicleJourney>\
             </VehicleActivity>"
        )
    };
    let activities: String = journeys.iter().map(activity).collect();
    let deliveries = format!("<VehicleMonitoringDelivery>{activities}</VehicleMonitoringDelivery>");
    let mut out = normalized(&deliveries, &SiriIdMapping::Netex);
    out.remove_earlier_duplicates();
    assert_eq!(out.problems.total_count(), 0, "{:?}", out.problems.retained_problems());
    let vehicles = out.entities.into_iter().map(|it| (it.entity.id, it.entity.vehicle.unwrap()));
    let named = vehicles.map(|(entity_id, vehicle)| {
        let vehicle = vehicle.vehicle.unwrap();
        let id = vehicle.id.unwrap();
        assert_eq!(entity_id, format!("vehicle:{id}"));
        (id, vehicle.label)
    });
    named.collect()
}

#[test]
fn vehicles_of_several_producers_may_share_an_id() {
    let trondheim = "<LineRef>ATB:Line:0005</LineRef><VehicleRef>277</VehicleRef>";
    let stavanger = "<LineRef>KOL:Line:5000</LineRef><OperatorRef>KOL:Operator:1</OperatorRef>\
                     <VehicleRef>277</VehicleRef>";
    let with_operator = |id: &str| (id.to_owned(), Some("277".to_owned()));
    assert_eq!(
        named(&[trondheim, stavanger]),
        [with_operator("ATB:277"), with_operator("KOL:277")]
    );
    assert_eq!(
        named(&[stavanger]),
        [with_operator("KOL:277")],
        "an id does not depend on other vehicles"
    );
    for (inside, id) in [
        // A line of another town's producer, and a line whose id has no codespace.
        ("<LineRef>KOL:Line:1</LineRef><DataSource>ATB</DataSource>", "ATB:277"),
        ("<LineRef>22</LineRef><OperatorRef>X:Operator:CRTB</OperatorRef>", "CRTB:277"),
    ] {
        let journey = format!("{inside}<VehicleRef>277</VehicleRef>");
        assert_eq!(named(&[&journey]), [with_operator(id)], "{inside}");
    }
    for (inside, id) in [
        ("<LineRef>22</LineRef><VehicleRef>277</VehicleRef>", "277"),
        ("<LineRef>A:Line:1</LineRef><VehicleRef>B:Vehicle:277</VehicleRef>", "B:Vehicle:277"),
        ("<DataSource>A</DataSource><VehicleRef>A:277</VehicleRef>", "A:277"),
    ] {
        assert_eq!(named(&[inside]), [(id.to_owned(), None)], "{inside}");
    }
}

#[test]
fn a_repeated_id_in_a_file_gets_a_number() {
    let journey = "<EstimatedVehicleJourney><LineRef>L</LineRef><DatedVehicleJourneyRef>J\
                   </DatedVehicleJourneyRef></EstimatedVehicleJourney>";
    let message = message(&format!(
        "<EstimatedTimetableDelivery><EstimatedJourneyVersionFrame>{journey}{journey}\
         </EstimatedJourneyVersionFrame></EstimatedTimetableDelivery>"
    ));
    let (out, problems, _) = siri_to_gtfs_rt(&message, &SiriIdMapping::Same, None, &TimeZone::UTC);
    let ids: Vec<&str> = out.entity.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["journey:J", "journey:J#2"]);
    assert_eq!(problems.total_count(), 1);
}

#[test]
fn a_refusal_of_the_producer_is_reported() {
    let out = normalized(
        "<StopMonitoringDelivery><Status>false</Status><ErrorCondition><AccessNotAllowedError>\
         <ErrorText>Unknown requestor</ErrorText></AccessNotAllowedError></ErrorCondition>\
         </StopMonitoringDelivery>",
        &SiriIdMapping::Same,
    );
    assert_eq!(out.refusals, ["AccessNotAllowedError: Unknown requestor"]);
}

/// Counts the elements with a local name in a text.
fn count(text: &str, name: &str) -> usize {
    let starts = text.split('<').skip(1);
    let names = starts.filter_map(|tag| tag.split([' ', '>', '/', '\t', '\r', '\n']).next());
    names.filter(|it| it.rsplit(':').next() == Some(name)).count()
}

/// Removes comments, because those in the profile's examples contain whole elements.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    out + rest
}

#[test]
fn every_element_of_recorded_messages_becomes_one_entity() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/siri");
    if !root.is_dir() {
        println!("skipped: {} is not there", root.display());
        return;
    }
    let mut folders = vec![root];
    let (mut files, mut entities) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let body = fs::read(&path).unwrap();
            let Ok((message, _)) =
                siri::decode_siri_message(&body, &TimeZone::UTC, &MessageLimits::default())
            else {
                continue;
            };
            if message.service_deliveries().next().is_none()
                || body.trim_ascii_start().starts_with(b"{")
            {
                continue;
            }
            let text = without_comments(&String::from_utf8_lossy(&body));
            let (out, ..) = siri_to_gtfs_rt(&message, &SiriIdMapping::Same, None, &TimeZone::UTC);
            let single = ["EstimatedVehicleJourney", "VehicleActivity", "PtSituationElement"];
            let elements: usize = single.iter().map(|name| count(&text, name)).sum();
            let visit_entities = out.entity.iter().filter(|it| {
                let is_one = it.id.starts_with("vehicle:") || it.id.starts_with("situation:");
                !is_one && count(&text, "EstimatedVehicleJourney") == 0
            });
            let others = out.entity.len() - visit_entities.count();
            assert_eq!(others, elements, "{}", path.display());
            let ids: HashSet<&str> = out.entity.iter().map(|it| it.id.as_str()).collect();
            assert_eq!(ids.len(), out.entity.len(), "{}", path.display());
            let (ids, zone) = (&SiriIdMapping::Same, &TimeZone::UTC);
            let rules = MappingRules { ids, has_vehicle_delays: false, zone };
            let mut normalized = normalize_message(&message, rules);
            normalized.remove_earlier_duplicates();
            let vehicles = normalized.entities.iter().filter(|it| it.entity.vehicle.is_some());
            assert_eq!(vehicles.count(), count(&text, "VehicleActivity"), "{}", path.display());
            files += 1;
            entities += out.entity.len();
        }
    }
    assert!(files > 50 && entities > 1_000, "{files} files, {entities} entities");
}
