//! Detection of the GTFS features that a feed uses, by the names that gtfs.org gives them.

use crate::gtfs::{GtfsFeed, GtfsFile};

/// Evidence of a feature in a feed.
enum FeatureEvidence {
    Row(GtfsFile),
    /// A row in the file with a value in this field.
    Field(GtfsFile, &'static str),
    /// A stop time that serves a zone or a group of stops instead of a stop.
    Instead(&'static str),
    /// A trip with stops at fixed times and a zone between them.
    Deviation,
}

use FeatureEvidence::{Deviation, Field, Instead, Row};

/// The name of a feature and lists of signs. The feed uses the feature if all signs of one list are
/// present.
type FeatureWithEvidence = (&'static str, &'static [&'static [FeatureEvidence]]);

const FEATURES: &[FeatureWithEvidence] = &[
    ("Pathway Connections", &[&[Row(GtfsFile::Pathways)]]),
    (
        "Pathway Signs",
        &[
            &[Field(GtfsFile::Pathways, "signposted_as")],
            &[Field(GtfsFile::Pathways, "reversed_signposted_as")],
        ],
    ),
    (
        "Pathway Details",
        &[
            &[Field(GtfsFile::Pathways, "max_slope")],
            &[Field(GtfsFile::Pathways, "min_width")],
            &[Field(GtfsFile::Pathways, "length")],
            &[Field(GtfsFile::Pathways, "stair_count")],
        ],
    ),
    ("Levels", &[&[Row(GtfsFile::Levels)]]),
    ("Transfers", &[&[Row(GtfsFile::Transfers)]]),
    ("Shapes", &[&[Row(GtfsFile::Shapes)]]),
    ("Frequencies", &[&[Row(GtfsFile::Frequencies)]]),
    ("Feed Information", &[&[Row(GtfsFile::FeedInfo)]]),
    ("Attributions", &[&[Row(GtfsFile::Attributions)]]),
    ("Translations", &[&[Row(GtfsFile::Translations)]]),
    ("Fares V1", &[&[Row(GtfsFile::FareAttributes)]]),
    ("Fare Products", &[&[Row(GtfsFile::FareProducts)]]),
    ("Fare Transfers", &[&[Row(GtfsFile::FareTransferRules)]]),
    ("Booking Rules", &[&[Row(GtfsFile::BookingRules)]]),
    (
        "Route Colors",
        &[
            &[Field(GtfsFile::Routes, "route_color")],
            &[Field(GtfsFile::Routes, "route_text_color")],
        ],
    ),
    (
        "Headsigns",
        &[
            &[Field(GtfsFile::Trips, "trip_headsign")],
            &[Field(GtfsFile::StopTimes, "stop_headsign")],
        ],
    ),
    ("Stops Wheelchair Accessibility", &[&[Field(GtfsFile::Stops, "wheelchair_boarding")]]),
    ("Trips Wheelchair Accessibility", &[&[Field(GtfsFile::Trips, "wheelchair_accessible")]]),
    ("Text-to-Speech", &[&[Field(GtfsFile::Stops, "tts_stop_name")]]),
    ("Bike Allowed", &[&[Field(GtfsFile::Trips, "bikes_allowed")]]),
    ("Location Types", &[&[Field(GtfsFile::Stops, "location_type")]]),
    ("Stop Access", &[&[Field(GtfsFile::Stops, "stop_access")]]),
    ("In-station Traversal Time", &[&[Field(GtfsFile::Pathways, "traversal_time")]]),
    (
        "Route-Based Fares",
        &[
            &[
                Field(GtfsFile::Routes, "network_id"),
                Row(GtfsFile::FareProducts),
                Field(GtfsFile::FareLegRules, "network_id"),
            ],
            &[
                Row(GtfsFile::Networks),
                Row(GtfsFile::FareProducts),
                Field(GtfsFile::FareLegRules, "network_id"),
            ],
        ],
    ),
    (
        "Continuous Stops",
        &[
            &[Field(GtfsFile::Routes, "continuous_drop_off")],
            &[Field(GtfsFile::Routes, "continuous_pickup")],
            &[Field(GtfsFile::StopTimes, "continuous_drop_off")],
            &[Field(GtfsFile::StopTimes, "continuous_pickup")],
        ],
    ),
    ("Zone-Based Demand Responsive Services", &[&[Instead("location_id")]]),
    ("Predefined Routes with Deviation", &[&[Deviation]]),
    ("Fare Media", &[&[Row(GtfsFile::FareMedia), Field(GtfsFile::FareProducts, "fare_media_id")]]),
    (
        "Rider Categories",
        &[&[Row(GtfsFile::RiderCategories), Field(GtfsFile::FareProducts, "rider_category_id")]],
    ),
    (
        "Time-Based Fares",
        &[
            &[
                Row(GtfsFile::Timeframes),
                Row(GtfsFile::FareProducts),
                Field(GtfsFile::FareLegRules, "from_timeframe_group_id"),
            ],
            &[
                Row(GtfsFile::Timeframes),
                Row(GtfsFile::FareProducts),
                Field(GtfsFile::FareLegRules, "to_timeframe_group_id"),
            ],
        ],
    ),
    (
        "Zone-Based Fares",
        &[
            &[
                Row(GtfsFile::Areas),
                Row(GtfsFile::FareProducts),
                Field(GtfsFile::FareLegRules, "from_area_id"),
            ],
            &[
                Row(GtfsFile::Areas),
                Row(GtfsFile::FareProducts),
                Field(GtfsFile::FareLegRules, "to_area_id"),
            ],
        ],
    ),
    (
        "Contactless EMV Support",
        &[&[Field(GtfsFile::Agency, "cemv_support")], &[Field(GtfsFile::Routes, "cemv_support")]],
    ),
    (
        "Fixed-Stops Demand Responsive Transit",
        &[&[Row(GtfsFile::LocationGroups), Instead("location_group_id")]],
    ),
    ("Cars Allowed", &[&[Field(GtfsFile::Trips, "cars_allowed")]]),
];

/// Returns the names of the features that a feed uses.
pub fn detect_features(feed: &GtfsFeed) -> Vec<&'static str> {
    let is_there = |lists: &[&[FeatureEvidence]]| {
        lists.iter().any(|list| list.iter().all(|sign| is_evidence_present(feed, sign)))
    };
    FEATURES.iter().filter(|(_, lists)| is_there(lists)).map(|(name, _)| *name).collect()
}

fn is_evidence_present(feed: &GtfsFeed, sign: &FeatureEvidence) -> bool {
    let stop_times = feed.table(GtfsFile::StopTimes);
    match *sign {
        Row(file) => !feed.table(file).is_empty(),
        Field(file, field) => feed.table(file).has_values(field),
        Instead(field) => {
            let (places, stops) =
                (stop_times.text_column(field), stop_times.text_column("stop_id"));
            stop_times.has_values(field)
                && stop_times.row_numbers().any(|row| {
                    places.text_code_of_row(row).is_some() && stops.text_code_of_row(row).is_none()
                })
        }
        Deviation => stop_times.has_values("location_id") && has_deviated_fixed_route(feed),
    }
}

fn has_deviated_fixed_route(feed: &GtfsFeed) -> bool {
    let table = feed.table(GtfsFile::StopTimes);
    let (zones, stops) = (table.text_column("location_id"), table.text_column("stop_id"));
    let (arrivals, departures) =
        (table.number_column("arrival_time"), table.number_column("departure_time"));
    feed.rows_grouped_by_field(GtfsFile::StopTimes, "trip_id").iter().any(|(_, rows)| {
        rows.iter().any(|&row| zones.text_code_of_row(row).is_some())
            && rows.iter().any(|&row| stops.text_code_of_row(row).is_some())
            && rows.iter().any(|&row| arrivals.get(row).is_some())
            && rows.iter().any(|&row| departures.get(row).is_some())
    })
}
