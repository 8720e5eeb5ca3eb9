//! Tests of the city in SIRI: the data of GTFS-Realtime, by request and by subscription.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use lineside_formats::gtfs_rt::proto::trip_descriptor::ScheduleRelationship;
use lineside_formats::siri::{
    self, CheckStatusRequest, DurationSeconds, EstimatedTimetableRequest,
    EstimatedTimetableSubscriptionRequest, MessageLimits, MessagePayload, PresenceFlag,
    ServiceDelivery, ServiceRequest, SiriMessage, SituationExchangeRequest, SoapMessageKind,
    SubscriptionContext, SubscriptionRequest, SubscriptionResponse, TerminateSubscriptionRequest,
    VehicleMonitoringRequest, VehicleMonitoringSubscriptionRequest,
};
use lineside_sim::{
    CityFeed, FaultPlan, FeedFault, FeedOrigin, OriginReply, ReplyBody, SiriDelivery,
};
use lineside_sync::UnixMillis;

use crate::common::{CITY, START, after};

const INBOX: &str = "http://127.0.0.1:9/inbox?key=k";

fn origin() -> FeedOrigin {
    FeedOrigin::new(CITY.clone(), FaultPlan::default())
}

fn body(reply: &OriginReply) -> &[u8] {
    match &reply.body {
        ReplyBody::Bytes(bytes) => bytes,
        ReplyBody::Hang => panic!("hangs"),
    }
}

fn read(bytes: &[u8]) -> MessagePayload {
    let (message, problems) =
        siri::decode_siri_message(bytes, &TimeZone::UTC, &MessageLimits::default()).unwrap();
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    message.payloads.into_iter().next().unwrap()
}

fn delivery(bytes: &[u8]) -> ServiceDelivery {
    match read(bytes) {
        MessagePayload::ServiceDelivery(delivery) => delivery,
        other => panic!("{other:?}"),
    }
}

fn post(origin: &FeedOrigin, path: &str, now: UnixMillis, payload: MessagePayload) -> OriginReply {
    let message = SiriMessage { version: None, payloads: vec![payload] };
    let body = siri::encode_xml(&message);
    origin.answer_siri_message(path, now, body.as_bytes()).unwrap()
}

fn asks_for_all() -> ServiceRequest {
    ServiceRequest {
        message_identifier: Some("question".into()),
        estimated_timetables: vec![EstimatedTimetableRequest::default()],
        vehicle_monitorings: vec![VehicleMonitoringRequest::default()],
        situation_exchanges: vec![SituationExchangeRequest::default()],
        ..ServiceRequest::default()
    }
}

#[test]
fn a_siri_answer_matches_the_gtfs_realtime_feeds() {
    let now = after(40);
    let reply = post(&origin(), "siri/et", now, MessagePayload::ServiceRequest(asks_for_all()));
    assert_eq!(reply.status, 200);
    let delivered = delivery(body(&reply));
    assert_eq!(delivered.request_message_ref.as_deref(), Some("question"));
    let journeys: Vec<_> = delivered.estimated_timetables[0].estimated_journeys().collect();
    let updates = CITY.trip_updates_feed(now);
    assert_eq!(journeys.len(), updates.entity.len());
    let cancelled = |it: &&&siri::VehicleJourney| it.cancellation == Some(true);
    let off = updates.entity.iter().filter(|entity| {
        let trip = &entity.trip_update.as_ref().unwrap().trip;
        trip.schedule_relationship() == ScheduleRelationship::Canceled
    });
    let off = off.count();
    assert!(off > 0);
    assert_eq!(journeys.iter().filter(cancelled).count(), off);
    let vehicles = delivered.vehicle_monitorings[0].vehicle_activities.iter();
    let vehicles: BTreeSet<_> =
        vehicles.map(|it| it.item_identifier.as_deref().unwrap().to_owned()).collect();
    let positions = CITY.vehicle_positions_feed(now);
    let known: BTreeSet<_> = positions.entity.iter().map(|it| it.id.clone()).collect();
    assert_eq!(vehicles, known);
    let situations = delivered.situation_exchanges[0].situations.iter();
    let situations: BTreeSet<_> =
        situations.map(|it| it.situation_number.as_deref().unwrap().to_owned()).collect();
    let known: BTreeSet<_> = CITY.alerts_feed(now).entity.iter().map(|it| it.id.clone()).collect();
    assert_eq!(situations, known);
    let plain = origin().respond_to_feed(CityFeed::TwinTimetables, now, None, None);
    assert_eq!(
        delivery(body(&plain)).estimated_timetables[0].estimated_journeys().count(),
        journeys.len()
    );
}

