//! The files of the reference as an enum, so that no rule misspells a name.

use lineside_formats::gtfs::fields::{FILES, FileSpec};

/// A file of the reference, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is named after its file")]
pub enum GtfsFile {
    Agency,
    Stops,
    Routes,
    Trips,
    StopTimes,
    Calendar,
    CalendarDates,
    FareAttributes,
    FareRules,
    Timeframes,
    RiderCategories,
    FareMedia,
    FareProducts,
    FareLegRules,
    FareLegJoinRules,
    FareTransferRules,
    Areas,
    StopAreas,
    Networks,
    RouteNetworks,
    Shapes,
    Frequencies,
    Transfers,
    Pathways,
    Levels,
    LocationGroups,
    LocationGroupStops,
    BookingRules,
    Translations,
    FeedInfo,
    Attributions,
}

impl GtfsFile {
    /// All files.
    pub const ALL: [GtfsFile; 31] = [
        GtfsFile::Agency,
        GtfsFile::Stops,
        GtfsFile::Routes,
        GtfsFile::Trips,
        GtfsFile::StopTimes,
        GtfsFile::Calendar,
        GtfsFile::CalendarDates,
        GtfsFile::FareAttributes,
        GtfsFile::FareRules,
        GtfsFile::Timeframes,
        GtfsFile::RiderCategories,
        GtfsFile::FareMedia,
        GtfsFile::FareProducts,
        GtfsFile::FareLegRules,
        GtfsFile::FareLegJoinRules,
        GtfsFile::FareTransferRules,
        GtfsFile::Areas,
        GtfsFile::StopAreas,
        GtfsFile::Networks,
        GtfsFile::RouteNetworks,
        GtfsFile::Shapes,
        GtfsFile::Frequencies,
        GtfsFile::Transfers,
        GtfsFile::Pathways,
        GtfsFile::Levels,
        GtfsFile::LocationGroups,
        GtfsFile::LocationGroupStops,
        GtfsFile::BookingRules,
        GtfsFile::Translations,
        GtfsFile::FeedInfo,
        GtfsFile::Attributions,
    ];

    /// Returns the file's specification.
    pub fn file_spec(self) -> &'static FileSpec {
        FILES[self as usize]
    }

    /// Returns the file's name, such as `stops.txt`.
    pub fn file_name(self) -> &'static str {
        self.file_spec().name
    }

    /// Returns the file with a name, ignoring case.
    pub fn from_name(name: &str) -> Option<GtfsFile> {
        GtfsFile::ALL.into_iter().find(|file| file.file_name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_by_its_name() {
        for file in GtfsFile::ALL {
            let name = format!("{file:?}.txt").to_lowercase();
            assert_eq!(file.file_name().replace('_', ""), name);
        }
        assert_eq!(GtfsFile::from_name("Stop_Times.TXT"), Some(GtfsFile::StopTimes));
        assert_eq!(GtfsFile::from_name("stop_times"), None);
    }
}
