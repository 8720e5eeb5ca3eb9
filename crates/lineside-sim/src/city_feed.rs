//! The feeds of the city: their ids, files and content types.

use crate::bikes::BikeShareFile;
use crate::siri::{SiriFeedKind, XML};

/// The feeds of the city.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CityFeed {
    /// The schedule, a GTFS zip.
    City,
    /// Vehicle positions.
    Vehicles,
    /// Trip updates.
    Trips,
    Alerts,
    /// Shared bikes, GBFS 3.0.
    Bikes,
    /// The schedule once more, for the SIRI feeds.
    Twin,
    /// The trip updates as SIRI estimated timetables.
    TwinTimetables,
    /// The vehicle positions as SIRI vehicle monitoring.
    TwinVehicles,
    /// The alerts as SIRI situations.
    TwinSituations,
}

impl CityFeed {
    /// All feeds, the schedule first.
    pub const ALL: [Self; 9] = [
        Self::City,
        Self::Vehicles,
        Self::Trips,
        Self::Alerts,
        Self::Bikes,
        Self::Twin,
        Self::TwinTimetables,
        Self::TwinVehicles,
        Self::TwinSituations,
    ];

    /// Returns the feed's id in configurations, channels and faults.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::City => "city",
            Self::Vehicles => "city-vehicles",
            Self::Trips => "city-trips",
            Self::Alerts => "city-alerts",
            Self::Bikes => "city-bikes",
            Self::Twin => "twin",
            Self::TwinTimetables => "twin-et",
            Self::TwinVehicles => "twin-vm",
            Self::TwinSituations => "twin-sx",
        }
    }

    #[must_use]
    pub fn feed_from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feed| feed.as_str() == id)
    }

    /// Returns the path of the feed's file, relative to the origin's URL.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::City => "gtfs.zip",
            Self::Vehicles => "vehicle-positions.pb",
            Self::Trips => "trip-updates.pb",
            Self::Alerts => "alerts.pb",
            Self::Bikes => "gbfs/gbfs.json",
            Self::Twin => "siri/gtfs.zip",
            Self::TwinTimetables => "siri/et",
            Self::TwinVehicles => "siri/vm",
            Self::TwinSituations => "siri/sx",
        }
    }

    pub(crate) fn find_feed_and_file_by_path(path: &str) -> Option<(Self, BikeShareFile)> {
        let whole = Self::ALL.into_iter().find(|feed| feed.file_name() == path);
        let of_bikes = || {
            Some((Self::Bikes, BikeShareFile::gbfs_file_from_path(path.strip_prefix("gbfs/")?)?))
        };
        whole.map(|feed| (feed, BikeShareFile::Discovery)).or_else(of_bikes)
    }

    #[must_use]
    pub fn siri_service(self) -> Option<SiriFeedKind> {
        match self {
            Self::TwinTimetables => Some(SiriFeedKind::Timetables),
            Self::TwinVehicles => Some(SiriFeedKind::Vehicles),
            Self::TwinSituations => Some(SiriFeedKind::Situations),
            _ => None,
        }
    }

    pub(crate) fn is_schedule(self) -> bool {
        matches!(self, Self::City | Self::Twin)
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::City | Self::Twin => "application/zip",
            Self::Bikes => "application/json",
            Self::TwinTimetables | Self::TwinVehicles | Self::TwinSituations => XML,
            _ => "application/x-protobuf",
        }
    }
}
