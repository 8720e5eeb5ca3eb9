//! A departure: its scheduled and its realtime data.

use jiff::{Timestamp, tz::TimeZone};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use smol_str::SmolStr;

use super::join::HexColor;
use crate::feed_id::FeedId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DepartureStatus {
    /// Only the schedule contains the departure.
    Scheduled,
    /// A trip update predicts it.
    Realtime,
    /// The trip does not run.
    Cancelled,
    /// The trip runs but skips this stop.
    Skipped,
}

impl DepartureStatus {
    /// Returns the name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            DepartureStatus::Scheduled => "scheduled",
            DepartureStatus::Realtime => "realtime",
            DepartureStatus::Cancelled => "cancelled",
            DepartureStatus::Skipped => "skipped",
        }
    }
}

/// A departure from a stop. Its JSON omits `id` and `age`: a change carries the id, and an age would always change.
#[derive(Clone, Debug)]
pub struct Departure {
    /// `<trip_id>:<start_date>:<start_time>:<stop_sequence>`; of a call without a `stop_sequence` it ends with the
    /// number of calls from there on.
    pub id: SmolStr,
    /// The schedule feed, which defines the ids.
    pub feed: FeedId,
    pub trip_id: SmolStr,
    pub route_id: SmolStr,
    /// The route's short name, else its long one.
    pub route_short_name: SmolStr,
    /// Red, green and blue.
    pub route_color: Option<[u8; 3]>,
    /// Red, green and blue.
    pub route_text_color: Option<[u8; 3]>,
    /// GTFS `route_type`.
    pub route_type: u16,
    pub headsign: Option<SmolStr>,
    /// The platform code.
    pub platform: Option<SmolStr>,
    /// The code of the scheduled platform, if the departure was moved to another one.
    pub scheduled_platform: Option<SmolStr>,
    /// The stop or platform id.
    pub stop_id: SmolStr,
    /// `stop_sequence` of the call; `None` where the timetable does not have the call and its feed does not number it.
    pub stop_sequence: Option<u32>,
    /// Scheduled departure, Unix seconds; `None` where neither the timetable nor the feed says one. Then `expected` is
    /// known.
    pub scheduled: Option<i64>,
    /// Predicted departure, Unix seconds.
    pub expected: Option<i64>,
    /// Seconds behind the schedule; negative if early.
    pub delay: Option<i32>,
    pub status: DepartureStatus,
    /// The feed behind the data: a realtime feed, or the schedule itself.
    pub source: FeedId,
    /// The age of that feed's data in seconds; `None` for the schedule.
    pub age: Option<u64>,
    /// The agency's time zone, used for formatting.
    pub zone: TimeZone,
}

impl Departure {
    /// Returns the predicted departure, else the scheduled one, in Unix seconds.
    pub fn expected_or_scheduled_time(&self) -> i64 {
        self.expected.or(self.scheduled).unwrap_or_default()
    }

    /// Formats a Unix time as RFC 3339 in the agency's time zone.
    pub fn format_local_time(&self, unix: i64) -> String {
        match Timestamp::from_second(unix) {
            Ok(timestamp) => {
                let zoned = timestamp.to_zoned(self.zone.clone());
                zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
            }
            Err(_) => Timestamp::UNIX_EPOCH.to_string(),
        }
    }
}

/// Equal if a passenger would see the same; the age does not count.
impl PartialEq for Departure {
    fn eq(&self, other: &Departure) -> bool {
        let Departure { id, feed, trip_id, route_id, route_short_name, .. } = self;
        let same_trip = (id, feed, trip_id, route_id, route_short_name)
            == (&other.id, &other.feed, &other.trip_id, &other.route_id, &other.route_short_name);
        let same_route = (self.route_color, self.route_text_color, self.route_type)
            == (other.route_color, other.route_text_color, other.route_type);
        let same_platform = (&self.platform, &self.scheduled_platform)
            == (&other.platform, &other.scheduled_platform);
        let same_call = (&self.headsign, &self.stop_id, self.stop_sequence)
            == (&other.headsign, &other.stop_id, other.stop_sequence);
        let same_times = (self.scheduled, self.expected, self.delay, self.status, &self.source)
            == (other.scheduled, other.expected, other.delay, other.status, &other.source);
        same_trip && same_route && same_platform && same_call && same_times
    }
}

impl Serialize for Departure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let color = |color: Option<[u8; 3]>| color.map(|color| HexColor(color).to_string());
        let n_fields = 17 + usize::from(self.scheduled_platform.is_some());
        let mut fields = serializer.serialize_struct("Departure", n_fields)?;
        fields.serialize_field("feed", &self.feed)?;
        fields.serialize_field("trip_id", &self.trip_id)?;
        fields.serialize_field("route_id", &self.route_id)?;
        fields.serialize_field("route_short_name", &self.route_short_name)?;
        fields.serialize_field("route_color", &color(self.route_color))?;
        fields.serialize_field("route_text_color", &color(self.route_text_color))?;
        fields.serialize_field("route_type", &self.route_type)?;
        fields.serialize_field("headsign", &self.headsign)?;
        fields.serialize_field("platform", &self.platform)?;
        if let Some(platform) = &self.scheduled_platform {
            fields.serialize_field("scheduled_platform", platform)?;
        }
        fields.serialize_field("stop_id", &self.stop_id)?;
        fields.serialize_field("stop_sequence", &self.stop_sequence)?;
        let local_time = |at: Option<i64>| at.map(|at| self.format_local_time(at));
        fields.serialize_field("scheduled", &local_time(self.scheduled))?;
        fields.serialize_field("expected", &local_time(self.expected))?;
        fields.serialize_field("delay", &self.delay)?;
        fields.serialize_field("status", self.status.as_str())?;
        fields.serialize_field("source", &self.source)?;
        fields.end()
    }
}
