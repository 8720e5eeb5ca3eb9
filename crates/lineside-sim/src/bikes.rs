//! Shared bikes and scooters: stations next to the city's stops, and free-floating vehicles.
//!
//! Like everything in this crate, they are a function of the city and the time. A station fills and empties with the
//! time of day and some randomness. A free-floating vehicle stays in place until it is rented, and has a new id after
//! each rental, as GBFS requires.
use lineside_gbfs::records::TypeAvailable;
use lineside_gbfs::records::{
    PricingPlan, Rate, StationInformation, StationStatus, SystemInformation, VehicleStatus,
    VehicleType,
};
use lineside_gbfs::values::{
    FormFactor, GbfsTime, InLanguage, LanguageList, LocalizedTexts, TypeCount,
};
use lineside_gbfs::{
    FileContent, FileHeader, WritableGbfsVersion, encode_discovery_file, encode_gbfs_file,
};
use lineside_sync::UnixMillis;

use crate::city::City;
use crate::city::gtfs::{FOREIGN, SITE};
use crate::geography::plane::{PlanePoint, point_from_xy};
use crate::network::StopPlace;
use crate::noise;
use crate::time::HOUR;

/// The chance that a place that is not a station of the trains has bikes.
const STOP_HAS_BIKES_CHANCE: f64 = 0.12;
/// The largest number of stations.
const STATIONS_MAX: usize = 120;
/// The number of free-floating vehicles, parked or rented.
const FREE_FLOATING_COUNT: u64 = 160;
/// Seconds between two reports of a station; each station has its own offset.
const REPORT_INTERVAL: i64 = 20;
/// The `ttl` of files in seconds: status files, and others.
const TTL_STATUS: u32 = 10;
const TTL_INFORMATION: u32 = 300;
/// The distance from the old town, in metres, within which people arrive in the morning.
const CENTRE_RADIUS: f64 = 2_500.0;
/// A vehicle with less than this share of its range left is out of service.
const EMPTY: f64 = 0.08;

/// A GBFS file of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BikeShareFile {
    Discovery,
    SystemInformation,
    VehicleTypes,
    PricingPlans,
    StationInformation,
    StationStatus,
    VehicleStatus,
}

impl BikeShareFile {
    const ALL: [Self; 7] = [
        Self::Discovery,
        Self::SystemInformation,
        Self::VehicleTypes,
        Self::PricingPlans,
        Self::StationInformation,
        Self::StationStatus,
        Self::VehicleStatus,
    ];

    fn file_name(self) -> &'static str {
        match self {
            Self::Discovery => "gbfs",
            Self::SystemInformation => "system_information",
            Self::VehicleTypes => "vehicle_types",
            Self::PricingPlans => "system_pricing_plans",
            Self::StationInformation => "station_information",
            Self::StationStatus => "station_status",
            Self::VehicleStatus => "vehicle_status",
        }
    }

    /// Returns the file with a path relative to the system's URL.
    pub(crate) fn gbfs_file_from_path(path: &str) -> Option<Self> {
        let name = path.strip_suffix(".json")?;
        Self::ALL.into_iter().find(|file| file.file_name() == name)
    }

    fn ttl_seconds(self) -> u32 {
        match self {
            Self::StationStatus | Self::VehicleStatus => TTL_STATUS,
            _ => TTL_INFORMATION,
        }
    }
}

struct SharedVehicleKind {
    id: &'static str,
    name: &'static str,
    form: &'static str,
    propulsion: &'static str,
    /// The range on a full battery in metres, for vehicles with a battery.
    range: Option<f64>,
}

const KINDS: [SharedVehicleKind; 3] = [
    SharedVehicleKind {
        id: "bike",
        name: "Bike",
        form: "bicycle",
        propulsion: "human",
        range: None,
    },
    SharedVehicleKind {
        id: "e-bike",
        name: "E-bike",
        form: "bicycle",
        propulsion: "electric_assist",
        range: Some(60_000.0),
    },
    SharedVehicleKind {
        id: "scooter",
        name: "Scooter",
        form: "scooter_standing",
        propulsion: "electric",
        range: Some(35_000.0),
    },
];
const PLAN: &str = "ride";

struct DockStation<'a> {
    id: String,
    place: &'a StopPlace,
    point: PlanePoint,
    docks: u32,
    key: u64,
}

