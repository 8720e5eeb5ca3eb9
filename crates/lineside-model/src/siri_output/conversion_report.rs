//! Counting of GTFS-Realtime fields that have no equivalent in SIRI. Every field is listed here, so that a new field is
//! not forgotten.

use lineside_formats::{
    ConversionReport,
    gtfs_rt::proto::{
        Alert, EntitySelector, FeedEntity, FeedHeader, FeedMessage, Position, TripDescriptor,
        TripUpdate, VehicleDescriptor, VehiclePosition,
        alert::Effect,
        feed_header::Incrementality,
        trip_descriptor,
        trip_update::{
            StopTimeEvent, StopTimeUpdate, TripProperties,
            stop_time_update::{
                ScheduleRelationship, StopTimeProperties, stop_time_properties::DropOffPickupType,
            },
        },
        vehicle_position::{CongestionLevel, OccupancyStatus, VehicleStopStatus},
    },
};

use super::{
    calls::are_sequences_increasing, data_frame_ref, journeys::is_first_stop_sequence, terms,
};
use crate::trip_identity::{is_extra_trip, text_if_nonempty};

const NO_ELEMENT: &str = "SIRI has no element for it";
const NO_TERM: &str = "SIRI has no equivalent value";
const NOT_TRANSLATED: &str = "Lineside does not convert it";
const ENDS: &str = "SIRI has no arrival at the first stop and no departure at the last stop";
const NO_STOP: &str = "it has no stop, and there is no schedule to find the stop";
const NO_TIME: &str = "there is no schedule to add the delay to";
const CLOSER: &str = "the other fields of the selector are more specific";

/// Counts the fields of a message that are dropped when its records become
/// [`EncodedSiriElements`](super::EncodedSiriElements). Without a schedule, references into one are dropped too.
pub fn report_fields_without_siri(message: &FeedMessage, has_schedule: bool) -> ConversionReport {
    let mut losses = ConversionReport::new();
    let FeedMessage { header, entity } = message;
    // The version is of the other format.
    let FeedHeader { gtfs_realtime_version: _, incrementality, timestamp: _, feed_version } =
        header;
    let mut counter = DropCounter { id: None, has_schedule, conversion_report: &mut losses };
    let differs = *incrementality == Some(Incrementality::Differential as i32);
    counter.record_if_dropped("incrementality", "the output is always a full dataset", differs);
    counter.record_if_dropped("feed_version", NO_ELEMENT, feed_version.is_some());
    for entity in entity {
        let mut counter =
            DropCounter { id: Some(&entity.id), has_schedule, conversion_report: &mut losses };
        counter.count_dropped_in_entity(entity);
    }
    losses
}

fn has_event_time(event: &Option<StopTimeEvent>) -> bool {
    event.as_ref().is_some_and(|event| event.time.or(event.scheduled_time).is_some())
}

/// Returns true if the first calls of an extra journey are no longer reported.
fn lacks_first_calls(update: &TripUpdate) -> bool {
    let mut sequences = update.stop_time_update.iter().map(|call| call.stop_sequence);
    let first = sequences.next().flatten().filter(|_| is_extra_trip(&update.trip));
    first.is_some_and(|first| !is_first_stop_sequence(first, sequences.next().flatten()))
}

/// Counts the dropped fields of one entity.
struct DropCounter<'a, 'l> {
    id: Option<&'a str>,
    has_schedule: bool,
    conversion_report: &'l mut ConversionReport,
}

impl DropCounter<'_, '_> {
    fn record_if_dropped(&mut self, kind: &'static str, why: &'static str, is_lost: bool) {
        if is_lost {
            self.conversion_report.record_dropped_object(kind, why, self.id);
        }
    }

    fn count_dropped_in_entity(&mut self, entity: &FeedEntity) {
        // Deletions are counted where the existing records are known. The id only distinguishes entities.
        let FeedEntity {
            id: _,
            is_deleted: _,
            trip_update,
            vehicle,
            alert,
            shape,
            stop,
            trip_modifications,
        } = entity;
        self.record_if_dropped("shape", NO_ELEMENT, shape.is_some());
        self.record_if_dropped("stop", NO_ELEMENT, stop.is_some());
        self.record_if_dropped("trip_modifications", NO_ELEMENT, trip_modifications.is_some());
        if let Some(update) = trip_update {
            self.count_dropped_in_trip_update(update);
        }
        if let Some(vehicle) = vehicle {
            self.count_dropped_in_vehicle(vehicle);
        }
        if let Some(alert) = alert {
            self.count_dropped_in_alert(alert);
        }
    }

