//! Counting of SIRI values that are dropped because another value takes precedence: further names of a journey, texts
//! in further languages, times replaced by more certain ones.

use jiff::tz::TimeZone;
use lineside_formats::{
    ConversionReport,
    gtfs_rt::proto::alert::{Cause, Effect},
    siri::{
        AffectedLine, AffectedNetwork, AffectedStopPoint, Affects, CallStatus, LanguageText,
        Occupancy, PtSituationElement, SiriCall, SiriMessage, SiriTime, SituationProgress,
        VehicleActivity, VehicleJourney,
    },
};

use super::{
    super::{
        MappingRules, SiriIdMapping,
        calls::{CallQuays, is_call_skipped},
        first_nonempty_text,
        journeys::{
            JourneyStart, date_of_framed_ref, has_extra_calls, has_usable_call_order,
            parse_direction,
        },
        situations::{affected_directions, textual_contents},
        terms::{self, SituationReasonList},
        vehicles::{self, VehiclePrefixOrigin, find_vehicle_prefix},
        visits::monitored_journey_calls,
    },
    NO_FIELD, NO_SCHEDULE, SCHEDULE,
};

const ANOTHER_NAME: &str = "another id of the same item is used";
const ONE_TEXT: &str = "GTFS-Realtime allows only one text";
const TOLD: &str = "a later or more specific value is used";
const SURER: &str = "a more certain time is used";
const BY_TIMES: &str = "its times already express it";
const NO_TERM: &str = "GTFS-Realtime has no equivalent value";
const ONE_TERM: &str = "GTFS-Realtime allows one value: the most severe or first one";
const NO_STOP: &str = "it has no stop";
const NO_TIMES: &str = "none of its calls has a time";

/// Counts dropped values of an item with this id.
struct OverriddenValueCounter<'a, 'l> {
    id: Option<&'a str>,
    conversion_report: &'l mut ConversionReport,
}

impl OverriddenValueCounter<'_, '_> {
    fn record_if_dropped(&mut self, kind: &'static str, why: &'static str, is_lost: bool) {
        if is_lost {
            self.conversion_report.record_dropped_object(kind, why, self.id);
        }
    }

    fn count_further_texts(&mut self, kind: &'static str, texts: &[LanguageText]) {
        for _ in texts.iter().skip(1) {
            self.record_if_dropped(kind, ONE_TEXT, true);
        }
    }
}

pub(super) fn count_overridden_values(
    message: &SiriMessage,
    has_vehicle_delays: bool,
    has_schedule: bool,
    zone: &TimeZone,
    losses: &mut ConversionReport,
) {
    let numbers = if has_schedule { SCHEDULE } else { NO_SCHEDULE };
    let rules = MappingRules { ids: &SiriIdMapping::Same, has_vehicle_delays, zone };
    for delivery in message.service_deliveries() {
        for frame in delivery.estimated_timetables.iter().flat_map(|it| &it.frames) {
            let journeys = &frame.estimated_vehicle_journeys;
            let has_record_times =
                journeys.iter().all(|journey| journey.recorded_at_time.is_some());
            let mut counter = OverriddenValueCounter { id: None, conversion_report: losses };
            counter.record_if_dropped(
                "RecordedAtTime",
                TOLD,
                frame.recorded_at_time.is_some() && has_record_times,
            );
            journeys
                .iter()
                .for_each(|journey| count_in_estimated_journey(journey, rules, numbers, losses));
        }
        for activity in delivery.vehicle_monitorings.iter().flat_map(|it| &it.vehicle_activities) {
            count_in_vehicle_activity(activity, rules, losses);
        }
        for visit in delivery.stop_monitorings.iter().flat_map(|it| &it.monitored_stop_visits) {
            let Some(journey) = visit.monitored_vehicle_journey.as_deref() else { continue };
            let mut counter =
                OverriddenValueCounter { id: journey_ref_text(journey), conversion_report: losses };
            count_in_journey_names(journey, &mut counter);
            let is_named = journey.journey_ref().is_some();
            counter.record_if_dropped(
                "ItemIdentifier",
                TOLD,
                visit.item_identifier.is_some() && is_named,
            );
            let monitored = journey.monitored_call.as_deref();
            let is_at_call = monitored.is_some_and(|call| call.stop_point_ref.is_some());
            let is_lost = visit.monitoring_ref.is_some() && (is_at_call || monitored.is_none());
            counter.record_if_dropped("MonitoringRef", TOLD, is_lost);
            let is_at = |call: &SiriCall| call.stop_point_ref.is_some();
            let calls = monitored_journey_calls(journey).filter(|(call, _)| match monitored {
                // A monitored call without a stop is mapped to the monitored stop.
                Some(monitored) if std::ptr::eq(*call, monitored) => is_at(call),
                _ => true,
            });
            count_in_journey_calls(journey, calls, &mut counter);
        }
        for situation in delivery.situation_exchanges.iter().flat_map(|it| &it.situations) {
            count_in_situation(situation, losses);
        }
    }
}

