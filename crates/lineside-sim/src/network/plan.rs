//! The plan of lines: the districts that each line connects. Other modules add paths, stops and times.
//!
//! Numbers are indices into [`DISTRICTS`](crate::geography::plan::DISTRICTS).

use crate::geography::plane::{PlanePoint, point_from_xy};

/// A point on a railway.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RailPoint {
    /// The station of a district, set back from its main street.
    District(usize),
    /// A station outside districts.
    Halt(&'static str, PlanePoint),
    /// A point of the track without a station.
    Track(PlanePoint),
}

use RailPoint::{District, Halt, Track};

/// The track from the main station over the river to the west.
const TO_WESTWHARF: [RailPoint; 4] = [
    Track(point_from_xy(900.0, -1_180.0)),
    Track(point_from_xy(-350.0, -1_820.0)),
    Track(point_from_xy(-1_500.0, -1_900.0)),
    District(7),
];
const TO_RAVENBY: [RailPoint; 4] = [
    Track(point_from_xy(-4_600.0, -900.0)),
    District(10),
    Halt("Mossgate", point_from_xy(-8_900.0, 650.0)),
    District(20),
];
const TO_WESTERNESS: [RailPoint; 5] = [
    Track(point_from_xy(-4_500.0, -2_150.0)),
    District(11),
    Track(point_from_xy(-9_300.0, -3_900.0)),
    Halt("Skel Heath", point_from_xy(-10_150.0, -5_400.0)),
    District(19),
];
const TO_NORWICK: [RailPoint; 6] = [
    Track(point_from_xy(2_300.0, 900.0)),
    Track(point_from_xy(2_500.0, 1_900.0)),
    Track(point_from_xy(2_150.0, 2_900.0)),
    Halt("Northgate Park", point_from_xy(1_150.0, 4_300.0)),
    District(12),
    Halt("Norcross", point_from_xy(500.0, 8_700.0)),
];
const TO_EASTMARKET: [RailPoint; 1] = [District(5)];
const TO_LINDWELL: [RailPoint; 4] =
    [District(13), District(17), Halt("Fairwood", point_from_xy(9_700.0, 8_500.0)), District(25)];
const TO_HAVERBY: [RailPoint; 1] = [District(14)];
const TO_EASTERBY: [RailPoint; 2] =
    [Halt("Eastmere", point_from_xy(9_700.0, 2_500.0)), District(24)];
const TO_AIRPORT: [RailPoint; 2] =
    [Halt("Racecourse", point_from_xy(9_300.0, -900.0)), District(23)];
const TO_SUNDERNESS: [RailPoint; 5] = [
    District(8),
    District(15),
    District(16),
    Halt("Haver Heath", point_from_xy(10_100.0, -7_100.0)),
    District(26),
];

/// A railway line: number, colour, its parts towards and from the main station, and true if the train skips the smaller
/// stations. The outermost station comes first.
pub(crate) struct RailLine {
    pub(crate) number: &'static str,
    pub(crate) color: &'static str,
    pub(crate) inbound: &'static [&'static [RailPoint]],
    pub(crate) outbound: &'static [&'static [RailPoint]],
    pub(crate) limited: bool,
}

/// The index of the main station's district.
pub(crate) const MAIN_STATION: usize = 4;

/// The railway lines. Parts are written as seen from the main station; the inbound parts are reversed.
pub(crate) const RAIL_LINES: [RailLine; 4] = [
    RailLine {
        number: "R1",
        color: "1D6B4F",
        inbound: &[&TO_WESTWHARF, &TO_RAVENBY],
        outbound: &[&TO_EASTMARKET, &TO_LINDWELL],
        limited: false,
    },
    RailLine {
        number: "R2",
        color: "2E8B57",
        inbound: &[&TO_WESTWHARF, &TO_WESTERNESS],
        outbound: &[&TO_EASTMARKET, &TO_HAVERBY, &TO_EASTERBY],
        limited: false,
    },
    RailLine {
        number: "R3",
        color: "5A7D2B",
        inbound: &[&TO_NORWICK, &[District(22)]],
        outbound: &[&TO_SUNDERNESS],
        limited: false,
    },
    RailLine {
        number: "RX",
        color: "3B4A54",
        inbound: &[&TO_WESTWHARF, &[Track(point_from_xy(-4_600.0, -900.0)), District(10)]],
        outbound: &[&TO_EASTMARKET, &TO_HAVERBY, &TO_AIRPORT],
        limited: true,
    },
];

