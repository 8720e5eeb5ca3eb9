//! The limits of a complete reply.

use lineside_formats::gtfs_rt::proto::{
    FeedEntity, FeedHeader, FeedMessage, TripDescriptor, TripUpdate,
    trip_update::{StopTimeEvent, StopTimeUpdate},
};
use lineside_quality::convert::build_state_from_message;

use super::*;
use crate::snapshot::NetworkSnapshot;

const JOURNEYS: usize = 40;
const CALLS: usize = 20;

/// Builds a snapshot of a network with journeys of many calls.
fn sample_snapshot() -> SiriSnapshot {
    let event = |at| Some(StopTimeEvent { time: Some(at), ..Default::default() });
    let call = |at: usize| StopTimeUpdate {
        stop_id: Some(format!("X:Quay:{}", 10_000 + at)),
        arrival: event(1_795_262_400 + at as i64 * 60),
        departure: event(1_795_262_430 + at as i64 * 60),
        ..Default::default()
    };
    let entity = |number: usize| FeedEntity {
        id: format!("{number}"),
        trip_update: Some(TripUpdate {
            trip: TripDescriptor {
                trip_id: Some(format!("X:ServiceJourney:{number}")),
                start_date: Some("20261121".to_owned()),
                route_id: Some("X:Line:1".to_owned()),
                ..Default::default()
            },
            stop_time_update: (0..CALLS).map(call).collect(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let header = FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        timestamp: Some(1_795_262_400),
        ..Default::default()
    };
    let message = FeedMessage { header, entity: (0..JOURNEYS).map(entity).collect() };
    let (state, _) =
        build_state_from_message(&message, None).unwrap_or_else(|why| panic!("{why:?}"));
    let at = state.at;
    let networks = vec![NetworkSnapshot { epoch: Epoch::from_bits(1), state, now: at }];
    SiriSnapshot { networks, at, started: at, fresh_for: std::time::Duration::ZERO }
}

#[test]
fn a_full_answer_is_limited_by_bytes_and_not_by_journeys() {
    let snapshot = sample_snapshot();
    let subject = QuerySubject::Records(SiriOutput::EstimatedTimetable);
    let query_answer = |query: &SiriQuery, bytes| {
        build_delivery(&snapshot, subject, query, ReplySizeLimit { records: usize::MAX, bytes })
    };
    let all = SiriQuery::default();
    let delivered = query_answer(&all, SIRI_WHOLE_BYTES_MAX).unwrap();
    assert_eq!((count_elements(&delivered), delivered.more_data), (JOURNEYS, None));
    let estimated = estimate_bytes(&delivered);
    assert!(query_answer(&all, estimated).is_ok());
    let Err(fault) = query_answer(&all, estimated - 1) else {
        panic!("the response exceeds the limit")
    };
    assert_eq!(fault.error_condition().kind.as_deref(), Some("AllowedResourceUsageExceededError"));
    // A client that asks for fewer records gets as many as fit.
    let few = SiriQuery { visits_max: Some(10), ..SiriQuery::default() };
    assert_eq!(count_elements(&query_answer(&few, estimated / 2).unwrap()), 10);
    // The estimate is close enough to the written size to serve as a limit.
    let written =
        lineside_formats::siri::encode_xml(&wrap_delivery_in_message(&snapshot, None, delivered))
            .len();
    assert!((written / 3..written * 3).contains(&estimated), "{estimated} for {written}");
}
