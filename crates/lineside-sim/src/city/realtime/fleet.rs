//! The vehicles: numbers, licence plates and capacities.

use lineside_formats::gtfs_rt::proto;

use crate::city::CityParts;
use crate::network::TransportMode;
use crate::noise;

/// The names of ferries; further ferries with a name get a numeral.
const FERRY_NAMES: [&str; 12] = [
    "Puffin",
    "Eider",
    "Kittiwake",
    "Gannet",
    "Storm Petrel",
    "Oystercatcher",
    "Razorbill",
    "Sanderling",
    "Guillemot",
    "Turnstone",
    "Dunlin",
    "Whimbrel",
];

#[derive(Debug)]
pub(super) struct Fleet {
    vehicles: Vec<FleetVehicle>,
}

#[derive(Debug)]
pub(super) struct FleetVehicle {
    pub(super) descriptor: proto::VehicleDescriptor,
    /// The number of carriages, for modes with numbered carriages.
    pub(super) carriages: u32,
}

impl Fleet {
    pub(super) fn build_fleet(seed: u64, parts: &CityParts) -> Self {
        let network = &parts.network;
        let mut sizes = vec![0; network.routes.len()];
        for trip in &parts.timetable.trips {
            let size = &mut sizes[network.patterns[trip.pattern as usize].route as usize];
            *size = (trip.block + 1).max(*size);
        }
        let extra = network
            .routes
            .iter()
            .filter(|r| matches!(r.mode, TransportMode::Rail | TransportMode::Ferry));
        let regular =
            network.routes.iter().zip(sizes).flat_map(|(r, size)| (0..size).map(move |_| r.mode));
        let modes = regular.chain(extra.flat_map(|r| [r.mode; 2]));
        let mut counts = [0_u32; TransportMode::ALL.len()];
        let vehicles = modes
            .map(|mode| {
                counts[mode as usize] += 1;
                build_vehicle(
                    noise::random_key_for_purpose(seed, "fleet"),
                    mode,
                    counts[mode as usize],
                )
            })
            .collect();
        Self { vehicles }
    }

    pub(super) fn vehicle_by_number(&self, number: u32) -> &FleetVehicle {
        &self.vehicles[number as usize % self.vehicles.len()]
    }
}

fn build_vehicle(key: u64, mode: TransportMode, count: u32) -> FleetVehicle {
    let key = noise::hash_two_numbers(noise::hash_two_numbers(key, mode as u64), u64::from(count));
    let base = match mode {
        TransportMode::Rail => 400,
        TransportMode::Metro => 500,
        TransportMode::Tram => 1_200,
        TransportMode::Bus => 7_000,
        TransportMode::Ferry => 0,
    };
    let label = match mode {
        TransportMode::Ferry => ferry_name(count),
        _ => format!("{}", base + count),
    };
    let step_free =
        noise::pseudo_random_share(key) > if mode == TransportMode::Tram { 0.2 } else { 0.03 };
    let accessible = if step_free {
        proto::vehicle_descriptor::WheelchairAccessible::WheelchairAccessible
    } else {
        proto::vehicle_descriptor::WheelchairAccessible::WheelchairInaccessible
    };
    let plate = (mode == TransportMode::Bus).then(|| {
        let letter = |n: u64| {
            char::from(
                b'A' + (noise::pseudo_random_share(noise::hash_two_numbers(key, n)) * 26.0) as u8,
            )
        };
        format!("LH {} {}{}", base + count, letter(1), letter(2))
    });
    FleetVehicle {
        descriptor: proto::VehicleDescriptor {
            id: Some(format!("{}-{}", mode.id_letter(), base + count)),
            label: Some(label),
            license_plate: plate,
            wheelchair_accessible: Some(accessible as i32),
        },
        carriages: if mode == TransportMode::Rail { 4 } else { 0 },
    }
}

fn ferry_name(count: u32) -> String {
    let n = (count as usize - 1) % FERRY_NAMES.len();
    match (count as usize - 1) / FERRY_NAMES.len() {
        0 => FERRY_NAMES[n].to_owned(),
        round => format!("{} {}", FERRY_NAMES[n], round + 1),
    }
}