fn journey_ref_text(journey: &VehicleJourney) -> Option<&str> {
    journey.journey_ref().map(|id| id.as_str())
}

/// Counts an estimated journey. `numbers` is the reason for which a call's number is dropped.
fn count_in_estimated_journey(
    journey: &VehicleJourney,
    rules: MappingRules<'_>,
    numbers: &'static str,
    losses: &mut ConversionReport,
) {
    let mut counter =
        OverriddenValueCounter { id: journey_ref_text(journey), conversion_report: losses };
    let is_numbered = has_usable_call_order(journey);
    for call in journey.recorded_calls.iter().chain(&journey.estimated_calls) {
        counter.record_if_dropped("Order", numbers, call.order.is_some() && !is_numbered);
    }
    count_in_journey_names(journey, &mut counter);
    count_in_journey_start(journey, rules, &mut counter);
    count_in_vehicle_scope(journey, journey.vehicle_ref.as_deref(), rules, &mut counter);
    counter.count_further_texts("DestinationName", &journey.destination_names);
    counter.count_further_texts("VehicleJourneyName", &journey.vehicle_journey_names);
    let has_name = first_nonempty_text(&journey.vehicle_journey_names).is_some();
    for _ in journey.train_number_refs.iter().skip(usize::from(!has_name)) {
        counter.record_if_dropped("TrainNumberRef", ONE_TEXT, true);
    }
    let next = journey.estimated_calls.first();
    let has_room = next.is_some_and(|next| call_occupancy(next).is_none());
    let is_lost = |it: Occupancy| !has_room || terms::map_occupancy(it).is_none();
    counter.record_if_dropped("Occupancy", TOLD, journey.occupancy.is_some_and(is_lost));
    let past_calls = journey.recorded_calls.iter().map(|call| (call, true));
    let ahead = journey.estimated_calls.iter().map(|call| (call, false));
    count_in_journey_calls(journey, past_calls.chain(ahead), &mut counter);
}

/// Counts the names of a journey after the first, and parts of its names without meaning in GTFS.
fn count_in_journey_names(journey: &VehicleJourney, counter: &mut OverriddenValueCounter<'_, '_>) {
    let framed = journey.framed_vehicle_journey_ref.as_ref();
    let mut is_named = framed.is_some_and(|it| it.dated_vehicle_journey_ref.is_some());
    for (name, is_present) in [
        ("DatedVehicleJourneyRef", journey.dated_vehicle_journey_ref.is_some()),
        ("EstimatedVehicleJourneyCode", journey.estimated_vehicle_journey_code.is_some()),
        ("VehicleJourneyRef", journey.vehicle_journey_ref.is_some()),
    ] {
        counter.record_if_dropped(name, ANOTHER_NAME, is_present && is_named);
        is_named |= is_present;
    }
    let day = framed.filter(|it| it.data_frame_ref.is_some());
    counter.record_if_dropped(
        "DataFrameRef",
        "it is not a date",
        day.is_some_and(|it| date_of_framed_ref(it).is_none()),
    );
    let named = journey.direction_ref.as_deref();
    let is_lost = named.is_some_and(|it| parse_direction(it).is_none());
    counter.record_if_dropped("DirectionRef", "GTFS has only the directions 0 and 1", is_lost);
}

