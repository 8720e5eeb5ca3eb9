//! Random records, as a decoder produces them, for the round-trip tests.

use smol_str::{SmolStr, format_smolstr};

use super::{
    file::FileContent,
    record::random_sample::RandomSample,
    values::{
        FormFactor, GbfsTime, InLanguage, LanguageList, LocalizedTexts, LowercaseEnumValue,
        MultiPolygon, Rfc3339Time, TypeCount, VehicleTypeCounts,
    },
    zones::{GeofencingRule, GeofencingZone, GeofencingZones},
};

const TEXTS: [&str; 6] = ["ü \"é\"", "a,b", "x{", "[", "two\nlines", "https://a.example/?a=1&b=2"];

impl RandomSample for SmolStr {
    fn sample(chance: &mut fastrand::Rng) -> SmolStr {
        let text = TEXTS[chance.usize(..TEXTS.len())];
        format_smolstr!("{text}{}", chance.u32(..))
    }
}

impl RandomSample for LowercaseEnumValue {
    fn sample(chance: &mut fastrand::Rng) -> LowercaseEnumValue {
        LowercaseEnumValue(format_smolstr!("word{}", chance.u8(..)))
    }
}

impl RandomSample for FormFactor {
    fn sample(chance: &mut fastrand::Rng) -> FormFactor {
        FormFactor(LowercaseEnumValue::sample(chance).0)
    }
}

impl RandomSample for bool {
    fn sample(chance: &mut fastrand::Rng) -> bool {
        chance.bool()
    }
}

impl RandomSample for u32 {
    fn sample(chance: &mut fastrand::Rng) -> u32 {
        chance.u32(..)
    }
}

impl RandomSample for f64 {
    fn sample(chance: &mut fastrand::Rng) -> f64 {
        f64::from(chance.i32(1..90_000_000)) / 1e6
    }
}

impl RandomSample for GbfsTime {
    fn sample(chance: &mut fastrand::Rng) -> GbfsTime {
        GbfsTime(chance.i64(-1_000..4_000_000_000))
    }
}

impl RandomSample for Rfc3339Time {
    fn sample(chance: &mut fastrand::Rng) -> Rfc3339Time {
        Rfc3339Time(chance.i64(-1_000..4_000_000_000))
    }
}

impl<T: RandomSample> RandomSample for Option<T> {
    fn sample(chance: &mut fastrand::Rng) -> Option<T> {
        chance.bool().then(|| T::sample(chance))
    }
}

impl<T: RandomSample> RandomSample for Vec<T> {
    fn sample(chance: &mut fastrand::Rng) -> Vec<T> {
        (0..chance.usize(..3)).map(|_| T::sample(chance)).collect()
    }
}

impl RandomSample for LocalizedTexts {
    fn sample(chance: &mut fastrand::Rng) -> LocalizedTexts {
        let languages = ["en", "fr", "x{"];
        let texts = languages.iter().filter_map(|language| {
            let text = Option::<SmolStr>::sample(chance)?;
            Some(InLanguage { text, language: (*language).into() })
        });
        LocalizedTexts(texts.collect())
    }
}

impl RandomSample for LanguageList {
    fn sample(chance: &mut fastrand::Rng) -> LanguageList {
        LanguageList(Vec::sample(chance))
    }
}

impl RandomSample for VehicleTypeCounts {
    fn sample(chance: &mut fastrand::Rng) -> VehicleTypeCounts {
        // In version 2 this is an object, which has no order.
        let mut all: Vec<TypeCount> = Vec::sample(chance);
        all.sort_by(|a, b| a.vehicle_type_ids.cmp(&b.vehicle_type_ids));
        VehicleTypeCounts(all)
    }
}

impl RandomSample for MultiPolygon {
    fn sample(chance: &mut fastrand::Rng) -> MultiPolygon {
        let position = |chance: &mut fastrand::Rng| [f64::sample(chance), f64::sample(chance)];
        let mut ring = || (0..4).map(|_| position(chance)).collect::<Vec<_>>();
        MultiPolygon(vec![vec![ring()], vec![ring(), ring()]])
    }
}

impl RandomSample for GeofencingRule {
    fn sample(chance: &mut fastrand::Rng) -> GeofencingRule {
        GeofencingRule {
            vehicle_type_ids: Vec::sample(chance),
            ride_start_allowed: Option::sample(chance),
            ride_end_allowed: Option::sample(chance),
            ride_through_allowed: Option::sample(chance),
            maximum_speed_kph: Option::sample(chance),
            station_parking: Option::sample(chance),
        }
    }
}

impl RandomSample for GeofencingZone {
    fn sample(chance: &mut fastrand::Rng) -> GeofencingZone {
        GeofencingZone {
            properties: RandomSample::sample(chance),
            geometry: Option::sample(chance),
        }
    }
}

/// Returns a random file of each kind.
pub(crate) fn random_file_contents(chance: &mut fastrand::Rng) -> Vec<FileContent> {
    let mut stations: Vec<super::records::StationInformation> = Vec::sample(chance);
    for station in &mut stations {
        (station.lat, station.lon) = Option::sample(chance).unzip();
    }
    let mut vehicles: Vec<super::records::VehicleStatus> = Vec::sample(chance);
    for vehicle in &mut vehicles {
        (vehicle.lat, vehicle.lon) = Option::sample(chance).unzip();
    }
    vec![
        FileContent::SystemInformation(RandomSample::sample(chance)),
        FileContent::VehicleTypes(Vec::sample(chance)),
        FileContent::StationInformation(stations),
        FileContent::StationStatus(Vec::sample(chance)),
        FileContent::VehicleStatus(vehicles),
        FileContent::VehicleAvailability(Vec::sample(chance)),
        FileContent::Regions(Vec::sample(chance)),
        FileContent::PricingPlans(Vec::sample(chance)),
        FileContent::Alerts(Vec::sample(chance)),
        FileContent::GeofencingZones(GeofencingZones {
            zones: Vec::sample(chance),
            global_rules: Vec::sample(chance),
        }),
        FileContent::Hours(Vec::sample(chance)),
        FileContent::Calendar(Vec::sample(chance)),
        FileContent::Versions(Vec::sample(chance)),
        FileContent::Manifest(Vec::sample(chance)),
    ]
}

impl<T: RandomSample> RandomSample for Box<T> {
    fn sample(chance: &mut fastrand::Rng) -> Box<T> {
        Box::new(T::sample(chance))
    }
}

impl<A: RandomSample, B: RandomSample> RandomSample for (A, B) {
    fn sample(chance: &mut fastrand::Rng) -> (A, B) {
        (A::sample(chance), B::sample(chance))
    }
}
