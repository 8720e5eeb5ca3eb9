//! The files by their names, so that no rule misspells one.

use lineside_formats::gtfs::fields::{FILES, FileSpec};

/// A table of the reference, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the file of its name")]
pub enum File {
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

impl File {
    /// All of them.
    pub const ALL: [File; 31] = [
        File::Agency,
        File::Stops,
        File::Routes,
        File::Trips,
        File::StopTimes,
        File::Calendar,
        File::CalendarDates,
        File::FareAttributes,
        File::FareRules,
        File::Timeframes,
        File::RiderCategories,
        File::FareMedia,
        File::FareProducts,
        File::FareLegRules,
        File::FareLegJoinRules,
        File::FareTransferRules,
        File::Areas,
        File::StopAreas,
        File::Networks,
        File::RouteNetworks,
        File::Shapes,
        File::Frequencies,
        File::Transfers,
        File::Pathways,
        File::Levels,
        File::LocationGroups,
        File::LocationGroupStops,
        File::BookingRules,
        File::Translations,
        File::FeedInfo,
        File::Attributions,
    ];

    /// What the reference says of it.
    pub fn spec(self) -> &'static FileSpec {
        FILES[self as usize]
    }

    /// Its name, such as `stops.txt`.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The file of a name, whatever its case.
    pub fn of_name(name: &str) -> Option<File> {
        File::ALL.into_iter().find(|file| file.name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_goes_by_its_name() {
        for file in File::ALL {
            let name = format!("{file:?}.txt").to_lowercase();
            assert_eq!(file.name().replace('_', ""), name);
        }
        assert_eq!(File::of_name("Stop_Times.TXT"), Some(File::StopTimes));
        assert_eq!(File::of_name("stop_times"), None);
    }
}
