//! Records by chance, as a decoder would leave them: for the tests of what is written and read again.

use smol_str::{SmolStr, format_smolstr};

use super::{
    file::Content,
    values::{
        DateTime, FormFactor, InLanguage, Languages, Lower, MultiPolygon, PerType, Texts, Time,
        TypeCount,
    },
    zones::{GeofencingZones, Rule, Zone},
};

pub(super) trait Sample {
    fn sample(chance: &mut fastrand::Rng) -> Self;
}

const TEXTS: [&str; 6] = ["ü \"é\"", "a,b", "x{", "[", "two\nlines", "https://a.example/?a=1&b=2"];

impl Sample for SmolStr {
    fn sample(chance: &mut fastrand::Rng) -> SmolStr {
        let text = TEXTS[chance.usize(..TEXTS.len())];
        format_smolstr!("{text}{}", chance.u32(..))
    }
}

impl Sample for Lower {
    fn sample(chance: &mut fastrand::Rng) -> Lower {
        Lower(format_smolstr!("word{}", chance.u8(..)))
    }
}

impl Sample for FormFactor {
    fn sample(chance: &mut fastrand::Rng) -> FormFactor {
        FormFactor(Lower::sample(chance).0)
    }
}

impl Sample for bool {
    fn sample(chance: &mut fastrand::Rng) -> bool {
        chance.bool()
    }
}

impl Sample for u32 {
    fn sample(chance: &mut fastrand::Rng) -> u32 {
        chance.u32(..)
    }
}

impl Sample for f64 {
    fn sample(chance: &mut fastrand::Rng) -> f64 {
        f64::from(chance.i32(1..90_000_000)) / 1e6
    }
}

impl Sample for Time {
    fn sample(chance: &mut fastrand::Rng) -> Time {
        Time(chance.i64(-1_000..4_000_000_000))
    }
}

impl Sample for DateTime {
    fn sample(chance: &mut fastrand::Rng) -> DateTime {
        DateTime(chance.i64(-1_000..4_000_000_000))
    }
}

impl<T: Sample> Sample for Option<T> {
    fn sample(chance: &mut fastrand::Rng) -> Option<T> {
        chance.bool().then(|| T::sample(chance))
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(chance: &mut fastrand::Rng) -> Vec<T> {
        (0..chance.usize(..3)).map(|_| T::sample(chance)).collect()
    }
}

impl Sample for Texts {
    fn sample(chance: &mut fastrand::Rng) -> Texts {
        let languages = ["en", "fr", "x{"];
        let texts = languages.iter().filter_map(|language| {
            let text = Option::<SmolStr>::sample(chance)?;
            Some(InLanguage { text, language: (*language).into() })
        });
        Texts(texts.collect())
    }
}

impl Sample for Languages {
    fn sample(chance: &mut fastrand::Rng) -> Languages {
        Languages(Vec::sample(chance))
    }
}

impl Sample for PerType {
    fn sample(chance: &mut fastrand::Rng) -> PerType {
        // Version 2 has an object, which has no order.
        let mut all: Vec<TypeCount> = Vec::sample(chance);
        all.sort_by(|a, b| a.vehicle_type_ids.cmp(&b.vehicle_type_ids));
        PerType(all)
    }
}

impl Sample for MultiPolygon {
    fn sample(chance: &mut fastrand::Rng) -> MultiPolygon {
        let position = |chance: &mut fastrand::Rng| [f64::sample(chance), f64::sample(chance)];
        let mut ring = || (0..4).map(|_| position(chance)).collect::<Vec<_>>();
        MultiPolygon(vec![vec![ring()], vec![ring(), ring()]])
    }
}

impl Sample for Rule {
    fn sample(chance: &mut fastrand::Rng) -> Rule {
        Rule {
            vehicle_type_ids: Vec::sample(chance),
            ride_start_allowed: Option::sample(chance),
            ride_end_allowed: Option::sample(chance),
            ride_through_allowed: Option::sample(chance),
            maximum_speed_kph: Option::sample(chance),
            station_parking: Option::sample(chance),
        }
    }
}

impl Sample for Zone {
    fn sample(chance: &mut fastrand::Rng) -> Zone {
        Zone { properties: Sample::sample(chance), geometry: Option::sample(chance) }
    }
}

/// A file of each kind.
pub(super) fn contents(chance: &mut fastrand::Rng) -> Vec<Content> {
    let mut stations: Vec<super::records::StationInformation> = Vec::sample(chance);
    for station in &mut stations {
        (station.lat, station.lon) = Option::sample(chance).unzip();
    }
    let mut vehicles: Vec<super::records::VehicleStatus> = Vec::sample(chance);
    for vehicle in &mut vehicles {
        (vehicle.lat, vehicle.lon) = Option::sample(chance).unzip();
    }
    vec![
        Content::SystemInformation(Sample::sample(chance)),
        Content::VehicleTypes(Vec::sample(chance)),
        Content::StationInformation(stations),
        Content::StationStatus(Vec::sample(chance)),
        Content::VehicleStatus(vehicles),
        Content::VehicleAvailability(Vec::sample(chance)),
        Content::Regions(Vec::sample(chance)),
        Content::PricingPlans(Vec::sample(chance)),
        Content::Alerts(Vec::sample(chance)),
        Content::GeofencingZones(GeofencingZones {
            zones: Vec::sample(chance),
            global_rules: Vec::sample(chance),
        }),
        Content::Hours(Vec::sample(chance)),
        Content::Calendar(Vec::sample(chance)),
        Content::Versions(Vec::sample(chance)),
        Content::Manifest(Vec::sample(chance)),
    ]
}

impl<T: Sample> Sample for Box<T> {
    fn sample(chance: &mut fastrand::Rng) -> Box<T> {
        Box::new(T::sample(chance))
    }
}

impl<A: Sample, B: Sample> Sample for (A, B) {
    fn sample(chance: &mut fastrand::Rng) -> (A, B) {
        (A::sample(chance), B::sample(chance))
    }
}
