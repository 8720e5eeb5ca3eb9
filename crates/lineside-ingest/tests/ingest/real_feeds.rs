//! Tests with recorded feeds of real producers, if the folder next to the repository exists.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use lineside_formats::gtfs_rt::{FeedMessageLimits, decode_feed_message};
use lineside_model::Dataset;
use lineside_sync::UnixMillis;

use crate::support::*;

/// Returns the folder, or prints that the tests are skipped.
fn data() -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if data.is_dir() {
        return Some(data);
    }
    eprintln!("skipped: no recorded feeds at {}", data.display());
    None
}

/// Returns the protobuf snapshots of a series in the order of their names.
fn series(folder: &Path) -> Vec<Bytes> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    paths.sort();
    let bodies = paths.iter().map(|path| Bytes::from(fs::read(path).unwrap()));
    bodies
        .filter(|body| decode_feed_message(body.clone(), &FeedMessageLimits::default()).is_ok())
        .collect()
}

fn load(world: &mut World, zip: &Path) {
    let bytes = Bytes::from(fs::read(zip).unwrap());
    let dataset = Dataset::decode_gtfs_zip(feed("city"), bytes, UnixMillis(0)).unwrap();
    world.writer.apply_dataset(dataset.into(), world.now());
}

#[test]
fn every_series_gives_the_records_of_a_plain_decoding() {
    let Some(data) = data() else { return };
    for name in
        ["nyct-ace-series", "nyct-night-series", "soundtransit-pb", "mbta", "wmata-midnight"]
    {
        let mut world = World::new();
        let bodies = series(&data.join("gtfs-rt").join(name));
        assert!(!bodies.is_empty(), "{name}");
        for (n, body) in bodies.into_iter().enumerate() {
            let (message, _) =
                decode_feed_message(body.clone(), &FeedMessageLimits::default()).unwrap();
            let updates = message.entity.iter().filter(|it| it.trip_update.is_some()).count();
            let vehicles = message.entity.iter().filter(|it| it.vehicle.is_some()).count();
            let alerts = message.entity.iter().filter(|it| it.alert.is_some()).count();
            let applied =
                world.writer.decode_and_apply_message("city-trips", body, world.now()).unwrap();
            let counts = |code: &str| -> u64 {
                applied.problems.problem_counts().filter(|it| it.1 == code).map(|it| it.2).sum()
            };
            let lost = counts("duplicate_record") as usize;
            let state = world.network.state();
            let found =
                [state.trip_updates().count(), state.vehicles().count(), state.alerts().count()];
            assert_eq!(
                found.iter().sum::<usize>() + lost,
                updates + vehicles + alerts,
                "{name} {n}: {:?}",
                applied.problems.retained_problems()
            );
            assert!(lost <= updates / 10 + vehicles / 10, "{name} {n}: {lost} lost");
        }
    }
}

#[test]
fn matching_feeds_have_routes_and_delays() {
    let Some(data) = data() else { return };
    for (series_name, zip) in [
        ("soundtransit-pb", "soundtransit-oba.zip"),
        ("caltrain", "caltrain-rt.zip"),
        ("raba", "raba.zip"),
    ] {
        let mut world = World::new();
        load(&mut world, &data.join("gtfs").join(zip));
        let (mut named, mut delayed, mut predicted, mut all) = (0, 0, 0, 0);
        for body in series(&data.join("gtfs-rt").join(series_name)) {
            world.writer.decode_and_apply_message("city-trips", body, world.now()).unwrap();
            let state = world.network.state();
            for record in state.trip_updates() {
                all += 1;
                named += usize::from(record.join.route_short_name.is_some());
                delayed += usize::from(record.join.delay.is_some());
                let calls = &record.trip_update().unwrap().stop_time_update;
                let has_times =
                    calls.iter().any(|it| it.arrival.is_some() || it.departure.is_some());
                predicted += usize::from(has_times);
                assert!(!record.id.ends_with("::"), "{series_name}: {} has no date", record.id);
            }
        }
        assert!(all > 0 && named == all, "{series_name}: {named} of {all} named");
        assert!(
            delayed > 0 && delayed * 10 >= predicted * 9,
            "{series_name}: {delayed} of {predicted}"
        );
    }
}

#[test]
fn subscribers_of_a_series_converge() {
    let Some(data) = data() else { return };
    let mut world = World::new();
    load(&mut world, &data.join("gtfs/nyct-multi.zip"));
    let mut clients = ["feed/city", "feed/city-trips", "route/city/A", "area/dr5r"]
        .map(|it| Client::new(&world, it));
    let mut moved = 0;
    for body in series(&data.join("gtfs-rt/nyct-ace-series")) {
        moved += world
            .writer
            .decode_and_apply_message("city-trips", body, world.now())
            .unwrap()
            .changes
            .len();
        for client in &mut clients {
            client.pull_all();
        }
    }
    assert!(moved > 1_000, "{moved}");
    for client in &clients {
        assert_eq!(client.state, world.state_of(client.channel.as_str()), "{}", client.channel);
    }
    let route = &clients[2].state;
    let record = route.records.iter().find(|(key, _)| key.1 == "trip_update").unwrap().1;
    assert_eq!(record["lineside"]["route_short_name"], "A");
}