impl City {
    /// Encodes a GBFS file at an instant. Returns its bytes and its last change in Unix seconds. `base` is the URL of
    /// the system, with a trailing slash. With `foreign`, station ids are unknown to other files.
    pub(crate) fn encode_gbfs_file(
        &self,
        file: BikeShareFile,
        base: &str,
        now: UnixMillis,
        foreign: bool,
    ) -> (Vec<u8>, i64) {
        let now = now.unix_seconds();
        let since = match file {
            BikeShareFile::StationStatus | BikeShareFile::VehicleStatus => now,
            _ => self.start_instant().unix_seconds(),
        };
        let head =
            FileHeader { last_updated: Some(since), ttl: Some(file.ttl_seconds()), version: None };
        let content = match file {
            BikeShareFile::Discovery => {
                let files = BikeShareFile::ALL.into_iter().skip(1);
                let files = files
                    .map(|file| (file.file_name(), format!("{base}{}.json", file.file_name())));
                let listed = [("en".to_owned(), files.collect())];
                return (encode_discovery_file(&listed, &head, WritableGbfsVersion::Three), since);
            }
            BikeShareFile::SystemInformation => {
                FileContent::SystemInformation(self.bike_system_information().into())
            }
            BikeShareFile::VehicleTypes => {
                FileContent::VehicleTypes(KINDS.iter().map(build_vehicle_type).collect())
            }
            BikeShareFile::PricingPlans => FileContent::PricingPlans(vec![build_pricing_plan()]),
            BikeShareFile::StationInformation => FileContent::StationInformation(
                self.bike_stations().map(|it| self.station_information(&it)).collect(),
            ),
            BikeShareFile::StationStatus => {
                let status = |it: DockStation<'_>| self.station_status(&it, now, foreign);
                FileContent::StationStatus(self.bike_stations().map(status).collect())
            }
            BikeShareFile::VehicleStatus => FileContent::VehicleStatus(
                (0..FREE_FLOATING_COUNT).filter_map(|n| self.free_vehicle_status(n, now)).collect(),
            ),
        };
        let written = encode_gbfs_file(&content, &head, WritableGbfsVersion::Three, "en");
        (written.map(|written| written.body).unwrap_or_default(), since)
    }

    fn bike_system_information(&self) -> SystemInformation {
        SystemInformation {
            system_id: "lindhaven-bikes".into(),
            languages: LanguageList(vec!["en".into()]),
            name: english_text(&format!("{} Bikes", self.city_name())),
            operator: english_text(&format!("{} Bikes (simulated)", self.city_name())),
            opening_hours: Some("24/7".into()),
            url: Some(format!("{SITE}/bikes").into()),
            feed_contact_email: Some("bikes@lindhaven.example.org".into()),
            timezone: Some(self.time_zone().into()),
            license_id: Some("CC0-1.0".into()),
            ..SystemInformation::default()
        }
    }

    fn bike_share_random_key(&self) -> u64 {
        noise::random_key_for_purpose(self.seed(), "bikes")
    }

