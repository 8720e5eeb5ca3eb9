//! Checks of estimated journeys, monitored vehicles, and stop visits.

use lineside_formats::siri::{
    EstimatedTimetableDelivery, FramedVehicleJourneyRef, MonitoredStopVisit,
    StopMonitoringDelivery, VehicleActivity, VehicleJourney, VehicleMonitoringDelivery,
};

use super::{calls, delivery_check::SiriDeliveryCheck, kinds};

pub(super) fn check_estimated_timetable(
    check: &mut SiriDeliveryCheck<'_>,
    delivery: &EstimatedTimetableDelivery,
) {
    for frame in &delivery.frames {
        check.report_if_after_delivery(frame.recorded_at_time, None, "RecordedAtTime");
        for journey in check.records_within_time_limit(&frame.estimated_vehicle_journeys) {
            check_estimated_journey(check, journey);
        }
    }
}

/// Elements that identify a journey.
const NAMES: [&str; 3] = [
    "FramedVehicleJourneyRef/DatedVehicleJourneyRef",
    "DatedVehicleJourneyRef",
    "EstimatedVehicleJourneyCode",
];

/// The element with the operating day of a journey reference.
const DAY: &str = "FramedVehicleJourneyRef/DataFrameRef";

/// Elements that distinguish journeys with one reference.
const QUALIFIERS: [&str; 4] = ["LineRef", DAY, "HeadwayService", "OriginAimedDepartureTime"];

fn check_estimated_journey(check: &mut SiriDeliveryCheck<'_>, journey: &VehicleJourney) {
    let id = journey.journey_ref().map(|id| id.as_str());
    let code = journey.estimated_vehicle_journey_code.as_ref();
    let is_named =
        id.is_some() || NAMES.iter().any(|name| journey.unread.has_unreadable_element(name));
    check.report_element_unless_present(
        is_named,
        &journey.unread,
        journey.line_ref.as_deref(),
        "FramedVehicleJourneyRef",
    );
    check_framed_journey_reference(check, journey, id);
    check.report_if_after_delivery(journey.recorded_at_time, id, "RecordedAtTime");
    // A reference without a day may repeat the next day.
    let has_day = journey.framed_vehicle_journey_ref.is_some() || code.is_some();
    let is_identifiable =
        !QUALIFIERS.iter().any(|name| journey.unread.has_unreadable_element(name));
    if let Some(name) = unique_journey_key(journey).filter(|_| has_day && is_identifiable)
        && !check.is_first_occurrence(name)
    {
        check.report_record_notice(&kinds::DUPLICATE_JOURNEY, id, |_| {});
    }
    let has_calls = !journey.recorded_calls.is_empty() || !journey.estimated_calls.is_empty();
    match (has_calls, journey.extra_journey == Some(true)) {
        _ if ["ExtraJourney", "Cancellation"]
            .iter()
            .any(|name| journey.unread.has_unreadable_element(name)) => {}
        (false, true) => check.report_record_notice(&kinds::NO_DATA, id, |_| {}),
        (false, false) if journey.cancellation != Some(true) => {
            check.report_record_notice(&kinds::NO_CALLS, id, |_| {});
        }
        _ => {}
    }
    calls::check_journey_calls(check, journey, id);
}

/// Returns the reference of a journey with its day and line. Runs of a headway service share it and are distinguished
/// by their start.
fn unique_journey_key(journey: &VehicleJourney) -> Option<String> {
    let begins =
        journey.origin_aimed_departure_time.filter(|_| journey.headway_service == Some(true));
    let begins = begins.map_or_else(String::new, |at| at.as_millis().to_string());
    let day =
        journey.framed_vehicle_journey_ref.as_ref().and_then(|it| it.data_frame_ref.as_deref());
    let line = journey.line_ref.as_deref().unwrap_or_default();
    Some(format!("{line}\n{}\n{}\n{begins}", day.unwrap_or_default(), journey.journey_ref()?))
}

