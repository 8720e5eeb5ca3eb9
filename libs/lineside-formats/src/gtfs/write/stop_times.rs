//! A row of `stop_times.txt` as typed values.

use crate::Error;

/// A value of `pickup_type` or `drop_off_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoardingType {
    /// Regular boarding or alighting.
    #[default]
    Regular = 0,
    /// No boarding or alighting.
    None = 1,
    /// Riders have to ask the driver.
    AskDriver = 3,
}

impl BoardingType {
    fn as_str(self) -> &'static str {
        match self {
            BoardingType::Regular => "0",
            BoardingType::None => "1",
            BoardingType::AskDriver => "3",
        }
    }
}

/// A row of `stop_times.txt`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopTimeRow<'a> {
    /// `trip_id`.
    pub trip_id: &'a str,
    /// `arrival_time`, in seconds after the start of the service day.
    pub arrival: Option<i32>,
    /// `departure_time`, in the unit of `arrival`.
    pub departure: Option<i32>,
    /// `stop_id`.
    pub stop_id: &'a str,
    /// `stop_sequence`.
    pub sequence: u32,
    /// `stop_headsign`; empty if it is that of the trip.
    pub headsign: &'a str,
    /// `pickup_type`.
    pub pickup: BoardingType,
    /// `drop_off_type`.
    pub drop_off: BoardingType,
}

impl StopTimeRow<'_> {
    /// The columns of the written table.
    pub const COLUMNS: [&'static str; 8] = [
        "trip_id",
        "arrival_time",
        "departure_time",
        "stop_id",
        "stop_sequence",
        "stop_headsign",
        "pickup_type",
        "drop_off_type",
    ];

    /// Passes the row's cells, in the order of the columns, to `write`.
    pub(super) fn pass_row_cells_to(
        &self,
        write: impl FnOnce(&[&str]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let [arrival, departure] = [self.arrival, self.departure]
            .map(|time| time.map(format_gtfs_time).unwrap_or_default());
        write(&[
            self.trip_id,
            &arrival,
            &departure,
            self.stop_id,
            &self.sequence.to_string(),
            self.headsign,
            self.pickup.as_str(),
            self.drop_off.as_str(),
        ])
    }
}

/// Formats a time in seconds as in GTFS.
pub(crate) fn format_gtfs_time(time: i32) -> String {
    let parts = [time / 3_600, time / 60 % 60, time % 60];
    if parts[0] > 99 || time < 0 {
        let [hours, minutes, seconds] = parts;
        return format!("{hours:02}:{minutes:02}:{seconds:02}");
    }
    let mut text = String::with_capacity(8);
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            text.push(':');
        }
        text.extend([part / 10, part % 10].map(|digit| char::from(b'0' + digit as u8)));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::format_gtfs_time;
    use crate::gtfs::values;

    proptest! {
        #[test]
        fn written_times_parse_to_the_same_value(time in 0..=values::TIME_MAX) {
            prop_assert_eq!(values::parse_gtfs_time(format_gtfs_time(time).as_bytes()), Ok(time));
        }
    }

    #[test]
    fn hours_have_two_digits_or_more() {
        assert_eq!(format_gtfs_time(0), "00:00:00");
        assert_eq!(format_gtfs_time(32 * 3_600 + 59 * 60 + 1), "32:59:01");
        assert_eq!(format_gtfs_time(100 * 3_600), "100:00:00");
    }
}
