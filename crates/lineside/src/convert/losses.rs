//! What formats of real time cannot say of each other.

use lineside_formats::{
    Losses,
    gtfs_rt::{
        RawEntity, Shallow,
        proto::{Alert, FeedEntity, FeedMessage, VehiclePosition},
    },
    siri::{Call, Message, PtSituationElement, VehicleJourney},
};

/// A field that is left behind: what it is called, why, and whether it is there.
type Row<T> = (&'static str, &'static str, fn(&T) -> bool);

fn count<T>(rows: &[Row<T>], thing: &T, id: Option<&str>, losses: &mut Losses) {
    for (kind, why, is_there) in rows {
        if is_there(thing) {
            losses.push(kind, why, id);
        }
    }
}

const NO_FIELD: &str = "GTFS-Realtime has no field for it";
const NO_ELEMENT: &str = "SIRI has no element for it";

const JOURNEY: [Row<VehicleJourney>; 15] = [
    ("PublishedLineName", "the schedule has it", |it| !it.published_line_names.is_empty()),
    ("DirectionName", NO_FIELD, |it| !it.direction_names.is_empty()),
    ("OriginName", "the schedule has it", |it| !it.origin_names.is_empty()),
    ("Via", NO_FIELD, |it| !it.vias.is_empty()),
    ("OperatorRef", "the schedule has it", |it| it.operator_ref.is_some()),
    ("ProductCategoryRef", NO_FIELD, |it| it.product_category_ref.is_some()),
    ("VehicleMode", "the schedule has it", |it| !it.vehicle_modes.is_empty()),
    ("JourneyNote", NO_FIELD, |it| !it.journey_notes.is_empty()),
    ("SituationRef", "alerts name what they are about", |it| !it.situation_refs.is_empty()),
    ("ProgressStatus", NO_FIELD, |it| !it.progress_statuses.is_empty()),
    ("ConfidenceLevel", NO_FIELD, |it| it.confidence_level.is_some()),
    ("BlockRef", "the schedule has it", |it| it.block_ref.is_some()),
    ("DriverRef", NO_FIELD, |it| it.driver_ref.is_some()),
    ("InPanic", NO_FIELD, |it| it.in_panic == Some(true)),
    ("DataSource", NO_FIELD, |it| it.data_source.is_some()),
];

const CALL: [Row<Call>; 6] = [
    ("PredictionInaccurate", "an uncertainty would have to be a number of seconds", |it| {
        it.prediction_inaccurate == Some(true)
    }),
    ("CallNote", NO_FIELD, |it| !it.call_notes.is_empty()),
    ("StopPointName", "the schedule has it", |it| !it.stop_point_names.is_empty()),
    ("DepartureProximityText", NO_FIELD, |it| {
        !it.departure_proximity_texts.is_empty() || !it.arrival_proximity_texts.is_empty()
    }),
    ("HeadwayInterval", NO_FIELD, |it| {
        it.aimed_headway_interval.is_some() || it.expected_headway_interval.is_some()
    }),
    ("DistanceFromStop", NO_FIELD, |it| {
        it.distance_from_stop.is_some() || it.number_of_stops_away.is_some()
    }),
];

const SITUATION: [Row<PtSituationElement>; 6] = [
    ("Priority", NO_FIELD, |it| it.priority.is_some()),
    ("Keywords", NO_FIELD, |it| !it.keywords.is_empty()),
    ("PublicationWindow", NO_FIELD, |it| !it.publication_windows.is_empty()),
    ("RelatedToRef", NO_FIELD, |it| !it.related_to_refs.is_empty()),
    ("Source", NO_FIELD, |it| it.source.is_some()),
    ("ReportType", NO_FIELD, |it| it.report_type.is_some()),
];