#[test]
fn a_soap_request_gets_a_soap_answer_and_a_non_request_is_refused() {
    let origin = origin();
    let request = CheckStatusRequest { message_identifier: Some("c".into()), ..Default::default() };
    let message = SiriMessage {
        version: None,
        payloads: vec![MessagePayload::CheckStatusRequest(request.clone())],
    };
    let envelope = siri::encode_soap(&message, SoapMessageKind::Answer);
    let reply = origin.answer_siri_message("siri/vm", START, envelope.as_bytes()).unwrap();
    assert!(siri::is_soap_envelope(body(&reply)));
    let MessagePayload::CheckStatusResponse(status) = read(body(&reply)) else { panic!() };
    assert_eq!((status.status, status.request_message_ref.as_deref()), (Some(true), Some("c")));
    let plain = post(&origin, "siri/vm", START, MessagePayload::CheckStatusRequest(request));
    assert!(!siri::is_soap_envelope(body(&plain)));
    let refused = origin.answer_siri_message("siri/et", START, b"<html>").unwrap();
    assert_eq!((refused.status, delivery(body(&refused)).status), (400, Some(false)));
    let nothing =
        post(&origin, "siri/et", START, MessagePayload::ServiceRequest(Default::default()));
    assert_eq!(delivery(body(&nothing)).status, Some(false));
    assert!(origin.answer_siri_message("gtfs.zip", START, b"").is_none());
    assert!(origin.answer_siri_message("siri/sm", START, b"").is_none());
}

fn subscription(address: &str) -> SubscriptionRequest {
    SubscriptionRequest {
        requestor_ref: Some("me".into()),
        consumer_address: Some(address.into()),
        subscription_context: Some(SubscriptionContext {
            heartbeat_interval: Some(DurationSeconds(60)),
        }),
        estimated_timetables: vec![EstimatedTimetableSubscriptionRequest {
            subscription_identifier: Some("et".into()),
            ..Default::default()
        }],
        vehicle_monitorings: vec![VehicleMonitoringSubscriptionRequest {
            subscription_identifier: Some("vm".into()),
            ..Default::default()
        }],
        ..SubscriptionRequest::default()
    }
}

fn subscribe(origin: &FeedOrigin, address: &str, now: UnixMillis) -> SubscriptionResponse {
    let request = MessagePayload::SubscriptionRequest(subscription(address));
    let reply = post(origin, "siri/et", now, request);
    match read(body(&reply)) {
        MessagePayload::SubscriptionResponse(response) => response,
        other => panic!("{other:?}"),
    }
}

fn taken(origin: &FeedOrigin, now: UnixMillis) -> Vec<SiriDelivery> {
    let due = origin.list_due_siri_deliveries(now);
    due.iter().for_each(|it| origin.record_delivery_outcome(it, true));
    due
}

#[test]
fn a_subscriber_receives_everything_and_then_changes() {
    let origin = origin();
    let agreed = subscribe(&origin, INBOX, after(0));
    assert!(agreed.response_statuses.iter().all(|it| it.status == Some(true)));
    assert_eq!(agreed.response_statuses.len(), 2);
    let mut known = BTreeMap::new();
    let mut sizes = Vec::new();
    for seconds in [0, 2, 62, 600] {
        let now = UnixMillis(START.0 + seconds * 1_000);
        let mut size = 0;
        for it in taken(&origin, now) {
            assert_eq!(it.address, INBOX);
            size += it.body.len();
            for monitoring in delivery(&it.body).vehicle_monitorings {
                assert_eq!(monitoring.head.subscription_ref.as_deref(), Some("vm"));
                for gone in monitoring.cancellations {
                    known.remove(&gone.vehicle_monitoring_ref.unwrap());
                }
                for it in monitoring.vehicle_activities {
                    known.insert(it.vehicle_monitoring_ref.clone().unwrap(), it);
                }
            }
        }
        sizes.push(size);
        let all = CITY.vehicle_activities(now);
        assert_eq!(known.len(), all.len());
        assert!(all.iter().all(|it| known.values().any(|known| known == it)), "{seconds}");
    }
    assert!(sizes[1] * 2 < sizes[0], "an update has only changes: {sizes:?}");
}

