//! Feeds for a measured server: a file with a given number of vehicles.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context as _;
use lineside_formats::gtfs_rt::proto::{
    FeedEntity, FeedHeader, FeedMessage, Position, TripDescriptor, VehicleDescriptor,
    VehiclePosition,
};
use prost::Message as _;

/// Vehicles of a row, and the distance between them in degrees.
const ROW: usize = 100;
const APART: f32 = 0.01;
/// The distance that a vehicle moves between two writes.
const STEP: f32 = 0.0005;

/// Returns the configuration section of a feed.
pub(super) fn section(id: &str, file: &Path) -> String {
    format!("\n[[feed]]\nid = \"{id}\"\nurl = \"{}\"\npoll = \"1s\"\n", file.display())
}

/// Writes `vehicles`, of which `moving` have moved a step for each `turn`.
pub(super) fn write(
    file: &Path,
    vehicles: usize,
    moving: usize,
    turn: usize,
) -> anyhow::Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs();
    let entity = (0..vehicles)
        .map(|n| vehicle(n, if n < moving { turn as f32 * STEP } else { 0.0 }))
        .collect();
    let header = FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        timestamp: Some(now),
        ..FeedHeader::default()
    };
    let message = FeedMessage { header, entity };
    // The rename is atomic: a reader finds the old file or the new one.
    let beside = file.with_extension("new");
    fs::write(&beside, message.encode_to_vec()).with_context(|| format!("{}", beside.display()))?;
    Ok(fs::rename(&beside, file)?)
}

fn vehicle(n: usize, moved: f32) -> FeedEntity {
    let id = format!("vehicle-{n}");
    let position = Position {
        latitude: 48.0 + (n / ROW) as f32 * APART,
        longitude: 10.0 + (n % ROW) as f32 * APART + moved,
        bearing: Some((n % 360) as f32),
        speed: Some(8.5),
        ..Position::default()
    };
    let trip = TripDescriptor {
        trip_id: Some(format!("trip-{n}")),
        route_id: Some(format!("route-{}", n % ROW)),
        ..TripDescriptor::default()
    };
    let vehicle = VehicleDescriptor {
        id: Some(id.clone()),
        label: Some(n.to_string()),
        ..VehicleDescriptor::default()
    };
    let vehicle = VehiclePosition {
        trip: Some(trip),
        vehicle: Some(vehicle),
        position: Some(position),
        ..VehiclePosition::default()
    };
    FeedEntity { id, vehicle: Some(vehicle), ..FeedEntity::default() }
}