    fn count_dropped_in_trip_update(&mut self, update: &TripUpdate) {
        let TripUpdate { trip, stop_time_update, vehicle, timestamp: _, delay, trip_properties } =
            update;
        self.count_dropped_in_trip(trip, true);
        if let Some(vehicle) = vehicle {
            self.count_dropped_in_vehicle_descriptor(vehicle);
        }
        let has_calls = !stop_time_update.is_empty();
        let why = if has_calls { "its calls contain the delays" } else { NO_TIME };
        self.record_if_dropped("delay", why, delay.is_some() && (has_calls || !self.has_schedule));
        if let Some(properties) = trip_properties {
            let TripProperties {
                trip_id: _,
                start_date: _,
                start_time,
                shape_id,
                trip_headsign: _,
                trip_short_name: _,
            } = properties;
            self.record_if_dropped("start_time", NOT_TRANSLATED, start_time.is_some());
            self.record_if_dropped("shape_id", NO_ELEMENT, shape_id.is_some());
        }
        let is_numbered =
            are_sequences_increasing(stop_time_update.iter().map(|call| call.stop_sequence));
        let is_cut = lacks_first_calls(update);
        let n = stop_time_update.len();
        for (at, call) in stop_time_update.iter().enumerate() {
            let (arrives, departs) =
                (has_event_time(&call.arrival), has_event_time(&call.departure));
            let begins = at == 0 && n > 1 && !is_cut && departs;
            let ends = at + 1 == n && (n > 1 || is_cut) && arrives;
            if !self.has_schedule {
                self.record_if_dropped("arrival", ENDS, arrives && begins);
                self.record_if_dropped("departure", ENDS, departs && ends);
            }
            self.count_dropped_in_call(call, is_numbered);
        }
    }

    /// Counts the dropped fields of a trip, either of a journey with its calls or of a reference.
    fn count_dropped_in_trip(&mut self, trip: &TripDescriptor, is_journey: bool) {
        use trip_descriptor::ScheduleRelationship::{Scheduled, Unscheduled};
        let TripDescriptor {
            trip_id: _,
            start_time,
            start_date,
            schedule_relationship,
            route_id: _,
            direction_id: _,
            modified_trip,
            named_start_date,
        } = trip;
        self.record_if_dropped("start_time", "there is no schedule to find the run", {
            start_time.is_some() && !self.has_schedule
        });
        let is_odd = text_if_nonempty(start_date).is_some_and(|it| data_frame_ref(it).is_none());
        self.record_if_dropped("start_date", "it is not a date", is_odd);
        let dayless =
            text_if_nonempty(start_date).is_some() && text_if_nonempty(&trip.trip_id).is_none();
        self.record_if_dropped("start_date", "it has a date but no trip", dayless && !is_odd);
        let relationship = schedule_relationship.filter(|it| *it != Scheduled as i32);
        let is_lost = relationship == Some(Unscheduled as i32);
        self.record_if_dropped("schedule_relationship", NO_TERM, is_journey && is_lost);
        let why = "SIRI has it for journeys only";
        self.record_if_dropped("schedule_relationship", why, !is_journey && relationship.is_some());
        self.record_if_dropped("modified_trip", NO_ELEMENT, modified_trip.is_some());
        self.record_if_dropped(
            "named_start_date",
            "the service day is written instead",
            named_start_date.is_some(),
        );
    }

    fn count_dropped_in_vehicle_descriptor(&mut self, vehicle: &VehicleDescriptor) {
        let VehicleDescriptor { id: _, label, license_plate, wheelchair_accessible } = vehicle;
        self.record_if_dropped("label", NO_ELEMENT, label.is_some());
        self.record_if_dropped("license_plate", NO_ELEMENT, license_plate.is_some());
        self.record_if_dropped(
            "wheelchair_accessible",
            NOT_TRANSLATED,
            wheelchair_accessible.is_some(),
        );
    }

