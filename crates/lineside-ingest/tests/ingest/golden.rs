//! Tests of messages to clients against golden files, byte for byte.

use std::fmt::Write as _;

use lineside_formats::gtfs_rt::proto::trip_update::StopTimeEvent;
use lineside_hub::{ClientDelivery, EncodedChannelName, Session};

use crate::support::*;

/// Compares a text with the golden file, or writes the file if `LINESIDE_BLESS` is set.
pub(crate) fn golden(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("LINESIDE_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, known, "{} differs; LINESIDE_BLESS=1 rewrites it", path.display());
}

/// Returns the messages to a subscriber of `channel`: the state, then those caused by `act`.
fn messages(world: &mut World, channel: &str, act: impl FnOnce(&mut World)) -> String {
    let mut session = world.session();
    session.subscribe(&EncodedChannelName::parse_channel_name(channel).unwrap(), None).unwrap();
    let mut out = format!("# {channel}\n");
    take(&mut session, &mut out);
    act(world);
    take(&mut session, &mut out);
    out
}

fn take(session: &mut Session, out: &mut String) {
    while let Some(delivery) = session.next_delivery() {
        let what = match &delivery {
            ClientDelivery::State { .. } => "state",
            ClientDelivery::Publication { .. } => "publication",
            ClientDelivery::Member { .. } => "member",
            ClientDelivery::Disconnect { .. } => "disconnect",
            ClientDelivery::Ended { .. } => "ended",
        };
        let offset = delivery.position().map_or(0, |position| position.offset);
        let data = delivery.payload().map(|it| String::from_utf8_lossy(it.data()).into_owned());
        writeln!(out, "{what} {offset}\n{}", data.unwrap_or_default()).unwrap();
    }
}

/// Returns a world with one vehicle, one late trip and one alert.
fn world() -> World {
    let mut world = World::new();
    world.writer.apply_dataset(dataset(0), world.now());
    let mut on = vehicle("4/1", Some("T18"), 48.87, 2.34, EIGHT);
    on.vehicle.as_mut().unwrap().current_stop_sequence = Some(20);
    world.apply("city-vehicles", vec![on]);
    world.apply("city-trips", vec![update("T18", 20, 60)]);
    world.apply("city-alerts", vec![alert("works", Some("R1"), Some("B"), "Track \"works\"\n")]);
    world
}

#[test]
fn the_vehicle_channel_matches_its_golden_file() {
    let text = messages(&mut world(), "vehicle/city-vehicles/4%2F1", |world| {
        world.clock.advance_time(minutes(1));
        world.apply("city-vehicles", vec![vehicle("4/1", Some("T19"), 48.88, 2.34, EIGHT + 60)]);
        world.apply("city-vehicles", Vec::new());
    });
    golden("vehicle.txt", &text);
}

#[test]
fn the_route_channel_matches_its_golden_file() {
    let text = messages(&mut world(), "route/city/R1", |world| {
        world.clock.advance_time(minutes(1));
        world.apply("city-trips", vec![update("T18", 20, -30)]);
        world.apply("city-vehicles", vec![vehicle("4/1", Some("T19"), 48.88, 2.34, EIGHT + 60)]);
        world.writer.apply_dataset(dataset(1), world.now());
    });
    golden("route.txt", &text);
}

#[test]
fn the_stop_channel_matches_its_golden_file() {
    let text = messages(&mut world(), "stop/city/B", |world| {
        let mut known = update("T18", 20, 0);
        let departs = &mut known.trip_update.as_mut().unwrap().stop_time_update[0].departure;
        *departs = Some(StopTimeEvent { time: Some(EIGHT + 420), ..Default::default() });
        world.apply("city-trips", vec![known]);
        world.clock.advance_time(minutes(9));
        world.writer.advance_boards_if_due();
    });
    golden("stop.txt", &text);
}

#[test]
fn the_area_channel_matches_its_golden_file() {
    let text = messages(&mut world(), "area/u09wj0", |world| {
        world.apply("city-vehicles", vec![vehicle("4/1", None, 48.92, 2.34, EIGHT + 60)]);
    });
    golden("area.txt", &text);
}

#[test]
fn the_alerts_channel_matches_its_golden_file() {
    let text = messages(&mut world(), "alerts/city-alerts", |world| {
        world.apply("city-alerts", Vec::new());
    });
    golden("alerts.txt", &text);
}
