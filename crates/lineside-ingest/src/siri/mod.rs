//! SIRI out: what a state knows, in SIRI's terms.
//!
//! Each trip update becomes an `EstimatedVehicleJourney`, each vehicle a `VehicleActivity`, each alert a
//! `PtSituationElement`, each departure a `MonitoredStopVisit`; the timetable gives the aimed times and the names. Ids
//! stay those of the feed. What is not known is left out: no expected time is made up where the producer gave none.
//!
//! A pure function of the state and of a moment. It knows neither XML nor requests over HTTP.

mod activities;
mod calls;
mod discovery;
mod journeys;
mod losses;
mod monitored;
mod selection;
mod situations;
pub mod size;
mod terms;
mod visits;
mod wanted;

use std::time::Duration;

use lineside_formats::{
    gtfs::Timetable,
    siri::{PtSituationElement, Text, Time, VehicleActivity, VehicleJourney},
};
use smol_str::SmolStr;

pub use discovery::{lines, stop_points};
pub use journeys::NO_DIRECTION;
pub use losses::losses_of;
pub use selection::{Before, Selection, select, select_after};
pub use visits::{Visits, stop_visits};
pub use wanted::{Ref, RefFault, RefKind, Wanted, is_known, resolve};

use crate::{
    network::NetworkState,
    normalize::{clamp, seconds},
    record::{Kind, Record},
};

/// How long a vehicle's position is good after it was taken.
pub const VEHICLE_VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// A call is on time if it is less than this early or late.
const ON_TIME_SECONDS: i64 = 60;
/// A prediction that may be wrong by this much is told to be inaccurate.
const INACCURATE_SECONDS: i32 = 5 * 60;

/// What records of a network become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Trip updates: journeys with expected times.
    EstimatedTimetable,
    /// Vehicles.
    VehicleMonitoring,
    /// Alerts.
    SituationExchange,
}

impl Service {
    fn kind(self) -> Kind {
        match self {
            Service::EstimatedTimetable => Kind::TripUpdate,
            Service::VehicleMonitoring => Kind::Vehicle,
            Service::SituationExchange => Kind::Alert,
        }
    }
}

/// What records have become.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    /// Of trip updates.
    pub journeys: Vec<VehicleJourney>,
    /// Of vehicles.
    pub activities: Vec<VehicleActivity>,
    /// Of alerts.
    pub situations: Vec<PtSituationElement>,
}

impl Elements {
    /// Adds what a record of the state becomes: one element. Returns about how many bytes of XML that takes.
    pub fn push(&mut self, state: &NetworkState, record: &Record) -> usize {
        let look = Look::at(state, record);
        if let Some(update) = record.trip_update() {
            let journey = journeys::of_update(look, record, update);
            let bytes = size::journey_bytes(&journey);
            self.journeys.push(journey);
            bytes
        } else if let Some(vehicle) = record.vehicle() {
            self.activities.push(activities::of_vehicle(look, record, vehicle));
            size::ACTIVITY_BYTES
        } else if let Some(alert) = record.alert() {
            let situation = situations::of_alert(look, record, alert);
            let bytes = size::situation_bytes(&situation);
            self.situations.push(situation);
            bytes
        } else {
            0
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.journeys.len() + self.activities.len() + self.situations.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// From where a record is looked at.
#[derive(Clone, Copy, Debug)]
struct Look<'a> {
    state: &'a NetworkState,
    timetable: Option<&'a Timetable>,
    /// When the record's message was made, Unix seconds.
    message_time: i64,
}

impl<'a> Look<'a> {
    fn at(state: &'a NetworkState, record: &Record) -> Look<'a> {
        let header = state.feed(record.feed.as_str()).and_then(|feed| feed.header.as_ref());
        let said = header.and_then(|header| seconds(header.timestamp));
        Look {
            state,
            timetable: state.dataset.as_ref().map(|dataset| &*dataset.timetable),
            message_time: said.unwrap_or_else(|| state.at.seconds()),
        }
    }

    /// When a record was made that may say so itself, Unix seconds.
    fn made_at(&self, timestamp: Option<u64>) -> i64 {
        seconds(timestamp).unwrap_or(self.message_time)
    }

    /// When an alert was gone from its feed.
    fn gone_at(&self, record: &Record) -> Option<Time> {
        let feed = self.state.feed(record.feed.as_str())?;
        Time::from_millis(feed.closed.gone_at(record)?.0)
    }

    fn stop_name(&self, id: &str) -> Vec<Text> {
        let stop = self.timetable.and_then(|timetable| {
            let stop = timetable.find_stop(id)?;
            Some(timetable.stop(stop).name)
        });
        texts(stop)
    }
}

/// A moment as SIRI has it.
fn moment(seconds: i64) -> Option<Time> {
    Time::from_millis(seconds.checked_mul(1_000)?)
}

/// A text in no particular language; none where it is empty.
fn texts(text: Option<&str>) -> Vec<Text> {
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| Text { lang: None, value: SmolStr::new(text) }).into_iter().collect()
}

/// A GTFS date, `20260304`, as SIRI names days.
fn data_frame(date: &str) -> Option<SmolStr> {
    let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then(|| smol_str::format_smolstr!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]))
}

/// The difference of two moments as a delay.
fn delay_of(expected: Option<i64>, aimed: Option<i64>) -> Option<i32> {
    Some(clamp(expected?.saturating_sub(aimed?)))
}