/// Number, colour and districts of the metro lines; there is a station about every kilometre.
pub(crate) const METRO_LINES: [(&str, &str, &[usize]); 3] = [
    ("M1", "D2283C", &[9, 6, 2, 0, 4, 5, 14]),
    ("M2", "1F62B5", &[12, 1, 0, 3, 15, 16]),
    ("M3", "7A3E9D", &[18, 6, 7, 3, 8, 5, 13, 17]),
];

pub(crate) const TRAM_LINES: [(&str, &str, &[usize]); 7] = [
    ("1", "C8431F", &[6, 2, 0, 4, 8, 15]),
    ("2", "B5651D", &[10, 7, 2, 0, 1, 12]),
    ("3", "A6226E", &[11, 7, 2, 6, 1, 13]),
    ("4", "00788A", &[3, 4, 5, 14]),
    ("5", "3D6FA8", &[9, 6, 1, 4, 3]),
    ("6", "8A5A00", &[16, 15, 3, 0, 2]),
    ("7", "4B5BB0", &[12, 1, 4, 8, 15]),
];

/// The kind of a bus line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BusKind {
    City,
    /// Few stops.
    Express,
    /// Runs by headway instead of a timetable.
    Shuttle,
    /// Runs after midnight only.
    Night,
}

use BusKind::{City, Express, Night, Shuttle};

pub(crate) const BUS_LINES: [(&str, &str, &[usize], BusKind); 22] = [
    ("10", "0E7C6B", &[3, 0, 2], Shuttle),
    ("11", "29702B", &[18, 12, 1, 4, 8, 15], City),
    ("12", "8C5A1E", &[9, 6, 2, 0, 3], City),
    ("13", "B03A5B", &[10, 6, 1, 13], City),
    ("14", "3D7A9E", &[11, 7, 0, 4, 5, 13], City),
    ("15", "6B4C9A", &[14, 5, 4, 3], City),
    ("16", "1E6F8C", &[16, 15, 8, 5, 13, 17], City),
    ("17", "A04A2A", &[18, 9, 10, 11], City),
    ("18", "4F7136", &[12, 13, 14, 8], City),
    ("19", "9A3412", &[7, 6, 18], City),
    ("20", "2B5C8A", &[2, 1, 13, 5, 8, 3], City),
    ("21", "7C3F6B", &[10, 7, 3, 15, 16], City),
    ("30", "5B6B1F", &[21, 9, 6], City),
    ("31", "1F6F5C", &[20, 10, 7], City),
    ("32", "8A4B2A", &[19, 11, 7], City),
    ("33", "44568F", &[22, 12, 1], City),
    ("34", "8F2F52", &[25, 17, 13, 5], City),
    ("35", "35703F", &[24, 14, 5, 4], City),
    ("X9", "2F3B52", &[23, 14, 5, 4, 0], Express),
    ("N1", "34306B", &[9, 6, 2, 0, 4, 5, 14], Night),
    ("N2", "34306B", &[12, 1, 0, 3, 15, 16], Night),
    ("N3", "34306B", &[11, 7, 2, 1, 13, 17], Night),
];

/// Colours for the bus lines that a larger fleet adds.
pub(crate) const MORE_BUS_COLORS: [&str; 8] =
    ["0E7C6B", "8C5A1E", "3D7A9E", "6B4C9A", "29702B", "A04A2A", "8F2F52", "44568F"];