fn check_framed_journey_reference(
    check: &mut SiriDeliveryCheck<'_>,
    journey: &VehicleJourney,
    id: Option<&str>,
) {
    if let Some(FramedVehicleJourneyRef { data_frame_ref, dated_vehicle_journey_ref }) =
        &journey.framed_vehicle_journey_ref
    {
        let unread = &journey.unread;
        let has_day = data_frame_ref.is_some() || unread.has_unreadable_element(DAY);
        check.report_element_unless_present(has_day, unread, id, "DataFrameRef");
        let has_name =
            dated_vehicle_journey_ref.is_some() || unread.has_unreadable_element(NAMES[0]);
        check.report_element_unless_present(has_name, unread, id, "DatedVehicleJourneyRef");
    }
}

pub(super) fn check_vehicle_activities(
    check: &mut SiriDeliveryCheck<'_>,
    delivery: &VehicleMonitoringDelivery,
) {
    for activity in check.records_within_time_limit(&delivery.vehicle_activities) {
        check_vehicle_activity(check, activity);
    }
}

fn check_vehicle_activity(check: &mut SiriDeliveryCheck<'_>, activity: &VehicleActivity) {
    let Some(journey) = activity.monitored_vehicle_journey.as_deref() else { return };
    let vehicle = journey.vehicle_ref.as_deref();
    let id = vehicle.or_else(|| journey.journey_ref().map(|id| id.as_str()));
    check.report_element_unless_present(
        activity.recorded_at_time.is_some(),
        &activity.unread,
        id,
        "RecordedAtTime",
    );
    check.report_element_unless_present(
        activity.valid_until_time.is_some(),
        &activity.unread,
        id,
        "ValidUntilTime",
    );
    check.report_if_after_delivery(activity.recorded_at_time, id, "RecordedAtTime");
    check.report_if_expired(activity.valid_until_time, id, "ValidUntilTime");
    check_framed_journey_reference(check, journey, id);
    match vehicle {
        // Vehicle numbers are unique per operator, and some vehicles do not name their operator.
        Some(vehicle) => {
            let operator = journey.operator_ref.as_deref().unwrap_or_default();
            let line = journey.line_ref.as_deref().unwrap_or_default();
            let is_identifiable = !["OperatorRef", "LineRef"]
                .iter()
                .any(|name| journey.unread.has_unreadable_element(name));
            if is_identifiable
                && !check.is_first_occurrence(format!("{operator}\n{line}\n{vehicle}"))
            {
                check.report_record_notice(&kinds::DUPLICATE_VEHICLE, id, |_| {});
            }
        }
        None if journey.unread.has_unreadable_element("VehicleRef") => {}
        None => check.report_record_notice(&kinds::NO_VEHICLE, id, |_| {}),
    }
    match &journey.vehicle_location {
        Some(location) => check.check_location_range(location, id),
        // A vehicle that is not monitored has no location.
        None if journey.monitored == Some(false)
            || journey.unread.has_unreadable_element("Monitored") => {}
        None => check.report_record_notice(&kinds::NO_LOCATION, id, |_| {}),
    }
    if let Some(bearing) = journey.bearing.filter(|bearing| !(0.0..=360.0).contains(bearing)) {
        check.report_record_notice(&kinds::BEARING, id, |sample| {
            _ = sample.set_field("bearing", bearing)
        });
    }
    calls::check_journey_calls(check, journey, id);
}

pub(super) fn check_stop_visits(
    check: &mut SiriDeliveryCheck<'_>,
    delivery: &StopMonitoringDelivery,
) {
    for visit in check.records_within_time_limit(&delivery.monitored_stop_visits) {
        self::check_stop_visit(check, visit);
    }
}

fn check_stop_visit(check: &mut SiriDeliveryCheck<'_>, visit: &MonitoredStopVisit) {
    let Some(journey) = visit.monitored_vehicle_journey.as_deref() else { return };
    let id = visit.item_identifier.as_ref().or_else(|| journey.journey_ref());
    let id = id.map(|id| id.as_str());
    check.report_element_unless_present(
        visit.recorded_at_time.is_some(),
        &visit.unread,
        id,
        "RecordedAtTime",
    );
    check.report_if_after_delivery(visit.recorded_at_time, id, "RecordedAtTime");
    check.report_if_expired(visit.valid_until_time, id, "ValidUntilTime");
    check_framed_journey_reference(check, journey, id);
    if let Some(location) = &journey.vehicle_location {
        check.check_location_range(location, id);
    }
    calls::check_journey_calls(check, journey, id);
}