/// Counts a start time, which is mapped only for frequency-based runs and extra journeys.
fn count_in_journey_start(
    journey: &VehicleJourney,
    rules: MappingRules<'_>,
    counter: &mut OverriddenValueCounter<'_, '_>,
) {
    if JourneyStart::from_journey(journey, rules.zone).time.is_none() {
        counter.record_if_dropped(
            "HeadwayService",
            SCHEDULE,
            journey.headway_service == Some(true),
        );
        let is_present = journey.origin_aimed_departure_time.is_some();
        counter.record_if_dropped("OriginAimedDepartureTime", SCHEDULE, is_present);
    }
}

/// Counts references that would identify a vehicle's source, if they are not needed for that.
fn count_in_vehicle_scope(
    journey: &VehicleJourney,
    name: Option<&str>,
    rules: MappingRules<'_>,
    counter: &mut OverriddenValueCounter<'_, '_>,
) {
    let name = name.filter(|name| !name.is_empty());
    let scope = name.and_then(|name| find_vehicle_prefix(name, journey, rules.ids));
    let is_source = matches!(scope, Some((VehiclePrefixOrigin::Source, _)));
    counter.record_if_dropped("DataSource", NO_FIELD, journey.data_source.is_some() && !is_source);
    let is_operator = matches!(scope, Some((VehiclePrefixOrigin::Operator, _)));
    counter.record_if_dropped(
        "OperatorRef",
        SCHEDULE,
        journey.operator_ref.is_some() && !is_operator,
    );
}

fn count_in_vehicle_activity(
    activity: &VehicleActivity,
    rules: MappingRules<'_>,
    losses: &mut ConversionReport,
) {
    let Some(journey) = activity.monitored_vehicle_journey.as_deref() else {
        losses.record_dropped_object(
            "VehicleActivity",
            "it has no journey",
            activity.item_identifier.as_deref(),
        );
        return;
    };
    let mut counter = OverriddenValueCounter {
        id: journey.vehicle_ref.as_deref().or(journey_ref_text(journey)),
        conversion_report: losses,
    };
    count_in_journey_names(journey, &mut counter);
    count_in_journey_start(journey, rules, &mut counter);
    let name = vehicles::vehicle_names(activity, journey).into_iter().flatten().next();
    let name = name.or(journey.journey_ref());
    count_in_vehicle_scope(journey, name.map(|it| it.as_str()), rules, &mut counter);
    let is_located_at = journey.location_recorded_at_time.is_some();
    counter.record_if_dropped(
        "RecordedAtTime",
        TOLD,
        is_located_at && activity.recorded_at_time.is_some(),
    );
    let has_ref = journey.vehicle_ref.is_some();
    let has_group = activity.vehicle_monitoring_ref.is_some();
    counter.record_if_dropped("VehicleMonitoringRef", ANOTHER_NAME, has_group && has_ref);
    let has_item = activity.item_identifier.is_some();
    counter.record_if_dropped("ItemIdentifier", ANOTHER_NAME, has_item && (has_ref || has_group));
    let coordinates = journey.vehicle_location.as_ref();
    let is_placed = coordinates.is_some_and(|it| it.longitude.is_some() && it.latitude.is_some());
    for (name, is_present) in [
        ("Longitude", coordinates.is_some_and(|it| it.longitude.is_some())),
        ("Latitude", coordinates.is_some_and(|it| it.latitude.is_some())),
        ("Bearing", journey.bearing.is_some()),
        ("Velocity", journey.velocity.is_some()),
    ] {
        counter.record_if_dropped(name, "it has no position", is_present && !is_placed);
    }
    let is_unmapped = |it: Occupancy| terms::map_occupancy(it).is_none();
    counter.record_if_dropped("Occupancy", NO_TERM, journey.occupancy.is_some_and(is_unmapped));
    let near = journey.monitored_call.as_deref();
    let is_nowhere = near.is_some_and(|call| call.stop_point_ref.is_none());
    let is_at_stop = near.is_some_and(|call| call.vehicle_at_stop == Some(true));
    counter.record_if_dropped("VehicleAtStop", NO_STOP, is_nowhere && is_at_stop);
    if !rules.has_vehicle_delays {
        return;
    }
    let update = vehicles::trip_update_from_vehicle(journey, rules);
    counter.record_if_dropped("Delay", NO_TIMES, update.is_none() && journey.delay.is_some());
    if update.is_some_and(|update| !update.stop_time_update.is_empty()) {
        count_in_journey_calls(journey, monitored_journey_calls(journey), &mut counter);
        return;
    }
    for call in journey.previous_calls.iter().chain(&journey.onward_calls) {
        counter.record_if_dropped("Call", NO_TIMES, *call != SiriCall::default());
    }
    counter.record_if_dropped(
        "MonitoredCall",
        NO_TIMES,
        near.is_some_and(|call| !has_only_stop_of_vehicle(call)),
    );
}

