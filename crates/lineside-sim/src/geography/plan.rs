//! The plan of the city: coast, river, islands, harbour, districts and main roads.
//!
//! A seed varies this plan elsewhere (the coast's details, the exact positions of districts, all streets except the
//! main roads, all traffic), so each city differs and every one has a river to cross.

use super::plane::{PlanePoint, point_from_xy};

/// The name of the city. The river is the Lind and the island Sandrey; neither is on any other map.
pub(crate) const CITY: &str = "Lindhaven";

/// The plane's origin: on the Dogger Bank in the North Sea, dry land until about 8,000 years ago and open water today,
/// so that the city is between real coasts and covers no real place.
pub(crate) const ORIGIN: (f64, f64) = (54.72, 2.06);

/// Half the width and height of everything that is drawn and routed.
pub(crate) const HALF_EXTENT: PlanePoint = point_from_xy(21_500.0, 19_000.0);
/// The centre of that extent, as the city is at the island's south coast.
pub(crate) const EXTENT_CENTRE: PlanePoint = point_from_xy(-700.0, 2_900.0);

/// The character of a district, which determines its names, streets and demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DistrictCharacter {
    Core,
    Inner,
    Suburb,
    Town,
}

impl DistrictCharacter {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Inner => "inner",
            Self::Suburb => "suburb",
            Self::Town => "town",
        }
    }
}

/// A district of the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct District {
    pub(crate) name: &'static str,
    pub(crate) position: PlanePoint,
    /// The reach of its streets, in metres.
    pub(crate) reach: f64,
    pub(crate) character: DistrictCharacter,
}

const fn define_district(
    name: &'static str,
    x: f64,
    y: f64,
    reach: f64,
    character: DistrictCharacter,
) -> District {
    District { name, position: point_from_xy(x, y), reach, character }
}

use DistrictCharacter::{Core, Inner, Suburb, Town};

/// The districts. The plans of lines refer to them by index.
pub(crate) const DISTRICTS: [District; 27] = [
    define_district("Old Town", 0.0, 40.0, 900.0, Core),
    define_district("Northgate", 550.0, 2_450.0, 1_300.0, Inner),
    define_district("Ravensgate", -1_450.0, 450.0, 1_100.0, Core),
    define_district("Haven Quay", 1_500.0, -2_950.0, 1_400.0, Inner),
    define_district("Central Station", 1_750.0, -250.0, 1_300.0, Core),
    define_district("Eastmarket", 3_900.0, 900.0, 1_500.0, Inner),
    define_district("Saint Olave", -3_500.0, 2_000.0, 1_500.0, Inner),
    define_district("Westwharf", -2_950.0, -1_250.0, 1_700.0, Inner),
    define_district("Kirkwick", 2_850.0, -1_750.0, 1_200.0, Inner),
    define_district("Ullerby", -5_300.0, 4_700.0, 1_500.0, Suburb),
    define_district("Thornholm", -6_200.0, 200.0, 1_600.0, Suburb),
    define_district("Skelby", -6_700.0, -2_900.0, 1_400.0, Suburb),
    define_district("Elmthorpe", 300.0, 5_700.0, 1_500.0, Suburb),
    define_district("Millfield", 5_600.0, 3_500.0, 1_400.0, Suburb),
    define_district("Haverby", 7_100.0, 300.0, 1_500.0, Suburb),
    define_district("Docklands", 5_000.0, -3_150.0, 1_300.0, Inner),
    define_district("Sandgate", 7_900.0, -4_700.0, 1_300.0, Suburb),
    define_district("Fairhill", 8_100.0, 6_700.0, 1_300.0, Suburb),
    define_district("Birkthwaite", -2_500.0, 7_100.0, 1_300.0, Suburb),
    define_district("Westerness", -10_300.0, -7_300.0, 1_100.0, Town),
    define_district("Ravenby", -11_700.0, 1_700.0, 1_100.0, Town),
    define_district("Lakeside", -9_300.0, 7_700.0, 1_000.0, Town),
    define_district("Norwick", 1_300.0, 11_300.0, 1_200.0, Town),
    define_district("Airport", 12_600.0, -3_300.0, 800.0, Town),
    define_district("Easterby", 12_500.0, 3_700.0, 1_200.0, Town),
    define_district("Lindwell", 11_000.0, 10_200.0, 1_100.0, Town),
    define_district("Sunderness", 11_900.0, -9_000.0, 1_000.0, Town),
];

