//! Records of journeys and calls, in estimated timetables, vehicle monitoring and stop monitoring.

use smol_str::SmolStr;

use super::{
    ArrivalBoardingActivity, CallStatus, DepartureBoardingActivity, DurationSeconds, LanguageText,
    Occupancy, SiriTime,
    record::{IdentifiedRecord, SiriRecord as _, records},
    sink::MessageSink,
};

records! {
    /// A journey, by day and id within the day.
    pub struct FramedVehicleJourneyRef {
        /// The day: usually a date, sometimes another id.
        data_frame_ref: Option<SmolStr> = "DataFrameRef",
        /// The journey.
        dated_vehicle_journey_ref: Option<SmolStr> = "DatedVehicleJourneyRef",
    }

    /// A position, in degrees of WGS 84 unless the message states another system.
    pub struct Location {
        /// Degrees east.
        longitude: Option<f64> = "Longitude",
        /// Degrees north.
        latitude: Option<f64> = "Latitude",
        /// Both coordinates, or a point in another system, as written.
        coordinates: Option<SmolStr> = "Coordinates",
        /// Precision in metres.
        precision: Option<f64> = "Precision",
    }

    /// The planned, expected and actual quay of a stop.
    pub struct StopAssignment {
        /// The planned quay.
        aimed_quay_ref: Option<SmolStr> = "AimedQuayRef",
        /// Its name.
        aimed_quay_names: Vec<LanguageText> = "AimedQuayName",
        /// The expected quay.
        expected_quay_ref: Option<SmolStr> = "ExpectedQuayRef",
        /// Its name.
        expected_quay_names: Vec<LanguageText> = "ExpectedQuayName",
        /// The actual quay.
        actual_quay_ref: Option<SmolStr> = "ActualQuayRef",
        /// Its name.
        actual_quay_names: Vec<LanguageText> = "ActualQuayName",
    }

    /// The expected occupancy at departure (2.1).
    pub struct DepartureOccupancy {
        /// The fare class that it applies to.
        fare_class: Option<SmolStr> = "FareClass",
        /// The occupancy level.
        occupancy_level: Option<Occupancy> = "OccupancyLevel",
        /// The occupancy in percent.
        occupancy_percentage: Option<f64> = "OccupancyPercentage",
    }

    /// A full reference to a situation.
    pub struct SituationFullRef {
        /// The country.
        country_ref: Option<SmolStr> = "CountryRef",
        /// The participant that owns the situation.
        participant_ref: Option<SmolStr> = "ParticipantRef",
        /// The number within the participant.
        situation_number: Option<SmolStr> = "SituationNumber",
        /// The version.
        version: Option<SmolStr> = "Version",
    }

    /// A reference to a situation.
    pub struct SituationRef {
        /// The number of the situation.
        situation_simple_ref: Option<SmolStr> = "SituationSimpleRef",
        /// The full reference.
        situation_full_ref: Option<Box<SituationFullRef>> = "SituationFullRef",
    }

    /// A recorded, estimated, monitored, previous or onward call of a journey, depending on its list. Fields are in the
    /// schema's order of estimated calls; recorded calls are written in their own order. Monitored calls have actual
    /// before expected values, so a call with both is not written in the schema's order.
    pub struct SiriCall: call {
        ?unread,
        /// The stop or quay.
        stop_point_ref: Option<SmolStr> = "StopPointRef",
        /// The number of this visit of the journey to the stop, from 1.
        visit_number: Option<u32> = "VisitNumber",
        /// The position in the journey.
        order: Option<u32> = "Order",
        /// The name of the stop.
        stop_point_names: Vec<LanguageText> = "StopPointName",
        /// True if the call is not in the timetable.
        extra_call: Option<bool> = "ExtraCall",
        /// True if the vehicle does not stop here.
        cancellation: Option<bool> = "Cancellation",
        /// True if the vehicle is at the stop.
        vehicle_at_stop: Option<bool> = "VehicleAtStop",
        /// The position at which the vehicle stops.
        vehicle_location_at_stop: Option<Box<Location>> = "VehicleLocationAtStop",
        /// True if the prediction is less certain than usual.
        prediction_inaccurate: Option<bool> = "PredictionInaccurate",
        /// The occupancy of the vehicle.
        occupancy: Option<Occupancy> = "Occupancy",
        /// True if the vehicle waits here for its scheduled time.
        timing_point: Option<bool> = "TimingPoint",
        /// True if passengers can board and alight anywhere from here on.
        boarding_stretch: Option<bool> = "BoardingStretch",
        /// True if the vehicle stops only on request.
        request_stop: Option<bool> = "RequestStop",
        /// The origin, as the vehicle shows it.
        origin_displays: Vec<LanguageText> = "OriginDisplay",
        /// The destination, as the vehicle shows it.
        destination_displays: Vec<LanguageText> = "DestinationDisplay",
        /// Notes.
        call_notes: Vec<LanguageText> = "CallNote",
        /// References to situations that affect the call.
        situation_refs: Vec<SituationRef> = "SituationRef",
        /// Scheduled arrival.
        aimed_arrival_time: Option<SiriTime> = "AimedArrivalTime",
        /// Expected arrival.
        expected_arrival_time: Option<SiriTime> = "ExpectedArrivalTime",
        /// Actual arrival.
        actual_arrival_time: Option<SiriTime> = "ActualArrivalTime",
        /// Latest expected arrival.
        latest_expected_arrival_time: Option<SiriTime> = "LatestExpectedArrivalTime",
        /// Status of the arrival.
        arrival_status: Option<CallStatus> = "ArrivalStatus",
        /// Status of the arrival as a text.
        arrival_proximity_texts: Vec<LanguageText> = "ArrivalProximityText",
        /// The arrival platform.
        arrival_platform_names: Vec<LanguageText> = "ArrivalPlatformName",
        /// Alighting at the arrival.
        arrival_boarding_activity: Option<ArrivalBoardingActivity> = "ArrivalBoardingActivity",
        /// The arrival quay.
        arrival_stop_assignments: Vec<StopAssignment> = "ArrivalStopAssignment",
        /// Scheduled departure.
        aimed_departure_time: Option<SiriTime> = "AimedDepartureTime",
        /// Expected departure.
        expected_departure_time: Option<SiriTime> = "ExpectedDepartureTime",
        /// Expected departure by default, before the vehicle reports.
        provisional_expected_departure_time: Option<SiriTime> = "ProvisionalExpectedDepartureTime",
        /// Earliest expected departure.
        earliest_expected_departure_time: Option<SiriTime> = "EarliestExpectedDepartureTime",
        /// Actual departure.
        actual_departure_time: Option<SiriTime> = "ActualDepartureTime",
        /// Status of the departure.
        departure_status: Option<CallStatus> = "DepartureStatus",
        /// Status of the departure as a text.
        departure_proximity_texts: Vec<LanguageText> = "DepartureProximityText",
        /// The departure platform.
        departure_platform_names: Vec<LanguageText> = "DeparturePlatformName",
        /// Boarding at the departure.
        departure_boarding_activity: Option<DepartureBoardingActivity> = "DepartureBoardingActivity",
        /// The departure quay.
        departure_stop_assignments: Vec<StopAssignment> = "DepartureStopAssignment",
        /// Expected occupancy at departure.
        expected_departure_occupancies: Vec<DepartureOccupancy> = "ExpectedDepartureOccupancy",
        /// Scheduled interval to the previous vehicle.
        aimed_headway_interval: Option<DurationSeconds> = "AimedHeadwayInterval",
        /// Expected interval to the previous vehicle.
        expected_headway_interval: Option<DurationSeconds> = "ExpectedHeadwayInterval",
        /// Distance of the vehicle from the stop in metres.
        distance_from_stop: Option<f64> = "DistanceFromStop",
        /// Number of stops between the vehicle and this one.
        number_of_stops_away: Option<u32> = "NumberOfStopsAway",
    }

    /// An intermediate place.
    pub struct Via {
        /// The place.
        place_ref: Option<SmolStr> = "PlaceRef",
        /// Its name.
        place_names: Vec<LanguageText> = "PlaceName",
    }

    /// A journey of an estimated timetable (`EstimatedVehicleJourney`), or of a monitored vehicle or stop
    /// (`MonitoredVehicleJourney`).
    pub struct VehicleJourney: journey {
        ?unread,
        /// Time of recording.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction, by the producer's id.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// The journey, by day and id within the day.
        framed_vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "FramedVehicleJourneyRef",
        /// The journey, by an id that is unique to one day.
        dated_vehicle_journey_ref: Option<SmolStr> = "DatedVehicleJourneyRef",
        /// The id of a journey that is not in the timetable.
        estimated_vehicle_journey_code: Option<SmolStr> = "EstimatedVehicleJourneyCode",
        /// True if the journey is not in the timetable.
        extra_journey: Option<bool> = "ExtraJourney",
        /// True if the journey is cancelled.
        cancellation: Option<bool> = "Cancellation",
        /// The journey pattern.
        journey_pattern_ref: Option<SmolStr> = "JourneyPatternRef",
        /// Name of the pattern.
        journey_pattern_names: Vec<LanguageText> = "JourneyPatternName",
        /// The kinds of vehicle: `bus`, `rail` and so on.
        vehicle_modes: Vec<SmolStr> = "VehicleMode",
        /// The route.
        route_ref: Option<SmolStr> = "RouteRef",
        /// The name or number of the line, for passengers.
        published_line_names: Vec<LanguageText> = "PublishedLineName",
        /// The network or group of the line.
        group_of_lines_ref: Option<SmolStr> = "GroupOfLinesRef",
        /// The name of the direction.
        direction_names: Vec<LanguageText> = "DirectionName",
        /// The line in another system.
        external_line_ref: Option<SmolStr> = "ExternalLineRef",
        /// The first stop.
        origin_ref: Option<SmolStr> = "OriginRef",
        /// Name of the origin.
        origin_names: Vec<LanguageText> = "OriginName",
        /// Intermediate places.
        vias: Vec<Via> = "Via",
        /// The last stop.
        destination_ref: Option<SmolStr> = "DestinationRef",
        /// Name of the destination.
        destination_names: Vec<LanguageText> = "DestinationName",
        /// The operator.
        operator_ref: Option<SmolStr> = "OperatorRef",
        /// The product: `express` and so on.
        product_category_ref: Option<SmolStr> = "ProductCategoryRef",
        /// Features of the service.
        service_feature_refs: Vec<SmolStr> = "ServiceFeatureRef",
        /// Features of the vehicle.
        vehicle_feature_refs: Vec<SmolStr> = "VehicleFeatureRef",
        /// The name or number of the journey, for passengers.
        vehicle_journey_names: Vec<LanguageText> = "VehicleJourneyName",
        /// Notes.
        journey_notes: Vec<LanguageText> = "JourneyNote",
        /// True if the journey runs by headway, without times.
        headway_service: Option<bool> = "HeadwayService",
        /// Scheduled departure from the first stop.
        origin_aimed_departure_time: Option<SiriTime> = "OriginAimedDepartureTime",
        /// Scheduled arrival at the last stop.
        destination_aimed_arrival_time: Option<SiriTime> = "DestinationAimedArrivalTime",
        /// Marks the first or last journey of the day.
        first_or_last_journey: Option<SmolStr> = "FirstOrLastJourney",
        /// References to situations that affect the journey.
        situation_refs: Vec<SituationRef> = "SituationRef",
        /// True if the vehicle reports.
        monitored: Option<bool> = "Monitored",
        /// The reasons why the vehicle does not report.
        monitoring_errors: Vec<SmolStr> = "MonitoringError",
        /// True if traffic delays the vehicle.
        in_congestion: Option<bool> = "InCongestion",
        /// True if the driver raised an alarm.
        in_panic: Option<bool> = "InPanic",
        /// True if predictions are less certain than usual.
        prediction_inaccurate: Option<bool> = "PredictionInaccurate",
        /// The source system of the data.
        data_source: Option<SmolStr> = "DataSource",
        /// The level of confidence.
        confidence_level: Option<SmolStr> = "ConfidenceLevel",
        /// Position of the vehicle.
        vehicle_location: Option<Location> = "VehicleLocation",
        /// Time of the position.
        location_recorded_at_time: Option<SiriTime> = "LocationRecordedAtTime",
        /// Bearing of the vehicle, in degrees clockwise from north.
        bearing: Option<f64> = "Bearing",
        /// `normalProgress`, `slowProgress`, `noProgress` and so on.
        progress_rate: Option<SmolStr> = "ProgressRate",
        /// Speed of the vehicle, usually in metres per second.
        velocity: Option<f64> = "Velocity",
        /// True if the engine is on.
        engine_on: Option<bool> = "EngineOn",
        /// Occupancy of the vehicle.
        occupancy: Option<Occupancy> = "Occupancy",
        /// Delay; negative means early.
        delay: Option<DurationSeconds> = "Delay",
        /// Progress as a text.
        progress_statuses: Vec<LanguageText> = "ProgressStatus",
        /// `expected`, `assigned`, `inProgress`, `aborted` and so on.
        vehicle_status: Option<SmolStr> = "VehicleStatus",
        /// The block of journeys of the vehicle.
        block_ref: Option<SmolStr> = "BlockRef",
        /// The run of the journey.
        course_of_journey_ref: Option<SmolStr> = "CourseOfJourneyRef",
        /// The journey in the producer's system.
        vehicle_journey_ref: Option<SmolStr> = "VehicleJourneyRef",
        /// The vehicle.
        vehicle_ref: Option<SmolStr> = "VehicleRef",
        /// Journeys that run together with this one.
        additional_vehicle_journey_refs: Vec<FramedVehicleJourneyRef> = "AdditionalVehicleJourneyRef",
        /// The driver.
        driver_ref: Option<SmolStr> = "DriverRef",
        /// The numbers of the train.
        train_number_refs: Vec<SmolStr> = "TrainNumbers" > "TrainNumberRef",
        /// Past calls of a monitored journey.
        previous_calls: Vec<SiriCall> = "PreviousCalls" > "PreviousCall",
        /// The call at the monitored stop, or the one next to the vehicle.
        monitored_call: Option<Box<SiriCall>> = "MonitoredCall",
        /// Future calls of a monitored journey.
        onward_calls: Vec<SiriCall> = "OnwardCalls" > "OnwardCall",
        /// Past calls of an estimated journey.
        recorded_calls: Vec<SiriCall> = "RecordedCalls" > "RecordedCall",
        /// Future calls of an estimated journey.
        estimated_calls: Vec<SiriCall> = "EstimatedCalls" > "EstimatedCall",
        /// True if these are all calls.
        is_complete_stop_sequence: Option<bool> = "IsCompleteStopSequence",
    }

    /// The progress of a vehicle between two stops.
    pub struct ProgressBetweenStops {
        /// Distance between the stops in metres.
        link_distance: Option<f64> = "LinkDistance",
        /// The covered part of the distance in percent.
        percentage: Option<f64> = "Percentage",
    }

    /// The activity of one vehicle.
    pub struct VehicleActivity: named {
        ?unread,
        /// Time of recording.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The id of this item.
        item_identifier: Option<SmolStr> = "ItemIdentifier",
        /// End of validity.
        valid_until_time: Option<SiriTime> = "ValidUntilTime",
        /// The vehicle, or the requested group of vehicles.
        vehicle_monitoring_ref: Option<SmolStr> = "VehicleMonitoringRef",
        /// The progress to the next stop.
        progress_between_stops: Option<ProgressBetweenStops> = "ProgressBetweenStops",
        /// The journey of the vehicle.
        monitored_vehicle_journey: Option<Box<VehicleJourney>> = "MonitoredVehicleJourney",
        /// Notes.
        vehicle_activity_notes: Vec<LanguageText> = "VehicleActivityNote",
    }

    /// The cancellation of a vehicle activity.
    pub struct VehicleActivityCancellation: named {
        /// Time of recording.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The id of the cancelled item.
        item_ref: Option<SmolStr> = "ItemRef",
        /// The vehicle.
        vehicle_monitoring_ref: Option<SmolStr> = "VehicleMonitoringRef",
        /// The journey of the vehicle.
        vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "VehicleJourneyRef",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// The reason.
        reasons: Vec<LanguageText> = "Reason",
    }

    /// A call at a monitored stop.
    pub struct MonitoredStopVisit: named {
        ?unread,
        /// Time of recording.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The id of this item.
        item_identifier: Option<SmolStr> = "ItemIdentifier",
        /// End of validity.
        valid_until_time: Option<SiriTime> = "ValidUntilTime",
        /// The requested stop.
        monitoring_ref: Option<SmolStr> = "MonitoringRef",
        /// The id under which the item is to be cleared.
        clear_down_ref: Option<SmolStr> = "ClearDownRef",
        /// The calling journey.
        monitored_vehicle_journey: Option<Box<VehicleJourney>> = "MonitoredVehicleJourney",
        /// Notes.
        stop_visit_notes: Vec<LanguageText> = "StopVisitNote",
    }

    /// The cancellation of a call at a stop.
    pub struct MonitoredStopVisitCancellation: named {
        /// Time of recording.
        recorded_at_time: Option<SiriTime> = "RecordedAtTime",
        /// The id of the cancelled item.
        item_ref: Option<SmolStr> = "ItemRef",
        /// The stop.
        monitoring_ref: Option<SmolStr> = "MonitoringRef",
        /// The number of the visit, from 1.
        visit_number: Option<u32> = "VisitNumber",
        /// The line.
        line_ref: Option<SmolStr> = "LineRef",
        /// The direction.
        direction_ref: Option<SmolStr> = "DirectionRef",
        /// The journey.
        vehicle_journey_ref: Option<FramedVehicleJourneyRef> = "VehicleJourneyRef",
        /// The reason.
        reasons: Vec<LanguageText> = "Reason",
    }
}