/// Returns true if a call says no more than the stop of the vehicle.
fn has_only_stop_of_vehicle(call: &SiriCall) -> bool {
    let SiriCall { stop_point_ref, vehicle_at_stop, visit_number, order, stop_point_names, .. } =
        call.clone();
    let where_alone = SiriCall {
        stop_point_ref,
        vehicle_at_stop,
        visit_number,
        order,
        stop_point_names,
        vehicle_location_at_stop: call.vehicle_location_at_stop.clone(),
        ..SiriCall::default()
    };
    where_alone == *call
}

fn count_in_journey_calls<'c>(
    journey: &'c VehicleJourney,
    calls: impl Iterator<Item = (&'c SiriCall, bool)>,
    counter: &mut OverriddenValueCounter<'_, '_>,
) {
    let own = || journey.recorded_calls.iter().chain(&journey.estimated_calls);
    let is_unscheduled = journey.extra_journey == Some(true) || has_extra_calls(journey, own());
    let is_unscheduled = is_unscheduled && journey.cancellation != Some(true);
    for (call, is_past) in calls {
        count_in_call(call, is_past, is_unscheduled, counter);
    }
}

fn call_occupancy(call: &SiriCall) -> Option<Occupancy> {
    let forecast = || call.expected_departure_occupancies.iter().find_map(|it| it.occupancy_level);
    call.occupancy.or_else(forecast)
}