/// The island's coast, counter-clockwise from the east.
pub(crate) const COAST: [PlanePoint; 44] = [
    point_from_xy(18_200.0, 1_500.0),
    point_from_xy(19_000.0, 5_000.0),
    point_from_xy(17_600.0, 8_200.0),
    point_from_xy(17_400.0, 11_600.0),
    point_from_xy(14_600.0, 14_800.0),
    point_from_xy(11_000.0, 15_900.0),
    point_from_xy(7_200.0, 18_300.0),
    point_from_xy(2_800.0, 18_000.0),
    point_from_xy(-1_400.0, 19_300.0),
    point_from_xy(-5_600.0, 16_900.0),
    point_from_xy(-9_700.0, 16_600.0),
    point_from_xy(-13_300.0, 13_700.0),
    point_from_xy(-16_400.0, 12_300.0),
    point_from_xy(-17_300.0, 8_800.0),
    point_from_xy(-19_900.0, 6_300.0),
    point_from_xy(-19_300.0, 2_600.0),
    point_from_xy(-20_200.0, -700.0),
    point_from_xy(-17_700.0, -2_500.0),
    point_from_xy(-16_400.0, -5_300.0),
    point_from_xy(-13_600.0, -6_200.0),
    point_from_xy(-12_600.0, -8_900.0),
    point_from_xy(-10_900.0, -10_900.0),
    point_from_xy(-9_300.0, -9_700.0),
    point_from_xy(-9_100.0, -7_300.0),
    point_from_xy(-8_500.0, -5_400.0),
    point_from_xy(-7_300.0, -4_500.0),
    point_from_xy(-5_700.0, -4_250.0),
    point_from_xy(-4_400.0, -3_500.0),
    point_from_xy(-3_300.0, -3_450.0),
    point_from_xy(-2_000.0, -3_700.0),
    point_from_xy(-700.0, -3_600.0),
    point_from_xy(600.0, -4_000.0),
    point_from_xy(2_300.0, -4_300.0),
    point_from_xy(4_000.0, -4_450.0),
    point_from_xy(5_700.0, -4_950.0),
    point_from_xy(7_100.0, -6_000.0),
    point_from_xy(8_300.0, -7_400.0),
    point_from_xy(9_400.0, -9_500.0),
    point_from_xy(11_200.0, -11_700.0),
    point_from_xy(13_700.0, -10_900.0),
    point_from_xy(14_200.0, -8_000.0),
    point_from_xy(14_700.0, -5_500.0),
    point_from_xy(16_400.0, -4_300.0),
    point_from_xy(16_900.0, -1_700.0),
];

/// The waterfront with quays, where the coast hardly varies: its centre and its reach.
pub(crate) const WATERFRONT: (PlanePoint, f64) = (point_from_xy(1_500.0, -3_600.0), 6_500.0);

/// Islets in the bay: centre, half length, half width, and the direction of the length in degrees from east.
pub(crate) const ISLETS: [(&str, PlanePoint, f64, f64, f64); 4] = [
    ("Gull Holm", point_from_xy(-1_900.0, -8_300.0), 900.0, 420.0, 20.0),
    ("Eider Skerry", point_from_xy(3_700.0, -10_300.0), 480.0, 260.0, -30.0),
    ("Seal Skerry", point_from_xy(-6_600.0, -12_600.0), 380.0, 240.0, 75.0),
    ("Lantern Rock", point_from_xy(700.0, -12_900.0), 210.0, 150.0, 0.0),
];

/// Breakwaters of the harbour: lines with their half width in metres.
pub(crate) const MOLES: [(&[PlanePoint], f64); 3] = [
    (
        &[
            point_from_xy(7_000.0, -5_800.0),
            point_from_xy(5_700.0, -6_500.0),
            point_from_xy(3_900.0, -6_650.0),
            point_from_xy(2_500.0, -6_350.0),
        ],
        24.0,
    ),
    (
        &[
            point_from_xy(-4_600.0, -3_550.0),
            point_from_xy(-3_900.0, -4_700.0),
            point_from_xy(-2_700.0, -5_500.0),
            point_from_xy(-1_300.0, -5_750.0),
        ],
        20.0,
    ),
    (
        &[
            point_from_xy(9_050.0, -8_600.0),
            point_from_xy(8_300.0, -9_000.0),
            point_from_xy(7_900.0, -9_500.0),
        ],
        18.0,
    ),
];

/// Harbour basins: the centre of the seaward end, width, length and the direction inland in degrees from east.
pub(crate) const BASINS: [(PlanePoint, f64, f64, f64); 7] = [
    (point_from_xy(1_950.0, -4_350.0), 130.0, 620.0, 84.0),
    (point_from_xy(2_720.0, -4_420.0), 170.0, 800.0, 84.0),
    (point_from_xy(3_480.0, -4_520.0), 170.0, 880.0, 82.0),
    (point_from_xy(4_260.0, -4_620.0), 200.0, 940.0, 80.0),
    (point_from_xy(5_080.0, -4_850.0), 200.0, 880.0, 76.0),
    (point_from_xy(5_950.0, -5_300.0), 180.0, 760.0, 66.0),
    (point_from_xy(-5_150.0, -4_150.0), 150.0, 420.0, 62.0),
];

