//! Tests of the shared bikes, read like any GBFS feed.

use lineside_gbfs::records::{StationInformation, StationStatus, VehicleStatus};
use lineside_gbfs::{
    DiscoveryLimits, FileContent, FileKind, FileLimits, decode_discovery_file, decode_gbfs_file,
};
use lineside_sim::{CityFeed, FaultPlan, FeedFault, FeedOrigin, ReplyBody};
use lineside_sync::UnixMillis;
use std::collections::HashSet;

use crate::common::{CITY, START, after};

const BASE: &str = "http://127.0.0.1:7/";

fn origin() -> FeedOrigin {
    let origin = FeedOrigin::new(CITY.clone(), FaultPlan::default());
    origin.set_base_url(BASE);
    origin
}

fn file(origin: &FeedOrigin, path: &str, now: UnixMillis) -> Vec<u8> {
    let reply =
        origin.respond_to_path(path, now, None, None).unwrap_or_else(|| panic!("no {path}"));
    let ReplyBody::Bytes(bytes) = reply.body else { panic!("{path} does not answer") };
    assert_eq!(reply.status, 200);
    bytes.to_vec()
}

fn content(origin: &FeedOrigin, name: &str, kind: FileKind, now: UnixMillis) -> FileContent {
    let bytes = file(origin, &format!("gbfs/{name}.json"), now);
    let (file, problems) = decode_gbfs_file(kind, &bytes, "en", &FileLimits::default()).unwrap();
    assert_eq!(problems.total_count(), 0, "{name}: {:?}", problems.retained_problems());
    file.content
}

fn stations(origin: &FeedOrigin) -> Vec<StationInformation> {
    match content(origin, "station_information", FileKind::StationInformation, START) {
        FileContent::StationInformation(all) => all,
        other => panic!("{other:?}"),
    }
}

fn status(origin: &FeedOrigin, now: UnixMillis) -> Vec<StationStatus> {
    match content(origin, "station_status", FileKind::StationStatus, now) {
        FileContent::StationStatus(all) => all,
        other => panic!("{other:?}"),
    }
}

fn vehicles(origin: &FeedOrigin, now: UnixMillis) -> Vec<VehicleStatus> {
    match content(origin, "vehicle_status", FileKind::VehicleStatus, now) {
        FileContent::VehicleStatus(all) => all,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_discovery_file_lists_existing_files() {
    let origin = origin();
    let bytes = file(&origin, "gbfs/gbfs.json", START);
    let (discovery, problems) = decode_discovery_file(&bytes, &DiscoveryLimits::default()).unwrap();
    assert_eq!(problems.total_count(), 0, "{:?}", problems.retained_problems());
    assert_eq!(discovery.entries.len(), 6);
    for entry in discovery.entries {
        let path = entry.url.strip_prefix(BASE).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&file(&origin, path, START)).is_ok());
    }
    assert!(origin.respond_to_path("gbfs/geofencing_zones.json", START, None, None).is_none());
    assert!(origin.respond_to_path("gbfs/../gtfs.zip", START, None, None).is_none());
}

#[test]
fn station_counts_match_the_capacity_and_change_over_the_day() {
    let origin = origin();
    let stations = stations(&origin);
    assert!(stations.len() >= 20, "{}", stations.len());
    let (morning, evening) = (status(&origin, after(0)), status(&origin, after(10 * 60)));
    for ((station, now), later) in stations.iter().zip(&morning).zip(&evening) {
        assert_eq!(
            (&station.station_id, &station.station_id),
            (&now.station_id, &later.station_id)
        );
        for status in [now, later] {
            let parts = [
                status.num_vehicles_available,
                status.num_vehicles_disabled,
                status.num_docks_available,
            ];
            let sum: u32 = parts.into_iter().map(Option::unwrap).sum();
            assert_eq!(Some(sum), station.capacity, "{}", station.station_id);
            let kinds = status.vehicle_types_available.iter().map(|it| it.count.unwrap()).sum();
            assert_eq!(status.num_vehicles_available, Some(kinds));
        }
    }
    let moved = morning.iter().zip(&evening);
    let moved = moved.filter(|(a, b)| a.num_vehicles_available != b.num_vehicles_available);
    assert!(moved.count() > stations.len() / 2);
    let repeated = status(&origin, after(0));
    assert_eq!(morning, repeated, "the same time gives the same feed");
}

#[test]
fn the_id_of_a_vehicle_changes_only_with_each_rental() {
    let origin = origin();
    let at = |minutes| {
        vehicles(&origin, after(minutes))
            .into_iter()
            .map(|it| (it.vehicle_id.to_string(), (it.lat, it.lon)))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let (now, soon, later) = (at(0), at(1), at(180));
    assert!(now.len() > 60, "{}", now.len());
    let staying: Vec<_> = now.iter().filter(|(id, _)| soon.contains_key(*id)).collect();
    assert!(
        staying.len() > now.len() / 2 && staying.len() < now.len(),
        "{} of {}",
        staying.len(),
        now.len()
    );
    assert!(
        staying.iter().all(|(id, place)| soon[*id] == **place),
        "a parked vehicle does not move"
    );
    let ids: HashSet<_> = now.keys().collect();
    assert!(
        later.keys().all(|id| !ids.contains(id)),
        "every parked vehicle was rented within three hours"
    );
}

#[test]
fn faults_apply_to_all_files_of_the_system() {
    let origin = origin();
    let with = |fault| {
        origin.fault_control().switch_fault(CityFeed::Bikes, Some(fault));
        origin.respond_to_path("gbfs/station_status.json", after(3), None, None).unwrap()
    };
    assert_eq!(with(FeedFault::Http500).status, 500);
    assert_eq!(with(FeedFault::Hang).body, ReplyBody::Hang);
    let ReplyBody::Bytes(cut) = with(FeedFault::Truncate).body else { panic!() };
    assert!(serde_json::from_slice::<serde_json::Value>(&cut).is_err());
    with(FeedFault::Ids);
    let known: HashSet<_> = stations(&origin).into_iter().map(|it| it.station_id).collect();
    assert!(status(&origin, after(3)).iter().all(|it| !known.contains(&it.station_id)));
}
