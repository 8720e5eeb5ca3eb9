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
mod conversion_report;
mod monitored;
mod selection;
mod situations;
pub mod size;
mod terms;
mod visits;
mod filter;

use std::time::Duration;

use lineside_formats::{
    gtfs::Timetable,
    siri::{LanguageText, PtSituationElement, SiriTime, VehicleActivity, VehicleJourney},
};
use smol_str::SmolStr;

pub use conversion_report::conversion_report;
pub use discovery::{list_lines, list_stop_points};
pub use filter::{RecordFilter, RefError, RefKind, ResolvedRef, is_ref_known, resolve_ref};
pub use journeys::NO_DIRECTION;
pub use selection::{ConsumerPosition, RecordSelection, select_new_records, select_records_after};
pub use visits::{VisitQuery, find_stop_visits};

use crate::{
    network::NetworkState,
    normalize::{clamp_to_i32, nonzero_seconds},
    record::{Record, RecordKind},
};

/// How long a vehicle's position is good after it was taken.
pub const VEHICLE_VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// A call is on time if it is less than this early or late.
const ON_TIME_SECONDS: i64 = 60;
/// A prediction that may be wrong by this much is told to be inaccurate.
const INACCURATE_SECONDS: i32 = 5 * 60;

/// What records of a network become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiriOutput {
    /// Trip updates: journeys with expected times.
    EstimatedTimetable,
    /// Vehicles.
    VehicleMonitoring,
    /// Alerts.
    SituationExchange,
}

impl SiriOutput {
    fn record_kind(self) -> RecordKind {
        match self {
            SiriOutput::EstimatedTimetable => RecordKind::TripUpdate,
            SiriOutput::VehicleMonitoring => RecordKind::Vehicle,
            SiriOutput::SituationExchange => RecordKind::Alert,
        }
    }
}

/// What records have become.
#[derive(Clone, Debug, Default)]
pub struct SiriElements {
    /// Of trip updates.
    pub journeys: Vec<VehicleJourney>,
    /// Of vehicles.
    pub activities: Vec<VehicleActivity>,
    /// Of alerts.
    pub situations: Vec<PtSituationElement>,
}

impl SiriElements {
    /// Adds what a record of the state becomes: one element. Returns about how many bytes of XML that takes.
    pub fn push_record(&mut self, state: &NetworkState, record: &Record) -> usize {
        let look = RecordContext::for_record(state, record);
        if let Some(update) = record.trip_update() {
            let journey = journeys::journey_of_update(look, record, update);
            let bytes = size::journey_bytes(&journey);
            self.journeys.push(journey);
            bytes
        } else if let Some(vehicle) = record.vehicle() {
            self.activities.push(activities::vehicle_activity(look, record, vehicle));
            size::ACTIVITY_BYTES
        } else if let Some(alert) = record.alert() {
            let situation = situations::situation_of_alert(look, record, alert);
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
struct RecordContext<'a> {
    state: &'a NetworkState,
    timetable: Option<&'a Timetable>,
    /// When the record's message was made, Unix seconds.
    message_time: i64,
}

impl<'a> RecordContext<'a> {
    fn for_record(state: &'a NetworkState, record: &Record) -> RecordContext<'a> {
        let header =
            state.find_feed_slice(record.feed.as_str()).and_then(|feed| feed.header.as_ref());
        let said = header.and_then(|header| nonzero_seconds(header.timestamp));
        RecordContext {
            state,
            timetable: state.dataset.as_ref().map(|dataset| &*dataset.timetable),
            message_time: said.unwrap_or_else(|| state.at.unix_seconds()),
        }
    }

    /// When a record was made that may say so itself, Unix seconds.
    fn made_at(&self, timestamp: Option<u64>) -> i64 {
        nonzero_seconds(timestamp).unwrap_or(self.message_time)
    }

    /// When an alert was gone from its feed.
    fn closed_at(&self, record: &Record) -> Option<SiriTime> {
        let feed = self.state.find_feed_slice(record.feed.as_str())?;
        SiriTime::from_millis(feed.closed.closed_at(record)?.0)
    }

    fn stop_name(&self, id: &str) -> Vec<LanguageText> {
        let stop = self.timetable.and_then(|timetable| {
            let stop = timetable.find_stop(id)?;
            Some(timetable.stop(stop).name)
        });
        untagged_text(stop)
    }
}

/// A moment as SIRI has it.
fn to_siri_time(seconds: i64) -> Option<SiriTime> {
    SiriTime::from_millis(seconds.checked_mul(1_000)?)
}

/// A text in no particular language; none where it is empty.
fn untagged_text(text: Option<&str>) -> Vec<LanguageText> {
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| LanguageText { lang: None, value: SmolStr::new(text) }).into_iter().collect()
}

/// A GTFS date, `20260304`, as SIRI names days.
fn data_frame_ref(date: &str) -> Option<SmolStr> {
    let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then(|| smol_str::format_smolstr!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]))
}

/// The difference of two moments as a delay.
fn delay_between(expected: Option<i64>, aimed: Option<i64>) -> Option<i32> {
    Some(clamp_to_i32(expected?.saturating_sub(aimed?)))
}
