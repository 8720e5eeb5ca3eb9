//! Which features of GTFS a feed makes use of, by the names that gtfs.org gives them.

use crate::gtfs::{Feed, File};

/// What shows a feature.
enum Sign {
    /// A row of the file.
    Row(File),
    /// A row of the file that has this field.
    Field(File, &'static str),
    /// A stop time that serves a zone or a group of stops instead of a stop.
    Instead(&'static str),
    /// A trip with stops at fixed times and a zone between them.
    Deviation,
}

use Sign::{Deviation, Field, Instead, Row};

/// A feature is there if all signs of one of its lists are.
type Feature = (&'static str, &'static [&'static [Sign]]);

const FEATURES: &[Feature] = &[
    ("Pathway Connections", &[&[Row(File::Pathways)]]),
    (
        "Pathway Signs",
        &[
            &[Field(File::Pathways, "signposted_as")],
            &[Field(File::Pathways, "reversed_signposted_as")],
        ],
    ),
    (
        "Pathway Details",
        &[
            &[Field(File::Pathways, "max_slope")],
            &[Field(File::Pathways, "min_width")],
            &[Field(File::Pathways, "length")],
            &[Field(File::Pathways, "stair_count")],
        ],
    ),
    ("Levels", &[&[Row(File::Levels)]]),
    ("Transfers", &[&[Row(File::Transfers)]]),
    ("Shapes", &[&[Row(File::Shapes)]]),
    ("Frequencies", &[&[Row(File::Frequencies)]]),
    ("Feed Information", &[&[Row(File::FeedInfo)]]),
    ("Attributions", &[&[Row(File::Attributions)]]),
    ("Translations", &[&[Row(File::Translations)]]),
    ("Fares V1", &[&[Row(File::FareAttributes)]]),
    ("Fare Products", &[&[Row(File::FareProducts)]]),
    ("Fare Transfers", &[&[Row(File::FareTransferRules)]]),
    ("Booking Rules", &[&[Row(File::BookingRules)]]),
    (
        "Route Colors",
        &[&[Field(File::Routes, "route_color")], &[Field(File::Routes, "route_text_color")]],
    ),
    (
        "Headsigns",
        &[&[Field(File::Trips, "trip_headsign")], &[Field(File::StopTimes, "stop_headsign")]],
    ),
    ("Stops Wheelchair Accessibility", &[&[Field(File::Stops, "wheelchair_boarding")]]),
    ("Trips Wheelchair Accessibility", &[&[Field(File::Trips, "wheelchair_accessible")]]),
    ("Text-to-Speech", &[&[Field(File::Stops, "tts_stop_name")]]),
    ("Bike Allowed", &[&[Field(File::Trips, "bikes_allowed")]]),
    ("Location Types", &[&[Field(File::Stops, "location_type")]]),
    ("Stop Access", &[&[Field(File::Stops, "stop_access")]]),
    ("In-station Traversal Time", &[&[Field(File::Pathways, "traversal_time")]]),
    (
        "Route-Based Fares",
        &[
            &[
                Field(File::Routes, "network_id"),
                Row(File::FareProducts),
                Field(File::FareLegRules, "network_id"),
            ],
            &[
                Row(File::Networks),
                Row(File::FareProducts),
                Field(File::FareLegRules, "network_id"),
            ],
        ],
    ),
    (
        "Continuous Stops",
        &[
            &[Field(File::Routes, "continuous_drop_off")],
            &[Field(File::Routes, "continuous_pickup")],
            &[Field(File::StopTimes, "continuous_drop_off")],
            &[Field(File::StopTimes, "continuous_pickup")],
        ],
    ),
    ("Zone-Based Demand Responsive Services", &[&[Instead("location_id")]]),
    ("Predefined Routes with Deviation", &[&[Deviation]]),
    ("Fare Media", &[&[Row(File::FareMedia), Field(File::FareProducts, "fare_media_id")]]),
    (
        "Rider Categories",
        &[&[Row(File::RiderCategories), Field(File::FareProducts, "rider_category_id")]],
    ),
    (
        "Time-Based Fares",
        &[
            &[
                Row(File::Timeframes),
                Row(File::FareProducts),
                Field(File::FareLegRules, "from_timeframe_group_id"),
            ],
            &[
                Row(File::Timeframes),
                Row(File::FareProducts),
                Field(File::FareLegRules, "to_timeframe_group_id"),
            ],
        ],
    ),
    (
        "Zone-Based Fares",
        &[
            &[Row(File::Areas), Row(File::FareProducts), Field(File::FareLegRules, "from_area_id")],
            &[Row(File::Areas), Row(File::FareProducts), Field(File::FareLegRules, "to_area_id")],
        ],
    ),
    (
        "Contactless EMV Support",
        &[&[Field(File::Agency, "cemv_support")], &[Field(File::Routes, "cemv_support")]],
    ),
    (
        "Fixed-Stops Demand Responsive Transit",
        &[&[Row(File::LocationGroups), Instead("location_group_id")]],
    ),
    ("Cars Allowed", &[&[Field(File::Trips, "cars_allowed")]]),
];

/// The features that a feed makes use of.
pub fn features(feed: &Feed) -> Vec<&'static str> {
    let is_there =
        |lists: &[&[Sign]]| lists.iter().any(|list| list.iter().all(|sign| shows(feed, sign)));
    FEATURES.iter().filter(|(_, lists)| is_there(lists)).map(|(name, _)| *name).collect()
}

fn shows(feed: &Feed, sign: &Sign) -> bool {
    let stop_times = feed.table(File::StopTimes);
    match *sign {
        Row(file) => !feed.table(file).is_empty(),
        Field(file, field) => feed.table(file).gives(field),
        Instead(field) => {
            let (places, stops) = (stop_times.texts(field), stop_times.texts("stop_id"));
            stop_times.gives(field)
                && stop_times
                    .rows()
                    .any(|row| places.code(row).is_some() && stops.code(row).is_none())
        }
        Deviation => stop_times.gives("location_id") && has_deviation(feed),
    }
}

fn has_deviation(feed: &Feed) -> bool {
    let table = feed.table(File::StopTimes);
    let (zones, stops) = (table.texts("location_id"), table.texts("stop_id"));
    let (arrivals, departures) = (table.numbers("arrival_time"), table.numbers("departure_time"));
    feed.groups(File::StopTimes, "trip_id").iter().any(|(_, rows)| {
        rows.iter().any(|&row| zones.code(row).is_some())
            && rows.iter().any(|&row| stops.code(row).is_some())
            && rows.iter().any(|&row| arrivals.get(row).is_some())
            && rows.iter().any(|&row| departures.get(row).is_some())
    })
}
