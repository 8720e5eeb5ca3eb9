//! One or two lines around the present moment, and real-time messages on their trips.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lineside_formats::gtfs_rt::proto::{
    Alert, EntitySelector, FeedEntity, FeedHeader, FeedMessage, TranslatedString, TripDescriptor,
    TripUpdate, VehicleDescriptor, VehiclePosition,
    translated_string::Translation,
    trip_descriptor::ScheduleRelationship,
    trip_update::{StopTimeEvent, StopTimeUpdate, stop_time_update::StopTimeProperties},
};
use lineside_testkit::TestSchedule;
use prost::Message as _;

/// Minutes from one trip to the next, and from one stop to the next.
const HEADWAY: i64 = 5;

/// Returns the time in Unix seconds.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().try_into().unwrap()
}

/// Two lines: `A` with the trips `a0` to `a5`, and `B` with `b0` to `b5`. The first trip of each began two minutes ago,
/// the next ones begin at intervals of five minutes. All call at `s1`, `s2` (platform `1` of the station `S`, which
/// also has `s2b`) and `s3`.
///
/// The agency's time zone is one where it is about noon, so that no test crosses the end of a service date.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    /// The first departure in Unix seconds, on a whole minute.
    first_departure: i64,
    /// The agency's offset from UTC in hours, from -11 to 12.
    hours_ahead: i64,
}

impl Lines {
    /// Writes the schedule into a folder.
    pub(crate) fn write(folder: &Path) -> Self {
        let first_departure = (now() / 60 - 2) * 60;
        let hours_ahead = 12 - first_departure.div_euclid(3_600).rem_euclid(24);
        let lines = Self { first_departure, hours_ahead };
        let first = lines.second_of_day(first_departure);
        // These names have the opposite sign: `Etc/GMT-5` is five hours ahead.
        let zone = format!("Etc/GMT{:+}", -hours_ahead);
        let agency = format!(
            "agency_id,agency_name,agency_url,agency_timezone\nx,X,https://x.example,{zone}\n"
        );
        let mut trips = "route_id,service_id,trip_id,trip_headsign,direction_id\n".to_owned();
        let mut schedule =
            TestSchedule::new("UTC").service("D", "1111111", ["20200101", "20991231"]);
        for (route, letter) in [("A", "a"), ("B", "b")] {
            for number in 0..6 {
                // The line `B` alternates between its directions, over the same stops.
                let direction = if route == "B" { number % 2 } else { 0 };
                trips += &format!("{route},D,{letter}{number},Harbour {route},{direction}\n");
                let calls = (0..).zip(["s1", "s2", "s3"]).map(|(call, stop)| {
                    let at = first + (number + call) * HEADWAY * 60;
                    format!("{stop} {:02}:{:02}", at / 3600, at / 60 % 60)
                });
                let calls = calls.collect::<Vec<_>>().join(", ");
                schedule = schedule.trip(&format!("{letter}{number}"), &calls);
            }
        }
        schedule
            .table("agency.txt", agency)
            .table(
                "stops.txt",
                "stop_id,stop_name,stop_lat,stop_lon,location_type,parent_station,platform_code\n\
                s1,First,59.91,10.75,0,,\nS,Middle,59.92,10.76,1,,\ns2,Middle,59.92,10.76,0,S,1\n\
                s2b,Middle,59.92,10.77,0,S,2\ns3,Last,59.93,10.77,0,,\n",
            )
            .table(
                "routes.txt",
                "route_id,agency_id,route_short_name,route_long_name,route_type,route_color\n\
                A,x,A,Alpha,2,0055AA\nB,x,B,Beta,2,AA5500\n",
            )
            .table("trips.txt", trips)
            .write_to(folder);
        lines
    }

    /// Returns the seconds from the agency's midnight to `at`, in Unix seconds.
    pub(crate) fn second_of_day(self, at: i64) -> i64 {
        (at + self.hours_ahead * 3_600).rem_euclid(86_400)
    }