/// The first field about the origin and destination of a journey.
const ENDS: &str = "OriginRef";
/// Fields about the operator and the features: they precede origin and destination of a monitored journey, and follow
/// them in an estimated one.
const SERVICE: [&str; 4] =
    ["OperatorRef", "ProductCategoryRef", "ServiceFeatureRef", "VehicleFeatureRef"];

const PLATFORM: &str = "DeparturePlatformName";
/// This field follows the platform in a recorded call and precedes it in all others. The schema is inconsistent here,
/// and messages comply with it.
const DEPARTED: &str = "ActualDepartureTime";

/// Selects the fields of a table that precede the given one.
fn selects_fields_before(field: &'static str) -> impl FnMut(&'static str) -> bool {
    let mut is_before = true;
    move |name| {
        is_before &= name != field;
        is_before
    }
}

impl SiriCall {
    fn write_as_recorded_call<W: MessageSink>(&self, sink: &mut W) {
        if self.departure_platform_names.is_empty() {
            return self.write_children(sink);
        }
        self.write_fields(selects_fields_before(DEPARTED), sink);
        self.write_fields(|name| name == PLATFORM, sink);
        let mut is_before = selects_fields_before(DEPARTED);
        self.write_fields(|name| !is_before(name) && name != PLATFORM, sink);
    }
}

