//! One departure: what the schedule says, and what is known of it now.

use jiff::{Timestamp, tz::TimeZone};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use smol_str::SmolStr;

use super::join::HexColor;
use crate::config::FeedId;

/// How sure a departure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DepartureStatus {
    /// Only the schedule speaks of it.
    Scheduled,
    /// A trip update predicts it.
    Realtime,
    /// The trip does not run.
    Cancelled,
    /// The trip runs and leaves this stop out.
    Skipped,
}

impl DepartureStatus {
    /// The word for it in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            DepartureStatus::Scheduled => "scheduled",
            DepartureStatus::Realtime => "realtime",
            DepartureStatus::Cancelled => "cancelled",
            DepartureStatus::Skipped => "skipped",
        }
    }
}

/// One departure from a stop. Its JSON leaves out `id` and `age`: a change carries the id, and an age would change
/// with every look.
#[derive(Clone, Debug)]
pub struct Departure {
    /// `<trip_id>:<start_date>:<start_time>:<stop_sequence>`.
    pub id: SmolStr,
    /// The schedule feed, whose ids these are.
    pub feed: FeedId,
    /// The trip.
    pub trip_id: SmolStr,
    /// Its route.
    pub route_id: SmolStr,
    /// The route's short name, else its long one.
    pub route_short_name: SmolStr,
    /// Red, green, blue.
    pub route_color: Option<[u8; 3]>,
    /// Red, green, blue.
    pub route_text_color: Option<[u8; 3]>,
    /// GTFS `route_type`.
    pub route_type: u16,
    /// Where it is headed.
    pub headsign: Option<SmolStr>,
    /// The platform's code.
    pub platform: Option<SmolStr>,
    /// The code of the scheduled platform, where it leaves from another.
    pub scheduled_platform: Option<SmolStr>,
    /// The stop or platform.
    pub stop_id: SmolStr,
    /// `stop_sequence` of the call.
    pub stop_sequence: u32,
    /// Scheduled departure, Unix seconds; for a trip that no schedule knows the first announced one.
    pub scheduled: i64,
    /// Predicted departure, Unix seconds.
    pub expected: Option<i64>,
    /// Seconds behind the schedule; negative is early.
    pub delay: Option<i32>,
    /// How sure it is.
    pub status: DepartureStatus,
    /// The feed that says so: a real-time feed, or the schedule itself.
    pub source: FeedId,
    /// Seconds since that feed's data were made; `None` for the schedule.
    pub age: Option<u64>,
    /// The agency's time zone, in which the times are written.
    pub zone: TimeZone,
}

impl Departure {
    /// When it leaves, as well as is known, Unix seconds.
    pub fn departure_time(&self) -> i64 {
        self.expected.unwrap_or(self.scheduled)
    }

    /// A time of this departure as RFC 3339 in the agency's time zone.
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

/// Equal if a passenger would be told the same; the age does not count.
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
        fields.serialize_field("scheduled", &self.format_local_time(self.scheduled))?;
        fields.serialize_field("expected", &self.expected.map(|at| self.format_local_time(at)))?;
        fields.serialize_field("delay", &self.delay)?;
        fields.serialize_field("status", self.status.as_str())?;
        fields.serialize_field("source", &self.source)?;
        fields.end()
    }
}
