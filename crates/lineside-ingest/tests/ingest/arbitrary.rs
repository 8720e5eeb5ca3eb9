//! Tests with arbitrary messages: nothing panics, and changes lead from each state to the next.

use std::collections::BTreeMap;

use bytes::Bytes;
use lineside_formats::gtfs_rt::proto::FeedEntity;
use lineside_ingest::ApplyOutcome;
use lineside_model::{Dataset, NetworkState};
use lineside_sync::UnixMillis;
use proptest::prelude::*;

use crate::support::*;

type Known = BTreeMap<(String, &'static str, String), Bytes>;

/// Returns all records of a state by key.
fn known(state: &NetworkState) -> Known {
    let records = state.vehicles().chain(state.trip_updates()).chain(state.alerts());
    records
        .map(|it| ((it.feed.to_string(), it.kind.as_str(), it.id.to_string()), it.json().clone()))
        .collect()
}

/// Applies changes like a client, and asserts that the old record is present where a change says so.
fn follow(known: &mut Known, applied: &ApplyOutcome) {
    for change in &applied.changes {
        let record = change.new_or_old_record().unwrap();
        let key = (record.feed.to_string(), record.kind.as_str(), record.id.to_string());
        assert_eq!(change.old.is_some(), known.contains_key(&key), "{key:?}");
        match &change.new {
            Some(new) => known.insert(key, new.json().clone()),
            None => known.remove(&key),
        };
    }
}

fn any_entity() -> impl Strategy<Value = FeedEntity> {
    let trips = prop_oneof![Just("T18"), Just("T19"), Just("F0"), Just("late"), Just("?")];
    let vehicle =
        ("[a-c]", proptest::option::of(trips.clone()), -100.0..100_f32, -200.0..200_f32, 0..50_i64)
            .prop_map(|(id, trip, lat, lon, at)| vehicle(&id, trip, lat, lon, EIGHT - at));
    let update =
        (trips, 0..50_u32, -9_000..9_000_i32).prop_map(|(trip, at, delay)| update(trip, at, delay));
    let alert = ("[a-c]", proptest::option::of("R[12]"))
        .prop_map(|(id, route)| alert(&id, route.as_deref(), None, "x"));
    prop_oneof![3 => vehicle, 2 => update, 1 => alert]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changes_transform_one_state_into_the_next(
        polls in proptest::collection::vec((0..3_usize, proptest::collection::vec(any_entity(), 0..8)), 1..12),
        schedule_after in 0..12_usize,
    ) {
        let mut world = World::new();
        let mut believed = Known::new();
        for (n, (feed, entities)) in polls.into_iter().enumerate() {
            if n == schedule_after {
                let applied = world.writer.apply_dataset(dataset(0), world.now());
                // Dates are filled in, so trips get other ids, which the changes include.
                follow(&mut believed, &applied);
            }
            let feed = ["city-vehicles", "city-trips", "city-alerts"][feed];
            let applied = world.apply(feed, entities);
            follow(&mut believed, &applied);
            prop_assert_eq!(&believed, &known(&world.network.state()));
        }
    }

    #[test]
    fn arbitrary_bytes_are_accepted_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut world = World::new();
        let _ = world.writer.decode_and_apply_message("city-vehicles", bytes.clone().into(), world.now());
        prop_assert!(Dataset::decode_gtfs_zip(feed("city"), bytes.into(), UnixMillis(0)).is_err());
    }

    #[test]
    fn a_damaged_message_keeps_the_last_good_state(
        entities in proptest::collection::vec(any_entity(), 1..6),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut world = World::new();
        world.writer.apply_dataset(dataset(0), world.now());
        let good = message(EIGHT, entities);
        world.writer.decode_and_apply_message("city-vehicles", good.clone(), world.now()).unwrap();
        let before = known(&world.network.state());
        let mut bad = good.to_vec();
        for (at, byte) in damage {
            let at = at.index(bad.len());
            bad[at] = byte;
        }
        if world.writer.decode_and_apply_message("city-vehicles", bad.into(), world.now()).is_err() {
            prop_assert_eq!(before, known(&world.network.state()));
        }
        world.writer.decode_and_apply_message("city-vehicles", good, world.now()).unwrap();
    }
}
