//! The timetable's additions to a record.

use serde::{Serialize, Serializer};
use smol_str::SmolStr;

/// Route, direction, headsign, next stop and delay, as far as known; the object `lineside` in JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimetableJoin {
    /// The route id of the schedule, else of the feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_id: Option<SmolStr>,
    /// The route's short name, else its long one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_short_name: Option<SmolStr>,
    /// Red, green and blue; six hexadecimal digits in JSON.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hex")]
    pub route_color: Option<[u8; 3]>,
    /// Red, green and blue; six hexadecimal digits in JSON.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hex")]
    pub route_text_color: Option<[u8; 3]>,
    /// GTFS `route_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_type: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headsign: Option<SmolStr>,
    /// GTFS `direction_id` of the scheduled trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction_id: Option<u8>,
    /// Seconds behind the schedule; negative if early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_stop_id: Option<SmolStr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_stop_name: Option<SmolStr>,
}

fn hex<S: Serializer>(color: &Option<[u8; 3]>, serializer: S) -> Result<S::Ok, S::Error> {
    match color {
        Some(color) => serializer.collect_str(&HexColor(*color)),
        None => serializer.serialize_none(),
    }
}

/// A color in GTFS notation: six hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub struct HexColor(pub [u8; 3]);

impl std::fmt::Display for HexColor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "{red:02X}{green:02X}{blue:02X}")
    }
}
