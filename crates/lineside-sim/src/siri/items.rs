//! The records of a SIRI service by name, and their conversion into deliveries.

use std::collections::BTreeMap;

use lineside_formats::siri::{
    CommonDeliveryFields, EstimatedJourneyVersionFrame, EstimatedTimetableDelivery,
    PtSituationElement, ServiceDelivery, SituationExchangeDelivery, VehicleActivity,
    VehicleActivityCancellation, VehicleJourney, VehicleMonitoringDelivery,
};
use lineside_sync::UnixMillis;

use super::{CityAtTimeWithFault, VERSION};
use crate::city::gtfs::FOREIGN;
use crate::city::realtime::journeys::siri_time;

/// A SIRI service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiriFeedKind {
    /// Estimated timetables.
    Timetables,
    /// Vehicle monitoring.
    Vehicles,
    /// Situation exchange.
    Situations,
}

/// A record of a service.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SiriRecord {
    Journey(Box<VehicleJourney>),
    Activity(Box<VehicleActivity>),
    Situation(Box<PtSituationElement>),
}

/// The records of a service by name.
#[derive(Clone, Debug)]
pub(crate) struct SiriServiceRecords {
    service: SiriFeedKind,
    pub(super) all: BTreeMap<String, SiriRecord>,
}

impl SiriServiceRecords {
    pub(crate) fn records_of_scene(scene: CityAtTimeWithFault<'_>, service: SiriFeedKind) -> Self {
        let CityAtTimeWithFault { city, at, foreign } = scene;
        let items: Vec<SiriRecord> = match service {
            SiriFeedKind::Timetables => city
                .siri_estimated_journeys(at)
                .into_iter()
                .map(|it| SiriRecord::Journey(it.into()))
                .collect(),
            SiriFeedKind::Vehicles => city
                .vehicle_activities(at)
                .into_iter()
                .map(|it| SiriRecord::Activity(it.into()))
                .collect(),
            SiriFeedKind::Situations => city
                .siri_situations(at)
                .into_iter()
                .map(|it| SiriRecord::Situation(it.into()))
                .collect(),
        };
        let named = items.into_iter().map(|mut item| {
            let name = item.unique_record_name();
            if foreign {
                item.replace_with_unknown_ids();
            }
            (name, item)
        });
        Self { service, all: named.collect() }
    }

    /// Returns these records of the same service.
    pub(super) fn with_records(&self, all: BTreeMap<String, SiriRecord>) -> Self {
        Self { service: self.service, all }
    }

    pub(crate) fn add_to_service_delivery(self, delivery: &mut ServiceDelivery, at: UnixMillis) {
        self.add_delivery_with_head(delivery, CommonDeliveryFields::default(), at, &[]);
    }

    /// Adds a delivery of the service with all records, and with cancellations of vehicles that are gone.
    pub(super) fn add_delivery_with_head(
        self,
        delivery: &mut ServiceDelivery,
        head: CommonDeliveryFields,
        at: UnixMillis,
        gone: &[String],
    ) {
        let head = CommonDeliveryFields {
            version: Some(VERSION.into()),
            response_timestamp: siri_time(at.unix_seconds()),
            status: Some(true),
            ..head
        };
        let (mut journeys, mut activities, mut situations) = (Vec::new(), Vec::new(), Vec::new());
        for item in self.all.into_values() {
            match item {
                SiriRecord::Journey(it) => journeys.push(*it),
                SiriRecord::Activity(it) => activities.push(*it),
                SiriRecord::Situation(it) => situations.push(*it),
            }
        }
        match self.service {
            SiriFeedKind::Timetables => {
                let frame = EstimatedJourneyVersionFrame {
                    recorded_at_time: siri_time(at.unix_seconds()),
                    version_ref: None,
                    estimated_vehicle_journeys: journeys,
                };
                let frames = vec![frame];
                delivery.estimated_timetables.push(EstimatedTimetableDelivery { head, frames });
            }
            SiriFeedKind::Vehicles => {
                delivery.vehicle_monitorings.push(VehicleMonitoringDelivery {
                    head,
                    vehicle_activities: activities,
                    cancellations: gone
                        .iter()
                        .map(|vehicle| vehicle_cancellation(vehicle, at))
                        .collect(),
                    notes: Vec::new(),
                })
            }
            SiriFeedKind::Situations => {
                delivery.situation_exchanges.push(SituationExchangeDelivery { head, situations });
            }
        }
    }
}

fn vehicle_cancellation(vehicle: &str, at: UnixMillis) -> VehicleActivityCancellation {
    VehicleActivityCancellation {
        recorded_at_time: siri_time(at.unix_seconds()),
        item_ref: Some(vehicle.into()),
        vehicle_monitoring_ref: Some(vehicle.into()),
        ..VehicleActivityCancellation::default()
    }
}

impl SiriRecord {
    /// Returns the name of the record, unique within its service.
    fn unique_record_name(&self) -> String {
        match self {
            Self::Journey(it) => {
                let day = it.framed_vehicle_journey_ref.as_ref();
                let day = day.and_then(|it| it.data_frame_ref.as_deref()).unwrap_or_default();
                let starts = it.origin_aimed_departure_time.map_or(0, |at| at.as_seconds());
                let name = it.journey_ref().map_or("", |name| name.as_str());
                // Runs of a headway service share the reference of their journey, and are distinguished by their start.
                format!("{starts}:{day}:{name}")
            }
            Self::Activity(it) => it.item_identifier.as_deref().unwrap_or_default().to_owned(),
            Self::Situation(it) => it.situation_number.as_deref().unwrap_or_default().to_owned(),
        }
    }

    /// Gives lines, journeys and stops ids that the schedule does not have.
    fn replace_with_unknown_ids(&mut self) {
        match self {
            Self::Journey(journey) => replace_journey_ids_with_unknown(journey),
            Self::Activity(activity) => {
                if let Some(journey) = &mut activity.monitored_vehicle_journey {
                    replace_journey_ids_with_unknown(journey);
                }
            }
            Self::Situation(situation) => {
                let Some(affects) = &mut situation.affects else { return };
                for line in affects.networks.iter_mut().flat_map(|it| &mut it.affected_lines) {
                    replace_id_with_unknown(&mut line.line_ref);
                }
                for stop in &mut affects.stop_points {
                    replace_id_with_unknown(&mut stop.stop_point_ref);
                }
                for place in &mut affects.stop_places {
                    replace_id_with_unknown(&mut place.stop_place_ref);
                }
                for journey in &mut affects.vehicle_journeys {
                    if let Some(framed) = &mut journey.framed_vehicle_journey_ref {
                        replace_id_with_unknown(&mut framed.dated_vehicle_journey_ref);
                    }
                    replace_id_with_unknown(&mut journey.line_ref);
                }
            }
        }
    }
}

fn replace_journey_ids_with_unknown(journey: &mut VehicleJourney) {
    replace_id_with_unknown(&mut journey.line_ref);
    if let Some(framed) = &mut journey.framed_vehicle_journey_ref {
        replace_id_with_unknown(&mut framed.dated_vehicle_journey_ref);
    }
    replace_id_with_unknown(&mut journey.estimated_vehicle_journey_code);
    let calls = journey.estimated_calls.iter_mut();
    for call in calls.chain(journey.monitored_call.as_deref_mut()) {
        replace_id_with_unknown(&mut call.stop_point_ref);
    }
}

fn replace_id_with_unknown<T: AsRef<str> + From<String>>(id: &mut Option<T>) {
    if let Some(value) = id {
        *value = format!("{FOREIGN}{}", value.as_ref()).into();
    }
}