    /// Returns the service date of the trips.
    pub(crate) fn date(self) -> String {
        let local = self.first_departure + self.hours_ahead * 3_600;
        let at = Timestamp::from_second(local).unwrap().to_zoned(TimeZone::UTC);
        at.strftime("%Y%m%d").to_string()
    }

    /// Returns the descriptor of a trip on the service date.
    pub(crate) fn trip(self, id: &str) -> TripDescriptor {
        TripDescriptor {
            trip_id: Some(id.to_owned()),
            start_date: Some(self.date()),
            ..TripDescriptor::default()
        }
    }

    /// Returns a trip with a delay in seconds from its first stop on.
    pub(crate) fn behind(self, trip: &str, delay: i32) -> FeedEntity {
        let event = StopTimeEvent { delay: Some(delay), ..StopTimeEvent::default() };
        let call = StopTimeUpdate {
            stop_sequence: Some(1),
            departure: Some(event),
            ..StopTimeUpdate::default()
        };
        self.trip_update_entity(trip, vec![call])
    }

    /// Returns a trip that departs from the other platform of the station.
    pub(crate) fn moved(self, trip: &str) -> FeedEntity {
        let assigned = Some("s2b".to_owned());
        let properties = StopTimeProperties { assigned_stop_id: assigned, ..Default::default() };
        let event = StopTimeEvent { delay: Some(0), ..StopTimeEvent::default() };
        let call = StopTimeUpdate {
            stop_sequence: Some(2),
            departure: Some(event),
            stop_time_properties: Some(properties),
            ..StopTimeUpdate::default()
        };
        self.trip_update_entity(trip, vec![call])
    }

    pub(crate) fn cancelled(self, trip: &str) -> FeedEntity {
        let mut entity = self.trip_update_entity(trip, Vec::new());
        let update = entity.trip_update.as_mut().unwrap();
        update.trip.set_schedule_relationship(ScheduleRelationship::Canceled);
        entity
    }

    /// Returns a vehicle on its way to the station.
    pub(crate) fn vehicle(self, trip: &str, label: &str) -> FeedEntity {
        let vehicle = VehiclePosition {
            trip: Some(self.trip(trip)),
            vehicle: Some(VehicleDescriptor {
                id: Some(format!("v-{trip}")),
                label: Some(label.to_owned()),
                ..VehicleDescriptor::default()
            }),
            current_stop_sequence: Some(2),
            ..VehiclePosition::default()
        };
        let id = format!("v-{trip}");
        FeedEntity { id, vehicle: Some(vehicle), ..FeedEntity::default() }
    }

    fn trip_update_entity(self, trip: &str, stop_time_update: Vec<StopTimeUpdate>) -> FeedEntity {
        let update =
            TripUpdate { trip: self.trip(trip), stop_time_update, ..TripUpdate::default() };
        FeedEntity { id: trip.to_owned(), trip_update: Some(update), ..FeedEntity::default() }
    }
}

/// Returns an alert on a line or a stop, in several languages.
pub(crate) fn alert(route: Option<&str>, stop: Option<&str>, texts: &[(&str, &str)]) -> FeedEntity {
    let translation = |&(language, text): &(&str, &str)| Translation {
        text: text.to_owned(),
        language: Some(language.to_owned()).filter(|language| !language.is_empty()),
    };
    let alert = Alert {
        informed_entity: vec![EntitySelector {
            route_id: route.map(str::to_owned),
            stop_id: stop.map(str::to_owned),
            ..EntitySelector::default()
        }],
        header_text: Some(TranslatedString {
            translation: texts.iter().map(translation).collect(),
        }),
        ..Alert::default()
    };
    FeedEntity { id: "alert".to_owned(), alert: Some(alert), ..FeedEntity::default() }
}

/// Returns a message with the timestamp `at`, in Unix seconds.
pub(crate) fn message(at: i64, entity: Vec<FeedEntity>) -> Vec<u8> {
    let header = FeedHeader {
        gtfs_realtime_version: "2.0".to_owned(),
        timestamp: u64::try_from(at).ok(),
        ..FeedHeader::default()
    };
    FeedMessage { header, entity }.encode_to_vec()
}
