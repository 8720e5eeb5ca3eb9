//! SIRI output: encodes a network's state as SIRI elements.
//!
//! Each trip update becomes an `EstimatedVehicleJourney`, each vehicle a `VehicleActivity`, each alert a
//! `PtSituationElement`, each departure a `MonitoredStopVisit`; the timetable provides the aimed times and the names.
//! Ids remain those of the feed. Unknown values are omitted: no expected time is invented if the producer gave none.
//!
//! A pure function of the state and a time, independent of XML and HTTP requests.

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

pub use conversion_report::report_fields_without_siri;
pub use discovery::{list_annotated_lines, list_annotated_stop_points};
pub use filter::{RecordFilter, RefKind, ResolveRefError, ResolvedRef, is_ref_known, resolve_ref};
pub use journeys::NO_DIRECTION;
pub use selection::{
    ConsumerReadPosition, RecordSelection, select_new_records, select_records_after,
};
pub use visits::{VisitQuery, find_stop_visits};

use crate::{
    network_state::NetworkState,
    record::{Record, RecordKind},
    trip_forecast::saturate_to_i32,
    trip_identity::timestamp_if_nonzero,
};

/// Validity of a vehicle's position after it was measured.
pub const VEHICLE_VALID_FOR: Duration = Duration::from_secs(5 * 60);
/// Seconds of delay from which a call is late, or early in the other direction.
const ON_TIME_SECONDS: i64 = 60;
/// Seconds of uncertainty from which a prediction counts as inaccurate.
const INACCURATE_SECONDS: i32 = 5 * 60;

/// A SIRI service that records are encoded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiriOutput {
    /// Trip updates, as journeys with expected times.
    EstimatedTimetable,
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

/// Encoded records.
#[derive(Clone, Debug, Default)]
pub struct EncodedSiriElements {
    /// Encoded trip updates.
    pub journeys: Vec<VehicleJourney>,
    /// Encoded vehicles.
    pub activities: Vec<VehicleActivity>,
    /// Encoded alerts.
    pub situations: Vec<PtSituationElement>,
}

impl EncodedSiriElements {
    /// Encodes a record of the state as one element and returns its approximate size in bytes of XML.
    pub fn encode_record(&mut self, state: &NetworkState, record: &Record) -> usize {
        let context = RecordEncodingContext::for_record(state, record);
        if let Some(update) = record.trip_update() {
            let journey = journeys::encode_trip_update_journey(context, record, update);
            let bytes = size::journey_bytes(&journey);
            self.journeys.push(journey);
            bytes
        } else if let Some(vehicle) = record.vehicle() {
            self.activities.push(activities::encode_vehicle_activity(context, record, vehicle));
            size::ACTIVITY_BYTES
        } else if let Some(alert) = record.alert() {
            let situation = situations::encode_alert_situation(context, record, alert);
            let bytes = size::situation_bytes(&situation);
            self.situations.push(situation);
            bytes
        } else {
            0
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.journeys.len() + self.activities.len() + self.situations.len()
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The context of encoding a record.
#[derive(Clone, Copy, Debug)]
struct RecordEncodingContext<'a> {
    state: &'a NetworkState,
    timetable: Option<&'a Timetable>,
    /// The timestamp of the record's message, in Unix seconds.
    message_time: i64,
}

impl<'a> RecordEncodingContext<'a> {
    fn for_record(state: &'a NetworkState, record: &Record) -> RecordEncodingContext<'a> {
        let header =
            state.find_feed_slice(record.feed.as_str()).and_then(|feed| feed.header.as_ref());
        let stated = header.and_then(|header| timestamp_if_nonzero(header.timestamp));
        RecordEncodingContext {
            state,
            timetable: state.dataset.as_ref().map(|dataset| &*dataset.timetable),
            message_time: stated.unwrap_or_else(|| state.at.unix_seconds()),
        }
    }

    /// Returns the time of a record in Unix seconds: its own timestamp, else that of the message.
    fn recorded_at(&self, timestamp: Option<u64>) -> i64 {
        timestamp_if_nonzero(timestamp).unwrap_or(self.message_time)
    }

    /// Returns the time at which an alert was removed from its feed.
    fn alert_closed_at(&self, record: &Record) -> Option<SiriTime> {
        let feed = self.state.find_feed_slice(record.feed.as_str())?;
        SiriTime::from_millis(feed.closed.alert_closed_at(record)?.0)
    }

    fn stop_name_text(&self, id: &str) -> Vec<LanguageText> {
        let stop = self.timetable.and_then(|timetable| {
            let stop = timetable.find_stop(id)?;
            Some(timetable.stop(stop).name)
        });
        text_without_language(stop)
    }
}

/// Converts Unix seconds to a SIRI time.
fn to_siri_time(seconds: i64) -> Option<SiriTime> {
    SiriTime::from_millis(seconds.checked_mul(1_000)?)
}

/// Returns a text without a language; empty if there is none.
fn text_without_language(text: Option<&str>) -> Vec<LanguageText> {
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| LanguageText { lang: None, value: SmolStr::new(text) }).into_iter().collect()
}

/// Converts a GTFS date such as `20260304` to a SIRI data frame reference.
fn data_frame_ref(date: &str) -> Option<SmolStr> {
    let is_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    is_date.then(|| smol_str::format_smolstr!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]))
}

/// Returns the difference of two times as a delay.
fn delay_seconds_between(expected: Option<i64>, aimed: Option<i64>) -> Option<i32> {
    Some(saturate_to_i32(expected?.saturating_sub(aimed?)))
}
