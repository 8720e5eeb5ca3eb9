//! The records of a service, told apart by their names, and put into deliveries.

use std::collections::BTreeMap;

use lineside_formats::siri::{
    DeliveryHead, EstimatedJourneyVersionFrame, EstimatedTimetableDelivery, PtSituationElement,
    ServiceDelivery, SituationExchangeDelivery, VehicleActivity, VehicleActivityCancellation,
    VehicleJourney, VehicleMonitoringDelivery,
};
use lineside_sync::UnixMillis;

use super::{Scene, VERSION};
use crate::gtfs::FOREIGN;
use crate::realtime::journeys::moment;

/// A service of SIRI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Estimated timetables.
    Timetables,
    /// Vehicle monitoring.
    Vehicles,
    /// Situation exchange.
    Situations,
}

/// One record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Journey(Box<VehicleJourney>),
    Activity(Box<VehicleActivity>),
    Situation(Box<PtSituationElement>),
}

/// Records of one service, by name.
#[derive(Clone, Debug)]
pub(crate) struct Items {
    service: Service,
    pub(super) all: BTreeMap<String, Item>,
}

impl Items {
    /// All that the city tells.
    pub(crate) fn of(scene: Scene<'_>, service: Service) -> Self {
        let Scene { city, at, foreign } = scene;
        let items: Vec<Item> = match service {
            Service::Timetables => {
                city.estimated_journeys(at).into_iter().map(|it| Item::Journey(it.into())).collect()
            }
            Service::Vehicles => city
                .vehicle_activities(at)
                .into_iter()
                .map(|it| Item::Activity(it.into()))
                .collect(),
            Service::Situations => {
                city.situations(at).into_iter().map(|it| Item::Situation(it.into())).collect()
            }
        };
        let named = items.into_iter().map(|mut item| {
            let name = item.name();
            if foreign {
                item.make_foreign();
            }
            (name, item)
        });
        Self { service, all: named.collect() }
    }

    /// Some of these.
    pub(super) fn some(&self, all: BTreeMap<String, Item>) -> Self {
        Self { service: self.service, all }
    }

    /// Adds a delivery of the service with all of them.
    pub(crate) fn put(self, delivery: &mut ServiceDelivery, at: UnixMillis) {
        self.put_with(delivery, DeliveryHead::default(), at, &[]);
    }

    /// Adds a delivery of the service with all of them, and with vehicles that are taken back.
    pub(super) fn put_with(
        self,
        delivery: &mut ServiceDelivery,
        head: DeliveryHead,
        at: UnixMillis,
        gone: &[String],
    ) {
        let head = DeliveryHead {
            version: Some(VERSION.into()),
            response_timestamp: moment(at.seconds()),
            status: Some(true),
            ..head
        };
        let (mut journeys, mut activities, mut situations) = (Vec::new(), Vec::new(), Vec::new());
        for item in self.all.into_values() {
            match item {
                Item::Journey(it) => journeys.push(*it),
                Item::Activity(it) => activities.push(*it),
                Item::Situation(it) => situations.push(*it),
            }
        }
        match self.service {
            Service::Timetables => {
                let frame = EstimatedJourneyVersionFrame {
                    recorded_at_time: moment(at.seconds()),
                    version_ref: None,
                    estimated_vehicle_journeys: journeys,
                };
                let frames = vec![frame];
                delivery.estimated_timetables.push(EstimatedTimetableDelivery { head, frames });
            }
            Service::Vehicles => delivery.vehicle_monitorings.push(VehicleMonitoringDelivery {
                head,
                vehicle_activities: activities,
                cancellations: gone.iter().map(|vehicle| taken_back(vehicle, at)).collect(),
                notes: Vec::new(),
            }),
            Service::Situations => {
                delivery.situation_exchanges.push(SituationExchangeDelivery { head, situations });
            }
        }
    }
}

fn taken_back(vehicle: &str, at: UnixMillis) -> VehicleActivityCancellation {
    VehicleActivityCancellation {
        recorded_at_time: moment(at.seconds()),
        item_ref: Some(vehicle.into()),
        vehicle_monitoring_ref: Some(vehicle.into()),
        ..VehicleActivityCancellation::default()
    }
}

impl Item {
    /// What tells it from the others of its service.
    fn name(&self) -> String {
        match self {
            Self::Journey(it) => {
                let day = it.framed_vehicle_journey_ref.as_ref();
                let day = day.and_then(|it| it.data_frame_ref.as_deref()).unwrap_or_default();
                let starts = it.origin_aimed_departure_time.map_or(0, |at| at.as_seconds());
                let name = it.journey_ref().map_or("", |name| name.as_str());
                // Runs by headway share the name of their journey, and are told apart by when they start.
                format!("{starts}:{day}:{name}")
            }
            Self::Activity(it) => it.item_identifier.as_deref().unwrap_or_default().to_owned(),
            Self::Situation(it) => it.situation_number.as_deref().unwrap_or_default().to_owned(),
        }
    }

    /// Gives lines, journeys and stops ids that the schedule does not have.
    fn make_foreign(&mut self) {
        match self {
            Self::Journey(journey) => foreign_journey(journey),
            Self::Activity(activity) => {
                if let Some(journey) = &mut activity.monitored_vehicle_journey {
                    foreign_journey(journey);
                }
            }
            Self::Situation(situation) => {
                let Some(affects) = &mut situation.affects else { return };
                for line in affects.networks.iter_mut().flat_map(|it| &mut it.affected_lines) {
                    foreign(&mut line.line_ref);
                }
                for stop in &mut affects.stop_points {
                    foreign(&mut stop.stop_point_ref);
                }
                for place in &mut affects.stop_places {
                    foreign(&mut place.stop_place_ref);
                }
                for journey in &mut affects.vehicle_journeys {
                    if let Some(framed) = &mut journey.framed_vehicle_journey_ref {
                        foreign(&mut framed.dated_vehicle_journey_ref);
                    }
                    foreign(&mut journey.line_ref);
                }
            }
        }
    }
}

fn foreign_journey(journey: &mut VehicleJourney) {
    foreign(&mut journey.line_ref);
    if let Some(framed) = &mut journey.framed_vehicle_journey_ref {
        foreign(&mut framed.dated_vehicle_journey_ref);
    }
    foreign(&mut journey.estimated_vehicle_journey_code);
    let calls = journey.estimated_calls.iter_mut();
    for call in calls.chain(journey.monitored_call.as_deref_mut()) {
        foreign(&mut call.stop_point_ref);
    }
}

fn foreign<T: AsRef<str> + From<String>>(id: &mut Option<T>) {
    if let Some(known) = id {
        *known = format!("{FOREIGN}{}", known.as_ref()).into();
    }
}
