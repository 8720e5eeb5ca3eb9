//! Tests of SIRI output: every record once, with the known values and no others.

mod record_selection;
mod situations;
mod timetables;
mod vehicles;
mod visits;
mod golden_xml;

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
        CallStatus, CommonDeliveryFields, DurationSeconds, EstimatedJourneyVersionFrame,
        EstimatedTimetableDelivery, MessageLimits, MessagePayload, MonitoredStopVisit, Occupancy,
        PtSituationElement, ServiceDelivery, Severity, SiriCall, SiriMessage, SiriTime,
        SituationExchangeDelivery, SituationProgress, StopMonitoringDelivery, VehicleActivity,
        VehicleJourney, VehicleMonitoringDelivery, decode_xml_message, encode_xml,
    },
};
use lineside_model::{
    DepartureStatus, NetworkState,
    siri_output::{
        EncodedSiriElements, RecordFilter, RefKind, ResolveRefError, ResolvedRef, SiriOutput,
        VisitQuery, find_stop_visits, is_ref_known, list_annotated_lines,
        list_annotated_stop_points, resolve_ref, select_new_records,
    },
};
use lineside_sync::UnixMillis;

use crate::{golden::golden, support::*};

fn world() -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    world
}

fn elements(state: &NetworkState, service: SiriOutput) -> EncodedSiriElements {
    let mut elements = EncodedSiriElements::default();
    for record in
        select_new_records(state, service, &RecordFilter::default(), EIGHT, 0, usize::MAX).records
    {
        elements.encode_record(state, record);
    }
    elements
}

fn journeys(world: &World) -> Vec<VehicleJourney> {
    elements(&world.network.state(), SiriOutput::EstimatedTimetable).journeys
}

fn journey(world: &World) -> VehicleJourney {
    let [journey] = &journeys(world)[..] else { panic!("expected one journey") };
    journey.clone()
}

fn activity(world: &World) -> VehicleActivity {
    let activities = elements(&world.network.state(), SiriOutput::VehicleMonitoring).activities;
    let [activity] = &activities[..] else { panic!("expected one activity") };
    activity.clone()
}

fn situation(world: &World) -> PtSituationElement {
    let situations = elements(&world.network.state(), SiriOutput::SituationExchange).situations;
    let [situation] = &situations[..] else { panic!("expected one situation") };
    situation.clone()
}

fn visits(world: &World, stop_id: &str, filter: &RecordFilter) -> Vec<MonitoredStopVisit> {
    let visits = VisitQuery {
        stop_id,
        monitoring_ref: stop_id,
        from: world.now(),
        preview: minutes(60),
        filter,
        destination: None,
        visits_max: 40,
        visits_per_line_min: 0,
        limit: 40,
    };
    find_stop_visits(&world.network.state(), &visits, world.now()).unwrap()
}

fn trip_update_mut(entity: &mut FeedEntity) -> &mut TripUpdate {
    entity.trip_update.as_mut().unwrap()
}

/// Returns seconds after eight; `None` without a time.
fn after(time: Option<SiriTime>) -> Option<i64> {
    time.map(|time| time.as_seconds() - EIGHT)
}

fn arrivals(calls: &[SiriCall]) -> Vec<(Option<i64>, Option<i64>)> {
    let times =
        |call: &SiriCall| (after(call.aimed_arrival_time), after(call.expected_arrival_time));
    calls.iter().map(times).collect()
}

fn departures(calls: &[SiriCall]) -> Vec<(Option<i64>, Option<i64>)> {
    let times =
        |call: &SiriCall| (after(call.aimed_departure_time), after(call.expected_departure_time));
    calls.iter().map(times).collect()
}

fn refs(calls: &[SiriCall]) -> Vec<&str> {
    calls.iter().map(|call| call.stop_point_ref.as_deref().unwrap()).collect()
}

fn line(id: &str) -> RecordFilter {
    RecordFilter {
        lines: vec![ResolvedRef { feed: None, id: id.into() }],
        ..RecordFilter::default()
    }
}

fn working_trip() -> FeedEntity {
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