    fn bike_stations(&self) -> impl Iterator<Item = DockStation<'_>> {
        let key = self.bike_share_random_key();
        let places = self.network().places.iter().enumerate();
        let served = places.filter(|(_, place)| !place.stops.is_empty());
        let stations = served.filter_map(move |(n, place)| {
            let key = noise::hash_two_numbers(key, n as u64);
            let has_bikes =
                place.is_station || noise::pseudo_random_share(key) < STOP_HAS_BIKES_CHANCE;
            has_bikes.then(|| DockStation {
                id: format!("bikes-{}", place.id),
                place,
                point: random_point_near(place.point, noise::hash_two_numbers(key, 1), 25.0),
                docks: 10
                    + (noise::pseudo_random_share(noise::hash_two_numbers(key, 2)) * 21.0) as u32,
                key,
            })
        });
        stations.take(STATIONS_MAX)
    }

    fn station_information(&self, station: &DockStation<'_>) -> StationInformation {
        let (lat, lon) = self.rounded_lat_lon(station.point);
        StationInformation {
            station_id: station.id.clone().into(),
            name: english_text(&station.place.name),
            lat: Some(lat),
            lon: Some(lon),
            capacity: Some(station.docks),
            is_virtual_station: Some(false),
            ..StationInformation::default()
        }
    }

    fn station_status(&self, station: &DockStation<'_>, now: i64, foreign: bool) -> StationStatus {
        let beat = (noise::pseudo_random_share(noise::hash_two_numbers(station.key, 3))
            * REPORT_INTERVAL as f64) as i64;
        let reported = now - (now + beat).rem_euclid(REPORT_INTERVAL);
        let bikes = self.bikes_docked_at(station, reported);
        let broken =
            u32::from(noise::pseudo_random_share(noise::hash_two_numbers(station.key, 4)) < 0.3)
                .min(bikes);
        let fit = bikes - broken;
        let electric = (f64::from(fit)
            * (0.2 + 0.3 * noise::pseudo_random_share(noise::hash_two_numbers(station.key, 5))))
            as u32;
        let of = |kind: &SharedVehicleKind, count: u32| TypeAvailable {
            vehicle_type_id: kind.id.into(),
            count: Some(count),
        };
        let docks = station.docks - bikes;
        let name = if foreign { FOREIGN } else { "" };
        StationStatus {
            station_id: format!("{name}{}", station.id).into(),
            num_vehicles_available: Some(fit),
            vehicle_types_available: vec![of(&KINDS[0], fit - electric), of(&KINDS[1], electric)],
            num_vehicles_disabled: Some(broken),
            num_docks_available: Some(docks),
            num_docks_disabled: Some(0),
            vehicle_docks_available: vec![TypeCount {
                vehicle_type_ids: vec![KINDS[0].id.into(), KINDS[1].id.into()],
                count: Some(docks),
            }],
            is_installed: Some(true),
            is_renting: Some(true),
            is_returning: Some(true),
            last_reported: Some(GbfsTime(reported)),
        }
    }

    /// Returns the number of bikes at a station: many in the old town by day, many outside it by night.
    fn bikes_docked_at(&self, station: &DockStation<'_>, instant: i64) -> u32 {
        let day = self.city_time().service_day_at(instant);
        let hour = self.city_time().seconds_of_day(day, instant as f64) / f64::from(HOUR);
        // Most people are at work at half past one.
        let by_day = ((hour - 13.5) / 24.0 * std::f64::consts::TAU).cos();
        let tide = if station.point.vector_length() < CENTRE_RADIUS { by_day } else { -by_day };
        let chance =
            noise::noise_1d(noise::hash_two_numbers(station.key, 6), instant as f64 / 900.0)
                + 0.5
                    * noise::noise_1d(
                        noise::hash_two_numbers(station.key, 7),
                        instant as f64 / 110.0,
                    )
                - 0.75;
        let full = (0.5 + 0.27 * tide + 0.35 * chance).clamp(0.0, 1.0);
        ((f64::from(station.docks) * full).round() as u32).min(station.docks)
    }

    /// Returns the status of a free-floating vehicle; `None` while it is rented.
    fn free_vehicle_status(&self, number: u64, now: i64) -> Option<VehicleStatus> {
        let key =
            noise::hash_two_numbers(noise::random_key_for_purpose(self.seed(), "loose"), number);
        // The time from one rental to the next.
        let period = 1_500.0 + noise::pseudo_random_share(key) * 3_600.0;
        let turns =
            now as f64 / period + noise::pseudo_random_share(noise::hash_two_numbers(key, 1));
        let rental = noise::hash_two_numbers(key, turns.floor() as i64 as u64);
        let ridden = 0.15 + 0.25 * noise::pseudo_random_share(noise::hash_two_numbers(rental, 2));
        if turns.fract() < ridden {
            return None;
        }
        let stops = &self.network().stops;
        let stop = stops.get(
            (noise::pseudo_random_share(noise::hash_two_numbers(rental, 3)) * stops.len() as f64)
                as usize,
        )?;
        let (lat, lon) = self.rounded_lat_lon(random_point_near(
            stop.point,
            noise::hash_two_numbers(rental, 4),
            30.0,
        ));
        let kind = &KINDS[number as usize % KINDS.len()];
        let left = noise::pseudo_random_share(noise::hash_two_numbers(rental, 5));
        let since = (now as f64 - (turns.fract() - ridden) * period) as i64;
        Some(VehicleStatus {
            vehicle_id: format!("{:016x}", noise::hash_two_numbers(rental, 6)).into(),
            lat: Some(lat),
            lon: Some(lon),
            is_reserved: Some(turns.fract() > 0.97),
            is_disabled: Some(kind.range.is_some() && left < EMPTY),
            vehicle_type_id: Some(kind.id.into()),
            last_reported: Some(GbfsTime(since)),
            current_range_meters: kind.range.map(|range| (range * left / 100.0).round() * 100.0),
            pricing_plan_id: Some(PLAN.into()),
            ..VehicleStatus::default()
        })
    }

    /// Returns latitude and longitude with six decimals: a tenth of a metre.
    fn rounded_lat_lon(&self, point: PlanePoint) -> (f64, f64) {
        let (lat, lon) = self.geography().projection.to_lat_lon(point);
        let rounded = |degrees: f64| (degrees * 1e6).round() / 1e6;
        (rounded(lat), rounded(lon))
    }
}

/// Returns a point at this distance, in a random direction.
fn random_point_near(point: PlanePoint, key: u64, metres: f64) -> PlanePoint {
    let (sin, cos) = (noise::pseudo_random_share(key) * std::f64::consts::TAU).sin_cos();
    point + point_from_xy(cos * metres, sin * metres)
}

fn build_vehicle_type(kind: &SharedVehicleKind) -> VehicleType {
    VehicleType {
        vehicle_type_id: kind.id.into(),
        form_factor: Some(FormFactor(kind.form.into())),
        propulsion_type: Some(kind.propulsion.into()),
        max_range_meters: kind.range,
        name: english_text(kind.name),
        return_constraint: Some("hybrid".into()),
        default_pricing_plan_id: Some(PLAN.into()),
        ..VehicleType::default()
    }
}

fn build_pricing_plan() -> PricingPlan {
    PricingPlan {
        plan_id: PLAN.into(),
        name: english_text("Single ride"),
        currency: Some("EUR".into()),
        price: Some(1.0),
        is_taxable: Some(false),
        description: english_text("To unlock, and for each quarter of an hour."),
        per_min_pricing: vec![Rate {
            start: Some(0.0),
            rate: Some(0.5),
            interval: Some(15.0),
            end: None,
        }],
        ..PricingPlan::default()
    }
}

fn english_text(text: &str) -> LocalizedTexts {
    LocalizedTexts(vec![InLanguage { text: text.into(), language: "en".into() }])
}