fn count_in_call(
    call: &SiriCall,
    is_past: bool,
    is_unscheduled: bool,
    counter: &mut OverriddenValueCounter<'_, '_>,
) {
    let quays = CallQuays::from_call(call);
    if quays.planned.or(call.stop_point_ref.as_ref()).is_none() {
        return counter.record_if_dropped("Call", NO_STOP, *call != SiriCall::default());
    }
    let is_replaced = quays.planned.is_some() && quays.expected.is_some();
    counter.record_if_dropped("StopPointRef", TOLD, call.stop_point_ref.is_some() && is_replaced);
    counter.count_further_texts("DestinationDisplay", &call.destination_displays);
    counter.count_further_texts("DeparturePlatformName", &call.departure_platform_names);
    let departs_there = first_nonempty_text(&call.departure_platform_names).is_some();
    for _ in call.arrival_platform_names.iter().skip(usize::from(!departs_there)) {
        counter.record_if_dropped("ArrivalPlatformName", ONE_TEXT, true);
    }
    let is_usual = call.arrival_boarding_activity
        == Some(lineside_formats::siri::ArrivalBoardingActivity::Alighting);
    counter.record_if_dropped("ArrivalBoardingActivity", SCHEDULE, is_usual);
    let is_usual = call.departure_boarding_activity
        == Some(lineside_formats::siri::DepartureBoardingActivity::Boarding);
    counter.record_if_dropped("DepartureBoardingActivity", SCHEDULE, is_usual);
    counter.record_if_dropped(
        "Occupancy",
        NO_TERM,
        call.occupancy.is_some_and(|it| terms::map_occupancy(it).is_none()),
    );
    let levels = call.expected_departure_occupancies.iter().filter_map(|it| it.occupancy_level);
    for level in levels.skip(usize::from(call.occupancy.is_none())) {
        counter.record_if_dropped("OccupancyLevel", TOLD, terms::map_occupancy(level).is_some());
    }
    let is_cancelled = is_call_skipped(call);
    let status = |status: Option<CallStatus>| status.filter(|it| *it != CallStatus::Cancelled);
    let arrival = CallEventValues {
        names: [
            "AimedArrivalTime",
            "ExpectedArrivalTime",
            "LatestExpectedArrivalTime",
            "ActualArrivalTime",
        ],
        aimed: call.aimed_arrival_time,
        expected: call.expected_arrival_time,
        later: call.latest_expected_arrival_time,
        actual: call.actual_arrival_time,
        is_as_planned: matches!(
            call.arrival_status,
            Some(CallStatus::OnTime | CallStatus::Arrived)
        ) && (!is_past || call.actual_arrival_time.is_some()),
        status: ("ArrivalStatus", status(call.arrival_status)),
    };
    arrival.count_in_call_event(is_cancelled, is_unscheduled, counter);
    let departure = CallEventValues {
        names: [
            "AimedDepartureTime",
            "ExpectedDepartureTime",
            "ProvisionalExpectedDepartureTime",
            "ActualDepartureTime",
        ],
        aimed: call.aimed_departure_time,
        expected: call.expected_departure_time,
        later: call.provisional_expected_departure_time,
        actual: call.actual_departure_time,
        is_as_planned: call.departure_status == Some(CallStatus::OnTime) && !is_past,
        status: ("DepartureStatus", status(call.departure_status)),
    };
    departure.count_in_call_event(is_cancelled, is_unscheduled, counter);
}

