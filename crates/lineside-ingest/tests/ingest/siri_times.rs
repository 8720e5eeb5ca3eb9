//! Test that the times of a journey in SIRI equal those in GTFS-Realtime, whose consumers propagate delays by
//! themselves.

use lineside_formats::{
    gtfs_rt::{
        FeedMessageLimits, decode_feed_message,
        proto::{
            FeedEntity,
            trip_update::{
                StopTimeEvent, StopTimeUpdate,
                stop_time_update::ScheduleRelationship::{self, NoData, Scheduled, Skipped},
            },
        },
    },
    siri::{SiriCall, SiriTime},
};
use lineside_model::exports::{ExportedEntityKinds, get_gtfs_rt_export};

use crate::{
    siri_out::{only_journey, world},
    support::*,
};

/// Scheduled times of trip T18 at each of its calls, which have no dwell time: seconds after eight.
const PLANNED: [i64; 4] = [0, 300, 600, 900];

/// A reported call: its index, relationship, and delays at arrival and departure.
type Report = (usize, ScheduleRelationship, Option<i32>, Option<i32>);

fn trip_update(reports: &[Report]) -> FeedEntity {
    let event = |delay| StopTimeEvent { delay: Some(delay), ..Default::default() };
    let calls = reports.iter().map(|&(index, relationship, arrival, departure)| {
        let mut call = StopTimeUpdate {
            stop_sequence: Some((index as u32 + 1) * 10),
            arrival: arrival.map(event),
            departure: departure.map(event),
            ..Default::default()
        };
        call.set_schedule_relationship(relationship);
        call
    });
    let mut entity = update("T18", 10, 0);
    entity.trip_update.as_mut().unwrap().stop_time_update = calls.collect();
    entity
}

/// Arrival and departure at each call in seconds after eight; `None` for a skipped call.
type Times = Vec<Option<[i64; 2]>>;

/// Returns the times that a consumer of the exported GTFS-Realtime computes: delays apply to later calls, and calls
/// before the first report or without data run as scheduled, as far as times do not decrease.
fn read_gtfs_rt(world: &World) -> Times {
    let export =
        get_gtfs_rt_export(&world.network.state(), "city", ExportedEntityKinds::TripUpdates)
            .unwrap();
    let (message, _) = decode_feed_message(export.bytes, &FeedMessageLimits::default()).unwrap();
    let calls = &message.entity[0].trip_update.as_ref().unwrap().stop_time_update;
    let mut delay: Option<i64> = None;
    let mut last = i64::MIN;
    let mut times: Times = Vec::new();
    let mut first = None;
    for (index, planned) in PLANNED.into_iter().enumerate() {
        let is_match = |call: &&StopTimeUpdate| call.stop_sequence == Some((index as u32 + 1) * 10);
        let own = calls.iter().find(is_match);
        let reported = |event: &Option<StopTimeEvent>| event.as_ref()?.delay.map(i64::from);
        let (arrival, departure) = match own.map(|own| (own.schedule_relationship(), own)) {
            Some((Skipped, _)) => {
                times.push(None);
                continue;
            }
            Some((NoData, _)) => {
                delay = None;
                (None, None)
            }
            Some((_, own)) => (reported(&own.arrival), reported(&own.departure)),
            None => (None, None),
        };
        first = first.or(arrival.or(departure).map(|_| index));
        let on_arrival = arrival.or(delay);
        delay = departure.or(on_arrival);
        let departs = (planned + delay.unwrap_or(0)).max(last);
        let arrives = planned + on_arrival.unwrap_or(0);
        let arrives = if arrival.is_none() { arrives.min(departs).max(last) } else { arrives };
        last = first.map_or(last, |_| departs);
        times.push(Some([arrives, departs]));
    }
    let mut next = i64::MAX;
    for time in times[..=first.unwrap()].iter_mut().flatten().rev() {
        time[1] = time[1].min(next);
        time[0] = time[0].min(time[1]);
        next = time[0];
    }
    times
}

/// Returns the times that a consumer of the exported SIRI computes: actual or expected ones, else aimed ones.
fn read_siri(world: &World) -> Times {
    let journey = only_journey(world);
    let calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let first = |times: [Option<SiriTime>; 3]| {
        let time = times.into_iter().flatten().next();
        time.map(|time| time.as_seconds() - EIGHT)
    };
    let read = |call: &SiriCall| {
        let arrival =
            [call.actual_arrival_time, call.expected_arrival_time, call.aimed_arrival_time];
        let departure =
            [call.actual_departure_time, call.expected_departure_time, call.aimed_departure_time];
        let (arrival, departure) = (first(arrival), first(departure));
        let either = arrival.or(departure).unwrap();
        [arrival.unwrap_or(either), departure.unwrap_or(either)]
    };
    calls.map(|call| (call.cancellation != Some(true)).then(|| read(call))).collect()
}

/// Removes the arrival at the first call and the departure at the last, which only GTFS-Realtime has.
fn without_ends(mut times: Times) -> Times {
    for (call, [from, to]) in [(0, [1, 0]), (3, [0, 1])] {
        if let Some(times) = &mut times[call] {
            times[to] = times[from];
        }
    }
    times
}

#[test]
fn served_calls_have_equal_times_in_siri_and_gtfs_realtime() {
    let states: [(&str, &[Report]); 9] = [
        ("a carried delay", &[(1, Scheduled, None, Some(120))]),
        (
            "a call left out between two delays",
            &[
                (0, Scheduled, None, Some(40)),
                (1, Skipped, None, None),
                (2, Scheduled, Some(90), None),
            ],
        ),
        (
            "ends left out",
            &[(0, Skipped, None, None), (1, Scheduled, None, Some(-30)), (3, Skipped, None, None)],
        ),
        (
            "time made up at a stop",
            &[(0, Scheduled, None, Some(50)), (1, Scheduled, None, Some(20))],
        ),
        ("an early vehicle", &[(2, Scheduled, None, Some(-350))]),
        ("an early arrival", &[(2, Scheduled, Some(-400), None)]),
        ("no data after a delay", &[(0, Scheduled, None, Some(400)), (1, NoData, None, None)]),
        (
            "no data between two delays",
            &[
                (0, Scheduled, None, Some(700)),
                (1, NoData, None, None),
                (3, Scheduled, Some(20), None),
            ],
        ),
        (
            "a longer stop",
            &[(1, Scheduled, Some(60), Some(200)), (2, Scheduled, Some(10), Some(10))],
        ),
    ];
    for (name, reports) in states {
        let mut world = world();
        world.apply("city-trips", vec![trip_update(reports)]);
        let siri = without_ends(read_siri(&world));
        assert_eq!(siri, without_ends(read_gtfs_rt(&world)), "{name}");
        let times: Vec<i64> = siri.into_iter().flatten().flatten().collect();
        assert!(times.is_sorted(), "{name}: {times:?}");
    }
}