impl VehicleJourney {
    /// Writes the journey in the order of monitored journeys.
    fn write_as_monitored_journey<W: MessageSink>(&self, sink: &mut W) {
        self.write_fields(selects_fields_before(ENDS), sink);
        self.write_fields(|name| SERVICE.contains(&name), sink);
        let mut is_before = selects_fields_before(ENDS);
        self.write_fields(|name| !is_before(name) && !SERVICE.contains(&name), sink);
    }

    /// Returns the producer's id of the journey: the first of its ids that is present.
    pub fn journey_ref(&self) -> Option<&SmolStr> {
        let framed = self.framed_vehicle_journey_ref.as_ref();
        framed
            .and_then(|framed| framed.dated_vehicle_journey_ref.as_ref())
            .or(self.dated_vehicle_journey_ref.as_ref())
            .or(self.estimated_vehicle_journey_code.as_ref())
            .or(self.vehicle_journey_ref.as_ref())
    }
}

impl IdentifiedRecord for VehicleJourney {
    fn record_id(&self) -> Option<&str> {
        self.journey_ref().or(self.line_ref.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.line_ref.is_none().then_some("LineRef")
    }
}

impl IdentifiedRecord for VehicleActivity {
    fn record_id(&self) -> Option<&str> {
        let journey = self.monitored_vehicle_journey.as_ref();
        let vehicle = journey.and_then(|journey| journey.vehicle_ref.as_ref());
        vehicle.or(self.item_identifier.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.monitored_vehicle_journey.is_none().then_some("MonitoredVehicleJourney")
    }
}

impl IdentifiedRecord for MonitoredStopVisit {
    fn record_id(&self) -> Option<&str> {
        let journey = self.monitored_vehicle_journey.as_ref();
        let journey_ref = journey.and_then(|journey| journey.journey_ref());
        self.item_identifier.as_ref().or(journey_ref).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        self.monitored_vehicle_journey.is_none().then_some("MonitoredVehicleJourney")
    }
}

impl IdentifiedRecord for VehicleActivityCancellation {
    fn record_id(&self) -> Option<&str> {
        self.item_ref.as_ref().or(self.vehicle_monitoring_ref.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        (self.item_ref.is_none() && self.vehicle_journey_ref.is_none()).then_some("ItemRef")
    }
}

impl IdentifiedRecord for MonitoredStopVisitCancellation {
    fn record_id(&self) -> Option<&str> {
        self.item_ref.as_ref().or(self.monitoring_ref.as_ref()).map(SmolStr::as_str)
    }

    fn missing_field(&self) -> Option<&'static str> {
        (self.item_ref.is_none() && self.vehicle_journey_ref.is_none()).then_some("ItemRef")
    }
}