/// The values of an arrival or a departure.
struct CallEventValues {
    /// Names of the aimed, expected, less certain and actual times.
    names: [&'static str; 4],
    aimed: Option<SiriTime>,
    expected: Option<SiriTime>,
    later: Option<SiriTime>,
    actual: Option<SiriTime>,
    is_as_planned: bool,
    status: (&'static str, Option<CallStatus>),
}

impl CallEventValues {
    fn count_in_call_event(
        &self,
        is_cancelled: bool,
        is_unscheduled: bool,
        counter: &mut OverriddenValueCounter<'_, '_>,
    ) {
        let [aimed, expected, later, actual] = self.names;
        let (name, status) = self.status;
        let silent =
            status == Some(CallStatus::NoReport) && self.actual.is_none() && !is_unscheduled;
        let is_reported = !is_cancelled && !silent;
        let has_time = self.actual.or(self.expected).or(self.later).is_some();
        let aims = self.aimed.is_some();
        // Without other times, the aimed time is an event if it is confirmed or if no schedule has it.
        let is_event = has_time || (aims && (self.is_as_planned || is_unscheduled));
        counter.record_if_dropped(
            aimed,
            SCHEDULE,
            aims && !(is_reported && is_event) && !(is_cancelled && is_unscheduled),
        );
        let surer = self.actual.is_some() || !is_reported;
        counter.record_if_dropped(expected, SURER, self.expected.is_some() && surer);
        let surer = surer || self.expected.is_some();
        counter.record_if_dropped(later, SURER, self.later.is_some() && surer);
        counter.record_if_dropped(
            actual,
            "the vehicle does not stop there",
            self.actual.is_some() && is_cancelled,
        );
        let decides =
            silent || (is_reported && !has_time && aims && self.is_as_planned && !is_unscheduled);
        counter.record_if_dropped(name, BY_TIMES, status.is_some() && !decides);
    }
}

fn count_in_situation(situation: &PtSituationElement, losses: &mut ConversionReport) {
    let mut counter = OverriddenValueCounter {
        id: situation.situation_number.as_deref(),
        conversion_report: losses,
    };
    let is_closed = situation.progress == Some(SituationProgress::Closed);
    let has_version = situation.versioned_at_time.is_some();
    let is_created = situation.creation_time.is_some();
    counter.record_if_dropped("CreationTime", NO_FIELD, is_created && (!is_closed || has_version));
    counter.record_if_dropped("VersionedAtTime", NO_FIELD, has_version && !is_closed);
    let is_usual = matches!(
        situation.progress,
        None | Some(
            SituationProgress::Closed | SituationProgress::Published | SituationProgress::Open
        )
    );
    counter.record_if_dropped("Progress", NO_FIELD, !is_usual);
    count_in_reasons(situation, &mut counter);
    count_in_severities(situation, &mut counter);
    count_in_effects(situation, &mut counter);
    let links = situation.info_links.iter();
    let links = links.chain(textual_contents(situation).flat_map(|it| &it.info_links));
    for _ in links.filter(|link| link.uri.is_some()).skip(1) {
        counter.record_if_dropped("InfoLink", "an alert has only one URL", true);
    }
    let own = [
        &situation.reason_names,
        &situation.summaries,
        &situation.descriptions,
        &situation.details,
        &situation.advices,
    ];
    let texts = own.into_iter().flatten();
    let parts = textual_contents(situation).flat_map(|it| {
        [
            &it.summary_texts,
            &it.reason_texts,
            &it.description_texts,
            &it.consequence_texts,
            &it.recommendation_texts,
            &it.duration_texts,
            &it.remarks,
        ]
    });
    let mut texts = texts.chain(parts.flatten());
    let speaks = texts.any(|text| text.lang.is_none() && !text.value.is_empty());
    counter.record_if_dropped(
        "Language",
        "its texts have their own languages",
        situation.language.is_some() && !speaks,
    );
    let consequences = situation.consequences.iter().filter_map(|it| it.affects.as_deref());
    let scopes = situation.publishing_actions.iter();
    let scopes = scopes.filter_map(|it| it.publish_at_scope.as_ref()?.affects.as_deref());
    for affects in situation.affects.as_deref().into_iter().chain(consequences).chain(scopes) {
        count_in_affects(affects, &mut counter);
    }
}

fn count_in_reasons(situation: &PtSituationElement, counter: &mut OverriddenValueCounter<'_, '_>) {
    let mut is_known = false;
    for (name, reason, list) in [
        ("AlertCause", &situation.alert_cause, SituationReasonList::Any),
        ("MiscellaneousReason", &situation.miscellaneous_reason, SituationReasonList::Any),
        ("PersonnelReason", &situation.personnel_reason, SituationReasonList::Any),
        ("EquipmentReason", &situation.equipment_reason, SituationReasonList::Equipment),
        ("EnvironmentReason", &situation.environment_reason, SituationReasonList::Environment),
        ("PublicEventReason", &situation.public_event_reason, SituationReasonList::PublicEvent),
    ] {
        let Some(reason) = reason.as_deref() else { continue };
        let cause = terms::map_reason_to_cause(reason, list);
        let is_known_cause = cause != Cause::UnknownCause;
        counter.record_if_dropped(name, ONE_TERM, is_known);
        let is_other = !is_known_cause || cause == Cause::OtherCause;
        counter.record_if_dropped(name, NO_TERM, !is_known && is_other);
        is_known |= is_known_cause;
    }
}

fn count_in_severities(
    situation: &PtSituationElement,
    counter: &mut OverriddenValueCounter<'_, '_>,
) {
    let consequence_severities = situation.consequences.iter().filter_map(|it| it.severity);
    for _ in consequence_severities.skip(usize::from(situation.severity.is_none())) {
        counter.record_if_dropped("Severity", ONE_TERM, true);
    }
}

fn count_in_effects(situation: &PtSituationElement, counter: &mut OverriddenValueCounter<'_, '_>) {
    let conditions = situation.consequences.iter().flat_map(|it| &it.conditions);
    let at_stops = situation.affects.iter().flat_map(|affects| affects.stop_points.iter());
    let at_stops = at_stops.flat_map(|stop| &stop.stop_conditions);
    let named =
        conditions.map(|it| ("Condition", it)).chain(at_stops.map(|it| ("StopCondition", it)));
    let named: Vec<_> = named.collect();
    let effect = terms::map_conditions_to_effect(named.iter().map(|(_, it)| it.as_str()));
    let mut is_reported = false;
    for (name, condition) in named {
        let own = terms::map_conditions_to_effect([condition.as_str()].into_iter());
        let counts = own == effect && !is_reported;
        is_reported |= counts;
        counter.record_if_dropped(name, ONE_TERM, !counts);
        let is_vague = matches!(own, Effect::OtherEffect | Effect::UnknownEffect);
        counter.record_if_dropped(name, NO_TERM, counts && is_vague);
    }
}

fn count_in_affects(affects: &Affects, counter: &mut OverriddenValueCounter<'_, '_>) {
    for network in &affects.networks {
        count_in_affected_network(network, counter);
    }
    affects.stop_points.iter().for_each(|stop| count_in_affected_stop(stop, counter));
    for journey in &affects.vehicle_journeys {
        let framed = journey.framed_vehicle_journey_ref.as_ref();
        let day = framed.filter(|it| it.data_frame_ref.is_some());
        counter.record_if_dropped(
            "DataFrameRef",
            "it is not a date",
            day.is_some_and(|it| date_of_framed_ref(it).is_none()),
        );
        let mut refs =
            journey.vehicle_journey_refs.iter().chain(&journey.dated_vehicle_journey_refs);
        let is_unnamed = day.is_some_and(|it| it.dated_vehicle_journey_ref.is_none());
        counter.record_if_dropped(
            "DataFrameRef",
            "it has a date but no journey",
            is_unnamed && refs.next().is_none(),
        );
    }
}

fn count_in_affected_network(
    network: &AffectedNetwork,
    counter: &mut OverriddenValueCounter<'_, '_>,
) {
    let has_lines = !network.affected_lines.is_empty();
    let has_mode = network.vehicle_mode.is_some();
    let types = network.vehicle_mode.as_deref().map(terms::route_types_of_mode).unwrap_or_default();
    counter.record_if_dropped("VehicleMode", SCHEDULE, has_mode && (has_lines || types.is_empty()));
    let has_operators = network.affected_operators.iter().any(|it| it.operator_ref.is_some());
    let is_specified = has_lines || has_mode || has_operators || network.network_ref.is_some();
    counter.record_if_dropped("AllLines", TOLD, network.all_lines.0 && is_specified);
    for operator in &network.affected_operators {
        counter.record_if_dropped(
            "OperatorRef",
            SCHEDULE,
            has_lines && operator.operator_ref.is_some(),
        );
    }
    network.affected_lines.iter().for_each(|line| count_in_affected_line(line, counter));
}

fn count_in_affected_line(line: &AffectedLine, counter: &mut OverriddenValueCounter<'_, '_>) {
    if line.line_ref.is_none() {
        return counter.record_if_dropped(
            "AffectedLine",
            "it has no line",
            *line != AffectedLine::default(),
        );
    }
    let is_reported = affected_directions(line) != [None];
    for named in &line.directions {
        let is_present = named.direction_ref.is_some();
        counter.record_if_dropped(
            "DirectionRef",
            "all directions are affected",
            is_present && !is_reported,
        );
    }
    let route_stops = line.routes.iter().flat_map(|route| &route.stop_points);
    line.stop_points
        .iter()
        .chain(route_stops)
        .for_each(|stop| count_in_affected_stop(stop, counter));
}

fn count_in_affected_stop(stop: &AffectedStopPoint, counter: &mut OverriddenValueCounter<'_, '_>) {
    let is_both = stop.stop_point_ref.is_some() && stop.stop_place_ref.is_some();
    counter.record_if_dropped("StopPlaceRef", TOLD, is_both);
    let is_neither = stop.stop_point_ref.is_none() && stop.stop_place_ref.is_none();
    counter.record_if_dropped("AffectedStopPoint", NO_STOP, is_neither);
}