/// The centre line of the river from its lake to the bay, with half the width of water at each point.
pub(crate) const RIVER: [(PlanePoint, f64); 17] = [
    (point_from_xy(8_600.0, 13_300.0), 50.0),
    (point_from_xy(9_300.0, 10_700.0), 60.0),
    (point_from_xy(9_200.0, 9_300.0), 66.0),
    (point_from_xy(7_900.0, 8_700.0), 72.0),
    (point_from_xy(6_500.0, 8_500.0), 78.0),
    (point_from_xy(5_750.0, 7_300.0), 82.0),
    (point_from_xy(5_500.0, 6_000.0), 86.0),
    (point_from_xy(4_300.0, 5_000.0), 92.0),
    (point_from_xy(3_300.0, 4_300.0), 96.0),
    (point_from_xy(2_900.0, 3_100.0), 98.0),
    (point_from_xy(2_000.0, 2_050.0), 102.0),
    (point_from_xy(900.0, 1_050.0), 108.0),
    (point_from_xy(0.0, 0.0), 112.0),
    (point_from_xy(-650.0, -1_150.0), 120.0),
    (point_from_xy(-950.0, -2_200.0), 150.0),
    (point_from_xy(-1_450.0, -3_300.0), 240.0),
    (point_from_xy(-2_100.0, -4_600.0), 420.0),
];

/// Islands in the river: distance from the old town along the river (upstream positive), half length, half width.
pub(crate) const RIVER_ISLANDS: [(&str, f64, f64, f64); 3] = [
    ("Old Town", 0.0, 900.0, 360.0),
    ("Orchard Eyot", 5_150.0, 520.0, 105.0),
    ("Swan Eyot", 3_050.0, 300.0, 60.0),
];

/// The river's tributary from a lake in the north-west: centre line and half width.
pub(crate) const TRIBUTARY: [(PlanePoint, f64); 10] = [
    (point_from_xy(-8_700.0, 10_150.0), 20.0),
    (point_from_xy(-6_700.0, 8_300.0), 20.0),
    (point_from_xy(-5_200.0, 7_300.0), 21.0),
    (point_from_xy(-4_100.0, 6_100.0), 22.0),
    (point_from_xy(-3_900.0, 4_700.0), 23.0),
    (point_from_xy(-2_600.0, 3_800.0), 24.0),
    (point_from_xy(-1_600.0, 2_900.0), 26.0),
    (point_from_xy(-300.0, 2_050.0), 28.0),
    (point_from_xy(700.0, 1_750.0), 30.0),
    (point_from_xy(1_270.0, 1_440.0), 34.0),
];

/// The moat of the old fortifications, now a canal through gardens.
pub(crate) const CANAL: [PlanePoint; 8] = [
    point_from_xy(-1_050.0, 2_500.0),
    point_from_xy(-1_650.0, 1_950.0),
    point_from_xy(-2_250.0, 1_350.0),
    point_from_xy(-2_560.0, 600.0),
    point_from_xy(-2_520.0, -150.0),
    point_from_xy(-2_150.0, -800.0),
    point_from_xy(-1_550.0, -1_250.0),
    point_from_xy(-700.0, -1_480.0),
];
pub(crate) const CANAL_HALF_WIDTH: f64 = 22.0;

/// Lakes: name, centre, half length, half width, direction of the length in degrees from east.
pub(crate) const LAKES: [(&str, PlanePoint, f64, f64, f64); 6] = [
    ("Lindmere", point_from_xy(8_600.0, 13_400.0), 1_500.0, 800.0, 35.0),
    ("Skelmere", point_from_xy(-8_900.0, 10_300.0), 1_700.0, 760.0, -35.0),
    ("Long Water", point_from_xy(-7_900.0, 5_300.0), 850.0, 260.0, 65.0),
    ("Eastmere", point_from_xy(10_000.0, 1_700.0), 520.0, 300.0, 15.0),
    ("Mill Pond", point_from_xy(3_400.0, 7_600.0), 330.0, 190.0, 80.0),
    ("Thornmere", point_from_xy(-13_700.0, 5_400.0), 760.0, 430.0, 20.0),
];