/// What SIRI says and GTFS-Realtime does not.
pub(super) fn of_siri(message: &Message, losses: &mut Losses) {
    for delivery in message.deliveries() {
        let timetables = delivery.estimated_timetables.iter().flat_map(|it| it.journeys());
        let activities = delivery.vehicle_monitorings.iter();
        let activities = activities
            .flat_map(|it| &it.vehicle_activities)
            .filter_map(|it| it.monitored_vehicle_journey.as_deref());
        let visits = delivery.stop_monitorings.iter();
        let visits = visits
            .flat_map(|it| &it.monitored_stop_visits)
            .filter_map(|it| it.monitored_vehicle_journey.as_deref());
        for journey in timetables.chain(activities).chain(visits) {
            of_journey(journey, losses);
        }
        for exchange in &delivery.situation_exchanges {
            for situation in &exchange.situations {
                count(&SITUATION, situation, situation.situation_number.as_deref(), losses);
            }
        }
    }
}

fn of_journey(journey: &VehicleJourney, losses: &mut Losses) {
    let id = journey.journey_ref().map(|id| id.as_str());
    count(&JOURNEY, journey, id, losses);
    let monitored = journey.monitored_call.as_deref().into_iter();
    let calls = journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let calls = calls.chain(&journey.previous_calls).chain(monitored).chain(&journey.onward_calls);
    for call in calls {
        count(&CALL, call, id, losses);
    }
}

const ENTITY: [Row<FeedEntity>; 3] = [
    ("shape", NO_ELEMENT, |it| it.shape.is_some()),
    ("stop", NO_ELEMENT, |it| it.stop.is_some()),
    ("trip_modifications", NO_ELEMENT, |it| it.trip_modifications.is_some()),
];

const VEHICLE: [Row<VehiclePosition>; 4] = [
    ("multi_carriage_details", "it is not translated", |it| !it.multi_carriage_details.is_empty()),
    ("odometer", NO_ELEMENT, |it| it.position.as_ref().is_some_and(|it| it.odometer.is_some())),
    ("occupancy_percentage", NO_ELEMENT, |it| it.occupancy_percentage.is_some()),
    ("label", NO_ELEMENT, |it| it.vehicle.as_ref().is_some_and(|it| it.label.is_some())),
];

const ALERT: [Row<Alert>; 3] = [
    ("image", "it is not translated", |it| it.image.is_some()),
    ("tts_header_text", NO_ELEMENT, |it| it.tts_header_text.is_some()),
    ("tts_description_text", NO_ELEMENT, |it| it.tts_description_text.is_some()),
];

/// What GTFS-Realtime says and SIRI does not.
pub(super) fn of_gtfs_rt(message: &FeedMessage, losses: &mut Losses) {
    for entity in &message.entity {
        let id = Some(entity.id.as_str());
        count(&ENTITY, entity, id, losses);
        if let Some(vehicle) = &entity.vehicle {
            count(&VEHICLE, vehicle, id, losses);
        }
        if let Some(alert) = &entity.alert {
            count(&ALERT, alert, id, losses);
        }
    }
}

/// What has no place on a map.
pub(super) fn of_geojson(message: &FeedMessage, losses: &mut Losses) {
    for entity in &message.entity {
        let id = Some(entity.id.as_str());
        if entity.trip_update.is_some() {
            losses.push("trip_update", "GeoJSON has vehicles alone", id);
        }
        if entity.alert.is_some() {
            losses.push("alert", "GeoJSON has vehicles alone", id);
        }
        if entity.vehicle.as_ref().is_some_and(|vehicle| vehicle.position.is_none()) {
            losses.push("vehicle", "it has no position", id);
        }
    }
}

/// Extensions have numbers, and JSON has names.
pub(super) fn of_json(message: &Shallow, losses: &mut Losses) {
    for raw in &message.entities {
        let Ok(entity) = raw.decode() else { continue };
        if RawEntity::of_entity(&entity, raw.number).bytes.len() < raw.bytes.len() {
            losses.push("extension", "JSON has no name for it", Some(raw.id()));
        }
    }
}