    /// Counts the dropped fields of a call. Without a schedule, `Order` is written only if the numbers of all calls
    /// increase.
    fn count_dropped_in_call(&mut self, call: &StopTimeUpdate, is_numbered: bool) {
        let StopTimeUpdate {
            stop_sequence,
            arrival,
            departure,
            stop_id,
            schedule_relationship,
            stop_time_properties,
            departure_occupancy_status,
        } = call;
        let is_alone = !self.has_schedule;
        if is_alone && text_if_nonempty(stop_id).is_none() {
            return self.record_if_dropped("stop_time_update", NO_STOP, true);
        }
        let is_lost = stop_sequence.is_some() && is_alone && !is_numbered;
        self.record_if_dropped("stop_sequence", "SIRI numbers calls from 1", is_lost);
        for event in [arrival, departure].into_iter().flatten() {
            self.count_dropped_in_event(event);
        }
        let is_lost = *schedule_relationship == Some(ScheduleRelationship::Unscheduled as i32);
        self.record_if_dropped("schedule_relationship", NO_TERM, is_lost);
        let is_reported = arrival.is_some() || departure.is_some();
        let is_odd = *schedule_relationship == Some(ScheduleRelationship::NoData as i32);
        self.record_if_dropped(
            "schedule_relationship",
            "the call has times",
            is_alone && is_odd && is_reported,
        );
        let nothing = OccupancyStatus::NoDataAvailable as i32;
        self.record_if_dropped(
            "departure_occupancy_status",
            NO_TERM,
            *departure_occupancy_status == Some(nothing),
        );
        let Some(properties) = stop_time_properties else { return };
        let StopTimeProperties {
            assigned_stop_id: _,
            stop_headsign: _,
            pickup_type,
            drop_off_type,
            platform: _,
        } = properties;
        let is_lost = |it: Option<i32>| it.is_some_and(|it| it != DropOffPickupType::None as i32);
        self.record_if_dropped("pickup_type", NO_TERM, is_lost(*pickup_type));
        self.record_if_dropped("drop_off_type", NO_TERM, is_lost(*drop_off_type));
    }

    fn count_dropped_in_event(&mut self, event: &StopTimeEvent) {
        let StopTimeEvent { delay, time, uncertainty, scheduled_time } = event;
        let is_unknown = time.is_none() && scheduled_time.is_none() && !self.has_schedule;
        self.record_if_dropped("delay", NO_TIME, delay.is_some() && is_unknown);
        let computed_delay =
            scheduled_time.zip(*time).map(|(aimed, time)| time.saturating_sub(aimed));
        let is_other = computed_delay
            .zip(*delay)
            .is_some_and(|(computed_delay, delay)| computed_delay != i64::from(delay));
        self.record_if_dropped("delay", "its times give another delay", is_other);
        // A certain time has happened, which SIRI expresses.
        let is_unsure = uncertainty.is_some_and(|it| it != 0);
        self.record_if_dropped(
            "uncertainty",
            "SIRI only states that a time is uncertain",
            is_unsure,
        );
    }

    fn count_dropped_in_vehicle(&mut self, vehicle: &VehiclePosition) {
        let VehiclePosition {
            trip,
            position,
            current_stop_sequence,
            current_status,
            timestamp: _,
            congestion_level,
            stop_id,
            vehicle: descriptor,
            occupancy_status,
            occupancy_percentage,
            multi_carriage_details,
        } = vehicle;
        if let Some(trip) = trip {
            self.count_dropped_in_trip(trip, false);
        }
        if let Some(Position { latitude: _, longitude: _, bearing: _, odometer, speed }) = position
        {
            self.record_if_dropped("odometer", NO_ELEMENT, odometer.is_some());
            let is_backwards = speed.is_some_and(|speed| speed < 0.0);
            self.record_if_dropped("speed", "SIRI has no negative speeds", is_backwards);
            let is_cut = speed.is_some_and(|speed| speed >= 0.0 && speed.fract() != 0.0);
            self.record_if_dropped("speed", "SIRI speeds are whole metres per second", is_cut);
        }
        let is_alone = !self.has_schedule;
        self.record_if_dropped(
            "current_stop_sequence",
            NO_STOP,
            current_stop_sequence.is_some() && is_alone,
        );
        let is_nowhere = text_if_nonempty(stop_id).is_none() && is_alone;
        self.record_if_dropped(
            "current_status",
            "it has no stop",
            current_status.is_some() && is_nowhere,
        );
        let is_near = *current_status == Some(VehicleStopStatus::IncomingAt as i32);
        self.record_if_dropped(
            "current_status",
            "SIRI only states that the vehicle is at the stop",
            is_near && !is_nowhere,
        );
        let degree = congestion_level.and_then(|it| CongestionLevel::try_from(it).ok());
        self.record_if_dropped("congestion_level", "SIRI only states that there is congestion", {
            use CongestionLevel::{SevereCongestion, StopAndGo, UnknownCongestionLevel};
            matches!(degree, Some(SevereCongestion | StopAndGo | UnknownCongestionLevel))
        });
        if let Some(descriptor) = descriptor {
            self.count_dropped_in_vehicle_descriptor(descriptor);
        }
        let nothing = OccupancyStatus::NoDataAvailable as i32;
        self.record_if_dropped("occupancy_status", NO_TERM, *occupancy_status == Some(nothing));
        self.record_if_dropped("occupancy_percentage", NO_ELEMENT, occupancy_percentage.is_some());
        self.record_if_dropped(
            "multi_carriage_details",
            NOT_TRANSLATED,
            !multi_carriage_details.is_empty(),
        );
    }