/// Parks and woods: name, centre, half length, half width, direction in degrees from east, and true for a wood.
pub(crate) const PARKS: [(&str, PlanePoint, f64, f64, f64, bool); 24] = [
    ("Castle Gardens", point_from_xy(-520.0, -330.0), 150.0, 95.0, 55.0, false),
    ("King's Park", point_from_xy(-4_550.0, 350.0), 820.0, 420.0, 15.0, false),
    ("Botanic Garden", point_from_xy(-2_500.0, 2_750.0), 420.0, 260.0, -30.0, false),
    ("Northgate Park", point_from_xy(1_250.0, 3_750.0), 560.0, 380.0, 60.0, false),
    ("Station Green", point_from_xy(2_500.0, 350.0), 230.0, 150.0, 20.0, false),
    ("Eastfield Common", point_from_xy(5_400.0, 1_700.0), 680.0, 400.0, 40.0, false),
    ("Harbour Park", point_from_xy(350.0, -3_300.0), 520.0, 210.0, -12.0, false),
    ("Kirk Hill", point_from_xy(4_350.0, -1_350.0), 430.0, 300.0, 0.0, false),
    ("Shore Park", point_from_xy(6_900.0, -5_000.0), 430.0, 200.0, -45.0, false),
    ("Willow Park", point_from_xy(4_700.0, 5_900.0), 520.0, 260.0, 80.0, false),
    ("Elm Common", point_from_xy(-700.0, 4_650.0), 480.0, 360.0, 10.0, false),
    ("West Shore", point_from_xy(-4_700.0, -2_800.0), 500.0, 270.0, 25.0, false),
    ("Racecourse", point_from_xy(8_850.0, -1_600.0), 560.0, 330.0, 20.0, false),
    ("Lake Park", point_from_xy(-7_250.0, 5_200.0), 900.0, 330.0, 65.0, false),
    ("Birk Wood", point_from_xy(-4_000.0, 9_300.0), 1_900.0, 1_200.0, 20.0, true),
    ("Thorn Wood", point_from_xy(-8_600.0, 2_900.0), 1_500.0, 850.0, 40.0, true),
    ("Ravenwood", point_from_xy(-14_700.0, 8_900.0), 2_300.0, 1_300.0, 60.0, true),
    ("Norwood", point_from_xy(5_300.0, 11_100.0), 1_900.0, 1_300.0, 70.0, true),
    ("Fairwood", point_from_xy(10_900.0, 6_600.0), 1_400.0, 900.0, 15.0, true),
    ("Haver Heath", point_from_xy(10_100.0, -6_100.0), 1_200.0, 800.0, 60.0, true),
    ("Skel Heath", point_from_xy(-10_600.0, -3_300.0), 1_500.0, 900.0, -20.0, true),
    ("East Wood", point_from_xy(15_600.0, 7_500.0), 1_500.0, 900.0, 80.0, true),
    ("North Wood", point_from_xy(-2_700.0, 14_600.0), 2_600.0, 1_200.0, 5.0, true),
    ("Skelmere Wood", point_from_xy(-11_300.0, 11_900.0), 1_300.0, 900.0, -40.0, true),
];

/// Beaches on the open shores of the bay: the centre along the coast, and the reach to either side.
pub(crate) const BEACHES: [(PlanePoint, f64); 3] = [
    (point_from_xy(-9_300.0, -8_600.0), 1_700.0),
    (point_from_xy(8_600.0, -8_000.0), 2_000.0),
    (point_from_xy(-6_600.0, -4_400.0), 900.0),
];

/// The centre of the airport.
pub(crate) const AIRPORT: PlanePoint = point_from_xy(13_700.0, -2_900.0);
/// The runway's direction in degrees from east.
pub(crate) const RUNWAY_DIRECTION: f64 = 52.0;

/// Main roads through the districts, by index; each is one street with one name.
pub(crate) const MAIN_ROADS: [&[usize]; 16] = [
    &[10, 7, 2, 0, 4, 5, 14],
    &[20, 10],
    &[14, 24],
    &[9, 6, 2],
    &[21, 9],
    &[6, 1, 13],
    &[12, 1, 0],
    &[22, 12],
    &[13, 17, 25],
    &[5, 13],
    &[4, 8, 15, 16, 26],
    &[0, 3, 15],
    &[3, 4, 1],
    &[11, 7],
    &[19, 11],
    &[14, 23],
];

/// The outer ring road, from the western shore round the north to the airport.
pub(crate) const RING_ROAD: [PlanePoint; 13] = [
    point_from_xy(-7_700.0, -4_000.0),
    point_from_xy(-8_150.0, -2_200.0),
    point_from_xy(-7_900.0, 300.0),
    point_from_xy(-7_000.0, 2_700.0),
    point_from_xy(-5_900.0, 6_000.0),
    point_from_xy(-3_600.0, 8_300.0),
    point_from_xy(-300.0, 8_000.0),
    point_from_xy(2_700.0, 6_700.0),
    point_from_xy(5_600.0, 6_650.0),
    point_from_xy(7_900.0, 4_700.0),
    point_from_xy(9_000.0, 2_400.0),
    point_from_xy(9_500.0, -600.0),
    point_from_xy(12_100.0, -2_700.0),
];