#[test]
fn idle_subscriptions_get_heartbeats_and_ended_ones_nothing() {
    let origin = origin();
    subscribe(&origin, INBOX, after(0));
    // The city does not change while its clock stands still.
    let now = after(0);
    assert_eq!(taken(&origin, now).len(), 2);
    assert_eq!(taken(&origin, now).len(), 0, "no change");
    let mut end = TerminateSubscriptionRequest {
        requestor_ref: Some("me".into()),
        subscription_refs: vec!["et".into()],
        ..Default::default()
    };
    post(&origin, "siri/et", now, MessagePayload::TerminateSubscriptionRequest(end.clone()));
    assert_eq!(taken(&origin, after(1)).len(), 1);
    end.all = PresenceFlag(true);
    post(&origin, "siri/et", now, MessagePayload::TerminateSubscriptionRequest(end));
    assert!(taken(&origin, after(2)).is_empty());
    let mut situations = subscription(INBOX);
    situations.estimated_timetables.clear();
    situations.vehicle_monitorings.clear();
    situations.situation_exchanges = vec![siri::SituationExchangeSubscriptionRequest {
        subscription_identifier: Some("sx".into()),
        ..Default::default()
    }];
    post(&origin, "siri/sx", after(3), MessagePayload::SubscriptionRequest(situations));
    let mut heartbeats = 0;
    for minute in 3..30 {
        for it in taken(&origin, after(minute)) {
            heartbeats +=
                usize::from(matches!(read(&it.body), MessagePayload::HeartbeatNotification(_)));
        }
    }
    assert!(heartbeats > 0);
}

#[test]
fn a_failing_subscriber_is_sent_everything_again_and_then_dropped() {
    let origin = origin();
    subscribe(&origin, INBOX, after(0));
    let first = origin.list_due_siri_deliveries(after(0));
    assert!(origin.list_due_siri_deliveries(after(1)).is_empty(), "one delivery at a time");
    first.iter().for_each(|it| origin.record_delivery_outcome(it, false));
    let second = origin.list_due_siri_deliveries(after(1));
    assert_eq!(second.len(), 2);
    assert!(second[0].body.len() * 10 > first[0].body.len() * 9, "the whole service again");
    second.iter().for_each(|it| origin.record_delivery_outcome(it, false));
    origin
        .list_due_siri_deliveries(after(2))
        .iter()
        .for_each(|it| origin.record_delivery_outcome(it, false));
    assert!(origin.list_due_siri_deliveries(after(3)).is_empty());
}

#[test]
fn subscriptions_are_accepted_for_loopback_addresses_only() {
    for elsewhere in ["http://a.example/", "https://127.0.0.1/", "http://127.0.0.1.a.example/", ""]
    {
        let refused = subscribe(&origin(), elsewhere, START);
        assert!(refused.response_statuses.iter().all(|it| it.status == Some(false)), "{elsewhere}");
    }
}

#[test]
fn a_fault_of_a_service_applies_to_its_answers_and_deliveries() {
    let origin = origin();
    subscribe(&origin, INBOX, after(0));
    let request_timetable =
        || post(&origin, "siri/et", after(1), MessagePayload::ServiceRequest(asks_for_all()));
    let with = |fault| origin.fault_control().switch_fault(CityFeed::TwinTimetables, Some(fault));
    for fault in [
        FeedFault::Hang,
        FeedFault::Http500,
        FeedFault::Html,
        FeedFault::Empty,
        FeedFault::Truncate,
    ] {
        with(fault);
        assert!(origin.list_due_siri_deliveries(after(1)).is_empty(), "{fault}");
    }
    assert!(
        siri::decode_siri_message(
            body(&request_timetable()),
            &TimeZone::UTC,
            &MessageLimits::default()
        )
        .is_err()
    );
    with(FeedFault::Hang);
    assert_eq!(request_timetable().body, ReplyBody::Hang);
    with(FeedFault::Ids);
    let foreign = delivery(body(&request_timetable()));
    let mut journeys = foreign.estimated_timetables[0].estimated_journeys();
    assert!(journeys.all(|it| it.journey_ref().unwrap().starts_with("x:")));
    with(FeedFault::Skew);
    let old = delivery(body(&request_timetable())).response_timestamp.unwrap().as_seconds();
    assert!(after(1).unix_seconds() - old > 1_800);
}