    fn count_dropped_in_alert(&mut self, alert: &Alert) {
        let Alert {
            active_period: _,
            informed_entity,
            cause: _,
            effect,
            url: _,
            header_text: _,
            description_text: _,
            tts_header_text,
            tts_description_text,
            severity_level: _,
            image,
            image_alternative_text,
            cause_detail: _,
            effect_detail: _,
        } = alert;
        let has_no_term =
            effect.is_some() && terms::map_effect_to_condition(alert.effect()).is_none();
        self.record_if_dropped(
            "effect",
            NO_TERM,
            has_no_term || *effect == Some(Effect::OtherEffect as i32),
        );
        self.record_if_dropped("tts_header_text", NO_ELEMENT, tts_header_text.is_some());
        self.record_if_dropped("tts_description_text", NO_ELEMENT, tts_description_text.is_some());
        self.record_if_dropped("image", NOT_TRANSLATED, image.is_some());
        self.record_if_dropped(
            "image_alternative_text",
            NOT_TRANSLATED,
            image_alternative_text.is_some(),
        );
        informed_entity.iter().for_each(|selector| self.count_dropped_in_selector(selector));
    }

    /// Counts the dropped fields of a selector: SIRI keeps the most specific reference, and others only if it allows
    /// them with that one.
    fn count_dropped_in_selector(&mut self, selector: &EntitySelector) {
        let EntitySelector { agency_id, route_id, route_type, trip, stop_id, direction_id } =
            selector;
        let trip_descriptor = trip.as_ref();
        let is_trip = trip_descriptor.is_some_and(|trip| text_if_nonempty(&trip.trip_id).is_some());
        let trip_route = trip_descriptor.and_then(|trip| text_if_nonempty(&trip.route_id));
        let is_route = !is_trip && text_if_nonempty(route_id).or(trip_route).is_some();
        let is_stop = !is_trip && !is_route && text_if_nonempty(stop_id).is_some();
        let is_type = !is_trip && !is_route && !is_stop && route_type.is_some();
        if let Some(trip) = trip_descriptor {
            self.count_dropped_in_trip(trip, false);
            let is_lost = is_trip && trip.direction_id.is_some();
            self.record_if_dropped("direction_id", CLOSER, is_lost);
            self.record_if_dropped(
                "trip",
                "it has neither a trip nor a route",
                !is_trip && trip_route.is_none(),
            );
        }
        self.record_if_dropped(
            "agency_id",
            CLOSER,
            text_if_nonempty(agency_id).is_some() && (is_trip || is_stop),
        );
        self.record_if_dropped("route_type", CLOSER, route_type.is_some() && !is_type);
        let kind =
            route_type.and_then(|it| u16::try_from(it).ok()).and_then(terms::map_vehicle_mode);
        self.record_if_dropped("route_type", NO_TERM, is_type && kind.is_none());
        self.record_if_dropped(
            "direction_id",
            "it applies only together with a route",
            direction_id.is_some() && !is_route,
        );
    }
}
