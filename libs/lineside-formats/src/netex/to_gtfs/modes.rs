//! Modes of transport as `route_type` values.

/// Modes with the basic route type if there is one, else the extended one.
const MODES: [(&str, u16); 17] = [
    ("air", 1_100),
    ("bus", 3),
    ("cableway", 6),
    ("coach", 200),
    ("ferry", 4),
    ("funicular", 7),
    ("intercityRail", 102),
    ("lift", 1_300),
    ("metro", 1),
    ("rail", 2),
    ("selfDrive", 1_700),
    ("taxi", 1_500),
    ("telecabin", 6),
    ("tram", 0),
    ("trolleyBus", 11),
    ("urbanRail", 109),
    ("water", 4),
];

/// Submodes that are more specific than their mode.
const SUBMODES: [(&str, u16); 32] = [
    ("airportLinkBus", 700),
    ("airportLinkRail", 100),
    ("demandAndResponseBus", 715),
    ("expressBus", 702),
    ("funicular", 7),
    ("helicopterService", 1_110),
    ("highSpeedRail", 101),
    ("international", 103),
    ("internationalCoach", 201),
    ("internationalFlight", 1_101),
    ("interregionalRail", 103),
    ("domesticFlight", 1_102),
    ("local", 106),
    ("localBus", 704),
    ("longDistance", 102),
    ("nationalCoach", 202),
    ("nightBus", 705),
    ("nightRail", 105),
    ("railReplacementBus", 714),
    ("regionalBus", 701),
    ("regionalCoach", 204),
    ("regionalRail", 106),
    ("schoolBus", 712),
    ("schoolAndPublicServiceBus", 713),
    ("sightseeingBus", 710),
    ("sightseeingFlight", 1_104),
    ("sightseeingService", 1_000),
    ("suburbanRailway", 109),
    ("telecabin", 6),
    ("touristCoach", 207),
    ("touristRailway", 107),
    ("shuttleBus", 711),
];

/// Returns the `route_type` of a mode and a submode; `None` if both are unknown.
pub(super) fn gtfs_route_type_for_mode(mode: &str, submode: &str) -> Option<u16> {
    let find = |table: &[(&str, u16)], name: &str| {
        table.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    };
    find(&SUBMODES, submode).or_else(|| find(&MODES, mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_submode_takes_precedence_over_the_mode() {
        assert_eq!(gtfs_route_type_for_mode("bus", "railReplacementBus"), Some(714));
        assert_eq!(gtfs_route_type_for_mode("bus", "unknownBus"), Some(3));
        assert_eq!(gtfs_route_type_for_mode("", "nightBus"), Some(705));
        assert_eq!(
            gtfs_route_type_for_mode("water", "sightseeingService"),
            Some(1_000),
            "by water, not by air"
        );
        assert_eq!(gtfs_route_type_for_mode("hovercraft", ""), None);
    }

    #[test]
    fn every_mode_maps_to_a_valid_route_type_and_is_listed_once() {
        for table in [&MODES[..], &SUBMODES[..]] {
            for (at, (name, number)) in table.iter().enumerate() {
                assert!(matches!(number, 0..=7 | 11 | 12 | 100..=1_702), "{name}");
                assert!(table[..at].iter().all(|(other, _)| other != name), "{name}");
            }
        }
    }
}