/// Piers: name and approximate position; they are moved to the water's edge.
pub(crate) const PIERS: [(&str, PlanePoint); 11] = [
    ("Old Town Pier", point_from_xy(-560.0, -560.0)),
    ("Westwharf Pier", point_from_xy(-1_250.0, -2_500.0)),
    ("Haven Quay Pier", point_from_xy(950.0, -4_150.0)),
    ("Docklands Pier", point_from_xy(4_650.0, -4_800.0)),
    ("Sandgate Pier", point_from_xy(7_500.0, -6_500.0)),
    ("Skelby Pier", point_from_xy(-6_700.0, -4_700.0)),
    ("Gull Holm", point_from_xy(-1_900.0, -7_800.0)),
    ("Westerness Pier", point_from_xy(-8_900.0, -7_500.0)),
    ("Sunderness Pier", point_from_xy(9_600.0, -9_400.0)),
    ("Northgate Steps", point_from_xy(1_750.0, 1_850.0)),
    ("Millfield Landing", point_from_xy(3_700.0, 4_600.0)),
];

/// Number, colour and piers (by index) of the ferry lines.
pub(crate) const FERRY_LINES: [(&str, &str, &[usize]); 4] = [
    ("F1", "0077B6", &[0, 1, 2, 3, 4]),
    ("F2", "00659C", &[2, 6, 7]),
    ("F3", "2A7F9E", &[5, 1, 2, 8]),
    ("F4", "00838F", &[1, 0, 9, 10]),
];

/// Landmarks, which name stops near them.
pub(crate) const LANDMARKS: [(&str, PlanePoint); 30] = [
    ("Minster", point_from_xy(-250.0, 320.0)),
    ("Town Hall", point_from_xy(260.0, 260.0)),
    ("Fish Market", point_from_xy(-330.0, -420.0)),
    ("Royal Theatre", point_from_xy(-900.0, 650.0)),
    ("Law Courts", point_from_xy(-1_900.0, 950.0)),
    ("University", point_from_xy(-3_000.0, 1_700.0)),
    ("Observatory", point_from_xy(-3_950.0, 2_700.0)),
    ("City Museum", point_from_xy(900.0, -350.0)),
    ("Post Office", point_from_xy(1_350.0, 150.0)),
    ("Concert Hall", point_from_xy(800.0, -1_500.0)),
    ("Custom House", point_from_xy(650.0, -3_700.0)),
    ("Maritime Museum", point_from_xy(2_250.0, -3_500.0)),
    ("Cruise Terminal", point_from_xy(3_100.0, -3_500.0)),
    ("Shipyard", point_from_xy(4_300.0, -3_500.0)),
    ("City Hospital", point_from_xy(3_200.0, -400.0)),
    ("Exhibition Hall", point_from_xy(5_200.0, 300.0)),
    ("Stadium", point_from_xy(6_300.0, -600.0)),
    ("Water Tower", point_from_xy(4_500.0, 2_500.0)),
    ("Brewery", point_from_xy(1_700.0, 3_300.0)),
    ("Old Gasworks", point_from_xy(-1_100.0, 3_400.0)),
    ("Botanic Garden", point_from_xy(-2_500.0, 2_950.0)),
    ("Zoo", point_from_xy(-4_700.0, 900.0)),
    ("West Hospital", point_from_xy(-5_300.0, -900.0)),
    ("Rope Walk Mills", point_from_xy(-4_000.0, -1_600.0)),
    ("Technical College", point_from_xy(-4_600.0, 3_700.0)),
    ("Science Park", point_from_xy(-5_900.0, 3_700.0)),
    ("Children's Hospital", point_from_xy(600.0, 4_700.0)),
    ("Garden City", point_from_xy(-1_200.0, 6_200.0)),
    ("Lido", point_from_xy(8_700.0, -5_600.0)),
    ("Fairhill Chapel", point_from_xy(7_300.0, 5_700.0)),
];
